"""Domains within and beyond a distance: which side, which blocks exactly, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from shapes import star
from sheets import level
from wireframes import box, cube, roofless

import geodomain
from geodomain import Domain, DomainError, MeshError, PointError
from geodomain.cli import main

# Every half unit about a cube from 0 to 10: coordinates, squares and sums of them are exact.
STEPS = np.arange(-8, 37) / 2
POINTS = np.stack(np.meshgrid(STEPS, STEPS, STEPS, indexing="ij"), axis=-1).reshape(-1, 3)
OUT = np.maximum(np.maximum(-POINTS, POINTS - 10), 0)
DEPTH = np.minimum(POINTS, 10 - POINTS).min(axis=1)
SQUARES = np.where(DEPTH > 0, DEPTH, 0) ** 2 + (OUT**2).sum(axis=1)
# A cube's own rule: its west, south and lower walls are its own.
INSIDE = ((POINTS >= 0) & (POINTS < 10)).all(axis=1)


def held(domain: Domain, points=POINTS, **options) -> np.ndarray:
    labels = geodomain.label_points(points, [domain], background="-", unassigned="?", **options)
    return labels == domain.name


@pytest.mark.parametrize(
    ("options", "due"),
    [
        ({"within": 3}, SQUARES <= 9),
        ({"within": 0}, SQUARES == 0),
        ({"beyond": 3}, SQUARES > 9),
        ({"beyond": 0}, SQUARES > 0),
        ({"within": 3, "beyond": 1.5}, (SQUARES <= 9) & (SQUARES > 2.25)),
        ({"within": 3, "kind": "either"}, SQUARES <= 9),
        ({"within": 3, "kind": "solid"}, INSIDE & (SQUARES <= 9)),
        ({"beyond": 3, "kind": "solid"}, INSIDE & (SQUARES > 9)),
        ({"within": 3, "kind": "solid", "invert": True}, ~INSIDE & (SQUARES <= 9)),
        ({"beyond": 3, "kind": "solid", "invert": True}, ~INSIDE & (SQUARES > 9)),
        ({"within": 3, "kind": "solid", "rule": "winding"}, INSIDE & (SQUARES <= 9)),
    ],
)
def test_the_blocks_of_a_skin(options, due) -> None:
    assert np.array_equal(held(Domain("S", cube(), **options)), due)
    assert 0 < due.sum() < len(due)


@pytest.mark.full
@pytest.mark.parametrize("shift", [0.0, 7_480_000.7])
def test_the_float64_distance_is_compared(shift: float) -> None:
    mesh = star(40, centre=(shift, shift, 0.1))
    points = np.random.default_rng(8).normal(size=(4000, 3)) * 60 + [shift, shift, 0.1]
    distances = geodomain.distances(mesh, points)
    inside = geodomain.contains(mesh, points)
    for limit in np.sort(distances)[[5, 900, 2000, 3900]]:  # each is the distance of a point
        for some in (points, points[:7]):
            near = distances[: len(some)] <= limit
            assert np.array_equal(held(Domain("S", mesh, within=limit), some), near)
            assert np.array_equal(held(Domain("S", mesh, beyond=limit), some), ~near)
        shell = Domain("S", mesh, kind="solid", beyond=limit)
        assert np.array_equal(held(shell), held(shell, allow_open=True))
        assert np.array_equal(held(shell, points), inside & (distances > limit))


def test_the_nearest_of_several_meshes_counts() -> None:
    other = box((13, 0, 0), (15, 10, 10))
    far = np.minimum(geodomain.distances(cube(), POINTS), geodomain.distances(other, POINTS))
    assert np.array_equal(held(Domain("S", [cube(), other], within=2)), far <= 2)
    assert np.array_equal(held(Domain("S", [cube(), other], beyond=2)), far > 2)
    between = Domain("S", [cube(), other], within=2, beyond=1)
    assert np.array_equal(held(between), (far <= 2) & (far > 1))


def test_a_side_of_a_surface() -> None:
    ground = level(5.0, 10)
    points = POINTS[((POINTS > 0) & (POINTS < 10)).all(axis=1)]
    over = points[:, 2] - 5
    above = held(Domain("S", ground, kind="above", within=2), points)
    assert np.array_equal(above, (over >= 0) & (over <= 2))
    below = held(Domain("S", ground, kind="below", beyond=2), points)
    assert np.array_equal(below, over < -2)
    assert np.array_equal(held(Domain("S", ground, within=2), points), np.abs(over) <= 2)
    # What is off the footprint and too far away is surely not in it.
    off = [[-1.0, 5, 6], [-3.0, 5, 6]]
    labels = geodomain.label_points(
        off, [Domain("S", ground, kind="above", within=2)], background="-", unassigned="?"
    )
    assert labels.tolist() == ["?", "-"]


def test_an_open_mesh_has_two_sides_but_no_inside() -> None:
    mesh = roofless()
    far = geodomain.distances(mesh, POINTS)
    assert np.array_equal(held(Domain("S", mesh, within=1)), far <= 1)
    with pytest.raises(MeshError, match="not closed"):
        held(Domain("S", mesh, within=1, kind="solid"))


def test_ore_dilution_and_waste_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    geodomain.write_mesh(cube(), "ore.obj")
    Path("d.toml").write_text(
        'background = "WASTE"\n[[domain]]\nname = "ORE"\nmesh = "ore.obj"\n'
        '[[domain]]\nname = "DILUTION"\nmesh = "ore.obj"\nwithin = 2\n'
        '[[domain]]\nname = "HALO"\nmesh = "ore.obj"\nwithin = 5.5\nbeyond = 2\n'
    )
    Path("b.csv").write_text("X,Y,Z\n5,5,5\n12,5,5\n12.01,5,5\n5,5,15.5\n5,5,15.6\n,5,5\n")
    result = CliRunner().invoke(main, ["label", "b.csv", "--domains", "d.toml", "-o", "o.csv"])
    assert result.exit_code == 0, result.output
    labels = [row.rpartition(",")[2] for row in Path("o.csv").read_text().splitlines()[1:]]
    assert labels == ["ORE", "DILUTION", "HALO", "HALO", "WASTE", ""]


def test_places_that_have_no_distance() -> None:
    points = [[np.nan, 5, 5], [5, 5, np.inf], [1e200, 5, 5], [12, 5, 5]]
    skin = Domain("S", cube(), within=3)
    labels = geodomain.label_points(points, [skin], background="-", unassigned="?")
    assert labels.tolist() == ["?", "?", "-", "S"]
    far = [Domain("S", cube(), beyond=3)]
    assert geodomain.label_points(points, far, background="-").tolist() == ["", "", "S", "-"]
    with pytest.raises(PointError, match="point 2 is"):
        geodomain.label_points(points, [Domain("S", cube(), within=1e250)])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"within": -1}, "within is -1; it must be a number of at least 0"),
        ({"beyond": float("nan")}, "beyond is nan; it must be a number of at least 0"),
        ({"within": float("inf")}, "within is inf"),
        ({"within": "5"}, "within is '5'"),
        ({"within": True}, "within is true"),
        ({"within": 2, "beyond": 2}, "no block can be both beyond 2 and within 2"),
        ({"kind": "either"}, "needs a distance"),
        ({"within": 2, "invert": True}, "invert needs a kind with two sides"),
        ({"within": 2, "rule": "winding"}, "rule needs kind = 'solid'"),
        ({"within": 2, "extend": "nearest"}, "extend applies only to surfaces"),
        ({"kind": "solids", "within": 2}, "must be one of 'solid', 'above', 'below', 'either'"),
    ],
)
def test_limits_that_cannot_be(options, said) -> None:
    with pytest.raises(DomainError, match=said):
        Domain("S", cube(), **options)


def test_a_skin_is_shown_and_does_not_count_as_a_solid() -> None:
    skin = Domain("S", cube(), kind="solid", invert=True, within=2.5)
    assert repr(skin) == "Domain('S', Mesh('cube', 8 vertices, 12 triangles), kind='solid', " + (
        "invert=True, within=2.5)"
    )
    assert skin.cells()[1] == "not solid, within 2.5" and not skin.is_solid
    assert skin.bounds.tolist() == [[-2.5] * 3, [12.5] * 3]
    assert np.isinf(Domain("S", cube(), beyond=1).bounds).all()
    # An inner skin overlaps its solid on purpose: nobody is warned of it.
    ore, inner = Domain("ORE", cube()), Domain("RIM", cube(), kind="solid", within=1)
    labels = geodomain.label_points([[0.5, 5, 5], [5, 5, 5]], [inner, ore])
    assert labels.tolist() == ["RIM", "ORE"]


def test_intervals_are_not_cut_at_distances(tmp_path: Path) -> None:
    for name, text in {
        "collar": "HOLEID,X,Y,Z,DEPTH\nA,5,5,20,30\n",
        "survey": "HOLEID,DEPTH,AZIMUTH,DIP\nA,0,0,-90\n",
        "assay": "HOLEID,FROM,TO\nA,0,8\nA,8,12\n",
    }.items():
        (tmp_path / f"{name}.csv").write_text(text)
    files = {"collar": tmp_path / "collar.csv", "survey": tmp_path / "survey.csv"}
    domains = [Domain("S", cube(), within=4)]
    asked = dict(intervals=tmp_path / "assay.csv", domains=domains, **files)
    with pytest.raises(DomainError, match="S uses 'within' or 'beyond'"):
        geodomain.flag_file(output=tmp_path / "o.csv", by="split", **asked)
    assert not (tmp_path / "o.csv").exists()


def test_shares_of_blocks_are_not_taken_at_distances(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("X,Y,Z,DX,DY,DZ\n12,5,5,2,2,2\n")
    skin = [Domain("S", cube(), within=2)]
    with pytest.raises(DomainError, match="S uses 'within' or 'beyond'"):
        geodomain.label_file(tmp_path / "b.csv", skin, tmp_path / "o.csv", by="majority")
    assert not (tmp_path / "o.csv").exists()
