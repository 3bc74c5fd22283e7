"""Several solids in one file: listed, picked by name, taken as one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from wireframes import box, cube

import geodomain
from geodomain import GeodomainWarning, Mesh, MeshError, read_mesh, read_meshes, write_mesh
from geodomain.cli import main
from geodomain.cli.options import by_name
from geodomain.formats.registry import split_name
from geodomain.formats.solids import gather, listed
from geodomain.mesh.polygons import Faces


@pytest.fixture
def pit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write two boxes of two names, and work beside them."""
    monkeypatch.chdir(tmp_path)
    write_mesh({"ORE HG": cube(), "WASTE": box((20, 0, 0), (30, 10, 10))}, "pit.ts")
    return Path("pit.ts")


def test_each_solid_is_a_mesh(pit: Path) -> None:
    found = read_meshes(pit)
    assert list(found) == ["ORE HG", "WASTE"]
    assert [mesh.name for mesh in found.values()] == ["pit.ts:ORE HG", "pit.ts:WASTE"]
    assert found["WASTE"].bounds.tolist() == [[20, 0, 0], [30, 10, 10]]


def test_a_file_is_one_mesh_that_says_what_it_held(pit: Path) -> None:
    mesh = read_mesh(pit)
    assert mesh.is_closed
    assert len(mesh.triangles) == 24
    assert mesh.name == "pit.ts ('ORE HG' and 'WASTE')"


def test_a_name_picks_one(pit: Path) -> None:
    for path in ("pit.ts:WASTE", str(pit.absolute()) + ":WASTE", Path("pit.ts:WASTE")):
        assert read_mesh(path).bounds.tolist() == [[20, 0, 0], [30, 10, 10]]
    assert list(read_meshes("pit.ts:WASTE")) == ["WASTE"]


def test_a_name_that_there_is_not(pit: Path) -> None:
    with pytest.raises(
        MeshError, match=r"no solid 'waste': it holds 'ORE HG' and 'WASTE'; did you mean 'WASTE'\?"
    ):
        read_mesh("pit.ts:waste")
    with pytest.raises(FileNotFoundError):
        read_mesh("none.ts:WASTE")


def test_a_file_that_is_there_wins_over_a_name(pit: Path) -> None:
    write_mesh(cube(), "x.ply")
    Path("pit.ts:WASTE").write_bytes(Path("x.ply").read_bytes())
    with pytest.warns(geodomain.GeodomainWarning, match="but is PLY"):
        assert read_mesh("pit.ts:WASTE").bounds[0].tolist() == [0, 0, 0]


def test_a_drive_is_no_name(pit: Path) -> None:
    Path("C").write_bytes(pit.read_bytes())
    assert split_name(r"C:\pit.ts") == (Path(r"C:\pit.ts"), None)
    assert split_name("C:/pit.ts") == (Path("C:/pit.ts"), None)
    assert split_name("pit.ts:A:B") == (Path("pit.ts"), "A:B")


def test_a_name_may_be_longer_than_the_name_of_a_file(pit: Path) -> None:
    name = "A" * 300
    assert split_name(f"pit.ts:{name}") == (Path("pit.ts"), name)
    with pytest.raises(MeshError, match="has no solid 'AAA"):
        read_mesh(f"pit.ts:{name}")


def test_files_without_names_have_their_stem(tmp_path: Path) -> None:
    write_mesh(cube(), tmp_path / "ore.obj")
    (item,) = read_meshes(tmp_path / "ore.obj").items()
    assert item[0] == "ore"
    assert item[1].name == "ore.obj"


def test_solids_without_a_name_are_a_domain_each(pit: Path) -> None:
    found = by_name((("", "pit.ts"), ("TWO", "pit.ts:WASTE"), ("WASTE", "pit.ts:WASTE")))
    assert found == {
        "ORE HG": ["pit.ts:ORE HG"],
        "WASTE": ["pit.ts:WASTE", "pit.ts:WASTE"],
        "TWO": ["pit.ts:WASTE"],
    }


def label(*options: str) -> str:
    Path("blocks.csv").write_text("X,Y,Z\n5,5,5\n25,5,5\n50,5,5\n")
    arguments = ["label", "blocks.csv", *options, "-o", "out.csv", "--overwrite", "-q"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return ",".join(
        line.rpartition(",")[2] for line in Path("out.csv").read_text().splitlines()[1:]
    )


def test_the_command_takes_one_or_each_or_all(pit: Path) -> None:
    assert label("--solid", "ORE=pit.ts:WASTE") == ",ORE,"
    assert label("--solid", "pit.ts") == "ORE HG,WASTE,"
    assert label("--solid", "ORE=pit.ts") == "ORE,ORE,"


def test_the_summary_says_which_solids_were_one_mesh(pit: Path) -> None:
    Path("blocks.csv").write_text("X,Y,Z\n5,5,5\n25,5,5\n")
    said = "pit.ts ('ORE HG' and 'WASTE') is read as one mesh; use FILE:NAME for one of its solids"
    for paths, expected in (({"ALL": "pit.ts"}, 1), ({"ORE": "pit.ts:ORE HG"}, 0)):
        summary = geodomain.label_file("blocks.csv", paths, None)
        assert list(summary.notes).count(said) == expected
        assert str(summary).count(f"note: {said}") == expected


def test_a_list_of_domains_picks_one(pit: Path) -> None:
    text = '[[domain]]\nname = "A"\nmesh = "pit.ts:WASTE"\n[[domain]]\nname = "B"\nmesh = "pit.ts"'
    Path("domains.toml").write_text(text)
    assert label("--domains", "domains.toml") == "B,A,"


def test_check_lists_the_solids(pit: Path) -> None:
    write_mesh({"OPEN": Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])}, "open.ts")
    pit.write_bytes(pit.read_bytes() + Path("open.ts").read_bytes())
    result = CliRunner().invoke(main, ["check", "pit.ts"])
    assert result.exit_code == 3
    assert "3 solids, each of which can be named as FILE:NAME" in result.stdout
    assert "OPEN              1 triangle, not closed" in result.stdout
    result = CliRunner().invoke(main, ["check", "pit.ts", "--json"])
    assert json.loads(result.stdout)[0]["solids"][2] == {
        "name": "OPEN",
        "triangles": 1,
        "closed": False,
    }


def test_long_lists_are_cut() -> None:
    assert listed(["A"]) == "'A'"
    assert listed(["A", "B", "C"], 2) == "'A', 'B' and 1 more"


@pytest.mark.parametrize("way", ["--solid", "--domains"])
def test_a_drawing_of_many_layers_is_read_twice_at_most(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it was read again for each layer: 1,000 of them took half a minute."""
    from geodomain.formats import wireframes

    monkeypatch.chdir(tmp_path)
    layers = {f"L{i}": box((20 * i, 0, 0), (20 * i + 10, 10, 10)) for i in range(40)}
    write_mesh(layers, "pit.dxf")
    tables = [f'[[domain]]\nname = "{name}"\nmesh = "pit.dxf:{name}"\n' for name in layers]
    Path("pit.toml").write_text("".join(tables))
    Path("in.csv").write_text("x,y,z\n" + "".join(f"{20 * i + 5},5,5\n" for i in range(40)))
    times, parse = 0, wireframes._parsed

    def parsed(path: Path) -> dict:
        nonlocal times
        times += 1
        return parse(path)

    monkeypatch.setattr(wireframes, "_parsed", parsed)
    given = [way, "pit.dxf" if way == "--solid" else "pit.toml", "-o", "out.csv"]
    result = CliRunner().invoke(main, ["label", "in.csv", *given])
    assert result.exit_code == 0, result.output
    rows = Path("out.csv").read_text().split()[1:]
    assert [row.rpartition(",")[2] for row in rows] == list(layers)
    assert times <= 2
    write_mesh({"L0": cube(), "B": cube()}, "pit.dxf", overwrite=True)
    assert list(read_meshes("pit.dxf")) == ["L0", "B"]


def test_a_file_that_changes_is_read_again(pit: Path) -> None:
    from geodomain.formats.wireframes import reading_once

    with reading_once() as kept:
        first = read_mesh("pit.ts:WASTE")
        assert read_mesh("pit.ts:WASTE") == first or len(kept) == 1
        write_mesh({"WASTE": box((0, 0, 0), (1, 2, 3)), "A": cube()}, "new.ts")
        Path("new.ts").replace("pit.ts")
        assert read_mesh("pit.ts:WASTE").bounds.tolist() == [[0, 0, 0], [1, 2, 3]]


def test_a_part_does_not_take_vertices_of_the_next() -> None:
    vertices = np.eye(3)
    parts = [
        ("A", Faces(vertices, np.array([0, 1, 3]), np.array([3]))),
        ("A", Faces(vertices + 9, np.array([0, 1, 2]), np.array([3]))),
    ]
    with pytest.raises(MeshError, match="face 1 of A refers to vertex 3 counted from 0"):
        gather(parts, "a")


def test_surfaces_of_one_name_are_one_solid_with_a_warning(tmp_path: Path) -> None:
    write_mesh({"A": cube(), "B": box((20, 0, 0), (30, 9, 9))}, tmp_path / "two.ts")
    both = (tmp_path / "two.ts").read_text()
    (tmp_path / "same.ts").write_text(both.replace("name:B", "name:A"))
    with pytest.warns(GeodomainWarning, match=r"same\.ts has 2 surfaces called 'A'"):
        found = read_meshes(tmp_path / "same.ts")
    assert [*found] == ["A"] and len(found["A"].triangles) == 24
    pyvista = pytest.importorskip("pyvista")
    blocks = pyvista.MultiBlock()
    for mesh in (cube(), box((20, 0, 0), (30, 9, 9))):
        corners = np.insert(mesh.triangles, 0, 3, axis=1)
        blocks.append(pyvista.PolyData(mesh.vertices, corners), "ORE")
    blocks.save(tmp_path / "same.vtm")
    with pytest.warns(GeodomainWarning, match=r"same\.vtm has 2 surfaces called 'ORE'"):
        assert [*read_meshes(tmp_path / "same.vtm")] == ["ORE"]
