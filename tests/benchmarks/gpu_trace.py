"""When each GPU began and ended its parts, and the steps in them."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable

from geodomain.compute import gpus
from geodomain.compute.cuda import device, lattices, pipeline, points, segments


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Trace:
    """When each GPU began and ended its parts and the steps in them, once it is switched on."""

    # Where the steps are, by module and name; a dot is for a method.
    STEPS = (
        (gpus, "Shift._answer"), (points, "GridOnDevice.__init__"),
        (segments, "Hierarchy.__init__"), (segments, "resident"),
        (segments, "CudaSegmentIndex.ask"), (lattices, "DeviceLattice"),
        (lattices, "_run"), (pipeline, "_copier"),
        (pipeline, "_run"), (segments, "upload"), (segments, "allocate"), (segments, "download"),
    )  # fmt: skip

    def __init__(self) -> None:
        self.spans: list[tuple[float, float, int, str]] = []
        self.on = False
        for module, name in self.STEPS:
            self._watch(module, name)

    def _watch(self, module: object, name: str) -> None:
        owner: object = module
        *classes, last = name.split(".")
        for one in classes:
            owner = getattr(owner, one)
        real = getattr(owner, last)

        @functools.wraps(real, updated=())
        def timed(*given: object, **options: object) -> object:
            begin = time.perf_counter()
            try:
                return real(*given, **options)
            finally:
                if self.on:
                    ended = time.perf_counter()
                    self.spans.append((begin, ended, device.number(), name))

        setattr(owner, last, timed)

    def tell(self, what: str, call: Callable[[], object]) -> None:
        """Make a call, and say what it did when."""
        self.spans.clear()
        self.on, begin = True, time.perf_counter()
        call()
        self.on, took = False, time.perf_counter() - begin
        say(f"    traced, {what}: {1e3 * took:.2f} ms")
        for first, last, number, name in sorted(self.spans, key=lambda span: (span[2], span[0])):
            say(
                f"      GPU {number} {1e3 * (first - begin):8.2f} to {1e3 * (last - begin):8.2f}"
                f" ({1e3 * (last - first):8.2f})  {name}"
            )
