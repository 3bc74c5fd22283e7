"""What is written is read back the same, and appears whole or not at all."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes import cube

from geodomain import GeodomainWarning, Mesh, MeshError, read_mesh, write_mesh

coordinate = st.one_of(
    st.floats(-1e9, 1e9).filter(lambda v: v == 0 or abs(v) > 1e-90),
    st.sampled_from([7480000.7, 0.1, 1e-3, 1 / 3, -0.0, 2.0**60]),
)


@st.composite
def meshes(draw):
    vertices = draw(st.lists(st.tuples(*[coordinate] * 3), min_size=1, max_size=6))
    corner = st.integers(0, len(vertices) - 1)
    triangles = draw(st.lists(st.tuples(*[corner] * 3), min_size=1, max_size=6))
    return Mesh(vertices, triangles)


@pytest.mark.parametrize("extension", [".ply", ".obj", ".off", ".OBJ"])
@settings(max_examples=60, deadline=None)
@given(mesh=meshes())
def test_every_bit_comes_back(extension, mesh):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{extension}"
        write_mesh(mesh, path)
        again = read_mesh(path)
        assert [p.name for p in Path(folder).iterdir()] == [path.name]
    assert np.array_equal(again.vertices, mesh.vertices)
    assert np.array_equal(again.triangles, mesh.triangles)
    assert again.name == path.name


def test_vtp_keeps_every_bit(tmp_path):
    mesh = cube(0.1, (512345.678, 7480000.7, 0.3))
    write_mesh(mesh, tmp_path / "a.vtp")
    again = read_mesh(tmp_path / "a.vtp")
    assert np.array_equal(again.vertices, mesh.vertices)
    assert np.array_equal(again.triangles, mesh.triangles)


def test_stl_keeps_what_single_precision_can_hold(tmp_path):
    mesh = cube(0.5)
    write_mesh(mesh, tmp_path / "a.stl")
    again = read_mesh(tmp_path / "a.stl")
    assert np.array_equal(again.vertices[again.triangles], mesh.vertices[mesh.triangles])
    normals = np.frombuffer((tmp_path / "a.stl").read_bytes()[84:], "<f4,<f4,<f4,V38")
    assert normals[0].tolist()[:3] == (0, 0, -1)


def test_stl_says_how_far_it_moves_a_vertex(tmp_path):
    mesh = cube(1.0, (0.0, 7480000.7, 0.0))
    with pytest.warns(GeodomainWarning, match=r"moves vertices by up to 0\.2;.*\.ply") as caught:
        write_mesh(mesh, tmp_path / "a.stl")
    assert caught[0].filename == __file__


def test_stl_refuses_what_it_cannot_hold(tmp_path):
    with pytest.raises(MeshError, match=r"too large for STL: write \.ply"):
        write_mesh(cube(1e39), tmp_path / "a.stl")
    assert not any(tmp_path.iterdir())


def test_an_unknown_extension_is_refused(tmp_path):
    with pytest.raises(
        MeshError, match=r"a\.xyz has no extension of a format that can be written.*\.ply, \.omf"
    ):
        write_mesh(cube(), tmp_path / "a.xyz")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.ply"
    write_mesh(cube(), path)
    before = path.read_bytes()
    with pytest.raises(MeshError):
        write_mesh(cube(1e39), path.with_suffix(".stl"))

    def fail(*_):
        raise OSError

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError):
        write_mesh(cube(2.0), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.ply"]


def test_a_missing_folder_is_the_systems_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_mesh(cube(), tmp_path / "no" / "a.ply")
