"""Output files that appear only when they are complete, and checks of their paths."""

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
    """Write a temporary file in the folder of a path, and move it to the path in one step.

    If a run is killed, the path holds the old file or the complete new one, never a part of it.

    Parameters
    ----------
    path : Path
        The file to make or replace, with links resolved. A file that replaces another gets the mode
        of the old file and, if the system allows it, the old file's owner.
    new : bool
        Refuse to replace any file, even a file that appears at the path during the writing.
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
        """Write all of the data, and return the number of bytes."""
        with self._lock:
            done = write_all(partial(os.write, self._descriptor), data, str(self._path))
            self._start_flush(done)
        return done

    def commit(self) -> None:
        """Move the file to its path, and flush it to the disk as far as the system allows.

        Raises
        ------
        FileExistsError
            If `new` was set, and another run has put a file at the path.
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
        """Start to flush the last `size` bytes to the disk, so that `commit` has little left to do.

        The system is told that memory need not hold these bytes any more. It therefore starts to
        write them to the disk; until this is done, memory still holds them.
        """
        if hasattr(os, "posix_fadvise"):
            with contextlib.suppress(OSError):
                os.posix_fadvise(self._descriptor, self._size, size, os.POSIX_FADV_DONTNEED)
        self._size += size


def write_all(write: Callable[[memoryview], int], data: memoryview, name: str) -> int:
    """Write all of the data, and return the number of bytes; an OSError names the file `name`."""
    done = 0
    try:
        while done < len(data):
            done += write(data[done:])
    except OSError as error:
        error.filename = name
        raise
    return done


def _open_nameless(folder: Path) -> int:
    """Return the descriptor of a new file without a name, or -1 if the system has no such files.

    The system removes such a file if the run is killed.
    """
    if not hasattr(os, "O_TMPFILE"):
        return -1
    try:
        descriptor = os.open(folder, os.O_WRONLY | os.O_TMPFILE, 0o666)
    except OSError:  # the file system has no such files, or there is no such folder
        return -1
    if not os.path.lexists(_path_of(descriptor)):
        os.close(descriptor)
        return -1
    return descriptor


def _name(descriptor: int, path: Path) -> None:
    """Give a name to a file that was opened without one.

    os.link gets the descriptor of a folder; without it, os.link does not follow links in /proc.
    """
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.link(_path_of(descriptor), path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _put_new(part: Path, path: Path) -> None:
    """Move a file to a path at which there is no file, in one step if the system can.

    Raises
    ------
    FileExistsError
        If a file has appeared at the path.
    """
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


def _path_of(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"


def _sync_folder(folder: Path) -> None:
    """Flush the renaming of a file in a folder to the disk, if the system has a call for this.

    Other systems flush it by themselves. Errors are ignored, because the file is already at its
    path.
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
            message = f"{path} already exists; name another output, or use overwrite=True"
            raise FileExistsError(message)


# Checks of output paths, before any work starts.


def require_places(outputs: Iterable[Path], *, overwrite: bool = False) -> None:
    """Refuse output paths to which no file could be written, before any work starts.

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
        If links form a circle, if an output is a folder, or if no file can be made in the folder of
        an output.
    """
    places = list(outputs)
    for path, other in combinations(places, 2):
        if same_place(path, other):
            message = f"{path} is given for two outputs: give each output a file of its own"
            raise TableError(message)
        if _differ_in_case(path, other):
            message = (
                f"{path} and {other} are the same file on disks that ignore upper and lower case: "
                "give each output its own name"
            )
            raise TableError(message)
    for place in places:
        _require_writable(place)
    refuse_to_replace([place for place in places if place.is_file()], overwrite=overwrite)


def _require_writable(place: Path) -> None:
    """Raise OSError if a path is a folder, or if no file can be made at that path."""
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        mode = 0
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder: name a file", str(place))
    if mode and not stat.S_ISREG(mode):
        return
    AtomicFile(target_of(place)).abandon()


def target_of(place: Path) -> Path:
    """Return the path with its links resolved; raise FileNotFoundError if its folder is missing.

    Resolving `missing/../a.csv` gives `a.csv`, so the folder is looked for in the path as it was
    written, too; otherwise this file would be replaced although no check has recognised it.
    """
    target = Path(os.path.realpath(place))
    if not (place.parent.is_dir() and target.parent.is_dir()):
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(place))
    return target


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse outputs that would replace an input, whether directly or through a link.

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


def same_place(path: str | Path, other: str | Path) -> bool:
    """Return whether two paths are equal after symbolic links are resolved.

    Two hard links to the same file count as different paths.
    """
    return os.path.realpath(path) == os.path.realpath(other)


def _differ_in_case(path: Path, other: Path) -> bool:
    """Return whether two paths would be one file on a disk that ignores upper and lower case.

    If files exist at both paths, the disk distinguishes the paths, and the result is False.
    """
    first, second = os.path.realpath(path), os.path.realpath(other)
    return first.casefold() == second.casefold() and not (path.exists() and other.exists())
