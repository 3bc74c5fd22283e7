"""Raw little-endian files: their types and sizes; they are there whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from geodomain.errors import MeshError, TableError
from geodomain.query.raw_files import open_segments, read_raw_mesh, written_together

CORNERS = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


@pytest.fixture
def write(tmp_path: Path):
    """Return what writes an array, little-endian, and gives the path."""

    def save(name: str, values, code: str) -> Path:
        path = tmp_path / name
        np.asarray(values, dtype=code).tofile(path)
        return path

    return save


@pytest.mark.parametrize("code", ["<f4", "<f8"])
def test_a_mesh_comes_back(write, code: str) -> None:
    vertices = write(f"vertices_f{8 * int(code[-1])}", CORNERS, code)
    mesh = read_raw_mesh(vertices, write("triangles_i32", FACES, "<i4"))
    assert mesh.vertices.tolist() == CORNERS
    assert mesh.triangles.tolist() == FACES


def test_single_precision_is_widened_exactly(write) -> None:
    odd = np.array([[0.1, 414_000.3, 7_480_000.7]] * 3, dtype="<f4")
    mesh = read_raw_mesh(write("v_f32", odd, "<f4"), write("t", [[0, 1, 2]], "<i4"))
    assert (mesh.vertices == odd).all()
    assert mesh.vertices[0, 2] == 7_480_000.5


def test_the_size_tells_where_it_can(write) -> None:
    faces = write("t", FACES, "<i4")
    # Three vertices of float32 have 36 bytes, which are no rows of float64.
    assert (
        len(read_raw_mesh(write("v", CORNERS[:3], "<f4"), write("t1", [[0, 1, 2]], "<i4")).vertices)
        == 3
    )
    # Four of float32 have 48, two of float64, but there is an index 3.
    assert len(read_raw_mesh(write("v", CORNERS, "<f4"), faces).vertices) == 4
    # Four of float64 may be eight of float32, of which four are used.
    double = write("v", CORNERS, "<f8")
    with pytest.raises(
        TableError, match=r"96 bytes, .* 8 rows of float32 or 4 of float64.*vertex_type="
    ):
        read_raw_mesh(double, faces)
    assert read_raw_mesh(double, faces, vertex_type="float64").vertices.tolist() == CORNERS


def test_what_the_user_says_comes_before_the_name(write) -> None:
    path = write("vertices_f32", CORNERS, "<f8")
    mesh = read_raw_mesh(path, write("t", FACES, "<i4"), vertex_type="float64")
    assert mesh.vertices.tolist() == CORNERS


@pytest.mark.parametrize(
    ("name", "size", "said"),
    [("v_f64", 36, "three float64"), ("v_f32", 13, "three float32"), ("v", 13, "12 or 24 bytes")],
)
def test_vertices_of_no_whole_rows(tmp_path: Path, write, name: str, size: int, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(bytes(size))
    with pytest.raises(TableError, match=said):
        read_raw_mesh(path, write("t", [[0, 0, 0]], "<i4"))


def test_triangles_of_no_whole_rows(write) -> None:
    with pytest.raises(TableError, match=r"t has 16 bytes, .* three int32"):
        read_raw_mesh(write("v_f32", CORNERS, "<f4"), write("t", [0, 1, 2, 3], "<i4"))


@pytest.mark.parametrize("name", ["v", "v_f32"])
@pytest.mark.parametrize("bad", [4, -1])
def test_an_index_out_of_range(write, name: str, bad: int) -> None:
    vertices, faces = write(name, CORNERS, "<f4"), write("t", [[0, 1, 2], [0, 1, bad]], "<i4")
    with pytest.raises(
        MeshError, match=rf"triangle 1 is \(0, 1, {bad}\), but there are 4 .*correct"
    ):
        read_raw_mesh(vertices, faces, vertex_type=None if name != "v" else "float32")


def test_too_large_an_index_for_both_types(write) -> None:
    with pytest.raises(MeshError, match=r"triangle 0 .* but there are 4 vertices"):
        read_raw_mesh(write("v", CORNERS, "<f4"), write("t", [[0, 1, 99]], "<i4"))


def test_a_mesh_of_nothing(write) -> None:
    mesh = read_raw_mesh(write("v", [], "<f4"), write("t", [], "<i4"))
    assert len(mesh.triangles) == 0


@pytest.mark.parametrize("code", ["<f4", "<f8"])
@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_segments_come_in_chunks(write, code: str, size: int) -> None:
    values = np.random.default_rng(1).random((2, 7, 3)).astype(code)
    kind = {"<f4": "float32", "<f8": "float64"}[code]
    rays = open_segments(
        write("from", values[0], code), write("to", values[1], code), ray_type=kind
    )
    assert len(rays) == 7
    chunks = [np.array(chunk) for chunk in rays.chunks(size)]
    assert [chunk.shape[1] for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
    joined = np.concatenate(chunks, axis=1)
    assert joined.dtype == code and (joined == values).all()


def test_a_thread_reads_into_two_rooms_by_turns(write) -> None:
    values = np.arange(90.0).reshape(2, 15, 3)
    rays = open_segments(write("a_f32", values[0], "<f4"), write("b_f32", values[1], "<f4"))
    places = [
        (starts.ctypes.data, ends.ctypes.data, len(starts), starts[0, 0], ends[-1, 2])
        for starts, ends in rays.chunks(4)
    ]
    assert [each[2:] for each in places] == [
        (4, 0, 56), (4, 12, 68), (4, 24, 80), (3, 36, 89),
    ]  # fmt: skip
    assert places[0][:2] == places[2][:2] != places[1][:2] == places[3][:2]


def test_no_segments(write) -> None:
    rays = open_segments(write("from", [], "<f4"), write("to", [], "<f4"))
    assert (len(rays), list(rays.chunks())) == (0, [])


def test_starts_and_ends_that_do_not_match(write) -> None:
    three, two = np.zeros((3, 3)), np.zeros((2, 3))
    with pytest.raises(TableError, match=r"3 rows of float32 and .* 2 rows of float32"):
        open_segments(write("a_f32", three, "<f4"), write("b_f32", two, "<f4"))
    with pytest.raises(TableError, match=r"4 rows of float32 and .* 2 rows of float64"):
        open_segments(write("a_f32", np.zeros((4, 3)), "<f4"), write("b_f64", two, "<f8"))


def test_what_has_no_size_is_no_raw_file(tmp_path: Path, write) -> None:
    """A pipe would pass for a file of nothing."""
    rays = write("a_f32", np.zeros((3, 3)), "<f4")
    places = [tmp_path]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        places.append(tmp_path / "pipe")
    for place in places:
        for ask in (
            lambda: open_segments(rays, place),  # noqa: B023
            lambda: read_raw_mesh(rays, place),  # noqa: B023
        ):
            with pytest.raises(OSError, match="a regular file"):
                ask()
    with pytest.raises(FileNotFoundError):
        open_segments(rays, tmp_path / "nowhere")


def test_segments_of_either_type_are_not_guessed(write) -> None:
    paths = [write(name, np.zeros((2, 3)), "<f4") for name in ("a", "b")]
    with pytest.raises(TableError, match=r"2 rows of float32 or 1 of float64.*ray_type="):
        open_segments(*paths)


def readers() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "geodomain-ahead"]


@pytest.mark.parametrize("side", ["starts", "ends"])
@pytest.mark.parametrize("left", [0, 1, 35, 36, 48, 59])
def test_a_file_that_shrinks_is_told(write, side: str, left: int) -> None:
    """At a row or within one, in the chunk that comes next or a later one."""
    rays = open_segments(
        write("a_f32", np.zeros((5, 3)), "<f4"), write("b_f32", np.zeros((5, 3)), "<f4")
    )
    chunks = rays.chunks(2)
    next(chunks)
    getattr(rays, side).write_bytes(bytes(left))
    with pytest.raises(OSError, match=rf"it was cut from 60 to {left} bytes while it was read"):
        list(chunks)
    assert readers() == []


def test_who_stops_in_the_middle_leaves_no_thread(write) -> None:
    rays = open_segments(
        write("a_f32", np.zeros((5, 3)), "<f4"), write("b_f32", np.zeros((5, 3)), "<f4")
    )
    chunks = rays.chunks(1)
    next(chunks)
    chunks.close()
    assert readers() == []


def test_arrays_are_appended_as_little_endian_numbers(tmp_path: Path) -> None:
    with written_together(tmp_path / "new", {"a_i32": "<i4", "b_f32": "<f4"}) as files:
        files["a_i32"].append([[1, 2], [3, 4]])
        files["a_i32"].append(np.array([True, False]))
        files["a_i32"].append([])
        files["b_f32"].append(np.array([1.5, 2.5e8])[::-1])
    assert (tmp_path / "new" / "a_i32").read_bytes() == np.array(
        [1, 2, 3, 4, 1, 0], "<i4"
    ).tobytes()
    assert (tmp_path / "new" / "b_f32").read_bytes() == np.array([2.5e8, 1.5], "<f4").tobytes()


def test_a_failure_leaves_every_file_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def fail() -> None:
        with written_together(tmp_path, {"a": "<i4", "b": "<i4"}, overwrite=True) as files:
            files["a"].append([1])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_failure_leaves_no_folder_that_was_not_there(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()

    def fail() -> None:
        with written_together(tmp_path / "there" / "new" / "newer", {"a": "<i4"}):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list((tmp_path / "there").iterdir()) == []


def test_a_file_that_is_there_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"old")
    opened = written_together(tmp_path, {"a": "<i4", "b": "<i4"})
    with pytest.raises(FileExistsError, match="b already exists"):
        opened.__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"")
    with pytest.raises(NotADirectoryError, match="not a folder"):
        written_together(tmp_path / "out", {"a": "<i4"}).__enter__()
