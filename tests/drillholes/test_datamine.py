"""Tables of holes in Datamine's .dm give what the same tables give as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from flagged_holes import ORE, folder
from mining_files import datamine_table

from geodomain import Drillholes, TableError, composite_file, crossings_file
from geodomain.cli import main

__all__ = ["folder"]

COLUMNS = {
    "collar": {"BHID": ["A", "B"], "XCOLLAR": [5.0, 50], "YCOLLAR": [5.0, 5], "ZCOLLAR": [30.0, 30],
               "ENDDEPTH": [40.0, 40]},
    "survey": {"BHID": ["A", "B"], "AT": [0.0, 0], "BRG": [0.0, 0], "DIP": [90.0, 90]},
    "assay": {"BHID": ["A", "A", "A", "B"], "FROM": [0, 8, 14.5, 0], "TO": [8, 14.5, 21.25, 10],
              "AU": [1.5, 2.75, -1e30, 0.5]},
}  # fmt: skip


@pytest.fixture(params=[(8, "<"), (8, ">"), (4, "<"), (4, ">")], ids=str)
def tables(folder: Path, request: pytest.FixtureRequest) -> dict[str, Path]:
    """Write the tables as .dm, and as text of the same numbers."""
    for name, columns in COLUMNS.items():
        Path(f"{name}.dm").write_bytes(datamine_table(columns, *request.param))
        rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
        texts = [["" if cell == -1e30 else str(cell) for cell in row] for row in rows]
        Path(f"{name}.csv").write_text("\n".join(map(",".join, texts)) + "\n")
    return {name: Path(f"{name}.dm") for name in COLUMNS}


def test_holes(tables: dict[str, Path]) -> None:
    holes = Drillholes(tables["collar"], tables["survey"], tables["assay"])
    texts = Drillholes("collar.csv", "survey.csv", "assay.csv")
    assert holes.names == texts.names == ("A", "B")
    places = holes.positions(["A", "B"], [8.0, 40.0])
    assert np.array_equal(places, texts.positions(["A", "B"], [8.0, 40.0]))
    rows = holes.match(tables["assay"], also=["AU"])
    assert rows.table.numbers_of("AU").tolist() == pytest.approx(
        [1.5, 2.75, np.nan, 0.5], nan_ok=True
    )


def test_crossings_and_composites(tables: dict[str, Path]) -> None:
    def crossings(of: Callable[[str], str], out: str) -> None:
        crossings_file(of("collar"), of("survey"), of("assay"), solids=ORE, output=out)

    def composites(of: Callable[[str], str], out: str) -> None:
        composite_file(of("assay"), ORE, out, collar=of("collar"), survey=of("survey"), length=2,
                       grade="AU")  # fmt: skip

    for make in (crossings, composites):
        make(lambda name: f"{name}.dm", "one.csv")
        make(lambda name: f"{name}.csv", "two.csv")
        one, two = (Path(f"{name}.csv").read_text() for name in ("one", "two"))
        assert one == two and len(one.splitlines()) > 1
        Path("one.csv").unlink(), Path("two.csv").unlink()


def test_commands(tables: dict[str, Path]) -> None:
    given = ["--collar", "collar.dm", "--survey", "survey.dm"]
    run = CliRunner().invoke(main, ["inspect", *given, "--intervals", "assay.dm"])
    assert run.exit_code == 0, run.output
    run = CliRunner().invoke(
        main, ["flag", "assay.csv", *given, "--solid", "ORE=ore.ply", "-o", "o.csv"]
    )
    assert run.exit_code == 0, run.output
    assert Path("o.csv").read_text().splitlines()[2].endswith(",ORE")
    for output in ("o.dm", "p.csv"):
        options = [*given, "--solid", "ORE=ore.ply", "-o", output]
        run = CliRunner().invoke(main, ["flag", "assay.dm", *options])
        assert run.exit_code == 3
        assert (
            "must have the format of the input" in run.output
            or "the output has the same format as" in run.output
        )
        assert not Path(output).exists()


def test_the_check(tables: dict[str, Path]) -> None:
    one, two = (
        Drillholes(*(f"{name}.{kind}" for name in COLUMNS)).check().to_pandas()
        for kind in ("dm", "csv")
    )
    assert one["code"].tolist() and one["row"].tolist() == (two["row"] - 2).tolist()
    assert one.drop(columns=["row", "value"]).equals(two.drop(columns=["row", "value"]))


def test_a_text_table_is_not_written_as_another_kind(folder: Path) -> None:
    given = ["--collar", "collar.csv", "--survey", "survey.csv", "--solid", "ORE=ore.ply"]
    for output in ("o.dm", "o.parquet", "o.xls"):
        run = CliRunner().invoke(main, ["flag", "assay.csv", *given, "-o", output])
        assert run.exit_code == 3 and output in run.output
        assert not Path(output).exists()


def test_damage_is_said(tables: dict[str, Path]) -> None:
    whole = tables["assay"].read_bytes()
    for size in (len(whole) - 1, len(whole) // 2 + 5):
        tables["assay"].write_bytes(whole[:size])
        with pytest.raises(TableError, match=r"assay\.dm is damaged"):
            Drillholes(tables["collar"], tables["survey"], tables["assay"])
