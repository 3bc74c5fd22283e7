"""New arrays of cells as VTK's XML has them, some cells at a time; VTK is not needed."""

from __future__ import annotations

import binascii
import zlib
from collections.abc import Iterable, Iterator
from operator import mul

import numpy as np

from geodomain.io.blocks.new_values import Values, as_numbers
from geodomain.io.blocks.vti.head import Form
from geodomain.io.csv.new_columns import NewColumn
from geodomain.io.csv.number_cells import NewCells
from geodomain.io.meshes.vtk_encoding import ESCAPES

# Cells at a time; bytes of a block that is compressed, as VTK's own: in a processor's cache.
_CELLS, _BLOCK = 1 << 20, 1 << 15
# Of zlib: labels come in runs, which more work makes hardly any shorter.
_LEVEL = 1
_BASE64 = 3 << 18  # bytes that are encoded at a time, by threes
_TYPES = {"int32": "Int32", "int64": "Int64", "float64": "Float64"}


class NewArray:
    """A column as the text of an XML element.

    Parameters
    ----------
    column : NewColumn
    codes : (n,) array
        What its cells are.
    form : Form
        Of the file.
    """

    def __init__(self, column: NewColumn, codes: NewCells, form: Form) -> None:
        self._column, self._codes, self._form = column, codes, form
        self._stored = _Numbers(column, codes, form) if column.numeric else _Texts(column, codes)

    @property
    def fits(self) -> bool:
        """Whether the file can say how long it is."""
        return self._form.compressed or self._stored.size <= _longest(self._form)

    def parts(self) -> Iterator[bytes]:
        """Give the element, part by part."""
        name = self._column.name.translate(ESCAPES)
        kind = self._stored.kind
        tag = "Array" if kind == "String" else "DataArray"
        yield f'  <{tag} type="{kind}" Name="{name}" format="binary">\n        '.encode()
        if self._form.compressed:
            yield from self._compressed()
        else:
            yield from _base64([self._lengths([self._stored.size]), *self._stored.pieces()])
        yield f"\n      </{tag}>\n    ".encode()

    def _compressed(self) -> Iterator[bytes]:
        """Give the lengths of blocks, and then the blocks."""
        blocks, last = list[bytes](), b""
        rest = 0
        for block in _blocks(self._stored.pieces()):
            blocks.append(blocks[-1] if block == last else zlib.compress(block, _LEVEL))
            last, rest = block, len(block) % _BLOCK
        yield from _base64([self._lengths([len(blocks), _BLOCK, rest, *map(len, blocks)])])
        yield from _base64(blocks)

    def _lengths(self, numbers: list[int]) -> bytes:
        return np.array(numbers, f"{self._form.order}u{self._form.width}").tobytes()


def _longest(form: Form) -> int:
    """Return how many bytes an array that is not compressed may have."""
    return (1 << 8 * form.width) - 1


class _Texts:
    """The texts of cells, each ended by a zero."""

    kind = "String"

    def __init__(self, column: NewColumn, codes: NewCells) -> None:
        self._texts = [cell.encode() + b"\0" for cell in (*column.cells, "")]
        self._codes = codes

    @property
    def size(self) -> int:
        """Count the bytes."""
        lengths = np.array([*map(len, self._texts)], np.int64)
        return sum(int(lengths[part].sum()) for part in _parts(self._codes))

    def pieces(self) -> Iterator[bytes]:
        """Give the bytes, a run of one text at a time."""
        for part in _parts(self._codes):
            ends = np.append(np.flatnonzero(part[1:] != part[:-1]) + 1, len(part))
            texts = map(self._texts.__getitem__, part[ends - 1].tolist())
            yield b"".join(map(mul, texts, np.diff(ends, prepend=0).tolist()))


class _Numbers:
    """The numbers of cells."""

    def __init__(self, column: NewColumn, codes: NewCells, form: Form) -> None:
        self._codes, self._known = codes, None if column.measured else _known(column, codes)
        own = (codes if self._known is None else self._known).dtype
        self.kind, self._type = _TYPES[own.name], np.dtype(f"{form.order}{own.str[1:]}")

    @property
    def size(self) -> int:
        """Count the bytes."""
        return len(self._codes) * self._type.itemsize

    def pieces(self) -> Iterator[bytes]:
        """Give the bytes in the order of the file."""
        for part in _parts(self._codes):
            numbers = part if self._known is None else self._known[part]
            yield numbers.astype(self._type, copy=False).tobytes()


def _known(column: NewColumn, codes: NewCells) -> Values:
    """Give the number of each code; those that no cell has do not matter to their type."""
    used = np.zeros(len(column.cells) + 1, np.bool_)
    for part in _parts(codes):
        used[part] = True
    numbers = as_numbers(column, np.flatnonzero(used).astype(np.int32))
    known = np.zeros(len(used), numbers.dtype)
    known[used] = numbers
    return known


def _parts(codes: NewCells) -> Iterator[NewCells]:
    for begin in range(0, len(codes), _CELLS):
        yield codes[begin : begin + _CELLS]


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Give blocks of one length, but for the last."""
    rest = b""
    for piece in pieces:
        held = memoryview(rest + piece)
        whole = len(held) - len(held) % _BLOCK
        yield from (bytes(held[at : at + _BLOCK]) for at in range(0, whole, _BLOCK))
        rest = bytes(held[whole:])
    if rest:
        yield rest


def _base64(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Give bytes as text, with padding at their end alone."""
    held = bytearray()
    for piece in pieces:
        held += piece
        if len(held) >= _BASE64:
            whole = len(held) - len(held) % 3
            yield binascii.b2a_base64(held[:whole], newline=False)
            del held[:whole]
    yield binascii.b2a_base64(held, newline=False)
