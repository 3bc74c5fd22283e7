"""What sections show: cuts through blocks and wireframes, and the drillholes near them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.columns import LabelSpellings
from geodomain.compute.data import Floats
from geodomain.domains.order import Domains
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.tables import TableLike
from geodomain.errors import TableError, warn
from geodomain.formats.block_file import Relabelling
from geodomain.formats.blocks import open_model
from geodomain.mesh.mesh import Mesh
from geodomain.progress import Progress
from geodomain.reporting.planes import AXES, Section
from geodomain.reporting.survey import Survey, find_lattice
from geodomain.tables.conditions import Column, with_policy
from geodomain.tables.dialect import number
from geodomain.tables.frames import LocalFrame
from geodomain.tables.numbers import BelowDetection, NegativeGrades
from geodomain.tables.options import TableOptions
from geodomain.tables.rotation import refuse_misfit, require_constants
from geodomain.tables.vendors import find_column

_CORNERS = np.array(list(product((-0.5, 0.5), repeat=3)))
# The edges of a block: pairs of corners that differ in one coordinate.
_EDGES = np.array(
    [
        (a, b)
        for a in range(8)
        for b in range(a + 1, 8)
        if np.abs(_CORNERS[a] - _CORNERS[b]).sum() == 1
    ]
)


def is_cut(section: Section, points: Floats, sizes: Floats, matrix: Floats) -> NDArray[np.bool_]:
    """Return the mask of blocks that a plane cuts.

    A plane on the lower face of a block cuts the block. A plane on the upper face does not. A line
    cuts the blocks between its ends.

    Parameters
    ----------
    section : Section
        The plane.
    points, sizes : (n, 3) float64
        World centroids, and sizes along the block axes.
    matrix : (3, 3) float64
        Rotation from block axes to world axes.
    """
    half = sizes @ np.abs(section.normal @ matrix) / 2
    offset = section.at - section.height(points)
    whole = np.isfinite(points).all(axis=1)
    cut = np.asarray(whole & (-half <= offset) & (offset < half))
    if section.ends is not None:
        reach = sizes @ np.abs(section.right @ matrix) / 2
        place = section.flat(points)[:, 0]
        cut &= (place + reach > 0) & (place - reach < section.length)
    return cut


def cut_blocks(
    section: Section, points: Floats, sizes: Floats, matrix: Floats
) -> list[NDArray[np.float64]]:
    """Return, for each block, the polygon (k, 2) in which a plane cuts it; all blocks must be cut.

    The polygon of a rotated block has three to six corners: one on each edge that the plane cuts.
    """
    corners = points[:, None] + (_CORNERS * sizes[:, None]) @ matrix.T
    starts, ends = corners[:, _EDGES[:, 0]], corners[:, _EDGES[:, 1]]
    places, crossed = _cross(section, starts, ends)
    counts = crossed.sum(axis=1)
    middle = np.where(crossed[..., None], places, 0).sum(axis=1) / np.maximum(counts, 1)[:, None]
    around = places - middle[:, None]
    angles = np.where(crossed, np.arctan2(around[..., 1], around[..., 0]), np.inf)
    order = np.argsort(angles, axis=1, kind="stable")
    ordered = np.take_along_axis(places, order[..., None], axis=1)
    # An oblique plane may touch a block in a corner, and cross no edge after rounding.
    touched = counts < 3
    ordered[touched, :3] = section.flat(points[touched])[:, None]
    counts = np.maximum(counts, 3)
    return [polygon[:count] for polygon, count in zip(ordered, counts.tolist(), strict=True)]


def cut_triangles(section: Section, corners: Floats) -> Floats:
    """Return the line segments (k, 2, 2) in which a plane cuts triangles (t, 3, 3)."""
    starts, ends = corners, np.roll(corners, -1, axis=1)
    places, crossed = _cross(section, starts, ends)
    # The plane crosses two edges of each triangle that it cuts.
    cut = crossed.sum(axis=1) == 2
    lines: Floats = places[cut][crossed[cut]].reshape(-1, 2, 2)
    return lines


def _cross(section: Section, starts: Floats, ends: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the points (..., 2) where edges cross the plane, and the mask of these edges."""
    low, high = section.height(starts), section.height(ends)
    crossed = (low > section.at) != (high > section.at)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(crossed, (section.at - low) / (high - low), 0.0)
    start = section.flat(starts)
    return start + part[..., None] * (section.flat(ends) - start), crossed


def box_of(polygons: Sequence[Floats]) -> Floats:
    """Return the bounding box (2, 2) of polygons or lines."""
    stacked = np.concatenate([polygon.reshape(-1, 2) for polygon in polygons])
    return np.stack([stacked.min(axis=0), stacked.max(axis=0)])


# Label columns and columns of measurements.

# More distinct numbers than this are grades or densities, not codes of domains.
_MOST_NUMBERS = 100


def require_labels(labels: Collection[str], column: str, model: str, where: str = "") -> None:
    """Refuse a label column that holds measurements.

    Parameters
    ----------
    labels : collection of str
        Distinct labels.
    column, model : str
        Names of the column and the model.
    where : str
        The part of the model that has these labels, for the message; "" for the whole model.

    Raises
    ------
    TableError
        If all labels are numbers, and there are more than 100 labels.
    """
    distinct = {label for label in labels if label}
    if len(distinct) > _MOST_NUMBERS and all(number(label) is not None for label in distinct):
        message = (
            f"{model}: column {column!r} holds {len(distinct):,} different numbers{where}, so it "
            "is not a label column: name the label column with column="
        )
        raise TableError(message)


# First pass: rotation, spacing and centre of the model.


@dataclass(frozen=True)
class ModelShape:
    """The shape of a block model.

    Attributes
    ----------
    spacing : (3,) float64, optional
        Lattice spacing of blocks without sizes.
    matrix : (3, 3) float64
        Rotation from block axes to world axes.
    middle : (3,) float64
        Middle of the labelled domains, moved so that it is not on block faces.
    """

    spacing: Floats | None
    matrix: Floats
    middle: Floats

    def require_spacing(self, name: str) -> Floats:
        """Return the spacing; raise TableError if there is none."""
        if self.spacing is None:
            message = (
                f"{name} has no block sizes, and they cannot be inferred, because its centroids "
                "form no lattice: name the size columns with dx=, dy= and dz="
            )
            raise TableError(message)
        return self.spacing


def shape_of(survey: Survey, local: LocalFrame | None, domains: Floats, name: str) -> ModelShape:
    """Return the shape of a model; `domains` is the bounding box of labelled centroids.

    Raises
    ------
    TableError
        If no block has a centroid.
    """
    if survey.rows == survey.missing:
        message = f"{name} has no block with a centroid, so there is nothing to draw"
        raise TableError(message)
    if not np.isfinite(domains).all():
        domains = survey.centroids
    lattice = None if survey.sized else find_lattice(survey)
    return ModelShape(
        spacing=np.array(lattice.spacing) if lattice else None,
        matrix=matrix_of(survey, local),
        middle=np.array([_amid(survey, axis, domains[:, axis].mean()) for axis in range(3)]),
    )


def matrix_of(survey: Survey, local: LocalFrame | None) -> Floats:
    """Return the matrix that rotates block axes to world axes.

    It is that of `local`; without it, `survey` has the azimuth of the blocks.
    """
    frame = local or LocalFrame([("z", survey.azimuth)], (0.0, 0.0, 0.0))
    return np.array(frame.matrix)


def _amid(survey: Survey, axis: int, middle: float) -> float:
    """Return a coordinate near `middle` that is in the interior of blocks, not on their faces."""
    lows = None if survey.is_turned else survey.lows(axis)
    if lows is None:
        length = float(np.ptp(survey.extent[:, axis])) or 1.0
        return round(middle, 2 - math.floor(math.log10(length)))
    if not survey.sized:  # then `lows` are centroids
        return float(lows[np.abs(lows - middle).argmin()])
    faces = np.append(lows, survey.extent[1, axis])
    after = int(np.clip(np.searchsorted(faces, middle, side="right"), 1, len(faces) - 1))
    return float(faces[after - 1 : after + 1].mean())


# Second pass: the blocks that sections cut.


@dataclass(frozen=True)
class Cut:
    """The blocks that a section cuts.

    Attributes
    ----------
    section : Section
        The plane.
    points, sizes : (n, 3) float64
        World centroids, and sizes along the block axes.
    labels : (n,) array of str
        Labels of the blocks.
    matrix : (3, 3) float64
        Rotation from block axes to world axes.
    values : (n,) float64, optional
        Grades, NaN where missing.
    extent : (2, 3) float64, optional
        Bounding box of all blocks of the model, not only of those cut.
    """

    section: Section
    points: Floats
    sizes: Floats
    labels: NDArray[np.str_]
    matrix: Floats
    values: Floats | None = None
    extent: Floats | None = None

    @property
    def is_on_faces(self) -> bool:
        """Whether the plane lies on the lower faces of blocks."""
        across = self.section.across
        if across is None or not np.array_equal(self.matrix, np.eye(3)):
            return False
        low = self.points[:, across] - self.sizes[:, across] / 2
        return bool((low == self.section.origin[across]).any())


def wireframes_of(domains: Domains) -> dict[str, Sequence[Mesh]]:
    """Return wireframes by domain; a surface of a stack belongs to the layer below the surface.

    The top layer of a stack has no wireframe. If the layer below a surface has no name, the surface
    has its own name.
    """
    wireframes: dict[str, Sequence[Mesh]] = {domain.name: domain.placed for domain in domains}
    for stack in domains.stacks:
        if stack.layers[0]:
            wireframes[stack.layers[0]] = ()
        for tiles, below in zip(stack.placed, stack.layers[1:], strict=True):
            wireframes[below or tiles[0].name] = tiles
    return wireframes


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
        A labelled model in any format. If sections are named and blocks have sizes, it is read
        once. Otherwise it is read twice.
    options : TableOptions
        The user's options for the file.
    column : str
        Label column.
    sections : sequence of Section
        Where to cut. If it is empty, there is a section across each axis, through the middle of the
        labelled domains.
    background : sequence of str
        Labels that are not domains, in addition to the empty label.
    grade : str, optional
        A further numeric column to read.
    progress : callable, optional
        Called for each pass with the work done and the total.

    Returns
    -------
    list of Cut

    Raises
    ------
    TableError
        If a column is missing, or a section cuts no block. Also if the model has no sizes and its
        centroids form no lattice.
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
    """A batch of blocks, and the rotated frame of their lattice."""

    name: str
    local: LocalFrame | None
    points: Floats
    sizes: Floats | None
    labels: NDArray[np.str_]
    values: Floats | None


class _Source:
    """A model file and the columns to read in each pass."""

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
        """Pass all blocks to `add`, batch by batch; only the first pass gives warnings."""
        with open_model(self._path, self._options) as model:
            self.name = model.name
            label = find_column(model.columns, self._column, model.name)
            grades = [self._grade] if self._grade is not None else []
            numeric = [find_column(model.columns, name, model.name) for name in grades]
            rows = 0
            spellings = LabelSpellings(model.columns[label])
            below = NegativeGrades(self._grade or "")

            def take(
                points: Floats, sizes: Floats | None, column: Callable[[int], Column]
            ) -> Sequence[NDArray[np.int32]]:
                nonlocal rows
                if sizes is None and not rows:
                    refuse_misfit(points, None, model.frame, model.name)
                require_constants(model.constants, column, model.columns, model.name, rows)
                texts, codes = spellings.distinct(column(label))
                values = None
                if numeric:
                    grade = column(numeric[0])
                    below.below = grade.rule.below
                    values = below.take(grade.numbers(), rows, grade.below_detection())
                rows += len(points)
                labels = np.array(texts, np.str_)[codes] if texts else np.empty(0, np.str_)
                add(_Chunk(model.name, model.frame.lattice, points, sizes, labels, values))
                return []

            also = sorted({label, *numeric, *model.constants})
            model.relabel(Relabelling(take, also=also, progress=self._progress))
            if not self._checked:
                notes = (*spellings.notes(), *below.notes())
                for sentence in (*notes, *below.warnings("block")):
                    warn(sentence)
            self._checked = True


class _Surveying:
    """A first pass over a model. It finds the shape of the model and the extent of its domains."""

    def __init__(self, ground: set[str]) -> None:
        self._ground = sorted(ground)
        self._survey: Survey | None = None
        self._local: LocalFrame | None = None
        self._domains = np.array([[np.inf] * 3, [-np.inf] * 3])

    def add(self, chunk: _Chunk) -> None:
        """Add a batch of blocks."""
        if self._survey is None:
            self._survey, self._local = Survey(chunk.local), chunk.local
        self._survey.add(chunk.points, chunk.sizes)
        labelled = chunk.points[~np.isin(chunk.labels, self._ground)]
        labelled = labelled[np.isfinite(labelled).all(axis=1)]
        if len(labelled):
            self._domains[0] = np.minimum(self._domains[0], labelled.min(axis=0))
            self._domains[1] = np.maximum(self._domains[1], labelled.max(axis=0))

    def shape(self, name: str) -> ModelShape:
        """Return the shape of the model; call it after the pass."""
        return shape_of(self._survey or Survey(), self._local, self._domains, name)


class _Cutting:
    """Collector of the blocks that sections cut, filled batch by batch.

    If `shape` is None, the rotation is inferred from the first blocks. The file must then have
    block sizes; otherwise `is_done` becomes False.
    """

    def __init__(self, sections: Sequence[Section], shape: ModelShape | None) -> None:
        self._sections, self._shape = sections, shape
        self._parts: list[list[tuple[Floats, Floats, NDArray[np.str_], Floats | None]]]
        self._parts = [[] for _ in sections]
        self._matrix = None if shape is None else shape.matrix
        self._low, self._high = np.full(3, np.inf), np.full(3, -np.inf)
        self.is_done = True

    def add(self, chunk: _Chunk) -> None:
        """Add the blocks of a batch that sections cut."""
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
        """Return the cut blocks of each section; raise TableError if a section cuts no block."""
        if self._matrix is None:
            message = f"{name} has no block with a centroid, so there is nothing to draw"
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
        """Join the parts of a section that come from different batches."""
        points, sizes, labels = (np.concatenate([part[at] for part in parts]) for at in range(3))
        extent = np.stack([self._low, self._high])
        if not len(points):
            raise TableError(cuts_nothing(section, extent, name))
        values = [grades for *_, grades in parts if grades is not None]
        grade = np.concatenate(values) if values else None
        return Cut(section, points, sizes, labels, matrix, grade, extent)


def cuts_nothing(section: Section, extent: Floats, name: str) -> str:
    """Return the message for a section that cuts no block of a model with this bounding box."""
    axes = ("x", "y") if section.axis is None else (section.axis,)
    ranges = [
        f"{axis} runs from {low:.10g} to {high:.10g}"
        for axis, low, high in zip(AXES, *extent.tolist(), strict=True)
        if axis in axes
    ]
    return f"no block of {name} is cut by {section}: {', and '.join(ranges)}"


# Drillholes near a section, projected onto its plane.

# Points along a hole: enough that the chords look like the curve.
_MOST = 200
# Number of holes handled at a time.
_TOGETHER = 2000


def lines_near(section: Section, holes: Drillholes, within: float) -> list[tuple[str, Floats]]:
    """Return the parts of holes within a distance of a section, projected at right angles.

    Parameters
    ----------
    section : Section
        The plane.
    holes : Drillholes
        The holes of the model; they need not be near the section.
    within : float
        Largest distance from the plane, on either side.

    Returns
    -------
    list of (str, (k, 2) float64)
        Hole name and points of each line, in order of depth. If a hole leaves this distance and
        comes back, it has several lines.
    """
    parts = []
    for start in range(0, len(holes), _TOGETHER):
        rows = np.arange(start, min(start + _TOGETHER, len(holes)))
        depths = holes.ends[rows, None] * np.linspace(0.0, 1.0, _MOST)
        points = holes.points_at(np.repeat(rows, _MOST), depths.ravel()).reshape(-1, _MOST, 3)
        offsets = section.height(points) - section.at
        near = (offsets.min(axis=1) <= within) & (offsets.max(axis=1) >= -within)
        for hole in np.flatnonzero(near).tolist():
            lines = pieces_near(points[hole], offsets[hole], section, within)
            parts += [(holes.names[start + hole], line) for line in lines if _meets(section, line)]
    return parts


def _meets(section: Section, line: Floats) -> bool:
    """Return whether a projected line is, at least in part, between the ends of a section."""
    start, end = section.reach
    return bool(line[:, 0].max() >= start and line[:, 0].min() <= end)


def pieces_near(points: Floats, offset: Floats, section: Section, within: float) -> list[Floats]:
    """Return the parts of a line that are within a distance of a plane.

    Each part is an array (k, 2) of coordinates in the section. For each point of the line, `offset`
    holds the signed distance from the plane.
    """
    flat = section.flat(points)
    if (np.abs(offset) <= within).all():
        return [flat]
    start, stop = _spans(offset, within)
    near = start < stop
    # A piece continues if one step is near at its end and the next step at its beginning.
    goes_on = near[:-1] & near[1:] & (stop[:-1] == 1) & (start[1:] == 0)
    first = np.flatnonzero(near & ~np.append(False, goes_on))
    last = np.flatnonzero(near & ~np.append(goes_on, False))
    steps = np.diff(flat, axis=0)
    heads, tails = flat[:-1] + start[:, None] * steps, flat[:-1] + stop[:, None] * steps
    return [
        np.concatenate([heads[start : start + 1], flat[start + 1 : end + 1], tails[end : end + 1]])
        for start, end in zip(first.tolist(), last.tolist(), strict=True)
    ]


def _spans(offset: Floats, within: float) -> tuple[Floats, Floats]:
    """Return, for each segment of a line, where its part near the plane begins and ends.

    Both are fractions of the segment, from 0 to 1. If no part is near the plane, the first fraction
    is not less than the second.
    """
    begin, change = offset[:-1], np.diff(offset)
    with np.errstate(divide="ignore", invalid="ignore"):
        entering, leaving = (-within - begin) / change, (within - begin) / change
    start, stop = (
        np.maximum(np.minimum(entering, leaving), 0.0),
        np.minimum(np.maximum(entering, leaving), 1.0),
    )
    still, here = change == 0, np.abs(begin) <= within
    return np.where(still, np.where(here, 0.0, 1.0), start), np.where(still, here * 1.0, stop)


# Samples near a section, as lines with a grade.

# Points along a sample; a hole bends little within one.
_POINTS = 5
# Number of samples handled at a time.
_SAMPLES_TOGETHER = 50_000


@dataclass(frozen=True)
class Samples:
    """Samples of drillholes that have a grade.

    Attributes
    ----------
    name : str
        Grade column.
    holes : (n,) intp
        Index of the hole of each sample.
    starts, ends : (n,) float64
        FROM and TO depths.
    values : (n,) float64
        Grades.
    """

    name: str
    holes: NDArray[np.intp]
    starts: Floats
    ends: Floats
    values: Floats


def samples_of(
    holes: Drillholes, table: TableLike, grade: str, below: BelowDetection | None = None
) -> Samples:
    """Read the samples that lie on the holes and have a grade.

    Negative values are treated as the setting ``below_detection`` says. Without this setting,
    negative values are used unchanged, with a warning.

    Raises
    ------
    TableError
        If the column is missing, or no sample of these holes has a number in the column.
    """
    rows = holes.match(table, also=[grade])
    column = with_policy(rows.table.column(grade), below)
    negative = NegativeGrades(grade, column.rule.below)
    values = negative.take(column.numbers(), cells=column.below_detection())
    for sentence in (*negative.notes(), *negative.warnings("sample")):
        warn(sentence)
    valid = np.flatnonzero(rows.usable & np.isfinite(values))
    if not len(valid):
        message = (
            f"{rows.table.name}: no sample of these holes has a number in the column {grade!r}: "
            "name a grade column"
        )
        raise TableError(message)
    # Nothing is drawn below the end of a hole.
    ends = np.minimum(rows.ends[valid], holes.ends[rows.holes[valid]])
    return Samples(grade, rows.holes[valid], rows.starts[valid], ends, values[valid])


def samples_near(
    section: Section, holes: Drillholes, within: float, samples: Samples
) -> tuple[list[Floats], Floats]:
    """Return the parts of samples within a distance of a section, projected at right angles.

    Parameters
    ----------
    section : Section
        The plane.
    holes : Drillholes
        The holes of the samples.
    within : float
        Largest distance from the plane, on either side.
    samples : Samples
        The samples.

    Returns
    -------
    list of (k, 2) float64
        Lines.
    (n,) float64
        Grade of each line.
    """
    lines: list[Floats] = []
    values: list[float] = []
    for start in range(0, len(samples.values), _SAMPLES_TOGETHER):
        some = slice(start, start + _SAMPLES_TOGETHER)
        shares = np.linspace(0.0, 1.0, _POINTS)
        first, last = samples.starts[some, None], samples.ends[some, None]
        depths = first + (last - first) * shares
        rows = np.repeat(samples.holes[some], _POINTS)
        points = holes.points_at(rows, depths.ravel()).reshape(-1, _POINTS, 3)
        offsets = section.height(points) - section.at
        near = (offsets.min(axis=1) <= within) & (offsets.max(axis=1) >= -within)
        for row in np.flatnonzero(near).tolist():
            near_plane = pieces_near(points[row], offsets[row], section, within)
            pieces = [piece for piece in near_plane if _meets(section, piece)]
            lines += pieces
            values += [float(samples.values[start + row])] * len(pieces)
    return lines, np.array(values, np.float64)
