"""Gzip files hold what was written, the same however it was cut."""

import gzip
import io
import random
import zlib

import pytest

from geodomain.files.streams import BLOCK_BYTES, Compressor, Decompressor

TEXT = b"".join(b"%d,%.3f\n" % (i, i / 7) for i in range(120_000))


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
    data = (TEXT * 2)[:size]
    whole = compressed(data, cut=10**9, threads=1)
    assert gzip.decompress(whole) == data
    assert zlib.decompressobj(31).decompress(whole) == data  # a single member
    assert compressed(data, cut=100_001, threads=3) == whole


@pytest.mark.parametrize("room", [1, 17, 1000, 1 << 20])
def test_reads_into_any_room(room):
    data = TEXT[:5000] if room == 1 else TEXT
    stream = Decompressor(io.BytesIO(gzip.compress(data[:2000]) + gzip.compress(data[2000:])), "t")
    got, buffer = bytearray(), bytearray(room)
    while count := stream.readinto(memoryview(buffer)):
        got += buffer[:count]
    assert got == data


def test_noise_does_not_compress_but_comes_back():
    data = random.Random(1).randbytes(BLOCK_BYTES + 100_000)
    assert gzip.decompress(compressed(data, cut=65_536, threads=2)) == data
