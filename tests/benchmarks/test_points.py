"""Points in a closed mesh, from arrays to labels: closedness and index included.

Every benchmark ends by comparing its labels with those that geodomain gives to the same points
one by one, without recognising a lattice; the count of differences stands in the report.
"""

from __future__ import annotations

import numpy as np
import pytest

from geodomain import Mesh, contains, contains_lattice

# A float32 ray caster errs near the surface; more than this is another scene, not an error.
ROUNDING = 1e-3


def lattice_points(axes) -> np.ndarray:
    grids = np.meshgrid(*axes, indexing="ij")
    return np.stack([grid.ravel() for grid in grids], axis=1)


@pytest.fixture(scope="module")
def truth(mesh, axes) -> np.ndarray:
    points = lattice_points(axes)
    order = np.random.Generator(np.random.PCG64(1)).permutation(len(points))
    inside = np.empty(len(points), dtype=bool)
    inside[order] = contains(mesh, points[order])
    return inside.reshape([len(axis) for axis in axes])


def title(kind: str, mesh: Mesh) -> str:
    return f"{kind}, {len(mesh.triangles):,} triangles"


def fresh(mesh: Mesh) -> Mesh:
    """Return the mesh as a caller would make it, with nothing remembered."""
    return Mesh(mesh.vertices, mesh.triangles)


def test_lattice_by_axes(mesh, axes, truth, timed, wrong) -> None:
    labels = timed(title("lattice", mesh), lambda: contains_lattice(fresh(mesh), *axes))
    assert wrong(labels, truth) == 0


def test_lattice_by_points(mesh, axes, truth, timed, wrong) -> None:
    points = lattice_points(axes)
    labels = timed(title("lattice", mesh), lambda: contains(fresh(mesh), points))
    assert wrong(labels.reshape(truth.shape), truth) == 0


def test_lattice_vtk_image_stencil(mesh, axes, truth, timed, wrong, peer) -> None:
    vtk, pyvista = peer("vtk"), peer("pyvista")
    support = peer("vtk.util.numpy_support")
    surface = pyvista.PolyData.from_regular_faces(mesh.vertices, mesh.triangles)

    def stencil() -> np.ndarray:
        to_stencil = vtk.vtkPolyDataToImageStencil()
        to_stencil.SetInputData(surface)
        to_stencil.SetOutputOrigin(*(axis[0] for axis in axes))
        to_stencil.SetOutputSpacing(*((axis[-1] - axis[0]) / (len(axis) - 1) for axis in axes))
        to_stencil.SetOutputWholeExtent(*(bound for axis in axes for bound in (0, len(axis) - 1)))
        to_image = vtk.vtkImageStencilToImage()
        to_image.SetInputConnection(to_stencil.GetOutputPort())
        to_image.SetInsideValue(1)
        to_image.SetOutsideValue(0)
        to_image.SetOutputScalarTypeToUnsignedChar()
        to_image.Update()
        return support.vtk_to_numpy(to_image.GetOutput().GetPointData().GetScalars())

    flat = timed(title("lattice", mesh), stencil)
    labels = flat.reshape([len(axis) for axis in axes][::-1]).transpose() != 0
    assert wrong(labels, truth) < ROUNDING * truth.size


def test_scattered(mesh, scattered, timed, wrong) -> None:
    labels = timed(title("scattered", mesh), lambda: contains(fresh(mesh), scattered))
    assert wrong(labels, contains(fresh(mesh), scattered[::-1])[::-1]) == 0


def test_scattered_open3d_occupancy(mesh, scattered, timed, wrong, peer) -> None:
    open3d = peer("open3d")
    vertices = mesh.vertices.astype(np.float32)
    points = open3d.core.Tensor(scattered.astype(np.float32))

    def occupancy() -> np.ndarray:
        scene = open3d.t.geometry.RaycastingScene()
        scene.add_triangles(
            open3d.core.Tensor(vertices), open3d.core.Tensor(mesh.triangles.astype(np.uint32))
        )
        return scene.compute_occupancy(points).numpy()

    labels = timed(title("scattered", mesh), occupancy) != 0
    assert wrong(labels, contains(mesh, scattered)) < ROUNDING * len(scattered)


def test_scattered_trimesh_embree(mesh, scattered, timed, wrong, peer) -> None:
    trimesh = peer("trimesh")
    peer("embreex")

    def inside() -> np.ndarray:
        return trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False).contains(scattered)

    labels = timed(title("scattered", mesh), inside)
    assert wrong(labels, contains(mesh, scattered)) < ROUNDING * len(scattered)
