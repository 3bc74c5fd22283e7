"""One rotated model as CSV, Parquet and VTK, with the same labels.

The model is inspected, labelled in each format, and drawn in sections along its own axes.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pyvista as pv

from geodomain import Mesh, inspect_file, label_file, plot_sections, write_mesh

# A model of 30 x 20 x 10 blocks whose north points to azimuth 30, in its own coordinates.
image = pv.ImageData(dimensions=(31, 21, 11), spacing=(10, 10, 5))
x, y, z = image.cell_centers().points.astype(float).T
frame = pd.DataFrame({"X": x, "Y": y, "Z": z, "DX": 10.0, "DY": 10.0, "DZ": 5.0, "AU": np.sqrt(x)})
frame.to_csv("model.csv", index=False)
image.cell_data["AU"] = frame["AU"]
has_parquet = find_spec("pyarrow") is not None  # of the extra "parquet"
if has_parquet:
    frame.to_parquet("model.parquet")
sine, cosine = 0.5, np.sqrt(0.75)
image.origin = (414_000.0, 7_480_000.0, 150.0)
image.direction_matrix = [[cosine, sine, 0], [-sine, cosine, 0], [0, 0, 1]]
image.save("model.vti")

body = pv.ParametricEllipsoid(70, 45, 20).clean().triangulate()
body.points = body.points.astype(float) + np.array(image.center)
write_mesh(Mesh.from_pyvista(body), "ore.ply")

local = {"rotation": "z=30", "origin": (414_000, 7_480_000, 150)}
ore = {"ORE": "ore.ply"}
print(inspect_file("model.csv", "ore.ply", **local))
label_file("model.csv", ore, "labelled.csv", background="WASTE", **local)
if has_parquet:
    label_file("model.parquet", ore, "labelled.parquet", background="WASTE", **local)
label_file("model.vti", ore, "labelled.vti", background="WASTE")
plot_sections("labelled.vti", "ore.png", domains=ore, background="WASTE")

from_text = pd.read_csv("labelled.csv")["domain"]
from_parquet = pd.read_parquet("labelled.parquet")["domain"] if has_parquet else from_text
from_vtk = pd.Series(pv.read("labelled.vti").cell_data["domain"])
print(from_text.value_counts().to_string())

assert Path("ore.png").stat().st_size > 10_000
assert (from_text == from_parquet).all() and (from_text == from_vtk).all()
