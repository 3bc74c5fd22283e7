"""Settings that a list of domains may contain, as defaults for functions and commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from geodomain.settings import FLAG, one_of, setting, whole

Proportions = Literal["itself", "priority"]
LabelBy = Literal["centroid", "majority"]


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelDefaults:
    """Settings shared by `domains.toml`, functions and commands.

    Each field is a key of `domains.toml`, an argument of `Domains`, a keyword of `label_file` and
    an option of `geodomain label`. If a field is None, the setting of the domains is used, or the
    default if the domains have no such setting.
    """

    proportions: Proportions | None = setting(
        None,
        one_of(get_args(Proportions)),
        "For each domain, add a column prop_<name>: the fraction of each block inside the domain, "
        "0 to 1. itself: each domain is measured alone, so the fractions of a block may add up to "
        "more than 1; priority: where domains overlap, that part of a block counts only for the "
        "domain of higher priority. Blocks need sizes.",
        hashed=True,
        bare="itself",
        note="Empty if unknown. Fractions are of volumes, as in `geodomain.proportions`. A block "
        "is sampled along vertical lines if more than three wireframes enter it, or if a "
        "wireframe crosses itself in it. The default is the setting of `domains`.",
    )
    percent: bool | None = setting(
        None,
        FLAG,
        "With proportions=: write percentages, 0 to 100, in columns pct_<name>.",
        hashed=True,
        usual=False,
        note="The default is the setting of `domains`.",
    )
    by: LabelBy | None = setting(
        None,
        one_of(get_args(LabelBy)),
        "How to label a block: by the domain of its centroid, or by the domain that contains most "
        "of the block (majority). If two domains contain equal parts, the domain of higher "
        "priority wins.  [default: centroid]",
        hashed=True,
        usual="centroid",
        note="Fractions that differ from the largest by at most 1e-9 are treated as equal, and a "
        "domain wins over the background. The default is the setting of `domains`.",
    )
    lines: int | None = setting(
        None,
        whole(2, 256),
        "If more than three wireframes enter a block, compute its fractions along N x N vertical "
        "lines.  [default: 16]",
        hashed=True,
        metavar="N",
        note="The default is the setting of `domains`.",
    )
