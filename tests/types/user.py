# pyright: strict
"""A program as users write it, which strict type checkers accept: `.ci/run` asks pyright and mypy.

It runs, too: python tests/types/user.py DEMO, with the folder of `geodomain demo`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyvista as pv

import geodomain
from geodomain import Domain, Domains


def label_files(demo: Path, target: Path) -> geodomain.Summary:
    summary = geodomain.label_file(
        demo / "regular.csv", demo / "domains.toml", target, overwrite=True, background="WASTE"
    )
    measured: geodomain.Summary = geodomain.label(
        demo / "subblocked.csv", {"ORE": demo / "ore_upper.ply"}, None
    )
    print(summary.rows, summary.domains[0].name, measured.background.blocks, measured.as_dict())
    return summary


def label_frames(demo: Path) -> pd.DataFrame:
    blocks = pd.read_csv(demo / "regular.csv")
    domains = geodomain.read_domains(demo / "domains.toml")
    labels: pd.Series = geodomain.label_blocks(blocks, domains, rule="parity", by="majority")
    blocks["domain"] = geodomain.label(blocks, domains, background="WASTE", threads=2)
    blocks = geodomain.proportions_blocks(blocks, {"ORE": str(demo / "ore_upper.ply")})
    print(len(labels), geodomain.tonnes(blocks, density="DENSITY", grade="AU").to_pandas())
    print(geodomain.stats(blocks, "AU", cap={"AU": [20, 30]}, decluster=(50, 50, 20)).totals[0].cv)
    return blocks


def label_arrays(demo: Path, blocks: pd.DataFrame) -> None:
    ore = geodomain.read_mesh(demo / "ore_upper.ply")
    rock = Domain("OXIDE", demo / "oxide.obj", kind="above", only_if={"AU": {">=": 0.5}})
    domains = Domains([Domain("ORE", [ore, demo / "ore_lower.ply"]), rock], background="WASTE")
    points = blocks[["XC", "YC", "ZC"]].to_numpy(dtype=np.float64)
    labels = geodomain.label_points(points, {"ORE": ore}, background="WASTE", backend="cpu")
    inside = geodomain.contains(ore, points) & (labels == "ORE")
    x, y, z = (np.unique(points[:, axis]) for axis in range(3))
    bits = geodomain.contains_lattice(ore, x, y, z, packed=True, rule="winding")
    lattice = geodomain.label_lattice(x, y, z, {"ORE": ore}).reshape(-1)
    grid = pv.ImageData(dimensions=(9, 9, 9), spacing=(10, 10, 5), origin=points[0])
    full = geodomain.contains_lattice(ore, grid).sum() + bits.sum()
    cells = geodomain.label_grid(grid, {"ORE": ore, "DYKE": pv.read(demo / "dyke.ply")})
    winds = geodomain.PointLocator(ore, backend="auto").winding_numbers(points[:9])
    hits = geodomain.intersect(ore, points[:9], points[:9] + 5.0, mode="nearest")
    print(inside.sum(), full, lattice[0], cells[0], winds.max(), hits.segment, domains.order)
    print(geodomain.nearest(ore, points[:9]).to_pandas().max(), geodomain.check(ore).closed)


def flag_samples(demo: Path) -> pd.DataFrame:
    samples = pd.read_csv(demo / "assay.csv")
    holes = geodomain.Drillholes(demo / "collar.csv", demo / "survey.csv", samples)
    ore = {"ORE": (demo / "ore_upper.ply", demo / "ore_lower.ply")}
    samples["domain"] = geodomain.flag(samples, holes, ore, background="WASTE")
    runs = geodomain.composite(samples, holes, ore, length=2.0, grade="AU", short="merge")
    print(samples["domain"].value_counts(), runs)
    return geodomain.flag(samples, holes, ore, by="split", column="part")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    print(label_files(folder, folder / "typed.csv"))
    label_arrays(folder, label_frames(folder))
    print(flag_samples(folder).head())
