"""Statistics of rows that do not fit into memory equal those in memory, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from late import pandas

import geodomain
from geodomain.errors import TableError
from geodomain.statistics import spilled
from geodomain.statistics.spilled import DiskArray, _CellCounts


def samples_of(rows: int, seed: int) -> pandas.DataFrame:
    """Return made samples: many equal grades, missing cells, and rows without coordinates."""
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "HOLE": np.char.add("H", np.sort(rng.integers(0, 1 + rows // 30, rows)).astype(str)),
            "X": rng.choice([0.1, 7.3, 250.0, 255.5, 700.0], rows) + rng.normal(0, 9, rows),
            "Y": 4e6 + rng.uniform(0, 500, rows),
            "Z": -rng.uniform(0, 300, rows),
            "FROM": 0.0,
            "TO": rng.choice([0.7, 1.0, 1.3, 2.0], rows),
            "AU": np.round(rng.lognormal(0, 1.5, rows), 2),
            "CU": rng.choice([0.005, 0.1, 1.0], rows, p=[0.8, 0.1, 0.1]),
            "domain": rng.choice(["ORE", "WASTE", "", "HALO"], rows, p=[0.6, 0.3, 0.05, 0.05]),
        }
    )
    for column, share in (("AU", 0.1), ("CU", 0.3), ("X", 0.02), ("TO", 0.05)):
        frame.loc[rng.random(rows) < share, column] = np.nan
    return frame


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the tables into a folder of the test."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=[32, 500])
def batch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Set the number of rows that are worked on at once."""
    monkeypatch.setattr(spilled, "batch_rows", lambda: request.param)
    return int(request.param)


SETTINGS: dict[str, dict[str, object]] = {
    "naive": {},
    "capped": {"cap": ["AU=8", "CU=0.5"]},
    "cells": {"decluster": 40, "cap": ["AU=8"]},
    "flat cells": {"decluster": "60,60,5", "decluster_origins": 3},
    "tiny cells": {"decluster": 0.01, "decluster_origins": 3},
    "best cells": {"decluster": "auto", "decluster_origins": 2},
    "alike": {"sample_weight": 1, "decluster": 25},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_rows_on_disk_have_the_statistics_of_rows_in_memory(
    name: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = samples_of(800, seed=len(name) + batch)
    settings = SETTINGS[name]
    wanted = geodomain.stats(frame, ["AU", "CU"], **settings)  # type: ignore[arg-type]
    frame.to_parquet("s.parquet", row_group_size=300)
    monkeypatch.setenv("GEODOMAIN_MEMORY", "85kB")
    made: list[DiskArray[np.generic]] = []
    plain = DiskArray.__init__

    def counted(self: DiskArray[np.generic], dtype: object) -> None:
        made.append(self)
        plain(self, dtype)  # type: ignore[arg-type]

    monkeypatch.setattr(DiskArray, "__init__", counted)
    for source in (frame, "s.parquet"):
        made.clear()
        found = geodomain.stats(source, ["AU", "CU"], **settings)  # type: ignore[arg-type]
        assert made, "the rows were not moved to disk"
        assert found.rows == wanted.rows and found.totals == wanted.totals
        assert found.cut_curve == wanted.cut_curve
        assert found.cluster_curve == wanted.cluster_curve
        assert found.warnings == wanted.warnings


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize(
    "grades", [np.full(500, 0.005), np.full(500, np.nan), np.arange(500.0)], ids=lambda _: ""
)
def test_rows_of_one_value_and_of_no_domain(
    grades: np.ndarray[tuple[int], np.dtype[np.float64]],
    batch: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = pandas.DataFrame({"X": grades, "Y": 0.0, "Z": 0.0, "AU": grades})
    wanted = geodomain.stats(frame, "AU", decluster=50)
    monkeypatch.setenv("GEODOMAIN_MEMORY", "4kB")
    assert geodomain.stats(frame, "AU", decluster=50).totals == wanted.totals


@pytest.mark.parametrize("dense", [True, False])
def test_cells_are_counted(dense: bool) -> None:
    rng = np.random.default_rng(3)
    counts = _CellCounts(50_000, dense=dense)
    batches = [rng.integers(0, size, 4000) for size in (50_000, 30, 50_000, 7)]
    for keys in batches:
        counts.add(keys)
    every = np.bincount(np.concatenate(batches), minlength=50_000)
    assert counts.occupied == np.count_nonzero(every)
    for keys in batches:
        assert (counts.of(keys) == every[keys]).all()


def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    monkeypatch.setenv("GEODOMAIN_MEMORY", "1kB")
    monkeypatch.setattr(
        spilled.tempfile, "TemporaryFile", lambda **_: full.open("r+b", buffering=0)
    )
    frame = pandas.DataFrame({"X": np.arange(500.0), "Y": 0.0, "Z": 0.0, "AU": 1.0})
    with pytest.raises(TableError, match=r"cannot be written \(No space left on device\): set TMP"):
        geodomain.stats(frame, "AU")


@pytest.mark.parametrize("command", ["nearest", "validate"])
def test_what_needs_all_rows_in_memory_is_refused_beyond_it(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.arange(1000.0)
    samples = pandas.DataFrame({"X": rows, "Y": rows, "Z": rows, "AU": rows})
    monkeypatch.setenv("GEODOMAIN_MEMORY", "150kB")
    with pytest.raises(TableError, match=r"statistics of 1,000 rows would take 277\.0 kB"):
        if command == "nearest":
            geodomain.stats(samples, "AU", decluster="nearest", blocks=samples)
        else:
            geodomain.validate(samples, "AU", samples=samples)
