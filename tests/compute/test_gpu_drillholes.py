"""Drillholes on a GPU: the crossings, flags and composites are those of the CPU, bit for bit."""

from __future__ import annotations

import csv
from contextlib import AbstractContextManager
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from shapes import joined, star
from wireframes import box, roofless

import geodomain
from geodomain import Domain, Domains, Drillholes, Mesh, Stack

pytestmark = pytest.mark.gpu
pytest.importorskip("pycuda.driver", exc_type=ImportError)

CORNER = np.array([478_000.1, 6_771_000.2, 300.3])
HOLES, STATIONS, SAMPLES = 600, 12, 40
LENGTH = 200.0


def moved(mesh: Mesh, by: tuple[float, float, float]) -> Mesh:
    return Mesh(mesh.vertices + (CORNER + by), mesh.triangles, name=mesh.name)


def sheet(height: float, cells: int = 60) -> Mesh:
    """A wavy surface over the middle of the holes, with a rim that some of them pass."""
    steps = np.linspace(-90.0, 90.0, cells + 1)
    x, y = (one.ravel() for one in np.meshgrid(steps, steps, indexing="ij"))
    z = height + 8 * np.sin(x / 17) * np.cos(y / 23)
    corner = (np.arange(cells)[:, None] * (cells + 1) + np.arange(cells)).ravel()
    a, b, c, d = corner, corner + cells + 1, corner + cells + 2, corner + 1
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return moved(Mesh(np.stack([x, y, z], axis=1), faces), (0, 0, 0))


SOLIDS = {
    "BODY": moved(star(30), (0, 0, 0)),
    "BOXES": joined(*(box(tuple(CORNER + at), tuple(CORNER + at + 15.0))
                      for at in (-70.0, -30.0, 10.0, 50.0))),
    "HALO": moved(star(25, radius=(110.0, 90.0, 60.0)), (5, -5, 3)),
}  # fmt: skip
SHELL = moved(roofless(60), (-30, -30, -30))
MADE = Domains(
    [
        Domain("BOXES", [SOLIDS["BOXES"], SOLIDS["BODY"]]),
        Domain("AIR", sheet(40.0), kind="above"),
        Domain("HALO", SOLIDS["HALO"], rule="winding"),
    ],
    (Stack([sheet(-10.0), sheet(-40.0)], ["UPPER", "LOWER", "BASE"]),),
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Curved holes about the solids: some fans from one collar, some up, some along the axes."""
    folder, numbers = tmp_path_factory.mktemp("holes"), np.random.default_rng(5)
    places = {name: folder / f"{name}.csv" for name in ("collar", "survey", "assay")}
    rows: dict[str, list[tuple[object, ...]]] = {
        "collar": [("HOLE", "X", "Y", "Z", "DEPTH")],
        "survey": [("HOLE", "AT", "AZ", "DIP")],
        "assay": [("HOLE", "FROM", "TO", "AU")],
    }
    for hole in range(HOLES):
        name = f"H{hole:04}"
        collar = CORNER + numbers.uniform((-90, -90, 30), (90, 90, 90))
        if hole % 5 == 0:
            collar = CORNER + np.array([0.0, 10.0, -15.0])  # on planes of the boxes, too
        rows["collar"].append((name, *(repr(float(one)) for one in collar), LENGTH))
        azimuth, dip = numbers.uniform(0, 360), numbers.uniform(40, 90)
        if hole % 7 == 0:
            azimuth, dip = 90.0 * (hole % 4), (90.0, 0.0, -45.0)[hole % 3]
        turn = numbers.normal(size=2) * (hole % 4)
        for at in np.linspace(0, LENGTH, STATIONS).tolist():
            angle = float(np.clip(dip + turn[1] * at / 30, -90, 90))
            rows["survey"].append((name, at, float(azimuth + turn[0] * at / 10) % 360, angle))
        cuts = np.round(np.linspace(0, LENGTH, SAMPLES + 1), 2)
        for begin, end in pairwise(cuts.tolist()):
            grade = round(float(numbers.lognormal()), 3)
            rows["assay"].append((name, begin, end, grade))
    for name, path in places.items():
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(rows[name])
    return places


@pytest.fixture(scope="module", params=["minimum curvature", "balanced", "tangent"])
def holes(tables: dict[str, Path], request: pytest.FixtureRequest) -> Drillholes:
    return Drillholes(*tables.values(), method=request.param, down="positive")


def assert_same(found: object, expected: object) -> None:
    for one in fields(expected):  # type: ignore[arg-type]
        ours, theirs = getattr(found, one.name), getattr(expected, one.name)
        assert ours.dtype == theirs.dtype and ours.tobytes() == theirs.tobytes(), one.name


def unassigned_samples() -> AbstractContextManager[object]:
    """Expect the warning of samples beyond the rims of the surfaces."""
    return pytest.warns(geodomain.GeodomainWarning, match="sample-unassigned")


@pytest.mark.parametrize("rule", ["parity", "winding"])
def test_crossings_are_those_of_the_cpu(holes: Drillholes, rule: str) -> None:
    expected = holes.crossings(MADE, rule=rule, backend="cpu")
    found = holes.crossings(MADE, rule=rule, backend="cuda")
    assert_same(found.stays, expected.stays)
    assert_same(found.pierces, expected.pierces)
    assert (found.crossings, found.parity) == (expected.crossings, expected.parity)
    assert len(found.stays) > HOLES and len(found.pierces) > HOLES
    assert set(found.parity) == {HOLES}


def test_crossings_of_an_open_wireframe(holes: Drillholes) -> None:
    found, expected = (
        holes.crossings({"ORE": SHELL}, allow_open=True, backend=backend)
        for backend in ("cuda", "cpu")
    )
    assert_same(found.stays, expected.stays)
    assert len(found.stays) and found.crossings == expected.crossings


def test_depths_on_an_arc_known_by_hand(tmp_path: Path) -> None:
    """A quarter circle of radius 100, from straight down to level, through a slab."""
    end = repr(100 * np.pi / 2)
    (tmp_path / "collar.csv").write_text(f"HOLE,X,Y,Z,DEPTH\nA,0,0,0,{end}\n")
    (tmp_path / "survey.csv").write_text(f"HOLE,AT,AZ,DIP\nA,0,90,90\nA,{end},90,0\n")
    drilled = Drillholes(tmp_path / "collar.csv", tmp_path / "survey.csv", down="positive")
    slab = box((-500, -500, -100 * np.sin(np.radians(60))), (500, 500, -50))
    (row,) = drilled.crossings({"ORE": slab}, backend="cuda").stay_rows()
    assert row[2:4] == pytest.approx((100 * np.pi / 6, 100 * np.pi / 3), abs=1e-9)


@pytest.mark.parametrize("by", ["middle", "majority", "split"])
@pytest.mark.parametrize("rule", ["parity", "winding"])
def test_flags_are_those_of_the_cpu(
    tables: dict[str, Path], tmp_path: Path, by: str, rule: str
) -> None:
    where = {name: tables[name] for name in ("collar", "survey")}
    outputs = []
    for backend in ("cuda", "cpu"):
        output = tmp_path / f"{backend}.csv"
        with unassigned_samples():
            summary = geodomain.flag_file(
                tables["assay"], MADE, output, by=by, rule=rule, coordinates=True,
                backend=backend, down="positive", **where,
            )  # fmt: skip
        assert summary.backend.startswith("cuda" if backend == "cuda" else "cpu")
        assert summary.rows == HOLES * SAMPLES
        outputs.append((output.read_bytes(), summary.parts, summary.cut, summary.slivers))
    assert outputs[0] == outputs[1]
    text = outputs[0][0].decode()
    assert all(f",{name}" in text for name in ("BOXES", "AIR", "UPPER", "LOWER", "BASE", "HALO"))


def test_composites_are_those_of_the_cpu(tables: dict[str, Path], tmp_path: Path) -> None:
    written = []
    for backend in ("cuda", "cpu"):
        output = tmp_path / f"{backend}.csv"
        with unassigned_samples():
            geodomain.composite_file(
                tables["assay"], MADE, output, collar=tables["collar"], survey=tables["survey"],
                length=3, grade="AU", down="positive", backend=backend,
            )  # fmt: skip
        written.append(output.read_bytes())
    assert written[0] == written[1]
    assert len(written[0].splitlines()) > HOLES
