"""Numbers and lines of text mesh files, with the place of what cannot be read; no format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError

_ROWS = 1 << 16  # written at a time

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def unify_lines(data: bytes) -> bytes:
    """Return the text with plain line ends and without a byte-order mark."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


def floats(tokens: Sequence[bytes], name: str, place: Callable[[int], str]) -> NDArray[np.float64]:
    """Return the nearest float64 of each token; `place` says where token number i stands."""
    try:
        _require_no_underscores(tokens)
        return np.array(tokens, dtype=np.float64)
    except ValueError:
        _refuse(tokens, float, "a number", name, place)
        raise


def integers(tokens: Sequence[bytes], name: str, place: Callable[[int], str]) -> NDArray[np.int64]:
    """Return the integer of each token; `place` says where token number i stands."""
    try:
        _require_no_underscores(tokens)
        return np.array(tokens, dtype=np.int64)
    except (ValueError, OverflowError):
        _refuse(tokens, np.int64, "a whole number", name, place)
        raise


def _require_no_underscores(tokens: Sequence[bytes]) -> None:
    """Raise for what Python takes for a number and no other program does: 1_000."""
    if b"_" in b"".join(tokens):
        raise ValueError


def _refuse(
    tokens: Sequence[bytes],
    parse: Callable[[str], object],
    wanted: str,
    name: str,
    place: Callable[[int], str],
) -> None:
    """Raise for the first token that does not parse."""
    for i, token in enumerate(tokens):
        text = token.decode("utf-8", "replace")
        try:
            _require_no_underscores([token])
            parse(text)
        except (ValueError, OverflowError):
            message = (
                f"{name}, {place(i)}: {text[:40]!r} is not {wanted}; correct it or export the"
                " wireframe again"
            )
            raise MeshError(message) from None


def truncated(name: str, promised: str, found: str) -> MeshError:
    """Return the error for a file that is shorter than its header says."""
    message = (
        f"{name} is cut short: its header promises {promised}, but {found};"
        " copy or export the file again"
    )
    return MeshError(message)


def number_lines(rows: NDArray[Any], key: str) -> Iterator[bytes]:
    """Yield blocks of lines: the key, then the shortest numbers that read back the same."""
    for start in range(0, len(rows), _ROWS):
        numbers = map(repr, rows[start : start + _ROWS].ravel().tolist())
        lines = map(" ".join, zip(*[numbers] * rows.shape[1], strict=True))
        yield (key + f"\n{key}".join(lines) + "\n").encode("ascii")
