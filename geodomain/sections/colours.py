"""Colours of domains: by name, so that a domain has the same one in every picture."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Mapping

# Told apart by people who see colours differently; then they come again, paler and darker.
_COLOURS = (
    "#b5382c", "#3d6b73", "#e6a532", "#6a4c93", "#5b8c3e", "#c97b9b",
    "#2f5d9b", "#8c5a2b", "#49a6a6", "#9b9b2f",
)  # fmt: skip
# What is no domain: background, and blocks without a label. Pale, in case a domain was given one.
_GROUNDS, _NOTHINGS = ("#e4e0d6", "#f1ecdf", "#d5d1c7"), ("#e9edf1", "#f5f7f9", "#dbe1e8")
# A block without a value, beside those that a ramp colours.
NO_VALUE = "#e9edf1"
# What a background is called where nothing says which label it is.
_USUAL_GROUND = {"waste", "background"}


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


def with_ground(
    names: Iterable[str], ground: Iterable[str], chosen: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return colours of domains, and a pale one that none of them has for all that is ground.

    Parameters
    ----------
    names : iterable of str
        Of domains; those that are ground are passed over.
    ground : iterable of str
        Labels of what is no domain; an empty one has a colour of its own.
    chosen : mapping of str to str, optional
        Colours, #rrggbb, that are given.
    """
    rest = set(ground)
    colours = colours_of((name for name in names if name and name not in rest), chosen)
    taken = set(colours.values())
    pale = next((one for one in _GROUNDS if one not in taken), _GROUNDS[0])
    nothing = next((one for one in _NOTHINGS if one not in taken), _NOTHINGS[0])
    return {name: pale if name else nothing for name in sorted(rest)} | colours


def usual_ground(labels: Iterable[str], domains: Collection[str]) -> list[str]:
    """Return the labels that are called as a background is, and as no domain."""
    return [one for one in labels if one.casefold() in _USUAL_GROUND and one not in domains]


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
