"""The command `geodomain synthesize`: its files, that they can be made again, and their truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from geodomain import PointLocator, intersect
from geodomain.cli import main
from geodomain.query.raw_files import open_segments, read_raw_mesh

FEW = ("--triangles", "800", "--rays", "3000")
RAW = ("vertices_f32", "triangles_i32", "rayFrom_f32", "rayTo_f32")
TRUTH = ("truth_boolean_i32", "truth_count_i32")


def run(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["synthesize", str(folder), *options])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scene") / "new"
    result = run(folder, *FEW)
    assert result.exit_code == 0, result.output
    return folder


def test_it_makes_all_the_files(made: Path) -> None:
    files = contents(made)
    assert set(files) == {*RAW, *TRUTH, "parameters.json"}
    said = json.loads(files["parameters.json"])
    sizes = {
        "vertices_f32": 12 * said["vertices"],
        "triangles_i32": 12 * said["triangles"],
        "rayFrom_f32": 12 * 3000,
        "rayTo_f32": 12 * 3000,
        "truth_boolean_i32": 4 * 3000,
        "truth_count_i32": 4 * 3000,
    }
    assert {name: len(files[name]) for name in sizes} == sizes


def test_the_truth_is_that_of_the_numbers_in_the_files(made: Path) -> None:
    mesh = read_raw_mesh(made / RAW[0], made / RAW[1])
    ((starts, ends),) = open_segments(made / RAW[2], made / RAW[3]).chunks()
    crosses, count = (np.fromfile(made / name, "<i4") for name in TRUTH)
    assert (intersect(mesh, starts, ends, mode="count") == count).all()
    assert (crosses == (count > 0)).all()
    # No vertical line crosses the terrain twice: a segment that changes sides crosses it an odd
    # number of times. Vertical rays know nothing of segments.
    locator = PointLocator(mesh, allow_open=True)
    below = [locator.count_crossings(each) for each in (starts, ends)]
    assert ((below[0] != below[1]) == (count % 2 == 1)).all()
    said = json.loads((made / "parameters.json").read_text())
    assert said["crossing"] == np.count_nonzero(count) > 1400
    assert said["crossings"] == count.sum()


def test_a_seed_makes_the_same_files_again(made: Path, tmp_path: Path) -> None:
    assert run(tmp_path / "again", *FEW, "--threads", "1").exit_code == 0
    assert contents(tmp_path / "again") == contents(made)
    assert run(tmp_path / "other", *FEW, "--seed", "1").exit_code == 0
    other = contents(tmp_path / "other")
    assert all(other[name] != contents(made)[name] for name in RAW if name != "triangles_i32")


def test_double_precision_holds_the_same_numbers(made: Path, tmp_path: Path) -> None:
    assert run(tmp_path, *FEW, "--float64").exit_code == 0
    for name in ("vertices", "rayFrom", "rayTo"):
        single, double = (
            np.fromfile(made / f"{name}_f32", "<f4"),
            np.fromfile(tmp_path / f"{name}_f64"),
        )
        assert (single == double).all()
    assert (tmp_path / TRUTH[1]).read_bytes() == (made / TRUTH[1]).read_bytes()


def test_perturbed_segments_are_others_of_the_same_surface(made: Path, tmp_path: Path) -> None:
    assert run(tmp_path, *FEW, "--perturb").exit_code == 0
    assert (tmp_path / RAW[0]).read_bytes() == (made / RAW[0]).read_bytes()
    assert (tmp_path / RAW[2]).read_bytes() != (made / RAW[2]).read_bytes()


@pytest.mark.parametrize("name", ["rayTo_f32", "truth_count_i32", "parameters.json"])
def test_it_replaces_nothing_unasked(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    result = run(tmp_path, *FEW)
    assert result.exit_code == 4
    assert f"{name} already exists" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert run(tmp_path, *FEW, "--overwrite", "--quiet").output == ""
    assert (tmp_path / name).read_bytes() != b"mine"


def test_json_is_what_the_file_says(tmp_path: Path) -> None:
    result = run(tmp_path, *FEW, "--json")
    assert json.loads(result.stdout) == json.loads((tmp_path / "parameters.json").read_text())
    assert result.stderr == ""


def test_counts_may_be_written_short(tmp_path: Path) -> None:
    assert run(tmp_path, "--triangles", "8e2", "--rays", "1_000", "-q").exit_code == 0
    assert (tmp_path / TRUTH[0]).stat().st_size == 4000


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rays", "1.5"), "not a positive whole number"),
        (("--rays", "0"), "not a positive whole number"),
        (("--rays", "many"), "not a positive whole number"),
        (("--triangles", "1"), "at least 2 triangles"),
        (("--triangles", "1e12"), "too many"),
    ],
)
def test_what_cannot_be_made_is_a_slip_of_the_user(tmp_path: Path, options, said: str) -> None:
    result = run(tmp_path, *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert list(tmp_path.iterdir()) == []
