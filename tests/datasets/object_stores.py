"""A local S3 server with an empty bucket, for the tests of datasets on object stores."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

BUCKET = "mine"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Start a server, for the tests of a module."""
    for library in ("s3fs", "moto"):
        pytest.importorskip(library)
    threaded = pytest.importorskip("moto.server")
    one = threaded.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    one.start()
    host, port = one.get_host_and_port()
    yield f"http://{host}:{port}"
    one.stop()


@pytest.fixture
def bucket(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Give s3fs over an empty bucket, by what the environment says, as for a user."""
    import fsspec
    import s3fs

    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    # Connections are kept by their arguments, not by the environment.
    s3fs.S3FileSystem.clear_instance_cache()
    fsspec.config.conf.clear()
    store = s3fs.S3FileSystem()
    if store.exists(BUCKET):
        store.rm(BUCKET, recursive=True)
    store.mkdir(BUCKET)
    yield store
    s3fs.S3FileSystem.clear_instance_cache()
