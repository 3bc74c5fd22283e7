"""Models on a turned lattice: where wireframes lie in them, and what turns them once too often."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from label_command import run_command
from late import pd
from rotated_model import WAYS, RotatedModel, make_model
from wireframes import box

import geodomain
from geodomain import Mesh, TableError, read_mesh, write_mesh
from geodomain.reporting.survey import Survey, find_lattice, sub_blocking
from geodomain.tables.frames import Frame, LocalFrame
from geodomain.tables.layout import read_layout
from geodomain.tables.options import read_turns
from geodomain.tables.rotation import azimuth_of, refuse_misfit

Floats = np.ndarray
pytestmark = pytest.mark.filterwarnings("ignore:the blocks in ORE have")
FRAME = LocalFrame([("z", 30.0)], origin=(414_000.0, 7_480_000.0, 300.0))
BOX = box((0, 0, 0), (1, 1, 1)).triangles
LOCAL = {"rotation": "z=30", "origin": "414000,7480000,300"}


def lattice(nx: int, ny: int, nz: int, size: tuple[float, float, float]) -> Floats:
    """Return local centroids and sizes, (n, 6), x fastest."""
    axes = [(np.arange(n) + 0.5) * step for n, step in zip((nx, ny, nz), size, strict=True)]
    z, y, x = np.meshgrid(*axes[::-1], indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    return np.hstack([points, np.broadcast_to(size, points.shape)])


def in_world(blocks: Floats, frame: LocalFrame = FRAME) -> Floats:
    return np.hstack([frame.to_world(np.ascontiguousarray(blocks[:, :3])), blocks[:, 3:]])


def write(path: Path, blocks: Floats) -> Path:
    rows = [",".join(map(repr, row)) for row in blocks.tolist()]
    path.write_text("X,Y,Z,DX,DY,DZ\n" + "\n".join(rows) + "\n")
    return path


def solid(low: tuple[float, ...], high: tuple[float, ...]) -> Mesh:
    """Return a box of the model's frame, in the world."""
    local = box(low, high)
    return Mesh(FRAME.to_world(local.vertices), local.triangles, name="ore")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside a local and a world model of 10 x 8 x 4 blocks, and a solid inside of them."""
    monkeypatch.chdir(tmp_path)
    blocks = lattice(10, 8, 4, (10.0, 8.0, 5.0))
    write(tmp_path / "local.csv", blocks)
    write(tmp_path / "world.csv", in_world(blocks))
    write_mesh(solid((12.1, 9.3, 3.2), (71.3, 43.1, 17.4)), tmp_path / "ore.obj")
    return tmp_path


def run(*arguments: str, code: int = 0) -> str:
    return run_command(*map(str, arguments), code=code).output


# ---- how a lattice is turned


ORDERS: dict[str, Callable[[Floats], Floats]] = {
    "x runs first": lambda blocks: blocks,
    "z runs first": lambda blocks: blocks[np.lexsort(blocks[:, :3].T[::-1])],
    "no order": lambda blocks: np.random.default_rng(4).permutation(blocks),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("angle", [0.0, 30.0, -12.25, 44.0, 60.0, -75.5])
def test_neighbours_show_how_a_lattice_is_turned(order: str, angle: float) -> None:
    blocks = ORDERS[order](lattice(20, 15, 6, (10.0, 4.0, 5.0)))
    turned = in_world(blocks, LocalFrame([("z", angle)], (500_000.0, 6_800_000.0, 0.0)))
    assert azimuth_of(turned[:, :3], turned[:, 3:]) == angle


ROUNDED = [
    ((10.0, 4.0, 5.0), 3),
    ((2.5, 2.0, 1.25), 6),
    ((10.0, 10.0, 5.0), 2),
    ((25.0, 20.0, 5.0), 1),
]


@pytest.mark.parametrize(("size", "decimals"), ROUNDED)
@pytest.mark.parametrize("angle", [30.0, -12.25, 17.5])
def test_rounded_neighbours_show_a_plain_azimuth(
    size: tuple[float, float, float], decimals: int, angle: float
) -> None:
    blocks = lattice(20, 15, 6, size)
    turned = in_world(blocks, LocalFrame([("z", angle)], (500_000.3, 6_800_000.7, 0.0)))
    assert azimuth_of(np.round(turned[:, :3], decimals), turned[:, 3:]) == angle


@pytest.mark.parametrize("decimals", [0, 1, 2])
@pytest.mark.parametrize("angle", [0.0, 30.0, -41.2, 5.0])
def test_a_frame_that_fits_rounded_coordinates_is_taken(decimals: int, angle: float) -> None:
    for size in ((10.0, 10.0, 5.0), (5.0, 5.0, 5.0), (20.0, 10.0, 5.0)):
        frame = LocalFrame([("z", angle)], (433_210.0, 669_620.0, 0.0))
        blocks = in_world(lattice(20, 15, 3, size), frame)
        points = np.round(blocks[:, :3], decimals)
        refuse_misfit(points, blocks[:, 3:], Frame(boxes=frame, stated=True), "model")
        other = LocalFrame([("z", angle + 5)], (0.0, 0.0, 0.0))
        if decimals == 2:
            with pytest.raises(TableError, match=re.escape(f"give frame='z={angle:g}'")):
                refuse_misfit(points, blocks[:, 3:], Frame(boxes=other, stated=True), "model")


def honest_models() -> dict[str, Floats]:
    """Return models in local coordinates that any lattice off the axes could be mistaken for."""
    random = np.random.default_rng(7)
    whole = lattice(30, 20, 3, (10.0, 8.0, 5.0))
    thin = lattice(30, 40, 2, (10.0, 2.0, 5.0))
    echelon = np.array([(8.0 * i, 6.0 * i, 2.5, 10.0, 2.0, 5.0) for i in range(60)])
    diagonal = np.array([(5.0 * i, 5.0 * i, 2.5, 5.0, 5.0, 5.0) for i in range(60)])
    knight = np.array([(3.0 * i, 4.0 * i, 2.5, 5.0, 3.5, 5.0) for i in range(60)])
    sub = np.vstack([whole, whole + np.array([1000, 0, 0, 0, 0, 0])])
    sub[len(whole) :, 3:] /= 2
    return {
        "regular": whole,
        "in no order": random.permutation(whole),
        "thin blocks": thin,
        "few blocks": whole[random.choice(len(whole), 40, replace=False)],
        "en echelon": echelon,
        "en echelon with gaps": knight,
        "a diagonal": diagonal,
        "two sizes": random.permutation(sub),
        "one row": whole[:30],
        "one column": whole[::600],
    }


def without_sizes(path: Path, points: Floats) -> Path:
    rows = [",".join(map(repr, row)) for row in points.tolist()]
    path.write_text("X,Y,Z,geology\n" + "\n".join(f"{row},ORE" for row in rows) + "\n")
    return path


@pytest.mark.parametrize("decimals", [0, 2, None])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("angle", [30.0, 45.0, -12.25, 60.0, 26.56505])
def test_turned_coordinates_are_not_turned_twice(
    order: str, angle: float, decimals: int | None, tmp_path: Path
) -> None:
    frame = LocalFrame([("z", angle)], (414_000.0, 7_480_000.0, 300.0))
    blocks = in_world(ORDERS[order](lattice(20, 15, 4, (10.0, 8.0, 5.0))), frame)
    if decimals is not None:
        blocks[:, :3] = np.round(blocks[:, :3], decimals)
    asked = {"rotation": f"z={angle}", "origin": "414000,7480000,300"}
    ore = box((-1e8, -1e8, -1e8), (1e8, 1e8, 1e8))
    sizeless = without_sizes(tmp_path / "b.csv", blocks[:, :3])
    for path in (write(tmp_path / "a.csv", blocks), sizeless):
        with pytest.raises(TableError, match=r"coordinates are already rotated by z="):
            geodomain.label_file(path, {"ORE": ore}, None, **asked)
    turned = ["--rotation", asked["rotation"], "--origin", asked["origin"]]
    outputs: dict[str, tuple[object, ...]] = {"inspect": ()}
    for verb, name in (("plot", "p.png"), ("report", "r.html")):
        outputs[verb] = ("-o", tmp_path / name, "--column", "geology")
    for verb, output in outputs.items():
        assert "already" in run(verb, sizeless, *output, *turned, code=3)


def test_a_checkered_model_of_its_own_frame_is_not_turned(tmp_path: Path) -> None:
    blocks = lattice(40, 40, 2, (10.0, 10.0, 5.0))
    places = np.round(blocks[:, :2] / 10 - 0.5)
    ore = box((-1e4, -1e4, -1e4), (1e4, 1e4, 1e4))
    for kind in (places.sum(axis=1) % 2, (2 * places[:, 0] + places[:, 1]) % 5):
        path = without_sizes(tmp_path / "a.csv", blocks[kind == 0, :3])
        geodomain.label_file(path, {"ORE": ore}, None, rotation="z=30", origin=(5, 6, 7))


@pytest.mark.parametrize("step", [10.0 / 3, 7.77, 0.5])
@pytest.mark.parametrize("decimals", [0, 1])
@pytest.mark.filterwarnings("ignore:.* have the same centroid as another")
def test_a_rounded_model_of_its_own_frame_is_not_turned(
    step: float, decimals: int, tmp_path: Path
) -> None:
    points = np.round(lattice(60, 40, 2, (step, step, 5.0))[:, :3], decimals)
    ore = box((-1e4, -1e4, -1e4), (1e4, 1e4, 1e4))
    path = without_sizes(tmp_path / "a.csv", points)
    geodomain.label_file(path, {"ORE": ore}, None, rotation="z=30", origin=(5, 6, 7))


@pytest.mark.parametrize("kind", honest_models())
@pytest.mark.parametrize("frame", [{"rotation": "z=30", "origin": (5, 6, 7)}, {"frame": "z=0"}])
@pytest.mark.filterwarnings("ignore")
def test_an_honest_model_is_never_refused(kind: str, frame: dict, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", honest_models()[kind])
    geodomain.inspect_file(path, **frame)
    ore = box((-1e4, -1e4, -1e4), (1e4, 1e4, 1e4))
    geodomain.label_file(path, {"ORE": ore}, None, **frame)
    path = without_sizes(tmp_path / "b.csv", honest_models()[kind][:, :3])
    geodomain.label_file(path, {"ORE": ore}, None, **frame)


# ---- containment


def test_containment_is_asked_in_the_frame_of_the_lattice(folder: Path) -> None:
    # Half of this solid lies beyond the model's eastern side, within its box in the world.
    write_mesh(solid((90, 20, 5), (110, 30, 15)), folder / "half.obj")
    for options in ((), ("--frame", "z=30")):
        said = run("inspect", "world.csv", "half.obj", *options)
        assert "closed: 50% of its box is in the model" in said
    rotation = ("--rotation", "z=30", "--origin", "414000,7480000,300")
    assert "closed: 50% of its box is in the model" in run(
        "inspect", "local.csv", "half.obj", *rotation
    )
    note = "extends beyond the block model: volume 1,000 (50.0%) beyond the side that faces azimuth"
    for source, options in (
        ("world.csv", ()), ("world.csv", ("--frame", "z=30")), ("local.csv", rotation),
    ):  # fmt: skip
        said = run("label", source, "--solid", "ORE=half.obj", "--dry-run", *options)
        assert f"{note} 120" in said
        assert "leaves" not in run("label", source, "--solid", "ORE=ore.obj", "--dry-run", *options)
    for model, options in (
        ("world.csv", {}),
        ("world.csv", {"frame": "z=30"}),
        ("local.csv", LOCAL),
    ):
        for name, volume in (("half", None), ("ore", pytest.approx(59.2 * 33.8 * 14.2))):
            summary = geodomain.label_file(model, {"ORE": f"{name}.obj"}, None, **options)
            assert summary.domains[0].wireframe_volume == volume


def test_a_wireframe_beside_a_turned_model_does_not_meet_it(folder: Path) -> None:
    write_mesh(solid((101, 20, 5), (110, 30, 15)), folder / "beside.obj")
    said = run("inspect", "world.csv", "beside.obj")
    assert "does not meet the model" in said and "outside the rotated model" in said


def test_a_tilted_lattice_is_not_called_upright(tmp_path: Path) -> None:
    pyvista = pytest.importorskip("pyvista")
    frame = LocalFrame([("z", 30.0), ("x", 20.0)], (0.0, 0.0, 0.0))
    image = pyvista.ImageData(dimensions=(5, 4, 3), spacing=(10, 8, 5))
    image.direction_matrix = np.array(frame.matrix)
    image.save(tmp_path / "a.vti")
    local = box((5, 5, 5), (60, 10, 8))
    mesh = Mesh(frame.to_world(local.vertices), local.triangles)
    found = geodomain.inspect_file(tmp_path / "a.vti", mesh)
    assert found.turned and found.azimuth == 0 and "tilted about x or y" in str(found)
    assert found.lattice.cells == (4, 3, 2)
    assert found.meshes[0].share == pytest.approx(35 / 55)
    summary = geodomain.label_file(tmp_path / "a.vti", {"ORE": mesh}, None)
    assert "extends beyond the block model" in str(summary) and "(36.4%)" in str(summary)


def parts_of(folder: Path, *parts: Floats) -> Path:
    """Write a dataset of parts, with three decimals as exports have them."""
    (folder / "blocks").mkdir()
    for number, part in enumerate(parts):
        write(folder / f"blocks/{number}.csv", np.round(part, 3))
    return folder / "blocks"


def test_parts_of_one_turned_lattice_are_one_model(folder: Path) -> None:
    write_mesh(solid((90, 20, 5), (110, 30, 15)), folder / "half.obj")
    blocks = in_world(lattice(10, 8, 4, (10.0, 8.0, 5.0)))
    parts_of(folder, blocks[:160], blocks[160:])
    said = run("label", "blocks", "--solid", "ORE=half.obj", "--dry-run")
    assert "(50.0%) beyond the side that faces azimuth 120" in said
    assert "different rotations" not in said


def test_parts_that_are_turned_differently_are_told(folder: Path) -> None:
    blocks = lattice(10, 8, 4, (10.0, 8.0, 5.0))
    other = in_world(blocks, LocalFrame([("z", 10.0)], (414_000.0, 7_480_000.0, 300.0)))
    parts_of(folder, in_world(blocks), other)
    said = run("label", "blocks", "--solid", "ORE=ore.obj", "--dry-run")
    assert "the parts of the model have different rotations" in said
    assert "different rotations" not in run(
        "label", "world.csv", "--solid", "ORE=ore.obj", "--dry-run"
    )
    said = run("label", "blocks", "--solid", "ORE=ore.obj", "--dry-run", "--frame", "z=30", code=3)
    assert (
        "1.csv" in said and "would overlap each other with --frame z=30: give --frame z=10" in said
    )


# ---- boxes


def labels_and_shares(path: Path) -> pd.DataFrame:
    return pd.read_csv(path)[["domain", "prop_ore"]]


def test_shares_of_turned_boxes_are_those_of_the_local_model(folder: Path) -> None:
    asked = {"proportions": "itself", "by": "majority"}
    ore = {"ORE": "ore.obj"}
    geodomain.label_file("local.csv", ore, "a.csv", **asked, **LOCAL)
    with pytest.raises(TableError, match=r"rotated by z=30.*give frame='z=30'") as refused:
        geodomain.label_file("world.csv", ore, "b.csv", **asked)
    assert "rotation" not in str(refused.value) and not Path("b.csv").exists()
    summary = geodomain.label_file("world.csv", ore, "b.csv", **asked, frame="z=30")
    one, other = labels_and_shares("a.csv"), labels_and_shares("b.csv")
    assert list(one["domain"].fillna("")) == list(other["domain"].fillna(""))
    assert np.abs(one["prop_ore"] - other["prop_ore"]).max() < 1e-6
    assert summary.domains[0].proportion_volume == pytest.approx(59.2 * 33.8 * 14.2)
    pd.read_csv("world.csv").to_parquet("world.parquet")
    with pytest.raises(TableError, match="give frame='z=30'"):
        geodomain.label_file("world.parquet", ore, "b.parquet", **asked)
    geodomain.label_file("world.parquet", ore, "b.parquet", **asked, frame=[("z", 30)])
    assert pd.read_parquet("b.parquet")["prop_ore"].tolist() == other["prop_ore"].tolist()


def test_frames_in_memory_are_refused_too(folder: Path) -> None:
    ore = {"ORE": "ore.obj"}
    frame = pd.read_csv("world.csv")
    for call in (
        lambda given: geodomain.proportions_blocks(given, ore),
        lambda given: geodomain.label_blocks(given, ore, by="majority"),
    ):
        with pytest.raises(TableError, match=r"label_file\(\.\.\., frame='z=30'\)"):
            call(frame)
        local = pd.read_csv("local.csv")
        call(local.assign(X=local.X + 414_000, Y=local.Y + 7_480_000, Z=local.Z + 300))
    geodomain.label_blocks(frame, ore)


@pytest.mark.parametrize("scheme", ["octree", "grid", "seam"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_sub_blocks_of_turned_boxes_are_those_of_the_local_model(
    folder: Path, scheme: str, kind: str
) -> None:
    ore = {"ORE": "ore.obj"}
    pd.read_csv("local.csv").to_parquet("local.parquet")
    pd.read_csv("world.csv").to_parquet("world.parquet")
    asked = {"scheme": scheme, "minimum": "2.5,2,1.25", "merge": True}
    with pytest.raises(TableError, match=r"split along the world axes.*give frame='z=30'"):
        geodomain.subblock_file(f"world.{kind}", ore, f"b.{kind}", **asked)
    geodomain.subblock_file(f"local.{kind}", ore, f"a.{kind}", **asked, **LOCAL)
    done = geodomain.subblock_file(f"world.{kind}", ore, f"b.{kind}", **asked, frame="z=30")
    read = pd.read_csv if kind == "csv" else pd.read_parquet
    one, other = read(f"a.{kind}"), read(f"b.{kind}")
    assert len(one) == len(other) > 320
    columns = ["DX", "DY", "DZ", "parent"]
    assert np.allclose(one[columns], other[columns], rtol=0, atol=0 if kind == "csv" else 1e-9)
    assert one["domain"].fillna("").equals(other["domain"].fillna(""))
    places = FRAME.to_world(one[["X", "Y", "Z"]].to_numpy(np.float64))
    away = np.abs(places - other[["X", "Y", "Z"]].to_numpy(np.float64)).max()
    assert away < 6e-7 if kind == "csv" else away < 1e-8
    if kind == "csv":  # blocks that no wall enters keep their rows, byte for byte
        rows = set(Path("world.csv").read_text().splitlines()[1:])
        kept = [",".join(row.split(",")[:6]) for row in Path("b.csv").read_text().splitlines()[1:]]
        assert sum(row in rows for row in kept) == done.parents - done.split == 210


@pytest.mark.parametrize("scheme", ["octree", "grid", "seam"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("turns", ["z=30", "z=-12.5,x=40"])
def test_sub_blocks_in_the_world_are_joined_as_those_of_the_local_model(
    folder: Path, scheme: str, kind: str, turns: str
) -> None:
    origin = (414_000.0, 7_480_000.0, 300.0)
    frame = LocalFrame(read_turns(turns), origin)
    ore = {"ORE": Mesh(frame.to_world(FRAME.to_local(read_mesh("ore.obj").vertices)), BOX)}
    blocks = lattice(10, 8, 4, (10.0, 8.0, 5.0))
    write(folder / "world.csv", in_world(blocks, frame))
    for name in ("local", "world"):
        pd.read_csv(f"{name}.csv").to_parquet(f"{name}.parquet")
    asked = {"scheme": scheme, "minimum": "2.5,2,1.25"}
    local = {"rotation": turns, "origin": origin}
    geodomain.subblock_file(f"local.{kind}", ore, f"a.{kind}", **asked, **local)
    geodomain.subblock_file(f"world.{kind}", ore, f"b.{kind}", **asked, frame=turns)
    one = geodomain.merge_file(f"a.{kind}", f"am.{kind}")
    other = geodomain.merge_file(f"b.{kind}", f"bm.{kind}", frame=turns)
    assert one.before == other.before > one.after == other.after
    read = pd.read_csv if kind == "csv" else pd.read_parquet
    one, other = read(f"am.{kind}"), read(f"bm.{kind}")
    columns = ["DX", "DY", "DZ", "parent"]
    # The cuts of a seam are multiples of the resolution, of heights that a tilt has rounded.
    near = 1.1e-3 if scheme == "seam" and "x" in turns else 2e-6
    assert np.allclose(one[columns], other[columns], rtol=0, atol=near)
    assert one["domain"].fillna("").equals(other["domain"].fillna(""))
    places = frame.to_world(one[["X", "Y", "Z"]].to_numpy(np.float64))
    assert np.abs(places - other[["X", "Y", "Z"]].to_numpy(np.float64)).max() < near


def test_turned_sub_blocks_are_not_joined_along_the_wrong_axes(folder: Path) -> None:
    asked = {"scheme": "grid", "minimum": "2.5,2,1.25"}
    geodomain.subblock_file("world.csv", {"ORE": "ore.obj"}, "b.csv", **asked, frame="z=30")
    said = run("merge", "b.csv", "-o", "m.csv", code=3)
    assert (
        "rotated by z=30" in said
        and "joined along the world axes" in said
        and "--frame z=30" in said
    )
    said = run("merge", "b.csv", "-o", "m.csv", "--frame=z=-30", code=3)
    assert "would overlap each other with --frame z=-30: give --frame z=30" in said
    assert not Path("m.csv").exists()
    said = run("merge", "b.csv", "-o", "m.csv", "--frame", "z=30")
    before, after = pd.read_csv("b.csv"), pd.read_csv("m.csv")
    assert len(after) < len(before) / 2
    volumes = [(t.DX * t.DY * t.DZ).groupby(t.parent).sum() for t in (before, after)]
    assert np.allclose(*volumes, rtol=1e-12, atol=0)


def test_turned_parts_that_do_not_fill_a_box_stay_apart(folder: Path) -> None:
    parts = np.array([(2.5, 4, 2.5, 5, 8, 5), (7.5, 4, 2.5, 5, 8, 4.99)])
    path = write(folder / "parts.csv", in_world(parts))
    rows = path.read_text().splitlines()
    path.write_text("\n".join([rows[0] + ",parent", *(f"{row},0" for row in rows[1:])]) + "\n")
    assert geodomain.merge_file(path, "m.csv", frame="z=30").after == 2
    assert Path("m.csv").read_text() == path.read_text()


def test_corners_of_turned_boxes(folder: Path) -> None:
    blocks = lattice(10, 8, 4, (10.0, 8.0, 5.0))
    blocks[:, :3] -= blocks[:, 3:] / 2
    write(folder / "corners.csv", in_world(blocks))
    ore = {"ORE": "ore.obj"}
    geodomain.label_file("world.csv", ore, "a.csv")
    geodomain.label_file("corners.csv", ore, "b.csv", position="corner", frame="z=30")
    assert pd.read_csv("a.csv")["domain"].equals(pd.read_csv("b.csv")["domain"])


# ---- one turn too many, and the wrong one


def test_a_rotation_of_what_is_turned_already_is_refused(folder: Path) -> None:
    rotation = ("--rotation", "z=30", "--origin", "0,0,0")
    pd.read_csv("world.csv").to_parquet("world.parquet")
    for source in ("world.csv", "world.parquet"):
        for verb in ("inspect", "label"):
            solids = ("--solid", "ORE=ore.obj", "--dry-run") if verb == "label" else ()
            said = run(verb, source, *solids, *rotation, code=3)
            assert "its coordinates are already rotated by z=30" in said
            assert "give --frame z=30 instead" in said
    frame = ("--frame=z=-30",)
    said = run("label", "world.csv", "--solid", "ORE=ore.obj", "--dry-run", *frame, code=3)
    assert "would overlap each other with --frame z=-30: give --frame z=30" in said


def test_two_frames_are_misuse(folder: Path) -> None:
    asked = ("--frame", "z=30", "--rotation", "z=30", "--origin", "0,0,0")
    said = run("inspect", "world.csv", *asked, code=2)
    assert "give only one of them" in said
    with pytest.raises(ValueError, match="give only one of them"):
        geodomain.inspect_file("world.csv", frame="z=30", **LOCAL)


def test_a_turned_model_is_drawn_and_converted_as_said(folder: Path) -> None:
    # Two blocks show nothing; the caller does.
    write(folder / "two.csv", in_world(lattice(2, 1, 1, (10.0, 8.0, 5.0)))[::2])
    geodomain.convert_blocks("two.csv", "two.vtu", frame="z=30")
    pyvista = pytest.importorskip("pyvista")
    corners = FRAME.to_local(np.asarray(pyvista.read("two.vtu").points, np.float64))
    assert np.allclose(np.ptp(corners, axis=0), (10, 8, 5), atol=1e-6)


def test_the_bunny_is_measured_along_its_own_axes(shared_data: Path, tmp_path: Path) -> None:
    model, mesh = shared_data / "bunny/bunny_blocks.csv", shared_data / "bunny/bunny.obj"
    found = geodomain.inspect_file(model, mesh)
    assert found.azimuth == -10 and found.meshes[0].share > 1 - 1e-9
    with pytest.raises(TableError, match="frame='z=-10'"):
        geodomain.label_file(model, {"ORE": mesh}, None, proportions="itself")
    with pytest.raises(TableError, match="already"):
        geodomain.label_file(model, {"ORE": mesh}, None, rotation="z=-10", origin=(0, 0, 0))
    summary = geodomain.label_file(
        model, {"ORE": mesh}, tmp_path / "b.csv", proportions="itself", frame="z=-10"
    )
    ore = summary.domains[0]
    assert ore.blocks == 1774 and not summary.warnings
    assert ore.proportion_volume == pytest.approx(ore.wireframe_volume, rel=1e-9)


# --- A rotated and sub-blocked model, by every way in.


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RotatedModel:
    monkeypatch.chdir(tmp_path)
    return make_model(tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_same_labels(model: RotatedModel, way: str) -> None:
    truth = model.truth
    assert (len(truth), truth.count("Body")) == (4164, 2184)
    assert WAYS[way](model) == truth


def test_what_is_understood_of_it(model: RotatedModel) -> None:
    survey = Survey()
    survey.add(model.table[:, :3], model.table[:, 3:])
    lattice = find_lattice(survey)
    assert survey.azimuth == pytest.approx(-10, abs=1e-6)
    assert lattice and lattice.cells == (8, 6, 8) and lattice.spacing == (400, 400, 400)
    assert lattice.filled == pytest.approx(1) and sub_blocking(survey) == "octree"
    layout = read_layout(model.blocks.read_bytes())
    assert layout.sizes is not None
    names = [layout.names[column] for column in (*layout.xyz, *layout.sizes)]
    assert names == ["X", "Y", "Z", "dX", "dY", "dZ"]
