"""Reports: which blocks are drawn, how they are merged, and what a section cuts."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_page import labelled_model, page_of

from geodomain import Mesh
from geodomain.reporting.blocks import Geometry, geometry_of, read_blocks
from geodomain.reporting.planes import Section
from geodomain.reporting.scene import boundary_faces, coarser
from geodomain.reporting.sections import is_cut
from geodomain.reporting.svg import cut_rows, merge_rectangles
from geodomain.statistics.charts import ticks
from geodomain.synthetic.scenes import geodesic_sphere
from geodomain.tables.frames import LocalFrame
from geodomain.tables.options import table_options


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    return labelled_model(tmp_path)


def test_only_boundaries_of_domains_are_drawn(labelled: Path) -> None:
    page = page_of(labelled, background="WASTE")
    table = np.loadtxt(labelled, delimiter=",", skiprows=1, dtype=str)
    labels = table[:, -1].reshape(4, 6, 8)
    around = np.pad(labels, 1, constant_values="?")
    inside = np.ones(labels.shape, bool)
    for axis in range(3):
        for step in (-1, 1):
            inside &= np.roll(around, step, axis)[1:-1, 1:-1, 1:-1] == labels
    expected = np.flatnonzero((~inside & (labels != "WASTE")).reshape(-1))
    assert page.array(page.scene["shell"]).tolist() == expected.tolist()


def geometry(points: np.ndarray, sizes: np.ndarray, codes: np.ndarray) -> Geometry:
    """Return blocks along the axes of the world, each number kept as it is."""
    parts = [np.unique(points[:, axis], return_inverse=True) for axis in range(3)]
    known, kinds = np.unique(sizes, axis=0, return_inverse=True)
    centres, places = zip(*parts, strict=True)
    return Geometry(
        rows=np.arange(len(points)),
        origin=np.zeros(3),
        matrix=np.eye(3),
        centres=centres,
        places=tuple(place.astype(np.int32) for place in places),
        sizes=known,
        kinds=kinds.reshape(-1).astype(np.int32),
        codes=codes.astype(np.int32),
    )


def test_a_sub_block_inside_its_domain_is_not_drawn() -> None:
    # A parent of 8 small blocks, all of one label, with parents all around.
    parents = np.stack(np.meshgrid(*[[1.0, 3, 5]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    small = np.stack(np.meshgrid(*[[2.5, 3.5]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    outer = parents[(parents != 3).any(axis=1)]
    points = np.concatenate([outer, small])
    sizes = np.repeat([[2.0] * 3, [1.0] * 3], [26, 8], axis=0)
    same = boundary_faces(geometry(points, sizes, np.zeros(34)))
    assert same is not None and (same > 0).tolist() == [True] * 26 + [False] * 8
    other = np.zeros(34)
    other[-1] = 1
    found = boundary_faces(geometry(points, sizes, other))
    assert found is not None and (found[-8:] > 0).tolist() == [False, False, False, True] * 1 + [
        False, True, True, True,
    ]  # fmt: skip


def test_blocks_on_no_lattice_have_no_boundary() -> None:
    points = np.array([[0.0, 0, 0], [1.3, 0, 0]])
    assert boundary_faces(geometry(points, np.ones((2, 3)), np.zeros(2))) is None


@pytest.mark.parametrize("section", [Section("x", 3.0), Section("y", 2.5), Section("z", 0.0)])
def test_the_blocks_of_a_section_are_those_of_a_plot(labelled: Path, section: Section) -> None:
    blocks = read_blocks(str(labelled), table_options(), "domain")
    found = cut_rows(section, geometry_of(blocks))
    expected = np.flatnonzero(is_cut(section, blocks.points, blocks.sizes, np.eye(3)))
    assert found.tolist() == expected.tolist()


def test_a_rotated_model_is_found_by_its_few_places(tmp_path: Path) -> None:
    frame = LocalFrame([("z", 30)], (414000.0, 7480000.0, 100.0))
    local = np.stack(np.meshgrid(*[np.arange(4) * 10.0] * 3, indexing="ij"), axis=-1)
    points = frame.to_world(local.transpose(2, 1, 0, 3).reshape(-1, 3))
    rows = [
        f"{x!r},{y!r},{z!r},10,10,10,{'AB'[i % 3 == 0]}"
        for i, (x, y, z) in enumerate(points.tolist())
    ]
    path = tmp_path / "turned.csv"
    path.write_text("\n".join(["X,Y,Z,DX,DY,DZ,domain", *rows]) + "\n")
    found = geometry_of(read_blocks(str(path), table_options(), "domain"))
    assert [len(centres) for centres in found.centres] == [4, 4, 4]
    assert np.abs(found.world(slice(None)) - points).max() < 0.01
    section = Section("x", float(points[0, 0]) + 12)
    expected = np.flatnonzero(is_cut(section, points, np.full((64, 3), 10.0), found.matrix))
    assert cut_rows(section, found).tolist() == expected.tolist()
    assert page_of(path).scene["turned"]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30, unique=True))
def test_merged_rectangles_cover_the_same(corners: list[tuple[int, int]]) -> None:
    cells = np.array([(x, x + 1, y, y + 1) for x, y in corners], np.int64).reshape(-1, 4)
    covered = np.zeros((7, 7), int)
    for left, right, low, high in merge_rectangles(cells).tolist():
        covered[left:right, low:high] += 1
    expected = np.zeros((7, 7), int)
    for x, y in corners:
        expected[x, y] = 1
    assert (covered == expected).all()


def test_a_lattice_of_one_label_is_one_rectangle(labelled: Path) -> None:
    page = page_of(labelled, sections="z=3.5")
    html = (labelled.parent / "report.html").read_text()
    figure = html[html.index("<figure") : html.index("</figure>")]
    shapes = re.findall(r'crispEdges" d="([^"]+)"', figure)
    assert len(shapes) == 2  # DYKE, and the rest around it
    assert page.scene["count"] == 192 and max(map(len, shapes)) < 200
    assert len(re.findall("<[a-z]", figure)) < 2000


def test_a_coarser_mesh_has_no_more_triangles_than_asked() -> None:
    ball = Mesh(*geodesic_sphere(30))
    vertices, triangles = coarser(ball, 2000)
    assert 100 < len(triangles) <= 2000
    assert np.abs(np.linalg.norm(vertices[triangles].reshape(-1, 3), axis=1) - 1).max() < 0.1
    assert coarser(ball, len(ball.triangles))[1] is ball.triangles


def test_ticks_are_round() -> None:
    assert ticks(413_997, 414_411, 4) == [414_000, 414_200, 414_400]


@pytest.mark.parametrize("most", [2**15 - 2, 2**15 - 1, 2**16 - 1])
def test_a_boundary_among_very_many_labels(most: int) -> None:
    points = np.stack([np.arange(most + 1) + 0.5, *np.full((2, most + 1), 0.5)], axis=1)
    found = boundary_faces(geometry(points, np.ones((most + 1, 3)), np.arange(most + 1)))
    # Every block differs from those beside it, and has no block around.
    assert found is not None and (found == 63).all()
