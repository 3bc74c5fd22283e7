"""glTF and 3MF as files made by hand: where nodes put their meshes, names, units, precision."""

from __future__ import annotations

import json
import struct
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import geodomain
from geodomain import GeodomainWarning, MeshError, read_mesh, read_meshes

pytest.importorskip("trimesh")

CORNERS = np.array([[0.5, 0, 0], [3, 0, 0], [0.5, 2, 0], [0.5, 0, 1.25]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
VOLUME = 2.5 * 2 * 1.25 / 6


def glb(nodes: Sequence[Mapping[str, object]], corners: np.ndarray = CORNERS) -> bytes:
    """Return a binary glTF of one mesh ORE and some nodes, of which the first is the root."""
    points, faces = corners.astype("<f4"), FACES.astype("<u2")
    blob = points.tobytes() + faces.tobytes()
    tree = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": nodes,
        "meshes": [
            {"name": "ORE", "primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]},
            {"name": "WASTE", "primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]},
        ],
        "accessors": [
            {
                "bufferView": 0,
                "componentType": 5126,
                "count": 4,
                "type": "VEC3",
                "min": points.min(axis=0).tolist(),
                "max": points.max(axis=0).tolist(),
            },
            {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 24},
        ],
        "buffers": [{"byteLength": len(blob)}],
    }
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text
    chunks += struct.pack("<I4s", len(blob), b"BIN\0") + blob
    return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks


def up(points: np.ndarray) -> np.ndarray:
    """Turn (x, y up, z) into (east, north, up)."""
    return np.stack([points[:, 0], -points[:, 2], points[:, 1]], axis=1)


def corners_of(mesh: geodomain.Mesh) -> np.ndarray:
    return mesh.vertices[mesh.triangles].reshape(-1, 3)


def test_nodes_within_nodes(tmp_path: Path) -> None:
    half = np.sqrt(0.5)
    nodes = [
        {"name": "root", "translation": [478000, 300, -6771000], "children": [1, 2]},
        # A quarter turn about y takes z to x: (x, y, z) becomes (z, y, -x).
        {"name": "turned", "rotation": [0, half, 0, half], "scale": [2, 2, 2], "children": [3]},
        {"mesh": 1, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 10, 20, 30, 1]},
        {"mesh": 0, "translation": [1, 0, 0]},
    ]
    (tmp_path / "a.glb").write_bytes(glb(nodes))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # floats near their node's origin are good
        found = read_meshes(tmp_path / "a.glb")
    assert set(found) == {"ORE", "WASTE"}
    x, y, z = (np.add(CORNERS, [1, 0, 0]) * 2).T
    root = np.array([478000, 300, -6771000])
    turned = up(np.stack([z, y, -x], axis=1) + root)[FACES].reshape(-1, 3)
    assert corners_of(found["ORE"]) == pytest.approx(turned, abs=1e-8)
    moved = up(np.add(CORNERS, [10, 20, 30]) + root)[FACES].reshape(-1, 3)
    assert np.array_equal(corners_of(found["WASTE"]), moved)
    assert found["ORE"].volume == pytest.approx(8 * VOLUME, rel=1e-6)
    assert read_mesh(f"{tmp_path / 'a.glb'}:WASTE").bounds[0].tolist() == [
        478010.5,
        6770968.75,
        320,
    ]


def test_instances_of_one_mesh_are_one_solid(tmp_path: Path) -> None:
    nodes = [{"children": [1, 2]}, {"mesh": 0}, {"mesh": 0, "translation": [100, 0, 0]}]
    (tmp_path / "a.glb").write_bytes(glb(nodes))
    (item,) = read_meshes(tmp_path / "a.glb").items()
    assert item[0] == "ORE" and len(item[1].triangles) == 8
    assert item[1].volume == pytest.approx(2 * VOLUME, rel=1e-12)


def test_meshes_of_one_name_are_one_solid(tmp_path: Path) -> None:
    nodes = [{"children": [1, 2]}, {"mesh": 0}, {"mesh": 1, "translation": [100, 0, 0]}]
    data = glb(nodes).replace(b'"WASTE"', b'"ORE"  ')
    (tmp_path / "a.glb").write_bytes(data)
    (item,) = read_meshes(tmp_path / "a.glb").items()
    assert item[0] == "ORE" and len(item[1].triangles) == 8
    (tmp_path / "b.glb").write_bytes(glb(nodes).replace(b'"WASTE"', b'"ORE_1"'))
    assert set(read_meshes(tmp_path / "b.glb")) == {"ORE", "ORE_1"}


def test_objects_of_one_name_are_one_solid(tmp_path: Path) -> None:
    path = threemf(tmp_path / "a.3mf", '<item objectid="1"/><item objectid="2"/>', second="ORE")
    (item,) = read_meshes(path).items()
    assert item[0] == "ORE" and len(item[1].triangles) == 8


def test_floats_at_mine_coordinates_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.glb").write_bytes(glb([{"mesh": 0}], np.add(CORNERS, [478000, 300, -6771000])))
    with pytest.warns(GeodomainWarning, match=r"a\.glb stores single precision.*only good to 0\.5"):
        read_mesh(tmp_path / "a.glb")


OBJECT = (
    '<object id="{}" name="{}" type="model"><mesh><vertices>{}</vertices>'
    "<triangles>{}</triangles></mesh></object>"
)


def threemf(
    path: Path, items: str, unit: str = ' unit="meter"', more: str = "", second: str = "WASTE"
) -> Path:
    """Write a 3MF of the objects 1, ORE, and 2, WASTE; lines of text, as any exporter would."""
    points = "".join(f'<vertex x="{x!r}" y="{y!r}" z="{z!r}"/>' for x, y, z in PLACES.tolist())
    faces = "".join(f'<triangle v1="{a}" v2="{b}" v3="{c}"/>' for a, b, c in FACES.tolist())
    objects = "".join(OBJECT.format(*pair, points, faces) for pair in ((1, "ORE"), (2, second)))
    model = (
        f'<?xml version="1.0" encoding="UTF-8"?><model{unit} '
        'xmlns="http://schemas.microsoft.com/3dmanufacturing/core/2015/02">'
        f"<resources>{objects}{more}</resources><build>{items}</build></model>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("3D/3dmodel.model", model)
    return path


PLACES = np.add(CORNERS, [478000.1, 6771000.2, 300.3])


def test_3mf_is_text_and_stays_exact(tmp_path: Path) -> None:
    path = threemf(tmp_path / "a.3mf", '<item objectid="1"/><item objectid="2"/>')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_meshes(path)
    assert set(found) == {"ORE", "WASTE"}
    for mesh in found.values():
        assert np.array_equal(corners_of(mesh), PLACES[FACES].reshape(-1, 3))
        assert mesh.is_closed


def test_items_and_components_of_3mf_are_placed(tmp_path: Path) -> None:
    """A transform is four rows of three, and points are rows on its left."""
    quarter = "0 1 0 -1 0 0 0 0 1 100 0 0"  # (x, y, z) becomes (100 - y, x, z)
    parts = f'<components><component objectid="1" transform="{quarter}"/></components>'
    items = '<item objectid="3" transform="1 0 0 0 1 0 0 0 1 0 0 1000"/><item objectid="2"/>'
    more = f'<object id="3" name="both" type="model">{parts}</object>'
    found = read_meshes(threemf(tmp_path / "a.3mf", items, more=more))
    x, y, z = PLACES.T
    placed = np.stack([100 - y, x, z + 1000], axis=1)[FACES].reshape(-1, 3)
    assert corners_of(found["ORE"]) == pytest.approx(placed, abs=1e-8)
    assert np.array_equal(corners_of(found["WASTE"]), PLACES[FACES].reshape(-1, 3))


@pytest.mark.parametrize(
    ("unit", "word"), [(' unit="inch"', "inch"), ("", "millimeter"), (' unit="foot"', "foot")]
)
def test_the_unit_of_3mf_is_told_and_never_applied(tmp_path: Path, unit: str, word: str) -> None:
    path = threemf(tmp_path / "a.3mf", '<item objectid="1"/>', unit)
    with pytest.warns(GeodomainWarning, match=rf"a\.3mf says that its unit is the {word}"):
        mesh = read_mesh(path)
    assert np.array_equal(corners_of(mesh), PLACES[FACES].reshape(-1, 3))


@pytest.mark.parametrize("extension", [".glb", ".3mf"])
def test_damage_is_said_in_one_sentence(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"a{extension}"
    if extension == ".glb":
        path.write_bytes(glb([{"mesh": 0}]))
    else:
        threemf(path, '<item objectid="1"/>')
    whole = path.read_bytes()
    for size in [*range(20, len(whole), 61), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(MeshError, match=r"^a\.") as error:
            read_mesh(path)
        assert "\n" not in str(error.value)
    path.write_bytes(whole.replace(b"ORE", b"\0\0\0"))
    try:
        read_mesh(path)
    except MeshError as error:
        assert "\n" not in str(error)
