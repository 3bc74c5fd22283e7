"""Labels against independent truth: fractions, voxels, partitions, rays in any direction."""

from __future__ import annotations

import numpy as np
import pytest
from crossings import adversarial
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes import (
    UNDECIDABLE,
    cube,
    cube_in_six,
    minute,
    odd_on_purpose,
    oracle_crossings,
    oracle_inside,
    random_body,
    staircase,
    star,
    tetrahedron,
)
from surfaces import lidless

import geodomain
from geodomain import Mesh, MeshError, PointError, contains
from geodomain.mesh.fitness import require_closed

MINE = np.array([414_000.0, 7_480_000.0, 310.0])


def surface_points(mesh: Mesh, seed: int, count: int) -> np.ndarray:
    """Return points on vertices, on edges and faces (rounded), level with vertices, and near."""
    rng = np.random.default_rng(seed)
    corners = mesh.vertices[mesh.triangles[rng.integers(0, len(mesh.triangles), count)]]
    weights = rng.dirichlet([1, 1, 1], count)
    weights[count // 4 : count // 2, 0] = 0  # on an edge
    weights[: count // 4] = [1, 0, 0]  # on a vertex
    weights /= weights.sum(axis=1, keepdims=True)
    points = (corners * weights[:, :, None]).sum(axis=1)
    mixed = mesh.vertices[rng.integers(0, len(mesh.vertices), (count, 3)), [0, 1, 2]]
    nudged = np.nextafter(points, rng.choice([-np.inf, np.inf], points.shape))
    return np.concatenate([points, mixed, nudged])


def assert_exact(mesh: Mesh, points: np.ndarray, backend: str) -> None:
    truth = np.array([oracle_crossings(mesh, point) for point in points])
    assert np.array_equal(geodomain.count_crossings(mesh, points, backend=backend), truth[:, 0])
    assert np.array_equal(geodomain.winding_numbers(mesh, points, backend=backend), truth[:, 1])
    inside = geodomain.contains(mesh, points, backend=backend)
    assert np.array_equal(inside, truth[:, 0] % 2 == 1)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("at", ["local", "mine"])
def test_random_tetrahedra(at: str, seed: int, backend: str) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.normal(size=(4, 3)) * 40 + (MINE if at == "mine" else 0)
    mesh = tetrahedron(corners)
    inside = corners.mean(axis=0) + rng.normal(size=(40, 3)) * 10
    assert_exact(mesh, np.concatenate([inside, surface_points(mesh, seed, 40)]), backend)


@pytest.mark.parametrize("seed", range(20))
def test_integer_tetrahedra_on_the_lattice(seed: int, backend: str) -> None:
    rng = np.random.default_rng(seed)
    while True:
        corners = rng.integers(0, 5, (4, 3))
        if abs(np.linalg.det(corners[1:] - corners[0])) > 0.5:
            break
    x, y, z = np.meshgrid(*[np.arange(-1.0, 6.0)] * 3, indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    assert_exact(tetrahedron(corners), points, backend)


@pytest.mark.full
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=12, max_size=12), st.sampled_from([1.0, 0.1, 7e5]))
def test_any_small_tetrahedron(values: list[int], scale: float) -> None:
    corners = np.array(values, dtype=float).reshape(4, 3)
    if abs(np.linalg.det(corners[1:] - corners[0])) < 0.5:  # a whole number but for rounding: flat
        return
    corners *= scale
    mesh = tetrahedron(corners)
    axis = np.arange(0, 4) * scale
    labels = geodomain.contains_lattice(mesh, axis, axis, axis)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    assert np.array_equal(labels.ravel(), oracle_inside(mesh, points))
    assert np.array_equal(labels.ravel(), geodomain.contains(mesh, points))


def test_six_tetrahedra_partition_the_cube(backend: str) -> None:
    axis = np.linspace(-0.25, 1.25, 25)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    held = sum(
        geodomain.contains(solid, points, backend=backend).astype(int) for solid in cube_in_six()
    )
    # The whole cube, floor and lower walls included, roof and upper walls not.
    whole = ((points >= 0) & (points < 1)).all(axis=1)
    assert np.array_equal(held, whole.astype(int))


@odd_on_purpose
@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), tuple(MINE), (-0.7, 0.1, -1e6)])
@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (12.5, 10.0, 2.5), (0.1, 0.3, 0.7)])
def test_staircase_at_its_own_vertices(spacing, at, backend: str) -> None:
    """A vertex displaced up, east and north is in the voxel of its own index."""
    filled = random_body((7, 6, 5), seed=1)
    mesh = staircase(filled, spacing, at)
    axes = [np.arange(n + 1) * s + o for n, s, o in zip(filled.shape, spacing, at, strict=True)]
    truth = np.pad(filled, [(0, 1)] * 3)
    labels = geodomain.contains_lattice(mesh, *axes, backend=backend)
    assert np.array_equal(labels, truth)
    x, y, z = np.meshgrid(*axes, indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    assert np.array_equal(geodomain.contains(mesh, points, backend=backend), truth.ravel())
    crossings = geodomain.count_crossings(mesh, points, backend=backend)
    assert np.array_equal(crossings % 2 == 1, truth.ravel())
    assert np.array_equal(geodomain.winding_numbers(mesh, points) == 1, truth.ravel())


@odd_on_purpose
def test_solids_that_share_a_wall_share_no_point(backend: str) -> None:
    """A body of voxels cut in two by a random surface of voxel faces."""
    whole = np.ones((6, 6, 6), dtype=bool)
    part = random_body(whole.shape, seed=4)
    points = np.random.default_rng(0).integers(-2, 14, (5000, 3)) * 0.5 + MINE
    meshes = [staircase(body, origin=MINE) for body in (part, whole & ~part, whole)]
    first, second, both = (geodomain.contains(m, points, backend=backend) for m in meshes)
    assert not (first & second).any()
    assert np.array_equal(first | second, both)


def test_cube_conventions(backend: str) -> None:
    points = {
        "roof": (0.5, 0.5, 1.0),
        "floor": (0.5, 0.5, 0.0),
        "west wall": (0.0, 0.5, 0.5),
        "east wall": (1.0, 0.5, 0.5),
        "south wall": (0.5, 0.0, 0.5),
        "north wall": (0.5, 1.0, 0.5),
        "inside": (0.5, 0.5, 0.5),
    }
    labels = geodomain.contains(cube(), list(points.values()), backend=backend)
    assert dict(zip(points, labels.tolist(), strict=True)) == {
        "roof": False,
        "floor": True,
        "west wall": True,
        "east wall": False,
        "south wall": True,
        "north wall": False,
        "inside": True,
    }


@pytest.mark.parametrize("scale", [2.0**-250, 1.0, 2.0**300])
def test_extreme_scales(scale: float, backend: str) -> None:
    mesh = tetrahedron(np.array([[0, 0, 0], [5, 1, 0], [1, 5, 1], [1, 2, 7]]) * scale)
    points = np.random.default_rng(5).integers(-1, 8, (300, 3)) * scale
    assert_exact(mesh, points, backend)


def test_points_that_are_far_or_not_numbers(backend: str) -> None:
    bad = [np.nan, np.inf, -np.inf, 1e300, -1e300]
    points = [[b if i == axis else 0.5 for i in range(3)] for b in bad for axis in range(3)]
    assert not geodomain.contains(cube(), points, backend=backend).any()
    below = [[0.5, 0.25, -1e300], [0.5, 0.25, -1.0], [0.5, 0.25, 1e300]]
    assert geodomain.count_crossings(cube(), below, backend=backend).tolist() == [2, 2, 0]


TINY = [0.0, 5e-324, -5e-324, 1e-310, -1e-310, 2.0**-307]


@pytest.mark.full
def test_coordinates_below_the_range_of_a_mesh_are_labelled_too(backend: str) -> None:
    """One step beside zero is not zero: on every wall, edge and vertex of solids there."""
    values = [*TINY, 0.5, 1.0]
    x, y, z = np.meshgrid(values, values, values, indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    slanted = tetrahedron([[0, 0, 0], [3, 1, 0], [1, 3, 1], [-1, -1, 2]])
    for mesh in (cube(), slanted, tetrahedron([[0, 0, 0], [3, 0, 1], [0, 3, 1], [0, 0, -1]])):
        truth = oracle_inside(mesh, points)
        decided = np.ones(len(points), dtype=bool)
        locator = geodomain.PointLocator(mesh, backend=backend)
        for row, point in enumerate(points):
            try:
                label = locator.contains(point[None])[0]
            except PointError:
                decided[row] = False
            else:
                assert label == truth[row], point
        # Only several tiny coordinates that pull in different directions are refused.
        several = np.isin(points, TINY[1:]).sum(axis=1) > 1
        assert decided[~several].all()
        assert decided.mean() > 0.7


def test_what_cannot_be_decided_is_refused_with_its_row(backend: str) -> None:
    points = [(1.0, 1.0, 1.0), UNDECIDABLE]
    with pytest.raises(PointError, match=r"point 1 is .*write the coordinate as 0"):
        geodomain.contains(minute(), points, backend=backend)
    with pytest.raises(PointError, match="point 1"):
        geodomain.count_crossings(minute(), points, backend=backend)
    with pytest.raises(PointError, match="write the coordinate as 0"):
        axes = [[value] for value in UNDECIDABLE]
        geodomain.contains_lattice(minute(), *axes, backend=backend)


def test_negative_zero_is_zero(backend: str) -> None:
    mesh = Mesh(np.where(cube().vertices == 0, -0.0, cube().vertices), cube().triangles)
    points = [[0.0, 0.0, 0.0], [-0.0, -0.0, -0.0], [0.5, -0.0, 0.5]]
    assert geodomain.contains(mesh, points, backend=backend).all()


@pytest.mark.parametrize("points", [np.empty((0, 3)), np.empty((0, 3), dtype=np.float32)])
def test_no_points(points: np.ndarray, backend: str) -> None:
    assert geodomain.contains(cube(), points, backend=backend).shape == (0,)
    assert geodomain.count_crossings(cube(), points, backend=backend).shape == (0,)
    assert geodomain.on_surface(cube(), points, backend=backend).shape == (0,)


def test_no_triangles_contain_nothing(backend: str) -> None:
    empty = Mesh(np.empty((0, 3)), np.empty((0, 3), dtype=np.int32))
    points = np.zeros((5000, 3))
    assert not geodomain.contains(empty, points, backend=backend).any()
    assert not geodomain.contains_lattice(empty, [0.0], [0.0, 1.0], [2.0], backend=backend).any()
    assert not geodomain.on_surface(empty, points, backend=backend).any()


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.uint16, ">f8"])
def test_other_number_types_are_widened(dtype: str) -> None:
    points = np.array([[1, 1, 1], [3, 3, 3]]).astype(dtype)
    assert geodomain.contains(cube(2.0), points).tolist() == [True, False]


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match=r"shape \(n, 3\)"):
        geodomain.contains(cube(), [0.5, 0.5])
    with pytest.raises(TypeError, match="real numbers"):
        geodomain.contains(cube(), [["a", "b", "c"]])
    with pytest.raises(ValueError, match="9007199254740993"):
        geodomain.contains(cube(), np.array([[2**53 + 1, 0, 0]]))
    with pytest.raises(ValueError, match="rule"):
        geodomain.contains(cube(), [[0, 0, 0]], rule="odd")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="backend"):
        geodomain.contains(cube(), [[0, 0, 0]], backend="abacus")
    with pytest.raises(ValueError, match="threads"):
        geodomain.contains(cube(), [[0, 0, 0]], threads=0)


def test_what_is_no_mesh_is_refused_by_its_type() -> None:
    with pytest.raises(FileNotFoundError, match=r"ore\.stl"):
        geodomain.contains("ore.stl", [[0, 0, 0]])
    with pytest.raises(TypeError, match="a list is several meshes"):
        geodomain.contains_lattice([], [0], [0], [0])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a path|the path of a mesh file, not int"):
        geodomain.PointLocator(3, allow_open=True)  # type: ignore[arg-type]


def test_masked_coordinates_are_missing() -> None:
    points = np.ma.masked_array([[1, 1, 1], [1, 1, 1]], [[0, 0, 0], [0, 1, 0]])
    assert geodomain.contains(cube(2.0), points).tolist() == [True, False]
    assert geodomain.label_codes(points, [cube(2.0)]).tolist() == [0, -2]
    assert geodomain.contains(cube(2.0), np.ma.masked_array([[1, 1, 1]])).tolist() == [True]


def test_points_of_any_layout_and_unchanged() -> None:
    mesh = star(12)
    points = np.random.default_rng(2).normal(size=(6000, 3)) * 60
    expected = geodomain.contains(mesh, points)
    wide = np.full((6000, 7), np.nan)
    wide[:, [5, 1, 3]] = points
    for given_points in (
        np.asfortranarray(points),
        points[::-1][::-1],
        np.ascontiguousarray(points[::-1])[::-1],
        wide[:, [5, 1, 3]],
        wide[:, 5:0:-2][:, [0, 2, 1]],
    ):
        before = given_points.copy()
        assert np.array_equal(geodomain.contains(mesh, given_points), expected)
        assert np.array_equal(given_points, before)


def test_an_open_mesh_is_refused_or_taken_by_name(backend: str) -> None:
    lid_off = Mesh(cube().vertices, cube().triangles[2:])
    with pytest.raises(MeshError, match="not closed"):
        geodomain.contains(lid_off, [[0.5, 0.5, 0.5]])
    with pytest.raises(MeshError, match="not closed"):
        geodomain.PointLocator(lid_off)
    points = np.random.default_rng(0).integers(-1, 4, (400, 3)) * 0.5
    labels = geodomain.contains(lid_off, points, allow_open=True, backend=backend)
    assert np.array_equal(labels, oracle_inside(lid_off, points))
    axis = [-0.5, 0.0, 0.25, 0.5, 1.0]
    lattice = geodomain.contains_lattice(lid_off, axis, axis, axis, allow_open=True)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    same = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    assert np.array_equal(lattice.ravel(), oracle_inside(lid_off, same))


@odd_on_purpose
def test_winding_rule_counts_overlaps_once(backend: str) -> None:
    one, other = cube(2.0), cube(2.0, at=(1.0, 1.0, 0.5))
    both = Mesh(
        np.concatenate([one.vertices, other.vertices]),
        np.concatenate([one.triangles, other.triangles + len(one.vertices)]),
    )
    overlap = [[1.5, 1.5, 1.0]]
    assert geodomain.winding_numbers(both, overlap, backend=backend).tolist() == [2]
    assert not geodomain.contains(both, overlap, backend=backend).any()
    assert geodomain.contains(both, overlap, rule="winding", backend=backend).all()
    axis = np.arange(0.25, 3.5, 0.5)
    by_winding = geodomain.contains_lattice(both, axis, axis, axis, rule="winding")
    union = geodomain.contains_lattice(one, axis, axis, axis)
    union = union | geodomain.contains_lattice(other, axis, axis, axis)
    assert np.array_equal(by_winding, union)


@odd_on_purpose
def test_winding_is_refused_where_edges_do_not_balance() -> None:
    flipped = cube().triangles.copy()
    flipped[2:4] = flipped[2:4, ::-1]
    mesh = Mesh(cube().vertices, flipped)
    require_closed(mesh)
    assert geodomain.contains(mesh, [[0.5, 0.5, 0.5]]).all()
    with pytest.raises(MeshError, match="are mis-oriented"):
        geodomain.winding_numbers(mesh, [[0.5, 0.5, 0.5]])


def test_a_refused_point_of_a_lattice_is_named_by_its_row() -> None:
    minute = tetrahedron(np.array([[0, 0, 0], [3, 1, 0], [1, 3, 1], [1, 1, 3]]) * 2.0**-304)
    axis = np.r_[np.arange(1.0, 20.0), 2.0**-307]
    grid = np.meshgrid(axis, axis, axis, indexing="ij")
    points = np.stack([part.ravel() for part in grid], axis=1)
    with pytest.raises(PointError, match="point 7999 is"):
        geodomain.contains(minute, points)


@pytest.mark.parametrize("threads", [np.int64(2), 2000, 2**33])
def test_any_number_of_threads_gives_the_same_labels(threads: int) -> None:
    points = np.random.default_rng(0).uniform(-1, 2, (5000, 3))
    expected = geodomain.contains(cube(), points, threads=1)
    assert np.array_equal(geodomain.contains(cube(), points, threads=threads), expected)


def test_no_points_may_be_an_empty_list():
    assert geodomain.contains(cube(), []).tolist() == []
    assert geodomain.count_crossings(cube(), np.zeros((0, 3))).tolist() == []
    with pytest.raises(ValueError, match="shape"):
        geodomain.contains(cube(), [1.0, 2.0])


DIRECTIONS = [
    (0, 0, 1),
    (0, 0, -1),
    (1, 0, 0),
    (-3, 2, 0.5),
    (1e-9, 1, 1e9),
    (1e-310, -1, 1e-30),
    (1e308, -1e308, 1),
]


@odd_on_purpose
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mesh", [star(8), staircase(random_body((4, 3, 3), 2)), cube(0.1)])
def test_every_direction_tells_the_same(mesh: Mesh, direction, backend: str) -> None:
    """On the surface too: both displace the point alike."""
    points = np.concatenate(adversarial(mesh, 1500, np.random.default_rng(4)))
    found = contains(mesh, points, direction=direction, backend=backend)
    assert np.array_equal(found, contains(mesh, points))
    assert found.any()


@odd_on_purpose
@pytest.mark.parametrize("direction", [(1, 1, 1), (-1, 2**-60, 0), (0, -1, -3)])
@pytest.mark.parametrize("size", [2.0**338, -(2.0**338), 2.0**-305])
def test_meshes_as_large_and_as_small_as_may_be(size: float, direction) -> None:
    """No segment may end out of range: what is beyond the box is cut off there."""
    mesh = Mesh(cube().vertices * 2 * size, cube().triangles)
    points = np.stack(np.meshgrid(*[[0.0, 0.5, 1.0, 1.5, 2.0]] * 3), axis=-1).reshape(-1, 3) * size
    assert np.array_equal(contains(mesh, points, direction=direction), contains(mesh, points))


def test_a_point_out_of_range_is_refused_by_its_row() -> None:
    points = [[9, 9, 9], [0.5, 1e-310, 0.5]]
    with pytest.raises(PointError, match=r"point 1 is \(0\.5, 1e-310, 0\.5\)"):
        contains(cube(), points, direction=(1, 2, 3))


def test_what_is_not_a_number_or_beyond_is_outside() -> None:
    points = [[np.nan, 0, 0], [np.inf, 0.5, 0.5], [1e300, 0.5, 0.5], [0.5, 0.5, 0.5]]
    assert contains(cube(), points, direction=(1, 1, 0)).tolist() == [False, False, False, True]


def test_slips_are_said() -> None:
    for direction in ((0, 0, 0), (0, 0, np.nan), (1, 0), "up", ((1, 0, 0),)):
        with pytest.raises(ValueError, match="direction must be three finite numbers"):
            contains(cube(), [[0, 0, 0]], direction=direction)
    with pytest.raises(ValueError, match="needs rule='parity'"):
        contains(cube(), [[0, 0, 0]], direction=(1, 0, 0), rule="winding")
    with pytest.raises(MeshError, match="not closed"):
        contains(lidless(), [[0, 0, 0]], direction=(1, 0, 0))
