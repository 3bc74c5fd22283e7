"""Atomic output files, complete or absent, and checks of their paths."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from collections.abc import Callable, Iterable
from functools import partial
from itertools import combinations
from pathlib import Path

from geodomain.errors import TableError, counted, log
from geodomain.files.unchanged import own_change


class AtomicFile:
    """Write a file beside a path, and move it to the path in one step.

    If a run is killed, the path holds the old file or the complete new one, never a part of it.

    Parameters
    ----------
    path : Path
        The file to make or replace, with links resolved. The new file gets the mode of an existing
        file and, if the system allows it, its owner.
    new : bool
        Refuse to replace a file, even a file that appears while this one is written.
    """

    def __init__(self, path: Path, *, new: bool = False) -> None:
        self._path, self._new = path, new
        self._before = path.stat() if path.exists() else None
        # If the system has no nameless files, a killed run may leave this file behind.
        self._part = path.with_name(f".{path.stem[:80]}.{os.urandom(8).hex()}.part")
        self._descriptor = _open_nameless(path.parent)
        self._named = self._descriptor < 0
        if self._named:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            try:
                self._descriptor = os.open(self._part, flags, 0o666)
            except OSError as error:  # name the output: users do not know the file beside it
                there = error.errno == errno.ENOENT and path.parent.is_dir()
                reason = "no file can be made in this folder" if there else error.strerror
                raise type(error)(error.errno, reason, str(path)) from None
        # A new file ends with the mode that the system gives it here.
        self._mode = stat.S_IMODE((self._before or os.fstat(self._descriptor)).st_mode)
        self._set_mode(0o600)
        self._size = 0
        self._lock = threading.Lock()  # the descriptor is not closed during a write

    def write(self, data: memoryview) -> int:
        """Write all of the data."""
        with self._lock:
            done = write_all(partial(os.write, self._descriptor), data, str(self._path))
            self._start_flush(done)
        return done

    def commit(self) -> None:
        """Move the file to its path, safe from a power cut as far as the system allows.

        Raises
        ------
        FileExistsError
            If the file must be new, and another run has put a file at the path.
        OSError
            If an input has changed since it was read.
        """
        if self._before is not None and hasattr(os, "fchown"):
            with contextlib.suppress(OSError):
                os.fchown(self._descriptor, self._before.st_uid, self._before.st_gid)
        self._set_mode(self._mode)
        os.fsync(self._descriptor)
        if not self._named:
            _name(self._descriptor, self._part)
            self._named = True
        self._close()
        with own_change(self._path):
            _put_new(self._part, self._path) if self._new else self._part.replace(self._path)
        self._named = False
        _sync_folder(self._path.parent)
        log("wrote %s: %s", self._path, counted(self._size, "byte"))

    def abandon(self) -> None:
        """Remove the unfinished file; after `commit`, do nothing."""
        self._close()
        if self._named:
            self._part.unlink(missing_ok=True)
            self._named = False

    def _close(self) -> None:
        with self._lock:
            descriptor, self._descriptor = self._descriptor, -1
            if descriptor >= 0:
                os.close(descriptor)

    def _set_mode(self, mode: int) -> None:
        if hasattr(os, "fchmod"):
            os.fchmod(self._descriptor, mode)
        else:
            self._part.chmod(mode)

    def _start_flush(self, size: int) -> None:
        """Let the disk start to write the last bytes, so that `commit` has little left to flush.

        The advice asks to drop bytes from memory, but the system keeps bytes that are not written.
        """
        if hasattr(os, "posix_fadvise"):
            with contextlib.suppress(OSError):
                os.posix_fadvise(self._descriptor, self._size, size, os.POSIX_FADV_DONTNEED)
        self._size += size


def write_all(write: Callable[[memoryview], int], data: memoryview, name: str) -> int:
    """Write all of the data, and name the file in an error."""
    done = 0
    try:
        while done < len(data):
            done += write(data[done:])
    except OSError as error:
        error.filename = name
        raise
    return done


def _open_nameless(folder: Path) -> int:
    """Open a file without a name, which vanishes with a killed run; -1 if that is impossible."""
    if not hasattr(os, "O_TMPFILE"):
        return -1
    try:
        descriptor = os.open(folder, os.O_WRONLY | os.O_TMPFILE, 0o666)
    except OSError:  # the file system has no such files, or there is no such folder
        return -1
    if not os.path.lexists(_own(descriptor)):
        os.close(descriptor)
        return -1
    return descriptor


def _name(descriptor: int, path: Path) -> None:
    """Give a nameless file a name; os.link follows the link in /proc only if a folder is given."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.link(_own(descriptor), path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _put_new(part: Path, path: Path) -> None:
    """Rename a file to a path without a file, in one step if the system can."""
    try:
        if os.name == "nt":
            part.rename(path)  # on Windows it replaces nothing
        else:
            os.link(part, path)
            part.unlink()
    except FileExistsError:
        message = f"{path} has appeared since this run began; name another output"
        raise FileExistsError(message) from None
    except OSError:  # a file system without links
        refuse_to_replace([path])
        part.replace(path)


def _own(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"


def _sync_folder(folder: Path) -> None:
    """Flush a rename to the disk; systems that cannot open a folder do so by themselves.

    Errors are ignored, because the file is already at its path.
    """
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def refuse_to_replace(paths: Iterable[Path], *, overwrite: bool = False) -> None:
    """Raise FileExistsError for the first path that exists, unless `overwrite`."""
    for path in paths:
        if path.exists() and not overwrite:
            message = f"{path} is there already; name another output, or use overwrite=True"
            raise FileExistsError(message)


# Checks of output paths, before any work starts.


def require_places(outputs: Iterable[Path], *, overwrite: bool = False) -> None:
    """Refuse outputs of which some could not be written in the end.

    Parameters
    ----------
    outputs : iterable of Path
        All outputs of a command; pipes and devices are accepted.
    overwrite : bool
        Whether existing files may be replaced.

    Raises
    ------
    TableError
        If two outputs are the same file.
    FileNotFoundError
        If the folder of an output does not exist.
    FileExistsError
        If an output exists and may not be replaced.
    OSError
        If links form a circle, an output is a folder, or no file can be made in its folder.
    """
    places = list(outputs)
    for one, other in combinations(places, 2):
        if same_place(one, other):
            message = f"{one} is to hold two outputs: give each its own file"
            raise TableError(message)
        if _differ_in_case(one, other):
            message = f"{one} and {other} are one file on many disks: give each its own name"
            raise TableError(message)
    for place in places:
        _require_writable(place)
    refuse_to_replace([place for place in places if place.is_file()], overwrite=overwrite)


def _require_writable(place: Path) -> None:
    """Refuse a path at which no file can be written."""
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        mode = 0
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder: name a file", str(place))
    if mode and not stat.S_ISREG(mode):
        return
    # For a link, the folder of its target.
    folder = Path(os.path.realpath(place)).parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder is not there", str(place))
    AtomicFile(Path(os.path.realpath(place))).abandon()


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse outputs that would replace an input, through links too.

    Raises
    ------
    TableError
    """
    read = [path for path in inputs if path.exists()]
    for output in outputs:
        for path in read:
            if output.exists() and output.samefile(path):
                message = f"{output} is the input {path}; name another output"
                raise TableError(message)


def same_place(one: str | Path, other: str | Path) -> bool:
    """Return whether two paths lead to the same file through links; a hard link is another file."""
    return os.path.realpath(one) == os.path.realpath(other)


def _differ_in_case(one: Path, other: Path) -> bool:
    """Return whether two names, of which one has no file, may be one file if case is ignored."""
    first, second = os.path.realpath(one), os.path.realpath(other)
    return first.casefold() == second.casefold() and not (one.exists() and other.exists())
