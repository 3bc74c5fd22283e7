"""Colours of domains: by name, so that a domain has the same one in every picture."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping

# Told apart by people who see colours differently; then they come again, paler and darker.
_COLOURS = (
    "#b5382c", "#3d6b73", "#e6a532", "#6a4c93", "#5b8c3e", "#c97b9b",
    "#2f5d9b", "#8c5a2b", "#49a6a6", "#9b9b2f",
)  # fmt: skip
GROUND, NOTHING = "#e4e0d6", "#e9edf1"


def colours_of(names: Iterable[str], chosen: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return each domain a colour that its name decides.

    Two names that would have the same colour are told apart, the one that sorts first keeps it.

    Parameters
    ----------
    names : iterable of str
        Of domains.
    chosen : mapping of str to str, optional
        Colours, #rrggbb, that are given.

    Returns
    -------
    dict of str to str
        In the order of the names.

    Examples
    --------
    >>> colours_of(["ORE", "DYKE"])["ORE"] == colours_of(["ORE"])["ORE"]
    True
    """
    listed, given = list(dict.fromkeys(names)), dict(chosen or {})
    taken = set(given.values())
    for name in sorted(set(listed) - given.keys()):
        given[name] = next(
            (colour for colour in _candidates(name) if colour not in taken), _candidates(name)[0]
        )
        taken.add(given[name])
    return {name: given[name] for name in listed}


def darker(colour: str) -> str:
    """Return a colour's darker sister."""
    return blended(colour, 0, 0.45)


def blended(colour: str, towards: int, share: float) -> str:
    """Mix a colour with some share of black, 0, or white, 255."""
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (towards - part) * share):02x}" for part in parts)


def _candidates(name: str) -> list[str]:
    """Return thirty colours, the one that a name asks for first."""
    count = len(_COLOURS)
    first = zlib.crc32(name.encode()) % count
    turned = [_COLOURS[(first + step) % count] for step in range(count)]
    tiers = ((0, 0.0), (255, 0.5), (0, 0.4))
    return [blended(one, towards, share) for towards, share in tiers for one in turned]
