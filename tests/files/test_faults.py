"""Every writer of a file, wherever a fault comes: the old file or the new one, whole, and no more.

`test_replaced.py` says which writers there are. Here each system call on which one
depends fails in turn, or the process ends there, and folders and readers go away.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner
from sheets import level
from wireframes import cube

from geodomain import write_mesh
from geodomain.cli import main
from geodomain.files import outputs

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")

_BLOCKS = "X,Y,Z,DX,DY,DZ,AU,domain\n1,1,1,2,2,2,1.5,ORE\n3,3,3,2,2,2,0.5,ORE\n50,1,1,2,2,2,1,\n"
_LATTICE = "X,Y,Z,DX,DY,DZ,domain\n1,1,1,2,2,2,ORE\n3,1,1,2,2,2,\n"
_TONNES = ["tonnes", "in/blocks.csv", "--density", "2.7", "--grade", "AU"]
_NEW = ["model", "--fit", "in/ore.ply", "--size", "5"]
WRITERS: dict[str, list[str]] = {
    "label.csv": ["label", "in/blocks.csv", "--solid", "ORE=in/ore.ply", "--column", "zone"],
    "label.csv.gz": ["label", "in/blocks.csv", "--solid", "ORE=in/ore.ply", "--column", "zone"],
    "flag.csv": ["flag", "in/points.csv", "--domains", "in/domains.toml"],
    "hits.csv": ["intersect", "in/level.ply", "in/segments.csv"],
    "closed.ply": ["check", "in/ore.ply", "--weld", "0"],
    "filled.obj": ["check", "in/ore.ply", "--fill", "9"],
    "tonnes.csv": _TONNES,
    "distances.csv": ["distance", "in/blocks.csv", "--mesh", "ORE=in/ore.ply"],
    "new.csv": _NEW,
    "new.parquet": _NEW,
    "new.vti": _NEW,
    "model.parquet": ["convert", "in/blocks.csv"],
    "model.vtu": ["convert", "in/blocks.csv"],
    "model.omf": ["convert", "in/lattice.csv"],
    "section.svg": ["plot", "in/lattice.csv"],
    "page.html": ["report", "in/blocks.csv", "--solid", "ORE=in/ore.ply"],
    "sub.csv": [
        *("subblock", "in/blocks.csv", "--solid", "ORE=in/ore.ply", "--column", "zone"),
        *("--scheme", "octree", "--minimum", "0.5"),
    ],
    "merged.csv": ["merge", "in/blocks.csv", "--parent", "AU"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    inputs = tmp_path / "in"
    inputs.mkdir()
    write_mesh(cube(), inputs / "ore.ply")
    write_mesh(level(5.0), inputs / "level.ply")
    (inputs / "blocks.csv").write_text(_BLOCKS)
    (inputs / "lattice.csv").write_text(_LATTICE)
    (inputs / "points.csv").write_text("X,Y,Z\n1,1,1\n50,1,1\n")
    (inputs / "segments.csv").write_text("x0,y0,z0,x1,y1,z1\n1,1,1,1,1,9\n")
    (inputs / "domains.toml").write_text("[[domain]]\nname = 'ORE'\nmesh = 'ore.ply'\n")
    return tmp_path


def run(out: Path | str, *more: str) -> int:
    """Run the command that writes a file; return how it ended, without a traceback."""
    command = WRITERS[Path(out).name]
    named = [] if command[0] == "convert" else ["-o"]
    arguments = [*command, *named, str(out), "--overwrite", *more]
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.exit_code


def beside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "in")


class Nth:
    """A function that does what another does, but the n-th time it is called something else."""

    def __init__(self, real: Callable[..., object], n: int, instead: Callable[[], object]) -> None:
        self.real, self.left, self.instead = real, n, instead

    def __call__(self, *values: object, **options: object) -> object:
        self.left -= 1
        return self.instead() if self.left == 0 else self.real(*values, **options)


def _full() -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


CALLS = ("open", "write", "fsync", "fchmod", "link")


def faults(call: str, instead: Callable[[], object]) -> Iterator[pytest.MonkeyPatch]:
    """Give a patch in which the first call fails, then one in which the second does, and so on."""
    for n in range(1, 100):
        faulty = Nth(getattr(os, call), n, instead)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(outputs.os, call, faulty)
            yield patch
        if faulty.left > 0:  # it was not called so often: all were tried
            return
    pytest.fail("too many calls")


@pytest.mark.full
@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("call", CALLS)
def test_a_full_disk_at_each_call(folder: Path, name: str, call: str) -> None:
    out = folder / name
    for _ in faults(call, _full):
        out.write_bytes(b"old")
        code = run(out)
        assert code in (0, 4) and beside(folder) == [name]
        assert (out.read_bytes() == b"old") == (code == 4)


# Ends without a word, as a kill does, when the n-th of the calls is made.
_KILLED = """
import os, sys
left, arguments = int(sys.argv[1]), sys.argv[2:]
from geodomain.cli import main
from geodomain.files import outputs
def counted(real):
    def call(*values, **options):
        global left
        left -= 1
        if left == 0:
            os._exit(9)
        return real(*values, **options)
    return call
for name in ("write", "fsync", "fchmod", "link", "close"):
    setattr(outputs.os, name, counted(getattr(os, name)))
outputs.Path.replace = counted(outputs.Path.replace)
main(arguments)
"""


@pytest.mark.full
@pytest.mark.parametrize("name", ["label.csv"])
def test_a_kill_at_each_step(folder: Path, name: str) -> None:
    out, last = folder / name, 0
    for n in range(1, 60):
        out.write_bytes(b"old")
        arguments = [*WRITERS[name], "-o", name, "--overwrite"]
        last = subprocess.run([sys.executable, "-c", _KILLED, str(n), *arguments]).returncode
        # With a name from the link to the rename, and none before and after.
        left = [one for one in beside(folder) if one != name]
        assert all(one.endswith(".part") for one in left) and len(left) <= 1
        for one in left:
            assert (folder / one).stat().st_size > 3
            (folder / one).unlink()
        if last == 0:
            break
        assert last == 9 and (out.read_bytes() == b"old" or out.stat().st_size > 3)
    assert last == 0 and out.read_bytes() != b"old" and n > 4


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_goes_away(folder: Path, name: str) -> None:
    there = folder / "there"
    there.mkdir()

    def gone() -> int:
        there.rmdir()
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outputs.os, "fsync", Nth(os.fsync, 1, gone))
        assert run(there / name) == 4
    assert beside(folder) == []


@pytest.mark.full
@pytest.mark.parametrize("name", ["label.csv", "flag.csv", "hits.csv", "tonnes.csv"])
def test_a_reader_that_has_had_enough(folder: Path, name: str) -> None:
    arguments = [sys.executable, "-m", "geodomain", *WRITERS[name], "-o", "/dev/stdout"]
    many = "1,1,1,2,2,2,1.5,ORE\n" * 50_000
    (folder / "in" / "blocks.csv").write_text(_BLOCKS + many)
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 0, said
    assert b"Traceback" not in said and b"roken" not in said and beside(folder) == []


def _bad_sector() -> NoReturn:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_disk_that_cannot_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from geodomain.files import unchanged

    out = folder / "label.csv"
    many = "1,1,1,2,2,2,1.5,ORE\n" * 200_000
    (folder / "in" / "blocks.csv").write_text(_BLOCKS + many)
    real = unchanged.Counted.readinto
    for n in (1, 2, 4):
        out.write_bytes(b"old")
        faulty = Nth(real, n, _bad_sector)
        monkeypatch.setattr(unchanged.Counted, "readinto", lambda *a, faulty=faulty: faulty(*a))
        assert run(out) == 4
        assert faulty.left <= 0 and out.read_bytes() == b"old" and beside(folder) == ["label.csv"]


def test_a_wireframe_that_cannot_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Path) -> bytes:
        _bad_sector()

    monkeypatch.setattr(Path, "read_bytes", broken)
    assert run(folder / "label.csv") == 4 and beside(folder) == []
