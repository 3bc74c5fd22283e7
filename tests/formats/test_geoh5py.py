"""Workspaces that geoh5py wrote: labels as by CSV and OMF, and geoh5py finds the rest unchanged.

`GEODOMAIN_GEOH5PY` names a Python with geoh5py, which needs releases of NumPy that geodomain does
not.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from late import needs

import geodomain
from geodomain import flag_file, label_file, read_mesh
from geodomain.formats.blocks import open_model
from geodomain.tables.options import TableOptions

PYTHON = os.environ.get("GEODOMAIN_GEOH5PY", "")
PROGRAM = Path(__file__).parents[1] / "helpers/geoh5py_workspace.py"
pytestmark = [
    pytest.mark.full,
    needs("h5py"),
    pytest.mark.skipif(not PYTHON, reason="GEODOMAIN_GEOH5PY names no Python with geoh5py"),
]


def geoh5py(what: str, path: Path) -> Any:
    done = subprocess.run(
        [PYTHON, "-W", "ignore", str(PROGRAM), what, str(path)], capture_output=True, check=True
    )
    return json.loads(done.stdout) if what == "tell" else path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return geoh5py("make", tmp_path_factory.mktemp("geoh5py") / "a.geoh5")


@pytest.fixture(scope="module")
def told(path: Path) -> dict[str, dict]:
    return geoh5py("tell", path)


def named(told: dict[str, dict], name: str, kind: str = "") -> dict:
    return next(o for o in told.values() if o["name"] == name and o["kind"].startswith(kind))


def decoded(data: dict) -> list[str]:
    """Return the texts of referenced data as geoh5py has them."""
    names = {code: "" if text == "Unknown" else text for code, text in data["names"]}
    return [names[code] for code in data["values"]]


def unchanged(before: dict[str, dict], after: dict[str, dict]) -> dict[str, dict]:
    """Require all that was there, unchanged but for lists of properties; return what is new."""
    for key, one in before.items():
        other = dict(after[key])
        if "properties" in one:
            other["properties"] = other["properties"][: len(one["properties"])]
        assert other == one
    return {key: one for key, one in after.items() if key not in before}


@pytest.mark.parametrize("model", ["Regular", "Rotated", "Tree"])
def test_labels_are_those_of_csv_and_omf(path, told, tmp_path, model):
    one = named(told, model)
    with open_model(f"{path}:{model}", TableOptions()) as opened:
        sizes = opened.gathered().sizes
    centres = np.array(one["centroids"])
    rows = np.column_stack([centres, sizes]).tolist()
    lines = ["x,y,z,dx,dy,dz", *(",".join(map(repr, row)) for row in rows)]
    table = tmp_path / "a.csv"
    table.write_text("\n".join(lines) + "\n")
    domains = {"ORE": f"{path}:Geology/ORE", "OUTER": f"{path}:OUTER"}
    turn = {"frame": f"z={-one['rotation']:g}"} if one["rotation"] else {}
    label_file(table, domains, tmp_path / "b.csv", background="W", **turn)
    wanted = [line.rpartition(",")[2] for line in (tmp_path / "b.csv").read_text().split()[1:]]
    assert {*wanted} == {"ORE", "OUTER", "W"}
    geodomain.convert_blocks(table, tmp_path / "a.omf", **turn)
    label_file(tmp_path / "a.omf", domains, tmp_path / "b.omf", background="W")
    with open_model(str(tmp_path / "b.omf"), TableOptions()) as opened:
        blocks = opened.gathered()
    nearest = np.linalg.norm(blocks.centroids[:, None] - centres, axis=2).argmin(axis=1)
    assert [wanted[n] for n in nearest] == blocks.columns["domain"].tolist()
    label_file(f"{path}:{model}", domains, tmp_path / "b.geoh5", background="W", flags=True,
               proportions="itself")  # fmt: skip
    new = unchanged(told, geoh5py("tell", tmp_path / "b.geoh5"))
    assert {each["of"] for each in new.values()} == {model} and len(new) == 5
    labels = next(each for each in new.values() if each["name"] == "domain")
    assert labels["kind"] == "ReferencedData" and decoded(labels) == wanted
    assert [row[0] for row in labels["names"]] == [0, 1, 2, 3]


def test_surfaces_and_grids(path, told):
    for name, one in (("OUTER", named(told, "OUTER")), ("DEM", named(told, "DEM"))):
        mesh = read_mesh(f"{path}:{name}")
        if name == "DEM":
            wanted = np.array(one["centroids"])
            wanted[:, 2] = np.linspace(190, 199, 30)
        else:
            wanted = np.array(one["vertices"])
            assert mesh.triangles.tolist() == one["cells"]
        np.testing.assert_allclose(mesh.vertices, wanted, rtol=1e-15)
    assert [*geodomain.read_meshes(path)] and read_mesh(f"{path}:Inner/ORE").is_closed


@pytest.mark.parametrize(("group", "table"), [("Drilling", "/assay"), ("Old", "")])
@pytest.mark.parametrize("by", ["middle", "majority", "split"])
def test_flags_are_those_of_csv(path, told, tmp_path, group, table, by):
    if by == "split" and not table:
        pytest.skip("intervals of holes that are objects are not split")
    key = next(key for key, one in told.items() if one["name"] == group)
    holes = [one for one in told.values() if one.get("in") == key]
    collar, survey, assay = ["BHID,X,Y,Z"], ["BHID,AT,AZIMUTH,DIP"], ["BHID,FROM,TO,AU"]
    values = {(one["of"], one["name"]): one["values"] for one in told.values() if "values" in one}
    for hole in holes:
        name = hole["name"]
        collar.append(",".join(map(str, (name, *hole["collar"][0]))))
        survey += [",".join(map(str, (name, *row))) for row in hole["surveys"]]
        for row in zip(*(values[name, c] for c in ("FROM", "TO", "AU")), strict=True):
            shown = ["" if v == "NaN" else repr(round(v, 4)) for v in row]
            assay.append(",".join([name, *shown]))
    for name, lines in (("collar", collar), ("survey", survey), ("assay", assay)):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    domains = {"ORE": f"{path}:Geology/ORE", "OUTER": f"{path}:OUTER"}
    settings = {"by": by, "background": "W"}
    flag_file(tmp_path / "assay.csv", domains, tmp_path / "b.csv", collar=tmp_path / "collar.csv",
              survey=tmp_path / "survey.csv", **settings)  # fmt: skip
    text = (tmp_path / "b.csv").read_text(encoding="utf-8")
    wanted = [line.split(",") for line in text.splitlines()[1:]]
    assert {"ORE", "OUTER"} < {row[-1] for row in wanted}
    flag_file(f"{path}:{group}{table}", domains, tmp_path / "b.geoh5", collar=f"{path}:{group}",
              **settings)  # fmt: skip
    after = geoh5py("tell", tmp_path / "b.geoh5")
    if by == "split":  # the other values of the table are repeated
        table_ = {one for one in told if told[one]["name"] in ("FROM", "TO", "AU", "LITH")}
        new = unchanged({k: one for k, one in told.items() if k not in table_}, after)
        new = {k: one for k, one in new.items() if k not in told}
    else:
        new = unchanged(told, after)
    assert {one["name"] for one in new.values()} == {"domain"} and len(new) == len(holes)
    found = {one["of"]: one for one in new.values()}
    assert [text for hole in holes for text in decoded(found[hole["name"]])] == [
        row[-1] for row in wanted
    ]
    later = {(one["of"], one["name"]): one["values"] for one in after.values() if "values" in one}
    ends = [v for hole in holes for v in later[hole["name"], "TO"]]
    assert np.round(ends, 3).tolist() == [round(float(row[2]), 3) for row in wanted]


def test_new_workspaces_are_read_by_geoh5py(path, told, tmp_path):
    geodomain.convert_blocks(f"{path}:Rotated", tmp_path / "b.geoh5")
    found = geoh5py("tell", tmp_path / "b.geoh5")
    model, old = named(found, "b", "BlockModel"), named(told, "Rotated")
    assert model["rotation"] == old["rotation"] == 27.5
    np.testing.assert_allclose(model["centroids"], old["centroids"], rtol=1e-14)
    grades = [one for side in (found, told) for one in side.values() if one["name"] == "AU"
              and one.get("of") in ("b", "Rotated")]  # fmt: skip
    assert grades[0]["values"] == grades[1]["values"]
    rocks = [one for side in (found, told) for one in side.values() if one["name"] == "ROCK"
             and one.get("of") in ("b", "Rotated")]  # fmt: skip
    assert decoded(rocks[0]) == decoded(rocks[1])
    geodomain.write_mesh({"A é": read_mesh(f"{path}:OUTER")}, tmp_path / "c.geoh5")
    surface = named(geoh5py("tell", tmp_path / "c.geoh5"), "A é", "Surface")
    assert surface["vertices"] == named(told, "OUTER")["vertices"]
