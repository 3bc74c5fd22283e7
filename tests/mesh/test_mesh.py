"""What a Mesh accepts, keeps and refuses."""

import pickle

import numpy as np
import pytest

from geodomain.compute import meshes
from geodomain.errors import GeodomainError, MeshError
from geodomain.mesh.mesh import Mesh
from geodomain.synthetic import star_shaped_orebody

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float64)
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], dtype=np.int32)


def test_keeps_read_only_copies():
    vertices, triangles = CORNERS.copy(), FACES.copy()
    mesh = Mesh(vertices, triangles, name="tetrahedron")
    vertices[:] = 7
    triangles[:] = 0
    assert np.array_equal(mesh.vertices, CORNERS)
    assert np.array_equal(mesh.triangles, FACES)
    assert mesh.vertices.dtype == np.float64
    assert mesh.triangles.dtype == np.int32
    assert not mesh.vertices.flags.writeable
    assert not mesh.triangles.flags.writeable
    assert mesh.name == "tetrahedron"


def test_is_frozen():
    with pytest.raises(AttributeError):
        Mesh(CORNERS, FACES).name = "other"


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int8, np.int64, np.uint64, ">f8"])
def test_widens_coordinates_exactly(kind):
    mesh = Mesh(CORNERS.astype(kind), FACES)
    assert np.array_equal(mesh.vertices, CORNERS)


def test_widens_float32_without_rounding():
    value = np.float32(7480000.7)
    assert Mesh(np.full((1, 3), value), np.empty((0, 3), int)).vertices[0, 0] == float(value)


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1])
def test_refuses_integers_that_float64_cannot_hold(value):
    vertices = np.zeros((3, 3), dtype=np.int64)
    vertices[1, 2] = value
    with pytest.raises(ValueError, match=f"hold {value}, which a float64 cannot"):
        Mesh(vertices, [[0, 1, 2]])


def test_refuses_the_largest_unsigned():
    with pytest.raises(ValueError, match="18446744073709551615"):
        Mesh(np.full((1, 3), 2**64 - 1, dtype=np.uint64), np.empty((0, 3), int))


def test_accepts_large_integers_that_fit():
    assert Mesh(np.full((1, 3), 2**62, np.int64), np.empty((0, 3), int)).vertices[0, 0] == 2.0**62


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_refuses_what_is_not_finite(value):
    vertices = CORNERS.copy()
    vertices[2, 1] = value
    with pytest.raises(MeshError, match=r"ore: vertex 2 is \(.*finite"):
        Mesh(vertices, FACES, name="ore")


@pytest.mark.parametrize("value", [2.0**-307, 5e-324, -(2.0**340), 1e300])
def test_refuses_what_is_out_of_range(value):
    vertices = CORNERS.copy()
    vertices[3, 0] = value
    with pytest.raises(MeshError, match=r"vertex 3 is \(.*2\^-306"):
        Mesh(vertices, FACES)


@pytest.mark.parametrize("value", [2.0**-306, 2.0**339, -(2.0**-306)])
def test_accepts_the_ends_of_the_range(value):
    vertices = CORNERS.copy()
    vertices[3, 0] = value
    assert Mesh(vertices, FACES).vertices[3, 0] == value


def test_finds_the_first_bad_vertex_of_many():
    vertices = np.ones((200_000, 3))
    vertices[[150_000, 70_001], 2] = np.nan
    with pytest.raises(MeshError, match="vertex 70001 is"):
        Mesh(vertices, [[0, 1, 2]])


def test_negative_zero_becomes_zero():
    mesh = Mesh([[-0.0, 0, 0], [1, -0.0, 0], [0, 1, 0]], [[0, 1, 2]])
    assert not np.signbit(mesh.vertices).any()


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint32, np.uint64, np.uint8])
def test_accepts_any_integer_index(kind):
    assert np.array_equal(Mesh(CORNERS, FACES.astype(kind)).triangles, FACES)


@pytest.mark.parametrize("index", [-1, 4, 2**40, -(2**40), 2**32])
def test_refuses_an_index_out_of_range(index):
    triangles = FACES.astype(np.int64)
    triangles[2, 1] = index
    with pytest.raises(MeshError, match=f"triangle 2 is .*{index}.*4 vertices"):
        Mesh(CORNERS, triangles)


@pytest.mark.parametrize(
    "vertices",
    [CORNERS.astype(bool), CORNERS.astype(complex), CORNERS.astype(str), CORNERS.astype(object)],
)
def test_refuses_other_types_of_coordinates(vertices):
    with pytest.raises(TypeError, match="vertices must be real numbers"):
        Mesh(vertices, FACES)


@pytest.mark.parametrize("triangles", [FACES.astype(float), FACES.astype(bool)])
def test_refuses_other_types_of_indices(triangles):
    with pytest.raises(TypeError, match="triangles must be integers"):
        Mesh(CORNERS, triangles)


@pytest.mark.parametrize("shape", [(12,), (6, 2), (3, 4), (1, 4, 3)])
def test_refuses_other_shapes(shape):
    with pytest.raises(ValueError, match=r"must have shape \(n, 3\)"):
        Mesh(CORNERS.reshape(shape), FACES)
    with pytest.raises(ValueError, match=r"must have shape \(n, 3\)"):
        Mesh(CORNERS, FACES.reshape(shape))


def test_takes_views_in_any_order():
    wide = np.zeros((4, 6))
    wide[:, ::2] = CORNERS
    mesh = Mesh(wide[:, ::2], np.asfortranarray(FACES))
    assert np.array_equal(mesh.vertices, CORNERS)
    assert mesh.vertices.flags.c_contiguous
    assert mesh.triangles.flags.c_contiguous


@pytest.mark.parametrize("vertices", [[], np.empty((0, 3)), CORNERS])
def test_may_be_empty(vertices):
    mesh = Mesh(vertices, [])
    assert mesh.triangles.shape == (0, 3)
    assert mesh.is_closed
    assert mesh.is_balanced
    assert mesh.bounds.tolist() == [[np.inf] * 3, [-np.inf] * 3]


def test_an_index_into_nothing_is_an_error():
    with pytest.raises(GeodomainError, match="triangle 0 is"):
        Mesh([], [[0, 0, 0]])


def test_bounds_are_those_of_vertices_in_use():
    vertices = np.vstack([CORNERS + 10, [[1e9, -1e9, 5]]])
    mesh = Mesh(vertices, FACES)
    assert mesh.bounds.tolist() == [[10, 10, 10], [11, 11, 11]]
    assert mesh.bounds is mesh.bounds


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("far", [-1e6, 1e6])
@pytest.mark.parametrize("place", [0, 5000, 40_962])
def test_bounds_leave_out_a_vertex_that_no_triangle_uses(axis, far, place):
    whole = star_shaped_orebody(64)
    vertices = np.insert(whole.vertices, place, whole.vertices[7], axis=0)
    vertices[place, axis] = far
    triangles = whole.triangles + (whole.triangles >= place)
    mesh = Mesh(vertices, triangles)
    used = vertices[np.unique(triangles)]
    assert mesh.bounds.tolist() == [used.min(axis=0).tolist(), used.max(axis=0).tolist()]


def test_bounds_where_an_unused_vertex_lies_on_their_side():
    low, high = CORNERS.min(axis=0), CORNERS.max(axis=0)
    mesh = Mesh(np.vstack([[low], [high], CORNERS]), FACES + 2)
    assert mesh.bounds.tolist() == [low.tolist(), high.tolist()]


@pytest.mark.parametrize("row", [0, 1, 127, 128, 129, 8191, 8192, 81_918, 81_919])
def test_one_triangle_decides_whether_a_mesh_is_closed_and_balanced(row):
    whole = star_shaped_orebody(64)
    assert (len(whole.triangles), whole.is_closed, whole.is_balanced) == (81_920, True, True)
    less = Mesh(whole.vertices, np.delete(whole.triangles, row, axis=0))
    assert (less.is_closed, less.is_balanced) == (False, False)
    turned = whole.triangles.copy()
    turned[row] = turned[row, ::-1]
    facing = Mesh(whole.vertices, turned)
    assert (facing.is_closed, facing.is_balanced) == (True, False)


def test_survives_pickling_frozen():
    mesh = pickle.loads(pickle.dumps(Mesh(CORNERS, FACES, name="ore")))
    assert np.array_equal(mesh.vertices, CORNERS)
    assert mesh.name == "ore"
    assert not mesh.vertices.flags.writeable


def bodies(triangles, vertex_count, merged=None):
    found = meshes.find_bodies(np.ascontiguousarray(triangles), merged, vertex_count)
    return found.count, found.vertices, found.triangles


def test_knows_one_body_from_several():
    assert bodies(FACES, 4) == (1, 4, 4)
    assert bodies(np.empty((0, 3), dtype=np.int32), 4) == (0, 0, 0)
    two = np.concatenate([FACES, FACES + 4])
    assert bodies(two, 9) == (2, 8, 8)
    assert bodies(np.concatenate([FACES, FACES + 3]), 7) == (1, 7, 8)  # they share a vertex
    order = np.random.default_rng(0).permutation(len(two))
    assert bodies(two[order], 9) == (2, 8, 8)
    flat = np.array([[4, 5, 5]], dtype=np.int32)
    assert bodies(np.concatenate([FACES, flat]), 6) == (1, 4, 4)
    assert bodies(two, 8, np.array([0, 1, 2, 3, 0, 1, 2, 3], dtype=np.int32)) == (1, 4, 8)


def repeats(triangles, vertex_count):
    return meshes.find_bodies(np.ascontiguousarray(triangles), None, vertex_count).repeats


def test_counts_what_uses_an_edge_again_in_the_same_direction():
    assert repeats(FACES, 4) == 0
    assert repeats(np.concatenate([FACES, FACES]), 4) == 6
    assert repeats(np.concatenate([FACES, FACES[:, ::-1]]), 4) == 6
    hub = np.array([[0, i, i % 999 + 1] for i in range(1, 1000)], dtype=np.int32)
    assert repeats(hub, 1000) == 0  # every vertex's bits are set, and no edge is there twice
    assert repeats(np.concatenate([hub, hub[:7]]), 1000) == 7 + 7
    rng = np.random.default_rng(4)
    for vertex_count in (5, 40, 3000):
        soup = rng.integers(0, vertex_count, (9000, 3)).astype(np.int32)
        proper = soup[(soup != np.roll(soup, 1, axis=1)).all(axis=1)]
        edges = np.concatenate([proper[:, [k, (k + 1) % 3]] for k in range(3)])
        forward = edges[edges[:, 0] < edges[:, 1]]
        assert repeats(soup, vertex_count) == len(forward) - len(np.unique(forward, axis=0))


def test_bodies_are_the_same_for_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(3)
    soup = rng.integers(0, 60_000, (40_000, 3)).astype(np.int32)
    soup[-9:] = soup[:9]
    alone = meshes.find_bodies(soup, None, 60_000)
    monkeypatch.setattr(meshes, "_threads", lambda _: 8)
    assert [meshes.find_bodies(soup, None, 60_000) for _ in range(5)] == [alone] * 5
    assert 1 < alone.count < alone.vertices < 60_000
    assert alone.repeats >= 9
