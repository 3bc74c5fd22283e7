"""Blocks split at wireframes: exact tiles, labels of centroids, rows byte for byte."""

from __future__ import annotations

import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from shapes import cube
from subblocked import GEOMETRY, TABLE, Part, by_parent, part_of, require_tiles, rows_of, solid
from wireframes import box

import geodomain
from geodomain import GeodomainWarning, Mesh, TableError

# Coarse parts, or overlapping blocks, have another volume than the solid.
ignored = pytest.mark.filterwarnings("ignore:the blocks in ORE have")
SCHEMES = ("octree", "grid", "seam")


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    place = tmp_path / "blocks.csv"
    place.write_bytes(TABLE.encode())
    return place


def split(blocks: Path, scheme: str, minimum: object = "5,5,2.5", **options: object) -> Path:
    out = blocks.with_name("sub.csv")
    geodomain.subblock_file(
        blocks, {"ORE": solid()}, out, scheme=scheme, minimum=minimum, overwrite=True, **options
    )
    return out


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("minimum", ["5,5,2.5", "7,6,3", 13])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_parts_fill_their_blocks_exactly(blocks: Path, scheme: str, minimum, merge: bool) -> None:
    parents = [part_of(row) for row in rows_of(TABLE) if row["X"]]
    found = by_parent(split(blocks, scheme, minimum, merge=merge))
    assert [parent + 1 for parent in found] == [1, 2, 3, 4, 5, 7]
    for parent, parts in zip(parents, found.values(), strict=True):
        require_tiles(parent, parts)
        kept = {name: said for name, said in parent.row.items() if name not in GEOMETRY}
        for part in parts:
            assert kept.items() <= part.row.items()
    assert len(found[6]) == 1  # far away
    assert merge or all(len(found[row]) > 1 for row in range(3))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_label_of_a_part_is_that_of_its_centroid(blocks: Path, scheme: str) -> None:
    out = split(blocks, scheme, "3,3,1.5", background="W", unassigned="?")
    again = blocks.with_name("again.csv")
    options = {"background": "W", "unassigned": "?", "column": "again"}
    geodomain.label_file(out, {"ORE": solid()}, again, **options)
    rows = rows_of(again.read_bytes().decode())
    assert [row["domain"] for row in rows] == [row["again"] for row in rows]
    assert {row["domain"] for row in rows} == {"ORE", "W", "?"}


def test_rows_that_are_not_split_stay_as_they_are(blocks: Path) -> None:
    lines = split(blocks, "octree").read_bytes().split(b"\r\n")
    given = TABLE.encode().split(b"\r\n")
    assert lines[0] == given[0] + b",parent,domain"
    assert lines[-2] == given[-2] + b",5,"
    assert lines[-1] == given[-1] + b",6,"  # no line end at the end
    assert lines.count(b"") == 1
    # Quotes stay around cells that are rewritten, and blanks beside them.
    assert all(line.split(b",")[1].startswith(b'"413') for line in lines if line[:2] == b"3,")
    assert all(line.split(b",")[3][:2] == b" 3" for line in lines if line[:2] == b"2,")


def entered_by_faces(parent: Part, mesh: Mesh) -> bool:
    """Tell whether a box, whose faces are along the axes, has a face inside of a block."""
    low, high = ([Fraction(v) for v in corner] for corner in mesh.bounds)
    for axis in range(3):
        for face in (low[axis], high[axis]):
            others = [a for a in range(3) if a != axis]
            meets = all(low[a] < parent.high[a] and high[a] > parent.low[a] for a in others)
            if parent.low[axis] < face < parent.high[axis] and meets:
                return True
    return False


def test_an_octree_stops_where_no_triangle_enters(tmp_path: Path) -> None:
    ore = box((0, 0, 0), (5, 2.5, 8))
    (tmp_path / "a.csv").write_text("X,Y,Z,DX,DY,DZ\n4,4,4,8,8,8\n")
    out = tmp_path / "sub.csv"
    geodomain.subblock_file(
        tmp_path / "a.csv", {"ORE": ore}, out, scheme="octree", minimum="0.5,0.5,4"
    )
    parts = by_parent(out)[0]
    for part in parts:
        sizes = [h - low for low, h in zip(part.low, part.high, strict=True)]
        smallest = [s / 2 < least for s, least in zip(sizes, (0.5, 0.5, 4), strict=True)]
        assert all(smallest) or not entered_by_faces(part, ore)
    assert min(part.high[2] - part.low[2] for part in parts) == 4
    # Walls on cuts: the volume of ore is that of the solid, exactly.
    assert sum(p.volume for p in parts if p.row["domain"] == "ORE") == 100
    # What touches a wall from outside, and no more, is one block.
    (tmp_path / "b.csv").write_text("X,Y,Z,DX,DY,DZ\n-4,4,4,8,8,8\n2,1,4,2,2,2\n")
    geodomain.subblock_file(
        tmp_path / "b.csv", {"ORE": ore}, out, scheme="octree", minimum=0.5, overwrite=True
    )
    assert {row: len(parts) for row, parts in by_parent(out).items()} == {0: 1, 1: 1}


@ignored
def test_thirds_are_rounded_to_the_resolution(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("X,Y,Z,DX,DY,DZ\n5.05,5,5,10,10,10\n")
    out = tmp_path / "sub.csv"
    geodomain.subblock_file(
        tmp_path / "a.csv", {"ORE": cube(3.0, at=(1, 1, 1))}, out, scheme="grid",
        minimum="3.3,5,10", resolution="0.05",
    )  # fmt: skip
    parts = by_parent(out)[0]
    assert sorted({part.low[0] for part in parts}) == [
        Fraction(1, 20),
        Fraction("3.4"),
        Fraction("6.7"),
    ]
    assert {part.row["DX"] for part in parts} == {"3.35", "3.3"}
    assert {part.row["DY"] for part in parts} == {"5"}


def slope(low: float, high: float) -> Mesh:
    """Return a sheet over [-1, 11] x [-1, 11] that rises along x."""
    rise = (high - low) / 10
    corners = [[x, y, low + rise * x] for y in (-1, 11) for x in (-1, 11)]
    return Mesh(corners, [[0, 1, 2], [1, 3, 2]], name="slope")


def heights(path: Path) -> dict[tuple[str, str], list[Fraction]]:
    """Return the cuts of each plan cell."""
    found: dict[tuple[str, str], list[Fraction]] = {}
    for part in by_parent(path)[0]:
        found.setdefault((part.row["X"], part.row["Y"]), []).append(part.low[2])
    return {cell: sorted(cuts)[1:] for cell, cuts in found.items()}


def test_a_seam_is_cut_at_its_mean_height(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("X,Y,Z,DX,DY,DZ\n5,5,5,10,10,10\n")
    out = tmp_path / "sub.csv"

    def cut(**options: object) -> geodomain.SubblockSummary:
        roof = geodomain.Domain("LOW", [slope(2.0, 3.0)], kind="below")
        floor = geodomain.Domain("HIGH", [slope(6.0, 7.2)], kind="below")
        return geodomain.subblock_file(
            tmp_path / "a.csv", [roof, floor], out, scheme="seam", overwrite=True, **options
        )

    assert cut(minimum="5,10,0.5", resolution="0.001").dropped == 0
    assert heights(out) == {("2.5", "5"): [2.25, Fraction("6.3")],
                            ("7.5", "5"): [2.75, Fraction("6.9")]}  # fmt: skip
    assert cut(minimum="5,10,0.5", resolution="0.2").dropped == 0
    assert heights(out)["7.5", "5"] == [Fraction("2.8"), Fraction("6.8")]
    found = cut(minimum="5,10,3.5")  # 2.25 and 2.75 are too near to the floor, 6.9 to the roof
    assert heights(out) == {("2.5", "5"): [Fraction("6.3")], ("7.5", "5"): []}
    assert found.dropped == 3


def test_a_seam_that_does_not_span_a_cell_is_cut_where_its_line_crosses(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("X,Y,Z,DX,DY,DZ\n5,5,5,10,10,10\n")
    corners = [[0, 0, 1], [9, 0, 10], [0, 10, 1], [9, 10, 10]]
    sheet = Mesh(corners, [[0, 1, 2], [1, 3, 2]], name="ends before the block does")
    out = tmp_path / "sub.csv"
    below = geodomain.Domain("BELOW", [sheet], kind="below", extend="nearest")
    geodomain.subblock_file(tmp_path / "a.csv", [below], out, scheme="seam", minimum="10,10,1")
    assert heights(out) == {("5", "5"): [6]}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_amounts_are_shared_and_added_again(tmp_path: Path, scheme: str) -> None:
    blocks = tmp_path / "blocks.csv"
    blocks.write_text(
        "X,Y,Z,DX,DY,DZ,VOLUME,T,AU\n"
        "414000.3,7480000.7,310.1,40,40,20,32000,86400.123,1.5\n"
        "414040.3,7480000.7,310.1,40,40,20,32000.0,,1.5\n"
    )
    out = split(blocks, scheme, "7,6,3", extensive=["VOLUME", "t"])
    for parent, parts in by_parent(out).items():
        assert sum(Fraction(part.row["VOLUME"]) for part in parts) == 32000
        for part in parts:
            assert abs(Fraction(part.row["VOLUME"]) - part.volume) < Fraction(1, 10**5)
            assert (part.row["T"] == "") == (parent == 1)
    assert sum(Fraction(part.row["T"]) for part in by_parent(out)[0]) == Fraction("86400.123")
    merged = tmp_path / "merged.csv"
    geodomain.merge_file(out, merged, extensive=["VOLUME", "T"])
    again = by_parent(merged)[0]
    assert sum(Fraction(part.row["T"]) for part in again) == Fraction("86400.123")
    assert len(again) < len(by_parent(out)[0])


def test_likely_amounts_are_warned_of(blocks: Path) -> None:
    blocks.write_text(TABLE.replace("Id,", "Tonnage,").replace("\r\n\r\n", "\r\n"))
    with pytest.warns(GeodomainWarning, match="Tonnage looks like an amount of a whole block"):
        split(blocks, "octree")


def test_corners_stay_corners(tmp_path: Path) -> None:
    blocks = tmp_path / "a.csv"
    blocks.write_text("X,Y,Z,DX,DY,DZ\n0,0,0,8,8,8\n")
    out = tmp_path / "sub.csv"
    ore = {"ORE": box((0, 0, 0), (4, 4, 4))}
    geodomain.subblock_file(blocks, ore, out, scheme="octree", minimum=4, position="corner")
    rows = rows_of(out.read_text())
    assert [(r["X"], r["Y"], r["Z"]) for r in rows[:2]] == [("0", "0", "0"), ("4", "0", "0")]
    assert [row["domain"] for row in rows] == ["ORE"] + [""] * 7
    geodomain.merge_file(out, tmp_path / "m.csv", position="corner")
    assert len(rows_of((tmp_path / "m.csv").read_text())) == 4


def test_decimal_commas_in_quotes(tmp_path: Path) -> None:
    blocks, out = tmp_path / "a.csv", tmp_path / "b.csv"
    ore = {"ORE": box((0, 0, 0), (2.5, 10, 10))}
    blocks.write_text('X,Y,Z,DX,DY,DZ\n5,"5,0",5,5,10,10\n"2,5", 5,5,5,10,10\n')
    geodomain.subblock_file(blocks, ore, out, scheme="octree", minimum="2.5,10,10")
    rows = out.read_text().splitlines()
    assert rows[1] == '5,"5,0",5,5,10,10,0,'
    assert rows[2:] == [
        '"1,25","5","5","2,5","10","10",1,ORE',
        '"3,75","5","5","2,5","10","10",1,',
    ]
    blocks.write_text('X,Y,Z\n"2,5",5,5\n')
    size = {"dx": "5", "dy": "10", "dz": "10", "overwrite": True}
    geodomain.subblock_file(blocks, ore, out, scheme="octree", minimum="2.5,10,10", **size)
    assert out.read_text().splitlines()[1] == '"1,25","5","5","2,5","10","10",0,ORE'


def test_what_cannot_be_split_is_refused(blocks: Path, tmp_path: Path) -> None:
    def refused(text: str, match: str, **options: object) -> None:
        blocks.write_text(text)
        with pytest.raises(TableError, match=match):
            split(blocks, "grid", **options)
        assert not (tmp_path / "sub.csv").exists()

    one = "X,Y,Z,DX,DY,DZ,{}\n414000.3,7480000.7,310.1,40,40,20,{}\n"
    refused("X,Y,Z\n1,1,1\n", "has no block sizes: name")
    refused(one.format("parent", 1), "already has a column 'parent'.*parent=")
    refused(one.format("domain", 1), "already has a column 'domain'.*column=")
    refused(one.format("T", "many"), "line 2: T is 'many', which is not a number", extensive="T")
    long = "414000.30000000000000001"
    refused(one.format("T", 1).replace("414000.3", long), r"line 2: X is .* support \(16\)")
    refused(one.format("T", 1), "block 1 would have more than", minimum="0.05,0.05,0.05",
            resolution="0.0001")  # fmt: skip
    refused(one.format("T", 1).replace("7480000.7", "1"), "meets the block model")
    with pytest.raises(ValueError, match="minimum= is"):
        split(blocks, "grid", "1,2")
    with pytest.raises(ValueError, match="at most half"):
        split(blocks, "grid", "1", resolution="0.6")


def test_conditions_hold_for_parts(tmp_path: Path) -> None:
    blocks = tmp_path / "blocks.csv"
    blocks.write_text("X,Y,Z,DX,DY,DZ,AU\n4,4,4,8,8,8,1\n12,4,4,8,8,8,5\n")
    rich = geodomain.Domain("RICH", [box((2, 2, 2), (14, 6, 6))], only_if={"AU": {">=": 3}})
    out = tmp_path / "sub.csv"
    geodomain.subblock_file(blocks, [rich], out, scheme="octree", minimum=2)
    labels = {row: {part.row["domain"] for part in parts} for row, parts in by_parent(out).items()}
    assert labels == {0: {""}, 1: {"RICH", ""}}


def test_threads_and_chunks_change_nothing(blocks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    once = split(blocks, "octree", "3,3,1.5", merge=True, threads=1).read_bytes()
    monkeypatch.setattr("geodomain.formats.text.CHUNK_BYTES", 50)
    monkeypatch.setattr("geodomain.blocks.splitting._TOGETHER", 8)
    assert split(blocks, "octree", "3,3,1.5", merge=True, threads=4).read_bytes() == once


@pytest.mark.full
@ignored
def test_a_block_is_cut_by_what_enters_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    blocks = tmp_path / "blocks.csv"
    corners = rng.integers(0, 12, (40, 3))
    sizes = rng.integers(1, 6, (40, 3)) * 2
    rows = [
        f"{','.join(map(str, c))},{','.join(map(str, s))}"
        for c, s in zip(corners, sizes, strict=True)
    ]
    blocks.write_text("X,Y,Z,DX,DY,DZ\n" + "\n".join(rows) + "\n")
    ore = box((3, 3, 3), (9, 8, 7))
    out = tmp_path / "sub.csv"
    geodomain.subblock_file(blocks, {"ORE": ore}, out, scheme="grid", minimum=1)
    for row, parts in by_parent(out).items():
        parent = part_of(dict(zip(GEOMETRY, rows[row].split(","), strict=True)))
        assert (len(parts) > 1) == entered_by_faces(parent, ore)


def test_blocks_are_not_split_at_a_distance_and_it_is_said(blocks: Path) -> None:
    skin, out = geodomain.Domain("SKIN", solid(), within=3), blocks.with_name("sub.csv")
    with pytest.warns(GeodomainWarning, match="SKIN uses 'within' or 'beyond'"):
        found = geodomain.subblock_file(blocks, [skin], out, scheme="grid", minimum="5,5,2.5")
    assert any("SKIN uses 'within'" in one for one in found.labels.warnings)


def test_blocks_without_a_size_are_told_as_blocks(tmp_path: Path) -> None:
    place = tmp_path / "blocks.csv"
    rows = ["414000,7480000,310,20,20,10", "414020,7480000,310,0,20,10"]
    place.write_text("X,Y,Z,DX,DY,DZ\n" + "\n".join(rows) + "\n")
    cut = box((413995, 7479995, 300), (414005, 7480005, 320))
    with pytest.warns(
        GeodomainWarning, match="1 block without .* is not changed; the first is block 2"
    ):
        geodomain.subblock_file(place, {"ORE": cut}, tmp_path / "o.csv", scheme="grid", minimum=5)


def test_two_new_columns_of_one_name_are_refused(blocks: Path) -> None:
    with pytest.raises(ValueError, match=r"two new columns are called 'domain'"):
        split(blocks, "grid", parent="domain")


# --- A run that is killed.


ROWS = 400_000
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def has_written(process: subprocess.Popen[bytes], folder: Path) -> bool:
    """Tell whether a process has bytes in a file in a folder, with or without a name."""
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            if str(link.readlink()).startswith(f"{folder}/") and link.stat().st_size:
                return True
        except OSError:
            continue
    return False


@LINUX
@pytest.mark.parametrize("command", ["subblock", "merge"])
def test_nothing_is_left(command: str, tmp_path: Path) -> None:
    """The model comes through a pipe that does not end, so that the run is always at work."""
    geodomain.write_mesh(box((0, 0, 0), (3, 3, 3)), tmp_path / "ore.ply")
    folder = tmp_path / "out"
    folder.mkdir()
    options = [command, "-", "-o", str(folder / "o.csv")]
    if command == "subblock":
        options += ["--solid", f"ORE={tmp_path / 'ore.ply'}", "--scheme", "grid", "--minimum", "2"]
    name = "row" if command == "subblock" else "parent"
    rows = "".join(f"{4 * i + 2},2,2,4,4,4,{i}\n" for i in range(ROWS))
    with subprocess.Popen(
        [sys.executable, "-m", "geodomain", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(f"X,Y,Z,DX,DY,DZ,{name}\n{rows}".encode())
        process.stdin.flush()
        end = time.monotonic() + 60
        while not has_written(process, folder) and time.monotonic() < end:
            assert process.poll() is None
            time.sleep(0.02)
        assert has_written(process, folder)
        process.kill()
        process.stdin.close()
    assert not list(folder.iterdir())
