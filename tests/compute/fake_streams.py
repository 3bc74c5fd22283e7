"""Streams and events of the stand-in for `pycuda.driver`: work runs when something waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fake_cuda import FakeCuda

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
