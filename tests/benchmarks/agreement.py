"""Compare geodomain with independent tools and with published figures; write a table for the site.

python tests/benchmarks/agreement.py docs/agreement.json [--data FOLDER]

The demo's deposit is labelled, measured and composited beside VTK, trimesh, wellpathpy and pandas,
those that are installed. FOLDER holds public files with results that other programs have written
into them: see docs/explanation/agreement.md, which names them and where they are from.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pyvista as pv

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
from crossings import crossing

import geodomain
from geodomain import Drillholes, Mesh, synthetic
from geodomain.synthetic.files import write_deposit

Row = list[str]
_SAMPLE = 20_000


def peer(name: str) -> object | None:
    """Import another library, or say that it is left out."""
    try:
        return importlib.import_module(name)
    except ImportError:
        sys.stderr.write(f"left out: {name} is not installed\n")
        return None


def polydata(mesh: Mesh) -> pv.PolyData:
    return pv.PolyData.from_regular_faces(mesh.vertices, mesh.triangles)


def vtk() -> str:
    return f"VTK {'.'.join(map(str, pv.vtk_version_info[:3]))}"


def labels(deposit: synthetic.Deposit) -> Iterator[Row]:
    """Compare the inside of each solid for a sample of the blocks' centroids."""
    dice = np.random.default_rng(1)
    blocks = deposit.subblocked.centroids
    points = blocks[dice.choice(len(blocks), _SAMPLE, replace=False)]
    trimesh = peer("trimesh")
    for name, mesh in deposit.solids.items():
        inside = geodomain.contains(mesh, points)
        cloud, surface = pv.PolyData(points), polydata(mesh)
        theirs = {}
        for method in ("cell_locator", "signed_distance"):
            marked = cloud.select_interior_points(surface, method=method)
            theirs[f"{vtk()} {method}"] = marked["selected_points"] != 0
        if trimesh is not None:
            solid = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False)
            theirs[f"trimesh {version('trimesh')}"] = solid.contains(points)
        for tool, answer in theirs.items():
            rows = np.flatnonzero(answer != inside)
            right = [is_inside(mesh, point) for point in points[rows]]
            wrong = int(np.count_nonzero(answer[rows] != right))
            own = int(np.count_nonzero(inside[rows] != right))
            told = f"{rows.size:,} differ" + (
                f": {tool.split()[0]} is wrong in {wrong}, geodomain in {own}" if rows.size else ""
            )
            yield [f"inside {name}", tool, f"{_SAMPLE:,} blocks", told]


def is_inside(mesh: Mesh, point: np.ndarray) -> bool:
    """Decide by fractions: the parity of the triangles that a ray upwards crosses."""
    corners = mesh.vertices[mesh.triangles]
    plan, at = corners[:, :, :2], point[:2]
    near = ((plan.min(axis=1) <= at) & (plan.max(axis=1) >= at)).all(axis=1)
    top = point + np.array([0, 0, 1e6])
    crossed = [crossing(point, top, corners[n]) is not None for n in np.flatnonzero(near)]
    return sum(crossed) % 2 == 1


def shown(difference: float, unit: str) -> str:
    """Return a difference with one digit, as a cell of the table."""
    return f"{difference:.0e} {unit}" if difference else "none"


def volumes(deposit: synthetic.Deposit) -> Iterator[Row]:
    """Compare the volume of each solid, and the sum of the shares of its blocks."""
    trimesh = peer("trimesh")
    for name, mesh in deposit.solids.items():
        own = geodomain.check(mesh).signed_volume
        theirs = {vtk(): polydata(mesh).volume}
        if trimesh is not None:
            local = mesh.vertices - mesh.vertices.mean(axis=0)
            solid = trimesh.Trimesh(local, mesh.triangles, process=False)
            theirs[f"trimesh {version('trimesh')}"] = abs(solid.volume)
        for tool, volume in theirs.items():
            off = abs(volume / own - 1)
            yield [f"volume of {name}", tool, f"{own:,.3f} m3", shown(off, "relative")]


def holes(folder: Path) -> Iterator[Row]:
    """Compare the stations of the demo's holes with wellpathpy's minimum curvature."""
    well = peer("wellpathpy")
    if well is None:
        return
    drilled = Drillholes(folder / "collar.csv", folder / "survey.csv")
    collars = pd.read_csv(folder / "collar.csv").set_index("HOLEID")
    most = 0.0
    count = 0
    for hole, rows in pd.read_csv(folder / "survey.csv").groupby("HOLEID"):
        # Inclination is from the vertical, and DIP from the horizontal, negative downwards.
        path = well.deviation(
            md=rows["DEPTH"].to_numpy(), inc=90 + rows["DIP"].to_numpy(), azi=rows["AZIMUTH"]
        ).minimum_curvature()
        theirs = np.stack([path.easting, path.northing, -path.depth], axis=1)
        theirs += collars.loc[hole, ["EAST", "NORTH", "RL"]].to_numpy(float)
        own = drilled.positions(hole, rows["DEPTH"].to_numpy())
        most = max(most, float(np.abs(own - theirs).max()))
        count += len(rows)
    tool = f"wellpathpy {version('wellpathpy')}"
    yield ["position at a station", tool, f"{count} stations", shown(most, "m at most")]


def composites(folder: Path) -> Iterator[Row]:
    """Compare the sum of length times grade of composites with that of the samples, by pandas."""
    drilled = Drillholes(folder / "collar.csv", folder / "survey.csv")
    samples = pd.read_csv(folder / "assay.csv")
    domains = {"ORE": [folder / "ore_upper.ply", folder / "ore_lower.ply"]}
    made = geodomain.composite(samples, drilled, domains, length=5.0, grade="AU").to_pandas()
    length = samples["TO"] - samples["FROM"]
    own = float((made["length"] * made["AU"]).sum())
    theirs = float((length * samples["AU"]).sum())
    off = shown(abs(own / theirs - 1), "relative")
    yield ["length x grade of 5 m composites", f"pandas {pd.__version__}", f"{theirs:,.2f}", off]


def published(data: Path) -> Iterator[Row]:
    """Compare with results that other programs have written into public files."""
    blocks = pd.read_csv(data / "bunny" / "bunny_blocks.csv")
    mesh = geodomain.read_mesh(data / "bunny" / "bunny.obj")
    inside = geodomain.contains(mesh, blocks[["X", "Y", "Z"]].to_numpy(float))
    known = blocks["Bunny"].isin(["Body", "Air"])
    differ = int((inside[known] != (blocks["Bunny"][known] == "Body")).sum())
    count = f"{known.sum():,} blocks"
    yield ["labels of an octree model", "the model's own", count, f"{differ} differ"]
    stated = {"EG": (9742293.9521, 9752293.9702), "FG": (2768515.7662, 3348805.6532)}
    for name, (plan, area) in stated.items():
        mesh = geodomain.read_mesh(data / "formats" / "landxml" / f"subdivision.xml:{name}")
        corners = mesh.vertices[mesh.triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2
        own = np.linalg.norm(normals, axis=1).sum(), np.abs(normals[:, 2]).sum()
        for what, ours, theirs in (("area", own[0], area), ("plan area", own[1], plan)):
            off = shown(abs(ours / theirs - 1), "relative")
            yield [f"{what} of surface {name}", "the LandXML file", f"{theirs:,.4f}", off]


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", type=Path)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    deposit = synthetic.deposit("small")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_deposit(deposit, folder)
        tables = {
            "demo": [*labels(deposit), *volumes(deposit), *holes(folder), *composites(folder)]
        }
    if options.data:
        tables["published"] = [*published(options.data)]
    columns = ["what", "compared with", "value", "difference"]
    rows = {name: [dict(zip(columns, row, strict=True)) for row in tables[name]] for name in tables}
    options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
