"""`label_blocks` of Dask tables on a cluster: domains are sent once, and indexed once a worker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import wireframes

# Counts in each process, in a folder: how often domains arrive, and how often they are indexed.
SCRIPT = """
import os, sys
from pathlib import Path
import numpy as np
import pandas
import distributed, dask.dataframe
from wireframes import cube
import geodomain
from geodomain.labelling import frames
from geodomain.labelling.labeller import Labeller

NOTES = Path(sys.argv[1])

class Told(frames.SharedDomains):
    def __reduce__(self):
        return arrive, (self.domains, self.settings)

def note(what):
    (NOTES / f"{what}-{os.getpid()}").open("a").write(".")

def arrive(domains, asked):
    note("arrived")
    return Told(domains, asked)

class Indexed(Labeller):
    def __init__(self, *given, **asked):
        note("indexed")
        super().__init__(*given, **asked)

frames.Labeller = Indexed
import geodomain.labelling.frames as frames
frames.SharedDomains = Told

if __name__ == "__main__":
    x, y, z = np.random.default_rng(1).uniform(0, 20, (3, 4000))
    blocks = pandas.DataFrame({"X": x, "Y": y, "Z": z})
    settings = dict(n_workers=2, threads_per_worker=2, dashboard_address=None, silence_logs=50)
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        table = dask.dataframe.from_pandas(blocks, npartitions=40)
        found = geodomain.label_blocks(table, {"ORE": geodomain.as_mesh(cube())})
        assert found.cat.known and list(found.cat.categories) == ["ORE"]
        pids = set(client.run(os.getpid).values())
        computed = found.compute()
    inside = (blocks < 10).all(axis=1)
    assert (computed.notna() == inside).all() and inside.any() and not inside.all()
    assert computed.cat.categories.tolist() == ["ORE"]
    notes = {path.name: len(path.read_text()) for path in NOTES.iterdir()}
    by_workers = {name: n for name, n in notes.items() if int(name.rpartition("-")[2]) in pids}
    arrived = [n for name, n in by_workers.items() if name.startswith("arrived")]
    indexed = [n for name, n in by_workers.items() if name.startswith("indexed")]
    print(sorted(arrived), sorted(indexed))
"""


@pytest.mark.full
def test_domains_travel_once_and_are_indexed_once_a_worker(tmp_path: Path) -> None:
    for library in ("distributed", "dask.dataframe"):
        pytest.importorskip(library)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    notes = tmp_path / "notes"
    notes.mkdir()
    done = subprocess.run(
        [sys.executable, script, notes],
        env={**os.environ, "PYTHONPATH": str(Path(wireframes.__file__).parent)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[1, 1] [1, 1]\n"
