"""Counts of a labelling, and what is reported of them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from shapes import joined, odd_on_purpose
from wireframes import box, cube, roofless

from geodomain.domains.domain import Domain
from geodomain.errors import TableError
from geodomain.labelling.counts import Tally
from geodomain.labelling.evaluate import refuse_disjoint, solids_apart
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.labelling.summary import Summary, as_table, mesh_volume, summarise

ORE = Domain("ORE", (cube(),))
HALO = Domain("HALO", (box((5, 5, 5), (15, 15, 15)),))


def lattice(low: float, high: float, step: float) -> np.ndarray:
    """Make the centroids of a cube of blocks."""
    axis = np.arange(low + step / 2, high, step)
    return np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)


def counted(
    labeller: Labeller, points: np.ndarray, step: float | None, chunk: int = 10**9
) -> Tally:
    """Count the labels of blocks of one size, chunk by chunk."""
    tally = Tally(labeller.targets)
    for start in range(0, len(points), chunk):
        part = points[start : start + chunk]
        sizes = None if step is None else np.full(part.shape, step)
        tally.add(part, sizes, labeller.label(part))
    return tally


def summary_of(
    *solids: Domain, step: float | None = 2.5, high: float = 20, **kw: object
) -> Summary:
    """Label a cube of blocks and summarise it."""
    labeller = Labeller(solids, LabelSettings(**kw))  # type: ignore[arg-type]
    points = lattice(-5, high, step or 2.5)
    return summarise(
        labeller, counted(labeller, points, step), LabelSettings(background="bg"), seconds=2.0
    )


@pytest.mark.parametrize("chunk", [1, 7, 10**9])
def test_tally_is_the_same_for_any_chunk(chunk: int) -> None:
    points = np.concatenate([lattice(-5, 20, 2.5), [[np.nan, 0, 0]]])
    tally = counted(Labeller((ORE, HALO)), points, 2.5, chunk)
    assert tally.blocks.tolist() == [64, 56, 1000 - 120, 1, 0, 0, 0]
    assert tally.own_blocks.tolist() == [64, 64]
    assert (tally.overlaps.pairs.tolist(), tally.overlaps.blocks.tolist()) == ([1], [8])
    assert tally.volumes.tolist() == pytest.approx([1000, 875, 13750, 0, 0, 0, 0])
    assert tally.bounds.tolist() == [[-5] * 3, [20] * 3]
    assert tally.rows == 1001


@pytest.mark.parametrize("kind", ["alike", "any", "crowded", "rounded", "near", "huge"])
@pytest.mark.parametrize("seed", range(20))
def test_the_box_is_that_of_the_faces_of_blocks(kind: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    points = random.normal(size=(200, 3)) * 1e6
    sizes = random.uniform(0.1, 9.7, (1 if kind == "alike" else 200, 3)) * np.ones((200, 1))
    if kind == "crowded":  # the lowest face is often that of another block than the lowest centre
        points = points / 1e6
    elif kind == "rounded":  # as by the faces of an image
        faces = 7.48e6 + np.arange(201)[:, None] * random.uniform(0.1, 1, 3)
        points, sizes = (faces[1:] + faces[:-1]) / 2, np.diff(faces, axis=0)
    elif kind == "near":  # sizes below what centroids resolve
        points = 7e6 + random.integers(0, 3, (200, 3)) * np.spacing(7e6)
        sizes = random.choice([1e-9, 2e-9, 3e-9], (200, 3))
    elif kind == "huge":
        points, sizes = points * 1e301, sizes * 1e100
    labeller = Labeller({"A": cube()})
    tally = Tally(labeller.targets)
    tally.add(points, sizes, labeller.label(points))
    faces = [points - sizes / 2, points + sizes / 2]
    assert tally.bounds.tolist() == [faces[0].min(axis=0).tolist(), faces[1].max(axis=0).tolist()]


def test_of_very_many_overlaps_the_largest_are_read() -> None:
    summary = summary_of(ORE, HALO)
    pairs = tuple({"solids": [f"A{n}", "B"], "blocks": n, "volume": None} for n in range(1, 61))
    lines = as_table(replace(summary, overlaps=pairs)).splitlines()
    shown = [line for line in lines if line.startswith("blocks in both A")]
    assert shown == [f"blocks in both A{n} and B: {n}" for n in range(60, 10, -1)]
    assert "10 other pairs of domains share blocks; the JSON lists all pairs" in lines


def test_report_of_domains() -> None:
    summary = summary_of(ORE, HALO)
    ore, halo = summary.domains
    assert (ore.blocks, ore.share, ore.volume, ore.wireframe_volume) == (64, 0.064, 1000, 1000)
    assert (halo.blocks, halo.volume, halo.own_volume) == (56, 875, 1000)
    assert summary.background.label == "bg" and summary.background.blocks == 880
    assert summary.overlaps == ({"solids": ["ORE", "HALO"], "blocks": 8, "volume": 125.0},)
    assert summary.warnings == () and summary.rows_per_second == 500
    table = as_table(summary)
    assert (
        "ORE" in table and "(background) bg" in table and "blocks in both ORE and HALO: 8" in table
    )
    assert "leaking" not in table
    assert json.loads(json.dumps(summary.as_dict()))["domains"][0]["volume"] == 1000


@odd_on_purpose
def test_volumes_need_sizes_and_a_model_around_the_solid() -> None:
    assert summary_of(ORE, step=None).domains[0].volume is None
    assert "wireframe" not in as_table(summary_of(ORE, step=None))
    assert summary_of(ORE, high=7.5).domains[0].wireframe_volume is None
    shells = Domain("S", (joined(cube(), box((5, 5, 5), (15, 15, 15))),))
    assert summary_of(shells).domains[0].wireframe_volume is None


@pytest.mark.parametrize("size", [0.0, -1.0, np.nan, np.inf])
def test_one_block_without_a_size_leaves_volumes_out(size: float) -> None:
    labeller = Labeller((ORE,))
    tally = Tally(labeller.targets)
    points = np.array([[1.0, 1, 1], [2, 2, 2], [np.nan, 3, 3]])
    sizes = np.full((3, 3), 2.0)
    tally.add(points, sizes, labeller.label(points))
    assert tally.sized and tally.volumes[0] == 16
    sizes[1, 2] = size
    tally.add(points, sizes, labeller.label(points))
    assert not tally.sized
    assert np.isfinite(tally.bounds).all() and tally.blocks.tolist() == [4, 0, 2, 0, 0, 0]
    assert summarise(labeller, tally, LabelSettings(), seconds=1.0).domains[0].volume is None


def test_a_volume_beyond_the_numbers_is_no_volume_and_no_warning_of_numpy() -> None:
    labeller = Labeller((ORE,))
    tally = Tally(labeller.targets)
    points = np.full((2, 3), 5.0)
    with np.errstate(all="raise"):
        tally.add(points, np.array([[1e200, 1e200, 1], [1e200, 1e200, 0]]), labeller.label(points))
    assert not tally.sized and tally.unsized == 2


def test_blocks_without_a_size_are_said_once_with_the_first() -> None:
    labeller = Labeller((ORE,))
    tally = Tally(labeller.targets)
    points = np.full((6, 3), 5.0)
    points[1] = np.nan  # has no place, so that its size does not matter
    sizes = np.full((6, 3), 2.0)
    sizes[[1, 4, 5], 2] = 0, -3, np.nan
    for part in (slice(0, 3), slice(3, 5), slice(5, 6)):
        tally.add(points[part], sizes[part], labeller.label(points[part]))
    found = summarise(labeller, tally, LabelSettings(), seconds=1.0)
    (said,) = (text for text in found.warnings if "size" in text)
    assert said.startswith("2 blocks have no usable size")
    assert "block 5 of the table is the first, with size 2 x 2 x -3." in said
    assert found.domains[0].volume is None


@odd_on_purpose
def test_warnings_are_reported() -> None:
    (warning,) = summary_of(Domain("S", (box((0, 0, 0), (9, 9, 9)),))).warnings
    assert "S have 37.2% more volume than its wireframe" in warning
    far = Domain("FAR", (box((90, 90, 90), (99, 99, 99)),))
    assert "FAR does not meet the block model" in summary_of(ORE, far).warnings[0]
    shells = Domain("S", (joined(cube(), box((5, 5, 5), (15, 15, 15))),))
    assert "8 blocks are in overlapping shells of S" in summary_of(shells).warnings[0]
    union = Domain("U", (cube(), box((5, 5, 5), (15, 15, 15))))
    assert "8 blocks are in more than one shell of U" in summary_of(union).warnings[0]
    leaky = summary_of(Domain("L", (roofless(),)), allow_open=True)
    assert leaky.leaking.blocks > 0 and "(leaking)" in as_table(leaky)
    assert "L is open, so" in leaky.warnings[0]


def test_volume_far_from_the_origin() -> None:
    offset = np.array([2296021.1, 7480000.7, 1590.0])
    far = box(tuple(offset), tuple(offset + 10))
    assert mesh_volume(far) == pytest.approx(1000, rel=1e-6)
    assert mesh_volume(cube()) == 1000


def test_disjoint_boxes() -> None:
    model = np.array([[100.0, 0, 0], [200, 10, 10]])
    touching = Domain("T", (box((200, 10, 10), (210, 20, 20)),))
    assert solids_apart([ORE, touching], model) == [ORE]
    assert solids_apart([ORE], np.full((2, 3), np.nan)) == []
    refuse_disjoint([ORE, touching], model, "b.csv")
    with pytest.raises(TableError, match=r"x 100 to 200, y 0 to 10.*in x 0 to 10.*allow_disj"):
        refuse_disjoint([ORE], model, "b.csv")
    many = [Domain(f"S{k}", (box((k, 20, 0), (k + 1, 30, 1)),)) for k in range(5)]
    with pytest.raises(
        TableError, match=r"; S0 is in x 0 to 1, .*; S2 is in .*; 2 other solids are"
    ):
        refuse_disjoint(many, model, "b.csv")


@pytest.mark.parametrize(
    ("low", "high", "guess"),
    [
        ((0, 100, 0), (10, 200, 10), "x and y exchanged"),
        ((100, 0, 500), (200, 10, 510), "another height datum"),
        ((900, 900, 900), (910, 910, 910), "rotated model"),
    ],
)
def test_disjoint_boxes_get_a_guess(
    low: tuple[float, ...], high: tuple[float, ...], guess: str
) -> None:
    model = np.array([[100.0, 0, 0], [200, 10, 10]])
    with pytest.raises(TableError, match=guess):
        refuse_disjoint([Domain("A", (box(low, high),))], model, "b.csv")
