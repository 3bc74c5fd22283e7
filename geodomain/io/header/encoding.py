"""Detection of text that a table can be read from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from geodomain.errors import TableError
from geodomain.io.meshes.not_a_table import describe, describe_text

UTF8_MARK = b"\xef\xbb\xbf"

_WIDE_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_FORMATS = (
    (b"PK\x03\x04", "an Excel workbook or a zip archive", ""),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", ""),
    (b"PAR1", "a Parquet file", "name it .parquet, or "),
    (b"\x89HDF", "an HDF5 file", ""),
    (b"# vtk DataFile", "a VTK file", "name it .vtk, or "),
    (b"<VTKFile", "a VTK file", "name it .vti, .vtr or .vtu, or "),
    (b"<?xml", "an XML file", "name it .vti, .vtr or .vtu if it is VTK's, or "),
)
_HEAD = 1 << 16  # bytes by which wireframes are known
# Tab, line feed, form feed, carriage return and Ctrl-Z (an old end-of-file mark) are text.
_CONTROLS = bytes({*range(1, 32)} - {*b"\t\n\f\r\x1a"})


def require_text(head: bytes, name: str) -> None:
    """Raise TableError unless `head`, the first bytes of the file `name`, is one-byte text.

    UTF-8 and every encoding that keeps ASCII where it is are text; UTF-16 and UTF-32, NUL
    bytes, control characters and the formats that people hand over by mistake are not.
    """
    if not head.removeprefix(UTF8_MARK).strip():
        message = f"{name} is empty: a table needs a header line and rows."
        raise TableError(message)
    for mark, what, way in _FORMATS:
        if head.startswith(mark):
            found = describe_text(head[:_HEAD], Path(name).suffix.lower())
            message = f"{name} is {what}, not a table of text; {way}export it as CSV."
            message = f"{name}: {found}" if found else message
            raise TableError(message)
    wide = _wide_encoding(head)
    if wide:
        message = f"{name} is {wide} text; save it as UTF-8 (in Excel: 'CSV UTF-8')."
        raise TableError(message)
    _require_no_control(head, name)


@contextmanager
def wireframes_named(head: bytes, name: str) -> Iterator[None]:
    """Where text is no table, say so if it is a wireframe.

    Raises
    ------
    TableError
    """
    try:
        yield
    except TableError:
        if (found := describe_text(head[:_HEAD], Path(name).suffix.lower())) is None:
            raise
        message = f"{name}: {found}"
        raise TableError(message) from None


def _wide_encoding(head: bytes) -> str | None:
    """Name the encoding of two or four bytes a character, by its mark or by where NULs stand."""
    for mark, what in _WIDE_MARKS:
        if head.startswith(mark):
            return what
    sample = head[: 4096 - len(head) % 4] if len(head) < 4096 else head[:4096]
    # ASCII in UTF-16 has a NUL in every pair, in UTF-32 three in every four bytes, always there.
    lanes = sorted(sample[lane::4].count(0) * 4 / max(len(sample), 1) for lane in range(4))
    if lanes[0] < 0.2 and lanes[1] > 0.9:
        return "UTF-32"
    pairs = max(len(sample) // 2, 1)
    odd, even = sample[1::2].count(0) / pairs, sample[0::2].count(0) / pairs
    return "UTF-16" if max(odd, even) > 0.8 and min(odd, even) < 0.2 else None


def _require_no_control(head: bytes, name: str) -> None:
    """Raise TableError at the first NUL byte or control character."""
    nul = head.find(b"\x00")
    if nul >= 0:
        what = describe(head, Path(name).suffix.lower())
        if what is not None:
            message = f"{name}: {what}"
            raise TableError(message)
        line = count_line_ends(head, 0, nul) + 1
        message = (
            f"{name} has a NUL byte in line {line}: it is binary or was cut off while being "
            "written; export the table as CSV again."
        )
        raise TableError(message)
    controls = len(head) - len(head.translate(None, _CONTROLS))
    # One stray control character in a comment cell is no reason to refuse a block model.
    if controls * 500 > len(head):
        message = f"{name} is not text (it is full of control characters); export it as CSV."
        raise TableError(message)


def count_line_ends(head: bytes, start: int, end: int) -> int:
    """Count LF, CR LF and lone CR, each once, in a part of the head."""
    ends = head.count(b"\n", start, end) + head.count(b"\r", start, end)
    return ends - head.count(b"\r\n", start, end)
