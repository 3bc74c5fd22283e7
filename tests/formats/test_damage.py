"""A file cut or changed anywhere is refused in one sentence, or is a mesh; never anything else."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path

import mining_files as files
import numpy as np
import pytest
from wireframes import cube

from geodomain import GeodomainWarning, Mesh, MeshError, read_meshes, write_mesh


def written(extension: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        write_mesh({"A": cube(), "B": Mesh(files.VERTICES, files.TRIANGLES)}, folder / "w.ply")
        write_mesh({"1.1": cube(), "2.1": cube()}, folder / f"a{extension}")
        return folder / f"a{extension}"

    return make


def content(name: str, data: bytes | str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        raw = data.encode() if isinstance(data, str) else data
        (folder / name).write_bytes(raw)
        return folder / name

    return make


def binary_drawing() -> bytes:
    from dxf_files import as_binary, drawing, entity

    face = entity("3DFACE", "ORE", (1.5, 2, 3), (4, 5, 6), (7, 8, 1))
    points = [entity("VERTEX", "0", (i, i * i, 1), _70=192) for i in range(3)]
    record = entity("VERTEX", "0", (0, 0, 0), _70=128, _71=1, _72=2, _73=3)
    head = entity("POLYLINE", "P", (0, 0, 0), _70=64, _71=3, _72=1)
    return as_binary(drawing(face, head, *points, record, entity("SEQEND", "0")))


def drawing_of_blocks(*, binary: bool) -> bytes:
    from dxf_files import (
        TRIANGLE,
        as_binary,
        as_text,
        block,
        insert,
        mesh_entity,
        with_blocks,
    )

    words = ["0", "0", "1.5", "1", "0", "0", "1", "1", "0"]
    places = [float(word) for word in words] if binary else words
    inner = block("B", TRIANGLE, [] if binary else mesh_entity(places, [3, 0, 1, 2]))
    outer = block("C", insert("B", scale=(1.0, 2.0, 3.0), angle=30.0))
    placed = insert("C", "S", count=(2, 2), step=(5.0, 7.0), normal=(0.0, 1.0, 2.0))
    groups = with_blocks(inner + outer, placed)
    return as_binary(groups) if binary else as_text(groups)


def gltf() -> bytes:
    from gltf_files import POSITION, RING, made

    rows, values = np.array([1], dtype="<u2"), np.array([[9, 8, 7]], dtype="<f4")
    order = np.array([0, 1, 2, 3, 4], dtype="<u2")
    sparse = {
        "count": 1,
        "indices": {"bufferView": 1, "componentType": 5123},
        "values": {"bufferView": 2},
    }
    arrays = [(RING, {"sparse": sparse}), (rows, {}), (values, {}), (order, {})]
    node = {"translation": [1, 2, 3], "rotation": [0, 0.6, 0, 0.8]}
    return made(arrays, {**POSITION, "indices": 3, "mode": 6}, node)


SAMPLES = {
    "dxf": written(".dxf"),
    "dxf of blocks": content("a.dxf", drawing_of_blocks(binary=False)),
    "binary dxf of blocks": content("a.dxf", drawing_of_blocks(binary=True)),
    "gltf": content("a.glb", gltf()),
    "binary dxf": content("a.dxf", binary_drawing()),
    "surpac": written(".dtm"),
    "binary surpac": lambda folder: files.surpac_binary(folder, {(1, 1): files.surpac_corners()}),
    "leapfrog": written(".msh"),
    "gocad": written(".ts"),
    "omf 1": content("a.omf", files.omf1()),
    "omf 2": written(".omf"),
    "geoh5": written(".geoh5"),
    "landxml": content("a.xml", files.landxml()),
    "datamine": lambda folder: files.datamine_pair(folder, 8, "<"),
    "datamine, old": lambda folder: files.datamine_pair(folder, 4, ">", (-478000, -6771000, 0)),
    "ascii grid": content(
        "a.asc", "ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ndx 1\ndy 1\n1 2 3 4"
    ),
}


def mutations(data: bytes, seed: int) -> list[bytes]:
    """Return the data cut, and with bytes changed, left out and repeated."""
    chance = random.Random(seed)
    found = [data[: len(data) * i // 25] for i in range(1, 25)] + [data[:-1], data[:-2]]
    for _ in range(60):
        at = chance.randrange(len(data))
        new = chance.choice([b"", b"\0", b"\xff", b"9", b"-", b"nan", b"\n", b"999999999"])
        found.append(data[:at] + new + data[at + len(new) :])
        found.append(data[:at] + new + data[at + 1 :])
    return found


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_damage_is_said_in_one_sentence(tmp_path, make):
    path = make(tmp_path)
    assert read_meshes(path)
    partners = [path, *path.parent.glob("a*")] if path.suffix in {".dtm", ".dm"} else [path]
    for victim in dict.fromkeys(partners):
        whole = victim.read_bytes()
        for data in mutations(whole, len(whole)):
            victim.write_bytes(data)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", GeodomainWarning)
                    found = read_meshes(path)
            except MeshError as error:
                assert "\n" not in str(error)
                assert path.stem[0] in str(error)
            else:
                assert all(np.isfinite(mesh.vertices).all() for mesh in found.values())
        victim.write_bytes(whole)
