"""Models that change, on a GPU: the answers are those of the CPU, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from late import pd
from mined_ground import sheet
from shapes import star

import geodomain
from geodomain import Mesh

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::geodomain.errors.GeodomainWarning"),
]
pytest.importorskip("pycuda.driver", exc_type=ImportError)


def blocks(count: tuple[int, int, int], size: float) -> pd.DataFrame:
    """Return a regular model from (0, 0, 0), with densities and grades."""
    places = np.stack(np.meshgrid(*map(np.arange, count), indexing="ij"), axis=-1).reshape(-1, 3)
    frame = pd.DataFrame((places + 0.5) * size, columns=["X", "Y", "Z"])
    rng = np.random.default_rng(4)
    frame[["DX", "DY", "DZ"]] = size
    frame["SG"], frame["AU"] = 2 + rng.random(len(frame)), rng.lognormal(size=len(frame))
    return frame


def bodies() -> dict[str, list[Mesh]]:
    """Return two surveys and a stope in (0 to 300) x (0 to 300) x (0 to 100)."""
    x, y = np.meshgrid(np.arange(31.0), np.arange(31.0), indexing="ij")
    first = 80 + 6 * np.sin(x / 3) * np.cos(y / 4)
    second = first - np.maximum(0, 40 - 3 * np.hypot(x - 15, y - 15))
    stope = star(7)
    low, high = stope.bounds
    points = (stope.vertices - low) / (high - low) * [60, 50, 30] + [40.3, 51.7, 5.2]
    return {
        "2026-01": [sheet(first)],
        "2026-02": [sheet(second), Mesh(points, stope.triangles, name="stope")],
    }


def test_depletion_is_the_same_by_both_backends(tmp_path: Path) -> None:
    blocks((30, 30, 20), 10.0).assign(Z=lambda frame: frame["Z"] / 2, DZ=5.0).to_csv(
        tmp_path / "a.csv", index=False
    )
    results, written = [], []
    for backend in ("cpu", "cuda"):
        out = tmp_path / f"{backend}.csv"
        done = geodomain.deplete(
            tmp_path / "a.csv", bodies(), out, density="SG", grade="AU", bench=10, backend=backend
        )
        results.append([row.as_dict() for row in done.rows])
        written.append(out.read_bytes())
    assert results[0] == results[1] and written[0] == written[1]


def test_differences_are_the_same_by_both_backends(tmp_path: Path) -> None:
    paths = []
    for name, size in (("old", 10.0), ("new", 5.0)):
        count = (int(200 / size), int(200 / size), int(60 / size))
        paths.append(tmp_path / f"{name}.csv")
        blocks(count, size).assign(domain="").to_csv(paths[-1], index=False)
    shifted = [mesh for mesh in bodies()["2026-02"] if mesh.name == "stope"]
    moved = [Mesh(mesh.vertices + np.array([3.1, -2.3, 4.7]), mesh.triangles) for mesh in shifted]
    rows = []
    for backend in ("cpu", "cuda"):
        labelled = []
        for path, meshes in zip(paths, (shifted, moved), strict=True):
            out = path.with_name(f"{backend}_{path.name}")
            geodomain.label_file(
                path, {"ORE": meshes}, out, background="WASTE", backend=backend, column="rock"
            )
            labelled.append(out)
        done = geodomain.diff(
            *labelled, domains=({"ORE": shifted}, {"ORE": moved}), density="SG", grade="AU",
            column="rock", backend=backend,
        )  # fmt: skip
        rows.append([row.as_dict() for row in done.rows])
    assert rows[0] == rows[1] and len(rows[0]) > 4
