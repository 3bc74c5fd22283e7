"""The exact distance of a point from a triangle, by fractions; nothing here is rounded."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np

Vector = tuple[Fraction, Fraction, Fraction]


def exact(place) -> Vector:
    x, y, z = (Fraction(float(v)) for v in place)
    return x, y, z


def minus(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def dot(a: Vector, b: Vector) -> Fraction:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def square_to_edge(p: Vector, a: Vector, b: Vector) -> Fraction:
    along, off = minus(b, a), minus(p, a)
    whole = dot(along, along)
    share = min(max(dot(off, along) / whole, Fraction(0)), Fraction(1)) if whole else Fraction(0)
    rest = (off[0] - share * along[0], off[1] - share * along[1], off[2] - share * along[2])
    return dot(rest, rest)


def square_distance(triangle, point) -> Fraction:
    """Return the square of the distance of a point from a triangle (3, 3)."""
    corners, p = [exact(corner) for corner in triangle], exact(point)
    edges = [(corners[k], corners[(k + 1) % 3]) for k in range(3)]
    normal = cross(minus(corners[1], corners[0]), minus(corners[2], corners[0]))
    if any(normal) and all(dot(cross(normal, minus(b, a)), minus(p, a)) >= 0 for a, b in edges):
        return dot(minus(p, corners[0]), normal) ** 2 / dot(normal, normal)
    return min(square_to_edge(p, a, b) for a, b in edges)


def error_in_ulps(distance: float, square: Fraction, triangle, point) -> float:
    """Return how wrong a distance is, in units in the last place of the largest difference."""
    corners, p = [exact(corner) for corner in triangle], exact(point)
    largest = max(abs(v) for corner in corners for v in minus(p, corner))
    unit = Fraction(float(np.spacing(float(largest)))) if largest else Fraction(1, 2**1074)
    # |d - r| = |d^2 - r^2| / (d + r), with r as a fraction far finer than the unit.
    d = Fraction(distance)
    if square == 0:
        return float(d / unit)
    scale = 2**200 * 2 ** max(0, square.denominator.bit_length() - square.numerator.bit_length())
    root = Fraction(isqrt(square.numerator * scale * scale // square.denominator), scale)
    return float(abs(d - root) / unit)
