"""How domains lie to a block model, and why boxes do not meet: axes, signs, prefixes, datums."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from late import pandas
from wireframes import box

import geodomain
from geodomain.cli import main
from geodomain.formats.wireframes import write_mesh
from geodomain.labelling.evaluate import explain_apart, explain_better, meet, share_within
from geodomain.mesh.mesh import Mesh

# A model of 20 x 10 x 5 blocks of 10, from 0, 0, 0.
AXES = (np.arange(5.0, 200, 10), np.arange(5.0, 100, 10), np.arange(5.0, 50, 10))
CENTROIDS = np.stack(np.meshgrid(*AXES, indexing="ij"), axis=-1).reshape(-1, 3)


def frame(*, order: tuple[int, ...] = (0, 1, 2), sizes: bool = True) -> pandas.DataFrame:
    """Return the model, with columns of coordinates exchanged on request."""
    table = pandas.DataFrame(CENTROIDS[:, order], columns=["X", "Y", "Z"])
    return table.assign(DX=10.0, DY=10.0, DZ=10.0) if sizes else table


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    frame().to_csv("b.csv", index=False)
    frame(order=(1, 0, 2)).to_csv("exchanged.csv", index=False)
    return Path("b.csv")


def sheet(height: float) -> Mesh:
    """Return a sheet over the blocks."""
    corners = [(-9.0, -9.0), (999.0, -9.0), (-9.0, 999.0), (999.0, 999.0)]
    return Mesh([(*corner, height) for corner in corners], [[0, 1, 2], [1, 3, 2]], name="sheet")


def test_a_solid_that_leaves_the_model_is_a_note_with_volume_and_side(model: Path) -> None:
    found = geodomain.label_file(model, {"ORE": box((-50, 10, 10), (150, 90, 60))}, None)
    assert found.notes == (
        "box of ORE extends beyond the block model: volume 200,000 (25.0%) "
        "beyond the west side "
        "and 160,000 (20.0%) beyond the top",
    )
    assert "\nnote: box of ORE extends beyond the block model" in str(found)
    assert found.warnings == ()


def test_a_large_volume_is_said_in_full(model: Path) -> None:
    (note,) = geodomain.label_file(model, {"ORE": box((10, 10, -1e8), (90, 90, 40))}, None).notes
    assert note.endswith("volume 640,000,000,000 (100.0%) beyond the bottom")


def test_a_solid_within_the_model_is_not_said(model: Path) -> None:
    assert geodomain.label_file(model, {"ORE": box((20, 20, 10), (60, 60, 40))}, None).notes == ()


@pytest.mark.filterwarnings("ignore:the blocks in THIN have")
def test_domains_and_layers_without_a_block_are_remarks(model: Path) -> None:
    domains = [
        geodomain.Domain("ORE", box((20, 20, 10), (60, 60, 40))),
        geodomain.Domain("CORE", box((30, 30, 20), (50, 50, 30))),
        geodomain.Domain("THIN", box((26, 26, 16), (27, 27, 17))),
        geodomain.Stack([sheet(48), sheet(20)], ["AIR", "ROCK", "FLOOR"]),
    ]
    notes = geodomain.label_file(model, domains, None).notes
    assert "CORE labels no block: other domains label all 4 blocks inside it" in notes
    assert "THIN has no block" in notes
    assert any(note.startswith("layer AIR of") and note.endswith("has no block") for note in notes)


def test_all_blocks_on_one_side_are_a_note(model: Path) -> None:
    air = geodomain.Domain("AIR", sheet(2), kind="above")
    assert geodomain.label_file(model, [air], None).notes == ("all blocks are in AIR",)


EXCHANGED = r"with x and y exchanged, the solid would fit the block model better"
LONG = box((10, 10, 5), (190, 60, 45))


def test_exchanged_axes_are_a_warning_but_not_for_samples(model: Path) -> None:
    write_mesh(LONG, "ore.ply")

    def said(command: str, blocks: str) -> str:
        given = [command, blocks, "--solid", "ORE=ore.ply", "--dry-run"]
        return CliRunner().invoke(main, given).stderr

    assert "with x and y exchanged, the solid would fit" in said("label", "exchanged.csv")
    assert "Check --x, --y and --z" in said("label", "exchanged.csv")
    assert "exchanged" not in said("flag", "exchanged.csv")
    assert "exchanged" not in said("label", "b.csv")


def test_exchanged_axes_are_a_warning_for_frames_with_sizes() -> None:
    with pytest.warns(geodomain.GeodomainWarning, match=EXCHANGED):
        geodomain.label_blocks(frame(order=(1, 0, 2)), {"ORE": LONG})
    geodomain.label_blocks(frame(order=(1, 0, 2), sizes=False), {"ORE": LONG})
    geodomain.label_blocks(frame(), {"ORE": LONG})


def test_one_of_several_solids_that_fits_as_it_is_decides() -> None:
    both = {"LONG": LONG, "SHORT": box((10, 10, 5), (60, 190, 45))}
    geodomain.label_blocks(frame(order=(1, 0, 2)), both)


def test_a_frame_that_no_domain_meets_is_a_warning() -> None:
    far = box((1000, 1000, 0), (1100, 1100, 50))
    with pytest.warns(geodomain.GeodomainWarning, match="no solid meets the block model"):
        geodomain.label_blocks(frame(), {"ORE": far})
    with pytest.warns(geodomain.GeodomainWarning, match="FAR does not meet the block model"):
        geodomain.label_blocks(frame(), {"ORE": LONG, "FAR": far})


def test_points_in_single_precision_at_mine_coordinates_are_a_warning() -> None:
    ore = box((7_000_000, 0, 0), (7_000_100, 50, 50))
    points = np.array([[7_000_050, 10, 10]], np.float32)
    with pytest.warns(geodomain.GeodomainWarning, match=r"float32.*accurate to 0\.5"):
        geodomain.contains(ore, points)
    with pytest.warns(geodomain.GeodomainWarning, match=r"X, Y, Z are single precision"):
        geodomain.label_blocks(pandas.DataFrame(points, columns=["X", "Y", "Z"]), {"ORE": ore})
    geodomain.contains(ore, points.astype(np.float64))
    geodomain.contains(ore, points[:, [1, 1, 2]])


MODEL = np.array([[414_000.0, 7_480_000, 150], [414_500, 7_480_400, 400]])
MESH = np.array([[414_100.0, 7_480_100, 200], [414_200, 7_480_200, 300]])


def shifted(x: float = 0, y: float = 0, z: float = 0) -> np.ndarray:
    return MESH + np.array([x, y, z])


APART = {
    "swapped": (MESH[:, [1, 0, 2]], "x and y exchanged"),
    "sign of y": (MESH[::-1] * [1, -1, 1] * 1.0, "sign of y changed"),
    "signs of x and y": (MESH[::-1] * [-1, -1, 1], "sign of x and y changed"),
    "sign of y, around the model": (
        np.array([[413_000.0, -7_490_000, 0], [415_000, -7_470_000, 500]]),
        "sign of y changed",
    ),
    "prefix": (shifted(y=-7_000_000), "with 7,000,000 added to y of the mesh"),
    "two prefixes": (
        shifted(x=-400_000, y=-7_400_000),
        "400,000 added to x and 7,400,000 added to y",
    ),
    "a mine's datum": (shifted(z=5_000), "with 5,000 subtracted from z of the mesh"),
    "heights in feet": (MESH * [1, 1, 0.54] - [0, 0, 50], "z of the mesh times 3.28084"),
    "heights in metres": (MESH * [1, 1, 5.4] - [0, 0, 400], "z of the mesh times 0.3048"),
    "elevation": (shifted(z=400), "in plan but not in elevation"),
    "elsewhere": (shifted(x=12_345), "12,000 subtracted from x"),
    "near by": (shifted(x=700), ""),
}


@pytest.mark.parametrize("case", APART.values(), ids=APART.keys())
def test_what_would_bring_them_together(case: tuple[np.ndarray, str]) -> None:
    box, words = case
    box = np.sort(box, axis=0)
    assert not meet(box, MODEL)
    found = explain_apart(box, MODEL)
    assert words in found and bool(words) == bool(found)


def test_shares_of_boxes() -> None:
    assert share_within(MESH, MODEL) == 1
    assert share_within(shifted(x=-150), MODEL) == 0.5
    assert share_within(shifted(x=-500), MODEL) == 0
    flat = MESH.copy()
    flat[1, 2] = flat[0, 2]
    assert share_within(flat, MODEL) == 1


def test_a_mesh_that_fits_better_the_other_way() -> None:
    model = np.array([[0.0, 0, 0], [1000, 100, 50]])
    long = np.array([[0.0, 0, 0], [90, 950, 40]])
    assert "x and y exchanged" in explain_better(long, model)
    assert explain_better(long[:, [1, 0, 2]], model) == ""


def test_the_best_fit_is_said_not_the_first() -> None:
    """Heights in feet: y and z exchanged would meet as well, and hold less of the mesh."""
    model = np.array([[0.0, 0, 87.7], [180, 200, 273.2]])
    mesh = np.array([[-5.0, -5, 25.9], [185, 205, 86.5]])
    assert meet(mesh[:, [0, 2, 1]], model)
    assert explain_apart(mesh, model).startswith("with z of the mesh times 3.28084")
