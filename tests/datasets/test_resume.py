"""`label_dataset` goes on where it stopped: after a kill, a change, another job."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from datasets_of_blocks import (
    FOLDERS,
    HALO,
    all_parts,
    domains,
    files_of,
    folder,
    rows_of,
    write_csv,
    write_parquet,
)
from late import pandas

import geodomain
from geodomain import TableError, label_dataset

__all__ = ["folder"]
pytestmark = pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")

# Kills itself at the n-th moment of a kind: while a part is labelled, once a part is in its place
# and before that is stored, and once it is.
SCRIPT = """
import itertools, os, signal, sys, warnings
from datasets_of_blocks import domains
import geodomain
from geodomain.datasets.jobs import States
warnings.simplefilter("ignore")
kind, moment, moments = sys.argv[1], int(sys.argv[2]), itertools.count(1)
def at(here):
    if here == kind and next(moments) == moment:
        os.kill(os.getpid(), signal.SIGKILL)
write = States.write
def killing(states, part, done):
    at("before")
    write(states, part, done)
    at("after")
States.write = killing
geodomain.label_dataset("blocks", domains(), "out", progress=lambda *_: at("within"))
"""


def kill(kind: str, moment: int) -> None:
    """Label, and be killed."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, str(moment)],
        env={**os.environ, "PYTHONPATH": FOLDERS},
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def marks_of(output: str) -> dict[str, tuple[int, int]]:
    """Return what tells whether a file was replaced."""
    return {
        name: (Path(output, name).stat().st_ino, Path(output, name).stat().st_mtime_ns)
        for name in files_of(output)
    }


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX's")
@pytest.mark.parametrize(
    ("write", "moments"),
    [
        (write_csv, [("within", 1), ("before", 1), ("after", 1), ("within", 3)]),
        (write_parquet, [("within", 8), ("before", 1)]),
    ],
    ids=["text", "Parquet"],
)
def test_a_killed_run_leaves_whole_parts_and_goes_on(
    folder: Path,
    write: Callable[[str, Mapping[str, pandas.DataFrame]], None],
    moments: Sequence[tuple[str, int]],
) -> None:
    write("blocks", all_parts())
    reference = label_dataset("blocks", domains(), "reference")
    whole = files_of("reference")
    kept: dict[str, tuple[int, int]] = {}
    for kind, moment in moments:
        kill(kind, moment)
        left = files_of("out")
        assert all(whole[name] == data for name, data in left.items())
        assert kept.items() <= marks_of("out").items()
        states = Path("out/_geodomain/parts")
        done = [path.relative_to(states).as_posix()[:-4] for path in states.rglob("*.npz")]
        kept = {name: mark for name, mark in marks_of("out").items() if name in done}
    assert 0 < len(kept) < len(whole)
    summary = label_dataset("blocks", domains(), "out")
    assert files_of("out") == whole
    assert kept.items() <= marks_of("out").items()
    assert (
        summary.notes[0]
        == f"{len(kept)} of {len(all_parts())} parts were labelled by an earlier run"
    )
    same = ("rows", "domains", "background", "unassigned", "overlaps", "warnings")
    assert [getattr(summary, key) for key in same] == [getattr(reference, key) for key in same]


def test_only_what_has_changed_is_labelled_again(folder: Path) -> None:
    write_csv("blocks", all_parts())
    label_dataset("blocks", domains(), "out")
    before = marks_of("out")
    changed, gone, touched = list(all_parts())[:3]
    Path("blocks", changed).write_text("X,Y,Z,DX,DY,DZ,ROCK\n1,1,1,2,2,2,OX\n")
    Path("out", gone).unlink()
    os.utime(Path("blocks", touched), ns=(1, 1))
    write_csv("blocks", {"zone=D/new.csv": all_parts()["zone=A/2.csv"]})
    label_dataset("blocks", domains(), "out")
    after = marks_of("out")
    assert {name for name in after if after[name] != before.get(name)} == {
        changed, gone, touched, "zone=D/new.csv",
    }  # fmt: skip
    label_dataset("blocks", domains(), "fresh")
    assert files_of("out") == files_of("fresh")


JOBS = {
    "domains": ({"ORE": HALO}, {}),
    "options": (domains(), {"background": "REST"}),
    "table": (domains(), {"missing": -99}),
}


@pytest.mark.parametrize(("other", "options"), JOBS.values(), ids=JOBS.keys())
def test_the_output_of_another_job_is_refused(
    folder: Path, other: object, options: dict[str, object]
) -> None:
    write_csv("blocks", all_parts())
    label_dataset("blocks", domains(), "out")
    before = marks_of("out")
    with pytest.raises(TableError, match=r"out holds the parts of another job \(its (dom|opt)"):
        label_dataset("blocks", other, "out", **options)
    assert marks_of("out") == before
    label_dataset("blocks", other, "out", overwrite=True, **options)
    label_dataset("blocks", other, "fresh", **options)
    assert files_of("out") == files_of("fresh")


def test_backend_and_threads_are_no_other_job(folder: Path) -> None:
    write_csv("blocks", all_parts())
    label_dataset("blocks", domains(), "out", backend="cpu", threads=2)
    before = marks_of("out")
    label_dataset("blocks", domains(), "out", threads=1)
    assert marks_of("out") == before


def test_another_mesh_of_the_same_file_is_another_job(folder: Path) -> None:
    write_csv("blocks", all_parts())
    geodomain.write_mesh(HALO, "ore.ply")
    label_dataset("blocks", {"ORE": "ore.ply"}, "out")
    label_dataset("blocks", {"ORE": HALO}, "out")  # the same mesh, however it is given
    Path("ore.ply").unlink()
    geodomain.write_mesh(geodomain.Mesh(HALO.vertices + 1, HALO.triangles), "ore.ply")
    with pytest.raises(TableError, match="its domains differ"):
        label_dataset("blocks", {"ORE": "ore.ply"}, "out")


def test_a_part_that_is_gone_is_not_left_in_the_output(folder: Path) -> None:
    write_csv("blocks", all_parts())
    label_dataset("blocks", domains(), "out")
    gone = next(iter(all_parts()))
    Path("blocks", gone).unlink()
    with pytest.raises(
        TableError, match=f"out holds {gone}, which is no longer a part of the dataset"
    ):
        label_dataset("blocks", domains(), "out")
    summary = label_dataset("blocks", domains(), "out", overwrite=True)
    assert not Path("out", gone).exists()
    assert summary.rows == len(rows_of("out", ".csv"))


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX's")
def test_a_part_that_no_run_has_finished_is_not_left_among_the_others(folder: Path) -> None:
    """Killed with the part in its place, before that is stored; then it leaves the dataset."""
    write_csv("blocks", all_parts())
    kill("before", 1)
    (left,) = files_of("out")
    Path("blocks", left).unlink()
    for overwrite in (False, True):
        said = f"out holds {left}, .*: an interrupted run may have left it. Move"
        with pytest.raises(TableError, match=said):
            label_dataset("blocks", domains(), "out", overwrite=overwrite)
    Path("out", left).unlink()
    Path("out/notes.md").write_text("ours")
    assert label_dataset("blocks", domains(), "out").rows == len(rows_of("out", ".csv"))


def test_a_job_without_parts_holds_no_output(folder: Path) -> None:
    write_csv("blocks", all_parts())
    bad = Path("blocks", min(all_parts()))
    whole = bad.read_bytes()
    bad.write_bytes(whole + b"1,2\n")
    with pytest.raises(TableError):
        label_dataset("blocks", domains(), "out")
    assert not Path("out").exists()
    bad.write_bytes(whole)
    label_dataset("blocks", {"HALO": HALO}, "out")
    with pytest.raises(TableError, match="another job"):
        label_dataset("blocks", domains(), "out")


def test_the_output_of_something_else_is_refused(folder: Path) -> None:
    write_csv("blocks", all_parts())
    Path("out").mkdir()
    Path("out/thesis.doc").write_text("three years")
    for overwrite in (False, True):
        with pytest.raises(TableError, match="out is not empty, and is not an output"):
            label_dataset("blocks", domains(), "out", overwrite=overwrite)
    assert [path.name for path in Path("out").iterdir()] == ["thesis.doc"]


def test_a_state_that_cannot_be_read_is_none(folder: Path) -> None:
    write_csv("blocks", all_parts())
    label_dataset("blocks", domains(), "out")
    whole = files_of("out")
    damaged, other = (Path(f"out/_geodomain/parts/{name}.npz") for name in list(all_parts())[:2])
    damaged.write_bytes(damaged.read_bytes()[:100])
    other.write_bytes(b"")
    summary = label_dataset("blocks", domains(), "out")
    assert summary.notes[0].startswith(f"{len(all_parts()) - 2} of {len(all_parts())} parts")
    assert files_of("out") == whole
    Path("out/_geodomain/job.json").write_text("{")
    with pytest.raises(TableError, match="another job"):
        label_dataset("blocks", domains(), "out")
    assert json.loads(Path("out/_geodomain/job.json").read_text() + "}") == {}


def test_another_limit_of_distance_is_another_job(folder: Path) -> None:
    def skin(within: float) -> list[geodomain.Domain]:
        return [geodomain.Domain("SKIN", HALO, within=within)]

    write_csv("blocks", all_parts())
    label_dataset("blocks", skin(1), "out")
    label_dataset("blocks", skin(1), "out")
    with pytest.raises(TableError, match="overwrite"):
        label_dataset("blocks", skin(2), "out")


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX's")
def test_ten_kills_at_random_moments_change_nothing(folder: Path) -> None:
    """The moments are of the clock, from before the first part to near the end."""
    write_csv(
        "blocks", {f"{n:02}/{name}": part for n in range(4) for name, part in all_parts().items()}
    )
    began = time.perf_counter()
    label_dataset("blocks", domains(), "reference")
    whole, seconds = files_of("reference"), time.perf_counter() - began
    script = (
        "import warnings, geodomain\nfrom datasets_of_blocks import domains\n"
        "warnings.simplefilter('ignore')\nprint('ready', flush=True)\n"
        "geodomain.label_dataset('blocks', domains(), 'out')\n"
    )
    dice = random.Random(1)
    for _ in range(10):
        run = subprocess.Popen(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": FOLDERS},
            stdout=subprocess.PIPE,
        )
        with run:
            assert run.stdout.readline() == b"ready\n"
            time.sleep(dice.uniform(0, seconds / 4))
            run.kill()
        assert run.returncode in (0, -signal.SIGKILL)
        assert files_of("out").items() <= whole.items()
    label_dataset("blocks", domains(), "out")
    assert files_of("out") == whole
