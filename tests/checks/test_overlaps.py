"""Blocks that reach into each other are told by all verbs, however they are turned and sized."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from late import pandas
from numpy.typing import NDArray
from wireframes import box

import geodomain
from geodomain.checks import overlaps
from geodomain.checks.blocks import BlockChecks, overfull
from geodomain.checks.overlaps import Overlap, OverlappingBlocks, RepeatedCentroids
from geodomain.compute.rows import fill_cells
from geodomain.tables.frames import LocalFrame

Floats = NDArray[np.float64]
Chunks = Sequence[tuple[Floats, Floats]]
ORE = box((410_010, 7_000_010, 310), (410_090, 7_000_090, 340))


def lattice(shape: tuple[int, int, int], size: Sequence[float], start: float = 0.0) -> Chunks:
    """Return one chunk of blocks side by side."""
    axes = [start + (np.arange(n) + 0.5) * one for n, one in zip(shape, size, strict=True)]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    return [(points, np.broadcast_to(np.array(size, np.float64), points.shape))]


def compare(chunks: Chunks, *, known: bool = True) -> Overlap | None:
    """Compare blocks, chunk by chunk."""
    blocks = OverlappingBlocks()
    for points, sizes in chunks:
        blocks.add(points, sizes)
    return blocks.overlap(turn_is_known=known)


def counted_again(chunks: Chunks) -> tuple[int, float]:
    """Compare every two blocks: how many have a part of an earlier one, and what the union lacks.

    All ends must be whole numbers below 40.
    """
    room = np.zeros((40, 40, 40), np.int64)
    for points, sizes in chunks:
        ends = np.stack([points - sizes / 2, points + sizes / 2], axis=2).astype(int)
        for (a, b), (c, d), (e, f) in ends:
            room[a:b, c:d, e:f] += 1
    return int((room > 1).sum()), float((room - (room > 0)).sum())


@pytest.mark.parametrize("size", [1e8, 1e15, 1e30])
def test_one_size_with_too_many_digits_hides_nothing(size: float) -> None:
    points, sizes = lattice((6, 6, 6), (10, 10, 10))[0]
    sizes = sizes.copy()
    sizes[100, 0] = size
    found = compare([(points, sizes)])
    assert found is not None and found.blocks == 5 and found.volume == pytest.approx(5000)


SPACED = {
    "fits": ((10.0, 10.0, 5.0), None),
    "rounded": ((10.02, 9.97, 5.01), None),
    "too small in x": (
        (5.0, 10.0, 5.0),
        "10 apart along x, but blocks measure 5. .* Check dx=",
    ),
    "too small": ((9.0, 9.0, 4.5), "Check dx=, dy=, dz="),
}


@pytest.mark.parametrize("case", SPACED)
def test_sizes_smaller_than_the_spacing_are_told(case: str) -> None:
    size, said = SPACED[case]
    checks = BlockChecks()
    for points, _ in lattice((8, 7, 6), (10, 10, 5)):
        checks.add(points, np.broadcast_to(np.array(size), points.shape))
    again = BlockChecks.restored(checks.arrays())
    for each in (checks, again):
        sentences = list(each.warnings(mend="{}"))
        if said is None:
            assert sentences == []
        else:
            assert len(sentences) == 1 and re.search(said, sentences[0])


def test_sizes_smaller_than_the_spacing_are_told_along_the_axes_of_a_rotated_model() -> None:
    east, north = (0.8, 0.6, 0.0), (-0.6, 0.8, 0.0)
    turn = np.array([east, north, (0.0, 0.0, 1.0)])
    checks = BlockChecks()
    for points, _ in lattice((8, 7, 6), (10, 10, 5)):
        sizes = np.broadcast_to(np.array((5.0, 10.0, 5.0)), points.shape)
        checks.add(points @ turn, sizes, axes=turn)
    (said,) = checks.warnings(mend="{}")
    assert "10 apart along the model's x, but blocks measure 5." in said
    assert said.endswith("Check dx=")


def test_a_few_blocks_of_a_lattice_leave_no_gaps() -> None:
    """Blocks above a cut-off are scattered, and the nearest of them touch."""
    points, sizes = lattice((12, 12, 6), (10, 10, 5))[0]
    some = np.random.default_rng(3).random(len(points)) < 0.05
    checks = BlockChecks()
    checks.add(points[some], sizes[some])
    assert list(checks.warnings(mend="{}")) == []


def test_parents_beside_their_sub_blocks() -> None:
    """The whole volume is there twice, whichever come first."""
    parents, subs = lattice((5, 4, 3), (4, 4, 2)), lattice((20, 16, 6), (1, 1, 1))
    for chunks in ([*parents, *subs], [*subs, *parents]):
        found = compare(chunks)
        assert found is not None
        assert found.volume == 5 * 4 * 3 * 32 and found.whole == 2 * found.volume and found.every
        assert sorted(float(np.prod(one[1])) for one in found.pair) == [1, 32]


def test_sub_blocks_side_by_side_do_not_overlap() -> None:
    """Some parents are split, in another way each; heights are those of a seam."""
    ((points, sizes),) = lattice((8, 8, 4), (4, 4, 2))
    rng = np.random.default_rng(7)
    parts = []
    for point, size in zip(points, sizes, strict=True):
        low, ends = point - size / 2, np.sort(rng.uniform(0, size[2], 2))
        for a, b in ((0, ends[0]), (ends[0], ends[1]), (ends[1], size[2])):
            parts.append([low[0] + 2, low[1] + 2, low[2] + (a + b) / 2, 4, 4, b - a])
    rows = np.array(parts)
    assert compare([(rows[:, :3], rows[:, 3:])]) is None
    rounded = np.round(rows, 3)
    assert compare([(rounded[:, :3], rounded[:, 3:])]) is None


@pytest.mark.parametrize("seed", range(8))
def test_any_boxes(seed: int) -> None:
    """The volume is that of cells that are filled again, whatever the boxes."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 30, (40, 3))
    sizes = rng.integers(1, 8, (40, 3)).astype(np.float64)
    points = low + sizes / 2
    _, first = np.unique(points, axis=0, return_index=True)
    chunks = [(points[first], sizes[first])]
    found = compare(chunks)
    _, again = counted_again(chunks)
    assert found is not None and found.volume == again
    one, other = found.pair
    assert (np.abs(one[0] - other[0]) < (one[1] + other[1]) / 2).all()


@pytest.mark.parametrize("seed", range(12))
def test_the_fast_test_and_the_columns_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few boxes in much room: some models have overlaps, some have none, some repeat a box."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 40, (12, 3)) * (1.0, 0.5, 0.25)
    sizes = rng.integers(1, 9, (12, 3)) * (1.0, 0.5, 0.25)
    low[:2], sizes[:2] = low[2:4], sizes[2 + seed % 3]
    chunks = [(low + sizes / 2, sizes)]
    fast = compare(chunks)
    monkeypatch.setattr(overlaps, "_MOST_CELLS", 0)
    assert str(compare(chunks)) == str(fast)


@pytest.mark.parametrize("sample", [8, 1 << 14])
def test_the_fast_test_rules_out_overlaps_of_sub_blocks(
    sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small sample lacks most planes at first."""
    monkeypatch.setattr(overlaps, "_SAMPLE", sample)
    ((points, sizes),) = lattice((8, 8, 4), (4, 4, 2))
    ((subs, small),) = lattice((4, 16, 8), (2, 2, 1))
    rest = points[:, 0] > 8
    monkeypatch.setattr(overlaps, "_in_columns", None)
    assert compare([(points[rest], sizes[rest]), (subs, small)]) is None
    with pytest.raises(TypeError):
        compare([(points, sizes), (subs, small)])


@pytest.mark.parametrize("seed", range(20))
def test_cells_between_uneven_planes(seed: int) -> None:
    """The first block that fills a cell again, or that is off the planes, is named."""
    rng = np.random.default_rng(seed)
    planes = [np.sort(rng.choice(10.0 ** rng.uniform(-2, 4, 400), 70)) for _ in range(3)]
    planes[seed % 3] = np.arange(70) * 0.1 + 1e6
    planes = [np.unique(values) for values in planes]
    slack = np.array([np.diff(values).min() / 4 for values in planes])
    faces = [rng.integers(0, len(values) - 1, 400) for values in planes]
    low = np.stack(faces, axis=1)
    high = low + rng.integers(1, 4, (400, 3))
    high = np.minimum(high, [len(values) - 1 for values in planes])
    ends = [
        np.stack([values[side[:, axis]] for axis, values in enumerate(planes)], axis=1)
        for side in (low, high)
    ]
    rows = np.concatenate([(ends[0] + ends[1]) / 2, ends[1] - ends[0]], axis=1)
    filled = np.zeros([len(values) for values in planes], bool)
    expected = ("once", len(rows))
    for row, (begin, end) in enumerate(zip(low, high, strict=True)):
        cells = tuple(slice(a, b) for a, b in zip(begin, end, strict=True))
        if filled[cells].any():
            expected = ("twice", row)
            break
        filled[cells] = True
    assert fill_cells(rows, planes, slack) == expected
    rows[5, seed % 3] += 2 * slack[seed % 3]
    assert fill_cells(rows, planes, slack) == ("off planes", 5) or expected[1] < 5


def test_blocks_of_one_size_off_their_spacing() -> None:
    ((points, sizes),) = lattice((12, 10, 8), (10, 10, 5))
    assert compare([(points, sizes)]) is None
    found = compare([(points, sizes * (1.5, 1, 1))])
    assert found is not None and found.volume == 11 * 10 * 8 * 250
    shifted = compare([(points, sizes), (points + 1.0, sizes)])
    assert shifted is not None and shifted.blocks > 900
    # Rows that are shifted as bricks are lie side by side.
    bricks = points + np.stack([points[:, 1] // 10 % 2 * 5, *np.zeros((2, len(points)))], axis=1)
    assert compare([(bricks, sizes)]) is None


def test_more_blocks_than_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more blocks than are held one part of the model is compared, all of it."""
    monkeypatch.setattr(overlaps, "_MOST", 500)
    parents, subs = lattice((8, 8, 4), (4, 4, 2)), lattice((16, 16, 8), (2, 2, 1))
    assert compare([*parents, *lattice((8, 8, 4), (2, 2, 1), 100.0)]) is None
    points, sizes = subs[0]
    chunks = [(points[n : n + 100], sizes[n : n + 100]) for n in range(0, len(points), 100)]
    found = compare([*parents, *chunks])
    assert found is not None and not found.every and 0.3 < found.volume / found.whole <= 0.5


@pytest.mark.parametrize("seed", range(40))
def test_repeated_centroids_of_blocks_of_several_sizes(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count is that of a set, whatever is stored: all blocks, a part of them, or bits."""
    random = np.random.default_rng(seed)
    monkeypatch.setattr(overlaps, "_ALL", int(random.choice([1, 40, 10_000])))
    monkeypatch.setattr(overlaps, "_MOST", int(random.choice([5, 60, 10_000])))
    parents, size = (item.copy() for item in lattice((5, 4, 3), (4, 4, 4))[0])
    halves, half = (item.copy() for item in lattice((10, 4, 3), (2, 4, 4), start=20)[0])
    points = np.concatenate([parents, halves, halves[: int(random.choice([0, 0, 7]))]])
    sizes = np.concatenate([size, half, half[: len(points) - 180]])
    if random.random() < 0.5:
        order = random.permutation(len(points))
        points, sizes = points[order], sizes[order]
    if random.random() < 0.3:
        points[int(random.integers(len(points)))] = points[3]
    begins = np.sort(random.integers(0, len(points), 5))
    blocks, seen = OverlappingBlocks(), 0
    for part, its_sizes in zip(np.split(points, begins), np.split(sizes, begins), strict=True):
        blocks.add(np.asfortranarray(part), its_sizes)
        seen += len(part)
        if random.random() < 0.3:
            assert blocks.again == seen - len(np.unique(points[:seen], axis=0))
        if random.random() < 0.2:
            stored = RepeatedCentroids.restored(blocks.arrays())
            assert stored.again == seen - len(np.unique(points[:seen], axis=0))
    expected = len(points) - len(np.unique(points, axis=0))
    assert blocks.again == expected
    others = OverlappingBlocks()
    others.add(points[:50], sizes[:50])
    others.merge(blocks)
    joined = np.concatenate([points[:50], points])
    assert others.again == len(joined) - len(np.unique(joined, axis=0))


def test_blocks_that_look_turned_are_left_alone() -> None:
    ((points, sizes),) = lattice((12, 10, 8), (10, 10, 5))
    turned = LocalFrame([("z", 30)], (0.0, 0.0, 0.0)).to_world(points)
    assert compare([(turned, sizes)], known=False) is None
    assert compare([(turned, sizes)], known=True) is not None


def said(table: pandas.DataFrame, tmp_path: Path, **frame: str) -> dict[str, str]:
    """Return what each verb warns of."""
    path, texts = tmp_path / "b.csv", {}
    table = table.assign(domain="ORE", SG=2.5)
    table.to_csv(path, index=False)
    verbs = {
        "label": lambda: geodomain.label_file(path, {"ORE": ORE}, None, column="new", **frame),
        "tonnes": lambda: geodomain.tonnes_file(path, density="SG", **frame),
        "frame": lambda: geodomain.tonnes(table, density="SG"),
        "inspect": lambda: geodomain.inspect_file(path, **frame).warnings,
        "report": lambda: geodomain.report_file(
            path, tmp_path / "r.html", overwrite=True, density="SG", **frame
        ),
    }
    if frame:  # of which a table in memory says nothing
        del verbs["frame"]
    for name, verb in verbs.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            returned = verb()
        told = returned if name == "inspect" else [str(one.message) for one in caught]
        texts[name] = " | ".join(
            str(one) for one in (told if isinstance(told, tuple | list) else ())
        )
    return texts


def blocks(turn: float, spacing: Sequence[float], size: Sequence[float]) -> pandas.DataFrame:
    """Return world coordinates of a model that is turned about a corner of it."""
    points, _ = lattice((10, 10, 8), spacing)[0]
    world = LocalFrame([("z", turn)], (410_000, 7_000_000, 300)).to_world(points)
    columns = [f"{kind}{axis}" for kind in ("", "D") for axis in "XYZ"]
    rows = np.concatenate([world, np.broadcast_to(np.array(size), world.shape)], axis=1)
    return pandas.DataFrame(rows, columns=columns)


@pytest.mark.parametrize("size", [(20, 10, 5), (15, 10, 5)])
def test_sizes_that_do_not_fit_a_turned_lattice(size: tuple[float, ...], tmp_path: Path) -> None:
    """Every verb tells the volume that is there twice, which the box in the world hides."""
    again = 9 * 10 * 8 * 50 * (size[0] - 10)
    for name, text in said(blocks(30, (10, 10, 5), size), tmp_path, frame="z=30").items():
        assert f"{again:,} of the volume of" in text, (name, text)
    for name, text in said(blocks(30, (10, 10, 5), (10, 10, 5)), tmp_path, frame="z=30").items():
        assert "volume" not in text, (name, text)


def test_a_frame_that_is_a_quarter_off(tmp_path: Path) -> None:
    """Blocks of two lengths in plan overlap along the wrong axes, and leave gaps beside."""
    right = said(blocks(30, (20, 5, 5), (20, 5, 5)), tmp_path, frame="z=30")
    swapped = said(blocks(30, (20, 5, 5), (5, 20, 5)), tmp_path, frame="z=30")
    for name, text in swapped.items():
        assert "overlap other blocks" in text and "volume" not in right[name], name


def test_parents_and_sub_blocks_are_told_by_all_verbs(tmp_path: Path) -> None:
    parents = blocks(0, (10, 10, 5), (10, 10, 5))[:200]
    subs = parents.assign(DX=5.0, DY=5.0)
    parts = [subs.assign(X=subs.X + i, Y=subs.Y + j) for i in (-2.5, 2.5) for j in (-2.5, 2.5)]
    for name, text in said(pandas.concat([parents, *parts]), tmp_path).items():
        assert "800 blocks overlap other blocks: 100,000 of the volume of 200,000" in text, name
    for name, text in said(
        pandas.concat([parents[::2], *(p[1::2] for p in parts)]), tmp_path
    ).items():
        assert "volume" not in text, (name, text)


def test_little_too_much_volume_is_told_with_its_digits() -> None:
    (said,) = overfull(1000.167, np.array([[0.0, 0.0, 0.0], [10.0, 10.0, 10.0]]))
    assert "have 1.0002 times" in said
