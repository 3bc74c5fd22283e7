"""The command `geodomain label`, from its arguments to files, words and exit codes."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from shapes import UNDECIDABLE, joined, minute
from wireframes import box, cube, roofless

from geodomain.cli import main
from geodomain.mesh import Mesh
from geodomain.meshfiles import write_mesh

DATA = Path(__file__).parents[1].parent / "shared/data"

BLOCKS = b"""X,Y,Z,DX,DY,DZ,AU\r
2.50,2.5,2.5,5,5,5,"1,2"\r
7.5,7.5,7.5,5,5,5,\r
12.5,12.5,12.5,5,5,5,x\r
\r
99,99,99,5,5,5,2.70\r
,1,1,5,5,5,0"""
LABELLED = b"""X,Y,Z,DX,DY,DZ,AU,domain\r
2.50,2.5,2.5,5,5,5,"1,2",ORE\r
7.5,7.5,7.5,5,5,5,,ORE\r
12.5,12.5,12.5,5,5,5,x,HALO\r
\r
99,99,99,5,5,5,2.70,\r
,1,1,5,5,5,0,"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a block model and some wireframes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.csv").write_bytes(BLOCKS)
    write_mesh(cube(), tmp_path / "ORE.obj")
    write_mesh(box((5, 5, 5), (15, 15, 15)), tmp_path / "halo.obj")
    write_mesh(roofless(), tmp_path / "open.obj")
    write_mesh(box((900, 900, 900), (910, 910, 910)), tmp_path / "far.obj")
    write_mesh(joined(cube(), box((5, 5, 5), (15, 15, 15))), tmp_path / "shells.obj")
    return tmp_path


def run(*arguments: str, code: int = 0, stdin: bytes | None = None) -> Result:
    """Run `geodomain label`."""
    result = CliRunner().invoke(main, ["label", *arguments], input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


BOTH = ("--solid", "ORE.obj", "--solid", "HALO=halo.obj")


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
    assert "in both A and B: 1" in result.stderr


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
    assert summary["overlaps"] == [{"solids": ["ORE", "HALO"], "blocks": 1}]


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


def test_an_output_that_is_there_is_not_replaced_unasked(folder: Path) -> None:
    (folder / "out.csv").write_text("precious")
    result = run("b.csv", *BOTH, "-o", "out.csv", code=4)
    assert "out.csv" in result.stderr and "--overwrite" in result.stderr
    assert (folder / "out.csv").read_text() == "precious"
    run("b.csv", *BOTH, "-o", "out.csv", "--overwrite")
    assert (folder / "out.csv").read_bytes() == LABELLED


@pytest.mark.parametrize("link", ["same", "symbolic", "hard"])
def test_the_input_is_never_the_output(folder: Path, link: str) -> None:
    out = folder / "b.csv" if link == "same" else folder / "out.csv"
    if link == "symbolic":
        out.symlink_to("b.csv")
    if link == "hard":
        out.hardlink_to("b.csv")
    result = run("b.csv", *BOTH, "-o", str(out), "--overwrite", code=3)
    assert "--in-place" in result.stderr
    assert (folder / "b.csv").read_bytes() == BLOCKS


def test_a_wireframe_is_never_the_output(folder: Path) -> None:
    before = (folder / "halo.obj").read_bytes()
    result = run("b.csv", *BOTH, "-o", "halo.obj", "--overwrite", code=3)
    assert "halo.obj" in result.stderr
    assert (folder / "halo.obj").read_bytes() == before


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


def test_no_solid_meets_the_model(folder: Path) -> None:
    far = ("--solid", "far.obj")
    result = run("b.csv", *far, "-o", "out.csv", code=3)
    assert "no solid meets the block model" in result.stderr and result.stderr.count("\n") == 1
    assert not list(folder.glob("out*")) and not list(folder.glob(".*"))
    assert "no solid meets" in run("-", *far, "-o", "-", stdin=BLOCKS, code=3).stderr
    assert "no solid meets" in run("b.csv", *far, "--dry-run", code=3).stderr
    result = run("b.csv", *far, "-o", "out.csv", "--allow-disjoint")
    assert "warning: far does not meet the block model" in result.stderr
    result = run("b.csv", *BOTH, *far, "-o", "all.csv")
    assert "warning: far does not meet the block model" in result.stderr


def test_an_open_mesh_is_refused_or_leaks(folder: Path) -> None:
    table = b"X,Y,Z\n2,8,5\n8,2,5\n8,2,50\n20,20,5\n"
    (folder / "b.csv").write_bytes(table)
    result = run("b.csv", "--solid", "open.obj", "-o", "out.csv", code=3)
    assert result.stderr.startswith("error: ") and "open.obj" in result.stderr
    assert not (folder / "out.csv").exists()
    options = ("--allow-open", "--leaky", "LEAK", "--background", "W")
    result = run("b.csv", "--solid", "open.obj", *options, "-o", "out.csv")
    cells = [row.split(b",")[-1] for row in (folder / "out.csv").read_bytes().splitlines()]
    assert cells == [b"domain", b"open", b"LEAK", b"LEAK", b"W"]
    assert "has no answer for 2 blocks" in result.stderr and "(leaking) LEAK" in result.stderr


def test_the_winding_rule(folder: Path) -> None:
    args = ("b.csv", "--solid", "shells.obj", "-o")
    assert "overlapping shells" in run(*args, "parity.csv").stderr
    run(*args, "winding.csv", "--rule", "winding")
    count = [
        (folder / f"{rule}.csv").read_bytes().count(b"shells") for rule in ("parity", "winding")
    ]
    assert count == [2, 3]


def test_welding_to_nothing_is_refused(folder: Path) -> None:
    result = run("b.csv", *BOTH, "-o", "out.csv", "--weld", "100", code=3)
    assert "ORE.obj has no triangle left after welding at 100" in result.stderr
    assert not (folder / "out.csv").exists()


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
    for undeclared in ("na", "--", "N"):
        (folder / "b.csv").write_bytes(b"X,Y,Z\n1,1,%b\n" % undeclared.encode())
        result = run("b.csv", *BOTH, *codes, "-o", "out.csv", code=3)
        assert f"--missing='{undeclared}'" in result.stderr


def test_a_missing_code_follows_the_decimal_mark(folder: Path) -> None:
    (folder / "b.csv").write_bytes(b"X;Y;Z\n-99,50;1,5;1,5\n")
    result = run("b.csv", *BOTH, "--missing=-99,5", "-o", "-", "--json")
    assert json.loads(result.stderr)["unassigned"]["blocks"] == 1


def test_a_path_with_an_equals_sign_needs_a_name(folder: Path) -> None:
    (folder / "ORE.obj").rename(folder / "ore=v2.obj")
    assert "say NAME=ore=v2.obj" in run("b.csv", "--solid", "ore=v2.obj", "-o", "-", code=2).stderr
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


MISUSED = {
    "no output": (("b.csv", *BOTH), "-o OUT.csv"),
    "two outputs": (("b.csv", *BOTH, "-o", "out.csv", "--in-place"), "--in-place"),
    "stdin in place": (("-", *BOTH, "--in-place"), "--in-place"),
    "no solid": (("b.csv", "-o", "out.csv"), "--solid"),
    "no name": (("b.csv", "--solid", "=ORE.obj", "-o", "out.csv"), "NAME=PATH"),
    "delimiter": (("b.csv", *BOTH, "-o", "out.csv", "--delimiter", "%"), "none of"),
    "encoding": (("b.csv", *BOTH, "-o", "out.csv", "--encoding", "utf-16"), "keeps ASCII"),
    "no encoding": (("b.csv", *BOTH, "-o", "out.csv", "--encoding", "nil"), "keeps ASCII"),
    "leaky": (("b.csv", *BOTH, "-o", "out.csv", "--leaky", "L"), "--allow-open"),
    "two columns": (
        ("b.csv", *BOTH, "-o", "out.csv", "--column", "a", "--replace-column", "b"),
        "different columns",
    ),
    "flags": (("b.csv", *BOTH, "-o", "out.csv", "--flags", "--replace-column", "AU"), "--flags"),
    "unknown": (("b.csv", *BOTH, "-o", "out.csv", "--nil"), "--nil"),
    "weld": (("b.csv", *BOTH, "-o", "out.csv", "--weld", "0"), "--weld"),
    "weld nan": (("b.csv", *BOTH, "-o", "out.csv", "--weld", "nan"), "not a finite number"),
    "missing": (("b.csv", *BOTH, "-o", "out.csv", "--missing", " "), "empty field"),
    "no column": (("b.csv", *BOTH, "-o", "out.csv", "--column", ""), "--column needs a name"),
}


@pytest.mark.parametrize("case", MISUSED.values(), ids=MISUSED.keys())
def test_misuse_exits_2(folder: Path, case: tuple[tuple[str, ...], str]) -> None:
    result = run(*case[0], code=2)
    assert case[1] in result.stderr
    assert not (folder / "out.csv").exists()


BROKEN = {
    "empty": (b"", "b.csv is empty"),
    "no columns": (b"a,b\n1,2\n", "no complete centroid columns"),
    "text": (b"X,Y,Z\n1,2,3\n1,east,3\n", "line 3"),
    "unclosed quote": (b'X,Y,Z,N\n1,2,3,a\n1,2,3,"b\n', "line 3: the quote"),
    "unclosed name": (b'X,Y,Z,"N\n1,2,3,a\n', "line 1: the quote that opens the name '\"N'"),
    "binary": (b"\x7fELF\2\1\1" + bytes(900) + b"X,Y,Z\n1,2,3\n", "NUL byte"),
    "no lines": (b"X" * (2 << 20), "no header line within its first megabyte"),
    "ragged": (b"X,Y,Z\n1,2,3\n1,2\n", "line 3"),
    "utf-16": ("X,Y,Z\n1,2,3\n".encode("utf-16"), "save it as UTF-8"),
    "truncated": (gzip.compress(BLOCKS * 100)[:60], "b.csv"),
}


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN.keys())
def test_bad_tables_exit_3_and_leave_nothing(folder: Path, case: tuple[bytes, str]) -> None:
    (folder / "b.csv").write_bytes(case[0])
    before = sorted(folder.iterdir())
    result = run("b.csv", *BOTH, "-o", "out.csv", code=3)
    assert result.stderr.startswith("error: ") and case[1] in result.stderr
    assert result.stderr.count("\n") == 1 and "Traceback" not in result.output
    assert sorted(folder.iterdir()) == before


def test_a_point_that_cannot_be_decided_is_located(folder: Path) -> None:
    row = ",".join(map(repr, UNDECIDABLE))
    (folder / "b.csv").write_text(f"X,Y,Z\n1,1,1\n{row}\n")
    write_mesh(minute(), folder / "minute.obj")
    result = run("b.csv", "--solid", "minute.obj", "-o", "out.csv", code=3)
    assert "b.csv, among the blocks from number 1 on: point 1 is (3.83" in result.stderr
    assert not (folder / "out.csv").exists()


def test_files_that_are_not_there_exit_4(folder: Path) -> None:
    assert "nil.csv" in run("nil.csv", *BOTH, "-o", "out.csv", code=4).stderr
    assert "nil.obj" in run("b.csv", "--solid", "nil.obj", "-o", "out.csv", code=4).stderr
    assert "nil/out.csv" in run("b.csv", *BOTH, "-o", "nil/out.csv", code=4).stderr
    assert not (folder / "out.csv").exists()


def test_a_device_that_is_not_there_exits_5(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from geodomain import locator
    from geodomain.errors import DeviceError

    def refuse(backend: str) -> None:
        message = "no device"
        raise DeviceError(message)

    monkeypatch.setattr(locator, "choose", refuse)
    assert run("b.csv", *BOTH, "-o", "out.csv", code=5).stderr == "error: no device\n"


def test_an_interrupt_exits_130(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from geodomain.labeller import Labeller

    def interrupt(self: Labeller, points: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Labeller, "judge", interrupt)
    assert "interrupted" in run("b.csv", *BOTH, "-o", "out.csv", code=130).stderr
    assert not (folder / "out.csv").exists()


def test_a_bug_keeps_its_traceback(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from geodomain.labeller import Labeller

    monkeypatch.setattr(Labeller, "judge", lambda self, points: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("b.csv", *BOTH, "-o", "out.csv", code=1)
    assert not (folder / "out.csv").exists()


def process(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Run geodomain as a process of its own."""
    command = [sys.executable, "-m", "geodomain.cli", *arguments]
    return subprocess.run(command, capture_output=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


def test_help_works_everywhere_and_ends_in_an_example() -> None:
    for arguments in (["-h"], ["label", "-h"], ["label", "--help"]):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0
        assert result.stdout.splitlines()[-2].strip() == "Example:"
        assert result.stdout.splitlines()[-1].strip().startswith("geodomain ")
    assert "130" in CliRunner().invoke(main, ["label", "-h"]).stdout


def test_pipes_between_processes(folder: Path) -> None:
    done = process("label", "-", *BOTH, "-o", "-", input=BLOCKS)
    assert (done.returncode, done.stdout) == (0, LABELLED)
    assert b"5 rows" in done.stderr


def test_a_closed_pipe_ends_quietly(folder: Path) -> None:
    (folder / "b.csv").write_bytes(b"X,Y,Z\n" + b"1,2,3\n" * 200_000)
    command = [sys.executable, "-m", "geodomain.cli", "label", "b.csv", *BOTH, "-o", "-", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.read(10)
        running.stdout.close()
        said = running.stderr.read()
    assert (said, running.returncode) == (b"", 0)


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals on Windows")
@pytest.mark.parametrize("quiet", [False, True])
def test_progress_is_shown_on_a_terminal_only(folder: Path, quiet: bool) -> None:
    import pty

    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "geodomain.cli", "label", "b.csv", *BOTH, "-o", "out.csv"]
    done = subprocess.run(command + ["-q"] * quiet, stderr=follower, check=False)
    os.close(follower)
    # An empty read, or an error on Linux, is the end of what was said.
    os.set_blocking(leader, False)
    try:
        said = os.read(leader, 1 << 16)
    except OSError:
        said = b""
    os.close(leader)
    assert (done.returncode, b"labelling 100%" in said) == (0, not quiet)
    assert b"labelling" not in process("label", "b.csv", *BOTH, "-o", "two.csv").stderr


def test_heavy_packages_stay_out(folder: Path) -> None:
    code = (
        "import sys; from geodomain.cli import main\n"
        "main(sys.argv[1:], standalone_mode=False)\n"
        "heavy = {'pandas', 'pyvista', 'vtk', 'pycuda', 'scipy'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    arguments = ["label", "b.csv", *BOTH, "-o", "out.csv"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=False, capture_output=True
    )
    assert done.returncode == 0, done.stderr


def test_help_does_not_load_numpy() -> None:
    code = (
        "import sys; from geodomain.cli import main\n"
        "main(['-h'], standalone_mode=False)\n"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def data(name: str) -> str:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return str(path)


def test_every_block_of_a_rotated_octree(folder: Path) -> None:
    blocks, mesh = data("bunny/bunny_blocks.csv"), data("bunny/bunny.obj")
    result = run(blocks, "--solid", f"Body={mesh}", "-o", "out.csv", "--json")
    summary = json.loads(result.stdout)
    assert summary["domains"][0]["blocks"] == 1774
    assert summary["background"]["blocks"] == 2997 + 352
    rows = (folder / "out.csv").read_text().splitlines()[1:]
    assert all((row.split(",")[-2] == "Body") == (row.split(",")[-1] == "Body") for row in rows)


def start(*words: str) -> subprocess.CompletedProcess[bytes]:
    """Run a shell command in which the word geodomain is the command of this Python."""
    line = " ".join(words).replace("geodomain", f"{sys.executable} -m geodomain.cli", 1)
    return subprocess.run(["sh", "-c", line], capture_output=True, check=False, timeout=60)


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_closed_streams_end_in_a_word_and_no_traceback(folder: Path) -> None:
    done = start("geodomain label b.csv --solid ORE.obj -o - >&-")
    assert done.returncode == 4 and done.stderr == b"error: standard output: it is closed\n"
    done = start("geodomain label - --solid ORE.obj -o out.csv <&-")
    assert done.returncode == 4 and done.stderr == b"error: standard input: it is closed\n"
    assert not (folder / "out.csv").exists()
    assert start("geodomain label b.csv --solid ORE.obj -o out.csv 2>&-").returncode == 0
    assert (folder / "out.csv").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_devices_are_outputs_and_say_their_name(folder: Path) -> None:
    done = start("geodomain label b.csv --solid ORE.obj -o /dev/stdout --quiet | cat")
    assert done.stdout.startswith(b"X,Y,Z,DX,DY,DZ,AU,domain") and not done.stderr
    done = start("geodomain label b.csv --solid ORE.obj -o /dev/full")
    assert done.returncode == 4 and done.stderr.startswith(b"error: /dev/full: No space")


def test_volumes_beyond_numbers_are_not_reported(folder: Path) -> None:
    row = b"1,1,1,1e102,1e103,1e103\n"
    (folder / "b.csv").write_bytes(b"X,Y,Z,DX,DY,DZ\n" + 2 * row)
    summary = json.loads(run("b.csv", "--solid", "ORE.obj", "--dry-run", "--json").stdout)
    assert summary["domains"][0]["volume"] is None and not summary["warnings"]


def test_a_coordinate_is_no_size(folder: Path) -> None:
    sizes = ("--dx", "X", "--dy", "DY", "--dz", "DZ")
    result = run("b.csv", *BOTH, *sizes, "-o", "out.csv", code=3)
    assert "'X' cannot be a coordinate and a size" in result.stderr


def test_decimal_commas_beyond_the_head(folder: Path) -> None:
    rows = b"1;1;1\n" * 200_000 + b"1,5;1;1\n"
    (folder / "b.csv").write_bytes(b"X;Y;Z\n" + rows)
    result = run("b.csv", *BOTH, "-o", "out.csv", code=3)
    assert "--decimal ," in result.stderr and result.stderr.count("\n") == 1
    run("b.csv", *BOTH, "-o", "out.csv", "--decimal", ",")
    assert (folder / "out.csv").read_bytes().endswith(b"1,5;1;1;ORE\n")
    assert "neither" in run("b.csv", *BOTH, "-o", "x.csv", "--decimal", "x", code=2).stderr
