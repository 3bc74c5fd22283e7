"""DXF drawings: both spellings of a triangle, meshes of polylines, text and binary alike."""

from __future__ import annotations

import struct
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from wireframes import box, cube

from geodomain import GeodomainWarning, Mesh, MeshError, read_mesh, read_meshes, write_mesh

Groups = list[tuple[int, object]]
A, B, C, D = (478000.1, 6771000.2, 300.3), (478010.1, 6771000.2, 300.3), (1e-3, 7, 8), (1, 2, 1 / 3)


def entity(kind: str, layer: str, *corners: tuple[float, ...], **groups: int) -> Groups:
    found: Groups = [(0, kind), (8, layer)]
    for i, corner in enumerate(corners):
        found += [(10 + i, corner[0]), (20 + i, corner[1]), (30 + i, corner[2])]
    return [*found, *((int(code[1:]), value) for code, value in groups.items())]


def drawing(*entities: Groups) -> Groups:
    inner = [group for one in entities for group in one]
    return [(0, "SECTION"), (2, "ENTITIES"), *inner, (0, "ENDSEC"), (0, "EOF")]


def as_text(groups: Groups, end: str = "\n") -> bytes:
    return "".join(f"{code:>3}{end}{value}{end}" for code, value in groups).encode("cp1252")


def as_binary(groups: Groups, wide: bool = True) -> bytes:
    parts = [b"AutoCAD Binary DXF\r\n\x1a\0"]
    for code, value in groups:
        parts.append(struct.pack("<H" if wide else "<B", code))
        if isinstance(value, str):
            parts.append(value.encode("cp1252") + b"\0")
        else:
            parts.append(struct.pack("<h" if 60 <= code < 80 else "<d", value))
    return b"".join(parts)


FORMS = {
    "text": as_text,
    "crlf": lambda groups: as_text(groups, "\r\n"),
    "binary": as_binary,
    "binary R12": lambda groups: as_binary(groups, wide=False),
}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest):
    return FORMS[request.param]


def read(folder: Path, data: bytes) -> dict[str, Mesh]:
    (folder / "a.dxf").write_bytes(data)
    return read_meshes(folder / "a.dxf")


def test_triangles_and_quads_of_layers(tmp_path, form):
    groups = drawing(
        entity("LINE", "0", A, B),
        entity("3DFACE", "Förråd 1", A, B, C, C),
        entity("3DFACE", "0", A, B, C, A, _70=15),
        entity("3DFACE", "Förråd 1", C, B, D),
        entity("3DFACE", "0", (0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)),
    )
    found = read(tmp_path, form(groups))
    assert list(found) == ["Förråd 1", "0"]
    assert found["Förråd 1"].vertices.tolist() == [[*A], [*B], [*C], [*D]]
    assert found["Förråd 1"].triangles.tolist() == [[0, 1, 2], [2, 1, 3]]
    assert len(found["0"].triangles) == 3


def test_a_polyface_mesh(tmp_path, form):
    points = [entity("VERTEX", "P", place, _70=192) for place in (A, B, C, D)]
    faces = [
        entity("VERTEX", "0", (0, 0, 0), _70=128, _71=1, _72=-2, _73=3),
        entity("VERTEX", "0", (0, 0, 0), _70=128, _71=1, _72=2, _73=4, _74=0),
        entity("VERTEX", "0", (0, 0, 0), _70=128, _71=1, _72=2),
    ]
    end = entity("SEQEND", "0")
    head = entity("POLYLINE", "P", (0, 0, 0), _70=64, _71=4, _72=3)
    (item,) = read(tmp_path, form(drawing(head, *points, *faces, end))).items()
    assert item[0] == "P"
    assert item[1].vertices.tolist() == [[*A], [*B], [*C], [*D]]
    assert item[1].triangles.tolist() == [[0, 1, 2], [0, 1, 3]]


@pytest.mark.parametrize(("closed", "quads"), [(0, 6), (1, 9), (32, 8), (33, 12)])
def test_a_polygon_mesh(tmp_path, form, closed, quads):
    head = entity("POLYLINE", "TOPO", (0, 0, 0), _70=16 + closed, _71=3, _72=4)
    grid = [(i, j, i * j / 2) for i in range(3) for j in range(4)]
    points = [entity("VERTEX", "TOPO", place, _70=64) for place in grid]
    (mesh,) = read(tmp_path, form(drawing(head, *points, entity("SEQEND", "0")))).values()
    assert len(mesh.triangles) == 2 * quads
    assert mesh.vertices.tolist() == [[*place] for place in grid]


def test_numbers_are_as_printed(tmp_path):
    words = ["478000.12345678901234567", " 6.7710002D6", "1e-5", "-.5", "9007199254740993.0"]
    groups: Groups = [(0, "3DFACE"), (8, "0")]
    codes = [10, 20, 30, 11, 21, 31, 12, 22, 32]
    groups += list(zip(codes, [*words, "1", "2", "3", "0"], strict=True))
    (mesh,) = read(tmp_path, as_text(drawing(groups))).values()
    expected = [float(word.replace("D", "e")) for word in words]
    assert mesh.vertices.ravel().tolist() == [*expected, 1, 2, 3, 0]


@pytest.mark.parametrize("solids", [{"ORE HG": cube(0.1), "Å": box((1, 2, 3), (4, 5, 1 / 3e5))}])
def test_what_is_written_comes_back(tmp_path, solids):
    solids["日"] = solids["Å"]
    write_mesh(solids, tmp_path / "a.dxf")
    found = read_meshes(tmp_path / "a.dxf")
    assert list(found) == [*solids]
    for name, mesh in solids.items():
        corners = found[name].vertices[found[name].triangles]
        assert np.array_equal(corners, mesh.vertices[mesh.triangles])
        assert len(found[name].vertices) == 8


def made_with_ezdxf(path: Path) -> None:
    ezdxf = pytest.importorskip("ezdxf")
    from ezdxf.render.forms import cube as cage

    document = ezdxf.new("R2000")
    space = document.modelspace()
    cage().scale(2, 2, 2).translate(478000.5, 6771000.25, 300).render_mesh(
        space, dxfattribs={"layer": "ORE_HG"}
    )
    block = document.blocks.new("UNIT")
    for face in cage().faces_as_vertices():
        block.add_3dface(face)
    space.add_blockref("UNIT", (100, 0, 0), dxfattribs={"layer": "IN", "xscale": 4, "rotation": 90})
    space.add_3dface([(0, 0, 0), (1, 0, 0), (0, 1, 0)], dxfattribs={"layer": "F"})
    document.saveas(path)


def test_mesh_and_insert_through_ezdxf(tmp_path):
    made_with_ezdxf(tmp_path / "a.dxf")
    found = read_meshes(tmp_path / "a.dxf")
    assert {name: len(mesh.triangles) for name, mesh in found.items()} == {
        "F": 1,
        "ORE_HG": 12,
        "IN": 12,
    }
    assert found["ORE_HG"].bounds.tolist() == [
        [477999.5, 6770999.25, 299],
        [478001.5, 6771001.25, 301],
    ]
    assert found["ORE_HG"].is_closed
    assert np.allclose(found["IN"].bounds, [[99.5, -2, -0.5], [100.5, 2, 0.5]], atol=1e-12)


def test_without_ezdxf_the_extra_is_named(tmp_path, monkeypatch):
    made_with_ezdxf(tmp_path / "a.dxf")
    monkeypatch.setitem(sys.modules, "ezdxf", None)
    with pytest.raises(MeshError, match=r"through ezdxf: install it with pip .*geodomain\[dxf\]"):
        read_mesh(tmp_path / "a.dxf")


FACE = as_text(drawing(entity("3DFACE", "0", A, B, C, C)))
BAD = {
    "strings": (
        as_text(drawing(entity("LINE", "0", A), entity("TEXT", "0"))),
        "holds 1 LINE, 1 TEXT; strings",
    ),
    "nothing": (as_text(drawing()), "it holds no entities"),
    "cut": (FACE[:-20], "cut short: its section ENTITIES does not end"),
    "cut binary": (as_binary(drawing(entity("3DFACE", "0", A, B, C)))[:-30], "cut short"),
    "word": (FACE.replace(b"300.3", b"x"), r"a\.dxf, line 14: 'x' is not a finite number"),
    "nan": (FACE.replace(b"300.3", b"nan"), r"line 14: 'nan' is not a finite number"),
    "code": (FACE.replace(b" 20\n", b"2o\n"), r"line 11: '2o' is not a group code"),
    "lacks": (FACE.replace(b" 21\n", b" 40\n"), r"3DFACE 1 of a\.dxf lacks a coordinate"),
    "flags": (
        as_text(drawing(entity("3DFACE", "0", A, B, C, C, _70="x"))),
        "'x' is not a whole number",
    ),
    "no end": (
        as_text(drawing(entity("POLYLINE", "0", A, _70=64), entity("VERTEX", "0", A, _70=192))),
        "does not end with SEQEND",
    ),
    "count": (
        as_text(
            drawing(entity("POLYLINE", "0", A, _70=16, _71=30000, _72=30000), entity("SEQEND", "0"))
        ),
        "30000 x 30000 vertices with 0 of them",
    ),
    "smooth": (
        as_text(
            drawing(entity("POLYLINE", "0", A, _70=16, _71=2, _72=2, _75=6), entity("SEQEND", "0"))
        ),
        "smoothed surface",
    ),
    "index": (
        as_text(
            drawing(
                entity("POLYLINE", "0", A, _70=64),
                entity("VERTEX", "0", A, _70=192),
                entity("VERTEX", "0", A, _70=128, _71=1, _72=2, _73=3),
                entity("SEQEND", "0"),
            )
        ),
        "refers to vertex 1 counted from 0",
    ),
}


@pytest.mark.parametrize(("data", "sentence"), BAD.values(), ids=BAD)
def test_what_cannot_be_read(tmp_path, data, sentence):
    with pytest.raises(MeshError, match=sentence):
        read(tmp_path, data)


def test_a_smoothed_mesh_is_warned_of(tmp_path):
    ezdxf = pytest.importorskip("ezdxf")
    document = ezdxf.new("R2000")
    mesh = document.modelspace().add_mesh()
    with mesh.edit_data() as data:
        data.vertices = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
        data.faces = [[0, 1, 2]]
    mesh.dxf.subdivision_levels = 2
    document.saveas(tmp_path / "a.dxf")
    with pytest.warns(GeodomainWarning, match="shown smoothed"):
        assert len(read_mesh(tmp_path / "a.dxf").triangles) == 1


def test_every_cut_of_a_drawing_is_refused(tmp_path):
    whole = as_binary(drawing(entity("3DFACE", "0", A, B, C)))
    end = whole.index(b"ENDSEC")
    for before, after in pairwise(range(24, end, 7)):
        with pytest.raises(MeshError):
            read(tmp_path, whole[: (before + after) // 2])
