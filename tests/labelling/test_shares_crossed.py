"""Shares of blocks that one mesh enters whose own shells overlap: along lines, with an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from late import pandas
from shapes import joined
from wireframes import box

import geodomain
from geodomain import label_file


def ones(path: Path) -> Path:
    """Write blocks of 1: one that both shells of `crossed` enter, one that neither enters."""
    path.write_text("X,Y,Z,DX,DY,DZ\n0.5,0.5,0.5,1,1,1\n5.5,0.5,0.5,1,1,1\n")
    return path


def crossed() -> geodomain.Mesh:
    """Return one mesh of two boxes that overlap."""
    return joined(box((-0.5, -1, -1), (0.3, 2, 2)), box((0.2, -2, -2), (0.7, 3, 3)))


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize(
    "asked", [{"proportions": "itself"}, {"proportions": "priority"}, {"by": "majority"}]
)
@pytest.mark.parametrize("rule", ["winding", "parity"])
def test_one_mesh_that_crosses_itself_has_an_error(tmp_path: Path, rule, asked) -> None:
    path = ones(tmp_path / "b.csv")
    found = label_file(path, {"T": crossed()}, tmp_path / "o.csv", rule=rule, **asked)
    x = (np.arange(256) + 0.5) / 256  # of 16 x 16 lines, all of them different
    inside = (x < 0.7) & ((rule == "winding") | (x < 0.2) | (x > 0.3))
    fine = inside.mean()
    off = max(abs(inside[sample::6].mean() - fine) for sample in range(6))
    (part,) = found.domains
    assert found.shares.entered == found.shares.by_lines == 1
    assert off > 0
    assert part.proportion_volume == pytest.approx(fine, abs=1e-14)
    assert part.proportion_error == pytest.approx(np.hypot(off, 1 / 512) + 1e-9, abs=1e-14)
    assert found.shares.estimated_error == pytest.approx(off, abs=1e-14)
    assert "1 of them cut along 16 x 16 lines: proportions there are wrong by" in str(found)
    if "proportions" in asked:
        cells = pandas.read_csv(tmp_path / "o.csv")["prop_t"]
        np.testing.assert_allclose(cells, [fine, 0], atol=1e-14)
