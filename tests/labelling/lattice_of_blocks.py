"""Blocks of a lattice as a table, their shares, and three bodies that overlap."""

from __future__ import annotations

import numpy as np
from late import pandas
from shapes import star

from geodomain import proportions_blocks


def lattice(low, high, counts) -> pandas.DataFrame:
    """Return the blocks of a lattice, x slowest."""
    edges = [np.linspace(a, b, n + 1) for a, b, n in zip(low, high, counts, strict=True)]
    middles = np.meshgrid(*[(e[1:] + e[:-1]) / 2 for e in edges], indexing="ij")
    sizes = np.meshgrid(*[np.diff(e) for e in edges], indexing="ij")
    names = ("X", "Y", "Z", "DX", "DY", "DZ")
    return pandas.DataFrame({n: v.ravel() for n, v in zip(names, [*middles, *sizes], strict=True)})


def corners(blocks: pandas.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    centres, sizes = blocks[["X", "Y", "Z"]].to_numpy(), blocks[["DX", "DY", "DZ"]].to_numpy()
    return centres - sizes / 2, centres + sizes / 2


def shares(blocks, domains, **options) -> np.ndarray:
    """Return the shares (n, k)."""
    found = proportions_blocks(blocks, domains, **options)
    return found[[name for name in found if name.startswith(("prop_", "pct_"))]].to_numpy()


def three(at=(0.0, 0.0, 0.0)) -> dict:
    at = np.asarray(at)
    return {
        "A": star(3, (60, 50, 40), at),
        "B": star(4, (50, 60, 40), at + np.array([35, 10, 5])),
        "C": star(3, (30, 30, 60), at + np.array([-20, 30, 0])),
    }
