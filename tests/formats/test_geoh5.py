"""Workspaces of Geoscience ANALYST: geometry by hand, labels as data, the rest as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from geoh5_files import NO_FLOAT, NO_INTEGER, Maker, tree
from late import h5py, needs
from wireframes import box

import geodomain
from geodomain import (
    MeshError,
    TableError,
    inspect_file,
    label_file,
    read_domains,
    read_mesh,
    read_meshes,
)
from geodomain.cli import main
from geodomain.formats.blocks import open_model
from geodomain.tables.options import TableOptions

pytestmark = needs("h5py")

EDGES = ([0.0, 10.0, 20.0, 40.0], [0.0, 5.0, 10.0], [0.0, 4.0, 10.0, 12.0, 13.0])
ORIGIN = (1000.0, 2000.0, -50.0)
CELLS = [(0, 0, 0, 2), (2, 0, 0, 2), (0, 2, 0, 2), (2, 2, 0, 1), (3, 2, 0, 1), (2, 3, 1, 1)]
ORE = {"ORE é": box((1000, 2000, -50), (1020, 2010, -40))}


def turned(points: np.ndarray, degrees: float, origin=ORIGIN) -> np.ndarray:
    """Rotate points about the vertical, counterclockwise, and add the origin."""
    turn = np.deg2rad(degrees)
    matrix = np.array(
        [[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]]
    )
    return points @ matrix.T + origin


def centres(edges=EDGES, rotation: float = 0.0) -> np.ndarray:
    """Return the centres of a block model in the order of the layout: z, then u, then v."""
    u, v, z = ((np.array(one)[1:] + np.array(one)[:-1]) / 2 for one in edges)
    return turned(np.array([(a, b, c) for b in v for a in u for c in z]), rotation)


def octree_centres(size=(5.0, 5.0, -4.0), rotation: float = 0.0) -> np.ndarray:
    cells = np.array(CELLS, float)
    return turned((cells[:, :3] + cells[:, 3:] / 2) * size, rotation)


def read(path: object) -> tuple[np.ndarray, np.ndarray, dict[str, list]]:
    """Return the centres, sizes and values of a block model."""
    with open_model(str(path), TableOptions()) as model:
        blocks = model.gathered()
    return (
        blocks.centroids,
        blocks.sizes,
        {name: values.tolist() for name, values in blocks.columns.items()},
    )


def project(path: Path, rotation: float = 0.0) -> Path:
    """Write surfaces in groups, a block model, an octree and a grid, and return the path."""
    with Maker(path) as made:
        geology = made.group("Geology")
        inner = made.group("Inner", geology)
        made.surface("Ore", box((0, 0, 0), (1, 2, 3)), geology)
        made.surface("Ore", box((5, 5, 5), (6, 7, 8)), inner)
        made.surface("Waste", box((0, 0, 0), (9, 9, 9)))
        blocks = made.blocks("Blocks", EDGES, ORIGIN, rotation, geology)
        count = 24
        rock = np.arange(count, dtype="<u4") % 3
        made.data(blocks, "AU", np.where(rock == 0, NO_FLOAT, np.arange(count) / 8))
        single = np.where(rock == 0, NO_FLOAT, 0.7).astype("<f4")
        made.data(blocks, "CU", single)
        made.data(blocks, "N", np.where(rock == 1, NO_INTEGER, 5).astype("<i4"), "Integer")
        made.data(blocks, "ROCK", rock, "Referenced", {1: "Granite", 2: "Ovb é"})
        made.data(blocks, "NOTE", np.array([f"é{n}" for n in range(20)]), "Text")
        made.data(blocks, "FLAG", (rock == 2).astype("i1"), "Boolean")
        made.data(blocks, "EMPTY", None)
        made.data(blocks, "DATES", np.array(["2020-01-01"] * count), "DateTime")
        made.data(blocks, "whole", np.array([1.0]), association="Object")
        tree_ = made.octree("Tree", CELLS, (4, 4, 4), (5.0, 5.0, -4.0), ORIGIN, rotation)
        made.data(tree_, "AU", np.arange(6) / 4)
        grid = made.grid("DEM", (3, 2), (10.0, 20.0), (100.0, 200.0, 7.0))
        made.data(grid, "elevation", np.array([1.0, 2, 3, 4, 5, 6]))
        made.data(grid, "magnetics", np.array([9.0, 8, 7, 6, 5, NO_FLOAT]))
        made.object("Points", "Stations", {})
    return path


# --- Wireframes.


def test_surfaces_have_names_paths_and_ids(tmp_path):
    path = project(tmp_path / "a.geoh5")
    found = read_meshes(path)
    assert sorted(found) == ["Geology/Inner/Ore", "Geology/Ore", "Waste"]
    assert found["Waste"].is_closed and len(found["Waste"].triangles) == 12
    for name, high in (("Geology/Ore", 3), ("Inner/Ore", 8), ("Geology/Inner/Ore", 8)):
        assert read_mesh(f"{path}:{name}").vertices.max() == high
    with h5py.File(path) as file:
        ids = {
            one.attrs["ID"]: [max(one["Vertices"][axis].tolist()) for axis in "xyz"]
            for one in file["GEOSCIENCE/Objects"].values()
            if "Vertices" in one
        }
    for key, corner in ids.items():
        for spelled in (key, key.strip("{}").upper()):
            assert read_mesh(f"{path}:{spelled}").vertices.max(axis=0).tolist() == corner
    with pytest.raises(MeshError, match=r"2 surfaces called 'Ore': .*'Geology/Inner/Ore'"):
        read_mesh(f"{path}:Ore")
    with pytest.raises(MeshError, match=r"no surface 'wasted': .*; did you mean 'Waste'\?"):
        read_mesh(f"{path}:wasted")


def test_objects_with_one_path_are_told_apart_by_id(tmp_path):
    path = tmp_path / "a.geoh5"
    with Maker(path) as made:
        keys = [made.surface("Ore", box((0, 0, 0), (n, 1, 1))) for n in (1, 2)]
    names = [f"Ore {key}" for key in keys]
    assert list(read_meshes(path)) == names
    assert read_mesh(f"{path}:{names[1]}").vertices.max() == 2
    with pytest.raises(MeshError, match=r"choose one of 'Ore \{0"):
        read_mesh(f"{path}:Ore")


def test_coordinates_keep_all_digits(tmp_path):
    low, high = (7480000.1, 0.123456789012345, -1e-3), (7480001.7, 1.1, 1 / 3)
    with Maker(tmp_path / "a.geoh5") as made:
        made.surface("A", box(low, high))
    mesh = read_mesh(tmp_path / "a.geoh5")
    assert mesh.vertices.min(axis=0).tolist() == list(low)
    assert mesh.vertices.max(axis=0).tolist() == list(high)


def test_a_grid_is_a_surface_through_the_centres_of_its_cells(tmp_path):
    path = project(tmp_path / "a.geoh5")
    mesh = read_mesh(f"{path}:DEM")
    wanted = [(x, y) for y in (210, 230) for x in (105, 115, 125)]
    assert mesh.vertices.tolist() == [[x, y, n + 1] for n, (x, y) in enumerate(wanted)]
    assert len(mesh.triangles) == 4
    other = read_mesh(f"{path}:DEM/magnetics")  # the last cell has no height
    assert len(other.triangles) == 2 and other.vertices[:, 2].max() == 9
    with Maker(tmp_path / "b.geoh5") as made:
        grid = made.grid("DEM", (2, 2), (10.0, 20.0), ORIGIN, Rotation=30.0)
        made.data(grid, "anything", np.array([1.0, 2, 3, 4]))
    flat = np.array([(5, 10, 0), (15, 10, 0), (5, 30, 0), (15, 30, 0)], float)
    expected = turned(flat, 30.0)
    expected[:, 2] = [1, 2, 3, 4]
    np.testing.assert_allclose(read_mesh(tmp_path / "b.geoh5").vertices, expected, rtol=1e-15)


def test_grids_that_are_no_surface_are_refused(tmp_path):
    with Maker(tmp_path / "a.geoh5") as made:
        made.data(made.grid("Upright", (2, 2), (1.0, 1.0), Vertical=np.int8(1)), "z", np.ones(4))
        made.data(made.grid("Dipping", (2, 2), (1.0, 1.0), Dip=30.0), "z", np.ones(4))
        made.grid("Bare", (2, 2), (1.0, 1.0))
        two = made.grid("Two", (2, 2), (1.0, 1.0))
        made.data(two, "a", np.ones(4))
        made.data(two, "b", np.ones(4))
        made.data(made.grid("Short", (2, 3), (1.0, 1.0)), "z", np.ones(4))
        made.data(made.grid("Thin", (1, 4), (1.0, 1.0)), "z", np.ones(4))
    for name, told in {
        "Upright": "not horizontal",
        "Dipping": "not horizontal",
        "Bare": "has no data of numbers",
        "Two": r"has the data 'a' and 'b': name .* as a.geoh5:Two/DATA",
        "Short": "4 heights for 2 x 3 cells",
        "Thin": "no four neighbouring cells",
        "Two/c": "has the data 'a' and 'b'",
    }.items():
        with pytest.raises(MeshError, match=told):
            read_mesh(f"{tmp_path / 'a.geoh5'}:{name}")
    with pytest.raises(MeshError, match="has no surface: it holds 'Grid2D'"):
        read_mesh(tmp_path / "a.geoh5")


def test_grids_besides_surfaces_are_read_by_their_names_only(tmp_path, caplog):
    path = project(tmp_path / "a.geoh5")
    with caplog.at_level("INFO", "geodomain"):
        assert len(read_meshes(path)) == 3
    assert "a.geoh5 also holds 'DEM', which are read only by name" in caplog.text


def test_objects_of_different_kinds_may_have_one_name(tmp_path):
    path = tmp_path / "a.geoh5"
    with Maker(path) as made:
        made.surface("Pit", box((0, 0, 0), (1, 2, 3)))
        made.data(made.grid("Pit", (2, 2), (1.0, 1.0)), "elevation", np.arange(4.0))
        made.blocks("Pit", EDGES)
        made.blocks("Model", EDGES)
    assert read_mesh(f"{path}:Pit").is_closed
    assert len(read_mesh(f"{path}:Pit/elevation").vertices) == 4
    assert inspect_file(f"{path}:Pit").rows == 24
    for name, count in (("Pit", None), ("Model", 24)):
        done = CliRunner().invoke(main, ["convert", f"{path}:{name}", f"{tmp_path / name}.omf"])
        assert done.exit_code == 0, done.output
        assert ("24 blocks" in done.output) == (count is not None)


# --- Block models.


@pytest.mark.parametrize("rotation", [0.0, 30.0, -110.5, 90.0])
def test_centres_sizes_and_values(tmp_path, rotation):
    path = project(tmp_path / "named.dat", rotation)  # the content decides
    found, sizes, values = read(f"{path}:Blocks")
    np.testing.assert_allclose(found, centres(rotation=rotation), rtol=1e-14)
    assert sizes[:5].tolist() == [[10, 5, 4], [10, 5, 6], [10, 5, 2], [10, 5, 1], [10, 5, 4]]
    assert [*values] == ["AU", "CU", "EMPTY", "FLAG", "N", "NOTE", "ROCK"]
    np.testing.assert_array_equal(values["AU"][:4], [np.nan, 1 / 8, 2 / 8, np.nan])
    np.testing.assert_array_equal(values["CU"][:2], [np.nan, np.float32(0.7)])
    np.testing.assert_array_equal(values["N"][:3], [5, np.nan, 5])
    assert values["ROCK"][:3] == ["", "Granite", "Ovb é"] and values["FLAG"][:3] == [0, 0, 1]
    assert values["NOTE"][18:22] == ["é18", "é19", "", ""]
    assert np.isnan(values["EMPTY"]).all()


@pytest.mark.parametrize("rotation", [0.0, 30.0])
def test_cells_of_an_octree(tmp_path, rotation):
    path = project(tmp_path / "a.geoh5", rotation)
    found, sizes, values = read(f"{path}:Tree")
    np.testing.assert_allclose(found, octree_centres(rotation=rotation), rtol=1e-14)
    assert sizes[[0, 3]].tolist() == [[10, 10, 8], [5, 5, 4]]
    assert values["AU"] == [0, 0.25, 0.5, 0.75, 1, 1.25]


def test_edges_may_go_down(tmp_path):
    edges = (EDGES[0], EDGES[1], [0.0, -4.0, -10.0])
    with Maker(tmp_path / "a.geoh5") as made:
        made.blocks("Blocks", edges, ORIGIN)
    found, sizes, _ = read(tmp_path / "a.geoh5")
    np.testing.assert_allclose(found, centres(edges), rtol=1e-14)
    assert sizes[:2].tolist() == [[10, 5, 4], [10, 5, 6]]


@pytest.mark.parametrize("model", ["Blocks", "Tree"])
@pytest.mark.parametrize("rotation", [0.0, 30.0])
def test_labels_are_those_of_the_same_blocks_in_other_formats(tmp_path, model, rotation):
    path = project(tmp_path / "a.geoh5", rotation)
    places = centres(rotation=rotation) if model == "Blocks" else octree_centres(rotation=rotation)
    sizes = read(f"{path}:{model}")[1]
    rows = [",".join(map(repr, row)) for row in np.column_stack([places, sizes]).tolist()]
    table = tmp_path / "a.csv"
    table.write_text("\n".join(["x,y,z,dx,dy,dz", *rows]) + "\n")
    ore = {"ORE": box((985, 1995, -64), (1009.3, 2011.1, -43.7))}
    turn = {"frame": f"z={-rotation:g}"} if rotation else {}
    label_file(table, ore, tmp_path / "b.csv", background="W", **turn)
    wanted = [row.rpartition(",")[2] for row in (tmp_path / "b.csv").read_text().split()[1:]]
    assert {*wanted} == {"ORE", "W"}
    label_file(f"{path}:{model}", ore, tmp_path / "b.geoh5", background="W")
    assert read(f"{tmp_path / 'b.geoh5'}:{model}")[2]["domain"] == wanted
    geodomain.convert_blocks(f"{path}:{model}", tmp_path / "a.omf")
    label_file(tmp_path / "a.omf", ore, tmp_path / "b.omf", background="W")
    found, _, values = read(tmp_path / "b.omf")
    nearest = np.linalg.norm(found[:, None] - places, axis=2).argmin(axis=1)
    assert [wanted[n] for n in nearest] == values["domain"]


def test_labels_are_referenced_data_and_the_rest_stays(tmp_path):
    path, out = project(tmp_path / "a.geoh5"), tmp_path / "b.geoh5"
    summary = label_file(f"{path}:Blocks", ORE, out, flags=True)
    assert "ORE é 8" in repr(summary)
    before, after = tree(path), tree(out)
    assert {key: after.get(key) for key in before} == before
    new = {
        key: told
        for key, told in after.items()
        if key not in before and key.startswith("/GEOSCIENCE/Data/") and key.count("/") == 3
    }
    assert sorted(told["Name"] for told in new.values()) == ["domain", "in_ore é"]
    assert {told["Association"] for told in new.values()} == {"Cell"}
    key = next(key for key, told in new.items() if told["Name"] == "domain")
    assert after[f"{key}/Type"]["Primitive type"] == "Referenced"
    assert after[f"{key}/Type/Value map"][1] == [(0, b"Unknown"), (1, "ORE é".encode())]
    kind, codes = after[f"{key}/Data"]
    assert kind == "uint32" and codes.count(1) == 8 and codes.count(0) == 16
    with h5py.File(out) as file:
        objects = file["GEOSCIENCE/Objects"].values()
        owner = next(one for one in objects if one.attrs["Name"] == "Blocks")
        assert key.rpartition("/")[2] in owner["Data"]
    again = tmp_path / "c.geoh5"
    label_file(f"{path}:Blocks", ORE, again, flags=True)
    assert tree(again) == after  # the same ids


def test_replaced_numbers_and_labels(tmp_path):
    path = project(tmp_path / "a.geoh5")
    name = f"{path}:Blocks"
    label_file(name, ORE, tmp_path / "b.geoh5", column="ROCK", replace=True, background="W")
    before, after = tree(path), tree(tmp_path / "b.geoh5")
    changed = {key for key in before if after.get(key) != before[key]}
    (key,) = [one for one, told in before.items() if one.count("/") == 3 and "Data/" in one
              and isinstance(told, dict) and told["Name"] == "ROCK"]  # fmt: skip
    assert all("/Data" in one and key.rpartition("/")[2] in one for one in changed)
    assert after[key] == before[key]
    found = read(f"{tmp_path / 'b.geoh5'}:Blocks")[2]
    assert {*found["ROCK"]} == {"ORE é", "W"} and "domain" not in found
    domain = geodomain.Domain("ORE", *ORE.values(), code=7)
    label_file(name, domain, tmp_path / "c.geoh5", codes=True)
    codes = read(f"{tmp_path / 'c.geoh5'}:Blocks")[2]["domain"]
    assert np.nansum(np.array(codes) == 7) == 8 and np.isnan(codes).sum() == 16
    label_file(name, ORE, tmp_path / "d.geoh5", proportions="itself")
    shares = read(f"{tmp_path / 'd.geoh5'}:Blocks")[2]
    (new,) = shares.keys() - found.keys() - {"domain"}
    assert sum(shares[new]) == 8
    assert sum(isinstance(one, float) for one in shares["AU"]) == 24


def test_a_model_is_labelled_in_place_and_no_lock_is_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = project(Path("a.geoh5"))
    label_file("a.geoh5:Tree", {"A": box((995, 1995, -60), (1012, 2012, -40))}, "a.geoh5",
               overwrite=True)  # fmt: skip
    assert "domain" in read("a.geoh5:Tree")[2] and "domain" not in read("a.geoh5:Blocks")[2]
    fcntl = pytest.importorskip("fcntl")
    with path.open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert [one.name for one in Path().iterdir()] == ["a.geoh5"]


def test_conditions_read_the_data(tmp_path):
    path = project(tmp_path / "a.geoh5")
    every = box((0, 0, -1000), (9000, 9000, 1000))
    domain = geodomain.Domain("A", every, only_if={"ROCK": "Granite", "CU": {">=": 0.7}})
    label_file(f"{path}:Blocks", domain, tmp_path / "b.geoh5")
    found = read(f"{tmp_path / 'b.geoh5'}:Blocks")[2]
    assert found["domain"] == ["A" if rock == "Granite" else "" for rock in found["ROCK"]]


def test_one_model_of_several(tmp_path):
    path = project(tmp_path / "a.geoh5")
    with pytest.raises(TableError, match="holds 2 block models: choose one of 'Blocks' and 'Tree'"):
        inspect_file(path)
    with pytest.raises(TableError, match=r"no block model 'Blok': .*did you mean 'Blocks'"):
        inspect_file(f"{path}:Blok")
    assert inspect_file(f"{path}:Geology/Blocks").rows == 24
    with pytest.raises(TableError, match="so x= does not apply"):
        inspect_file(f"{path}:Blocks", x="AU")
    with Maker(tmp_path / "b.geoh5") as made:
        made.surface("Ore", box((0, 0, 0), (1, 2, 3)))
    with pytest.raises(TableError, match="has no block model: it holds 'Surface'"):
        inspect_file(tmp_path / "b.geoh5")


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, [str(one) for one in arguments])
    return done.exit_code, done.output


def test_commands_take_a_workspace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    project(Path("a.geoh5"))
    code, text = run("inspect", "a.geoh5:Blocks")
    assert code == 0 and "geoh5, 'Geology/Blocks', blocks of 3 x 2 x 4 cells" in text
    code, text = run("check", "a.geoh5:Waste")
    assert code == 0 and "can be used for labelling" in text
    with Maker(Path("o.geoh5")) as new:
        new.surface("Ore", *ORE.values())
    ore = "ORE=o.geoh5:Ore"
    code, text = run(
        "label", "a.geoh5:Blocks", "--solid", ore, "-o", "b.geoh5", "--background", "W"
    )
    assert code == 0, text
    code, text = run("tonnes", "b.geoh5:Blocks", "--density", "2.7")
    assert code == 0 and "5,200" in text, text
    code, text = run("report", "b.geoh5:Blocks", "--solid", ore, "-o", "r.html")
    assert code == 0, text
    code, text = run("convert", "a.geoh5:Blocks", "b.omf")
    assert code == 0 and read("b.omf")[0].shape == (24, 3), text
    code, text = run("convert", "a.geoh5:Waste", "c.omf")
    assert code == 0 and list(read_meshes("c.omf")) == ["Waste"], text
    code, text = run("convert", "a.geoh5", "d.omf")
    assert code == 0 and len(read_meshes("d.omf")) == 3
    assert "also holds 2 block models, 'Blocks' and 'Tree'" in text
    code, text = run("label", "a.geoh5:Blocks", "--solid", ore, "-o", "b.csv")
    assert code != 0 and "give b.csv the extension .geoh5" in text
    code, text = run("label", "a.geoh5:Blocks", "--solid", ore, "-o", "a.geoh5", "--overwrite")
    assert code == 3 and "a.geoh5 is the input itself" in text and "--in-place" in text
    long = "Z" * 300  # longer than the name of a file may be
    for name in ("Blocks [2]", "B*", long):
        code, text = run("label", f"a.geoh5:{name}", "--solid", ore, "-o", "c.geoh5")
        assert code == 3 and "a.geoh5 has no block model" in text
    code, text = run("label", "a.geoh5:Blocks", "--solid", f"O=a.geoh5:{long}", "-o", "c.geoh5")
    assert code == 3 and "a.geoh5 has no surface 'ZZZ" in text


def test_tonnes_and_report_of_one_model_of_several(tmp_path, monkeypatch):
    """Both read the copy, which has all models of the workspace."""
    monkeypatch.chdir(tmp_path)
    project(Path("a.geoh5"))
    code, text = run(
        "label", "a.geoh5:Geology/Blocks", "--solid", "W=a.geoh5:Waste", "--background", "AIR",
        "--allow-disjoint", "--density", "2.5", "--report", "r.html", "-o", "b.geoh5",
    )  # fmt: skip
    assert code == 0, text
    assert "13,000" in text and "wrote r.html" in text  # 5,200 times 2.5


def test_a_list_of_domains_names_objects_by_paths(tmp_path):
    project(tmp_path / "a.geoh5")
    for mesh in ("a.geoh5:Geology/Inner/Ore", "a.geoh5:Inner/Ore"):
        (tmp_path / "d.toml").write_text(f'[[domain]]\nname = "O"\nmesh = "{mesh}"\n')
        (domain,) = read_domains(tmp_path / "d.toml")
        assert domain.meshes[0].bounds[0].tolist() == [5, 5, 5]


# --- New workspaces.


def test_wireframes_are_written_with_their_names(tmp_path):
    solids = {
        "Ore é": box((7480000.1, 0, 1 / 3), (7480001.7, 1, 2)),
        "B": box((0, 0, 0), (1, 1, 1)),
    }
    geodomain.write_mesh(solids, tmp_path / "a.geoh5")
    found = read_meshes(tmp_path / "a.geoh5")
    assert {*found} == {*solids}
    for name, mesh in solids.items():
        assert found[name].vertices.tolist() == mesh.vertices.tolist()
        assert found[name].triangles.tolist() == mesh.triangles.tolist()
    first = (tmp_path / "a.geoh5").read_bytes()
    geodomain.write_mesh(solids, tmp_path / "b.geoh5")
    assert (tmp_path / "b.geoh5").read_bytes() == first


@pytest.mark.parametrize("rotation", [0.0, 30.0, -110.5])
def test_a_block_model_comes_back_as_it_was(tmp_path, rotation):
    path = project(tmp_path / "a.geoh5", rotation)
    assert geodomain.convert_blocks(f"{path}:Blocks", tmp_path / "b.geoh5") == 24
    (centroids, sizes, values), old = read(tmp_path / "b.geoh5"), read(f"{path}:Blocks")
    np.testing.assert_allclose(centroids, old[0], rtol=1e-14)
    np.testing.assert_allclose(sizes, old[1], rtol=1e-12)
    for name in ("AU", "FLAG", "N"):
        np.testing.assert_array_equal(values[name], old[2][name])
    assert values["ROCK"] == old[2]["ROCK"] and values["NOTE"] == old[2]["NOTE"]
    np.testing.assert_array_equal(values["CU"][:2], [np.nan, 0.7])
    with h5py.File(tmp_path / "b.geoh5") as file:
        (model,) = file["GEOSCIENCE/Objects"].values()
        assert model.attrs["Rotation"] == (rotation + 180) % 360 - 180


def test_blocks_of_a_table_become_a_model(tmp_path):
    rows = [f"{x},{y},{z},{n}" for n, (z, y, x) in enumerate(np.ndindex(2, 3, 4))]
    (tmp_path / "a.csv").write_text("\n".join(["x,y,z,NUMBER", *rows]) + "\n")
    with pytest.raises(TableError, match="the blocks have no sizes"):
        geodomain.convert_blocks(tmp_path / "a.csv", tmp_path / "b.geoh5")
    geodomain.convert_blocks(tmp_path / "a.csv", tmp_path / "b.geoh5", dx=1, dy=1, dz=1)
    found, _, values = read(tmp_path / "b.geoh5")
    number = found @ [1, 4, 12]
    assert values["NUMBER"] == number.astype(int).tolist()


def test_blocks_that_are_no_grid_are_refused(tmp_path):
    path = project(tmp_path / "a.geoh5")
    with pytest.raises(TableError, match=r"cannot store these blocks.*use the extension \.omf"):
        geodomain.convert_blocks(f"{path}:Tree", tmp_path / "b.geoh5")
    assert not (tmp_path / "b.geoh5").exists()


# --- Files that are damaged, too large, held by another program, or no workspaces.


def changed(path: Path, change) -> Path:
    with h5py.File(path, "r+") as file:
        base = file["GEOSCIENCE"]
        change(base, {one.attrs["Name"]: one for one in base["Objects"].values()})
    return path


def put(group, name: str, values) -> None:
    if name in group:
        del group[name]
    group.create_dataset(name, **values) if isinstance(values, dict) else group.create_dataset(
        name, data=values
    )


HUGE = {"shape": (2**40,), "dtype": "<f8", "chunks": (2**20,)}
PLACE = np.dtype([("x", "<f8"), ("y", "<f8"), ("z", "<f8")])
BAD_MODELS = {
    "huge edges": (lambda o: put(o, "U cell delimiters", HUGE), "of memory"),
    "edges that turn": (lambda o: put(o, "U cell delimiters", [0.0, 2, 1]), "neither increase"),
    "one edge": (lambda o: put(o, "V cell delimiters", [0.0]), "are not the edges"),
    "endless edges": (lambda o: put(o, "V cell delimiters", [0.0, np.inf]), "are not the edges"),
    "too many cells": (
        lambda o: [put(o, f"{a} cell delimiters", np.arange(1e5)) for a in "UVZ"],
        "would take",
    ),
    "no edges": (lambda o: o.__delitem__("Z cell delimiters"), "has no array"),
    "no origin": (lambda o: o.attrs.__delitem__("Origin"), "cannot be read"),
    "a text as rotation": (lambda o: o.attrs.__setitem__("Rotation", "x"), "cannot be read"),
}


@pytest.mark.parametrize("case", BAD_MODELS)
def test_a_bad_model_is_refused_in_one_sentence(tmp_path, case):
    path, (change, told) = project(tmp_path / "a.geoh5"), BAD_MODELS[case]
    changed(path, lambda _, objects: change(objects["Blocks"]))
    with pytest.raises(TableError, match=told):
        inspect_file(f"{path}:Blocks")
    code, text = run("inspect", f"{path}:Blocks")
    assert code == 3 and text.count("\n") == 1, text


def test_a_bad_octree_is_refused(tmp_path):
    path = project(tmp_path / "a.geoh5")
    kind = [(axis, "<i4") for axis in ("I", "J", "K", "NCells")]
    rows = np.array([(0, 0, 0, 2), (3, 3, 3, 2)], kind)
    changed(path, lambda _, objects: put(objects["Tree"], "Octree Cells", rows))
    with pytest.raises(TableError, match="cell 2 lies outside the octree"):
        inspect_file(f"{path}:Tree")
    changed(path, lambda _, objects: objects["Tree"].attrs.__setitem__("NU", -4))
    with pytest.raises(TableError, match="'NU' is -4, which is not a number of cells"):
        inspect_file(f"{path}:Tree")


def test_a_bad_surface_is_refused(tmp_path):
    path = project(tmp_path / "a.geoh5")
    changed(path, lambda _, objects: put(objects["Waste"], "Cells", np.full((12, 3), 0.5)))
    with pytest.raises(MeshError, match="the cells of the surface 'Waste' are not whole numbers"):
        read_mesh(f"{path}:Waste")


def test_texts_that_have_become_lists_are_refused(tmp_path):
    """HDF5 crashes if damage turns a text into a list of variable length."""
    lists = h5py.vlen_dtype("i4")
    names = np.empty(1, lists)
    names[0] = np.arange(3, dtype="i4")
    path = project(tmp_path / "a.geoh5")
    changed(path, lambda _, objects: objects["Waste"].attrs.create("Name", names))
    with pytest.raises(MeshError, match="'Name' is neither a usual number nor a text"):
        read_mesh(f"{path}:Waste")
    cells = {"shape": (12,), "dtype": np.dtype([("x", "<f8"), ("y", lists), ("z", "<f8")])}
    path = project(tmp_path / "b.geoh5")
    changed(path, lambda _, objects: put(objects["Waste"], "Vertices", cells))
    with pytest.raises(MeshError, match="'Vertices' holds neither usual numbers nor"):
        read_mesh(f"{path}:Waste")


def test_numbers_with_unusual_bits_are_refused(tmp_path):
    """HDF5 writes beyond its memory if damage changes the exponent of a type of numbers."""
    kind = h5py.h5t.IEEE_F64LE.copy()
    kind.set_ebias(255)
    path = project(tmp_path / "a.geoh5")

    def change(_, objects) -> None:
        name, blocks = b"U cell delimiters", objects["Blocks"].id
        del objects["Blocks"][name]
        h5py.h5d.create(blocks, name, kind, h5py.h5s.create_simple((4,)))

    changed(path, change)
    with pytest.raises(TableError, match="'U cell delimiters' holds neither usual numbers nor"):
        inspect_file(f"{path}:Blocks")


def test_bad_data_are_refused_only_where_they_are_used(tmp_path):
    path = project(tmp_path / "a.geoh5")

    def change(base, _) -> None:
        for one in base["Data"].values():
            if one.attrs["Name"] == "CU":
                put(one, "Data", np.ones(25))
            if one.attrs["Name"] == "AU":
                put(one, "Data", HUGE)

    changed(path, change)
    label_file(f"{path}:Blocks", ORE, tmp_path / "b.geoh5")
    with pytest.raises(TableError, match="'CU' has 25 values for 24 cells"):
        label_file(f"{path}:Blocks", geodomain.Domain("A", *ORE.values(), only_if={"CU": 1.0}),
                   tmp_path / "c.geoh5")  # fmt: skip
    with pytest.raises(TableError, match="values for 24 cells"):
        geodomain.convert_blocks(f"{path}:Blocks", tmp_path / "c.csv")


def test_links_and_arrays_in_other_files_are_refused(tmp_path):
    path = project(tmp_path / "a.geoh5")
    changed(path, lambda base, _: base["Objects"].__setitem__(
        "{x}", h5py.ExternalLink("other.h5", "/")))  # fmt: skip
    with pytest.raises(MeshError, match="leads out of its list"):
        read_mesh(f"{path}:Waste")
    path = project(tmp_path / "b.geoh5")
    (tmp_path / "raw").write_bytes(b"\0" * 80)
    outside = {"shape": (4,), "dtype": "<f8", "external": [(str(tmp_path / "raw"), 0, 80)]}
    changed(path, lambda _, objects: put(objects["Blocks"], "U cell delimiters", outside))
    with pytest.raises(TableError, match="is in another file"):
        inspect_file(f"{path}:Blocks")


def test_an_array_behind_a_link_to_another_file_is_refused(tmp_path):
    project(tmp_path / "other.geoh5")
    path = project(tmp_path / "a.geoh5")

    def change(_, objects) -> None:
        waste = objects["Waste"]
        del waste["Vertices"]
        key = waste.name.rpartition("/")[2]
        place = f"/GEOSCIENCE/Objects/{key}/Vertices"
        waste["Vertices"] = h5py.ExternalLink("other.geoh5", place)

    changed(path, change)
    with pytest.raises(MeshError, match="is in another file"):
        read_mesh(f"{path}:Waste")


def test_groups_that_contain_each_other_are_walked_once(tmp_path):
    path = project(tmp_path / "a.geoh5")

    def change(base, _) -> None:
        groups = [one for one in base["Groups"].values() if one.attrs["Name"] != "Workspace"]
        for one in groups:
            for other in groups:
                one["Groups"].pop(other.attrs["ID"], None)
                one["Groups"][other.attrs["ID"]] = other

    changed(path, change)
    assert inspect_file(f"{path}:Blocks").rows == 24


def test_other_hdf5_files_are_refused(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["grades"] = np.arange(5.0)
    for name in ("a.h5", "a.geoh5"):
        path = (tmp_path / "a.h5").rename(tmp_path / name)
        for reader, error in ((read_mesh, MeshError), (inspect_file, TableError)):
            with pytest.raises(error, match="is an HDF5 file, but not a geoh5 workspace"):
                reader(path)


def test_damage_is_said_in_one_sentence(tmp_path):
    whole = project(tmp_path / "a.geoh5").read_bytes()
    path = tmp_path / "b.geoh5"
    for end in (0, 4, 100, 2000, len(whole) - 500):
        path.write_bytes(whole[:end])
        for reader in (read_mesh, inspect_file):
            with pytest.raises(geodomain.GeodomainError):
                reader(path)
    path.write_bytes(b"x,y,z\n1,2,3\n")
    with pytest.raises(TableError, match="is damaged"):
        inspect_file(path)
    path.write_bytes(whole[:-500])
    code, text = run("inspect", f"{path}:Blocks")
    assert code == 3 and text.count("\n") == 1 and "damaged" in text


HOLD = """
import sys, h5py
with h5py.File(sys.argv[1], "r+"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_file_that_another_program_holds_open(tmp_path):
    path = project(tmp_path / "a.geoh5")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        code, text = run("inspect", f"{path}:Blocks")
        with pytest.raises(MeshError, match="is open for writing in another program"):
            read_mesh(f"{path}:Waste")
        other.stdin.close()
    assert code == 3 and text.count("\n") == 1
    assert "is open for writing in another program, such as Geoscience ANALYST: close it" in text
    assert run("inspect", f"{path}:Blocks")[0] == 0


def test_a_workspace_needs_h5py(tmp_path, monkeypatch):
    path = project(tmp_path / "a.geoh5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    for reader in (read_mesh, inspect_file):
        with pytest.raises(geodomain.GeodomainError, match=r"pip install 'geodomain\[geoh5\]'"):
            reader(f"{path}:Waste")


@pytest.mark.parametrize("head", [b"CDF\x01", b"\x89HDF\r\n\x1a\n"])
@pytest.mark.parametrize("command", ["label", "inspect", "tonnes"])
def test_netcdf_is_for_xarray(tmp_path, head, command):
    (tmp_path / "a.nc").write_bytes(head + bytes(64))
    geodomain.write_mesh(box((0, 0, 0), (1, 1, 1)), tmp_path / "a.ply")
    words = {
        "label": ["--solid", str(tmp_path / "a.ply"), "-o", str(tmp_path / "b.nc")],
        "tonnes": ["--density", "2"],
    }
    done = CliRunner().invoke(main, [command, str(tmp_path / "a.nc"), *words.get(command, [])])
    assert done.exit_code == 3 and "open it with xarray" in done.output
