"""How time grows with shells, layers and domains: exponents, 1 being linear; nothing is asserted.

python tests/benchmarks/growth_of_input.py [LARGEST]
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

import geodomain
from geodomain import Domain, Mesh

CORNERS = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)], np.float64)
FACES = np.array(
    [
        *([0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4]),
        *([2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5]),
    ]
)


def cube(half: float, x: float = 0.0) -> Mesh:
    """Return a cube about a point of the x axis."""
    return Mesh(CORNERS * half + [x, 0, 0], FACES)


def nested_shells(count: int) -> Callable[[], object]:
    """Check shells within shells, whose boxes all meet."""
    vertices = np.concatenate([CORNERS * (1.0 + n) for n in range(count)])
    faces = np.concatenate([FACES + 8 * n for n in range(count)])
    mesh = Mesh(vertices, faces)
    return lambda: geodomain.check(mesh)


def layers(count: int) -> Callable[[], object]:
    """Read a list of domains, each of which is a layer of one drawing."""
    folder = Path(tempfile.mkdtemp())
    geodomain.write_mesh({f"L{n}": cube(1.0, 3.0 * n) for n in range(count)}, folder / "a.dxf")
    table = '[[domain]]\nname = "L{0}"\nmesh = "a.dxf:L{0}"\n'
    (folder / "a.toml").write_text("".join(table.format(n) for n in range(count)))
    return lambda: geodomain.read_domains(folder / "a.toml")


def domains_of_one_mesh(count: int) -> Callable[[], object]:
    """Label points by many domains that share a mesh."""
    mesh = cube(1.0)
    domains = [Domain(f"D{n}", (mesh,)) for n in range(count)]
    points = np.random.default_rng(7).uniform(-2, 2, (1000, 3))
    return lambda: geodomain.label_points(points, domains, background="WASTE")


def main() -> None:
    """Print the seconds at three sizes, and the exponents between them."""
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    sizes = [largest // 4, largest // 2, largest]
    for make in (nested_shells, layers, domains_of_one_mesh):
        seconds = []
        for size in sizes:
            work = make(size)
            begin = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - begin)
        slopes = [math.log2(after / before) for before, after in pairwise(seconds)]
        told = ", ".join(f"{n}: {s:.2f} s" for n, s in zip(sizes, seconds, strict=True))
        line = f"{make.__name__:<20} {told}; exponents {slopes[0]:.2f}, {slopes[1]:.2f}"
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
