"""Open edges in words: how many, where, how far apart, and what would close them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from geodomain.faults.edge_table import EdgeTable, Floats, Ints, edge_table
from geodomain.faults.gaps import smallest_gap, t_junctions
from geodomain.faults.welding import closing_weld, could_close, is_gentle
from geodomain.mesh import Mesh

# The smallest gap is not the widest: welds are tried at it and at so many times as much.
_WIDER = (1, 10, 100)
_AS_IT_IS = "with --allow-open (allow_open=True in Python)"
_WRITABLE = {".stl", ".ply", ".obj", ".off"}


def open_edges_sentence(mesh: Mesh) -> str:
    """Say what is open in a mesh and how to mend it.

    Parameters
    ----------
    mesh : Mesh
        One that is not closed.

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
    return say_open(mesh, table, junctions, smallest_gap(table, junctions))


def say_open(mesh: Mesh, table: EdgeTable, junctions: Ints, gap: float | None) -> str:
    """Say what `open_edges_sentence` does of what is known already."""
    found = f"{mesh.name} is not closed: {_counted(table)}, {_first(table)}"
    told = [found, *_junctions(len(junctions), len(table.odd))]
    if gap is None or len(junctions) == len(table.odd):
        # The cover of every line is even, so parity is too, though no edge has its neighbour.
        mend = f"They leave no gap, so labels {_AS_IT_IS} are right all the same."
        return f"{'; '.join(told)}. {mend}"
    return f"{'; '.join([*told, f'the smallest gap is {gap:.3g}'])}. {_mend(mesh, table, gap)}"


def _counted(table: EdgeTable) -> str:
    """Count the edges that an odd number of triangles has."""
    count, shared = len(table.odd), len(table.odd) - len(table.open)
    edges = f"{count} open edge{'s' * (count != 1)}"
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
    """Tell whether all coordinates are float32 numbers."""
    with np.errstate(over="ignore", under="ignore"):
        return bool((vertices.astype(np.float32) == vertices).all())


def _point(row: Floats, single: bool) -> str:
    """Write a point with the fewest digits that tell it from its neighbours."""
    shown = [float(str(np.float32(v))) if single else float(v) for v in row]
    return f"({', '.join(map(repr, shown))})"


def _mend(mesh: Mesh, table: EdgeTable, gap: float) -> str:
    """Say how to close the mesh, having tried it."""
    wider = (round_number_above(gap * factor) for factor in _WIDER)
    likely = (t for t in wider if is_gentle(mesh, t) and could_close(table, t))
    tolerance = next((t for t in likely if closing_weld(mesh, table, t)), None)
    if tolerance is None:
        return f"Welding does not close it: mend it where it was made, or label {_AS_IT_IS}."
    return f"Close it with {_command(mesh.name, tolerance)}, or label {_AS_IT_IS}."


def _command(name: str, tolerance: float) -> str:
    """Give the command, or for a mesh that is no file the call, that welds."""
    suffix = Path(name).suffix.lower()
    if not suffix:
        return f"geodomain.weld(mesh, {tolerance:g})"
    quoted = f'"{name}"' if " " in name else name
    target = f"closed{suffix if suffix in _WRITABLE else '.ply'}"
    return f"'geodomain check {quoted} --weld {tolerance:g} -o {target}'"


def round_number_above(value: float) -> float:
    """Give the smallest of 1, 2 and 5 times a power of ten that is above a positive number."""
    exponent = int(np.floor(np.log10(value)))
    choices = [float(f"{digit}e{exponent}") for digit in (1, 2, 5, 10, 20)]
    return next((choice for choice in choices if choice > value), choices[-1])
