"""The planes of sections: across an axis, or upright along a line of the map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import product
from string import ascii_uppercase

import numpy as np

from geodomain.compute.data import Floats
from geodomain.tables.frames import Axis

AXES: tuple[Axis, ...] = ("x", "y", "z")
# East, north and reduced level, as miners call the axes.
_FIELD_NAMES: Mapping[str, Axis] = {"e": "x", "n": "y", "rl": "z"}
_AXIS_NAMES = ("x, east", "y, north", "z, up")
_WINDS = {0: "north", 90: "east", 180: "south", 270: "west"}
# Planes at a smaller angle (in radians) are parallel.
_PARALLEL = 1e-9


@dataclass(frozen=True, repr=False)
class Section:
    """A plane at right angles to an axis, or an upright plane along a line of the map.

    Attributes
    ----------
    axis : {"x", "y", "z"}, optional
        The axis; None for a line.
    at : float
        Coordinate of the plane along the axis; 0 for a line.
    ends : tuple of float, optional
        The ends (x1, y1, x2, y2) of a line. The section reaches from one end to the other.
    label : str
        Name of a line, such as A-A'.
    """

    axis: Axis | None
    at: float
    ends: tuple[float, float, float, float] | None = None
    label: str = ""

    def __repr__(self) -> str:
        """Return the call that makes the section."""
        if self.ends is None:
            return f"Section(axis={self.axis!r}, at={self.at!r})"
        return f"Section(axis=None, at=0.0, ends={self.ends!r}, label={self.label!r})"

    def __str__(self) -> str:
        """Return the name for messages, such as z = 1310 or A-A'."""
        return self.label if self.ends else f"{self.axis} = {self.at:.10g}"

    @property
    def name(self) -> str:
        """The name for pictures, such as z = 1,310 or A-A'."""
        return self.label if self.ends else f"{self.axis} = {self.at:,.10g}"

    @property
    def is_plan(self) -> bool:
        """Whether the plane is horizontal."""
        return self.axis == "z"

    @property
    def across(self) -> int | None:
        """The number of the axis across the plane: 0 for x, 1 for y, 2 for z; None if oblique."""
        steep = np.flatnonzero(np.abs(self.normal) == 1)
        return int(steep[0]) if len(steep) else None

    @property
    def family(self) -> object:
        """A key; sections with the same key are drawn with the same rectangle."""
        return self.axis or self.ends

    @cached_property
    def origin(self) -> Floats:
        """A point (3,) of the plane; for a line, the start at z = 0."""
        if self.ends is not None:
            return np.array([*self.ends[:2], 0.0])
        return np.where(np.array(AXES) == self.axis, self.at, 0.0)

    @cached_property
    def _along(self) -> list[int]:
        """The numbers of the axes drawn to the right and upwards: x and y, x and z, or y and z."""
        return [number for number, axis in enumerate(AXES) if axis != self.axis]

    @cached_property
    def right(self) -> Floats:
        """The direction (3,), of length 1, that is drawn to the right."""
        if self.ends is None:
            ahead: Floats = np.eye(3)[self._along[0]]
            return ahead
        x1, y1, x2, y2 = self.ends
        return np.array([x2 - x1, y2 - y1, 0.0]) / self.length

    @cached_property
    def normal(self) -> Floats:
        """The direction (3,), of length 1, across the plane: up, north, or else east."""
        ahead: Floats
        if self.axis is not None:
            ahead = np.eye(3)[AXES.index(self.axis)]
            return ahead
        east, north, _ = self.right.tolist()
        ahead = np.array([-north, east, 0.0])
        return ahead if (ahead[1], ahead[0]) > (0, 0) else -ahead

    @property
    def length(self) -> float:
        """The length of a line; infinity for a plane across an axis."""
        if self.ends is None:
            return math.inf
        x1, y1, x2, y2 = self.ends
        return math.hypot(x2 - x1, y2 - y1)

    @property
    def reach(self) -> tuple[float, float]:
        """Where a line begins and ends to the right; infinite for a plane across an axis."""
        return (-math.inf, math.inf) if self.ends is None else (0.0, self.length)

    def height(self, points: Floats) -> Floats:
        """Return the coordinate (...) of points (..., 3) across the plane, which is at `at`."""
        if self.axis is not None:
            return points[..., AXES.index(self.axis)]
        return np.asarray((points - self.origin) @ self.normal)

    def span(self, box: Floats) -> tuple[float, float]:
        """Return the lowest and highest `height` in a bounding box (2, 3)."""
        heights = self.height(np.array(list(product(*box.T))))
        return float(heights.min()), float(heights.max())

    def flat(self, points: Floats) -> Floats:
        """Project points (..., 3) onto the plane: coordinates (..., 2) to the right and upwards."""
        if self.ends is None:
            return points[..., self._along]
        return np.stack([(points - self.origin) @ self.right, points[..., 2]], axis=-1)

    def frame(self, box: Floats) -> Floats:
        """Return the rectangle (2, 2) of the section in a bounding box (2, 3)."""
        if self.ends is None:
            return box[:, self._along]
        return np.stack([np.array([0.0, self.length]), box[:, 2]], axis=1)

    def crossing(self, other: Section) -> Floats | None:
        """Return the line (2, 2) in which another section crosses; None if it does not.

        The ends of the line are in coordinates of this section. A coordinate is infinite if the
        line has no end in that direction.
        """
        if other.is_plan or self.is_plan:
            if other.is_plan and self.is_plan:
                return None
            if other.ends is not None:
                x1, y1, x2, y2 = other.ends
                return np.array([[x1, y1], [x2, y2]])
            along = 1 if other.is_plan else AXES.index(other.axis or "x")
            line = np.array([[-math.inf, -math.inf], [math.inf, math.inf]])
            line[:, along] = other.at
            return line
        slope = float(other.normal @ self.right)
        if abs(slope) < _PARALLEL:
            return None
        place = (other.at - float(other.height(self.origin))) / slope
        passed = float(other.flat(self.origin + place * self.right)[0])
        start, end = self.reach
        first, last = other.reach
        if not (start <= place <= end and first <= passed <= last):
            return None
        return np.array([[place, -math.inf], [place, math.inf]])

    @property
    def end_names(self) -> tuple[str, str]:
        """The names of the ends of a line, such as A and A'."""
        start, _, end = self.label.partition("-")
        return start, end

    @property
    def axis_names(self) -> tuple[str, str]:
        """The titles of the axes to the right and upwards."""
        if self.ends is None:
            right, up = self._along
            return _AXIS_NAMES[right], _AXIS_NAMES[up]
        return f"distance from {self.end_names[0]}", _AXIS_NAMES[2]

    @property
    def looking(self) -> str:
        """The direction of view; "plan" from above."""
        if self.is_plan:
            return "plan"
        east, north, _ = self.right.tolist()
        azimuth = round(math.degrees(math.atan2(-north, east))) % 360
        named = _WINDS.get(azimuth)
        return f"looking {named}" if named else f"looking {azimuth:03d}°"


def parse_section(text: str) -> Section:
    """Return the section that a text such as z=310 describes.

    Raises
    ------
    ValueError
        If the text is not of the form AXIS=COORDINATE.
    """
    name, _, at = text.partition("=")
    axis, value = axis_of(name), float(at)
    if axis is None or not np.isfinite(value):
        raise ValueError(text)
    return Section(axis, value)


def axis_of(name: str) -> Axis | None:
    """Return the axis called x, y or z, or E, N or RL, in either case, or None."""
    name = name.strip().lower()
    return next((axis for axis in AXES if axis == name), _FIELD_NAMES.get(name))


# The choice of sections: one, several, or a series between two coordinates.

SectionGiven = Section | str | tuple[Axis, float]
# A longer series probably has a mistaken step.
MOST_SECTIONS = 500


def as_sections(sections: SectionGiven | Sequence[SectionGiven]) -> list[Section]:
    """Return a section, or several sections, in any accepted form, as a list of `Section`.

    Raises
    ------
    ValueError
        If an item is not a section.
    """
    if isinstance(sections, Section):
        return [sections]
    if isinstance(sections, str):
        return parse_sections(sections)
    if len(sections) == 2 and isinstance(sections[0], str) and axis_of(sections[0]):
        axis, at = sections
        return parse_sections(f"{axis}={at}")
    return [section for each in sections for section in as_sections(_single(each))]


def parse_sections(text: str) -> list[Section]:
    """Return the sections of a text such as z=310, RL=310 or y=7480200,7480300,50.

    The form is AXIS=COORDINATE or AXIS=START,STOP,STEP. An axis is x, y or z, or E, N or RL. A
    series includes START. It includes STOP if the steps reach it. Steps are added as decimal
    numbers.

    Raises
    ------
    ValueError
        If the text has none of these forms.

    Examples
    --------
    >>> [section.at for section in parse_sections("z=0.1,0.3,0.1")]
    [0.1, 0.2, 0.3]
    """
    axis, _, rest = text.partition("=")
    parts = rest.split(",")
    try:
        if len(parts) == 1:
            return [parse_section(text)]
        start, stop, step = map(Decimal, parts)
        steps = (stop - start) / step
        count = math.floor(min(max(steps, Decimal(-1)), Decimal(10**9))) + 1
    except (ValueError, ArithmeticError):
        message = (
            f"{text!r} is neither AXIS=COORDINATE nor AXIS=START,STOP,STEP, such as z=310, RL=310 "
            "or y=7480200,7480300,50"
        )
        raise ValueError(message) from None
    if not 1 <= count <= MOST_SECTIONS:
        message = (
            f"{text!r} stands for {count:,} sections, but a series can have 1 to {MOST_SECTIONS}"
        )
        raise ValueError(message)
    return [parse_section(f"{axis}={start + number * step}") for number in range(count)]


def is_run(sections: SectionGiven | Sequence[SectionGiven]) -> bool:
    """Return whether any of the sections is a series, START,STOP,STEP."""
    if isinstance(sections, str):
        return "," in sections
    return not isinstance(sections, Section) and any(
        isinstance(each, str) and is_run(each) for each in sections
    )


def _single(section: SectionGiven | str | float) -> SectionGiven:
    """Refuse an item of a list that is not a section."""
    if isinstance(section, Section | str) or (isinstance(section, tuple) and len(section) == 2):
        return section
    message = f"{section!r} is not a section: give 'z=310', ('z', 310) or 'y=0,100,25'"
    raise ValueError(message)


# Lines of the map, for sections that are not at right angles to an axis.

LineGiven = str | Sequence[float]


def as_lines(lines: LineGiven | Sequence[LineGiven]) -> list[Section]:
    """Return the upright sections along lines of the map, named A-A', B-B' and so on.

    Parameters
    ----------
    lines : str, four numbers, or several of them
        A line: "x1,y1,x2,y2" or (x1, y1, x2, y2).

    Raises
    ------
    ValueError
        If a line does not have two different ends.

    Examples
    --------
    >>> [(each.label, each.length, each.looking) for each in as_lines("0,0,30,40")]
    [("A-A'", 50.0, 'looking 307°')]
    """
    if not len(lines):
        return []
    single = isinstance(lines, str) or not isinstance(lines[0], str | Sequence)
    listed = [lines] if single else lines
    return [
        Section(None, 0.0, _ends(line), "{0}-{0}'".format(_letters(number)))
        for number, line in enumerate(listed)
    ]


def _ends(line: object) -> tuple[float, float, float, float]:
    """Return the ends of a line; raise ValueError if there are not two different ones."""
    parts = line.split(",") if isinstance(line, str) else line
    try:
        x1, y1, x2, y2 = (float(part) for part in parts)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        x1 = y1 = x2 = y2 = math.nan
    if not all(map(math.isfinite, (x1, y1, x2, y2))) or (x1, y1) == (x2, y2):
        message = (
            f"{line!r} is not a line: give the x and y of two different points as x1,y1,x2,y2, "
            "such as 500,7480100,820,7480350"
        )
        raise ValueError(message)
    return x1, y1, x2, y2


def _letters(number: int) -> str:
    """Return A, B, ..., Z, AA, BB, ... for 0, 1, 2, ..."""
    times, letter = divmod(number, len(ascii_uppercase))
    return ascii_uppercase[letter] * (times + 1)
