"""One index on each GPU, and on the CPU, each made where it is first asked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from geodomain.backends.cuda import device

OnGpu = TypeVar("OnGpu")
OnCpu = TypeVar("OnCpu")


class Copies(Generic[OnGpu, OnCpu]):
    """What is made of one mesh on each GPU, and, where none is left, on the CPU."""

    def __init__(self, make: Callable[[], OnGpu], make_on_cpu: Callable[[], OnCpu]) -> None:
        self._make, self._make_on_cpu = make, make_on_cpu
        self._made: dict[int, OnGpu] = {}
        self._on_cpu: OnCpu | None = None
        self._locks: dict[int | None, threading.Lock] = {}

    def here(self) -> OnGpu:
        """Return that of the GPU that this thread works on."""
        number = device.number()
        with self._locks.setdefault(number, threading.Lock()):
            if number not in self._made:
                self._made[number] = self._make()
            return self._made[number]

    def made(self) -> list[OnGpu]:
        """Return those of all GPUs that have been asked."""
        return [*self._made.values()]

    def on_cpu(self) -> OnCpu:
        """Return the CPU's."""
        with self._locks.setdefault(None, threading.Lock()):
            if self._on_cpu is None:
                self._on_cpu = self._make_on_cpu()
            return self._on_cpu

    def made_on_cpu(self) -> list[OnCpu]:
        """Return the CPU's, if there is one."""
        return [] if self._on_cpu is None else [self._on_cpu]
