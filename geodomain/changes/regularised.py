"""Results of regularising a model: exact sums conserved, and dilution and ore loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from geodomain.blocks.new_model import DecimalAxis, plain
from geodomain.errors import counted
from geodomain.result_tables import ResultColumns, data_frame, html_table, text_table

if TYPE_CHECKING:
    import pandas


def exact_dict(value: Fraction) -> dict[str, object]:
    """Return a fraction as its nearest number, and as the text numerator/denominator."""
    return {"value": float(value), "exact": str(value)}


@dataclass(frozen=True)
class Balance:
    """A sum over the model, and its parts inside and outside the new model.

    Attributes
    ----------
    name : str
        What is added up: volume, tonnes, a grade times its weight, or a column of amounts.
    before, inside, outside : Fraction
        The exact sums; `inside` plus `outside` is `before`.
    """

    name: str
    before: Fraction
    inside: Fraction
    outside: Fraction

    @classmethod
    def checked(cls, name: str, before: Fraction, inside: Fraction, outside: Fraction) -> Balance:
        """Return a balance; raise AssertionError if something is lost, which is a bug."""
        if inside + outside != before:
            message = f"{name} is not conserved: {float(before)}, then {float(inside + outside)}"
            raise AssertionError(message)
        return cls(name, before, inside, outside)

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        sums = {name: getattr(self, name) for name in ("before", "inside", "outside")}
        return {"name": self.name, **{name: exact_dict(value) for name, value in sums.items()}}


@dataclass(frozen=True)
class Moved:
    """A part of the model.

    Attributes
    ----------
    volume : Fraction
        Its volume.
    tonnes : Fraction, optional
        Its tonnes; None without a density.
    metal : Fraction
        Its grade times the weight of the mean.
    """

    volume: Fraction
    tonnes: Fraction | None
    metal: Fraction

    def __add__(self, other: Moved) -> Moved:
        """Return the sum of both parts."""
        tonnes = None
        if self.tonnes is not None and other.tonnes is not None:
            tonnes = self.tonnes + other.tonnes
        return Moved(self.volume + other.volume, tonnes, self.metal + other.metal)

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        tonnes = None if self.tonnes is None else exact_dict(self.tonnes)
        return {
            "volume": exact_dict(self.volume), "tonnes": tonnes, "metal": exact_dict(self.metal)
        }  # fmt: skip


# Numbers of at least this size are printed without decimals.
_LARGE = 1e9
# The rows of the table of a cut-off, in order.
SIDES = ("ore before", "ore loss", "ore outside", "dilution", "ore after")


@dataclass(frozen=True)
class CutoffMoves:
    """What is on each side of a cut-off, before and after.

    Attributes
    ----------
    grade : str
        The column.
    cutoff : float
        The cut-off: a block is ore if its grade is at or above it.
    waste, dilution, waste_outside : Moved
        Waste that stays waste, that becomes ore, and that lies outside the new model.
    loss, retained, ore_outside : Moved
        Ore that becomes waste, that stays ore, and that lies outside the new model.
    """

    grade: str
    cutoff: float
    waste: Moved
    dilution: Moved
    waste_outside: Moved
    loss: Moved
    retained: Moved
    ore_outside: Moved

    def sides(self) -> dict[str, Moved]:
        """Return the rows of the table by name."""
        before = self.loss + self.retained + self.ore_outside
        rows = before, self.loss, self.ore_outside, self.dilution, self.retained + self.dilution
        return dict(zip(SIDES, rows, strict=True))

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        rows = {name.replace(" ", "_"): moved.as_dict() for name, moved in self.sides().items()}
        return {"grade": self.grade, "cutoff": self.cutoff, **rows}


@dataclass(frozen=True, repr=False)
class Regularised:
    """The result of `regularise`; ``print`` it.

    Attributes
    ----------
    before, after : int
        Number of blocks of the model, and of the new model.
    axes : tuple of DecimalAxis
        The lattice of the new model along x, y and z, in coordinates of the model's axes.
    balances : tuple of Balance
        What is conserved: volume, tonnes, metal and amounts.
    cutoffs : tuple of CutoffMoves
        Dilution and ore loss by cut-off.
    notes : tuple of str
        Blocks without values, and rounded coordinates.
    output : str
        Path of the new model.
    warnings : tuple of str
        The warnings that were issued.
    """

    before: int
    after: int
    axes: tuple[DecimalAxis, DecimalAxis, DecimalAxis]
    balances: tuple[Balance, ...]
    cutoffs: tuple[CutoffMoves, ...]
    notes: tuple[str, ...]
    output: str
    warnings: tuple[str, ...] = ()

    def balance(self, name: str) -> Balance:
        """Return the balance with a name, such as "tonnes"; raise KeyError if there is none."""
        by_name = {each.name: each for each in self.balances}
        return by_name[name]

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON; each sum is a number and an exact fraction."""
        return {
            "before": self.before,
            "after": self.after,
            "count": [axis.count for axis in self.axes],
            "size": [plain(axis.size) for axis in self.axes],
            "low": [plain(axis.low) for axis in self.axes],
            "balances": [each.as_dict() for each in self.balances],
            "cutoffs": [each.as_dict() for each in self.cutoffs],
            "notes": list(self.notes),
            "output": self.output,
            "warnings": list(self.warnings),
        }

    def columns(self) -> ResultColumns:
        """Return the table of dilution and ore loss: a row for each cut-off and side."""
        rows = [
            (moves.cutoff, name, moved)
            for moves in self.cutoffs
            for name, moved in moves.sides().items()
        ]
        return {
            "cutoff": ("float64", [row[0] for row in rows]),
            "part": ("str", [row[1] for row in rows]),
            "volume": ("float64", [float(row[2].volume) for row in rows]),
            "tonnes": ("float64", [_number(row[2].tonnes) for row in rows]),
            "metal": ("float64", [float(row[2].metal) for row in rows]),
        }

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table of dilution and ore loss as a DataFrame."""
        columns = self.columns()
        kinds = {name: None if kind == "str" else kind for name, (kind, _) in columns.items()}
        return data_frame({name: values for name, (_, values) in columns.items()}, kinds)

    def __repr__(self) -> str:
        """Return the numbers of blocks as text."""
        return f"<Regularised: {counted(self.before, 'block')} to {counted(self.after, 'block')}>"

    def __str__(self) -> str:
        """Return lines of text: blocks, what is conserved, cut-offs and notes."""
        size = " x ".join(plain(axis.size) for axis in self.axes)
        lines = [f"{counted(self.before, 'block')} to {counted(self.after, 'block')} of {size}", ""]
        lines += [*text_table(self._balance_rows()), "inside + outside = before, exactly"]
        if self.cutoffs:
            lines += ["", *text_table(self._cutoff_rows(), names=2)]
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, *rows = self._balance_rows()
        return html_table("Regularised", rows, headings=headings, notes=self.notes)

    def _balance_rows(self) -> list[list[str]]:
        rows = [["", "before", "inside", "outside"]]
        for each in self.balances:
            sums = (each.before, each.inside, each.outside)
            rows.append([each.name, *(_shown(value) for value in sums)])
        return rows

    def _cutoff_rows(self) -> list[list[str]]:
        grade, *_ = [each.grade for each in self.cutoffs]
        rows = [[f"{grade} from", "", "volume", "tonnes", grade, "metal"]]
        rows += [
            [f"{moves.cutoff:g}", name, *_cells(moved)]
            for moves in self.cutoffs
            for name, moved in moves.sides().items()
        ]
        if all(moves.loss.tonnes is None for moves in self.cutoffs):
            rows = [[*row[:3], *row[4:]] for row in rows]
        return rows


def _cells(moved: Moved) -> Iterator[str]:
    weight = moved.volume if moved.tonnes is None else moved.tonnes
    yield _shown(moved.volume)
    yield "" if moved.tonnes is None else _shown(moved.tonnes)
    yield f"{float(moved.metal / weight):.4g}" if weight else "-"
    yield _shown(moved.metal)


def _shown(value: Fraction) -> str:
    number = float(value)
    return f"{number:,.0f}" if abs(number) >= _LARGE else f"{number:,.10g}"


def _number(value: Fraction | None) -> float:
    return float("nan") if value is None else float(value)
