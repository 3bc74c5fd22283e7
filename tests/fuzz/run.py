"""Mutate files and read them: anything but an answer or one of geodomain's errors is a fault.

python tests/fuzz/run.py [--cases 100 | --seconds 60 | --case 17] [--seed 1] [--kind toml]

Each case is made from a seed of `seeds.py` by its number alone, so a fault is made again by
`--seed S --case N`. A file that ended badly is kept in the folder that is printed.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
sys.path.insert(0, str(Path(__file__).parent))
import copies
import mining_files
import omf_models
import seeds
from campaign import Case, campaign

import geodomain
from geodomain.errors import GeodomainError
from geodomain.formats.blocks import Relabelling, open_model
from geodomain.tables.options import TableOptions

_SLOW = 20.0  # seconds for a file of a few kilobytes
_WORDS = (
    b"\0", b"\n", b"\r", b'"', b",", b";", b"\t", b"-", b"nan", b"inf", b"1e999", b"1_0", b"-1",
    b"4294967296", b"-9223372036854775809", b"9" * 30, "\u0661".encode(), b"\xff", b"=", b"[[",
    b"]]", b"endfacet", b"end_header", b"element vertex 3\n", b"f 1 2 3\n", b"OFF\n",
    b"NumberOfPoints=",
)  # fmt: skip


def seed_files() -> dict[str, list[tuple[str, bytes]]]:
    """Return names and contents by kind: a good one first, then all that was ever bad."""
    good = [
        ("a.obj", seeds.OBJ), ("a.off", seeds.OFF), ("a.ply", seeds.PLY), ("a.stl", seeds.STL),
        ("a.toml", seeds.TOML), ("a.csv", seeds.CSV), ("a.vtp", seeds.vtp()),
        ("b.vtu", seeds.vtu()), ("a.vtk", seeds.VTK + "POLYGONS 1 4\n3 0 1 2\n"),
        ("a.obj", seeds.polygon(500)), ("a.toml", seeds.many_solids(100)),
    ]  # fmt: skip
    files = block_files() | copies.model_files()
    for name, text in [*good, *seeds.BAD.values(), *seeds.BAD_VTK.values()]:
        if len(text) < 20_000:
            kind = "vtk" if ".vt" in name else Path(name).suffix[1:]
            files.setdefault(kind, []).append((name, text.encode()))
    return files


def block_files() -> dict[str, list[tuple[str, bytes]]]:
    """Return good block models of the mining packages, by kind."""
    table = mining_files.datamine_table(
        {axis: [1.0, 2.0] for axis in ("XC", "YC", "ZC")} | {"ROCK": ["OX", "SU"]}, 8, "<"
    )
    divided = [omf_models.omf2(sub=kind) for kind in ("Regular", "Freeform")]
    models = {
        "omf1": [omf_models.omf1()],
        "omf2": [omf_models.omf2(), *divided],
        "datamine": [table, mining_files.datamine_table({"XC": [1.0], "IJK": [2.0]}, 4, ">")],
        "gslib": [seeds.GSLIB.encode()],
        "voxet": [seeds.VOXET.encode()],
    }
    return {kind: [(f"b.{kind}", one) for one in found] for kind, found in models.items()}


def mutated(data: bytes, dice: random.Random) -> bytes:
    """Return a file with one to eight things done to it."""
    out = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 4, 8))):
        at = dice.randrange(len(out) + 1)
        end = min(len(out), at + dice.choice((1, 2, 8, 64)))
        match dice.randrange(6):
            case 0:
                out[at:at] = dice.choice(_WORDS)
            case 1:
                del out[at:end]
            case 2:
                out[at:end] = dice.choice(_WORDS)
            case 3:
                out[at:at] = out[at:end] * dice.choice((1, 2, 50))
            case 4 if at < len(out):
                out[at] = dice.randrange(256)
            case _:
                other = dice.randrange(len(out) + 1)
                out[at:at] = out[other : other + 40]
    return bytes(out)


def read(path: Path) -> None:
    """Read a file by what is for it."""
    if path.suffix == ".toml":
        geodomain.read_domains(path)
    elif path.stem.startswith("copy"):
        copies.copied(path)
    elif path.suffix == ".csv" or path.stem == "b":
        with open_model(str(path), TableOptions()) as model:
            also = range(len(model.columns))
            model.relabel(Relabelling(partial(look, also), also=also))
    else:
        geodomain.check(geodomain.read_mesh(path))


def look(also: Sequence[int], points: object, sizes: object, column: Callable) -> list:
    """Ask for every column of a chunk, as conditions would."""
    for number in also:
        with contextlib.suppress(GeodomainError):
            column(number).numbers()
    return []


def outcome(path: Path, what: Callable[[Path], None]) -> str:
    """Return "read" or "refused", or raise what should not have come."""
    try:
        what(path)
    except GeodomainError as error:
        if "\n" in str(error).strip() or len(str(error)) > 2000:
            message = f"not one sentence: {error}"
            raise AssertionError(message) from error
        return "refused"
    except OSError:
        return "refused by the system"
    return "read"


def main() -> int:
    """Run the cases that the command line asks for; 1 if there was a fault."""
    # The child that tries files for VTK limits its memory, which no sanitizer's runtime survives.
    os.environ.pop("LD_PRELOAD", None)
    files = seed_files()
    folder = Path(tempfile.mkdtemp(prefix="geodomain-fuzz-"))
    sys.stderr.write(f"files that end badly are kept in {folder}\n")
    (folder / "ore.obj").write_text(seeds.OBJ)
    (folder / "grade@@").write_bytes(bytes(96))
    warnings.simplefilter("ignore", geodomain.GeodomainWarning)
    warnings.filterwarnings("error", category=RuntimeWarning)

    def outcomes(case: Case) -> tuple[str]:
        dice = random.Random(str(case))
        kind = case.kind or dice.choice(sorted(files))
        name, data = files[kind][0] if dice.random() < 0.6 else dice.choice(files[kind])
        path = folder / name
        path.write_bytes(mutated(data, dice))
        began = time.monotonic()
        try:
            result = f"{kind}, {outcome(path, read)}"
            if time.monotonic() - began > _SLOW:
                message = f"it took {time.monotonic() - began:.0f} s"
                raise TimeoutError(message)
        except Exception:
            path.rename(folder / f"fault-{case.seed}-{case.number}{path.suffix}")
            raise
        return (result,)

    return campaign(__doc__, outcomes, kinds=files)


if __name__ == "__main__":
    raise SystemExit(main())
