"""A stand-in for `pycuda.driver` where there is no GPU: memory, streams, events and faults.

The device's memory is the host's, filled with rubbish first. What is sent to a stream is done
when something waits for it and not before, so that code which waits too little reads rubbish.
The kernels are those of `fake_kernels` and its neighbours.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections import Counter
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from fake_distance import KERNELS as DISTANCE_KERNELS
from fake_kernels import KERNELS
from fake_segments import KERNELS as SEGMENT_KERNELS
from fake_shares import KERNELS as SHARE_KERNELS

RUBBISH = 0xA5


class Error(Exception):
    pass


class MemoryError(Error):
    pass


class LogicError(Error):
    pass


class LaunchError(Error):
    pass


class RuntimeError(Error):
    pass


class CompileError(Error):
    pass


class FakeCuda(ModuleType):
    """The module `pycuda.driver`, with one state for each test."""

    Error, MemoryError, LogicError = Error, MemoryError, LogicError
    LaunchError, RuntimeError, CompileError = LaunchError, RuntimeError, CompileError
    event_flags = SimpleNamespace(DISABLE_TIMING=2)
    device_attribute = SimpleNamespace(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO="ratio")

    def __init__(self, capabilities: list[tuple[int, int]]) -> None:
        super().__init__("pycuda.driver")
        self.__spec__ = ModuleSpec("pycuda.driver", None)
        self.capabilities = capabilities
        self.memory: dict[int, ctypes.Array[Any]] = {}
        self.homes: dict[int, int] = {}  # the device of each allocation, by its address
        self.pinned: dict[int, int] = {}  # address: bytes
        self.room = 1 << 40  # bytes of the device that are left
        self.most_bytes = self.used_bytes = 0
        self.crash: Exception | None = None  # an error that stays
        self.crashed: dict[int, Exception] = {}  # likewise, by device
        # By device: how many launches of the kernel there are until it crashes, and with what.
        self.crash_after: dict[int, tuple[str, int, Exception]] = {}
        self.attributes = {"ratio": 2}
        self.unsure = 0  # pairs of triangle and column that are left to the full arithmetic
        self.surfaces: dict[int, Any] = {}  # by the address of their packets
        self.shed: tuple[Any, ...] = ()  # mesh and weights whose shares come next
        self.crowded = False  # whether meshes have cells that are the host's to build
        self.fail_launch: dict[str, Exception] = {}
        self.fail_launch_for_good: dict[str, Exception] = {}
        self.calls: list[str] = []
        self.launched: Counter[tuple[int | None, str]] = Counter()  # by device and kernel
        self.images: list[bytes] = []
        self.refuses: Callable[[bytes], bool] = lambda image: False
        self.streams: list[Stream] = []
        self.held = threading.local()
        fake = self

        class Device:
            def __init__(self, number: int) -> None:
                self.number = number

            @staticmethod
            def count() -> int:
                return len(fake.capabilities)

            def name(self) -> str:
                return f"Imaginary GPU {self.number}"

            def compute_capability(self) -> tuple[int, int]:
                return fake.capabilities[self.number]

            def get_attribute(self, attribute: str) -> int:
                return fake.attributes[attribute]

            def total_memory(self) -> int:
                return 8 << 30

            def retain_primary_context(self) -> Context:
                return Context(self.number)

        class Context:
            def __init__(self, number: int) -> None:
                self.number = number

            def push(self) -> None:
                fake.stack.append(self.number)

            @staticmethod
            def pop() -> None:
                if not fake.stack:
                    msg = "cannot pop context from empty stack"
                    raise LogicError(msg)
                fake.stack.pop()

            @staticmethod
            def synchronize() -> None:
                fake.check("synchronize")
                for stream in fake.streams:
                    if stream.device == fake.current:
                        stream.run()

        self.Device, self.Context = Device, Context
        self.Stream = lambda flags=0: Stream(self)
        self.Event = lambda flags=0: Event(self)

    @property
    def null(self) -> Stream:
        """The stream that all the others wait for: what is sent there is done at once."""
        self.Context.synchronize()
        return NullStream(self)

    @property
    def stack(self) -> list[int]:
        """The devices whose contexts a thread has made current, the last one last."""
        if not hasattr(self.held, "stack"):
            self.held.stack = []
        return self.held.stack

    @property
    def current(self) -> int | None:
        """The device whose context is current."""
        return self.stack[-1] if self.stack else None

    @property
    def at_work(self) -> int | None:
        """The device whose stream is run, or whose context is current."""
        running = getattr(self.held, "running", None)
        return self.current if running is None else running

    def check(self, call: str) -> None:
        self.calls.append(call)
        if not self.stack:
            msg = f"{call} failed: invalid device context"
            raise LogicError(msg)
        if self.crash is not None:
            raise self.crash
        if self.stack[-1] in self.crashed:
            raise self.crashed[self.stack[-1]]

    def init(self) -> None:
        self.calls.append("init")

    def get_driver_version(self) -> int:
        return 12020

    def get_version(self) -> tuple[int, int, int]:
        return 13, 0, 0

    def mem_alloc(self, size: int) -> Allocation:
        self.check("mem_alloc")
        if size <= 0:
            msg = "cuMemAlloc failed: invalid argument"
            raise LogicError(msg)
        if size > self.room:
            msg = "cuMemAlloc failed: out of memory"
            raise MemoryError(msg)
        return Allocation(self, size)

    def pagelocked_empty(self, shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> Any:
        self.check("pagelocked_empty")
        array = np.empty(shape, dtype, order)
        ctypes.memset(array.ctypes.data, RUBBISH, array.nbytes)
        self.pinned[array.ctypes.data] = array.nbytes
        return array

    def is_pinned(self, address: int) -> bool:
        return any(start <= address < start + size for start, size in self.pinned.copy().items())

    def home_of(self, address: int) -> int | None:
        """Return the device that has an address."""
        for start, memory in self.memory.copy().items():
            if start <= address < start + len(memory):
                return self.homes[start]
        return None

    def at(self, address: int, count: int, dtype: Any = np.uint8) -> np.ndarray:
        """Return memory of the device that is at work, all of it within one allocation."""
        address, size = int(address), count * np.dtype(dtype).itemsize
        for start, memory in self.memory.copy().items():
            if start <= address and address + size <= start + len(memory):
                at_work = self.at_work
                assert at_work is None or at_work == self.homes[start], "another device's memory"
                return np.frombuffer(memory, np.uint8)[address - start :][:size].view(dtype)
        for start, length in self.pinned.copy().items():  # over the bus
            if start <= address and address + size <= start + length:
                return np.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype)
        msg = f"{size} bytes at {address} are in no allocation"
        raise AssertionError(msg)

    def memcpy_htod(self, dest: Any, src: Any) -> None:
        self.check("memcpy_htod")
        source = _flat(src)
        self.at(int(dest), source.nbytes)[:] = source

    def memcpy_dtoh(self, dest: Any, src: Any) -> None:
        self.check("memcpy_dtoh")
        self.Context.synchronize()
        target = _flat(dest)
        target[:] = self.at(int(src), target.nbytes)

    def memcpy_htod_async(self, dest: Any, src: Any, stream: Stream) -> None:
        source, target = _flat(src), int(dest)
        copy = lambda: self.at(target, source.nbytes).__setitem__(slice(None), source)  # noqa: E731
        stream.send("htod", copy, now=not self.is_pinned(source.ctypes.data))

    def memcpy_dtoh_async(self, dest: Any, src: Any, stream: Stream) -> None:
        target, source = _flat(dest), int(src)
        assert target.flags.writeable
        copy = lambda: target.__setitem__(slice(None), self.at(source, target.nbytes))  # noqa: E731
        stream.send("dtoh", copy, now=not self.is_pinned(target.ctypes.data))

    def memcpy_dtod_async(
        self, dest: Any, src: Any, size: int, stream: Stream | None = None
    ) -> None:
        into, source = int(dest), int(src)
        (stream or self.null).send(
            "dtod", lambda: self.at(into, size).__setitem__(..., self.at(source, size))
        )

    def memset_d32_async(
        self, dest: Any, data: int, count: int, stream: Stream | None = None
    ) -> None:
        place = int(dest)
        (stream or self.null).send("memset", lambda: self.at(place, count, np.uint32).fill(data))

    def memset_d8(self, dest: Any, data: int, count: int) -> None:
        self.check("memset_d8")
        self.at(int(dest), count).fill(data)

    def memset_d32(self, dest: Any, data: int, count: int) -> None:
        self.check("memset_d32")
        self.at(int(dest), count, np.uint32).fill(data)

    def module_from_buffer(self, image: bytes) -> Any:
        self.check("module_from_buffer")
        self.images.append(image)
        if self.refuses(image):
            msg = "cuModuleLoadDataEx failed: device kernel image is invalid - "
            raise LogicError(msg)
        return SimpleNamespace(get_function=lambda name: self._function(name))

    def _function(self, name: str) -> Any:
        kernel = (KERNELS | SEGMENT_KERNELS | DISTANCE_KERNELS | SHARE_KERNELS)[name]
        function = SimpleNamespace(format="")
        function.prepare = lambda types: setattr(function, "format", "".join(types))

        def launch(grid: Any, block: Any, stream: Any, arguments: bytes) -> None:
            assert grid[0] > 0 and function.format == f"{len(arguments)}s"
            self.launched[self.current, name] += 1
            if name in self.fail_launch:
                raise self.fail_launch[name]
            threads = grid[0] * block[0]
            (stream or self.null).send(name, lambda: kernel(self, arguments, threads))
            if name in self.fail_launch_for_good:
                self.crash = self.fail_launch_for_good[name]
            self._crash_in_time(name)

        function.prepared_async_call = launch
        return function

    def _crash_in_time(self, name: str) -> None:
        """Let the device crash with the last launch that it had to go."""
        kernel, left, error = self.crash_after.get(self.current, ("", 0, None))
        if kernel == name:
            self.crash_after[self.current] = kernel, left - 1, error
            if left <= 1:
                self.crashed[self.current] = error


class Allocation:
    def __init__(self, fake: FakeCuda, size: int) -> None:
        self.fake, self.size = fake, size
        self.memory = (ctypes.c_uint8 * size)()
        ctypes.memset(self.memory, RUBBISH, size)
        self.address = ctypes.addressof(self.memory)
        fake.memory[self.address] = self.memory
        fake.homes[self.address] = self.device = fake.current
        fake.room -= size
        fake.used_bytes += size
        fake.most_bytes = max(fake.most_bytes, fake.used_bytes)

    def __int__(self) -> int:
        return self.address

    def free(self) -> None:
        assert self.fake.memory.pop(self.address) is self.memory
        self.fake.room += self.size
        self.fake.used_bytes -= self.size

    def __del__(self) -> None:
        if self.address in self.fake.memory:
            # PyCUDA leaks what goes while its context is not current.
            if self.fake.stack[-1:] != [self.device]:
                self.fake.calls.append("leak")
            self.free()


class DeviceMemoryPool:
    """`pycuda.tools.DeviceMemoryPool`, keeping nothing."""

    held_blocks = 0

    def allocate(self, size: int) -> Allocation:
        return sys.modules["pycuda.driver"].mem_alloc(size)

    def free_held(self) -> None:
        """Do nothing: nothing is held."""

    def stop_holding(self) -> None:
        """Do nothing: nothing ever is."""


def _flat(buffer: Any) -> np.ndarray:
    view = memoryview(buffer)
    assert view.contiguous
    return np.frombuffer(view.cast("B"), np.uint8) if view.nbytes else np.empty(0, np.uint8)


RUNNING = threading.RLock()  # held by the thread whose work the device does


class Stream:
    def __init__(self, fake: FakeCuda) -> None:
        fake.check("Stream")
        self.fake, self.device = fake, fake.current
        self.waiting: list[Callable[[], Any]] = []
        fake.streams.append(self)

    def send(self, call: str, action: Callable[[], Any], *, now: bool = False) -> None:
        self.fake.check(call)
        assert self.fake.current == self.device, "a stream of another device"
        self.waiting.append(action)
        if now:
            self.run()

    def run(self, count: int | None = None) -> None:
        with RUNNING:  # the null stream runs what others wait with, from any thread
            self.fake.held.running, before = self.device, getattr(self.fake.held, "running", None)
            try:
                for _ in range(len(self.waiting) if count is None else count):
                    self.waiting.pop(0)()
            finally:
                self.fake.held.running = before

    def synchronize(self) -> None:
        self.fake.check("Stream.synchronize")
        self.run()


class NullStream(Stream):
    def __init__(self, fake: FakeCuda) -> None:
        self.fake = fake

    def send(self, call: str, action: Callable[[], Any], *, now: bool = True) -> None:
        self.fake.check(call)
        action()


class Event:
    def __init__(self, fake: FakeCuda) -> None:
        fake.check("Event")
        self.fake, self.stream, self.mark = fake, None, []

    def record(self, stream: Stream | None = None) -> Event:
        self.fake.check("Event.record")
        self.stream, self.mark = stream, []
        mark = self.mark
        if stream is not None:
            stream.waiting.append(lambda: mark.append(True))
        return self

    def query(self) -> bool:
        self.fake.check("Event.query")
        return self.stream is None or bool(self.mark)

    def time_till(self, other: Event) -> float:
        """Return a millisecond: what it takes is of no account."""
        self.fake.check("Event.time_till")
        return 1.0

    def synchronize(self) -> Event:
        self.fake.check("Event.synchronize")
        while self.stream is not None and not self.mark:
            self.stream.run(1)
        return self
