"""Acceptance over real block models, kept beside the checkout; skipped where they are not.

`tables/test_turned_models.py` tests the same of a model that is made.
"""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from late import pd, pv
from rotated_model import WAYS, RotatedModel, of_text

import geodomain
from geodomain.cli import main
from geodomain.reporting.survey import Survey, find_lattice, sub_blocking
from geodomain.tables.layout import TableLayout, read_layout


@pytest.fixture
def bunny(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RotatedModel:
    monkeypatch.chdir(tmp_path)
    return RotatedModel(shared_data / "bunny/bunny_blocks.csv", shared_data / "bunny/bunny.obj")


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_what_the_model_says_of_itself(bunny: RotatedModel, way: str) -> None:
    truth = bunny.truth
    assert (len(truth), truth.count("Body")) == (5123, 1774)
    assert WAYS[way](bunny) == truth


def test_no_block_of_air_is_inside(bunny: RotatedModel, backend: str) -> None:
    mesh = geodomain.read_mesh(bunny.solid)
    inside = geodomain.contains(mesh, np.ascontiguousarray(bunny.table[:, :3]), backend=backend)
    found = np.array(of_text(bunny.blocks))
    counts = {
        name: (int(inside[found == name].sum()), int((found == name).sum())) for name in found
    }
    assert counts == {"Body": (1774, 1774), "Air": (0, 2997), "": (0, 352)}


def test_the_summary_of_a_rotated_octree(bunny: RotatedModel) -> None:
    solid = ["--solid", f"Body={bunny.solid}"]
    result = CliRunner().invoke(main, ["label", str(bunny.blocks), *solid, "-o", "o.csv", "--json"])
    summary = json.loads(result.stdout)
    assert summary["domains"][0]["blocks"] == 1774
    assert summary["background"]["blocks"] == 2997 + 352


def test_what_is_understood_of_a_rotated_octree(bunny: RotatedModel) -> None:
    survey = Survey()
    for rows in np.array_split(bunny.table, 6):
        survey.add(rows[:, :3], rows[:, 3:])
    lattice = find_lattice(survey)
    assert survey.azimuth == pytest.approx(-10, abs=1e-6)
    assert lattice and lattice.cells == (8, 6, 8) and lattice.spacing == (400, 400, 400)
    assert lattice.filled == pytest.approx(1) and sub_blocking(survey) == "octree"
    layout = read_layout(bunny.blocks.read_bytes())
    assert layout.sizes is not None
    names = [layout.names[column] for column in (*layout.xyz, *layout.sizes)]
    assert names == ["X", "Y", "Z", "dX", "dY", "dZ"]


def test_the_header_of_a_datamine_like_model(shared_data: Path) -> None:
    layout: TableLayout = read_layout((shared_data / "demo1/bmodel.csv").read_bytes())
    assert [layout.names[column] for column in layout.xyz] == ["XC", "YC", "ZC"]
    assert layout.sizes is None and layout.data_line == 2


def test_a_vtk_model_is_labelled_as_its_csv(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    real = shared_data / "demo1"
    for name in ("bmodel.vtu", "bmodel.csv"):
        options = ["--solid", f"D={real / 'dom1.vtp'}", "-o", f"out{Path(name).suffix}", "--quiet"]
        result = CliRunner().invoke(main, ["label", str(real / name), *options])
        assert result.exit_code == 0, result.output
    labels = pv.read("out.vtu").cell_data["domain"].tolist()
    assert labels == of_text("out.csv") and "D" in labels


@pytest.mark.filterwarnings("ignore:dom1.vtp")
def test_shares_beside_those_that_a_model_has_sampled(shared_data: Path) -> None:
    """`__in` of demo1 is how many of a block's eight corners are inside; how far that is off."""
    model = shared_data / "demo1/bmodel.csv"
    table = np.loadtxt(model, delimiter=",", skiprows=1, usecols=(4, 5, 6, 7))
    centres, sampled = np.ascontiguousarray(table[:, :3]), table[:, 3]
    mesh = geodomain.read_mesh(shared_data / "demo1/dom1.vtp")
    found = geodomain.proportions(mesh, centres, [5, 5, 5])
    corners = [
        geodomain.contains(mesh, centres + np.array(signs) * 2.5)
        for signs in itertools.product((-1, 1), repeat=3)
    ]
    assert np.array_equal(np.mean(corners, axis=0), sampled)
    off = sampled - found
    assert 0.63 < abs(off).max() < 0.64
    assert 0.17 < np.sqrt((off**2).mean()) < 0.18
    assert found.sum() * 125 == pytest.approx(460_816.86, abs=0.01)
    assert sampled.sum() * 125 == pytest.approx(463_062.5)


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_tonnes_by_domain_are_those_of_the_model(shared_data: Path) -> None:
    """Of demo1 by domain and by bench, and of the rotated octree, beside sums of the columns."""
    table = pd.read_csv(shared_data / "demo1/bmodel.csv", engine="pyarrow")
    sizes = {"dx": 5, "dy": 5, "dz": 5}
    domains = {"ORE": shared_data / "demo1/dom1.vtp"}
    table["domain"] = geodomain.label_blocks(table, domains)
    found = geodomain.tonnes(table, density=2.7, grade="Au_OK", bench=7, **sizes)
    assert {row.domain for row in found.domains} == {"", "ORE"}
    for rows in (found.rows, found.domains, found.totals):
        assert math.fsum(row.volume for row in rows) == pytest.approx(len(table) * 125, rel=1e-14)
        metal = math.fsum(row.grades[0].metal for row in rows)
        assert metal == pytest.approx(math.fsum(table["Au_OK"].dropna()) * 337.5, rel=1e-12)
    bunny = pd.read_csv(shared_data / "bunny/bunny_blocks.csv", engine="pyarrow")
    split = geodomain.tonnes(bunny, density=2, column="Bunny")
    volume = (bunny["dX"] * bunny["dY"] * bunny["dZ"]).groupby(bunny["Bunny"].fillna("")).sum()
    assert {row.domain: row.volume for row in split.domains} == pytest.approx(volume.to_dict())
    assert sum(row.blocks for row in split.domains) == len(bunny) == split.totals[0].blocks
