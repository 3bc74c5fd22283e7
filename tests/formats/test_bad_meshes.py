"""A file that cannot be used gets one sentence: what, where, and how to mend it."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from mesh_files import ascii_stl, binary_ply, binary_stl, obj, off, read, text_ply

from geodomain import MeshError, read_mesh

PLY = text_ply()
BINARY = binary_ply("<")
HUGE = 2**40

BAD = {
    # Nothing that is known.
    "empty": ("a.stl", b"", r"a\.stl is empty: export"),
    "blank": ("a.stl", b" \r\n\n", r"only blanks"),
    "unknown text": (
        "a.stl",
        "x,y,z\n1,2,3\n",
        r"a\.stl: .*format is not recognised; readable formats are PLY, OMF",
    ),
    "unknown bytes": ("a.bin", b"\x00\x01\x02" * 99, r"format is not recognised"),
    "vulcan": ("a.00t", b"\0\1" * 2048, r"Vulcan's \.00t is a packed .*: export .* as DXF"),
    "vulcan, renamed": (
        "a.bin",
        b"\xea\xfb\xa7\x8avulZ" + b"\0" * 99,
        r"Vulcan's \.00t is a packed",
    ),
    "deswik": ("a.duf", b"\0\1" * 99, r"Deswik's \.duf .* export the wireframe as DXF"),
    "hdf5": ("a.bin", b"\x89HDF\r\n\x1a\n" + b"\0" * 99, "a.bin is damaged: "),
    "excel": ("a.bin", b"PK\3\4" + b"xl/workbook.xml" * 9, r"an Excel workbook.*: save .* as CSV"),
    "strings": (
        "a.str",
        "a,1-Jan-20,,\n0, 0, 0, 0\n",
        r"no a\.dtm in the same folder, and strings are not",
    ),
    # STL.
    "stl, cut": ("a.stl", binary_stl()[:-60], r"cut short: .*declares 4 facets.* bytes for 2;"),
    "stl, count": ("a.stl", b"\0" * 80 + struct.pack("<I", 2**32 - 1), r"4,294,967,295 facets"),
    "stl, cut header": ("a.stl", b"\0" * 50, r"cut short"),
    "stl, no facets": ("a.stl", b"\0" * 84, r"a\.stl has no faces"),
    "stl, nothing in it": ("a.stl", "solid a\nendsolid a\n", r"has no faces.*export"),
    "stl, nan": (
        "a.stl",
        binary_stl(vertices=np.array([[0, 0, 0], [1, 0, 0], [0, 1, np.nan], [0, 0, 1]])),
        r"facet 1 of a\.stl has the corner \(0\.0, 1\.0, nan\), which is not finite",
    ),
    "stl, text nan": ("a.stl", ascii_stl().replace("9.5", "nan"), r"facet 2 of .* is not finite"),
    "stl, word": ("a.stl", ascii_stl().replace("9.5", "9,5"), r"line 13: '9,5' is not a number"),
    "stl, underscore": ("a.stl", ascii_stl().replace("9.5", "9_5"), r"'9_5' is not a number"),
    "stl, cut text": ("a.stl", ascii_stl()[:-60], r"cut short: .*'endsolid' \(add that line"),
    "stl, cut facet": (
        "a.stl",
        ascii_stl().replace(" endloop\nendfacet\nendsolid", "endsolid"),
        r"cut short: the facet before line 28 is incomplete",
    ),
    "stl, two corners": (
        "a.stl",
        ascii_stl().replace("  vertex 0.25 7480000.7 9.5\n", "", 1),
        r"line 14: a facet has 2 vertices instead of 3",
    ),
    "stl, two numbers": (
        "a.stl",
        ascii_stl().replace("vertex 0.25 7480000.7 9.5", "vertex 0.25 7480000.7", 1),
        r"line 13: expected 'vertex x y z'",
    ),
    # PLY.
    "ply, no faces": ("a.ply", PLY.split("element face")[0] + "end_header\n", r"no element 'face'"),
    "ply, points": ("a.ply", PLY.replace("face 4", "face 0"), r"4 points but no faces, so"),
    "ply, no z": ("a.ply", PLY.replace("double z", "double q"), r"no properties x, y and z"),
    "ply, no list": ("a.ply", PLY.replace("vertex_indices", "edges"), r"no list vertex_indices"),
    "ply, no format": (
        "a.ply",
        PLY.replace("format ascii 1.0\n", ""),
        r"declares none of the formats",
    ),
    "ply, bad format": ("a.ply", PLY.replace("ascii", "utf7"), r"line 2: 'format utf7 1\.0' is no"),
    "ply, bad type": ("a.ply", PLY.replace("double z", "quad z"), r"line 8: 'property quad z' is"),
    "ply, twice": ("a.ply", PLY.replace("double z", "double y"), r"a property of 'vertex' twice"),
    "ply, endless": ("a.ply", "ply\nformat ascii 1.0", r"cut short: its header does not end"),
    "ply, long head": ("a.ply", "ply\n" + "comment\n" * 10001, r"no end_header in 10,000 lines"),
    "ply, count": ("a.ply", PLY.replace("vertex 4", f"vertex {HUGE}"), r"1,099,511,627,776 rows"),
    "ply, face count": ("a.ply", PLY.replace("face 4", f"face {HUGE}"), r"rows of 'face'"),
    "ply, binary count": (
        "a.ply",
        BINARY.replace(b"x 4", b"x %d" % HUGE),
        r"511,627,776 rows of 'v",
    ),
    "ply, binary faces": ("a.ply", BINARY.replace(b"face 4", b"face %d" % HUGE), r"rows of 'face'"),
    "ply, cut": ("a.ply", BINARY[:-1], r"cut short: its header declares 4 rows of 'face'"),
    "ply, cut text": ("a.ply", PLY[:-4], r"cut short: its header declares 4 rows of 'face'"),
    "ply, index": (
        "a.ply",
        PLY[:-2] + "9\n",
        r"face 4 of a\.ply refers to vertex 9 counted from 0",
    ),
    "ply, less": ("a.ply", PLY[:-2] + "-1\n", r"face 4 of a\.ply refers to vertex -1"),
    "ply, nan": ("a.ply", PLY.replace("9.5", "nan"), r"vertex 4 at \(0\.25, 7480000\.7, nan\)"),
    "ply, word": ("a.ply", PLY.replace("9.5", "x"), r"vertex 4: 'x' is not a number; correct"),
    "ply, half": ("a.ply", PLY[:-2] + "1.5\n", r"face 4: '1\.5' is not a whole number"),
    "ply, line face": ("a.ply", PLY.replace("3 1 2 3", "2 1 2"), r"face 4 of a\.ply has 2 corners"),
    "ply, list count": ("a.ply", PLY.replace("3 0 1 3", "x 0 1 3"), r"'x' is not a whole number"),
    "ply, negative": ("a.ply", PLY.replace("3 0 1 3", "-3 0 1 3"), r"cut short"),
    # OBJ.
    "obj, points": ("a.obj", "v 0 0 0\nv 1 1 1\n", r"2 points but no faces"),
    "obj, lines": ("a.obj", "v 0 0 0\nv 1 1 1\nl 1 2\n", r"2 points but no faces"),
    "obj, index": (
        "a.obj",
        obj() + "f 1 2 5\n",
        r"line 17: .*vertex 5, but the vertices are 1 to 4",
    ),
    "obj, zero": ("a.obj", obj() + "f 1 2 0\n", r"line 17: .*vertex 0, .* 1 to 4"),
    "obj, negative": ("a.obj", obj() + "f 1 2 -5\n", r"line 17: .*vertex -5"),
    "obj, continued": (
        "a.obj",
        obj("f {} \\\n {} {}\n") + "f 1 2 5\n",
        r"line 21: .*vertex 5",
    ),
    "obj, word": ("a.obj", obj() + "f 1 2 x\n", r"line 17: 'x' is not a whole number"),
    "obj, two corners": (
        "a.obj",
        obj() + "f 1 2\n",
        r"line 17: a face has 2 corners, but needs at least three",
    ),
    "obj, nan": ("a.obj", obj().replace("9.5", "nan"), r"line 7: a vertex is not finite; repair"),
    "obj, comma": ("a.obj", obj().replace("9.5", "9,5"), r"line 7: '9,5' is not a number; correct"),
    "obj, short": (
        "a.obj",
        obj().replace(" 9.5", ""),
        r"line 7: a vertex needs x, y and z.* 2 num",
    ),
    "obj, stray key": ("a.obj", obj() + "f f 1 2 3\n", r"line 17: 'f' is not a whole number"),
    "obj, underscore": ("a.obj", obj().replace("9.5", "9_5"), r"line 7: '9_5' is not a number"),
    # OFF.
    "off, count": ("a.off", off(counts=f"\n{HUGE} 4 0"), r"declares 1,099,511,627,776 vertices"),
    "off, cut": (
        "a.off",
        off()[:-8],
        r"cut short: its header declares 4 vertices and 4 faces, but 7",
    ),
    "off, keyword": ("a.off", "OFF\n", r"cut short: its header declares vertices"),
    "off, negative": ("a.off", off(counts="\n-4 4 0"), r"line 2: expected the numbers of vertices"),
    "off, one count": ("a.off", off(counts="\n4"), r"line 2: expected the numbers of vertices"),
    "off, word": ("a.off", off().replace("9.5", "x"), r"line 6: 'x' is not a number"),
    "off, short": ("a.off", off().replace(" 9.5", ""), r"line 6: a vertex needs x, y and z"),
    "off, face": (
        "a.off",
        off()[:-2] + "\n",
        r"line 10: a face declares 3 corners and has 2 numbers",
    ),
    "off, index": (
        "a.off",
        off()[:-2] + "4\n",
        r"face 4 of a\.off refers to vertex 4 counted from 0",
    ),
    "off, 4d": ("a.off", off("4OFF"), r"OFF that is not supported \(4OFF\): export"),
    "off, binary": (
        "a.off",
        "OFF BINARY\n1 2 3",
        r"variant of OFF that is not supported \(OFF BINARY\)",
    ),
    "off, points": ("a.off", "OFF\n1 0 0\n0 0 0\n", r"1 point but no faces"),
    # VTK.
    "vtp, cut": ("a.vtp", '<VTKFile type="PolyData">\n<PolyData>', r"cannot be read by VTK"),
    "vtk, cut": ("a.vtk", "# vtk DataFile Version 3.0\n\nASCII\nDATASET POLYDATA\n", r"a\.vtk "),
}


@pytest.mark.parametrize(("name", "content", "sentence"), BAD.values(), ids=BAD)
def test_bad_files(tmp_path, name, content, sentence):
    with pytest.raises(MeshError, match=sentence) as error:
        read(tmp_path, name, content)
    message = str(error.value)
    assert name.split(".")[0] in message
    assert "\n" not in message
    assert len(message) < 400


def test_a_missing_file_is_the_systems_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_mesh(tmp_path / "none.stl")
    with pytest.raises(FileNotFoundError):
        read_mesh(str(tmp_path / "none.vtp"))


@pytest.mark.parametrize(
    ("cells", "kinds", "sentence"),
    [
        ([2, 0, 1], [3], "holds lines, which are not faces"),
        ([1, 0], [1], "holds vertices"),
        ([4, 0, 1, 2, 3], [10], "holds tetrahedra"),
        ([3, 0, 1, 2, 2, 0, 1], [5, 3], "holds lines"),
        ([3, 0, 1, 2, 4, 0, 1, 2, 3], [5, 6], "holds triangle strips"),
    ],
)
def test_other_cells_are_refused_by_name(tmp_path, cells, kinds, sentence):
    import pyvista

    points = np.eye(4, 3)
    pyvista.UnstructuredGrid(np.array(cells), np.array(kinds), points).save(tmp_path / "a.vtu")
    with pytest.raises(MeshError, match=rf"a\.vtu {sentence}.*save them as \.vtp"):
        read_mesh(tmp_path / "a.vtu")


def test_a_grid_is_refused_by_name(tmp_path):
    import pyvista

    pyvista.ImageData(dimensions=(3, 3, 3)).save(tmp_path / "a.vti")
    with pytest.raises(MeshError, match=r"a\.vti holds ImageData, not a wireframe: extract"):
        read_mesh(tmp_path / "a.vti")


def test_what_vtk_says_is_said_once(tmp_path, caplog):
    path = tmp_path / "a.vtp"
    path.write_text('<?xml version="1.0"?><VTKFile type="PolyData"><PolyData></PolyData></VTKFile>')
    with pytest.raises(MeshError, match=r"a\.vtp cannot be read"):
        read_mesh(path)
    assert not caplog.records
