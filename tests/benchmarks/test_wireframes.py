"""A million triangles as text and as DXF, beside other readers; ezdxf on fewer: it takes minutes.

pytest tests/benchmarks/test_wireframes.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import geodomain
from geodomain import Mesh

SIDE, SMALL = 707, 100  # 999,698 and 20,000 triangles
HEAD = """ply
format ascii 1.0
element vertex {}
property double x
property double y
property double z
element face {}
property list uchar int vertex_indices
end_header
"""


def ground(side: int) -> Mesh:
    """Return an uneven ground at mine coordinates, to the millimetre."""
    east, north = np.meshgrid(np.arange(side + 1) * 12.37, np.arange(side + 1) * 12.41)
    heights = np.random.default_rng(1).uniform(300, 340, east.shape)
    vertices = np.stack([478000.13 + east, 6771000.7 + north, heights], axis=-1)
    grid = np.arange((side + 1) ** 2).reshape(side + 1, side + 1)
    a, b, c, d = (g.ravel() for g in (grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]))
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return Mesh(np.round(vertices.reshape(-1, 3), 3), triangles)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, mesh = tmp_path_factory.mktemp("wireframes"), ground(SIDE)
    places = {kind: folder / f"a.{kind}" for kind in ("obj", "dxf", "stl", "ply", "small.dxf")}
    for kind in ("obj", "dxf"):
        geodomain.write_mesh(mesh, places[kind])
    geodomain.write_mesh(ground(SMALL), places["small.dxf"])
    corner = "  vertex {} {} {}\n" * 3
    facet = f"facet normal 0 0 1\n outer loop\n{corner} endloop\nendfacet\n"
    with places["stl"].open("w") as file:
        file.write("solid a\n")
        rows = mesh.vertices[mesh.triangles].reshape(-1, 9).tolist()
        file.writelines(facet.format(*row) for row in rows)
        file.write("endsolid a\n")
    with places["ply"].open("w") as file:
        file.write(HEAD.format(len(mesh.vertices), len(mesh.triangles)))
        file.writelines("{} {} {}\n".format(*row) for row in mesh.vertices.tolist())
        file.writelines("3 {} {} {}\n".format(*row) for row in mesh.triangles.tolist())
    return places


@pytest.mark.parametrize("kind", ["obj", "stl", "ply", "dxf"])
def test_geodomain(kind: str, files, timed) -> None:
    found = timed(kind, lambda: geodomain.read_mesh(files[kind]))
    assert len(found.triangles) == 2 * SIDE * SIDE


@pytest.mark.parametrize("kind", ["obj", "stl", "ply"])
def test_pyvista(kind: str, files, timed, peer) -> None:
    library = peer("pyvista")
    assert timed(kind, lambda: library.read(files[kind])).n_cells == 2 * SIDE * SIDE


@pytest.mark.parametrize("kind", ["obj", "stl", "ply"])
def test_trimesh(kind: str, files, timed, peer) -> None:
    library = peer("trimesh")
    found = timed(kind, lambda: library.load(files[kind], process=False, force="mesh"))
    assert len(found.faces) == 2 * SIDE * SIDE


def test_ezdxf(files, timed, peer) -> None:
    library = peer("ezdxf")

    def run() -> np.ndarray:
        faces = library.readfile(files["small.dxf"]).modelspace().query("3DFACE")
        return np.array([[tuple(v) for v in face.wcs_vertices()[:3]] for face in faces])

    theirs = timed("dxf, 20,000 faces", run)
    ours = geodomain.read_mesh(files["small.dxf"])
    assert np.array_equal(ours.vertices[ours.triangles], theirs)
