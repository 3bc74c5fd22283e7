"""Tables come from files, gzip and pipes, and go back whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

from geodomain.errors import TableError
from geodomain.files import outputs
from geodomain.files.streams import BLOCK_BYTES, Compressor, Decompressor, open_source, open_target
from geodomain.tables.layout import TableLayout
from geodomain.tables.text import Splice, relabel

TEXT = b"ID,XC,YC,ZC\r\n" + b"".join(b"%d,1.50,2.0,3\r\n" % i for i in range(20_000))
LABELLED = TEXT.replace(b"ZC\r\n", b"ZC,domain\r\n").replace(b",3\r\n", b",3,ORE\r\n")
POSIX = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


def label_file(source, target, **options):
    layout = TableLayout(b",", b".", ("ID", "XC", "YC", "ZC"), (1, 2, 3), None, 13, 2, ())
    splice = Splice(((11, 11, b",domain"),), ((b"ORE",),))
    with open_source(source) as opened, open_target(target, source=opened, **options) as sink:
        zeros = lambda points, *_: [np.zeros(len(points), np.int32)]  # noqa: E731
        return relabel(opened, sink, layout, splice, zeros, chunk_bytes=50_000)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "blocks.csv"
    path.write_bytes(TEXT)
    return path


def nameless(folder):
    descriptor = outputs._open_nameless(folder)
    if descriptor >= 0:
        os.close(descriptor)
    return descriptor >= 0


@pytest.fixture(params=["nameless", "named"])
def kind_of_part(request, monkeypatch):
    if request.param == "named":
        monkeypatch.setattr(outputs, "_open_nameless", lambda folder: -1)


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_becomes_a_file(table, kind_of_part):
    out = table.with_name("out.csv")
    summary = label_file(table, out)
    assert out.read_bytes() == LABELLED
    assert (summary.rows, summary.bytes_written) == (20_000, len(LABELLED))
    assert files(table.parent) == ["blocks.csv", "out.csv"]


@pytest.mark.parametrize("name", ["blocks.csv.gz", "blocks.csv"])
def test_gzip_is_known_by_content(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(TEXT[:5000]) + gzip.compress(TEXT[5000:]) + bytes(512))
    label_file(path, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == LABELLED
    label_file(path, path, in_place=True)
    assert gzip.decompress(path.read_bytes()) == LABELLED


def test_a_plain_file_may_be_called_gz(tmp_path):
    path = tmp_path / "blocks.csv.gz"
    path.write_bytes(TEXT)
    label_file(path, path, in_place=True)
    assert path.read_bytes() == LABELLED


def test_output_is_compressed_by_name(table):
    first, second = table.with_name("a.csv.gz"), table.with_name("b.csv.GZ")
    label_file(table, first)
    label_file(table, second)
    assert gzip.decompress(first.read_bytes()) == LABELLED
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("kept", [3, 10, 100, -9, -1])
def test_truncated_gzip(tmp_path, kept):
    path = tmp_path / "blocks.csv.gz"
    path.write_bytes(gzip.compress(TEXT)[:kept])
    with pytest.raises(TableError, match=r"blocks.csv.gz ends in the middle .* cut short"):
        label_file(path, tmp_path / "out.csv")
    assert files(tmp_path) == ["blocks.csv.gz"]


@pytest.mark.parametrize("damage", [b"rubbish", b"\x1f\x8b\x08"])
def test_damaged_gzip(tmp_path, damage):
    path = tmp_path / "blocks.csv.gz"
    path.write_bytes(gzip.compress(TEXT) + damage)
    with pytest.raises(TableError, match=r"damaged|cut short"):
        label_file(path, tmp_path / "out.csv")
    assert files(tmp_path) == ["blocks.csv.gz"]


def test_an_empty_file_and_a_short_one(tmp_path):
    for content in (b"", b"\x1f", b"ab"):
        path = tmp_path / "short.csv"
        path.write_bytes(content)
        with open_source(path) as source:
            assert not source.compressed
            assert source.peek(10) == content
            buffer = bytearray(5)
            assert source.readinto(memoryview(buffer)) == len(content)
            assert source.readinto(memoryview(buffer)) == 0


def test_peeking_reads_nothing(table):
    with open_source(table) as source:
        assert source.peek(7) == TEXT[:7]
        assert source.peek(20) == TEXT[:20]
        assert source.peek(3) == TEXT[:3]
        buffer = bytearray(len(TEXT))
        count = source.readinto(memoryview(buffer))
        count += source.readinto(memoryview(buffer)[count:])
        assert buffer == TEXT
        assert (source.name, source.size, source.position) == ("blocks.csv", len(TEXT), len(TEXT))


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_source(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError), open_target(tmp_path / "none" / "out.csv"):
        pass


def test_an_output_that_is_there_is_kept(table):
    out = table.with_name("out.csv")
    out.write_bytes(b"precious")
    with pytest.raises(FileExistsError, match="already exists; name another output"):
        label_file(table, out)
    assert out.read_bytes() == b"precious"
    label_file(table, out, overwrite=True)
    assert out.read_bytes() == LABELLED


@pytest.mark.parametrize("link", [os.symlink, os.link, lambda old, new: None])
@pytest.mark.parametrize("overwrite", [True, False])
def test_output_is_not_input_by_any_link(table, link, overwrite):
    other = table.with_name("other.csv")
    link(table, other)
    with pytest.raises(TableError, match=r"is the input itself; name another output"):
        label_file(table, other if other.exists() else table, overwrite=overwrite)
    assert table.read_bytes() == TEXT


@POSIX
def test_in_place_follows_links_and_keeps_the_mode(table, kind_of_part):
    table.chmod(0o640)
    folder = table.parent / "links"
    folder.mkdir()
    link = folder / "link.csv"
    link.symlink_to(table)
    label_file(link, link, in_place=True)
    assert link.is_symlink()
    assert table.read_bytes() == LABELLED
    assert stat.S_IMODE(table.stat().st_mode) == 0o640
    assert files(folder) == ["link.csv"]


@POSIX
def test_a_new_file_has_the_usual_mode_once_it_is_whole(table, kind_of_part):
    usual = table.with_name("usual")
    usual.touch()
    out = table.with_name("out.csv")
    with open_target(out) as sink:
        sink.write(memoryview(b"x"))
        assert stat.S_IMODE(os.fstat(sink._descriptor).st_mode) == 0o600
        assert not out.exists()
    assert out.stat().st_mode == usual.stat().st_mode


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, TableError])
@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz"])
def test_an_error_leaves_what_was_there(tmp_path, error, name, kind_of_part):
    out = tmp_path / name
    for before in (None, b"precious"):
        if before is not None:
            out.write_bytes(before)
        with pytest.raises(error), open_target(out, overwrite=True) as sink:
            sink.write(memoryview(b"half"))
            raise error
        assert files(tmp_path) == ([] if before is None else [name])
    assert out.read_bytes() == b"precious"


@POSIX
def test_a_device_is_written_to_as_it_is(table):
    label_file(table, "/dev/null")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@POSIX
def test_a_named_pipe_both_ways(table):
    pipe = table.with_name("pipe")
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    label_file(table, pipe)
    reader.join()
    assert got == [LABELLED]


# A background job of a shell ignores interrupts, and so would what it starts.
PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {tests!r})
from test_streams import label_file
print("ready", file=sys.stderr, flush=True)
label_file(sys.argv[1], sys.argv[2], **eval(sys.argv[3]))
"""


def start(source, target, options="{}", **pipes):
    program = PROGRAM.format(tests=str(Path(__file__).parent))
    return subprocess.Popen(
        [sys.executable, "-c", program, str(source), str(target), options],
        stderr=subprocess.PIPE, **pipes,
    )  # fmt: skip


@pytest.mark.full
@POSIX
def test_killed_at_any_moment_leaves_the_old_or_the_new(table):
    big = table.with_name("big.csv")
    big.write_bytes(TEXT + TEXT[13:] * 50)
    out = table.with_name("out.csv")
    new = LABELLED + LABELLED[20:] * 50
    dice, seen = random.Random(3), set()
    for _ in range(8):
        out.write_bytes(b"old")
        run = start(big, out, "{'overwrite': True}")
        run.stderr.readline()
        time.sleep(dice.uniform(0, 0.1))
        run.send_signal(signal.SIGKILL)
        run.wait()
        run.stderr.close()
        content = out.read_bytes()
        assert content in (b"old", new)
        seen.add(content == new)
    assert False in seen  # some runs must have been cut short
    if nameless(table.parent):
        assert files(table.parent) == ["big.csv", "blocks.csv", "out.csv"]


@pytest.mark.full
@POSIX
def test_interrupted_leaves_nothing(table):
    big = table.with_name("big.csv")
    big.write_bytes(TEXT + TEXT[13:] * 400)
    run = start(big, table.with_name("out.csv"))
    run.stderr.readline()
    time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    _, talk = run.communicate()
    assert b"KeyboardInterrupt" in talk
    assert files(table.parent) == ["big.csv", "blocks.csv"]


@POSIX
def test_interrupted_while_standard_input_waits():
    run = start("-", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    run.stdin.write(TEXT)
    run.stdin.flush()
    run.stderr.readline()
    time.sleep(0.3)
    run.send_signal(signal.SIGINT)
    run.wait(timeout=10)
    talk = run.stderr.read()
    run.communicate()
    assert b"KeyboardInterrupt" in talk
    assert b"Fatal" not in talk


@pytest.mark.full
@pytest.mark.parametrize("compressed", [False, True])
def test_standard_input_and_output(compressed):
    run = start("-", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, _ = run.communicate(gzip.compress(TEXT) if compressed else TEXT)
    assert run.returncode == 0
    assert out == LABELLED


@pytest.mark.full
@POSIX
def test_standard_streams_are_not_the_same_file(table):
    with table.open("rb") as stdin, table.open("ab") as stdout:
        for source, target in ((table, "-"), ("-", table)):
            run = start(source, target, stdin=stdin, stdout=stdout)
            _, talk = run.communicate()
            assert b"is the input itself" in talk
    assert table.read_bytes() == TEXT


@POSIX
def test_a_closed_pipe_can_end_quietly(table):
    program = PROGRAM.format(tests=str(Path(__file__).parent)).replace(
        "label_file(sys", "try:\n    label_file(sys"
    )
    program += "except BrokenPipeError:\n    sys.exit(7)\n"
    run = subprocess.Popen(
        [sys.executable, "-c", program, str(table), "-", "{}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    run.stdout.read(1)
    run.stdout.close()
    talk = run.stderr.read()
    run.stderr.close()
    assert run.wait() == 7
    assert talk == b"ready\n"


def test_standard_streams_without_a_file(monkeypatch):
    class Replaced:
        buffer = io.BytesIO(TEXT)

    class Caught:
        buffer = io.BytesIO()

    monkeypatch.setattr(sys, "stdin", Replaced)
    monkeypatch.setattr(sys, "stdout", Caught)
    label_file("-", "-")
    assert Caught.buffer.getvalue() == LABELLED


# --- Gzip files hold what was written, the same however it was cut.


LINES = b"".join(b"%d,%.3f\n" % (i, i / 7) for i in range(120_000))


def compressed(data, *, cut, threads):
    out = io.BytesIO()
    stream = Compressor(out, threads)
    for start in range(0, len(data), cut):
        stream.write(memoryview(data)[start : start + cut])
    stream.finish()
    stream.close()
    return out.getvalue()


@pytest.mark.parametrize("size", [0, 1, 1000, BLOCK_BYTES - 1, BLOCK_BYTES, 3 * BLOCK_BYTES + 7])
def test_gives_back_what_was_written(size):
    data = (LINES * 2)[:size]
    whole = compressed(data, cut=10**9, threads=1)
    assert gzip.decompress(whole) == data
    assert zlib.decompressobj(31).decompress(whole) == data  # a single member
    assert compressed(data, cut=100_001, threads=3) == whole


@pytest.mark.parametrize("room", [1, 17, 1000, 1 << 20])
def test_reads_into_any_room(room):
    data = LINES[:5000] if room == 1 else LINES
    stream = Decompressor(io.BytesIO(gzip.compress(data[:2000]) + gzip.compress(data[2000:])), "t")
    got, buffer = bytearray(), bytearray(room)
    while count := stream.readinto(memoryview(buffer)):
        got += buffer[:count]
    assert got == data


def test_noise_does_not_compress_but_comes_back():
    data = random.Random(1).randbytes(BLOCK_BYTES + 100_000)
    assert gzip.decompress(compressed(data, cut=65_536, threads=2)) == data
