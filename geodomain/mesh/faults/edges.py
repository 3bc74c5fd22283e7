"""Sentences about open edges: how many, where, how far apart, and what would close them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from geodomain.errors import counted
from geodomain.mesh.faults.edge_table import EdgeTable, Floats, Ints, edge_table
from geodomain.mesh.faults.gaps import smallest_gap, t_junctions
from geodomain.mesh.faults.welding import (
    WeldResult,
    closing_weld,
    collapsing_weld,
    could_close,
    is_gentle,
)
from geodomain.mesh.mesh import Mesh

# The smallest gap is not the widest: welds are tried at it and at so many times as much.
_WIDER = (1, 10, 100)
_AS_IT_IS = "with allow_open=True"
_REPAIR = "repair it in the program that made it"


def open_edges_sentence(mesh: Mesh, instead: str | None = None) -> str:
    """Describe the open edges of a mesh and how to close them.

    Parameters
    ----------
    mesh : Mesh
        An open mesh.
    instead : str, optional
        What can be done with the mesh as it is; empty for nothing. [default: label it]

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
    """Say what `open_edges_sentence` does of what is known already."""
    found = f"{mesh.name} is not closed: {_counted(table)}, {_first(table)}"
    told = [found, *_junctions(len(junctions), len(table.odd))]
    if gap is None or len(junctions) == len(table.odd):
        # The cover of every line is even, so parity is too, though no edge has its neighbour.
        mend = f"They leave no gap, so labels {_AS_IT_IS} are still right"
        if instead is not None:
            mend = f"They leave no gap, and edges that do not match: {_REPAIR}{_or(instead)}"
        return f"{'; '.join(told)}. {mend}."
    mend = _mend(mesh, table, gap) + _or(f"label {_AS_IT_IS}" if instead is None else instead)
    return f"{'; '.join([*told, f'the smallest gap is {gap:.3g}'])}. {mend}."


def _or(instead: str) -> str:
    return f", or {instead}" if instead else ""


def _counted(table: EdgeTable) -> str:
    """Count the edges that an odd number of triangles has."""
    count, shared = len(table.odd), len(table.odd) - len(table.open)
    edges = counted(count, "open edge")
    return f"{edges} ({shared} of three or more triangles)" if shared else edges


def _first(table: EdgeTable) -> str:
    """Say where the first open edge is."""
    return f"the first {place(table.segments(table.odd, 1)[0])}"


def _junctions(count: int, edges: int) -> list[str]:
    """Say how many open edges are at T-junctions."""
    if not count:
        return []
    which = "all" if count == edges else f"{count}"
    return [f"{which} of them are T-junctions, where a long edge meets shorter ones"]


def place(segment: Floats) -> str:
    """Say where an edge is, in no more digits than its coordinates have."""
    start, end = (_point(row, is_single(segment)) for row in segment)
    return f"from {start} to {end}"


def is_single(vertices: Floats) -> bool:
    """Return whether all coordinates are float32 numbers."""
    with np.errstate(over="ignore", under="ignore"):
        return bool((vertices.astype(np.float32) == vertices).all())


def _point(row: Floats, single: bool) -> str:
    """Write a point with the fewest digits that tell it from its neighbours."""
    shown = [float(str(np.float32(v))) if single else float(v) for v in row]
    return f"({', '.join(map(repr, shown))})"


def _mend(mesh: Mesh, table: EdgeTable, gap: float) -> str:
    """Say how to close the mesh, having tried it."""
    wider = (round_number_above(gap * factor) for factor in _WIDER)
    likely = [t for t in wider if is_gentle(mesh, t) and could_close(table, t)]
    tolerance = next((t for t in likely if closing_weld(mesh, table, t)), None)
    if tolerance is None:
        return _mend_otherwise(mesh, likely)
    return f"Close it with {_weld_call(mesh.name, tolerance)}"


def _mend_otherwise(mesh: Mesh, tolerances: Sequence[float]) -> str:
    """Say what a weld that takes triangles costs, if one closes the mesh, or that none does."""
    for tolerance in tolerances:
        found = collapsing_weld(mesh, tolerance)
        if found is not None:
            return (
                f"Welding closes it only by {said_collapse(found)}: {_REPAIR}, or take that with "
                f"{_weld_call(mesh.name, tolerance)}"
            )
    return f"Welding does not close it: {_REPAIR}"


def said_collapse(found: WeldResult) -> str:
    """Say what a weld does to triangles and vertices besides closing gaps."""
    return (
        f"collapsing {counted(found.dropped, 'triangle')} (largest move of a vertex "
        f"{found.largest_move:.3g})"
    )


def _weld_call(name: str, tolerance: float) -> str:
    """Return the call that welds: on the mesh, or on its file if its name is that of one."""
    mesh = repr(name) if Path(name).suffix else "mesh"
    return f"geodomain.weld({mesh}, {tolerance:g})"


def round_number_above(value: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is above a positive number."""
    exponent = int(np.floor(np.log10(value)))
    choices = [float(f"{digit}e{exponent}") for digit in (1, 2, 5, 10, 20)]
    return next((choice for choice in choices if choice > value), choices[-1])
