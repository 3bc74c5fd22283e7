"""The wheel's PTX as modules: the driver makes kernels into machine code, several at a time.

PyCUDA holds the interpreter's lock while the driver compiles, so the driver is called through
ctypes, which lets it go. What it made is kept in the cache, beside what nvcc makes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from geodomain.backends.cuda import cubins, libcuda
from geodomain.backends.cuda import errors as cuda_errors
from geodomain.backends.cuda.ptx import kernels, only
from geodomain.backends.cuda.pycuda_types import CudaKernel, CudaModule, Driver
from geodomain.backends.threads import thread_count

_THREADS = 8
# What a question launches of a file, in order, by what follows "geodomain_": begun together, at the
# first of them. A kernel that is not here is begun alone.
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

# By where the cache has it, for all devices: machine code, or None where the driver made none.
_made: dict[Path, Future[bytes | None]] = {}


class PtxModule:
    """A kernel file that the wheel brings as PTX; each of its kernels is loaded by itself.

    Parameters
    ----------
    cuda : Driver
    text : str
    architecture : str
        Of the device, such as sm_90.
    """

    def __init__(self, cuda: Driver, text: str, architecture: str) -> None:
        self._cuda, self._text, self._architecture = cuda, text, architecture
        self._hash = hashlib.sha256(text.encode()).hexdigest()
        self._made_by = f"driver {cuda.get_driver_version()}"
        self._loaded: dict[str, CudaModule] = {}

    def get_function(self, name: str) -> CudaKernel:
        """Have the driver compile a kernel, in the current context, and return it.

        Those that are launched with it are begun meanwhile. No two threads may call this at once.
        """
        if name not in self._loaded:
            self._begin(name)
            self._loaded[name] = self._load(name)
        return self._loaded[name].get_function(name)

    def _path(self, kernel: str) -> Path:
        what = f"{kernel} of {self._hash}"
        return cubins.folder() / cubins.key(what, self._architecture, self._made_by)

    def _begin(self, name: str) -> None:
        """Begin a kernel and those that are launched with it, where they are not begun yet."""
        here, context = kernels(self._text), libcuda.current_context()
        if name not in here or context is None or self._path(name) in _made:
            return
        asked = [name, *(one for some in TOGETHER if name in some for one in some if one in here)]
        paths = {one: path for one in asked if (path := self._path(one)) not in _made}
        pool = ThreadPoolExecutor(min(len(paths), thread_count(None), _THREADS))
        with contextlib.suppress(RuntimeError):  # no thread: one too many, or the process ends
            for one, path in paths.items():
                cut = functools.partial(only, self._text, one)
                _made[path] = pool.submit(_machine_code, path, cut, context)
        pool.shutdown(wait=False)

    def _load(self, name: str) -> CudaModule:
        """Load a kernel's machine code; its PTX where that cannot be had."""
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
                cubins.discard(path)
        return cuda.module_from_buffer(only(self._text, name).encode())


def _machine_code(path: Path, cut: Callable[[], str], context: int) -> bytes | None:
    """Return a kernel's machine code: the cache's, or, kept there, what the driver makes of PTX."""
    binary = cubins.read(path)
    if binary is None:
        binary = libcuda.linked(cut().encode(), context)
        if binary is not None:
            cubins.keep(path, binary)
    return binary
