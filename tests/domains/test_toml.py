"""Domains from TOML: what it says, and one sentence for every mistake."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sheets import level
from wireframes import box, cube

import geodomain
from geodomain import DomainError, MeshError, read_domains, write_mesh
from geodomain.settings import keys_of

GOOD = """
order = "last"
background = "WASTE"
unassigned = "?"
background_code = 0
unassigned_code = -99

[[domain]]
name = "ORE"
mesh = ["ore.obj", "meshes/halo.obj"]
code = 1
keep = true
only_if = { rock = ["OX", "TR"], au = { ">=" = 0.3 } }

[[domain]]
name = "AIR"
kind = "above"
mesh = "ground.ply"
extend = "nearest"
invert = false

[[stack]]
surfaces = ["ground.ply", ["seam.ply"]]
layers = ["COVER", "", "FLOOR"]
codes = [3, 0, 4]
rule = "onlap"
extend = "background"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "meshes").mkdir()
    write_mesh(cube(), tmp_path / "ore.obj")
    write_mesh(box((5, 5, 5), (15, 15, 15)), tmp_path / "meshes" / "halo.obj")
    write_mesh(level(5.0, 10), tmp_path / "ground.ply")
    write_mesh(level(2.0, 10), tmp_path / "seam.ply")
    return tmp_path


def read(folder: Path, text: str) -> geodomain.Domains:
    (folder / "domains.toml").write_text(text, encoding="utf-8")
    return read_domains(folder / "domains.toml")


def test_all_that_it_may_say(folder: Path) -> None:
    domains = read(folder, GOOD)
    assert (domains.order, domains.background, domains.unassigned) == ("last", "WASTE", "?")
    assert (domains.background_code, domains.unassigned_code) == (0, -99)
    ore, air = domains
    assert [mesh.name for mesh in ore.meshes] == ["ore.obj", "halo.obj"]
    assert (ore.code, ore.keep, ore.kind) == (1, True, "solid")
    assert [(c.column, c.operator, c.values) for c in ore.only_if] == [
        ("rock", "==", ("OX", "TR")),
        ("au", ">=", (0.3,)),
    ]
    assert (air.kind, air.extend, air.code, air.invert) == ("above", "nearest", None, False)
    (stack,) = domains.stacks
    assert (stack.layers, stack.codes, stack.rule) == (("COVER", "", "FLOOR"), (3, 0, 4), "onlap")
    assert [target.name for target in domains.targets] == ["ORE", "AIR", "COVER", "FLOOR"]
    assert len(domains) == 2
    # One file is one mesh, so that its index is built once.
    assert stack.surfaces[0][0] is air.meshes[0]


def test_meshes_are_beside_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert len(read(folder, '[[domain]]\nname = "A"\nmesh = "meshes/halo.obj"')) == 1
    absolute = (folder / "ore.obj").as_posix()
    assert len(read(folder, f'[[domain]]\nname = "A"\nmesh = "{absolute}"')) == 1


ONE = '[[domain]]\nname = "ORE"\nmesh = "ore.obj"\n'
TWO = ONE + '[[stack]]\nsurfaces = ["ground.ply"]\nlayers = ["UP", "DOWN"]\n'


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "there is neither a [[domain]] nor a [[stack]]"),
        ("order = 'first'", "there is neither a [[domain]] nor a [[stack]]"),
        ("[[domain]]\nname = ORE", "the file is not TOML: "),
        ("[[domain]]\nname = 'A'\nmesh = \"C:\\mine\\q.stl\"", "paths with / or in single quotes"),
        (ONE + "zebra = 3", "[[domain]] 1 (ORE): there is no key 'zebra'; the keys are name, "),
        (ONE + "cod = 3", "did you mean 'code'?"),
        ("orders = 1\n" + ONE, "there is no key 'orders'; did you mean 'order'?"),
        ("order = 'best'\n" + ONE, "order is 'best'; it must be one of 'first', 'last'"),
        ("background = 3\n" + ONE, "background is 3; it must be a text"),
        ("domain = 3", "domain is 3; it must be tables, each under its own heading"),
        ("[domain]\nname = 'A'", "it must be tables, each under its own heading"),
        ("[[domain]]\nmesh = 'ore.obj'", "[[domain]] 1: the key 'name' is missing: give a"),
        ("[[domain]]\nname = 'A'", "[[domain]] 1 (A): the key 'mesh' is missing: give the name"),
        ("[[domain]]\nname = ''\nmesh = 'ore.obj'", "name is ''; it must be a text that is not"),
        ("[[domain]]\nname = 'A'\nmesh = []", "mesh is []; it must be the name of a mesh file"),
        ("[[domain]]\nname = 'A'\nmesh = 'o.obj'", "(A) mesh: there is no file 'o.obj' in "),
        ("[[domain]]\nname = 'A'\nmesh = 'meshes'", "there is no file 'meshes'"),
        (ONE + "code = 1.5", "code is 1.5; it must be a whole number"),
        (ONE + "code = true", "code is true; it must be a whole number"),
        (ONE + "keep = 1", "keep is 1; it must be true or false"),
        (ONE + "kind = 'under'", "kind is 'under'; it must be one of 'solid', 'above', 'below'"),
        (ONE + "rule = 'odd'", "it must be one of 'parity', 'winding'"),
        (ONE + "extend = 'nearest'", "extend applies only to surfaces"),
        (ONE + "only_if = 'OX'", "only_if is 'OX'; it must be a table of columns, such as"),
        (ONE + "only_if = { au = { '=>' = 1 } }", "only_if au: '=>' is not a comparison; use"),
        (ONE + "only_if = { au = true }", "(ORE): only_if au is true; give a number, a text"),
        (ONE + "only_if = { au = [] }", "(ORE): only_if has an empty list"),
        (ONE + "code = 3_000_000_000", "(ORE): code is 3000000000; it must be a whole number"),
        ("background_code = 3_000_000_000\n" + ONE, "background_code is 3000000000; it must be"),
        ("[[domain]]\nname = 'A '\nmesh = 'ore.obj'", "name is 'A '; it must be one line of"),
        ("[[domain]]\nname = \"A\\nB\"\nmesh = 'ore.obj'", "it must be one line of text"),
        ("[[domain]]\nname = 'A'\nmesh = 'Ore.OBJ'", "'Ore.OBJ' in {0}; did you mean 'ore.obj'?"),
        ("[[domain]]\nname = 'A'\nmesh = \"c:\\new.stl\"", "paths with / or in single quotes"),
        (ONE + ONE, "'ORE' is the name of both domain 1 and domain 2; give each a"),
        (ONE.replace("ORE", "UP") + TWO[len(ONE) :], "domain 1 and layer 1 of stack 1; give each"),
        ("background = 'ORE'\n" + ONE, "background is 'ORE', which is also the name of domain 1"),
        ("unassigned = 'UP'\n" + TWO, "unassigned is 'UP', which is also the name of layer 1"),
        (TWO.replace('["UP", "DOWN"]', '["UP"]'), "[[stack]] 1: 'layers' must have 2 names"),
        (TWO.replace('["UP", "DOWN"]', '["", ""]'), "[[stack]] 1: every name in layers is empty"),
        (
            TWO.replace('["ground.ply"]', '["ground.ply", "ground.ply"]').replace(
                '"DOWN"]', '"MID", "DOWN"]'
            ),
            "'surfaces' lists ground.ply twice in succession",
        ),
        (TWO.replace('["UP", "DOWN"]', '"UP"'), "it must be a list of names from top to bottom"),
        (TWO + "rule = 'cut'", "rule is 'cut'; it must be one of 'erode', 'onlap'"),
        (TWO + "codes = [1]", "'codes' must have 2 numbers, one per layer, not 1"),
        (TWO + "name = 'S'", "[[stack]] 1: there is no key 'name'"),
        (TWO.replace("ground", "gone"), "[[stack]] 1 surfaces: there is no file 'gone.ply'"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_with_file_and_key(folder: Path, text: str, said: str) -> None:
    with pytest.raises(DomainError) as caught:
        read(folder, text)
    message = str(caught.value)
    assert message.startswith(str(folder / "domains.toml")) and said.format(folder) in message
    assert "\n" not in message and "ORE: " not in message


def test_files_that_are_no_toml(folder: Path) -> None:
    (folder / "d.toml").write_bytes(ONE.encode("utf-16"))
    with pytest.raises(DomainError, match="UTF-8"):
        read_domains(folder / "d.toml")
    with pytest.raises(FileNotFoundError):
        read_domains(folder / "none.toml")
    (folder / "ore.obj").write_text("nothing")
    with pytest.raises(MeshError, match=r"ore\.obj"):
        read(folder, ONE)


def test_a_mark_of_utf_8_is_no_fault(folder: Path) -> None:
    (folder / "d.toml").write_bytes(b"\xef\xbb\xbf" + ONE.encode())
    assert len(read_domains(folder / "d.toml")) == 1


def test_what_is_read_labels(folder: Path) -> None:
    domains = read(folder, GOOD)
    points = np.array([[2, 2, 2], [2, 2, 9], [2, 2, 3], [2, 2, 1], [12, 12, 12]], float)
    columns = {"ROCK": np.array(["OX", "OX", "SU", "OX", "TR"]), "AU": [0.5, 0.5, 0.5, 0.1, 0.3]}
    found = geodomain.label_points(points, domains, columns=columns)
    assert found.tolist() == ["ORE", "AIR", "WASTE", "FLOOR", "AIR"]


@pytest.mark.parametrize(
    "heading, kind",
    [
        ("## Keys of the file", geodomain.Domains),
        ("## Keys of `[[domain]]`", geodomain.Domain),
        ("## Keys of `[[stack]]`", geodomain.Stack),
    ],
)
def test_every_key_is_documented(heading: str, kind: type) -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "domains_toml.md"
    section = page.read_text(encoding="utf-8").split(heading)[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    documented = [key for cell in cells for key in re.findall(r"`(\w+)`", cell)]
    assert sorted(documented) == sorted({*keys_of(kind)} - {"domain", "stack"})
    assert all(isinstance(key.expected, str) for key in keys_of(kind).values())
