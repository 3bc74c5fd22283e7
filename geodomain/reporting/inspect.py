"""Inspect a block model in one pass, and report on it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.blocks import (
    MISSING_OPTION,
    BlockChecks,
    realisations_of,
    say_box,
    summed_realisations,
)
from geodomain.compute.data import Floats
from geodomain.domains.domain import Shift, in_words
from geodomain.domains.order import (
    ConditionCounts,
    Domains,
    DomainsLike,
    allowed_rows,
    condition_columns,
    unmet,
)
from geodomain.domains.sources import domains_to_draw
from geodomain.errors import MeshError, collect_warnings, counted, in_lines, warn
from geodomain.formats.blocks import BlockFile, Relabelling, open_model
from geodomain.formats.cell_file import CellModel
from geodomain.formats.wireframes import reading_once
from geodomain.inputs import MeshesLike, as_meshes, model_path
from geodomain.labelling.evaluate import explain_apart, explain_better, meet, share_within
from geodomain.lattice import even_lattice
from geodomain.mesh.fitness import require_inside
from geodomain.mesh.mesh import Mesh
from geodomain.progress import Progress, show_progress
from geodomain.reporting.survey import LatticeGuess, Repeats, Survey, find_lattice, sub_blocking
from geodomain.result_tables import html_table, records_frame
from geodomain.tables.conditions import Column
from geodomain.tables.frames import shortest
from geodomain.tables.options import table_options
from geodomain.tables.rotation import refuse_misfit
from geodomain.tables.settings import TableKeywords

if TYPE_CHECKING:
    import pandas

# Cost of labelling besides the timed pass, measured on two cores of a server.
_READING, _SECONDS_PER_BLOCK, _SECONDS_PER_TRIANGLE = 2.0, 25e-9, 0.4e-6
_BYTES_PER_TRIANGLE = 200
# Rotation rounds coordinates: a box that sticks out by less than this share counts as inside.
_ROUNDING = 1e-9


# From this filled share on, messages say "filled 10 times" instead of a percentage.
_MANY_TIMES = 10.0


@dataclass(frozen=True)
class Fit:
    """The position of a mesh relative to the model.

    Attributes
    ----------
    mesh : str
        Name of the mesh.
    triangles : int
        Number of triangles.
    closed : bool
        Whether the mesh is closed.
    bounds : list
        Bounding box of the mesh: its lowest and its highest corner.
    meets : bool
        Whether the mesh's box touches or overlaps the model's box.
    share : float
        Share, 0 to 1, of the mesh's box that is inside the model's box. The sides of both boxes are
        parallel to the lattice axes.
    blocks : int
        Number of block centroids in the mesh's box.
    shift : tuple of 3 floats, optional
        The shift of the mesh's domain. `bounds` and the other values are those of the moved mesh.
    """

    mesh: str
    triangles: int
    closed: bool
    bounds: list[list[float]]
    meets: bool
    share: float
    blocks: int
    shift: Shift | None = None


class SizeCount(TypedDict):
    """A block size and the number of blocks that have it."""

    size: list[float]
    blocks: int


@dataclass(frozen=True, repr=False)
class Inspection:
    """The description of a model; `str` and a notebook show it as a table.

    Lengths are in the unit of the file, and angles in degrees.
    """

    name: str
    facts: dict[str, str]
    columns: tuple[str, ...]
    centroid: tuple[str, ...]
    sizes: tuple[str, ...]
    position: str
    rotation: str
    azimuth: float
    turned: bool
    rows: int
    missing: int
    centroids: list[list[float]] | None
    extent: list[list[float]] | None
    blocks: str
    kinds: list[SizeCount]
    lattice: LatticeGuess | None
    volume: float | None
    meshes: tuple[Fit, ...]
    memory_bytes: int
    seconds: float
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the description as one row; rows of several models can be joined to a table."""
        return records_frame(Inspection, [self])

    def __str__(self) -> str:
        """Return the description as lines of text."""
        return as_table(self)

    def __repr__(self) -> str:
        """Return one line: the model, its size, and the number of wireframes."""
        return (
            f"<Inspection of {self.name}: {counted(self.rows, 'block')}, {self.blocks}, "
            f"{counted(len(self.meshes), 'mesh', 'meshes')}, "
            f"{counted(len(self.warnings), 'warning')}>"
        )

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        notes = [f"warning: {sentence}" for sentence in self.warnings]
        return html_table(self.name, _lines(self)[1:], notes=notes)


def inspect_model(
    model: BlockFile,
    meshes: Sequence[Mesh] = (),
    domains: Domains | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Inspection:
    """Describe a block model in one pass.

    Parameters
    ----------
    model : BlockFile
        An open model in any format.
    meshes : sequence of Mesh
        Meshes, closed or open, whose boxes are compared with the model's box.
    domains : Domains, optional
        Domains whose conditions are tested on the blocks.
    threads : int, optional
        Number of threads for reading.
    progress : callable, optional
        Called with the work done and the total; the total is None if it is unknown.

    Returns
    -------
    Inspection

    Raises
    ------
    TableError
        If a row cannot be read, or if a column of a condition is missing or cannot be used.
    """
    listed = Domains() if domains is None else domains
    fields = condition_columns(listed, model.columns, model.name)
    met, conditions = [0] * len(listed.conditions), ConditionCounts()
    boxes = [mesh.bounds for mesh in meshes]
    survey, looking = Survey.of_model(model, boxes), 0.0
    times = realisations_of(model.facts())
    once = times == 1
    checks, repeats = BlockChecks(compare=once), Repeats()

    def look(
        points: Floats, sizes: Floats | None, column: Callable[[int], Column]
    ) -> list[NDArray[np.int32]]:
        nonlocal looking
        began = time.perf_counter()
        seen = ConditionCounts()
        allowed = allowed_rows(listed, lambda named: column(fields[named]), seen)
        for number, rows in enumerate(allowed or ()):
            met[number] += 0 if rows is None else int(rows.sum())
        conditions.merge(seen, survey.rows)
        if sizes is None and not survey.rows:
            refuse_misfit(points, None, model.frame, model.name)
        survey.add(points, sizes)
        checks.add(points, sizes, axes=model.axes)
        repeats.add(points, sizes)
        looking += time.perf_counter() - began
        return []

    began = time.perf_counter()
    cells = model.lattice if isinstance(model, CellModel) else None
    even = cells is not None and even_lattice(cells, fewest=1) is not None
    if cells is not None and even and not survey.is_turned and not fields:
        survey.add_lattice(cells.centres, cells.sizes)  # every cell exists exactly once
    else:
        also = sorted({*fields.values()})
        model.relabel(Relabelling(look, also=also, threads=threads, progress=progress))
    reading = time.perf_counter() - began - looking
    shifts = {id(mesh): each.shift for each in listed for mesh in each.placed}
    shifts |= {id(m): each.shift for each in listed.stacks for tiles in each.placed for m in tiles}
    fits = tuple(
        _fit(mesh, survey, number, shifts.get(id(mesh))) for number, mesh in enumerate(meshes)
    )
    triangles = sum(fit.triangles for fit in fits)
    lattice = find_lattice(survey)
    has_centroids = survey.rows > survey.missing
    rules = {
        id(mesh): domain.rule or "parity" for domain in listed.domains for mesh in domain.placed
    }
    return Inspection(
        name=model.name,
        facts=model.facts(),
        columns=model.columns,
        centroid=model.centroid,
        sizes=model.sizes,
        position=model.frame.position,
        rotation=model.frame.local.say() if model.frame.local else "",
        azimuth=survey.azimuth,
        turned=survey.is_turned,
        rows=survey.rows,
        missing=survey.missing,
        centroids=survey.centroids.tolist() if has_centroids else None,
        extent=survey.extent.tolist() if has_centroids else None,
        blocks=sub_blocking(survey),
        kinds=[{"size": list(s), "blocks": count} for s, count in survey.sizes.most_common(20)],
        lattice=lattice,
        volume=survey.volume if survey.sized and has_centroids else None,
        meshes=fits,
        memory_bytes=model.memory + triangles * _BYTES_PER_TRIANGLE,
        seconds=reading * _READING
        + survey.rows * (max(len(fits), 1) * _SECONDS_PER_BLOCK + model.writing)
        + triangles * _SECONDS_PER_TRIANGLE,
        warnings=(
            *_warnings(survey, lattice, fits, meshes, rules, once=once),
            *summed_realisations(times),
            *(repeats.warnings() if once else ()),
            *checks.warnings(mend=MISSING_OPTION, twice=False),
            *unmet(listed, met, survey.rows, "block"),
            *conditions.warnings("block"),
        ),
    )


def _fit(mesh: Mesh, survey: Survey, number: int, shift: Shift | None) -> Fit:
    """Compare the box of a mesh with the box of the model."""
    has_centroids = survey.rows > survey.missing
    box = survey.box_of(mesh)
    return Fit(
        mesh=mesh.name,
        triangles=len(mesh.triangles),
        closed=mesh.is_closed,
        bounds=mesh.bounds.tolist(),
        meets=has_centroids and meet(mesh.bounds, survey.extent) and meet(box, survey.local),
        share=share_within(box, survey.local) if has_centroids else 0.0,
        blocks=int(survey.inside[number]),
        shift=shift,
    )


def _warnings(
    survey: Survey,
    lattice: LatticeGuess | None,
    fits: Sequence[Fit],
    meshes: Sequence[Mesh],
    rules: Mapping[int, Literal["parity", "winding"]],
    *,
    once: bool,
) -> Iterator[str]:
    """Yield warnings about the model and the meshes that a user should check before labelling."""
    if survey.rows == survey.missing:
        yield "no block has a centroid"
        return
    if survey.sizes and not survey.sized:
        yield "some block sizes are missing or not above zero: volumes are unknown"
    if once and lattice and lattice.filled > 1.0001:
        many = lattice.filled >= _MANY_TIMES
        share = f"{lattice.filled:,.0f} times" if many else f"{lattice.filled:.1%} of"
        yield f"the blocks fill {share} the lattice cells: some blocks overlap, or occur twice"
    for fit, mesh in zip(fits, meshes, strict=True):
        if fit.meets:
            reason = explain_better(mesh.bounds, survey.extent)
        elif meet(mesh.bounds, survey.extent):
            reason = (
                "the mesh is outside the rotated model, but inside the bounding box of the model "
                "in world coordinates"
            )
        else:
            reason = explain_apart(mesh.bounds, survey.extent)
            reason = f"it does not meet the block model; {reason or 'is it in another datum?'}"
        if reason:
            yield f"{mesh.name}: {reason}"
        try:
            require_inside(mesh, rules.get(id(mesh), "parity"))
        except MeshError as error:
            yield str(error)


def as_table(inspection: Inspection) -> str:
    """Format an inspection as a text table."""
    rows = _lines(inspection)
    width = max(len(key) for key, _ in rows)
    return in_lines(f"{key:<{width}}  {value}" for key, value in rows)


def _lines(inspection: Inspection) -> list[tuple[str, str]]:
    """Return the rows of the table: a property and its value."""
    rows = [
        ("model", inspection.name),
        *inspection.facts.items(),
        ("columns", ", ".join(inspection.columns)),
    ]
    if inspection.centroid:
        word = "centroid" if inspection.position == "centroid" else "lowest corner"
        rows.append((word, ", ".join(inspection.centroid)))
        rows.append(("block sizes", ", ".join(inspection.sizes) or "unknown"))
    rows.append(("rotation", _rotation(inspection)))
    lacking = f", {inspection.missing:,} of them without a centroid" if inspection.missing else ""
    rows.append(("blocks", f"{inspection.rows:,}, {inspection.blocks}{lacking}"))
    rows += [("", f"{part['blocks']:,} of {_by(part['size'])}") for part in inspection.kinds[:6]]
    if len(inspection.kinds) > 6:
        rows.append(("", f"and {len(inspection.kinds) - 6} more sizes"))
    rows.append(("lattice", _lattice(inspection.lattice)))
    if inspection.extent and inspection.centroids:
        rows.append(("centroids", say_box(np.array(inspection.centroids))))
        if inspection.volume is not None:
            rows.append(("extent", say_box(np.array(inspection.extent))))
    if inspection.volume is not None:
        rows.append(("volume", f"{inspection.volume:,.10g}"))
    for fit in inspection.meshes:
        rows += _fit_rows(fit)
    rows.append(
        (
            "to label it",
            f"about {inspection.memory_bytes / 1e6:,.0f} MB and {inspection.seconds:.1f} s",
        )
    )
    return rows


def _rotation(inspection: Inspection) -> str:
    """Describe the rotation of the model and the frame of its coordinates."""
    if inspection.rotation:
        return f"{inspection.rotation}; coordinates are converted to world coordinates"
    if inspection.azimuth:
        return (
            f"centroids are world coordinates, on a lattice rotated by z={inspection.azimuth:.6g}"
        )
    if inspection.turned:
        return "centroids are world coordinates, on a lattice tilted about x or y"
    return "none"


def _lattice(lattice: LatticeGuess | None) -> str:
    """Describe the lattice: number of cells, origin, and the share of cells that are filled."""
    if lattice is None:
        return "none that fits all blocks"
    many = lattice.filled >= _MANY_TIMES
    filled = f"filled {lattice.filled:,.0f} times" if many else f"{lattice.filled:.2%} filled"
    return (
        f"{_by(lattice.cells)} cells of {_by(lattice.spacing)} from "
        f"({', '.join(f'{value:.10g}' for value in lattice.origin)}), {filled}"
    )


def _fit_rows(fit: Fit) -> list[tuple[str, str]]:
    """Describe the position of a mesh relative to the model."""
    kind = "closed" if fit.closed else "open"
    whole = fit.share >= 1 - _ROUNDING
    percent = 100 if whole else min(round(100 * fit.share), 99)
    meets = f"{percent}% of its box is in the model" if fit.meets else "does not meet the model"
    mesh = f"{fit.mesh}{in_words(fit.shift)}"
    return [
        ("mesh", f"{mesh}, {counted(fit.triangles, 'triangle')}, {kind}: {meets}"),
        ("", f"{say_box(np.array(fit.bounds))}; {counted(fit.blocks, 'centroid')}"),
    ]


def _by(numbers: Sequence[float]) -> str:
    """Format three numbers as a size, such as 10 x 10 x 5."""
    return " x ".join(shortest(number) for number in numbers)


# --- Inspection of a model file.


def inspect_file(
    model: str | os.PathLike[str],
    meshes: MeshesLike = (),
    domains: DomainsLike | None = None,
    *,
    threads: int | None = None,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> Inspection:
    r"""Describe a block model in a file, and compare its extent with wireframes.

    Parameters
    ----------
    model : path
        The file, as for `label_file`. It is read once.
    meshes : mesh-like, or several of them
        Closed or open wireframes, as for `as_mesh`, paths included. Their boxes are compared with
        the model's box.
    domains : optional
        As for `label_file`. The meshes of the domains are also compared with the model. The model
        must have the columns that the conditions of the domains use.
    threads, progress
        As for `label_file`.
    **table
        Options for reading the file, as for `label_file`.

    Returns
    -------
    Inspection
        Columns, sizes, lattice, rotation, extent and warnings; ``print`` it.

    Raises
    ------
    TableError
        If the model cannot be read, or lacks the column of a condition.
    MeshError, DomainError, OSError
        If a file of wireframes or domains cannot be read or used.
    TypeError
        If the model is not a path.

    Warns
    -----
    GeodomainWarning
        For each warning of the inspection, such as axes that seem to be swapped, or meshes that
        seem to be in another datum.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> blocks = pathlib.Path(tempfile.mkdtemp()) / "blocks.csv"
    >>> _ = blocks.write_text("X,Y,Z,DX,DY,DZ\n5,5,5,10,10,10\n15,5,5,10,10,10\n")
    >>> inspection = geodomain.inspect_file(blocks)
    >>> inspection.rows, inspection.lattice.cells, inspection.volume
    (2, (2, 1, 1), 2000.0)
    """
    source = model_path(model, "write the blocks to a file first")
    options = table_options(**table)
    with collect_warnings() as warned, show_progress(progress, "reading") as report:
        listed = Domains() if domains is None else domains_to_draw(domains)
        with reading_once():
            compared = [*as_meshes(meshes), *listed.placed]
        with open_model(source, options) as opened:
            inspection = inspect_model(opened, compared, listed, threads=threads, progress=report)
        for sentence in inspection.warnings:
            warn(sentence)
    return replace(inspection, warnings=tuple(warned))
