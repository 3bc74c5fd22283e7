"""The columns of collar, survey and interval tables, found by the names that packages use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from geodomain.errors import TableError
from geodomain.io.header.families import closest, find_column, listed

Table = Literal["collar", "survey", "intervals"]
# The words by which a caller names columns, in `columns={"dip": "INCL"}`.
Roles = dict[str, int]

_HOLE = (
    "bhid holeid hole dhid anumber drillholeid drillhole boreholeid borehole holename holeno "
    "holenumber ddhid ddh wellid"
)
# For each table its roles; for each role names without case, blanks, "_", "-" and ".", the
# usual one first. A role in _OPTIONAL may be lacking.
_NAMES: dict[Table, dict[str, str]] = {
    "collar": {
        "hole": _HOLE,
        "x": "xcollar collarx x east easting eastm xm leste este est",
        "y": "ycollar collary y north northing northm ym norte nord",
        "z": "zcollar collarz z rl elev elevation level height rlm zm cota cote altitude",
        "end": "enddepth maxdepth totdep totaldepth holedepth length depth eoh td finaldepth",
        "azimuth": "brg bearing az azimuth azim azi a0",
        "dip": "dip inclination inclin dipangle",
    },
    "survey": {
        "hole": _HOLE,
        "at": "at depth surveydepth depthat from distance md",
        "azimuth": "brg bearing az azimuth azim azi a0",
        "dip": "dip inclination inclin dipangle",
    },
    "intervals": {
        "hole": _HOLE,
        "from": "from depthfrom fromdepth sampfrom fromm mfrom geolfrom",
        "to": "to depthto todepth sampto tom mto geolto",
    },
}
_OPTIONAL = {"end", "azimuth", "dip"}
# Of two sets of coordinates one may be local: only a collar's own names come before others.
_COORDINATES, _COLLAR = {"x", "y", "z"}, "collar"


def plain(name: str) -> str:
    """Return a name as it is compared: without case, blanks, quotes, "_", "-" and "."."""
    return re.sub(r"[\s\"'`#_.\-\u00a0\ufeff]", "", name).casefold()


def find_roles(
    names: Sequence[str], table: Table, given: Mapping[str, str], title: str
) -> dict[str, int]:
    """Find the columns of a table by what they hold.

    Parameters
    ----------
    names : sequence of str
        Of all its columns.
    table : {"collar", "survey", "intervals"}
        Which it is.
    given : mapping of str to str
        Columns that the caller names, by role; ``"survey.hole"`` is for that table alone. One
        that this table has not is found by its usual names.
    title : str
        What messages call the table.

    Returns
    -------
    dict of str to int
        Places by role; "end" of a collar, and its "azimuth" and "dip", only where there are any.

    Raises
    ------
    TableError
        For a column that is not there, or that several are alike of.

    Examples
    --------
    >>> find_roles(["DH-ID", "-FROM-", "-TO-", "CU"], "intervals", {}, "assay.csv")
    {'hole': 0, 'from': 1, 'to': 2}
    """
    found: Roles = {}
    for role, words in _NAMES[table].items():
        place = _given(names, table, role, given, title)
        place = _usual(names, words.split(), title, role) if place is None else place
        if place is not None:
            found[role] = place
        elif table == "survey" or role not in _OPTIONAL:
            _refuse(names, table, role, words.split(), title)
    if table == "collar" and ("azimuth" in found) != ("dip" in found):
        found.pop("azimuth", None)
        found.pop("dip", None)
    _refuse_twice(names, found, title)
    return found


def has_roles(names: Sequence[str], table: Table, given: Mapping[str, str]) -> bool:
    """Tell whether names can be those of a table: to find its header."""
    try:
        find_roles(names, table, given, "")
    except TableError:
        return False
    return True


def check_roles(given: Mapping[str, str]) -> None:
    """Refuse a role that there is not."""
    known = {role for roles in _NAMES.values() for role in roles}
    known |= {f"{table}.{role}" for table, roles in _NAMES.items() for role in roles}
    for role in given:
        if role not in known:
            message = f"columns has {role!r}, which is none of hole, x, y, z, end, at, azimuth, dip"
            message += ", from and to, or such as survey.hole"
            raise ValueError(message)


def _given(
    names: Sequence[str], table: Table, role: str, given: Mapping[str, str], title: str
) -> int | None:
    """Return the column that the caller names, or None."""
    if f"{table}.{role}" in given:
        return find_column(names, given[f"{table}.{role}"], title)
    if role in given and plain(given[role]) in map(plain, names):
        return find_column(names, given[role], title)
    return None


def _usual(names: Sequence[str], words: Sequence[str], title: str, role: str) -> int | None:
    """Return the first column of the usual names; refuse two that are alike."""
    plains = [plain(name) for name in names]
    alike = [[place for place, name in enumerate(plains) if name == word] for word in words]
    ranked = [places for places in alike if places]
    if not ranked:
        return None
    own = _COLLAR in plains[ranked[0][0]]
    rivals = (
        [place for places in ranked for place in places]
        if role in _COORDINATES and not own
        else ranked[0]
    )
    if len(rivals) > 1:
        twins = " and ".join(repr(names[place]) for place in rivals)
        message = f"{title} has {twins}: name the {role} with columns={{{role!r}: 'COLUMN'}}"
        raise TableError(message)
    return rivals[0]


def _refuse(
    names: Sequence[str], table: Table, role: str, words: Sequence[str], title: str
) -> None:
    """Say which column is missing, what it is usually called, and what there is."""
    message = (
        f"{title} has no column of the {role}, such as {', '.join(words[:3]).upper()}"
        f"{closest(names, words[0])}; {listed(names)} "
        f"Name it with columns={{'{table}.{role}': 'COLUMN'}}."
    )
    raise TableError(message)


def _refuse_twice(names: Sequence[str], found: Roles, title: str) -> None:
    """Refuse a column that is to be two things."""
    for place in found.values():
        roles = [role for role, at in found.items() if at == place]
        if len(roles) > 1:
            message = f"{title}: {names[place]!r} cannot be the {' and the '.join(roles)}"
            raise TableError(message)
