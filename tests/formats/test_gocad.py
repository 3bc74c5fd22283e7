"""GOCAD's surfaces: patches, atoms, headers as they are written, depths."""

from __future__ import annotations

from pathlib import Path

import pytest

from geodomain import Mesh, MeshError, read_mesh, read_meshes, write_mesh

FAULT = """GOCAD TSurf 1
# a comment
HEADER {
    *name: no
    name: North fault
}
GOCAD_ORIGINAL_COORDINATE_SYSTEM
NAME Default
ZPOSITIVE Elevation
END_ORIGINAL_COORDINATE_SYSTEM
PROPERTIES a "b c"
PROPERTY_CLASS_HEADER Z {
name: other
VRTX 9 9 9 9
}
TFACE
VRTX 3 478000.1 6771000.2 300.3 CNXYZ
PVRTX 5 478010.1 6771000.2 300.3 1 2
VRTX 7 478000.1 6771010.2 300.3
TRGL 3 5 7
TFACE
ATOM 10 5
PATOM 11 10 4
VRTX 12 478010.1 6771010.2 310.3
VRTX 13 478000.1 6771010.2 300.3
BSTONE 3
BORDER 14 3 5
TRGL 11 12 13
END
"""


def read(folder: Path, text: str, name: str = "a.ts") -> dict[str, Mesh]:
    (folder / name).write_bytes(text.encode("latin-1"))
    return read_meshes(folder / name)


def test_patches_are_one_surface(tmp_path: Path) -> None:
    (mesh,) = read(tmp_path, FAULT).values()
    assert mesh.vertices.tolist() == [
        [478000.1, 6771000.2, 300.3],
        [478010.1, 6771000.2, 300.3],
        [478000.1, 6771010.2, 300.3],
        [478010.1, 6771010.2, 310.3],
    ]
    assert mesh.triangles.tolist() == [[0, 1, 2], [1, 3, 2]]


@pytest.mark.parametrize(
    "header",
    [
        "HEADER {\nname: North fault \n}",
        "HEADER{\nname:North fault\n}",
        'HEADER {\nname = "North fault"\n}',
        "HEADER {name:North fault}",
    ],
)
def test_names(tmp_path: Path, header: str) -> None:
    at, end = FAULT.index("HEADER"), FAULT.index("GOCAD_")
    assert list(read(tmp_path, FAULT[:at] + header + "\n" + FAULT[end:])) == ["North fault"]
    assert list(read(tmp_path, FAULT[:at] + FAULT[end:])) == ["a"]
    accents = FAULT.replace("North fault", "Förwerk")
    assert list(read(tmp_path, accents)) == ["Förwerk"]


def test_depth_is_of_one_object(tmp_path: Path) -> None:
    deep = FAULT.replace("Elevation", "Depth").replace("North", "South")
    found = read(tmp_path, deep.replace("\n", "\r\n") + FAULT)
    assert found["South fault"].bounds[:, 2].tolist() == [-310.3, -300.3]
    assert found["North fault"].bounds[:, 2].tolist() == [300.3, 310.3]


def test_surfaces_of_a_model_are_read(tmp_path: Path) -> None:
    model = "GOCAD Model3d 1\nHEADER {\nname:m\n}\nTSURF North fault\nTFACE 1 fault North fault\n"
    found = read(tmp_path, model + "  1 2 3\n  4 5 6\n  7 8 9\nREGION 2 x\nEND\n" + FAULT, "a.ml")
    assert list(found) == ["North fault"]


BAD = {
    "points": ("GOCAD VSet 1\nVRTX 1 0 0 0\nEND\n", "a GOCAD file with 'vset', but only TSurf"),
    "no triangles": ("GOCAD TSurf 1\nVRTX 1 0 0 0\nEND\n", r"without triangles \(TRGL\)"),
    "cut": (FAULT[:-5], "cut short: its last object has no line END"),
    "two": (FAULT[:-4] + FAULT, "cut short: the object before line 29 has no line END"),
    "word": (FAULT.replace("310.3", "x"), r"a\.ts, line 24: 'x' is not a number"),
    "nan": (FAULT.replace("310.3", "nan"), r"not finite in 1 vertex, first in vertex 4"),
    "short": (FAULT.replace(" 310.3", ""), r"line 24: VRTX needs 4 numbers, but has 3"),
    "corner": (FAULT.replace("11 12 13", "11 12 99"), r"line 28: a triangle refers to vertex 99"),
    "half": (FAULT.replace("11 12 13", "11 12 1.5"), r"line 28: '1\.5' is not a whole number"),
    "atom": (FAULT.replace("ATOM 10 5", "ATOM 10 6"), r"line 22: an ATOM refers to vertex 6"),
    "twice": (FAULT.replace("VRTX 12", "VRTX 3"), r"line 24: vertex 3 occurs twice"),
    "no vertices": ("GOCAD TSurf 1\nTRGL 1 2 3\nEND\n", r"triangles and no vertices"),
}


@pytest.mark.parametrize(("text", "sentence"), BAD.values(), ids=BAD)
def test_what_cannot_be_read(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(MeshError, match=sentence):
        read(tmp_path, text)


def test_a_renamed_file_is_known_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(FAULT)
    with pytest.warns(UserWarning, match=r"a\.txt has the extension \.txt, but is GOCAD"):
        assert len(read_mesh(tmp_path / "a.txt").triangles) == 2


def test_lines_that_go_on(tmp_path: Path) -> None:
    r"""A line that ends in \ goes on in the next one, a comment does not."""
    text = FAULT.replace("VRTX 3 478000.1 ", "VRTX 3 \\\n478000.1 \\ \n")
    text = text.replace("# a comment", "# C:\\a\\").replace("name: North", "name: \\\nNorth")
    (mesh,) = read(tmp_path, text).values()
    assert list(read(tmp_path, text)) == ["North fault"]
    assert mesh.vertices.tolist() == read(tmp_path, FAULT)["North fault"].vertices.tolist()
    bad = text.replace("310.3", "x")
    with pytest.raises(MeshError, match=r"a\.ts, line 27: 'x' is not a number"):
        read(tmp_path, bad)
    with pytest.raises(MeshError, match="cut short: its last object has no line END"):
        read(tmp_path, FAULT.removesuffix("END\n") + "TRGL 3 5 7 \\")


@pytest.mark.parametrize("name", ["C:\\ore\\", "a\\ b", '"a', '"', "\\"])
def test_names_with_backslashes_come_back(tmp_path: Path, name: str) -> None:
    mesh = read(tmp_path, FAULT)["North fault"]
    write_mesh({name: mesh}, tmp_path / "b.ts")
    assert list(read_meshes(tmp_path / "b.ts")) == [name]


@pytest.mark.parametrize("name", ['say "it"', "a {b} c", "two  blanks", "{x}", 'in "quotes"'])
def test_braces_and_quotes_of_a_name(tmp_path: Path, name: str) -> None:
    for header in (f"HEADER {{\nname:{name}\n*x:1\n}}", f"HEADER {{name: {name}}}"):
        text = FAULT[: FAULT.index("HEADER")] + header + "\n" + FAULT[FAULT.index("GOCAD_") :]
        assert list(read(tmp_path, text)) == [name]


@pytest.mark.parametrize(
    "axes", ["X Y Z", '"Easting" "Northing" "Depth"', "U V W", "east north rl", "X Y", "LON LAT Z"]
)
@pytest.mark.parametrize("units", ["m m m", '"ft" "ft" "ft"', "M m m", "none none m", ""])
def test_axes_that_are_as_usual(tmp_path: Path, axes: str, units: str) -> None:
    system = f"NAME Default\nAXIS_NAME {axes}\nAXIS_UNIT {units}"
    (mesh,) = read(tmp_path, FAULT.replace("NAME Default", system)).values()
    assert mesh.vertices[0].tolist() == [478000.1, 6771000.2, 300.3]


@pytest.mark.parametrize("axes", ["Y X Z", '"Northing" "Easting" "Elevation"', "N E U"])
def test_axes_that_are_north_and_east_are_swapped(tmp_path: Path, axes: str) -> None:
    system = f"NAME Default\nAXIS_NAME {axes}"
    (mesh,) = read(tmp_path, FAULT.replace("NAME Default", system)).values()
    assert mesh.vertices[0].tolist() == [6771000.2, 478000.1, 300.3]
    two = FAULT.replace("NAME Default", system) + FAULT.replace("North", "South")
    assert read(tmp_path, two)["South fault"].vertices[0, 0] == 478000.1


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            'AXIS_UNIT "m" "m" "ft"',
            "line 9: the axes have the units m, m, ft: export the surface with one",
        ),
        ("AXIS_UNIT m m ms", "the axes have the units m, m, ms"),
        ("AXIS_NAME X Z Y", "line 9: the axes are X, Z, Y: export"),
        ("AXIS_NAME Z X Y", "the axes are Z, X, Y"),
    ],
)
def test_axes_that_are_refused(tmp_path: Path, line: str, sentence: str) -> None:
    with pytest.raises(MeshError, match=sentence):
        read(tmp_path, FAULT.replace("NAME Default", f"NAME Default\n{line}"))
