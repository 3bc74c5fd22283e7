"""Label one rotated model as CSV, Parquet and VTK, inspect it, and draw it: the answer is one."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyvista as pv

from geodomain import Mesh, write_mesh


def geodomain(*arguments):
    """Run a command line."""
    command = [sys.executable, "-c", "from geodomain.cli import main; main()"]
    subprocess.run([*command, *map(str, arguments)], check=True)


# A model of 30 x 20 x 10 blocks whose north points to azimuth 30, in its own coordinates.
image = pv.ImageData(dimensions=(31, 21, 11), spacing=(10, 10, 5))
x, y, z = image.cell_centers().points.astype(float).T
frame = pd.DataFrame({"X": x, "Y": y, "Z": z, "DX": 10.0, "DY": 10.0, "DZ": 5.0, "AU": np.sqrt(x)})
frame.to_csv("model.csv", index=False)
frame.to_parquet("model.parquet")
image.cell_data["AU"] = frame["AU"]
sine, cosine = 0.5, np.sqrt(0.75)
image.origin = (414_000.0, 7_480_000.0, 150.0)
image.direction_matrix = [[cosine, sine, 0], [-sine, cosine, 0], [0, 0, 1]]
image.save("model.vti")

body = pv.ParametricEllipsoid(70, 45, 20).clean().triangulate()
body.points = body.points.astype(float) + np.array(image.center)
write_mesh(Mesh.from_pyvista(body), "ore.ply")

local = ("--rotation", "z=30", "--origin", "414000,7480000,150")
solid = ("--solid", "ORE=ore.ply", "--background", "WASTE", "--quiet")
geodomain("inspect", "model.csv", "ore.ply", *local)
geodomain("label", "model.csv", *solid, *local, "-o", "labelled.csv")
geodomain("label", "model.parquet", *solid, *local, "-o", "labelled.parquet")
geodomain("label", "model.vti", *solid, "-o", "labelled.vti")
geodomain(
    "plot", "labelled.vti", "--solid", "ORE=ore.ply", "--background", "WASTE", "-o", "ore.png"
)

from_text = pd.read_csv("labelled.csv")["domain"]
from_parquet = pd.read_parquet("labelled.parquet")["domain"]
from_vtk = pd.Series(pv.read("labelled.vti").cell_data["domain"])
print(from_text.value_counts().to_string())

assert Path("ore.png").stat().st_size > 10_000
assert (from_text == from_parquet).all() and (from_text == from_vtk).all()
