"""Sub-blocks joined into fewer: the same labels everywhere, never more than runs along an axis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from subblocked import TABLE, Part, by_parent, part_of, require_tiles, rows_of, solid

import geodomain
from geodomain import GeodomainWarning, TableError
from geodomain.compute.rows import join_boxes

HEAD = "X,Y,Z,DX,DY,DZ,ROCK,parent\n"


def runs(parts: Sequence[Part], axis: int) -> int:
    """Count what is left when runs along one axis are joined."""
    lines = defaultdict(list)
    others = [a for a in range(3) if a != axis]
    for part in parts:
        key = [(part.low[a], part.high[a]) for a in others]
        lines[*key, part.row["domain"]].append((part.low[axis], part.high[axis]))
    left = 0
    for line in lines.values():
        line.sort()
        left += 1 + sum(a[1] != b[0] for a, b in pairwise(line))
    return left


@pytest.mark.parametrize("scheme", ["octree", "grid", "seam"])
def test_joined_blocks_fill_the_same_and_are_few(tmp_path: Path, scheme: str) -> None:
    blocks, sub, merged = (tmp_path / name for name in ("blocks.csv", "sub.csv", "merged.csv"))
    blocks.write_bytes(TABLE.encode())
    options = {"scheme": scheme, "minimum": "5,5,2.5"}
    geodomain.subblock_file(blocks, {"ORE": solid()}, sub, **options)
    found = geodomain.merge_file(sub, merged)
    before, after = by_parent(sub), by_parent(merged)
    assert before.keys() == after.keys()
    assert found.before == sum(map(len, before.values())) + 1  # one is lost
    assert found.after == sum(map(len, after.values())) + 1
    parents = {n: part_of(row) for n, row in enumerate(rows_of(TABLE)) if row["X"]}
    for row, parts in after.items():
        require_tiles(parents[row], parts)
        assert len(parts) <= min(runs(before[row], axis) for axis in range(3))
    rng = np.random.default_rng(1)
    for row, parent in parents.items():
        low, high = (np.array([float(v) for v in c]) for c in (parent.low, parent.high))
        points = rng.uniform(low, high, (500, 3))
        assert labels_at(points, before[row]) == labels_at(points, after[row])
    again = tmp_path / "again.csv"
    geodomain.merge_file(merged, again)
    assert geodomain.merge_file(sub, again, overwrite=True, threads=1).after == found.after
    assert again.read_bytes() == merged.read_bytes()
    geodomain.subblock_file(blocks, {"ORE": solid()}, again, **options, merge=True, overwrite=True)
    same = ["X", "Y", "Z", "DX", "DY", "DZ", "parent", "domain", "Id"]
    one, other = (
        [[float(r[n]) if r[n] and n != "domain" else r[n] for n in same] for r in rows_of(text)]
        for text in (again.read_bytes().decode(), merged.read_bytes().decode())
    )
    assert one == other


def labels_at(points: np.ndarray, parts: Sequence[Part]) -> list[str]:
    lows = np.array([[float(v) for v in part.low] for part in parts])
    highs = np.array([[float(v) for v in part.high] for part in parts])
    within = ((points[:, None] >= lows) & (points[:, None] <= highs)).all(axis=2)
    return [parts[row].row["domain"] for row in within.argmax(axis=1)]


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 3))
def test_boxes_of_a_lattice_are_joined_exactly(seed: int, count: int, keys: int) -> None:
    rng = np.random.default_rng(seed)
    cells = np.stack(np.meshgrid(*[np.arange(count)] * 3, indexing="ij"), -1).reshape(-1, 3)
    key = rng.integers(0, keys, len(cells)).astype(np.int32)
    order = rng.permutation(len(cells))
    low, high = cells[order], cells[order] + 1
    starts = np.array([0, len(cells)])
    joined_low, joined_high, owner = join_boxes(starts, low, high, key, 2)
    covered = np.full((count, count, count), -1)
    left = np.flatnonzero(owner == np.arange(len(owner)))
    for row in left:
        box = tuple(slice(*each) for each in zip(joined_low[row], joined_high[row], strict=True))
        assert (covered[box] == -1).all()
        covered[box] = row
    at = covered[tuple(low.T)]
    assert (at == owner).all()
    assert (key[owner] == key).all()
    assert (owner <= np.arange(len(owner))).all()
    lattice = np.empty((count, count, count), int)
    lattice[tuple(low.T)] = key
    fewest = min(
        count**2 + int((np.diff(np.transpose(lattice, turn), axis=0) != 0).sum())
        for turn in permutations(range(3))
    )
    assert len(left) <= fewest


def merged(folder: Path, rows: str, **options: object) -> list[str]:
    (folder / "sub.csv").write_text(HEAD + rows)
    geodomain.merge_file(folder / "sub.csv", folder / "out.csv", overwrite=True, **options)
    return (folder / "out.csv").read_text().splitlines()[1:]


def test_only_neighbours_that_agree_are_joined(tmp_path: Path) -> None:
    rows = (
        "1,1,1,2,2,2,A,0\n3,1,1,2,2,2,A,0\n5,1,1,2,2,2,B,0\n"  # another rock
        "1,1,1,2,2,2,A,1\n3,2,1,2,4,2,A,1\n7,1,1,2,2,2,A,1\n"  # another size, a gap
        "1,1,1,2,2,2,A,\n3,1,1,2,2,2,A,\n"  # of no parent
        "1,1,1,2,2,2,A,2\n,1,1,2,2,2,A,2\n3,1,1,2,2,2,A,3\n"  # no place; another parent
        "0.10,0,0,0.2,1,1,A,4\n0.3,0,0,0.2,1,1,A,4\n"
    )
    kept = rows.splitlines()
    assert merged(tmp_path, rows) == [
        "2,1,1,4,2,2,A,0",
        *kept[2:11],
        "0.20,0,0,0.4,1,1,A,4",
    ]


def test_parents_that_come_again_are_refused(tmp_path: Path) -> None:
    rows = "1,1,1,2,2,2,A,7\n1,1,1,2,2,2,A,8\n3,1,1,2,2,2,A,7\n"
    with pytest.raises(
        TableError, match="the blocks of parent 7 are not in consecutive rows: sort"
    ):
        merged(tmp_path, rows)
    assert not (tmp_path / "out.csv").exists()
    with pytest.raises(TableError, match=r"has no column 'IJK'.*parent="):
        merged(tmp_path, rows, parent="IJK")
    with pytest.raises(TableError, match=r"ROCK is not a number in block 1: .*parent="):
        merged(tmp_path, rows, parent="ROCK")
    with pytest.raises(TableError, match="'Z' holds coordinates or sizes"):
        merged(tmp_path, rows, parent="Z")


def test_chunks_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    rows = ""
    for parent in range(60):
        for cell in range(int(rng.integers(1, 9))):
            rows += f"{cell}.5,0.5,0.5,1,1,1,{'AB'[int(rng.integers(2))]},{parent}\n"
            rows += "\n" * int(rng.integers(0, 2))
    once = merged(tmp_path, rows)
    assert len(once) < rows.count("1,1,1")
    monkeypatch.setattr("geodomain.formats.text.CHUNK_BYTES", 100)
    assert merged(tmp_path, rows) == once


def test_a_fault_in_a_row_that_was_given_back_has_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"{n}.5,0.5,0.5,1,1,1,A,{n // 4}\n" for n in range(50))
    monkeypatch.setattr("geodomain.formats.text.CHUNK_BYTES", 100)
    with pytest.raises(TableError, match="line 42: X is 'here'"):
        merged(tmp_path, rows.replace("40.5,", "here,"))


def test_amounts_that_are_not_added_up_are_warned_of(tmp_path: Path) -> None:
    place = tmp_path / "sub.csv"
    place.write_text("X,Y,Z,DX,DY,DZ,TONNES,parent\n2.5,5,5,5,10,10,6.5,0\n7.5,5,5,5,10,10,6.5,0\n")
    with pytest.warns(GeodomainWarning, match=r"TONNES looks like an amount.*add amounts up"):
        geodomain.merge_file(place, tmp_path / "a.csv")
    found = geodomain.merge_file(place, tmp_path / "b.csv", extensive="TONNES")
    assert found.warnings == ()
    place.write_text("X,Y,Z,DX,DY,DZ,TONNES,parent\n2.5,5,5,5,10,10,6.5,0\n7.5,5,5,5,10,10,7.5,0\n")
    found = geodomain.merge_file(place, tmp_path / "c.csv")
    assert found.after == found.before == 2 and found.warnings == ()
