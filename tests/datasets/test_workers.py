"""`label_dataset` by Dask: the files and the summary of the plain call, whatever workers do."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from datasets_of_blocks import FOLDERS, all_parts, domains, files_of, folder, write_csv

import geodomain
from geodomain import GeodomainError, label_dataset
from geodomain.datasets.jobs import States
from geodomain.datasets.labelling import SharedJob, threads_of
from geodomain.datasets.stores import LocalStore
from geodomain.labelling.settings import LabelSettings
from geodomain.tables.options import TableOptions

__all__ = ["folder"]
pytestmark = pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")

# Two workers, of which one is killed once a first part is done and others are under way.
SCRIPT = """
import json, os, signal, warnings
import distributed
from datasets_of_blocks import domains
import geodomain
warnings.simplefilter("ignore")

if __name__ == "__main__":
    settings = dict(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        victim, *_ = client.run(os.getpid).values()
        told = []
        def progress(done, total):
            if not told:
                os.kill(victim, signal.SIGKILL)
            told.append(done)
        summary = geodomain.label_dataset(
            "blocks", domains(), "out", scheduler=cluster.scheduler_address, progress=progress
        )
        assert told == sorted(told) and told[-1] == sum(map(os.path.getsize, FILES)), told
        assert victim not in client.run(os.getpid).values()
    print(json.dumps([summary.rows, [part.blocks for part in summary.domains]]))
"""


def run(script: str) -> str:
    """Run a script beside the dataset."""
    Path("script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "script.py"],
        env={**os.environ, "PYTHONPATH": FOLDERS},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.full
def test_a_worker_that_is_killed_changes_nothing(folder: Path) -> None:
    pytest.importorskip("distributed")
    parts = {
        f"zone={zone}/{name[7:]}": part for zone in "ABC" for name, part in all_parts().items()
    }
    write_csv("blocks", parts)
    plain = label_dataset("blocks", domains(), "plain")
    files = [str(path) for path in Path("blocks").rglob("*.csv")]
    said = run(SCRIPT.replace("FILES", repr(files)))
    assert files_of("out") == files_of("plain")
    assert said == f"[{plain.rows}, {[part.blocks for part in plain.domains]}]\n"


@pytest.mark.full
def test_local_workers_and_a_bad_part(folder: Path) -> None:
    pytest.importorskip("distributed")
    write_csv("blocks", all_parts())
    label_dataset("blocks", domains(), "plain")
    bad = Path("blocks/zone=B/1.csv")
    whole = bad.read_bytes()
    bad.write_bytes(whole + b"1,2\n")
    script = """
import sys, warnings
from datasets_of_blocks import domains
import geodomain
warnings.simplefilter("ignore")
if __name__ == "__main__":
    try:
        geodomain.label_dataset("blocks", domains(), "out", scheduler="local:2")
    except geodomain.TableError as error:
        print(error)
"""
    assert "zone=B/1.csv" in run(script)
    assert files_of("out").items() <= files_of("plain").items()
    bad.write_bytes(whole)
    assert run(script) == ""
    assert files_of("out") == files_of("plain")


# A worker whose environment has no geodomain, then none at all.
FOREIGN = """
import distributed
from datasets_of_blocks import domains
import geodomain

def forget():
    from importlib import metadata
    def none(name):
        raise metadata.PackageNotFoundError(name)
    metadata.distribution = none

if __name__ == "__main__":
    settings = dict(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        client.run(forget)
        wait = distributed.Client.wait_for_workers
        for seconds in (30, 0.5):
            distributed.Client.wait_for_workers = lambda self, n, timeout: wait(self, n, seconds)
            try:
                geodomain.label_dataset(
                    "blocks", domains(), "out", scheduler=cluster.scheduler_address
                )
            except (geodomain.GeodomainError, OSError) as error:
                print(error)
            cluster.scale(0)
            while client.scheduler_info()["workers"]:
                pass
"""


@pytest.mark.full
def test_workers_without_geodomain_and_no_workers(folder: Path) -> None:
    pytest.importorskip("distributed")
    write_csv("blocks", all_parts())
    foreign, none = run(FOREIGN).splitlines()
    version = geodomain.__version__
    assert foreign.endswith(f" has no geodomain: install geodomain {version} there")
    assert "tcp://" in none and "has no workers: start some with 'dask worker tcp://" in none
    assert not files_of("out")


def test_the_index_stays_where_it_was_built() -> None:
    states = States(LocalStore(Path("states")), "hash", None)
    job = SharedJob(
        domains(), LabelSettings(), TableOptions(), states, False, geodomain.__version__
    )
    first = job.labeller
    assert job.labeller is first
    sent = pickle.loads(pickle.dumps(job))
    assert "labeller" not in vars(sent)
    assert [d.name for d in sent.domains.domains] == ["AIR", "ORE", "HALO"]
    sent.version = "0.0.0"
    with pytest.raises(GeodomainError, match=r"a worker has geodomain .*, not 0\.0\.0"):
        _ = sent.labeller


@pytest.mark.parametrize("scheduler", ["local:0", "local:", "host:8786", "tcp://host", "8"])
def test_a_scheduler_that_cannot_be(folder: Path, scheduler: str) -> None:
    write_csv("blocks", all_parts())
    with pytest.raises(ValueError, match="give 'local:4' for four processes"):
        label_dataset("blocks", domains(), "out", scheduler=scheduler)
    assert not Path("out").exists()


def test_workers_need_an_output(folder: Path) -> None:
    write_csv("blocks", all_parts())
    with pytest.raises(ValueError, match="needs an output"):
        label_dataset("blocks", domains(), None, scheduler="local:2")


def test_local_workers_share_the_cores() -> None:
    cores = os.cpu_count() or 1
    assert threads_of("local:1", None) == cores
    assert threads_of("local:1000", None) == 1
    assert threads_of("local:2", 3) == 3
    assert threads_of("tcp://host:8786", None) is None
