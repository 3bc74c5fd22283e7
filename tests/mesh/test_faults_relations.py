"""How the pieces of a mesh lie to each other, against exact answers for simple solids."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from shapes import (
    CUBE_TRIANGLES,
    cube,
    cube_in_six,
    fan,
    joined,
    random_body,
    splinters,
    staircase,
    star,
    tetrahedron,
)
from surfaces import MINE, lidless, reversed_mesh, shuffled, soup, torus

from geodomain import Mesh, MeshError
from geodomain.compute import meshes as mesh_checks
from geodomain.compute.meshes import Components
from geodomain.mesh import check as checks
from geodomain.mesh import fitness, relations
from geodomain.mesh.relations import relate

CORNER = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
KINDS = ("nested", "touching", "overlapping", "equal", "undetermined")


def kinds(mesh: Mesh, **options) -> dict[str, list]:
    """Give the relations there are; which piece is which is not told."""
    found = relate(mesh, **options)
    pairs = {kind: getattr(found, kind).tolist() for kind in KINDS}
    return {kind: of for kind, of in pairs.items() if of}


def relation(*meshes: Mesh) -> str:
    """Name the relation of two pieces: "" where they are apart, "nested -" with the first inside.

    Where both have the same triangles of a wall, either may count as the first piece.
    """
    found = relate(joined(*meshes))
    assert found.components == 2
    pairs = [(kind, pair) for kind in KINDS for pair in getattr(found, kind).tolist()]
    assert len(pairs) <= 1
    for kind, (outer, _) in pairs:
        first = np.array_equal(found.boxes[outer], meshes[0].bounds)
        return kind if kind != "nested" or first else "nested -"
    return ""


def same(found: str, expected: str, *meshes: Mesh) -> bool:
    """Compare relations; of meshes of one box it is not told which is the first."""
    if np.array_equal(meshes[0].bounds, meshes[1].bounds):
        return found.removesuffix(" -") == expected.removesuffix(" -")
    return found == expected


def as_made(*meshes: Mesh) -> bool:
    """Tell whether the pieces are the meshes.

    Two bodies that cut each other along edges of both have the triangles of their union and of
    what they share: nothing but the names tells one from the other.
    """
    both = joined(*meshes)
    merged = mesh_checks.merge_equal(both.vertices)[both.triangles]
    parts = Components(both.vertices, np.ascontiguousarray(merged))
    counts = np.bincount(parts.component)
    found = [(int(n), parts.boxes[k].tolist()) for k, n in enumerate(counts)]
    return sorted(found) == sorted((len(m.triangles), m.bounds.tolist()) for m in meshes)


def box(low, high) -> Mesh:
    low, high = np.asarray(low, float), np.asarray(high, float)
    return Mesh(low + (high - low) * cube().vertices, CUBE_TRIANGLES)


def octahedron(centre, radius=1.0) -> Mesh:
    """Return an octahedron, whose corners are the middles of a cube's faces."""
    corners = np.concatenate([np.eye(3), -np.eye(3)]) * radius + np.asarray(centre, float)
    faces = [
        (x, y, z) if (x // 3 + y // 3 + z // 3) % 2 == 0 else (x, z, y)
        for x, y, z in product((0, 3), (1, 4), (2, 5))
    ]
    return Mesh(corners, faces)


PLACED = {
    (3, 0, 0): "",
    (1, 1, 1): "touching",  # a corner
    (1, 1, 0): "touching",  # an edge
    (1, 0.5, 0): "touching",  # parts of an edge and a wall
    (1, 0, 0): "touching",  # a whole wall
    (1, 0.5, 0.25): "touching",
    (0.5, 0.5, 0.5): "overlapping",
    (0.5, 0, 0): "overlapping",  # all edges of the one in walls of the other
    (0.5, 0.5, 0): "overlapping",
    (0, 0, 0): "equal",
}


@pytest.mark.parametrize(("at", "expected"), PLACED.items())
@pytest.mark.parametrize("origin", [(0, 0, 0), MINE])
def test_two_cubes(at, expected, origin):
    origin = np.asarray(origin)
    assert relation(cube(at=origin), cube(at=origin + at)) == expected
    assert relation(cube(at=origin), reversed_mesh(cube(at=origin + at))) == expected
    assert relation(soup(cube(at=origin)), cube(at=origin + at)) == expected


@pytest.mark.parametrize("at", [(1, 1, 1), (0, 1, 1), (0, 0, 1), (0, 0, 0), (2, 2, 2)])
@pytest.mark.parametrize("turned", [lambda mesh: mesh, reversed_mesh])
def test_a_cube_in_a_cube(at, turned):
    assert relation(cube(3.0), turned(cube(at=at))) == "nested"
    assert relation(turned(cube(at=at)), cube(3.0)) == "nested -"
    assert relation(turned(cube(3.0)), cube(at=at)) == "nested"


def test_bodies_that_meet_in_points_alone():
    # Each corner of the octahedron is on a wall of the cube: none tells where it lies.
    assert relation(cube(2.0), octahedron((1, 1, 1))) == "nested"
    assert relation(cube(2.0, at=(2, 0, 0)), octahedron((1, 1, 1))) == "touching"
    assert relation(cube(2.0, at=(2, 0, 0)), octahedron((1, 1, 1), 1.5)) == "overlapping"
    # A box around one that touches it from outside: boxes alone say nothing.
    ring = torus()
    assert relation(ring, octahedron((0, 0, 0), 0.5)) == ""


def test_a_middle_that_cannot_be_written_is_undetermined():
    # Corners on walls, and every middle between 1 and its neighbour among the numbers.
    step = 2.0**-52
    tall = box((1, 1, 1), (1 + step, 1 + step, 1 + step))
    inner = tetrahedron(tall.vertices[[0, 3, 5, 6]])
    found = relation(tall, inner)
    assert found in ("nested", "undetermined")


def test_six_tetrahedra_of_a_cube_touch():
    found = kinds(joined(*cube_in_six()))
    assert {kind: len(of) for kind, of in found.items()} == {"touching": 15}


def test_copies_are_equal_and_told_apart():
    found = relate(joined(cube(), cube(), cube()))
    assert (found.components, len(found.equal)) == (3, 3)
    other = staircase(np.ones((2, 2, 2), bool), spacing=(0.5, 0.5, 0.5))
    assert relation(cube(), other) == "equal"
    assert relation(star(6), star(6)) == "equal"


def test_wells_and_stars_of_many_triangles():
    body = star(20)
    assert relation(body, star(20, centre=(5, 0, 0))) == "overlapping"
    assert relation(body, star(20, radius=(50, 40, 25))) == "nested"
    assert relation(star(20, centre=(0, 0, 300)), body) == ""


def test_islands_in_voids():
    shells = [cube(9.0 - 2 * k, (k, k, k)) for k in range(4)]
    found = relate(joined(*shells))
    assert found.nested.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert (found.depth.tolist(), found.winding.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])


def test_shells_in_shells_are_not_compared_with_all(monkeypatch):
    count = 120
    shells = [cube(count - k, (k / 2, k / 2, k / 2)) for k in range(count)]
    shells[1::2] = map(reversed_mesh, shells[1::2])
    compared = []
    monkeypatch.setattr(
        Components, "inside", lambda self, pairs: compared.append(len(pairs)) or inside(self, pairs)
    )
    found = relate(joined(*shells))
    assert sum(compared) < count and not len(found.near)
    assert found.nested.tolist() == [[k, k + 1] for k in range(count - 1)]
    assert found.depth.tolist() == list(range(count))
    assert found.winding.tolist() == [k % 2 for k in range(count)]


inside = Components.inside


def bowl(at: tuple[float, float, float]) -> Mesh:
    """Return a thick bowl, open to the top, in whose hollow others may lie."""
    filled = np.ones((5, 5, 5), bool)
    filled[1:4, 1:4, 1:] = False
    return staircase(filled, origin=at)


@pytest.mark.full
@pytest.mark.parametrize("few", [0, 16])
@pytest.mark.parametrize("seed", range(12))
def test_the_tree_of_shells_against_all_pairs(seed, few, monkeypatch):
    random = np.random.default_rng(seed)
    place = lambda most: tuple(random.integers(0, 8 * most, 3) / 16)  # noqa: E731
    pieces = [cube(float(random.integers(1, 14)), place(16)) for _ in range(9)]
    pieces += [bowl(place(16)) for _ in range(4)] + [cube(30.0, (-4, -4, -4)), cube(0.5, (2, 2, 2))]
    pieces += [octahedron(place(16), random.integers(1, 9) / 2) for _ in range(4)]
    pieces = [one if random.random() < 0.6 else reversed_mesh(one) for one in pieces]
    mesh = joined(*pieces)
    monkeypatch.setattr(relations, "_FEW", few)
    found = relate(mesh)
    boxes = [one.bounds.tolist() for one in pieces]
    assert sorted(boxes) == sorted(found.boxes.tolist())
    at = {str(box): n for n, box in enumerate(found.boxes.tolist())}
    around = {n: set() for n in range(len(pieces))}
    outward = {at[str(box)]: piece for box, piece in zip(boxes, pieces, strict=True)}
    for one, other in combinations(range(len(pieces)), 2):
        said = relation(outward[one], outward[other])
        if said.startswith("nested"):
            outer, inner = (one, other) if said == "nested" else (other, one)
            around[inner].add(outer)
    assert found.depth.tolist() == [len(around[n]) for n in range(len(pieces))]
    assert found.winding.tolist() == [
        sum(found.outward[list(around[n])].tolist()) for n in range(len(pieces))
    ]
    parent = dict(found.nested[:, ::-1].tolist())
    for n, holders in around.items():
        deepest = max((found.depth[k] for k in holders), default=-1)
        assert (n in parent) == bool(holders)
        assert not holders or (parent[n] in holders and found.depth[parent[n]] == deepest)


def test_a_body_that_touches_itself_is_one_piece():
    filled = np.ones((3, 3, 1), bool)
    filled[1, 1] = False
    filled[0, 0] = False  # the hole and the notch meet in an edge
    assert relate(staircase(filled)).components == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_triangles_does_not_matter(seed):
    several = [cube(4.0), cube(at=(1, 1, 0)), cube(at=(4, 1, 1)), cube(2.0, (3, 3, 3)), cube(4.0)]
    mesh = joined(*several, staircase(random_body((4, 4, 4), 5), origin=(20, 0, 0)))
    one, other = relate(mesh), relate(shuffled(mesh, seed))
    assert one.components == other.components
    for kind in KINDS:
        boxes = [
            sorted(found.boxes[pair].tolist() for pair in getattr(found, kind).tolist())
            for found in (one, other)
        ]
        assert [sorted(pair) for pair in boxes[0]] == [sorted(pair) for pair in boxes[1]], kind


def test_an_open_mesh_is_counted_only():
    found = relate(joined(lidless(), cube(at=(0.5, 0, 0))))
    assert found.components == 2 and not found.closed
    assert not any(len(getattr(found, kind)) for kind in KINDS)


def test_what_faces_both_ways_is_undetermined_where_it_matters():
    turned = cube().triangles.copy()
    turned[3] = turned[3, ::-1]
    odd = Mesh(cube().vertices, turned)
    assert relation(odd, cube(at=(1, 0.5, 0))) == "undetermined"
    assert relation(odd, cube(at=(0.5, 0.5, 0.5))) == "overlapping"
    assert relation(cube(9.0, (-4, -4, -4)), odd) == "nested"


def test_what_would_take_too_long_is_undetermined():
    both = joined(star(20), star(20, radius=(99.9, 79.9, 49.9)))
    assert list(kinds(both)) == ["nested"]
    assert list(kinds(both, limit=10)) == ["undetermined"]
    assert list(kinds(both, total=1_000_000)) == ["nested"]
    assert list(kinds(both, total=1_001)) == ["undetermined"]


def test_no_pair_is_compared_where_all_would_take_too_long():
    crossing = splinters(200, turn=90.0)
    assert len(relate(crossing).overlapping) > 20
    found = relate(crossing, total=20_000)
    assert len(found.undetermined) == 21 and not len(found.overlapping)


def test_directions():
    found = relate(joined(cube(3.0), reversed_mesh(cube(at=(1, 1, 1)))))
    assert found.outward.tolist() == [1, -1]
    # So flat that float64 cannot tell which way it faces.
    flat = tetrahedron(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.1, 0.1, 2.0**-60]]) + 0.0)
    assert relate(joined(flat, reversed_mesh(flat))).outward.tolist() == [1, -1]


def test_what_lies_back_upon_itself_encloses_nothing():
    flap = Mesh([[0.5, 0.5, 0.5], [2, 0.5, 0.5], [0.5, 2, 0.5]], [[0, 1, 2], [2, 1, 0]])
    mesh = joined(cube(), flap)
    assert relate(mesh).components == 2 and kinds(mesh) == {}


# Oracles: integers and sets.

cells = st.integers(0, 4)
intervals = st.sampled_from([(low, high) for high in range(1, 5) for low in range(high)])
boxes = st.tuples(intervals, intervals, intervals)


def of_boxes(one, two) -> str:
    """Tell how two boxes of intervals lie, axis by axis."""
    if one == two:
        return "equal"
    if all(a <= c and d <= b for (a, b), (c, d) in zip(one, two, strict=True)):
        return "nested"
    if all(c <= a and b <= d for (a, b), (c, d) in zip(one, two, strict=True)):
        return "nested -"
    gaps = [max(a, c) - min(b, d) for (a, b), (c, d) in zip(one, two, strict=True)]
    return "" if max(gaps) > 0 else "overlapping" if max(gaps) < 0 else "touching"


def divided(intervals) -> Mesh:
    """Return a box whose walls are cut into unit squares."""
    low = np.array([pair[0] for pair in intervals])
    return staircase(np.ones([b - a for a, b in intervals], bool), origin=low)


@given(boxes, boxes, st.booleans(), st.booleans(), st.sampled_from([1.0, 0.1, 1 / 3]))
def test_boxes_on_a_lattice(one, two, cut_one, cut_two, size):
    meshes = [
        divided(part) if cut else box([p[0] for p in part], [p[1] for p in part])
        for part, cut in ((one, cut_one), (two, cut_two))
    ]
    scaled = [Mesh(mesh.vertices * size + MINE, mesh.triangles) for mesh in meshes]
    expected = of_boxes(one, two)
    if expected == "overlapping" and not as_made(*scaled):
        expected = "nested"
    assert same(relation(*scaled).removesuffix(" -"), expected.removesuffix(" -"), *scaled)


corner = st.tuples(cells, cells, cells)
corners = st.tuples(corner, corner, corner, corner)


def axes_of(solids) -> np.ndarray:
    """Return the directions that can part two tetrahedra: normals, and products of edges."""
    edges = [[np.subtract(b, a) for a, b in combinations(solid.tolist(), 2)] for solid in solids]
    pairs = [*combinations(edges[0], 2), *combinations(edges[1], 2), *product(*edges)]
    return np.array([np.cross(u, v) for u, v in pairs])


def of_tetrahedra(one, two) -> str:
    """Tell how two tetrahedra of integers lie: convex sets, parted by one of some directions."""
    axes = axes_of((one, two))
    axes = np.concatenate([axes, -axes])
    axes = axes[(axes != 0).any(axis=1)]
    room = (axes @ two.T).min(axis=1) - (axes @ one.T).max(axis=1)
    if (room > 0).any():
        return ""
    if (room >= 0).any():
        return "touching"
    normals = [np.concatenate([n, -n]) for n in (axes_of((one, one)), axes_of((two, two)))]
    held = [
        ((n @ inner.T).max(axis=1) <= (n @ outer.T).max(axis=1)).all()
        for n, outer, inner in ((normals[0], one, two), (normals[1], two, one))
    ]
    return {(1, 1): "equal", (1, 0): "nested", (0, 1): "nested -"}.get(
        (int(held[0]), int(held[1])), "overlapping"
    )


@pytest.mark.full
@given(corners, corners, st.booleans())
def test_tetrahedra_on_a_lattice(one, two, mine):
    solids = np.array(one), np.array(two)
    assume(all(round(np.linalg.det((s[1:] - s[0]).astype(float))) for s in solids))
    offset = MINE if mine else 0.0
    meshes = [tetrahedron(solid + offset) for solid in solids]
    assert same(relation(*meshes), of_tetrahedra(*solids), *meshes)


voxels = st.frozensets(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=8)


def of_voxels(one, two) -> str:
    """Tell how two sets of unit cubes lie."""
    if one == two:
        return "equal"
    if two < one or one < two:
        return "nested" if two < one else "nested -"
    if one & two:
        return "overlapping"
    near = any(all(abs(p - q) <= 1 for p, q in zip(a, b, strict=True)) for a in one for b in two)
    return "touching" if near else ""


def body(filled, shift=0) -> Mesh:
    grid = np.zeros((4, 4, 4), bool)
    grid[tuple(np.array(list(filled)).T)] = True
    return staircase(grid, origin=(shift, 0, 0))


@pytest.mark.full
@given(voxels, voxels, st.integers(0, 1))
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
def test_bodies_of_voxels(one, two, shift):
    meshes = body(one), body(two, shift)
    assume(all(relate(mesh).components == 1 for mesh in meshes) and as_made(*meshes))
    moved = frozenset((x + shift, y, z) for x, y, z in two)
    assert same(relation(*meshes), of_voxels(one, moved), *meshes)


def test_before_labelling_no_more_is_compared_than_the_limit_allows(monkeypatch):
    """Boxes of many thin bodies meet; to compare those of their triangles has no limit."""
    monkeypatch.setattr(Components, "contacts", None)
    body = splinters(4_000, turn=90.0)
    assert len(relate(body, total=10_000).undetermined) == 11
    with pytest.raises(TypeError):
        relate(body)


def test_an_inside_is_proven_at_a_vertex_of_few_triangles(monkeypatch):
    """The centre of a drum's roof has all its slivers, and there the faces cancel."""
    seen = []
    compare = checks.star_cancels

    def recorded(places, centre, star, **options):
        seen.append(len(star))
        return compare(places, centre, star, **options)

    monkeypatch.setattr(checks, "star_cancels", recorded)
    fitness.require_inside(fan(5_000), "parity")
    assert seen == [5]
    twice = Mesh([[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]] * 2, [*CORNER, *(CORNER + 4)])
    with pytest.raises(MeshError, match=r"nothing can be inside|cancel"):
        fitness.require_inside(twice, "parity")
