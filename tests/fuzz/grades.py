"""Write random grades into every format and add them up: sums are exact, or a row is refused.

python tests/fuzz/grades.py [--cases 100 | --seconds 60 | --case 17] [--seed 1]

A case is made by its number alone. Its cells go into a CSV, a Parquet file, a VTK image and a
frame, as texts, and as numbers where they are numbers. Each must give the metal, the missing
blocks and the blocks of a condition that fractions give, or refuse the first row that is no number.
"""

from __future__ import annotations

import random
import sys
import tempfile
import warnings
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
sys.path.insert(0, str(Path(__file__).parent))
from campaign import Case as Number
from campaign import campaign
from late import pandas, pyvista
from wireframes import box

import geodomain
from geodomain.errors import GeodomainWarning, TableError

_SHARES = {"half": Fraction(1, 2), "limit": Fraction(1), "zero": Fraction(0), "missing": None}
_ODD = (
    *("", " ", "nan", "NaN", "-99", "NA", "n.a.", "<0.01", "< 0,5", "<0.25", "<x", "<-1", "BDL"),
    *("nd", "1,410", "1.410", "2,003,004", "1'410", "12 %", "inf", "-Infinity", "1e400", "true"),
    *("0x10", "1_0", "1e", "e5", ".", "-", "+", "--1", "1d2", "1D-3", "+.5", "5.", "-0", "\u0661"),
)


class Case:
    """Cells of a grade, and what the user says of them."""

    def __init__(self, dice: random.Random) -> None:
        self.decimal = dice.choice((".", ".", ","))
        odd = dice.choice((0.0, 0.0, 0.1, 0.5))
        self.cells = [
            dice.choice(_ODD) if dice.random() < odd else self._number(dice)
            for _ in range(dice.randrange(1, 12))
        ]
        self.below = dice.choice((None, *_SHARES))
        self.limit = dice.choice((None, 0.02))
        self.marks = dice.choice(([], ["AU=-99"], ["AU=NA", "AU=-99"], ["AU=BDL", "AU=inf"]))

    def _number(self, dice: random.Random) -> str:
        value = dice.choice((1.0, 1e-3, 1e12, 1e-290)) * dice.choice((1, 1, 1, -1))
        text = dice.choice((f"{value * dice.random():.6g}", repr(value * dice.random()), "500"))
        return text.replace(".", self.decimal)

    @property
    def keywords(self) -> dict[str, object]:
        """What the functions are told."""
        limits = {"detection_limit": {"AU": self.limit}} if self.limit else {}
        told = {"below_detection": self.below, "missing": self.marks, "decimal": self.decimal}
        return told | limits

    def value(self, text: str) -> Fraction | None:
        """Return a cell's number, None where it is missing; ValueError where it is refused."""
        text = text.strip()
        marks = [mark.removeprefix("AU=") for mark in self.marks]
        if text in ("", *marks) or text.lower() == "nan":
            return None
        if text.lower().lstrip("+-") in ("inf", "infinity", "1e400"):
            if "inf" in marks and not text.startswith("-"):  # 1e400 is infinity in float64
                return None
            raise ValueError(text)
        limit = None
        if text.startswith("<"):
            limit = self._parsed(text[1:].strip())
        elif text.lower() in ("bdl", "nd"):
            if self.limit is None:
                raise ValueError(text)
            limit = Fraction(self.limit)
        else:
            number = self._parsed(text)
            return None if float(number) == -99 and "-99" in marks else number
        if self.below is None or limit <= 0:
            raise ValueError(text)
        share = _SHARES[self.below]
        return None if share is None else share * limit

    def _parsed(self, text: str) -> Fraction:
        """Return a number as float64 has it; ValueError for another text."""
        other = "," if self.decimal == "." else "."
        if other in text or not text.isascii() or not set(text) <= set("0123456789+-.,eEdD"):
            raise ValueError(text)
        try:
            exact = Decimal(text.replace(self.decimal, ".").lower().replace("d", "e"))
            return Fraction(float(exact))
        except (InvalidOperation, OverflowError):
            raise ValueError(text) from None

    def expected(self) -> tuple[float, int, int] | int:
        """Return metal, missing blocks and those of at least 0.5, or the first row refused."""
        found: list[Fraction | None] = []
        for row, cell in enumerate(self.cells):
            try:
                found.append(self.value(cell))
            except ValueError:
                return row
        graded: list[Fraction] = []
        for one in found:
            if one is None:
                continue
            share = _SHARES[self.below] if one < 0 and self.below is not None else Fraction(-1)
            if share is not None:
                graded.append(one if one >= 0 else -one * share)
        rich = sum(one >= Fraction(1, 2) for one in graded)  # negative ones as they count
        return float(sum(graded, Fraction(0))), len(found) - len(graded), rich


def tables(case: Case, folder: Path) -> Iterator[tuple[str, object]]:
    """Yield the cells in all forms: a path or a frame, by a name."""
    count = len(case.cells)
    frame = pandas.DataFrame({"X": np.arange(count) + 0.5, "Y": 0.5, "Z": 0.5})
    frame = frame.assign(DX=1.0, DY=1.0, DZ=1.0, domain="ORE", AU=case.cells)
    yield "frame", frame
    text = frame.astype(str).assign(AU=case.cells)
    for name in frame.columns[:6]:
        text[name] = text[name].str.replace(".", case.decimal)
    text.to_csv(folder / "a.csv", index=False, sep=";" if case.decimal == "," else ",", quoting=1)
    yield "csv", folder / "a.csv"
    yield from typed_files(frame, folder, "text")
    try:
        values = [case.value(cell) if cell.strip() not in ("-99",) else -99 for cell in case.cells]
    except ValueError:
        return
    if any(cell.strip().lower() in ("bdl", "nd") or "<" in cell for cell in case.cells):
        return
    numbers = frame.assign(AU=[np.nan if one is None else float(one) for one in values])
    yield "frame of numbers", numbers
    yield from typed_files(numbers, folder, "numbers")


def typed_files(frame: pandas.DataFrame, folder: Path, what: str) -> Iterator[tuple[str, Path]]:
    """Yield a frame as Parquet and as a VTK image, whose texts are ASCII."""
    frame.to_parquet(folder / "a.parquet")
    yield f"parquet of {what}", folder / "a.parquet"
    if frame["AU"].dtype.kind != "f" and not all(map(str.isascii, frame["AU"])):
        return
    image = pyvista.ImageData(dimensions=(len(frame) + 1, 2, 2))
    image.cell_data["domain"] = frame["domain"].to_numpy().astype(str)
    grade = frame["AU"].to_numpy()
    image.cell_data["AU"] = grade if grade.dtype.kind == "f" else grade.astype(str)
    image.save(folder / "a.vti")
    yield f"vti of {what}", folder / "a.vti"


def check(case: Case, folder: Path) -> str:
    """Compare all forms with what fractions give; return what came of it."""
    expected = case.expected()
    rich = geodomain.Domain("RICH", box((-1, -1, -1), (99, 9, 9)), only_if={"AU": {">=": 0.5}})
    for name, table in tables(case, folder):
        try:
            if isinstance(table, Path):
                found = geodomain.tonnes_file(table, density=1, grade="AU", **case.keywords)
                labels = geodomain.label_file(
                    table, geodomain.Domains((rich,)), None, column="rich", **case.keywords
                )
                met = labels.domains[0].blocks
            else:
                found = geodomain.tonnes(table, density=1, grade="AU", **case.keywords)
                met = None
        except TableError as error:
            said = f"line {expected + 2}" if name == "csv" else f"row {expected + 1}"
            if not isinstance(expected, int) or said not in str(error):
                message = f"{name}: {case.cells}: expected {expected}, refused: {error}"
                raise AssertionError(message) from error
            continue
        (grade,) = found.totals[0].grades
        got = grade.metal, grade.missing
        if isinstance(expected, int) or got != expected[:2] or met not in (None, expected[2]):
            message = f"{name}: {case.cells}: expected {expected}, got {got}, {met}"
            raise AssertionError(message)
    return "refused" if isinstance(expected, int) else "added up"


def main() -> int:
    """Run the cases that the command line asks for; 1 if there was a fault."""
    warnings.simplefilter("ignore", GeodomainWarning)
    with tempfile.TemporaryDirectory(prefix="geodomain-grades-") as folder:

        def outcomes(number: Number) -> tuple[str]:
            case = Case(random.Random(str(number)))
            try:
                return (check(case, Path(folder)),)
            except Exception as error:
                error.add_note(str({"cells": case.cells, **case.keywords}))
                raise

        return campaign(__doc__, outcomes)


if __name__ == "__main__":
    raise SystemExit(main())
