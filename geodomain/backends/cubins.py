"""Compiled kernels on disk: what identifies one, and how it gets there; no driver needed.

PyCUDA's own cache preprocesses through nvcc on every load and writes its files in
place. Here a cubin is found by a hash of the flattened source, the flags, the
architecture and the compiler, and appears under its name whole or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from geodomain.backends.native import kernel_folders

FLAGS = ("--fmad=false", "-std=c++17", "-O3")
_INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)


def source(name: str) -> str:
    """Return a kernel file with our own headers put in place, each once."""
    seen: set[str] = set()

    def text(file: str) -> str:
        if file in seen:
            return ""
        seen.add(file)
        body = _find(file).read_text(encoding="utf-8").replace("#pragma once\n", "")
        return _INCLUDE.sub(lambda match: text(match[1]), body)

    return text(name)


def _find(file: str) -> Path:
    for folder in kernel_folders():
        if (folder / file).is_file():
            return folder / file
    message = f"the kernel source {file} is missing; reinstall geodomain"
    raise FileNotFoundError(message)


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
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "geodomain"


def key(text: str, architecture: str, made_by: str) -> str:
    """Return the file name of a cubin."""
    parts = "\0".join((text, architecture, made_by, *FLAGS))
    return hashlib.sha256(parts.encode()).hexdigest() + ".cubin"


def cubin(name: str, architecture: str, build: Callable[[str], bytes]) -> bytes:
    """Return a kernel file's cubin, from the cache or from ``build(source)``.

    A cache that cannot be read or written costs a compilation, nothing else.
    """
    text = source(name)
    path = folder() / key(text, architecture, compiler() or "")
    with contextlib.suppress(OSError):
        return path.read_bytes()
    binary = build(text)
    with contextlib.suppress(OSError):
        _store(path, binary)
    return binary


def _store(path: Path, binary: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".making-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(binary)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
