"""The labels of blocks outside every domain."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from geodomain.checks.labels import read_as_missing
from geodomain.domains.domain import CODE, is_code
from geodomain.domains.order import Domains
from geodomain.errors import DomainError, warn


@dataclass(frozen=True)
class Labels:
    """The labels of blocks that are certainly in no solid."""

    background: str = ""
    unassigned: str = ""
    leaky: str = ""


def labels_of(
    domains: Domains,
    *,
    codes: bool = False,
    background: str | None = None,
    unassigned: str | None = None,
    leaky: str | None = None,
) -> Labels:
    """Return the given labels; a label that is not given is that of the domains.

    Raises
    ------
    DomainError
        For a label that is the name of a domain: nobody could tell them apart.

    Warns
    -----
    GeodomainWarning
        For the name of a domain that other programs read as a missing value.
    """
    rest = _number(domains.background_code) if codes else domains.background
    lost = _number(domains.unassigned_code) if codes else domains.unassigned
    rest, lost = (
        own if given is None else given for given, own in ((background, rest), (unassigned, lost))
    )
    labels = Labels(rest, lost, lost if leaky is None else leaky)
    for sentence in () if codes else read_as_missing([t.name for t in domains.targets]):
        warn(sentence)
    taken = {_number(t.code) if codes else t.name: t.name for t in domains.targets}
    for what, label in asdict(labels).items():
        if codes and label and not _is_number(label):
            message = f"{label!r} labels {what} blocks beside codes; give {CODE}, or nothing"
            raise DomainError(message)
        if label and label in taken:
            message = (
                f"{label!r} labels {what} blocks and stands for {taken[label]} too; change one"
            )
            raise DomainError(message)
    return labels


def _is_number(label: str) -> bool:
    """Return whether a label is written as a code."""
    try:
        return is_code(int(label)) and str(int(label)) == label
    except ValueError:
        return False


def _number(code: int | None) -> str:
    """Return a code as the text of a cell, empty for None."""
    return "" if code is None else str(code)
