"""Where the kernels are on disk: sources, compiled cores, and whether the two belong together."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from geodomain.errors import CoreError

SUFFIX = ".dll" if sys.platform == "win32" else ".so"


def kernel_folders() -> list[Path]:
    """Return the folders with kernels: the package's own, then those of installed copies.

    Python that runs in a checkout imports the package from there, while the compiled cores are
    where pip put them.
    """
    package = sys.modules[__name__.partition(".")[0]].__path__
    folders = [Path(folder, "kernels") for folder in package]
    folders += [Path(folder, "geodomain", "kernels") for folder in sys.path]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def sources() -> Path | None:
    """Return the folder with the sources that belong to the Python code, or None without any."""
    return next((folder for folder in kernel_folders() if (folder / "faces").is_dir()), None)


def load(name: str) -> ctypes.CDLL:
    """Load a compiled core, such as "core_v3".

    Raises
    ------
    CoreError
        If there is none, or if it was built from other sources than those beside the Python code.
    """
    path = next((one for one in _places(name) if one.is_file()), None)
    if path is None:
        places = ", ".join(str(one.parent) for one in _places(name)) or "any folder"
        message = f"the compiled core {name}{SUFFIX} is not in {places}; {_mend()}"
        raise CoreError(message)
    core = ctypes.CDLL(str(path))
    folder = sources()
    if folder is not None and _built_from(core) != core_stamp(folder):
        message = f"{path} was built from other sources than those in {folder}; {_mend()}"
        raise CoreError(message)
    return core


def _places(name: str) -> list[Path]:
    return [folder / (name + SUFFIX) for folder in kernel_folders()]


def _mend() -> str:
    """Say what to do for a core that fits."""
    folder = sources()
    if folder is not None and (folder.parent / "pyproject.toml").is_file():
        return f"run 'pip install .' in {folder.parent}"
    return "run 'pip install --force-reinstall geodomain'"


def _built_from(core: ctypes.CDLL) -> str:
    """Return the stamp that was compiled into a core; "" where it is too old to have one."""
    try:
        stamp = core.geodomain_build_stamp
    except AttributeError:
        return ""
    stamp.restype = ctypes.c_char_p
    text: bytes = stamp()
    return text.decode()


@functools.cache
def core_stamp(folder: Path) -> str:
    """Return the stamp of all that a core is compiled from, as CMakeLists.txt computes it."""
    return stamp(folder, sorted(["CMakeLists.txt", *headers(folder), *_below(folder, ".cpp")]))


def headers(folder: Path) -> list[str]:
    """Name the headers below a folder, sorted as CMake does.

    As paths, grid/a.h would come before grid.h.
    """
    return sorted(_below(folder, ".h"))


def _below(folder: Path, ending: str) -> list[str]:
    """Name files below a folder, with slashes; a process pays for it once, so not by Path."""
    names = []
    for place, _, files in os.walk(folder):
        inside = place[len(str(folder)) :].replace(os.sep, "/").lstrip("/")
        names += [f"{inside}/{file}".lstrip("/") for file in files if file.endswith(ending)]
    return names


def stamp(folder: Path, files: Iterable[str]) -> str:
    """Return the hash of the hashes of files."""
    hashes = [hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in files]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()
