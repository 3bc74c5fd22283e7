"""Shares of a block by labels, along vertical lines that fractions cut; exact but in plan."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

import geodomain


def places(lines: int) -> list[tuple[float, float]]:
    """Return where lines are in a block's plan, as parts of its sides."""
    count = lines**2
    turns = [(i + 0.5) * 0.6180339887498949 for i in range(count)]
    order = sorted(range(count), key=lambda i: turns[i] % 1.0)
    found = [(0.0, 0.0)] * count
    for k, i in enumerate(order):
        found[i] = ((i + 0.5) / count, (k + (0.5 + 0.25 * np.sign(2 * k + 1 - count))) / count)
    return found


def heights(mesh, x: float, y: float) -> set[Fraction]:
    """Return where triangles are over or under a place, edges and corners with them."""
    px, py = Fraction(x), Fraction(y)
    corners = mesh.vertices[mesh.triangles]
    near = ((corners[..., 0].min(1) <= x) & (x <= corners[..., 0].max(1))) & (
        (corners[..., 1].min(1) <= y) & (y <= corners[..., 1].max(1))
    )
    found = set()
    for rows in corners[near].tolist():
        a, b, c = ([Fraction(v) for v in row] for row in rows)
        whole = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if whole == 0:
            continue
        of_b = ((px - a[0]) * (c[1] - a[1]) - (py - a[1]) * (c[0] - a[0])) / whole
        of_c = ((b[0] - a[0]) * (py - a[1]) - (b[1] - a[1]) * (px - a[0])) / whole
        if of_b >= 0 and of_c >= 0 and of_b + of_c <= 1:
            found.add(a[2] + of_b * (b[2] - a[2]) + of_c * (c[2] - a[2]))
    return found


def line_shares(domains, low, high, lines: int, columns=None) -> dict[str, float]:
    """Return the share of every label in one block; `columns` has the block's own values."""
    domains = geodomain.domains.sources.as_domains(domains)
    low, high = ([float(v) for v in corner] for corner in (low, high))
    floor, roof = Fraction(low[2]), Fraction(high[2])
    points, parts = [], []
    for u, v in places(lines):
        x, y = low[0] + (high[0] - low[0]) * u, low[1] + (high[1] - low[1]) * v
        cuts = {h for mesh in domains.meshes for h in heights(mesh, x, y) if floor < h < roof}
        ends = [floor, *sorted(cuts), roof]
        for below, above in pairwise(ends):
            points.append((x, y, float((below + above) / 2)))
            parts.append((above - below) / (roof - floor) / lines**2)
    given = {name: np.full(len(points), value) for name, value in (columns or {}).items()}
    labels = geodomain.label_points(points, domains, columns=given)
    found: dict[str, Fraction] = {}
    for label, part in zip(labels.tolist(), parts, strict=True):
        found[label] = found.get(label, Fraction(0)) + part
    return {label: float(share) for label, share in found.items()}
