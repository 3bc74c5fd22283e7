"""What a list of domains may say of a labelling, as the default of the same keyword and option."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from geodomain.settings import FLAG, one_of, setting, whole

Proportions = Literal["itself", "priority"]
LabelBy = Literal["centroid", "majority"]


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelDefaults:
    """The settings that `domains.toml`, a function and a command have in common.

    A field here is a key of `domains.toml`, an argument of `Domains`, a keyword of `label_file` and
    an option of `geodomain label`. None is left to the domains, and then to what is usual.
    """

    proportions: Proportions | None = setting(
        None,
        one_of(get_args(Proportions)),
        "Add a column prop_<name> for each domain: the share of each block in it, 0 to 1, by "
        "itself, or by the order and rules of the domains (priority). Blocks need sizes.",
        hashed=True,
        bare="itself",
        note="Empty where it is not known. Shares are those of volumes, as of "
        "`geodomain.proportions`; blocks that more than three wireframes enter, or one that "
        "crosses itself, are cut along vertical lines. By default as `domains` say.",
    )
    percent: bool | None = setting(
        None,
        FLAG,
        "With proportions=: columns pct_<name>, 0 to 100.",
        hashed=True,
        usual=False,
        note="By default as `domains` say.",
    )
    by: LabelBy | None = setting(
        None,
        one_of(get_args(LabelBy)),
        "What labels a block: its centroid, or the largest share by the order and rules of the "
        "domains; of equal shares the first domain wins.  [default: centroid]",
        hashed=True,
        usual="centroid",
        note="Shares within 1e-9 of the largest are equal, and any domain wins over none. By "
        "default as `domains` say.",
    )
    lines: int | None = setting(
        None,
        whole(2, 256),
        "Cut blocks that more than three wireframes enter along N x N vertical lines.  [default: "
        "16]",
        hashed=True,
        metavar="N",
        note="By default as `domains` say.",
    )
