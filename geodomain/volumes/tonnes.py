"""Add up tonnes and grade of a labelled block model, in memory or in a file."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

from geodomain.checks.blocks import VolumeChecks, realisations_of
from geodomain.checks.columns import density_unit as unit_of
from geodomain.checks.columns import refuse_geometry, refuse_nan
from geodomain.compute.data import Floats
from geodomain.errors import TableError, collect_warnings, warn
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD
from geodomain.formats.blocks import (
    BlockFile,
    Rows,
    file_of,
    open_model,
    open_table,
    read_columns,
    require_table_name,
)
from geodomain.formats.grids import GridModel
from geodomain.inputs import is_grid
from geodomain.progress import Progress, show_progress
from geodomain.settings import renamed
from geodomain.tables.conditions import Column
from geodomain.tables.frames import Frame
from geodomain.tables.in_memory import NAME, BlockFrame
from geodomain.tables.numbers import BelowDetection
from geodomain.tables.options import table_options
from geodomain.tables.settings import ColumnKeywords, TableKeywords
from geodomain.tables.vendors import find_column
from geodomain.volumes.tonnage import REST, MetalUnit, Places, Tonnage, Wanted, metal_unit
from geodomain.volumes.tonnes_report import Tonnes, report, tonnage_warnings

if TYPE_CHECKING:
    import pyvista
    from narwhals.typing import IntoDataFrame


CutoffValues = float | str | Sequence[float | str]
Cutoffs = CutoffValues | Mapping[str, CutoffValues]


@renamed(domain="column")
def tonnes(
    frame: IntoDataFrame | pyvista.DataSet,
    *,
    density: str | float,
    grade: str | Sequence[str] = (),
    column: str = "domain",
    bench: float | None = None,
    cutoff: Cutoffs | None = None,
    proportion: Mapping[str, str] | None = None,
    grade_unit: str | Mapping[str, str] | None = None,
    density_unit: str | None = None,
    background: str | None = None,
    classification: str | None = None,
    **table: Unpack[ColumnKeywords],
) -> Tonnes:
    """Add up volume, tonnes, mean grades and metal of the blocks of a table, by domain.

    Parameters
    ----------
    frame : pandas or polars DataFrame, pyarrow.Table, or PyVista grid
        A row for each block, with its centroid, its sizes and the columns named below. The blocks
        of a grid are its cells, and its columns are the cell data.
    density : str or float
        The column of densities, or one density for all blocks. Tonnes are volume times density.
    grade : str or sequence of str
        Columns of grades. Means are weighted by tonnes; metal is grade times tonnes.
    column : str
        The column of labels, which may be texts or codes. It is not read if there is a
        ``proportion``.
    bench : float, optional
        The height of benches; their bases are at multiples of this height. A block that spans
        several benches is divided between them by its overlap in z, and counted in each bench.
    cutoff : float, sequence of float, or mapping of str to either, optional
        Cut-offs of the grade. If there are several grades, a mapping names one of them, such as
        ``{"AU": [0.5, 1]}``. For each cut-off, the result has rows for the blocks at or above the
        cut-off. A text such as "0.5,1" is split at its commas. A text such as "0,5" is refused for
        a table with decimal commas.
    proportion : mapping of str to str, optional
        For each name of a domain, the column with the share of each block in the domain, 0 to 1.
        The remainder of a block belongs to the background, so that the table adds up to the model.
        A remainder below a millionth of a block is ignored as rounding.
    grade_unit : str or mapping of str to str, optional
        The unit of the grade: ``"%"``, ``"ppm"``, ``"ppb"``, ``"gpt"`` (the same as ``"g/t"``),
        ``"opt"`` (troy ounces per short ton) or a mass per tonne such as ``"g/t"``. If there are
        several grades, a mapping of grades to units. The metal is then in t for ``"%"``, in g for
        ``"ppm"``, in mg for ``"ppb"`` and in troy ounces (``oz``) for ``"opt"``, if the tonnes are
        metric. For a mass per tonne, the metal is in this unit of mass: in g for ``"g/t"``.
    density_unit : {"t/m3", "g/cm3", "lb/ft3", "t/ft3", "kg/m3"}, optional
        The unit of the densities, which implies the unit of the coordinates. If it is given, tonnes
        are metric (1,000 kg), and impossible densities (outside 0.5 to 8 t/m3) give a warning. By
        default tonnes are volume times density without a factor.
    background : str, optional
        If ``proportion`` is given, the domain of the remainder of each block. [default: "rest"]
    classification : str, optional
        The column of resource classes, such as Measured, Indicated and Inferred. Each domain then
        has rows for each class, and `Tonnes.classes` has the sums of each class over all domains.
    **table
        Options for the columns and the geometry, such as ``x``, ``dz``, ``missing``, ``position``
        and ``rotation``; as for `label_file`.

    Returns
    -------
    Tonnes
        ``print`` it for a table; `Tonnes.to_csv` gives CSV. A block without a density has a
        volume but no tonnes. A block without a grade is left out of the mean and the metal of this
        grade. Blocks with such gaps are counted. Products are rounded to float64. Sums are exact
        and rounded once, so the order of the blocks does not matter. If no value is negative, the
        error is at most 4 units in the last place for a volume, 5 for tonnes and 6 for metal. With
        benches, the rounding of the benches' faces is added.

    Raises
    ------
    TableError
        For ambiguous or missing columns, a model without sizes, a share outside 0 to 1,
        a negative density, a density column that is a coordinate or a size of the blocks, or
        benches of a model that is tilted about x or y.
    ValueError, TypeError
        For an invalid density, height, cut-off or unit, or an object that is not a table.

    Warns
    -----
    GeodomainWarning
        For blocks that occur twice or overlap, impossible densities, a density column that is also
        a grade column, negative grades, and missing values.

    Examples
    --------
    >>> import geodomain, pandas
    >>> blocks = pandas.DataFrame({"X": [5, 15], "Y": [5, 5], "Z": [5, 5], "DX": [10, 10],
    ...     "DY": [10, 10], "DZ": [10, 10], "domain": ["ORE", "ORE"], "AU": [1.0, 4.0]})
    >>> print(geodomain.tonnes(blocks, density=2.5, grade="AU", cutoff=2))
    domain  AU from  blocks  volume  tonnes   AU  AU metal
    ORE                   2   2,000   5,000  2.5    12,500
    ORE           2       1   1,000   2,500    4    10,000
    total                 2   2,000   5,000  2.5    12,500
    total         2       1   1,000   2,500    4    10,000
    """
    options = table_options(**table)
    wanted = wanted_of(
        column, density, grade, bench, cutoff, proportion, grade_unit, options.below_detection,
        density_unit, background, classification,
    )  # fmt: skip
    with collect_warnings() as warned:
        if is_grid(frame):
            return report(_checked_sum(GridModel(frame, options), wanted), warned)
        blocks = BlockFrame(cast("IntoDataFrame", frame), options=options)
        points, sizes, where = blocks.blocks(options)
        sizes = _require(wanted, sizes, where, NAME)
        refuse_geometry(density, *blocks.geometry(options), NAME)
        checks = VolumeChecks(where.axes)
        checks.add(points, sizes)
        columns = {name: blocks.column(blocks.find(name)) for name in wanted.columns}
        tonnage = Tonnage(wanted)
        tonnage.add(
            points,
            sizes,
            lambda name: columns[name].numbers(),
            lambda texts: tonnage.spelled.distinct(columns[column], texts),
            (lambda texts: columns[wanted.classification].distinct(texts))
            if wanted.classification
            else None,
        )
        tonnage.add_below(lambda name: columns[name].below_detection())
        for sentence in (*checks.warnings(mend="make it NaN"), *tonnage_warnings(tonnage)):
            warn(sentence)
    return report(tonnage, warned)


@renamed(domain="column")
def tonnes_file(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    density: str | float,
    grade: str | Sequence[str] = (),
    column: str = "domain",
    bench: float | None = None,
    cutoff: Cutoffs | None = None,
    proportion: Mapping[str, str] | None = None,
    grade_unit: str | Mapping[str, str] | None = None,
    density_unit: str | None = None,
    background: str | None = None,
    classification: str | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> Tonnes:
    r"""Add up volume, tonnes, mean grades and metal of a block model in a file, by domain.

    Parameters
    ----------
    model : path
        A block model in any format; "-" is text on stdin. It is read once, chunk by chunk.
    output : path, optional
        CSV or .xlsx file for the rows of `Tonnes.to_csv`; "-" is CSV on stdout. After an error no
        partial file remains.
    density, grade, column, bench, cutoff, proportion, grade_unit
        As for `tonnes`.
    density_unit, background, classification
        As for `tonnes`.
    overwrite : bool
        Whether an existing output may be replaced.
    threads, progress, **table
        As for `label_file`.

    Returns
    -------
    Tonnes
        As for `tonnes`.

    Raises
    ------
    TableError, ValueError
        As for `tonnes`. Also for a file whose content cannot be read.
    OSError
        If a file cannot be opened. If the output exists already; see ``overwrite``.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> blocks = pathlib.Path(tempfile.mkdtemp()) / "blocks.csv"
    >>> _ = blocks.write_text("X,Y,Z,DX,DY,DZ,domain,AU\n5,5,5,10,10,10,ORE,1.5\n")
    >>> (row,) = geodomain.tonnes_file(blocks, density=2.5, grade="AU").rows
    >>> row.domain, row.volume, row.tonnes, row.grades[0].metal
    ('ORE', 1000.0, 2500.0, 3750.0)
    """
    options = table_options(**table)
    wanted = wanted_of(
        column, density, grade, bench, cutoff, proportion, grade_unit, options.below_detection,
        density_unit, background, classification,
    )  # fmt: skip
    path = os.fspath(model)
    if output is not None and os.fspath(output) != STANDARD:
        refuse_inputs([Path(output)], [] if path == STANDARD else [file_of(path)])
        require_table_name(os.fspath(output))
        require_places([Path(output)], overwrite=overwrite)
    writing = nullcontext() if output is None else open_table(output, overwrite=overwrite)
    with (
        collect_warnings() as warned,
        writing as target,
        show_progress(progress, "adding") as report_progress,
    ):
        with open_model(path, options) as opened:
            tonnage = _checked_sum(opened, wanted, threads=threads, progress=report_progress)
        result = report(tonnage, warned)
        if target is not None:
            target.write(memoryview(result.to_csv().encode()))
    return result


def require_amounts(
    model: str | os.PathLike[str],
    density: str | float,
    grade: Sequence[str],
    cutoff: Cutoffs | None = None,
    classification: str | None = None,
    **table: Unpack[TableKeywords],
) -> None:
    """Raise an error if a model lacks one of the columns, or if cut-offs are invalid."""
    named = [name for name in (density, *grade, classification) if isinstance(name, str)]
    cut, _, spelled = read_cutoffs(cutoff, tuple(grade))
    if not named:
        return
    with open_model(os.fspath(model), table_options(**table)) as opened:
        for name in named:
            find_column(opened.columns, name, opened.name)
        refuse_geometry(density, opened.centroid, opened.sizes, opened.name)
        refuse_commas(cut, spelled, opened)


def _checked_sum(
    model: BlockFile,
    wanted: Wanted,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Tonnage:
    """Add up the blocks of an open model, and warn of doubtful blocks and values."""
    checks = VolumeChecks(model.axes, times=realisations_of(model.facts()))
    tonnage = _add_up(model, wanted, checks, threads=threads, progress=progress)
    for sentence in (*checks.warnings(), *tonnage_warnings(tonnage)):
        warn(sentence)
    return tonnage


def _add_up(
    model: BlockFile,
    wanted: Wanted,
    checks: VolumeChecks,
    *,
    threads: int | None,
    progress: Progress | None,
) -> Tonnage:
    """Add up the blocks of a model in one pass over its file."""
    refuse_geometry(wanted.density, model.centroid, model.sizes, model.name)
    refuse_commas(wanted.cut, wanted.spelled, model)
    tonnage = Tonnage(wanted)

    def add(
        points: Floats, sizes: Floats | None, column: Callable[[str], Column], there: Rows
    ) -> None:
        lengths = _require(wanted, sizes, model.frame, model.name)
        checks.add(points, lengths)

        def labels(texts: list[str]) -> tuple[list[str], Places]:
            texts, codes = tonnage.spelled.distinct(column(wanted.domain), texts)
            return texts, codes[there]

        def classes(texts: list[str]) -> tuple[list[str], Places]:
            texts, codes = column(wanted.classification).distinct(texts)
            return texts, codes[there]

        tonnage.add(
            points,
            lengths,
            lambda name: column(name).numbers()[there],
            labels,
            classes if wanted.classification else None,
        )
        tonnage.add_below(lambda name: column(name).below_detection())

    read_columns(model, wanted.columns, add, threads=threads, progress=progress)
    return tonnage


def _require(wanted: Wanted, sizes: Floats | None, frame: Frame, table: str) -> Floats:
    """Return the block sizes.

    Raise TableError if there are no sizes, or if benches are wanted for a tilted model.
    """
    if sizes is None:
        message = (
            f"{table} has no block sizes, so volumes are unknown: give dx=, dy= and dz=, as names "
            "of size columns or as numbers"
        )
        raise TableError(message)
    lattice = frame.lattice
    if wanted.bench is not None and lattice and lattice.matrix[2] != (0.0, 0.0, 1.0):
        message = f"{table} is tilted about x or y, but benches are horizontal: leave out bench="
        raise TableError(message)
    return sizes


def wanted_of(
    column: str,
    density: str | float,
    grade: str | Sequence[str],
    bench: float | None,
    cutoff: Cutoffs | None,
    proportion: Mapping[str, str] | None,
    grade_unit: str | Mapping[str, str] | None,
    below_detection: BelowDetection | None,
    density_unit: str | None,
    background: str | None,
    classification: str | None,
) -> Wanted:
    """Check the arguments of `tonnes`, and return them as settings."""
    grades = (grade,) if isinstance(grade, str) else tuple(dict.fromkeys(grade or ()))
    if not isinstance(column, str):
        message = f"column is {column!r}; give the name of the column of labels"
        raise TypeError(message)
    if not isinstance(classification, str | None):
        message = f"classification is {classification!r}; give the name of the column of classes"
        raise TypeError(message)
    if isinstance(density, bool) or not isinstance(density, str | Real):
        message = (
            f"density is of type {type(density).__name__}; it must be a number, or the name of a "
            "column of the table"
        )
        raise TypeError(message)
    if not isinstance(density, str) and not 0 < density < math.inf:
        message = f"density is {density}; it must be above zero, or the name of a column"
        raise ValueError(message)
    if bench is not None and not 0 < bench < math.inf:
        message = f"bench is {bench}; it must be a height above zero"
        raise ValueError(message)
    cut, cutoffs, spelled = read_cutoffs(cutoff, grades)
    shares, units = dict(proportion or {}), metal_units(grade_unit, grades)
    if background is not None and not (shares and background):
        message = "background= needs proportion=: it names the domain of the rest of each block"
        raise ValueError(message)
    for name in (*shares, background or REST):
        refuse_nan(name)
    if REST in shares and background is None:
        message = (
            f"proportion= has a domain called {REST!r}, which is also the name of the remainder of "
            "each block: give the remainder another name with background="
        )
        raise ValueError(message)
    return Wanted(
        column, density, grades, bench, cut, cutoffs, shares, below_detection, units,
        unit_of(density_unit), background or REST, spelled, classification or "",
    )  # fmt: skip


def metal_units(
    grade_unit: str | Mapping[str, str] | None, grades: tuple[str, ...]
) -> Mapping[str, MetalUnit]:
    """Return the unit of metal for each grade whose unit is specified."""
    if isinstance(grade_unit, str):
        if len(grades) != 1:
            message = f"grade_unit must name the grade ({', '.join(grades) or 'there is none'})"
            raise ValueError(message)
        grade_unit = {grades[0]: grade_unit}
    grade_unit = grade_unit or {}
    if not grade_unit.keys() <= set(grades):
        message = (
            f"grade_unit names {', '.join(grade_unit)}; it must name grades "
            f"({', '.join(grades) or 'there is none'})"
        )
        raise ValueError(message)
    return {name: metal_unit(name, unit) for name, unit in grade_unit.items()}


def refuse_commas(cut: str, spelled: tuple[str, ...], model: BlockFile) -> None:
    """Raise TableError if the table has decimal commas and a cut-off has commas but no point."""
    if not spelled or not has_decimal_commas(model):
        return
    text = spelled[0]
    numbers = text.split(",")
    mend = "write decimal points, and give each cut-off separately"
    if len(numbers) == 2:
        each = f"cutoff={{{cut!r}: {numbers!r}}}"
        single = f"cutoff={{{cut!r}: {'.'.join(numbers)!r}}}"
        mend = f"write {single} for one cut-off, or {each} for two"
    message = f"{model.name} has decimal commas, so the cut-off {text!r} is ambiguous: {mend}"
    raise TableError(message)


def has_decimal_commas(model: BlockFile) -> bool:
    """Return whether a model is a text table whose decimal mark is a comma."""
    return model.facts().get("decimal mark") == "comma"


def read_cutoffs(
    cutoff: Cutoffs | None, grades: tuple[str, ...]
) -> tuple[str, tuple[float, ...], tuple[str, ...]]:
    """Return a tuple: the grade of the cut-offs, the cut-offs in ascending order, ambiguous texts.

    Ambiguous texts have commas but no point, so their commas may be decimal marks.
    """
    if cutoff is None:
        return "", (), ()
    if not isinstance(cutoff, Mapping):
        if len(grades) != 1:
            message = f"cutoff must name one of the grades ({', '.join(grades) or 'there is none'})"
            raise ValueError(message)
        cutoff = {grades[0]: cutoff}
    if len(cutoff) != 1 or not cutoff.keys() <= set(grades):
        message = (
            f"cutoff names {', '.join(cutoff) or 'no grade'}; it must name one of the grades "
            f"({', '.join(grades) or 'there is none'})"
        )
        raise ValueError(message)
    ((name, value),) = cutoff.items()
    several = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    texts = [item for item in several if isinstance(item, str)]
    words = [
        word for item in several for word in (item.split(",") if isinstance(item, str) else [item])
    ]
    try:
        values = sorted({float(word) for word in words})
    except (TypeError, ValueError):
        values = []
    if not values or not all(map(math.isfinite, values)):
        message = f"cutoff of {name} is {value!r}; it must be one or more numbers"
        raise ValueError(message)
    return name, tuple(values), tuple(text for text in texts if "," in text and "." not in text)
