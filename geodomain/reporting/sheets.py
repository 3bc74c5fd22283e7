"""The sheets of a section book: scale, paper, and the part of a section on each sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from geodomain.compute.data import Floats
from geodomain.errors import TableError
from geodomain.reporting.panel import Panel
from geodomain.statistics.charts import round_length

# The scale, the paper, and what the title block says.

# Width and height, upright, in mm.
_PAPERS = {
    "A4": (210.0, 297.0), "A3": (297.0, 420.0), "A2": (420.0, 594.0), "A1": (594.0, 841.0),
    "A0": (841.0, 1189.0), "Letter": (215.9, 279.4), "Tabloid": (279.4, 431.8),
    "Ansi-A": (215.9, 279.4), "Ansi-B": (279.4, 431.8), "Ansi-C": (431.8, 558.8),
    "Ansi-D": (558.8, 863.6), "Ansi-E": (863.6, 1117.6),
}  # fmt: skip
_METRES = {"": 1.0, "m": 1.0, "metre": 1.0, "metres": 1.0, "ft": 0.3048, "feet": 0.3048}
MM = 25.4  # in an inch
MOST_SHEETS = 500


@dataclass(frozen=True)
class Sheets:
    """The scale and paper of a section book, and the texts of its title block.

    Attributes
    ----------
    paper : str
        Name of the paper size, such as A3.
    turned : {"portrait", "landscape"}, optional
        Orientation; None for the one that needs fewer sheets.
    scale : float, optional
        Length in the model for a length of 1 on paper; None for the largest usual scale at which
        each section fits on one sheet.
    unit : str
        Unit of the model, which is metres or feet.
    model, prepared_by : str
        File name of the model, and name of the author; may be empty.
    """

    paper: str = "A3"
    turned: str | None = None
    scale: float | None = None
    unit: str = "m"
    model: str = ""
    prepared_by: str = ""

    @property
    def sizes(self) -> list[tuple[float, float]]:
        """The sizes of paper to choose from, (width, height) in mm; landscape is first."""
        wide, high = _PAPERS[self.paper]
        upright, turned = (wide, high), (high, wide)
        return {"portrait": [upright], "landscape": [turned]}.get(
            self.turned or "", [turned, upright]
        )

    @property
    def per_mm(self) -> float:
        """The length in the model, in its unit, of a millimetre on paper."""
        return (self.scale or 1.0) / 1000 / _METRES[self.unit]


def as_sheets(
    scale: str | float | None,
    paper: str | None,
    unit: str,
    model: str,
    prepared_by: str | None,
    output: Path,
) -> Sheets | None:
    """Return the sheets of a book, or None if neither a scale nor a paper is named.

    Raises
    ------
    ValueError
        If the scale, the paper or the unit is unknown, or the output is not a PDF.
    """
    if scale is None and paper is None:
        if prepared_by is not None:
            message = "prepared_by= is for the title block of a book: give scale= or paper= too"
            raise ValueError(message)
        return None
    if output.suffix.lower() != ".pdf":
        message = (
            f"{output} is not a PDF: scale= and paper= make a book, so give a file name with .pdf"
        )
        raise ValueError(message)
    if unit.casefold() not in _METRES:
        message = f"the unit is {unit!r}, but a true scale needs unit='m' or unit='ft'"
        raise ValueError(message)
    name, turned = parse_paper(paper or "A3")
    ratio = None if scale is None else parse_scale(scale)
    return Sheets(name, turned, ratio, unit.casefold(), model, prepared_by or "")


def parse_scale(scale: str | float) -> float:
    """Return 500 for the scale "1:500", or for the number 500.

    Raises
    ------
    ValueError
        If `scale` is not of the form 1:N, or N is not above 0.
    """
    text = str(scale).replace(" ", "").removeprefix("1:")
    try:
        ratio = float(text)
    except ValueError:
        ratio = math.nan
    if not 0 < ratio < math.inf:
        message = f"{scale!r} is not a scale: give it as 1:500"
        raise ValueError(message)
    return ratio


def parse_paper(paper: str) -> tuple[str, str | None]:
    """Return the name and the orientation of a paper size such as A3 or A3-portrait.

    Raises
    ------
    ValueError
        If the size is unknown.
    """
    name, _, turned = paper.casefold().rpartition("-")
    if turned not in ("portrait", "landscape"):
        name, turned = paper.casefold(), ""
    for size in _PAPERS:
        if size.casefold() == name:
            return size, turned or None
    message = (
        f"{paper!r} is not a paper size: use one of {', '.join(_PAPERS)}; add -portrait "
        "or -landscape to choose the orientation"
    )
    raise ValueError(message)


# The parts of a sheet in mm: border, title strip, and the margins of the map for labels.

BORDER, STRIP = 8.0, 46.0
LEFT, RIGHT, FOOT, HEAD = 9.0, 4.0, 7.0, 13.0
# Sheets of one section overlap by this length on either side of their match line.
OVERLAP = 10.0
# The digits of usual scales: 1:1000, 1:1250 and so on.
_USUAL = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10)
# Space between the blocks and the frame, in mm.
_AIR = 4.0


class Sheet(NamedTuple):
    """A sheet: a part of a section.

    Attributes
    ----------
    cut : int
        Number of the section.
    size : tuple of float
        Width and height of the paper in mm.
    window : (2, 2) float64
        The part of the section that the map shows.
    core : (2, 2) float64
        The part up to the match lines.
    sides : dict of str to int
        For each side with a match line, the number of the sheet that continues there.
    """

    cut: int
    size: tuple[float, float]
    window: Floats
    core: Floats
    sides: dict[str, int]


def map_size(size: tuple[float, float]) -> Floats:
    """Return the width and height of the map on a sheet, in mm."""
    across = 2 * BORDER + LEFT + RIGHT
    up = 2 * BORDER + STRIP + FOOT + HEAD
    return np.array(size) - enlarged(size) * np.array([across, up])


def enlarged(size: tuple[float, float]) -> float:
    """Return the factor by which texts and margins are larger than on A3; at least 1."""
    return float(max(1.0, (min(size) / 297.0) ** 0.6))


def _count(content: Floats, room: Floats, overlap: Floats) -> list[int]:
    """Return the numbers of sheets side by side and above each other for a content (2,)."""
    return [
        1 if length <= space else math.ceil(length / (space - 2 * beyond) - 1e-9)
        for length, space, beyond in zip(content, room, overlap, strict=True)
    ]


class _Part(NamedTuple):
    """A part of a section in one direction: up to the match lines, and all that a sheet shows."""

    core: tuple[float, float]
    shown: tuple[float, float]


def _divide(low: float, high: float, count: int, room: float, unit: float) -> list[_Part]:
    """Divide a length into parts that sheets with this room can show.

    Match lines are at round coordinates if the parts then fit. `unit` is the length in the model of
    a mm of paper.
    """
    if count == 1:
        middle = (low + high) / 2
        whole = (middle - room / 2, middle + room / 2)
        return [_Part(whole, whole)]
    edges = np.linspace(low, high, count + 1)
    step = round_length(10 * unit, up=True)
    rounded = np.concatenate([[low], np.round(edges[1:-1] / step) * step, [high]])
    overlap = OVERLAP * unit
    if np.diff(rounded).max() <= room - 2 * overlap:
        edges = rounded
    parts = []
    for start, end in pairwise(edges.tolist()):
        # A sheet at the end shows the end, and more beyond its match line.
        first = float(np.clip((start + end - room) / 2, low, high - room))
        parts.append(_Part((start, end), (first, first + room)))
    return parts


class Plan:
    """The sheets of a book, each with a part of a section."""

    def __init__(self, panels: Sequence[Panel], sheets: Sheets) -> None:
        self._panels = panels
        windows: dict[object, Floats] = {}
        for panel in panels:
            low, high = windows.get(panel.cut.section.family, panel.window)
            windows[panel.cut.section.family] = np.stack(
                [np.minimum(low, panel.window[0]), np.maximum(high, panel.window[1])]
            )
        self._windows = [windows[panel.cut.section.family] for panel in panels]
        if sheets.scale is None:
            sheets = replace(sheets, scale=self._largest_scale(sheets))
        self.sheets = sheets
        total = sum(math.prod(self._chosen(number)[1]) for number in range(len(panels)))
        if total > MOST_SHEETS:
            fits = self._largest_scale(sheets)
            message = (
                f"the sections need {total:,} sheets of {sheets.paper} at 1:{sheets.scale:,.10g}, "
                f"and a book has at most {MOST_SHEETS}: 1:{fits:,.10g} is the largest scale at "
                "which each section fits on one sheet"
            )
            raise TableError(message)
        self.pages: list[Sheet] = []
        for number in range(len(panels)):
            self.pages += self._pages_of(number)

    def _units(self, number: int, sheets: Sheets) -> Floats:
        """Return the lengths in the model of a mm on paper, to the right and upwards."""
        return np.array([sheets.per_mm, sheets.per_mm / self._panels[number].stretch])

    def _content(self, number: int, units: Floats) -> Floats:
        """Return the width and height that the content of a section needs, with a margin."""
        low, high = self._windows[number]
        return np.asarray(high - low + 2 * _AIR * units)

    def _chosen(self, number: int) -> tuple[tuple[float, float], list[int]]:
        """Return the size of paper that needs the fewest sheets, and their number each way."""
        units = self._units(number, self.sheets)
        content, overlap = self._content(number, units), OVERLAP * units
        counts = [
            (size, _count(content, map_size(size) * units, overlap)) for size in self.sheets.sizes
        ]
        return min(counts, key=lambda each: math.prod(each[1]))

    def _largest_scale(self, sheets: Sheets) -> float:
        """Return the largest usual scale at which each section fits on one sheet."""
        least = 0.0
        for number in range(len(self._panels)):
            units = self._units(number, replace(sheets, scale=1.0))
            low, high = self._windows[number]
            length = (high - low) / units
            least = max(
                least,
                min(float((length / (map_size(size) - 2 * _AIR)).max()) for size in sheets.sizes),
            )
        power = 10.0 ** math.floor(math.log10(least))
        return next(step * power for step in _USUAL if step * power >= least * (1 - 1e-9))

    def _pages_of(self, number: int) -> list[Sheet]:
        """Return the sheets of a section, from left to right and from the top down."""
        size, counts = self._chosen(number)
        units = self._units(number, self.sheets)
        room = map_size(size) * units
        air = _AIR * units * np.array([[-1], [1]])
        parts = [
            _divide(low, high, count, space, unit)
            for (low, high), count, space, unit in zip(
                (self._windows[number] + air).T.tolist(),
                counts,
                room.tolist(),
                units.tolist(),
                strict=True,
            )
        ]
        windows: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        for row in reversed(range(counts[1])):
            for column in range(counts[0]):
                across, up = parts[0][column], parts[1][row]
                core = np.array([across.core, up.core]).T
                if self._panels[number].has_blocks(core):
                    windows[column, row] = np.array([across.shown, up.shown]).T, core
        numbers = {place: len(self.pages) + each + 1 for each, place in enumerate(windows)}
        return [
            Sheet(
                number,
                size,
                window,
                core,
                {
                    side: numbers[column + right, row + above]
                    for side, (right, above) in _SIDES.items()
                    if (column + right, row + above) in numbers
                },
            )
            for (column, row), (window, core) in windows.items()
        ]


_SIDES = {"left": (-1, 0), "right": (1, 0), "below": (0, -1), "above": (0, 1)}
