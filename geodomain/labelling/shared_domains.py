"""Domains that every partition of a Dask table is labelled by: sent once, indexed once."""

from __future__ import annotations

import threading
from typing import TypedDict

from geodomain.domains.order import Domains
from geodomain.labelling.labeller import Labeller
from geodomain.query.locator import Rule


class LabellerKeywords(TypedDict):
    """What decides how domains are asked, as `Labeller` takes it."""

    rule: Rule
    backend: str
    threads: int | None
    allow_open: bool


class SharedDomains:
    """Domains that travel to a worker without their index, which it builds when it first asks.

    Parameters
    ----------
    domains : Domains
    asked : LabellerKeywords
    """

    def __init__(self, domains: Domains, asked: LabellerKeywords) -> None:
        self.domains, self.asked = domains, asked
        self._lock = threading.Lock()
        self._labeller: Labeller | None = None

    @property
    def labeller(self) -> Labeller:
        """Give the index; the threads of a worker wait for the first of them to build it."""
        with self._lock:
            if self._labeller is None:
                self._labeller = Labeller(self.domains, **self.asked)
            return self._labeller

    def __reduce__(self) -> tuple[type[SharedDomains], tuple[Domains, LabellerKeywords]]:
        """Leave the index behind, which is in this process's memory."""
        return SharedDomains, (self.domains, self.asked)
