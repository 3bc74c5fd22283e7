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
    """Write beside a path and take its place in one step.

    A run that is killed at any moment leaves what was at the path, or all that was
    written, never a part of it.

    Parameters
    ----------
    path : Path
        The file to make or replace, links resolved. One that is there lends its mode
        and, where that is allowed, its owner.
    new : bool
        Refuse to replace a file, one that appears while this one is written too.
    """

    def __init__(self, path: Path, *, new: bool = False) -> None:
        self._path, self._new = path, new
        self._before = path.stat() if path.exists() else None
        # Where the system has no nameless files, a killed run may leave this one behind.
        self._part = path.with_name(f".{path.stem[:80]}.{os.urandom(8).hex()}.part")
        self._descriptor = _open_nameless(path.parent)
        self._named = self._descriptor < 0
        if self._named:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            try:
                self._descriptor = os.open(self._part, flags, 0o666)
            except OSError as error:  # of the output: nobody has named the file beside it
                there = error.errno == errno.ENOENT and path.parent.is_dir()
                reason = "no file can be made in this folder" if there else error.strerror
                raise type(error)(error.errno, reason, str(path)) from None
        # What the system gives a new file here is the mode it shall have in the end.
        self._mode = stat.S_IMODE((self._before or os.fstat(self._descriptor)).st_mode)
        self._set_mode(0o600)
        self._size = 0
        self._lock = threading.Lock()  # no descriptor is closed while it is written to

    def write(self, data: memoryview) -> int:
        """Write all of the data."""
        with self._lock:
            done = write_all(partial(os.write, self._descriptor), data, str(self._path))
            self._start_flush(done)
        return done

    def commit(self) -> None:
        """Put the file in its place, safe from a power cut as far as the system goes.

        Raises
        ------
        FileExistsError
            For a new file, where another run has put one in the place.
        OSError
            If a file that was read for it has changed since.
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
        """Remove what was written; after `commit`, do nothing."""
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
        """Have the disk start on the last bytes, so that little is left to `commit`.

        They are not dropped from memory, as the advice says, while they are on their way.
        """
        if hasattr(os, "posix_fadvise"):
            with contextlib.suppress(OSError):
                os.posix_fadvise(self._descriptor, self._size, size, os.POSIX_FADV_DONTNEED)
        self._size += size


def write_all(write: Callable[[memoryview], int], data: memoryview, name: str) -> int:
    """Write until all is written; what goes wrong says of which file."""
    done = 0
    try:
        while done < len(data):
            done += write(data[done:])
    except OSError as error:
        error.filename = name
        raise
    return done


def _open_nameless(folder: Path) -> int:
    """Open a file without a name, of which a killed run leaves nothing; -1 if it cannot be."""
    if not hasattr(os, "O_TMPFILE"):
        return -1
    try:
        descriptor = os.open(folder, os.O_WRONLY | os.O_TMPFILE, 0o666)
    except OSError:  # the file system has no such files, or the folder is not there
        return -1
    if not os.path.lexists(_own(descriptor)):
        os.close(descriptor)
        return -1
    return descriptor


def _name(descriptor: int, path: Path) -> None:
    """Give a nameless file a name; only with a folder does os.link follow the link in /proc."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.link(_own(descriptor), path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _put_new(part: Path, path: Path) -> None:
    """Rename a file to a path where nothing is, in one step where the system can."""
    try:
        if os.name == "nt":
            part.rename(path)  # there it replaces nothing
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
    """Make a rename last; systems that cannot open a folder do it by themselves.

    The file is in its place already, so what goes wrong here is no failure to write it.
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
    """Raise FileExistsError for the first file that is there, unless that is allowed."""
    for path in paths:
        if path.exists() and not overwrite:
            message = f"{path} is there already; name another output, or use overwrite=True"
            raise FileExistsError(message)


# Checks of output paths, before any work starts.


def require_places(outputs: Iterable[Path], *, overwrite: bool = False) -> None:
    """Refuse outputs that could not be written in the end, or not all of them.

    Parameters
    ----------
    outputs : iterable of Path
        All that a command writes; pipes and devices among them are written to as they are.
    overwrite : bool
        Whether files that are there may be replaced.

    Raises
    ------
    TableError
        If two outputs have one place.
    FileNotFoundError
        If the folder of an output is not there.
    FileExistsError
        If an output is there and may not be replaced.
    OSError
        If links lead in a circle, the place is a folder, or no file can be made there.
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
    """Refuse a place where no file can be."""
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        mode = 0
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder: name a file", str(place))
    if mode and not stat.S_ISREG(mode):
        return
    # Of links, the folder that they lead to.
    folder = Path(os.path.realpath(place)).parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder is not there", str(place))
    AtomicFile(Path(os.path.realpath(place))).abandon()


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse outputs that would take the place of what is read, by whatever link.

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
    """Tell whether two paths lead to one file, links followed; a hard link is another file."""
    return os.path.realpath(one) == os.path.realpath(other)


def _differ_in_case(one: Path, other: Path) -> bool:
    """Tell whether two names that are not both there may be one file on a disk without case."""
    first, second = os.path.realpath(one), os.path.realpath(other)
    return first.casefold() == second.casefold() and not (one.exists() and other.exists())
