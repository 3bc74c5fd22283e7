"""`.vti` images without VTK: reads the XML tags, and adds cell arrays to the bytes of the file."""

from __future__ import annotations

import binascii
import math
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from operator import mul
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree

import numpy as np

from geodomain.errors import TableError, shown
from geodomain.files.streams import FileBytes, Target
from geodomain.formats.block_file import Destination, NewArrays, Values, as_numbers
from geodomain.formats.cell_file import CellStore
from geodomain.formats.cells import Cells, image_cells
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.text import NewCells

ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
    | {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)
# Files with more or longer tags are not images written by known programs.
_MOST_TAGS, _LONGEST_TAG = 10_000, 1 << 16
# VTK's present limit of points along an axis; no memory holds labels for more cells.
_FARTHEST, _MOST_CELLS = 1 << 31, 1 << 40
_COMPRESSORS = {None: False, "": False, "vtkZLibDataCompressor": True}
_ORDERS, _WIDTHS = {"LittleEndian": "<", "BigEndian": ">"}, {None: 4, "UInt32": 4, "UInt64": 8}
_COUNTS = {"WholeExtent": 6, "Extent": 6, "Origin": 3, "Spacing": 3, "Direction": 9}
_FORMATS, _ARRAYS = ("ascii", "binary", "appended"), ("DataArray", "Array")
_APPENDED, _MARK = b"<AppendedData", b"\xef\xbb\xbf"
_CLOSE = b"</VTKFile"
# Elements whose text is data; text of all other elements is ignored.
_WITH_TEXT = re.compile(rb"<(DataArray|Array|InformationKey|Value)\b[^>]*(?<!/)>")
# Numbers as VTK reads them, up to the first other character; Python also accepts 1_0 and digits of
# any script.
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_END = re.compile(rb"</AppendedData>\s*</VTKFile>\s*\Z")
_ENCODING = re.compile(rb"encoding\s*=\s*[\"'](?!utf-?8[\"'])", re.IGNORECASE)


@dataclass(frozen=True)
class Form:
    """How a file stores the bytes of its arrays.

    Attributes
    ----------
    order : str
        Byte order, "<" or ">".
    width : int
        Bytes of the numbers that give the lengths of arrays, 4 or 8.
    compressed : bool
        Whether arrays are compressed with zlib.
    """

    order: str
    width: int
    compressed: bool


@dataclass(frozen=True)
class Head:
    """An image file to which arrays can be added.

    Attributes
    ----------
    cells : Cells
        Geometry of the blocks.
    columns : tuple of str
        Names of the cell arrays.
    form : Form
        Storage of the arrays.
    place : tuple of int
        Start and end of the bytes that new arrays replace.
    around : tuple of bytes
        Bytes written before and after the new arrays.
    """

    cells: Cells
    columns: tuple[str, ...]
    form: Form
    place: tuple[int, int]
    around: tuple[bytes, bytes]


def read_head(data: FileBytes, name: str) -> Head | None:
    """Read the tags of an image; return None if the file is unusual, damaged or not an image.

    Raises
    ------
    TableError
        If the image is flat, or its position or size is not given by valid numbers.
    """
    tags = list(_tags(data))
    try:
        root = ElementTree.fromstring(b"".join(_skeleton(data, tags)))
        return _head(root, data, tags, name)
    except (ElementTree.ParseError, _UnusualError):
        return None


class _UnusualError(Exception):
    """Raised for content that is left to VTK, because only VTK may be able to read it."""


def _tags(data: FileBytes) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each tag, up to and including the tag <AppendedData>."""
    begin, count = data.find(b"<"), 0
    while begin >= 0 and count < _MOST_TAGS:
        end = data.find(b">", begin, begin + _LONGEST_TAG) + 1
        if not end:
            return
        yield begin, end
        if data[begin : begin + len(_APPENDED)] == _APPENDED:
            return
        begin, count = data.find(b"<", end), count + 1


def _skeleton(data: FileBytes, tags: list[tuple[int, int]]) -> Iterator[bytes]:
    """Yield, as XML, the tags without the text between them; raise _UnusualError for comments."""
    start, text = len(_MARK) if data[: len(_MARK)] == _MARK else 0, False
    for number, (begin, end) in enumerate(tags):
        tag = data[begin:end]
        if not text:
            _require_blank(data, start, begin)
        start, text = end, bool(_WITH_TEXT.match(tag))
        if tag[:2] in (b"<!", b"<?") and (number or _ENCODING.search(tag) or tag[:2] == b"<!"):
            raise _UnusualError
        yield tag
        if tag.startswith(_APPENDED):
            if tag.endswith(b"/>") or not _END.search(data[max(end, len(data) - 1024) :]):
                raise _UnusualError
            yield b"</AppendedData></VTKFile>"
        if tag.startswith(_CLOSE):
            _require_blank(data, end, len(data))


def _require_blank(data: FileBytes, begin: int, end: int) -> None:
    """Raise _UnusualError for text outside arrays, such as text after the last tag."""
    if end - begin > _LONGEST_TAG or data[begin:end].strip():
        raise _UnusualError


def _head(
    root: ElementTree.Element, data: FileBytes, tags: list[tuple[int, int]], name: str
) -> Head:
    image = _only_child(root, "ImageData")
    piece = _only_child(image, "Piece")
    if root.tag != "VTKFile" or root.get("type") != "ImageData":
        raise _UnusualError
    if _numbers(image, "WholeExtent", name) != _numbers(piece, "Extent", name):
        raise _UnusualError
    _require_arrays(root, len(data))
    place, around = _place(data, tags)
    return Head(_cells(image, name), _columns(piece), _form(root), place, around)


def _only_child(element: ElementTree.Element, tag: str) -> ElementTree.Element:
    """Return the only child element with a tag; raise _UnusualError for no or several children."""
    children = element.findall(tag)
    if len(children) != 1:
        raise _UnusualError
    return children[0]


def _form(root: ElementTree.Element) -> Form:
    try:
        return Form(
            _ORDERS[root.get("byte_order", "")],
            _WIDTHS[root.get("header_type")],
            _COMPRESSORS[root.get("compressor")],
        )
    except KeyError:
        raise _UnusualError from None


def _cells(image: ElementTree.Element, name: str) -> Cells:
    extent = [int(number) for number in _numbers(image, "WholeExtent", name)]
    counts = [extent[axis + 1] - extent[axis] for axis in (0, 2, 4)]
    if math.prod(counts) > _MOST_CELLS or any(abs(number) >= _FARTHEST for number in extent):
        raise _UnusualError
    matrix = np.eye(3)
    if image.get("Direction") is not None:
        matrix = np.array(_numbers(image, "Direction", name)).reshape(3, 3)
    origin, spacing = _numbers(image, "Origin", name), _numbers(image, "Spacing", name)
    return image_cells(extent, spacing, origin, matrix, name)


def _numbers(element: ElementTree.Element, attribute: str, name: str) -> tuple[float, ...]:
    """Return the numbers of an attribute; raise TableError if they are not valid.

    Valid numbers are finite, and the numbers of an extent are whole. If a number is invalid, VTK
    would silently use another value.
    """
    text, count = element.get(attribute), _COUNTS[attribute]
    if text is None:
        raise _UnusualError
    whole = "Extent" in attribute
    words = text.split()
    if len(words) == count and all(map((_WHOLE if whole else _NUMBER).fullmatch, words)):
        numbers = tuple(int(word) if whole else float(word) for word in words)
        if all(map(math.isfinite, numbers)):
            return numbers
    kind = "whole numbers" if whole else "numbers"
    message = f"{name}: {attribute} is {shown(text)}, not {count} {kind}: correct it"
    raise TableError(message)


def _columns(piece: ElementTree.Element) -> tuple[str, ...]:
    """Return the names of the cell arrays; raise _UnusualError if a name is missing or repeated."""
    if len(piece.findall("CellData")) > 1:
        raise _UnusualError
    arrays = piece.findall("CellData/*")
    if any(array.tag not in _ARRAYS for array in arrays):
        raise _UnusualError
    names = [array.get("Name") for array in arrays]
    present = tuple(name for name in names if name)
    if len(set(present)) < len(names):
        raise _UnusualError
    return present


def _require_arrays(root: ElementTree.Element, size: int) -> None:
    """Raise _UnusualError if an array has an unusual format or starts after the file's end."""
    appended = root.find("AppendedData") is not None
    for array in root.iter():
        if array.tag not in _ARRAYS:
            continue
        form, offset = array.get("format"), array.get("offset", "0")
        if form not in _FORMATS or not _WHOLE.fullmatch(offset) or not 0 <= int(offset) < size:
            raise _UnusualError
        if form == "appended" and not appended:
            raise _UnusualError


def _place(
    data: FileBytes, tags: list[tuple[int, int]]
) -> tuple[tuple[int, int], tuple[bytes, bytes]]:
    """Return the byte range that new arrays replace, and the bytes to write before and after."""
    close = b"</CellData>\n"
    for begin, end in tags:
        tag = data[begin:end]
        if re.match(rb"</CellData\s*>", tag):
            return (begin, begin), (b"", b"")
        if re.match(rb"<CellData\b[^>]*/>", tag):
            return (begin, end), (tag[:-2].rstrip() + b">\n    ", close.rstrip())
        if re.match(rb"</Piece\s*>", tag):
            return (begin, begin), (b"  <CellData>\n    ", close + b"  ")
    raise _UnusualError


# --- New cell arrays in VTK's XML, written in pieces without VTK.

# Cells at a time; bytes of a compressed block, as in VTK: they fit a processor's cache.
_CELLS, _BLOCK = 1 << 20, 1 << 15
# zlib level: labels come in runs, so higher levels hardly make them shorter.
_LEVEL = 1
_BASE64 = 3 << 18  # bytes encoded at a time, a multiple of 3
_TYPES = {"int32": "Int32", "int64": "Int64", "float64": "Float64"}


class NewArray:
    """A new column as an XML element.

    Parameters
    ----------
    column : NewColumn
    codes : (n,) array
        Code of each cell.
    form : Form
        Storage of the arrays in the file.
    """

    def __init__(self, column: NewColumn, codes: NewCells, form: Form) -> None:
        self._column, self._codes, self._form = column, codes, form
        self._stored = _Numbers(column, codes, form) if column.numeric else _Texts(column, codes)

    @property
    def fits(self) -> bool:
        """Whether the length of the array fits into the bytes in which the file stores lengths."""
        return self._form.compressed or self._stored.size <= _longest(self._form)

    def parts(self) -> Iterator[bytes]:
        """Yield the bytes of the element in pieces."""
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
        """Yield the sizes of the compressed pieces, then the pieces, as base64 text."""
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
    """Return the maximum number of bytes of an array that is not compressed."""
    return (1 << 8 * form.width) - 1


class _Texts:
    """The bytes of a column of texts, each ended by a zero byte."""

    kind = "String"

    def __init__(self, column: NewColumn, codes: NewCells) -> None:
        self._texts = [cell.encode() + b"\0" for cell in (*column.cells, "")]
        self._codes = codes

    @property
    def size(self) -> int:
        """The number of bytes."""
        lengths = np.array([*map(len, self._texts)], np.int64)
        return sum(int(lengths[part].sum()) for part in _parts(self._codes))

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes in pieces."""
        for part in _parts(self._codes):
            ends = np.append(np.flatnonzero(part[1:] != part[:-1]) + 1, len(part))
            texts = map(self._texts.__getitem__, part[ends - 1].tolist())
            yield b"".join(map(mul, texts, np.diff(ends, prepend=0).tolist()))


class _Numbers:
    """The bytes of a column of numbers, in the byte order of the file."""

    def __init__(self, column: NewColumn, codes: NewCells, form: Form) -> None:
        self._codes = codes
        self._by_code = None if column.measured else _number_by_code(column, codes)
        own = (codes if self._by_code is None else self._by_code).dtype
        self.kind, self._type = _TYPES[own.name], np.dtype(f"{form.order}{own.str[1:]}")

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self._codes) * self._type.itemsize

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes in pieces."""
        for part in _parts(self._codes):
            numbers = part if self._by_code is None else self._by_code[part]
            yield numbers.astype(self._type, copy=False).tobytes()


def _number_by_code(column: NewColumn, codes: NewCells) -> Values:
    """Return the number of each code, in the smallest type that suffices for all codes in use.

    Codes that no cell uses get the number 0.
    """
    used = np.zeros(len(column.cells) + 1, np.bool_)
    for part in _parts(codes):
        used[part] = True
    numbers = as_numbers(column, np.flatnonzero(used).astype(np.int32))
    by_code = np.zeros(len(used), numbers.dtype)
    by_code[used] = numbers
    return by_code


def _parts(codes: NewCells) -> Iterator[NewCells]:
    for begin in range(0, len(codes), _CELLS):
        yield codes[begin : begin + _CELLS]


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in pieces of 32 KiB; the last piece may be shorter."""
    rest = b""
    for piece in pieces:
        held = memoryview(rest + piece)
        whole = len(held) - len(held) % _BLOCK
        yield from (bytes(held[at : at + _BLOCK]) for at in range(0, whole, _BLOCK))
        rest = bytes(held[whole:])
    if rest:
        yield rest


def _base64(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Encode bytes as base64 text, with padding only at the end."""
    held = bytearray()
    for piece in pieces:
        held += piece
        if len(held) >= _BASE64:
            whole = len(held) - len(held) % 3
            yield binascii.b2a_base64(held[:whole], newline=False)
            del held[:whole]
    yield binascii.b2a_base64(held, newline=False)


# --- `.vti` files as block models: their bytes are copied, and new cell arrays inserted.

# Bytes copied at a time.
_PIECE = 1 << 22


# Arrays that mark ghost cells: VTK itself reads these files.
_GHOSTS = {"vtkGhostType"}


class ImageStore:
    """An image of which only the tags have been read; see `CellStore`.

    Parameters
    ----------
    file : binary file
        The open file; it is closed with the store.
    name : str
        Name used in messages.
    head : Head
        Content of the tags.
    whole : callable
        Reads the whole file with VTK. It is called only if arrays are read or replaced, or if a new
        array is too long for the file's form.
    """

    def __init__(
        self, file: BinaryIO, name: str, head: Head, whole: Callable[[], CellStore]
    ) -> None:
        self._file, self._head, self._open_whole = file, head, whole
        self.name, self.status = name, os.fstat(file.fileno())
        self.cells, self.columns = head.cells, head.columns

    @property
    def memory(self) -> int:
        """Memory in bytes for copying a piece of the file."""
        return 2 * _PIECE

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def facts(self) -> dict[str, str]:
        """Return facts about the file as texts, each under a title such as "format"."""
        return {"format": f"VTK, {self.cells.say()}"}

    def values(self, column: int) -> Values:
        """Return the values of a cell array."""
        return self._whole.values(column)

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Copy the bytes of the file and insert the new arrays."""
        pairs = zip(new.columns, new.codes, strict=True)
        arrays = [NewArray(column, codes, self._head.form) for column, codes in pairs]
        if new.at is not None or not all(array.fits for array in arrays):
            self._whole.write(target, destination, new)
            return
        (begin, end), (before, after) = self._head.place, self._head.around
        for piece in self._bytes(0, begin):
            target.write(memoryview(piece))
        target.write(memoryview(before))
        for array in arrays:
            for part in array.parts():
                target.write(memoryview(part))
        target.write(memoryview(after))
        for piece in self._bytes(end, self.status.st_size):
            target.write(memoryview(piece))

    def _bytes(self, begin: int, end: int) -> Iterator[bytes]:
        """Yield the bytes of the file between two positions."""
        self._file.seek(begin)
        while begin < end:
            piece = self._file.read(min(_PIECE, end - begin))
            if not piece:
                message = f"{self.name} became shorter while it was read: label it again"
                raise TableError(message)
            yield piece
            begin += len(piece)

    @cached_property
    def _whole(self) -> CellStore:
        return self._open_whole()


def image_store(place: Path, whole: Callable[[], CellStore]) -> ImageStore | None:
    """Open an image whose bytes can be copied; None if VTK itself must read the file.

    Raises
    ------
    TableError
        If the image is flat, or its position or size is not given by valid numbers.
    OSError
        If the file cannot be read.
    """
    with ExitStack() as opened:
        file = opened.enter_context(place.open("rb"))
        if not os.fstat(file.fileno()).st_size:
            return None
        with FileBytes(place) as data:
            head = read_head(data, place.name)
        if head is None or _GHOSTS & set(head.columns):
            return None
        opened.pop_all()
        return ImageStore(file, place.name, head, whole)
