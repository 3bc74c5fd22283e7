"""The wireframes of domains as bodies that part blocks, in the frame of the blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from geodomain.errors import DomainError, MeshError
from geodomain.labelling.chunk import TiledSurface
from geodomain.labelling.evaluate import (
    Evaluation,
    Shell,
    SolidEvaluation,
    StackEvaluation,
    SurfaceEvaluation,
)
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.shares.model_frame import ModelFrame
from geodomain.labelling.shares.pieces import Body
from geodomain.labelling.skins import SkinEvaluation
from geodomain.mesh.mesh import Mesh
from geodomain.volumes.block_shares import Shares


class BodyShelf:
    """The bodies of all domains, each made once however many domains it bounds.

    Raises
    ------
    DomainError
        For a domain with limits of distance, at which lines are not cut.
    MeshError
        For a solid that is open, or has no winding number where that is asked for, and for a
        surface that is closed.
    """

    def __init__(self, labeller: Labeller, frame: ModelFrame, lines: int) -> None:
        self._labeller, self._frame, self._lines = labeller, frame, lines
        self._made: dict[tuple[int, str], Body] = {}
        self._extended = {id(one) for one in _extended(labeller.evaluations)}
        self.units = [self._of(evaluation) for evaluation in labeller.evaluations]
        self.bodies = list(self._made.values())

    def _of(self, evaluation: Evaluation | SkinEvaluation) -> list[Body]:
        """Return the bodies of one domain or stack."""
        if isinstance(evaluation, SkinEvaluation):
            message = (
                f"{evaluation.domain.name} has within or beyond, and blocks have no shares "
                "within a distance: label by centroids, without proportions= or by='majority'"
            )
            raise DomainError(message)
        if isinstance(evaluation, SolidEvaluation):
            return [self._solid(shell) for shell in evaluation.shells]
        if isinstance(evaluation, StackEvaluation):
            return [self._surface(surface) for surface in evaluation.surfaces]
        return [self._surface(evaluation.surface)]

    def _solid(self, shell: Shell) -> Body:
        key = (id(shell.locator), shell.rule)
        if not shell.mesh.is_closed:
            message = (
                f"{shell.mesh.name} is not closed, and blocks have shares inside closed solids "
                "alone: close it, or label by centroids, without proportions= or by='majority'"
            )
            raise MeshError(message)
        if key not in self._made:
            self._made[key] = self._body(shell, shell.mesh, shell.mesh.name)
        return self._made[key]

    def _surface(self, surface: TiledSurface) -> Body:
        key = (id(surface), "")
        if key not in self._made:
            for tile in surface.tiles:
                if tile.is_closed:
                    message = (
                        f"{tile.name} is closed, and blocks have shares above and below open "
                        "surfaces alone: give its domain as a solid"
                    )
                    raise MeshError(message)
            self._made[key] = self._body(surface, merged(surface.tiles), surface.name)
        return self._made[key]

    def _body(self, source: Shell | TiledSurface, mesh: Mesh, name: str) -> Body:
        solid = isinstance(source, Shell)
        local = self._frame.mesh(mesh)
        shares = Shares(
            local,
            "solid" if solid else "below",
            source.rule if isinstance(source, Shell) else "parity",
            self._labeller.backend,
            self._labeller.threads,
            lines=self._lines,
        )
        box = local.bounds.copy()
        if not solid:
            box[:, 2] = -np.inf, np.inf
        return Body(source, shares, box, name, id(source) in self._extended)


def _extended(
    evaluations: Sequence[Evaluation | SkinEvaluation],
) -> Iterator[TiledSurface]:
    """Yield the surfaces that some domain or stack extends as high as their rim."""
    for one in evaluations:
        if isinstance(one, StackEvaluation) and one.stack.extend == "nearest":
            yield from one.surfaces
        if isinstance(one, SurfaceEvaluation) and one.domain.extend == "nearest":
            yield one.surface


def merged(tiles: Sequence[Mesh]) -> Mesh:
    """Return several meshes as one."""
    if len(tiles) == 1:
        return tiles[0]
    starts = np.cumsum([0, *(len(tile.vertices) for tile in tiles)])
    triangles = [
        tile.triangles + np.int32(start) for tile, start in zip(tiles, starts, strict=False)
    ]
    vertices = np.concatenate([tile.vertices for tile in tiles])
    return Mesh(vertices, np.concatenate(triangles), name=tiles[0].name)
