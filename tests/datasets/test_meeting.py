"""Two runs into one output of a dataset: one of them is refused, and each tells the truth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasets_of_blocks import FOLDERS, HALO, all_parts, domains, files_of, folder, write_csv
from object_stores import BUCKET, bucket, server

import geodomain
from geodomain import label_dataset
from geodomain.cli import main
from geodomain.datasets.jobs import _has_ended, _this_process
from geodomain.datasets.stores import LocalStore

__all__ = ["bucket", "folder", "server"]
pytestmark = pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
LOCK = Path("out/_geodomain/lock.json")


class Once:
    """Do something at the first word of progress."""

    def __init__(self, do: Callable[[], object]) -> None:
        self.do, self.done = do, False

    def __call__(self, done: int, total: int | None) -> None:
        if not self.done:
            self.done = True
            self.do()


@pytest.fixture(params=["disk", "store"])
def output(request: pytest.FixtureRequest, folder: Path) -> str:
    """Write the parts, and name a place for an output."""
    write_csv("blocks", all_parts())
    if request.param == "disk":
        return "out"
    request.getfixturevalue("bucket")
    return f"s3://{BUCKET}/out"


@pytest.mark.full
def test_a_second_run_is_refused(output: str) -> None:
    def meet() -> None:
        for other in (domains(), {"HALO": HALO}):
            with pytest.raises(OSError, match=r"run is writing this output, process \d+ on "):
                label_dataset("blocks", other, output, overwrite=True)

    first = Once(meet)
    label_dataset("blocks", domains(), output, progress=first)
    assert first.done
    summary = label_dataset("blocks", domains(), output)
    assert summary.notes[0].startswith("6 of 6 parts")


@pytest.mark.full
def test_who_takes_over_has_the_output(output: str) -> None:
    def take_over() -> None:
        label_dataset("blocks", {"HALO": HALO}, output, overwrite=True, take_over=True)

    with pytest.raises(OSError, match="another run has taken over the output"):
        label_dataset("blocks", domains(), output, progress=Once(take_over))
    summary = label_dataset("blocks", {"HALO": HALO}, output)
    assert summary.notes[0].startswith("6 of 6 parts")
    if output == "out":
        label_dataset("blocks", {"HALO": HALO}, "plain")
        assert files_of("out") == files_of("plain") and not LOCK.exists()


@pytest.mark.parametrize("known", [True, False])
def test_age_alone_breaks_no_lock(folder: Path, known: bool) -> None:
    write_csv("blocks", all_parts())
    LOCK.parent.mkdir(parents=True)
    elsewhere = {"run": "a", "host": "mine.example", "pid": 7, "began": "1990-01-01T00:00:00+00:00"}
    LOCK.write_text(json.dumps(elsewhere) if known else "{")
    os.utime(LOCK, (0, 0))
    geodomain.write_mesh(HALO, "halo.ply")
    command = ["label", "blocks", "--solid", "HALO=halo.ply", "-o", "out"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 4 and not files_of("out")
    assert done.stderr.startswith("error: out: another run is writing this output")
    assert ("process 7 on mine.example, since 1990" in done.stderr) is known
    assert "continue with --take-over" in done.stderr
    done = CliRunner().invoke(main, [*command, "--take-over"])
    assert done.exit_code == 0, done.stderr
    assert len(files_of("out")) == len(all_parts()) and not LOCK.exists()


def test_a_single_file_has_no_lock_to_take(folder: Path) -> None:
    Path("a.csv").write_text("X,Y,Z\n6,6,6\n")
    geodomain.write_mesh(HALO, "halo.ply")
    command = ["label", "a.csv", "--solid", "HALO=halo.ply", "-o", "b.csv"]
    done = CliRunner().invoke(main, [*command, "--take-over"])
    assert done.exit_code == 2 and "--take-over needs a dataset" in done.stderr
    assert CliRunner().invoke(main, command).exit_code == 0


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_process_that_has_ended_holds_nothing() -> None:
    mine = _this_process()
    assert not _has_ended(mine)
    assert _has_ended({**mine, "started": "1"})  # its number is another process's by now
    assert _has_ended({**mine, "pid": 2**22 + 1})
    assert not _has_ended({**mine, "pid": 2**22 + 1, "machine": "another"})
    assert not _has_ended({})


def test_a_lock_is_created_once(folder: Path) -> None:
    store = LocalStore(folder)
    assert store.create("a/lock", b"1") and not store.create("a/lock", b"2")
    assert store.read("a/lock") == b"1" and store.below("a") == ["lock"]


@pytest.mark.full
def test_what_ends_before_its_first_part_leaves_nothing(folder: Path) -> None:
    """A scheduler that is not there, once more with an output that was there."""
    pytest.importorskip("distributed")
    write_csv("blocks", all_parts())
    for made in (False, True):
        if made:
            Path("out").mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("geodomain.datasets.labelling._SECONDS", 1)
            with pytest.raises(OSError, match=r"tcp://127\.0\.0\.1:9"):
                label_dataset("blocks", domains(), "out", scheduler="tcp://127.0.0.1:9")
        assert [path.name for path in Path().iterdir() if path.name != "blocks"] == ["out"] * made
    assert not list(Path("out").iterdir())


# Kills the first process that is started for a worker, as it starts.
KILLER = """
import os, signal, warnings
from multiprocessing import process
from datasets_of_blocks import domains
import geodomain
warnings.simplefilter("ignore")
if __name__ == "__main__":
    start = process.BaseProcess.start
    def killed(self):
        start(self)
        os.kill(self.pid, signal.SIGKILL)
    process.BaseProcess.start = killed
    try:
        geodomain.label_dataset("blocks", domains(), "out", scheduler="local:2")
    except OSError as error:
        print(error)
"""


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX's")
def test_workers_that_are_killed_as_they_start(folder: Path) -> None:
    pytest.importorskip("distributed")
    write_csv("blocks", all_parts())
    done = subprocess.run(
        [sys.executable, "-c", KILLER],
        env={**os.environ, "PYTHONPATH": FOLDERS},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "not all processes of local:2 have started" in done.stdout, done.stderr
    assert not Path("out").exists()


def test_a_part_that_changes_while_it_is_labelled(folder: Path) -> None:
    write_csv("blocks", all_parts())
    part = Path("blocks", min(all_parts()))
    before = part.read_bytes()

    def append() -> None:
        part.write_bytes(before + before.splitlines(keepends=True)[-1])

    with pytest.raises(OSError, match=r"it grew from|the file has changed since"):
        label_dataset("blocks", domains(), "out", progress=Once(append))
    assert not files_of("out")
    assert label_dataset("blocks", domains(), "out").rows == 1001


def test_a_labelled_part_that_changes_before_the_end(folder: Path) -> None:
    write_csv("blocks", all_parts())
    first, last = Path("out", min(all_parts())), Path("out", max(all_parts()))

    def meddle(done: int, total: int | None) -> None:
        if first.exists() and not last.exists():
            first.write_text("mine")

    with pytest.raises(OSError, match="has changed since it was labelled"):
        label_dataset("blocks", domains(), "out", progress=meddle)
    label_dataset("blocks", domains(), "out")
    label_dataset("blocks", domains(), "plain")
    assert files_of("out") == files_of("plain")
