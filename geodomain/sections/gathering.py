"""Read the blocks of a labelled model that its sections cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.labels import LabelSpellings
from geodomain.domains.order import Domains
from geodomain.errors import TableError, warn
from geodomain.inspection.survey import Survey
from geodomain.io.blocks.block_file import Relabelling
from geodomain.io.blocks.model import open_model
from geodomain.io.conditions import Column
from geodomain.io.header.families import find_column
from geodomain.io.header.frames import LocalFrame
from geodomain.io.header.options import TableOptions
from geodomain.io.header.rotation import require_constants
from geodomain.io.number_columns import NegativeGrades
from geodomain.mesh.mesh import Mesh
from geodomain.progress import Progress
from geodomain.sections.cutting import AXES, Section, is_cut
from geodomain.sections.model_shape import ModelShape, matrix_of, shape_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cut:
    """The blocks that a section cuts.

    Attributes
    ----------
    section : Section
        The plane.
    points, sizes : (n, 3) float64
        World centroids, and sizes along the blocks' own axes.
    labels : (n,) array of str
        What they are labelled with.
    matrix : (3, 3) float64
        From directions of the blocks to those of the world.
    values : (n,) float64, optional
        A grade, NaN where there is none.
    """

    section: Section
    points: Floats
    sizes: Floats
    labels: NDArray[np.str_]
    matrix: Floats
    values: Floats | None = None

    @property
    def is_on_faces(self) -> bool:
        """Whether the plane lies on faces of blocks, of which those above it are cut."""
        if not np.array_equal(self.matrix, np.eye(3)):
            return False
        across = self.section.across
        low = self.points[:, across] - self.sizes[:, across] / 2
        return bool((low == self.section.at).any())


def wireframes_of(domains: Domains) -> dict[str, Sequence[Mesh]]:
    """Return wireframes by domain; a surface of a stack belongs to the layer below it.

    The uppermost layer of a stack has none. A surface above a layer without a name is called by its
    own.
    """
    found: dict[str, Sequence[Mesh]] = {domain.name: domain.meshes for domain in domains}
    for stack in domains.stacks:
        if stack.layers[0]:
            found[stack.layers[0]] = ()
        for tiles, below in zip(stack.surfaces, stack.layers[1:], strict=True):
            found[below or tiles[0].name] = tiles
    return found


def gather(
    path: str,
    options: TableOptions,
    column: str,
    sections: Sequence[Section] = (),
    *,
    background: Sequence[str] = (),
    grade: str | None = None,
    progress: Progress | None = None,
) -> list[Cut]:
    """Read the blocks that sections cut.

    Parameters
    ----------
    path : str
        A labelled model of any kind of file. It is read once where sections are named and blocks
        have sizes, otherwise twice.
    options : TableOptions
        What the user says of it.
    column : str
        The column of labels.
    sections : sequence of Section
        Where to cut; across each axis through the middle of the labelled domains, if empty.
    background : sequence of str
        Labels that are no domain; an empty one never is.
    grade : str, optional
        A column of numbers that is wanted too.
    progress : callable, optional
        Called with what is done of a pass and its total.

    Returns
    -------
    list of Cut

    Raises
    ------
    TableError
        Where there is no such column, a section cuts no block, or sizes are neither there nor to
        be seen from the centroids.
    """
    source = _Source(path, options, column, grade, progress)
    if sections:
        cutting = _Cutting(sections, None)
        source.read(cutting.add)
        if cutting.is_done:
            return cutting.cuts(source.name)
    surveying = _Surveying({"", *background})
    source.read(surveying.add)
    shape = surveying.shape(source.name)
    if not sections:
        sections = [Section(axis, float(at)) for axis, at in zip(AXES, shape.middle, strict=True)]
    cutting = _Cutting(sections, shape)
    source.read(cutting.add)
    return cutting.cuts(source.name)


@dataclass(frozen=True)
class _Chunk:
    """Some blocks of a model, and the frame in which they are a lattice."""

    name: str
    local: LocalFrame | None
    points: Floats
    sizes: Floats | None
    labels: NDArray[np.str_]
    values: Floats | None


class _Source:
    """A model, and what is read of it in each pass."""

    def __init__(
        self,
        path: str,
        options: TableOptions,
        column: str,
        grade: str | None,
        progress: Progress | None,
    ) -> None:
        self._path, self._options, self._progress = path, options, progress
        self._column, self._grade = column, grade
        self._checked = False
        self.name = path

    def read(self, add: Callable[[_Chunk], None]) -> None:
        """Pass over the blocks once, chunk by chunk; the first pass warns of what it sees."""
        with open_model(self._path, self._options) as model:
            self.name = model.name
            label = find_column(model.columns, self._column, model.name)
            grades = [self._grade] if self._grade is not None else []
            numeric = [find_column(model.columns, name, model.name) for name in grades]
            rows = 0
            seen = LabelSpellings(model.columns[label])
            below = NegativeGrades(self._grade or "")

            def take(
                points: Floats, sizes: Floats | None, column: Callable[[int], Column]
            ) -> Sequence[NDArray[np.int32]]:
                nonlocal rows
                require_constants(model.constants, column, model.columns, model.name, rows)
                texts, codes = seen.distinct(column(label))
                values = None
                if numeric:
                    grade = column(numeric[0])
                    below.below = grade.rule.below
                    values = below.take(grade.numbers(), rows)
                rows += len(points)
                labels = np.array(texts, np.str_)[codes] if texts else np.empty(0, np.str_)
                add(_Chunk(model.name, model.frame.lattice, points, sizes, labels, values))
                return []

            also = sorted({label, *numeric, *model.constants})
            model.relabel(Relabelling(take, also=also, progress=self._progress))
            if not self._checked:
                for sentence in seen.notes():
                    warn(sentence)
                if said := below.warning("block"):
                    warn(said)
            self._checked = True


class _Surveying:
    """A first pass: the model's shape, and where its labelled domains are."""

    def __init__(self, ground: set[str]) -> None:
        self._ground = sorted(ground)
        self._survey: Survey | None = None
        self._local: LocalFrame | None = None
        self._domains = np.array([[np.inf] * 3, [-np.inf] * 3])

    def add(self, chunk: _Chunk) -> None:
        """Take a chunk."""
        if self._survey is None:
            self._survey, self._local = Survey(chunk.local), chunk.local
        self._survey.add(chunk.points, chunk.sizes)
        labelled = chunk.points[~np.isin(chunk.labels, self._ground)]
        labelled = labelled[np.isfinite(labelled).all(axis=1)]
        if len(labelled):
            self._domains[0] = np.minimum(self._domains[0], labelled.min(axis=0))
            self._domains[1] = np.maximum(self._domains[1], labelled.max(axis=0))

    def shape(self, name: str) -> ModelShape:
        """Return what the pass has found."""
        return shape_of(self._survey or Survey(), self._local, self._domains, name)


class _Cutting:
    """The blocks of sections, chunk by chunk.

    Without a shape the first blocks tell how the model is turned, and blocks must have sizes of
    their own: `is_done` says whether they had.
    """

    def __init__(self, sections: Sequence[Section], shape: ModelShape | None) -> None:
        self._sections, self._shape = sections, shape
        self._parts: list[list[tuple[Floats, Floats, NDArray[np.str_], Floats | None]]]
        self._parts = [[] for _ in sections]
        self._matrix = None if shape is None else shape.matrix
        self._low, self._high = np.full(3, np.inf), np.full(3, -np.inf)
        self.is_done = True

    def add(self, chunk: _Chunk) -> None:
        """Take the blocks of a chunk that are cut."""
        points, sizes = chunk.points, chunk.sizes
        if sizes is None:
            if self._shape is None:
                self.is_done = False
                return
            sizes = np.broadcast_to(self._shape.require_spacing(chunk.name), points.shape)
        if self._matrix is None:
            survey = Survey(chunk.local)
            survey.add(points, sizes)
            if survey.rows == survey.missing:
                return
            self._matrix = matrix_of(survey, chunk.local)
        reach = sizes @ np.abs(self._matrix).T / 2
        self._low = np.fmin(self._low, np.fmin.reduce(points - reach, axis=0))
        self._high = np.fmax(self._high, np.fmax.reduce(points + reach, axis=0))
        for parts, section in zip(self._parts, self._sections, strict=True):
            cut = np.flatnonzero(is_cut(section, points, sizes, self._matrix))
            values = None if chunk.values is None else chunk.values[cut]
            parts.append((points[cut], sizes[cut], chunk.labels[cut], values))

    def cuts(self, name: str) -> list[Cut]:
        """Return the sections; raise TableError for one that cuts no block."""
        if self._matrix is None:
            message = f"{name} has no block with a centroid: there is nothing to draw"
            raise TableError(message)
        return [
            self._cut(section, parts, self._matrix, name)
            for section, parts in zip(self._sections, self._parts, strict=True)
        ]

    def _cut(
        self,
        section: Section,
        parts: Sequence[tuple[Floats, Floats, NDArray[np.str_], Floats | None]],
        matrix: Floats,
        name: str,
    ) -> Cut:
        """Join the chunks of a section."""
        points, sizes, labels = (np.concatenate([one[at] for one in parts]) for at in range(3))
        if not len(points):
            low, high = self._low[section.across], self._high[section.across]
            message = (
                f"no block of {name} is cut by {section.axis} = {section.at:.10g}: {section.axis} "
                f"runs from {low:.10g} to {high:.10g}"
            )
            raise TableError(message)
        values = [one for *_, one in parts if one is not None]
        return Cut(
            section, points, sizes, labels, matrix, np.concatenate(values) if values else None
        )
