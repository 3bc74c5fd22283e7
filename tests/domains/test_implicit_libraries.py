"""Models of LoopStructural and GemPy themselves, labelled: .ci/implicit installs both libraries.

The models are from the examples of these libraries. Units have the volumes that the library's own
blocks have, within the error of its grid, and every block of the box has a unit.
"""

from __future__ import annotations

import importlib.util
import logging
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import geodomain
from geodomain import DomainError

ROOT = Path(__file__).parents[2]
# Both libraries warn of their own dependencies.
pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def loop() -> ModuleType:
    return pytest.importorskip("LoopStructural", reason=".ci/implicit installs LoopStructural")


@pytest.fixture
def gempy() -> ModuleType:
    return pytest.importorskip("gempy", reason=".ci/implicit installs GemPy")


def centres(low: Sequence[float], high: Sequence[float], counts: Sequence[int]) -> np.ndarray:
    """Return the centres of blocks that fill a box."""
    axes = [
        a + (b - a) * (np.arange(count) + 0.5) / count
        for a, b, count in zip(low, high, counts, strict=True)
    ]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def claudius(loop: ModuleType, *, elements: int = 100_000) -> Any:
    """Return LoopStructural's example 'claudius': conformable units of seismic horizons."""
    from LoopStructural.datasets import load_claudius

    data, box = load_claudius()
    model = loop.GeologicalModel(box[0], box[1])
    model.data = data
    model.create_and_add_foliation("strati", interpolatortype="FDI", nelements=1e4)
    column = model.stratigraphic_column
    for name, thickness in (("D", 60), ("C", 190), ("B", 80), ("A", np.inf)):
        column.add_unit(name, thickness=thickness)
    column.group_mapping["Group_0"] = "strati"
    model.bounding_box.nelements = elements
    return model


def test_loopstructural_claudius(loop: ModuleType) -> None:
    model = claudius(loop)
    box = model.bounding_box
    points = centres(box.origin, box.maximum, (40, 60, 30))
    labels = geodomain.label_points(points, model)
    numbers = model.evaluate_model(points)  # -1 for the basement, which has no feature
    right = np.array(["A", "B", "C", "D", "Basement"])[numbers]
    assert (labels == right).mean() > 0.99 and "OUTSIDE" not in labels
    share = np.prod(box.maximum - box.origin) / len(points)
    for domain in geodomain.model_domains(model):
        (mesh,) = domain.meshes
        assert geodomain.check(mesh).fit
        assert mesh.volume == pytest.approx((right == domain.name).sum() * share, rel=0.02)
    assert set(geodomain.label_points(points + np.array([9000, 0, 0]), model)) == {"OUTSIDE"}


def test_loopstructural_claudius_as_a_stack_of_its_own_surfaces(loop: ModuleType) -> None:
    with pytest.raises(DomainError, match="the surface of A lies above itself"):  # on a fine grid
        geodomain.model_domains(claudius(loop), as_stack=True)
    model = claudius(loop, elements=10_000)
    box = model.bounding_box
    points = centres(box.origin, box.maximum, (40, 60, 30))
    stack = geodomain.model_domains(model, as_stack=True)
    same = geodomain.label_points(points, stack) == geodomain.label_points(points, model)
    assert same.mean() > 0.99
    surface = model.get_stratigraphic_surfaces()[0]
    mesh = geodomain.as_mesh(surface)
    assert mesh.name == surface.name and not mesh.is_closed
    assert (mesh.bounds[0] >= box.origin - 1e-6).all()


def test_loopstructural_unconformity_and_fault(loop: ModuleType) -> None:
    """A cover over tilted units that a fault displaces."""
    import pandas

    rows: list[tuple[Any, ...]] = []
    for x in np.linspace(50, 950, 10):
        for y in np.linspace(50, 950, 10):
            rows.append((x, y, 150 + 20 * np.sin(x / 150), "cover", 0.0, 0, 0, 1, np.nan))
            throw = 100.0 * (x > 500)
            rows.append((x, y, 0.3 * (x - 500) - 100 - throw, "old", 0.0, -0.287, 0, 0.958, np.nan))
    rows += [(500, y, z, "fault", 0.0, np.nan, np.nan, np.nan, 0) for y in (100, 500, 900)
             for z in (-300, 0, 300)]  # fmt: skip
    rows += [(500, 500, 0, "fault", np.nan, 1, 0, 0, 0), (500, 500, 0, "fault", np.nan, 0, 0, 1, 1)]
    names = ["X", "Y", "Z", "feature_name", "val", "nx", "ny", "nz", "coord"]
    model = loop.GeologicalModel([0, 0, -500], [1000, 1000, 500])
    model.data = pandas.DataFrame(rows, columns=names)
    cover = model.create_and_add_foliation("cover", interpolatortype="FDI", nelements=2e3)
    model.add_unconformity(cover, 0)
    model.create_and_add_fault("fault", 100, nelements=2e3)
    model.create_and_add_foliation("old", interpolatortype="FDI", nelements=2e3)
    column = model.stratigraphic_column
    column.clear(basement=False)
    column.add_unit("OLD 2", thickness=200)
    column.add_unit("OLD 1", thickness=np.inf)
    column.add_unconformity("base of the cover")
    column.add_unit("COVER", thickness=np.inf)
    column.group_mapping.update({"Group_0": "cover", "Group_1": "old"})
    model.bounding_box.nelements = 27_000
    points = centres([0, 0, -500], [1000, 1000, 500], (30, 30, 30))
    # LoopStructural numbers the units of the oldest group first.
    names = np.array(["OLD 1", "OLD 2", "COVER", "NO UNIT"])
    right = names[model.evaluate_model(points)]
    labels = geodomain.label_points(points, model)
    assert set(right) == set(names) and (labels == right).mean() > 0.98


def test_loopstructural_takes_the_table_of_surface_points(
    loop: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tutorial, from the holes to the tonnes, as it stands on its page."""
    text = (ROOT / "docs/tutorials/implicit_model.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:\{code-block\} )?(sh|python)\n(.*?)^```$", text, re.S | re.M)
    assert [kind for kind, _ in blocks] == ["sh", "sh", "python", "python", "python", "sh"]
    monkeypatch.chdir(tmp_path)
    folder = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    command = [sys.executable, "-m", "geodomain", "demo", "demo", "--quiet"]
    subprocess.run(command, check=True, capture_output=True)
    program = "\n".join(block for kind, block in blocks if kind == "python")
    shell = [block for kind, block in blocks if kind == "sh"]
    for block in shell[:2]:
        subprocess.run(["bash", "-euo", "pipefail", "-c", block], check=True)
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert "98.8% of the blocks in the box agree" in done.stdout
    said = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", shell[2]], check=True, capture_output=True, text=True
    ).stdout
    assert "DYKE" in said
    dyke = geodomain.read_mesh("modelled_dyke.ply")
    assert dyke.is_closed and dyke.volume == pytest.approx(552_300, rel=0.01)


def gempy_model(gempy: ModuleType, *, fault: bool = False, **grid: Any) -> Any:
    """Return the tilted units, the cover and the fault of GemPy's first tutorials."""
    data = gempy.data

    def element(name: str, points: Any, normal: tuple[float, ...]) -> Any:
        x, y, z = np.array(points, float).T
        table = data.SurfacePointsTable.from_arrays(x=x, y=y, z=z, names=name)
        one = [np.array([value]) for value in normal]
        axes = dict(zip(("x", "y", "z", "G_x", "G_y", "G_z"), one, strict=True))
        orientations = data.OrientationsTable.from_arrays(**axes, names=name)
        colour = next(model.structural_frame.color_generator)
        return data.StructuralElement(
            name=name, color=colour, surface_points=table, orientations=orientations
        )

    model = gempy.create_geomodel(
        project_name="test", extent=[0, 1000, 0, 1000, 0, 1000],
        structural_frame=data.StructuralFrame.initialize_default_structure(), **grid,
    )  # fmt: skip
    model.structural_frame.structural_groups = []
    relations, groups = data.StackRelationType, []
    if fault:
        plane = [(480, y, 700) for y in (100, 900)] + [(560, y, 300) for y in (100, 900)]
        groups.append(data.StructuralGroup(
            name="faults", elements=[element("fault", plane, (520, 500, 500, 0.98, 0, 0.196))],
            structural_relation=relations.FAULT,
            fault_relations=data.FaultsRelationSpecialCase.OFFSET_ALL,
        ))  # fmt: skip
    places = [(x, y) for x in (100, 300, 500, 700, 900) for y in (200, 800)]
    cover = [(x, y, 800 + 30 * np.sin(x / 200)) for x, y in places]
    groups.append(data.StructuralGroup(
        name="young", elements=[element("cover", cover, (250, 500, 800, 0, 0, 1))],
        structural_relation=relations.ERODE,
    ))  # fmt: skip
    rocks = [
        element(name, [(x, y, z + 0.2 * (x - 500) - 100 * (fault and x > 500)) for x, y in places],
                (250, 500, z, -0.196, 0, 0.98))
        for name, z in (("rock1", 400), ("rock2", 600))  # GemPy sorts them
    ]  # fmt: skip
    groups.append(
        data.StructuralGroup(name="old", elements=rocks, structural_relation=relations.ERODE)
    )
    for group in groups:
        model.structural_frame.append_group(group)
    model.update_transform()
    gempy.compute_model(model)
    return model


def introduction(gempy: ModuleType) -> Any:
    """Return the folded layers of GemPy's first video tutorial."""
    model = gempy.create_geomodel(
        project_name="introduction", extent=[0, 780, -200, 200, -582, 0], refinement=5,
        structural_frame=gempy.data.StructuralFrame.initialize_default_structure(),
    )  # fmt: skip
    gempy.add_surface_points(
        geo_model=model, x=[223, 458, 612], y=[0.01, 0, 0], z=[-94, -197, -14],
        elements_names=["surface1"] * 3,
    )  # fmt: skip
    gempy.add_orientations(
        geo_model=model, x=[350], y=[1], z=[-300], elements_names=["surface1"],
        pole_vector=[[0, 0, 1]],
    )  # fmt: skip
    model.update_transform()
    for name, x, z in (
        ("surface2", [225, 459], [-269, -279]),
        ("surface3", [225, 464, 619], [-439, -456, -433]),
    ):
        points = gempy.data.SurfacePointsTable.from_arrays(
            x=np.array(x), y=np.zeros(len(x)), z=np.array(z), names=name
        )
        none = gempy.data.OrientationsTable.initialize_empty()
        model.structural_frame.structural_groups[0].append_element(
            gempy.data.StructuralElement(
                name=name, surface_points=points, orientations=none,
                color=next(model.structural_frame.color_generator),
            )
        )  # fmt: skip
    gempy.compute_model(model)
    return model


def test_gempy_introduction(gempy: ModuleType) -> None:
    model = introduction(gempy)
    cells = model.grid.octree_grid
    names = np.array(["", "surface1", "surface2", "surface3", "basement"])
    right = names[model.solutions.raw_arrays.lith_block.astype(int)]
    labels = geodomain.label_points(cells.values, model)
    assert (labels == right).mean() > 0.9999 and "OUTSIDE" not in labels
    size = np.prod((cells.extent[1::2] - cells.extent[::2]) / cells.resolution)
    units = geodomain.model_domains(model)
    for domain in units:
        cells_of_unit = (right == domain.name).sum() * size
        assert domain.meshes[0].volume == pytest.approx(cells_of_unit, rel=0.01)
    total = sum(mesh.volume for mesh in units.meshes)
    assert total == pytest.approx(780 * 400 * 582, rel=1e-12)


GRIDS = {
    "octree": {"refinement": 5},
    "dense": {"resolution": [30, 30, 30], "refinement": 3},
}


@pytest.mark.parametrize("fault", [False, True], ids=["unconformity", "fault"])
@pytest.mark.parametrize("grid", GRIDS)
def test_gempy(gempy: ModuleType, grid: str, fault: bool) -> None:
    model = gempy_model(gempy, fault=fault, **GRIDS[grid])
    cells = model.grid.dense_grid or model.grid.octree_grid
    elements = model.structural_frame.structural_elements
    names = np.array(["", *(each.name for each in elements)])
    right = names[model.solutions.raw_arrays.lith_block.astype(int)]
    labels = geodomain.label_points(cells.values, model)
    assert (labels == right).mean() > 0.999 and set(labels) == set(right)
    size = np.prod((cells.extent[1::2] - cells.extent[::2]) / cells.resolution)
    units = {each.name: each.meshes[0] for each in geodomain.model_domains(model)}
    assert all(geodomain.check(mesh).fit for mesh in units.values())
    for name in ("cover", "rock1"):  # nothing erodes the cover, or reaches down to rock1
        assert units[name].volume == pytest.approx((right == name).sum() * size, rel=0.05)


def test_gempy_elements_are_in_world_coordinates(gempy: ModuleType) -> None:
    model = gempy_model(gempy, refinement=4)
    (element,) = model.structural_frame.structural_groups[0].elements
    mesh = geodomain.as_mesh(element)
    assert mesh.name == "cover" and 750 < mesh.vertices[:, 2].mean() < 850
    raw = model.solutions.dc_meshes[0]
    assert np.abs(raw.vertices).max() < 10  # in GemPy's own coordinates
    with pytest.raises(TypeError, match="pass an element of"):
        geodomain.as_mesh(raw)


def test_gempy_meshes_that_overlap_themselves_make_no_stack(gempy: ModuleType) -> None:
    with pytest.raises(DomainError, match="lies above itself"):
        geodomain.model_domains(gempy_model(gempy, refinement=4), as_stack=True)


def test_gempy_reads_the_files_of_surface_points(gempy: ModuleType, tmp_path: Path) -> None:
    collar = tmp_path / "collar.csv"
    rows = [f"H{x}{y},{x},{y},1000,1000,0,90" for x in (100, 500, 900) for y in (100, 900)]
    collar.write_text("HOLE,X,Y,Z,DEPTH,AZIMUTH,DIP\n" + "\n".join(rows) + "\n")
    corners = [[-1, -1, 400], [1100, -1, 620], [1100, 1100, 620], [-1, 1100, 400]]
    base = geodomain.Mesh(corners, [[0, 1, 2], [0, 2, 3]])
    files = tmp_path / "points.csv", tmp_path / "orientations.csv"
    geodomain.surface_points_file(
        collar, target="gempy", surfaces={"BASE": base}, output=files[0], orientations=files[1]
    )
    model = gempy.create_geomodel(
        project_name="test", extent=[0, 1000, 0, 1000, 0, 1000], refinement=4,
        importer_helper=gempy.data.ImporterHelper(
            path_to_surface_points=str(files[0]), path_to_orientations=str(files[1]),
            pandas_reader_kwargs={"dtype": {"formation": object}},  # for pandas 3 with pyarrow
        ),
    )  # fmt: skip
    gempy.compute_model(model)
    points = centres([0, 0, 0], [1000, 1000, 1000], (10, 10, 10))
    right = np.where(points[:, 2] > 400.2 + 0.2 * points[:, 0], "BASE", "basement")
    assert (geodomain.label_points(points, model) == right).mean() > 0.98


def test_both_libraries_are_here_or_these_tests_are_skipped() -> None:
    """Names what is missing, so that a run that skipped everything can be seen."""
    missing = [name for name in ("LoopStructural", "gempy") if not importlib.util.find_spec(name)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; .ci/implicit installs them")
