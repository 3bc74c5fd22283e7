"""Comparisons of two labellings: what moved, and models that are not the same."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from click.testing import CliRunner

from geodomain import GeodomainWarning, compare_files
from geodomain.cli import main
from geodomain.errors import TableError

HEAD = "X,Y,Z,DX,DY,DZ,domain\n"


def model(path: Path, labels: str, *, size: float = 2, first: float = 1, head: str = HEAD) -> Path:
    """Write blocks in a row, each labelled with a letter, or not at all by a dot."""
    rows = [
        f"{first + size * place},1,1,{size},{size},{size},{label.replace('.', '')}"
        for place, label in enumerate(labels)
    ]
    path.write_text(head + "\n".join(rows) + "\n")
    return path


def test_moved_blocks_and_their_volume(tmp_path: Path) -> None:
    old, new = model(tmp_path / "old.csv", "AAAB."), model(tmp_path / "new.csv", "ABBBA")
    found = compare_files(old, new)
    moves = [(move.old, move.new, move.blocks, move.volume) for move in found.moves]
    assert moves == [("A", "B", 2, 16), ("", "A", 1, 8), ("A", "A", 1, 8), ("B", "B", 1, 8)]
    assert (found.rows, found.changed) == (5, 3)
    assert "3 of 5 blocks (60.00%) changed their label" in str(found)
    assert str(found).splitlines()[1].split() == ["A", "B", "2", "16"]


def test_two_columns_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "both.csv"
    path.write_text("X,Y,Z,march,april\n1,1,1,A,A\n2,1,1,A,B\n")
    found = compare_files(path, path, column="march", new_column="april")
    assert found.changed == 1 and all(move.volume is None for move in found.moves)


def test_a_model_with_other_blocks_is_refused(tmp_path: Path) -> None:
    old = model(tmp_path / "old.csv", "AAA")
    with pytest.raises(TableError, match=r"old\.csv has 3 blocks, but new\.csv has 2"):
        compare_files(old, model(tmp_path / "new.csv", "AA"))
    with pytest.raises(
        TableError, match=r"block 1 is at \(1, 1, 1\) in old\.csv, but at \(1\.5, 1"
    ):
        compare_files(old, model(tmp_path / "new.csv", "AAA", first=1.5))


def test_the_command_prints_a_table_or_json(tmp_path: Path) -> None:
    old, new = model(tmp_path / "old.csv", "AB"), model(tmp_path / "new.csv", "AA")
    done = CliRunner().invoke(main, ["compare", str(old), str(new)])
    assert done.exit_code == 0 and "1 of 2 blocks (50.00%)" in done.stdout
    done = CliRunner().invoke(main, ["compare", str(old), str(new), "--json"])
    assert json.loads(done.stdout)["moves"][0] == {
        "old": "B", "new": "A", "blocks": 1, "volume": 8.0
    }  # fmt: skip
    done = CliRunner().invoke(main, ["compare", str(old), str(tmp_path / "none.csv")])
    assert done.exit_code == 4


def test_other_sizes_are_told(tmp_path: Path) -> None:
    old = model(tmp_path / "old.csv", "AAB")
    new = tmp_path / "new.csv"
    new.write_text(old.read_text().replace("3,1,1,2,2,2,A", "3,1,1,2,2,5,A"))
    said = r"1 block has a different size in .*new\.csv than in .*old\.csv; the first is block 2, "
    with pytest.warns(GeodomainWarning, match=said + "2 x 2 x 2 before and 2 x 2 x 5 now"):
        assert compare_files(old, new).changed == 0


def test_labels_that_are_one_number_in_two_spellings_are_told(tmp_path: Path) -> None:
    old = model(tmp_path / "old.csv", "112.")
    new = tmp_path / "new.csv"
    new.write_text(old.read_text().replace(",1\n", ",1.0\n"))
    with pytest.warns(
        GeodomainWarning, match="only by the way a number is written, .*'1' and '1.0'$"
    ):
        assert compare_files(old, new).changed == 2


def test_volumes_leave_out_blocks_without_size(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("X,Y,Z,DX,DY,DZ,domain\n0,0,0,2,2,2,A\n9,0,0,,2,2,A\n18,0,0,0,2,2,A\n", "ascii")
    found = compare_files(path, path)
    (move,) = found.moves
    assert (move.blocks, move.volume, move.unsized) == (3, 8.0, 2)
    assert found.cells()[0] == ["old", "new", "blocks", "volume", "without size"]
    assert found.cells()[1] == ["A", "A", "3", "8", "2"]


def test_labels_are_compared_without_a_table_of_all_pairs(tmp_path: Path) -> None:
    path, count = tmp_path / "a.csv", 4000
    rows = "".join(f"{row},0,0,1,1,1,D{row}\n" for row in range(count))
    path.write_text(f"X,Y,Z,DX,DY,DZ,domain\n{rows}", "ascii")
    tracemalloc.start()
    try:
        found = compare_files(path, path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found.moves) == count and found.changed == 0
    assert most < 60e6  # the table took 128 MB a column
