"""Label a dataset of many parts beside one file of its rows; kill the run again and again.

    python tests/benchmarks/datasets.py FOLDER --rows 100_000_000 --parts 200 --kills 10

prints, for each way, seconds, processor time and the most memory of each process; then it kills
the run at random moments, goes on each time, and compares every byte. It needs psutil, and disk
for five times the parts: 100 million blocks are 3.6 GB.
"""

from __future__ import annotations

import argparse
import filecmp
import random
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow
from pyarrow import parquet

import geodomain
from geodomain.synthetic import star_shaped_orebody

_RADII = np.array([250.0, 200.0, 125.0])
_GROUP = 1 << 20


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def table_of(rows: int, first: int, count: int) -> pyarrow.Table:
    """Make some blocks of a model, in the order of a file: by layers."""
    dice = np.random.default_rng(first)
    side = round(rows ** (1 / 3))
    number = np.arange(first, first + count)
    lattice = np.stack([number % side, number // side % side, number // side**2], axis=1)
    size = 2.4 * _RADII / np.array([side, side, -(-rows // side**2)])
    columns = dict(zip("XYZ", ((lattice + 0.5) * size - 1.2 * _RADII).T, strict=True))
    columns["AU"] = np.round(dice.lognormal(0, 1, count), 3)
    # What no encoding makes smaller, as estimates are: half a million blocks take some 18 MB.
    columns |= {name: dice.lognormal(0, 1, count) for name in ("CU", "AG", "S", "DENSITY")}
    return pyarrow.table(columns)


def make(folder: Path, rows: int, parts: int) -> None:
    """Write the rows in parts and in one file, in row groups of the same size."""
    (folder / "parts").mkdir()
    each = -(-rows // parts)
    schema = table_of(rows, 0, 1).schema
    with parquet.ParquetWriter(folder / "one.parquet", schema) as one:
        for part in range(parts):
            table = table_of(rows, part * each, min(each, rows - part * each))
            parquet.write_table(table, folder / "parts" / f"{part:05}.parquet")
            one.write_table(table, _GROUP)
    geodomain.write_mesh(star_shaped_orebody(64, radii=_RADII), folder / "ore.ply")


def command(folder: Path, source: str, output: str, *options: str) -> list[str]:
    """Give the command line of a labelling."""
    solid = f"ORE={folder / 'ore.ply'}"
    given = [str(folder / source), "--solid", solid, "-o", str(folder / output), "--quiet"]
    return [sys.executable, "-m", "geodomain", "label", *given, *options]


def run(name: str, asked: list[str]) -> None:
    """Run a command, and print what it took."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = psutil.Popen(asked)
    most: dict[int, int] = {}
    while process.poll() is None:
        for one in [process, *process.children(recursive=True)]:
            try:
                most[one.pid] = max(most.get(one.pid, 0), one.memory_info().rss)
            except psutil.Error:
                continue
        time.sleep(0.1)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if process.returncode:
        message = f"{name}: {process.returncode}"
        raise SystemExit(message)
    sizes = ", ".join(f"{size / 1e6:.0f}" for size in most.values() if size > 50e6)
    say(f"{name:24} {seconds:8.1f} s {cpu:8.1f} s of processors; MB: {sizes}")


def same_parts(folder: Path, output: str) -> int:
    """Compare every byte of an output with that of the plain run; return how many parts it has."""
    names = sorted(path.name for path in (folder / "plain").glob("*.parquet"))
    left = sorted(path.name for path in (folder / output).iterdir() if path.name[0] != "_")
    _, other, failed = filecmp.cmpfiles(folder / "plain", folder / output, names, shallow=False)
    assert left == names and not other and not failed, (other, failed)
    return len(names)


def kill_and_go_on(folder: Path, kills: int, parts: int) -> None:
    """Kill a run at random moments, go on, and compare with one that was left alone."""
    dice, asked, done = random.Random(1), command(folder, "parts", "killed"), 0
    for number in range(kills):
        process = subprocess.Popen(asked)
        # From the first moment on, some parts further than before; and then at any point of one.
        last = done + dice.randrange(2 * parts // (kills + 1))
        while process.poll() is None and done < last:
            time.sleep(dice.uniform(0, 0.3))
            done = len(list((folder / "killed").glob("*.parquet")))
        time.sleep(dice.uniform(0, 0.3))
        process.kill()
        process.wait()
        done = len(list((folder / "killed").glob("*.parquet")))
        say(f"kill {number + 1} ({process.returncode}): {done} parts")
    subprocess.run(asked, check=True)
    say(f"{same_parts(folder, 'killed')} parts are the same, byte for byte; nothing else is there")


def main() -> None:
    """Measure."""
    asked = argparse.ArgumentParser()
    asked.add_argument("folder", type=Path)
    asked.add_argument("--rows", type=int, default=10_000_000)
    asked.add_argument("--parts", type=int, default=200)
    asked.add_argument("--kills", type=int, default=10)
    asked.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    given = asked.parse_args()
    folder: Path = given.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    make(folder, given.rows, given.parts)
    run("one file", command(folder, "one.parquet", "one_labelled.parquet"))
    run(f"{given.parts} parts", command(folder, "parts", "plain"))
    (folder / "one_labelled.parquet").unlink()
    for workers in given.workers:
        scheduler = ("--scheduler", f"local:{workers}")
        run(f"{workers} workers of Dask", command(folder, "parts", f"by{workers}", *scheduler))
        same_parts(folder, f"by{workers}")
        shutil.rmtree(folder / f"by{workers}")
    kill_and_go_on(folder, given.kills, given.parts)


if __name__ == "__main__":
    main()
