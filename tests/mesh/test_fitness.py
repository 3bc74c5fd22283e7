"""What a labelling asks of a mesh, and what it says of one that is odd."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from shapes import cube, cube_in_six, joined, staircase, star
from surfaces import reversed_mesh, soup, torus

import geodomain
from geodomain import GeodomainWarning, Mesh, MeshError
from geodomain.domains.sources import domains_to_label
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.mesh.fitness import list_warnings

POINT = [[1.0, 1.0, 1.0]]


@pytest.mark.parametrize("mesh", [cube(), torus(), star(4), soup(cube())])
def test_nothing_is_said_of_one_good_shell(mesh):
    assert list_warnings(mesh) == []


def test_nothing_is_said_of_shells_apart():
    assert list_warnings(joined(cube(), cube(at=(3, 0, 0)))) == []


CASES = {
    "a duplicate closed shell": joined(star(4), star(4)),
    "a pair of overlapping shells": joined(cube(2.0), cube(2.0, (1, 1, 1))),
    "a shell that faces the same way as the shell around it": joined(cube(3.0), cube(at=(1, 1, 1))),
    "a shell inside another,": joined(cube(3.0), reversed_mesh(cube(at=(1, 1, 1)))),
    "a pair of shells that touch": joined(cube(), cube(at=(1, 0.5, 0))),
    "15 pairs of shells that touch": joined(*cube_in_six()),
}


@pytest.mark.parametrize(("words", "mesh"), CASES.items())
@pytest.mark.parametrize("made", [lambda mesh: mesh, soup])
def test_what_is_said_first(words, mesh, made):
    assert f"joined has {words}" in list_warnings(made(mesh))[0]


def twice(mesh):
    return joined(mesh, mesh)


def shared_twice(mesh):
    return Mesh(mesh.vertices, np.concatenate([mesh.triangles, mesh.triangles[:, ::-1]]))


def again(mesh):
    return Mesh(mesh.vertices, mesh.triangles, name=mesh.name)


def flipped(mesh):
    return Mesh(mesh.vertices, np.concatenate([mesh.triangles[:1, ::-1], mesh.triangles[1:]]))


def merged(mesh):
    vertices, index = np.unique(mesh.vertices, axis=0, return_inverse=True)
    return Mesh(vertices, index.reshape(-1)[mesh.triangles], name=mesh.name)


ASK = {
    "contains": lambda mesh: geodomain.contains(mesh, POINT),
    "count_crossings": lambda mesh: geodomain.count_crossings(mesh, POINT),
    "contains_lattice": lambda mesh: geodomain.contains_lattice(mesh, [1.0], [1.0], [1.0]),
    "PointLocator": geodomain.PointLocator,
    "label_codes": lambda mesh: geodomain.label_codes(POINT, [mesh]),
    "label_points": lambda mesh: geodomain.label_points(POINT, {"ORE": mesh}),
}


def in_fine_voxels(mesh):
    """Return a cube and the same space in smaller triangles, shells with no triangle in common."""
    low, high = mesh.bounds
    finer = staircase(np.ones((2, 3, 2), bool), (high - low) / (2, 3, 2), low)
    return joined(mesh, finer)


def in_voxels_with_walls(mesh):
    """Return a cube that is filled by voxels of another size, each wall of them twice."""
    parts = [cube(1.0, at) for at in np.argwhere(np.ones((2, 2, 2)))]
    return joined(mesh, *parts)


TWICE = [
    twice,
    shared_twice,
    lambda mesh: soup(twice(mesh)),
    in_fine_voxels,
    in_voxels_with_walls,
    lambda mesh: soup(in_fine_voxels(mesh)),
]
INSIDE = ASK | {
    "locator": lambda mesh: geodomain.PointLocator(mesh).contains(POINT),
    "lattice": lambda mesh: geodomain.PointLocator(mesh).contains_lattice([1.0], [1.0], [1.0]),
    "crossings": lambda mesh: geodomain.PointLocator(mesh).count_crossings(POINT),
    "distances": lambda mesh: geodomain.distances(mesh, POINT, signed=True),
    "direction": lambda mesh: geodomain.contains(mesh, POINT, direction=(0, 0, 1)),
}
# What tells points apart by winding number too, and so takes a mesh that has an inside by either.
PARITY = {name: ask for name, ask in INSIDE.items() if name != "PointLocator"}


@pytest.mark.parametrize("made", TWICE)
@pytest.mark.parametrize("ask", PARITY.values(), ids=PARITY)
@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_a_solid_in_which_nothing_can_be_inside_is_refused(made, ask):
    mesh = made(cube(2.0))
    for _ in range(2):
        with pytest.raises(MeshError, match=r"occurs twice.*nothing is inside; remove the copies"):
            ask(mesh)
    assert "nothing is inside" in geodomain.check(mesh).faults()[0]


@pytest.mark.parametrize("made", TWICE)
def test_a_locator_is_made_of_what_has_an_inside_by_winding_number(made):
    mesh = made(cube(2.0))
    back = joined(cube(2.0), reversed_mesh(in_fine_voxels(cube(2.0))), cube(2.0))
    if made is shared_twice:
        back = mesh
    else:
        with pytest.warns(GeodomainWarning):
            locator = geodomain.PointLocator(mesh)
        assert locator.contains(POINT, rule="winding").all()
    with pytest.raises(MeshError, match="nothing is inside"):
        geodomain.PointLocator(back)


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_faces_cancel_exactly_or_not_at_all():
    """Planes that are off by one bit leave an inside, however thin; so does one voxel less."""
    turned = np.array([[2, -1, 2], [2, 2, -1], [-1, 2, 2]]) / 4.0  # exact, of short numbers
    far = np.array([414_000.25, 7_480_000.5, 310.125])
    for mesh in (in_fine_voxels(cube(2.0)), in_voxels_with_walls(cube(2.0))):
        mesh = Mesh(mesh.vertices[:, [2, 0, 1]] * 3 @ turned + far, mesh.triangles)
        assert geodomain.check(mesh).cancelled
        moved = mesh.vertices.copy()
        moved[-1, 0] = np.nextafter(moved[-1, 0], np.inf)
        moved = Mesh(moved, mesh.triangles)
        assert not geodomain.check(moved).cancelled
        geodomain.count_crossings(moved, POINT)
    parts = [cube(1.0, at) for at in np.argwhere(np.ones((2, 2, 2)))]
    for missing in range(8):
        mesh = joined(cube(2.0), *parts[:missing], *parts[missing + 1 :])
        assert not geodomain.check(mesh).cancelled
        within = np.argwhere(np.ones((2, 2, 2))) + 0.5
        assert np.flatnonzero(geodomain.contains(mesh, within)).tolist() == [missing]


def test_a_pillow_that_is_flat_in_a_tilted_plane_is_no_solid():
    corners = [(0, 0, 0), (4, 0, 4), (4, 4, 8), (0, 4, 4), (2, 1, 3)]
    front = [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)]
    pillow = Mesh(corners, [*front, (0, 2, 1), (0, 3, 2)])
    with pytest.raises(MeshError, match="nothing is inside"):
        geodomain.contains(pillow, POINT)
    with pytest.raises(MeshError, match="nothing is inside"):
        geodomain.PointLocator(pillow)


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_who_asks_of_triangles_alone_takes_any_mesh():
    mesh = twice(cube(2.0))
    assert geodomain.on_surface(mesh, [[0.0, 1.0, 1.0]]).all()
    assert geodomain.distances(mesh, [[-1.0, 1.0, 1.0]]).tolist() == [1.0]


def pancake(corners=((0, 0, 0), (9, 0, 1), (0, 9, 2))):
    """Return a triangle and its back."""
    return Mesh(corners, [[0, 1, 2], [0, 2, 1]])


@pytest.mark.parametrize("ask", INSIDE.values(), ids=INSIDE)
def test_a_triangle_and_its_back_are_no_solid(ask):
    for mesh in (pancake(), joined(pancake(), pancake(((50, 0, 0), (59, 0, 1), (50, 9, 2))))):
        with pytest.raises(MeshError, match="nothing is inside"):
            ask(mesh)


@pytest.mark.parametrize("ask", INSIDE.values(), ids=INSIDE)
def test_a_solid_in_a_plane_is_none(ask):
    flat = cube(2.0)
    flat = Mesh(flat.vertices * [1, 1, 0] + [0, 0, 7], flat.triangles, name="flat")
    with pytest.raises(MeshError, match=r"flat lies in the plane z = 7: nothing can be inside"):
        ask(flat)


def test_a_shell_that_is_there_twice_is_solid_by_winding_number():
    mesh = twice(cube(2.0))
    with pytest.warns(GeodomainWarning, match="NOTHING IS INSIDE"):
        assert geodomain.contains(mesh, POINT, rule="winding").all()
    with pytest.raises(MeshError, match="By rule 'winding' the mesh has an inside"):
        geodomain.contains(mesh, POINT)
    back = shared_twice(cube(2.0))
    with pytest.raises(MeshError, match=r"remove the copies\.$"):
        geodomain.contains(back, POINT, rule="winding")


def test_a_second_body_makes_it_a_solid():
    mesh = joined(cube(2.0), cube(2.0), cube(2.0, (5, 0, 0)))
    with pytest.warns(GeodomainWarning, match="NOTHING IS INSIDE"):
        assert geodomain.contains(mesh, [[1, 1, 1], [6, 1, 1]]).tolist() == [False, True]


SOLIDS_OF_SEVERAL = {
    "a duplicate closed shell": joined(cube(), cube(), cube(at=(5, 0, 0))),
    "a pair of overlapping shells": joined(cube(2.0), cube(2.0, (1, 1, 1))),
    "a shell inside another,": joined(cube(3.0), reversed_mesh(cube(at=(1, 1, 1)))),
    "a pair of shells that touch": joined(cube(), cube(at=(1, 0.5, 0))),
    "3 mis-oriented edges": flipped(cube()),
    "an edge shared by more than two triangles": merged(joined(cube(), cube(at=(1, 1, 0)))),
}


@pytest.mark.parametrize(("words", "mesh"), SOLIDS_OF_SEVERAL.items())
@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
@pytest.mark.parametrize("made", [again, soup])
def test_what_single_shells_do_is_said_by_all_who_ask(made, ask, words, mesh):
    mesh = made(mesh)
    with pytest.warns(GeodomainWarning, match=words) as told:
        ask(mesh)
    assert [one.filename for one in told] == [__file__]
    ask(mesh)


@pytest.mark.parametrize("mesh", [cube(), torus(), star(4), joined(cube(), cube(at=(3, 0, 0)))])
@pytest.mark.parametrize("made", [again, soup])
def test_nothing_is_said_of_what_is_sound(made, mesh):
    assert geodomain.contains(made(mesh), POINT).shape == (1,)  # a warning is an error here


def test_a_command_says_it_once(tmp_path):
    path = tmp_path / "twice.ply"
    geodomain.write_mesh(twice(cube()), path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        Labeller(domains_to_label({"ORE": path}).domains, LabelSettings(rule="winding"))
    assert sum("NOTHING IS INSIDE" in str(one.message) for one in told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(
            MeshError, match=r"each face of twice\.ply, .*, occurs twice.*an inside\.$"
        ):
            Labeller(domains_to_label({"ORE": path}).domains)
