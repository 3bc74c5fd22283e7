"""Outputs are checked against each other, against inputs and against the disk before any work."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest
from click.testing import CliRunner
from wireframes import cube

import geodomain
from geodomain import TableError
from geodomain.cli import main
from geodomain.files.outputs import require_places
from geodomain.files.streams import open_target

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
MODEL = "X,Y,Z,DX,DY,DZ,domain\n1,1,1,2,2,2,ORE\n30,1,1,2,2,2,W\n"
COLLAR = "HOLE,X,Y,Z,AZIMUTH,DIP\nA,1,1,9,0,90\n"
ASSAY = "HOLE,FROM,TO,AU\nA,1,2,0.5\n"


Link = Callable[[str, str], None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    geodomain.write_mesh(cube(), "ore.ply")
    Path("ore.toml").write_text('[[domain]]\nname = "ORE"\nmesh = "ore.ply"\n')
    for name, text in {"b.csv": MODEL, "collar.csv": COLLAR, "assay.csv": ASSAY}.items():
        Path(name).write_text(text)
    return tmp_path


HOLES = ("--collar", "collar.csv")
# Commands without their outputs, the options of these, and files that they read.
COMMANDS: dict[str, tuple[list[str], list[str], list[str]]] = {
    "label": (
        ["label", "b.csv", "--domains", "ore.toml", "--column", "new"],
        ["-o", "--record", "--report"],
        ["b.csv", "ore.ply"],
    ),
    "flag": (
        ["flag", "b.csv", "--solid", "ORE=ore.ply", "--column", "new"],
        ["-o", "--record"],
        ["b.csv", "ore.ply"],
    ),
    "holes": (
        ["holes", "crossings", *HOLES, "--intervals", "assay.csv", "--solid", "ORE=ore.ply"],
        ["-o", "--pierce"],
        ["collar.csv", "assay.csv", "ore.ply"],
    ),
    "composite": (
        ["composite", "assay.csv", *HOLES, "--domains", "ore.toml", "--length", "1"],
        ["-o"],
        ["collar.csv", "assay.csv", "ore.ply"],
    ),
    "distance": (["distance", "b.csv", "--mesh", "ORE=ore.ply"], ["-o"], ["b.csv", "ore.ply"]),
    "subblock": (
        [
            "subblock",
            "b.csv",
            "--domains",
            "ore.toml",
            "--minimum",
            "1",
            "--scheme",
            "octree",
            "--column",
            "new",
        ],
        ["-o"],
        ["b.csv", "ore.ply"],
    ),
    "merge": (["merge", "b.csv"], ["-o"], ["b.csv"]),
    "model": (["model", "--size", "10", "--fit", "ore.ply"], ["-o"], ["ore.ply"]),
    "tonnes": (["tonnes", "b.csv", "--density", "2"], ["-o"], ["b.csv"]),
    "report": (["report", "b.csv", "--domains", "ore.toml"], ["-o"], ["b.csv", "ore.ply"]),
}


def files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


def refused(*arguments: str) -> str:
    """Run a command that must refuse its outputs, and leave all files as they are."""
    before = files()
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code in (2, 3, 4), (arguments, done.output)
    assert isinstance(done.exception, SystemExit) and files() == before
    assert "rows in" not in done.stderr and "wrote" not in done.stderr
    return done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_outputs_of_a_command_and_what_it_reads(folder: Path, command: str) -> None:
    words, outputs, read = COMMANDS[command]
    ends = {"--record": ".json", "--report": ".html"}
    if command == "report":
        ends["-o"] = ".html"
    others = {one: f"other{n}" for n, one in enumerate(outputs)}
    for one, other in permutations(outputs, 2):
        rest = [word for name in outputs if name != other for word in (name, others[name])]
        assert "two" in refused(*words, *rest, other, others[one])
    for one in outputs:
        rest = [word for name in outputs if name != one for word in (name, others[name])]
        end = ends.get(one, ".csv")
        for path in read:
            name = path if path.endswith(end) else f"linked{len(path)}{end}"
            if not Path(name).exists():
                os.link(path, name)
            assert "the input" in refused(*words, *rest, one, name, "--overwrite")
        for bad, said in {
            f"no/out{end}": "folder does not exist",
            f"loop{end}": "symbolic links",
            f"sub{end}": "",
        }.items():
            if bad.startswith("loop") and not Path(bad).is_symlink():
                Path(bad).symlink_to(bad)
            Path(f"sub{end}").mkdir(exist_ok=True)
            assert said in refused(*words, *rest, one, bad, "--overwrite")


# Outputs that are no tables, or have no option of their own, beside what is read. `check` may
# write to the file that it has read, which its description says.
OTHERS: dict[str, tuple[list[str], str, list[str]]] = {
    "plot": (
        ["plot", "b.csv", "--domains", "ore.toml", "--section", "z=1", "-o"],
        ".png",
        ["b.csv", "ore.toml", "ore.ply"],
    ),
    "plot holes": (
        [
            *("plot", "b.csv", *HOLES, "--within", "9", "--intervals", "assay.csv"),
            *("--grade", "AU", "--section", "z=1", "-o"),
        ],
        ".png",
        ["b.csv", "collar.csv", "assay.csv"],
    ),
    "convert": (["convert", "ore.ply"], ".obj", ["ore.ply"]),
    "convert blocks": (["convert", "b.csv"], ".vti", ["b.csv"]),
}


@pytest.mark.parametrize("command", OTHERS)
@pytest.mark.parametrize("linked", [os.link, lambda path, name: Path(name).symlink_to(path)])
def test_other_outputs_and_what_is_read(folder: Path, command: str, linked: Link) -> None:
    words, extension, read = OTHERS[command]
    for path in read:
        name = f"linked-{path}{extension}"
        linked(path, name)
        assert "the input" in refused(*words, name, "--overwrite")
        if path.endswith(extension):
            assert "the input" in refused(*words, path, "--overwrite")


@posix
def test_links_to_one_place_are_one_place(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    with pytest.raises(TableError, match="two outputs"):
        require_places([tmp_path / "a", tmp_path / "b"])
    (tmp_path / "away").symlink_to("none/b")
    with pytest.raises(FileNotFoundError, match="the folder does not exist"):
        require_places([tmp_path / "away"])
    require_places([Path("/dev/null"), tmp_path / "b"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "away"]


def test_a_path_through_a_missing_folder_is_no_way_to_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `missing/../a.csv` has no file, but without links it is resolved to a.csv.
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(MODEL)
    place = Path("missing", "..", "a.csv")
    with pytest.raises(FileNotFoundError, match="the folder does not exist"):
        require_places([place], overwrite=True)
    with (
        pytest.raises(FileNotFoundError, match="the folder does not exist"),
        open_target(place, overwrite=True),
    ):
        pass
    with pytest.raises(FileNotFoundError, match="the folder does not exist"):
        geodomain.regularise("a.csv", place, 1, overwrite=True)
    assert Path("a.csv").read_text() == MODEL


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_folder_that_takes_no_files_names_the_output() -> None:
    with pytest.raises(OSError, match="no file can be made") as caught:
        require_places([Path("/proc/x.csv")])
    assert (caught.value.filename, caught.value.errno) == ("/proc/x.csv", errno.ENOENT)


FULL = {
    ("tonnes", "b.csv", "--density", "2"): ("stdout", 4),
    ("tonnes", "b.csv", "--density", "2", "--json"): ("stdout", 4),
    ("tonnes", "none.csv", "--density", "2", "--json"): ("stdout", 4),
    ("label", "b.csv", "--solid", "ORE=none.ply", "-o", "x.csv"): ("stderr", 4),
    ("label", "b.csv", "--solid", "ORE=ore.ply", "-o", "x.csv"): ("stderr", 3),
    ("label", "b.csv", "--nonsense"): ("stderr", 2),
    ("nonsense",): ("stderr", 2),
    ("--version",): ("stdout", 4),
    ("label", "--help"): ("stdout", 4),
}


@pytest.mark.full
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("arguments", FULL, ids=" ".join)
def test_a_full_disk_under_what_is_printed(folder: Path, arguments: tuple[str, ...]) -> None:
    stream, code = FULL[arguments]
    with Path("/dev/full").open("w") as full:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: full}
        command = [sys.executable, "-m", "geodomain", *arguments]
        done = subprocess.run(command, **pipes, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in (done.stderr or "")
