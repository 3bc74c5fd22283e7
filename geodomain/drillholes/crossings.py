"""What holes pass through: stays in solids, and pierce points of surfaces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.drillholes.checks import Finding, notes_of
from geodomain.drillholes.walls import SAGITTA
from geodomain.errors import counted, in_lines
from geodomain.html.table import html_table, text_table

if TYPE_CHECKING:
    import pandas

Bools = NDArray[np.bool_]
SHOWN = 10
STAYS = (
    "hole", "domain", "from", "to", "length", "x_in", "y_in", "z_in", "x_out", "y_out", "z_out",
    "starts_inside", "ends_inside",
)  # fmt: skip
PIERCES = ("hole", "domain", "depth", "x", "y", "z", "direction")


@dataclass(frozen=True, eq=False)
class Stays:
    """Where holes are inside domains, a row of each array to a stay.

    Attributes
    ----------
    holes : (k,) intp
        Places among the names of the holes.
    domains : (k,) intp
        Places among the names of the domains.
    begins, ends : (k,) float64
        Depths along the hole.
    entries, exits : (k, 3) float64
        The points there.
    starts_inside, ends_inside : (k,) bool
        Whether the collar, and the end of the hole, are inside, as `contains` says: then the stay
        is cut short by the hole.
    """

    holes: NDArray[np.intp]
    domains: NDArray[np.intp]
    begins: Floats
    ends: Floats
    entries: Floats
    exits: Floats
    starts_inside: Bools
    ends_inside: Bools

    def __len__(self) -> int:
        """Count the stays."""
        return len(self.holes)


@dataclass(frozen=True, eq=False)
class Pierces:
    """Where holes go through surfaces, a row of each array to a point.

    Attributes
    ----------
    holes, domains : (k,) intp
        As for `Stays`.
    depths : (k,) float64
    points : (k, 3) float64
    down : (k,) bool
        Whether the hole goes from above the surface to below it.
    """

    holes: NDArray[np.intp]
    domains: NDArray[np.intp]
    depths: Floats
    points: Floats
    down: Bools

    def __len__(self) -> int:
        """Count the points."""
        return len(self.holes)


class SolidTotals(TypedDict):
    """What the stays in one solid add up to; see `HoleCrossings` for the last two."""

    name: str
    stays: int
    holes: int
    length: float
    crossings: int
    parity_holds: int


@dataclass(frozen=True, eq=False, repr=False)
class HoleCrossings:
    """What holes pass through; ``print`` it for a summary by domain.

    Attributes
    ----------
    names : tuple of str
        Of the holes.
    solids, surfaces : tuple of str
        Names of the domains that `stays` and `pierces` are of.
    stays : Stays
    pierces : Pierces
    crossings : tuple of int
        Of each solid: how often its walls are crossed.
    parity : tuple of int
        Of each solid: in how many holes "inside at the collar" and the crossings make "inside at
        the end", for each of its closed wireframes.
    hole_count : int
        How many holes there are.
    findings : tuple of Finding
        Of the tables of holes.
    dips : str
        Which dips point down, and how that was decided.
    """

    names: tuple[str, ...]
    solids: tuple[str, ...]
    surfaces: tuple[str, ...]
    stays: Stays
    pierces: Pierces
    crossings: tuple[int, ...]
    parity: tuple[int, ...]
    findings: tuple[Finding, ...] = ()
    dips: str = ""

    @property
    def hole_count(self) -> int:
        """Count the holes, those that meet nothing included."""
        return len(self.names)

    def __repr__(self) -> str:
        """Count what was found."""
        return (
            f"<HoleCrossings: {counted(len(self.stays), 'stay')}, "
            f"{counted(len(self.pierces), 'pierce point')}>"
        )

    def __str__(self) -> str:
        """Lay the summary out as lines to read."""
        return in_lines([*text_table(self._rows()), *notes_of(self.findings, self.dips)])

    def _repr_html_(self) -> str:
        """Give the summary as a table for a notebook."""
        headings, *rows = self._rows()
        return html_table(repr(self)[1:-1], rows, headings=headings)

    def as_dict(self) -> dict[str, object]:
        """Give the summary as plain values, ready for JSON."""
        return {
            "holes": self.hole_count,
            "method": f"arcs, halved until within {SAGITTA:g} of their chords; depths on the arc",
            "solids": [self._solid(place) for place in range(len(self.solids))],
            "surfaces": [
                {"name": name, "pierce_points": int((self.pierces.domains == place).sum())}
                for place, name in enumerate(self.surfaces)
            ],
            "findings": [each.as_dict() for each in self.findings],
            "dips": self.dips,
        }

    def _solid(self, place: int) -> SolidTotals:
        mine = self.stays.domains == place
        lengths = self.stays.ends[mine] - self.stays.begins[mine]
        return {
            "name": self.solids[place],
            "stays": int(mine.sum()),
            "holes": len(np.unique(self.stays.holes[mine])),
            "length": float(lengths.sum()),
            "crossings": self.crossings[place],
            "parity_holds": self.parity[place],
        }

    def _rows(self) -> list[list[str]]:
        """Give the cells of the summary, headings first."""
        rows = [["domain", "stays", "holes", "length", "crossings", "parity holds in"]]
        for place in range(len(self.solids)):
            one = self._solid(place)
            rows.append([
                one["name"], f"{one['stays']:,}", f"{one['holes']:,}", f"{one['length']:,.2f}",
                f"{one['crossings']:,}",
                f"{one['parity_holds']:,} of {counted(self.hole_count, 'hole')}",
            ])  # fmt: skip
        for place, name in enumerate(self.surfaces):
            mine = self.pierces.domains == place
            holes = len(np.unique(self.pierces.holes[mine]))
            rows.append([name, "", f"{holes:,}", "", f"{int(mine.sum()):,}", ""])
        return rows

    def stay_rows(self) -> Iterable[tuple[object, ...]]:
        """Give the stays as rows under the headings `STAYS`."""
        stays = self.stays
        columns = (
            stays.begins, stays.ends, stays.ends - stays.begins, *stays.entries.T, *stays.exits.T,
        )  # fmt: skip
        return zip(
            (self.names[hole] for hole in stays.holes.tolist()),
            (self.solids[domain] for domain in stays.domains.tolist()),
            *(column.tolist() for column in columns),
            stays.starts_inside.astype(int).tolist(),
            stays.ends_inside.astype(int).tolist(),
            strict=True,
        )

    def pierce_rows(self) -> Iterable[tuple[object, ...]]:
        """Give the pierce points as rows under the headings `PIERCES`."""
        some = self.pierces
        return zip(
            (self.names[hole] for hole in some.holes.tolist()),
            (self.surfaces[domain] for domain in some.domains.tolist()),
            some.depths.tolist(),
            *(column.tolist() for column in some.points.T),
            ("down" if down else "up" for down in some.down.tolist()),
            strict=True,
        )

    def to_pandas(self) -> tuple[pandas.DataFrame, pandas.DataFrame]:
        """Return the stays and the pierce points as tables."""
        import pandas

        return (
            pandas.DataFrame(list(self.stay_rows()), columns=list(STAYS)),
            pandas.DataFrame(list(self.pierce_rows()), columns=list(PIERCES)),
        )
