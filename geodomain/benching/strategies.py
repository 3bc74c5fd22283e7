"""Our own ways to test segments, as contenders: those of arXiv 2209.02878, and our modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodomain.backends import BACKENDS, choose_segments
from geodomain.benching.contender import Answers, Ask, Contender, Floats, Load
from geodomain.errors import DeviceError
from geodomain.hits import Hits
from geodomain.intersector import SegmentIntersector
from geodomain.mesh import Mesh
from geodomain.questions import WORDS, Answer, Mode
from geodomain.segments import Segments

MACHINES = tuple(name for name in BACKENDS if name != "auto")

# What the paper calls versions 1, 2.0, 2.1 and 2.2, and the number of blocks that suits the
# segments. On the CPU a number of blocks has no meaning: there are threads.
_STRATEGIES: dict[str, dict[str, Any]] = {
    "brute": {"strategy": "brute"},
    "bvh, one block": {"grid": 1},
    "bvh, sixteen blocks": {"grid": 16},
    "bvh": {},
}


def strategies(backend: str, threads: int | None = None) -> tuple[Contender, ...]:
    """Return our strategies on a backend, the slowest first; sorting is part of loading."""
    if unfit(backend):
        return (_absent(backend),)
    names = [name for name in _STRATEGIES if not (backend == "cpu" and "block" in name)]
    plain = [_ours(name, backend, threads, **_STRATEGIES[name]) for name in names]
    return (*plain, _ours("bvh, sorted", backend, threads, sort=True))


def modes(backend: str, threads: int | None = None) -> tuple[Contender, ...]:
    """Return the modes of a hierarchy on a backend, by the words of the paper."""
    if unfit(backend):
        return ()
    return tuple(_ours(f"bvh, {word}", backend, threads, mode=mode) for word, mode in WORDS.items())


def best(backend: str, threads: int | None = None) -> Contender:
    """Return what a user gets who chooses nothing but the backend."""
    return _absent(backend) if unfit(backend) else _ours("bvh", backend, threads)


def _absent(backend: str) -> Contender:
    """Stand for a backend that cannot be used here, and say why."""
    unready: Any = None
    return Contender(f"geodomain ({backend})", unready, unfit=lambda: unfit(backend))


def _ours(
    name: str,
    backend: str,
    threads: int | None,
    *,
    sort: bool = False,
    mode: Mode = "boolean",
    **options: Any,
) -> Contender:
    """Make a contender of the intersector with some options."""

    def prepare(mesh: Mesh) -> Load:
        intersector = SegmentIntersector(mesh, backend=backend, threads=threads, **options)

        def load(starts: Floats, ends: Floats) -> Ask:
            segments = Segments(starts, ends, sort=sort, threads=threads)
            return lambda: _whether(intersector.intersect(segments, mode=mode))

        return load

    return Contender(f"geodomain {name} ({backend})", prepare, unfit=lambda: unfit(backend))


def _whether(answer: Answer) -> Answers:
    """Turn any mode's answer into whether there is a crossing."""
    if not isinstance(answer, Hits):
        return np.not_equal(answer, 0)
    crossing = np.zeros(answer.segment_count, dtype=bool)
    crossing[answer.segment] = True
    return crossing


def unfit(backend: str) -> str:
    """Say why a backend cannot be used here, or nothing."""
    try:
        choose_segments(backend)
    except DeviceError as error:
        return str(error).split(";")[0][:70]
    return ""
