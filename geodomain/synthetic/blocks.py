"""Block models of the synthetic deposit and their text; no wireframes, no files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.synthetic.ground import EXTENT, LENSES, ORIGIN, oxidation_height, topography_height
from geodomain.synthetic.sheets import Floats

NAMES = ("XC", "YC", "ZC", "XINC", "YINC", "ZINC", "AU", "DENSITY", "ROCK")
ROCKS = np.array(["AIR", "LATERITE", "SCHIST", "BIF"])
SUBDIVISIONS = 2  # halvings of a parent block: 10 x 10 x 5 m down to 2.5 x 2.5 x 1.25 m
HALVES = np.array([[i, j, k] for k in (-1, 1) for j in (-1, 1) for i in (-1, 1)]) / 2.0
# Corners, and the middles of edges and faces, so that a thin rim is not missed between corners.
PROBES = np.array([[i, j, k] for k in (-1, 0, 1) for j in (-1, 0, 1) for i in (-1, 0, 1)]) / 2.0


@dataclass(frozen=True, eq=False)
class BlockTable:
    """A block model as a mining package exports it.

    Attributes
    ----------
    centroids, sizes : ndarray of shape (n, 3)
        Metres; x varies fastest from parent to parent.
    grades : ndarray of shape (n,)
        Gold, grams per tonne.
    densities : ndarray of shape (n,)
        Tonnes per cubic metre.
    rocks : ndarray of shape (n,), str
        What the rock was logged as: not the domain, which is still to be found.
    """

    centroids: Floats
    sizes: Floats
    grades: Floats
    densities: Floats
    rocks: NDArray[np.str_]

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.centroids)

    def csv(self, rows_per_chunk: int = 100_000) -> Iterator[bytes]:
        """Yield the table as CSV text, header first, with the trailing zeros of real exports."""
        yield (",".join(NAMES) + "\n").encode()
        for start in range(0, len(self), rows_per_chunk):
            part = slice(start, start + rows_per_chunk)
            numbers = [*self.centroids[part].T, *self.sizes[part].T]
            cells = [spelled(column, 3) for column in numbers]
            cells += [spelled(self.grades[part], 2), spelled(self.densities[part], 2)]
            rows = zip(*cells, self.rocks[part].tolist(), strict=True)
            yield "".join([",".join(row) + "\n" for row in rows]).encode()


def spelled(column: Floats, decimals: int) -> list[str]:
    """Return numbers as text; each distinct one is formatted once."""
    values, where = np.unique(column, return_inverse=True)
    texts = np.array([f"{value:.{decimals}f}" for value in values.tolist()], dtype=object)
    spelling: list[str] = texts[where].tolist()
    return spelling


def regular(block: Floats, seed: int) -> BlockTable:
    """Return the model in which every block has the size ``block``."""
    return described(parents(block), np.broadcast_to(block, (len(parents(block)), 3)), seed)


def subblocked(block: Floats, seed: int) -> BlockTable:
    """Return the model whose parents are halved, twice, where the ore begins or ends."""
    whole, split = parents(block), np.ones((1, 3)) * block
    order = np.arange(len(whole), dtype=np.float64)
    finished: list[tuple[Floats, Floats, Floats]] = []
    for level in range(SUBDIVISIONS + 1):
        straddles = straddling(whole, split) & (level < SUBDIVISIONS)
        kept = whole[~straddles]
        finished.append((order[~straddles], kept, np.broadcast_to(split, kept.shape)))
        split = split / 2
        whole = (whole[straddles][:, None] + HALVES * split).reshape(-1, 3)
        order = (order[straddles][:, None] + np.arange(8) / 8.0 ** (level + 1)).ravel()
    rank = np.argsort(np.concatenate([part[0] for part in finished]), kind="stable")
    centroids = np.concatenate([part[1] for part in finished])[rank]
    return described(centroids, np.concatenate([part[2] for part in finished])[rank], seed)


def parents(block: Floats) -> Floats:
    """Return the centroids of a regular model, x fastest, shape (n, 3)."""
    axes = (np.arange(block[a] / 2, EXTENT[a], block[a]) + ORIGIN[a] for a in (2, 1, 0))
    z, y, x = np.meshgrid(*axes, indexing="ij")
    return np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)


def straddling(centroids: Floats, size: Floats) -> NDArray[np.bool_]:
    """Return which blocks the boundary of an ore lens passes through."""
    crossed = np.zeros(len(centroids), dtype=bool)
    for lens in LENSES:
        middle = lens.holds(centroids)
        for probe in PROBES:
            crossed |= lens.holds(centroids + probe * size) != middle
    return crossed


def described(centroids: Floats, sizes: Floats, seed: int) -> BlockTable:
    """Return each block a rock, a density and a grade."""
    x, y, z = (centroids - ORIGIN).T
    ore = np.zeros(len(centroids), dtype=bool)
    for lens in LENSES:
        ore |= lens.holds(centroids)
    air, oxidised = z > topography_height(x, y), z > oxidation_height(x, y)
    kind = np.where(ore, 3, 2)
    rocks = ROCKS[np.where(air, 0, np.where(oxidised & ~ore, 1, kind))]
    # Three uniform numbers make a bell that, unlike a normal variate, needs no logarithm.
    random = np.random.Generator(np.random.PCG64(seed))
    nugget = random.random((3, len(centroids))).sum(axis=0) - 1.5
    trend = 0.5 * np.sin(x / 29) * np.cos(y / 43) + 0.3 * np.sin(z / 11)
    grades: Floats = np.exp(np.where(ore, 0.7, -3.0) + trend + 1.2 * nugget)
    densities: Floats = np.where(oxidised, 2.1, np.where(ore, 3.2, 2.7)) + 0.08 * nugget
    grades[air] = densities[air] = 0
    return BlockTable(
        centroids=centroids,
        sizes=np.ascontiguousarray(sizes),
        grades=grades.round(2),
        densities=densities.round(2),
        rocks=rocks,
    )
