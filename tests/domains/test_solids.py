"""Named meshes from files, gathered into solids."""

from __future__ import annotations

from pathlib import Path

import pytest
from surfaces import hairline
from wireframes import box, cube

from geodomain import Domain, MeshError, Stack
from geodomain.cli.options import by_name
from geodomain.domains.sources import Weld, domains_to_label
from geodomain.formats.wireframes import write_mesh


def test_a_repeated_name_joins_the_place_of_its_first(tmp_path: Path) -> None:
    one, two = str(tmp_path / "one.obj"), str(tmp_path / "two.obj")
    write_mesh(cube(), one)
    write_mesh(box((20, 0, 0), (30, 10, 10)), two)
    found = domains_to_label(by_name((("A", one), ("B", one), ("A", two))))
    solids = found.domains.domains
    assert [(solid.name, len(solid.meshes)) for solid in solids] == [("A", 2), ("B", 1)]
    assert solids[0].bounds.tolist() == [[0, 0, 0], [30, 10, 10]]
    assert found.welds == () and found.files == (Path(one), Path(two))
    assert solids[0].meshes[0] is solids[1].meshes[0]  # read once


def test_welding_is_asked_for_and_reported(tmp_path: Path) -> None:
    path = str(tmp_path / "one.obj")
    write_mesh(cube(), path)
    for given in (path, [path], (path,)):
        found = domains_to_label({"A": given}, weld=0.5)
        assert found.welds == (Weld("one.obj", 0.5, 0, 0.0),)
        assert found.domains.meshes[0].is_closed


def test_meshes_that_are_there_are_welded_once_whatever_holds_them() -> None:
    crack = hairline(0.0004)
    domains = [
        Domain("A", crack, only_if={"rock": "OX"}, code=3),
        Stack([crack, [cube()]], ["UP", "MIDDLE", "DOWN"], rule="onlap"),
    ]
    found = domains_to_label(domains, weld=0.001)
    (domain,), (stack,) = found.domains.domains, found.domains.stacks
    assert [weld.moved for weld in found.welds] == [4, 0] and found.files == ()
    assert domain.meshes[0] is stack.surfaces[0][0] and domain.meshes[0].is_closed
    assert (domain.code, domain.only_if) == (3, domains[0].only_if)
    assert (stack.layers, stack.rule) == (("UP", "MIDDLE", "DOWN"), "onlap")
    assert domains_to_label(domains).domains.domains[0] is domains[0]


def test_a_mesh_of_points_and_lines_is_refused(tmp_path):
    path = tmp_path / "thin.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 2\nf 3 3 3\n")
    with pytest.raises(MeshError, match=r"thin.obj has no triangle with three different corners"):
        domains_to_label({"ORE": path})
