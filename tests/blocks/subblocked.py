"""Sub-blocked tables read without geodomain, and a model with a solid that are split in tests."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
from shapes import star

from geodomain import Mesh

GEOMETRY = ("X", "Y", "Z", "DX", "DY", "DZ")
# At mine coordinates, with sizes that differ, CR LF, quotes, blanks and a blank line.
TABLE = (
    'Id,X,Y,Z,DX,DY,DZ,"rock ""type""",AU\r\n'
    '1,414000.30,7480000.7,310.1,40,40,20,"a,b",2.50\r\n'
    "2,414040.30,7480000.7, 310.1 ,40,40,20,OX,\r\n"
    "\r\n"
    '3,"413960.30",7480000.70,310.100,40.0,40.00,20,,0.10\r\n'
    "4,414000.30,7480060.7,310.1,40,80,20,OX,1\r\n"
    "5,414000.30,7479950.7,312.6,40,60,25,OX,1\r\n"
    "6,,7479950.7,312.6,40,60,25,lost,1\r\n"
    "7,424000.30,7479950.7,312.6,40,60,25,far,1"
)
CENTRE = (414_000.3, 7_480_000.7, 310.1)


def solid() -> Mesh:
    """Return a body that enters blocks 1 to 5 of the table."""
    return star(6, radius=(45.0, 60.0, 12.0), centre=CENTRE)


class Part(NamedTuple):
    """A block as exact numbers, with the text of its other columns."""

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    row: dict[str, str]

    @property
    def volume(self) -> Fraction:
        x, y, z = (h - low for low, h in zip(self.low, self.high, strict=True))
        return x * y * z


def rows_of(text: str) -> list[dict[str, str]]:
    return [row for row in csv.DictReader(io.StringIO(text)) if any(row.values())]


def part_of(row: Mapping[str, str]) -> Part:
    at, size = ([Fraction(row[name].strip()) for name in names] for names in
                (GEOMETRY[:3], GEOMETRY[3:]))  # fmt: skip
    low = tuple(c - s / 2 for c, s in zip(at, size, strict=True))
    high = tuple(c + s / 2 for c, s in zip(at, size, strict=True))
    return Part(low, high, dict(row))


def by_parent(path: Path) -> dict[int, list[Part]]:
    """Return the blocks of each parent; those without coordinates are left out."""
    found: dict[int, list[Part]] = defaultdict(list)
    for row in rows_of(path.read_bytes().decode()):
        if row["X"]:
            found[int(row["parent"])].append(part_of(row))
    return found


def require_tiles(parent: Part, parts: Iterable[Part]) -> None:
    """Check that parts fill a block exactly and none reaches into another."""
    parts = list(parts)
    assert sum(part.volume for part in parts) == parent.volume
    for part in parts:
        assert all(a <= b for a, b in zip(parent.low, part.low, strict=True))
        assert all(a >= b for a, b in zip(parent.high, part.high, strict=True))
        assert part.volume > 0
    lows = np.array([[float(v) for v in part.low] for part in parts])
    highs = np.array([[float(v) for v in part.high] for part in parts])
    both = np.minimum(highs[:, None], highs[None]) - np.maximum(lows[:, None], lows[None])
    overlap = (both > 1e-6).all(axis=2)
    assert overlap.sum() == len(parts)  # each with itself alone
