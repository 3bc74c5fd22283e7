"""T-junctions of an open mesh, and the width of its gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.mesh.faults.collinear import collinear
from geodomain.mesh.faults.edge_table import EdgeTable, Floats, Ints
from geodomain.mesh.faults.nearness import closest_pair
from geodomain.mesh.faults.shells import components

Bools = NDArray[np.bool_]

# Parallel directions differ by a few roundings of 1e-16; others are sorted out exactly.
_PARALLEL = 1e-12
_NEIGHBOURS = 64


def t_junctions(table: EdgeTable) -> Ints:
    """Find the odd edges that other odd edges on the same line cover.

    Along such edges the mesh is closed as a set of points, but its triangles do not meet
    edge to edge: one triangle has a long edge where its neighbours have two short ones.

    Parameters
    ----------
    table : EdgeTable
        Of the mesh.

    Returns
    -------
    (n,) int64
        Indices of edges, ascending. Exact: everywhere along such an edge, an even number
        of the odd edges that follow one another on its line lie there, itself included.
    """
    odd = table.odd
    if not len(odd):
        return odd
    line = _lines(table, odd)
    ends = _ranks(table.vertices, table.ends[odd])
    return odd[_covered_evenly(line, ends.min(axis=1), ends.max(axis=1))]


def smallest_gap(table: EdgeTable, junctions: Ints) -> float | None:
    """Return the smallest distance between two vertices of open edges, None if nothing is open.

    The `junctions`, found by `t_junctions`, are left out where there are other open edges.
    """
    odd = table.odd
    others = np.setdiff1d(odd, junctions, assume_unique=True)
    vertices = np.unique(table.ends[others if len(others) else odd])
    return closest_pair(table.vertices[vertices])


def _ranks(vertices: Floats, ends: Ints) -> Ints:
    """Rank the ends of edges by x, then y, then z, which is an order along any line."""
    used, place = np.unique(ends, return_inverse=True)
    order = np.lexsort(vertices[used].T[::-1])
    rank = np.empty(len(used), np.int64)
    rank[order] = np.arange(len(used))
    return rank[place.reshape(ends.shape)]


def _lines(table: EdgeTable, edges: Ints) -> Ints:
    """Label edges that follow one another along a line."""
    ends = table.ends[edges]
    here, there = ends.ravel(), ends[:, ::-1].ravel()
    owner = np.repeat(np.arange(len(edges)), 2)
    direction = table.vertices[there] - table.vertices[here]
    direction /= np.abs(direction).max(axis=1, keepdims=True)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    # Both senses of a direction give one number, and few different directions do.
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
    return components(linked[:, 0], linked[:, 1], len(edges))


def _covered_evenly(line: Ints, low: Ints, high: Ints) -> Bools:
    """Return the edges no part of which is covered an odd number of times on their line."""
    lines, places = np.r_[line, line], np.r_[low, high]
    order = np.lexsort((places, lines))
    new = np.ones(len(order), np.bool_)
    ranked = np.stack([lines[order], places[order]])
    new[1:] = (ranked[:, 1:] != ranked[:, :-1]).any(axis=0)
    stop = np.cumsum(new) - 1
    # Every edge toggles the cover twice on its own line, so that each line starts anew.
    toggles = np.bincount(stop) & 1
    odd_after = np.cumsum(toggles) & 1
    odd_before_stop = np.cumsum(odd_after) - odd_after
    at = np.empty(len(order), np.int64)
    at[order] = stop
    count = len(line)
    even: Bools = odd_before_stop[at[:count]] == odd_before_stop[at[count:]]
    return even
