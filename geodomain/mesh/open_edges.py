"""Describe the open edges of a mesh: T-junctions, the widths of gaps, and remedies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from geodomain.compute.data import Bools, Floats, Ints
from geodomain.errors import counted
from geodomain.mesh.components import connected_components
from geodomain.mesh.edges import EdgeTable, collinear, edge_table
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.repair import (
    WeldResult,
    closest_pair,
    closing_weld,
    collapsing_weld,
    could_close,
    is_gentle,
)

# Parallel directions differ by a few roundings of 1e-16; an exact test decides afterwards.
_PARALLEL = 1e-12
_NEIGHBOURS = 64


def t_junctions(table: EdgeTable) -> Ints:
    """Find the T-junctions: odd edges that are covered by other odd edges on the same line.

    Along such edges the mesh has no gap, but its triangles do not meet edge to edge: one triangle
    has a long edge where its neighbours have two short edges.

    Parameters
    ----------
    table : EdgeTable
        The edge table of the mesh.

    Returns
    -------
    (n,) int64
        Indices of edges, ascending. The test is exact: every point of such an edge is covered by an
        even number of connected odd edges on the same line, including the edge itself.
    """
    odd = table.odd
    if not len(odd):
        return odd
    line = _lines(table, odd)
    ends = _ranks(table.vertices, table.ends[odd])
    return odd[_covered_evenly(line, ends.min(axis=1), ends.max(axis=1))]


def smallest_gap(table: EdgeTable, junctions: Ints) -> float | None:
    """Return the smallest distance between two vertices of open edges, None for a closed mesh.

    The edges `junctions`, from `t_junctions`, are left out if there are other open edges.
    """
    odd = table.odd
    others = np.setdiff1d(odd, junctions, assume_unique=True)
    vertices = np.unique(table.ends[others if len(others) else odd])
    return closest_pair(table.vertices[vertices])


def _ranks(vertices: Floats, ends: Ints) -> Ints:
    """Return the rank of each edge end in the order by x, then y, then z.

    On any line, this is the order of the points along the line.
    """
    used, place = np.unique(ends, return_inverse=True)
    order = np.lexsort(vertices[used].T[::-1])
    rank = np.empty(len(used), np.int64)
    rank[order] = np.arange(len(used))
    return rank[place.reshape(ends.shape)]


def _lines(table: EdgeTable, edges: Ints) -> Ints:
    """Label edges by line: edges that are connected and collinear get the same label."""
    ends = table.ends[edges]
    here, there = ends.ravel(), ends[:, ::-1].ravel()
    owner = np.repeat(np.arange(len(edges)), 2)
    direction = table.vertices[there] - table.vertices[here]
    direction /= np.abs(direction).max(axis=1, keepdims=True)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    # A direction and its opposite give the same number, and different directions rarely do.
    slant = np.abs(direction @ np.array([0.5257, 0.6180, 0.5846]))
    order = np.lexsort((slant, here))
    pairs = [np.empty((0, 2), np.int64)]
    for step in range(1, min(_NEIGHBOURS, len(order) - 1) + 1):
        first, second = order[:-step], order[step:]
        close = (here[first] == here[second]) & (slant[second] - slant[first] < _PARALLEL)
        if not close.any():
            break
        first, second = first[close], second[close]
        a, b, c = (table.vertices[v] for v in (here[first], there[first], there[second]))
        on_line = collinear(a, b, c)
        pairs.append(np.stack([owner[first[on_line]], owner[second[on_line]]], axis=1))
    linked = np.concatenate(pairs)
    return connected_components(linked[:, 0], linked[:, 1], len(edges))


def _covered_evenly(line: Ints, low: Ints, high: Ints) -> Bools:
    """Return, for each edge, whether all its points are on an even number of edges of its line."""
    lines, places = np.r_[line, line], np.r_[low, high]
    order = np.lexsort((places, lines))
    new = np.ones(len(order), np.bool_)
    ranked = np.stack([lines[order], places[order]])
    new[1:] = (ranked[:, 1:] != ranked[:, :-1]).any(axis=0)
    stop = np.cumsum(new) - 1
    # Every edge toggles the cover twice on its own line, so that each line starts uncovered.
    toggles = np.bincount(stop) & 1
    odd_after = np.cumsum(toggles) & 1
    odd_before_stop = np.cumsum(odd_after) - odd_after
    at = np.empty(len(order), np.int64)
    at[order] = stop
    count = len(line)
    even: Bools = odd_before_stop[at[:count]] == odd_before_stop[at[count:]]
    return even


# Messages about open edges: number, place, gap and remedy.

# Welds are tried at these multiples of the smallest gap, because other gaps are wider. Where
# coordinates are rounded at random, the smallest of n gaps is about n times narrower than most.
_WIDER = (1, 10, 100, 1e3, 1e4, 1e5, 1e6)
_AS_IT_IS = "with allow_open=True"
_REPAIR = "repair the mesh in the program that made it"


def open_edges_sentence(mesh: Mesh, instead: str | None = None) -> str:
    """Describe the open edges of a mesh and how to close them.

    Parameters
    ----------
    mesh : Mesh
        An open mesh.
    instead : str, optional
        What the user can do instead of closing the mesh; empty for nothing. By default the message
        suggests labelling with ``allow_open=True``.

    Returns
    -------
    str
        One or two sentences, without a newline.

    Examples
    --------
    >>> from geodomain import Mesh
    >>> lone = Mesh([[0, 0, 0], [3, 0, 0], [0, 4, 0]], [[0, 1, 2]], name="lone.stl")
    >>> open_edges_sentence(lone).split(";")[0]
    'lone.stl is not closed: 3 open edges, the first from (0.0, 0.0, 0.0) to (0.0, 4.0, 0.0)'
    """
    table = edge_table(mesh)
    junctions = t_junctions(table)
    return say_open(mesh, table, junctions, smallest_gap(table, junctions), instead)


def say_open(
    mesh: Mesh, table: EdgeTable, junctions: Ints, gap: float | None, instead: str | None = None
) -> str:
    """Return the message of `open_edges_sentence`, given edges, T-junctions and smallest gap."""
    opening = f"{mesh.name} is not closed: {_counted(table)}, {_first(table)}"
    parts = [opening, *_junctions(len(junctions), len(table.odd))]
    if gap is None or len(junctions) == len(table.odd):
        # Open edges cover every line an even number of times, so parity is right although no two
        # edges match.
        mend = f"The open edges leave no gap, so labels {_AS_IT_IS} are still right"
        if instead is not None:
            mend = (
                "The open edges leave no gap, but they do not match each other: "
                f"{_REPAIR}{_or(instead)}"
            )
        return f"{'; '.join(parts)}. {mend}."
    mend = _mend(mesh, table, gap) + _or(f"label {_AS_IT_IS}" if instead is None else instead)
    return f"{'; '.join([*parts, f'the smallest gap is {gap:.3g}'])}. {mend}."


def _or(instead: str) -> str:
    return f", or {instead}" if instead else ""


def _counted(table: EdgeTable) -> str:
    """Return the number of odd edges as text."""
    count, shared = len(table.odd), len(table.odd) - len(table.open)
    edges = counted(count, "open edge")
    return f"{edges} ({shared} of three or more triangles)" if shared else edges


def _first(table: EdgeTable) -> str:
    """Return the ends of the first open edge as text."""
    return f"the first {place(table.segments(table.odd, 1)[0])}"


def _junctions(count: int, edges: int) -> list[str]:
    """Describe how many open edges are at T-junctions."""
    if not count:
        return []
    which = "all" if count == edges else f"{count}"
    return [f"{which} of them are T-junctions, where a long edge meets shorter ones"]


def place(segment: Floats) -> str:
    """Return the ends of an edge as text, with only as many digits as needed."""
    start, end = (_point(row, is_single(segment)) for row in segment)
    return f"from {start} to {end}"


def is_single(vertices: Floats) -> bool:
    """Return whether all coordinates are float32 numbers."""
    with np.errstate(over="ignore", under="ignore"):
        return bool((vertices.astype(np.float32) == vertices).all())


def _point(row: Floats, single: bool) -> str:
    """Format a point with the fewest digits that distinguish its coordinates from other floats."""
    shown = [float(str(np.float32(v))) if single else float(v) for v in row]
    return f"({', '.join(map(repr, shown))})"


def _mend(mesh: Mesh, table: EdgeTable, gap: float) -> str:
    """Return advice on how to close the mesh; a weld is advised only after a trial."""
    wider = (round_number_above(gap * factor) for factor in _WIDER)
    likely = [t for t in wider if is_gentle(mesh, t) and could_close(table, t)]
    tolerance = next((t for t in likely if closing_weld(mesh, table, t)), None)
    if tolerance is None:
        return _mend_otherwise(mesh, likely)
    return f"Close it with {_weld_call(mesh.name, tolerance)}"


def _mend_otherwise(mesh: Mesh, tolerances: Sequence[float]) -> str:
    """Describe a weld that closes the mesh but drops triangles, or say that no weld closes it."""
    for tolerance in tolerances:
        result = collapsing_weld(mesh, tolerance)
        if result is not None:
            return (
                f"Welding closes it only by {collapse_text(result)}: {_REPAIR}, or accept that "
                f"with {_weld_call(mesh.name, tolerance)}"
            )
    return f"Welding does not close it: {_REPAIR}"


def collapse_text(result: WeldResult) -> str:
    """Describe side effects of a weld: collapsed triangles, and the largest move of a vertex."""
    return (
        f"collapsing {counted(result.dropped, 'triangle')} (largest move of a vertex "
        f"{result.largest_move:.3g})"
    )


def _weld_call(name: str, tolerance: float) -> str:
    """Return the Python call that welds the mesh.

    If the mesh is named after a file, the call welds that file.
    """
    mesh = repr(name) if Path(name).suffix else "mesh"
    return f"geodomain.weld({mesh}, {tolerance:g})"


def round_number_above(value: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is above a positive number."""
    exponent = int(np.floor(np.log10(value)))
    choices = [float(f"{digit}e{exponent}") for digit in (1, 2, 5, 10, 20)]
    return next((choice for choice in choices if choice > value), choices[-1])
