"""The picture of a hierarchy: the boxes of one level over the surface, drawn off-screen."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodomain.io.files.streams import replaced
from geodomain.segments.intersector import SegmentIntersector

if TYPE_CHECKING:
    import pyvista

_HEIGHTS = 4


class LevelError(ValueError):
    """A level that the hierarchy does not have."""


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
    LevelError
        If there is no such level.
    OSError
        If the file cannot be written.
    """
    try:
        boxes = intersector.to_pyvista(level)
    except ValueError as error:  # before a window is made
        raise LevelError(str(error)) from None
    with _quiet():
        _draw(intersector.mesh.to_pyvista(), boxes, level, path)


def _draw(surface: pyvista.PolyData, boxes: pyvista.PolyData, level: int, path: Path) -> None:
    """Draw a surface and the boxes around its parts."""
    # Typed too narrowly in PyVista, whose own documentation uses it otherwise.
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
        picture = io.BytesIO()
        plotter.screenshot(picture)
        with replaced(path) as file:
            file.write(picture.getvalue())
    finally:
        plotter.close()


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence VTK's message about a missing display, which it does not need."""
    from vtkmodules.vtkCommonCore import vtkLogger as logger

    logger.SetStderrVerbosity(logger.VERBOSITY_ERROR)
    try:
        yield
    finally:
        logger.SetStderrVerbosity(logger.VERBOSITY_INFO)
