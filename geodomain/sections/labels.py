"""Whether a column holds labels of domains, or something that was measured."""

from __future__ import annotations

from collections.abc import Collection

from geodomain.errors import TableError
from geodomain.io.header.dialect import number

# So many different numbers may be codes of domains; more are grades or densities.
_MOST_NUMBERS = 100


def require_labels(labels: Collection[str], column: str, model: str, where: str = "") -> None:
    """Refuse a column of measured numbers, each of which would be a domain.

    Parameters
    ----------
    labels : collection of str
        The different ones.
    column, model : str
        Where they stand.
    where : str
        What was looked at, if not all of it.

    Raises
    ------
    TableError
    """
    found = {label for label in labels if label}
    if len(found) > _MOST_NUMBERS and all(number(label) is not None for label in found):
        message = (
            f"{model}: column {column!r} holds {len(found):,} different numbers{where}, and is no "
            "column of labels: name one with column="
        )
        raise TableError(message)
