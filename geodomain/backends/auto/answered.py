"""How much each machine has answered, and why there."""

from __future__ import annotations

import threading

from geodomain.backends.api import Taken


class Answered:
    """How much each machine has answered, and why there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_machine: dict[str, tuple[int, str]] = {}

    def add(self, machine: str, count: int, why: str) -> None:
        """Remember that a machine has answered so many."""
        with self._lock:
            before, _ = self._by_machine.get(machine, (0, ""))
            self._by_machine[machine] = before + count, why

    def mostly(self) -> Taken:
        """Return where most was answered, "cpu" or "cuda", and why there."""
        if not self._by_machine:
            return "cpu", "nothing was asked"
        machine = max(self._by_machine, key=lambda name: self._by_machine[name][0])
        return machine, self._by_machine[machine][1]
