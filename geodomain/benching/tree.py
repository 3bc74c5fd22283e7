"""The picture of a hierarchy: the boxes of one level over the surface, drawn off-screen."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from geodomain.intersector import SegmentIntersector

_HEIGHTS = 4


def draw_level(intersector: SegmentIntersector, level: int, path: Path) -> None:
    """Draw the boxes of a level of the hierarchy over its surface.

    Parameters
    ----------
    intersector : SegmentIntersector
        The surface, with a hierarchy.
    level : int
        0 is the whole.
    path : Path
        A PNG file; one that is there is replaced.

    Raises
    ------
    ValueError
        If there is no such level.
    OSError
        If the file cannot be written.
    """
    boxes = intersector.to_pyvista(level)  # ValueError before a window is made
    with _quiet():
        _draw(intersector.mesh.to_pyvista(), boxes, level, path)


def _draw(surface: Any, boxes: Any, level: int, path: Path) -> None:
    """Draw a surface and the boxes around its parts."""
    pyvista: Any = importlib.import_module("pyvista")
    plotter = pyvista.Plotter(off_screen=True, window_size=(1400, 850))
    plotter.set_background("white")
    plotter.add_mesh(surface, color="#d8c7a3")
    plotter.add_mesh(boxes, style="wireframe", color="#b5382c", line_width=2, lighting=False)
    said = f"Level {level} of the hierarchy: {boxes.n_cells // 6:,} boxes over "
    said += f"{surface.n_cells:,} triangles. Heights are exaggerated {_HEIGHTS} times."
    plotter.add_text(said, font_size=9, color="#222222", position="upper_left")
    plotter.set_scale(zscale=_HEIGHTS)
    plotter.view_vector((0.5, -1.0, 0.9))
    plotter.camera.zoom(1.35)
    try:
        plotter.screenshot(path)
    finally:
        plotter.close()


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep VTK from saying that there is no display, where it then finds that it needs none."""
    logger: Any = importlib.import_module("vtkmodules.vtkCommonCore").vtkLogger
    logger.SetStderrVerbosity(logger.VERBOSITY_ERROR)
    try:
        yield
    finally:
        logger.SetStderrVerbosity(logger.VERBOSITY_INFO)
