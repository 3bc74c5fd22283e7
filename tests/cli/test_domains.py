"""`geodomain label --domains`, `geodomain flag` and `--record`, as a user runs them."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from label_command import run_command
from late import pyarrow, pyvista
from sheets import level
from surfaces import lidless
from wireframes import box, cube

import geodomain
from geodomain import write_mesh

BLOCKS = b"""X,Y,Z,DX,DY,DZ,ROCK,AU
2.50,2.5,2.5,5,5,5,OX,0.5
7.5,7.5,7.5,5,5,5,"SU",-99
12.5,12.5,12.5,5,5,5,,0.1
2.5,2.5,-2.5,5,5,5,OX,1
99,99,99,5,5,5,OX,2.70
,1,1,5,5,5,OX,0
"""
TOML = """background = "WASTE"
unassigned = "?"
background_code = 9

[[domain]]
name = "OX ORE"
mesh = "ore.obj"
code = 1
only_if = { rock = "OX" }

[[domain]]
name = "ORE"
mesh = ["ore.obj", "halo.obj"]
code = 2

[[stack]]
surfaces = ["ground.ply"]
layers = ["AIR", "FLOOR"]
codes = [3, 4]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.csv").write_bytes(BLOCKS)
    (tmp_path / "d.toml").write_text(TOML)
    write_mesh(cube(), tmp_path / "ore.obj")
    write_mesh(box((5, 5, 5), (15, 15, 15)), tmp_path / "halo.obj")
    write_mesh(level(0.0, 20), tmp_path / "ground.ply")
    write_mesh(lidless(), tmp_path / "pot.obj")
    return tmp_path


def run(*arguments: str, code: int = 0, command: str = "label") -> Result:
    return run_command(command, *arguments, code=code)


def added(path: Path) -> list[str]:
    return [line.rpartition(",")[2] for line in path.read_text().splitlines()]


ORE = '[[domain]]\nname = "ORE"\nmesh = "ore.obj"\n'
NAMES = ["OX ORE", "ORE", "ORE", "FLOOR", "?", "?"]


def test_labels_by_a_list_of_domains(folder: Path) -> None:
    result = run("b.csv", "--domains", "d.toml", "-o", "out.csv")
    assert added(folder / "out.csv") == ["domain", *NAMES]
    for old, new in zip(
        BLOCKS.split(b"\n"), (folder / "out.csv").read_bytes().split(b"\n"), strict=True
    ):
        assert new.startswith(old)
    assert "blocks in both OX ORE and ORE: 1, volume 125" in result.stderr
    assert "1 block is outside the footprint of a surface of the stack AIR / FLOOR" in result.stderr


@pytest.mark.parametrize("command", ["label", "flag"])
def test_samples_are_flagged_as_blocks_are(folder: Path, command: str) -> None:
    (folder / "s.csv").write_text("BHID,MX,MY,MZ,ROCK\nA,2,2,2,OX\nA,2,2,-2,\nB,,,,OX\n")
    columns = ["--x", "MX", "--y", "MY", "--z", "MZ"]
    run("s.csv", *columns, "--domains", "d.toml", "-o", "o.csv", command=command)
    assert added(folder / "o.csv") == ["domain", "OX ORE", "FLOOR", "?"]


def test_samples_in_a_local_grid_are_turned(folder: Path) -> None:
    (folder / "s.csv").write_text("X,Y,Z,ROCK\n-498,2,2,OX\n2,2,2,OX\n")
    turn = ["--rotation", "z=90", "--origin", "0,-496,0"]  # to (2, 2, 2) and (2, -498, 2)
    run("s.csv", "--domains", "d.toml", "-o", "o.csv", *turn, command="flag")
    assert added(folder / "o.csv")[1:] == ["OX ORE", "?"]


def test_codes_instead_of_names(folder: Path) -> None:
    run("b.csv", "--domains", "d.toml", "--codes", "-o", "out.csv")
    assert added(folder / "out.csv") == ["domain", "1", "2", "2", "4", "", ""]
    (folder / "d.toml").write_text(TOML.replace("code = 1\n", ""))
    said = run("b.csv", "--domains", "d.toml", "--codes", "-o", "o.csv", code=3).stderr
    assert "OX ORE has no code" in said and not (folder / "o.csv").exists()
    run("b.csv", "--solid", "ore.obj", "--codes", "-o", "o.csv", code=2)


def test_missing_codes_meet_no_condition(folder: Path) -> None:
    (folder / "d.toml").write_text(TOML.replace('{ rock = "OX" }', '{ au = { "<" = 1 } }'))
    run("b.csv", "--domains", "d.toml", "--missing=-99", "-o", "out.csv")
    assert added(folder / "out.csv")[1:3] == ["OX ORE", "ORE"]
    run("b.csv", "--domains", "d.toml", "-o", "o2.csv")
    assert added(folder / "o2.csv")[1:3] == ["OX ORE", "OX ORE"]  # -99 is a number then


@pytest.mark.parametrize("keep", [(), ("ORE",), ("ORE", "HALO")])
def test_labels_of_the_table_are_left_where_domains_keep_them(folder: Path, keep) -> None:
    rows = [
        '2,2,2,"old"',
        "2,2,2,",
        "12,12,12, OLD ",
        "12,12,12,-",
        "90,90,90,x",
        ",,,y",
        "90,1,1,",
    ]
    (folder / "t.csv").write_text("\n".join(["X,Y,Z,ROCK", *rows, ""]))
    (folder / "k.toml").write_text(
        'background = "W"\n'
        + "".join(
            f'[[domain]]\nname = "{n}"\nmesh = "{n.lower()}.obj"\nkeep = {str(n in keep).lower()}\n'
            for n in ("ORE", "HALO")
        )
    )
    given = ["--domains", "k.toml", "--replace-column", "ROCK", "--missing=-"]
    result = run("t.csv", *given, "-o", "o.csv")
    expected = {
        0: ["ORE", "ORE", "HALO", "HALO", "W", "", "W"],
        1: ['"old"', "ORE", "HALO", "HALO", "x", "y", "W"],
        2: ['"old"', "ORE", " OLD ", "HALO", "x", "y", "W"],
    }[len(keep)]
    assert added(folder / "o.csv") == ["ROCK", *expected]
    assert ("(kept)" in result.stderr) == bool(keep)


def test_flags_of_every_domain(folder: Path) -> None:
    run("b.csv", "--domains", "d.toml", "--flags", "-o", "out.csv")
    head, first, second, *_ = (folder / "out.csv").read_text().splitlines()
    assert head.endswith("domain,in_ox ore,in_ore,in_air,in_floor")
    assert first.endswith("OX ORE,1,1,1,0") and second.endswith("ORE,0,1,1,0")


def test_options_of_the_command_win_over_the_file(folder: Path) -> None:
    run("b.csv", "--domains", "d.toml", "--unassigned", "LOST", "-o", "out.csv")
    assert added(folder / "out.csv")[-1] == "LOST"
    said = run("b.csv", "--domains", "d.toml", "--background", "ORE", "-o", "o.csv", code=3).stderr
    assert "'ORE' is the label of both background blocks and ORE" in said


def test_an_open_mesh_by_winding_number_with_a_column_of_doubt(folder: Path) -> None:
    (folder / "d.toml").write_text('[[domain]]\nname = "POT"\nmesh = "pot.obj"\nrule = "winding"')
    (folder / "b.csv").write_text("X,Y,Z\n0.5,0.5,0.5\n0.5,0,1\n3,3,3\n")
    result = run("b.csv", "--domains", "d.toml", "--uncertain", "-o", "out.csv")
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0] == "X,Y,Z,domain,uncertain"
    assert lines[1].endswith(",POT,0") and lines[2].endswith(",1") and lines[3].endswith(",,0")
    assert "is not closed, so a block is inside if its generalised winding number" in result.stderr
    assert "rounding may have decided the label of 1 block" in result.stderr


def test_solids_or_domains(folder: Path) -> None:
    both = run("b.csv", "--domains", "d.toml", "--solid", "ore.obj", "-o", "o.csv", code=2)
    assert "give one of them" in both.stderr
    assert "--domains FILE.toml" in run("b.csv", "-o", "o.csv", code=2).stderr


def test_a_mistake_in_the_list_is_one_line(folder: Path) -> None:
    (folder / "d.toml").write_text(TOML.replace("code = 1", "cod = 1"))
    said = run("b.csv", "--domains", "d.toml", "-o", "out.csv", code=3).stderr
    assert said.startswith("error: d.toml, [[domain]] 1 (OX ORE): there is no key 'cod'")
    assert said.count("\n") == 1 and not (folder / "out.csv").exists()
    run("b.csv", "--domains", "gone.toml", "-o", "out.csv", code=4)
    (folder / "d.toml").write_text(TOML.replace("rock =", "rocks ="))
    assert "'rocks'" in run("b.csv", "--domains", "d.toml", "-o", "out.csv", code=3).stderr


def test_nothing_that_is_read_is_written_over(folder: Path) -> None:
    for name in ("ore.obj", "d.toml"):
        before = (folder / name).read_bytes()
        run("b.csv", "--domains", "d.toml", "--overwrite", "-o", name, code=3)
        run("b.csv", "--domains", "d.toml", "--overwrite", "-o", "o.csv", "--record", name, code=3)
        assert (folder / name).read_bytes() == before


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_a_record_of_the_run(folder: Path, suffix: str) -> None:
    packed = gzip.compress(BLOCKS) if suffix.endswith("gz") else BLOCKS
    (folder / f"in.{suffix}").write_bytes(packed)
    out = f"out.{suffix}"
    run(f"in.{suffix}", "--domains", "d.toml", "--record", "run.json", "-o", out)
    record = json.loads((folder / "run.json").read_text())
    assert record["command"] == "label" and record["options"]["domains"] == "d.toml"
    assert record["versions"]["geodomain"] == geodomain.__version__
    files = {Path(one["path"]).name: one for one in record["inputs"]}
    assert set(files) == {f"in.{suffix}", "d.toml", "ore.obj", "halo.obj", "ground.ply"}
    for name, one in files.items():
        assert (one["sha256"], one["bytes"]) == (sha(folder / name), (folder / name).stat().st_size)
    assert record["output"]["sha256"] == sha(folder / out)
    summary = record["summary"]
    assert summary["rows"] == 6 and summary["backend"] == "cpu" and summary["warnings"]
    assert [one["blocks"] for one in summary["domains"]] == [1, 2, 0, 1]
    assert summary["overlaps"][0]["volume"] == 125
    assert summary["beyond"]["blocks"] == 1


def test_a_record_of_a_dry_run_and_one_that_is_there(folder: Path) -> None:
    run("b.csv", "--domains", "d.toml", "--record", "run.json", "--dry-run")
    assert json.loads((folder / "run.json").read_text())["output"] is None
    before = (folder / "run.json").read_bytes()
    run("b.csv", "--domains", "d.toml", "--record", "run.json", "-o", "o.csv", code=4)
    assert (folder / "run.json").read_bytes() == before and not (folder / "o.csv").exists()
    run("b.csv", "--domains", "d.toml", "--record", "gone/run.json", "--dry-run", code=4)


def test_a_record_in_place_and_of_standard_streams(folder: Path) -> None:
    before = sha(folder / "b.csv")
    run("b.csv", "--solid", "ore.obj", "--in-place", "--record", "run.json")
    record = json.loads((folder / "run.json").read_text())
    assert record["inputs"][0]["sha256"] == before
    assert record["output"]["sha256"] == sha(folder / "b.csv") != before


def as_parquet() -> str:
    """Write the blocks as Parquet."""
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    blocks = pyarrow.csv.read_csv("b.csv", convert_options=options)
    rock = blocks.column("ROCK").dictionary_encode()
    place = blocks.column_names.index("ROCK")
    pyarrow.parquet.write_table(blocks.set_column(place, "ROCK", rock), "b.parquet")
    return "b.parquet"


def as_voxels() -> str:
    """Write the blocks that have a place as VTK voxels."""
    rows = [row.split(",") for row in BLOCKS.decode().splitlines()[1:-1]]
    corners = np.array([(x, y, z) for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)]) * 2.5
    centres = np.array([row[:3] for row in rows], float)
    points = (centres[:, None] + corners).reshape(-1, 3)
    cells = np.arange(len(points)).reshape(-1, 8)
    grid = pyvista.UnstructuredGrid({pyvista.CellType.VOXEL: cells}, points)
    grid.cell_data["ROCK"] = [row[6].strip('"') for row in rows]
    grid.cell_data["AU"] = np.array([row[7] for row in rows], float)
    grid.save("b.vtu")
    return "b.vtu"


def test_conditions_on_every_kind_of_file(folder: Path) -> None:
    run(as_parquet(), "--domains", "d.toml", "-o", "o.parquet")
    labelled = pyarrow.parquet.read_table("o.parquet")
    assert labelled.column("domain").to_pylist() == NAMES
    run(as_voxels(), "--domains", "d.toml", "-o", "o.vtu")
    assert pyvista.read("o.vtu").cell_data["domain"].tolist() == NAMES[:5]
    grades = TOML.replace('{ rock = "OX" }', "{ au = { '<' = 1 } }")
    (folder / "d.toml").write_text(grades)
    for kind in ("csv", "parquet", "vtu"):
        run(f"b.{kind}", "--domains", "d.toml", "--missing", "-99", "-o", f"g.{kind}")
    found = pyarrow.parquet.read_table("g.parquet").column("domain").to_pylist()
    assert found == added(folder / "g.csv")[1:]
    assert found[:5] == pyvista.read("g.vtu").cell_data["domain"].tolist()
    assert found[:2] == ["OX ORE", "ORE"]


def test_codes_are_numbers_in_every_kind_of_file(folder: Path) -> None:
    codes = ("--domains", "d.toml", "--codes")
    run(as_parquet(), *codes, "-o", "o.parquet")
    column = pyarrow.parquet.read_table("o.parquet").column("domain")
    assert str(column.type) == "int32" and column.to_pylist()[:4] == [1, 2, 2, 4]
    run(as_voxels(), *codes, "-o", "o.vtu")
    found = pyvista.read("o.vtu").cell_data["domain"]
    assert found.dtype.kind in "if" and found[:4].tolist() == [1, 2, 2, 4]


@pytest.mark.parametrize("kind", ["csv", "parquet", "vtu"])
def test_labels_that_are_no_codes_are_refused_beside_codes(folder: Path, kind: str) -> None:
    as_parquet(), as_voxels()
    source, out = f"b.{kind}", f"o.{kind}"
    codes = (source, "--domains", "d.toml", "--codes", "-o", out)
    said = run(*codes, "--background", "WASTE", code=3).stderr
    assert (
        "'WASTE' is the label of background blocks, but the column contains integer codes: give "
        "a whole number of 32" in said
    )
    for number in ("1.0", "007", "3000000000"):
        assert (
            "the column contains integer codes"
            in run(*codes, "--unassigned", number, code=3).stderr
        )
    (folder / "d.toml").write_text(f"{ORE}code = 2\nkeep = true")
    said = run(*codes, "--replace-column", "ROCK", code=0 if kind == "csv" else 3).stderr
    assert kind == "csv" or "'ROCK' would keep an existing value that is not a code" in said
    assert (folder / out).exists() == (kind == "csv")


def test_codes_without_a_gap_are_integers_in_voxels(folder: Path) -> None:
    run(as_voxels(), "--domains", "d.toml", "--codes", "-o", "o.vtu")  # one is beyond the ground
    assert pyvista.read("o.vtu").cell_data["domain"].dtype.kind == "f"
    (folder / "d.toml").write_text(TOML + 'extend = "background"\n')
    run(as_voxels(), "--domains", "d.toml", "--codes", "-o", "p.vtu")
    found = pyvista.read("p.vtu").cell_data["domain"]
    assert found.dtype == np.int32 and found.tolist() == [1, 2, 2, 4, 9]


@pytest.mark.parametrize("kind", ["csv", "parquet", "vtu"])
def test_a_condition_on_a_column_that_is_not_there_says_whose(folder: Path, kind: str) -> None:
    as_parquet(), as_voxels()
    (folder / "d.toml").write_text(TOML.replace("rock =", "rok ="))
    said = run(f"b.{kind}", "--domains", "d.toml", "-o", f"o.{kind}", code=3).stderr
    assert f"only_if of OX ORE: b.{kind} has no column 'rok' (did you mean 'ROCK'?)" in said


@pytest.mark.parametrize("write", [as_parquet, as_voxels])
def test_the_record_of_every_kind_of_file(folder: Path, write: Callable[[], str]) -> None:
    source = write()
    out = "o" + Path(source).suffix
    run(source, "--domains", "d.toml", "-o", out, "--record", "run.json")
    record = json.loads((folder / "run.json").read_text())
    for told, path in ((record["inputs"][0], source), (record["output"], out)):
        data = (folder / path).read_bytes()
        assert told["sha256"] == hashlib.sha256(data).hexdigest() and told["bytes"] == len(data)


def test_sections_with_the_wireframes_of_a_list(folder: Path) -> None:
    run("b.csv", "--domains", "d.toml", "-o", "out.csv")
    arguments = ("out.csv", "--domains", "d.toml", "--section", "y=7", "-o", "s.svg")
    run(*arguments, command="plot")
    picture = (folder / "s.svg").read_text()
    assert "ORE" in picture or picture.count("<path") > 20
    both = run(*arguments, "--solid", "ore.obj", code=2, command="plot")
    assert "give one of them" in both.stderr


@pytest.mark.parametrize("codes", [False, True])
def test_labels_that_are_kept_in_every_kind_of_file(folder: Path, codes: bool) -> None:
    domains = '[[domain]]\nname = "ORE"\ncode = 1\nmesh = "ore.obj"\nkeep = true\n'
    (folder / "k.toml").write_text('background = "W"\nbackground_code = 9\n' + domains)
    old = "7,,7,7,,7" if codes else "OX,,SU,OX,,OX"
    rows = [
        ",".join([*row.split(",")[:6], cell])
        for row, cell in zip(BLOCKS.decode().splitlines()[1:], old.split(","), strict=True)
    ]
    (folder / "b.csv").write_text("\n".join(["X,Y,Z,DX,DY,DZ,ROCK", *rows, ""]))
    given = ["--domains", "k.toml", "--replace-column", "ROCK", *(["--codes"] if codes else [])]
    run("b.csv", *given, "-o", "o.csv")
    expected = added(folder / "o.csv")[1:]
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    blocks = pyarrow.csv.read_csv("b.csv", convert_options=options)
    pyarrow.parquet.write_table(blocks, "b.parquet")
    run("b.parquet", *given, "-o", "o.parquet")
    found = pyarrow.parquet.read_table("o.parquet").column("ROCK").to_pylist()
    assert [str(cell) for cell in found] == expected
    assert expected == (
        ["7", "1", "7", "7", "9", "7"] if codes else ["OX", "ORE", "SU", "OX", "W", "OX"]
    )
    grid = pyvista.ImageData(dimensions=(3, 2, 2), spacing=(7, 10, 10))
    grid.cell_data["ROCK"] = [7, 7] if codes else ["OX", ""]
    grid.save("b.vti")
    run("b.vti", *given, "-o", "o.vti")
    found = pyvista.read("o.vti").cell_data["ROCK"].tolist()
    assert found == ([7, 7] if codes else ["OX", "W"])
