"""Random models with stopes and surfaces, and what is mined of them, in fractions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, pairwise, product
from pathlib import Path

import numpy as np
from wireframes import box

from geodomain.mesh.mesh import Mesh

# A region: the low and high corner of a box, or the elevation above which all is mined.
Region = tuple[tuple[float, ...], tuple[float, ...]] | float


def plane(level: float, low: float = -100.0, high: float = 200.0) -> Mesh:
    """Make a flat surface at an elevation."""
    corners = [[low, low, level], [high, low, level], [high, high, level], [low, high, level]]
    return Mesh(corners, [[0, 1, 2], [0, 2, 3]], name=f"level {level}")


def mesh_of(region: Region) -> Mesh:
    return plane(region) if isinstance(region, float) else box(*region)


def sheet(heights: np.ndarray, step: float = 10.0, name: str = "sheet") -> Mesh:
    """Make a surface over a square grid of vertices from (0, 0)."""
    rows, columns = heights.shape
    x, y = np.meshgrid(np.arange(rows) * step, np.arange(columns) * step, indexing="ij")
    place = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (part.ravel() for part in (
        place[:-1, :-1], place[1:, :-1], place[1:, 1:], place[:-1, 1:]))  # fmt: skip
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    points = np.stack([x.ravel(), y.ravel(), heights.ravel()], axis=1)
    return Mesh(points, triangles, name=name)


def exact_left(
    regions: Sequence[Sequence[Region]], low: np.ndarray, high: np.ndarray
) -> list[Fraction]:
    """Return the share of a block that is left after each step."""
    left, whole = [Fraction(0)] * len(regions), Fraction(0)
    for middle, volume in cells(regions, low, high):
        whole += volume
        for step in range(_first(regions, middle)):
            left[step] += volume
    return [volume / whole for volume in left]


def exact_parts(
    initial: Sequence[Region],
    periods: Sequence[Sequence[Region]],
    design: Sequence[Region],
    domains: Sequence[Region],
    low: np.ndarray,
    high: np.ndarray,
) -> Counter[tuple[int, str, int]]:
    """Return volumes in a block by domain, part and period; the last number stands for none."""
    parts: Counter[tuple[int, str, int]] = Counter()
    for middle, volume in cells([initial, *periods, design, domains], low, high):
        if any(_takes(region, middle) for region in initial):
            continue
        domain = _first([[each] for each in domains], middle)
        period = _first(periods, middle)
        planned = any(_takes(region, middle) for region in design)
        parts[domain, "in situ", -1] += volume
        if period < len(periods):
            parts[domain, "mined", period] += volume
            if not planned:
                parts[domain, "overbreak", period] += volume
        else:
            parts[domain, "remaining", -1] += volume
            if planned:
                parts[domain, "underbreak", -1] += volume
        if planned:
            parts[domain, "design", -1] += volume
    return parts


def cells(
    regions: Sequence[Sequence[Region]], low: np.ndarray, high: np.ndarray
) -> Iterator[tuple[list[Fraction], Fraction]]:
    """Yield the middle and the volume of each cell of a block between the faces of all regions."""
    ends = [[Fraction(float(value)) for value in corner] for corner in (low, high)]
    cuts = [{ends[0][k], ends[1][k]} for k in range(3)]
    for region in chain.from_iterable(regions):
        if isinstance(region, float):
            cuts[2].add(Fraction(region))
            continue
        for axis in range(3):
            cuts[axis] |= {Fraction(corner[axis]) for corner in region}
    axes = [sorted(cut for cut in cuts[k] if ends[0][k] <= cut <= ends[1][k]) for k in range(3)]
    for cell in product(*(pairwise(axis) for axis in axes)):
        yield [(a + b) / 2 for a, b in cell], math.prod(b - a for a, b in cell)


def _first(regions: Sequence[Sequence[Region]], point: Sequence[Fraction]) -> int:
    """Return the number of the first step that takes a point; their number if none does."""
    takers = (
        step for step, taken in enumerate(regions) if any(_takes(each, point) for each in taken)
    )
    return next(takers, len(regions))


def _takes(region: Region, point: Sequence[Fraction]) -> bool:
    if isinstance(region, float):
        return point[2] > Fraction(region)
    return all(Fraction(a) < p < Fraction(b) for a, b, p in zip(*region, point, strict=True))


def random_regions(random: np.random.Generator, steps: int) -> list[list[Region]]:
    """Return boxes and levels for some steps; they overlap, and some share faces."""
    regions: list[list[Region]] = []
    for _ in range(steps):
        step: list[Region] = []
        for _ in range(int(random.integers(1, 4))):
            if random.random() < 0.3:
                step.append(float(random.integers(16, 40)))
                continue
            low = random.integers(0, 30, 3).astype(float)
            step.append((tuple(low), tuple(low + random.integers(3, 15, 3))))
        regions.append(step)
    return regions


def lattice(count: int = 4, size: float = 10.0) -> tuple[np.ndarray, np.ndarray]:
    """Return the centres and sizes of a cube of blocks from the origin."""
    axis = (np.arange(count) + 0.5) * size
    centres = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    return centres, np.full_like(centres, size)


def write_model(path: Path, centres: np.ndarray, sizes: np.ndarray, seed: int = 0) -> None:
    """Write blocks as a CSV with random domains, densities and grades, some of them missing."""
    random = np.random.default_rng(seed)
    lines = ["X,Y,Z,DX,DY,DZ,domain,SG,AU,CLASS"]
    for centre, size in zip(centres.tolist(), sizes.tolist(), strict=True):
        density = "" if random.random() < 0.05 else f"{random.uniform(2, 4):.2f}"
        grade = "" if random.random() < 0.1 else f"{random.uniform(0, 5):.3f}"
        domain, kind = random.choice(["ORE", "WASTE"]), random.choice(["Measured", "Inferred"])
        cells = [*map(repr, centre), *map(repr, size), domain, density, grade, kind]
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n")
