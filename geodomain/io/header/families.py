"""Column names of centroids and block sizes, by vendor."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from geodomain.errors import TableError

Triplet = tuple[int, int, int]


class Family(NamedTuple):
    """One vendor's names for the three coordinates, or for the three sizes, of a block."""

    vendor: str
    names: tuple[str, str, str]

    def __str__(self) -> str:
        """Say the names as an error message wants them."""
        return ", ".join(self.names).upper()


def _families(vendor: str, *triplets: str) -> tuple[Family, ...]:
    """Make one family of each blank-separated triplet."""
    return tuple(Family(vendor, (x, y, z)) for x, y, z in map(str.split, triplets))


WORLD = Family("world coordinates", ("xworld", "yworld", "zworld"))
DATAMINE = Family("Datamine", ("xc", "yc", "zc"))

CENTROIDS: tuple[Family, ...] = (
    DATAMINE,
    WORLD,
    *_families("Vulcan", "centroid_x centroid_y centroid_z", "centroidx centroidy centroidz"),
    *_families("Vulcan", "xcentroid ycentroid zcentroid", "x_centroid y_centroid z_centroid"),
    *_families("Micromine", "east north rl", "east north z", "east north elev"),
    *_families("Leapfrog or Surpac", "x y z"),
    *_families("MinePlan", "east north elevation", "easting northing elev"),
    *_families("", "easting northing elevation", "easting northing rl", "easting northing z"),
    *_families("", "easting northing level", "easting northing height"),
    *_families("", "mid_x mid_y mid_z", "midx midy midz", "x_mid y_mid z_mid", "xmid ymid zmid"),
    *_families("", "xcentre ycentre zcentre", "xcenter ycenter zcenter", "xcen ycen zcen"),
    *_families("", "x_centre y_centre z_centre", "x_center y_center z_center"),
    *_families("", "centre_x centre_y centre_z", "center_x center_y center_z"),
    *_families("", "centrex centrey centrez", "centerx centery centerz"),
    *_families("", "x_cen y_cen z_cen", "x_c y_c z_c", "xm ym zm", "xcoord ycoord zcoord"),
    *_families("", "x_coord y_coord z_coord", "coord_x coord_y coord_z"),
    *_families("Portuguese", "leste norte cota"),
    *_families("Spanish", "este norte cota", "este norte elevacion"),
    *_families("French", "est nord cote", "est nord altitude"),
)

SIZES: tuple[Family, ...] = (
    *_families("Datamine", "xinc yinc zinc"),
    *_families("Vulcan", "dim_x dim_y dim_z", "xlength ylength zlength"),
    *_families("Vulcan", "x_length y_length z_length", "length_x length_y length_z"),
    *_families("Micromine", "_east _north _rl", "_east _north _z", "_east _north _elev"),
    *_families("Micromine", "_easting _northing _rl", "_x _y _z"),
    *_families("Leapfrog or Surpac", "dx dy dz", "d_x d_y d_z"),
    *_families("", "xsize ysize zsize", "x_size y_size z_size", "size_x size_y size_z"),
    *_families("", "sizex sizey sizez", "xdim ydim zdim", "x_dim y_dim z_dim", "dimx dimy dimz"),
    *_families("", "block_size_x block_size_y block_size_z", "x_inc y_inc z_inc"),
    *_families("", "xspan yspan zspan", "x_span y_span z_span", "lx ly lz"),
)


def plain_name(name: str) -> str:
    """Give a header name as it is compared: without case, quotes, blanks or a comment's hash."""
    return re.sub(r"[\s\"'`#\u00a0\ufeff]", "", name).casefold()


def find_column(names: Sequence[str], wanted: str, table: str) -> int:
    """Find the one column that the user calls `wanted`.

    A name that is spelled exactly so comes before one that differs in case, quotes or blanks.

    Raises
    ------
    TableError
        Where there is no such column, or more than one.
    """
    exact = [index for index, name in enumerate(names) if name == wanted]
    alike = [index for index, name in enumerate(names) if plain_name(name) == plain_name(wanted)]
    found = exact if len(exact) == 1 else alike
    if len(found) == 1:
        return found[0]
    if not found:
        message = f"{table} has no column {wanted!r}{closest(names, wanted)}; {listed(names)}"
    else:
        message = (
            f"{table} has {len(found)} columns called {wanted!r} ({_places(found)}); rename one."
        )
    raise TableError(message)


def matches(
    names: Sequence[str], families: Sequence[Family], given: Sequence[int | None]
) -> dict[Triplet, Family]:
    """Find every complete triplet in a header, in the order of `families`.

    `given` holds the columns that the user has named; such an axis is complete in every family,
    so that three of them are the only answer.
    """
    plain = [plain_name(name) for name in names]
    found: dict[Triplet, Family] = {}
    for family in families:
        columns = [
            (plain.index(name) if name in plain else None) if at is None else at
            for name, at in zip(family.names, given, strict=True)
        ]
        if None not in columns:
            found.setdefault(_triplet(columns), family)
    return found


def _triplet(columns: Sequence[int | None]) -> Triplet:
    """Give three columns that are known to be there their type."""
    x, y, z = (column for column in columns if column is not None)
    return x, y, z


def require_single(names: Sequence[str], columns: Triplet, table: str, options: str) -> None:
    """Raise TableError where a chosen column's name occurs twice, or one column is chosen twice."""
    plain = [plain_name(name) for name in names]
    for column in columns:
        twins = [index for index, name in enumerate(plain) if name == plain[column]]
        if len(twins) > 1:
            message = (
                f"{table} has {len(twins)} columns called {names[column]!r} ({_places(twins)}); "
                "rename or remove all but one."
            )
            raise TableError(message)
    if len(set(columns)) < 3:
        message = (
            f"{table}: {options} must name three different columns, not {_named(names, columns)}."
        )
        raise TableError(message)


def refuse_ambiguity(names: Sequence[str], found: dict[Triplet, Family], table: str) -> None:
    """Raise TableError that lists the candidates, where more than one triplet is complete."""
    if len(found) < 2:
        return
    candidates = "; ".join(_named(names, columns) for columns in found)
    message = (
        f"{table} has more than one set of centroid columns ({candidates}); "
        "choose with x=, y= and z=."
    )
    raise TableError(message)


def refuse_no_centroid(names: Sequence[str], table: str) -> NoReturn:
    """Raise TableError that says which centroid column is missing, and what is there."""
    plain = {plain_name(name) for name in names}
    partial = max(CENTROIDS, key=lambda family: len(plain.intersection(family.names)))
    lacking = [name.upper() for name in partial.names if name not in plain]
    if 0 < len(lacking) < 3:
        others = [name for name in names if plain_name(name) not in partial.names]
        guess = closest(others, lacking[0])
        what = f"{partial} is incomplete: there is no {' and no '.join(lacking)}{guess}"
    else:
        what = "there is no set of names such as X, Y, Z or XC, YC, ZC or EAST, NORTH, RL"
    message = (
        f"{table} has no complete centroid columns: {what}; {listed(names)} "
        "Name them with x=, y= and z=."
    )
    raise TableError(message)


def closest(names: Sequence[str], wanted: str) -> str:
    """Say which of `names` is most like `wanted`, or nothing where none is."""
    plain = {plain_name(name): name for name in names}
    alike = difflib.get_close_matches(plain_name(wanted), plain, n=1, cutoff=0.6)
    return f" (did you mean {plain[alike[0]]!r}?)" if alike else ""


def listed(names: Sequence[str], limit: int = 30) -> str:
    """Say what the columns are, cut short where there are very many."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"its columns are {', '.join(names[:limit])}{more}."


def _named(names: Sequence[str], columns: Sequence[int]) -> str:
    """Say the names of some columns."""
    return ", ".join(names[column] for column in columns)


def _places(columns: Sequence[int]) -> str:
    """Say where columns stand, counted from 1."""
    return "columns " + " and ".join(str(column + 1) for column in columns)
