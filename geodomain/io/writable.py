"""Text that every format can hold: CSV, XML and Parquet alike; no names are known here."""

from __future__ import annotations

import re

# What XML 1.0 has no way to say; NUL ends texts of VTK, and UTF-8 has no halves of surrogates.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def unwritable(text: str) -> str:
    r"""Return the first character of a text that some format cannot hold, or nothing.

    Examples
    --------
    >>> unwritable("OX\x01IDE"), unwritable("Zóna 1\n")
    ('\x01', '')
    """
    found = _UNWRITABLE.search(text)
    return found[0] if found else ""
