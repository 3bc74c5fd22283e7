"""Draw sections with matplotlib, as pages of panels with a legend."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from geodomain.compute.data import Floats
from geodomain.domains.order import Domains, DomainsLike
from geodomain.domains.sources import drawn_source, policy_of
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.tables import TableLike
from geodomain.errors import TableError, warn
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD, open_target
from geodomain.files.unchanged import Unchanged
from geodomain.formats.blocks import file_of
from geodomain.inputs import model_path
from geodomain.mesh.mesh import Mesh
from geodomain.progress import Progress, show_progress
from geodomain.reporting.book import draw_book
from geodomain.reporting.look import (
    INK,
    Look,
    Ramp,
    as_classes,
    darker,
    faces_warnings,
    near_holes,
    ramp_of,
    refuse_commas_of_classes,
    require_cmap,
    usual_ground,
    with_classes,
    with_ground,
)
from geodomain.reporting.panel import DOTS, Panel, ramp_colours
from geodomain.reporting.planes import (
    LineGiven,
    Section,
    SectionGiven,
    as_lines,
    as_sections,
    is_run,
)
from geodomain.reporting.sections import (
    Cut,
    gather,
    lines_near,
    require_labels,
    samples_near,
    wireframes_of,
)
from geodomain.reporting.sheets import Sheets, as_sheets
from geodomain.settings import renamed
from geodomain.tables.options import table_options
from geodomain.tables.settings import TableKeywords

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches: the largest page area for panels, margins of each panel for text, and the smallest side.
_WIDTH, _HEIGHT = 15.0, 9.0
LEFT, RIGHT, BELOW, ABOVE = 0.95, 0.25, 0.65, 0.4
_LEAST = 0.25
# Above this number of panels, only columns of equal length are tried.
_MOST = 10


@dataclass(frozen=True)
class Page:
    """A page and its panels, in inches.

    Attributes
    ----------
    size : tuple of float
        Width and height.
    scale : float
        Inches on the page for a unit of length in the model.
    panels : list of tuple of float
        Left, bottom, width and height of each drawing area.
    """

    size: tuple[float, float]
    scale: float
    panels: list[tuple[float, float, float, float]]


def lay_out(lengths: Floats, *, below: float = 0.0, above: float = 0.0) -> Page:
    """Arrange panels in columns, in their order, and make them as large as a page allows.

    Parameters
    ----------
    lengths : (n, 2) float64
        Width and height of each panel, in units of the model.
    below : float
        Inches to leave at the foot of the page.
    above : float
        Inches to leave at the head of the page.

    Returns
    -------
    Page
        All panels have the same scale, but a panel that would be too thin to see gets a minimum
        size.
    """
    scale, columns = max(
        ((_scale(lengths, columns), columns) for columns in _divisions(len(lengths))),
        key=lambda division: (round(division[0], 9), -len(division[1])),
    )
    drawn = np.maximum(lengths * scale, _LEAST)
    height = max(
        float(drawn[column, 1].sum()) + len(column) * (BELOW + ABOVE) for column in columns
    )
    panels, left = [], 0.0
    for column in columns:
        top = height + below
        for index in column:
            wide, high = drawn[index].tolist()
            panels.append((left + LEFT, top - ABOVE - high, wide, high))
            top -= ABOVE + high + BELOW
        left += LEFT + float(drawn[column, 0].max()) + RIGHT
    return Page((left, height + below + above), scale, panels)


def _scale(lengths: Floats, columns: Sequence[Sequence[int]]) -> float:
    """Return the largest scale at which the columns of panels fit on a page."""
    across = sum(float(lengths[column, 0].max()) for column in columns)
    up = max(float(lengths[column, 1].sum()) for column in columns)
    return min(_WIDTH / across, _HEIGHT / up)


def _divisions(count: int) -> Iterator[list[list[int]]]:
    """Yield ways to divide panels into columns.

    If there are many panels, only columns with equal numbers of panels are tried.
    """
    if count > _MOST:
        for each in range(1, count + 1):
            yield [list(range(at, min(at + each, count))) for at in range(0, count, each)]
        return
    for after in product((True, False), repeat=count - 1):
        starts = [0, *(index + 1 for index, cut in enumerate(after) if cut), count]
        yield [list(range(*pair)) for pair in pairwise(starts)]


# Pages of panels with a legend.

# Inches: height of a legend line, width of a letter and of a patch, height of a ramp and a title.
_LINE, _LETTER, _PATCH, _RAMP, _TITLE = 0.26, 0.088, 0.65, 0.75, 0.45
_MOST_ENTRIES = 60
_KINDS = ("png", "svg", "pdf")
# Matplotlib's warning of a character that is missing from its font.
_GLYPH = re.compile(r"Glyph (\d+) .*missing from")


def draw(
    cuts: Sequence[Cut],
    wireframes: Mapping[str, Sequence[Mesh]] | None = None,
    *,
    background: Sequence[str] = (),
    kind: str = "png",
    look: Look | None = None,
    sheets: Sheets | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> bytes:
    """Draw sections at one scale: on one page, each on its own page, or on sheets of a book.

    Parameters
    ----------
    cuts : sequence of Cut
        Sections from `gather`.
    wireframes : mapping of str to sequence of Mesh, optional
        Wireframes by domain, in the order of the legend. The trace of a wireframe has a darker
        shade of the colour of its domain.
    background : sequence of str
        Labels that are drawn as background.
    kind : {"png", "svg", "pdf"}
        Format of the picture.
    look : Look, optional
        Style of the sections. Only the format "pdf" can have several pages.
    sheets : Sheets, optional
        Scale, paper and title block of a section book; the format is then "pdf".
    progress : callable, optional
        Called with the number of pages drawn and the total.

    Returns
    -------
    bytes
        The picture.
    """
    with _missing_glyphs():
        traced, style = wireframes or {}, look or Look()
        if sheets is not None:
            colours = _colours(cuts, traced, background, style)
            return draw_book(cuts, traced, colours, style, sheets, progress)
        return _drawn(cuts, traced, background, kind, style, progress)


@contextmanager
def _missing_glyphs() -> Iterator[None]:
    """Collect matplotlib's warnings about missing characters, and give one warning for all."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing = {}
    for each in caught:
        glyph = _GLYPH.match(str(each.message))
        if glyph is None:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        else:
            missing[chr(int(glyph[1]))] = True
    if missing:
        warn(f"the font of pictures lacks {', '.join(map(repr, missing))}: boxes are drawn instead")


def _drawn(
    cuts: Sequence[Cut],
    wireframes: Mapping[str, Sequence[Mesh]],
    background: Sequence[str],
    kind: str,
    look: Look,
    progress: Callable[[int, int | None], None] | None,
) -> bytes:
    """Draw the pages, and return the picture."""
    book = _Pages(cuts, wireframes, background, look)
    out = io.BytesIO()
    if not look.paged:
        book.figure(cuts).savefig(
            out,
            format=kind,
            bbox_inches="tight",
            metadata={"Date": None} if kind == "svg" else None,
        )
        return out.getvalue()
    from matplotlib.backends.backend_pdf import PdfPages

    book.share_frames()
    with PdfPages(out) as pages:
        for number, cut in enumerate(cuts):
            pages.savefig(book.figure([cut]))
            if progress is not None:
                progress(number + 1, len(cuts))
    return out.getvalue()


def require_kind(path: Path) -> str:
    """Return the picture format of a path, from its extension.

    Raises
    ------
    TableError
        If the path does not have the extension of a picture.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _KINDS:
        message = f"{path} does not have the extension of a picture: use .{', .'.join(_KINDS)}"
        raise TableError(message)
    return kind


class _Pages:
    """Draws pages of sections with shared colours."""

    def __init__(
        self,
        cuts: Sequence[Cut],
        wireframes: Mapping[str, Sequence[Mesh]],
        background: Sequence[str],
        look: Look,
    ) -> None:
        self._look, self._wireframes = look, wireframes
        self._sections = [cut.section for cut in cuts]
        self._colours = _colours(cuts, wireframes, background, look)
        self._windows: dict[object, Floats] = {}
        self._cuts = cuts

    def share_frames(self) -> None:
        """Draw the same rectangle on all sections across an axis, so that their pages align."""
        for cut in self._cuts:
            window = Panel(cut, {}, Look()).window
            low, high = self._windows.get(cut.section.family, window)
            self._windows[cut.section.family] = np.stack(
                [np.minimum(low, window[0]), np.maximum(high, window[1])]
            )

    def figure(self, cuts: Sequence[Cut]) -> Figure:
        """Return a page as a matplotlib figure."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        look, colours = self._look, self._colours
        panels = [Panel(cut, self._wireframes, look) for cut in cuts]
        for panel in panels:
            panel.window = self._windows.get(panel.cut.section.family, panel.window)
        shown = _entries(colours, {name for panel in panels for name in panel.shown})
        lengths = np.array([panel.lengths for panel in panels])
        columns = _legend_columns([text for text, _ in shown], lay_out(lengths).size[0])
        foot = _LINE * -(-len(shown) // columns) + _RAMP * len(look.ramps)
        page = lay_out(lengths, below=foot, above=_TITLE if look.title else 0.0)
        wide, high = page.size
        figure = Figure(figsize=page.size, dpi=DOTS)
        FigureCanvasAgg(figure)
        for (left, bottom, across, up), panel in zip(page.panels, panels, strict=True):
            place = (left / wide, bottom / high, across / wide, up / high)
            panel.draw(figure.add_axes(place), colours, page.scale, self._others(panel))
        drawn_labels = {label for cut in cuts for label in cut.labels.tolist()}
        _legend(
            figure,
            shown,
            () if look.ramp else drawn_labels,
            columns,
            by_grade=look.ramp is not None,
        )
        for number, ramp in enumerate(look.ramps):
            _draw_ramp(figure, ramp, foot - _RAMP * number)
        if look.title:
            figure.suptitle(
                look.title, x=0.02, y=1 - 0.1 / high, ha="left", va="top", fontsize=14, color=INK
            )
        return figure

    def _others(self, panel: Panel) -> list[Section]:
        """Return the sections to mark on a panel: all sections that cross its section."""
        return [
            section for section in self._sections if panel.cut.section.crossing(section) is not None
        ]


def _colours(
    cuts: Sequence[Cut],
    wireframes: Mapping[str, Sequence[Mesh]],
    background: Sequence[str],
    look: Look,
) -> dict[str, str]:
    """Assign colours: first to domains with wireframes, in order, then to the other labels."""
    labels = sorted({label for cut in cuts for label in cut.labels.tolist()}, key=_by_number)
    ground = [label for label in labels if label in background or not label]
    names = [*wireframes, *(label for label in labels if label not in wireframes)]
    return with_ground(names, ground, look.colours)


def _by_number(label: str) -> list[tuple[int, str]]:
    """Return a sort key that compares numbers in labels by value, so that A2 is before A10."""
    return [
        (int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", label)
    ]


def _entries(colours: Mapping[str, str], shown: Collection[str]) -> list[tuple[str, str]]:
    """Return the names and colours for the legend.

    If there are too many names, the last entry gives the number of names that are left out.
    """
    entries = [(name, colour) for name, colour in colours.items() if name in shown]
    others = len(entries) - _MOST_ENTRIES
    return [*entries[:_MOST_ENTRIES], (f"and {others:,} others", "")] if others > 0 else entries


def _legend_columns(names: Collection[str], width: float) -> int:
    """Return the number of legend columns for a page of this width."""
    longest = max(map(len, names), default=1)
    return max(1, min(len(names), 8, int(width / (longest * _LETTER + _PATCH))))


def _legend(
    figure: Figure,
    entries: Sequence[tuple[str, str]],
    drawn_labels: Collection[str],
    columns: int,
    *,
    by_grade: bool,
) -> None:
    """Draw the legend below the panels; a domain without blocks gets a line, not a patch."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=colour, edgecolor="#999999", lw=0.4, label=name or "(not labelled)")
        if name in drawn_labels
        else Line2D([], [], color=colour if by_grade else darker(colour), lw=1.6, label=name)
        for name, colour in entries
        if colour
    ]
    handles += [Line2D([], [], lw=0, label=name) for name, colour in entries if not colour]
    if handles:
        figure.legend(
            handles=handles, loc="lower center", ncols=columns, frameon=False, borderpad=0
        )


def _draw_ramp(figure: Figure, ramp: Ramp, foot: float) -> None:
    """Draw the ramp of a grade above the legend, just below the height `foot` (in inches)."""
    wide, high = figure.get_size_inches()
    length = min(4.0, 0.6 * wide)
    place = ((1 - length / wide) / 2, (foot - 0.25) / high, length / wide, 0.14 / high)
    if ramp.edges:
        _draw_classes(figure.add_axes(place), ramp)
        return
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    bar = figure.colorbar(
        ScalarMappable(Normalize(ramp.low, ramp.high), colormaps[ramp.cmap]),
        cax=figure.add_axes(place),
        orientation="horizontal",
        extend="max" if ramp.highest > ramp.high else "neither",
    )
    bar.set_label(ramp.name, fontsize=9)
    bar.ax.tick_params(labelsize=8)


def _draw_classes(axes: Axes, ramp: Ramp) -> None:
    """Draw a bar of the classes of a grade, with the grades between them."""
    from matplotlib.patches import Rectangle

    colours = ramp_colours(ramp)
    for number, colour in enumerate(colours):
        axes.add_patch(Rectangle((number, 0), 1, 1, facecolor=colour, edgecolor="#ffffff", lw=0.5))
    axes.set_xlim(0, len(colours))
    axes.set_xticks(range(1, len(colours)), [f"{edge:,.10g}" for edge in ramp.edges])
    axes.set_yticks([])
    axes.tick_params(labelsize=8)
    axes.set_xlabel(ramp.name, fontsize=9)


# Draw sections of a model file as a picture.


@renamed(grade="sample_grade")
def plot_sections(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str],
    sections: SectionGiven | Sequence[SectionGiven] = (),
    *,
    line: LineGiven | Sequence[LineGiven] = (),
    domains: DomainsLike | None = None,
    column: str = "domain",
    background: str | Iterable[str] = (),
    exaggerate: float = 1.0,
    title: str | None = None,
    unit: str = "",
    colour_by: str | None = None,
    cmap: str = "viridis",
    classes: Mapping[str, Sequence[float]] | None = None,
    holes: Drillholes | None = None,
    within: float | None = None,
    samples: TableLike | None = None,
    sample_grade: str | None = None,
    scale: str | float | None = None,
    paper: str | None = None,
    prepared_by: str | None = None,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
    **table: Unpack[TableKeywords],
) -> tuple[Section, ...]:
    r"""Draw sections of a labelled block model with the traces of wireframes over them.

    Blocks are drawn at their true sizes, coloured by domain or by grade. All sections have the
    same scale, a scale bar, and marks where the other sections cross. Sections across x look
    west, sections across y look north.

    Parameters
    ----------
    model : path
        A block model with a label column, in any format. The file is read once if sections are
        named and blocks have sizes, otherwise twice.
    output : path
        The picture: .png, .svg or .pdf. After an error there is no partial file.
    sections : str, tuple, Section, or several of them
        Where to cut: "z=310", ("z", 310), or a series "y=7480200,7480300,50" of start, stop and
        step. E, N and RL mean x, y and z. A series becomes pages of a PDF, or panels of a .png or
        .svg. [default: across x, y and z, through the middle of the labelled domains] A horizontal
        section on block faces shows the blocks above the section. A vertical section on block faces
        shows the blocks to the north or east.
    line : four numbers, str, or several of them
        Upright sections that need not be at right angles to an axis: (x1, y1, x2, y2) or
        "x1,y1,x2,y2" for a section from one point of the map to another. They are named A-A', B-B'
        and so on, in their order. The second point is drawn at the right.
    domains : optional
        As for `label_file`. The wireframes of the domains are drawn, closed or open, in the
        colours of the domains. The background labels that `domains` sets are drawn as background.
    column : str
        Label column.
    background : str or several
        Labels to draw as background, in a pale colour. [default: the background of `domains`, or
        else WASTE or BACKGROUND]
    exaggerate : float
        Vertical exaggeration.
    title : str, optional
        Title of each page.
    unit : str
        Unit of the coordinates, for axes and scale bars.
    colour_by : str, optional
        A numeric column, such as a grade, that colours the blocks. The ramp runs from the minimum
        to the 98th percentile of the column's values in the sections.
    cmap : str
        A colour map of matplotlib for ``colour_by`` and ``sample_grade``.
    classes : mapping of str to sequence of float, optional
        Grades that divide a column into classes, in ascending order, such as
        ``{"AU": [0.5, 1, 2, 5]}``. Blocks and samples of this column then have one colour for each
        class instead of a ramp. A grade on a limit is in the class above.
    holes : Drillholes, optional
        Drillholes to project onto the sections near them.
    within : float, optional
        Holes are drawn on sections that are at most this far from them, on either side; needed
        with ``holes``.
    samples : path, DataFrame or pyarrow.Table, optional
        Samples (hole, FROM, TO, grades), which are drawn along the holes in the colours of `cmap`.
        Samples without a value are not drawn. Negative values give a warning. The setting
        ``below_detection`` of `holes`, or else of this function, or else of `domains`, says how to
        treat them.
    sample_grade : str, optional
        Grade column of the samples; needed with ``samples``. If ``colour_by`` names the same
        column, blocks and samples share one ramp.
    scale : str or float, optional
        Scale of a section book, such as "1:500": a PDF of sheets with title block, grid, key plan
        and legend. On paper, lengths are true if the unit of the model is ``unit``: "m" or "ft".
        [default: with ``paper``, the largest usual scale at which each section fits on one sheet] A
        section that is larger than a sheet continues on further sheets, with match lines.
    paper : str, optional
        Paper of a section book: A4 to A0, Letter, Tabloid, or Ansi-A to Ansi-E, with "-portrait" or
        "-landscape". [default: A3 with ``scale``; the orientation that needs fewer sheets]
    prepared_by : str, optional
        Author in the title block of a section book.
    overwrite : bool
        Whether to replace an existing picture.
    progress : callable or bool, optional
        Called with the work done and the total, for each reading of the model and for the pages;
        True shows one line on stderr.
    **table
        Options for reading the file, as for `label_file`.

    Returns
    -------
    tuple of Section
        The sections drawn. The section along a line has no axis: ``ends`` are the ends of the line,
        and ``label`` is its name.

    Raises
    ------
    FileExistsError
        If the picture exists; see ``overwrite``.
    TableError
        If the output does not have the extension of a picture. If the label column holds hundreds
        of numbers. If a section cuts no block. If a book would have more than 500 sheets. If a
        column is missing or has no number. If the model has no sizes and its centroids form no
        lattice.
    ValueError
        If a section, a line, the scale, the paper, the classes or the colour map are invalid. Also
        if ``holes`` is given without
        ``within``, if ``samples`` is given without ``holes``, or if only one of ``samples`` and
        ``sample_grade`` is given.
    TypeError
        If the model is not a path.
    ImportError
        If matplotlib is not installed.

    Warns
    -----
    GeodomainWarning
        If a section lies on block faces, or no hole is near a section.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = "X,Y,Z,DX,DY,DZ,domain\n5,5,5,10,10,10,ORE\n15,5,5,10,10,10,WASTE\n"
    >>> _ = (folder / "labelled.csv").write_text(rows)
    >>> geodomain.plot_sections(folder / "labelled.csv", folder / "plan.svg", "z=5")
    (Section(axis='z', at=5.0),)
    """
    source = model_path(model, "write the blocks to a file first")
    place = Path(output)
    if source == STANDARD:
        message = "the model is - (stdin), but it may have to be read twice: give a file"
        raise ValueError(message)
    if not exaggerate > 0:
        message = f"exaggerate is {exaggerate}; it must be above 0"
        raise ValueError(message)
    look = Look(exaggerate=exaggerate, title=title or "", unit=unit)
    table["below_detection"] = table.get("below_detection") or policy_of(domains)
    near = near_holes(holes, within, samples, sample_grade, table["below_detection"])
    require_cmap(cmap)
    classed = as_classes(classes, (colour_by, sample_grade))
    options, planes = table_options(**table), [*as_sections(sections), *as_lines(line)]
    refuse_commas_of_classes(classed, source, options)
    kind = require_kind(place)
    sheets = as_sheets(scale, paper, unit, Path(file_of(source)).name, prepared_by, place)
    tables = [os.fspath(samples)] if isinstance(samples, str | os.PathLike) else []
    inputs = [file_of(source), *map(file_of, tables), *(() if holes is None else holes.files)]
    refuse_inputs([place], inputs)
    require_places([place], overwrite=overwrite)
    listed, files = drawn_source(domains)
    refuse_inputs([place], files)
    if holes is not None:
        holes.tell(listed)
    ground_labels = [
        *([background] if isinstance(background, str) else background),
        listed.background,
    ]
    ground = [label for label in ground_labels if label]
    with Unchanged(file_of(source)), show_progress(progress, "reading") as report:
        cuts = gather(
            source, options, column, planes, background=ground, grade=colour_by, progress=report
        )
    cuts = _named(cuts, listed)
    names = {label for cut in cuts for label in cut.labels.tolist()}
    require_labels(names, column, source, " in these sections")
    ground = ground or usual_ground(names, [target.name for target in listed.targets])
    look = replace(
        look,
        colours=listed.colours,
        near=near,
        ramp=None if colour_by is None else _ramp(cuts, colour_by, cmap, classed, source),
        paged=kind == "pdf" and is_run(sections),
    )
    look = _with_samples(look, cuts, cmap, classed)
    for sentence in faces_warnings([cut.section for cut in cuts if cut.is_on_faces]):
        warn(sentence)
    if look.near and not any(
        lines_near(c.section, look.near.holes, look.near.within) for c in cuts
    ):
        warn(f"no drillhole comes within {look.near.within:.10g} of a section")
    with show_progress(progress, "drawing") as report:
        drawn = draw(
            cuts,
            wireframes_of(listed),
            background=ground,
            kind=kind,
            look=look,
            sheets=sheets,
            progress=report,
        )
    with open_target(place, overwrite=overwrite) as target:
        target.write(memoryview(drawn))
    return tuple(cut.section for cut in cuts)


def _with_samples(
    look: Look, cuts: Sequence[Cut], cmap: str, classes: Mapping[str, tuple[float, ...]]
) -> Look:
    """Add the ramp of the samples; if blocks show the same grade, both have the same ramp."""
    near, ramp = look.near, look.ramp
    if near is None or near.samples is None:
        return look
    shown = [samples_near(cut.section, near.holes, near.within, near.samples)[1] for cut in cuts]
    values, name = np.concatenate(shown), near.samples.name
    if ramp is not None and ramp.name.casefold() == name.casefold():
        blocks = [cut.values for cut in cuts if cut.values is not None]
        both = ramp_of(
            f"{ramp.name}, of blocks and samples", cmap, np.concatenate([*blocks, values])
        )
        both = both and with_classes(both, name, classes)
        return replace(look, ramp=both, near=replace(near, ramp=both))
    own = ramp_of(f"{name}, of samples", cmap, values)
    return replace(look, near=replace(near, ramp=own and with_classes(own, name, classes)))


def _named(cuts: Sequence[Cut], domains: Domains) -> list[Cut]:
    """Replace the codes of domains by the names of the domains in sections."""
    names = {str(each.code): each.name for each in domains.targets if each.code is not None}
    if domains.background and domains.background_code is not None:
        names[str(domains.background_code)] = domains.background
    labels = {label for cut in cuts for label in cut.labels.tolist() if label}
    if not names or not labels <= names.keys():
        return list(cuts)
    return [
        replace(
            cut, labels=np.array([names.get(text, "") for text in cut.labels.tolist()], np.str_)
        )
        for cut in cuts
    ]


def _ramp(
    cuts: Sequence[Cut],
    name: str,
    cmap: str,
    classes: Mapping[str, tuple[float, ...]],
    model: str,
) -> Ramp:
    """Return one ramp for all sections; raise TableError if the sections have no number to show."""
    ramp = ramp_of(name, cmap, np.concatenate([c.values for c in cuts if c.values is not None]))
    if ramp is None:
        message = f"{model}: column {name!r} has no number in these sections: name a grade column"
        raise TableError(message)
    return with_classes(ramp, name, classes)
