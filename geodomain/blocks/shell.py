"""Make wireframes of the labelled blocks of a model: the boundary of each label, closed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from geodomain.blocks.smoothing import bodies, smoothed
from geodomain.blocks.walls import (
    OUTSIDE,
    Boxes,
    WallTriangles,
    boxes_of,
    corner_noise,
    find_walls,
    triangulated,
)
from geodomain.checks.columns import LabelSpellings
from geodomain.checks.overlaps import OverlappingBlocks
from geodomain.compute.data import Bools, Floats
from geodomain.errors import TableError, collect_warnings, counted, in_lines, shown, warn
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.formats.blocks import file_of, open_model, read_columns
from geodomain.formats.wireframes import files_of, holds_names, require_writer, write_mesh
from geodomain.lattice import steps_of
from geodomain.mesh.fitness import mark_warned
from geodomain.mesh.mesh import Mesh
from geodomain.progress import Progress, show_progress
from geodomain.query.contains import contains_lattice
from geodomain.result_tables import html_table, records_frame, text_table
from geodomain.tables.conditions import Column
from geodomain.tables.frames import Frame, Triple, turned
from geodomain.tables.in_memory import NAME, BlockFrame
from geodomain.tables.options import TableOptions, table_options
from geodomain.tables.rotation import FIRST, refuse_misfit, require_known_turn
from geodomain.tables.settings import TableKeywords
from geodomain.tables.vendors import closest
from geodomain.volumes.exact_sums import exact_sums, nearest_float

if TYPE_CHECKING:
    import pandas
    from narwhals.typing import IntoDataFrame

Smoothing = Literal["none", "surfacenets"]

# A warning names a body that loses this share of its volume by smoothing.
_LOSS = 0.05
# Blocks that are compared at a time, to find blocks that overlap.
_COMPARED = 900_000
_ORIGIN: Triple = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class LabelShell:
    """The wireframe of one label.

    Attributes
    ----------
    name : str
        The label.
    blocks : int
        Number of blocks with the label.
    volume : float
        Volume of these blocks.
    triangles : int
        Number of triangles of the wireframe.
    wireframe_volume : float
        Volume that the wireframe encloses; equal to `volume`, but for rounding, if it is not
        smoothed.
    lost : int
        Number of blocks with the label whose centroid is outside the wireframe.
    gained : int
        Number of other blocks whose centroid is inside the wireframe.
    """

    name: str
    blocks: int
    volume: float
    triangles: int
    wireframe_volume: float
    lost: int = 0
    gained: int = 0


@dataclass(frozen=True, repr=False)
class Shells:
    """Wireframes of labelled blocks; `str` and a notebook show them as a table.

    Attributes
    ----------
    labels : tuple of LabelShell
        One item for each wireframe, in the order of the labels in the model.
    meshes : dict of str to Mesh
        The wireframes by label.
    smooth : {"none", "surfacenets"}
        How the wireframes were smoothed.
    changed : int
        Number of blocks that the wireframes would label differently.
    seconds : float
        Elapsed time.
    output : str
        The output file; empty if none was written.
    warnings : tuple of str
        Texts of all warnings.
    """

    labels: tuple[LabelShell, ...]
    meshes: dict[str, Mesh] = field(compare=False)
    smooth: Smoothing
    changed: int
    seconds: float
    output: str = ""
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain values without the meshes, ready for JSON."""
        return {
            "labels": [asdict(label) for label in self.labels],
            "smooth": self.smooth,
            "changed": self.changed,
            "seconds": self.seconds,
            "output": self.output,
            "warnings": list(self.warnings),
        }

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame with a row for each wireframe."""
        return records_frame(LabelShell, self.labels)

    def __str__(self) -> str:
        """Return the table as text."""
        return in_lines([*text_table(self._cells()), self._sentence])

    def __repr__(self) -> str:
        """Return the labels and the number of triangles."""
        names = ", ".join(label.name for label in self.labels)
        return f"<Shells of {names}: {counted(self._triangles, 'triangle')}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, *rows = self._cells()
        return html_table("Shells", rows, headings=headings, notes=[self._sentence])

    @property
    def _triangles(self) -> int:
        return sum(label.triangles for label in self.labels)

    @property
    def _sentence(self) -> str:
        made = f"{counted(len(self.labels), 'wireframe')} in {self.seconds:.2f} s"
        if self.smooth == "none":
            return made
        blocks = sum(label.blocks for label in self.labels)
        share = f" ({self.changed / blocks:.2%})" if blocks else ""
        return f"{made}; smoothing changes the label of {counted(self.changed, 'block')}{share}"

    def _cells(self) -> list[list[str]]:
        """Return the cells of the table; the first row holds the headings."""
        smoothed = self.smooth != "none"
        headings = ["label", "blocks", "volume", "triangles"]
        rows = [[*headings, *["wireframe volume", "change", "lost", "gained"] * smoothed]]
        for label in self.labels:
            row = [label.name, f"{label.blocks:,}", f"{label.volume:,.10g}"]
            row.append(f"{label.triangles:,}")
            if smoothed:
                change = label.wireframe_volume / label.volume - 1
                row += [f"{label.wireframe_volume:,.10g}", f"{change:+.2%}"]
                row += [f"{label.lost:,}", f"{label.gained:,}"]
            rows.append(row)
        return rows


def shell(
    blocks: str | os.PathLike[str] | IntoDataFrame,
    *,
    only: str | Sequence[str] | None = None,
    column: str = "domain",
    smooth: Smoothing = "none",
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> Shells:
    r"""Make closed wireframes of labelled blocks: the boundary of the blocks of each label.

    Triangles are oriented outwards. Where the blocks of two labels meet, both wireframes have the
    same triangles. Blocks may have different sizes and may be rotated. Large flat parts have few
    triangles, and no vertex lies on the edge of a triangle (no T-junctions). Without smoothing, the
    wireframes label the model's blocks exactly as they are labelled.

    Parameters
    ----------
    blocks : path, pandas or polars DataFrame, or pyarrow.Table
        A labelled block model, in any format that `label_file` takes. Without sizes, blocks must
        form a lattice, whose steps are the sizes.
    only : str or sequence of str, optional
        Labels that get a wireframe. Blocks with other labels count as outside. By default, each
        label gets a wireframe; blocks without a label are outside.
    column : str
        The column of labels.
    smooth : {"none", "surfacenets"}
        "surfacenets" moves the vertices of the blocks' faces to smooth the wireframes, by VTK's
        SurfaceNets (Gibson, 1998). It needs blocks of one lattice.
    output : path, optional
        File for the wireframes; see `write_mesh` for the formats. For several labels, it must be a
        format for several solids: .dxf, .ts, .omf, .geoh5 or .dtm.
    overwrite : bool
        Whether an existing output may be replaced.
    progress
        As for `label_file`.
    **table
        Options for reading the blocks, as for `label_file`.

    Returns
    -------
    Shells
        ``print`` it for a table; `Shells.meshes` has the wireframes by label.

    Raises
    ------
    TableError
        If the column or a label is missing, blocks overlap or have no sizes, or blocks are rotated
        by an unknown angle. For smoothing, if blocks have different sizes.
    MeshError
        If the format of the output is unknown or cannot store several solids.
    OSError
        If a file cannot be read or written. If the output exists already; see ``overwrite``.
    ValueError, TypeError
        For an invalid value, or an object that is not a table.

    Warns
    -----
    GeodomainWarning
        For blocks without a centroid or a size, which are left out; and for bodies that lose 5 % of
        their volume by smoothing.

    Notes
    -----
    Where blocks of a label touch along an edge only, this edge belongs to four triangles.
    `geodomain.check` reports such edges; labels are still well defined.

    All corners in a plane across an axis have the same coordinate along this axis: the decimal
    number that exact arithmetic gives. The wireframes of a rotated model are made along the axes of
    its blocks, and each vertex is then rotated once.

    Examples
    --------
    >>> import geodomain, pandas
    >>> blocks = pandas.DataFrame({"X": [5, 15], "Y": [5, 5], "Z": [5, 5], "DX": [10, 10],
    ...     "DY": [10, 10], "DZ": [10, 10], "domain": ["ORE", "WASTE"]})
    >>> shells = geodomain.shell(blocks)
    >>> [(label.name, label.triangles, label.wireframe_volume) for label in shells.labels]
    [('ORE', 12, 1000.0), ('WASTE', 12, 1000.0)]
    """
    began = time.perf_counter()
    if smooth not in get_args(Smoothing):
        message = f"smooth is {shown(smooth)}; use 'none' or 'surfacenets'"
        raise ValueError(message)
    wanted = (
        None if only is None else list(dict.fromkeys([only] if isinstance(only, str) else only))
    )
    if wanted == []:
        message = "only= is empty: name at least one label, or leave it out"
        raise ValueError(message)
    target = "" if output is None else os.fspath(output)
    if target:
        _require_output(target, blocks, overwrite=overwrite)
        _require_names(target, len(wanted or ()))
    options = table_options(**table)
    with collect_warnings() as warned, show_progress(progress, "reading") as report:
        model = _read(blocks, column, options, report)
        names = model.wanted(wanted, column)
        if target:
            _require_names(target, len(names))
        rows, meshes, changed = _outlined(model, names, smooth)
        if target:
            write_mesh(meshes, target, overwrite=overwrite)
    return Shells(
        labels=rows,
        meshes=meshes,
        smooth=smooth,
        changed=changed,
        seconds=time.perf_counter() - began,
        output=target,
        warnings=tuple(warned),
    )


def _require_output(target: str, blocks: object, *, overwrite: bool) -> None:
    """Refuse an output that exists, is an input, or has no extension of a wireframe format."""
    require_writer(Path(target))
    outputs = files_of(Path(target))
    if isinstance(blocks, str | os.PathLike):
        refuse_inputs(outputs, [file_of(os.fspath(blocks))])
    require_places(outputs, overwrite=overwrite)


def _require_names(target: str, count: int) -> None:
    """Refuse several wireframes for a file that can store only one."""
    if count > 1 and not holds_names(target):
        message = (
            f"{target} can store one wireframe, but there are {count}: use .dxf, .ts, .omf or "
            ".geoh5, or name one label with only="
        )
        raise TableError(message)


# --- The labelled blocks.


class _Turn(NamedTuple):
    """The rotation of blocks: world = origin + matrix (local - local_origin)."""

    matrix: Floats
    origin: Triple
    local_origin: Triple

    @classmethod
    def of(cls, frame: Frame, axes: Floats) -> _Turn | None:
        """Return the rotation that a frame, or else the directions of cells, states."""
        lattice = frame.lattice
        matrix = axes.T if lattice is None else np.array(lattice.matrix)
        if (matrix == np.eye(3)).all():
            return None
        if lattice is None:
            return cls(matrix, _ORIGIN, _ORIGIN)
        return cls(matrix, lattice.origin, lattice.local_origin)

    def to_local(self, points: Floats) -> Floats:
        return turned(points, self.matrix.T, self.local_origin, self.origin)

    def to_world(self, points: Floats) -> Floats:
        return turned(points, self.matrix, self.origin, self.local_origin)


@dataclass(frozen=True)
class _Model:
    """Labelled blocks, without those that have no centroid or no size.

    `points` are world centroids, `codes` the index of each block's label in `labels`.
    """

    name: str
    points: Floats
    sizes: Floats
    labels: list[str]
    codes: NDArray[np.int32]
    turn: _Turn | None
    rounded: bool

    def wanted(self, only: Sequence[str] | None, column: str) -> list[str]:
        """Return the labels to outline, in the order of the model.

        Raises
        ------
        TableError
            If the model has no such label.
        """
        present = [
            name
            for name, count in zip(
                self.labels, np.bincount(self.codes, minlength=len(self.labels)), strict=True
            )
            if name and count
        ]
        for name in only or ():
            if name not in present:
                listed = ", ".join(map(shown, present[:12])) or "none"
                message = (
                    f"{self.name} has no block with the label {shown(name)} in {column!r}"
                    f"{closest(present, name)}; its labels are {listed}"
                )
                raise TableError(message)
        if not present:
            message = f"{self.name} has no labels in {column!r}: label it with 'geodomain label'"
            raise TableError(message)
        return [name for name in present if only is None or name in only]

    def boxes(self) -> Boxes:
        """Return the blocks with common corners, in the frame of the blocks.

        Raises
        ------
        TableError
            If blocks overlap, or a block is thinner than the rounding of its corners.
        """
        local = self.points if self.turn is None else self.turn.to_local(self.points)
        noise = corner_noise(self.points, turned=self.turn is not None)
        result = boxes_of(local, self.sizes, noise=noise, rounded=self.rounded)
        if isinstance(result, int):
            message = (
                f"{self.name}: the block at {_place(self.points[result])} has the size "
                f"{_size(self.sizes[result])}, which is lost in the rounding of its coordinates: "
                "shift the model towards the origin, or correct the size"
            )
            raise TableError(message)
        pair = _shared_cell(result) if result.is_lattice else _overlap(local, self.sizes)
        if pair is not None:
            a, b = pair
            message = (
                f"{self.name} has blocks that overlap, so their boundary is not defined: the block "
                f"at {_place(self.points[a])} with the size {_size(self.sizes[a])} overlaps "
                f"the block at {_place(self.points[b])} with the size "
                f"{_size(self.sizes[b])}"
            )
            raise TableError(message)
        return result


def _place(point: Floats) -> str:
    return f"({', '.join(f'{value:.10g}' for value in point)})"


def _size(size: Floats) -> str:
    return " x ".join(f"{value:.6g}" for value in size)


def _shared_cell(boxes: Boxes) -> tuple[int, int] | None:
    """Return two blocks of a lattice that are in the same cell, or None."""
    shape = tuple(len(each) for each in boxes.places)
    cells = np.ravel_multi_index(boxes.low, shape)
    seen = np.zeros(int(np.prod(shape)), np.bool_)
    seen[cells] = True
    if np.count_nonzero(seen) == len(cells):
        return None
    order = cells.argsort(kind="stable")
    again = int(np.flatnonzero(np.diff(cells[order]) == 0)[0])
    return int(order[again]), int(order[again + 1])


def _overlap(points: Floats, sizes: Floats) -> tuple[int, int] | None:
    """Return two blocks that overlap, or None. Blocks are compared in slabs across x."""
    low, high = points[:, 0] - sizes[:, 0] / 2, points[:, 0] + sizes[:, 0] / 2
    order = low.argsort(kind="stable")
    for begin in range(0, len(order), _COMPARED):
        rows = order[begin : begin + _COMPARED]
        before = order[:begin]
        rows = np.concatenate([before[high[before] > low[rows[0]]], rows])
        compared = OverlappingBlocks()
        compared.add(points[rows], sizes[rows])
        if compared.again:
            _, first, counts = np.unique(
                points[rows], axis=0, return_index=True, return_counts=True
            )
            a = rows[first[counts.argmax()]]
            same = rows[(points[rows] == points[a]).all(axis=1)]
            return int(same[0]), int(same[1])
        overlap = compared.overlap(turn_is_known=True)
        if overlap is not None:
            a, b = (
                int(rows[((points[rows] == centre) & (sizes[rows] == size)).all(axis=1).argmax()])
                for centre, size in overlap.pair
            )
            return a, b
    return None


class _Collected:
    """Centroids, sizes and labels of blocks, collected chunk by chunk."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.spellings = LabelSpellings(column)
        self.code_of: dict[str, int] = {}
        self.codes: list[NDArray[np.int32]] = []
        self.points: list[Floats] = []
        self.sizes: list[Floats] = []

    def add(
        self,
        points: Floats,
        sizes: Floats | None,
        column: Callable[[str], Column],
        rows: Bools | slice[None, None, None],
    ) -> None:
        """Add a chunk of blocks."""
        texts, places = self.spellings.distinct(column(self.column))
        codes = [self.code_of.setdefault(text, len(self.code_of)) for text in texts]
        self.codes.append(np.array(codes, np.int32)[places][rows])
        self.points.append(np.array(points))
        if sizes is not None:
            self.sizes.append(np.array(sizes))

    def model(self, name: str, frame: Frame, axes: Floats) -> _Model:
        """Return all blocks that have a centroid and a size."""
        points, sizes = _stacked(self.points), _stacked(self.sizes) if self.sizes else None
        codes = np.concatenate([np.empty(0, np.int32), *self.codes])
        turn = _Turn.of(frame, axes)
        usable = _all_rows(points, -np.inf)
        if sizes is not None:
            usable = usable & _all_rows(sizes, 0.0)
        if not np.all(usable):
            lost = len(points) - int(np.count_nonzero(usable))
            points, codes = points[usable], codes[usable]
            sizes = None if sizes is None else sizes[usable]
            warn(
                f"{name}: {counted(lost, 'block')} without a centroid or a size above 0 "
                f"{'is' if lost == 1 else 'are'} left out, and would be inside no wireframe"
            )
        if not len(points):
            message = (
                f"{name} has no blocks with a centroid and a size: there is nothing to outline"
            )
            raise TableError(message)
        refuse_misfit(points, sizes, frame, name)
        if sizes is None:
            local = points if turn is None else turn.to_local(points)
            sizes = np.broadcast_to(_spacing(local, name), points.shape)
        if turn is None:
            some = slice(None, FIRST)
            require_known_turn(points[some], sizes[some], frame, name, "outlined")
        for sentence in self.spellings.notes():
            warn(sentence)
        rounded = turn is not None and frame.boxes is not None
        return _Model(name, points, sizes, list(self.code_of), codes, turn, rounded)


def _stacked(chunks: Sequence[Floats]) -> Floats:
    """Return the rows of all chunks, column-major."""
    return np.concatenate([np.empty((3, 0)), *(chunk.T for chunk in chunks)], axis=1).T


def _all_rows(numbers: Floats, least: float) -> Bools | np.bool_:
    """Return which rows are finite and above a number; one value if all rows are."""
    if np.isfinite(numbers.sum()) and numbers.min(initial=np.inf) > least:
        return np.bool_(True)
    return (np.isfinite(numbers) & (numbers > least)).all(axis=1)


def _spacing(points: Floats, name: str) -> Floats:
    """Return the steps of the lattice of centroids, (3,), for blocks without sizes."""
    spacing = []
    for axis in range(3):
        values = np.unique(np.round(points[:, axis], 6))
        steps = steps_of(values) if len(values) > 1 else None
        if steps is None:
            message = (
                f"{name} has no block sizes, and its centroids show no step along {'xyz'[axis]}: "
                "give the columns of sizes, or the sizes, with dx=, dy= and dz="
            )
            raise TableError(message)
        spacing.append(steps.step / 10.0**steps.decimals)
    return np.array(spacing)


def _read(
    blocks: str | os.PathLike[str] | IntoDataFrame,
    column: str,
    options: TableOptions,
    progress: Progress | None,
) -> _Model:
    """Read labelled blocks from a file or from a table in memory."""
    collected = _Collected(column)
    if isinstance(blocks, str | os.PathLike):
        with open_model(os.fspath(blocks), options) as opened:
            read_columns(opened, [column], collected.add, progress=progress)
            return collected.model(opened.name, opened.frame, opened.axes)
    frame = BlockFrame(blocks, options=options)
    place = frame.find(column)
    points, sizes, where = frame.blocks(options)
    collected.add(points, sizes, lambda _: frame.column(place), slice(None))
    return collected.model(NAME, where, where.axes)


# --- Wireframes of the blocks.


def _outlined(
    model: _Model, names: Sequence[str], smooth: Smoothing
) -> tuple[tuple[LabelShell, ...], dict[str, Mesh], int]:
    """Return a summary and a mesh for each label, and the number of blocks that change."""
    code_of = np.full(len(model.labels), OUTSIDE, np.int32)
    for code, name in enumerate(names):
        code_of[model.labels.index(name)] = code
    codes = code_of[model.codes]
    boxes = model.boxes()
    if smooth == "none":
        walls = triangulated(find_walls(boxes, codes), boxes.places)
        inside = None
    else:
        if not boxes.is_lattice:
            message = (
                f"{model.name} has blocks of different sizes, or blocks that are not on one "
                "lattice, and SurfaceNets needs the blocks of a regular model: use smooth='none'"
            )
            raise TableError(message)
        sharp, walls = smoothed(boxes, codes)
        _warn_of_losses(sharp, walls, names, model.turn)
        inside = _relabelled(boxes, walls, len(names))
    volumes = exact_sums(model.sizes.prod(axis=1), codes.astype(np.intp) + 1, len(names) + 1)[1:]
    counts = np.bincount(codes + 1, minlength=len(names) + 1)[1:]
    lost, gained = np.zeros((2, len(names)), np.int64)
    if inside is not None:
        moved = codes != inside
        lost, gained = (
            np.bincount(each[moved] + 1, minlength=len(names) + 1)[1:] for each in (codes, inside)
        )
    rows, meshes = [], {}
    for code, name in enumerate(names):
        vertices, triangles = walls.solid(code)
        world = vertices if model.turn is None else model.turn.to_world(vertices)
        mesh = meshes[name] = Mesh(world, triangles, name=name)
        mark_warned(mesh)  # edges where blocks touch are no fault of the model
        row = LabelShell(
            name=name,
            blocks=int(counts[code]),
            volume=nearest_float(volumes[code]),
            triangles=len(triangles),
            wireframe_volume=mesh.volume,
            lost=int(lost[code]),
            gained=int(gained[code]),
        )
        rows.append(row)
    changed = 0 if inside is None else int(np.count_nonzero(codes != inside))
    return tuple(rows), meshes, changed


def _relabelled(boxes: Boxes, walls: WallTriangles, count: int) -> NDArray[np.int32]:
    """Return the code of the solid that contains the centre of each block of a lattice."""
    centres = [each[:-1] + np.diff(each) / 2 for each in boxes.places]
    relabelled = np.full(len(boxes.low[0]), OUTSIDE, np.int32)
    for code in range(count):
        mesh = Mesh(*walls.solid(code))
        mark_warned(mesh)
        relabelled[contains_lattice(mesh, *centres)[boxes.low]] = code
    return relabelled


def _warn_of_losses(
    sharp: WallTriangles, smooth: WallTriangles, names: Sequence[str], turn: _Turn | None
) -> None:
    """Warn of bodies that lose 5 % of their volume or more by smoothing."""
    for code, name in enumerate(names):
        vertices, triangles = sharp.solid(code)
        all_bodies = bodies(vertices, smooth.solid(code)[0], triangles)
        losing = [body for body in all_bodies if body.loss >= _LOSS]
        if not losing:
            continue
        worst = max(losing, key=lambda body: body.loss)
        place = worst.place[None]
        place = place[0] if turn is None else turn.to_world(place)[0]
        number = f"{len(losing):,} of {len(all_bodies):,} bodies of " if len(all_bodies) > 1 else ""
        warn(
            f"smoothing shrinks {number}{shown(name)} by 5 % or more; the "
            f"one at {_place(place)} shrinks most, "
            f"by {worst.loss:.0%}, from {worst.before:.6g} to {worst.after:.6g}: use "
            "smooth='none', or smaller blocks"
        )
