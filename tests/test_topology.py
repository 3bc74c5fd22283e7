"""What a labelling asks of a mesh, and what it says of one that is odd."""

from __future__ import annotations

import pytest
from shapes import cube, cube_in_six, joined, star
from surfaces import reversed_mesh, soup, torus

from geodomain.topology import list_warnings


@pytest.mark.parametrize("mesh", [cube(), torus(), star(4), soup(cube())])
def test_nothing_is_said_of_one_good_shell(mesh):
    assert list_warnings(mesh) == []


def test_nothing_is_said_of_shells_apart():
    assert list_warnings(joined(cube(), cube(at=(3, 0, 0)))) == []


CASES = {
    "a closed shell that is there twice": joined(star(4), star(4)),
    "a pair of shells that overlap": joined(cube(2.0), cube(2.0, (1, 1, 1))),
    "a shell inside another that faces the same way": joined(cube(3.0), cube(at=(1, 1, 1))),
    "a shell inside another,": joined(cube(3.0), reversed_mesh(cube(at=(1, 1, 1)))),
    "a pair of shells that touch": joined(cube(), cube(at=(1, 0.5, 0))),
    "15 pairs of shells that touch": joined(*cube_in_six()),
}


@pytest.mark.parametrize(("words", "mesh"), CASES.items())
@pytest.mark.parametrize("made", [lambda mesh: mesh, soup])
def test_what_is_said_first(words, mesh, made):
    assert f"joined has {words}" in list_warnings(made(mesh))[0]
