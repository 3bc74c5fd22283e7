"""Whether triangles cover a rectangle in plan, by slabs between all events, in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from line_shares import places
from shares import clip, integrate

Place = tuple[Fraction, Fraction]


def covers(mesh, low, high) -> bool:
    """Tell whether the triangles of a mesh cover the inside of a rectangle, as a closed set."""
    (left, bottom), (right, top) = (
        tuple(Fraction(float(v)) for v in row[:2]) for row in (low, high)
    )
    triangles = []
    for rows in mesh.vertices[mesh.triangles][:, :, :2].tolist():
        a, b, c = corners = [(Fraction(x), Fraction(y)) for x, y in rows]
        flat = (b[0] - a[0]) * (c[1] - a[1]) == (b[1] - a[1]) * (c[0] - a[0])
        xs, ys = zip(*corners, strict=True)
        beside = max(xs) <= left or min(xs) >= right or max(ys) <= bottom or min(ys) >= top
        if not flat and not beside:
            triangles.append(corners)
    edges = {tuple(sorted((t[k - 1], t[k]))) for t in triangles for k in range(3)}
    sides = [((left, y), (right, y)) for y in (bottom, top)]
    events = {left, right, *(x for t in triangles for x, _ in t)}
    listed = [*edges, *sides]
    for place, one in enumerate(listed):
        events.update(x for other in listed[:place] if (x := crossing(one, other)) is not None)
    inside = sorted(x for x in events if left <= x <= right)
    return all(_is_filled(triangles, (x + y) / 2, bottom, top) for x, y in pairwise(inside))


def is_bare(mesh, low, high) -> bool:
    """Tell whether no triangle covers any of a rectangle's inside."""
    ends = [[Fraction(float(v)) for v in row[:2]] for row in (low, high)]
    for rows in mesh.vertices[mesh.triangles].tolist():
        polygon = [tuple(map(Fraction, row)) for row in rows]
        for axis in (0, 1):
            polygon = clip(clip(polygon, axis, ends[0][axis], 1), axis, ends[1][axis], -1)
        if polygon and integrate(polygon, Fraction(0))[0] != 0:
            return False
    return True


def crossing(one, other) -> Fraction | None:
    """Return the x of where the lines through two pairs of points cross."""
    (p, q), (r, s) = one, other
    whole = (q[0] - p[0]) * (s[1] - r[1]) - (q[1] - p[1]) * (s[0] - r[0])
    if whole == 0:
        return None
    part = ((r[0] - p[0]) * (s[1] - r[1]) - (r[1] - p[1]) * (s[0] - r[0])) / whole
    return p[0] + part * (q[0] - p[0])


def _is_filled(triangles, x: Fraction, bottom: Fraction, top: Fraction) -> bool:
    """Tell whether triangles cover a vertical stretch of a plan, at an x that is no corner's."""
    spans = []
    for corners in triangles:
        ys = [
            p[1] + (x - p[0]) / (q[0] - p[0]) * (q[1] - p[1])
            for p, q in zip(corners, [*corners[1:], corners[0]], strict=True)
            if (p[0] < x) != (q[0] < x)
        ]
        if ys:
            spans.append((min(ys), max(ys)))
    to = bottom
    for begin, end in sorted(spans):
        if begin > to:
            break
        to = max(to, end)
    return to >= top


def share_below(mesh, low, high, lines: int) -> float:
    """Return the share of a block below an odd number of crossings, along lines, in fractions."""
    low, high = ([float(v) for v in corner] for corner in (low, high))
    floor, roof = Fraction(low[2]), Fraction(high[2])
    total = Fraction(0)
    for u, v in places(lines):
        x, y = low[0] + (high[0] - low[0]) * u, low[1] + (high[1] - low[1]) * v
        levels = sorted(min(max(h, floor), roof) for h in _heights(mesh, x, y))
        ends = [floor, *levels, roof]
        parts = [b - a for a, b in pairwise(ends)]
        total += sum(parts[-2::-2], Fraction(0))
    return float(total / (roof - floor) / lines**2)


def _heights(mesh, x: float, y: float) -> list[Fraction]:
    """Return where a line that meets no edge crosses triangles."""
    corners = mesh.vertices[mesh.triangles]
    near = (corners[..., :2].min(axis=1) <= (x, y)).all(axis=1)
    near &= (corners[..., :2].max(axis=1) >= (x, y)).all(axis=1)
    found = []
    for rows in corners[near].tolist():
        a, b, c = ([Fraction(v) for v in row] for row in rows)
        whole = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if whole == 0:
            continue
        of_b = ((Fraction(x) - a[0]) * (c[1] - a[1]) - (Fraction(y) - a[1]) * (c[0] - a[0])) / whole
        of_c = ((b[0] - a[0]) * (Fraction(y) - a[1]) - (b[1] - a[1]) * (Fraction(x) - a[0])) / whole
        of_a = 1 - of_b - of_c
        assert 0 not in (of_a, of_b, of_c), "a line on an edge: move the block"
        if min(of_a, of_b, of_c) > 0:
            found.append(a[2] + of_b * (b[2] - a[2]) + of_c * (c[2] - a[2]))
    return found
