"""Coordinates of collars beside the intervals of samples are refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from click.testing import CliRunner
from late import pandas, pyarrow
from mining_files import datamine_table
from wireframes import cube

import geodomain
from geodomain.cli import main
from geodomain.formats.wireframes import write_mesh

HEADER = "BHID,FROM,TO,X,Y,Z\n"
COLLARS = HEADER + "A,0,2,1,1,1\nA,2,4,1,1,1\nB,0,2,3,3,3\nB,2,4,3,3,3\nC,0,2,2,2,2\n"
MIDDLES = HEADER + "A,0,2,1,1,1\nA,2,4,1,1,-1\nB,0,2,3,3,3\nB,2,4,3,3,1\nC,0,2,2,2,2\n"
BLAST_HOLES = HEADER + "A,0,9,1,1,1\nB,0,9,3,3,3\nC,0,9,2,2,2\n"


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_mesh(cube(), tmp_path / "ore.ply")
    return tmp_path / "samples.csv"


@pytest.mark.parametrize("command", ["flag", "label"])
def test_collars_are_refused_with_the_way_out(samples: Path, command: str) -> None:
    samples.write_text(COLLARS)
    given = [command, str(samples), "--solid", "ORE=ore.ply", "--dry-run", "--allow-disjoint"]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 3
    assert "in 2 of its first 2 holes with several intervals (FROM to TO), X, Y and Z are" in (
        result.output
    )
    assert "--points-are-middles" in result.output
    assert CliRunner().invoke(main, [*given, "--points-are-middles"]).exit_code == 0


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_parquet_is_refused_alike(samples: Path, kind: str) -> None:
    kinds = {"dictionary": pyarrow.dictionary(pyarrow.int8(), pyarrow.string())}
    place = samples.with_suffix(".parquet")
    for text, refused in ((COLLARS, True), (MIDDLES, False), (BLAST_HOLES, False)):
        table = pyarrow.csv.read_csv(io.BytesIO(text.encode()))
        ids = table["BHID"].cast(kinds[kind] if kind in kinds else getattr(pyarrow, kind)())
        pyarrow.parquet.write_table(table.set_column(0, "BHID", ids), place)
        if refused:
            with pytest.raises(geodomain.TableError, match="in 2 of its first 2 holes"):
                geodomain.label_file(place, {"ORE": "ore.ply"}, None)
        else:
            geodomain.label_file(place, {"ORE": "ore.ply"}, None, allow_disjoint=True)


def test_datamine_is_refused_alike(samples: Path) -> None:
    place = samples.with_suffix(".dm")
    names = HEADER.strip().split(",")
    for text, refused in ((COLLARS, True), (MIDDLES, False), (BLAST_HOLES, False)):
        rows = [line.split(",") for line in text.splitlines()[1:]]
        columns = {
            name: [row[at] if at == 0 else float(row[at]) for row in rows]
            for at, name in enumerate(names)
        }
        place.write_bytes(datamine_table(columns, 8, "<"))
        if refused:
            with pytest.raises(geodomain.TableError, match="in 2 of its first 2 holes"):
                geodomain.label_file(place, {"ORE": "ore.ply"}, None)
        else:
            geodomain.label_file(place, {"ORE": "ore.ply"}, None, allow_disjoint=True)


@pytest.mark.parametrize("text", [MIDDLES, BLAST_HOLES])
def test_middles_and_blast_holes_are_not(samples: Path, text: str) -> None:
    samples.write_text(text)
    assert geodomain.label_file(samples, {"ORE": "ore.ply"}, None, allow_disjoint=True).rows >= 3


def test_without_a_column_of_holes_depths_tell_them_apart(samples: Path) -> None:
    samples.write_text("\n".join(line.partition(",")[2] for line in COLLARS.splitlines()))
    with pytest.raises(geodomain.TableError, match="in 2 of its first 2 holes"):
        geodomain.label_file(samples, {"ORE": "ore.ply"}, None)


def test_a_frame_is_refused_alike(samples: Path) -> None:
    frame = pandas.DataFrame({"FROM": [0, 2], "TO": [2, 4], "X": [1, 1], "Y": [1, 1], "Z": [1, 1]})
    with pytest.raises(geodomain.TableError, match="points_are_middles=True"):
        geodomain.label_blocks(frame, {"ORE": cube()})
    assert len(geodomain.label_blocks(frame, {"ORE": cube()}, points_are_middles=True)) == 2
    several = pandas.concat([frame, frame + 5], keys=["A-1", "A-2"], names=["HOLEID"])
    with pytest.raises(geodomain.TableError, match="in 2 of its first 2 holes"):
        geodomain.label_blocks(several.reset_index(level=0), {"ORE": cube()})
