"""Wireframes of the mining packages: what is in a file comes out, exactly."""

from __future__ import annotations

import contextlib
from pathlib import Path

import mining_files as files
import numpy as np
import pytest
from mining_files import TRIANGLES, VERTICES
from wireframes import box, cube

from geodomain import GeodomainWarning, Mesh, MeshError, read_mesh, read_meshes, write_mesh

SURPAC = {"text": files.surpac_text, "binary": files.surpac_binary}
FORMS = [(8, "<"), (8, ">"), (4, "<"), (4, ">")]


def put(folder: Path, name: str, content: bytes | str) -> Path:
    data = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(data)
    return folder / name


def same(mesh: Mesh, vertices: np.ndarray = VERTICES, triangles: np.ndarray = TRIANGLES) -> bool:
    corners = mesh.vertices[mesh.triangles]
    return np.array_equal(corners, vertices[triangles])


@pytest.mark.parametrize("make", SURPAC.values(), ids=SURPAC)
class TestSurpac:
    def test_separators_count_as_vertices(self, tmp_path, make):
        path = make(tmp_path, {(1, 1): files.surpac_corners()})
        for name in (path, path.with_suffix(".str")):
            (item,) = read_meshes(name).items()
            assert item[0] == "a"
            assert same(item[1])
            assert item[1].is_closed

    def test_objects_and_trisolations_are_solids(self, tmp_path, make):
        corners = files.surpac_corners()
        path = make(tmp_path, {(1, 1): corners[:4], (1, 3): corners[4:], (2, 1): corners})
        found = read_meshes(path)
        assert {name: len(mesh.triangles) for name, mesh in found.items()} == {
            "1.1": 4,
            "1.3": 4,
            "2.1": 8,
        }
        assert len(found["1.1"].vertices) == 5

    def test_a_corner_on_a_separator(self, tmp_path, make):
        corners = files.surpac_corners()
        for strange in (4, 0, 99):
            corners[2, 1] = strange
            path = make(tmp_path, {(1, 1): corners})
            with pytest.raises(MeshError, match=rf"triangle 3 of a.dtm has the corner {strange},"):
                read_mesh(path)

    def test_half_a_pair(self, tmp_path, make):
        path = make(tmp_path, {(1, 1): files.surpac_corners()})
        strings = path.with_suffix(".str")
        renamed = path.rename(tmp_path / "B.DTM")  # it names its strings
        assert same(read_mesh(renamed))
        with pytest.raises(MeshError, match=r"strings are not a surface: export the \.dtm"):
            read_mesh(strings)
        strings.unlink()
        with pytest.raises(
            MeshError, match=r"vertices are in B\.str, which is not in the same folder"
        ):
            read_mesh(renamed)


@pytest.mark.parametrize(
    "order", [("Location", "Tri"), ("Tri", "Location"), ("Tri", "Other", "Location")]
)
def test_leapfrog(tmp_path, order):
    arrays = {
        "Location": (b"Double 3 6", VERTICES.astype("<f8")),
        "Tri": (b"Integer 3 8", TRIANGLES.astype("<i4")),
        "Other": (b"Integer 1 5", np.arange(5, dtype="<i4")),
    }
    head = b"".join(b"%s %s;\n" % (name.encode(), arrays[name][0]) for name in order)
    mark = bytes.fromhex("ff0ff0001bde8342cac0f33f")
    body = b"".join(arrays[name][1].tobytes() for name in order)
    for start, newline in ((b"%ARANZ", b""), (b"%%ARANZ", b"\n")):
        data = start + b"-1.0\n\n[index]\n" + head + b"\n[binary]" + newline + mark + body
        (mesh,) = read_meshes(put(tmp_path, "a.msh", data)).values()
        assert same(mesh)
    with pytest.raises(MeshError, match=r"cut short: its header declares \d+ bytes of arrays"):
        read_mesh(put(tmp_path, "a.msh", data[:-1]))
    with pytest.raises(MeshError, match="no array 'Tri'"):
        read_mesh(put(tmp_path, "a.msh", data.replace(b"Tri", b"Tru")))


@pytest.mark.parametrize(("width", "order"), FORMS)
class TestDatamine:
    def shift(self, width):
        return (0.0, 0.0, 0.0) if width == 8 else (-478000.0, -6771000.0, 0.0)

    def test_a_pair(self, tmp_path, width, order):
        path = files.datamine_pair(tmp_path, width, order, self.shift(width))
        for name in ("atr.dm", "apt.dm"):
            found = read_meshes(path.with_name(name))
            assert list(found) == ["2", "1"]
            assert same(found["2"], VERTICES + self.shift(width), TRIANGLES[:4])
            assert read_mesh(path.with_name(name)).is_closed

    def test_colours_that_are_missing_or_long(self, tmp_path, width, order):
        corners = {f"PID{i + 1}": (TRIANGLES[:, i] + 1.0).tolist() for i in range(3)}
        points = dict(
            zip(("XP", "YP", "ZP"), (VERTICES - [478000, 6771000, 0]).T.tolist(), strict=True)
        )
        put(
            tmp_path,
            "apt.dm",
            files.datamine_table({"PID": [1.0, 2, 3, 4, 5, 6], **points}, width, order),
        )
        colours = [1.1, -1e30, 1000001.0, 1000002.0, 1.1, -1e30, 1000001.0, 1000002.0]
        table = files.datamine_table({**corners, "COLOUR": colours}, width, order)
        found = read_meshes(put(tmp_path, "atr.dm", table))
        counts = {name: len(mesh.triangles) for name, mesh in found.items()}
        assert counts == {"1.1": 2, "atr": 2, "1000001": 2, "1000002": 2}

    def test_records_do_not_cross_pages(self, tmp_path, width, order):
        path = files.datamine_pair(tmp_path, width, order, self.shift(width), repeat=40)
        assert len(read_mesh(path).triangles) == 320

    def test_a_point_that_is_not_there(self, tmp_path, width, order):
        path = files.datamine_pair(tmp_path, width, order, self.shift(width))
        table = files.datamine_table(
            {name: [1.0] for name in ("PID", "XP", "YP", "ZP")}, width, order
        )
        put(tmp_path, "apt.dm", table)
        with pytest.raises(MeshError, match=r"triangle 1 of atr\.dm refers to point 57"):
            read_mesh(path)
        (tmp_path / "apt.dm").unlink()
        with pytest.raises(MeshError, match=r"the other half, apt\.dm, is not in the same folder"):
            read_mesh(path)

    def test_other_tables(self, tmp_path, width, order):
        model = files.datamine_table(
            {"XC": [1.0], "ROCK": ["OX"]}, width, order, {"XMORIG": 5.0, "D": "NO"}
        )
        with pytest.raises(
            MeshError, match=r"a block model from Datamine, not a wireframe: it has"
        ):
            read_mesh(put(tmp_path, "m.dm", model))
        with pytest.raises(MeshError, match=r"declares 2 pages but has 1"):
            read_mesh(put(tmp_path, "m.dm", model[:-1]))


def test_datamine_warns_of_single_precision(tmp_path):
    path = files.datamine_pair(tmp_path, 4, "<")
    with pytest.warns(GeodomainWarning, match=r"single precision, .* accurate to 0\.5"):
        read_mesh(path)


def test_landxml(tmp_path):
    found = read_meshes(put(tmp_path, "a.xml", files.landxml()))
    assert list(found) == ["EG & co", "FG"]
    assert found["EG & co"].vertices.tolist() == [
        [478000.125, 6771000.25, 300.5],
        [478010.125, 6771000.25, 300.5],
        [478010.125, 6771010.25, 310],
        [478000.125, 6771010.25, 300.5],
    ]
    assert found["EG & co"].triangles.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert len(found["FG"].triangles) == 2


LANDXML = files.landxml()
BAD_LANDXML = {
    "doctype": (LANDXML.replace("<!-- made -->", "<!DOCTYPE LandXML>"), "has a DOCTYPE"),
    "entity": (
        LANDXML.replace("<!-- made -->", '<!DOCTYPE LandXML [<!ENTITY a "b">]>'),
        "has a DOCTYPE",
    ),
    "point": (files.landxml("p1 p2 p7"), "refers to point 'p7', which does not exist"),
    "pair": (LANDXML.replace("3.1e2", ""), "point 'p3' has no elevation"),
    "word": (LANDXML.replace("3.1e2", "x"), r"point 'p3': 'x' is not a number"),
    "nan": (LANDXML.replace("3.1e2", "nan"), r"not finite"),
    "two": (LANDXML.replace('id="p2"', 'id="p1"'), "two points with the same id"),
    "line": (files.landxml("p1 p2"), "has 2 corners, but a face needs three"),
    "none": (LANDXML.replace("Faces", "Fates"), "2 LandXML surfaces of the type 'TIN' without"),
    "cut": (LANDXML[:-30], "is truncated or not XML"),
}


@pytest.mark.parametrize(("text", "sentence"), BAD_LANDXML.values(), ids=BAD_LANDXML)
def test_landxml_that_cannot_be_read(tmp_path, text, sentence):
    with pytest.raises(MeshError, match=sentence):
        read_mesh(put(tmp_path, "a.xml", text))


def test_what_a_point_or_a_face_has_within_moves_nothing(tmp_path):
    before = read_meshes(put(tmp_path, "a.xml", LANDXML))
    inner = '<Feature code="x"><Property label="a" value="1"/>7 8 9</Feature></P>'
    for text in (LANDXML.replace("</P>", inner, 1), LANDXML.replace("</F>", "<Note>1</Note></F>")):
        assert text != LANDXML
        after = read_meshes(put(tmp_path, "a.xml", text))
        for name, mesh in before.items():
            assert np.array_equal(mesh.vertices, after[name].vertices)
            assert np.array_equal(mesh.triangles, after[name].triangles)


@pytest.mark.parametrize(
    ("units", "refused"),
    [
        ('<Metric linearUnit="meter" elevationUnit="feet"/>', "in meter and elevations in feet"),
        ('<Imperial linearUnit="foot" elevationUnit="meter"/>', "in foot and elevations in meter"),
        ('<Metric linearUnit="meter" elevationUnit="meter"/>', None),
        ('<Imperial linearUnit="USSurveyFoot" elevationUnit="feet"/>', None),
        ('<Imperial linearUnit="foot"/>', None),
    ],
)
def test_units_of_lengths_and_of_elevations(tmp_path, units, refused):
    text = LANDXML.replace("<Surfaces>", f"<Units>{units}</Units><Surfaces>", 1)
    assert text != LANDXML
    path = put(tmp_path, "a.xml", text)
    if refused is None:
        assert len(read_meshes(path)) == 2
    else:
        with pytest.raises(MeshError, match=refused):
            read_mesh(path)


def test_landxml_that_is_clipped(tmp_path):
    clip = '<Boundaries><Boundary bndType="void"/></Boundaries><Definition surfType'
    path = put(tmp_path, "a.xml", LANDXML.replace("<Definition surfType", clip, 1))
    with pytest.warns(GeodomainWarning, match="'EG & co' has boundaries that clip it"):
        read_mesh(path)


def test_omf_1_adds_origins(tmp_path):
    origin, shift = (1000.5, 2.0, 3.0), (0.25, 0.0, -1.0)
    found = read_meshes(put(tmp_path, "a.omf", files.omf1(origin, shift)))
    assert list(found) == ["ORE", "TOPO"]
    assert same(found["ORE"], VERTICES + np.array(origin) + np.array(shift))
    ground = found["TOPO"]
    assert ground.bounds.tolist() == [[1001.5, 4, 6], [1011.5, 16, 11]]
    assert ground.vertices[:, 2].tolist() == [6, 7, 8, 9, 10, 11]
    assert ground.vertices[1].tolist() == [1001.5, 9, 7]
    with pytest.raises(MeshError, match="no surface: it holds 'PointSetElement'"):
        read_mesh(put(tmp_path, "a.omf", files.omf1(kind="PointSetElement")))


def test_omf_2_of_single_precision_and_origins(tmp_path):
    import gzip
    import io
    import json
    import zipfile

    import pyarrow
    import pyarrow.parquet

    def parquet(**columns):
        target = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(columns), target)
        return target.getvalue()

    place = (VERTICES - VERTICES[0]).astype(np.float32)
    members = {
        "1.parquet": parquet(**dict(zip("xyz", place.T, strict=True))),
        "2.parquet": parquet(**dict(zip("abc", TRIANGLES.astype(np.uint32).T, strict=True))),
        "3.parquet": parquet(scalar=np.arange(6.0)),
    }
    surface = {
        "type": "Surface",
        "origin": VERTICES[0].tolist(),
        "vertices": {"filename": "1.parquet", "item_count": 6},
        "triangles": {"filename": "2.parquet", "item_count": 8},
    }
    ground = {
        "type": "GridSurface",
        "orient": {"origin": [0, 0, 1], "u": [1, 0, 0], "v": [0, 1, 0]},
        "grid": {"type": "Regular", "size": [10, 5], "count": [1, 2]},
        "heights": {"filename": "3.parquet", "item_count": 6},
    }
    composite = {"type": "Composite", "elements": [{"name": "TOPO", "geometry": ground}]}
    project = {
        "elements": [{"name": "ORE", "geometry": surface}, {"name": "C", "geometry": composite}]
    }

    def write(comment: bytes = b"Open Mining Format 2.0-beta.1") -> Path:
        with zipfile.ZipFile(tmp_path / "a.omf", "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
            archive.writestr("index.json.gz", gzip.compress(json.dumps(project).encode()))
            archive.comment = comment
        return tmp_path / "a.omf"

    with pytest.warns(GeodomainWarning, match="single precision"):
        found = read_meshes(write())
    assert same(found["ORE"], place.astype(np.float64) + VERTICES[0])
    assert found["TOPO"].bounds.tolist() == [[0, 0, 1], [10, 10, 6]]
    assert found["TOPO"].vertices[1].tolist() == [0, 5, 3]
    surface["vertices"]["item_count"] = 2**40
    with pytest.raises(MeshError, match=r"1\.parquet has 6 rows, not 1099511627776"):
        read_mesh(write())
    with pytest.raises(MeshError, match=r"early form of OMF 2"):
        read_mesh(write(b""))


GRID = "NCOLS 3\nnrows 2\nXLLCORNER 100\nyllcorner 200\ncellsize 10\nNODATA_value -1\n"


def test_an_ascii_grid(tmp_path):
    (mesh,) = read_meshes(put(tmp_path, "a.asc", GRID + "4 5 6\n1 2\n3\n")).values()
    assert mesh.vertices.tolist() == [
        [105, 205, 1], [105, 215, 4], [115, 205, 2], [115, 215, 5], [125, 205, 3], [125, 215, 6],
    ]  # fmt: skip
    low, high = [105, 205, 1], [115, 215, 5]
    for triangle in mesh.vertices[mesh.triangles[:2]].tolist():
        assert low in triangle
        assert high in triangle
    centred = GRID.replace("XLLCORNER", "xllcenter").replace("cellsize 10", "dx 10,5\ndy 2")
    path = put(tmp_path, "a.asc", centred + "4 5 6,5 1 2 3")
    assert read_mesh(path).bounds.tolist() == [[100, 201, 1], [121, 203, 6.5]]


def test_holes_of_a_grid(tmp_path):
    path = put(tmp_path, "a.asc", GRID + "-1 5 6\n1 2 nan\n")
    with pytest.raises(MeshError, match="no four neighbouring cells with data"):
        read_mesh(path)
    assert len(read_mesh(put(tmp_path, "a.asc", GRID + "-1 5 6\n1 2 3\n")).triangles) == 2
    with pytest.raises(MeshError, match="declares 2 rows of 3 values, but there are 5 numbers"):
        read_mesh(put(tmp_path, "a.asc", GRID + "5 6\n1 2 3\n"))
    huge = GRID.replace("NCOLS 3", "NCOLS 2000000000")
    with pytest.raises(MeshError, match="cut short"):
        read_mesh(put(tmp_path, "a.asc", huge + "5 6\n1 2 3\n"))


def test_a_geotiff(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    heights = np.array([[4, 5, 6], [1, 2, -3.4e38]], dtype=np.float32)
    tags = [
        (33550, "d", 3, (10.0, 10.0, 0.0), False),
        (33922, "d", 6, (0.0, 0.0, 0.0, 100.0, 220.0, 0.0), False),
        (42113, "s", 0, "-3.4e+38", False),
    ]
    point = (34735, "H", 8, (1, 1, 0, 1, 1025, 0, 1, 2), False)
    for extra, low in (([], [105, 205, 1]), ([point], [100, 210, 1])):
        tifffile.imwrite(tmp_path / "a.tif", heights, extratags=[*tags, *extra])
        mesh = read_mesh(tmp_path / "a.tif")
        assert len(mesh.triangles) == 2
        assert mesh.bounds[0].tolist() == low
    tifffile.imwrite(tmp_path / "a.tif", heights)
    with pytest.raises(MeshError, match="without a georeference"):
        read_mesh(tmp_path / "a.tif")


PLACE = [
    (33550, "d", 3, (10.0, 10.0, 0.0), False),
    (33922, "d", 6, (0.0, 0.0, 0.0, 100.0, 220.0, 0.0), False),
]
HEIGHTS = np.array([[4, 5, 6], [1, 2, 3]], dtype=np.float32)


@pytest.mark.parametrize(
    ("kind", "bands"), [("rgb", 3), ("rgb", 4), ("palette", 1), ("separated", 4)]
)
def test_a_picture_is_no_grid_of_heights(tmp_path, kind, bands):
    tifffile = pytest.importorskip("tifffile")
    data = np.arange(6 * bands, dtype=np.uint8).reshape(2, 3, bands).squeeze()
    more = {"colormap": np.zeros((3, 256), np.uint16)} if kind == "palette" else {}
    tifffile.imwrite(tmp_path / "a.tif", data, photometric=kind, extratags=PLACE, **more)
    with pytest.raises(MeshError, match=r"a picture in colours \(\w+\), not a grid of heights"):
        read_mesh(tmp_path / "a.tif")


@pytest.mark.parametrize("planes", ["separate", "contig"])
def test_band_1_of_several_in_a_geotiff(tmp_path, planes):
    tifffile = pytest.importorskip("tifffile")
    bands = np.stack([HEIGHTS, HEIGHTS + 100, HEIGHTS + 200, HEIGHTS + 300])
    data = bands if planes == "separate" else bands.transpose(1, 2, 0)
    settings = {"planarconfig": planes, "photometric": "minisblack", "extratags": PLACE}
    tifffile.imwrite(tmp_path / "a.tif", np.ascontiguousarray(data), **settings)
    assert read_mesh(tmp_path / "a.tif").bounds.tolist() == [[105, 205, 1], [125, 215, 6]]


def gdal(*items: str) -> list[tuple[object, ...]]:
    text = f"<GDALMetadata>{''.join(items)}</GDALMetadata>"
    return [*PLACE, (42112, "s", 0, text, False), (42113, "s", 0, "6", False)]


def z_of_tags(scale: float, k: float, z: float) -> list[tuple[object, ...]]:
    return [
        (33550, "d", 3, (10.0, 10.0, scale), False),
        (33922, "d", 6, (0.0, 0.0, k, 100.0, 220.0, z), False),
    ]


SCALE = '<Item name="SCALE" sample="0" role="scale">0.5</Item>'
OFFSET = '<Item name="OFFSET" sample="0" role="offset">100</Item>'
OTHER = '<Item name="SCALE" sample="1" role="scale">7</Item><Item name="a">scale</Item>'
MATRIX = (34264, "d", 16, (10.0, 0, 0, 100, 0, -10, 0, 220, 0, 0, 2.0, 50, 0, 0, 0, 1), False)


@pytest.mark.parametrize(
    ("tags", "low", "high"),
    [
        (gdal(SCALE, OFFSET), 100.5, 102.5),  # 6 is no data before it is scaled
        (gdal(OFFSET, OTHER), 101, 105),
        (gdal(OTHER), 1, 5),
        (z_of_tags(2.0, 0.0, 0.0), 2, 12),
        (z_of_tags(2.0, 1.0, 50.0), 50, 60),
        (z_of_tags(1.0, 0.0, 0.0), 1, 6),
        ([MATRIX], 52, 62),
    ],
)
def test_scales_of_heights_in_a_geotiff(tmp_path, tags, low, high):
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(tmp_path / "a.tif", HEIGHTS, extratags=tags)
    mesh = read_mesh(tmp_path / "a.tif")
    assert mesh.bounds[:, 2].tolist() == [low, high]
    assert mesh.bounds[0, :2].tolist() == [105, 205]


def test_heights_of_a_geotiff_that_are_in_doubt(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(tmp_path / "a.tif", HEIGHTS, extratags=z_of_tags(0.0, 0.0, 50.0))
    with pytest.warns(GeodomainWarning, match="a tie point at height 50 but no height scale"):
        assert read_mesh(tmp_path / "a.tif").bounds[:, 2].tolist() == [1, 6]
    both = [z_of_tags(2.0, 0.0, 0.0)[0], *gdal(SCALE)[1:]]
    tifffile.imwrite(tmp_path / "a.tif", HEIGHTS, extratags=both)
    with pytest.raises(MeshError, match=r"two different scales for heights, 0\.5 and 2"):
        read_mesh(tmp_path / "a.tif")


def unit_keys(across: int | None, up: int | None) -> tuple[object, ...]:
    keys = [(key, 0, 1, code) for key, code in ((3076, across), (4099, up)) if code]
    values = [1, 1, 0, len(keys), *(value for key in keys for value in key)]
    return (34735, "H", len(values), tuple(values), False)


def test_a_geotiff_in_degrees_or_with_a_mark_that_is_no_number(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "a.tif"
    for kind, mark in ((2, "-9999"), (1, "none"), (1, "nan"), (1, "-9999")):
        model = (34735, "H", 8, (1, 1, 0, 1, 1024, 0, 1, kind), False)
        tags = [*PLACE, model, (42113, "s", 0, mark, False)]
        tifffile.imwrite(path, HEIGHTS, extratags=tags)
        with contextlib.ExitStack() as warned:
            if kind == 2:
                warned.enter_context(pytest.warns(GeodomainWarning, match="x and y in degrees"))
            if mark == "none":
                said = "GDAL_NODATA 'none', which is not a number"
                warned.enter_context(pytest.warns(GeodomainWarning, match=said))
            assert read_mesh(path).bounds[:, 2].tolist() == [1, 6]


@pytest.mark.parametrize(
    ("across", "up", "factor"),
    [
        (9001, 9002, 0.3048),
        (9003, 9001, 3937 / 1200),
        (9001, 9001, None),
        (9002, 9003, None),  # one foot, as in LandXML
        (9001, None, None),
        (None, 9001, None),
    ],
)
def test_heights_of_a_geotiff_in_another_unit(tmp_path, recwarn, across, up, factor):
    tifffile = pytest.importorskip("tifffile")
    tags = [*PLACE, unit_keys(across, up)]
    tifffile.imwrite(tmp_path / "a.tif", HEIGHTS, extratags=tags)
    bounds = read_mesh(tmp_path / "a.tif").bounds
    np.testing.assert_allclose(bounds[:, 2], np.array([1, 6]) * (factor or 1), rtol=1e-15)
    assert bounds[:, :2].tolist() == [[105, 205], [125, 215]]
    messages = [str(one.message) for one in recwarn]
    assert ["heights are multiplied by" in message for message in messages] == [True] * bool(factor)


@pytest.mark.parametrize(("across", "up"), [(9001, 9014), (None, 9002)])
def test_heights_of_a_geotiff_in_an_unknown_unit(tmp_path, across, up):
    tifffile = pytest.importorskip("tifffile")
    tags = [*PLACE, unit_keys(across, up)]
    tifffile.imwrite(tmp_path / "a.tif", HEIGHTS, extratags=tags)
    with pytest.raises(MeshError, match="export x, y and heights in one unit"):
        read_mesh(tmp_path / "a.tif")


def test_a_geotiff_placed_by_several_tie_points(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    first, even, bent = (0, 0, 0, 100, 220, 0), (3, 2, 0, 130, 200, 0), (3, 2, 0, 131, 200, 0)
    ties = {}
    for name, other in (("even", even), ("bent", bent)):
        ties[name] = (33922, "d", 12, tuple(map(float, first + other)), False)
    for tags in ([ties["bent"]], [ties["even"]], [PLACE[0], ties["bent"]]):
        tifffile.imwrite(tmp_path / "a.tif", HEIGHTS, extratags=tags)
        with pytest.raises(MeshError, match=r"a\.tif is placed by 2 tie points, which may distort"):
            read_mesh(tmp_path / "a.tif")
    tifffile.imwrite(tmp_path / "a.tif", HEIGHTS, extratags=[PLACE[0], ties["even"]])
    assert read_mesh(tmp_path / "a.tif").bounds[0].tolist() == [105, 205, 1]


@pytest.mark.parametrize("close", ["-9999.001", "-9998.9999999", "-9999.0000000001"])
def test_cells_within_rounding_of_the_mark_are_told(tmp_path, close):
    grid = GRID.replace("NODATA_value -1", "NODATA_value -9999")
    path = put(tmp_path, "a.asc", f"{grid}{close} {close} -9999\n1 2 3\n")
    with pytest.warns(
        GeodomainWarning,
        match="2 cells of 6 with a value almost equal to the no-data value .*used as heights",
    ):
        assert len(read_mesh(path).triangles) == 2


@pytest.mark.parametrize(("mark", "near"), [("-9999", "-9999.02"), ("0", "1e-40"), ("5", "5.00")])
def test_cells_beyond_rounding_of_the_mark_are_heights(tmp_path, mark, near):
    grid = GRID.replace("NODATA_value -1", f"NODATA_value {mark}")
    read_mesh(put(tmp_path, "a.asc", f"{grid}{near} 10000 6\n1 2 3\n"))  # no warning


@pytest.mark.parametrize("mark", ["-3.40282e+38", "-3.4028234663852886e+38", "-3.403e38", "1e31"])
def test_a_mark_in_fewer_digits_is_no_height(tmp_path, mark):
    values = "-3.4028235e+38 5 6\n1 2 3\n".replace("-", "" if mark[0] != "-" else "-")
    path = put(tmp_path, "a.asc", GRID.replace("NODATA_value -1", f"NODATA_value {mark}") + values)
    assert len(read_mesh(path).triangles) == 2


def test_gltf_has_y_up(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    solid = box((1, 2, 3), (4, 6, 8))
    scene = trimesh.Scene()
    scene.add_geometry(
        trimesh.Trimesh(solid.vertices, solid.triangles, process=False),
        geom_name="ORE",
        transform=trimesh.transformations.translation_matrix((100, 0, 0)),
    )
    (tmp_path / "a.glb").write_bytes(scene.export(file_type="glb"))
    (item,) = read_meshes(tmp_path / "a.glb").items()
    assert item[0] == "ORE"
    assert item[1].bounds.tolist() == [[101, -8, 2], [104, -3, 6]]
    assert item[1].is_closed


@pytest.mark.parametrize("name", ["a.tif", "a.omf"])
def test_extras_are_named(tmp_path, monkeypatch, name):
    import sys

    contents = {"a.tif": b"II*\0" + b"\0" * 20}
    write_mesh(cube(), tmp_path / "b.omf")
    contents["a.omf"] = (tmp_path / "b.omf").read_bytes()
    for module in ("tifffile", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MeshError, match=r"pip install 'geodomain\[(tifffile|parquet)\]'"):
        read_mesh(put(tmp_path, name, contents[name]))


WRITTEN = [".dxf", ".dtm", ".str", ".msh", ".ts", ".omf", ".ply", ".obj"]


@pytest.mark.parametrize("extension", WRITTEN)
def test_round_trips(tmp_path, extension):
    mesh = Mesh(VERTICES * (1 + 1e-9) / 3, TRIANGLES)
    write_mesh(mesh, tmp_path / f"a{extension}")
    (item,) = read_meshes(tmp_path / f"a{extension}").items()
    assert item[0] == "a"
    assert same(item[1], mesh.vertices)
    if extension != ".dxf":  # it has no vertices, only corners
        assert np.array_equal(item[1].vertices, mesh.vertices)
        assert np.array_equal(item[1].triangles, mesh.triangles)


@pytest.mark.parametrize("extension", [".dxf", ".ts", ".omf", ".dtm"])
def test_several_solids_come_back(tmp_path, extension):
    solids = {"ORE HG": cube(), "Ä": Mesh(VERTICES, TRIANGLES)}
    with contextlib.ExitStack() as held:
        if extension == ".dtm":
            told = r"a\.dtm can store only numbers of solids, not names: ORE HG is 1\.1, Ä is 2\.1"
            held.enter_context(pytest.warns(GeodomainWarning, match=told))
        write_mesh(solids, tmp_path / f"a{extension}")
    found = read_meshes(tmp_path / f"a{extension}")
    assert list(found) == (["1.1", "2.1"] if extension == ".dtm" else list(solids))
    for mesh, again in zip(solids.values(), found.values(), strict=True):
        assert same(again, mesh.vertices, mesh.triangles)
    assert {path.suffix for path in tmp_path.iterdir()} <= {extension, ".str"}


NAMES = [
    "two  blanks",
    "a {b}",
    'say "it"',
    '"quoted"',
    "it's",
    "a,b;c=d*",
    "a:b",
    "#1",
    "END",
    "Ã©",
]
NAMES += ["\\U+0041", "日本", "⛏ 🪨", "back\\", "{", "x\u00a0y", "0", "nan", "name: x", "ore"]


@pytest.mark.parametrize("extension", [".dxf", ".ts", ".omf"])
def test_every_name_survives_or_is_said(tmp_path, extension):
    path, one = tmp_path / f"a{extension}", cube(1.0)
    changed = {".ts": {"{": "("}}.get(extension, {})
    told = (
        pytest.warns(GeodomainWarning, match=r"'\{' becomes '\('")
        if changed
        else contextlib.nullcontext()
    )
    with told:
        write_mesh(dict.fromkeys(NAMES, one), path)
    assert list(read_meshes(path)) == [changed.get(name, name) for name in NAMES]
    with pytest.warns(
        GeodomainWarning, match=r"cannot store some names unchanged: ' x ' becomes 'x', '' "
    ):
        write_mesh({" x ": one, "": one, "a\nb\tc": one}, path, overwrite=True)
    assert list(read_meshes(path)) == ["x", "a", "a b c"]
    before = path.read_bytes()
    with pytest.raises(
        MeshError, match="would have two solids named 'x', the second for the solid 'x '"
    ):
        write_mesh({"x": one, "x ": one}, path, overwrite=True)
    assert path.read_bytes() == before


def test_formats_without_names_get_all_as_one(tmp_path):
    write_mesh({"A": cube(), "B": box((20, 0, 0), (30, 10, 10))}, tmp_path / "a.ply")
    assert len(read_mesh(tmp_path / "a.ply").triangles) == 24


@pytest.mark.parametrize("mark", [-9999.0, -99999.0, -32768.0, 1e20])
@pytest.mark.parametrize("header", ["", "NODATA_value -1\n"])
def test_a_usual_mark_that_nobody_declares_is_told(mark, header, tmp_path) -> None:
    heights = 100.0 + np.arange(20.0).reshape(4, 5)
    heights[1, 2:4] = mark
    rows = "\n".join(" ".join(map(str, row)) for row in heights.tolist())
    head = "ncols 5\nnrows 4\nxllcorner 0\nyllcorner 0\ncellsize 10\n"
    (tmp_path / "a.asc").write_text(head + header + rows)
    if mark == -9999 and not header:  # what an ASCII grid has where it names no mark
        read_mesh(tmp_path / "a.asc")
        return
    with pytest.warns(
        GeodomainWarning, match=f"the height {mark:g} in 2 of 20 cells".replace("+", ".")
    ):
        read_mesh(tmp_path / "a.asc")
    tifffile = pytest.importorskip("tifffile")
    kind = np.int32 if abs(mark) < 1e9 else np.float32
    tifffile.imwrite(tmp_path / "a.tif", heights.astype(kind), extratags=PLACE)
    with pytest.warns(GeodomainWarning, match="far from all other heights"):
        read_mesh(tmp_path / "a.tif")


@pytest.mark.parametrize("sea", [-5000.0, -9990.0])
def test_a_mark_among_heights_is_a_height(sea: float, tmp_path: Path) -> None:
    head = "ncols 3\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 10\nNODATA_value -1\n"
    (tmp_path / "a.asc").write_text(f"{head}-9999 {sea} {sea}\n{sea - 9} {sea} 1500\n")
    read_mesh(tmp_path / "a.asc")


def test_too_many_numbers_are_not_cut_short(tmp_path: Path) -> None:
    head = "ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 10\n"
    (tmp_path / "a.asc").write_text(head + "1 2 3 4 5")
    with pytest.raises(MeshError, match="declares 2 rows of 2 values, but has 5 numbers"):
        read_mesh(tmp_path / "a.asc")
