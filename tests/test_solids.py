"""Named meshes from files, gathered into solids."""

from __future__ import annotations

from pathlib import Path

import pytest
from wireframes import box, cube

from geodomain import MeshError
from geodomain.meshfiles import write_mesh
from geodomain.solids import Weld, read_solids


def test_a_repeated_name_joins_the_place_of_its_first(tmp_path: Path) -> None:
    one, two = str(tmp_path / "one.obj"), str(tmp_path / "two.obj")
    write_mesh(cube(), one)
    write_mesh(box((20, 0, 0), (30, 10, 10)), two)
    solids, welds = read_solids([("A", one), ("B", one), ("A", two)])
    assert [(solid.name, len(solid.meshes)) for solid in solids] == [("A", 2), ("B", 1)]
    assert solids[0].bounds.tolist() == [[0, 0, 0], [30, 10, 10]]
    assert welds == ()


def test_welding_is_asked_for_and_reported(tmp_path: Path) -> None:
    path = str(tmp_path / "one.obj")
    write_mesh(cube(), path)
    solids, welds = read_solids([("A", path)], weld=0.5)
    assert welds == (Weld("one.obj", 0.5, 0, 0.0),)
    assert solids[0].meshes[0].is_closed


def test_a_mesh_of_points_and_lines_is_refused(tmp_path):
    path = tmp_path / "thin.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 2\nf 3 3 3\n")
    with pytest.raises(MeshError, match=r"thin.obj has no triangle with three different corners"):
        read_solids([("ORE", str(path))])
