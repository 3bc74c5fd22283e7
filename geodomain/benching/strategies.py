"""Our own strategies as contenders: those of arXiv 2209.02878, and our modes."""

from __future__ import annotations

from typing import Literal, TypedDict, Unpack

import numpy as np

from geodomain.backends import BACKENDS, choose
from geodomain.benching.contender import Answers, Ask, Contender, Floats, Load
from geodomain.errors import DeviceError
from geodomain.mesh.mesh import Mesh
from geodomain.segments.hits import Hits
from geodomain.segments.intersector import SegmentIntersector
from geodomain.segments.modes import WORDS, Answer, Mode
from geodomain.segments.segments import Segments

MACHINES = tuple(name for name in BACKENDS if name != "auto")


class _Strategy(TypedDict, total=False):
    """Options of the intersector that make a strategy."""

    strategy: Literal["bvh", "brute"]
    grid: int


# What the paper calls versions 1, 2.0, 2.1 and 2.2, and the number of blocks that suits the
# segments. On the CPU a number of blocks has no meaning: there are threads.
_STRATEGIES: dict[str, _Strategy] = {
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
    """Return the default strategy on a backend."""
    return _absent(backend) if unfit(backend) else _ours("bvh", backend, threads)


def _absent(backend: str) -> Contender:
    """Return a contender for a backend that cannot be used here, with the reason."""

    def never(_: Mesh) -> Load:
        raise DeviceError(unfit(backend))

    return Contender(f"geodomain ({backend})", never, unfit=lambda: unfit(backend))


def _ours(
    name: str,
    backend: str,
    threads: int | None,
    *,
    sort: bool = False,
    mode: Mode = "boolean",
    **options: Unpack[_Strategy],
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
    """Return why a backend cannot be used here, or an empty text."""
    try:
        choose(backend)
    except DeviceError as error:
        return str(error).split(";")[0][:70]
    return ""
