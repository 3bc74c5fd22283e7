"""Samples in Parquet: the file comes back with its types, and the answers of the text."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from flagged_holes import ASSAY, ORE, folder
from late import pa, parquet, pd

from geodomain import TableError, flag_file
from geodomain.cli import main

__all__ = ["folder"]
# One sample has no hole.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:1 interval of a hole without a collar \(row 4\):geodomain.GeodomainWarning"
)


@pytest.fixture
def samples(folder: Path) -> pa.Table:
    """Write the samples as Parquet with types, row groups and metadata of its own."""
    table = pa.table(
        {
            "BHID": pa.array(["A", "A", "A", "B", None]).dictionary_encode(),
            "FROM": pa.array([0, 8, 14, 0, 0], pa.int32()),
            "TO": pa.array([8.0, 14.0, 21.2, 10.0, None]),
            "AU": pa.array(["1.50", "2.70", "0.10", None, ".5"]).cast(pa.decimal128(6, 2)),
            "NOTE": pa.array([b"a", b"", None, b"\xff", b"x"]),
        },
        metadata={b"made": b"by hand"},
    )
    parquet.write_table(table, "assay.parquet", row_group_size=2, compression="zstd")
    return table


def flagged(output: str = "out.parquet", **options) -> pa.Table:
    flag_file("assay.parquet", ORE, output, collar="collar.csv", survey="survey.csv",
              background="W", unassigned="?", **options)  # fmt: skip
    return parquet.read_table(output)


@pytest.mark.parametrize("by", ["middle", "majority"])
def test_other_columns_stay(samples: pa.Table, by: str) -> None:
    found = flagged(by=by)
    assert found.column("domain").to_pylist() == ["W", "ORE", "ORE", "W", "?"]
    assert found.drop_columns("domain").equals(samples, check_metadata=True)
    metadata = parquet.ParquetFile("out.parquet").metadata
    assert (metadata.num_row_groups, metadata.row_group(0).column(1).compression) == (3, "ZSTD")


def test_coordinates(samples: pa.Table) -> None:
    found = flagged(coordinates=True)
    assert found.column_names[-4:] == ["domain", "x", "y", "z"]
    assert found.column("z").to_pylist() == pytest.approx([26, 19, 30 - 17.6, 25, None])
    assert found.column("x").to_pylist() == [5, 5, 5, 50, None]


def test_split(samples: pa.Table) -> None:
    found = flagged(by="split")
    rows = [found.column(name).to_pylist() for name in ("BHID", "FROM", "TO", "domain")]
    assert list(zip(*rows, strict=True)) == [
        ("A", 0.0, 8.0, "W"),
        ("A", 8.0, 10.0, "W"),
        ("A", 10.0, 14.0, "ORE"),
        ("A", 14.0, 20.0, "ORE"),
        ("A", 20.0, 21.2, "W"),
        ("B", 0.0, 10.0, "W"),
        (None, 0.0, None, "?"),
    ]
    kept = found.column("AU").to_pylist(), found.schema.field("AU").type
    assert kept[0][1:3] == samples.column("AU").to_pylist()[1:2] * 2
    assert kept[1] == pa.decimal128(6, 2)
    assert found.column("NOTE").to_pylist()[3:5] == [None, None]


def test_pandas_finds_the_column_in_its_place(folder: Path) -> None:
    frame = pd.read_csv("assay.csv").set_index("NOTE")
    frame.to_parquet("assay.parquet")
    flagged(coordinates=True)
    found = pd.read_parquet("out.parquet")
    assert found.index.name == "NOTE"
    assert found["domain"].tolist() == ["W", "ORE", "ORE", "W"]
    assert found.drop(columns=["domain", "x", "y", "z"]).equals(frame)


@pytest.mark.parametrize("by", ["middle", "majority", "split"])
def test_text_and_parquet_agree(folder: Path, by: str) -> None:
    pd.read_csv("assay.csv").to_parquet("assay.parquet")
    found = flagged(by=by).to_pandas()
    flag_file("assay.csv", ORE, "out.csv", collar="collar.csv", survey="survey.csv",
              background="W", unassigned="?", by=by)  # fmt: skip
    text = pd.read_csv("out.csv")
    for name in ("BHID", "FROM", "TO", "domain"):
        assert found[name].tolist() == text[name].tolist()


def test_the_command(samples: pa.Table) -> None:
    options = ["--collar", "collar.csv", "--survey", "survey.csv", "--solid", "ORE=ore.ply"]
    run = CliRunner().invoke(main, ["flag", "assay.parquet", *options, "-o", "out.pq"])
    assert run.exit_code == 0, run.output
    assert parquet.read_table("out.pq").column("domain").to_pylist()[1] == "ORE"
    run = CliRunner().invoke(main, ["flag", "assay.parquet", *options, "-o", "out.csv"])
    assert run.exit_code == 3
    assert (
        "the output has the same format as assay.parquet: give out.csv the extension .parquet"
        in run.output
    )
    run = CliRunner().invoke(main, ["flag", "assay.csv", *options, "-o", "new.parquet"])
    assert run.exit_code == 3 and "the extension .csv" in run.output
    assert not Path("new.parquet").exists() and not Path("out.csv").exists()


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", ASSAY.encode(), b"PAR1" + b"\xff" * 99 + b"PAR1"]
)
def test_damage_is_said(folder: Path, content: bytes) -> None:
    Path("assay.parquet").write_bytes(content)
    with pytest.raises(TableError, match=r"assay\.parquet cannot be read as Parquet"):
        flagged()


def test_a_column_that_is_there_is_kept(samples: pa.Table) -> None:
    with pytest.raises(TableError, match="NOTE"):
        flagged(column="NOTE")
