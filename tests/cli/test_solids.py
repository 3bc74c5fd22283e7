"""The command `geodomain solids`: files in and out, reports, errors in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from label_command import run_command
from late import needs
from wireframes import box

import geodomain
from geodomain import Mesh

pytestmark = needs("manifold3d")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside two boxes that overlap and a surface."""
    monkeypatch.chdir(tmp_path)
    geodomain.write_mesh(box((0, 0, 0), (2, 2, 2)), "a.ply")
    geodomain.write_mesh(box((1, 1, 1), (3, 3, 3)), "b.ply")
    corners = [[0, 0, 0], [3, 0, 2], [3, 3, 2], [0, 3, 0]]
    geodomain.write_mesh(Mesh(corners, [[0, 1, 2], [0, 2, 3]]), "slope.ply")
    return tmp_path


def volume(path: str) -> float:
    return geodomain.read_mesh(path).volume


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("union", "a.ply", "b.ply"), 15),
        (("intersect", "a.ply", "b.ply"), 1),
        (("subtract", "a.ply", "b.ply"), 7),
        (("clip", "a.ply", "--box", "1,1,1,9,9,9"), 1),
        (("clip", "a.ply", "--below", "slope.ply"), 2 * 4 / 3),
        (("clip", "a.ply", "--above", "slope.ply"), 8 - 2 * 4 / 3),
    ],
)
def test_operations(words: tuple[str, ...], expected: float, folder: Path) -> None:
    result = run_command("solids", *words, "-o", "out.ply")
    assert volume("out.ply") == pytest.approx(expected)
    assert "100,000 random points" in result.stderr and "0 differ farther" in result.stderr
    assert result.stderr.endswith("wrote out.ply\n")
    again = run_command("solids", *words, "-o", "out.ply", code=4)
    assert "already exists" in again.stderr


def test_json(folder: Path) -> None:
    result = run_command(
        "solids", "union", "a.ply", "b.ply", "-o", "o.obj", "--json", "--points=1000"
    )
    plain = json.loads(result.stdout)
    assert plain["volume"] == 15 and plain["proof"]["points"] == 1000
    assert plain["new"] == 6 and plain["unchanged"] == 14 and plain["output"] == "o.obj"


def test_extrude_and_between(folder: Path) -> None:
    Path("ring.csv").write_text(
        "X,Y,RING\n0,0,1\n4,0,1\n4,4,1\n0,4,1\n1,1,2\n2,1,2\n2,2,2\n1,2,2\n"
    )
    run_command("solids", "extrude", "ring.csv", "--from", "10", "--to", "12", "-o", "prism.ply")
    assert volume("prism.ply") == pytest.approx(30)
    run_command("solids", "extrude", "slope.ply", "--from", "0", "--to", "2", "-o", "plan.ply")
    assert volume("plan.ply") == pytest.approx(18)
    flat = Mesh([[0, 0, -1], [3, 0, -1], [3, 3, -1], [0, 3, -1]], [[0, 1, 2], [0, 2, 3]])
    geodomain.write_mesh(flat, "flat.ply")
    run_command("solids", "between", "slope.ply", "flat.ply", "-o", "layer.ply")
    assert volume("layer.ply") == pytest.approx(18)


def test_repair_lists_each_solid(folder: Path) -> None:
    cube = box((0, 0, 0), (1, 1, 1))
    geodomain.write_mesh(Mesh(cube.vertices, cube.triangles[1:]), "open.ply")
    geodomain.write_mesh(Mesh(cube.vertices, [*cube.triangles, cube.triangles[0]]), "copy.ply")
    result = run_command("solids", "repair", "copy.ply", "open.ply", code=3)
    assert "1 copy of a triangle dropped" in result.stdout
    assert "open.ply is not closed" in result.stderr and "with --fill." in result.stderr
    assert "1 of 2 solids cannot be repaired" in result.stderr
    run_command("solids", "repair", "open.ply", "--fill", "3", "-o", "whole.ply")
    assert volume("whole.ply") == 1
    result = run_command("solids", "repair", "copy.ply", "open.ply", "--json", code=3)
    assert [each["repaired"] for each in json.loads(result.stdout)] == [True, False]


def test_split_and_volumes(folder: Path) -> None:
    run_command("solids", "union", "a.ply", "-o", "whole.ply")
    apart = [box((0, 0, 0), (1, 1, 1)), box((5, 5, 5), (7, 7, 7))]
    geodomain.write_mesh({str(n): mesh for n, mesh in enumerate(apart)}, "two.ply")
    run_command("solids", "split", "two.ply", "-o", "body.ply")
    assert [volume(f"body_{n}.ply") for n in (1, 2)] == [8, 1]
    run_command("solids", "split", "two.ply", "-o", "bodies.dxf")
    assert len(geodomain.read_meshes("bodies.dxf")) == 2
    copy = geodomain.read_mesh("a.ply")
    geodomain.write_mesh(Mesh(copy.vertices, [*copy.triangles, copy.triangles[0]]), "copy.ply")
    result = run_command("solids", "split", "copy.ply", "-o", "one.ply")
    assert "1 copy of a triangle dropped" in result.stderr and "0 differ" in result.stderr
    result = run_command("solids", "split", "copy.ply", "-o", "two.obj", "--json")
    assert json.loads(result.stdout)["repair"]["inputs"][0]["changes"][0]["kind"] == "duplicate"
    assert "1 copy of a triangle" in run_command("solids", "volumes", "copy.ply", "b.ply").stdout
    result = run_command("solids", "volumes", "a.ply", "b.ply", "-o", "volumes.csv")
    lines = Path("volumes.csv").read_text().splitlines()
    assert lines[0] == "solid,a.ply,b.ply,in no other" and len(lines) == 3
    assert np.isclose([float(cell) for cell in lines[2].split(",")[1:]], [1, 8, 7]).all()
    assert "shared volumes" in result.stdout
    Path("b").mkdir()
    geodomain.write_mesh(geodomain.read_mesh("b.ply"), "b/a.ply")
    run_command("solids", "volumes", "a.ply", "b/a.ply", "-o", "alike.csv")
    assert Path("alike.csv").read_text().startswith("solid,a.ply,a.ply (2),in no other\na.ply,8")
    plain = json.loads(run_command("solids", "volumes", "a.ply", "b.ply", "--json").stdout)
    assert plain["methods"] == [["triangles", "boolean"], ["boolean", "triangles"]]


WRONG = {
    ("union", "missing.ply", "-o", "o.ply"): (4, "missing.ply"),
    ("union", "slope.ply", "-o", "o.ply"): (3, "slope.ply is an open surface, not a solid"),
    ("subtract", "a.ply", "-o", "o.ply"): (2, "at least two solids"),
    ("clip", "a.ply", "-o", "o.ply"): (2, "one of --above, --below and --box"),
    ("clip", "a.ply", "--box", "1,2,3", "-o", "o.ply"): (2, "X1,Y1,Z1,X2,Y2,Z2"),
    ("clip", "a.ply", "--box", "nan,0,0,2,2,2", "-o", "o.ply"): (2, "X1,Y1,Z1,X2,Y2,Z2"),
    ("clip", "a.ply", "--box", "0,0,0,2,2,inf", "-o", "o.ply"): (2, "X1,Y1,Z1,X2,Y2,Z2"),
    ("clip", "a.ply", "--box", "0,0,0,2,2,2", "--extend", "nearest", "-o", "o.ply"): (
        2,
        "a box has no rim",
    ),
    ("clip", "a.ply", "--below", "b.ply", "-o", "o.ply"): (3, "is a closed solid, not a surface"),
    ("between", "a.ply", "slope.ply", "-o", "o.ply"): (3, "is a closed solid, not a surface"),
    ("extrude", "a.ply", "--from", "0", "--to", "1", "-o", "o.ply"): (
        3,
        "is a closed solid, not a surface",
    ),
    ("extrude", "back.csv", "--from", "0", "--to", "1", "-o", "o.ply"): (3, "encloses nothing"),
    ("union", "a.ply", "--weld", "9", "-o", "o.ply"): (3, "no triangles left after the weld"),
    ("union", "a.ply", "--points", "0", "-o", "o.ply"): (2, "x>=1000"),
    ("clip", "far.ply", "--below", "slope.ply", "-o", "o.ply"): (3, "is not above or below"),
    ("extrude", "ring.csv", "--from", "1", "--to", "1", "-o", "o.ply"): (2, "is not below"),
    ("extrude", "words.csv", "--from", "0", "--to", "1", "-o", "o.ply"): (
        3,
        "no columns of x and y",
    ),
    ("extrude", "bad.csv", "--from", "0", "--to", "1", "-o", "o.ply"): (3, "line 3 of bad.csv"),
    ("extrude", "bow.csv", "--from", "0", "--to", "1", "-o", "o.ply"): (3, "crosses itself near"),
    ("union", "a.ply", "b.ply", "-o", "a.ply", "--overwrite"): (3, "a.ply is the input"),
    ("union", "thirds.ply", "-o", "o.stl"): (3, "STL has single precision"),
    ("intersect", "a.ply", "far.ply", "-o", "o.ply"): (3, "have no volume in common"),
    ("union", "a.ply", "b.ply", "-o", "o.xyz"): (3, "no extension"),
    ("union", "a.ply", "--fill", "2", "-o", "o.ply"): (2, "x>=3"),
    ("repair", "a.ply", "b.ply", "-o", "o.ply"): (2, "repair one at a time"),
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_errors_are_one_sentence_and_write_nothing(words: tuple[str, ...], folder: Path) -> None:
    geodomain.write_mesh(box((50, 0, 0), (51, 1, 1)), "far.ply")
    geodomain.write_mesh(box((0, 0, 0), (1 / 3, 1, 1)), "thirds.ply")
    Path("words.csv").write_text("A,B\n1,2\n")
    Path("bad.csv").write_text("X,Y\n1,2\n3,q\n4,4\n")
    Path("bow.csv").write_text("X,Y\n0,0\n4,4\n4,0\n0,4\n")
    Path("back.csv").write_text("X,Y\n0,0\n4,0\n4,4\n4,0\n")
    before = Path("a.ply").read_bytes()
    code, text = WRONG[words]
    result = run_command("solids", *words, code=code)
    assert text in result.stderr
    assert not list(folder.glob("o.*")) and Path("a.ply").read_bytes() == before


def test_stl_is_written_if_it_loses_nothing(folder: Path) -> None:
    run_command("solids", "union", "a.ply", "b.ply", "-o", "out.stl")
    assert np.isclose(volume("out.stl"), 15)
