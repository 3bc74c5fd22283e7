"""The figures that are known of real files of other programs, beside the checkout; skipped without.

Areas and volumes were computed by other scripts; the signed volume of what does not face alike is
about the middle of the box. The area of FG is that of its triangles; the file states ...6532.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from geodomain import GeodomainWarning, Mesh, read_mesh, read_meshes
from geodomain.formats import dxf, surpac
from geodomain.formats.datamine import read_table
from geodomain.mesh.check import check


@dataclass(frozen=True)
class Known:
    """What is known of a wireframe; None is not stated."""

    path: str
    triangles: int
    vertices: int | None = None
    open: int | None = None
    several: int | None = None
    unbalanced: int | None = None
    area: float | None = None
    plan: float | None = None
    volume: float | None = None
    bounds: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    upwards: bool = False


KNOWN = [
    Known("surpac/24m-west-wall-presplits.dtm", 292, 219, 144, 0, area=22172.438080780,
          plan=5752.004887497, upwards=True,
          bounds=((477743.285, 6771812.573, 310), (478342.248, 6772382.417, 334))),
    Known("surpac/mka_pd_stg4_202406_v1.dtm", 18528, area=1519248.354434, plan=1193020.075498,
          bounds=((477581.494, 6770716.413, 238), (478656.273, 6772553.682, 424.369))),
    Known("dxf/24m-west-wall-presplits.dxf", 292, 219, 144, 0, area=22172.438080780),
    Known("dxf/shafts_small.dxf", 343, 155, 0, 43, 23, area=179.7707992, volume=75.0157),
    Known("gocad/2triangles.ts", 2, 4, area=49514.466073474),
    Known("gocad/surf2d_multi.ts", 92, bounds=((-61.7243653, -30.6461449, 0),
          (76.1532211, 27.1064682, 0))),
    Known("gocad/Fault_without_crs.ts", 324, 189, area=648901.6558),
    Known("gocad/ETRA-BBFS-1992-Big_Bear_rupture-CFM2_1000m.ts", 1640, 881, 141, 17,
          area=714100583.005),
    Known("gocad/WTRA-USAV-USAV-Walnut_Creek_fault-CFM5.ts", 308, 181, 52, area=222151182.790),
    Known("omf/plane_surface.omf", 144, 90, area=294912.0),
    Known("omf/test_proj.omf", 14),
    Known("omf/pyramid.omf", 6, 5, 0, 0, 0, volume=4 / 3),
    Known("landxml/S3.xml", 300, 164, upwards=True),
    Known("landxml/S4.xml", 3199, 1657, area=3047007.907080, plan=3033985.924615, upwards=True,
          bounds=((834492.220, 1067474.113, 447.391), (836626.508, 1069606.113, 548.918))),
    Known("landxml/subdivision.xml:EG", 1284, 713, area=9752293.9702, plan=9742293.9521),
    Known("landxml/subdivision.xml:FG", 5241, 2716, area=3348805.6353, plan=2768515.7662),
    Known("gltf/cube.glb", 12, 8, 0, 0, 0, volume=8),
    Known("gltf/BoxInterleaved.glb", 12, 8, 0, 0, 0, volume=1),
    Known("gltf/nested.glb", 36, 24, 0, 0, 0, volume=0.898779),
    Known("gltf/testplate.glb", 264, open=0, volume=4.478512545e-4),
    Known("gltf/pyramids.3mf", 3276, open=0, volume=195037.7039),
    Known("gltf/featuretype.3MF", 2208, open=18),
    Known("raster/nodata_nan.asc", 2),
    *(Known(f"leapfrog/made_{name}.msh", 8, 6, 0, 0, 0, volume=1000)
      for name in ("location_first", "tri_first", "extra_array")),
    *(Known(f"datamine/made_{name}_tr.dm", 8, 6, 0, 0, 0, volume=1000)
      for name in ("ep", "sp", "sp_big")),
]  # fmt: skip


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.path)
def test_figures(shared_data: Path, known: Known) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeodomainWarning)
        mesh = read_mesh(shared_data / "formats" / known.path)
    report = check(mesh)
    corners = mesh.vertices[mesh.triangles]
    corners = corners - mesh.bounds.mean(axis=0)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    found = {
        "triangles": len(mesh.triangles),
        "vertices": len(np.unique(mesh.vertices[np.unique(mesh.triangles)], axis=0)),
        "open": report.boundary_edges,
        "several": report.nonmanifold_edges,
        "unbalanced": report.unbalanced_edges,
        "area": np.linalg.norm(normals, axis=1).sum() / 2,
        "plan": np.abs(normals[:, 2]).sum() / 2,
        "volume": np.einsum("ti,ti->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6,
    }
    for name, value in found.items():
        expected = getattr(known, name)
        assert expected is None or value == pytest.approx(expected, rel=2e-6 * (name == "volume")
                                                          + 1e-9), name  # fmt: skip
    if known.bounds is not None:
        assert np.abs(mesh.bounds - known.bounds).max() < 1e-3
    if known.upwards:
        assert (normals[:, 2] > 0).all()


@pytest.mark.parametrize(
    ("name", "records", "points", "segments"),
    [("test310", 439, 417, 21), ("blastholes", 2215, 1476, 738)],
)
def test_text_and_binary_strings_are_twins(shared_data, name, records, points, segments) -> None:
    folder = shared_data / "formats/surpac"
    text, text_ends = surpac._read_records((folder / f"{name}text.str").read_bytes(), name)
    binary, ends = surpac.read_records((folder / f"{name}binary.str").read_bytes(), name)
    assert np.array_equal(text, binary) and np.array_equal(text_ends, ends)
    # The record END counts in what is stated.
    assert (len(text) + 1, (~ends).sum(), ends.sum()) == (records, points, segments)


@pytest.mark.full
def test_faces_of_a_drawing_as_ezdxf_has_them(shared_data: Path) -> None:
    ezdxf = pytest.importorskip("ezdxf")
    path = shared_data / "formats/dxf/3dface.dxf"
    rings = []
    found = ezdxf.readfile(path).modelspace().query("3DFACE")
    assert len(found) == 44
    for face in found:
        ring = [tuple(face.dxf.get(f"vtx{i}")) for i in range(4)]
        rings.append(ring[:3] if ring[3] in (ring[0], ring[2]) else ring)
    ((_, faces),) = dxf.read(path.read_bytes(), path)
    assert faces.sizes.tolist() == [len(ring) for ring in rings]
    assert faces.vertices[faces.corners].tolist() == [
        list(corner) for ring in rings for corner in ring
    ]


def test_a_mesh_and_polyfaces_on_one_layer(shared_data: Path) -> None:
    with pytest.warns(GeodomainWarning, match=r"not read \(1 SOLID, 1 3DSOLID\)"):
        mesh = read_mesh(shared_data / "formats/dxf/uncommon.dxf")
    assert (len(mesh.vertices), len(mesh.triangles)) == (56 + 8, 108 + 6)
    # The polyface comes first, the MESH behind it.
    body = Mesh(mesh.vertices, mesh.triangles[6:])
    assert body.is_closed and body.is_balanced
    assert body.volume == pytest.approx(62.4790896, abs=1e-7)
    assert body.area == pytest.approx(117.2173591, abs=1e-7)


def test_twin_drawings(shared_data: Path) -> None:
    name = "made_mesh_polyface_polymesh_insert"
    one, other = (
        read_meshes(shared_data / f"formats/dxf/{name}{extension}")
        for extension in (".dxf", ".bin.dxf")
    )
    assert list(one) == list(other)
    for key, mesh in one.items():
        assert np.array_equal(mesh.vertices, other[key].vertices)
        assert np.array_equal(mesh.triangles, other[key].triangles)


def test_the_parts_of_files_of_several_solids(shared_data: Path) -> None:
    folder = shared_data / "formats"
    with pytest.warns(GeodomainWarning, match=r"pyramids\.3mf .* unit millimeter"):
        assert len(read_meshes(folder / "gltf/pyramids.3mf")) == 6
    assert len(read_meshes(folder / "landxml/subdivision.xml")) == 2
    with pytest.warns(GeodomainWarning, match=r"featuretype\.3MF .* unit inch"):
        read_mesh(folder / "gltf/featuretype.3MF")


def test_rasters(shared_data: Path) -> None:
    tifffile = pytest.importorskip("tifffile")
    folder = shared_data / "formats/raster"
    for name, nodata in (("float32", None), ("float_nan", np.nan), ("rotated", None)):
        heights = tifffile.imread(folder / f"{name}.tif").astype(float)
        heights = heights if heights.ndim == 2 else heights[..., 0]
        there = ~np.isnan(heights) if nodata is not None else np.ones(heights.shape, bool)
        whole = there[:-1, :-1] & there[1:, :-1] & there[:-1, 1:] & there[1:, 1:]
        mesh = read_mesh(folder / f"{name}.tif")
        assert len(mesh.triangles) == 2 * whole.sum() > 0
        assert np.isin(mesh.vertices[:, 2], heights).all()


def test_the_table_of_holes_of_datamine(shared_data: Path) -> None:
    path = shared_data / "formats/datamine/made_ep_holes.dm"
    table = read_table(path.read_bytes(), path.name)
    assert len(table.columns["BHID"]) == 80
    assert set(table.columns["BHID"].tolist()) >= {"DH001", "DH0002_LONG"}
