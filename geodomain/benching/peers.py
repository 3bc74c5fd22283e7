"""Other libraries that test segments against triangles, each in its own usual way; no timing.

Their libraries are imported when they are made ready, never before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geodomain.benching.contender import Answers, Ask, Contender, Floats, Load
from geodomain.mesh.mesh import Mesh

if TYPE_CHECKING:
    import open3d


def _from_arrays(ask: Callable[[Floats, Floats], Answers]) -> Load:
    """Return a loader for a library that takes arrays on each call."""
    return lambda starts, ends: lambda: ask(starts, ends)


def _pyvista_ray_trace(mesh: Mesh) -> Load:
    surface = mesh.to_pyvista()
    surface.ray_trace([0, 0, 0], [0, 0, 1])  # builds its tree when it is first asked

    def ask(starts: Floats, ends: Floats) -> Answers:
        pairs = zip(starts, ends, strict=True)
        return np.array([len(surface.ray_trace(start, end)[1]) > 0 for start, end in pairs])

    return _from_arrays(ask)


def _vtk_obb_tree(mesh: Mesh) -> Load:
    from vtkmodules.vtkFiltersGeneral import vtkOBBTree

    surface, tree = mesh.to_pyvista(), vtkOBBTree()
    tree.SetDataSet(surface)
    tree.BuildLocator()

    def ask(starts: Floats, ends: Floats) -> Answers:
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        return np.array([tree.IntersectWithLine(a, b, None, None) != 0 for a, b in pairs])

    return _from_arrays(ask)


def _pyvista_multi_ray_trace(mesh: Mesh) -> Load:
    surface = mesh.to_pyvista()

    def ask(starts: Floats, ends: Floats) -> Answers:
        points, rays, _ = surface.multi_ray_trace(starts, ends - starts, first_point=True)
        return _within(starts, ends, np.asarray(points), np.asarray(rays))

    return _from_arrays(ask)


def _trimesh(mesh: Mesh) -> Load:
    import trimesh

    caster = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False).ray

    def ask(starts: Floats, ends: Floats) -> Answers:
        points, rays, _ = caster.intersects_location(starts, ends - starts, multiple_hits=False)
        return _within(starts, ends, points, rays)

    return _from_arrays(ask)


def _within(starts: Floats, ends: Floats, points: Floats, rays: NDArray[np.int64]) -> Answers:
    """Return which rays' first hits lie within the segment."""
    hit = np.zeros(len(starts), dtype=bool)
    if len(rays):
        far = ((points - starts[rays]) ** 2).sum(axis=1)
        hit[rays] = far <= ((ends[rays] - starts[rays]) ** 2).sum(axis=1)
    return hit


def _open3d(
    mesh: Mesh, answer: Callable[[open3d.t.geometry.RaycastingScene, open3d.core.Tensor], Answers]
) -> Load:
    """Build Open3D's scene; its rays are a start and a direction in single precision."""
    import open3d

    scene = open3d.t.geometry.RaycastingScene()
    scene.add_triangles(
        open3d.core.Tensor(mesh.vertices.astype(np.float32)),
        open3d.core.Tensor(mesh.triangles.astype(np.uint32)),
    )

    def load(starts: Floats, ends: Floats) -> Ask:
        rays = open3d.core.Tensor(np.hstack([starts, ends - starts]).astype(np.float32))
        return lambda: answer(scene, rays)

    return load


def _open3d_cast_rays(mesh: Mesh) -> Load:
    return _open3d(mesh, lambda scene, rays: scene.cast_rays(rays)["t_hit"].numpy() <= 1)


def _open3d_occlusions(mesh: Mesh) -> Load:
    return _open3d(
        mesh, lambda scene, rays: scene.test_occlusions(rays, tnear=0.0, tfar=1.0).numpy()
    )


_EMBREE = ("trimesh", "embreex")

# The first three are those of the paper, slowest first.
PEERS = (
    Contender("PyVista ray_trace", _pyvista_ray_trace, ("pyvista",)),
    Contender("VTK OBBTree", _vtk_obb_tree, ("vtkmodules", "pyvista")),
    Contender("PyVista multi_ray_trace", _pyvista_multi_ray_trace, ("pyvista", *_EMBREE)),
    Contender("trimesh with Embree", _trimesh, _EMBREE),
    Contender("Open3D cast_rays", _open3d_cast_rays, ("open3d",)),
    Contender("Open3D test_occlusions", _open3d_occlusions, ("open3d",)),
)
