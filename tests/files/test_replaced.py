"""Every writer: old or new file whole, nothing beside it, no planted link followed, mode kept."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from late import pv
from wireframes import cube

from geodomain import read_mesh
from geodomain.cli import main
from geodomain.files import outputs
from geodomain.files.streams import replaced
from geodomain.files.unchanged import Digest
from geodomain.formats.wireframes import write_mesh
from geodomain.query.raw_files import written_together

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")

BLOCKS = "x,y,z\n1,1,1\n50,50,50\n"


def _run(*arguments: str) -> None:
    result = CliRunner().invoke(main, arguments)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code:
        raise OSError(errno.EIO, result.output)


def _label(out: Path) -> None:
    folder = out.parent / "in"
    source, solid = folder / f"model{out.suffix}", f"ORE={folder / 'ore.ply'}"
    _run("label", str(source), "--solid", solid, "-o", str(out), "--overwrite", "--quiet")


def _weld(out: Path) -> None:
    mesh = out.parent / "in" / "ore.ply"
    _run("check", str(mesh), "--weld", "0", "-o", str(out), "--overwrite")


def _raw(out: Path) -> None:
    with written_together(out.parent, {out.name: "<f8"}, overwrite=True) as files:
        files[out.name].append(np.arange(30_000.0))


def _mesh(out: Path) -> None:
    write_mesh(cube(), out, overwrite=True)


WRITERS: dict[str, Callable[[Path], None]] = {
    **{f"mesh.{end}": _mesh for end in ("stl", "ply", "obj", "off", "vtp")},
    "weld.ply": _weld,
    **{f"label.{end}": _label for end in ("csv", "vti", "vtk", "vtu", "parquet")},
    "raw_f64": _raw,
}


@pytest.fixture(params=WRITERS)
def out(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return where a writer writes to, its inputs in a folder beside that."""
    folder = tmp_path / "in"
    folder.mkdir()
    write_mesh(cube(), folder / "ore.ply", overwrite=True)
    (folder / "model.csv").write_text(BLOCKS)
    grid = pv.ImageData(dimensions=(3, 3, 3), spacing=(9, 9, 9))
    grid.save(folder / "model.vti")
    grid.save(folder / "model.vtk")
    grid.cast_to_unstructured_grid().save(folder / "model.vtu")
    if request.param == "label.parquet":
        pytest.importorskip("pyarrow")
        import pandas as pd

        pd.read_csv(folder / "model.csv").to_parquet(folder / "model.parquet")
    path: Path = tmp_path / request.param
    return path


def write(out: Path) -> None:
    WRITERS[out.name](out)


def beside(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir() if path.name not in ("in", out.name))


@posix
def test_the_mode_of_what_is_replaced_is_kept(out: Path) -> None:
    for mode in (0o600, 0o444):
        out.unlink(missing_ok=True)
        out.write_bytes(b"old")
        out.chmod(mode)
        write(out)
        assert stat.S_IMODE(out.stat().st_mode) == mode
        assert out.read_bytes() != b"old" and beside(out) == []


@posix
def test_a_link_is_written_through(out: Path) -> None:
    (out.parent / "away").mkdir()
    target = out.parent / "away" / out.name
    target.write_bytes(b"old")
    out.symlink_to(target)
    write(out)
    assert out.is_symlink() and target.read_bytes() != b"old"


@posix
def test_a_name_that_can_be_foretold_is_not_used(out: Path) -> None:
    victim = out.parent / "in" / "victim"
    victim.write_bytes(b"mine")
    (out.parent / f".{out.name}.{os.getpid()}{out.suffix}").symlink_to(victim)
    write(out)
    assert victim.read_bytes() == b"mine"


def test_a_full_disk_leaves_the_old_file(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out.write_bytes(b"old")

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(outputs.os, "write", full)
    with pytest.raises(OSError, match="space"):
        write(out)
    monkeypatch.undo()
    assert out.read_bytes() == b"old" and beside(out) == []


def test_a_fault_at_each_step_leaves_the_old_file(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out.write_bytes(b"old")

    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    for step in ("fsync", "link", "fchmod"):
        if not hasattr(os, step):
            continue
        monkeypatch.setattr(outputs.os, step, broken)
        with pytest.raises(OSError, match="error"):
            write(out)
        monkeypatch.undo()
        assert out.read_bytes() == b"old" and beside(out) == []


def test_a_folder_that_goes_away_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError), replaced(folder / "a.ply") as file:
        file.write(b"new")
        folder.rmdir()
    assert list(tmp_path.iterdir()) == []


def test_two_threads_write_one_path(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(30):
                write_mesh(cube(), tmp_path / "a.ply", overwrite=True)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(read_mesh(tmp_path / "a.ply").triangles) == 12
    assert [path.name for path in tmp_path.iterdir()] == ["a.ply"]


def test_what_fails_in_the_block_leaves_the_old_file(tmp_path: Path) -> None:
    out = tmp_path / "a.ply"
    out.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replaced(out) as file:
        file.write(b"new" * (1 << 20))
        raise KeyboardInterrupt
    assert out.read_bytes() == b"old" and list(tmp_path.iterdir()) == [out]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_device_is_written_to_as_it_is() -> None:
    with pytest.raises(OSError) as caught, replaced("/dev/full") as file:
        file.write(b"new")
    assert caught.value.errno == errno.ENOSPC
    with replaced("/dev/null") as file:
        file.write(b"new")
    assert Path("/dev/null").is_char_device()


def test_names_that_xml_must_escape_come_back(out: Path) -> None:
    """A domain called R&D once gave a file that nothing could read."""
    if out.suffix not in (".vti", ".vtu", ".vtk"):
        pytest.skip("no VTK")
    source = out.parent / "in" / f"model{out.suffix}"
    before = pv.read(source)
    before.cell_data["a<b>\"c'd"] = np.arange(before.n_cells)
    before.field_data["p & q"] = np.zeros((2, 2))
    if out.suffix == ".vtk":
        before.save(source)
    else:
        from geodomain.formats.vtk import encode

        source.write_bytes(encode(before, source.suffix))
        assert "a<b>\"c'd" in before.cell_data
    record = out.parent / "record.json"
    solid = f"R&D={out.parent / 'in' / 'ore.ply'}"
    options = ["--flags", "--in-place", "--record", str(record), "--column", "r&d"]
    _run("label", str(source), "--solid", solid, *options)
    after = pv.read(source)
    assert {"a<b>\"c'd", "r&d"} < set(after.cell_data.keys())
    assert "p & q" in after.field_data and "R&D" in after.cell_data["r&d"].tolist()
    assert json.loads(record.read_text())["output"]["sha256"] == Digest.of_file(source).hexadecimal


@pytest.mark.parametrize("name", ["a.ply", "a.dtm", "a.str"])
def test_a_mesh_replaces_no_file_unless_told(tmp_path: Path, name: str) -> None:
    """By the rule of `label_file`; for a pair of files, whichever is there."""
    there = tmp_path / ("a.str" if name == "a.dtm" else name)
    there.write_bytes(b"mine")
    with pytest.raises(FileExistsError, match="already exists"):
        write_mesh(cube(), tmp_path / name)
    assert there.read_bytes() == b"mine" and len([*tmp_path.iterdir()]) == 1
    write_mesh(cube(), tmp_path / name, overwrite=True)
    assert there.read_bytes() != b"mine"
