"""`label_dataset` from and to an S3 server on this machine: what is on disk, on a store."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest
from click.testing import CliRunner
from datasets_of_blocks import (
    FOLDERS,
    HALO,
    all_parts,
    domains,
    files_of,
    folder,
    oracle,
    write_csv,
    write_parquet,
)
from late import pandas
from object_stores import bucket, server

import geodomain
from geodomain import TableError, label_dataset
from geodomain.cli import main

__all__ = ["bucket", "folder", "server"]
pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
IN, OUT = "s3://mine/a b/blocks", "s3://mine/labelled"


class Bucket(Protocol):
    """What the tests use of s3fs."""

    def put(self, here: str, there: str, *, recursive: bool) -> None: ...
    def find(self, path: str) -> list[str]: ...
    def cat_file(self, path: str) -> bytes: ...
    def pipe_file(self, path: str, data: bytes) -> None: ...
    def rm_file(self, path: str) -> None: ...
    def info(self, path: str) -> dict[str, object]: ...
    def invalidate_cache(self) -> None: ...


def upload(bucket: Bucket, dataset: str) -> None:
    """Put a dataset into the bucket."""
    for path in sorted(Path(dataset).rglob("*")):
        if path.is_file():
            bucket.pipe_file(f"{IN}/{path.relative_to(dataset).as_posix()}", path.read_bytes())


def objects(bucket: Bucket, url: str = OUT) -> dict[str, bytes]:
    """Return the labelled parts of a bucket by their names."""
    bucket.invalidate_cache()
    top = url.removeprefix("s3://") + "/"
    found = {path.removeprefix(top): path for path in bucket.find(url)}
    return {
        name: bucket.cat_file(path)
        for name, path in found.items()
        if not name.startswith("_geodomain/")
    }


@pytest.mark.parametrize("write", [write_csv, write_parquet], ids=["text", "Parquet"])
def test_the_same_bytes_wherever_the_files_are(bucket: Bucket, folder: Path, write: object) -> None:
    write("blocks", all_parts())
    upload(bucket, "blocks")
    plain = label_dataset("blocks", domains(), "plain", record="plain.json")
    for number, (dataset, output) in enumerate([(IN, OUT), (IN, "here"), ("blocks", OUT + "2")]):
        summary = label_dataset(dataset, domains(), output, record=f"{number}.json")
        found = files_of(output) if output == "here" else objects(bucket, output)
        assert found == files_of("plain") and len(found) == len(all_parts())
        assert (summary.rows, summary.domains, summary.output) == (
            plain.rows, plain.domains, output,
        )  # fmt: skip
        parts = [
            json.loads(Path(name).read_text())["parts"] for name in (f"{number}.json", "plain.json")
        ]
        assert parts[0] == parts[1]
    labels = [label for name in sorted(all_parts()) for label in oracle(all_parts()[name])]
    if write is write_csv:
        rows = [
            line
            for name in sorted(all_parts())
            for line in objects(bucket)[name].decode().splitlines()[1:]
        ]
        assert [row.rpartition(",")[2] for row in rows] == labels


def test_what_is_done_is_known_by_the_etag(bucket: Bucket, folder: Path) -> None:
    write_csv("blocks", all_parts())
    upload(bucket, "blocks")
    label_dataset(IN, domains(), OUT)
    bucket.invalidate_cache()
    before = {name: bucket.info(f"{OUT}/{name}")["LastModified"] for name in all_parts()}
    again = label_dataset(IN, domains(), OUT)
    assert again.notes[0] == "6 of 6 parts were labelled by an earlier run"
    changed, gone, tampered = list(all_parts())[:3]
    # As many bytes as before: only the ETag tells.
    text = (Path("blocks") / changed).read_bytes()
    bucket.pipe_file(f"{IN}/{changed}", text.replace(b"OX", b"FR"))
    bucket.rm_file(f"{OUT}/{gone}")
    bucket.pipe_file(f"{OUT}/{tampered}", b"X")
    summary = label_dataset(IN, domains(), OUT)
    assert summary.notes[0] == "3 of 6 parts were labelled by an earlier run"
    bucket.invalidate_cache()
    after = {name: bucket.info(f"{OUT}/{name}")["LastModified"] for name in all_parts()}
    assert {name for name in all_parts() if after[name] == before[name]} >= set(
        list(all_parts())[3:]
    )
    label_dataset(IN, domains(), "fresh")
    assert objects(bucket) == files_of("fresh")


def test_the_output_of_another_job_or_of_something_else_is_refused(
    bucket: Bucket, folder: Path
) -> None:
    write_csv("blocks", all_parts())
    upload(bucket, "blocks")
    label_dataset(IN, domains(), OUT)
    before = objects(bucket)
    with pytest.raises(TableError, match=r"labelled holds the parts of another job \(its domains"):
        label_dataset(IN, {"ORE": HALO}, OUT)
    with pytest.raises(TableError, match=r"another job \(its dataset is s3://mine/a b/blocks\)"):
        label_dataset("blocks", domains(), OUT)
    assert objects(bucket) == before
    label_dataset(IN, {"ORE": HALO}, OUT, overwrite=True)
    label_dataset(IN, {"ORE": HALO}, "fresh")
    assert objects(bucket) == files_of("fresh")
    bucket.pipe_file("s3://mine/thesis/chapter.doc", b"three years")
    with pytest.raises(TableError, match="s3://mine/thesis is not empty, and is not an output"):
        label_dataset(IN, domains(), "s3://mine/thesis", overwrite=True)


@pytest.mark.parametrize(
    ("dataset", "output", "error", "said"),
    [
        (IN, IN + "/out", TableError, "is inside the dataset's folder"),
        (IN, IN + "/", TableError, "is the dataset's folder"),
        (IN, "s3://mine", TableError, "holds the dataset's folder"),
        (IN, "s3://mine/a b/blocks 2", None, ""),
        ("s3://mine/nothing", OUT, TableError, "has no Parquet or CSV files"),
        (IN + "/zone=A/1.csv", OUT, TableError, "is a single object: name its folder"),
        ("s3://nobody/blocks", OUT, OSError, "not in the store|has no Parquet"),
        (IN, "s3://nobody/out", OSError, "not in the store"),
        ("ftp://host/blocks", OUT, TableError, "ftp:// is not supported; use s3://, gs://"),
        (IN, "http://host/out", TableError, "http:// is not supported"),
    ],
)
def test_places(
    bucket: Bucket, folder: Path, dataset: str, output: str, error: type | None, said: str
) -> None:
    write_csv("blocks", {"zone=A/1.csv": all_parts()["zone=A/1.csv"]})
    upload(bucket, "blocks")
    if error is None:
        assert label_dataset(dataset, domains(), output).rows == len(all_parts()["zone=A/1.csv"])
        return
    before = bucket.find("mine")
    with pytest.raises((error, TableError), match=said):
        label_dataset(dataset, domains(), output)
    bucket.invalidate_cache()
    assert bucket.find("mine") == before


def test_a_pattern_and_names_that_are_passed_over(bucket: Bucket, folder: Path) -> None:
    write_csv("blocks", all_parts())
    upload(bucket, "blocks")
    for name in ("_SUCCESS", "zone=A/.part.crc", "_old/1.csv", "../out.csv"):
        bucket.pipe_file(f"{IN}/{name}", b"?")
    assert label_dataset(IN, domains(), OUT).rows == sum(map(len, all_parts().values()))
    some = label_dataset(f"{IN}/zone=[AB]/1.*", domains(), "here")
    assert sorted(files_of("here")) == ["zone=A/1.csv", "zone=B/1.csv"]
    assert some.rows == len(all_parts()["zone=A/1.csv"]) + len(all_parts()["zone=B/1.csv"])


def test_compressed_text_and_empty_parts(bucket: Bucket, folder: Path) -> None:
    text = "X,Y,Z\n" + "".join(f"{n % 20},{n % 7},5\n" for n in range(400_000))
    Path("blocks").mkdir()
    Path("blocks/a.csv.gz").write_bytes(gzip.compress(text.encode()))
    Path("blocks/b.csv.gz").write_bytes(gzip.compress(b"X,Y,Z\n"))
    upload(bucket, "blocks")
    label_dataset(IN, {"HALO": HALO}, OUT)
    label_dataset("blocks", {"HALO": HALO}, "plain")
    assert objects(bucket) == files_of("plain")


def test_parts_that_differ_are_found_before_any_work(bucket: Bucket, folder: Path) -> None:
    part = all_parts()["zone=A/1.csv"]
    write_parquet("blocks", {"a.csv": part, "b.csv": part.assign(AU=1.0)})
    upload(bucket, "blocks")
    with pytest.raises(TableError, match=r"b\.parquet has 'AU: double' as column 8"):
        label_dataset(IN, domains(), OUT)
    assert objects(bucket) == {}


def test_a_large_part_appears_whole_or_not_at_all(
    bucket: Bucket, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upload in pieces that fails in the middle leaves no object, and no state."""
    s3fs = pytest.importorskip("s3fs")
    monkeypatch.setattr(s3fs.core, "calculate_chunksize", lambda *_, **__: 5 << 20)
    rows = pandas.concat([all_parts()["zone=A/1.csv"]] * 2400)
    write_csv("blocks", {"a.csv": rows})
    upload(bucket, "blocks")
    label_dataset("blocks", domains(), "plain")
    assert Path("plain/a.csv").stat().st_size > 10 << 20
    call = s3fs.S3FileSystem._call_s3
    asked: list[str] = []

    async def failing(self: object, method: str, *given: object, **asked_for: object) -> object:
        asked.append(method)
        if method == "complete_multipart_upload":
            message = "the cable is cut"
            raise ConnectionError(message)
        return await call(self, method, *given, **asked_for)

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", failing)
    with pytest.raises(OSError, match="the cable is cut"):
        label_dataset(IN, domains(), OUT)
    assert "upload_part" in asked and objects(bucket) == {}
    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", call)
    summary = label_dataset(IN, domains(), OUT)
    assert not any("earlier run" in note for note in summary.notes)
    assert objects(bucket) == files_of("plain")


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX's")
def test_a_killed_run_leaves_whole_objects_and_goes_on(bucket: Bucket, folder: Path) -> None:
    write_csv("blocks", all_parts())
    upload(bucket, "blocks")
    label_dataset("blocks", domains(), "plain")
    script = f"""
import os, signal, warnings
from datasets_of_blocks import domains
import geodomain
from geodomain.datasets.jobs import States
warnings.simplefilter("ignore")
write = States.write
def killing(states, part, done):
    if part.name == "zone=B/1.csv":
        os.kill(os.getpid(), signal.SIGKILL)
    write(states, part, done)
States.write = killing
geodomain.label_dataset({IN!r}, domains(), {OUT!r})
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": FOLDERS},
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = objects(bucket)
    assert left.items() <= files_of("plain").items() and len(left) == 4
    summary = label_dataset(IN, domains(), OUT)
    assert summary.notes[0] == "3 of 6 parts were labelled by an earlier run"
    assert objects(bucket) == files_of("plain")


def test_the_command_and_workers_take_urls(bucket: Bucket, folder: Path) -> None:
    pytest.importorskip("distributed")
    geodomain.write_mesh(HALO, "halo.ply")
    write_csv("blocks", all_parts())
    upload(bucket, "blocks")
    label_dataset("blocks", {"HALO": HALO}, "plain")
    given = ["label", IN, "-o", OUT, "--solid", "HALO=halo.ply"]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 0, result.output
    assert objects(bucket) == files_of("plain")
    Path("script.py").write_text(
        "import geodomain, warnings\nwarnings.simplefilter('ignore')\n"
        "if __name__ == '__main__':\n"
        f"    geodomain.label_dataset({IN!r}, {{'HALO': 'halo.ply'}}, {OUT + '2'!r},"
        " scheduler='local:2')\n"
    )
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert objects(bucket, OUT + "2") == files_of("plain")


@pytest.mark.parametrize(
    ("library", "url", "said"),
    [
        ("fsspec", "s3://mine/a", "s3fs, which is not installed: pip install 'geodomain[remote]'"),
        ("s3fs", "s3a://mine/a", "s3fs, which is not installed: pip install 'geodomain[remote]'"),
        ("gcsfs", "gs://mine/a", "gcsfs, which is not installed: pip install gcsfs"),
        ("adlfs", "az://mine/a", "adlfs, which is not installed: pip install adlfs"),
    ],
)
def test_a_library_that_is_not_installed_is_named(library: str, url: str, said: str) -> None:
    script = f"""
import sys
sys.modules[{library!r}] = None
import geodomain
try:
    geodomain.label_dataset({url!r}, {{}}, "out")
except geodomain.TableError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == f"{url.replace('s3a', 's3')} needs {said}\n", done.stderr
