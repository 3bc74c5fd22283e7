"""Where tables and wireframes go: files, which appear whole, gzip files and standard output."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from geodomain.errors import TableError
from geodomain.io.files.atomic import AtomicFile, refuse_to_replace
from geodomain.io.files.digest import Digest, Digested
from geodomain.io.files.gz import Compressor
from geodomain.io.files.standard import STANDARD, Stream, standard_output, status_of

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

_BUFFER = 1 << 20


class Target(Protocol):
    """What a table is written to."""

    def write(self, data: memoryview, /) -> object:
        """Write all of the data."""


class Input(Protocol):
    """What is read, as far as who writes must know it."""

    compressed: bool

    @property
    def status(self) -> os.stat_result | None:
        """What the system says of the file, or None where it is none."""

    def close(self) -> None:
        """Close the file."""


@contextlib.contextmanager
def open_target(
    path: str | os.PathLike[str],
    *,
    source: Input | None = None,
    overwrite: bool = False,
    in_place: bool = False,
    threads: int | None = None,
    digest: Digest | None = None,
) -> Iterator[Target]:
    """Open what a table is written to; it is there, whole, only after the block.

    Parameters
    ----------
    path : path or '-'
        A file, compressed when its name ends in .gz, or standard output. Links are
        followed. A device or a pipe is written to as it is.
    source : Input, optional
        Where the table comes from, which must not be the same file.
    overwrite : bool, optional
        Whether a file that is there may be replaced; its mode is kept.
    in_place : bool, optional
        Whether the source itself is to be replaced, compressed if it was.
    threads : int, optional
        How many threads compress, where that is asked for.
    digest : Digest, optional
        Takes the bytes as they are stored.

    Yields
    ------
    Target
        Has `write`. An exception in the block, an interrupt included, leaves
        what was there before and nothing else.

    Raises
    ------
    TableError
        If the output is the input.
    FileExistsError
        If there is such a file, at the beginning or in the end, and it may not be replaced.
    OSError
        If a file that is watched by `Unchanged` has changed when this one takes its place.
    BrokenPipeError
        If nobody reads standard output any more: a reason to end, quietly.
    """
    if path == STANDARD:
        _refuse_same(status_of(sys.stdout), source, "standard output")
        yield _digested(standard_output(), digest)
        return
    # Before links are resolved: those of /dev/stdout to a pipe lead to no path.
    status = Path(path).stat() if Path(path).exists() else None
    if not in_place:
        _refuse_same(status, source, str(path))
    if status is not None and not stat.S_ISREG(status.st_mode):
        with Path(path).open("wb", buffering=0) as device:
            yield _digested(Stream(device, str(path)), digest)
        return
    refuse_to_replace([Path(path)], overwrite=overwrite or in_place)
    place = Path(os.path.realpath(path))
    compressed = source.compressed if in_place and source else place.suffix.lower() == ".gz"
    file = AtomicFile(place, new=not (overwrite or in_place))
    yield from _replace(file, source, compressed, threads, digest)


@contextlib.contextmanager
def replaced(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """Open a file of Python's that takes the place of what is at a path only after the block.

    Links are followed, a mode is kept, and a device or a pipe is written to as it is, as by
    `open_target`. A file that is there is refused where it may not be overwritten.
    """
    with open_target(Path(path), overwrite=overwrite) as target:
        raw = _Raw(target)
        file = io.BufferedWriter(raw, _BUFFER)
        try:
            yield cast(BinaryIO, file)
            file.flush()
        finally:
            raw.target = None
            file.close()


class _Raw(io.RawIOBase):
    """A target as Python's buffers write to it; without one, what is left goes nowhere."""

    def __init__(self, target: Target) -> None:
        self.target: Target | None = target

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int:
        view = memoryview(data)
        if self.target is not None:
            self.target.write(view)
        return view.nbytes


def _digested(target: Target, digest: Digest | None) -> Target:
    return target if digest is None else Digested(target, digest)


def _replace(
    file: AtomicFile, source: Input | None, compressed: bool, threads: int | None,
    digest: Digest | None,
) -> Iterator[Target]:  # fmt: skip
    target = _digested(file, digest)
    try:
        if compressed:
            with contextlib.closing(Compressor(target, threads)) as compressor:
                yield compressor
                compressor.finish()
        else:
            yield target
        if source is not None:
            source.close()  # Windows replaces no file that is open
        file.commit()
    finally:
        file.abandon()


def _refuse_same(status: os.stat_result | None, source: Input | None, name: str) -> None:
    """Refuse to write to the file that is being read, by whatever link."""
    other = None if source is None else source.status
    if status is None or other is None or not stat.S_ISREG(other.st_mode):
        return
    if os.path.samestat(status, other):
        message = f"{name} is the input itself; name another output"
        raise TableError(message)
