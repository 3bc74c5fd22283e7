"""What `geodomain label` refuses: in which words, with which exit code, and nothing left behind."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from label_command import BLOCKS, BOTH, LABELLED, folder, run
from shapes import UNDECIDABLE, minute

from geodomain.formats.wireframes import write_mesh

__all__ = ["folder"]


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


@pytest.mark.parametrize(
    "words",
    [("--density", "SGG"), ("--density", "2.5", "--grade", "SGG")],
    ids=["density", "grade"],
)
def test_columns_that_are_added_up_are_looked_for_before_any_work(
    folder: Path, words: tuple[str, ...]
) -> None:
    result = run("b.csv", *BOTH, "-o", "out.csv", *words, "--report", "r.html", code=3)
    assert "SGG" in result.stderr and result.stderr.count("\n") == 1
    assert not list(folder.glob("out*")) and not (folder / "r.html").exists()
    run("b.csv", *BOTH, "--in-place", *words, code=3)
    assert (folder / "b.csv").read_bytes() == BLOCKS


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
    assert (
        "whether 2 blocks above or below gaps" in result.stderr
        and "(leaking) LEAK" in result.stderr
    )


def test_welding_to_nothing_is_refused(folder: Path) -> None:
    result = run("b.csv", *BOTH, "-o", "out.csv", "--weld", "100", code=3)
    assert "ORE.obj has no triangle left after welding at 100" in result.stderr
    assert not (folder / "out.csv").exists()


MISUSED = {
    "no output": (("b.csv", *BOTH), "-o OUT.csv"),
    "two outputs": (("b.csv", *BOTH, "-o", "out.csv", "--in-place"), "--in-place"),
    "stdin in place": (("-", *BOTH, "--in-place"), "--in-place"),
    "no solid": (("b.csv", "-o", "out.csv"), "--solid"),
    "no name": (("b.csv", "--solid", "=ORE.obj", "-o", "out.csv"), "NAME=PATH"),
    "delimiter": (("b.csv", *BOTH, "-o", "out.csv", "--delimiter", "%"), "not a delimiter"),
    "encoding": (("b.csv", *BOTH, "-o", "out.csv", "--encoding", "utf-16"), "contains ASCII"),
    "no encoding": (("b.csv", *BOTH, "-o", "out.csv", "--encoding", "nil"), "contains ASCII"),
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
    "no columns": (b"a,b\n1,2\n", "no complete set of centroid columns"),
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
    assert "b.csv, in the chunk that starts at block 1: point 1 is (3.83" in result.stderr
    assert not (folder / "out.csv").exists()


def test_files_that_are_not_there_exit_4(folder: Path) -> None:
    assert "nil.csv" in run("nil.csv", *BOTH, "-o", "out.csv", code=4).stderr
    assert "nil.obj" in run("b.csv", "--solid", "nil.obj", "-o", "out.csv", code=4).stderr
    assert "nil/out.csv" in run("b.csv", *BOTH, "-o", "nil/out.csv", code=4).stderr
    assert not (folder / "out.csv").exists()


def test_a_device_that_is_not_there_exits_5(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from geodomain.errors import DeviceError
    from geodomain.query import locator

    def refuse(backend: str) -> None:
        message = "no device"
        raise DeviceError(message)

    monkeypatch.setattr(locator, "choose", refuse)
    assert run("b.csv", *BOTH, "-o", "out.csv", code=5).stderr == "error: no device\n"


def test_an_interrupt_exits_130(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from geodomain.labelling.labeller import Labeller

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Labeller, "label", interrupt)
    assert "interrupted" in run("b.csv", *BOTH, "-o", "out.csv", code=130).stderr
    assert not (folder / "out.csv").exists()


def test_a_bug_keeps_its_traceback(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from geodomain.labelling.labeller import Labeller

    monkeypatch.setattr(Labeller, "label", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("b.csv", *BOTH, "-o", "out.csv", code=1)
    assert not (folder / "out.csv").exists()


def test_a_coordinate_is_no_size(folder: Path) -> None:
    sizes = ("--dx", "X", "--dy", "DY", "--dz", "DZ")
    result = run("b.csv", *BOTH, *sizes, "-o", "out.csv", code=3)
    assert "'X' cannot be both a coordinate and a size" in result.stderr
