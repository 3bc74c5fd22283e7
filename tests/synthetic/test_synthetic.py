"""The synthetic deposit and the benchmark scenes are what they say they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import geodomain
from geodomain import synthetic
from geodomain.mesh.mesh import Mesh
from geodomain.synthetic.deposit import EXTENT, LENSES, NAMES, ORIGIN, SURVEY_STEP, path


@pytest.fixture(scope="module")
def tiny() -> synthetic.Deposit:
    return synthetic.deposit("tiny")


@pytest.fixture(scope="module")
def small() -> synthetic.Deposit:
    return synthetic.deposit("small")


def directed_edges(mesh: Mesh) -> Counter[tuple[int, int]]:
    edges = mesh.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    return Counter(map(tuple, edges.tolist()))


def balanced(mesh: Mesh) -> bool:
    edges = directed_edges(mesh)
    return all(edges[b, a] == count for (a, b), count in edges.items())


def volume(mesh: Mesh) -> float:
    a, b, c = np.moveaxis(mesh.vertices[mesh.triangles] - mesh.bounds[0], 1, 0)
    return float((a * np.cross(b, c)).sum() / 6)


def spiked(mesh: Mesh) -> Mesh:
    """Push the vertex nearest to the lowest corner through the far side."""
    vertices = mesh.vertices.copy()
    vertices[np.argmin(vertices[:, 0])] = 2 * mesh.bounds[1] - mesh.bounds[0]
    return Mesh(vertices, mesh.triangles)


def crossings_with_itself(mesh: Mesh) -> int:
    """Count edges that pass through a triangle they share no vertex with, in integers."""
    corners = np.round((mesh.vertices - ORIGIN) / SURVEY_STEP).astype(np.int64)
    assert ((corners * SURVEY_STEP + ORIGIN) == mesh.vertices).all()
    edges = np.unique(np.sort(mesh.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)), axis=0)
    triangle_low, triangle_high = (f(corners[mesh.triangles], axis=1) for f in (np.min, np.max))
    found = 0
    for some in np.array_split(edges, max(1, len(edges) // 200)):
        low, high = corners[some].min(axis=1), corners[some].max(axis=1)
        near = (low[:, None] <= triangle_high).all(axis=2)
        near &= (high[:, None] >= triangle_low).all(axis=2)
        e, t = np.nonzero(near)
        apart = ~(some[e][:, :, None] == mesh.triangles[t][:, None]).any(axis=(1, 2))
        s, f = np.moveaxis(corners[some[e[apart]]], 1, 0)
        found += int(passes_through(s, f, corners[mesh.triangles[t[apart]]]).sum())
    return found


def passes_through(s: np.ndarray, e: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return which segments meet their triangle, touches included, coplanar ones aside."""

    def sign(p, q, r, t):  # coordinates below 2^13, so products of three stay below 2^45
        return np.sign(np.einsum("ni,ni->n", np.cross(q - p, r - p), t - p))

    a, b, c = np.moveaxis(triangles, 1, 0)
    start, end = sign(a, b, c, s), sign(a, b, c, e)
    around = np.stack([sign(s, e, a, b), sign(s, e, b, c), sign(s, e, c, a)])
    one_side = (around >= 0).all(axis=0) | (around <= 0).all(axis=0)
    return (start * end <= 0) & ((start != 0) | (end != 0)) & one_side


@pytest.mark.full
@pytest.mark.parametrize("size", ["tiny", "small"])
def test_solids_are_closed_and_face_outward(size: str, request: pytest.FixtureRequest) -> None:
    for mesh in request.getfixturevalue(size).solids.values():
        assert balanced(mesh)
        assert max(directed_edges(mesh).values()) == 1
        assert volume(mesh) > 0
        assert len(np.unique(mesh.vertices, axis=0)) == len(mesh.vertices)


def test_solids_do_not_cross_themselves(tiny: synthetic.Deposit) -> None:
    for mesh in tiny.solids.values():
        assert crossings_with_itself(mesh) == 0
    assert crossings_with_itself(spiked(tiny.solids["ore_upper"])) > 0


def test_lenses_lie_inside_the_model_and_fill_their_smooth_shape(small: synthetic.Deposit) -> None:
    for lens in LENSES:
        mesh = small.solids[lens.name]
        assert (mesh.bounds[0] > ORIGIN).all()
        assert (mesh.bounds[1] < ORIGIN + EXTENT).all()
        table = small.subblocked
        modelled = table.sizes[lens.holds(table.centroids)].prod(axis=1).sum()
        assert modelled == pytest.approx(volume(mesh), rel=0.02)


def test_lenses_are_overturned(tiny: synthetic.Deposit) -> None:
    """Some vertical line leaves a lens more than once: the fold is not a height field."""
    mesh = tiny.solids["ore_upper"]
    a, b, c = np.moveaxis(mesh.vertices[mesh.triangles], 1, 0)
    rising = np.cross(b - a, c - a)[:, 2] > 0
    upper_sheet = len(mesh.triangles) // 2
    assert 0 < (~rising[:upper_sheet]).sum() < upper_sheet // 2


def test_topography_is_the_roof_of_the_oxide_zone(tiny: synthetic.Deposit) -> None:
    ground, oxide = tiny.topography, tiny.solids["oxide"]
    assert not balanced(ground)
    assert {tuple(v) for v in ground.vertices} < {tuple(v) for v in oxide.vertices}
    assert (oxide.bounds[:, :2] == [ORIGIN[:2], ORIGIN[:2] + EXTENT[:2]]).all()


@pytest.mark.full
def test_some_vertices_stand_in_the_columns_of_the_blocks(small: synthetic.Deposit) -> None:
    columns = {tuple(p) for p in small.subblocked.centroids[:, :2].tolist()}
    for name in ("ore_upper", "ore_lower", "dyke"):
        assert columns & {tuple(v) for v in small.solids[name].vertices[:, :2].tolist()}


def test_block_models_fill_the_same_box(tiny: synthetic.Deposit) -> None:
    for table in (tiny.regular, tiny.subblocked):
        assert table.sizes.prod(axis=1).sum() == EXTENT.prod()
        assert len(np.unique(table.centroids, axis=0)) == len(table)
        assert (table.centroids - table.sizes / 2 >= ORIGIN).all()
        assert (table.centroids + table.sizes / 2 <= ORIGIN + EXTENT).all()
    assert {tuple(size) for size in tiny.subblocked.sizes} == {
        (20, 20, 10),
        (10, 10, 5),
        (5, 5, 2.5),
    }


@pytest.mark.full
def test_csv_is_spelled_as_packages_spell_it(tiny: synthetic.Deposit) -> None:
    text = b"".join(tiny.subblocked.csv(rows_per_chunk=1000)).decode()
    assert text == b"".join(tiny.subblocked.csv()).decode()
    header, *rows = text.splitlines()
    assert tuple(header.split(",")) == NAMES
    assert len(rows) == len(tiny.subblocked)
    cells = [row.split(",") for row in rows]
    read = np.array([[float(cell) for cell in row[:3]] for row in cells])
    assert (read == tiny.subblocked.centroids).all()
    assert all(len(row[6].split(".")[1]) == 2 for row in cells)
    assert any(row[7].endswith("0") for row in cells)


def test_grades_are_higher_in_the_ore(tiny: synthetic.Deposit) -> None:
    grades, rocks = tiny.regular.grades, tiny.regular.rocks
    assert np.median(grades[rocks == "BIF"]) > 10 * np.median(grades[rocks == "SCHIST"])
    assert (grades[rocks == "AIR"] == 0).all()
    assert grades[rocks == "BIF"].mean() > np.median(grades[rocks == "BIF"])


def test_a_deposit_can_be_made_again(tiny: synthetic.Deposit) -> None:
    again, other = synthetic.deposit("tiny"), synthetic.deposit("tiny", seed=2)
    for name, mesh in tiny.solids.items():
        assert (mesh.vertices == again.solids[name].vertices).all()
        assert (mesh.vertices == other.solids[name].vertices).all()
    assert (tiny.regular.grades == again.regular.grades).all()
    assert (tiny.regular.grades != other.regular.grades).any()


def test_an_unknown_size_is_refused() -> None:
    with pytest.raises(ValueError, match="tiny, small, large"):
        synthetic.deposit("huge")


@pytest.mark.full
@pytest.mark.parametrize("frequency", [1, 2, 7, 64])
def test_orebody_is_closed_outward_and_shared(frequency: int) -> None:
    mesh = synthetic.star_shaped_orebody(frequency, centre=(414_000, 7_480_000, 300))
    assert len(mesh.triangles) == 20 * frequency**2
    assert len(mesh.vertices) == 10 * frequency**2 + 2
    assert balanced(mesh)
    assert volume(mesh) > 0
    assert mesh.bounds[0, 0] < 414_000 < mesh.bounds[1, 0]


@pytest.mark.parametrize("frequency", [0, 512])
def test_orebody_frequency_is_bounded(frequency: int) -> None:
    with pytest.raises(ValueError, match=f"frequency is {frequency}; it must be from 1 to 511"):
        synthetic.star_shaped_orebody(frequency)


def test_orebody_is_star_shaped() -> None:
    mesh = synthetic.star_shaped_orebody(16)
    a, b, c = np.moveaxis(mesh.vertices[mesh.triangles], 1, 0)
    assert (np.einsum("ti,ti->t", a, np.cross(b, c)) > 0).all()


def test_staircase_stands_on_its_axes() -> None:
    mesh, axes = synthetic.staircase(20)
    assert balanced(mesh)
    for axis, values in zip(mesh.vertices.T, axes, strict=True):
        assert np.isin(axis, values).all()
    edges = mesh.vertices[mesh.triangles] - np.roll(mesh.vertices[mesh.triangles], 1, axis=1)
    assert {tuple(sorted(abs(e))) for e in edges.reshape(-1, 3)} <= {
        (0, 0, 5), (0, 0, 10), (0, 5, 10), (0, 10, 10)
    }  # fmt: skip
    blocks = synthetic.scenes.blocky_body(20).sum()
    assert volume(mesh) == pytest.approx(blocks * 500)


def test_staircase_has_the_size_of_scene_a() -> None:
    mesh, _ = synthetic.staircase()
    assert 60_000 < len(mesh.triangles) < 90_000


def test_lattice_covers_the_mesh() -> None:
    mesh = synthetic.star_shaped_orebody(4)
    for axis, count, (low, high) in zip(
        synthetic.lattice_over(mesh, (5, 6, 7)), (5, 6, 7), mesh.bounds.T, strict=True
    ):
        assert len(axis) == count
        assert axis[0] < low < high < axis[-1]


def test_terrain_is_open_and_faces_up() -> None:
    mesh = synthetic.terrain(11)
    assert len(mesh.triangles) == 2 * 11**2
    assert sum(n == 1 for n in directed_edges(mesh).values()) == len(mesh.triangles) * 3
    assert len({tuple(sorted(e)) for e in directed_edges(mesh)}) == 3 * 11**2 + 2 * 11
    a, b, c = np.moveaxis(mesh.vertices[mesh.triangles], 1, 0)
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()


def test_drillholes_follow_their_surveys(small: synthetic.Deposit, tmp_path: Path) -> None:
    """Desurveyed, they are where their samples were taken: on arcs that are known exactly."""
    holes = small.drilling
    for name, text in (("collar", holes.collar_csv()), ("survey", holes.survey_csv())):
        (tmp_path / f"{name}.csv").write_bytes(text)
    read = geodomain.Drillholes(tmp_path / "collar.csv", tmp_path / "survey.csv")
    assert read.names == tuple(holes.names) and not read.report.left_out
    assert read.report.down == "negative"
    depths = np.arange(1.0, 180, 2)
    for row, name in enumerate(holes.names):
        exact = path(holes.collars[row], depths)
        assert np.abs(read.positions(name, depths) - exact).max() < 1e-8


def test_drillholes_have_the_grades_of_the_deposit(small: synthetic.Deposit) -> None:
    holes = small.drilling
    depths = np.arange(1.0, 200, 2)
    middles = np.concatenate([path(collar, depths) for collar in holes.collars])
    grades = np.concatenate(holes.grades)
    ore = geodomain.label_points(middles, {"ORE": small.domains["ORE"]}) == "ORE"
    assert 0.05 < ore.mean() < 0.5
    assert grades[ore].mean() > 20 * grades[~ore].mean()
