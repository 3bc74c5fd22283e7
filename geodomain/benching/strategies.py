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


class _Options(TypedDict, total=False):
    """Options of the intersector."""

    strategy: Literal["bvh", "brute"]
    grid: int


class _Strategy(_Options, total=False):
    """What makes a strategy."""

    sort: bool


# What the paper calls versions 1, 2.0, 2.1 and 2.2, and as many blocks as suit the segments. On the
# CPU a number of blocks has no meaning: there are threads.
_STRATEGIES: dict[str, _Strategy] = {
    "brute": {"strategy": "brute"},
    "bvh, 1 block": {"grid": 1},
    "bvh, 16 blocks": {"grid": 16},
    "bvh, 16 blocks, sorted": {"grid": 16, "sort": True},
    "bvh": {},
    "bvh, sorted": {"sort": True},
}


def strategies(backend: str, threads: int | None = None) -> tuple[Contender, ...]:
    """Return our strategies on a backend, the slowest first; sorting is part of loading."""
    names = [name for name in _STRATEGIES if not (backend == "cpu" and "block" in name)]
    return tuple(_ours(name, backend, threads, **_STRATEGIES[name]) for name in names)


def modes(backend: str, threads: int | None = None) -> tuple[Contender, ...]:
    """Return the modes of a hierarchy on a backend, by the words of the paper."""
    return tuple(_ours(f"bvh, {word}", backend, threads, mode=mode) for word, mode in WORDS.items())


def preliminary(backend: str, threads: int | None = None) -> tuple[Contender, ...]:
    """Return what the libraries are compared with: brute force, and the default strategy."""
    return _ours("brute", backend, threads, strategy="brute"), _ours("bvh", backend, threads)


def _ours(
    name: str,
    backend: str,
    threads: int | None,
    *,
    sort: bool = False,
    mode: Mode = "boolean",
    **options: Unpack[_Options],
) -> Contender:
    """Make a contender of the intersector with some options; it says where it cannot run."""

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
