"""Unions, intersections, differences and clips: labels, volumes, and unchanged vertices."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from late import needs
from wireframes import box

import geodomain
from geodomain import Mesh, MeshError, solids
from geodomain.solids.bodies import exact_origin
from geodomain.synthetic import star_shaped_orebody, undulating_terrain

pytestmark = needs("manifold3d")
MINE = np.array([414_000.3, 7_480_000.7, 312.9])


def ore(shift: tuple[float, float, float] = (0, 0, 0), seed: int = 1) -> Mesh:
    """Return an ore body of 320 triangles at mine coordinates."""
    radii = np.random.default_rng(seed).uniform(25, 60, 3)
    body = star_shaped_orebody(frequency=4, radii=radii)
    return Mesh(body.vertices + MINE + shift, body.triangles, name=f"ore{seed}")


def rows(vertices: np.ndarray) -> set[bytes]:
    return {row.tobytes() for row in np.ascontiguousarray(vertices)}


PAIRS = [
    (ore(), ore((20.25, 11, 3), 2)),
    (ore(), box(MINE - (40, 40, 10), MINE + 10)),
    (box((0, 0, 0), (3, 3, 3)), box((1, 1, 1), (2, 2, 2))),  # one inside the other
    (box((0, 0, 0), (1, 1, 1)), box((1, 0, 0), (2, 1, 1))),  # a shared wall
    (box((0, 0, 0), (1, 1, 1)), box((5, 0, 0), (6, 1, 1))),  # apart
]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_labels_are_those_of_the_rule_and_volumes_add_up(a: Mesh, b: Mesh) -> None:
    points = np.random.default_rng(3).uniform(a.bounds[0] - 5, a.bounds[1] + 5, (20_000, 3))
    in_a, in_b = geodomain.contains(a, points), geodomain.contains(b, points)
    united = solids.union(a, b)
    assert united.proof.wrong == 0 and united.proof.points == 100_000
    assert (geodomain.contains(united.mesh, points) == in_a | in_b).all()
    expected = {solids.intersect: in_a & in_b, solids.subtract: in_a & ~in_b}
    shared = 0.0
    for function, inside in expected.items():
        try:
            result = function(a, b)
        except MeshError as error:
            message = str(error)
            assert "no volume in common" in message or "nothing of" in message
            assert not inside.any()
            continue
        assert (geodomain.contains(result.mesh, points) == inside).all()
        assert result.mesh.is_closed and result.mesh.is_balanced
        shared = result.volume if function is solids.intersect else shared
    bound = united.distance * (a.area + b.area)
    assert united.volume + shared == pytest.approx(a.volume + b.volume, abs=bound)


def test_vertices_that_are_not_cut_are_unchanged_bit_for_bit() -> None:
    a, b = ore(), ore((20.25, 11, 3), 2)
    result = solids.union(a, b)
    outside = [~geodomain.contains(other, mesh.vertices) for mesh, other in ((a, b), (b, a))]
    expected = rows(a.vertices[outside[0]]) | rows(b.vertices[outside[1]])
    assert expected <= rows(result.mesh.vertices)
    assert result.unchanged == len(expected)
    assert result.new == len(result.mesh.vertices) - len(expected) > 0
    assert result.offset <= result.distance < 1e-8


def test_the_origin_loses_no_bit_of_any_coordinate() -> None:
    random = np.random.default_rng(5)
    for scale, shift in ((100, MINE), (1e-3, MINE), (1e7, np.zeros(3)), (5, MINE * -1)):
        points = random.uniform(-scale, scale, (300, 3)) + shift
        mesh = Mesh(points, np.arange(300).reshape(-1, 3))
        origin = exact_origin([mesh])
        for row in mesh.vertices[:50].tolist():
            for value, zero in zip(row, origin.tolist(), strict=True):
                assert Fraction(value - zero) == Fraction(value) - Fraction(zero)
                assert (value - zero) + zero == value
    # 1,000 km wide and 1e-9 fine: a difference would be rounded, so there is no origin.
    wide = Mesh([[1e-9, 0, 0], [1e6, 0, 0], [1e6, 1, 0]], [[0, 1, 2]])
    assert exact_origin([wide])[0] == 0


def two_shells() -> Mesh:
    """Return two boxes that overlap, as one mesh of two shells."""
    a, b = box((0, 0, 0), (2, 2, 2)), box((1, 1, 1), (3, 3, 3))
    return Mesh(np.r_[a.vertices, b.vertices], np.r_[a.triangles, b.triangles + 8], name="two")


def test_shells_that_overlap_are_resolved_by_the_rule() -> None:
    by_parity, by_winding = (
        solids.union(two_shells(), rule=rule) for rule in ("parity", "winding")
    )
    assert by_parity.volume == pytest.approx(14) and by_winding.volume == pytest.approx(15)
    assert by_parity.changes[-1].kind == "united" and by_parity.changes[-1].count == 1
    assert by_parity.changes[-1].places == ((1.5, 1.5, 1.5),)
    report = geodomain.check(by_winding.mesh)
    assert report.overlapping_shells == 0 and report.fit


def test_three_shells_with_common_space_and_a_void() -> None:
    shells = [box((0, 0, 0), (4, 4, 4)), box((1, 0, 0), (5, 4, 4)), box((2, 0, 0), (6, 4, 4))]
    void = box((2.5, 1, 1), (3.5, 2, 2))  # inside all three, so that the winding number is 2 in it
    meshes = [*shells, Mesh(void.vertices, void.triangles[:, ::-1])]
    mesh = Mesh(
        np.concatenate([each.vertices for each in meshes]),
        np.concatenate([each.triangles + 8 * n for n, each in enumerate(meshes)]),
    )
    # By parity: in 1 or 3 shells, without the void. x: [0,1] 1, [1,2] 2, [2,4] 3, [4,5] 2, [5,6] 1.
    assert solids.union(mesh).volume == pytest.approx(16 * 4 - 1)
    assert solids.union(mesh, rule="winding").volume == pytest.approx(16 * 6)


@pytest.mark.parametrize("rule", ["parity", "winding"])
def test_many_shells_that_overlap(rule: str) -> None:
    random = np.random.default_rng(2)
    corners = random.integers(0, 9, (40, 3)) + random.integers(0, 2, (40, 3)) / 4
    parts = [box(corner, corner + random.integers(1, 4, 3)) for corner in corners]
    parts[30:] = [Mesh(part.vertices, part.triangles[:, ::-1]) for part in parts[30:]]
    mesh = Mesh(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.triangles + 8 * n for n, part in enumerate(parts)]),
    )
    cells = np.stack(np.meshgrid(*[np.arange(0.125, 13, 0.25)] * 3), axis=-1).reshape(-1, 3)
    with pytest.warns(geodomain.GeodomainWarning, match="overlapping shells"):
        inside = geodomain.contains(mesh, cells, rule=rule)
    assert solids.union(mesh, rule=rule).volume == pytest.approx(inside.sum() / 64)


@pytest.mark.parametrize("seed", range(6))
def test_bodies_that_touch_along_an_edge_stay_apart(seed: int) -> None:
    # Two wedges, opposite each other, have an edge in common, and their walls are in two planes.
    random = np.random.default_rng(seed)
    a, b = random.uniform(1, 3, (2, 2)) * [[1, 1], [-1, 1]]
    wedges = [
        solids.extrude([[0, 0], a, b], 0, 3).mesh,
        solids.extrude([[0, 0], -a, -b], 0, 3).mesh,
    ]
    triangles = np.r_[wedges[0].triangles, wedges[1].triangles + len(wedges[0].vertices)]
    both = Mesh(
        np.r_[wedges[0].vertices, wedges[1].vertices], random.permutation(triangles), name="both"
    )
    result = solids.union(both)
    assert result.volume == pytest.approx(wedges[0].volume + wedges[1].volume)


def test_a_ring_whose_ends_touch_along_an_edge() -> None:
    # One shell: a chain of boxes around a hole, of which the first and the last share an edge.
    cells = [(1, 0), (0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1)]
    ring = solids.union(*(box((x, y, 0), (x + 1, y + 1, 1)) for x, y in cells)).mesh
    assert geodomain.check(ring).nonmanifold_edges == 1
    result = solids.subtract(ring, box((1.5, -1, -1), (4, 0.5, 9)))
    assert result.volume == pytest.approx(7 - 0.25)
    assert solids.union(ring, ring).volume == pytest.approx(7)


def test_a_void_is_kept_and_a_void_that_faces_outwards_is_turned() -> None:
    outer, inner = box((0, 0, 0), (4, 4, 4)), box((1, 1, 1), (2, 2, 2))
    mesh = Mesh(np.r_[outer.vertices, inner.vertices], np.r_[outer.triangles, inner.triangles + 8])
    result = solids.subtract(mesh, box((3, 3, 3), (5, 5, 5)))
    assert result.volume == pytest.approx(62)
    assert [change.kind for change in result.changes] == ["shell turned"]
    filled = solids.union(mesh, rule="winding")
    assert filled.volume == pytest.approx(64)
    assert [change.kind for change in filled.changes] == ["shell dropped"]


def terrain() -> Mesh:
    return undulating_terrain(800, seed=2)


def test_a_surface_clips_a_solid_without_being_closed() -> None:
    ground = terrain()
    low, high = ground.bounds
    middle, height = (low + high) / 2, float(high[2])
    body = box((middle[0] - 300, middle[1] - 250, -40), (middle[0] + 300, middle[1] + 250, height))
    parts = solids.clip(body, below=ground), solids.clip(body, above=ground)
    assert sum(part.volume for part in parts) == pytest.approx(body.volume, rel=1e-12)
    points = np.random.default_rng(1).uniform(*body.bounds, (20_000, 3))
    side = geodomain.sides(ground, points)
    for part, value in zip(parts, (-1, 1), strict=True):
        assert (geodomain.contains(part.mesh, points) == (side == value)).all()


def test_tiles_that_overlap_are_refused() -> None:
    west = Mesh([[0, 0, 0], [6, 0, 0], [6, 9, 0], [0, 9, 0]], [[0, 1, 2], [0, 2, 3]], name="west")
    east = Mesh(west.vertices + np.array([4, 0, 2]), west.triangles, name="east")
    with pytest.raises(MeshError, match=r"west has parts that overlap in plan, near \(5, 4\.5\)"):
        solids.clip(box((1, 1, -3), (9, 8, 3)), below=[west, east])


@pytest.mark.parametrize("turn", [1, -1])
def test_the_direction_and_the_tiles_of_a_surface_do_not_matter(turn: int) -> None:
    ground = terrain()
    body = box((900, 900, -50), (1500, 1400, 60))
    triangles = ground.triangles[:, ::turn]
    tiles = [Mesh(ground.vertices, part) for part in np.array_split(triangles, 3)]
    assert solids.clip(body, below=tiles).volume == solids.clip(body, below=ground).volume


def test_a_solid_beyond_the_rim_is_refused_with_the_place() -> None:
    ground = terrain()
    west, edge = float(ground.bounds[0, 0]), box((-10, 900, -50), (200, 1000, 60))
    with pytest.raises(MeshError, match=r"beyond the rim .* in the box \(-10, 900"):
        solids.clip(edge, below=ground)
    flush = box((west, 900, -50), (west + 200, 1000, 60))  # its wall stands on the rim
    assert solids.clip(flush, below=ground).volume > 0


def roof(*corners: tuple[float, float, float]) -> Mesh:
    """Return a surface with these corners, counter-clockwise, as a fan from the first."""
    triangles = [(0, k, k + 1) for k in range(1, len(corners) - 1)]
    return Mesh(corners, triangles, name="roof")


CONVEX = [
    roof((0, 0, 1), (4, 0, 3), (4, 4, 3), (0, 4, 1)),
    roof((0, 0, 1), (4, 1, 2), (1, 5, 3)),  # corners of more than a right angle
    roof((0, 0, 1), (2, 0, 2), (4, 0, 1), (5, 3, 0), (2, 4, 2), (0, 4, 1)),  # with a straight part
]


@pytest.mark.parametrize("surface", CONVEX)
def test_a_surface_is_extended_as_labels_extend_it(surface: Mesh) -> None:
    body = box((-9, -8, -3), (11, 9, 5))
    points = np.random.default_rng(1).uniform(*body.bounds, (20_000, 3))
    side = geodomain.sides(surface, points, extend="nearest")
    for word, value in (("below", -1), ("above", 1)):
        result = solids.clip(body, extend="nearest", **{word: surface})
        assert result.proof.wrong == 0
        assert (geodomain.contains(result.mesh, points) == (side == value)).all()


def test_a_rim_that_is_not_convex_is_not_extended() -> None:
    body = box((-9, -8, -3), (11, 9, 5))
    with pytest.raises(MeshError, match=r"its rim is not convex in plan, at \(2, 1, 1\)"):
        solids.clip(body, below=roof((2, 1, 1), (4, 0, 1), (2, 4, 1), (0, 0, 1)), extend="nearest")
    two = Mesh([(x + d, y, 0) for d in (0, 9) for x, y in ((0, 0), (1, 0), (0, 1))],
               [(0, 1, 2), (3, 4, 5)])  # fmt: skip
    with pytest.raises(MeshError, match="its rim is not a single loop"):
        solids.clip(body, below=two, extend="nearest")


def test_a_surface_with_an_overhang() -> None:
    # In section: flat at 2, back under itself between x = 4 and x = 6, and on at 0.
    section = [(0, 2), (6, 2), (4, 1), (10, 0)]
    vertices = [(x, y, z) for y in (0, 10) for x, z in section]
    triangles = [t for k in range(3) for t in ((k, k + 1, k + 5), (k, k + 5, k + 4))]
    overhang = Mesh(vertices, triangles, name="overhang")
    body = box((1, 1, -5), (9, 9, 5))
    points = np.random.default_rng(1).uniform(*body.bounds, (20_000, 3))
    side = geodomain.sides(overhang, points)
    for word, value in (("below", -1), ("above", 1)):
        result = solids.clip(body, **{word: overhang})
        assert (geodomain.contains(result.mesh, points) == (side == value)).all()


def test_between_two_surfaces_that_cross() -> None:
    flat = Mesh([[0, 0, 1], [4, 0, 1], [4, 4, 1], [0, 4, 1]], [[0, 1, 2], [0, 2, 3]], name="flat")
    slope = Mesh([[0, 0, 0], [4, 0, 2], [4, 4, 2], [0, 4, 0]], [[0, 1, 2], [0, 2, 3]])
    assert solids.between(slope, flat).volume == pytest.approx(4)  # a wedge from x = 2
    assert solids.between(flat, slope).volume == pytest.approx(4)
    far = Mesh(flat.vertices + np.array([10, 0, -3]), flat.triangles, name="far")
    with pytest.raises(MeshError, match="the space below flat and the space above far have no"):
        solids.between(flat, far)


def test_a_box_clips() -> None:
    result = solids.clip(box((0, 0, 0), (2, 2, 2)), box=((1, 1, 1), (9, 9, 9)))
    assert result.volume == 1 and result.operation == "clip"


def test_a_box_that_is_far_larger_than_the_solid_costs_no_precision() -> None:
    body = ore()
    near = solids.clip(body, box=(MINE - 99, MINE + np.array([99, 99, 0])))
    wide = solids.clip(body, box=((0, 0, -1e5), (1e8, 1e8, MINE[2])))
    assert wide.volume == pytest.approx(near.volume) and wide.distance < 1e-8
    assert wide.unchanged == near.unchanged


def test_identities_of_many_pairs_at_mine_coordinates() -> None:
    for seed, (dx, dy) in enumerate(product((5.5, 15, 31), repeat=2)):
        a, b = ore(seed=seed), ore((dx, dy, 2.125), seed + 50)
        united = solids.union(a, b, points=2000)
        shared = solids.intersect(a, b, points=2000)
        rest = solids.subtract(a, b, points=2000)
        bound = united.distance * (a.area + b.area)
        assert abs(united.volume + shared.volume - a.volume - b.volume) <= bound
        assert abs(rest.volume + shared.volume - a.volume) <= bound


def test_the_result_does_not_depend_on_the_threads_or_the_call() -> None:
    a, b = ore(), ore((20.25, 11, 3), 2)
    first, second = solids.union(a, b), solids.union(a, b)
    assert first.mesh.vertices.tobytes() == second.mesh.vertices.tobytes()
    assert first.proof == second.proof


def test_misuse() -> None:
    cube = box((0, 0, 0), (1, 1, 1))
    with pytest.raises(TypeError, match="at least 2 solids"):
        solids.intersect(cube)
    with pytest.raises(MeshError, match="none has no triangles, so it encloses nothing"):
        solids.union(cube, Mesh(np.empty((0, 3)), np.empty((0, 3), np.int32), name="none"))
    with pytest.raises(ValueError, match="points"):
        solids.union(cube, points=0)
    with pytest.raises(TypeError, match="a box has no rim"):
        solids.clip(cube, box=([0, 0, 0], [1, 1, 1]), extend="nearest")
    with pytest.raises(TypeError, match="one of above=, below= and box="):
        solids.clip(cube)
    with pytest.raises(TypeError, match="did you mean 'rule'"):
        solids.union(cube, rules="parity")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="rule is 'odd'"):
        solids.union(cube, rule="odd")  # type: ignore[arg-type]
    with pytest.raises(MeshError, match="is a closed solid, not a surface"):
        solids.clip(cube, below=cube)
    with pytest.raises(ValueError, match="lowest and a highest corner"):
        solids.box([1, 1, 1], [0, 2, 2])


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "manifold3d", None)
    with pytest.raises(geodomain.GeodomainError, match=r"pip install 'geodomain\[solids\]'"):
        solids.union(two_shells())
    assert solids.repair(box((0, 0, 0), (1, 1, 1))).volume == 1  # nothing is cut


def test_results_as_text_json_and_tables() -> None:
    result = solids.union(two_shells(), box((9, 9, 9), (10, 10, 10)))
    text = str(result)
    assert "two: 24 triangles" in text and "0 differ farther than" in text
    plain = result.as_dict()
    assert plain["operation"] == "union" and plain["proof"]["wrong"] == 0
    assert result.to_pandas()["input"].tolist() == ["two"]
    assert "SolidResult of union" in repr(result) and "<table>" in result._repr_html_()
