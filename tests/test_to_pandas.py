"""Results as DataFrames: names, types and missing values of their columns."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from late import pandas
from mined_ground import plane
from wireframes import box, cube, roofless

import geodomain

MODEL = """X,Y,Z,DX,DY,DZ,DENSITY,AU,rock
5,5,5,10,10,10,2.5,1.5,A
15,5,5,10,10,10,2.5,,B
,5,5,10,10,10,2.5,1,A
"""
HITS = ["segment int64", "triangle int64", "t float64", "u float64", "v float64"]
HITS += ["distance float64", "x float64", "y float64", "z float64"]
PARTS = ["name text", "label text", "blocks int64", "share float64", "volume float64"]
PARTS += ["own_blocks Int64", "own_volume float64", "wireframe_volume float64", "code Int64"]
PARTS += ["proportion_volume float64", "proportion_error float64"]
TONNES = ["domain text", "bench float64", "cutoff float64", "blocks int64", "volume float64"]
TONNES += ["tonnes float64", "without_volume int64", "without_density int64"]
TONNES += ["mean_AU float64", "metal_AU float64", "tonnes_AU float64", "missing_AU int64"]
DEPLETION = ["domain text", "bench float64", "cutoff float64", "part text", "period text"]
DEPLETION += ["blocks int64", "volume float64", "tonnes float64"]
DEPLETION += ["mean_AU float64", "metal_AU float64"]
COUNTS = "boundary_edges nonmanifold_edges unbalanced_edges degenerate zero_area dup_faces shells"
COUNTS += " euler t_junctions"
SHELLS = "duplicate_shells inward inside_out components nested_shells nested_alike touching_shells"
SHELLS += " overlapping_shells equal_shells undetermined_shells"
MESH = ["name text", "triangles int64", "vertices int64", "area float64", "signed_volume float64"]
MESH += ["resolution float64", *(f"{name} int64" for name in COUNTS.split())]
MESH += ["smallest_gap float64", "closed bool", "balanced bool"]
MESH += [*(f"{name} int64" for name in SHELLS.split()), "sheet bool", "cancelled bool"]
MESH += ["open_edges text", "fit bool"]
AT = ["x float64", "y float64", "z float64"]
COMPOSITES = ["hole text", "from float64", "to float64", "length float64", *AT, "domain text"]
COMPOSITES += ["AU float64", "AU_missing float64"]
CONTACTS = ["domain text", "from float64", "to float64", "samples int64", "holes int64"]
CONTACTS += ["length float64", "AU float64", "low float64", "high float64"]
STAYS = ["hole text", "domain text", "from float64", "to float64", "length float64"]
STAYS += [f"{axis}_{way} float64" for way in ("in", "out") for axis in "xyz"]
STAYS += ["starts_inside int64", "ends_inside int64"]
CROSSING = ["mode text", "triangles int64", "segments int64", "crossing int64", "crossings int64"]
CROSSING += ["missing int64", "backend text", "backend_reason text", "seconds float64"]
INSPECTED = ["name text", "position text", "rotation text", "azimuth float64", "turned bool"]
INSPECTED += ["rows int64", "missing int64", "blocks text", "volume float64", "memory_bytes int64"]
INSPECTED += ["seconds float64"]
STATISTICS = [*(f"{name} text" for name in ("grade", "domain", "weights")), "cap float64"]
STATISTICS += [f"{name} int64" for name in ("rows", "count", "missing")]
STATISTICS += ["without_weight int64", "without_place int64", "weight float64"]
STATISTICS += [f"{name} float64" for name in ("minimum", "quartile_1", "median", "quartile_3")]
STATISTICS += [f"{name} float64" for name in ("p90", "p95", "p99", "maximum", "mean", "variance")]
STATISTICS += [f"{name} float64" for name in ("cv", "cell_x", "cell_y", "cell_z", "percentile")]
STATISTICS += ["samples_cut Int64", "holes_cut Int64", "metal_lost float64"]
VALIDATION = ["domain text", "weights text"]
for _rows, _row in (("samples", "sample"), ("blocks", "block")):
    VALIDATION += [f"{_row}_rows int64", f"{_rows} int64"]
    VALIDATION += [f"{_rows}_without_{why} int64" for why in ("grade", "weight", "place")]
    VALIDATION += [f"{_row}_weight float64"]
VALIDATION += [f"{name} float64" for name in ("naive_mean", "sample_mean", "block_mean")]
VALIDATION += [f"{name} float64" for name in ("difference", "sample_cv", "block_cv")]
VALIDATION += ["samples_at_zero int64", "blocks_at_zero int64"]
VALIDATION += [f"cell_{axis} float64" for axis in "xyz"]
SPLIT = ["scheme text", "parents int64", "split int64", "missing int64", "subblocks int64"]
SPLIT += ["written int64", "dropped int64"]


def holes() -> geodomain.Drillholes:
    """Return a hole down through the cube, whose samples overlap, and one beside it."""
    collar = pandas.DataFrame({"HOLE": ["A", "B"], "X": [5.0, 50], "Y": 5.0, "Z": 30.0})
    collar[["DEPTH", "AZIMUTH", "DIP"]] = 40.0, 0.0, 90.0
    samples = pandas.DataFrame({"HOLE": ["A", "A"], "FROM": [0.0, 3], "TO": [5.0, 10]})
    return geodomain.Drillholes(collar, intervals=samples)


def composites(samples: int) -> geodomain.Composites:
    table = pandas.DataFrame({"HOLE": ["A"], "FROM": [0.0], "TO": [40.0], "AU": [1.0]})
    return geodomain.composite(table[:samples], holes(), {"ORE": cube()}, grade="AU", length=4)


def contacts() -> geodomain.Contacts:
    table = pandas.DataFrame({"X": [5.0, 5], "Y": 5.0, "Z": [9.0, 12], "AU": [1.0, 2]})
    return geodomain.contacts(table, {"ORE": cube()}, ("ORE", "W"), "AU", background="W")


def flagged(folder: Path) -> geodomain.FlagSummary:
    Path("assay.csv").write_text("HOLE,FROM,TO\nA,0,10\nA,20,30\n")
    Path("collar.csv").write_text("HOLE,X,Y,Z,AZIMUTH,DIP\nA,5,5,30,0,90\n")
    return geodomain.flag_file("assay.csv", {"ORE": cube()}, None, collar="collar.csv")


def merged(folder: Path) -> geodomain.MergeSummary:
    split = {"scheme": "octree", "minimum": 5}
    geodomain.subblock_file("whole.csv", {"ORE": box((0, 0, 0), (5, 9, 9))}, "sub.csv", **split)
    return geodomain.merge_file("sub.csv", "merged.csv")


SIX = np.array([[5.0, 5, -5], [5, 5, 5], [np.nan, 5, 5]])

CHECKED = [
    *(f"{name} text" for name in ("severity", "code", "finding", "table", "hole")),
    *("row Int64", "other_row Int64", "depth float64", "from float64", "to float64"),
    *("value text", "mend text"),
]

# For each class: how it is made in a folder with a model, and its columns.
TABLES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "Comparison": (
        lambda folder: geodomain.compare_files("old.csv", "new.csv"),
        ["old text", "new text", "blocks int64", "volume float64", "unsized int64"],
    ),
    "Composites": (lambda folder: composites(1), COMPOSITES),
    "Contacts": (lambda folder: contacts(), CONTACTS),
    "CutAndFill": (
        lambda folder: geodomain.cut_and_fill(plane(5.0), plane(3.0)),
        [*("before text", "after text"), *("cut float64", "fill float64", "area float64")],
    ),
    "Depletion": (
        lambda folder: geodomain.deplete(
            "whole.csv", {"2026": plane(5.0)}, column="rock", density="DENSITY", grade="AU"
        ),
        DEPLETION,
    ),
    "ModelDifference": (
        lambda folder: geodomain.diff("old.csv", "new.csv"),
        ["domain text", "step text", "volume float64"],
    ),
    "WireframeDifference": (
        lambda folder: geodomain.diff(cube(), box((0, 0, 0), (5, 9, 9))),
        [
            *("version text", "shell int64", "triangles int64", "volume float64"),
            *("changed float64", *AT),
        ],
    ),
    "DomainsDifference": (
        lambda folder: geodomain.diff({"ORE": cube()}, {"ORE": roofless()}),
        [f"{name} text" for name in ("domain", "key", "old", "new", "effect", "sentence")],
    ),
    "DistanceSummary": (
        lambda folder: geodomain.distance_file("model.csv", {"ORE": cube()}, "out.csv"),
        ["name text", "column text", "nearest float64", "farthest float64", "inside Int64"],
    ),
    "Drillholes": (lambda folder: holes(), ["hole text", *AT, "end float64"]),
    "FillResult": (
        lambda folder: geodomain.fill_holes(roofless(), max_edges=3),
        ["edges int64", "reason text", "area float64", "off_plane float64", *AT],
    ),
    "FlagSummary": (flagged, ["name text", "label text", "samples int64", "length float64"]),
    "Hits": (lambda folder: geodomain.intersect(cube(), SIX, SIX + 20.0, mode="all"), HITS),
    "HoleCheck": (lambda folder: holes().check(), CHECKED),
    "HoleCrossings": (lambda folder: holes().crossings({"ORE": cube()}), STAYS),
    "HoleReport": (
        lambda folder: holes().report,
        ["code text", "severity text", "hole text", "where text", "value text"],
    ),
    "Inspection": (lambda folder: geodomain.inspect_file("model.csv"), INSPECTED),
    "IntersectionSummary": (
        lambda folder: geodomain.intersect_file("ore.ply", "lines.csv", "hits.csv"),
        CROSSING,
    ),
    "MergeSummary": (
        merged,
        ["parents int64", "before int64", "after int64", "seconds float64", "output text"],
    ),
    "MeshCheck": (lambda folder: geodomain.check_file("ore.ply"), [*MESH, "kind text"]),
    "MeshReport": (lambda folder: geodomain.check(roofless()), MESH),
    "Nearest": (
        lambda folder: geodomain.nearest(cube(), SIX),
        [*AT, "triangle Int64", "distance float64"],
    ),
    "NewModel": (
        lambda folder: geodomain.model_file("made.csv", fit=[cube()], size=2),
        ["axis text", "count int64", "size float64", "low float64", "high float64"],
    ),
    "Regularised": (
        lambda folder: geodomain.regularise(
            "whole.csv", "coarse.csv", 20, density="DENSITY", mean="AU", cutoff=1
        ),
        [*("cutoff float64", "part text"), *("volume float64", "tonnes float64", "metal float64")],
    ),
    "Shells": (
        lambda folder: geodomain.shell("model.csv", column="rock"),
        [
            *("name text", "blocks int64", "volume float64", "triangles int64"),
            *("wireframe_volume float64", "lost int64", "gained int64"),
        ],
    ),
    "SurfacePoints": (
        lambda folder: holes().surface_points({"ORE": cube()}),
        [
            *("hole text", "surface text", "depth float64", "x float64", "y float64", "z float64"),
            *("nx float64", "ny float64", "nz float64"),
        ],
    ),
    "Statistics": (
        lambda folder: geodomain.stats(
            "model.csv", "AU", column="rock", cap=1, decluster=10, missing=None
        ),
        STATISTICS,
    ),
    "Validation": (
        lambda folder: geodomain.validate("model.csv", "AU", samples="model.csv", column="rock"),
        VALIDATION,
    ),
    "SubblockSummary": (
        lambda folder: geodomain.subblock_file(
            "model.csv", {"ORE": cube()}, "s.csv", scheme="octree", minimum=5
        ),
        SPLIT,
    ),
    "Summary": (
        lambda folder: geodomain.label_file("model.csv", {"ORE": cube()}, None),
        PARTS,
    ),
    "Tonnes": (
        lambda folder: geodomain.tonnes_file(
            "model.csv", column="rock", density="DENSITY", grade="AU", cutoff=[1], missing=None
        ),
        TONNES,
    ),
    "VolumeReport": (
        lambda folder: geodomain.volume_report("ore.ply"),
        ["triangles int64", "area float64", "volume float64", "counts text"],
    ),
    "Winding": (
        lambda folder: geodomain.generalised_winding(roofless(), SIX[:2]),
        ["number float64", "bound float64", "inside bool", "uncertain bool"],
    ),
}
# What goes into functions, a file, or one thing.
NO_TABLES = {
    "DeviceArray", "Domain", "Domains", "Hole", "Mesh", "PointLocator", "Report",
    "SegmentIntersector", "Segments", "Stack", "WeldResult",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with models, segments and a wireframe."""
    monkeypatch.chdir(tmp_path)
    Path("model.csv").write_text(MODEL)
    Path("whole.csv").write_text("\n".join([*MODEL.splitlines()[:3], ""]))
    for name, label in (("old.csv", "A"), ("new.csv", "B")):
        Path(name).write_text(f"X,Y,Z,domain\n5,5,5,{label}\n15,5,5,A\n")
    Path("lines.csv").write_text("x0,y0,z0,x1,y1,z1\n3,5,-5,3,5,50\n50,5,-5,50,5,50\n")
    geodomain.write_mesh(cube(), tmp_path / "ore.ply")
    return tmp_path


@cache
def text() -> object:
    """Return the type of a column of texts: object in pandas 2, str in pandas 3."""
    return pandas.Series([""]).dtype


def columns_of(frame: pandas.DataFrame) -> list[str]:
    kinds = ("text" if kind == text() else kind for kind in frame.dtypes)
    return [f"{name} {kind}" for name, kind in zip(frame.columns, kinds, strict=True)]


def test_every_public_class_is_a_table_or_is_none() -> None:
    public = {name: getattr(geodomain, name) for name in geodomain.__all__}
    classes = {
        name
        for name, value in public.items()
        if inspect.isclass(value) and not issubclass(value, BaseException)
    }
    assert classes - NO_TABLES == TABLES.keys() - {"HoleCheck", "HoleReport"}
    assert not [name for name in NO_TABLES & classes if hasattr(public[name], "to_pandas")]


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_its_columns(name: str, folder: Path) -> None:
    make, columns = TABLES[name]
    result = make(folder)
    assert type(result).__name__ == name
    frame = result.to_pandas()
    if name == "HoleCrossings":
        frame, points = frame
        wanted = ["hole text", "domain text", "depth float64", *AT, "direction text"]
        assert columns_of(points) == wanted and points.empty
    assert columns_of(frame) == columns
    assert len(frame) and frame.index.equals(pandas.RangeIndex(len(frame)))


def test_columns_are_described_on_the_page() -> None:
    page = Path(__file__).parents[1] / "docs/reference/results.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = {line.split("`")[1]: line for line in lines if line.startswith("| `")}
    assert rows.keys() >= TABLES.keys()
    for name, (_, columns) in TABLES.items():
        missing = [each for each in columns if f"`{each.split(' ')[0]}`" not in rows[name]]
        assert not missing or name in {"MeshReport", "MeshCheck"}, (name, missing)


@pytest.mark.filterwarnings("ignore:1 block has no AU")
def test_values(folder: Path) -> None:
    labels = geodomain.label_file("model.csv", {"ORE": cube()}, None)
    frame = labels.to_pandas()
    assert frame["name"].tolist() == ["ORE", "background", "unassigned"]
    assert frame["blocks"].tolist() == [1, 1, 1] and frame["blocks"].sum() == labels.rows
    assert frame["own_blocks"].isna().tolist() == [False, True, True]
    assert frame["volume"].tolist()[:2] == [1000.0, 1000.0]
    near = geodomain.nearest(cube(), SIX).to_pandas()
    assert near["triangle"].isna().tolist() == near["x"].isna().tolist() == [False, False, True]
    hits = geodomain.intersect(cube(), SIX[:2], SIX[:2] + np.array([0, 0, 50]), mode="all")
    frame = hits.to_pandas()
    assert frame["segment"].tolist() == hits.segment.tolist()
    assert (frame[["x", "y", "z"]].to_numpy() == hits.point).all()
    tonnes = geodomain.tonnes_file("model.csv", column="rock", density="DENSITY", grade="AU",
                                   cutoff=[1], grade_unit="g/t", missing=None)  # fmt: skip
    frame = tonnes.to_pandas()
    assert frame["cutoff"].isna().tolist() == [True, False, True, False]
    assert {"metal_AU_g", "tonnes_AU"} <= {*frame.columns}
    assert frame["mean_AU"].isna().tolist() == [False, False, True, True]
    found = holes().report.to_pandas()
    assert found["code"].tolist() and set(found["hole"]) <= {"A", "B"}
    assert found["severity"].isin(["warning", "note"]).all()


def test_a_table_without_rows_has_the_same_columns() -> None:
    beside = geodomain.intersect(cube(), SIX + 90, SIX + 99, mode="all")
    for empty, columns in (
        (beside, HITS),
        (composites(0), COMPOSITES),
        (geodomain.nearest(cube(), SIX[:0]), [*AT, "triangle Int64", "distance float64"]),
    ):
        frame = empty.to_pandas()
        assert columns_of(frame) == columns and frame.empty
    stays, points = holes().crossings({"FAR": box((900, 900, 0), (910, 910, 9))}).to_pandas()
    assert columns_of(stays) == STAYS and stays.empty and points.empty
