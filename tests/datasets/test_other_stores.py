"""`label_dataset` from and to servers of gs:// and az:// on this machine, where there are some.

`pip install gcsfs gcp-storage-emulator` for Google's; `pip install adlfs` and `npm install azurite`
for Azure's, whose program `azurite-blob` is on the PATH. S3 has tests of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest
from datasets_of_blocks import HALO, all_parts, domains, files_of, folder, write_csv, write_parquet

import geodomain
from geodomain import TableError, label_dataset

__all__ = ["folder"]
pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
# Of every copy of Azurite: no secret.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class Bucket(Protocol):
    """What the tests use of fsspec's file systems."""

    def find(self, path: str) -> list[str]: ...
    def cat_file(self, path: str) -> bytes: ...
    def pipe_file(self, path: str, data: bytes) -> None: ...
    def rm_file(self, path: str) -> None: ...
    def invalidate_cache(self) -> None: ...


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def running(port: int, *command: str) -> Iterator[None]:
    """Run a server until the block ends."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            assert process.poll() is None, command
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bucket]:
    """Give gcsfs over an empty bucket."""
    # Otherwise it asks by gRPC what kind of bucket it is, for minutes: the emulator has HTTP alone.
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    gcsfs = pytest.importorskip("gcsfs")
    program = shutil.which("gcp-storage-emulator")
    if program is None:
        pytest.skip("no gcp-storage-emulator")
    port = free_port()
    with running(port, program, "start", "--host=127.0.0.1", f"--port={port}", "--in-memory"):
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
        conf = pytest.importorskip("fsspec").config.conf
        for protocol in ("gs", "gcs"):
            monkeypatch.setitem(conf, protocol, {"token": "anon"})
        gcsfs.GCSFileSystem.clear_instance_cache()
        store = gcsfs.GCSFileSystem()
        store.mkdir("mine")
        yield store
        gcsfs.GCSFileSystem.clear_instance_cache()


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bucket]:
    """Give adlfs over an empty container."""
    adlfs = pytest.importorskip("adlfs")
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("no azurite-blob")
    port, place = free_port(), str(tmp_path / "azurite")
    asked = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", place]
    with running(port, program, *asked, "--skipApiVersionCheck", "--silent"):
        monkeypatch.setenv(
            "AZURE_STORAGE_CONNECTION_STRING",
            f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={KEY};"
            f"BlobEndpoint=http://127.0.0.1:{port}/devstoreaccount1;",
        )
        adlfs.AzureBlobFileSystem.clear_instance_cache()
        store = adlfs.AzureBlobFileSystem()
        store.mkdir("mine")
        yield store
        adlfs.AzureBlobFileSystem.clear_instance_cache()


@pytest.fixture(params=["gs", "az"])
def bucket(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Bucket]:
    """Give a URL's beginning, and its file system."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    name = {"gs": "google", "az": "azure"}[request.param]
    return f"{request.param}://mine", request.getfixturevalue(name)


def upload(store: Bucket, dataset: str, place: str) -> None:
    for path in sorted(Path(dataset).rglob("*")):
        if path.is_file():
            name = path.relative_to(dataset).as_posix()
            store.pipe_file(f"{place}/{name}", path.read_bytes())


def objects(store: Bucket, place: str) -> dict[str, bytes]:
    """Return the labelled parts of a bucket."""
    store.invalidate_cache()
    found = {name.partition("/labelled/")[2]: name for name in store.find(place)}
    return {
        name: store.cat_file(path)
        for name, path in found.items()
        if not name.startswith("_geodomain/")
    }


@pytest.mark.parametrize("write", [write_csv, write_parquet], ids=["text", "Parquet"])
def test_the_same_bytes_as_on_disk(bucket: tuple[str, Bucket], folder: Path, write: object) -> None:
    top, store = bucket
    write("blocks", all_parts())
    upload(store, "blocks", f"{top}/a b/blocks")
    plain = label_dataset("blocks", domains(), "plain", record="plain.json")
    summary = label_dataset(f"{top}/a b/blocks", domains(), f"{top}/labelled", record="there.json")
    assert objects(store, f"{top}/labelled") == files_of("plain")
    assert summary.domains == plain.domains and summary.rows == plain.rows
    records = [json.loads(Path(name).read_text()) for name in ("there.json", "plain.json")]
    assert records[0]["parts"] == records[1]["parts"]
    label_dataset(f"{top}/a b/blocks/zone=[AB]/*", domains(), "here")
    assert files_of("here").items() < files_of("plain").items() and len(files_of("here")) == 5


def test_it_goes_on_and_refuses_another_job(bucket: tuple[str, Bucket], folder: Path) -> None:
    top, store = bucket
    write_csv("blocks", all_parts())
    upload(store, "blocks", f"{top}/blocks")
    label_dataset(f"{top}/blocks", domains(), f"{top}/labelled")
    changed, gone, tampered = list(all_parts())[:3]
    # As many bytes as before: only what stands for an ETag tells.
    text = (Path("blocks") / changed).read_bytes().replace(b"OX", b"FR")
    store.pipe_file(f"{top}/blocks/{changed}", text)
    store.rm_file(f"{top}/labelled/{gone}")
    store.pipe_file(f"{top}/labelled/{tampered}", b"X")
    again = label_dataset(f"{top}/blocks", domains(), f"{top}/labelled")
    assert again.notes[0] == "3 of 6 parts were labelled by an earlier run"
    (Path("blocks") / changed).write_bytes(text)
    label_dataset("blocks", domains(), "fresh")
    assert objects(store, f"{top}/labelled") == files_of("fresh")
    with pytest.raises(TableError, match=r"labelled holds the parts of another job"):
        label_dataset(f"{top}/blocks", {"ORE": HALO}, f"{top}/labelled")
    label_dataset(f"{top}/blocks", {"ORE": HALO}, f"{top}/labelled", overwrite=True)
    label_dataset("blocks", {"ORE": HALO}, "other")
    assert objects(store, f"{top}/labelled") == files_of("other")


def test_what_is_not_there(bucket: tuple[str, Bucket], folder: Path) -> None:
    top, _ = bucket
    with pytest.raises(TableError, match="has no Parquet or CSV files"):
        geodomain.label_dataset(f"{top}/nothing", domains(), "out")
    write_csv("blocks", all_parts())
    nobody = top.replace("mine", "nobody")
    with pytest.raises(OSError, match="the store"):
        geodomain.label_dataset("blocks", domains(), f"{nobody}/out")
