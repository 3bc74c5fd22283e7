"""What a damaged OMF file ends in: one error, of the kind that the reader asks for."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from geodomain.errors import GeodomainError

_WRONG = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    OSError,
    EOFError,
    RuntimeError,
    zlib.error,
    struct.error,
    zipfile.BadZipFile,
)


@contextmanager
def refusing(file: str, error: type[GeodomainError]) -> Iterator[None]:
    """Raise the error for an index that is not what it must be, in whatever way."""
    try:
        yield
    except GeodomainError:
        raise
    except _WRONG as wrong:
        reason = " ".join(str(wrong).split())[:100] or type(wrong).__name__
        raise damaged(file, f"its index or an array cannot be read ({reason})", error) from wrong


def damaged(file: str, found: str, error: type[GeodomainError]) -> GeodomainError:
    """Return the error for a file that is not what its format asks for."""
    return error(f"{file} is damaged: {found}; copy or export the file again")
