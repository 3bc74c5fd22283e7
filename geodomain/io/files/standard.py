"""Standard input and output, and what else is written to as it is; no file appears here."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import BinaryIO, Protocol, TextIO, cast

from geodomain.io.files.atomic import write_all

STANDARD = "-"


class HasDescriptor(Protocol):
    """What may have a file descriptor."""

    def fileno(self) -> int:
        """Give it, or raise."""


class Writable(Protocol):
    """What bytes are written to, perhaps fewer than are given."""

    def write(self, data: memoryview, /) -> int:
        """Write, and say how many."""


class Stream:
    """What is written to as it is: a pipe, a device, standard output."""

    def __init__(self, raw: Writable, name: str) -> None:
        self._raw, self._name = raw, name

    def write(self, data: memoryview) -> int:
        """Write all of the data."""
        try:
            return write_all(self._raw.write, data, self._name)
        except OSError as error:
            if os.name == "nt" and error.errno == errno.EINVAL:  # its word for a closed pipe
                raise BrokenPipeError from error
            raise


def standard_output() -> Stream:
    """Return standard output without the lock that its buffer holds while its reader is slow."""
    _require_open(sys.stdout, "standard output")
    buffer = sys.stdout.buffer
    buffer.flush()
    raw: Writable = buffer
    if status_of(buffer) is not None:
        raw = io.FileIO(buffer.fileno(), "wb", closefd=False)
    return Stream(raw, "standard output")


def standard_input() -> BinaryIO:
    """Return standard input without the lock that its buffer holds while it waits."""
    _require_open(sys.stdin, "standard input")
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError, AttributeError):
        return cast(BinaryIO, sys.stdin.buffer)
    return cast(BinaryIO, io.FileIO(descriptor, closefd=False))


def _require_open(stream: TextIO | None, name: str) -> None:
    """Refuse a standard stream that is closed before the program starts: Python has None then."""
    if stream is None:
        raise OSError(errno.EBADF, "it is closed", name)


def status_of(file: HasDescriptor) -> os.stat_result | None:
    """Return what the system says of an open file, None where it is none."""
    try:
        return os.fstat(file.fileno())
    except (OSError, ValueError, AttributeError):
        return None
