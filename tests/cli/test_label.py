"""The command `geodomain label`, from its arguments to files, words and exit codes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from label_command import BLOCKS, BOTH, LABELLED, folder, run
from wireframes import cube

from geodomain.formats.wireframes import write_mesh
from geodomain.mesh.mesh import Mesh

__all__ = ["folder"]


def test_the_table_comes_back_with_a_column_more(folder: Path) -> None:
    result = run("b.csv", *BOTH, "-o", "out.csv")
    assert (folder / "out.csv").read_bytes() == LABELLED
    assert (folder / "b.csv").read_bytes() == BLOCKS
    assert result.stdout == ""
    assert "ORE" in result.stderr and "(unassigned)" in result.stderr
    assert sorted(path.name for path in folder.glob("*.csv*")) == ["b.csv", "out.csv"]


def test_labels_for_the_rest_and_another_column(folder: Path) -> None:
    rest = ("--background", "WASTE", "--unassigned", "?", "--column", "zone, new")
    run("b.csv", *BOTH, *rest, "-o", "out.csv")
    rows = (folder / "out.csv").read_bytes().split(b"\r\n")
    assert rows[0].endswith(b',"zone, new"')
    assert rows[5].endswith(b",WASTE") and rows[6].endswith(b",?")


def test_priority_union_and_flags(folder: Path) -> None:
    union = ("--solid", "A=ORE.obj", "--solid", "B=halo.obj", "--solid", "A=far.obj")
    result = run("b.csv", *union, "--flags", "-o", "out.csv")
    rows = (folder / "out.csv").read_bytes().split(b"\r\n")
    ends = [row.split(b",")[-3:] for row in rows if row]
    assert ends[0] == [b"domain", b"in_a", b"in_b"]
    assert ends[1:] == [
        [b"A", b"1", b"0"],
        [b"A", b"1", b"1"],
        [b"B", b"0", b"1"],
        [b"", b"0", b"0"],
        [b"", b"0", b"0"],
    ]
    assert "blocks in both A and B: 1" in result.stderr


def test_stdin_to_stdout(folder: Path) -> None:
    result = run("-", *BOTH, "-o", "-", "--json", stdin=BLOCKS)
    assert result.stdout_bytes == LABELLED
    assert json.loads(result.stderr)["rows"] == 5


def test_json_to_stdout(folder: Path) -> None:
    result = run("b.csv", *BOTH, "-o", "out.csv", "--json", "--count-on-wall")
    summary = json.loads(result.stdout)
    ore, halo = summary["domains"]
    assert (ore["name"], ore["blocks"], ore["volume"]) == ("ORE", 2, 250)
    assert (halo["blocks"], halo["own_blocks"]) == (1, 2)
    assert summary["background"]["blocks"] == 1 and summary["unassigned"]["blocks"] == 1
    assert summary["on_wall"] == 0 and summary["columns"] == ["domain"]
    assert summary["overlaps"] == [{"solids": ["ORE", "HALO"], "blocks": 1, "volume": 125.0}]


def test_compressed_both_ways(folder: Path) -> None:
    (folder / "b.csv.gz").write_bytes(gzip.compress(BLOCKS))
    run("b.csv.gz", *BOTH, "-o", "out.csv.gz")
    assert gzip.decompress((folder / "out.csv.gz").read_bytes()) == LABELLED


def test_quiet_says_nothing(folder: Path) -> None:
    result = run("b.csv", *BOTH, "-o", "out.csv", "--quiet", "--solid", "far.obj")
    assert result.output == ""


def test_dry_run_writes_nothing(folder: Path) -> None:
    before = sorted(folder.iterdir())
    result = run("b.csv", *BOTH, "--dry-run")
    run("b.csv", *BOTH, "--dry-run", "-o", "out.csv")
    run("b.csv", *BOTH, "--dry-run", "--in-place")
    assert sorted(folder.iterdir()) == before
    assert (folder / "b.csv").read_bytes() == BLOCKS
    assert "5 rows" in result.stderr


def test_in_place_follows_links_and_keeps_the_mode(folder: Path) -> None:
    (folder / "b.csv").chmod(0o640)
    (folder / "link.csv").symlink_to("b.csv")
    run("link.csv", *BOTH, "--in-place")
    assert (folder / "link.csv").is_symlink()
    assert (folder / "b.csv").read_bytes() == LABELLED
    assert (folder / "b.csv").stat().st_mode & 0o777 == 0o640


def test_replacing_a_column(folder: Path) -> None:
    result = run("b.csv", *BOTH, "-o", "out.csv", "--column", "au", code=3)
    assert "already has a column 'AU'" in result.stderr
    assert not (folder / "out.csv").exists()
    run("b.csv", *BOTH, "-o", "out.csv", "--column", "au", "--replace-column")
    one = (folder / "out.csv").read_bytes()
    assert one.startswith(b"X,Y,Z,DX,DY,DZ,AU\r\n2.50,2.5,2.5,5,5,5,ORE\r\n")
    run("b.csv", *BOTH, "--replace-column", "AU", "-o", "two.csv")
    assert (folder / "two.csv").read_bytes() == one
    result = run("b.csv", *BOTH, "--replace-column", "nil", "-o", "three.csv", code=3)
    assert "no column 'nil'" in result.stderr


def test_missing_codes_are_unassigned(folder: Path) -> None:
    run("b.csv", *BOTH, "--missing", "-99", "--missing", "99", "--unassigned", "?", "-o", "o.csv")
    assert (folder / "o.csv").read_bytes().count(b",?") == 2


def test_the_winding_rule(folder: Path) -> None:
    args = ("b.csv", "--solid", "shells.obj", "-o")
    assert "overlapping shells" in run(*args, "parity.csv").stderr
    run(*args, "winding.csv", "--rule", "winding")
    count = [
        (folder / f"{rule}.csv").read_bytes().count(b"shells") for rule in ("parity", "winding")
    ]
    assert count == [2, 3]


def test_welding_is_reported(folder: Path) -> None:
    result = run("b.csv", *BOTH, "-o", "out.csv", "--weld", "0.001", "--json")
    welds = json.loads(result.stdout)["welds"]
    assert [weld["moved"] for weld in welds] == [0, 0]
    assert welds[0]["tolerance"] == 0.001 and "ORE" in welds[0]["mesh"]
    assert "welded" in run("b.csv", *BOTH, "--dry-run", "--weld", "0.001").stderr


def test_what_is_odd_about_a_mesh_is_said(folder: Path) -> None:
    mesh = cube()
    triangles = mesh.triangles.copy()
    triangles[0] = triangles[0][::-1]
    write_mesh(Mesh(mesh.vertices, triangles), folder / "flipped.obj")
    result = run("b.csv", "--solid", "flipped.obj", "-o", "out.csv", "--json")
    assert "warning: flipped.obj has" in result.stderr and "mis-oriented" in result.stderr
    assert "mis-oriented" in json.loads(result.stdout)["warnings"][0]
    assert (folder / "out.csv").read_bytes().count(b"flipped") == 2
    result = run("b.csv", "--solid", "flipped.obj", "--rule", "winding", "-o", "w.csv", code=3)
    assert "flipped.obj has no winding number" in result.stderr


def test_texts_and_numbers_that_mean_missing(folder: Path) -> None:
    rows = b'-,-,-\n NA ,1,1\n"NA",1,1\n1e999,1,1\n-99.0,1,1\n1,1,1\n'
    (folder / "b.csv").write_bytes(b"X,Y,Z\n" + rows)
    codes = [word for code in ("-", "NA", "1e999", "-99") for word in ("--missing", code)]
    result = run("b.csv", *BOTH, *codes, "--unassigned", "?", "-o", "-", "--quiet")
    assert [row[-1:] for row in result.stdout_bytes.splitlines()[1:]] == [b"?"] * 5 + [b"E"]
    for undeclared, option in (("na", " na"), ("--", "=--"), ("N", " N")):
        (folder / "b.csv").write_bytes(b"X,Y,Z\n1,1,%b\n" % undeclared.encode())
        result = run("b.csv", *BOTH, *codes, "-o", "out.csv", code=3)
        assert f"--missing{option}." in result.stderr


def test_a_missing_code_follows_the_decimal_mark(folder: Path) -> None:
    (folder / "b.csv").write_bytes(b"X;Y;Z\n-99,50;1,5;1,5\n")
    result = run("b.csv", *BOTH, "--missing=-99,5", "-o", "-", "--json")
    assert json.loads(result.stderr)["unassigned"]["blocks"] == 1


def test_a_path_with_an_equals_sign_needs_a_name(folder: Path) -> None:
    (folder / "ORE.obj").rename(folder / "ore=v2.obj")
    assert (
        "write NAME=ore=v2.obj" in run("b.csv", "--solid", "ore=v2.obj", "-o", "-", code=2).stderr
    )
    run("b.csv", "--solid", "A=ore=v2.obj", "-o", "out.csv")


def test_header_alone(folder: Path) -> None:
    (folder / "b.csv").write_bytes(b"X,Y,Z\n")
    run("b.csv", *BOTH, "-o", "out.csv")
    assert (folder / "out.csv").read_bytes() == b"X,Y,Z,domain\n"


def test_encoding_of_labels(folder: Path) -> None:
    ore = ("--solid", "MINÉRIO=ORE.obj")
    run("b.csv", *ore, "--encoding", "latin-1", "-o", "out.csv")
    assert b",MIN\xc9RIO\r\n" in (folder / "out.csv").read_bytes()
    result = run("b.csv", *ore, "--encoding", "ascii", "-o", "no.csv", code=3)
    assert "cannot be written in ascii" in result.stderr
    assert not (folder / "no.csv").exists()


def test_decimal_commas_beyond_the_head(folder: Path) -> None:
    rows = b"1;1;1\n" * 200_000 + b"1,5;1;1\n"
    (folder / "b.csv").write_bytes(b"X;Y;Z\n" + rows)
    result = run("b.csv", *BOTH, "-o", "out.csv", code=3)
    assert "--decimal ," in result.stderr and result.stderr.count("\n") == 1
    run("b.csv", *BOTH, "-o", "out.csv", "--decimal", ",")
    assert (folder / "out.csv").read_bytes().endswith(b"1,5;1;1;ORE\n")
    assert (
        "not a decimal mark" in run("b.csv", *BOTH, "-o", "x.csv", "--decimal", "x", code=2).stderr
    )


def test_tonnes_that_fail_after_labelling_leave_no_doubt_of_the_labels(folder: Path) -> None:
    (folder / "sg.csv").write_bytes(b"X,Y,Z,DX,DY,DZ,SG\n1,1,1,2,2,2,2.5\n3,1,1,2,2,2,dry\n")
    options = ("sg.csv", "--solid", "ORE=ORE.obj", "--density", "SG", "-o", "out.csv")
    said = run(*options, code=3).stderr
    assert "error: out.csv was written with its labels, but tonnes could not be added up: " in said
    assert "SG is not a number in 1 of the rows" in said
    assert (folder / "out.csv").read_text().count("ORE") == 2
    error = json.loads(run(*options, "--overwrite", "--json", code=3).stdout)["error"]
    assert "out.csv was written" in error["message"]
