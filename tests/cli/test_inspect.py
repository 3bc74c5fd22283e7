"""The command `geodomain inspect`, on every kind of file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from label_command import run_command
from late import pv, pyarrow
from wireframes import box, roofless

from geodomain.cli import main
from geodomain.formats.wireframes import write_mesh

HEAD = "EAST;_EAST;NORTH;_NORTH;RL;_RL;AU\nR;R;R;R;R;R;R\n500;10;1000;10;100;5;Centre\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside a model of 3 x 2 blocks and some meshes."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{505 + 10 * i};10;{1005 + 10 * j};10;102,5;5;1\n" for j in range(2) for i in range(3)]
    (tmp_path / "b.csv").write_text(HEAD + "".join(rows) + ";10;1;10;1;5;1\n")
    write_mesh(box((500, 1000, 100), (515, 1010, 105)), tmp_path / "ore.obj")
    write_mesh(box((1000, 500, 100), (1015, 510, 105)), tmp_path / "swapped.obj")
    write_mesh(roofless(), tmp_path / "open.obj")
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    return run_command("inspect", *arguments, code=code)


def test_the_meshes_and_conditions_of_a_list_of_domains(folder: Path) -> None:
    text = """[[domain]]
name = "ORE"
mesh = ["ore.obj", "swapped.obj"]
only_if = { au = 1 }
[[stack]]
surfaces = ["open.obj"]
layers = ["UP", "DOWN"]
"""
    (folder / "d.toml").write_text(text)
    listed = run("b.csv", "--domains", "d.toml", "--json").stdout
    named = run("b.csv", "ore.obj", "swapped.obj", "open.obj", "--json").stdout
    meshes = [json.loads(one)["meshes"] for one in (listed, named)]
    assert meshes[0] == meshes[1] and len(meshes[0]) == 3
    (folder / "d.toml").write_text(text.replace("au", "cu"))
    assert (
        "only_if of ORE: b.csv has no column 'cu'"
        in run("b.csv", "--domains", "d.toml", code=3).stderr
    )


def test_it_says_what_it_understood(folder: Path) -> None:
    result = run("b.csv", "ore.obj", "swapped.obj", "open.obj")
    text = " ".join(result.stdout.split())
    for words in (
        "delimiter semicolon decimal mark comma",
        "vendor rows type, other",
        "columns EAST, _EAST, NORTH, _NORTH, RL, _RL, AU",
        "centroid EAST, NORTH, RL block sizes _EAST, _NORTH, _RL rotation none",
        "blocks 7, regular, 1 of them without a centroid 6 of 10 x 10 x 5",
        "lattice 3 x 2 x 1 cells of 10 x 10 x 5 from (500, 1000, 100), 100.00% filled",
        "extent x 500 to 530, y 1000 to 1020, z 100 to 105",
        "ore.obj, 12 triangles, closed: 100% of its box is in the model",
        "2 centroids",
        "open.obj, 11 triangles, open: does not meet the model",
        "to label it about",
    ):
        assert words in text, words
    assert "swapped.obj: it does not meet the block model; with x and y exchanged" in result.stderr
    assert "open.obj: it does not meet the block model; is it in another datum?" in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == [
        "b.csv",
        "open.obj",
        "ore.obj",
        "swapped.obj",
    ]


def test_json(folder: Path) -> None:
    found = json.loads(run("b.csv", "ore.obj", "swapped.obj", "--json", "--quiet").stdout)
    assert found["rows"] == 7 and found["missing"] == 1 and found["volume"] == 3000
    assert found["lattice"]["cells"] == [3, 2, 1]
    assert [mesh["meets"] for mesh in found["meshes"]] == [True, False]
    assert found["kinds"] == [{"size": [10, 10, 5], "blocks": 6}]
    assert len(found["warnings"]) == 1 and found["memory_bytes"] > 0 and found["seconds"] > 0


def test_every_kind_of_file_says_the_same(folder: Path) -> None:
    rows = [f"{505 + 10 * i},{1005 + 10 * j},102.5,10,10,5" for j in range(2) for i in range(3)]
    Path("c.csv").write_text("X,Y,Z,DX,DY,DZ\n" + "\n".join(rows) + "\n")
    pyarrow.parquet.write_table(pyarrow.csv.read_csv("c.csv"), "c.parquet")
    image = pv.ImageData(dimensions=(4, 3, 2), spacing=(10, 10, 5), origin=(500, 1000, 100))
    image.save("c.vti")
    found = [
        json.loads(run(f"c.{extension}", "ore.obj", "--json").stdout)
        for extension in ("csv", "parquet", "vti")
    ]
    for key in ("rows", "extent", "centroids", "blocks", "kinds", "lattice", "volume", "meshes"):
        assert found[0][key] == found[1][key] == found[2][key], key
    assert "row groups" in found[1]["facts"] and "3 x 2 x 1" in found[2]["facts"]["format"]


def test_rotations_are_said(folder: Path) -> None:
    result = run("b.csv", "--rotation", "z=30", "--origin", "1,2,3", "--position", "corner")
    text = " ".join(result.stdout.split())
    assert (
        "rotation --rotation z=30 --origin 1,2,3 --local-origin 0,0,0; coordinates are converted"
        in text
    )
    assert "lowest corner EAST, NORTH, RL" in text


def test_bad_input(folder: Path) -> None:
    assert "nil.csv" in run("nil.csv", code=4).stderr
    with Path("b.csv").open("a") as file:
        file.write("east;1;1;1;1;1;1\n")
    assert "line 11" in run("b.csv", code=3).stderr
    assert run("b.csv", "nil.obj", code=4).stdout == ""


def test_help_ends_in_an_example() -> None:
    lines = run("-h").stdout.splitlines()
    assert lines[-2].strip() == "Example:" and lines[-1].strip().startswith("geodomain inspect")


@pytest.mark.parametrize("cell", ['"1,410"', "inf", "rich"])
def test_cells_that_a_condition_refuses_are_refused(folder: Path, cell: str) -> None:
    (folder / "d.toml").write_text(
        '[[domain]]\nname = "ORE"\nmesh = "ore.obj"\nonly_if = { AU = { ">=" = 5 } }\n'
    )
    rows = [f"{x},5,5,10,10,10,{'9' if x < 25 else cell}\n" for x in (5, 15, 25)]
    (folder / "g.csv").write_text("X,Y,Z,DX,DY,DZ,AU\n" + "".join(rows))
    inspected = run("g.csv", "--domains", "d.toml", code=3).stderr
    words = ["label", "g.csv", "--domains", "d.toml", "--dry-run"]
    assert inspected == CliRunner().invoke(main, words).stderr
    assert "only_if of ORE: " in inspected and cell.strip('"') in inspected
    (folder / "g.csv").write_text("X,Y,Z,DX,DY,DZ,AU\n" + "5,5,5,10,10,10,-2\n")
    said = " ".join(run("g.csv", "--domains", "d.toml").stderr.split())
    assert "no block meets only_if of ORE: AU >= 5" in said


def test_a_solid_that_encloses_nothing_is_warned_of(folder: Path) -> None:
    lines = (folder / "ore.obj").read_text().splitlines()
    faces = [line for line in lines if line.startswith("f ")]
    (folder / "twice.obj").write_text("\n".join([*lines, *faces, ""]))
    words = ["label", "b.csv", "--solid", "ORE=twice.obj", "--dry-run"]
    refused = CliRunner().invoke(main, words).stderr.removeprefix("error: ")
    assert "nothing is inside; remove the copies" in refused
    assert f"warning: {refused}" in run("b.csv", "twice.obj").stderr
    (folder / "d.toml").write_text(
        '[[domain]]\nname = "ORE"\nmesh = "twice.obj"\nrule = "winding"\n'
    )
    assert "nothing is inside" not in run("b.csv", "--domains", "d.toml").stderr


def test_a_cell_that_is_filled_many_times_is_counted_in_words(folder: Path) -> None:
    (folder / "same.csv").write_text("X,Y,Z,DX,DY,DZ\n" + 1_000 * "5,5,5,10,10,10\n")
    result = run("same.csv")
    assert "filled 1,000 times" in result.stdout and "%" not in result.stdout
    assert "the blocks fill 1,000 times the lattice cells: some blocks" in result.stderr
