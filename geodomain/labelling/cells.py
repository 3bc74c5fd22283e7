"""The labels of blocks outside every domain, and what no label may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from geodomain.checks.labels import read_as_missing
from geodomain.domains.domain import CODE, is_code, refuse_nan
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
    """Return the labels of a file; without a keyword, those of the domains.

    Raises
    ------
    DomainError
        For a label that is the name of a domain: nobody could tell them apart. For the label nan.

    Warns
    -----
    GeodomainWarning
        For a label that other programs read as a missing value.
    """
    if codes:
        numbers = _number(domains.background_code), _number(domains.unassigned_code)
        rest, lost = (
            own if label is None else label
            for label, own in zip((background, unassigned), numbers, strict=True)
        )
    else:
        names = [target.name for target in domains.targets]
        rest, lost = rest_labels(domains, names, background, unassigned, leaky)
    labels = Labels(rest, lost, lost if leaky is None else leaky)
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


def rest_labels(
    domains: Domains,
    names: Sequence[str],
    background: str | None = None,
    unassigned: str | None = None,
    leaky: str | None = None,
) -> tuple[str, str]:
    """Return the labels of blocks in no domain and of unassigned ones: by keyword, or the domains'.

    Parameters
    ----------
    domains : Domains
        What has a background and a label of unassigned blocks.
    names : sequence of str
        Of the domains that blocks are labelled with.
    background, unassigned, leaky : str, optional
        The labels that the caller chose.

    Raises
    ------
    DomainError
        For the label nan.

    Warns
    -----
    GeodomainWarning
        For a label, of the domains too, that other programs read as a missing value.
    """
    rest = domains.background if background is None else background
    lost = domains.unassigned if unassigned is None else unassigned
    chosen = {"background": rest, "unassigned": lost, "leaky": leaky or ""}
    for what, label in chosen.items():
        refuse_nan(label, what)
    for sentence in read_as_missing([*names, *chosen.values()]):
        warn(sentence)
    return rest, lost


def _is_number(label: str) -> bool:
    """Return whether a label is written as a code."""
    try:
        return is_code(int(label)) and str(int(label)) == label
    except ValueError:
        return False


def _number(code: int | None) -> str:
    """Return a code as the text of a cell, empty for None."""
    return "" if code is None else str(code)
