"""Inputs that change while they are read: refused before the output takes its place."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from wireframes import cube

import geodomain
from geodomain.files import streams
from geodomain.files.outputs import AtomicFile
from geodomain.files.streams import open_target
from geodomain.files.unchanged import Unchanged

HEADER = "X,Y,Z,DX,DY,DZ,AU,domain\n"
ROWS = "".join(
    f"{x}.5,{y}.5,{z}.5,1,1,1,2.5,{'ORE' if x < 5 else 'W'}\n"
    for x in range(10)
    for y in range(10)
    for z in range(10)
)
ORE = {"ORE": cube()}
posix = pytest.mark.skipif(os.name == "nt", reason="Windows locks files that are open")


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write("1,1,1,1,1,1,2.5,ORE\n")


def cut(path: Path) -> None:
    """Cut at the end of a row, so that the rest is a good table."""
    os.truncate(path, len(HEADER + ROWS) - len(ROWS.splitlines(keepends=True)[-1]))


def replace(path: Path) -> None:
    other = path.with_suffix(".other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def rewrite(path: Path) -> None:
    """Change bytes, not the size."""
    path.write_text(HEADER + ROWS.replace("2.5,W", "9.9,W"))


def remove(path: Path) -> None:
    path.unlink()


CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "append": (append, "it grew from"),
    "cut": (cut, "it was cut from"),
    "replace": (replace, "it was replaced"),
    "rewrite": (rewrite, "it was written to"),
    "remove": (remove, "it was removed"),
}


class Meddler:
    """Change a file once, when it is told of progress."""

    def __init__(self, path: Path, change: Callable[[Path], None]) -> None:
        self.path, self.change, self.done = path, change, False

    def __call__(self, done: int, total: int | None) -> None:
        if not self.done:
            self.done = True
            self.change(self.path)


def label(model: Path, out: Path, **told: object) -> object:
    return geodomain.label_file(model, ORE, out, column="new", **told)


def in_place(model: Path, out: Path, **told: object) -> object:
    return geodomain.label_file(model, ORE, model, column="new", overwrite=True, **told)


def dry_run(model: Path, out: Path, **told: object) -> object:
    return geodomain.label_file(model, ORE, None, column="new", **told)


def distance(model: Path, out: Path, **told: object) -> object:
    return geodomain.distance_file(model, {"ORE": cube()}, out, **told)


def subblock(model: Path, out: Path, **told: object) -> object:
    return geodomain.subblock_file(
        model, ORE, out, column="new", scheme="octree", minimum=0.5, **told
    )


def tonnes(model: Path, out: Path, **told: object) -> object:
    return geodomain.tonnes_file(model, density=2.5, output=out, **told)


def inspect(model: Path, out: Path, **told: object) -> object:
    return geodomain.inspect_file(model, **told)


def report(model: Path, out: Path, **told: object) -> object:
    return geodomain.report_file(model, out.with_suffix(".html"), **told)


def plot(model: Path, out: Path, **told: object) -> object:
    pytest.importorskip("matplotlib")
    return geodomain.plot_sections(model, out.with_suffix(".svg"), "z=5", **told)


def compare(model: Path, out: Path, **told: object) -> object:
    return geodomain.compare_files(model, model, **told)


VERBS = (label, in_place, dry_run, distance, subblock, tonnes, inspect, report, plot, compare)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.csv"
    path.write_text(HEADER + ROWS)
    # A coarse clock would not tell a file that is changed from one that was made just now.
    os.utime(path, ns=(10**18, 10**18))
    return path


@posix
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_a_model_that_changes_while_it_is_read(
    model: Path, verb: Callable[..., object], change: str
) -> None:
    out = model.with_name("out.csv")
    change_it, said = CHANGES[change]
    meddler = Meddler(model, change_it)
    with pytest.raises(OSError, match=said) as caught:
        verb(model, out, progress=meddler)
    assert meddler.done and caught.value.errno == errno.EBUSY
    assert caught.value.filename == str(model)
    expected = {"model.csv"} if change != "remove" else set()
    assert {path.name for path in model.parent.iterdir()} == expected
    if expected:  # nothing of what the other has done is lost
        meddled = model.read_bytes()
        model.write_text(HEADER + ROWS)
        change_it(model)
        assert meddled == model.read_bytes()


@posix
def test_a_wireframe_that_changes_while_it_is_read(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ore = model.with_name("ore.ply")
    geodomain.write_mesh(cube(), ore)
    read = streams._read

    def reading(path: Path, status: os.stat_result) -> bytes:
        data = read(path, status)
        append(path)
        return data

    monkeypatch.setattr(streams, "_read", reading)
    with pytest.raises(OSError, match="grew"):
        geodomain.label_file(model, {"ORE": ore}, model.with_name("out.csv"), column="new")
    assert not model.with_name("out.csv").exists()


def test_bad_rows_of_a_changed_file_are_told_as_the_change(model: Path) -> None:
    with pytest.raises(OSError, match="grew"), Unchanged(model):
        append(model)
        message = "a row has three cells"
        raise geodomain.TableError(message)
    with pytest.raises(KeyError), Unchanged(model):
        append(model)
        raise KeyError


def test_pipes_devices_and_what_is_not_there_are_left_alone(tmp_path: Path) -> None:
    with Unchanged("/dev/null", tmp_path / "none", tmp_path):
        (tmp_path / "none").write_text("now")


def test_another_run_may_not_write_what_is_new(tmp_path: Path) -> None:
    """Two runs that both saw no file: the second one is refused, and the first one's stays."""
    out = tmp_path / "out.csv"
    with pytest.raises(FileExistsError, match="has appeared"), open_target(out) as late:
        late.write(memoryview(b"late"))
        with open_target(out) as early:
            early.write(memoryview(b"early"))
    assert out.read_bytes() == b"early" and list(tmp_path.iterdir()) == [out]


def test_a_new_file_where_there_are_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("geodomain.files.outputs._open_nameless", lambda folder: -1)
    monkeypatch.setattr("os.link", none)
    file = AtomicFile(tmp_path / "a", new=True)
    file.write(memoryview(b"new"))
    file.commit()
    assert (tmp_path / "a").read_bytes() == b"new"
    late = AtomicFile(tmp_path / "a", new=True)
    with pytest.raises(FileExistsError, match="already exists"):
        late.commit()
    late.abandon()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


HELD = """
import fcntl, sys
with open(sys.argv[1], "rb") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


@posix
def test_another_run_that_is_replacing_the_file(model: Path) -> None:
    before = model.read_bytes()
    with subprocess.Popen(
        [sys.executable, "-c", HELD, model], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(OSError, match="another run is replacing it"):
            in_place(model, model)
        other.stdin.close()
    assert model.read_bytes() == before
    in_place(model, model)
    assert model.read_text().startswith(HEADER.strip() + ",new\n")
