"""What the tags of a `.vti` file say, and where arrays of the cells can be added to it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from geodomain.errors import TableError, shown
from geodomain.io.blocks.cells import Cells, image_cells
from geodomain.io.files.whole import FileBytes

# More tags, or longer ones, are no image that another program has written.
_MOST_TAGS, _LONGEST_TAG = 10_000, 1 << 16
# VTK counts points along an axis so far; no memory holds the labels of more cells.
_FARTHEST, _MOST_CELLS = 1 << 31, 1 << 40
_COMPRESSORS = {None: False, "": False, "vtkZLibDataCompressor": True}
_ORDERS, _WIDTHS = {"LittleEndian": "<", "BigEndian": ">"}, {None: 4, "UInt32": 4, "UInt64": 8}
_COUNTS = {"WholeExtent": 6, "Extent": 6, "Origin": 3, "Spacing": 3, "Direction": 9}
_FORMATS, _ARRAYS = ("ascii", "binary", "appended"), ("DataArray", "Array")
_APPENDED, _MARK = b"<AppendedData", b"\xef\xbb\xbf"
_CLOSE = b"</VTKFile"
# Elements whose text says something; nobody else's is looked at.
_WITH_TEXT = re.compile(rb"<(DataArray|Array|InformationKey|Value)\b[^>]*(?<!/)>")
# As VTK reads them, up to what is none; Python takes 1_0 for 10, and digits of any script.
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
        Of bytes, "<" or ">".
    width : int
        Of the numbers that say how many bytes follow, 4 or 8.
    compressed : bool
        Whether by zlib; otherwise they are as they are.
    """

    order: str
    width: int
    compressed: bool


@dataclass(frozen=True)
class Head:
    """An image file that more arrays can be added to.

    Attributes
    ----------
    cells : Cells
        The blocks.
    columns : tuple of str
        The names of the arrays of the cells.
    form : Form
        How arrays are stored.
    place : tuple of int
        From where to where bytes give way to new arrays.
    around : tuple of bytes
        What comes before and after these.
    """

    cells: Cells
    columns: tuple[str, ...]
    form: Form
    place: tuple[int, int]
    around: tuple[bytes, bytes]


def read_head(data: FileBytes, name: str) -> Head | None:
    """Read the tags of a file; None for one that is unusual, damaged or no image.

    Raises
    ------
    TableError
        If the image is flat, or is not where numbers say.
    """
    tags = list(_tags(data))
    try:
        root = ElementTree.fromstring(b"".join(_skeleton(data, tags)))
        return _head(root, data, tags, name)
    except (ElementTree.ParseError, _UnusualError):
        return None


class _UnusualError(Exception):
    """Something that VTK may understand."""


def _tags(data: FileBytes) -> Iterator[tuple[int, int]]:
    """Give where each tag begins and ends, up to the data that is appended."""
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
    """Give the tags alone, as XML; what XML may have beside elements is none of ours."""
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
    """Refuse text that belongs to no array: what is beside the root is no XML."""
    if end - begin > _LONGEST_TAG or data[begin:end].strip():
        raise _UnusualError


def _head(
    root: ElementTree.Element, data: FileBytes, tags: list[tuple[int, int]], name: str
) -> Head:
    image, piece = _one(root, "ImageData"), _one(_one(root, "ImageData"), "Piece")
    if root.tag != "VTKFile" or root.get("type") != "ImageData":
        raise _UnusualError
    if _numbers(image, "WholeExtent", name) != _numbers(piece, "Extent", name):
        raise _UnusualError
    _require_arrays(root, len(data))
    place, around = _place(data, tags)
    return Head(_cells(image, name), _columns(piece), _form(root), place, around)


def _one(element: ElementTree.Element, tag: str) -> ElementTree.Element:
    """Give the only element of a kind within another."""
    found = element.findall(tag)
    if len(found) != 1:
        raise _UnusualError
    return found[0]


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
    """Give the finite numbers of an attribute; those of an extent are whole.

    Where they are no such numbers VTK takes others, and says nothing.
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
    message = f"{name}: {attribute} is {shown(text)}, not {count} {kind}: mend it"
    raise TableError(message)


def _columns(piece: ElementTree.Element) -> tuple[str, ...]:
    """Give the names of the arrays of cells, each of which has one of its own."""
    if len(piece.findall("CellData")) > 1:
        raise _UnusualError
    arrays = piece.findall("CellData/*")
    if any(array.tag not in _ARRAYS for array in arrays):
        raise _UnusualError
    names = [array.get("Name") for array in arrays]
    known = tuple(name for name in names if name)
    if len(set(known)) < len(names):
        raise _UnusualError
    return known


def _require_arrays(root: ElementTree.Element, size: int) -> None:
    """Refuse arrays of another form, and such as would be beyond the end of the file."""
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
    """Give which bytes give way to new arrays of cells, and what comes around those."""
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
