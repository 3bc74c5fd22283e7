"""Answers of meshes about the cells of the lattice that blocks lie on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.threads import thread_count
from geodomain.errors import PointError
from geodomain.lattice import (
    MOST_CELLS,
    MOST_COORDINATES,
    GivenAxis,
    LatticeAxis,
    LearntAxis,
    cells_in_words,
)
from geodomain.query.cell_answers import CellAnswers
from geodomain.query.locator import PointLocator, Rule

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Answer = TypeVar("Answer")

# A row, a triangle and a coordinate of an axis each take the time of this many cells.
_CELLS_TO_A_ROW, _CELLS_TO_A_TRIANGLE, _CELLS_TO_A_COORDINATE = 64, 64, 64


class BlockLattice:
    """Answers about blocks by the cells of their lattice; safe among threads.

    A lattice is a guess about where blocks will be, which saves time where it is right: a block
    whose coordinates are no cell's is asked by itself, and no answer depends on the lattice.

    Parameters
    ----------
    axes : sequence of three LatticeAxis
        The coordinates along each axis.
    expected : int
        How many blocks there are at least, if that is known: the work on cells begins when the
        blocks that have come, or will, repay it.
    threads : int, optional
        How many to use. [default: all cores]
    """

    def __init__(
        self, axes: Sequence[LatticeAxis], *, expected: int = 0, threads: int | None = None
    ) -> None:
        self._axes, self._expected, self._threads = axes, expected, thread_count(threads)
        self._lock = threading.Lock()
        self._asked: dict[int, int] = {}
        self._answers: dict[int, CellAnswers | None] = {}
        self._left = MOST_CELLS

    @classmethod
    def given(cls, axes: Sequence[Floats], *, threads: int | None) -> BlockLattice:
        """Return the lattice that every combination of coordinates is on."""
        expected = int(np.prod([float(len(axis)) for axis in axes]))
        return cls([GivenAxis(axis) for axis in axes], expected=expected, threads=threads)

    @classmethod
    def learnt(cls, *, threads: int | None) -> BlockLattice:
        """Return a lattice that is found as blocks come."""
        return cls([LearntAxis() for _ in range(3)], threads=threads)

    def learn(self, points: Floats) -> None:
        """Look at (n, 3) blocks; where they are on no cells, find others."""
        with self._lock:
            for axis, values in zip(self._axes, points.T, strict=True):
                if isinstance(axis, LearntAxis) and axis.learn(values):
                    self._answers.clear()
                    self._left = MOST_CELLS

    def contains(self, locator: PointLocator, rule: Rule, points: Floats) -> Bools | None:
        """Return which of (n, 3) points are inside by a rule; None where cells do not tell."""
        if rule == "winding" and not locator.mesh.is_closed:
            return None
        return self._ask(locator, points, lambda cells: cells.contains(rule, points))

    def sides(self, locator: PointLocator, points: Floats) -> NDArray[np.int32] | None:
        """Return what `CellAnswers.sides` does; None where cells do not tell."""
        return self._ask(locator, points, lambda cells: cells.sides(points))

    def _ask(
        self, locator: PointLocator, points: Floats, call: Callable[[CellAnswers], Answer]
    ) -> Answer | None:
        """Return what the cells of a mesh answer; on a GPU points are as fast."""
        if locator.backend.name != "cpu":
            return None
        try:
            cells = self._cells(locator, len(points))
            return None if cells is None else call(cells)
        except PointError:  # the index decides, or names the row
            self._answers[id(locator)] = None
            return None

    def _cells(self, locator: PointLocator, rows: int) -> CellAnswers | None:
        """Return the answers of a mesh, made when they pay."""
        with self._lock:
            key = id(locator)
            asked = self._asked[key] = self._asked.get(key, 0) + rows
            if key not in self._answers:
                low, high = locator.mesh.bounds
                ends = list(zip(self._axes, low.tolist(), high.tolist(), strict=True))
                counts = [axis.count(a, b) for axis, a, b in ends]
                # One axis may be long while another has no coordinate: each is counted first.
                if not (min(counts) >= 1 and sum(counts) <= MOST_COORDINATES):
                    return None
                count = cells_in_words(*counts)
                work = (
                    counts[0] * counts[1] * counts[2]
                    + _CELLS_TO_A_TRIANGLE * len(locator.mesh.triangles)
                    + _CELLS_TO_A_COORDINATE * sum(counts)
                )
                if count > self._left or work > _CELLS_TO_A_ROW * max(asked, self._expected):
                    return None
                x, y, z = (axis.within(a, b) for axis, a, b in ends)
                if not min(len(x), len(y), len(z)):
                    return None
                self._left -= int(count)
                self._answers[key] = CellAnswers(locator, (x, y, z), self._threads)
            return self._answers[key]
