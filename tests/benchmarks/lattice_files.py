"""Label models that are a lattice: the whole command, beside reading and writing the file alone.

    python tests/benchmarks/lattice_files.py FOLDER --blocks 1e8 --formats vti parquet csv

"bytes" reads the model and writes as many bytes as the labelled one has; a library reads the
model, adds a column and writes it. Everyone is a process of its own and ends with fsync, the
model in the page cache; the last of the two numbers is the time that all threads worked.
100 million blocks take 4 GB as CSV, and twice that labelled.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

from datasets import table_of
from pyarrow import parquet

from geodomain import Mesh, synthetic, write_mesh

ROUNDS, GROUP = 3, 1 << 20
OURS = "from geodomain.__main__ import run; run()"
BYTES = """
import sys
def blocks(name):
    with open(name, "rb") as file:
        while block := file.read(1 << 24):
            yield block
for block in blocks(sys.argv[1]): pass
with open(sys.argv[3], "wb") as target:
    target.writelines(blocks(sys.argv[2]))
"""
LIBRARIES = {
    "csv": """
import sys, polars
table = polars.read_csv(sys.argv[1])
table.with_columns(polars.lit("ORE").alias("domain")).write_csv(sys.argv[3])
""",
    "parquet": """
import sys, polars
table = polars.read_parquet(sys.argv[1])
table.with_columns(polars.lit("ORE").alias("domain")).write_parquet(sys.argv[3])
""",
    "vti": """
import sys, numpy, pyvista
image = pyvista.read(sys.argv[1])
image.cell_data["domain"] = numpy.zeros(image.n_cells, numpy.int8)
image.save(sys.argv[3])
""",
}
SYNC = "\nimport os\nos.fsync(os.open(sys.argv[3], os.O_RDONLY))\n"


def run(program: str, *arguments: object) -> tuple[float, float]:
    """Return the seconds of a process by the clock, and those that its threads worked."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-P", "-c", program, *map(str, arguments)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begin, worked


def make(model: Path, ore: Path, mesh: Mesh, blocks: int) -> None:
    """Write a lattice over a mesh, x fastest; Parquet with grades, which stay large."""
    if model.suffix == ".parquet":
        with parquet.ParquetWriter(model, table_of(blocks, 0, 1).schema) as file:
            for first in range(0, blocks, GROUP):
                file.write_table(table_of(blocks, first, min(GROUP, blocks - first)))
        return
    low, high = mesh.bounds
    size = float((high - low).prod() / blocks) ** (1 / 3)
    run(OURS, "model", "--fit", ore, "--size", f"{size:.6g}", "-o", model, "-q")


def measure(folder: Path, kind: str, blocks: int) -> None:
    """Make a model of some blocks, and time everyone on it in turns."""
    mesh = synthetic.star_shaped_orebody(64)
    model, labelled, other = (folder / f"{name}.{kind}" for name in ("model", "labelled", "other"))
    ore = folder / "ore.ply"
    write_mesh(mesh, ore, overwrite=True)
    make(model, ore, mesh, blocks)
    given = [model, f"--solid=ORE={ore}", "-o", labelled, "--overwrite", "-q"]
    times: dict[str, list[tuple[float, float]]] = {"geodomain": [], "bytes": [], "library": []}
    for _ in range(ROUNDS):
        times["geodomain"].append(run(OURS, "label", *given))
        times["bytes"].append(run(BYTES + SYNC, model, labelled, other))
        times["library"].append(run(LIBRARIES[kind] + SYNC, model, labelled, other))
        other.unlink()
    sizes = " -> ".join(f"{path.stat().st_size / 1e6:,.0f} MB" for path in (model, labelled))
    best = {name: tuple(map(min, zip(*each, strict=True))) for name, each in times.items()}
    said = ", ".join(f"{name} {clock:.2f} s ({work:.2f})" for name, (clock, work) in best.items())
    sys.stdout.write(f".{kind}, {sizes}: {said}\n")
    sys.stdout.flush()
    model.unlink()
    labelled.unlink()


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--blocks", type=float, default=1e7)
    parser.add_argument("--formats", nargs="+", choices=list(LIBRARIES), default=["vti", "parquet"])
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    for kind in given.formats:
        measure(given.folder, kind, int(given.blocks))


if __name__ == "__main__":
    main()
