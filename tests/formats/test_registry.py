"""The registry of formats: signs, pages, other packages, and a wireframe given as blocks."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import mining_files as files
import numpy as np
import pytest
from click.testing import CliRunner
from mesh_files import ascii_stl, binary_ply, binary_stl, obj, off, text_ply
from wireframes import box, cube

import geodomain
from geodomain import GeodomainWarning, TableError, read_mesh, read_meshes, write_mesh
from geodomain.cli import main
from geodomain.formats import registry
from geodomain.formats.registry import FORMATS, Head, begins, format_of_meshes, loaded

ROOT = Path(__file__).parents[2]
PARAMETERS = {
    "read_meshes": ["data", "path"],
    "read_file": ["path", "extension"],
    "read_named": ["path", "name"],
    "write_mesh": ["mesh", "file"],
    "write_solids": ["solids", "file"],
    "write_pair": ["solids", "stem", "triangles", "strings"],
    "spell": ["name"],
    "open_blocks": ["path", "options", "digest"],
    "holds_blocks": ["path"],
    "write_blocks": ["blocks", "path"],
}


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_function_of_a_format_is_there(form: registry.Format) -> None:
    given = {field: getattr(form, field) for field in PARAMETERS if getattr(form, field)}
    assert given
    for field, name in given.items():
        assert (
            name.startswith(".")
            and list(inspect.signature(loaded(name)).parameters) == (PARAMETERS[field])
        )
    assert bool(form.pair) == bool(form.write_pair)


def test_names_of_formats_differ() -> None:
    assert len({form.name for form in FORMATS}) == len(FORMATS)


def test_the_registry_imports_no_format() -> None:
    program = (
        "import sys, geodomain.formats.registry; "
        "print(*(name for name in sys.modules if name.startswith('geodomain.') or "
        "name in ('numpy', 'importlib.metadata')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {*done.stdout.split()} == {
        "geodomain.errors", "geodomain.formats", "geodomain.formats.registry"
    }  # fmt: skip


# --- What pages and messages say of formats.


def wireframe_rows() -> Iterator[tuple[str, set[str]]]:
    """Yield the name and the extensions of each row of the table of wireframes."""
    page = (ROOT / "docs/reference/formats.md").read_text(encoding="utf-8")
    table = page.partition("\n## Wireframes\n")[2].partition("\n\n")[0]
    for row in table.strip().splitlines()[2:]:
        name, extensions, *_ = row.strip("|").split("|")
        yield (
            name.strip(),
            set(re.findall(r"`(\.\w+)`", extensions))
            | set(re.findall(r"`\w+(\.\w+)`", extensions)),
        )


def test_the_page_of_formats_has_every_format() -> None:
    rows = dict(wireframe_rows())
    told = set().union(*rows.values())
    read = [form for form in FORMATS if form.reads_meshes]
    assert told <= {extension for form in read for extension in form.extensions}
    # VTI, VTR and VTS are read, and refused unless they hold polygons.
    missing = {form.name for form in read if form.extensions[0] not in told}
    assert missing == {"VTI", "VTR", "VTS", "VTU"}


def test_the_page_of_formats_and_the_help_name_what_is_written() -> None:
    page = (ROOT / "docs/reference/formats.md").read_text(encoding="utf-8")
    wireframes = page.partition("\n## Wireframes\n")[2].partition("\n## ")[0]
    blocks = page.partition("\n## Block models from one format to another\n")[2]
    helped = CliRunner().invoke(main, ["convert", "--help"]).output
    written = inspect.getdoc(geodomain.write_mesh) or ""
    for extension in registry.mesh_outputs():
        assert f"`{extension}`" in wireframes, extension
        assert extension in helped and extension in written, extension
    for extension in registry.block_outputs():
        assert f"`{extension}`" in blocks.partition("\n## ")[0] and extension in helped, extension


# --- Formats of another package.

PACKAGE = Path(__file__).with_name("other_package")


def install(folder: Path, points: dict[str, str]) -> None:
    """Write what an installer leaves of a package: its entry points."""
    record = folder / "geodomain_bricks-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: geodomain-bricks\nVersion: 1.0\n"
    )
    lines = [f"{name} = {value}\n" for name, value in points.items()]
    (record / "entry_points.txt").write_text("".join([f"[{registry.GROUP}]\n", *lines]))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give an empty folder of installed packages, and a folder to work in."""
    folder, work = tmp_path / "site", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.syspath_prepend(str(folder))
    registry.plugged_in.cache_clear()
    registry._leave_out.cache_clear()
    yield folder
    registry.plugged_in.cache_clear()
    sys.modules.pop("geodomain_bricks", None)


@pytest.fixture
def installed(site: Path) -> Path:
    """Install the package of this folder."""
    shutil.copy(PACKAGE / "geodomain_bricks.py", site)
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    install(site, project["entry-points"][registry.GROUP])
    return site


def run(*arguments: str, code: int = 0) -> str:
    """Run a command and return all it says."""
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.usefixtures("installed")
def test_wireframes_of_another_package() -> None:
    solids = {"ORE": cube(), "WASTE": box((20, 0, 0), (30, 10, 10))}
    write_mesh(solids, "pit.tris")
    assert list(read_meshes("pit.tris")) == ["ORE", "WASTE"]
    assert np.array_equal(read_mesh("pit.tris:WASTE").bounds, solids["WASTE"].bounds)
    assert "WASTE          12 triangles, closed" in run("check", "pit.tris")
    Path("in.csv").write_text("x,y,z\n1,1,1\n25,5,5\n")
    run("label", "in.csv", "--solid", "pit.tris", "-o", "out.csv")
    rows = Path("out.csv").read_text().split()
    assert [row.rpartition(",")[2] for row in rows] == ["domain", "ORE", "WASTE"]
    run("convert", "pit.tris", "pit.dxf")
    run("convert", "pit.dxf", "back.tris")
    assert list(read_meshes("back.tris")) == ["ORE", "WASTE"]


@pytest.mark.usefixtures("installed")
def test_content_decides_for_other_packages_too() -> None:
    write_mesh({"ORE": cube()}, "pit.tris")
    Path("pit.tris").rename("pit.abc")
    with pytest.warns(
        GeodomainWarning, match=r"pit\.abc has the extension \.abc, but is triangle list"
    ):
        assert read_mesh("pit.abc").is_closed
    Path("pit.abc").rename("pit.csv")
    write_mesh(cube(), "a.ply")
    said = run("label", "pit.csv", "--solid", "A=a.ply", "--dry-run", code=3)
    assert "pit.csv: it is triangle list, a wireframe, not a table" in said
    Path("bad.tris").write_text("TRIANGLES 1\nsolid A\n1 2 x\n")
    assert "bad.tris: A has a triangle without nine numbers" in run("check", "bad.tris", code=3)


@pytest.mark.usefixtures("installed")
def test_blocks_of_another_package() -> None:
    Path("model.bricks").write_text("BRICKS 1\n10 2 1 1\n0.5 1.5\n")
    write_mesh(box((0, 0, 0), (10, 10, 10)), "ore.ply")
    run("label", "model.bricks", "--solid", "ORE=ore.ply", "-o", "out.csv")
    assert Path("out.csv").read_text().split() == [
        "x,y,z,dx,dy,dz,value,domain",
        "5,5,5,10,10,10,0.5,ORE",
        "15,5,5,10,10,10,1.5,",
    ]
    said = run("label", "model.bricks", "--solid", "ORE=ore.ply", "-o", "out.abc", code=3)
    assert "model.bricks is a bricks, which is saved as .csv" in said and ".bricks" in said
    run("convert", "out.csv", "copy.bricks")
    assert "2 blocks, regular" in repr(geodomain.inspect_file("copy.bricks"))


@pytest.mark.usefixtures("installed")
def test_lists_in_messages_have_formats_of_other_packages() -> None:
    Path("a.xyz").write_text("hello\n")
    assert "OBJ, triangle list:" in run("check", "a.xyz", code=3)
    with pytest.raises(geodomain.MeshError, match=r"use one of .*\.obj, \.tris"):
        write_mesh(cube(), "b.xyz")


def test_a_broken_package_is_one_warning(site: Path) -> None:
    (site / "broken.py").write_text("raise RuntimeError('no library')\n")
    (site / "wrong.py").write_text("FORMAT = 'a text'\n")
    (site / "twin.py").write_text(
        "from geodomain.formats.registry import Format\n"
        "FORMAT = Format('PLY', ('.ply',), lambda head: True, read_meshes='nowhere:read')\n"
    )
    (site / "fails.py").write_text(
        "from geodomain.formats.registry import Format\n"
        "FORMAT = Format('failing', ('.f',), lambda head: 1 / 0, read_meshes='nowhere:read')\n"
    )
    names = ("broken", "wrong", "twin", "fails")
    install(site, {name: f"{name}:FORMAT" for name in names})
    write_mesh(cube(), "a.ply")
    Path("a.csv").write_text("x,y,z\n1,1,1\n")
    assert read_mesh("a.ply").is_closed  # and no warning: ours fits
    run("label", "a.csv", "--solid", "A=a.ply", "-o", "b.csv")
    Path("a.xyz").write_text("hello\n")
    for _ in range(2):
        with pytest.warns(GeodomainWarning) as told, pytest.raises(geodomain.MeshError):
            read_mesh("a.xyz")
        if _ == 0:
            said = [str(each.message) for each in told]
            assert len(said) == 4 and all("is not used" in each for each in said)
            assert "no library" in said[0] and "already" in said[2] and "ZeroDivision" in said[3]
            break
    import warnings

    with warnings.catch_warnings(), pytest.raises(geodomain.MeshError):
        warnings.simplefilter("error")
        read_mesh("a.xyz")


def test_other_packages_are_not_looked_for_where_ours_fit(tmp_path: Path) -> None:
    """`importlib.metadata` takes 0.1 s."""
    write_mesh(cube(), tmp_path / "a.obj")
    (tmp_path / "a.csv").write_text("x,y,z\n1,1,1\n")
    program = (
        "import sys, geodomain; geodomain.label_file('a.csv', {'A': 'a.obj'}, 'out.dat'); "
        "assert 'importlib.metadata' not in sys.modules"
    )
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_first_of_two_signs_decides() -> None:
    assert format_of_meshes(Head(b"ply\nformat ascii 1.0\n")).name == "PLY"
    assert format_of_meshes(Head(b"\x00" * 10, ".stl")).name == "binary STL"
    assert format_of_meshes(Head(b"hello")) is None
    assert begins(b"A", b"B")(Head(b"Bc")) and not begins(b"A")(Head(b"Bc"))


def test_text_is_what_nothing_else_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert registry.kind_of(str(tmp_path / "a.csv")) == "text"
    assert registry.kind_of("nowhere.pq") == "parquet"
    with pytest.raises(TableError, match="is for wireframes; use the"):
        mesh = cube()
        geodomain.label_file(tmp_path / "a.csv", {"A": mesh}, tmp_path / "b.msh")


MADE = {
    "a.stl": (ascii_stl(), "ASCII STL, a wireframe"),
    "b.stl": (binary_stl(), "binary STL, a wireframe"),
    "a.ply": (text_ply(), "PLY, a wireframe"),
    "b.ply": (binary_ply("<"), "PLY, a wireframe"),
    "a.obj": (obj(), "OBJ, a wireframe"),
    "c.obj": (obj().replace("\n", "\r\n"), "OBJ, a wireframe"),
    "a.off": (off(), "OFF, a wireframe"),
    "a.xml": (files.landxml(), "LandXML, a wireframe"),
    "a.asc": ("ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2\n3 4\n", "ESRI ASCII"),
}


def said(path: Path) -> str:
    solid = path.parent / "solid.ply"
    write_mesh(cube(), solid, overwrite=True)
    run = CliRunner().invoke(main, ["label", str(path), "--solid", f"A={solid}", "--dry-run"])
    assert run.exit_code == 3, run.output
    (line,) = [line for line in run.output.splitlines() if line.startswith("error: ")]
    return line


@pytest.mark.parametrize("name", MADE)
def test_formats_of_any_program(tmp_path: Path, name: str) -> None:
    content, what = MADE[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = said(path)
    assert f"{name}: it is {what}" in line and "--solid NAME=PATH" in line


@pytest.mark.parametrize("extension", [".dxf", ".dtm", ".str", ".msh", ".ts"])
def test_formats_of_mining_packages(tmp_path: Path, extension: str) -> None:
    write_mesh(cube(), tmp_path / f"a{extension}")
    line = said(tmp_path / f"a{extension}")
    assert f"a{extension}: it is " in line and "--solid NAME=PATH" in line


def test_tables_whose_header_is_wrong_stay_tables(tmp_path: Path) -> None:
    for text in ("solid,x,y\n1,2,3\n", "v 1 2\nv,2,3\n", "1,2,3\n4,5,6\n", "off,1\n2,3\n"):
        (tmp_path / "a.csv").write_text(text)
        assert "a wireframe" not in said(tmp_path / "a.csv")
