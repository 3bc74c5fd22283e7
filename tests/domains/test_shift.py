"""Shifted domains: the same as domains of meshes whose vertices NumPy has moved."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from label_command import run_command
from late import pandas, pyvista
from sheets import level, sheet
from surfaces import MINE, hairline
from wireframes import box, cube

import geodomain
from geodomain import Domain, DomainError, Domains, GeodomainWarning, Mesh, MeshError, Stack
from geodomain.changes.domain_differences import domains_difference
from geodomain.datasets.jobs import describe_job, hash_of
from geodomain.datasets.stores import LocalStore
from geodomain.domains.sources import as_domains, domains_to_label
from geodomain.domains.toml import read_domains
from geodomain.formats.wireframes import write_mesh
from geodomain.labelling.labeller import prepare
from geodomain.labelling.settings import LabelSettings
from geodomain.reporting.sections import wireframes_of
from geodomain.tables.settings import TableSettings

# None of these sums is a float64, except where a coordinate is 0.
SHIFTS = [(0.1, -1 / 3, 1e-9), (0.0, 0.0, -2.7), (1234.5678, 0.3, 0.1), (1 / 3, 0.0, 0.0)]


def moved(mesh: Mesh, shift: Sequence[float]) -> Mesh:
    return Mesh(mesh.vertices + np.array(shift), mesh.triangles, name=mesh.name)


def hill(height: float = 5.0, name: str = "hill") -> Mesh:
    heights = height + np.random.default_rng(7).normal(0, 0.8, (6, 6))
    return sheet(heights, 3.0, (-2.0, -2.0, 0.0), name)


def pair(unit: Domain | Stack, shift: Sequence[float]) -> tuple[Domain | Stack, Domain | Stack]:
    """Return a unit that is shifted, and a unit of meshes that are moved."""
    if isinstance(unit, Domain):
        other = dataclasses.replace(unit, meshes=[moved(mesh, shift) for mesh in unit.meshes])
    else:
        surfaces = [[moved(mesh, shift) for mesh in tiles] for tiles in unit.surfaces]
        other = dataclasses.replace(unit, surfaces=surfaces)
    return dataclasses.replace(unit, shift=shift), other


UNITS = {
    "solid": Domain("ORE", [cube(), box((8, 8, 8), (14, 15, 16))]),
    "outside": Domain("ORE", cube(), invert=True),
    "winding": Domain("ORE", cube(), rule="winding"),
    "above": Domain("AIR", hill(), kind="above"),
    "below": Domain("ROCK", hill(), kind="below", extend="nearest"),
    "skin": Domain("SKIN", cube(), within=1.7),
    "core": Domain("CORE", cube(), kind="solid", beyond=1.7),
    "stack": Stack([hill(8.0), [hill(3.0)]], ["COVER", "SEAM", "FLOOR"]),
    "onlap": Stack([hill(5.0), hill(5.2)], ["A", "B", "C"], rule="onlap", extend="nearest"),
}


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_labels_are_those_of_moved_vertices(
    unit: Domain | Stack, shift: tuple[float, ...], backend: str
) -> None:
    shifted, other = pair(unit, shift)
    placed = as_domains([shifted]).placed
    rng = np.random.default_rng(3)
    points = np.concatenate([
        rng.uniform(-4, 18, (2000, 3)) + shift,
        *(mesh.vertices for mesh in placed),
        *(mesh.vertices[mesh.triangles].mean(axis=1) for mesh in placed),
    ])  # fmt: skip
    labels = [
        geodomain.label_points(points, [each], backend=backend).tolist()
        for each in (shifted, other, unit)
    ]
    assert labels[0] == labels[1] != labels[2]


@pytest.mark.parametrize("shift", SHIFTS)
def test_each_sum_is_rounded_once(shift: tuple[float, ...]) -> None:
    mesh = moved(cube(), MINE)
    placed = Domain("ORE", mesh, shift=shift).placed[0]
    assert placed.vertices.tobytes() == (mesh.vertices + np.array(shift)).tobytes()
    assert placed.bounds.tobytes() == (mesh.bounds + np.array(shift)).tobytes()
    assert (placed.triangles == mesh.triangles).all() and placed.name == mesh.name
    assert mesh.shifted(list(shift)) is placed


def test_welded_meshes_are_moved_after_welding(tmp_path: Path) -> None:
    shift, crack = (0.1, 0.2, 0.3), hairline(0.0004)
    write_mesh(crack, tmp_path / "ore.ply")
    (tmp_path / "domains.toml").write_text(
        '[[domain]]\nname = "ORE"\nmesh = "ore.ply"\nshift = [0.1, 0.2, 0.3]'
    )
    expected = geodomain.weld(crack, 0.001).mesh.vertices + np.array(shift)
    for source in ([Domain("ORE", crack, shift=shift)], tmp_path / "domains.toml"):
        (domain,) = domains_to_label(source, weld=0.001).domains
        assert domain.placed[0].is_closed and not crack.is_closed
        assert domain.placed[0].vertices.tobytes() == expected.tobytes()


def test_one_mesh_is_moved_once_for_all_that_share_it() -> None:
    ground = hill()
    domains = Domains(
        [
            Domain("AIR", ground, kind="above", shift=(0, 0, 1)),
            Domain("ROCK", ground, kind="below"),
        ],
        [Stack([ground], ["UP", "DOWN"], shift=(0, 0, 1))],
    )
    assert domains.meshes == (ground,)
    assert domains.placed == (domains.domains[0].placed[0], ground)
    assert domains.stacks[0].placed[0][0] is domains.domains[0].placed[0]


def test_another_value_of_another_key_does_not_move_it_again() -> None:
    ore = Domain("ORE", cube(), shift=(0.1, 0.2, 0.3))
    for other in (dataclasses.replace(ore, code=3), pickle.loads(pickle.dumps(ore))):
        assert (other.placed[0].vertices == ore.placed[0].vertices).all()
        assert other.shift == ore.shift
    assert dataclasses.replace(ore, shift=None).placed == ore.meshes


@pytest.mark.parametrize("shift", [None, (0, 0, 0), [0.0, -0.0, 0.0], np.zeros(3)])
def test_no_shift_changes_nothing(shift: object) -> None:
    ore = Domain("ORE", cube(), shift=shift)
    stack = Stack([hill()], ["UP", "DOWN"], shift=shift)
    assert ore.shift is None and ore.placed is ore.meshes and stack.shift is None
    assert repr(ore) == repr(Domain("ORE", cube()))
    assert Domains([ore], [stack]).shifts == ()
    job = [hash_of(job_of(each)) for each in ([ore], [Domain("ORE", cube())])]
    assert job[0] == job[1]


def job_of(domains: Sequence[Domain | Stack]) -> dict[str, object]:
    return describe_job(LocalStore(Path()), prepare(domains, LabelSettings()), TableSettings())


def test_a_shift_makes_another_job() -> None:
    solids = [[Domain("ORE", cube(), shift=shift)] for shift in (None, (0, 0, 1), (0, 0, 2))]
    stacks = [[Stack([hill()], ["A", "B"], shift=shift)] for shift in (None, (0, 0, 1))]
    assert len({hash_of(job_of(each)) for each in [*solids, *stacks]}) == 5


def test_the_bounds_and_wireframes_are_moved() -> None:
    ore = Domain("ORE", cube(), shift=(100, 0, 0))
    assert ore.bounds.tolist() == [[100, 0, 0], [110, 10, 10]] and ore.wireframes == ore.placed
    ground = Domain("AIR", level(5.0), kind="above", shift=(100, 0, 0))
    assert ground.bounds[:, 0].tolist() == [100, 104]
    (layer, _) = Stack([level(5.0)], ["UP", "DOWN"], shift=(100, 0, 0)).named
    assert layer.bounds[:, 0].tolist() == [100, 104]
    assert repr(ore).endswith("shift=(100.0, 0.0, 0.0))")
    assert ore.cells()[3] == "cube shifted by [100, 0, 0]"


# --- Every reader of domains.


def blocks_file(folder: Path) -> str:
    axis = np.arange(8) * 2 + 1.0
    x, y, z = (each.ravel() for each in np.meshgrid(axis, axis, axis, indexing="ij"))
    table = pandas.DataFrame({"X": x, "Y": y, "Z": z, "DX": 2.0, "DY": 2.0, "DZ": 2.0, "AU": x + z})
    table.to_csv(folder / "blocks.csv", index=False)
    return str(folder / "blocks.csv")


def holes(tops: Sequence[float] = (20.0, 20.0)) -> geodomain.Drillholes:
    collar = pandas.DataFrame({"HOLE": list("ABCDE")[: len(tops)], "Z": tops, "DEPTH": 25.0})
    collar["X"], collar["Y"] = 5.1 + 1.7 * collar.index, 5.2 + 0.9 * collar.index
    return geodomain.Drillholes(collar, vertical=True)


def samples() -> pandas.DataFrame:
    depth = np.arange(25.0)
    frames = [
        pandas.DataFrame({"HOLE": hole, "FROM": depth, "TO": depth + 1, "AU": depth % 7})
        for hole in "AB"
    ]
    return pandas.concat(frames, ignore_index=True)


def labelled_file(domains: Domains, folder: Path) -> object:
    output = folder / "labelled.csv"
    summary = geodomain.label_file(
        blocks_file(folder), domains, output, overwrite=True, proportions="priority", lines=4,
        allow_disjoint=True,
    )  # fmt: skip
    parts = [dataclasses.astuple(part) for part in summary.domains]
    return output.read_bytes(), parts, summary.overlaps, summary.warnings


def split_file(domains: Domains, folder: Path) -> object:
    output = folder / "split.csv"
    geodomain.subblock_file(
        blocks_file(folder), domains, output, scheme="octree", minimum=0.5, overwrite=True
    )
    return output.read_bytes()


def majority(domains: Domains, folder: Path) -> object:
    frame = pandas.read_csv(blocks_file(folder))
    return geodomain.label_blocks(frame, domains, by="majority").tolist()


def shares(domains: Domains, folder: Path) -> object:
    frame = pandas.read_csv(blocks_file(folder))
    return geodomain.proportions_blocks(frame, domains).to_csv()


def lattice(domains: Domains, folder: Path) -> object:
    grid = pyvista.ImageData(dimensions=(40, 40, 40), spacing=(0.5, 0.5, 0.5))
    solids = Domains(domains.domains[:1])
    return [geodomain.label_grid(grid, each).tolist() for each in (domains, solids)]


def crossed(domains: Domains, folder: Path) -> object:
    found = holes().crossings(domains)
    return [table.to_csv() for table in found.to_pandas()], str(found)


def points_of_surfaces(domains: Domains, folder: Path) -> object:
    return holes().surface_points(domains).to_pandas().to_csv()


def composited(domains: Domains, folder: Path) -> object:
    return geodomain.composite(samples(), holes(), domains, length=2).to_pandas().to_csv()


def contacted(domains: Domains, folder: Path) -> object:
    found = geodomain.contacts(samples(), domains, ("ORE", "ROCK"), "AU", holes=holes())
    return found.to_pandas().to_csv()


def checked(domains: Domains, folder: Path) -> object:
    on_shifted_ground = holes((14.0, 14.0, 14.0, 14.0, 30.0))
    return [str(each) for each in on_shifted_ground.check(domains=domains).findings]


def inspected(domains: Domains, folder: Path) -> object:
    found = geodomain.inspect_file(blocks_file(folder), (), domains)
    return [dataclasses.replace(fit, shift=None) for fit in found.meshes], found.warnings


def drawn(domains: Domains, folder: Path) -> object:
    return {
        name: [mesh.vertices.tolist() for mesh in meshes]
        for name, meshes in wireframes_of(domains).items()
    }


def pictured(domains: Domains, folder: Path) -> object:
    geodomain.label_file(blocks_file(folder), domains, folder / "drawn.csv", overwrite=True)
    output = folder / "drawn.svg"
    geodomain.plot_sections(folder / "drawn.csv", output, "y=7", domains=domains, overwrite=True)
    return re.findall(r'\bd="[^"]*"', output.read_text())


READERS = (
    labelled_file, split_file, majority, shares, lattice, crossed, points_of_surfaces, composited,
    contacted, checked, inspected, drawn, pictured,
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_every_reader_moves_the_meshes(
    reader: Callable[[Domains, Path], object], tmp_path: Path
) -> None:
    shift = (0.7, -0.3, 1.9)
    units = [
        Domain("ORE", box((2, 2, 2), (9, 9, 9), name="ore")),
        Domain("AIR", hill(12.0), kind="above"),
    ]
    stack = Stack([hill(6.0, "seam")], ["ROCK", "FLOOR"])
    pairs = [pair(each, shift) for each in (*units, stack)]
    shifted, other = (Domains([a, b], [c]) for a, b, c in zip(*pairs, strict=True))
    results = [reader(each, tmp_path) for each in (shifted, other, Domains(units, [stack]))]
    assert results[0] == results[1]
    assert results[0] != results[2]


def test_notes_and_warnings_are_about_moved_meshes(tmp_path: Path) -> None:
    units = [
        (Domain("ORE", cube()), (12.0, 0.0, 0.0)),
        (Domain("AIR", level(5.0, 20, name="ground"), kind="above"), (0.0, 0.0, 4995.0)),
    ]
    pairs = [pair(unit, shift) for unit, shift in units]
    remarks = []
    for listed in map(list, zip(*pairs, strict=True)):
        with pytest.warns(GeodomainWarning, match="all blocks are on one side of ground"):
            summary = geodomain.label_file(blocks_file(tmp_path), listed, None)
        about = [note for note in summary.notes if "is shifted" not in note]
        remarks.append((summary.warnings, about))
    assert remarks[0] == remarks[1] and any("ORE" in note for note in remarks[0][1])


def test_stacks_that_are_moved_apart_have_no_priority() -> None:
    for shift, effect in ((None, "labels"), ((1000, 0, 0), "nothing")):
        first = Stack([level(5.0)], ["A", "B"])
        second = Stack([level(4.0)], ["C", "D"], shift=shift)
        lists = Domains(stacks=[first, second]), Domains(stacks=[second, first])
        assert [each.effect for each in domains_difference(*lists).changes] == [effect]


# --- The key of a domains.toml.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_mesh(cube(), tmp_path / "ore.obj")
    write_mesh(hill(), tmp_path / "ground.ply")
    write_mesh(cube(1e-8), tmp_path / "tiny.ply")
    blocks_file(tmp_path)
    return tmp_path


SOLID = '[[domain]]\nname = "ORE"\nmesh = "ore.obj"\n'
LAYERS = '[[stack]]\nsurfaces = ["ground.ply"]\nlayers = ["UP", "DOWN"]\n'


def written(text: str, name: str = "domains.toml") -> str:
    Path(name).write_text(text)
    return name


def test_it_is_read(folder: Path) -> None:
    text = f"{SOLID}shift = [1, 0.1, -2.5]\n{LAYERS}shift = [0, 0, 1e-3]"
    domains = read_domains(written(text))
    assert domains.domains[0].shift == (1.0, 0.1, -2.5)
    assert domains.stacks[0].shift == (0.0, 0.0, 0.001)
    assert domains.shifts == (
        "ORE is shifted by [1, 0.1, -2.5]",
        "the stack UP / DOWN is shifted by [0, 0, 0.001]",
    )
    # The numbers of the sentence are the float64 of the key.
    again = f"{SOLID}shift = {domains.shifts[0].partition('by ')[2]}"
    assert read_domains(written(again)).domains[0].shift == domains.domains[0].shift


@pytest.mark.parametrize(
    "value",
    ["[1, 2]", "[1, 2, 3, 4]", "'1, 2, 3'", "[1, 2, 'up']", "[1, 2, nan]", "[1, 2, inf]", "3",
     "[1, 2, true]", "[1, [2], 3]", f"[1, 2, {10**18 + 1}]", "[]"],
)  # fmt: skip
def test_what_is_no_shift_is_refused(folder: Path, value: str) -> None:
    expected = "it must be a list of three finite numbers, such as [0.0, 0.0, -2.5]"
    for table, where in ((SOLID, "[[domain]] 1 (ORE)"), (LAYERS, "[[stack]] 1")):
        with pytest.raises(DomainError) as caught:
            read_domains(written(f"{table}shift = {value}"))
        assert str(caught.value).startswith(f"domains.toml, {where}: shift is ")
        assert str(caught.value).endswith(expected)


@pytest.mark.parametrize(
    "value", [(1, 2), "abc", (0, 0, np.nan), 3.0, (1, 2, None), np.zeros((3, 1)), np.float64(2)]
)
def test_what_is_no_shift_is_refused_in_python(value: object) -> None:
    with pytest.raises(DomainError, match=r"^ORE: shift is .*; it must be a list of three finite"):
        Domain("ORE", cube(), shift=value)
    with pytest.raises(DomainError, match=r"^a stack: shift is .*; it must be a list of three"):
        Stack([hill()], ["UP", "DOWN"], shift=value)
    with pytest.raises((ValueError, TypeError)):
        cube().shifted(value)


def test_triangles_that_collapse_are_refused(folder: Path) -> None:
    text = '[[domain]]\nname = "ORE"\nmesh = "tiny.ply"\nshift = [1e9, 1e9, 0]'
    sentence = (
        "tiny.ply cannot be shifted by (1000000000.0, 1000000000.0, 0.0): rounded to 64 bits, the "
        "moved corners of triangle 0 are equal or on a line, because the triangle is too small for "
        "coordinates of this size: shift the mesh by less, or move it to the origin first"
    )
    with pytest.raises(DomainError) as caught:
        read_domains(written(text))
    assert str(caught.value) == f"domains.toml, [[domain]] 1 (ORE): {sentence}"
    with pytest.raises(DomainError, match="triangle 0 are equal or on a line"):
        Stack([level(0.0, 1e-8)], ["UP", "DOWN"], shift=(1e9, 0, 0))
    with pytest.raises(MeshError, match="triangle 0 are equal or on a line"):
        level(0.0, 1e-8).shifted((1e9, 0, 0))
    result = run_command(
        "label", "blocks.csv", "--domains", "domains.toml", "-o", "out.csv", code=3
    )
    assert result.stderr.count("\n") == 1 and "cannot be shifted" in result.stderr
    assert not Path("out.csv").exists()


def test_triangles_that_are_flat_already_may_be_moved() -> None:
    flat = Mesh([[0, 0, 0], [1, 1, 1], [3, 3, 3], [3, 0, 0]], [[0, 1, 2], [0, 2, 3], [1, 1, 3]])
    assert (flat.shifted((0.1, 0, 0)).vertices == flat.vertices + np.array([0.1, 0, 0])).all()


@pytest.mark.parametrize("shift", [(1e300, 0, 0), (0, -1e300, 0), (np.nan, 0, 0), (0, 0, np.inf)])
def test_coordinates_out_of_range_are_refused(shift: tuple[float, ...]) -> None:
    with pytest.raises(MeshError, match=r"^cube cannot be shifted by .*: vertex 0 would be at"):
        cube().shifted(shift)


# --- Summary, record, inspection, and differences of lists.


def test_the_summary_and_the_record_say_it(folder: Path) -> None:
    sentence = "ORE is shifted by [0, 0, 2.5]"
    for text, notes in ((SOLID + "shift = [0, 0, 2.5]", 1), (SOLID + "shift = [0, 0, 0]", 0)):
        result = run_command(
            "label", "blocks.csv", "--domains", written(text), "--record", "run.json",
            "-o", "out.csv", "--overwrite",
        )  # fmt: skip
        assert result.stderr.count(f"note: {sentence}") == notes
        record = json.loads(Path("run.json").read_text())
        assert record["summary"]["notes"].count(sentence) == notes
    assert "shift" not in json.dumps(record)


def test_a_report_says_it(folder: Path) -> None:
    domains = written(SOLID + "shift = [0, 0, 2.5]")
    run_command("label", "blocks.csv", "--domains", domains, "-o", "out.csv")
    run_command("report", "out.csv", "--domains", domains, "-o", "report.html")
    assert Path("report.html").read_text().count("ORE is shifted by [0, 0, 2.5]") == 1


def test_inspect_says_it(folder: Path) -> None:
    domains = written(f"{SOLID}shift = [0, 0, 2.5]\n{LAYERS}")
    result = run_command("inspect", "blocks.csv", "ore.obj", "--domains", domains)
    assert "ore.obj shifted by [0, 0, 2.5], 12 triangles" in result.stdout
    result = run_command("inspect", "blocks.csv", "ore.obj", "--domains", domains, "--json")
    meshes = json.loads(result.stdout)["meshes"]
    assert [each["shift"] for each in meshes] == [None, [0.0, 0.0, 2.5], None]
    assert [each["bounds"][0][2] for each in meshes[:2]] == [0.0, 2.5]


def test_diff_of_lists_says_it(folder: Path) -> None:
    old = written(SOLID + LAYERS, "old.toml")
    new = written(f"{SOLID}shift = [0, 0.1, 2.5]\n{LAYERS}shift = [0, 0, 1]", "new.toml")
    result = domains_difference(old, new)
    assert [(each.domain, each.key, each.effect) for each in result.changes] == [
        ("ORE", "shift", "labels"),
        ("the stack UP / DOWN", "shift", "labels"),
    ]
    assert not result.is_same and not result.wireframes
    assert result.changes[0].new == "0.0, 0.1, 2.5"
    assert "ORE: shift was not set, and is '0.0, 0.1, 2.5' now" in str(result)
    assert domains_difference(new, new).is_same
    printed = run_command("diff", old, new, "--json")
    assert json.loads(printed.stdout)["changes"][0]["key"] == "shift"


def test_a_warning_about_a_mesh_is_given_once(folder: Path) -> None:
    triangles = cube().triangles.copy()
    triangles[0] = triangles[0, ::-1]
    write_mesh(Mesh(cube().vertices, triangles), "turned.ply")
    text = '[[domain]]\nname = "ORE"\nmesh = "turned.ply"\nshift = [0, 0, 1]'
    with pytest.warns(GeodomainWarning) as caught:
        geodomain.label_file("blocks.csv", written(text), None)
    assert ["mis-oriented" in str(each.message) for each in caught].count(True) == 1
