"""One tetrahedron as STL, PLY, OBJ and OFF files."""

from __future__ import annotations

import struct

import numpy as np

from geodomain import read_mesh

NORTHING = 7480000.7

VERTICES = np.array(
    [[0.1, NORTHING, 1], [1, NORTHING, 1e-3], [0.1, 7480001.25, 2], [0.25, NORTHING, 9.5]]
)

TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def read(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_mesh(path)


def ascii_stl(style="  vertex {} {} {}\n", solids=1):
    blocks = np.array_split(TRIANGLES, solids)
    text = ""
    for i, block in enumerate(blocks):
        text += f"solid facet vertex {i}\n"
        for triangle in VERTICES[block].tolist():
            text += "facet normal 0 0 0\n outer loop\n"
            text += "".join(style.format(*corner) for corner in triangle)
            text += " endloop\nendfacet\n"
        text += f"endsolid facet vertex {i}\n"
    return text


def binary_stl(header=b"made by hand", vertices=VERTICES):
    data = header.ljust(80, b"\0") + struct.pack("<I", len(TRIANGLES))
    for triangle in vertices[TRIANGLES].tolist():
        data += struct.pack("<12fH", 0, 0, 0, *(v for corner in triangle for v in corner), 7)
    return data


def ply_header(form, vertex_properties, face_properties, before="", after=""):
    return (
        f"ply\nformat {form} 1.0\ncomment by hand\nobj_info none\n{before}"
        f"element vertex 4\n{vertex_properties}element face 4\n{face_properties}{after}end_header\n"
    )


XYZ = "property double x\nproperty double y\nproperty double z\n"

LIST = "property list uchar int vertex_indices\n"

EXTRA_XYZ = "property uchar red\n" + XYZ.replace("double x", "float64 x") + "property float q\n"

EXTRA_LIST = (
    "property short tag\nproperty list uint8 uint32 vertex_index\nproperty list uchar float uv\n"
)

CAMERA = "element camera 2\nproperty float f\nproperty list ushort double g\n"

MATERIAL = "element material 1\nproperty int m\n"


def text_ply(extra=False):
    xyz = [f"{x!r} {y!r} {z!r}\n" for x, y, z in VERTICES.tolist()]
    faces = [f"3 {a} {b} {c}\n" for a, b, c in TRIANGLES.tolist()]
    if not extra:
        return ply_header("ascii", XYZ, LIST) + "".join(xyz + faces)
    xyz = [f"255 {row.strip()} 0.5\n" for row in xyz]
    faces = [f"-2 {row.strip()} {i} {'0.5 ' * i}\n" for i, row in enumerate(faces)]
    cameras = "1.5 2 0 0\n2.5 0\n"
    head = ply_header("ascii", EXTRA_XYZ, EXTRA_LIST, CAMERA, MATERIAL)
    return head + cameras + "".join(xyz + faces) + "5\n"


def binary_ply(order, extra=False, form="d"):
    name = "binary_little_endian" if order == "<" else "binary_big_endian"
    if not extra:
        properties = XYZ if form == "d" else XYZ.replace("double", "float")
        data = ply_header(name, properties, LIST).encode()
        data += b"".join(struct.pack(order + "3" + form, *row) for row in VERTICES)
        return data + b"".join(struct.pack(order + "B3i", 3, *row) for row in TRIANGLES)
    data = ply_header(name, EXTRA_XYZ, EXTRA_LIST, CAMERA, MATERIAL).encode()
    data += struct.pack(order + "fHdd", 1.5, 2, 0, 0) + struct.pack(order + "fH", 2.5, 0)
    data += b"".join(struct.pack(order + "B3df", 255, *row, 0.5) for row in VERTICES)
    for i, row in enumerate(TRIANGLES):
        data += struct.pack(order + f"hB3IB{i}f", -2, 3, *row, i, *[0.5] * i)
    return data + struct.pack(order + "i", 5)


def obj(face="f {} {} {}\n", vertex="v {!r} {!r} {!r}\n", shift=1):
    text = "# by hand\nmtllib a.mtl\no body\n"
    text += "".join(vertex.format(*row) for row in VERTICES.tolist())
    text += "vt 0 0\nvn 0 0 1\ng group\nusemtl stone\ns off\n"
    return text + "".join(face.format(*row) for row in (TRIANGLES + shift).tolist())


def off(keyword="OFF", counts="\n4 4 6", vertex="{!r} {!r} {!r}\n", face="3 {} {} {}\n"):
    text = f"{keyword}{counts}\n" + "".join(vertex.format(*row) for row in VERTICES.tolist())
    return text + "".join(face.format(*row) for row in TRIANGLES.tolist())
