"""A block model, rotated and sub-blocked, by every way in: all give the labels of its making."""

from __future__ import annotations

from pathlib import Path

import pytest
from rotated_model import WAYS, RotatedModel, make_model

from geodomain.reporting.survey import Survey, find_lattice, sub_blocking
from geodomain.tables.layout import read_layout


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RotatedModel:
    monkeypatch.chdir(tmp_path)
    return make_model(tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_same_labels(model: RotatedModel, way: str) -> None:
    truth = model.truth
    assert (len(truth), truth.count("Body")) == (4164, 2184)
    assert WAYS[way](model) == truth


def test_what_is_understood_of_it(model: RotatedModel) -> None:
    survey = Survey()
    survey.add(model.table[:, :3], model.table[:, 3:])
    lattice = find_lattice(survey)
    assert survey.azimuth == pytest.approx(-10, abs=1e-6)
    assert lattice and lattice.cells == (8, 6, 8) and lattice.spacing == (400, 400, 400)
    assert lattice.filled == pytest.approx(1) and sub_blocking(survey) == "octree"
    layout = read_layout(model.blocks.read_bytes())
    assert layout.sizes is not None
    names = [layout.names[column] for column in (*layout.xyz, *layout.sizes)]
    assert names == ["X", "Y", "Z", "dX", "dY", "dZ"]
