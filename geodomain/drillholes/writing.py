"""Rows as the bytes of a CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence


def csv_bytes(headings: Sequence[str], rows: Iterable[tuple[object, ...]]) -> bytes:
    """Return rows as CSV in UTF-8; numbers have the fewest digits that say them."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return text.getvalue().encode()
