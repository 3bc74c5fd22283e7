"""Shares of blocks beyond a surface that is extended as high as its rim."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import line_shares
import numpy as np
import pytest
from late import pd
from sheets import level

import geodomain
from geodomain import Domain, Domains, Mesh, Stack

MINE = (414_000.0, 7_480_000.0, 310.0)


def ramp(slope: float, at=(0.0, 0.0, 0.0)) -> Mesh:
    """Return a sheet over [0, 8] x [0, 8] that climbs along y from 2."""
    corners = np.array([(x, y, 2 + slope * y) for x, y in [(0, 0), (8, 0), (8, 8), (0, 8)]])
    return Mesh(corners + at, [[0, 1, 2], [0, 2, 3]])


def table(centres, sizes) -> pd.DataFrame:
    rows = np.hstack([np.atleast_2d(centres), np.broadcast_to(sizes, np.shape(centres))])
    return pd.DataFrame(rows, columns=["X", "Y", "Z", "DX", "DY", "DZ"])


def shares(frame: pd.DataFrame, domains, name: str = "rock", **options) -> list[float]:
    return geodomain.proportions_blocks(frame, domains, **options)[f"prop_{name}"].tolist()


@pytest.mark.parametrize("proportions", ["itself", "priority"])
@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), MINE])
def test_a_level_sheet_goes_on_as_level(at, proportions) -> None:
    sheet = level(0.75, 8)
    moved = Mesh(sheet.vertices + at, sheet.triangles)
    centres = np.array([[4, 4, 0], [8, 4, 0], [20, 4, 0], [-9, -9, 0], [20, 4, 2], [20, 4, -2]])
    frame = table(centres + np.array(at), (2, 2, 2))
    for kind, wanted in (("below", 0.875), ("above", 0.125)):
        domain = Domain("rock", moved, kind=kind, extend="nearest")
        whole = [0.0, 1.0] if kind == "below" else [1.0, 0.0]
        found = shares(frame, domain, proportions=proportions)
        assert found == pytest.approx([wanted] * 4 + whole, abs=1e-12)
        assert found[4:] == whole
    back = Domain("rock", moved, kind="below", extend="background")
    assert shares(frame, back, proportions=proportions)[2:] == [0, 0, 0, 0]


def test_beyond_an_edge_the_height_is_that_of_its_nearest_place() -> None:
    """Midpoints of lines give the mean of a slope exactly where it leaves by no roof or floor."""
    mesh = ramp(0.25)
    domain = Domain("rock", mesh, kind="below", extend="nearest")
    centres, sizes = [[11, 3, 3], [-4, 5, 3], [4, 12, 3], [4, -9, 3]], (2, 2, 4)
    means = [2 + 0.25 * 3, 2 + 0.25 * 5, 4, 2]
    found = shares(table(centres, sizes), domain)
    assert found == pytest.approx([(mean - 1) / 4 for mean in means], abs=1e-12)
    turned = Domain("rock", mesh, kind="below", extend="nearest", invert=True)
    assert shares(table(centres, sizes), turned) == pytest.approx([1 - s for s in found])


def test_shares_are_those_of_the_labels_along_lines() -> None:
    """A jump where one edge is no longer the nearest, and a bay: against labels of points."""
    corners = [(0, 0, 1), (8, 0, 3), (8, 8, 1), (0, 8, 5), (4, 4, 2)]
    mesh = Mesh(np.array(corners, float), [[0, 1, 4], [1, 2, 4], [2, 3, 4]])  # none at the left
    domain = Domain("rock", mesh, kind="below", extend="nearest")
    centres = np.array([[1, 4, 2], [9, 9, 2], [-2, -2, 2], [-1, 9, 4.5], [4, 4, 3], [12, 3, 2.5]])
    sizes = np.array([2.0, 2.0, 3.0])
    lines = 8
    found = shares(table(centres, sizes), domain, lines=lines)
    for centre, share in zip(centres, found, strict=True):
        low = centre - sizes / 2
        places = low[:2] + sizes[:2] * line_shares.places(lines)
        heights = level_of(mesh, domain, places, low[2], low[2] + sizes[2])
        wanted = sum(map(Fraction, (heights - low[2]).tolist())) / Fraction(float(sizes[2]))
        assert share == pytest.approx(float(wanted / len(places)), abs=1e-9)
    assert all(0 < share < 1 for share in found)


def level_of(mesh: Mesh, domain: Domain, places, floor: float, roof: float) -> np.ndarray:
    """Return where labels along lines change from below to above, by halving."""
    low, high = np.full(len(places), floor), np.full(len(places), roof)
    for _ in range(60):
        middle = (low + high) / 2
        points = np.column_stack([places, middle])
        below = geodomain.sides(mesh, points, extend=domain.extend) == -1
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def test_stacks_and_majority_know_the_extended_surface() -> None:
    top, bottom = level(1.0, 8), level(-0.5, 4)
    stack = Stack([top, bottom], ["air", "rock", "base"], extend="nearest")
    frame = table([[20, 4, 0], [6, 4, 0], [24, 4, -0.5]], (2, 2, 4))
    found = geodomain.proportions_blocks(frame, stack)
    rows = found[["prop_air", "prop_rock", "prop_base"]].to_numpy()
    assert rows == pytest.approx(np.array([[2, 3, 3], [2, 3, 3], [1, 3, 4]]) / 8, abs=1e-12)
    names = geodomain.label_blocks(frame, stack, by="majority")
    assert list(names) == ["rock", "rock", "base"]


def test_one_surface_of_two_domains_is_extended_for_one() -> None:
    sheet = level(0.0, 8)
    domains = Domains(
        (
            Domain("far", sheet, kind="above", extend="nearest"),
            Domain("near", sheet, kind="below"),
        )
    )
    frame = table([[4, 4, 0], [20, 4, 0.5]], (2, 2, 2))
    with pytest.warns(geodomain.GeodomainWarning, match="outside the footprint"):
        found = geodomain.proportions_blocks(frame, domains)
    assert found["prop_far"].tolist() == pytest.approx([0.5, 0.75])
    assert np.array_equal(found["prop_near"], [0.5, np.nan], equal_nan=True)


@pytest.mark.filterwarnings("ignore:.*outside the footprint")
def test_a_turned_model_has_the_same_shares(tmp_path: Path) -> None:
    """Local y of a model turned by 90 degrees is along the world's x, and x against its y."""
    table([[-3, 12, 0], [-3, 4, 0]], (2, 2, 2)).to_csv(tmp_path / "turned.csv", index=False)
    slope = level(0.25, 8)
    slope = Mesh(slope.vertices + slope.vertices[:, :1] * (0, 0, 0.125), slope.triangles)
    domain = Domain("rock", slope, kind="below", extend="nearest")
    geodomain.label_file(
        tmp_path / "turned.csv",
        domain,
        tmp_path / "out.csv",
        proportions="itself",
        rotation="z=90",
        origin=(0, 0, 0.5),
    )
    found = pd.read_csv(tmp_path / "out.csv")["prop_rock"]
    assert found.tolist() == pytest.approx([0.875, 0.625], abs=1e-9)
