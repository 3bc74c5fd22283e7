"""Compiled kernels on disk: what identifies one, and how it gets there; no driver needed.

PyCUDA's own cache preprocesses through nvcc on every load and writes its files in
place. Here a cubin is found by a hash of the flattened source, the flags, the
architecture and the compiler, appears under its name whole or not at all, and ends
in a hash of its own, so that a damaged one is made again and never run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from geodomain.backends.kernel_files import headers, kernel_folders, stamp

FLAGS = ("--fmad=false", "-std=c++17", "-O3")
_INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)
_VERSION = re.compile(r"^\.version (\d+)\.(\d+)", re.MULTILINE)
_TARGET = re.compile(r"^\.target sm_(\d+)", re.MULTILINE)
# Where systems keep users' caches: in the folder that a variable names, or in one of their homes.
_CACHES = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("", "Library/Caches")}
_NVCC_READS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")  # flags, from the environment
_DIGEST_BYTES = 32


@dataclass(frozen=True)
class Image:
    """A kernel file in a form that a driver loads.

    Attributes
    ----------
    origin : str
        "cache", "nvcc" or "PTX".
    read : callable
        Returns its bytes.
    path : Path, optional
        Where the cache has it.
    """

    origin: str
    read: Callable[[], bytes]
    path: Path | None = None

    def discard(self) -> None:
        """Take it out of the cache, because the driver refuses it."""
        if self.path is not None:
            discard(self.path)


def images(name: str, architecture: str, build: Callable[[str], bytes]) -> Iterator[Image]:
    """Return a kernel file's images, the best first; the next one where the driver refuses it.

    The cache's; one that nvcc makes, where there is one; the PTX of the wheel, which every
    driver compiles that is not older than the toolkit that wrote it, for a device that is not
    older than its target. A cache that cannot be
    read or written costs a compilation, nothing else. No process is started before nvcc itself.
    """
    text = source(name)
    made_by = compiler()
    for path in _candidates(text, architecture, made_by):
        binary = read(path)
        if binary is not None:
            yield Image("cache", binary.__bytes__, path)
    if made_by is not None:
        path = folder() / key(text, architecture, made_by)
        yield Image("nvcc", lambda: keep(path, build(text)), path)
    ptx = shipped(name)
    if ptx is not None and _serves(ptx, architecture):
        yield Image("PTX", ptx.read_bytes)


def source(name: str) -> str:
    """Return a kernel file of `kernels/faces` with our own headers put in place, each once."""
    root, seen = _root(name), set[str]()

    def text(file: str) -> str:
        if file in seen:
            return ""
        seen.add(file)
        path = root / file
        if not path.is_file():
            raise FileNotFoundError(_missing(file))
        body = path.read_text(encoding="utf-8").replace("#pragma once\n", "")
        return _INCLUDE.sub(lambda match: text(match[1]), body)

    return text(f"faces/{name}")


def _root(name: str) -> Path:
    """Return the folder of kernels that has a kernel file."""
    for folder in kernel_folders():
        if (folder / "faces" / name).is_file():
            return folder
    raise FileNotFoundError(_missing(name))


def _missing(file: str) -> str:
    return f"the kernel source {file} is missing; reinstall geodomain"


def shipped(name: str) -> Path | None:
    """Return the PTX that was made with the wheel, or None: its builder had no nvcc.

    None, too, where the sources are no longer those that it was made from.
    """
    for folder in kernel_folders():
        path = folder / Path(name).with_suffix(".ptx")
        made = path.with_name(path.name + ".sha256")
        if path.is_file() and made.is_file() and made.read_text().strip() == _made_from(name):
            return path
    return None


def shipped_version() -> int | None:
    """Return the CUDA version that a driver must be for to take the PTX: at least 12000, say.

    The version of the PTX language says it: 8.0 is of CUDA 12.0, 9.0 of CUDA 13.0.
    """
    for folder in kernel_folders():
        for path in folder.glob("*.ptx"):
            version = _VERSION.search(path.read_text(encoding="utf-8"))
            if version is not None:
                return (int(version[1]) + 4) * 1000 + int(version[2]) * 10
    return None


def _serves(ptx: Path, architecture: str) -> bool:
    """Return whether a device is not older than what PTX was made for."""
    target = _TARGET.search(ptx.read_text(encoding="utf-8"))
    return target is None or int(target[1]) <= int(architecture.removeprefix("sm_"))


def _made_from(name: str) -> str:
    """Return the hash of the hashes of all headers and a kernel file, as CMakeLists.txt has it."""
    root = _root(name)
    return stamp(root, [*headers(root), f"faces/{name}"])


def compiler() -> str | None:
    """Return what identifies nvcc here without running it, or None where there is none."""
    path = shutil.which("nvcc")
    if path is None:
        return None
    status = Path(path).resolve().stat()
    return f"{Path(path).resolve()} {status.st_size} {status.st_mtime_ns}"


def folder() -> Path:
    """Return the cache's folder: GEODOMAIN_CACHE, or the user's cache."""
    chosen = os.environ.get("GEODOMAIN_CACHE")
    if chosen:
        return Path(chosen)
    variable, usual = _CACHES.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    base = Path(os.environ.get(variable, ""))
    if base.is_absolute():
        return base / "geodomain"
    try:
        return Path.home() / usual / "geodomain"
    except RuntimeError:  # a user of no name, as in a container
        owner = getattr(os, "getuid", lambda: "cache")()
        return Path(tempfile.gettempdir()) / f"geodomain-{owner}"


def is_private(place: Path) -> bool:
    """Return whether only this user can have put code into a folder; true where there is none."""
    try:
        status = place.stat()
    except OSError:
        return True
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def key(text: str, architecture: str, made_by: str) -> str:
    """Return the file name of a cubin."""
    return f"{_what(text, architecture)}-{_hash(made_by)}.cubin"


def _what(text: str, architecture: str) -> str:
    added = [os.environ.get(variable, "") for variable in _NVCC_READS]
    return _hash("\0".join((text, architecture, *FLAGS, *added)))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _candidates(text: str, architecture: str, made_by: str | None) -> list[Path]:
    """Name the cached cubins: this compiler's, or, where nvcc has gone, any compiler's."""
    place = folder()
    if made_by is not None:
        return [place / key(text, architecture, made_by)]
    return sorted(place.glob(f"{_what(text, architecture)}-*.cubin"))


def read(path: Path) -> bytes | None:
    """Return a cubin as it was stored; None where it is not there, damaged, or maybe another's."""
    try:
        stored = path.read_bytes() if is_private(path.parent) else b""
    except OSError:
        return None
    binary, digest = stored[:-_DIGEST_BYTES], stored[-_DIGEST_BYTES:]
    return binary if hashlib.sha256(binary).digest() == digest else None


def keep(path: Path, binary: bytes) -> bytes:
    """Store what was compiled, if the cache will have it, and return it."""
    with contextlib.suppress(OSError):
        _store(path, binary)
    return binary


def discard(path: Path) -> None:
    """Take a cubin out of the cache."""
    with contextlib.suppress(OSError):
        path.unlink()


def _store(path: Path, binary: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_private(path.parent):
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".making-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(binary + hashlib.sha256(binary).digest())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
