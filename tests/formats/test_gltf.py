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
from gltf_files import POSITION, RING, made, packed

import geodomain
from geodomain import GeodomainWarning, MeshError, read_mesh, read_meshes

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
    with pytest.warns(
        GeodomainWarning, match=r"a\.glb stores single precision.*only accurate to 0\.5"
    ):
        read_mesh(tmp_path / "a.glb")


def read_one(folder: Path, data: bytes) -> geodomain.Mesh:
    (folder / "a.glb").write_bytes(data)
    return read_mesh(folder / "a.glb")


def test_fans_and_strips(tmp_path: Path) -> None:
    mesh = read_one(tmp_path, made([(RING, {})], {**POSITION, "mode": 6}))
    assert mesh.triangles.tolist() == [[1, 2, 0], [2, 3, 0], [3, 4, 0]]
    # The ground seen from above: counter-clockwise, area 5.
    assert mesh.vertices[:, :2].tolist() == [[0, 0], [2, 0], [3, 1], [2, 2], [0, 2]]
    assert mesh.area == 5
    order = np.array([0, 1, 4, 3, 3, 1, 1, 2, 3], dtype="<u2")
    mesh = read_one(
        tmp_path, made([(RING, {}), (order, {})], {**POSITION, "indices": 1, "mode": 5})
    )
    assert mesh.triangles.tolist() == [[0, 1, 4], [1, 3, 4], [1, 2, 3]]
    normals = np.cross(*(np.diff(mesh.vertices[mesh.triangles], axis=1).transpose(1, 0, 2)))
    assert mesh.area == 5 and (normals[:, 2] > 0).all()
    short = made([(RING[:2], {})], {**POSITION, "mode": 6})
    with pytest.raises(MeshError, match="no triangles"):
        read_one(tmp_path, short)


@pytest.mark.parametrize("without_view", [False, True])
def test_sparse_accessors(tmp_path: Path, without_view: bool) -> None:
    rows, values = np.array([1, 3], dtype="<u1"), np.array([[9, 8, 7], [6, 5, 4]], dtype="<f4")
    sparse = {
        "count": 2,
        "indices": {"bufferView": 1, "componentType": 5121},
        "values": {"bufferView": 2},
    }
    settings: dict[str, object] = {"sparse": sparse}
    expected = np.zeros((5, 3)) if without_view else RING.astype(float)
    expected[[1, 3]] = values
    data = made([(RING, settings), (rows, {}), (values, {})], {**POSITION, "mode": 6})
    if without_view:
        data = data.replace(b'"bufferView": 0,', b"                ", 1)
        expected[[0, 2, 4]] = 0
    mesh = read_one(tmp_path, data)
    fan = up(expected)[[[1, 2, 0], [2, 3, 0], [3, 4, 0]]]
    assert np.array_equal(mesh.vertices[mesh.triangles], fan)
    beyond = data.replace(rows.tobytes() + b"\0\0", bytes([1, 5, 0, 0]))
    with pytest.raises(MeshError, match="a sparse accessor changes a row that does not exist"):
        read_one(tmp_path, beyond)


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2"])
def test_quantized_positions(tmp_path: Path, kind: str) -> None:
    required = {"extensionsRequired": ["KHR_mesh_quantization"]}
    top = np.iinfo(kind).max
    whole = np.zeros((5, 4), dtype=f"<{kind}")
    whole[:, :3] = [[0, 0, 0], [top, 0, 0], [top, 1, 2], [3, 5, top], [0, 0, 7]]
    rows = np.ascontiguousarray(whole).view(f"<{kind}")
    node = {"translation": [10, 20, 30], "scale": [0.5, 0.25, 2]}
    for normalized in (False, True):
        data = made(
            [(rows, {"type": "VEC3", "normalized": normalized})], {**POSITION, "mode": 6}, node
        )
        tree = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
        tree["bufferViews"][0]["byteStride"] = rows.itemsize * 4
        data = packed({**tree, **required}, rows.tobytes())
        coarse = not normalized or top < 200
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mesh = read_one(tmp_path, data)
        assert any("coordinates rounded to steps" in str(one.message) for one in caught) == coarse
        expected = whole[:, :3].astype(float) / (top if normalized else 1)
        assert np.array_equal(mesh.vertices, up(expected * [0.5, 0.25, 2] + [10, 20, 30]))


def test_a_negative_normalized_number_ends_at_minus_one(tmp_path: Path) -> None:
    rows = np.array([[-128, 0, 0], [127, 0, 0], [0, 127, 0]], dtype="i1")
    data = made([(rows, {"normalized": True})], POSITION, {"scale": [0.001, 1e-9, 1e-9]})
    assert read_one(tmp_path, data).vertices[:, 0].tolist() == [-0.001, 0.001, 0]


@pytest.mark.parametrize("name", ["KHR_draco_mesh_compression", "EXT_meshopt_compression", "X"])
def test_an_extension_that_is_required_and_not_read(tmp_path: Path, name: str) -> None:
    data = made([(RING, {})], {**POSITION, "mode": 6}, extensionsRequired=[name])
    with pytest.raises(MeshError, match=f"requires the glTF extension '{name}', which is not"):
        read_one(tmp_path, data)
    fine = ["KHR_materials_unlit", "KHR_texture_transform", "KHR_mesh_quantization"]
    data = made(
        [(RING, {})], {**POSITION, "mode": 6}, extensionsRequired=fine, extensionsUsed=[name]
    )
    assert len(read_one(tmp_path, data).triangles) == 3


def test_a_mirrored_node_still_faces_outwards(tmp_path: Path) -> None:
    accessors = [(CORNERS.astype("<f4"), {}), (FACES.reshape(-1).astype("<u2"), {})]
    part = {**POSITION, "indices": 1}
    mesh = read_one(tmp_path, made(accessors, part, {"scale": [1, -1, 1]}))
    assert mesh.is_balanced and mesh.volume == pytest.approx(VOLUME)


def test_what_changes_the_shape_and_is_not_read_is_said(tmp_path: Path) -> None:
    node = {"skin": 0, "extensions": {"EXT_mesh_gpu_instancing": {}}}
    part = {**POSITION, "mode": 6, "targets": [{"POSITION": 0}]}
    data = made([(RING, {})], part, node)
    tree = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
    tree |= {"nodes": [*tree["nodes"], {"mesh": 0}], "scenes": [{"nodes": [0]}]}
    told = "has '1 node outside its scene', 'instances on the GPU', 'morph targets' and 'skins'"
    with pytest.warns(GeodomainWarning, match=told):
        assert len(read_one(tmp_path, packed(tree, RING.tobytes())).triangles) == 3


def test_a_mesh_without_a_name_has_the_name_of_the_file(tmp_path: Path) -> None:
    data = made([(RING, {})], {**POSITION, "mode": 6}).replace(b'"name"', b'"nome"')
    (tmp_path / "pit.glb").write_bytes(data)
    assert list(read_meshes(tmp_path / "pit.glb")) == ["pit"]


def test_damaged_descriptions(tmp_path: Path) -> None:
    fan = {**POSITION, "mode": 6}
    beyond = made([(RING, {"count": 6})], fan)
    outside = (np.array([0, 1, 7], "<u4"), {})
    file = [{"byteLength": 60, "uri": "a.bin"}]
    old = made([(RING, {})], fan).replace(struct.pack("<I", 2), struct.pack("<I", 1), 1)
    for data, sentence in (
        (beyond, "an accessor extends beyond its buffer"),
        (made([(RING, {"byteOffset": -4})], fan), "an accessor extends beyond its buffer"),
        (made([(RING, {"componentType": 1})], fan), "its JSON description does not follow glTF"),
        (made([(RING, {"type": "VEC2"})], fan), "an accessor declares 5 values of the type VEC2"),
        (made([(RING, {}), outside], {**POSITION, "indices": 1}), "vertex 7"),
        (made([(RING, {})], fan, nodes=[{"children": [1, 1]}, {"mesh": 0}]), "has two parents"),
        (made([(RING, {})], fan, buffers=file), "another file, 'a.bin'"),
        (old, "version 1"),
    ):
        with pytest.raises(MeshError, match=sentence):
            read_one(tmp_path, data)


def test_meshes_that_nodes_repeat_are_counted_first(tmp_path: Path, monkeypatch) -> None:
    nodes = [{"mesh": 0} for _ in range(500)]
    data = made([(RING, {})], {**POSITION, "mode": 6}, nodes=nodes)
    assert len(read_one(tmp_path, data).triangles) == 1500
    monkeypatch.setenv("GEODOMAIN_MEMORY", "200kB")
    with pytest.raises(MeshError, match=r"a\.glb, whose nodes repeat meshes, has .* become 250"):
        read_one(tmp_path, data)


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


@pytest.mark.parametrize("levels", [1, 4, 7])
def test_components_within_components_are_all_there(tmp_path: Path, levels: int) -> None:
    """Of four levels that two items place, 30 of 32 copies were read, and nothing was said."""
    more = ""
    for level in range(levels):
        move = f"1 0 0 0 1 0 0 0 1 {10 ** (level + 1)} 0 0"
        inner = f'<component objectid="{level + 9 if level else 1}"'
        parts = f'<components>{inner}/>{inner} transform="{move}"/></components>'
        more += f'<object id="{level + 10}" type="model">{parts}</object>'
    item = f'<item objectid="{levels + 9}"'
    items = f'{item}/>{item} transform="1 0 0 0 1 0 0 0 1 0 5000 0"/>'
    (mesh,) = read_meshes(threemf(tmp_path / "a.3mf", items, more=more)).values()
    assert len(mesh.triangles) == 4 * 2 ** (levels + 1)
    assert len(np.unique(mesh.vertices, axis=0)) == 4 * 2 ** (levels + 1)


@pytest.mark.parametrize(
    ("levels", "sentence"),
    [
        (26, "whose items have 268,435,456 triangles, has .* GEODOMAIN_MEMORY="),
        (200, "components are nested more than 100 deep"),
    ],
)
def test_components_are_counted_first(tmp_path: Path, levels: int, sentence: str) -> None:
    more = ""
    for level in range(levels):
        inner = f'<component objectid="{level + 9 if level else 1}"/>'
        more += f'<object id="{level + 10}"><components>{inner * 2}</components></object>'
    path = threemf(tmp_path / "a.3mf", f'<item objectid="{levels + 9}"/>', more=more)
    with pytest.raises(MeshError, match=sentence):
        read_mesh(path)


@pytest.mark.parametrize(
    ("unit", "word"), [(' unit="inch"', "inch"), ("", "millimeter"), (' unit="foot"', "foot")]
)
def test_the_unit_of_3mf_is_told_and_never_applied(tmp_path: Path, unit: str, word: str) -> None:
    path = threemf(tmp_path / "a.3mf", '<item objectid="1"/>', unit)
    with pytest.warns(GeodomainWarning, match=rf"a\.3mf has the unit {word}"):
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
