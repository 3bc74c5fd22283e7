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


def logical_lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    r"""Yield each line with its number, from 1; one that ends in \ goes on in the next one.

    Comments do not go on.
    """
    lines = enumerate(text.split(b"\n"), 1)
    if b"\\" not in text:
        yield from lines
        return
    for number, line in lines:
        parts = []
        while (end := line.rstrip()).endswith(b"\\") and not line.lstrip().startswith(b"#"):
            parts.append(end[:-1])
            line = next(lines, (0, b""))[1]
        yield number, b" ".join([*parts, line])


def decoded(text: bytes) -> str:
    """Return a name as UTF-8, or as the Windows text that it is otherwise."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("cp1252", "replace")


def floats(tokens: Sequence[bytes], name: str, place: Callable[[int], str]) -> NDArray[np.float64]:
    """Return the nearest float64 of each token; `place` says where token number i stands."""
    try:
        _require_plain(tokens)
        return np.array(tokens, dtype=np.float64)
    except ValueError:
        _refuse(tokens, float, name, place, whole=False)
        raise


def integers(tokens: Sequence[bytes], name: str, place: Callable[[int], str]) -> NDArray[np.int64]:
    """Return the integer of each token; `place` says where token number i stands."""
    try:
        _require_plain(tokens)
        return np.array(tokens, dtype=np.int64)
    except (ValueError, OverflowError):
        _refuse(tokens, np.int64, name, place, whole=True)
        raise


def _require_plain(tokens: Sequence[bytes]) -> None:
    """Raise for what Python takes for a number and no other program does: 1_000, Arabic digits."""
    text = b"".join(tokens)
    if b"_" in text or not text.isascii():
        raise ValueError


def _refuse(
    tokens: Sequence[bytes],
    parse: Callable[[str], object],
    name: str,
    place: Callable[[int], str],
    *,
    whole: bool,
) -> None:
    """Raise for the first token that does not parse."""
    for i, token in enumerate(tokens):
        text = token.decode("utf-8", "replace")
        try:
            _require_plain([token])
            parse(text)
        except (ValueError, OverflowError):
            where = f"{name}, {place(i)}"
            raise not_a_number(where, text[:40], whole=whole) from None


def not_a_number(place: str, word: str, *, whole: bool) -> MeshError:
    """Return the error for a word that stands where a number must."""
    message = (
        f"{place}: {word!r} is not a {'whole ' if whole else ''}number; correct it or export the"
        " wireframe again"
    )
    return MeshError(message)


def truncated(name: str, promised: str, found: str) -> MeshError:
    """Return the error for a file that is shorter than its header says."""
    message = (
        f"{name} is cut short: its header promises {promised}, but {found};"
        " copy or export the file again"
    )
    return MeshError(message)


def damaged(name: str, found: str) -> MeshError:
    """Return the error for a file that is not what its format asks for."""
    return MeshError(f"{name} is damaged: {found}; copy or export the file again")


def number_lines(
    rows: NDArray[Any], key: str, *, separator: str = " ", numbered: bool = False
) -> Iterator[bytes]:
    """Yield blocks of lines: the key, then the shortest numbers that read back the same.

    Where lines are numbered, from 1, the number of the line follows the key.
    """
    for start in range(0, len(rows), _ROWS):
        columns = [map(repr, column) for column in rows[start : start + _ROWS].T.tolist()]
        if numbered:
            columns.insert(0, map(str, range(start + 1, start + _ROWS + 1)))
        lines = map(separator.join, zip(*columns, strict=False))
        yield (key + f"\n{key}".join(lines) + "\n").encode("ascii")
