"""Reads VTK files in a child process, because VTK crashes on damaged files.

Headers do not reveal everything that makes VTK crash (compressed blocks, cell offsets, appended
data). A child therefore reads every file, with limits of time and memory, and returns plain arrays:
VTK parses nothing in this process. One child serves all files; it starts in a fraction of a second.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from geodomain import memory
from geodomain.errors import GeodomainError
from geodomain.files.streams import FileBytes, require_no_device

_CHILD = Path(__file__).with_name("vtk_probe_child.py")
_SECONDS, _BYTES_PER_SECOND = 60.0, 1_000_000
# zlib compresses at most 1,032 times, LZMA about 7,000 times.
_SHORTER = 10_000
# VTK reads the digits of a number and ignores what follows them.
_COUNT = re.compile(rb'\b(NumberOf\w+|offset)\s*=\s*["\']([^"\']*)["\']')
_ELEMENT = re.compile(rb"<(?P<close>/?)(?P<name>[A-Za-z]\w*)(?P<rest>[^<>]*)>")
_ATTRIBUTE = re.compile(rb"(\w+)\s*=\s*([\"'])(.*?)\2", re.DOTALL)
_WIDTH = re.compile(rb"(?:8|16|32|64)$")
_TAG = re.compile(rb"<[A-Za-z][^<>]*>")
# Counts in a legacy file, which may appear between blanks anywhere. A table is named after SCALARS;
# elsewhere a table has a count. `tuples` belongs to the arrays that follow.
_TYPE = rb"(?:bit|(?:unsigned_)?(?:char|short|int|long)|float|double|vtk\w+|string|variant)"
_LEGACY = re.compile(
    rb"(?<!\S)(?:(?:points|cell_types|[xyz]_coordinates|lookup_table\s+\S+)\s+\+?(?P<one>\d+)"
    rb"|(?:vertices|lines|polygons|triangle_strips|cells)\s+\+?(?P<first>\d+)\s+\+?(?P<then>\d+)"
    rb"|(?:point_data|cell_data)\s+\+?(?P<tuples>\d+)"
    rb"|(?:scalars\s+\S+\s+\S+(?:\s+\+?(?P<parts>\d+))?(?:\s+lookup_table\s+\S+)?)"
    rb"|(?:color_scalars|texture_coordinates)\s+\S+\s+\+?(?P<each>\d+)"
    rb"|\+?(?P<width>\d+)\s+\+?(?P<rows>\d+)\s+" + _TYPE + rb"(?!\S))",
    re.IGNORECASE,
)


class Answer(NamedTuple):
    """Answer of the child process about a file.

    Attributes
    ----------
    fault : str or None
        The reason why VTK would crash on the file, or how the child ended.
    error : str or None
        VTK's error message.
    data : dict or None
        Content of the file; the bytes of an array are its entry "values".
    """

    fault: str | None = None
    error: str | None = None
    data: dict[str, Any] | None = None


class Probe:
    """A child process that reads files with VTK; it is started when the first file is read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def start(self) -> subprocess.Popen[bytes]:
        """Return the running child of this process; start one if there is none."""
        if self._child is not None and self._owner == os.getpid() and self._child.poll() is None:
            return self._child
        self.close()
        folders = json.dumps([path for path in sys.path if path])
        self._child = subprocess.Popen(
            [sys.executable, "-I", str(_CHILD), folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._owner = os.getpid()
        return self._child

    def read(self, path: Path, extension: str, seconds: float) -> Answer:
        """Read a file in the child; return its content, its fault, or how the child ended."""
        with self._lock:
            child = self.start()
            timer, late = _kill_after(seconds, child)
            try:
                most = memory.allowance()
                request = json.dumps([str(path.resolve()), extension, seconds, most])
                answer = _ask(child, request, path.name, most)
            except BaseException:
                self.close()
                raise
            finally:
                timer.cancel()
            if answer is not None:
                return answer
            self.close()
            if late:
                return Answer(fault=f"VTK does not finish within {seconds:.0f} s")
            return Answer(
                fault=f"VTK crashes on it, or needs more than the {memory.size_text(most)} of "
                f"memory that it may use; {memory.SETTING} allows more"
            )

    def close(self) -> None:
        """Stop the child, unless it belongs to the parent from which this process was forked."""
        child, self._child = self._child, None
        if child is None:
            return
        if self._owner == os.getpid():
            child.kill()
            child.wait()
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _kill_after(
    seconds: float, child: subprocess.Popen[bytes]
) -> tuple[threading.Timer, list[bool]]:
    """Start a timer that kills a child.

    The returned list is empty until the timer has killed the child.
    """
    late: list[bool] = []

    def kill() -> None:
        late.append(True)
        child.kill()

    timer = threading.Timer(seconds, kill)
    timer.daemon = True
    timer.start()
    return timer, late


def _ask(child: subprocess.Popen[bytes], request: str, name: str, most: int) -> Answer | None:
    """Send a request to the child and return its answer; None if the child ends instead.

    Arrays of more than `most` bytes in all are refused.
    """
    if child.stdin is None or child.stdout is None:
        return None
    try:
        child.stdin.write(request.encode() + b"\n")
        child.stdin.flush()
        line = child.stdout.readline()
        if not line.endswith(b"\n"):
            return None
        answer = json.loads(line)
        data = answer.get("data")
        if data is not None:
            arrays = list(_arrays_in(data))
            if sum(array["bytes"] for array in arrays) > most:
                raise MemoryError
            for array in arrays:
                array["values"] = child.stdout.read(array["bytes"])
                if len(array["values"]) != array["bytes"]:
                    return None
    except BrokenPipeError:
        return None
    except MemoryError:
        child.kill()
        child.wait()
        needs = f"it needs more than the {memory.size_text(most)} of memory that it may use"
        return Answer(fault=f"{needs}; {memory.SETTING} allows more")
    return Answer(answer.get("fault"), answer.get("error"), data)


def _arrays_in(part: object) -> Iterator[dict[str, Any]]:
    """Yield the arrays in the child's description, in the order in which it sends their bytes."""
    if isinstance(part, dict):
        if "bytes" in part:
            yield part
        for inner in part.values():
            yield from _arrays_in(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _arrays_in(inner)


@cache
def probe() -> Probe:
    """Return the probe that all files of this process share."""
    made = Probe()
    atexit.register(made.close)
    return made


def read_data(path: Path, extension: str, error: type[GeodomainError]) -> dict[str, Any]:
    """Return the content of a file, read with VTK in a child process.

    Raises
    ------
    GeodomainError
        Of the type `error`, if VTK cannot read the file, would crash on it, or takes too long.
    OSError
        If the file cannot be read.
    """
    require_no_device(path)
    size = path.stat().st_size
    wrong, answer = None, Answer()
    if size:
        with FileBytes(path) as file:
            end = -1 if extension == ".vtk" else file.find(b"<AppendedData")
            data = file[: end if end >= 0 else size]
            fault = _fault_of_legacy if extension == ".vtk" else _fault_of_header
            wrong = fault(data, len(file))
            if wrong is None and extension != ".vtk":
                what = f"{path.name}, with the number of values that its header declares,"
                memory.require_unpacked(_promised(data), size, what, error)
    if wrong is None:
        answer = probe().read(path, extension, _SECONDS + size / _BYTES_PER_SECOND)
        wrong = answer.fault
    if wrong:
        message = f"{path.name} cannot be read ({wrong}): the file is damaged, export it again"
        raise error(message)
    if answer.data is None:
        wrong = _reason(answer.error or "")
        message = f"{path.name} cannot be read by VTK ({wrong}): export the file again"
        raise error(message)
    return answer.data


def _reason(complaint: str) -> str:
    """Return VTK's first error message, without the position in VTK's source code."""
    text = " ".join(complaint.split())
    return text.partition("): ")[2].partition(" ERROR:")[0][:120] or text[:120]


def _fault_of_header(data: bytes, size: int) -> str | None:
    """Return the fault if a count or offset in the tags of an XML file exceeds the file's size."""
    for tag in _TAG.finditer(data):
        for what, number in _COUNT.findall(tag[0]):
            count, most = _number(number), size if what == b"offset" else size * _SHORTER
            if not 0 <= count <= most:
                name, stated = what.decode("ascii"), number.decode("ascii", "replace")[:30]
                return f'its header has {name}="{stated}", but the file has only {size:,} bytes'
    return None


def _promised(data: bytes) -> float:
    """Return an upper estimate of the bytes of the arrays that an XML file's header declares."""
    whole = rows = total = 0.0
    aside = False  # inside Coordinates, whose arrays are small
    for tag in _ELEMENT.finditer(data):
        attributes = {name: value for name, _, value in _ATTRIBUTE.findall(tag["rest"])}
        if tag["name"] == b"Coordinates":
            aside = not tag["close"]
        elif b"WholeExtent" in attributes:
            whole = _points_of(attributes[b"WholeExtent"])
        elif tag["name"] == b"Piece" and not tag["close"]:
            counts = [_number(number) for _, number in _COUNT.findall(tag[0])]
            rows = max([whole, _points_of(attributes.get(b"Extent", b"")), *counts])
        elif tag["name"] in (b"DataArray", b"Array") and not tag["close"] and not aside:
            parts = _number(attributes.get(b"NumberOfComponents", b"1"))
            width = _WIDTH.search(attributes.get(b"type", b""))
            total += rows * max(parts, 1.0) * (int(width[0]) // 8 if width else 8)
    return total


def _points_of(extent: bytes) -> float:
    """Return the number of points of an extent; 0 if the extent is invalid."""
    numbers = [_number(word) for word in extent.split()]
    if len(numbers) != 6:
        return 0.0
    return math.prod(max(0.0, numbers[n + 1] - numbers[n]) + 1.0 for n in (0, 2, 4))


def _fault_of_legacy(data: bytes, size: int) -> str | None:
    """Return the fault if a legacy file declares more numbers than the file has bits."""
    most, tuples = 8 * size, 1
    title_end = data.find(b"\n", data.find(b"\n") + 1)
    for match in _LEGACY.finditer(data, max(title_end, 0)):
        number = {name: int(text[:20]) for name, text in match.groupdict().items() if text}
        tuples = number.get("tuples", tuples)
        arrays = tuples * number.get("parts", number.get("each", 1))
        count = max(arrays, number.get("width", 0) * number.get("rows", 0), *number.values(), 0)
        if count > most:
            words = " ".join(match[0].decode("ascii", "replace").split())[:60]
            return f"its header has {words}, but the file has only {size:,} bytes"
    return None


def _number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0
