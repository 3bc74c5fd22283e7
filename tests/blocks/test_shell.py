"""Wireframes of labelled blocks: closed, sharing walls, and labelling the same blocks again."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from late import pd
from rotated_model import make_model
from shapes import odd_on_purpose
from wireframes import box

import geodomain
from geodomain import GeodomainWarning, Mesh, Shells, TableError
from geodomain.blocks import shell as shell_module
from geodomain.blocks import walls
from geodomain.cli import main
from geodomain.mesh.edges import edge_table
from geodomain.tables.frames import LocalFrame

# Blocks of one label may touch along an edge: each wireframe is used for labelling here.
pytestmark = odd_on_purpose


def table(cells, labels, size=(10.0, 10.0, 5.0), origin=(414_000.3, 7_480_000.7, 310.1)):
    """Return blocks of one size in cells of a lattice, with labels."""
    centres = np.asarray(origin) + (np.asarray(cells) + 0.5) * size
    columns = dict(zip("XYZ", np.round(centres, 6).T, strict=True))
    columns |= {f"D{axis}": side for axis, side in zip("XYZ", size, strict=True)}
    return pd.DataFrame({**columns, "domain": labels})


def cells_of(*counts):
    return np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), -1).reshape(-1, 3)


def octree(seed: int, share: float = 1.0, origin=(414_000.3, 7_480_000.7, 310.1)):
    """Return an octree with random cuts and labels; `share` of the blocks are kept."""
    random = np.random.default_rng(seed)
    low, size = cells_of(4, 3, 3) * [8.0, 8.0, 4.0], np.array([8.0, 8.0, 4.0])
    rows = []
    for _ in range(3):
        cut = random.random(len(low)) < 0.4
        rows.append(np.hstack([low[~cut] + size / 2, np.tile(size, (np.sum(~cut), 1))]))
        size = size / 2
        low = (low[cut][:, None] + cells_of(2, 2, 2) * size).reshape(-1, 3)
    rows.append(np.hstack([low + size / 2, np.tile(size, (len(low), 1))]))
    blocks = np.concatenate(rows)
    blocks[:, :3] = np.round(blocks[:, :3] + origin, 6)
    blocks = blocks[random.random(len(blocks)) < share]
    frame = pd.DataFrame(dict(zip(("X", "Y", "Z", "DX", "DY", "DZ"), blocks.T, strict=True)))
    near = np.sin(blocks[:, 0] / 9) + np.cos(blocks[:, 1] / 7) + random.normal(0, 0.3, len(blocks))
    return frame.assign(domain=np.array(["ORE", "WASTE", "DYKE"])[np.digitize(near, [-0.5, 0.7])])


def corners_of(mesh: Mesh) -> np.ndarray:
    """Return the corners of each triangle (t, 9), so that its first corner is the lowest."""
    corners = mesh.vertices[mesh.triangles]
    words = np.ascontiguousarray(corners).view("f8,f8,f8")[..., 0]
    first = words.argsort(axis=1)[:, 0]
    turns = (first[:, None] + np.arange(3)) % 3
    return corners[np.arange(len(corners))[:, None], turns].reshape(-1, 9)


def require_fit(shells: Shells) -> None:
    """Check that wireframes are closed and oriented outwards, and share their walls."""
    uses: Counter[bytes] = Counter()
    directed: Counter[bytes] = Counter()
    for label in shells.labels:
        mesh = shells.meshes[label.name]
        report = geodomain.check(mesh)
        assert report.closed and report.balanced and report.dup_faces == report.t_junctions == 0
        assert report.signed_volume == pytest.approx(label.wireframe_volume, rel=1e-9)
        corners = corners_of(mesh)
        directed.update(map(bytes, corners))
        turned = corners.reshape(-1, 3, 3)[:, [0, 2, 1]].reshape(-1, 9)
        uses.update(min(a, b) for a, b in zip(map(bytes, corners), map(bytes, turned), strict=True))
    assert max(directed.values()) == 1  # two solids face a wall from both sides
    assert max(uses.values()) <= 2


def require_same(shells: Shells, points: np.ndarray, labels: np.ndarray) -> None:
    """Check that wireframes label exactly the blocks that they were made of."""
    for name, mesh in shells.meshes.items():
        inside = geodomain.contains(mesh, np.ascontiguousarray(points, np.float64))
        assert (inside == (labels == name)).all()
    assert all(label.volume == pytest.approx(label.wireframe_volume) for label in shells.labels)


def require_no_junctions(mesh: Mesh) -> None:
    """Check that no vertex lies within an edge; all edges are along an axis or across a wall."""
    edges = edge_table(mesh)
    for edge in edges.ends:
        low, high = edges.vertices[edge].min(axis=0), edges.vertices[edge].max(axis=0)
        near = ((edges.vertices >= low) & (edges.vertices <= high)).all(axis=1)
        near[edge] = False
        start, end = edges.vertices[edge]
        crossed = np.cross(edges.vertices[near] - start, end - start)
        assert (np.abs(crossed) > 1e-6).any(axis=1).all()


# --- Known answers.


def test_a_cube_has_twelve_triangles() -> None:
    shells = geodomain.shell(table(cells_of(4, 3, 5), "ORE"))
    (label,) = shells.labels
    assert (label.name, label.blocks, label.volume, label.triangles) == ("ORE", 60, 30_000, 12)
    mesh = shells.meshes["ORE"]
    assert mesh.bounds.tolist() == [
        [414_000.3, 7_480_000.7, 310.1],
        [414_040.3, 7_480_030.7, 335.1],
    ]
    assert mesh.volume == pytest.approx(30_000) and geodomain.check(mesh).signed_volume > 0
    assert repr(shells) == "<Shells of ORE: 12 triangles>"
    assert str(shells).startswith(
        "label  blocks  volume  triangles\nORE        60  30,000         12"
    )


def test_an_l_shape_has_no_junction() -> None:
    cells = cells_of(2, 2, 1)[:3]
    shells = geodomain.shell(table(cells, "ORE"))
    require_no_junctions(shells.meshes["ORE"])
    require_fit(shells)
    # Top and bottom have 3 + 2, one of the six walls around has corners on two edges.
    assert shells.labels[0].triangles == 2 * (3 + 2) + 4 + 5 * 2


def test_two_labels_share_their_wall() -> None:
    cells = cells_of(2, 1, 1)
    shells = geodomain.shell(table(cells, ["ORE", "WASTE"]))
    require_fit(shells)
    ore, waste = (set(map(bytes, corners_of(mesh))) for mesh in shells.meshes.values())
    turned = corners_of(shells.meshes["WASTE"]).reshape(-1, 3, 3)[:, [0, 2, 1]].reshape(-1, 9)
    assert len(ore & set(map(bytes, turned))) == 2 and not ore & waste


def test_a_checkerboard_touches_itself_along_edges() -> None:
    cells = cells_of(3, 3, 3)
    frame = table(cells, np.where(cells.sum(axis=1) % 2, "ORE", "WASTE"))
    shells = geodomain.shell(frame)
    require_fit(shells)
    require_same(shells, frame[["X", "Y", "Z"]].to_numpy(), frame["domain"].to_numpy())
    assert geodomain.check(shells.meshes["ORE"]).nonmanifold_edges > 0
    assert geodomain.check(shells.meshes["ORE"]).fit


def test_a_hollow_faces_inwards() -> None:
    cells = cells_of(3, 3, 3)
    frame = table(cells, np.where((cells == 1).all(axis=1), "VOID", "ORE"))
    shells = geodomain.shell(frame, only="ORE")
    assert shells.meshes["ORE"].volume == pytest.approx(26 * 500)
    assert shells.labels[0].triangles == 24
    require_same(shells, frame[["X", "Y", "Z"]].to_numpy(), frame["domain"].to_numpy())
    assert len(geodomain.shell(frame).meshes["VOID"].triangles) == 12


def test_blocks_without_a_label_are_outside() -> None:
    frame = table(cells_of(3, 1, 1), ["ORE", None, "ORE"])
    shells = geodomain.shell(frame)
    assert [label.name for label in shells.labels] == ["ORE"]
    assert shells.labels[0].triangles == 24


def test_a_large_face_meets_small_ones() -> None:
    # A block of 8 beside four of 4, of which one is missing and one has another label.
    rows = [(4, 4, 4, 8, "ORE"), (10, 2, 2, 4, "ORE"), (10, 6, 2, 4, "WASTE"), (10, 2, 6, 4, "ORE")]
    frame = pd.DataFrame(
        [(x, y, z, size, size, size, name) for x, y, z, size, name in rows],
        columns=["X", "Y", "Z", "DX", "DY", "DZ", "domain"],
    )
    shells = geodomain.shell(frame)
    require_fit(shells)
    for mesh in shells.meshes.values():
        require_no_junctions(mesh)
    assert shells.meshes["ORE"].volume == 512 + 128 and shells.meshes["WASTE"].volume == 64


# --- Random models.


@pytest.mark.parametrize("share", [1.0, 0.8])
def test_octrees_are_labelled_again(share: float) -> None:
    frame = octree(4, share)
    shells = geodomain.shell(frame)
    require_fit(shells)
    require_same(shells, frame[["X", "Y", "Z"]].to_numpy(), frame["domain"].to_numpy())
    require_no_junctions(geodomain.shell(frame, only="DYKE").meshes["DYKE"])


def test_faces_that_fit_nowhere_are_cut() -> None:
    # Columns that are cut at heights of their own, as of the scheme "seam".
    random = np.random.default_rng(7)
    rows = []
    for x, y in np.ndindex(4, 4):
        ends = np.unique(np.round([0, 20, *random.uniform(0.5, 19.5, 5)], 3))
        for low, high in pairwise(ends.tolist()):
            name = "ORE" if random.random() < 0.5 else "WASTE"
            row = (x * 5 + 2.5, y * 5 + 2.5, (low + high) / 2, 5, 5, high - low, name)
            rows.append(row)
    frame = pd.DataFrame(rows, columns=["X", "Y", "Z", "DX", "DY", "DZ", "domain"])
    shells = geodomain.shell(frame)
    require_fit(shells)
    require_same(shells, frame[["X", "Y", "Z"]].to_numpy(), frame["domain"].to_numpy())


@pytest.mark.parametrize("seed", range(3))
def test_a_lattice_has_the_walls_of_its_boxes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    cells = cells_of(5, 4, 3)[random.random(60) < 0.7]
    frame = table(cells, random.choice(["A", "B", "C"], len(cells)))
    fast = geodomain.shell(frame)
    monkeypatch.setattr(walls.Boxes, "is_lattice", False)
    slow = geodomain.shell(frame)
    for name, mesh in fast.meshes.items():
        assert np.array_equal(mesh.vertices, slow.meshes[name].vertices)
        assert np.array_equal(mesh.triangles, slow.meshes[name].triangles)


def test_pairs_of_faces_are_found_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = octree(9, 0.9)
    whole = geodomain.shell(frame)
    monkeypatch.setattr(walls, "_PAIRS", 7)
    parts = geodomain.shell(frame)
    for name, mesh in whole.meshes.items():
        assert np.array_equal(mesh.triangles, parts.meshes[name].triangles)


def test_large_blocks_beside_many_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walls, "_BINS", 1)
    small = table(cells_of(12, 12, 12), "ORE", (1.0, 1.0, 1.0), (12.0, 12.0, 12.0))
    around = cells_of(3, 3, 3)
    large = table(around[np.any(around != 1, axis=1)], "WASTE", (12.0, 12.0, 12.0), (0.0, 0.0, 0.0))
    shells = geodomain.shell(pd.concat([small, large]))
    require_fit(shells)
    assert shells.meshes["ORE"].volume == 12**3 and shells.labels[0].triangles == 12


def test_every_corner_is_a_decimal_of_the_model() -> None:
    # 414000.1 - 0.05 and 413999.9 + 0.15 differ in their last bits; the corner is 414000.05.
    frame = pd.DataFrame(
        {"X": [414_000.1, 413_999.9], "Y": 0.05, "Z": 0.05, "DX": [0.1, 0.3], "DY": 0.1, "DZ": 0.1}
    )
    shells = geodomain.shell(frame.assign(domain=["A", "B"]))
    assert shells.meshes["A"].bounds[:, 0].tolist() == [414_000.05, 414_000.15]
    assert shells.meshes["B"].bounds[:, 0].tolist() == [413_999.75, 414_000.05]


def test_rounded_blocks_have_no_slits() -> None:
    # Sub-blocks of 10/3, of which file and sizes have four decimals.
    centres = np.round((np.arange(6) + 0.5) * 10 / 3, 4)
    frame = pd.DataFrame(
        {"X": centres, "Y": 5.0, "Z": 5.0, "DX": 3.3333, "DY": 10.0, "DZ": 10.0, "domain": "ORE"}
    )
    shells = geodomain.shell(frame)
    assert shells.labels[0].triangles == 12


# --- Rotated models, formats and real data.


@pytest.mark.full
def test_a_turned_octree_by_every_way_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = make_model(tmp_path)
    shells = geodomain.shell(model.blocks, column="Is", frame="z=-10")
    require_fit(shells)
    points, truth = model.table[:, :3], np.array(model.truth)
    require_same(shells, points, np.where(truth == "Body", "Body", "Air"))
    with pytest.raises(TableError, match=r"rotated by z=-10, .*outlined.*frame='z=-10'"):
        geodomain.shell(model.blocks, column="Is")
    geodomain.convert_blocks(model.blocks, "b.vtu", frame="z=-10")
    cells = geodomain.shell("b.vtu", column="Is", only="Body")
    assert cells.labels[0].volume == pytest.approx(shells.labels[-1].volume)
    require_same(cells, points, truth)


def test_local_coordinates_are_turned_once(tmp_path: Path) -> None:
    cells = cells_of(4, 4, 2)
    frame = table(cells, np.where(cells[:, 0] > 1, "ORE", "WASTE"), origin=(0.0, 0.0, 0.0))
    shells = geodomain.shell(frame, rotation="z=30", origin=(414_000.3, 7_480_000.7, 310.1))
    require_fit(shells)
    turn = LocalFrame([("z", 30)], (414_000.3, 7_480_000.7, 310.1))
    require_same(shells, turn.to_world(frame[["X", "Y", "Z"]].to_numpy()), frame["domain"])
    assert shells.labels[0].triangles == 12


@pytest.mark.parametrize("decimals", [9, 2])
def test_rounded_world_coordinates_have_common_corners(decimals: int) -> None:
    cells = cells_of(8, 8, 3)
    frame = table(cells, np.where(cells.sum(axis=1) > 8, "ORE", "WASTE"), origin=(0.0, 0.0, 0.0))
    turn = LocalFrame([("z", 30)], (414_000.3, 7_480_000.7, 310.1))
    world = np.round(turn.to_world(frame[["X", "Y", "Z"]].to_numpy()), decimals)
    frame[["X", "Y", "Z"]] = world
    shells = geodomain.shell(frame, frame="z=30")
    require_fit(shells)
    for name, mesh in shells.meshes.items():
        assert (geodomain.contains(mesh, world) == (frame["domain"] == name)).all()
    local = geodomain.shell(
        table(cells, frame["domain"], origin=(0.0, 0.0, 0.0)),
        rotation="z=30",
        origin=(414_000.3, 7_480_000.7, 310.1),
    )
    assert len(shells.meshes["ORE"].triangles) == len(local.meshes["ORE"].triangles)


def test_cells_of_a_turned_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    geodomain.model_file("m.vti", size=10, origin="500,600,70", count="6,6,6", rotation="z=33")
    solid = box((495.0, 590.0, 70.0), (540.0, 650.0, 110.0))
    geodomain.label_file("m.vti", {"ORE": solid}, "l.vti", background="W")
    shells = geodomain.shell("l.vti")
    require_fit(shells)
    geodomain.label_file(
        "l.vti", {"ORE": shells.meshes["ORE"]}, "a.vti", background="W", column="b"
    )
    assert geodomain.compare_files("l.vti", "a.vti", new_column="b").changed == 0


def test_the_bunny_is_outlined_along_its_own_axes(shared_data: Path) -> None:
    blocks = pd.read_csv(shared_data / "bunny/bunny_blocks.csv")
    shells = geodomain.shell(shared_data / "bunny/bunny_blocks.csv", column="Bunny", frame="z=-10")
    require_fit(shells)
    require_same(shells, blocks[["X", "Y", "Z"]].to_numpy(), blocks["Bunny"].to_numpy())


def test_demo1_has_no_sizes(shared_data: Path, tmp_path: Path) -> None:
    solid = {"DOM": shared_data / "demo1/dom1.vtp"}
    geodomain.label_file(shared_data / "demo1/bmodel.csv", solid, tmp_path / "d.csv")
    blocks = pd.read_csv(tmp_path / "d.csv", keep_default_na=False)
    shells = geodomain.shell(tmp_path / "d.csv")
    require_fit(shells)
    require_same(shells, blocks[["XC", "YC", "ZC"]].to_numpy(), blocks["domain"].to_numpy())


@pytest.mark.full
def test_the_demo_is_labelled_again(tmp_path: Path) -> None:
    assert CliRunner().invoke(main, ["demo", str(tmp_path / "demo"), "-q"]).exit_code == 0
    for name in ("regular", "subblocked"):
        path = tmp_path / f"demo/labelled_{name}.csv"
        blocks = pd.read_csv(path)
        shells = geodomain.shell(path, output=tmp_path / f"{name}.ts")
        require_fit(shells)
        require_same(shells, blocks[["XC", "YC", "ZC"]].to_numpy(), blocks["domain"].to_numpy())
        again = geodomain.read_meshes(tmp_path / f"{name}.ts")
        assert {label: mesh.volume for label, mesh in again.items()} == {
            label: mesh.volume for label, mesh in shells.meshes.items()
        }


# --- Smoothing.


def ball(count: int = 20) -> object:
    cells = cells_of(count, count, count)
    radius = np.hypot.reduce(cells + 0.5 - count / 2, axis=1)
    return table(cells, np.where(radius < count / 2 - 2, "ORE", "WASTE"), (10.0, 10.0, 10.0))


def test_a_smoothed_ball_keeps_its_blocks() -> None:
    pytest.importorskip("vtkmodules")
    frame = ball()
    shells = geodomain.shell(frame, only="ORE", smooth="surfacenets")
    require_fit(shells)
    sharp = geodomain.shell(frame, only="ORE").meshes["ORE"]
    mesh, (label,) = shells.meshes["ORE"], shells.labels
    assert mesh.area < 0.8 * sharp.area and shells.changed == label.lost == label.gained == 0
    assert 0.9 < label.wireframe_volume / label.volume < 1
    require_same_labels = geodomain.contains(mesh, frame[["X", "Y", "Z"]].to_numpy())
    assert (require_same_labels == (frame["domain"] == "ORE")).all()
    assert "smoothing changes the label of 0 blocks (0.00%)" in str(shells)


def test_smoothed_labels_share_their_walls() -> None:
    random = np.random.default_rng(3)
    cells = cells_of(6, 6, 6)
    frame = table(cells, random.choice(["A", "B", "C"], len(cells)))
    with pytest.warns(GeodomainWarning, match="smoothing shrinks"):
        shells = geodomain.shell(frame, smooth="surfacenets")
    require_fit(shells)
    inside = [
        geodomain.contains(m, frame[["X", "Y", "Z"]].to_numpy()) for m in shells.meshes.values()
    ]
    assert np.sum(inside, axis=0).max() == 1  # a block is in one wireframe at most
    names = np.array([label.name for label in shells.labels])
    changed = np.sum(inside, axis=0) == 0
    changed |= names[np.argmax(inside, axis=0)] != frame["domain"].to_numpy()
    assert shells.changed == changed.sum()


def test_a_body_that_shrinks_is_named() -> None:
    cells = cells_of(8, 8, 8)
    frame = table(cells, np.where((cells // 2 == 1).all(axis=1), "ORE", "WASTE"))
    with pytest.warns(
        GeodomainWarning, match=r"shrinks 'ORE' by 5 % or more; the one at .* by 8\d%"
    ):
        shells = geodomain.shell(frame, only="ORE", smooth="surfacenets")
    assert shells.warnings and shells.labels[0].wireframe_volume < 0.3 * shells.labels[0].volume
    with pytest.raises(TableError, match="blocks of different sizes"):
        geodomain.shell(octree(1), smooth="surfacenets")


# --- Bad input, and the command.


def test_bad_blocks_are_refused() -> None:
    frame = table(cells_of(3, 3, 3), "ORE")
    with pytest.raises(TableError, match="has no column 'zone'"):
        geodomain.shell(frame, column="zone")
    with pytest.raises(TableError, match=r"no block with the label 'ORA' .*did you mean 'ORE'"):
        geodomain.shell(frame, only="ORA")
    with pytest.raises(TableError, match="has no labels in 'domain'"):
        geodomain.shell(frame.assign(domain=""))
    with pytest.raises(TableError, match=r"overlap, so .* overlaps the block at"):
        geodomain.shell(pd.concat([frame, frame[:1]]))
    parent = frame[:1].assign(X=414_015.3, Y=7_480_015.7, Z=317.6, DX=30, DY=30, DZ=15)
    with pytest.raises(TableError, match=r"overlap, so .* with the size"):
        geodomain.shell(pd.concat([frame, parent]))
    with pytest.raises(TableError, match="nothing to outline"):
        geodomain.shell(frame[:0])
    with pytest.raises(TableError, match="no block sizes, and its centroids show no step along"):
        geodomain.shell(frame[:1].drop(columns=["DX", "DY", "DZ"]))
    with pytest.raises(TableError, match="lost in the rounding"):
        geodomain.shell(frame.assign(DX=1e-12))
    with pytest.raises(ValueError, match="use 'none' or 'surfacenets'"):
        geodomain.shell(frame, smooth="laplace")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="only= is empty"):
        geodomain.shell(frame, only=[])
    with pytest.raises(TypeError, match="not list"):
        geodomain.shell([1, 2])  # type: ignore[arg-type]


def test_overlaps_are_found_in_slabs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_module, "_COMPARED", 50)
    frame = octree(2)
    geodomain.shell(frame)
    last = frame.iloc[[-1]].assign(X=frame["X"].iloc[-1] - 0.4)
    with pytest.raises(TableError, match=r"overlap, so .* overlaps the block at"):
        geodomain.shell(pd.concat([frame, last]))
    with pytest.raises(TableError, match=r"overlap, so .* overlaps the block at"):
        geodomain.shell(pd.concat([frame, frame[100:101]]))


def test_labels_may_be_codes(tmp_path: Path) -> None:
    frame = table(cells_of(2, 1, 1), [1.0, 2.0])
    frame.to_csv(tmp_path / "codes.csv", index=False)
    for blocks in (frame, tmp_path / "codes.csv"):
        (name,) = geodomain.shell(blocks, only=geodomain.shell(blocks).labels[1].name).meshes
        assert float(name) == 2


def test_blocks_without_a_size_are_left_out() -> None:
    frame = table(cells_of(3, 1, 1), "ORE")
    frame.loc[2, "DX"] = 0.0
    with pytest.warns(
        GeodomainWarning, match="1 block without a centroid or a size above 0 is left"
    ):
        assert geodomain.shell(frame).labels[0].blocks == 2


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["shell", *arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    cells = cells_of(4, 4, 4)
    frame = table(cells, np.where(cells[:, 0] < 2, "ORE", "WASTE"))
    frame.to_csv("labelled.csv", index=False)
    octree(1).to_csv("sub.csv", index=False)
    return tmp_path


def test_the_command_writes_solids_by_name(folder: Path) -> None:
    said = run("labelled.csv", "--all", "-o", "both.dxf").stderr
    assert "WASTE      32  16,000         12" in said and "2 wireframes in" in said
    assert [*geodomain.read_meshes("both.dxf")] == ["ORE", "WASTE"]
    run("sub.csv", "--only", "DYKE", "-o", "dyke.stl")
    assert geodomain.read_mesh("dyke.stl").is_closed
    shells = json.loads(run("labelled.csv", "--only", "ORE", "-o", "ore.ply", "--json").stdout)
    assert shells["labels"][0]["triangles"] == 12 and shells["output"] == "ore.ply"
    assert shells["changed"] == 0 and shells["smooth"] == "none"
    assert geodomain.shell("labelled.csv").to_pandas()["name"].tolist() == ["ORE", "WASTE"]


def test_the_command_refuses_misuse(folder: Path) -> None:
    for options, code, message in [
        (("-o", "a.dxf"), 2, "give either --only LABEL or --all"),
        (("--all", "--only", "ORE", "-o", "a.dxf"), 2, "give either --only LABEL or --all"),
        (("--all", "-o", "-"), 2, "wireframes are written to a file"),
        (("--all", "-o", "a.stl"), 3, "a.stl can store one wireframe, but there are 2"),
        (("--only", "ORE", "--only", "WASTE", "-o", "a.stl"), 3, "use .dxf, .ts, .omf or .geoh5"),
        (("--all", "-o", "a.docx"), 3, "no extension of a format that can be written"),
        (("--all", "-o", "labelled.csv"), 3, "no extension of a format that can be written"),
        (("--only", "ORA", "-o", "a.dxf"), 3, "did you mean 'ORE'"),
        (("--all", "--column", "zone", "-o", "a.dxf"), 3, "has no column 'zone'"),
    ]:
        said = run("labelled.csv", *options, code=code).stderr
        assert message in said and said.count("\n") <= 4, said
    Path("there.dxf").write_text("")
    assert "there.dxf" in run("labelled.csv", "--all", "-o", "there.dxf", code=4).stderr
    said = run("sub.csv", "--all", "-o", "a.dxf", "--smooth", "surfacenets", code=3).stderr
    assert "use --smooth none" in said
    assert not Path("a.dxf").exists()
