"""Numbers of OBJ, OFF, STL and PLY in text are those of float(), and faults have a place."""

from __future__ import annotations

import random
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesh_files import read

from geodomain import MeshError
from geodomain.formats import obj, off, ply, stl
from geodomain.formats.mesh_text import merge_equal

COUNT = 60_000  # vertices, so that there are several pieces of text


def half_way(chance: random.Random) -> str:
    """Return a number next to the middle of two doubles, or the middle itself."""
    low = chance.random() * 10.0 ** chance.randrange(-30, 30)
    with localcontext() as context:
        context.prec = 400
        middle = (Decimal(low) + Decimal(float(np.nextafter(low, np.inf)))) / 2
        return format(middle, "f") + chance.choice(["", "0", "1"])


def numbers(count: int, seed: int) -> list[str]:
    """Return numbers as programs print them, and as none does."""
    chance = random.Random(seed)
    ways = [
        lambda: f"{chance.uniform(4e5, 8e6):.3f}",
        lambda: repr(chance.uniform(-1e7, 1e7)),
        lambda: f"{chance.uniform(-1e7, 1e7):.17e}",
        lambda: format(chance.uniform(-1, 1) * 10.0 ** chance.randrange(-25, 25), ".9e"),
        lambda: f"{chance.getrandbits(48)}{chance.choice(['e+0', 'E-1', '.e-2'])}7",
        lambda: repr(chance.random() * 10.0 ** chance.randrange(-300, 300)),
        lambda: chance.choice(["0", "-0.0", "+1", ".5", "5.", "1e5", "1E-7", "-.25e+3", "007"]),
        lambda: half_way(chance),
        lambda: f"{chance.getrandbits(200)}.{chance.getrandbits(90)}",
    ]
    return [chance.choice(ways)() for _ in range(count)]


@pytest.mark.full
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_obj(end: str, seed: int) -> None:
    words = numbers(3 * COUNT, seed)
    places = [words[i : i + 3] for i in range(0, len(words), 3)]
    chance = random.Random(seed)
    lines, faces, sizes = [], [], []
    for i, row in enumerate(places, 1):
        lines.append("v " + chance.choice([" ", "\t", "  "]).join(row))
        if i % 4 == 0:
            face = [chance.randrange(1, COUNT + 1) for _ in range(chance.choice([3, 3, 3, 4, 5]))]
            back = [k - i - 1 if k <= i and chance.random() < 0.3 else k for k in face]
            corners = [f"{k}{chance.choice(['', '', '/7', '//7', '/1/2'])}" for k in back]
            lines += ["vn 0 0 1", "# v 1 2 3", "f " + " ".join(corners)]
            faces += [k - 1 for k in face]
            sizes.append(len(face))
    found = obj.read(end.join(lines).encode(), Path("a.obj"))
    assert np.array_equal(found.vertices, np.array([[float(w) for w in row] for row in places]))
    assert found.corners.tolist() == faces
    assert found.sizes.tolist() == sizes


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", " \n\n"])
@pytest.mark.parametrize("extra", ["", " 0.5 x 1"])
def test_off(extra: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of several pieces of text; none of its lines is read by Python."""
    monkeypatch.setattr(off, "_vertices", None)
    chance, count = random.Random(len(extra)), 9000
    words = numbers(3 * count, len(end))
    faces = [[chance.randrange(count) for _ in range(3)] for _ in range(count)]
    lines = ["NOFF", f"{count} {count} 0"]
    lines += [" ".join(words[i : i + 3]) + extra for i in range(0, len(words), 3)]
    lines += [" ".join(map(str, [3, *face])) + extra for face in faces]
    found = off.read(end.join([*lines, ""]).encode(), Path("a.off"))
    assert found.vertices.tolist() == np.array(words, dtype=float).reshape(-1, 3).tolist()
    assert found.corners.reshape(-1, 3).tolist() == faces
    assert (found.sizes == 3).all()


@pytest.mark.parametrize("piece", [1, 300, 1 << 20])
@pytest.mark.parametrize("lines", ["usual", "one", "without normals"])
def test_stl(lines: str, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stl, "_PIECE", piece)
    words = numbers(9 * 2000, piece)
    facets = []
    for i in range(0, len(words), 9):
        corners = ["vertex " + " ".join(words[k : k + 3]) for k in range(i, i + 9, 3)]
        head = "facet" if lines == "without normals" else "facet normal 0 nan 1"
        facet = [head, "outer loop", *corners, "endloop", "endfacet"]
        facets.append(" ".join(facet) if lines == "one" else "\n  ".join(facet))
    text = "\n".join(["solid facet vertex 1 2 3", *facets, "endsolid"])
    found = stl.read_ascii(text.encode(), Path("a.stl"))
    soup = np.array([float(word) for word in words]).reshape(-1, 3)
    assert np.array_equal(found.vertices[found.corners], soup)


def facet_lines(chance: random.Random, corners: list[list[str]]) -> str:
    """Write a facet in one of a few ways that follow each other in any order."""
    blank = chance.choice([" ", " ", "\t", "  ", " \n"])
    head, end = chance.choice([("facet normal", "endfacet"), ("  FACET  Normal", " EndFacet ")])
    rest = chance.choice(["", "", "", "\ncolour 1 2 3", "\nendsolid a\nsolid b"])
    lines = "".join(f"\n  vertex {blank.join(corner)}" for corner in corners)
    if chance.random() < 0.1:  # line by line
        return f"facet\n{lines.replace(blank, ' ')}\nx\nendfacet\n"
    loop = chance.choice(["outer loop", "outer loop", "outer\nloop"])
    return f"{head} 0 {chance.random()} 1\n {loop}{lines}\n endloop\n{end}{rest}\n"


@pytest.mark.parametrize("piece", [1, 300, 1 << 20])
@pytest.mark.parametrize("seed", range(4))
def test_facets_of_stl_written_in_turns(seed: int, piece: int, monkeypatch) -> None:
    """What is remembered of one facet is not taken for the next one, if that is another way."""
    monkeypatch.setattr(stl, "_PIECE", piece)
    chance, words = random.Random(seed), iter(numbers(9 * 300, seed))
    text, expected = ["solid a\n"], []
    for _ in range(300):
        corners = [[next(words) for _ in range(3)] for _ in range(3)]
        expected += [[float(word) for word in corner] for corner in corners]
        text.append(facet_lines(chance, corners))
    faces = stl.read_ascii("".join([*text, "endsolid a\n"]).encode(), Path("a.stl"))
    assert faces.vertices[faces.corners].tolist() == expected


@pytest.mark.parametrize("piece", [1, 300, 1 << 20])
def test_equal_corners_of_stl_are_one_vertex(piece: int, monkeypatch) -> None:
    """Numbered by their first appearance, whichever piece that is in and however it is written."""
    monkeypatch.setattr(stl, "_PIECE", piece)
    chance, words = random.Random(piece), iter(numbers(3 * 400, 5))
    known = [[next(words) for _ in range(3)] for _ in range(400)]
    known += [["-0.0", "0", half_way(chance)], ["0", "-0", "1e0"], ["0.0", "0", "1"]]
    corners = [chance.choice(known) for _ in range(3 * 2000)]
    text = "".join(facet_lines(chance, corners[i : i + 3]) for i in range(0, len(corners), 3))
    faces = stl.read_ascii(f"solid\n{text}endsolid\n".encode(), Path("a.stl"))
    numbered: dict[tuple[float, ...], int] = {}
    rows = [tuple(float(word) + 0.0 for word in corner) for corner in corners]
    assert faces.corners.tolist() == [numbered.setdefault(row, len(numbered)) for row in rows]
    assert [tuple(row) for row in faces.vertices.tolist()] == list(numbered)
    assert not np.signbit(faces.vertices[faces.vertices == 0]).any()


@pytest.mark.full
@pytest.mark.parametrize("width", [0, 1, 7])
@pytest.mark.parametrize("kind", ["triangles", "mixed"])
def test_ply(kind: str, width: int) -> None:
    """Rows stand on lines of their own (0), or so many words do."""
    chance = random.Random(width)
    places = numbers(3 * COUNT, 3)
    sizes = [3 if kind == "triangles" else chance.choice([3, 4]) for _ in range(9000)]
    faces = [[chance.randrange(COUNT) for _ in range(size)] for size in sizes]
    rows = [[*places[i : i + 3], "7"] for i in range(0, len(places), 3)]
    rows += [["-1", str(len(face)), *map(str, face)] for face in faces]
    words = [word for row in rows for word in row]
    lines = rows if not width else [words[i : i + width] for i in range(0, len(words), width)]
    head = (
        f"ply\nformat ascii 1.0\nelement vertex {COUNT}\nproperty double x\nproperty double y\n"
        f"property double z\nproperty uchar red\nelement face {len(faces)}\nproperty int tag\n"
        "property list uchar int vertex_indices\nend_header\n"
    )
    text = head + "\n".join(" ".join(line) for line in lines)
    found = ply.read(text.encode(), Path("a.ply"))
    assert np.array_equal(found.vertices.ravel(), [float(word) for word in places])
    assert found.corners.tolist() == [k for face in faces for k in face]
    assert found.sizes.tolist() == sizes


FAR = "v 1 2 3\n" * 300_000  # two pieces and more

PLACES = {
    "obj, number": ("a.obj", FAR + "v 1 2 x\n", r"line 300001: 'x' is not a number"),
    "obj, fortran": ("a.obj", FAR + "v 1 2 1d5\n", r"line 300001: '1d5' is not a number"),
    "obj, infinite": ("a.obj", FAR + "v 1 2 1e999\n", r"line 300001: a vertex is not finite"),
    "obj, weight": (
        "a.obj",
        FAR + "v 1 2 3 2\n",
        r"line 300001: a vertex has the fourth number 2\.",
    ),
    "obj, nothing": ("a.obj", FAR + "v 1 2 3 0.0\n", r"a vertex has the fourth number 0\.0\."),
    "obj, index": ("a.obj", FAR + "f 1 2 3\nf 1 2 300001\n", r"line 300002: .*vertex 300001, but"),
    "obj, back": ("a.obj", FAR + "f -1 -2 -300001\n", r"line 300001: .*vertex -300001, but"),
    "obj, word": ("a.obj", FAR + "f 1 2 3.0\n", r"line 300001: '3\.0' is not a whole number"),
    "obj, long": ("a.obj", FAR + f"f 1 2 {2**63}\n", r"line 300001: '9223372036854775808' is not"),
    "stl, beside": (
        "a.stl",
        "solid\ncolor vertex 1 2 3 facet\nendsolid\n",
        r"line 2: expected 'vertex x y z' inside a facet, not 'color vertex",
    ),
    "stl, end": ("a.stl", "solid\nfacet\nendfacet\nendsolid\n", r"line 3: a facet has 0"),
}


@pytest.mark.parametrize(("name", "text", "sentence"), PLACES.values(), ids=PLACES)
def test_a_fault_is_placed(tmp_path, name, text, sentence):
    with pytest.raises(MeshError, match=sentence):
        read(tmp_path, name, text)


def test_a_number_of_ply_is_placed() -> None:
    head = "ply\nformat ascii 1.0\nelement vertex 90000\nproperty double x\nproperty double y\n"
    head += "property double z\nelement face 0\nproperty list uchar int vertex_index\nend_header\n"
    rows = ["1 2 3"] * 90_000
    rows[77_776] = "1 2 3_0"
    with pytest.raises(MeshError, match=r"a\.ply, vertex 77777: '3_0' is not a number"):
        ply.read((head + "\n".join(rows)).encode(), Path("a.ply"))


def test_only_vertices_and_faces_go_on_after_a_backslash() -> None:
    """A comment or a name may end in one, as the name of a folder does."""
    lines = [
        "mtllib C:\\models\\", "# from C:\\", "v 0 0 0 \\", " 0.5 0.5", "v 1 0 \\\r", " 0",
        "v 0 1 0 # C:\\", "v 0 0 1", "g C:\\", "f 1 3 2 # C:\\", "f 1 2 \\", "4", "f 1 4 3",
        "f 2 3 4",
    ]  # fmt: skip
    found = obj.read("\n".join(lines).encode(), Path("a.obj"))
    assert found.vertices.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert found.corners.tolist() == [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]


def test_obj_of_weights_colours_and_old_faces() -> None:
    lines = [
        "v 0 0 0 1",
        "v 1 0 0 1.0",
        "v 0 1 0 0.5 0.5 0.5",
        "V 0 0 1 # 2",
        "v 1 1 1 0.1 0.2 0.3 2",
    ]
    found = obj.read(
        "\n".join([*lines, "fo 1 2 3", "F 1 2 4", "foo 1 2 3"]).encode(), Path("a.obj")
    )
    assert found.corners.tolist() == [0, 1, 2, 0, 1, 3]
    assert found.vertices[2].tolist() == [0, 1, 0]


@pytest.mark.parametrize("binary", [False, True])
def test_ply_of_strips_and_of_float_indices(binary: bool) -> None:
    form = "binary_little_endian" if binary else "ascii"
    head = f"ply\nformat {form} 1.0\nelement vertex 0\nproperty float x\nproperty float y\n"
    head += (
        "property float z\nelement face 0\nproperty list uchar {} vertex_indices\n{}end_header\n"
    )
    strips = "element tristrips 1\nproperty list int int vertex_indices\n"
    with pytest.raises(MeshError, match="has triangle strips"):
        ply.read(head.format("int", strips).encode(), Path("a.ply"))
    with pytest.raises(MeshError, match="refer to vertices by floating-point numbers"):
        ply.read(head.format("float", "").encode(), Path("a.ply"))


# --- Vertices that are equal as numbers.


def merged_plainly(rows):
    seen = {}
    index = [seen.setdefault(tuple(row), len(seen)) for row in (rows + 0.0).tolist()]
    return np.array(list(seen)).reshape(-1, 3), np.array(index, dtype=int)


@given(st.lists(st.tuples(*[st.sampled_from([-1.5, -0.0, 0.0, 1e-300, 7480000.7])] * 3)))
def test_rows_are_numbered_by_first_appearance(rows):
    rows = np.array(rows, dtype=float).reshape(-1, 3)
    unique, index = merge_equal(rows)
    expected, where = merged_plainly(rows)
    assert np.array_equal(unique, expected)
    assert np.array_equal(index, where)


def test_many_rows_of_few_values():
    rows = np.random.default_rng(3).integers(0, 9, (20_000, 3)) * 0.1
    unique, index = merge_equal(rows)
    expected, where = merged_plainly(rows)
    assert np.array_equal(unique, expected)
    assert np.array_equal(index, where)


@pytest.mark.full
@pytest.mark.parametrize("again", [0, 30_000, 500_000])
def test_many_rows_of_many_values(again):
    """All different, or some of them again and far away: however many rows there are room for."""
    random = np.random.default_rng(4)
    rows = random.normal(size=(100_000, 3))
    rows = np.concatenate([rows, rows[random.integers(0, len(rows), again)]])
    unique, index = merge_equal(rows)
    expected, where = merged_plainly(rows)
    assert np.array_equal(unique, expected)
    assert np.array_equal(index, where)


def test_a_single_ulp_keeps_vertices_apart():
    rows = np.array([[7480000.7, 0, 0], [np.nextafter(7480000.7, 0), 0, 0]])
    assert len(merge_equal(rows)[0]) == 2


def test_minus_zero_is_zero():
    unique, index = merge_equal(np.array([[0.0, -0.0, 1], [-0.0, 0.0, 1]]))
    assert index.tolist() == [0, 0]
    assert not np.signbit(unique).any()
