"""A rotated, sub-blocked model and a solid: one that is made, and every way to label either."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from late import pd, pv, pyarrow
from wireframes import box

import geodomain
from geodomain import Mesh, write_mesh
from geodomain.cli import main
from geodomain.tables.frames import LocalFrame

_PARENTS, _SIZE = (8, 6, 8), 400.0
_LOW, _HIGH = np.array([630.0, 480, 530]), np.array([2370.0, 1890, 2620])  # on no centroid
_COSINE, _SINE = np.cos(np.radians(10)), np.sin(np.radians(10))
_TURN = np.array([[_COSINE, -_SINE, 0], [_SINE, _COSINE, 0], [0, 0, 1]])
_ORIGIN = np.array([414_000.0, 7_480_000.0, -423.0])


@dataclass(frozen=True)
class RotatedModel:
    """Files of a model whose axes point 10 degrees north of east, and of a solid.

    The rows begin with a number, the centroid in world coordinates and the size, and end with
    "Body" where the centroid is in the solid.
    """

    blocks: Path
    solid: Path

    @property
    def table(self) -> np.ndarray:
        """Centroids and sizes (n, 6), as the file has them."""
        return np.loadtxt(self.blocks, delimiter=",", skiprows=1, usecols=range(1, 7))

    @property
    def truth(self) -> list[str]:
        """What the model says of itself: "Body" or "Out"."""
        found = of_text(self.blocks)
        return ["Body" if label == "Body" else "Out" for label in found]


def of_text(path: Path | str) -> list[str]:
    """Return the last column of a table."""
    return [row.rpartition(",")[2] for row in Path(path).read_text().splitlines()[1:]]


def make_model(folder: Path) -> RotatedModel:
    """Write an octree: parents of 400 m, divided twice where the solid's faces pass through."""
    corners = np.stack(np.meshgrid(*map(np.arange, _PARENTS)), axis=-1).reshape(-1, 3) * _SIZE
    blocks = np.hstack([corners + _SIZE / 2, np.full((len(corners), 3), _SIZE)])
    for _ in range(2):
        cut = _is_cut(blocks)
        blocks = np.vstack([blocks[~cut], _divided(blocks[cut])])
    inside = ((blocks[:, :3] > _LOW) & (blocks[:, :3] < _HIGH)).all(axis=1)
    blocks[:, :3] = blocks[:, :3] @ _TURN.T + _ORIGIN
    rows = [
        ",".join([str(i), *map(repr, block), "Body" if here else "Air"])
        for i, (block, here) in enumerate(zip(blocks.tolist(), inside, strict=True))
    ]
    model = RotatedModel(folder / "blocks.csv", folder / "body.obj")
    model.blocks.write_text("\n".join(["Id,X,Y,Z,dX,dY,dZ,Is", *rows, ""]))
    local = box(tuple(_LOW), tuple(_HIGH))
    write_mesh(Mesh(local.vertices @ _TURN.T + _ORIGIN, local.triangles), model.solid)
    return model


def _is_cut(blocks: np.ndarray) -> np.ndarray:
    low, high = blocks[:, :3] - blocks[:, 3:] / 2, blocks[:, :3] + blocks[:, 3:] / 2
    meets = ((low < _HIGH) & (high > _LOW)).all(axis=1)
    return meets & ~((low > _LOW) & (high < _HIGH)).all(axis=1)


def _divided(blocks: np.ndarray) -> np.ndarray:
    eighths = np.array([(x, y, z) for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)]) / 4
    centres = blocks[:, None, :3] + eighths * blocks[:, None, 3:]
    return np.hstack([centres.reshape(-1, 3), np.repeat(blocks[:, 3:] / 2, 8, axis=0)])


def _label(model: RotatedModel, source: Path | str, out: str, *options: str) -> None:
    solid = ["--solid", f"Body={model.solid}", "--background", "Out", "--quiet"]
    result = CliRunner().invoke(main, ["label", str(source), *solid, *options, "-o", out])
    assert result.exit_code == 0, result.output


def _text(model: RotatedModel) -> list[str]:
    _label(model, model.blocks, "out.csv")
    return of_text("out.csv")


def _parquet(model: RotatedModel) -> list[str]:
    blocks = pyarrow.csv.read_csv(model.blocks)
    pyarrow.parquet.write_table(blocks, "b.parquet", row_group_size=1000)
    _label(model, "b.parquet", "out.parquet")
    labelled = pyarrow.parquet.read_table("out.parquet")
    assert labelled.drop_columns(["domain"]).equals(blocks)
    return list(labelled.column("domain").to_pylist())


def _hexahedra(model: RotatedModel) -> list[str]:
    blocks, matrix = model.table, np.array(LocalFrame([("z", -10)], (0, 0, 0)).matrix)
    ring = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    corners = np.array([(x, y, z) for z in (-1, 1) for x, y in ring]) / 2
    points = blocks[:, None, :3] + (corners * blocks[:, None, 3:]) @ matrix.T
    cells = np.arange(len(blocks) * 8).reshape(-1, 8)
    grid = pv.UnstructuredGrid({pv.CellType.HEXAHEDRON: cells}, points.reshape(-1, 3))
    grid.save("b.vtu")
    _label(model, "b.vtu", "out.vtu")
    return list(pv.read("out.vtu").cell_data["domain"].tolist())


def _local(model: RotatedModel, position: str) -> list[str]:
    blocks = model.table
    origin = blocks[0, :3]
    back = LocalFrame([("z", 10)], (0, 0, 0), tuple(origin.tolist()))
    local = back.to_world(blocks[:, :3]) - (blocks[:, 3:] / 2 if position == "corner" else 0)
    rows = [",".join(map(repr, row)) for row in np.hstack([local, blocks[:, 3:]]).tolist()]
    Path("b.csv").write_text("X,Y,Z,DX,DY,DZ\n" + "\n".join(rows) + "\n")
    where = ",".join(map(repr, origin.tolist()))
    options = ["--rotation", "z=-10", "--origin", where, "--position", position]
    _label(model, "b.csv", "out.csv", *options)
    return of_text("out.csv")


def _datamine(model: RotatedModel) -> list[str]:
    blocks = model.table
    origin = blocks[0, :3]
    local = LocalFrame([("z", 10)], (500, 600, 70), tuple(origin.tolist())).to_world(blocks[:, :3])
    prototype = [*origin.tolist(), 500, 600, 70, -10, 3]
    tail = ",".join(map(repr, prototype))
    rows = [",".join(map(repr, row)) for row in np.hstack([local, blocks[:, 3:]]).tolist()]
    head = "XC,YC,ZC,XINC,YINC,ZINC,X0,Y0,Z0,XMORIG,YMORIG,ZMORIG,ANGLE1,ROTAXIS1\n"
    Path("b.csv").write_text(head + "".join(f"{row},{tail}\n" for row in rows))
    _label(model, "b.csv", "out.csv")
    return of_text("out.csv")


def _toml(model: RotatedModel) -> Path:
    solid = f"[[domain]]\nname = 'Body'\nmesh = '{model.solid}'\n"
    path = Path("d.toml")
    path.write_text("background = 'Out'\n" + solid)
    return path


def _list(model: RotatedModel) -> list[str]:
    arguments = ["label", str(model.blocks), "--domains", str(_toml(model)), "-o", "out.csv"]
    assert CliRunner().invoke(main, [*arguments, "--quiet"]).exit_code == 0
    return of_text("out.csv")


def _frame(model: RotatedModel) -> list[str]:
    domains = geodomain.read_domains(_toml(model))
    return list(geodomain.label_blocks(pd.read_csv(model.blocks), domains).tolist())


# Each works in the current folder.
WAYS: dict[str, Callable[[RotatedModel], list[str]]] = {
    "text": _text,
    "Parquet": _parquet,
    "turned hexahedra": _hexahedra,
    "local centroids and a rotation": lambda model: _local(model, "centroid"),
    "local corners and a rotation": lambda model: _local(model, "corner"),
    "a Datamine prototype": _datamine,
    "a list of domains": _list,
    "a data frame": _frame,
}
