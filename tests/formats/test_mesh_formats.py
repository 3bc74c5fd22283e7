"""Every way in which a format may be written gives the same mesh, in float64 as printed."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from mesh_files import (
    LIST,
    TRIANGLES,
    VERTICES,
    XYZ,
    ascii_stl,
    binary_ply,
    binary_stl,
    obj,
    off,
    read,
    text_ply,
)
from shapes import CUBE_QUADS, CUBE_TRIANGLES, cube

from geodomain import GeodomainError, GeodomainWarning, MeshError, read_mesh
from geodomain.formats import off as off_files

SINGLE = VERTICES.astype(np.float32).astype(float)


def assert_is_shape(mesh, vertices=VERTICES, triangles=TRIANGLES):
    """Compare corner by corner, since STL numbers its vertices anew."""
    assert mesh.vertices.dtype == np.float64
    assert mesh.triangles.dtype == np.int32
    assert np.array_equal(mesh.vertices[mesh.triangles], vertices[triangles])


ASCII_STL = {
    "plain": ascii_stl(),
    "windows": ascii_stl().replace("\n", "\r\n"),
    "old mac": ascii_stl().replace("\n", "\r"),
    "mark": "\ufeff" + ascii_stl(),
    "capitals": ascii_stl().upper(),
    "two solids": ascii_stl(solids=2),
    "no normal": ascii_stl().replace("facet normal 0 0 0", "facet"),
    "blank lines": ascii_stl().replace("\n", "\n\n"),
    "tabs": ascii_stl("\tvertex\t{}\t{}\t{}\n"),
    "end solid": ascii_stl().replace("endsolid", "end solid"),
    "three-digit exponents": ascii_stl("vertex {:.17e} {:.17e} {:.17e}\n").replace("e+0", "e+00"),
    "trailing garbage": ascii_stl() + "\n\n  and then some\n",
    "no name": ascii_stl().replace(" facet vertex 0", ""),
}


@pytest.mark.parametrize("content", ASCII_STL.values(), ids=ASCII_STL)
def test_ascii_stl(tmp_path, content):
    mesh = read(tmp_path, "a.stl", content)
    assert_is_shape(mesh)
    assert len(mesh.vertices) == 4
    assert mesh.name == "a.stl"


def test_a_long_ascii_stl_is_read_in_pieces(tmp_path, monkeypatch):
    from geodomain.formats import stl

    monkeypatch.setattr(stl, "_PIECE", 100)
    assert_is_shape(read(tmp_path, "a.stl", ascii_stl()))
    assert_is_shape(read(tmp_path, "b.stl", ascii_stl().replace("\n", "\n\n")))


@pytest.mark.parametrize("header", [b"made by hand", b"solid", b"solid facet\nfacet normal"])
def test_binary_stl_is_widened_and_its_resolution_told(tmp_path, header):
    with pytest.warns(GeodomainWarning, match=r"a\.stl stores single.*only accurate to 0\.5"):
        mesh = read(tmp_path, "a.stl", binary_stl(header))
    assert_is_shape(mesh, SINGLE)


def test_binary_stl_near_the_origin_is_read_without_a_word(tmp_path):
    small = VERTICES - [0, 7480000, 0]
    mesh = read(tmp_path, "a.stl", binary_stl(vertices=small))
    assert_is_shape(mesh, small.astype(np.float32).astype(float))


def test_binary_stl_with_bytes_after_it(tmp_path):
    small = VERTICES - [0, 7480000, 0]
    mesh = read(tmp_path, "a.stl", binary_stl(vertices=small) + b"\0tail")
    assert len(mesh.triangles) == 4


def test_binary_stl_with_facets_that_its_header_leaves_out(tmp_path):
    data = bytearray(binary_stl(vertices=VERTICES - [0, 7480000, 0]))
    data[80:84] = struct.pack("<I", 3)
    with pytest.warns(GeodomainWarning, match=r"bytes for 4 facets.* declares 3") as told:
        mesh = read(tmp_path, "a.stl", bytes(data))
    assert len(mesh.triangles) == 3
    assert told[0].filename == read.__code__.co_filename  # that of the caller of `read_mesh`


PLY = {
    "text": text_ply().encode(),
    "text, windows": text_ply().replace("\n", "\r\n").encode(),
    "text, more than a mesh": text_ply(extra=True).encode(),
    "little": binary_ply("<"),
    "big": binary_ply(">"),
    "little, more than a mesh": binary_ply("<", extra=True),
    "big, more than a mesh": binary_ply(">", extra=True),
    "little, windows header": binary_ply("<").replace(b"\n", b"\r\n", 10),
    "trailing": binary_ply("<") + b"\n\n",
    "capitals": text_ply().upper().encode(),
}


@pytest.mark.parametrize("content", PLY.values(), ids=PLY)
def test_ply(tmp_path, content):
    mesh = read(tmp_path, "a.ply", content)
    assert_is_shape(mesh)
    assert np.array_equal(mesh.vertices, VERTICES)


@pytest.mark.parametrize("order", ["<", ">"])
def test_single_precision_ply_is_widened_and_told(tmp_path, order):
    with pytest.warns(GeodomainWarning, match=r"only accurate to 0\.5"):
        mesh = read(tmp_path, "a.ply", binary_ply(order, form="f"))
    assert np.array_equal(mesh.vertices, SINGLE)


def test_ply_of_mixed_polygons(tmp_path):
    text = (
        "ply\nformat ascii 1.0\nelement vertex 5\n"
        + XYZ
        + "element face 3\n"
        + LIST
        + "end_header\n"
        "0 0 0\n1 0 0\n1 1 0\n0 1 0\n.5 .5 1\n4 1 2 3 0\n3 0 1 4\n3 1 2 4\n"
    )
    mesh = read(tmp_path, "a.ply", text)
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3], [0, 1, 4], [1, 2, 4]]
    data = text.replace("ascii", "binary_big_endian").split("end_header\n")[0].encode()
    data += b"end_header\n" + np.array(mesh.vertices, ">f8").tobytes()
    for ring in ([1, 2, 3, 0], [0, 1, 4], [1, 2, 4]):
        data += struct.pack(f">B{len(ring)}i", len(ring), *ring)
    again = read(tmp_path, "b.ply", data)
    assert np.array_equal(again.triangles, mesh.triangles)


OBJ = {
    "plain": obj(),
    "texture": obj("f {}/1 {}/1 {}/1\n"),
    "normal": obj("f {}//1 {}//1 {}//1\n"),
    "both": obj("f {}/1/1 {}/1/1 {}/1/1\n"),
    "mixed": obj().replace("f 1 3 2", "f 1/1 3/1/1 2//1"),
    "negative": obj(shift=-4),
    "weight": obj(vertex="v {!r} {!r} {!r} 1.0\n"),
    "colour": obj(vertex="v {!r} {!r} {!r} .5 .5 .5\n"),
    "one colour": obj().replace("1.0\nv", "1.0 .5 .5 .5\nv", 1),
    "continued": obj("f {} \\\n {} \\\n {}\n"),
    "continued key": obj("f \\\n{} {} {}\n", "v \\\n{!r} {!r} {!r}\n"),
    "windows": obj().replace("\n", "\r\n"),
    "windows, continued": obj("f {} \\\n {} {}\n").replace("\n", "\r\n"),
    "mark": "\ufeff" + obj(),
    "capitals": obj().replace("v 0", "V 0").replace("f 1", "F 1"),
    "tabs": obj("f\t{}\t{}\t{}\n", "v\t{!r}\t{!r}\t{!r}\n"),
    "indented, commented": obj("  f {} {} {} # face\n", "  v {!r} {!r} {!r} # point\n"),
    "blank lines": obj().replace("\n", "\n\n") + "\n \n",
    "three-digit exponents": obj(vertex="v {:.17e} {:.17e} {:.17e}\n").replace("e+0", "e+00"),
    "long comment": "# about\n" * 20000 + obj(),
    "lines as well": obj() + "l 1 2 3\np 1\n",
}


@pytest.mark.parametrize("content", OBJ.values(), ids=OBJ)
def test_obj(tmp_path, content):
    mesh = read(tmp_path, "a.obj", content)
    assert np.array_equal(mesh.vertices, VERTICES)
    assert np.array_equal(mesh.triangles, TRIANGLES)


def test_negative_numbers_of_obj_count_from_where_they_stand(tmp_path):
    text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 5 0 0\nv 6 0 0\nv 5 1 0\nf -3 -2 -1\n"
    assert read(tmp_path, "a.obj", text).triangles.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_polygons_of_obj(tmp_path):
    text = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nf 4 1 2 3\nf 1 2 5\nf 3/1 4/2 1/3 2/4\n"
    triangles = read(tmp_path, "a.obj", text).triangles.tolist()
    assert triangles == [[0, 1, 2], [0, 2, 3], [0, 1, 4], [0, 1, 2], [0, 2, 3]]


OFF = {
    "plain": off(),
    "counts beside": off(counts=" 4 4 6"),
    "two counts": off(counts="\n4 4"),
    "colours of vertices": off("COFF", vertex="{!r} {!r} {!r} 255 0 0 255\n"),
    "normals": off("NOFF", vertex="{!r} {!r} {!r} 0 0 1\n"),
    "all": off("STCNOFF", vertex="{!r} {!r} {!r} 0 0 1 255 0 0 255 0 0\n"),
    "colours of faces": off(face="3 {} {} {} 255 0 0\n"),
    "comments": "# one\n" + off().replace("\n", " # more\n").replace("4 4", "\n\n4 4"),
    "windows": off().replace("\n", "\r\n"),
    "mark": "\ufeff" + off(),
    "lower case": off("off"),
    "trailing": off() + "\n\n \n",
}


@pytest.mark.parametrize("content", OFF.values(), ids=OFF)
def test_off(tmp_path, content):
    mesh = read(tmp_path, "a.off", content)
    assert np.array_equal(mesh.vertices, VERTICES)
    assert np.array_equal(mesh.triangles, TRIANGLES)


def test_polygons_of_off(tmp_path):
    text = "OFF\n5 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n0 0 1\n4 1 2 3 0 9 9 9\n3 0 1 4\n"
    assert read(tmp_path, "a.off", text).triangles.tolist() == [[0, 1, 2], [0, 2, 3], [0, 1, 4]]


ODD_WORDS = [
    "",
    "x",
    "1_0",
    "nan",
    "1e400",
    "+1",
    "-1",
    "1.5",
    "9" * 30,
    "3",
    "# 1",
    "\n",
    "1\n",
    "1 1",
]


@pytest.mark.parametrize(
    "text",
    [
        off(),
        off("NOFF", vertex="{!r} {!r} {!r} 0 0 1\n", face="3 {} {} {} 255 0 0\n"),
        "OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0.1\n4 1 2 3 0\n4 3 1 2 0\n",
    ],
    ids=["plain", "normals and colours", "quads"],
)
@pytest.mark.parametrize("odd", ODD_WORDS)
def test_tables_of_off_are_read_as_its_lines_are(monkeypatch, text, odd):
    def told(data):
        try:
            return [np.asarray(part).tolist() for part in off_files.read(data, Path("a.off"))]
        except GeodomainError as error:
            return str(error)

    words = re.split(r"(\s+)", text)
    texts = ["".join([*words[:i], odd, *words[i + 1 :]]).encode() for i in range(2, len(words))]
    by_tables = [told(data) for data in [text.encode(), *texts]]
    tables = []
    monkeypatch.setattr(off_files, "_table", lambda *_: tables.append(1))
    by_lines = [told(data) for data in [text.encode(), *texts]]
    assert tables
    assert list(map(repr, by_tables)) == list(map(repr, by_lines))  # NaN is not equal to NaN


@pytest.mark.parametrize("extension", [".ply", ".txt", "", ".dm", ".vtp"])
def test_the_content_decides(tmp_path, extension):
    with pytest.warns(GeodomainWarning, match=r"is OBJ .*rename it to \.obj"):
        mesh = read(tmp_path, "a" + extension, obj())
    assert_is_shape(mesh)


@pytest.mark.parametrize("extension", [".vtp", ".vtk", ".vtu", ".VTP"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_vtk(tmp_path, extension, kind):
    import pyvista

    dataset = pyvista.PolyData.from_regular_faces(VERTICES.astype(kind), TRIANGLES)
    path = tmp_path / f"a{extension}"
    if extension == ".vtu":
        dataset = dataset.cast_to_unstructured_grid()
    dataset.save(path.with_suffix(extension.lower()))
    path.with_suffix(extension.lower()).rename(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mesh = read_mesh(path)
    assert [
        str(w.message)[-90:-60] for w in caught if "only accurate to 0.5" in str(w.message)
    ] or (kind is np.float64 and not caught)
    assert np.array_equal(mesh.vertices, VERTICES.astype(kind))
    assert np.array_equal(mesh.triangles, TRIANGLES)


def test_text_formats_do_not_import_pyvista(tmp_path):
    path = tmp_path / "a.obj"
    path.write_text(obj())
    code = f"import geodomain, sys; geodomain.read_mesh({str(path)!r})"
    code += "; print('pyvista' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("width", [1, 2, 5, 6, 7, 1000])
@pytest.mark.parametrize("polygons", [False, True])
def test_off_numbers_stand_on_any_lines(tmp_path, width, polygons):
    faces = CUBE_QUADS if polygons else CUBE_TRIANGLES
    rows = [*cube(2.5).vertices.tolist(), *([len(face), *face] for face in faces)]
    words = ["OFF", "8", str(len(faces)), "0", *(str(word) for row in rows for word in row)]
    lines = [" ".join(words[i : i + width]) for i in range(0, len(words), width)]
    path = tmp_path / "free.off"
    path.write_text("\n".join([*lines[:2], "# a remark", *lines[2:]]))
    mesh = read_mesh(path)
    assert np.array_equal(mesh.vertices, cube(2.5).vertices)
    assert len(mesh.triangles) == 12 and mesh.is_closed and mesh.is_balanced
    path.write_text("\n".join(lines)[:-2])
    with pytest.raises(MeshError, match=r"free\.off"):
        read_mesh(path)
