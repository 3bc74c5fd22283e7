"""Cut and fill between two surfaces: against fractions, at rims, holes and overhangs."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from common_shares import keep
from mined_ground import plane, sheet
from surfaces import shuffled
from wireframes import box

import geodomain
from geodomain.errors import MeshError
from geodomain.mesh.mesh import Mesh


def exact_volumes(before: Mesh, after: Mesh) -> tuple[Fraction, Fraction, Fraction]:
    """Return cut, fill and common area: each pair of triangles clipped and integrated."""
    sums = [Fraction(0)] * 3
    for first in before.vertices[before.triangles].tolist():
        for second in after.vertices[after.triangles].tolist():
            for place, volume in enumerate(_of_pair(_upward(first), _upward(second))):
                sums[place] += volume
    return sums[0], sums[1], sums[2]


def _upward(corners) -> list[tuple[Fraction, ...]]:
    a, b, c = (tuple(map(Fraction, corner)) for corner in corners)
    return [a, b, c] if _twice(a, b, c) > 0 else [a, c, b]


def _twice(a, b, c) -> Fraction:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _height(triangle, p) -> Fraction:
    a, b, c = triangle
    whole = _twice(a, b, c)
    return (a[2] * _twice(p, b, c) + b[2] * _twice(a, p, c) + c[2] * _twice(a, b, p)) / whole


def _of_pair(first, second) -> tuple[Fraction, Fraction, Fraction]:
    polygon = [corner[:2] for corner in first]
    for p, q in pairwise([*second, second[0]]):
        polygon = keep(polygon, [_twice(p, q, v) for v in polygon])
    if not polygon:
        return Fraction(0), Fraction(0), Fraction(0)
    drops = [(*p, _height(first, p) - _height(second, p)) for p in polygon]
    cut = _integral(keep(drops, [p[2] for p in drops]))
    fill = -_integral(keep(drops, [-p[2] for p in drops]))
    return cut, fill, _integral([(*p, Fraction(1)) for p in polygon])


def _integral(polygon) -> Fraction:
    total = Fraction(0)
    for b, c in pairwise(polygon[1:]):
        a = polygon[0]
        total += _twice(a, b, c) / 2 * (a[2] + b[2] + c[2]) / 3
    return total


def moved(mesh: Mesh, by: tuple[float, float, float], name: str = "moved") -> Mesh:
    return Mesh(mesh.vertices + by, mesh.triangles, name=name)


@pytest.mark.parametrize("seed", range(5))
def test_random_surfaces_against_fractions(seed: int) -> None:
    random = np.random.default_rng(seed)
    before = sheet(random.uniform(0, 20, (5, 6)), 10.0)
    after = moved(sheet(random.uniform(0, 20, (4, 6)), 9.0), (random.uniform(-9, 9), 3.7, 0))
    measured = geodomain.cut_and_fill(before, after)
    cut, fill, area = exact_volumes(before, after)
    assert abs(Fraction(measured.cut) - cut) < Fraction(1, 10**8)
    assert abs(Fraction(measured.fill) - fill) < Fraction(1, 10**8)
    assert abs(Fraction(measured.area) - area) < Fraction(1, 10**9)


def test_at_mine_coordinates() -> None:
    random = np.random.default_rng(8)
    place = (414_000.0, 7_480_000.0, 300.0)
    before = sheet(random.integers(0, 200, (5, 5)) / 8, 16.0)
    after = sheet(random.integers(0, 200, (6, 6)) / 8, 12.0)
    near = geodomain.cut_and_fill(before, after)
    far = geodomain.cut_and_fill(moved(before, place), moved(after, place))
    assert far.cut == pytest.approx(near.cut, rel=1e-10)
    assert far.fill == pytest.approx(near.fill, rel=1e-10)
    assert far.area == pytest.approx(60**2, rel=1e-12)


def test_results_do_not_depend_on_threads_or_the_order_of_triangles() -> None:
    random = np.random.default_rng(1)
    before, after = (sheet(random.uniform(0, 20, (9, 9))) for _ in range(2))
    one = geodomain.cut_and_fill(before, after, threads=1)
    assert one == geodomain.cut_and_fill(before, after, threads=2)
    assert one == geodomain.cut_and_fill(shuffled(before, 3), shuffled(after, 4))


def test_a_surface_and_itself_have_nothing_between_them() -> None:
    surface = sheet(np.random.default_rng(2).uniform(0, 20, (9, 9)))
    same = geodomain.cut_and_fill(surface, surface)
    assert same.cut < 1e-8
    assert same.fill < 1e-8
    raised = geodomain.cut_and_fill(surface, moved(surface, (0, 0, 2)))
    assert raised.fill == pytest.approx(2 * 80**2, rel=1e-11)


def test_a_hole_in_a_surface_is_no_part_of_the_plan() -> None:
    whole = sheet(np.full((4, 4), 5.0))
    holed = Mesh(whole.vertices, np.delete(whole.triangles, [4, 13], axis=0), name="holed")
    measured = geodomain.cut_and_fill(holed, plane(3.0))
    assert measured.area == pytest.approx(800)
    assert measured.cut == pytest.approx(1600)


def test_an_overhang_or_an_overlap_is_refused_with_its_place() -> None:
    # The ground at 0, with a shelf at 10 over its left half that overhangs from x = 10 to 15.
    line = [[0, 10], [10, 10], [15, 10], [15, 8], [10, 8], [10, 0], [20, 0]]
    vertices = [[x, y, z] for y in (0, 4) for x, z in line]
    rows = [(i, i + 1, i + 8, i + 7) for i in range(6)]
    triangles = [t for a, b, c, d in rows for t in ((a, b, c), (a, c, d))]
    shelf = Mesh(np.array(vertices, float), triangles, name="shelf")
    with pytest.raises(MeshError, match=r"shelf overhangs or overlaps itself near \("):
        geodomain.cut_and_fill(shelf, plane(-1.0))
    first, second = plane(1.0, 0, 10), plane(1.0, 9, 20)
    tiles = Mesh(
        np.concatenate([first.vertices, second.vertices]),
        np.concatenate([first.triangles, second.triangles + 4]),
        name="tiles",
    )
    with pytest.raises(MeshError, match="tiles overhangs or overlaps itself"):
        geodomain.cut_and_fill(plane(0.0), tiles)


def test_surfaces_that_cannot_be_compared() -> None:
    with pytest.raises(MeshError, match="box is closed"):
        geodomain.cut_and_fill(plane(1.0), box((0, 0, 0), (1, 1, 1)))
    with pytest.raises(MeshError, match="do not overlap in plan"):
        geodomain.cut_and_fill(plane(1.0), moved(plane(2.0), (1000, 0, 0)))
    with pytest.raises(MeshError, match="do not overlap in plan"):
        geodomain.cut_and_fill(
            Mesh([[0, 0, 0], [9, 0, 0], [0, 9, 0]], [[0, 1, 2]]),
            Mesh([[9, 9, 0], [9, 1, 0], [1, 9, 0]], [[0, 1, 2]]),
        )
    with pytest.raises(MeshError, match="has no triangle"):
        geodomain.cut_and_fill(Mesh(np.zeros((0, 3)), np.zeros((0, 3), int)), plane(1.0))


def test_results_print_and_convert() -> None:
    measured = geodomain.cut_and_fill(plane(5.0, 0, 10), plane(3.0, 0, 10))
    assert str(measured) == "from level 5.0 to level 3.0: cut 200, fill 0, over 100 in plan"
    assert measured.as_dict()["cut"] == 200
    assert "<table" in measured._repr_html_()
