"""Report tonnes and grade of a labelled block model, in memory or in a file."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.blocks import VolumeChecks, realisations_of
from geodomain.checks.columns import density_unit as unit_of
from geodomain.checks.columns import refuse_geometry, refuse_nan
from geodomain.compute.data import Floats, TableColumn
from geodomain.errors import TableError, collect_warnings, counted, in_lines, shown, warn
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
from geodomain.progress import Progress, show_progress
from geodomain.result_tables import html_table, records_frame, text_table
from geodomain.settings import renamed
from geodomain.tables.conditions import Column
from geodomain.tables.frames import Frame
from geodomain.tables.in_memory import NAME, BlockFrame
from geodomain.tables.numbers import BelowDetection, below_notes
from geodomain.tables.options import table_options
from geodomain.tables.settings import ColumnKeywords, TableKeywords
from geodomain.tables.vendors import find_column
from geodomain.volumes.tonnage import (
    ONE,
    REST,
    Group,
    MetalUnit,
    Places,
    Tonnage,
    Wanted,
    metal_unit,
    nearest_float,
)

if TYPE_CHECKING:
    import pandas
    from narwhals.typing import IntoDataFrame


CutoffValues = float | str | Sequence[float | str]
Cutoffs = CutoffValues | Mapping[str, CutoffValues]


@renamed(domain="column")
def tonnes(
    frame: IntoDataFrame,
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
    frame : pandas or polars DataFrame, or pyarrow.Table
        A row for each block, with its centroid, its sizes and the columns named below.
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
        blocks = BlockFrame(frame, options=options)
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
            checks = VolumeChecks(opened.axes, times=realisations_of(opened.facts()))
            tonnage = _add_up(opened, wanted, checks, threads=threads, progress=report_progress)
        for sentence in (*checks.warnings(), *tonnage_warnings(tonnage)):
            warn(sentence)
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
    cut, _, spelled = _cutoffs(cutoff, tuple(grade))
    if not named:
        return
    with open_model(os.fspath(model), table_options(**table)) as opened:
        for name in named:
            find_column(opened.columns, name, opened.name)
        refuse_geometry(density, opened.centroid, opened.sizes, opened.name)
        refuse_commas(cut, spelled, opened)


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
    cut, cutoffs, spelled = _cutoffs(cutoff, grades)
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
        one = f"cutoff={{{cut!r}: {'.'.join(numbers)!r}}}"
        mend = f"write {one} for one cut-off, or {each} for two"
    message = f"{model.name} has decimal commas, so the cut-off {text!r} is ambiguous: {mend}"
    raise TableError(message)


def has_decimal_commas(model: BlockFile) -> bool:
    """Return whether a model is a text table whose decimal mark is a comma."""
    return model.facts().get("decimal mark") == "comma"


def _cutoffs(
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


# --- The report: values, CSV, a text table and warnings.


_NO_DOMAIN, _NO_BENCH, _NO_CLASS = "(none)", "(unknown)", "(none)"


@dataclass(frozen=True)
class GradeTotal:
    """A grade and its metal, summed over blocks.

    Attributes
    ----------
    name : str
        Name of the column.
    mean : float, optional
        Mean, weighted by tonnes, over the blocks that have the grade; None if these blocks have no
        tonnes.
    metal : float
        Grade times tonnes, in the unit `unit`. If `unit` is empty, this is the unit of the grade
        times the unit of tonnes.
    tonnes : float
        Tonnes of the blocks that have the grade.
    missing : int
        Number of blocks without the grade.
    unit : str
        Unit of the metal; empty if the unit of the grade was not specified.
    """

    name: str
    mean: float | None
    metal: float
    tonnes: float
    missing: int
    unit: str = ""


@dataclass(frozen=True)
class TonnesRow:
    """Sums over the blocks in a domain, a class and a bench, with a grade at or above a cut-off.

    Attributes
    ----------
    domain : str
        The label; empty for blocks without a label.
    bench : float, optional
        The base of the bench. None if there are no benches, or for blocks of unknown height.
    cutoff : float, optional
        The lowest grade of the blocks that are summed; None if all blocks are summed.
    blocks : int
        Number of blocks of the class with any part in the domain and the bench.
    volume : float
        Volume in cubed units of the coordinates.
    tonnes : float
        Volume times density.
    grades : tuple of GradeTotal
        The grades in the caller's order.
    without_volume, without_density : int
        Number of blocks without a volume, and number of blocks without a density. Both are included
        in `blocks`.
    classification : str
        The resource class; empty for blocks without a class, or if classes are not asked for.
    """

    domain: str
    bench: float | None
    cutoff: float | None
    blocks: int
    volume: float
    tonnes: float
    grades: tuple[GradeTotal, ...]
    without_volume: int = 0
    without_density: int = 0
    classification: str = ""


@dataclass(frozen=True, repr=False)
class Tonnes:
    """Tonnes and grade of a model; ``print`` it for a table.

    Attributes
    ----------
    rows : tuple of TonnesRow
        Rows by domain, class, bench and cut-off. The first row of each domain, class and bench has
        no cut-off.
    domains : tuple of TonnesRow
        Rows by domain and cut-off, summed over all classes and benches.
    totals : tuple of TonnesRow
        Rows by cut-off, summed over all blocks.
    blocks : int
        Number of blocks read.
    cutoff_grade : str
        The grade to which cut-offs apply; empty if there are no cut-offs.
    bench : float, optional
        The height of a bench.
    warnings : tuple of str
        The warnings that were issued.
    notes : tuple of str
        Other observations: blocks of density 0, a wide spread of densities, labels that differ
        only in case.
    classification : str
        The column of resource classes; empty if there is none.
    classes : tuple of TonnesRow
        Rows by class and cut-off, summed over all domains and benches; empty without such a column.
        Measured, Indicated and Inferred come first, in this order.
    """

    rows: tuple[TonnesRow, ...]
    domains: tuple[TonnesRow, ...]
    totals: tuple[TonnesRow, ...]
    blocks: int
    cutoff_grade: str = ""
    bench: float | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    classification: str = ""
    classes: tuple[TonnesRow, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return `rows` as a DataFrame.

        A grade has several columns, such as ``mean_AU`` and ``metal_AU_g``. The classification is a
        column if it was asked for.
        """
        frame = records_frame(TonnesRow, self.rows, self._grade_columns())
        return frame if self.classification else frame.drop(columns="classification")

    def to_csv(self) -> str:
        r"""Return the rows as CSV, with unrounded numbers, and empty cells for missing values.

        The columns are domain, classification (if there is one), bench, cutoff, blocks, volume and
        tonnes, then two columns for each grade: the mean, such as ``mean_AU``, and the metal, such
        as ``metal_AU``. If the unit of the metal is known, it is added to the name, as in
        ``metal_AU_g``. Lines end in "\n".
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        named = [name for grade in self.totals[0].grades for name in (_mean(grade), _metal(grade))]
        keys = ["domain", *["classification"] * bool(self.classification), "bench", "cutoff"]
        writer.writerow([*keys, "blocks", "volume", "tonnes", *named])
        writer.writerows(_csv_cells(row, classed=bool(self.classification)) for row in self.rows)
        return text.getvalue()

    def _grade_columns(self) -> dict[str, TableColumn]:
        """Return the columns of all grades: mean, metal, tonnes and number of missing values."""
        columns: dict[str, TableColumn] = {}
        for place, first in enumerate(self.totals[0].grades):
            grades = [row.grades[place] for row in self.rows]
            columns |= {
                _mean(first): np.array([grade.mean for grade in grades], np.float64),
                _metal(first): np.array([grade.metal for grade in grades], np.float64),
                f"tonnes_{first.name}": np.array([grade.tonnes for grade in grades], np.float64),
                f"missing_{first.name}": np.array([grade.missing for grade in grades], np.int64),
            }
        return columns

    def __str__(self) -> str:
        """Return the table as text."""
        headings, rows = self._table()
        return in_lines([*text_table([headings, *rows]), *_missing_notes(self)])

    def __repr__(self) -> str:
        """Return the numbers of blocks, tonnes and domains as text."""
        whole = self.totals[0]
        return (
            f"<Tonnes of {counted(self.blocks, 'block')}: {whole.tonnes:,.6g} t "
            f"in {counted(len({row.domain for row in self.rows}), 'domain')}>"
        )

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, rows = self._table()
        notes = [*_missing_notes(self), *(f"warning: {text}" for text in self.warnings)]
        return html_table("Tonnes and grade", rows, headings=headings, notes=notes)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Return a tuple: the printed table's headings, and the cells of its rows, totals last."""
        headings = ["domain"]
        headings += [self.classification] if self.classification else []
        headings += ["bench"] if self.bench is not None else []
        headings += [f"{self.cutoff_grade} from"] if self.cutoff_grade else []
        headings += ["blocks", "volume", "tonnes"]
        for grade in self.totals[0].grades:
            headings += [grade.name, f"{grade.name} metal" + f", {grade.unit}" * bool(grade.unit)]
        rows = [self._cells(row, row.domain or _NO_DOMAIN) for row in self.rows]
        rows += [self._cells(row, "total", bench="") for row in self.classes]
        rows += [self._cells(row, "total", bench="", class_name="") for row in self.totals]
        return headings, rows

    def _cells(
        self,
        row: TonnesRow,
        name: str,
        *,
        bench: str = _NO_BENCH,
        class_name: str = _NO_CLASS,
    ) -> list[str]:
        """Return the cells of a row of the printed table, with rounded numbers.

        `bench` and `class_name` are shown for a row without a bench or a class.
        """
        cells = [name]
        if self.classification:
            cells.append(row.classification or class_name)
        if self.bench is not None:
            cells.append(bench if row.bench is None else f"{row.bench:.10g}")
        if self.cutoff_grade:
            cells.append("" if row.cutoff is None else f"{row.cutoff:g}")
        cells += [f"{row.blocks:,}", f"{row.volume:,.10g}", f"{row.tonnes:,.10g}"]
        for grade in row.grades:
            cells += ["-" if grade.mean is None else f"{grade.mean:.6g}", f"{grade.metal:,.10g}"]
        return cells


def _mean(grade: GradeTotal) -> str:
    return f"mean_{grade.name}"


def _metal(grade: GradeTotal) -> str:
    return f"metal_{grade.name}" + f"_{grade.unit}" * bool(grade.unit)


def _csv_cells(row: TonnesRow, *, classed: bool) -> list[str | int | float]:
    """Return the cells of a CSV row, with unrounded numbers."""
    grades = [value for grade in row.grades for value in (grade.mean, grade.metal)]
    keys = [row.domain, *[row.classification] * classed, row.bench, row.cutoff]
    cells = [*keys, row.blocks, row.volume, row.tonnes, *grades]
    return ["" if cell is None else cell for cell in cells]


def _missing_notes(tonnes: Tonnes) -> Iterator[str]:
    """Yield notes on blocks that sums in the table leave out, because they lack a value."""
    whole = tonnes.totals[0]
    if whole.without_volume:
        yield f"without a volume: {counted(whole.without_volume, 'block')}, not in any sum"
    if whole.without_density:
        yield (
            f"without a density: {counted(whole.without_density, 'block')}, included in the "
            "volume, not in tonnes"
        )
    for grade in whole.grades:
        if grade.missing:
            lost = counted(grade.missing, "block")
            yield f"without {grade.name}: {lost}, included in tonnes, not in the mean"
    yield from tonnes.notes


# From sums to the report, with warnings.

# Classes of resources in the order of a statement, other classes follow by name.
_CLASS_ORDER = ("measured", "indicated", "inferred")


class _Key(NamedTuple):
    """What the blocks of a row have in common: domain, class and base of the bench."""

    domain: str = ""
    classification: str = ""
    bench: float | None = None


# For each key, a group for each cut-off interval.
_Groups = dict[_Key, list[Group]]


def report(tonnage: Tonnage, warned: Iterable[str] = ()) -> Tonnes:
    """Return the running sums as a report, with the warnings issued so far."""
    rows: _Groups = {}
    domains: _Groups = {}
    classes: _Groups = {}
    whole = _empty(tonnage)
    for (name, resource_class, bench, step), group in tonnage.groups.items():
        key = _Key(name, resource_class, bench)
        rows.setdefault(key, _empty(tonnage))[step].add(group)
        domains.setdefault(_Key(name), _empty(tonnage))[step].add(group)
        classes.setdefault(_Key("", resource_class), _empty(tonnage))[step].add(group)
        whole[step].add(group)
    # A block in several benches or domains counts once.
    for group in (each for groups in (domains, classes) for key in groups for each in groups[key]):
        group.counts = np.zeros_like(group.counts)
    for (name, _, step), counts in tonnage.blocks.items():
        domains[_Key(name)][step].counts += counts
    for group, counts in zip(whole, sum(tonnage.all_blocks.values(), _none(tonnage)), strict=True):
        group.counts = counts
    for resource_class, tables in tonnage.all_blocks.items():
        for group, counts in zip(classes.get(_Key("", resource_class), []), tables, strict=False):
            group.counts = counts
    return Tonnes(
        rows=_in_order(tonnage, rows),
        domains=_in_order(tonnage, domains),
        totals=tuple(_rows(tonnage, _Key(), whole)),
        blocks=tonnage.rows,
        cutoff_grade=tonnage.wanted.cut,
        bench=tonnage.wanted.bench,
        warnings=tuple(warned),
        notes=tuple(_notes(tonnage)),
        classification=tonnage.wanted.classification,
        classes=_in_order(tonnage, classes) if tonnage.wanted.classification else (),
    )


def _none(tonnage: Tonnage) -> NDArray[np.int64]:
    """Return counts of 0 for each cut-off interval."""
    return np.zeros((tonnage.intervals, tonnage.kinds), np.int64)


def _empty(tonnage: Tonnage) -> list[Group]:
    """Return a group without blocks for each cut-off interval."""
    sums = 2 + 2 * len(tonnage.wanted.grades)
    return [Group(counts, [0] * sums) for counts in _none(tonnage)]


def _in_order(tonnage: Tonnage, groups: _Groups) -> tuple[TonnesRow, ...]:
    """Return the rows by domain, class and bench; those without a domain, class or bench last."""
    order = {name: place for place, name in enumerate(tonnage.wanted.domains)}

    def place(key: _Key) -> tuple[int, bool, str, bool, int, str, float]:
        name, resource_class, bench = key
        word = resource_class.lower()
        rank = _CLASS_ORDER.index(word) if word in _CLASS_ORDER else len(_CLASS_ORDER)
        return (
            order.get(name, 0), not name, name,
            not resource_class, rank, resource_class,
            math.inf if bench is None else bench,
        )  # fmt: skip

    keys = sorted(groups, key=place)
    return tuple(row for key in keys for row in _rows(tonnage, key, groups[key]))


def _rows(tonnage: Tonnage, key: _Key, steps: list[Group]) -> Iterator[TonnesRow]:
    """Yield a row for all blocks of a key, then a row for each cut-off.

    The row of a cut-off sums the blocks whose grade is at or above the cut-off.
    """
    above = _empty(tonnage)[:1]
    for group in reversed(steps):
        above.append(Group(above[-1].counts, above[-1].sums))
        above[-1].add(group)
    sums = above[:0:-1]
    for cutoff, group in zip([None, *tonnage.wanted.cutoffs], sums, strict=True):
        yield _row(tonnage.wanted, key, cutoff, group)


def _row(wanted: Wanted, key: _Key, cutoff: float | None, group: Group) -> TonnesRow:
    """Return a row of the report, rounding each exact sum once."""
    units = [wanted.units.get(name, MetalUnit("")) for name in wanted.grades]
    blocks, no_volume, no_density, *no_grade = group.counts.tolist()
    volume, tonnes, *rest = group.sums
    # Sums and factors of units are exact; each result is rounded once.
    parts, whole = wanted.density_unit.tonnes if wanted.density_unit else (1, 1)
    row = TonnesRow(
        domain=key.domain,
        bench=key.bench,
        cutoff=cutoff,
        blocks=blocks,
        volume=nearest_float(volume),
        tonnes=nearest_float(tonnes * parts, whole * ONE),
        grades=tuple(
            GradeTotal(
                name=name,
                mean=nearest_float(metal, graded) if graded else None,
                metal=nearest_float(metal * parts * unit.times, unit.parts * whole * ONE),
                tonnes=nearest_float(graded * parts, whole * ONE),
                missing=missing,
                unit=unit.name,
            )
            for name, unit, missing, graded, metal in zip(
                wanted.grades, units, no_grade, rest[::2], rest[1::2], strict=True
            )
        ),
        without_volume=no_volume,
        without_density=no_density,
        classification=key.classification,
    )
    _require_finite(wanted, row)
    return row


def _require_finite(wanted: Wanted, row: TonnesRow) -> None:
    """Raise TableError if a sum overflows float64; single blocks have been checked before."""
    density = wanted.density if isinstance(wanted.density, str) else "the density"
    sums = [("volume", "the block sizes", row.volume), ("tonnes", density, row.tonnes)]
    sums += [(f"metal of {grade.name}", grade.name, grade.metal) for grade in row.grades]
    for what, cause, value in sums:
        if math.isinf(value):
            blocks = f"the blocks of {shown(row.domain)}" if row.domain else "all blocks"
            message = (
                f"the total {what} of {blocks} is more than float64 can hold: look for values in "
                f"{cause} that are far too large, and correct them or declare them as missing"
            )
            raise TableError(message)


def _notes(tonnage: Tonnage) -> Iterator[str]:
    """Yield notes on cells below detection, on densities, and on labels by their spelling."""
    yield from below_notes(tonnage.below, tonnage.wanted.below_detection)
    yield from tonnage.densities.notes()
    if not tonnage.wanted.shares:
        yield from tonnage.spelled.notes()


def tonnage_warnings(tonnage: Tonnage, *, negative: bool = True) -> Iterator[str]:
    """Yield warnings about missing, negative and inconsistent values in the sums.

    `negative` is False if warnings about negative grades have already been issued during reading.
    """
    wanted = tonnage.wanted
    _, no_volume, no_density, *no_grade = _all_counts(tonnage)
    if not tonnage.rows:
        yield "the model has no blocks: there is nothing to add up"
    if no_volume:
        yield (
            f"{_blocks(no_volume)} no volume, because sizes are missing, not above zero or too "
            "small"
        )
    if no_density:
        yield (
            f"{_blocks(no_density)} no {wanted.density}: such blocks are included in the volume, "
            "not in tonnes"
        )
    for name, missing in zip(wanted.grades, no_grade, strict=True):
        if missing:
            yield (
                f"{_blocks(missing)} no {name}: such blocks are included in tonnes, not in the mean"
            )
    for grade in tonnage.negative.values() if negative else ():
        yield from grade.warnings("block")
    yield from tonnage.densities.warnings()
    for name, count in tonnage.unshared.items():
        if count:
            yield (
                f"{_blocks(count)} no {wanted.shares[name]}: such blocks add nothing to {name}, "
                f"and what their other shares leave is added to {wanted.rest}"
            )
    if tonnage.over:
        count, first = tonnage.over
        yield (
            f"{_blocks(count)} shares that add up to more than 1; the first is block {first:,}: "
            "the total counts some volume more than once"
        )


def _all_counts(tonnage: Tonnage) -> list[int]:
    """Return counts of blocks: all, without volume, without density, and without each grade."""
    counts = sum(tonnage.all_blocks.values(), _none(tonnage)).sum(axis=0)
    return [int(count) for count in counts]


def _blocks(count: int) -> str:
    """Return the beginning of a sentence about `count` blocks."""
    return "1 block has" if count == 1 else f"{count:,} blocks have"
