"""The stand-in driver and its linker in place of PyCUDA, and arrays on its device."""

from __future__ import annotations

import ctypes
import gc
import re
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_cuda import DeviceMemoryPool, FakeCuda

from geodomain import compute
from geodomain.compute import auto
from geodomain.compute.cuda import buffers, device, driver, kernels, lattices
from geodomain.compute.cuda import points as cuda_points

INVALID_CONTEXT, INVALID_PTX = 201, 218


class FakeLinker:
    """Each call takes what ctypes would pass on, and what is asked out of turn is an error."""

    def __init__(self, fake: FakeCuda) -> None:
        self.fake = fake
        self.linked: list[str] = []  # the kernels of each text, in the order they were asked for
        self.fails: Callable[[str], bool] = lambda text: False
        self.meanwhile: Callable[[], object] = lambda: None  # while one is made
        self.open: dict[int, tuple[str, ctypes.Array[Any]]] = {}
        self.turn = threading.Lock()

    def cuCtxGetCurrent(self, context: Any) -> int:
        current = self.fake.current
        context._obj.value = None if current is None else current + 1
        return 0

    def cuCtxPushCurrent_v2(self, context: Any) -> int:
        self.fake.stack.append(context.value - 1)
        return 0

    def cuCtxPopCurrent_v2(self, context: Any) -> int:
        context._obj.value = self.fake.stack.pop() + 1
        return 0

    def cuLinkCreate_v2(self, count: Any, options: Any, values: Any, state: Any) -> int:
        assert (count.value, options, values) == (0, None, None)
        if not self.fake.stack:
            return INVALID_CONTEXT
        with self.turn:
            state._obj.value = max(self.open, default=0) + 1
            self.open[state._obj.value] = "", (ctypes.c_char * 0)()
        return 0

    def cuLinkAddData_v2(
        self, state: Any, kind: int, data: bytes, size: Any, name: bytes, *options: Any
    ) -> int:
        assert kind == 1 and size.value == len(data) + 1 and name
        assert (options[0].value, *options[1:]) == (0, None, None)
        text = data.decode()
        kernels = " ".join(re.findall(r"\.entry (\w+)", text))
        self.linked.append(kernels)
        if self.fails(text):
            return INVALID_PTX
        major, minor = self.fake.capabilities[self.fake.current]
        code = f"LINKED sm_{major}{minor} {kernels}".encode()
        self.open[state.value] = text, ctypes.create_string_buffer(code, len(code))
        return 0

    def cuLinkComplete(self, state: Any, cubin: Any, size: Any) -> int:
        self.meanwhile()
        _, code = self.open[state.value]
        cubin._obj.value, size._obj.value = ctypes.addressof(code), len(code)
        return 0

    def cuLinkDestroy(self, state: Any) -> int:
        _, code = self.open.pop(state.value)
        ctypes.memset(code, 0xA5, len(code))  # who reads it later reads rubbish
        return 0


CACHED = (
    "driver",
    "numbers",
    "process",
    "context",
    "architecture",
    "has_slow_doubles",
    "module",
    "kernel",
    "_prepared",
)


def forget() -> None:
    """Make the next call start as the first one of a process does."""
    for name in CACHED:
        getattr(device, name).cache_clear()
    buffers.memory_pool.cache_clear()
    device.chosen.clear()
    kernels._made.clear()
    compute._choosing.cache_clear()
    compute._cuda.cache_clear()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    """Return a driver with one device of architecture sm_90, nvcc and an empty cache.

    However few points there are, they go the way of many.
    """
    made = FakeCuda([(9, 0)])
    made.compiled = []
    package, compiler = ModuleType("pycuda"), ModuleType("pycuda.compiler")
    package.__spec__ = ModuleSpec("pycuda", None)
    package.__path__ = []
    package.VERSION_TEXT = "2026.1"

    def compile(text: str, *, options: Any, no_extern_c: bool, arch: str, cache_dir: Any) -> bytes:
        assert no_extern_c and cache_dir is False and options == list(kernels.FLAGS)
        made.compiled.append(text)
        return f"CUBIN {arch} {len(made.compiled)}".encode()

    compiler.compile = compile
    tools = ModuleType("pycuda.tools")
    tools.DeviceMemoryPool = DeviceMemoryPool
    package.driver, package.compiler, package.tools = made, compiler, tools
    modules = {"": package, ".driver": made, ".compiler": compiler, ".tools": tools}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, f"pycuda{name}", module)
    monkeypatch.setenv("GEODOMAIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernels, "compiler", lambda: "nvcc 1")
    made.library = FakeLibcuda(made)
    monkeypatch.setattr(driver, "library", lambda: made.library)
    for module in (cuda_points, buffers):
        monkeypatch.setattr(module, "FEW_ROWS", 0)
    forget()
    yield made
    gc.collect()
    buffers.release()
    forget()


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let anything pay for the GPU."""
    for name in ("_COLD", "_WARM"):
        monkeypatch.setattr(auto, name, 0.0)
    for what in ("point", "block", "distance", "share", "lattice share", "clipped triangle"):
        monkeypatch.setitem(auto.COSTS, what, auto.COSTS[what]._replace(cuda=0.0))


def machine_used() -> tuple[str, str]:
    """Return where the last call of "auto" went, and why."""
    return compute._choosing().choice.record.machine_used


@pytest.fixture
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make several chunks, pieces and slabs of a few thousand points."""
    monkeypatch.setattr(buffers, "ROOM", 1024)
    monkeypatch.setattr(buffers, "TOGETHER", 1 << 13)
    monkeypatch.setattr(buffers, "RESIDENT", 2048)
    monkeypatch.setattr(buffers, "_SMALL_ROOM", 256)
    monkeypatch.setattr(buffers, "PIECE_ROWS", 64)
    monkeypatch.setattr(lattices, "SLAB_BYTES", 600)
    monkeypatch.setattr(lattices, "IN_PLACE_BYTES", 600)
    buffers.release()


class FakeLibcuda(FakeLinker):
    """The calls of the driver that are not made through PyCUDA."""

    def __init__(self, fake: FakeCuda) -> None:
        super().__init__(fake)
        self.status = 0  # of cuInit

    def cuInit(self, flags: int) -> int:
        return self.status

    def cuDriverGetVersion(self, version: Any) -> int:
        version._obj.value = self.fake.get_driver_version()
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = len(self.fake.capabilities)
        return 0

    def cuGetErrorName(self, status: int, name: Any) -> int:
        name._obj.value = {999: b"CUDA_ERROR_UNKNOWN"}[status]
        return 0

    def cuPointerGetAttributes(self, count: Any, names: Any, places: Any, address: Any) -> int:
        assert count.value == len(names) == len(places) == 1
        home = self.fake.home_of(address.value)
        pinned = self.fake.is_pinned(address.value)
        memory_type, ordinal = (1, 0) if pinned else (0, -2) if home is None else (2, home)
        value = {2: memory_type, 9: ordinal}[names[0]]
        ctypes.c_int.from_address(places[0]).value = value
        return 0

    def cuStreamSynchronize(self, handle: Any) -> int:
        self.fake.calls.append(f"wait {handle.value}")
        return 0


def on_device(fake: FakeCuda, array: np.ndarray, **changes: Any) -> Any:
    """Return an array of the device by the CUDA array interface; changes are of its fields."""
    with device.current():
        memory = fake.mem_alloc(max(array.nbytes, 1))
        fake.memcpy_htod(memory, np.ascontiguousarray(array).tobytes())
    told = {
        "shape": array.shape,
        "typestr": array.dtype.str,
        "data": (int(memory), False),
        "strides": None,
        "version": 3,
        "stream": None,
    }
    return SimpleNamespace(__cuda_array_interface__={**told, **changes}, memory=memory)


class ByDlpack:
    """An array of the device that speaks DLPack alone; NumPy makes the capsule."""

    def __init__(self, fake: FakeCuda, array: np.ndarray) -> None:
        there = on_device(fake, array)
        told = there.__cuda_array_interface__
        flat = fake.at(told["data"][0], array.size, array.dtype)
        self.kept, self.view = there, flat.reshape(array.shape)
        self.streams: list[int] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, stream: int) -> Any:
        self.streams.append(stream)
        return self.view.__dlpack__()


def read_back(fake: FakeCuda, array: Any) -> np.ndarray:
    """Return what a contiguous array of the device holds."""
    told = array.__cuda_array_interface__
    return fake.at(told["data"][0], int(np.prod(told["shape"])), told["typestr"]).copy()
