"""The whole command on a block-model file, beside polars that reads and writes it.

Both are processes of their own, started cold. 800,000 rows, or 4,000,000 with
GEODOMAIN_BENCHMARK_ROWS=4000000 in the environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from geodomain import label_points, synthetic
from geodomain.synthetic.deposit import BlockTable, regular
from geodomain.synthetic.files import write_deposit

BLOCKS = {"800000": (5.0, 5.0, 2.5), "4000000": (2.5, 2.5, 2.0)}
ROWS = os.environ.get("GEODOMAIN_BENCHMARK_ROWS", "800000")
POLARS = """
import sys, polars
table = polars.read_csv(sys.argv[1])
table.with_columns(polars.lit("ORE").alias("domain")).write_csv(sys.argv[2])
"""
GEODOMAIN = "from geodomain.__main__ import run; run()"


@pytest.fixture(scope="module")
def table() -> BlockTable:
    return regular(np.array(BLOCKS[ROWS]), seed=1)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, table: BlockTable) -> Path:
    path = tmp_path_factory.mktemp("files") / "model.csv"
    with path.open("wb") as file:
        file.writelines(table.csv())
    return path


def run(*arguments: object) -> None:
    command = [sys.executable, "-P", "-c", *map(str, arguments)]  # not the checkout's own folder
    subprocess.run(command, check=True, capture_output=True)


def test_label(model: Path, table: BlockTable, timed, wrong) -> None:
    deposit = synthetic.deposit("small")
    domains = write_deposit(deposit, model.parent / "deposit")
    output = model.with_name("labelled.csv")
    solids = [f"--solid={name}={path}" for name, paths in domains.items() for path in paths]
    command = ["label", model, *solids, "-o", output, "--overwrite"]
    timed(f"files, {ROWS} rows", lambda: run(GEODOMAIN, *command))
    before, after = model.read_bytes().splitlines()[1:], output.read_bytes().splitlines()[1:]
    cells = [new[len(old) + 1 :] for old, new in zip(before, after, strict=True)]
    assert all(new.startswith(old + b",") for old, new in zip(before, after, strict=True))
    assert wrong(np.array(cells).astype(str), label_points(table.centroids, deposit.domains)) == 0


def test_polars_read_and_write(model: Path, timed, peer) -> None:
    peer("polars")
    output = model.with_name("polars.csv")
    timed(f"files, {ROWS} rows", lambda: run(POLARS, model, output))
    assert output.stat().st_size > 0
