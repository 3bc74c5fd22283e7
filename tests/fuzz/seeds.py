"""Files that once ended in a traceback, in a crash, in nothing at all, or never; made, not kept."""

from __future__ import annotations

_CORNERS = "0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
_ROWS = "3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"
_PLY_VERTEX = "element vertex 4\nproperty double x\nproperty double y\nproperty double z\n"
_PLY_FACE = "element face 4\nproperty list uchar int vertex_indices\n"
OBJ = (
    "".join(f"v {row}\n" for row in _CORNERS.splitlines()) + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
)
OFF = f"OFF\n4 4 0\n{_CORNERS}{_ROWS}"
PLY = f"ply\nformat ascii 1.0\n{_PLY_VERTEX}{_PLY_FACE}end_header\n{_CORNERS}{_ROWS}"
STL = (
    "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
    "endloop\nendfacet\nendsolid a\n"
)
TOML = '[[domain]]\nname = "ORE"\nmesh = "ore.obj"\ncode = 1\n'
CSV = "x,y,z,dx,dy,dz\n0.1,0.1,0.1,1,1,1\n5,5,5,1,1,1\n"
VTK = "# vtk DataFile Version 3.0\na\nASCII\nDATASET POLYDATA\nPOINTS 4 double\n" + _CORNERS
VTK_GRID = VTK.replace("POLYDATA", "UNSTRUCTURED_GRID")
GSLIB = "A title\n2 2 1 2 5 5 5 10 10 10 1\nAU\nCU\n1 2\n3 4\n5 6\n7 8\n"
VOXET = (
    "GOCAD Voxet 1\nHEADER {\nname: a\n}\nAXIS_O 0 0 0\nAXIS_U 30 0 0\nAXIS_V 0 20 0\n"
    "AXIS_W 0 0 5\nAXIS_MIN 0 0 0\nAXIS_MAX 1 1 1\nAXIS_N 4 3 2\nPROPERTY 1 AU\n"
    "PROP_ESIZE 1 4\nPROP_ETYPE 1 IEEE\nPROP_FILE 1 grade@@\nEND\n"
)

DIGITS = "9" * 5000


def polygon(corners: int) -> str:
    """Return an OBJ of one polygon, a saw: cutting it in triangles once took corners squared."""
    teeth = "".join(f"v {i} {i % 2 * 9 + 1} 0\n" for i in range(corners - 1))
    return f"{teeth}v {corners // 2} -9 0\nf {' '.join(str(i + 1) for i in range(corners))}\n"


def many_solids(count: int) -> str:
    """Return a list of domains, which took memory and time by its square."""
    return "".join(TOML.replace("ORE", f"R&D <{i}>").replace("= 1", f"= {i}") for i in range(count))


def vtp(points: str = "3", components: str = "3", offsets: str = "3", where: str = "") -> str:
    """Return a VTP of one triangle, with something wrong in it."""
    form = f'format="appended" offset="{where}"' if where else 'format="ascii"'
    return f"""<?xml version="1.0"?>
<VTKFile type="PolyData" version="0.1" byte_order="LittleEndian">
<PolyData><Piece NumberOfPoints="{points}" NumberOfVerts="0" NumberOfLines="0"
 NumberOfStrips="0" NumberOfPolys="1">
<Points><DataArray type="Float64" NumberOfComponents="{components}" {form}>
{"" if where else "0 0 0 1 0 0 0 1 0"}
</DataArray></Points>
<Polys><DataArray type="Int64" Name="connectivity" format="ascii">0 1 2</DataArray>
<DataArray type="Int64" Name="offsets" format="ascii">{offsets}</DataArray></Polys>
</Piece></PolyData>{'<AppendedData encoding="raw">_AAAA</AppendedData>' if where else ""}
</VTKFile>
"""


def vtu(corner: str = "7", kind: str = "12", count: str = "1", offset: str = "8") -> str:
    """Return a VTU of one hexahedron."""
    points = " ".join(f"{x} {y} {z}" for z in (0, 9) for x, y in ((0, 0), (9, 0), (9, 9), (0, 9)))
    return f"""<?xml version="1.0"?>
<VTKFile type="UnstructuredGrid" version="0.1" byte_order="LittleEndian">
<UnstructuredGrid><Piece NumberOfPoints="8" NumberOfCells="{count}">
<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">{points}</DataArray>
</Points><Cells>
<DataArray type="Int64" Name="connectivity" format="ascii">0 1 2 3 4 5 6 {corner}</DataArray>
<DataArray type="Int64" Name="offsets" format="ascii">{offset}</DataArray>
<DataArray type="UInt8" Name="types" format="ascii">{kind}</DataArray></Cells>
</Piece></UnstructuredGrid></VTKFile>
"""


# What each file is read as: the word before the first dash. Each ends in one sentence.
BAD: dict[str, tuple[str, str]] = {
    "toml, NUL in a path": ("a.toml", TOML.replace("ore.obj", "a\\u0000/b.obj")),
    "toml, an integer of 5,000 digits": ("a.toml", TOML.replace("= 1", f"= {DIGITS}")),
    "toml, 6,000 hexadecimal digits": ("a.toml", TOML.replace("= 1", f"= 0x{DIGITS}")),
    "toml, a key of 3,000 letters": ("a.toml", TOML.replace("code", "code" * 750)),
    "toml, 3,000 brackets": ("a.toml", TOML.replace("= 1", "= " + "[" * 3000 + "]" * 3000)),
    "toml, 3,000 tables": ("a.toml", TOML.replace("= 1", "= " + "{a=" * 3000 + "1" + "}" * 3000)),
    "obj, Arabic digits": ("a.obj", OBJ.replace("v 1 0 0", "v \u0661 0 0")),
    "obj, an Arabic corner": ("a.obj", OBJ.replace("f 1 2 4", "f 1 \u0662 4")),
    "off, Arabic digits": ("a.off", OFF.replace("1 0 0", "\u0661 0 0")),
    "off, an Arabic count": ("a.off", OFF.replace("4 4 0", "\u0664 4 0")),
    "stl, Arabic digits": ("a.stl", STL.replace("vertex 1", "vertex \u0661")),
    "ply, Arabic digits": ("a.ply", PLY.replace("\n1 0 0", "\n\u0661 0 0")),
    "ply, an Arabic count": ("a.ply", PLY.replace("vertex 4", "vertex \u0664")),
    "ply, a count of 5,000 digits": ("a.ply", PLY.replace("vertex 4", f"vertex {DIGITS}")),
    "ply, two elements of vertices": ("a.ply", PLY.replace(_PLY_FACE, _PLY_VERTEX + _PLY_FACE)),
    "obj, a corner of 5,000 digits": ("a.obj", OBJ.replace("f 1 2 4", f"f 1 2 {DIGITS}")),
    "off, a count of 5,000 digits": ("a.off", OFF.replace("4 4 0", f"{DIGITS} 4 0")),
    "csv, a name of two lines": ("a.csv", '1,"two\nlines",2\n1,2,3\n'),
    "csv, a name of 3,000 letters": ("a.csv", "a" * 3000 + ",y,z\n1,2,3\n"),
    "csv, lines without end": ("a.csv", "\n" * 900_000),
    "csv, old line ends without end": ("a.csv", "\r" * 900_000),
    "csv, blanks without end": ("a.csv", " \n" * 200_000),
    "csv, names and a row without end": ("a.csv", CSV + "1" * 900_000),
    "csv, a row of commas": ("a.csv", "," * 900_000),
    "csv, names and a row of commas": ("a.csv", CSV + "," * 900_000),
}

# What VTK would read.
BAD_VTK: dict[str, tuple[str, str]] = {
    "vtk, a corner that is not there": ("a.vtk", VTK + "POLYGONS 1 4\n999999 0 1 2\n"),
    "vtk, a vertex that is not there": ("a.vtk", VTK + "POLYGONS 1 4\n3 0 1 999999\n"),
    "vtk, a negative vertex": ("a.vtk", VTK + "POLYGONS 1 4\n3 0 1 -999999\n"),
    "vtk, sizes that do not sum up": ("a.vtk", VTK + "POLYGONS 2 8\n3 0 1 2\n5 0 1 2\n"),
    "vtk, more points than memory": ("a.vtk", VTK.replace("POINTS 4", "POINTS 999999999")),
    "vtk, endless points": ("a.vtk", VTK.replace("POINTS 4", "POINTS 99999999999")),
    "vtk, a model of sizes that do not sum up": (
        "b.vtk",
        VTK_GRID + "CELLS 2 18\n" + "99 0 1 2 3 0 1 2 3\n" * 2 + "CELL_TYPES 2\n12\n12\n",
    ),
    "vtp, 2^31 points": ("a.vtp", vtp(points="2147483648")),
    "vtp, 2^32 components": ("a.vtp", vtp(components="4294967296")),
    "vtp, an offset beyond the file": ("a.vtp", vtp(where="99999999999")),
    "vtp, an offset before the file": ("a.vtp", vtp(where="-9")),
    "vtp, a polygon beyond its corners": ("a.vtp", vtp(offsets="999999")),
    "vtu, a corner out of range": ("b.vtu", vtu(corner="999999999")),
    "vtu, a negative corner": ("b.vtu", vtu(corner="-999999999")),
    "vtu, an offset out of range": ("b.vtu", vtu(offset="999999999")),
    "vtu, cells that are not there": ("b.vtu", vtu(count="999999999999")),
    "vtu, a count that goes on": ("b.vtu", vtu(count="999999999-1999")),
    "vtu, a kind that there is not": ("b.vtu", vtu(kind="99")),
    "vti, more cells than a number counts": (
        "b.vti",
        '<?xml version="1.0"?>\n<VTKFile type="ImageData" version="0.1" '
        'byte_order="LittleEndian"><ImageData WholeExtent="0 99999999 0 99999999 0 99999999" '
        'Origin="0 0 0" Spacing="1 1 1"><Piece Extent="0 99999999 0 99999999 0 99999999"><CellData>'
        '<DataArray type="Float64" Name="a" format="ascii">1</DataArray></CellData></Piece>'
        "</ImageData></VTKFile>\n",
    ),
}

_IMAGE = (
    '<?xml version="1.0"?>\n<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" '
    'header_type="UInt64">\n<ImageData WholeExtent="0 4 0 3 1 3" Origin="0 0 0.5" '
    'Spacing="1 2 0.5" Direction="1 0 0 0 1 0 0 0 1">\n<Piece Extent="0 4 0 3 1 3">\n{}\n</Piece>\n'
    "</ImageData>\n{}</VTKFile>\n"
)
VTI = [
    _IMAGE.format(
        '<PointData/>\n<CellData Scalars="AU">\n<DataArray type="Float64" Name="AU" format="ascii">'
        f"{' 1.5' * 24}</DataArray>\n</CellData>",
        "",
    ),
    _IMAGE.format(
        '<CellData><DataArray type="UInt8" Name="B" format="appended" offset="0"/></CellData>',
        f'<AppendedData encoding="base64">\n_GAAAAAAAA{"A" * 33}=\n</AppendedData>\n',
    ),
    _IMAGE.format("<CellData/>", ""),
    _IMAGE.format("", ""),
]
