"""How a label of blocks is shown: its name, its colour, whether it is a domain."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ShownLabel:
    """What a code of blocks stands for.

    Attributes
    ----------
    text : str
        As the file has it.
    name : str
        As it is shown: the domain's, where the file has its code.
    colour : str
        As #rrggbb.
    order : int
        Its place in the summary.
    ground : bool
        Whether it is no domain.
    hidden : bool
        Whether the view leaves its blocks out at first.
    """

    text: str
    name: str
    colour: str
    order: int
    ground: bool
    hidden: bool
