"""What a file would take is counted before anything is made, and refused in one sentence."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import tracemalloc
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from wireframes import cube

import geodomain
from geodomain import memory
from geodomain.cli import main
from geodomain.errors import DomainError, MeshError, TableError
from geodomain.formats.registry import FORMATS, loaded


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Require that Python and NumPy hold no more than some bytes at a time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] <= size
    finally:
        tracemalloc.stop()


def packed(piece: bytes, times: int, *, bits: int = 15, end: bytes = b"") -> bytes:
    """Return the zlib or gzip data of a piece many times, without making all of it."""
    stream = zlib.compressobj(9, zlib.DEFLATED, bits)
    parts = [stream.compress(piece) for _ in range(times)]
    return b"".join([*parts, stream.compress(end), stream.flush()])


def omf1(vertices: bytes) -> bytes:
    """Return a project of one surface, whose arrays are what is given."""
    project, element, geometry, array = (str(uuid.UUID(int=number)) for number in range(1, 5))
    told = {"start": 60, "dtype": "<f8", "length": len(vertices)}
    objects = {
        project: {"elements": [element]},
        element: {"__class__": "SurfaceElement", "geometry": geometry},
        geometry: {"__class__": "SurfaceGeometry", "vertices": array, "triangles": array},
        array: {"array": told},
    }
    head = b"\x84\x83\x82\x81" + bytes(32) + uuid.UUID(project).bytes
    start = (60 + len(vertices)).to_bytes(8, "little")
    return head + start + vertices + json.dumps(objects).encode()


def omf2(index: bytes) -> bytes:
    """Return a project with an index that is packed already."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as members:
        members.writestr("index.json.gz", index)
        members.comment = b"Open Mining Format 2.0"
    return file.getvalue()


def glb(count: float) -> bytes:
    """Return a glTF whose points are zeros that are not there."""
    tree = {
        "asset": {"version": "2.0"},
        "accessors": [{"componentType": 5126, "count": count, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}],
    }
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    numbers = [2, 20 + len(text), len(text)]
    return b"glTF" + b"".join(n.to_bytes(4, "little") for n in numbers) + b"JSON" + text


def crowded_glb(nodes: int, primitives: int) -> bytes:
    """Return a glTF of a few points that are there again and again."""
    part = {"attributes": {"POSITION": 0}}
    points = bytes(3600)
    tree = {
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": len(points)}],
        "bufferViews": [{"buffer": 0, "byteLength": len(points)}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 300, "type": "VEC3"}],
        "meshes": [{"primitives": [part] * primitives}],
        "nodes": [{"mesh": 0}] * nodes,
    }
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    chunks = len(text).to_bytes(4, "little") + b"JSON" + text
    chunks += len(points).to_bytes(4, "little") + b"BIN\0" + points
    return b"glTF" + (2).to_bytes(4, "little") + (12 + len(chunks)).to_bytes(4, "little") + chunks


def tiff(side: int) -> bytes:
    """Return a GeoTIFF of zeros, each tile of which is packed alike."""
    tifffile = pytest.importorskip("tifffile")
    place = [(33550, "d", 3, (1.0, 1.0, 0.0)), (33922, "d", 6, (0.0,) * 6)]
    tile = zlib.compress(bytes(1 << 22), 9)
    file = io.BytesIO()
    with tifffile.TiffWriter(file) as writer:
        writer.write(
            itertools.repeat(tile, (side // 1024) ** 2),
            shape=(side, side),
            dtype="float32",
            tile=(1024, 1024),
            compression="zlib",
            photometric="minisblack",
            extratags=[(*tag, True) for tag in place],
        )
    return file.getvalue()


def threemf(blanks: int) -> bytes:
    """Return a 3MF of nothing but blanks."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("3D/3dmodel.model", b"<model>" + b" " * blanks + b"</model>")
    return file.getvalue()


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have bombs of some megabytes stand for those of gigabytes."""
    monkeypatch.setattr(memory, "_WORK", 1 << 20)
    monkeypatch.setattr(memory, "_JSON_WORK", 1 << 20)


BOMBS = {
    "OMF 1": lambda: omf1(packed(bytes(1 << 19), 32)),
    "OMF 2": lambda: omf2(packed(b" " * (1 << 19), 32, bits=31, end=b"{}")),
    "OMF 2, lists": lambda: omf2(packed(b"[],[" * (1 << 17), 32, bits=31)),
    "glTF": lambda: glb(1e15),
    "glTF, nodes": lambda: crowded_glb(200, 300),
    "TIFF": lambda: tiff(6144),
    "3MF": lambda: threemf(1 << 25),
}


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("kind", BOMBS)
def test_a_bomb_is_refused_before_it_is_made(kind: str, tmp_path: Path) -> None:
    data = BOMBS[kind]()
    (form,) = (each for each in FORMATS if each.name == kind.partition(",")[0])
    with at_most(1 << 24), pytest.raises(MeshError, match="GEODOMAIN_MEMORY=") as refused:
        loaded(form.read_meshes)(data, tmp_path / "a.omf")
    assert len(str(refused.value)) < 300 and "a.omf" in str(refused.value)


@pytest.mark.usefixtures("_small")
def test_what_is_allowed_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed(b"7" * (1 << 19), 32)
    with pytest.raises(
        TableError, match=r"an array has 16\.3 kB of compressed data that become more"
    ):
        memory.inflate(data, "an array", TableError)
    monkeypatch.setenv(memory.SETTING, "64 MB")
    assert memory.inflate(data, "an array", TableError) == b"7" * (16 << 20)
    with pytest.raises(EOFError):
        memory.inflate(data[:-9], "an array", TableError)
    several = packed(b"a", 3, bits=31) + packed(b"b", 2, bits=31)
    assert memory.inflate(several, "an index", TableError) == b"aaabb"
    assert memory.inflate(b"", "an index", TableError) == b""


@pytest.mark.parametrize(
    ("text", "size"),
    [("64GB", 64 * 10**9), ("1.5 g", 1_500_000_000), ("200", 200), ("7MiB", 7_000_000)],
)
def test_the_setting_is_a_size(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.SETTING, text)
    assert memory.allowance() == size
    memory.require(size, "a.vti", TableError)
    with pytest.raises(TableError, match=r"a.vti would take .* may be used: .*=\d+GB"):
        memory.require(size + 1, "a.vti", TableError)


def test_a_setting_that_is_no_size_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.SETTING, "much")
    with pytest.raises(ValueError, match="'much', which is not a size: write it as 64GB"):
        memory.allowance()


def test_free_memory_is_that_of_the_system() -> None:
    assert 1 << 20 < memory.free() < 1 << 50
    memory.require(1 << 20, "a.vti", TableError)
    for needed in (1e15, float("inf"), float("nan")):
        with pytest.raises(TableError, match="would take"):
            memory.require(needed, "a.vti", TableError)


@pytest.mark.parametrize("part", ["a", '"a"', "'a.b'", '"a\\".#"'])
@pytest.mark.parametrize(
    "form", ["{} = 1", "[{}]\nb = 1", "b = {{ {} = 1 }}", "b = '''\n'''\n{}=1"]
)
def test_a_key_of_many_parts_is_refused(part: str, form: str, tmp_path: Path) -> None:
    """Its tables once took the square of 50,000 parts: 58 s, and 7.7 GB."""
    path = tmp_path / "a.toml"
    path.write_text("# a\n" + form.format(" . ".join([part] * 30_000)))
    with pytest.raises(DomainError, match="has a key of more than 16 parts"):
        geodomain.read_domains(path)


@pytest.mark.parametrize("quote", ['"', "'", '"""', "'''"])
def test_dots_in_texts_are_no_keys(quote: str, tmp_path: Path) -> None:
    cube = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], [[0, 2, 1], [0, 1, 3]])
    geodomain.write_mesh(cube, tmp_path / "ore.ply")
    dots = ".".join("abcdefghijklmnopqrstuvwxyz")
    text = f'[[domain]] # {dots}\nname = {quote}{dots}{quote}\nmesh = "ore.ply"\nkind = "above"\n'
    (tmp_path / "a.toml").write_text(text)
    assert geodomain.read_domains(tmp_path / "a.toml").domains[0].name == dots


def test_a_list_larger_than_memory_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    with path.open("wb") as file:
        file.truncate(1 << 42)
    (tmp_path / "in.csv").write_text("x,y,z\n1,1,1\n")
    listed = ["label", str(tmp_path / "in.csv"), "--domains", str(path), "--dry-run"]
    result = CliRunner().invoke(main, listed)
    assert result.exit_code == 3 and "a.toml would take" in result.stderr


def test_the_option_of_a_command_lifts_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    geodomain.write_mesh(cube(), "ore.ply")
    Path("b.csv").write_text("X,Y,Z\n1,1,1\n")
    text = '[[domain]]\nname = "ORE"\nmesh = "ore.ply"\n'
    Path("ore.toml").write_text(text + "#" * 1000)
    command = ["label", "b.csv", "--domains", "ore.toml", "-o", "out.csv"]
    monkeypatch.setenv(memory.SETTING, "1kB")
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code == 3 and "allow more with --memory 1GB" in refused.stderr
    done = CliRunner().invoke(main, [*command, "--memory", "1GB"])
    assert (done.exit_code, Path("out.csv").exists()) == (0, True)
    assert memory.allowance() == 1000
    refused = CliRunner().invoke(main, [*command, "--memory", "much"])
    assert refused.exit_code == 2 and "not a size: write it as 64GB" in refused.stderr


VTI = """<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian">
<ImageData WholeExtent="{0}" Origin="0 0 0" Spacing="1 1 1"><Piece Extent="{0}"><CellData/></Piece>
</ImageData></VTKFile>
"""


@pytest.mark.parametrize("output", ["c.csv", "c.parquet", "c.vtu"])
def test_cells_are_counted_before_they_become_rows(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("big.vti").write_text(VTI.format("0 1000 0 1000 0 1000"))
    result = CliRunner().invoke(main, ["convert", "big.vti", output, "--memory", "4GB"])
    assert result.exit_code == 3
    assert result.stderr == (
        "error: big.vti, with 1,000,000,000 cells as rows, would take 96 GB of memory, but only "
        "4 GB may be used: if the file is right, allow more with --memory 97GB\n"
    )
    assert not Path(output).exists()
    result = CliRunner().invoke(main, ["tonnes", "big.vti", "--density", "2.5"])
    assert result.stderr == "error: big.vti has no column 'domain'; it has no columns at all.\n"


@pytest.mark.parametrize("blanks", [b"\n", b"  \n", b"\r\n"])
def test_a_table_that_goes_on_with_blank_lines_is_left(
    blanks: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with gzip.open("b.csv.gz", "wb", 1) as file:
        file.write(b"x,y,z,dx,dy,dz\n5,5,5,10,10,10\n")
        for _ in range(80):
            file.write(blanks * ((1 << 20) // len(blanks)))
    result = CliRunner().invoke(main, ["inspect", "b.csv.gz"])
    assert result.exit_code == 3
    assert "64 MB of blank lines come before this line" in result.stderr
