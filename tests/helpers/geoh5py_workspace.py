"""Write and describe workspaces with geoh5py: a program for a Python of its own.

geoh5py allows old releases of NumPy alone, so that it is not installed beside geodomain.

    python geoh5py_workspace.py make FILE.geoh5
    python geoh5py_workspace.py tell FILE.geoh5
"""

from __future__ import annotations

import json
import sys

import numpy as np
from geoh5py import Workspace
from geoh5py.groups import ContainerGroup, DrillholeGroup
from geoh5py.objects import BlockModel, Drillhole, Grid2D, Octree, Points, Surface

ORIGIN = [414000.0, 7480000.0, 150.0]
CORNERS = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], float)
FACES = np.array([
    [0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4],
    [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5],
])  # fmt: skip
CELLS = [
    (0, 0, 0, 4), (4, 0, 0, 4), (0, 4, 0, 4), (4, 4, 0, 4), (0, 0, 4, 4), (4, 0, 4, 4),
    (0, 4, 4, 4), (4, 4, 4, 2), (6, 4, 4, 2), (4, 6, 4, 2), (6, 6, 4, 2), (4, 4, 6, 2),
    (6, 4, 6, 2), (4, 6, 6, 2), (6, 6, 6, 1), (7, 7, 7, 1),
]  # fmt: skip
STATIONS = np.array([[0.0, 20.0, -80.0], [30.0, 40.0, -70.0], [80.0, 50.0, -60.0]])
INTERVALS = np.array([[0, 12.5], [12.5, 20.1], [20.1, 33.3], [40, 61.7]])


def box(low, high) -> dict:
    """Return the vertices and cells of a box, relative to the origin."""
    low, high = np.add(ORIGIN, low), np.add(ORIGIN, high)
    return {"vertices": low + CORNERS * (high - low), "cells": FACES}


def holes(workspace: Workspace, parent, names: list[str], tables: bool) -> None:
    """Add holes with surveys, samples and logs."""
    for number, name in enumerate(names):
        hole = Drillhole.create(
            workspace, name=name, parent=parent, surveys=STATIONS + np.array([0, 15 * number, 0]),
            collar=np.add(ORIGIN, [5 + 12 * number, 4, 70]).tolist(),
        )  # fmt: skip
        grades = {"AU": {"values": np.array([0.1, 0.7, np.nan, 2]) + number, "from-to": INTERVALS}}
        if tables:
            grades["LITH"] = {
                "values": np.array(["é", "b", "", "c"]), "from-to": INTERVALS, "type": "text"
            }  # fmt: skip
        hole.add_data(grades, **({"property_group": "assay"} if tables else {}))
        if tables:
            other = {"values": np.array([1, 2]), "from-to": np.array([[0, 10], [10, 25.0]])}
            other |= {"type": "referenced", "value_map": {1: "Sand", 2: "Clay"}}
            hole.add_data({"UNIT": other}, property_group="geology")
            log = {"values": np.arange(4.0), "depth": np.arange(4.0) * 2}
            hole.add_data({"GAMMA": log}, property_group="log")


def make(path: str) -> None:
    """Write a workspace with surfaces, models and holes."""
    with Workspace.create(path) as workspace:
        geology = ContainerGroup.create(workspace, name="Geology")
        inner = ContainerGroup.create(workspace, name="Inner", parent=geology)
        Surface.create(workspace, name="ORE", parent=geology, **box((-30, 2, 3), (31, 38, 41)))
        Surface.create(workspace, name="ORE", parent=inner, **box((1, 1, 1), (2, 2, 2)))
        Surface.create(workspace, name="OUTER", **box((-40, -1, -1), (47, 47, 47)))
        Points.create(workspace, name="Stations", vertices=CORNERS)
        grid = Grid2D.create(
            workspace, name="DEM", origin=ORIGIN, u_cell_size=10.0, v_cell_size=10.0,
            u_count=6, v_count=5, rotation=10.0,
        )  # fmt: skip
        grid.add_data({"elevation": {"values": np.linspace(190, 199, 30), "association": "CELL"}})
        for name, rotation in (("Regular", 0.0), ("Rotated", 27.5)):
            model = BlockModel.create(
                workspace, name=name, parent=geology, origin=ORIGIN, rotation=rotation,
                u_cell_delimiters=np.arange(0, 61, 10.0),
                v_cell_delimiters=np.array([0, 5, 10, 20, 30, 45.0]),
                z_cell_delimiters=np.array([0, 4, 12.0, 24, 40, 60]),
            )  # fmt: skip
            each = np.arange(model.n_cells)
            model.add_data({
                "AU": {"values": np.where(each % 7 == 0, np.nan, each / 8), "association": "CELL"},
                "ROCK": {
                    "values": each % 3, "type": "referenced", "association": "CELL",
                    "value_map": {1: "Granite", 2: "Ovb é"},
                },
                "NOTE": {"values": each.astype(str), "type": "text", "association": "CELL"},
            })  # fmt: skip
        tree = Octree.create(
            workspace, name="Tree", origin=ORIGIN, rotation=-20.0, octree_cells=np.array(CELLS),
            u_count=8, v_count=8, w_count=8, u_cell_size=6.0, v_cell_size=5.0, w_cell_size=4.0,
        )  # fmt: skip
        tree.add_data({"AU": {"values": np.arange(len(CELLS)) / 4, "association": "CELL"}})
        holes(workspace, DrillholeGroup.create(workspace, name="Drilling"), ["A", "B é"], True)
        holes(workspace, ContainerGroup.create(workspace, name="Old"), ["C", "D"], False)


def plain(value: object) -> object:
    """Return a value as JSON can hold it; NaN becomes text."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.names:
        return [[plain(one) for one in row] for row in np.atleast_1d(array).tolist()]
    return json.loads(json.dumps(array.tolist(), default=str).replace("NaN", '"NaN"'))


ATTRIBUTES = (
    "vertices", "cells", "centroids", "collar", "surveys", "origin", "rotation", "end_of_hole",
    "octree_cells", "u_cells", "v_cells", "z_cells", "u_cell_size", "v_cell_size", "w_cell_size",
)  # fmt: skip


def tell(path: str) -> dict:
    """Return all entities of a workspace, by id."""
    found = {}
    with Workspace(path, mode="r") as workspace:
        for group in workspace.groups:
            parent = None if group.parent is None else str(group.parent.uid)
            found[str(group.uid)] = {"kind": type(group).__name__, "name": group.name, "in": parent}
        for one in workspace.objects:
            told = {"kind": type(one).__name__, "name": one.name, "in": str(one.parent.uid)}
            told |= {
                name: plain(getattr(one, name)) for name in ATTRIBUTES if hasattr(type(one), name)
            }
            found[str(one.uid)] = told
            for child in one.children:
                about = {"kind": type(child).__name__, "name": child.name, "of": one.name}
                if hasattr(child, "properties"):
                    about["properties"] = [str(each) for each in child.properties or ()]
                else:
                    names = getattr(child.entity_type, "value_map", None)
                    about |= {
                        "values": plain(child.values), "association": child.association.name,
                        "type": str(child.entity_type.uid),
                        "names": None if names is None else [
                            (int(code), text.decode()) for code, text in names.map.tolist()
                        ],
                    }  # fmt: skip
                found[str(child.uid)] = about
    return found


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        sys.stdout.write(json.dumps(tell(sys.argv[2])))
