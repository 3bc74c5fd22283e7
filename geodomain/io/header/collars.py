"""Samples whose coordinates are those of their hole's collar, and not of their middle."""

from __future__ import annotations

from collections.abc import Sequence

from geodomain.errors import TableError
from geodomain.io.header.dialect import number
from geodomain.io.header.families import Triplet, plain_name

# Columns of the ends of an interval, and of the hole that it is in.
_ENDS = (
    ("from", "to"),
    ("depthfrom", "depthto"),
    ("depth_from", "depth_to"),
    ("from_depth", "to_depth"),
    ("fromdepth", "todepth"),
    ("sampfrom", "sampto"),
    ("from_m", "to_m"),
    ("mfrom", "mto"),
)
_HOLES = (
    *("bhid", "holeid", "hole_id", "hole", "dhid", "drillhole", "hole_name", "holename"),
    *("hole_no", "boreholeid", "borehole"),
)


def refuse_collars(
    names: Sequence[str], rows: Sequence[Sequence[str]], xyz: Triplet, table: str
) -> None:
    """Refuse the coordinates of collars beside the intervals of samples.

    Holes with one interval, such as blast holes, are left out; of the others, most must have more
    than one place.

    Parameters
    ----------
    names, rows
        Of all columns, and the cells of the first rows.
    xyz : tuple of int
        The columns of the coordinates.
    table : str
        What error messages call it.

    Raises
    ------
    TableError
        With the columns, and the ways out.
    """
    plain = [plain_name(name) for name in names]
    ends = next((pair for pair in _ENDS if set(pair) <= set(plain)), None)
    if ends is None:
        return
    start, end = (plain.index(name) for name in ends)
    hole = next((plain.index(name) for name in _HOLES if name in plain), None)
    places = [found for found in _places(rows, start, hole, xyz) if len(found) > 1]
    still = sum(len(set(found)) == 1 for found in places)
    if 2 * still > len(places):
        x, y, z = (names[column] for column in xyz)
        message = (
            f"{table}: {x}, {y} and {z} are the same for all intervals ({names[start]} to "
            f"{names[end]}) of {still} of its first {len(places)} holes with several: they are "
            "those of the collars, not of the samples. Desurvey the holes first, and name the "
            "coordinates of the middles with x=, y= and z=; if these are right, say so with "
            "points_are_middles=True."
        )
        raise TableError(message)


def _places(
    rows: Sequence[Sequence[str]], start: int, hole: int | None, xyz: Triplet
) -> list[list[tuple[float | None, ...]]]:
    """Return the coordinates of each hole's intervals; depths that decrease begin a hole."""
    found: dict[str, list[tuple[float | None, ...]]] = {}
    last, count = -1.0, 0
    for row in rows:
        if max(start, *xyz, -1 if hole is None else hole) >= len(row):
            continue
        depth, place = number(row[start]), tuple(number(row[column]) for column in xyz)
        if depth is None or None in place:
            continue
        count += depth <= last
        last = depth
        found.setdefault(str(count) if hole is None else row[hole], []).append(place)
    return list(found.values())
