"""Limit the memory for reading one file, and refuse files that need more.

Every reader computes the memory for a file before it allocates, and checks it here. The limit is
three quarters of the free memory, or `GEODOMAIN_MEMORY` (on the command line `--memory`), such as
64GB.
"""

from __future__ import annotations

import os
import re
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from geodomain.errors import GeodomainError

if TYPE_CHECKING:
    import zipfile

SETTING = "GEODOMAIN_MEMORY"
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)I?B?\s*", re.IGNORECASE)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SHARE = 0.75  # of free memory: the rest is for work on the data
_UNKNOWN = 8 << 30  # bytes, if the system does not report its memory
# Limits for compressed data whose length no header states: this many bytes, or this factor.
# Coordinates and text seldom grow more, while decompression bombs grow by a factor of 1,000.
_WORK, _DENSITY = 1 << 28, 100
# The lists parsed from a JSON text take up to about 24 times the size of the text.
_JSON_WORK, _JSON_DENSITY, _JSON_OBJECTS = 1 << 26, 50, 24
_PIECE, _STEP = 1 << 12, 1 << 20
_DEFLATE = 1032  # the largest factor by which zlib or gzip data can grow


def allowance() -> int:
    """Return the bytes that one file may take.

    Raises
    ------
    ValueError
        If `GEODOMAIN_MEMORY` is not a size.
    """
    allowed = _allowed()
    return int(_SHARE * free()) if allowed is None else allowed


def _allowed() -> int | None:
    """Return the bytes that `GEODOMAIN_MEMORY` allows; None if it is not set."""
    text = os.environ.get(SETTING, "").strip()
    if not text:
        return None
    try:
        return read_size(text)
    except ValueError as error:
        message = f"{SETTING} is {error}"
        raise ValueError(message) from None


def read_size(text: str) -> int:
    """Return the bytes of a size such as 64GB.

    Raises
    ------
    ValueError
        If the text is not a size.
    """
    size = _SIZE.fullmatch(text)
    if size is None:
        message = f"{text!r}, which is not a size: write it as 64GB or 500MB"
        raise ValueError(message)
    return int(float(size[1]) * _UNITS[size[2].upper()])


def free() -> int:
    """Return the bytes that the process can still take.

    This is the smallest of three numbers: the free memory of the machine, the bytes left of the
    container's limit, and the bytes left of `ulimit -v`.
    """
    bounds = [_free_of_machine(), _free_of_group(), _free_of_limit()]
    return max(0, min((bound for bound in bounds if bound is not None), default=_UNKNOWN))


def _free_of_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return 1024 * int(text.partition("MemAvailable:")[2].split()[0])
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _free_of_group() -> int | None:
    """Return the bytes left of the memory limit of a Linux container; None without a limit."""
    folder = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):
        limit = int((folder / "memory.max").read_text(encoding="ascii"))
        return limit - int((folder / "memory.current").read_text(encoding="ascii"))
    return None


def _free_of_limit() -> int | None:
    """Return the bytes of address space left by `ulimit -v`; None without a limit."""
    if sys.platform == "win32":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit < 0:
        return None
    used = 0
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        used = pages * resource.getpagesize()
    return limit - used


def require(needed: float, what: str, error: type[GeodomainError]) -> None:
    """Raise an error if something would take more memory than allowed.

    Parameters
    ----------
    needed : float
        Bytes.
    what : str
        The subject of the message: "a.vti, of 1,000 x 1,000 x 1,000 cells,".
    error : type
        The type of the error.
    """
    most = allowance()
    if not needed <= most:
        raise error(_message(what, needed, most))


def _message(what: str, needed: float, most: float) -> str:
    return (
        f"{what} would take {size_text(needed)} of memory, but only {size_text(most)} may be used: "
        f"if the file is right, allow more with {SETTING}={_allowing(needed)}"
    )


def size_text(size: float) -> str:
    """Format a number of bytes with a unit."""
    for unit, name in ((1e18, "EB"), (1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:,.3g} {name}" if size < 1000 * unit else "over 1,000 EB"
    return f"{size / 1000:,.1f} kB"


def _allowing(size: float) -> str:
    """Format a size in GB, rounded up, as a value for `GEODOMAIN_MEMORY`."""
    gigabytes = min(-(-size // 10**9), 10**12) + (size % 10**9 == 0)
    return f"{gigabytes:.0f}GB"


def most_unpacked(packed: int, work: int = 0) -> int:
    """Return the largest accepted size of decompressed data, in bytes.

    Larger data are refused as a decompression bomb.

    Parameters
    ----------
    packed : int
        Size of the compressed data in bytes.
    work : int
        This many bytes are always accepted, if memory allows.
    """
    allowed = _allowed()
    usual = max(_WORK, _DENSITY * packed, work)
    return min(allowance(), usual) if allowed is None else allowed


def require_unpacked(
    needed: float, packed: int, what: str, error: type[GeodomainError], *, work: int = 0
) -> None:
    """Raise an error if the declared size of decompressed data is suspiciously large."""
    most = most_unpacked(packed, work)
    if not needed <= most:
        raise error(_unpacked_message(what, needed, packed, most))


def _unpacked_message(what: str, needed: float, packed: int, most: int) -> str:
    return (
        f"{what} has {size_text(packed)} of compressed data that become {size_text(needed)}, but "
        f"only {size_text(most)} may be used: if the file is right, allow more with "
        f"{SETTING}={_allowing(needed)}"
    )


def _too_long(what: str, packed: int, most: int, *, json: bool) -> str:
    """Return the message for data that exceed the limit; it names a sufficient limit."""
    longest = _DEFLATE * packed * (_JSON_OBJECTS if json else 1)
    return (
        f"{what} has {size_text(packed)} of compressed data that become more than the limit, "
        f"{size_text(most)}: if the file is right, allow more with {SETTING}={_allowing(longest)}"
    )


def inflate(packed: bytes, what: str, error: type[GeodomainError], *, json: bool = False) -> bytes:
    """Decompress zlib or gzip data, up to the allowed size.

    Raises
    ------
    GeodomainError
        Of type `error`, as soon as the data exceed the limit.
    zlib.error, EOFError
        For data that are damaged or cut short.
    """
    most = most_of_json(len(packed)) if json else most_unpacked(len(packed))
    parts: list[bytes] = []
    total, at = 0, 0
    while at < len(packed):
        stream, begin = zlib.decompressobj(wbits=47), at  # zlib, or one of several gzip members
        while not stream.eof and (at < len(packed) or stream.unconsumed_tail):
            rest = stream.unconsumed_tail
            if not rest:
                rest = packed[at : at + _PIECE]
                at += len(rest)
            parts.append(stream.decompress(rest, _STEP))
            total += len(parts[-1])
            if total > most:
                raise error(_too_long(what, len(packed), most, json=json))
        if not stream.eof:
            message = "compressed data are cut short"
            raise EOFError(message)
        at -= len(stream.unused_data)
        while packed[at : at + 1] == b"\0":
            at += 1
        if at == begin or packed[at : at + 2] != b"\x1f\x8b":
            break
    return b"".join(parts)


def most_of_json(packed: int) -> int:
    """Return the largest accepted size of decompressed JSON, in bytes."""
    most = allowance() // _JSON_OBJECTS
    if _allowed() is None:
        most = min(most, max(_JSON_WORK, _JSON_DENSITY * packed))
    return most


def require_json(size: int, what: str, error: type[GeodomainError]) -> None:
    """Raise an error if the lists in a JSON or TOML text may take more memory than allowed."""
    require(_JSON_OBJECTS * size, what, error)


def read_member(
    members: zipfile.ZipFile, name: str, what: str, error: type[GeodomainError]
) -> bytes:
    """Return the contents of a file in a ZIP; refuse a declared size that looks like a bomb.

    The module zipfile reads no more than the declared size.
    """
    info = members.getinfo(name)
    require_unpacked(info.file_size, info.compress_size, what, error)
    return members.read(info)


def require_members(members: zipfile.ZipFile, what: str, error: type[GeodomainError]) -> None:
    """Raise an error if all files in a ZIP together look like a bomb.

    This is for libraries that read all files at once.
    """
    infos = members.infolist()
    packed = sum(info.compress_size for info in infos)
    require_unpacked(sum(info.file_size for info in infos), packed, what, error)
