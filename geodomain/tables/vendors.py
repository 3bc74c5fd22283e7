"""Column names of centroids and block sizes, and rows that vendors write below the names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Literal, NamedTuple, NoReturn

from geodomain.errors import CentroidError, TableError
from geodomain.tables.dialect import Row, cell_text, number

Triplet = tuple[int, int, int]


class Family(NamedTuple):
    """One vendor's names for the three coordinates, or for the three sizes, of a block."""

    vendor: str
    names: tuple[str, str, str]

    def __str__(self) -> str:
        """Return the names for an error message."""
        return ", ".join(self.names).upper()


def _families(vendor: str, *triplets: str) -> tuple[Family, ...]:
    """Return a vendor's family for each triplet, a text of three names separated by blanks."""
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
    """Return a header name for comparison: without case, quotes, blanks or a comment's hash."""
    return re.sub(r"[\s\"'`#\u00a0\ufeff]", "", name).casefold()


def find_column(names: Sequence[str], wanted: str, table: str) -> int:
    """Return the index of the column called `wanted`.

    An exact match takes precedence over names that differ in case, quotes or blanks.

    Raises
    ------
    TableError
        If no column, or more than one, has the name.
    """
    exact = [index for index, name in enumerate(names) if name == wanted]
    alike = [index for index, name in enumerate(names) if plain_name(name) == plain_name(wanted)]
    places = exact if len(exact) == 1 else alike
    if len(places) == 1:
        return places[0]
    if not places:
        message = f"{table} has no column {wanted!r}{closest(names, wanted)}; {listed(names)}"
    else:
        message = (
            f"{table} has {len(places)} columns called {wanted!r} ({_places(places)}); rename all "
            "but one."
        )
    raise TableError(message)


def matches(
    names: Sequence[str], families: Sequence[Family], chosen: Sequence[int | None]
) -> dict[Triplet, Family]:
    """Find each family whose three names are all in a header, in the order of `families`.

    `chosen` holds the column that the user chose for each axis, or None. A chosen column counts
    as a match in every family. If the user chose all three columns, the result is therefore one
    set.
    """
    plain = [plain_name(name) for name in names]
    sets: dict[Triplet, Family] = {}
    for family in families:
        columns = [
            (plain.index(name) if name in plain else None) if at is None else at
            for name, at in zip(family.names, chosen, strict=True)
        ]
        if None not in columns:
            sets.setdefault(_triplet(columns), family)
    return sets


def _triplet(columns: Sequence[int | None]) -> Triplet:
    """Return three columns, none of which is None, as a Triplet."""
    x, y, z = (column for column in columns if column is not None)
    return x, y, z


def require_single(names: Sequence[str], columns: Triplet, table: str, options: str) -> None:
    """Raise TableError if a chosen name occurs twice, or one column is chosen twice."""
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


def refuse_ambiguity(names: Sequence[str], sets: dict[Triplet, Family], table: str) -> None:
    """Raise TableError, with the candidates, if there is more than one set of centroid columns."""
    if len(sets) < 2:
        return
    candidates = "; ".join(_named(names, columns) for columns in sets)
    message = (
        f"{table} has more than one set of centroid columns ({candidates}); "
        "choose one set with x=, y= and z=."
    )
    raise TableError(message)


def refuse_no_centroid(names: Sequence[str], table: str) -> NoReturn:
    """Raise TableError that names the missing centroid columns and the existing columns."""
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
        f"{table} has no complete set of centroid columns: {what}; {listed(names)} "
        "Name the three columns with x=, y= and z=."
    )
    raise CentroidError(message)


def closest(names: Sequence[str], wanted: str) -> str:
    """Return a hint with the name most similar to `wanted`, or "" if none is similar."""
    plain = {plain_name(name): name for name in names}
    alike = difflib.get_close_matches(plain_name(wanted), plain, n=1, cutoff=0.6)
    return f" (did you mean {plain[alike[0]]!r}?)" if alike else ""


def listed(names: Sequence[str], limit: int = 30) -> str:
    """Return a sentence that lists the names of the columns, at most `limit` of them."""
    if not names:
        return "it has no columns at all."
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"its columns are {', '.join(names[:limit])}{more}."


def _named(names: Sequence[str], columns: Sequence[int]) -> str:
    """Return the names of some columns for a message."""
    return ", ".join(names[column] for column in columns)


def _places(columns: Sequence[int]) -> str:
    """Return the numbers of columns, counted from 1, for a message."""
    return "columns " + " and ".join(str(column + 1) for column in columns)


# Rows of vendors between the names and the data.

# "names" is the header itself; "other" describes the whole model and not its columns.
Kind = Literal["names", "description", "type", "default", "other"]

_VULCAN_TITLES: tuple[tuple[str, Kind], ...] = (
    ("variable desc", "description"),
    ("variable type", "type"),
    ("variable def", "default"),
)
_VULCAN_TYPES = {"name", "byte", "short", "integer", "int", "long", "float", "double", "bit"}
_MICROMINE_TYPE = re.compile(
    r"([cnrfsldb]|char(acter)?|numeric|real|float|short|long|double|int(eger)?|text|string|date"
    r"|time|datetime|boolean|bool)\s*([:( ]\s*\d+.*)?",
    re.IGNORECASE,
)


class HeadRow(NamedTuple):
    """One of the rows of the header, and its kind, such as the names or the types of columns."""

    kind: Kind
    row: Row

    @property
    def fields(self) -> int:
        """The number of cells."""
        return len(self.row.cells)


def vendor_rows(rows: Iterable[Row], field_count: int, encoding: str) -> list[HeadRow]:
    """Return the rows that a vendor's program writes below the names of `field_count` columns.

    Vulcan writes three rows: descriptions, types and defaults. Micromine writes a row of types. For
    a block model, an origin row of seven cells follows. For a rotated model, a rotation row of six
    cells comes after that.
    """
    first = list(islice(rows, 3))
    texts = [[cell_text(cell, encoding) for cell in row.cells] for row in first]
    titled = [(row, _vulcan_kind(text)) for row, text in zip(first, texts, strict=True)]
    if titled and titled[0][1]:
        return [HeadRow(kind, row) for row, kind in titled if kind]
    if len(texts) == 3 and _is_untitled_vulcan(texts):
        kinds: tuple[Kind, ...] = ("description", "type", "default")
        return [HeadRow(kind, row) for row, kind in zip(first, kinds, strict=True)]
    if texts and _is_micromine_types(texts[0]):
        return [HeadRow("type", first[0]), *_micromine_model(first[1:], texts, field_count)]
    return []


def _vulcan_kind(texts: Sequence[str]) -> Kind | None:
    """Return the kind of a row with a title such as 'Variable descriptions:', or None."""
    title = texts[0].casefold()
    return next((kind for start, kind in _VULCAN_TITLES if title.startswith(start)), None)


def _is_untitled_vulcan(texts: Sequence[Sequence[str]]) -> bool:
    """Return whether three rows are Vulcan's, with the titles removed by an editor.

    The row of types must hold only Vulcan's types. The first three cells of each row, which belong
    to the centroid, must not be numbers. There is an exception: if the three columns have types and
    their defaults are equal, these defaults may be numbers.
    """
    words = [cell.casefold() for cell in texts[1] if cell]
    defaults = texts[2][:3]
    alike = all(texts[1][:3]) and len(set(defaults)) == 1
    checked = [*texts[0][:3], *texts[1][:3], *(() if alike else defaults)]
    no_numbers = all(number(cell) is None for cell in checked)
    return bool(words) and no_numbers and set(words) <= _VULCAN_TYPES


def _is_micromine_types(texts: Sequence[str]) -> bool:
    """Return whether a row holds only Micromine's field types."""
    return len(texts) > 2 and all(_MICROMINE_TYPE.fullmatch(cell) for cell in texts)


def _micromine_model(
    rows: Sequence[Row], texts: Sequence[Sequence[str]], field_count: int
) -> list[HeadRow]:
    """Recognise Micromine's origin row, and the rotation row that may follow it."""
    types = texts[0]
    if len(texts) < 2 or not _is_origin(texts[1], types, field_count):
        return []
    head_rows = [HeadRow("other", rows[0])]
    if len(texts) > 2 and _is_rotation(texts[2], field_count):
        head_rows.append(HeadRow("other", rows[1]))
    return head_rows


def _is_origin(cells: Sequence[str], types: Sequence[str], field_count: int) -> bool:
    """Return whether a row is Micromine's origin row: origin, parent sizes and position."""
    cells = _without_padding(cells)
    if len(cells) != 7 or any(number(cell) is None for cell in cells[:6]):
        return False
    # With seven columns a block also has seven cells: only a word in a column of numbers decides.
    return field_count != 7 or (number(cells[6]) is None and types[6].casefold()[0] != "c")


def _is_rotation(cells: Sequence[str], field_count: int) -> bool:
    """Return whether a row is Micromine's rotation row: three angles and a pivot."""
    cells = _without_padding(cells)
    numbers = [number(cell) for cell in cells]
    return len(cells) == 6 and field_count != 6 and None not in numbers


def _without_padding(cells: Sequence[str]) -> Sequence[str]:
    """Return the cells of a row without the empty cells that a spreadsheet adds at its end."""
    filled = [index for index, cell in enumerate(cells) if cell]
    return cells[: filled[-1] + 1] if filled else ()


class MicromineModel(NamedTuple):
    """Micromine's description of a block model, below the row of column types.

    Attributes
    ----------
    origin, parents : tuple of float
        The model's lowest corner and the size of its parent blocks.
    position : str
        The point of a block whose coordinates the rows give, such as "Bottom left".
    angles, pivot : tuple of float
        Degrees about Z, X and Y, and the fixed point of the rotation; empty without a rotation row.
    """

    origin: tuple[float, ...]
    parents: tuple[float, ...]
    position: str
    angles: tuple[float, ...] = ()
    pivot: tuple[float, ...] = ()


def micromine_model(rows: Sequence[HeadRow], encoding: str) -> MicromineModel | None:
    """Read Micromine's origin row and rotation row; return None if there is no origin row."""
    others = [head for head in rows if head.kind == "other"]
    if not others:
        return None
    texts = [[cell_text(cell, encoding) for cell in head.row.cells] for head in others]
    values = [number(cell) or 0.0 for cell in texts[0][:6]]
    turned = [number(cell) or 0.0 for cell in texts[1][:6]] if len(texts) > 1 else []
    return MicromineModel(
        origin=tuple(values[::2]),
        parents=tuple(values[1::2]),
        position=texts[0][6],
        angles=tuple(turned[:3]),
        pivot=tuple(turned[3:]),
    )


def type_word(cells: Sequence[str], *, numeric: bool) -> str:
    """Return the word for the type of a new column (number or text), as in the row of types."""
    words = {cell.casefold() for cell in cells if cell}
    if words & {"name", "double", "byte"} or not all(map(_MICROMINE_TYPE.fullmatch, words)):
        return "integer" if numeric else "name"
    if all(len(re.sub(r"[\W\d]", "", word)) == 1 for word in words):
        return "N" if numeric else "C"
    return "NUMERIC" if numeric else "CHARACTER"
