"""Time a 4M-row block model through the text engine, beside polars, in one run.

Run with ``python -m pytest tests/benchmarks/bench_tables.py``; it is not collected
otherwise. The dummy labels leave the text alone to be timed.
"""

import numpy as np
import pytest

from geodomain.files.streams import open_source, open_target
from geodomain.tables.layout import TableLayout
from geodomain.tables.text import Splice, relabel

NAMES = ("IJK", "XC", "YC", "ZC", "XINC", "YINC", "ZINC", "AU", "DENSITY")
HEAD = ",".join(NAMES).encode() + b"\n"
ROWS = 200 * 200 * 100


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "blocks.csv"
    dice = np.random.default_rng(1)
    grade, density = dice.lognormal(0, 1, ROWS), dice.normal(2.7, 0.1, ROWS)
    with path.open("wb") as file:
        file.write(HEAD)
        for layer in range(100):
            rows = range(layer * 40_000, (layer + 1) * 40_000)
            text = "".join(
                f"{i},{2296005 + i % 200 * 10}.0,{414005 + i // 200 % 200 * 10}.0,"
                f"{1502.5 + 5 * layer},10.0,10.0,5.0,{grade[i]:.4f},{density[i]:.3f}\n"
                for i in rows
            )
            file.write(text.encode())
    return path


def label_file(table, out):
    sizes = (4, 5, 6)
    layout = TableLayout(b",", b".", NAMES, (1, 2, 3), sizes, len(HEAD), 2, (), (), ())
    end = len(HEAD) - 1
    splice = Splice(((end, end, b",domain"),), ((b"ORE", b"WASTE", b""),))
    with open_source(table) as source, open_target(out, source=source, overwrite=True) as target:
        return relabel(
            source, target, layout, splice, lambda points, *_: [np.zeros(len(points), np.int32)]
        )


def test_text_engine(benchmark, table):
    out = table.with_name("out.csv")
    summary = benchmark.pedantic(label_file, (table, out), rounds=5)
    assert summary.rows == ROWS
    with out.open("rb") as labelled, table.open("rb") as plain:
        assert labelled.readline() == HEAD.replace(b"\n", b",domain\n")
        assert plain.readline() == HEAD
        assert all(new == old[:-1] + b",ORE\n" for new, old in zip(labelled, plain, strict=True))


def test_polars(benchmark, table):
    polars = pytest.importorskip("polars")
    out = table.with_name("polars.csv")
    benchmark.pedantic(lambda: polars.read_csv(table).write_csv(out), rounds=5)
