"""What users hold as meshes is taken by every function: PyVista, trimesh, pairs, files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from late import pyvista
from wireframes import box, cube

import geodomain
from geodomain import Domain, Stack, as_mesh
from geodomain.inputs import as_meshes

POINTS = [[1.0, 1, 1], [11, 11, 11], [5, 5, 5], [np.nan, 1, 1]]
INSIDE = [True, False, True, False]


def trimesh_of(mesh):
    trimesh = pytest.importorskip("trimesh")
    return trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False)


def file_of(mesh, folder: Path) -> Path:
    geodomain.write_mesh(mesh, folder / f"{mesh.name}.ply")
    return folder / f"{mesh.name}.ply"


HELD = {
    "Mesh": lambda mesh, folder: mesh,
    "PolyData": lambda mesh, folder: mesh.to_pyvista(),
    "UnstructuredGrid": lambda mesh, folder: mesh.to_pyvista().cast_to_unstructured_grid(),
    "trimesh": lambda mesh, folder: trimesh_of(mesh),
    "faces": lambda mesh, folder: SimpleNamespace(vertices=mesh.vertices, faces=mesh.triangles),
    "pair": lambda mesh, folder: (mesh.vertices, mesh.triangles),
    "pair of lists of integers": lambda mesh, folder: (
        mesh.vertices.astype(int).tolist(),
        mesh.triangles.tolist(),
    ),
    "Path": lambda mesh, folder: file_of(mesh, folder),
    "str": lambda mesh, folder: str(file_of(mesh, folder)),
}


@pytest.fixture(params=HELD)
def hold(request, tmp_path: Path):
    """Return what makes something of a mesh that users hold."""
    return lambda mesh: HELD[request.param](mesh, tmp_path)


def test_every_function_takes_it(hold, tmp_path: Path) -> None:
    held, mesh = hold(cube()), cube()
    assert as_mesh(held).vertices.tolist() == mesh.vertices.tolist()
    assert as_mesh(held).triangles.tolist() == mesh.triangles.tolist()
    assert geodomain.contains(held, POINTS).tolist() == INSIDE
    assert geodomain.contains(held, POINTS, direction=[1, 2, 3]).tolist() == INSIDE
    assert geodomain.contains_lattice(held, [1], [1, 11], [1]).tolist() == [[[True], [False]]]
    assert geodomain.count_crossings(held, POINTS).tolist() == [1, 0, 1, 0]
    assert geodomain.winding_numbers(held, POINTS).tolist() == [1, 0, 1, 0]
    assert geodomain.generalised_winding(held, POINTS).inside.tolist() == INSIDE
    assert geodomain.on_surface(held, [[0, 5, 5], [1, 1, 1]]).tolist() == [True, False]
    assert geodomain.sides(held, [[5, 5, 11], [5, 5, 5]]).tolist() == [1, -1]
    assert geodomain.sides([held, held], [[5, 5, 11], [20, 5, 5]]).tolist() == [1, 0]
    assert geodomain.PointLocator(held).contains(POINTS).tolist() == INSIDE
    assert geodomain.label_codes(POINTS, [held]).tolist() == [0, -1, 0, -2]
    assert geodomain.label_codes(POINTS, held).tolist() == [0, -1, 0, -2]
    assert geodomain.intersect(held, [[5, 5, 5]], [[5, 5, 50]]).tolist() == [True]
    with geodomain.SegmentIntersector(held) as intersector:
        assert intersector.intersect(([[5, 5, 5]], [[5, 5, 50]])).tolist() == [True]
    assert geodomain.distances(held, [[5, 5, 12]], signed=True).tolist() == [2.0]
    assert geodomain.nearest(held, [[5, 4, 12]]).point.tolist() == [[5, 4, 10]]
    assert geodomain.check(held).closed
    assert len(geodomain.weld(held, 0.0).mesh.triangles) == 12
    geodomain.write_mesh(held, tmp_path / "out.off")
    assert geodomain.read_mesh(tmp_path / "out.off").vertices.tolist() == mesh.vertices.tolist()


def test_domains_and_stacks_take_it(hold) -> None:
    ore, halo = hold(cube()), hold(box((5, 5, 5), (15, 15, 15), name="halo"))
    expected = ["ORE", "HALO", "ORE", ""]
    for domains in (
        {"ORE": ore, "HALO": halo},
        {"ORE": [ore], "HALO": [halo, halo]},
        [Domain("ORE", ore), Domain("HALO", [halo])],
    ):
        assert geodomain.label_points(POINTS, domains).tolist() == expected
    stack = Stack([ore], ["OVER", "UNDER"])
    assert geodomain.label_points([[5, 5, 20], [5, 5, 5]], stack).tolist() == ["OVER", "UNDER"]
    tiled = Stack([[ore, halo]], ["OVER", "UNDER"])
    assert geodomain.label_points([[2, 2, 20]], [tiled]).tolist() == ["OVER"]
    assert Stack(ore, ["OVER", "UNDER"]).layers == stack.layers


def test_a_multiblock_is_several_meshes() -> None:
    blocks = pyvista.MultiBlock({"ore": cube().to_pyvista()})
    blocks["nested"] = pyvista.MultiBlock([None, box((20, 0, 0), (30, 9, 9)).to_pyvista()])
    meshes = as_meshes(blocks)
    assert [mesh.name for mesh in meshes] == ["ore", "Block-01"]
    points = [[1, 1, 1], [21, 1, 1], [15, 1, 1]]
    assert geodomain.label_points(points, {"ORE": blocks}).tolist() == ["ORE", "ORE", ""]
    assert geodomain.label_points(points, {"ORE": [cube(), blocks]}).tolist() == ["ORE", "ORE", ""]
    assert geodomain.label_codes(points, blocks).tolist() == [0, 1, -1]
    assert len(Domain("ORE", blocks).meshes) == 2
    with pytest.raises(TypeError, match="several meshes, but this function takes a single mesh"):
        geodomain.contains(blocks, points)


def test_a_tuple_of_two_arrays_is_one_mesh_and_a_list_is_several() -> None:
    mesh = cube()
    pair = (mesh.vertices.astype(np.int64), mesh.triangles)
    assert len(Domain("A", pair).meshes) == 1
    assert len(Domain("A", [pair, pair]).meshes) == 2
    assert len(Domain("A", (pair, pair)).meshes) == 2
    assert len(Domain("A", (mesh, mesh)).meshes) == 2
    square = (np.zeros((3, 3)), [[0, 1, 2], [0, 1, 2], [0, 1, 2]])  # of one shape
    assert len(as_meshes((square, square))) == 2
    with pytest.raises(TypeError, match=r"\(vertices, triangles\).*not ndarray; a list is several"):
        Domain("A", [mesh.vertices, mesh.triangles])
    with pytest.raises(TypeError, match="triangles must be integers"):
        as_mesh((mesh.vertices, mesh.vertices))
    assert len(as_mesh(([], [])).triangles) == 0


def test_names() -> None:
    mesh = cube()
    assert as_mesh(mesh, name="other") is mesh
    assert as_mesh(mesh.to_pyvista()).name == "mesh"
    assert Domain("ORE", mesh.to_pyvista()).meshes[0].name == "ORE"


def test_a_file_is_called_by_its_name(tmp_path: Path) -> None:
    path = file_of(cube(), tmp_path)
    assert as_mesh(path, name="other").name == "cube.ply"
    with pytest.raises(FileNotFoundError, match=r"none\.ply"):
        as_mesh(tmp_path / "none.ply")


@pytest.mark.parametrize("thing", [3, None, {}, {"a": 1}, [], np.zeros((4, 3)), object()])
def test_anything_else_is_refused_with_what_is_taken(thing) -> None:
    for ask in (
        as_mesh,
        geodomain.check,
        geodomain.PointLocator,
        geodomain.SegmentIntersector,
        lambda mesh: geodomain.contains(mesh, POINTS),
        lambda mesh: geodomain.intersect(mesh, [[0, 0, 0]], [[1, 1, 1]]),
    ):
        with pytest.raises(TypeError, match=r"pyvista\.PolyData.*trimesh.*path of a mesh file"):
            ask(thing)


def test_what_holds_no_polygons_is_refused() -> None:
    line = pyvista.Line()
    with pytest.raises(geodomain.MeshError, match="ORE holds lines"):
        Domain("ORE", line)
    with pytest.raises(TypeError, match="not ImageData"):
        as_mesh(pyvista.ImageData(dimensions=(2, 2, 2)))


def test_pyvista_is_not_imported_to_ask_for_it() -> None:
    script = (
        "import sys, geodomain\n"
        "pair = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]], "
        "[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]\n"
        "assert geodomain.contains(pair, [[1, 1, 1]]).tolist() == [True]\n"
        "geodomain.label_points([[1, 1, 1]], {'ORE': pair})\n"
        "heavy = {'pyvista', 'vtkmodules', 'pandas', 'narwhals', 'xarray'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-P", "-c", script], check=True)
