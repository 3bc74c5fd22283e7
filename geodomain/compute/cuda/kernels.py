"""Find compiled kernels and pack their arguments.

Kernels come from the cache on disk, from nvcc, or from the PTX in the wheel.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import re
import shutil
import stat
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from geodomain.compute.cuda import driver
from geodomain.compute.cuda import driver as cuda_errors
from geodomain.compute.cuda.driver import CudaKernel, CudaModule, Driver
from geodomain.compute.native import headers, kernel_folders, stamp, thread_count

# An address or a count of 64 bits, a double, a number of 32 bits, the bytes of a structure.
Argument: TypeAlias = int | float | bytes | ctypes.c_float | ctypes.c_int32 | ctypes.c_uint32

# Fields are aligned as in C; "0Q" adds only the padding before a field of eight bytes.
_FORMATS: dict[type, str] = {
    int: "Q",
    float: "d",
    ctypes.c_float: "f",
    ctypes.c_int32: "i",
    ctypes.c_uint32: "I",
}
_PYTHONS = (int, float, bytes)


def arguments(*fields: Argument) -> bytes:
    """Pack a kernel's arguments, aligned as in C.

    A field is an int (a 64-bit address or count), a float, a ctypes value of 32 bits, or the
    bytes of a structure. A structure is aligned to eight bytes; `kernels/launch/layout.cpp` makes
    sure that this is right for all structures that kernels take by value. There is no padding after
    the last field, because a launch with padding fails with the error "lack of resources".
    """
    shape = tuple([len(field) if isinstance(field, bytes) else type(field) for field in fields])
    values = [field if isinstance(field, _PYTHONS) else field.value for field in fields]
    return _packer(shape).pack(*values)


@functools.lru_cache(maxsize=256)
def _packer(shape: tuple[int | type, ...]) -> struct.Struct:
    """Return the packer for fields of these types; a number n means a structure of n bytes."""
    codes = [f"0Q{kind}s" if isinstance(kind, int) else _FORMATS[kind] for kind in shape]
    return struct.Struct("@" + "".join(codes))


# PTX of a kernel file, cut into its kernels.

# The name of a kernel or device function, after the function's return value.
_NAME = re.compile(r"\n(?:\.visible )?\.(?:entry|func)\s+(?:\([^)]*\)\s*)?(\w+)")
_DECLARED = re.compile(r"\n\.func\s+(?:\([^)]*\)\s*)?(\w+)\s*\([^)]*\)\s*;")
_ENTRY = re.compile(r"\.entry\s+(\w+)")


def kernels(text: str) -> set[str]:
    """Return the names of the kernels in PTX text."""
    return set(_ENTRY.findall(text))


def only(text: str, kernel: str) -> str:
    """Return the PTX of one kernel and of the functions that it calls.

    If ``text`` has no such kernel, all of ``text`` is returned.
    """
    parts = _parts(text)
    bodies = {name: part for name, part in parts if name}
    functions = {name for name, part in bodies.items() if part.startswith("\n.func")}
    needed, new = set[str](), {kernel} & bodies.keys()
    while new:
        needed |= new
        new = {name for name in functions - needed if any(name in bodies[each] for each in new)}
    if not needed:
        return text

    def declared(match: re.Match[str]) -> str:
        return match[0] if match[1] in needed else ""

    texts = [_DECLARED.sub(declared, part) if not name else part for name, part in parts]
    names = [name for name, _ in parts]
    return "".join(part for name, part in zip(names, texts, strict=True) if name in {"", *needed})


def _parts(text: str) -> list[tuple[str, str]]:
    """Split PTX into pairs (name, text), one for each kernel or function with a body.

    Text between the bodies has the name "". The split assumes that the braces around a body are at
    the beginning of a line, and that other braces are not.
    """
    parts, begin = [], 0
    while (body := text.find("\n{\n", begin)) >= 0:
        end = text.index("\n}\n", body) + 2
        head = max(text.rfind(word, begin, body) for word in ("\n.func", "\n.visible .entry"))
        match = _NAME.match(text, head)
        if head < 0 or match is None:
            return [("", text)]
        parts += [("", text[begin:head]), (match[1], text[head:end])]
        begin = end
    return [*parts, ("", text[begin:])]


# Compiled kernels on disk.

FLAGS = ("--fmad=false", "-std=c++17", "-O3")
_INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)
_VERSION = re.compile(r"^\.version (\d+)\.(\d+)", re.MULTILINE)
_TARGET = re.compile(r"^\.target sm_(\d+)", re.MULTILINE)
# Users' cache folders by system: the variable that names it, or else a folder of their home.
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
        Returns the image's bytes.
    path : Path, optional
        The image's file in the cache.
    """

    origin: str
    read: Callable[[], bytes]
    path: Path | None = None

    def discard(self) -> None:
        """Remove the image from the cache; call this if the driver refuses the image."""
        if self.path is not None:
            discard(self.path)


def images(name: str, architecture: str, build: Callable[[str], bytes]) -> Iterator[Image]:
    """Yield a kernel file's images, the best first; the caller tries one after the other.

    The order is: the cached image, an image that nvcc compiles (if nvcc is installed), the wheel's
    PTX. A driver can compile the PTX if the driver is not older than the toolkit that wrote the
    PTX, and the device is not older than the PTX's target. If the cache cannot be read or written,
    the only cost is a compilation. No process other than nvcc is started.
    """
    text = source(name)
    compiler_id = compiler()
    for path in _candidates(text, architecture, compiler_id):
        binary = read(path)
        if binary is not None:
            yield Image("cache", binary.__bytes__, path)
    if compiler_id is not None:
        path = folder() / key(text, architecture, compiler_id)
        yield Image("nvcc", lambda: keep(path, build(text)), path)
    ptx = shipped(name)
    if ptx is not None and _serves(ptx, architecture):
        yield Image("PTX", ptx.read_bytes)


def source(name: str) -> str:
    """Return the text of a file of `kernels/launch`, with each of our headers inlined once."""
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

    return text(f"launch/{name}")


def _root(name: str) -> Path:
    """Return the kernels folder that contains a kernel file."""
    for folder in kernel_folders():
        if (folder / "launch" / name).is_file():
            return folder
    raise FileNotFoundError(_missing(name))


def _missing(file: str) -> str:
    return f"the kernel source {file} is missing; reinstall geodomain"


def shipped(name: str) -> Path | None:
    """Return the path of the wheel's PTX of a kernel file, or None if there is no valid PTX.

    PTX is not valid if the kernel's sources have changed since. A wheel that was built without
    nvcc has no PTX.
    """
    for folder in kernel_folders():
        path = folder / Path(name).with_suffix(".ptx")
        made = path.with_name(path.name + ".sha256")
        if path.is_file() and made.is_file() and made.read_text().strip() == _made_from(name):
            return path
    return None


def shipped_version() -> int | None:
    """Return the CUDA version that a driver needs to load the wheel's PTX, such as 12000.

    It follows from the version of the PTX language: 8.0 belongs to CUDA 12.0, 9.0 to CUDA 13.0.
    Returns None if there is no PTX.
    """
    for folder in kernel_folders():
        for path in folder.glob("*.ptx"):
            version = _VERSION.search(path.read_text(encoding="utf-8"))
            if version is not None:
                return (int(version[1]) + 4) * 1000 + int(version[2]) * 10
    return None


def _serves(ptx: Path, architecture: str) -> bool:
    """Return whether a device of an architecture is new enough for a PTX file."""
    target = _TARGET.search(ptx.read_text(encoding="utf-8"))
    return target is None or int(target[1]) <= int(architecture.removeprefix("sm_"))


def _made_from(name: str) -> str:
    """Return the hash of a kernel file and all headers, computed as in CMakeLists.txt."""
    root = _root(name)
    return stamp(root, [*headers(root), f"launch/{name}"])


def compiler() -> str | None:
    """Return a text that identifies nvcc, without running nvcc; None if nvcc is missing."""
    path = shutil.which("nvcc")
    if path is None:
        return None
    status = Path(path).resolve().stat()
    return f"{Path(path).resolve()} {status.st_size} {status.st_mtime_ns}"


def folder() -> Path:
    """Return the cache folder: GEODOMAIN_CACHE or, if not set, a folder in the user's cache."""
    chosen = os.environ.get("GEODOMAIN_CACHE")
    if chosen:
        return Path(chosen)
    variable, usual = _CACHES.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    base = Path(os.environ.get(variable, ""))
    if base.is_absolute():
        return base / "geodomain"
    try:
        return Path.home() / usual / "geodomain"
    except RuntimeError:  # a user without a name, as in a container
        owner = getattr(os, "getuid", lambda: "cache")()
        return Path(tempfile.gettempdir()) / f"geodomain-{owner}"


def is_private(place: Path) -> bool:
    """Return whether only this user can write to a folder; True if the folder does not exist."""
    try:
        status = place.stat()
    except OSError:
        return True
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def key(text: str, architecture: str, made_by: str) -> str:
    """Return the name of the file in the cache for the cubin compiled from a source text."""
    return f"{_content_hash(text, architecture)}-{_hash(made_by)}.cubin"


def _content_hash(text: str, architecture: str) -> str:
    added = [os.environ.get(variable, "") for variable in _NVCC_READS]
    return _hash("\0".join((text, architecture, *FLAGS, *added)))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _candidates(text: str, architecture: str, made_by: str | None) -> list[Path]:
    """List the cached cubins of a source text.

    If nvcc is installed, only cubins of this nvcc are listed, otherwise cubins of any nvcc.
    """
    place = folder()
    if made_by is not None:
        return [place / key(text, architecture, made_by)]
    return sorted(place.glob(f"{_content_hash(text, architecture)}-*.cubin"))


def read(path: Path) -> bytes | None:
    """Return a cubin from the cache; None if it is missing, damaged, or may be another user's."""
    try:
        stored = path.read_bytes() if is_private(path.parent) else b""
    except OSError:
        return None
    binary, digest = stored[:-_DIGEST_BYTES], stored[-_DIGEST_BYTES:]
    return binary if hashlib.sha256(binary).digest() == digest else None


def keep(path: Path, binary: bytes) -> bytes:
    """Store a cubin in the cache, if the cache is writable, and return the cubin."""
    with contextlib.suppress(OSError):
        _store(path, binary)
    return binary


def discard(path: Path) -> None:
    """Remove a cubin from the cache."""
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


# The wheel's PTX, which the driver compiles, several modules at a time.

_THREADS = 8
# Kernels of a file that a query launches in this order, without "geodomain_": they are compiled
# together when the first is needed. A kernel that is not listed is compiled alone.
TOGETHER = tuple(
    tuple(f"geodomain_{word}" for word in line.split())
    for line in (
        "build_extents build_plan build_count build_count_large build_mark_full build_sums "
        "build_offsets build_lists build_scatter",
        "look_up count_quick count_full",
        "codes_look_up codes_quick codes_full",
        "lattice_toggle lattice_full",
        "shares_shed shares_count shares_settle",
        "bvh_boxes bvh_codes bvh_climb bvh_begin bvh_gather bvh_fill",
        "radix_count radix_add_up radix_scatter",
        "distance_packets distance_nodes distance_note distance_inside distance_edges "
        "distance_others distance_rest",
        "segments_boolean segments_boolean_full",
        "segments_count segments_count_full",
        "segments_nearest segments_nearest_full segments_describe",
        "segments_all segments_all_full segments_describe",
        "bins_draw bins_add_up bins_begin bins_order",
        "bins_draw_points bins_add_up bins_begin bins_order",
    )
)

# Machine code for all devices, by its file in the cache; None if the driver could not make it.
_made: dict[Path, Future[bytes | None]] = {}


class PtxModule:
    """A kernel file as PTX from the wheel; each kernel is compiled and loaded separately.

    Parameters
    ----------
    cuda : Driver
        PyCUDA's driver module.
    text : str
        The PTX.
    architecture : str
        Architecture of the device, such as sm_90.
    """

    def __init__(self, cuda: Driver, text: str, architecture: str) -> None:
        self._cuda, self._text, self._architecture = cuda, text, architecture
        self._hash = hashlib.sha256(text.encode()).hexdigest()
        self._made_by = f"driver {cuda.get_driver_version()}"
        self._loaded: dict[str, CudaModule] = {}

    def get_function(self, name: str) -> CudaKernel:
        """Compile a kernel with the driver, in the current context, and return the kernel.

        Other threads compile the kernels that are usually launched with this kernel, at the same
        time. Only one thread at a time may call this method.
        """
        if name not in self._loaded:
            self._begin(name)
            self._loaded[name] = self._load(name)
        return self._loaded[name].get_function(name)

    def _path(self, kernel: str) -> Path:
        what = f"{kernel} of {self._hash}"
        return folder() / key(what, self._architecture, self._made_by)

    def _begin(self, name: str) -> None:
        """Start to compile a kernel and the kernels launched with it, unless already started."""
        here, context = kernels(self._text), driver.current_context()
        if name not in here or context is None or self._path(name) in _made:
            return
        wanted = [
            name,
            *(each for some in TOGETHER if name in some for each in some if each in here),
        ]
        paths = {each: path for each in wanted if (path := self._path(each)) not in _made}
        pool = ThreadPoolExecutor(min(len(paths), thread_count(None), _THREADS))
        with contextlib.suppress(RuntimeError):  # no thread: too many, or the process ends
            for each, path in paths.items():
                cut = functools.partial(only, self._text, each)
                _made[path] = pool.submit(_machine_code, path, cut, context)
        pool.shutdown(wait=False)

    def _load(self, name: str) -> CudaModule:
        """Load a kernel from its machine code; if there is none, load it from its PTX."""
        cuda, path = self._cuda, self._path(name)
        made = _made.get(path)
        binary = None if made is None else made.result()
        if binary is not None:
            try:
                return cuda.module_from_buffer(binary)
            except cuda.MemoryError:
                raise
            except cuda.Error:
                if cuda_errors.is_dead(cuda):
                    raise
                discard(path)
        return cuda.module_from_buffer(only(self._text, name).encode())


def _machine_code(path: Path, cut: Callable[[], str], context: int) -> bytes | None:
    """Return a kernel's machine code from the cache; if it is not there, compile and store it."""
    binary = read(path)
    if binary is None:
        binary = driver.linked(cut().encode(), context)
        if binary is not None:
            keep(path, binary)
    return binary
