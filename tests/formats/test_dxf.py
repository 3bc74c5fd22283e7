"""DXF drawings: both spellings of a triangle, meshes of polylines, text and binary alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dxf_files import (
    TRIANGLE,
    Groups,
    as_binary,
    as_text,
    block,
    drawing,
    entity,
    insert,
    mesh_entity,
    with_blocks,
)
from wireframes import box, cube

from geodomain import GeodomainWarning, Mesh, MeshError, read_mesh, read_meshes, write_mesh

A, B, C, D = (478000.1, 6771000.2, 300.3), (478010.1, 6771000.2, 300.3), (1e-3, 7, 8), (1, 2, 1 / 3)


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


# --- Blocks within blocks ---


def turned(angle: float, axis: int) -> np.ndarray:
    """Make a matrix of 4 x 4 that turns about an axis."""
    made = np.eye(4)
    i, j = [k for k in range(3) if k != axis]
    sign = -1 if axis == 1 else 1
    made[i, i] = made[j, j] = np.cos(angle)
    made[j, i], made[i, j] = sign * np.sin(angle), -sign * np.sin(angle)
    return made


def own_axes(normal: Sequence[float]) -> np.ndarray:
    """Make the matrix of DXF's arbitrary axis algorithm, as its reference words it."""
    z = np.array(normal) / np.linalg.norm(normal)
    x = np.cross([0, 1, 0] if max(abs(z[:2])) < 1 / 64 else [0, 0, 1], z)
    x /= np.linalg.norm(x)
    made = np.eye(4)
    made[:3, :3] = np.stack([x, np.cross(z, x), z], axis=1)
    return made


def shifted(place: Sequence[float]) -> np.ndarray:
    made = np.eye(4)
    made[:3, 3] = place
    return made


def placements(groups: dict[str, Any], base: Sequence[float]) -> list[np.ndarray]:
    """Make a matrix of 4 x 4 for each copy that an INSERT makes."""
    columns, rows = groups.get("count", (1, 1))
    across, up = groups.get("step", (0, 0))
    return [
        own_axes(groups.get("normal", (0, 0, 1)))
        @ shifted(groups["place"])
        @ turned(np.radians(groups.get("angle", 0.0)), 2)
        @ shifted((i * across, j * up, 0))
        @ np.diag([*groups.get("scale", (1, 1, 1)), 1.0])
        @ shifted([-value for value in base])
        for j in range(rows)
        for i in range(columns)
    ]


def random_insert(rng: np.random.Generator) -> dict[str, Any]:
    made: dict[str, Any] = {"place": rng.uniform(-50, 50, 3).tolist()}
    if rng.random() < 0.8:
        made["scale"] = (rng.uniform(0.3, 3, 3) * rng.choice([-1, 1], 3)).tolist()
    if rng.random() < 0.8:
        made["angle"] = float(rng.choice([rng.uniform(-400, 400), 90.0, -90.0, 180.0]))
    if rng.random() < 0.4:
        made["normal"] = rng.normal(size=3).tolist() if rng.random() < 0.5 else (0, 0.01, -1.0)
    if rng.random() < 0.3:
        made["count"], made["step"] = (2, 3), rng.uniform(-9, 9, 2).tolist()
    return made


def sorted_faces(faces: np.ndarray) -> np.ndarray:
    """Sort triangles by their middles, and the corners of each by their x."""
    by_x = np.argsort(faces[:, :, 0], axis=1)
    faces = np.take_along_axis(faces, by_x[:, :, None], axis=1)
    return faces[np.lexsort(np.round(faces.mean(axis=1), 7).T)]


FACE_OF_A_BLOCK = np.array([[1.0, 2, 3], [5, 2.5, 3.25], [4, 7, 9]])


@pytest.mark.full
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_blocks_in_blocks_are_placed_as_matrices_say(tmp_path, levels):
    rng = np.random.default_rng(levels)
    for _ in range(120):
        bases = rng.uniform(-5, 5, (levels, 3)).tolist()
        inserts = [random_insert(rng) for _ in range(levels)]
        blocks = block("B0", entity("3DFACE", "0", *FACE_OF_A_BLOCK.tolist()), base=bases[0])
        for level in range(1, levels):
            inner = insert(f"B{level - 1}", **inserts[level - 1])
            blocks += block(f"B{level}", inner, base=bases[level])
        outer = insert(f"b{levels - 1}", "IN", **inserts[-1])  # names are alike in any case
        ((name, mesh),) = read(tmp_path, as_text(with_blocks(blocks, outer))).items()
        matrices = [np.eye(4)]
        for groups, base in zip(inserts[::-1], bases[::-1], strict=True):
            matrices = [m @ one for m in matrices for one in placements(groups, base)]
        corners = np.column_stack([FACE_OF_A_BLOCK, np.ones(3)])
        expected = np.array([(corners @ matrix.T)[:, :3] for matrix in matrices])
        corners = mesh.vertices[mesh.triangles]
        assert (name, corners.shape) == ("IN", expected.shape)
        near = np.abs(sorted_faces(corners) - sorted_faces(expected)).max()
        assert near < 1e-10 * (1 + np.abs(expected).max())


def exploded(entities: Iterable[Any], layer: str = "0") -> Iterator[list[Any]]:
    """Yield the corners of what INSERTs place, as ezdxf explodes them."""
    for one in entities:
        if one.dxftype() == "INSERT":
            yield from exploded(one.virtual_entities())
        else:
            yield [tuple(one.dxf.get(f"vtx{i}")) for i in range(3)]


@pytest.mark.full
def test_one_level_of_blocks_is_as_ezdxf_explodes_it(tmp_path):
    # Not two: where scales differ, it makes of an INSERT in an INSERT what has no skew.
    ezdxf = pytest.importorskip("ezdxf")
    rng = np.random.default_rng(7)
    for _ in range(40):
        document = ezdxf.new("R2010")
        made = document.blocks.new("B", base_point=rng.uniform(-5, 5, 3).tolist())
        made.add_3dface(FACE_OF_A_BLOCK.tolist())
        scale = dict(zip(("xscale", "yscale", "zscale"), rng.uniform(0.3, 3, 3), strict=True))
        normal = rng.normal(size=3).tolist()
        more = {"rotation": float(rng.uniform(0, 360)), "extrusion": normal, **scale}
        document.modelspace().add_blockref("B", rng.uniform(-9, 9, 3).tolist(), dxfattribs=more)
        document.saveas(tmp_path / "a.dxf")
        (expected,) = exploded(document.modelspace())
        (mesh,) = read_meshes(tmp_path / "a.dxf").values()
        assert np.allclose(mesh.vertices[mesh.triangles[0]], expected, rtol=0, atol=1e-12)


OWN = entity("3DFACE", "OWN", (0, 0, 5), (1, 0, 5), (0, 1, 5))


def test_layer_0_of_a_block_is_the_layer_of_what_places_it(tmp_path, form):
    blocks = block("INNER", TRIANGLE, OWN) + block(
        "OUTER", insert("INNER"), insert("INNER", "MIDDLE", (9.0, 0.0, 0.0))
    )
    found = read(tmp_path, form(with_blocks(blocks, insert("OUTER", "A"), insert("OUTER"))))
    counts = {name: len(mesh.triangles) for name, mesh in found.items()}
    assert counts == {"A": 1, "0": 1, "MIDDLE": 2, "OWN": 4}


def test_polyfaces_and_mirrored_solids_of_blocks(tmp_path):
    mesh = cube(2.0)
    points = [entity("VERTEX", "0", place, _70=192) for place in mesh.vertices.tolist()]
    records = [
        entity("VERTEX", "0", (0, 0, 0), _70=128, _71=a + 1, _72=b + 1, _73=c + 1)
        for a, b, c in mesh.triangles.tolist()
    ]
    head, end = entity("POLYLINE", "0", (0, 0, 0), _70=64), entity("SEQEND", "0")
    blocks = block("SOLID", head, *points, *records, end)
    copies = {"count": (3, 2), "step": (10.0, 10.0), "scale": (1.0, -1.0, 2.0)}
    found = read(tmp_path, as_text(with_blocks(blocks, insert("SOLID", "S", **copies))))["S"]
    assert found.is_closed and found.is_balanced
    assert found.volume == 6 * 16 and len(found.vertices) == 6 * 8
    assert found.bounds.tolist() == [[0, -2, 0], [22, 10, 4]]


def test_copies_at_no_distance_are_one(tmp_path):
    placed = insert("B", "S", count=(4, 5), step=(0.0, 0.0))
    (mesh,) = read(tmp_path, as_text(with_blocks(block("B", TRIANGLE), placed))).values()
    assert len(mesh.triangles) == 1


def test_words_that_name_sections_may_occur_anywhere(tmp_path):
    text: Groups = [(0, "TEXT"), (8, "BLOCKS"), (1, "ENTITIES")]
    data = as_text(with_blocks(block("ENTITIES", text, TRIANGLE), insert("ENTITIES", "A")))
    comment = b"999\nthe BLOCKS and ENTITIES of nothing\n"
    (item,) = read(tmp_path, comment + data).items()
    assert (item[0], len(item[1].triangles)) == ("A", 1)


def said(folder: Path, data: bytes) -> tuple[dict[str, Mesh], str]:
    with pytest.warns(GeodomainWarning) as caught:
        found = read(folder, data)
    return found, " | ".join(str(one.message) for one in caught)


def test_paper_space_is_no_model(tmp_path, form):
    paper = (67, 1)
    head = [*entity("POLYLINE", "P", (0, 0, 0), _70=16, _71=2, _72=2), paper]
    sheet = [
        *[*head, *(g for i in range(4) for g in entity("VERTEX", "P", (i, i * i, 0)))],
        *entity("SEQEND", "P"),
    ]
    blocks = block("B", TRIANGLE)
    groups = with_blocks(
        blocks, [*TRIANGLE, paper], OWN, [*OWN, (67, 0)], sheet, [*insert("B"), paper]
    )
    found, message = said(tmp_path, form(groups))
    assert {name: len(mesh.triangles) for name, mesh in found.items()} == {"OWN": 2}
    assert (
        "2 faces and meshes, 1 INSERT of the block 'B' in paper space, which is not part of the"
        " model and is not read"
    ) in message
    with pytest.raises(MeshError, match=r"in model space: .* has 1 face or mesh in paper space"):
        read(tmp_path, form(drawing([*TRIANGLE, paper])))


BODY: Groups = [(0, "3DSOLID"), (8, "0"), (1, "opaque"), (2, "{id}")]


@pytest.mark.parametrize(
    ("blocks", "sheet", "expected"),
    [
        pytest.param([], BODY, "1 3DSOLID", id="a body"),
        pytest.param(block("B", BODY), insert("B"), "1 INSERT of the block 'B'", id="in a block"),
        pytest.param(
            block("B", TRIANGLE) + block("C", insert("B")), insert("C"), "block 'C'", id="nested"
        ),
        pytest.param(block("X", flags=4), insert("X"), "block 'X'", id="an xref"),
        pytest.param([], [(0, "LINE"), (8, "0")], None, id="a line"),
        pytest.param(block("B", [(0, "TEXT")]), insert("B"), None, id="a block of text"),
    ],
)
def test_what_is_in_paper_space_is_said(tmp_path, blocks, sheet, expected, recwarn):
    groups = with_blocks(blocks, OWN, [*sheet, (67, 1)])
    assert list(read(tmp_path, as_text(groups))) == ["OWN"]
    said = [str(one.message) for one in recwarn]
    if expected is None:
        assert not said
    else:
        (message,) = said
        assert f"{expected} in paper space" in message


def test_sheets_that_are_not_active_are_paper_space(tmp_path):
    groups = with_blocks(block("*Paper_Space0", TRIANGLE, BODY), OWN)
    _, message = said(tmp_path, as_text(groups))
    assert "has 1 face or mesh, 1 3DSOLID in paper space" in message


def test_entities_that_may_be_surfaces_are_said(tmp_path, form):
    """An unknown type too; lines and texts only where a thickness makes them surfaces."""
    flat = [[(0, kind), (8, "0")] for kind in ("LINE", "MTEXT", "HATCH", "VIEWPORT")]
    thick = [(0, "LWPOLYLINE"), (8, "0"), (39, 2.5)]
    line = [*entity("POLYLINE", "0", (0, 0, 0)), (39, 2.5)]
    polyline = [*line, *entity("VERTEX", "0", A), *entity("SEQEND", "0")]
    filled = [(0, "SOLID"), (8, "0")]
    strange = [(0, "MASSELEM"), (8, "0")]
    read(tmp_path, form(drawing(OWN, *flat, [*flat[0], (39, 0.0)])))  # no warning
    entities = (OWN, *flat, thick, polyline, filled, strange, strange)
    _, message = said(tmp_path, form(drawing(*entities)))
    assert message == (
        "a.dxf has surfaces or solids that are not read (1 LWPOLYLINE with a thickness, 1 SOLID,"
        " 2 MASSELEM, 1 POLYLINE with a thickness): export them as 3DFACE"
    )


def test_a_drawing_that_only_places_another_names_it(tmp_path, form):
    with pytest.raises(MeshError) as caught:
        read(tmp_path, form(with_blocks(block("SITE", flags=4), insert("SITE"))))
    assert str(caught.value) == (
        "a.dxf has no faces (3DFACE, polyface mesh, polygon mesh, MESH) in model space: it contains"
        " 1 INSERT; it places other drawings (xref 'SITE'), which are not read: bind them before"
        " you export, or read the referenced files"
    )


def test_what_is_not_read_is_said(tmp_path):
    body = BODY
    blocks = block("SITE", flags=4) + block("B", TRIANGLE, body) + block("UNUSED", body, body)
    placed = [insert("SITE"), insert("B", "B"), insert("GONE")]
    found, message = said(tmp_path, as_text(with_blocks(blocks, body, *placed)))
    assert list(found) == ["B"]
    assert "a.dxf has surfaces or solids that are not read (2 3DSOLID): export them" in message
    assert "places other drawings (xref 'SITE'), which are not read: bind them" in message
    assert "places blocks that are not in the file: 'GONE'" in message


def test_hidden_faces_are_read_and_said(tmp_path, form):
    tables: Groups = [(0, "SECTION"), (2, "TABLES"), (0, "TABLE"), (2, "LAYER"), (70, 3)]
    for name, flags, colour in (("OWN", 1, 7), ("Off", 0, -3), ("0", 4, 7), ("UNUSED", 1, 7)):
        tables += [(0, "LAYER"), (2, name), (70, flags), (62, colour)]
    tables += [(0, "ENDTAB"), (0, "ENDSEC")]
    off = entity("3DFACE", "OFF", A, B, C)
    found, message = said(tmp_path, form([*tables, *drawing(OWN, off, [*TRIANGLE, (60, 1)])]))
    assert [len(mesh.triangles) for mesh in found.values()] == [1, 1, 1]
    assert "faces on layers that are frozen or off were read as well: 'OWN' and 'OFF'" in message
    assert "1 face, mesh or placed block that is marked invisible was read as well" in message


def test_blocks_that_are_hidden_where_they_are_placed_are_said(tmp_path, form):
    """A frozen layer hides the whole of a block; one that is off hides what is on layer 0."""
    tables: Groups = [(0, "SECTION"), (2, "TABLES"), (0, "TABLE"), (2, "LAYER"), (70, 3)]
    for name, flags, colour in (("Frozen", 1, 7), ("Deep", 1, 7), ("OFF", 0, -3), ("OWN", 0, 7)):
        tables += [(0, "LAYER"), (2, name), (70, flags), (62, colour)]
    tables += [(0, "ENDTAB"), (0, "ENDSEC")]
    nested = block("B", OWN) + block("N", insert("B", "DEEP")) + block("EMPTY")
    frozen, off = insert("B", "FROZEN"), insert("B", "OFF")
    empty = insert("EMPTY", "FROZEN")
    found, message = said(tmp_path, form([*tables, *with_blocks(nested, frozen, insert("N"))]))
    assert list(found) == ["OWN"] and len(found["OWN"].triangles) == 2
    assert (
        "blocks that are placed on frozen layers were read as well: 'FROZEN' and 'DEEP'" in message
    )
    assert "faces on layers" not in message
    read(tmp_path, form([*tables, *with_blocks(nested, off, empty)]))  # no warning
    _, message = said(tmp_path, form(with_blocks(nested, [*off, (60, 1)], OWN)))
    assert (
        "a.dxf: 1 face, mesh or placed block that is marked invisible was read as well" in message
    )


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (r"\M+18D7A\M+191CC", "鉱体"),
        (r"\M+2BC73", "廣"),
        (r"\M+3B0A1x", "가x"),
        (r"\M+5BFF3-\U+00C5", "矿-Å"),
        (r"\M+18100", r"\M+18100"),
        (r"\M+6BFF3", r"\M+6BFF3"),
    ],
)
def test_escapes_of_code_pages_in_names(tmp_path, form, written, name):
    groups = drawing(entity("3DFACE", written, A, B, C))
    assert list(read(tmp_path, form(groups))) == [name]


@pytest.mark.parametrize("name", [r"a\M+1827A", r"b\U+0041", "\\m+3B0A1", "\\M", "鉱体"])
def test_names_that_look_like_escapes_come_back(tmp_path, name):
    write_mesh({name: cube()}, tmp_path / "b.dxf")
    assert list(read_meshes(tmp_path / "b.dxf")) == [name]


def test_a_drawing_that_would_fill_the_memory_is_refused_at_once(tmp_path, monkeypatch):
    array = insert("B", count=(30000, 30000), step=(1.0, 1.0))
    bomb = as_text(with_blocks(block("B", TRIANGLE), array))
    levels = block("L0", TRIANGLE)
    for level in range(1, 11):
        levels += block(f"L{level}", *[insert(f"L{level - 1}", place=(1.0, 0.0, 0.0))] * 10)
    for data, count in (
        (bomb, "900,000,000"),
        (bomb.replace(b"30000", b"2000"), "4,000,000"),
        (as_text(with_blocks(levels, insert("L10"))), "10,000,000,000"),
    ):
        with pytest.raises(MeshError, match=f"have {count} faces, has .* GEODOMAIN_MEMORY="):
            read(tmp_path, data)
    # The work is what is placed, not how it is nested; blocks without faces are not placed.
    quick = with_blocks(block("B") + block("T", TRIANGLE), array, insert("T"))
    assert len(read(tmp_path, as_text(quick))["0"].triangles) == 1
    small = as_text(with_blocks(block("B", TRIANGLE), insert("B", count=(9, 9), step=(1.0, 1.0))))
    assert len(read(tmp_path, small)["0"].triangles) == 81
    monkeypatch.setenv("GEODOMAIN_MEMORY", "1kB")
    with pytest.raises(MeshError, match="have 81 faces"):
        read(tmp_path, small)


def test_blocks_by_the_thousand_in_each_other(tmp_path):
    deep = block("L0", TRIANGLE)
    for level in range(1, 1000):
        deep += block(f"L{level}", insert(f"L{level - 1}", place=(1.0, 0.0, 0.0)))
    (mesh,) = read(tmp_path, as_text(with_blocks(deep, insert("L999")))).values()
    assert mesh.bounds.tolist() == [[999, 0, 0], [1000, 1, 0]]


@pytest.mark.parametrize(
    ("blocks", "sentence"),
    [
        (block("A", insert("B")) + block("B", insert("a")), "a block 'a' that contains itself"),
        (block("A", TRIANGLE) + block("a", OWN), "the block 'a', but has 2 blocks of that name"),
        (block("A", entity("3DFACE", "0", A, B)), "3DFACE 1 of a.dxf lacks a coordinate"),
    ],
)
def test_blocks_that_cannot_be_placed(tmp_path, blocks, sentence):
    with pytest.raises(MeshError, match=sentence):
        read(tmp_path, as_text(with_blocks(blocks, insert("A"), OWN)))
    assert list(read(tmp_path, as_text(with_blocks(blocks, OWN)))) == ["OWN"]


def test_a_record_with_a_gap_and_one_beyond_its_own_points(tmp_path):
    points = [entity("VERTEX", "0", place, _70=192) for place in (A, B, C)]
    head, end = entity("POLYLINE", "0", (0, 0, 0), _70=64), entity("SEQEND", "0")
    gap = entity("VERTEX", "0", (0, 0, 0), _70=128, _71=1, _72=2, _73=0, _74=3)
    (mesh,) = read(
        tmp_path, as_text(drawing([*head, *points[0], *points[1], *points[2], *gap, *end]))
    ).values()
    assert mesh.triangles.tolist() == [[0, 1, 2]]
    beyond = entity("VERTEX", "0", (0, 0, 0), _70=128, _71=1, _72=2, _73=4)
    two = [head, *points, beyond, end, head, *points, gap, end]
    with pytest.raises(MeshError, match="refers to vertex 3 counted from 0"):
        read(tmp_path, as_text(drawing(*two)))


@pytest.mark.parametrize(
    ("page", "name"),
    [("ANSI_1251", "Руда"), ("ANSI_932", "鉱体"), ("ANSI_1252", "Å"), ("dos850", "Ö")],
)
def test_layers_are_in_the_code_page_of_the_header(tmp_path, page, name):
    header = [(0, "SECTION"), (2, "HEADER"), (9, "$DWGCODEPAGE"), (3, page), (0, "ENDSEC")]
    coding = "cp" + "".join(filter(str.isdigit, page))
    data = as_text([*header, *drawing(entity("3DFACE", "NAME", A, B, C))])
    assert list(read(tmp_path, data.replace(b"NAME", name.encode(coding)))) == [name]
    binary = as_binary([*header, *drawing(entity("3DFACE", "NAME", A, B, C))])
    assert list(read(tmp_path, binary.replace(b"NAME", name.encode(coding)))) == [name]


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


@pytest.mark.full
def test_mesh_and_insert_of_a_drawing_of_ezdxf(tmp_path):
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


FACE = as_text(drawing(entity("3DFACE", "0", A, B, C, C)))
BAD = {
    "strings": (
        as_text(drawing(entity("LINE", "0", A), entity("TEXT", "0"))),
        "contains 1 LINE, 1 TEXT; strings",
    ),
    "nothing": (as_text(drawing()), "it contains no entities"),
    "cut": (FACE[:-20], "cut short: the end of its section ENTITIES is missing"),
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
        "30000 x 30000 vertices, of which it stores 0",
    ),
    "smooth": (
        as_text(
            drawing(entity("POLYLINE", "0", A, _70=16, _71=2, _72=2, _75=6), entity("SEQEND", "0"))
        ),
        "smoothed polygon mesh",
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


def test_a_mesh_of_faces_of_several_sizes(tmp_path):
    words = ["478000.12345678901234567", "0", "1e-5", "1", "0", "0", "1", "1", "0", "0", "1", "0"]
    faces = [3, 0, 1, 2, 4, 0, 1, 2, 3]
    (mesh,) = read(tmp_path, as_text(drawing(mesh_entity(words, faces)))).values()
    assert mesh.vertices.ravel().tolist() == [float(word) for word in words]
    assert len(mesh.triangles) == 3
    two = drawing(mesh_entity(words, faces), mesh_entity(["9"] * 9 + words[3:], [3, 3, 4, 5]))
    (mesh,) = read(tmp_path, as_text(two)).values()
    assert mesh.vertices[mesh.triangles[-1]].tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 0]]
    for wrong, sentence in (
        ([3, 0, 1], "faces is truncated"),
        ([3, 0, 1, 9], "refers to vertex 9"),
    ):
        with pytest.raises(MeshError, match=sentence):
            read(tmp_path, as_text(drawing(mesh_entity(words, wrong), mesh_entity(words, faces))))
    swapped = as_text(drawing(mesh_entity(words, faces))).replace(b" 20\n", b" 10\n", 1)
    with pytest.raises(MeshError, match="out of order"):
        read(tmp_path, swapped)


@pytest.mark.full
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
