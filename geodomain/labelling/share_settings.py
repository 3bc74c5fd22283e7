"""What is asked of the shares of domains within blocks; nothing is measured here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from geodomain.domains.domain import require_choice
from geodomain.domains.order import Domains, LabelBy, Proportions, require_lines
from geodomain.errors import DomainError

LINES = 16


@dataclass(frozen=True)
class ShareSettings:
    """How blocks that several domains share are labelled and measured.

    Attributes
    ----------
    proportions : {"itself", "priority"}, optional
        Which shares are written, a column for each domain: of each by itself, or by their order.
    percent : bool
        Write them from 0 to 100, not from 0 to 1.
    by : {"centroid", "majority"}
        What decides the label: the centroid, or the largest share.
    lines : int
        The root of the number of vertical lines in a block that more than three wireframes enter,
        or one whose triangles cross there.
    """

    proportions: Proportions | None = None
    percent: bool = False
    by: LabelBy = "centroid"
    lines: int = LINES

    @property
    def by_order(self) -> bool:
        """Whether shares by the domains' order are needed."""
        return self.proportions == "priority" or self.by == "majority"

    @property
    def measures(self) -> bool:
        """Whether any shares are needed."""
        return self.proportions is not None or self.by_order

    def column(self, name: str) -> str:
        """Return the name of the column with the shares of a domain."""
        return f"{'pct' if self.percent else 'prop'}_{name}".lower()


def share_settings(
    domains: Domains,
    *,
    proportions: Proportions | None = None,
    percent: bool | None = None,
    by: LabelBy | None = None,
    lines: int | None = None,
) -> ShareSettings:
    """Return what is given, and what the domains say where nothing is.

    Raises
    ------
    ValueError
        For values that do not exist.
    DomainError
        For percent without proportions, and for lines where nothing is measured.
    """
    try:
        require_choice("shares", "proportions", proportions, (None, *get_args(Proportions)))
        require_choice("shares", "by", by, (None, *get_args(LabelBy)))
        require_lines(lines)
    except DomainError as error:
        raise ValueError(str(error).removeprefix("shares: ")) from None
    found = ShareSettings(
        domains.proportions if proportions is None else proportions,
        domains.percent if percent is None else percent,
        by or domains.by,
        lines or domains.lines or LINES,
    )
    if percent and found.proportions is None:
        message = "percent= writes the columns of proportions= from 0 to 100: give both"
        raise DomainError(message)
    if lines is not None and not found.measures:
        message = "lines= cuts blocks for proportions= or by='majority': give one of them too"
        raise DomainError(message)
    return found


def refuse_unused(domains: Domains, settings: ShareSettings) -> None:
    """Refuse domains that say how shares are written or measured where none are.

    Raises
    ------
    DomainError
        For percent without proportions, and for lines where nothing is measured.
    """
    if settings.percent and settings.proportions is None:
        message = (
            "percent of the domains writes the columns of proportions from 0 to 100: give "
            "proportions too, beside it or as proportions="
        )
        raise DomainError(message)
    # By the centroid after all is a choice, not a slip.
    if domains.lines is not None and domains.by == "centroid" and not settings.measures:
        message = (
            "lines of the domains cuts blocks for proportions or for majority: give one of them "
            "too, beside it or as proportions= or by='majority'"
        )
        raise DomainError(message)
