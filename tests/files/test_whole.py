"""Large files are read by the core, and hold what Python's own reading says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from shapes import cube

from geodomain.compute import rows
from geodomain.compute.rows import read_bytes
from geodomain.files import streams
from geodomain.files.streams import FileBytes, read_whole
from geodomain.formats.wireframes import write_mesh

LENGTH = 9_000_001  # three stretches of the core, the last of them short
DATA = os.urandom(LENGTH)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "a.stl"
    path.write_bytes(DATA)
    return path


@pytest.mark.parametrize("large", [0, LENGTH, LENGTH + 1])
@pytest.mark.parametrize("at_once", [1_000_003, LENGTH, 1 << 26])
def test_large_files(place: Path, monkeypatch, at_once: int, large: int) -> None:
    monkeypatch.setattr(streams, "_LARGE", large)
    monkeypatch.setattr(rows, "_AT_ONCE", at_once)
    assert read_whole(place) == DATA


@pytest.mark.parametrize("size", [LENGTH - 1, LENGTH + 1, 10 * LENGTH])
def test_a_file_of_another_size_is_left_to_python(place: Path, size: int, monkeypatch) -> None:
    """As when it grows, or is cut off, between the question for its size and the reading."""
    with place.open("rb") as file:
        assert read_bytes(file.fileno(), size) is None
    changed = os.stat_result([*place.stat()[:6], size, *place.stat()[7:]])
    monkeypatch.setattr(streams, "_LARGE", 0)
    monkeypatch.setattr(streams, "require_no_device", lambda _: changed)
    assert read_whole(place) == DATA


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_once(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(streams, "_LARGE", 0)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(DATA,))
    writer.start()
    assert read_whole(pipe) == DATA
    writer.join()


def test_what_cannot_be_read(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(streams, "_LARGE", 0)
    (tmp_path / "empty").touch()
    assert read_whole(tmp_path / "empty") == b""
    with pytest.raises(IsADirectoryError):
        read_whole(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_whole(tmp_path / "none")


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", ["a.parquet", "a.vti", "a.vtu"])
def test_a_pipe_is_no_file_that_is_read_here_and_there(tmp_path: Path, name: str) -> None:
    """Other libraries open it, and wait for who writes, whatever signal comes."""
    os.mkfifo(tmp_path / name)
    program = "import geodomain, sys; geodomain.label_file(sys.argv[1], {'ORE': 'ore.obj'}, None)"
    write_mesh(cube(), tmp_path / "ore.obj")
    done = subprocess.run(
        [sys.executable, "-c", program, name],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "it is a pipe, and this format needs a file: save it first" in done.stderr


def test_bytes_of_a_file_are_found_and_read(tmp_path: Path) -> None:
    data = b"a" * 70_000 + b"<tag" + b"b" * 200_000 + b">" + b"c" * 9
    path = tmp_path / "a"
    path.write_bytes(data)
    with FileBytes(path) as file:
        assert len(file) == len(data) and file[69_990:70_010] == data[69_990:70_010]
        assert file[-5:] == b"ccccc" and file[9:3] == b""
        for wanted in (b"<", b"<tag", b"b>", b">c", b"a", b"none"):
            for begin in (0, 1, 65_534, 69_998, 70_003, 200_000):
                for end in (None, 70_001, 70_004, 300_000):
                    expected = data.find(wanted, begin, len(data) if end is None else end)
                    assert file.find(wanted, begin, end) == expected


@pytest.mark.parametrize("left", [0, 100, 70_002])
def test_a_file_that_is_cut_while_it_is_read_is_an_error(tmp_path: Path, left: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"a" * 300_000)
    with FileBytes(path) as file:
        os.truncate(path, left)
        with pytest.raises(OSError, match="became shorter while it was read"):
            file[200_000:]
        with pytest.raises(OSError, match="became shorter"):
            file.find(b"<")
