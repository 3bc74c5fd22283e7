"""A child reads what VTK may crash on; its end is an answer, and the next file has another one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("pyvista")
sys.path.insert(0, str(Path(__file__).parent / "fuzz"))
import seeds

from geodomain import MeshError, read_mesh
from geodomain.io.meshes import vtk_probe
from geodomain.io.meshes.vtk_probe import Probe


@pytest.fixture
def one(tmp_path: Path) -> Path:
    path = tmp_path / "one.vtp"
    path.write_text(seeds.vtp())
    return path


def test_one_child_serves_many_files(one: Path) -> None:
    probe = Probe()
    child = probe.start()
    assert [probe.fault(one, ".vtp", 60.0) for _ in range(3)] == [None] * 3
    assert probe.start() is child
    probe.close()
    assert child.returncode is not None


def test_a_child_that_crashes_is_followed_by_another(one: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.vtk"
    bad.write_text(seeds.BAD_VTK["vtk, a corner that is not there"][1])
    probe = Probe()
    assert probe.fault(bad, ".vtk", 60.0)
    assert probe.fault(one, ".vtp", 60.0) is None
    probe.close()


def test_a_child_that_does_not_end_is_killed(one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vtk_probe, "_CHILD", one.with_name("sleep.py"))
    one.with_name("sleep.py").write_text("import time\ntime.sleep(600)\n")
    probe = Probe()
    assert probe.fault(one, ".vtp", 0.5) == "VTK does not end within 0 s"
    probe.close()


def test_a_child_that_is_gone_is_no_hang(one: Path) -> None:
    probe = Probe()
    probe.start().kill()
    assert probe.fault(one, ".vtp", 60.0) in (None, "VTK crashes on it")
    assert probe.fault(one, ".vtp", 60.0) is None
    probe.close()


def test_modules_beside_the_user_are_not_imported(
    one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one.parent / "vtkmodules").mkdir()
    (one.parent / "vtkmodules" / "__init__.py").write_text("raise SystemExit(0)")
    monkeypatch.chdir(one.parent)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    probe = Probe()
    assert probe.fault(one, ".vtp", 60.0) is None
    probe.close()


def test_the_sentence_names_the_file_and_the_point(tmp_path: Path) -> None:
    bad = tmp_path / "bad.vtk"
    bad.write_text(seeds.BAD_VTK["vtk, a vertex that is not there"][1])
    with pytest.raises(MeshError, match=r"bad\.vtk cannot be read \(.*999999.*4.*\): .* export"):
        read_mesh(bad)
