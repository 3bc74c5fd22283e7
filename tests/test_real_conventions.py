"""A real block model, rotated and sub-blocked, by every way in: all give the same labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import geodomain
from geodomain.cli import main
from geodomain.frames import LocalFrame

pv = pytest.importorskip("pyvista")

BUNNY = Path(__file__).parents[1].parent / "shared/data/bunny"
SOLID = ["--solid", f"Body={BUNNY / 'bunny.obj'}", "--background", "Out", "--quiet"]

pytestmark = pytest.mark.skipif(not BUNNY.exists(), reason=f"{BUNNY} is not here")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def truth() -> list[str]:
    """Return what the model says of itself; its blank blocks are outside too."""
    rows = (BUNNY / "bunny_blocks.csv").read_text().splitlines()[1:]
    found = [row.rpartition(",")[2] for row in rows]
    assert len(found) == 5123 and found.count("Body") == 1774 and found.count("Air") == 2997
    return ["Body" if label == "Body" else "Out" for label in found]


def label(source: Path | str, out: str, *options: str) -> None:
    arguments = ["label", str(source), *SOLID, *options, "-o", out]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output


def of_text(path: str) -> list[str]:
    return [row.rpartition(",")[2] for row in Path(path).read_text().splitlines()[1:]]


def table() -> np.ndarray:
    return np.loadtxt(BUNNY / "bunny_blocks.csv", delimiter=",", skiprows=1, usecols=range(1, 7))


def test_text(folder: Path, truth: list[str]) -> None:
    label(BUNNY / "bunny_blocks.csv", "out.csv")
    assert of_text("out.csv") == truth


def test_parquet(folder: Path, truth: list[str]) -> None:
    blocks = pyarrow.csv.read_csv(BUNNY / "bunny_blocks.csv")
    pyarrow.parquet.write_table(blocks, "b.parquet", row_group_size=1000)
    label("b.parquet", "out.parquet")
    labelled = pyarrow.parquet.read_table("out.parquet")
    assert labelled.column("domain").to_pylist() == truth
    assert labelled.drop_columns(["domain"]).equals(blocks)


def test_turned_hexahedra(folder: Path, truth: list[str]) -> None:
    blocks, matrix = table(), np.array(LocalFrame([("z", -10)], (0, 0, 0)).matrix)
    ring = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    corners = np.array([(x, y, z) for z in (-1, 1) for x, y in ring]) / 2
    points = blocks[:, None, :3] + (corners * blocks[:, None, 3:]) @ matrix.T
    cells = np.arange(len(blocks) * 8).reshape(-1, 8)
    grid = pv.UnstructuredGrid({pv.CellType.HEXAHEDRON: cells}, points.reshape(-1, 3))
    grid.save("b.vtu")
    label("b.vtu", "out.vtu")
    assert pv.read("out.vtu").cell_data["domain"].tolist() == truth


@pytest.mark.parametrize("position", ["centroid", "corner"])
def test_local_coordinates_with_a_rotation(folder: Path, truth: list[str], position: str) -> None:
    blocks = table()
    origin = blocks[0, :3]
    back = LocalFrame([("z", 10)], (0, 0, 0), tuple(origin.tolist()))
    local = back.to_world(blocks[:, :3]) - (blocks[:, 3:] / 2 if position == "corner" else 0)
    rows = [",".join(map(repr, row)) for row in np.hstack([local, blocks[:, 3:]]).tolist()]
    Path("b.csv").write_text("X,Y,Z,DX,DY,DZ\n" + "\n".join(rows) + "\n")
    where = ",".join(map(repr, origin.tolist()))
    label("b.csv", "out.csv", "--rotation", "z=-10", "--origin", where, "--position", position)
    assert of_text("out.csv") == truth


def test_a_datamine_prototype(folder: Path, truth: list[str]) -> None:
    blocks = table()
    origin = blocks[0, :3]
    local = LocalFrame([("z", 10)], (500, 600, 70), tuple(origin.tolist())).to_world(blocks[:, :3])
    prototype = [*origin.tolist(), 500, 600, 70, -10, 3]
    tail = ",".join(map(repr, prototype))
    rows = [",".join(map(repr, row)) for row in np.hstack([local, blocks[:, 3:]]).tolist()]
    head = "XC,YC,ZC,XINC,YINC,ZINC,X0,Y0,Z0,XMORIG,YMORIG,ZMORIG,ANGLE1,ROTAXIS1\n"
    Path("b.csv").write_text(head + "".join(f"{row},{tail}\n" for row in rows))
    label("b.csv", "out.csv")
    assert of_text("out.csv") == truth


def test_a_list_of_domains_and_a_data_frame(folder: Path, truth: list[str]) -> None:
    solid = f"[[domain]]\nname = 'Body'\nmesh = '{BUNNY / 'bunny.obj'}'\n"
    Path("d.toml").write_text("background = 'Out'\n" + solid)
    source = str(BUNNY / "bunny_blocks.csv")
    arguments = ["label", source, "--domains", "d.toml", "-o", "out.csv", "--quiet"]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    assert of_text("out.csv") == truth
    frame = pd.read_csv(source)
    assert geodomain.label_blocks(frame, geodomain.read_domains("d.toml")).tolist() == truth
