"""The report on tables of holes, as values, JSON and a text table."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TypedDict

from geodomain.drillholes.checks import Finding
from geodomain.errors import counted, in_lines
from geodomain.html.table import html_table


class TableFacts(TypedDict):
    """What is known of a table: its name, its rows, and its columns by role."""

    name: str
    rows: int
    columns: dict[str, str]


@dataclass(frozen=True, repr=False)
class HoleReport:
    """What was understood of collar, survey and interval tables; `str` lays it out to be read.

    Attributes
    ----------
    tables : dict of str to dict
        Of each table its name, its number of rows, and its columns by role.
    holes : int
        How many can be used.
    left_out : dict of str to str
        The others, and why.
    stations : int
        How many are used, those that were added at collars included.
    method : str
        What is between stations.
    down : str
        "positive" or "negative": the dips that point down.
    down_reason : str
        Who says so.
    length : float
        Of all the holes, in the unit of the file.
    bounds : list or None
        The box of the collars and the ends of holes, lowest corner first.
    ends : dict of str to int
        How many holes have their end from the collar table, from the intervals, from the survey.
    largest_bend : float
        Between two stations, in degrees.
    upward : tuple of str
        Holes with a station that points up.
    level : tuple of str
        Other holes with a station that is level.
    findings : tuple of Finding
        All else, by table.
    """

    tables: dict[str, TableFacts]
    holes: int
    left_out: dict[str, str]
    stations: int
    method: str
    down: str
    down_reason: str
    length: float
    bounds: list[list[float]] | None
    ends: dict[str, int]
    largest_bend: float
    upward: tuple[str, ...]
    level: tuple[str, ...]
    findings: tuple[Finding, ...]

    def as_dict(self) -> dict[str, object]:
        """Give plain values, ready for JSON."""
        values = asdict(replace(self, findings=()))
        return values | {"findings": [each.as_dict() for each in self.findings]}

    @property
    def dips(self) -> str:
        """Which dips point down, and how that was decided."""
        return f"{self.down} ones point down ({self.down_reason})"

    def __str__(self) -> str:
        """Lay everything out as lines to read."""
        rows = self._rows()
        width = max(len(name) for name, _ in rows)
        return in_lines(f"{name:<{width}}  {value}" for name, value in rows)

    def __repr__(self) -> str:
        """Say how many holes there are, and how much was found."""
        return (
            f"<HoleReport of {counted(self.holes, 'hole')}: "
            f"{counted(len(self.findings), 'finding')}>"
        )

    def _repr_html_(self) -> str:
        """Give a table for a notebook."""
        return html_table(counted(self.holes, "drillhole"), self._rows()[1:])

    def _rows(self) -> list[tuple[str, str]]:
        """Say each thing: what it is, and its value."""
        rows = [("holes", f"{self.holes:,}, {self.length:,.1f} long in all")]
        for role, table in self.tables.items():
            columns = ", ".join(f"{name} {role}" for role, name in table["columns"].items())
            rows.append((role, f"{table['name']}, {counted(table['rows'], 'row')}: {columns}"))
        rows.append(("between stations", f"{self.method}; {counted(self.stations, 'station')}"))
        rows.append(("largest bend", f"{self.largest_bend:.2f} degrees between two stations"))
        rows.append(("dips", self.dips))
        for what, names in (("upwards", self.upward), ("level", self.level)):
            if names:
                more = ", .." if len(names) > 5 else ""
                rows.append((what, f"{counted(len(names), 'hole')} ({', '.join(names[:5])}{more})"))
        said = ", ".join(f"{count:,} from the {what}" for what, count in self.ends.items() if count)
        rows.append(("ends of holes", said or "none"))
        if self.bounds is not None:
            low, high = self.bounds
            sides = (f"{a:,.10g} to {b:,.10g}" for a, b in zip(low, high, strict=True))
            rows.append(("extent", "; ".join(sides)))
        for name, why in list(self.left_out.items())[:5]:
            rows.append(("left out", f"{name}: {why}"))
        if len(self.left_out) > 5:
            rows.append(("", f"and {len(self.left_out) - 5:,} more holes"))
        rows += [(each.severity, str(each)) for each in self.findings]
        return rows
