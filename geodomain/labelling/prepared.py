"""Domains, their index and the new columns, made ready once for all blocks of a labelling."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from geodomain.domains.order import Domains, LabelBy, Proportions
from geodomain.domains.sources import DomainsGiven, DomainSource, domains_to_label
from geodomain.labelling.cells import labels_of
from geodomain.labelling.columns import ColumnPlan
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.shares.settings import refuse_unused, share_settings
from geodomain.query.locator import Rule


class LabelKeywords(TypedDict, total=False):
    """The keywords of `label_file` that say what blocks are labelled with, all of them optional."""

    column: str
    replace: bool
    codes: bool
    flags: bool
    uncertain: bool
    background: str | None
    unassigned: str | None
    leaky: str | None
    rule: Rule
    allow_open: bool
    weld: float | None
    count_on_wall: bool
    backend: str
    threads: int | None


class ShareKeywords(TypedDict, total=False):
    """The keywords of `label_file` about shares of blocks, all of them optional."""

    proportions: Proportions | None
    percent: bool | None
    by: LabelBy | None
    lines: int | None


class Prepared(NamedTuple):
    """What blocks are labelled with: the domains as they were read, their index, new columns."""

    source: DomainSource
    labeller: Labeller
    plan: ColumnPlan

    @property
    def columns(self) -> list[str]:
        """Return the names of the new columns."""
        return [each.name for each in self.plan.columns(self.labeller.targets)]


def refuse_slips(
    given: LabelKeywords, shares: ShareKeywords | None = None, *, samples: bool = False
) -> None:
    """Raise ValueError for options that contradict each other."""
    asked = shares or {}
    proportions = bool(asked.get("proportions"))
    if not given.get("column", "domain"):
        message = "column= needs a name"
        raise ValueError(message)
    if samples and (proportions or asked.get("by") == "majority"):
        message = "proportions= and by= are for blocks with sizes, which samples do not have"
        raise ValueError(message)
    if given.get("replace") and (given.get("flags") or given.get("uncertain") or proportions):
        message = "replace=True rewrites one column; flags=, uncertain= and proportions= add others"
        raise ValueError(message)
    if given.get("leaky") is not None and not given.get("allow_open"):
        message = "leaky= labels blocks at the holes of open meshes: it needs allow_open=True"
        raise ValueError(message)


def prepare(
    domains: DomainsGiven,
    given: LabelKeywords,
    shares: ShareKeywords | None = None,
    *,
    samples: bool = False,
) -> Prepared:
    """Read domains and build their index; samples have no shares, whatever the domains say.

    Raises
    ------
    DomainError, MeshError, OSError
        As `domains_to_label`, `Labeller`, `labels_of` and `share_settings`.
    """
    source = domains_to_label(domains, weld=given.get("weld"))
    codes = given.get("codes", False)
    labeller = Labeller(
        source.domains,
        rule=given.get("rule", "parity"),
        backend=given.get("backend", "auto"),
        threads=given.get("threads"),
        allow_open=given.get("allow_open", False),
        count_on_wall=given.get("count_on_wall", False),
    )
    labels = labels_of(
        source.domains,
        codes=codes,
        background=given.get("background"),
        unassigned=given.get("unassigned"),
        leaky=given.get("leaky"),
    )
    measured = Domains() if samples else source.domains
    settings = share_settings(measured, **(shares or {}))
    refuse_unused(measured, settings)
    plan = ColumnPlan(
        given.get("column", "domain"),
        labels,
        given.get("flags", False),
        given.get("replace", False),
        codes,
        given.get("uncertain", False),
        settings,
    )
    return Prepared(source, labeller, plan)
