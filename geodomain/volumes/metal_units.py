"""The unit of metal, which follows from the unit of its grade; tonnes are tonnes."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PER_TONNE = re.compile(r"([A-Za-z]+)/t")


@dataclass(frozen=True)
class MetalUnit:
    """What grade times tonnes is in.

    Attributes
    ----------
    name : str
    parts : int
        How many of grade times tonnes are one of it.
    """

    name: str
    parts: int = 1


_KNOWN = {
    "gpt": MetalUnit("g"),
    "%": MetalUnit("t", 100),
    "ppm": MetalUnit("g"),
    "ppb": MetalUnit("mg"),
}


def metal_unit(grade: str, unit: str) -> MetalUnit:
    """Return the unit of the metal of a grade, by the grade's own.

    Raises
    ------
    ValueError
        For a unit that is none of a grade.

    Examples
    --------
    >>> metal_unit("AU", "g/t").name, metal_unit("CU", "%").name
    ('g', 't')
    """
    known, mass = _KNOWN.get(unit), _PER_TONNE.fullmatch(unit)
    if known is not None:
        return known
    if mass is None:
        message = (
            f"the unit of {grade} is {unit!r}; it can be %, ppm, ppb, or a mass per tonne such as "
            "g/t"
        )
        raise ValueError(message)
    return MetalUnit(mass[1])
