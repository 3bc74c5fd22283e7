"""The whole command on the four raw files of the paper, beside what it cannot do without.

On a machine with an NVIDIA GPU, from the root of the checkout:

    PYTHONPATH=tests/benchmarks python -P tests/benchmarks/gpu_process.py [--rays 10000000]

The floor is a process that starts Python and NumPy, reads the files, takes a context, and writes
as many answers to the disk. "First" is with empty caches of ours and of the driver, by nvcc and,
with nvcc out of PATH, from the wheel's PTX. Files are in the page cache for everyone, and so are
Python's compiled modules, as an installation leaves them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from gpu_ptx import without_nvcc

ROUNDS = 7
MODULES = f"{tempfile.gettempdir()}/geodomain-gpu-process-modules"
FILES = ("vertices_f32", "triangles_i32", "rayFrom_f32", "rayTo_f32")
OURS = "from geodomain.__main__ import run; run()"
READS = "import sys, numpy; kept = [numpy.fromfile(name, 'f4') for name in sys.argv[2:]]"
CONTEXT = "import pycuda.driver as d; d.init(); c = d.Device(0).retain_primary_context(); c.push()"
WRITES = """
import os
with open(sys.argv[1], "wb") as file:
    numpy.zeros(len(kept[-1]) // 3, "i4").tofile(file)
    file.flush()
    os.fsync(file.fileno())
"""
FLOORS = {
    "Python, NumPy, reading": READS,
    "and a context": f"{READS}\n{CONTEXT}\nc.pop()",
    "and writing": f"{READS}\n{CONTEXT}\n{WRITES}\nc.pop()",
}


def run(program: str, *arguments: str, **environment: str) -> float:
    """Return the seconds of a process."""
    begin = time.perf_counter()
    command = [sys.executable, "-P", "-c", program, *arguments]
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": MODULES}
    everything = {**os.environ, **compiled, **environment}
    done = subprocess.run(command, env=everything, stderr=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    return time.perf_counter() - begin


def say(what: str, times: list[float]) -> None:
    middle = sorted(times)[len(times) // 2]
    sys.stdout.write(f"{what:32} {min(times):6.3f} s, median {middle:.3f} of {len(times)}\n")
    sys.stdout.flush()


def first(ask: list[str], **environment: str) -> float:
    """Return the seconds of a process that finds nothing compiled."""
    with tempfile.TemporaryDirectory() as empty:
        caches = {"GEODOMAIN_CACHE": f"{empty}/ours", "CUDA_CACHE_PATH": f"{empty}/driver"}
        return run(OURS, *ask, **caches, **environment)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rays", default="10000000")
    rays = parser.parse_args().rays
    with tempfile.TemporaryDirectory() as folder:
        run(OURS, "synthesize", folder, "--rays", rays, "--overwrite", "--quiet")
        files = [str(Path(folder, name)) for name in FILES]
        answers = str(Path(folder, "found"))
        for name, program in FLOORS.items():
            say(name, [run(program, f"{folder}/floor", *files) for _ in range(ROUNDS)])
        ask = ["intersect", *files, "-o", answers, "--overwrite", "--quiet", "--backend"]
        for backend in ("cpu", "cuda"):
            run(OURS, *ask, backend)
            say(f"geodomain, {backend}, warm", [run(OURS, *ask, backend) for _ in range(ROUNDS)])
            found, truth = (
                np.fromfile(name, "<i4")
                for name in (f"{answers}/results_i32", f"{folder}/truth_boolean_i32")
            )
            sys.stdout.write(f"{np.count_nonzero(found != truth)} of {len(truth):,} differ\n")
        say("geodomain, cuda, first, nvcc", [first([*ask, "cuda"]) for _ in range(2)])
        bare = [first([*ask, "cuda"], PATH=without_nvcc()) for _ in range(3)]
        say("geodomain, cuda, first, PTX", bare)


if __name__ == "__main__":
    main()
