"""Check labels: names that read as missing values, and labels that differ by case alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

# What pandas reads as a missing value besides nan, which no domain may be called, in any case.
_MISSING = {"na", "n/a", "#n/a", "#na", "<na>", "null", "none"}
_SHOWN = 5


def read_as_missing(names: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each new label that other programs read as a missing value."""
    for name in dict.fromkeys(names):
        if name.lower() in _MISSING:
            yield (
                f"the label {name!r} is one that pandas and Excel read as a missing value: choose "
                "another, or read the column as text"
            )


def alike_labels(labels: Iterable[str], column: str) -> Iterator[str]:
    """Yield a note for labels of a column that differ by case, or by blanks, alone."""
    groups: dict[str, list[str]] = {}
    for label in dict.fromkeys(labels):
        groups.setdefault(" ".join(label.casefold().split()), []).append(label)
    alike = [names for names in groups.values() if len(names) > 1]
    said = [" and ".join(repr(name) for name in sorted(names)) for names in alike[:_SHOWN]]
    if said:
        more = f" and {len(alike) - _SHOWN:,} more" if len(alike) > _SHOWN else ""
        yield (
            f"{column} has labels that differ by case or blanks alone, and count apart: "
            f"{'; '.join(said)}{more}"
        )
