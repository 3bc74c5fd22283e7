"""Acceptance over wireframes of mining programs, kept beside the checkout; skipped without."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from geodomain import GeodomainWarning, Mesh, MeshError, read_mesh, read_meshes
from geodomain.mesh.check import check


def area(mesh: Mesh) -> float:
    corners = mesh.vertices[mesh.triangles] - mesh.bounds[0]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return float(np.linalg.norm(normals, axis=1).sum() / 2)


def volume(mesh: Mesh) -> float:
    corners = mesh.vertices[mesh.triangles] - mesh.bounds[0]
    return float(np.einsum("ti,ti->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6)


# File, solid, triangles, area.
SURFACES = [
    ("surpac/24m-west-wall-presplits.dtm", "24m-west-wall-presplits", 292, 22172.438080780),
    ("dxf/24m-west-wall-presplits.dxf", "0", 292, 22172.438080780),
    ("surpac/mka_pd_stg4_202406_v1.dtm", "mka_pd_stg4_202406_v1", 18528, 1519248.354434),
    ("dxf/shafts_small.dxf", "Baron schakt", 343, 179.7707992),
    ("gocad/2triangles.ts", "2triangles.ts", 2, 49514.466073474),
    ("gocad/Fault_without_crs.ts", "Fault", 324, 648901.6558),
    (
        "gocad/ETRA-BBFS-1992-Big_Bear_rupture-CFM2_1000m.ts",
        "ETRA-BBFS-1992-Big_Bear_rupture-CFM2_1000m",
        1640,
        714100583.005,
    ),
    (
        "gocad/WTRA-USAV-USAV-Walnut_Creek_fault-CFM5.ts",
        "WTRA-USAV-USAV-Walnut_Creek_fault-CFM5",
        308,
        222151182.790,
    ),
    ("omf/plane_surface.omf", "plane", 144, 294912.0),
    ("landxml/subdivision.xml", "EG", 1284, 9752293.9702),
    ("landxml/subdivision.xml", "FG", 5241, 3348805.6352),
]


@pytest.mark.parametrize(("path", "name", "triangles", "known"), SURFACES)
def test_surfaces(shared_data, path, name, triangles, known):
    mesh = read_meshes(shared_data / "formats" / path)[name]
    assert len(mesh.triangles) == triangles
    assert area(mesh) == pytest.approx(known, rel=1e-9)


def test_a_pair_is_the_drawing_it_was_made_from(shared_data):
    pair = read_mesh(shared_data / "formats/surpac/24m-west-wall-presplits.dtm")
    drawing = read_mesh(shared_data / "formats/dxf/24m-west-wall-presplits.dxf")
    assert np.array_equal(pair.vertices[pair.triangles], drawing.vertices[drawing.triangles])
    assert len(pair.vertices) == 219


@pytest.mark.parametrize("name", ["location_first", "tri_first", "extra_array"])
def test_leapfrog(shared_data, name):
    mesh = read_mesh(shared_data / f"formats/leapfrog/made_{name}.msh")
    assert mesh.is_closed
    assert volume(mesh) == pytest.approx(1000, abs=1e-9)


@pytest.mark.parametrize("name", ["made_ep_tr", "made_sp_tr", "made_sp_big_tr"])
def test_datamine(shared_data, name):
    found = read_meshes(shared_data / f"formats/datamine/{name}.dm")
    assert {key: len(mesh.triangles) for key, mesh in found.items()} == {"1": 4, "2": 4}
    whole = read_mesh(shared_data / f"formats/datamine/{name}.dm")
    assert volume(whole) == pytest.approx(1000, abs=1e-9)
    assert len(whole.vertices) == 6


@pytest.mark.parametrize("extension", [".dxf", ".bin.dxf"])
def test_meshes_and_inserts(shared_data, extension):
    name = f"made_mesh_polyface_polymesh_insert{extension}"
    found = read_meshes(shared_data / "formats/dxf" / name)
    sizes = {"ORE_HG": 1000, "ORE_LG": 125, "INSERTED": 24}
    for key, size in sizes.items():
        assert found[key].is_closed
        assert volume(found[key]) == pytest.approx(size, rel=1e-9)
    assert found["INSERTED"].bounds.tolist() == [[478097, 6771100, 300], [478100, 6771102, 304]]
    assert len(found["TOPO"].triangles) == 12


def test_depths_and_objects_of_one_name(shared_data):
    deep = read_mesh(shared_data / "formats/gocad/ts-2props.ts")
    assert deep.bounds[:, 2].tolist() == pytest.approx([15210.874, 110115.617], abs=1e-3)
    with pytest.warns(GeodomainWarning, match="has 2 surfaces called 'section1'"):
        (item,) = read_meshes(shared_data / "formats/gocad/surf2d_multi.ts").items()
    assert (item[0], len(item[1].triangles)) == ("section1", 92)
    fault = SURFACES[6][0]
    report = check(read_mesh(shared_data / "formats" / fault))
    assert (report.boundary_edges, report.nonmanifold_edges) == (141, 17)


def test_omf_2(shared_data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeodomainWarning)
        mesh = read_mesh(shared_data / "formats/omf/pyramid.omf")
    assert volume(mesh) == pytest.approx(4 / 3, rel=1e-6)
    found = read_meshes(shared_data / "formats/omf/one_of_everything.omf")
    assert len(found["Pyramid grid surface"].triangles) == 8


REFUSED = {
    "dxf/bin_dxf_r12.dxf": "it contains 3 LINE",
    "dxf/bin_dxf_r2000.dxf": "it contains 1 TEXT",
    "surpac/test310binary.str": "strings are not a surface",
    "gocad/points.vs": "only TSurf objects are surfaces",
    "datamine/made_ep_model.dm": "a block model from Datamine",
    "omf/rotated_block_model_ijk.omf": "no surface: it holds 'VolumeElement'",
}


@pytest.mark.parametrize(("path", "sentence"), REFUSED.items(), ids=REFUSED)
def test_what_is_no_surface(shared_data, path, sentence):
    with pytest.raises(MeshError, match=sentence):
        read_mesh(shared_data / "formats" / path)
