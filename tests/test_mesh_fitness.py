"""What a labelling asks of a mesh, and what it says of one that is odd."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from shapes import cube, cube_in_six, joined, star
from surfaces import reversed_mesh, soup, torus

import geodomain
from geodomain import GeodomainWarning, Mesh
from geodomain.domains.sources import domains_to_label
from geodomain.labelling.labeller import Labeller
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


@pytest.mark.parametrize("made", [twice, shared_twice, lambda mesh: soup(twice(mesh))])
@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_a_mesh_that_is_there_twice_is_loud_and_said_once(made, ask):
    mesh = made(cube(2.0))
    with pytest.warns(GeodomainWarning, match="NOTHING IS INSIDE") as told:
        ask(mesh)
    assert len(told) == 1 and told[0].filename == __file__
    ask(mesh)


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
        Labeller(domains_to_label({"ORE": path}).domains)
    assert sum("NOTHING IS INSIDE" in str(one.message) for one in told) == 1
