"""Compare what two installed copies of geodomain write: the same commands, byte for byte.

    python tests/benchmarks/checkouts.py OLD/bin/geodomain NEW/bin/geodomain [--commands FILE]

Each copy runs every command in a folder of its own with the files of the demo. Files, standard
output and exit codes are compared; what differs by nature (times, versions, folders) is blanked.
`--commands` adds commands, one on each line; `{out}` stands for the folder.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = """
label demo/regular.csv --domains demo/domains.toml -o a.csv --record a.json
label demo/subblocked.csv --domains demo/domains.toml -o b.csv --json
label demo/regular.csv --domains demo/domains.toml --proportions=itself -o c.csv
label demo/regular.csv --domains demo/domains.toml --proportions=priority -o d.csv
convert demo/regular.csv e.parquet
convert demo/regular.csv e.vti
convert demo/regular.csv e.omf
label e.parquet --domains demo/domains.toml -o f.parquet
label e.vti --domains demo/domains.toml -o f.vti
label e.omf --domains demo/domains.toml -o f.omf
tonnes a.csv --density DENSITY --grade AU --cutoff 0.5 -o g.csv
tonnes a.csv --density DENSITY --json
inspect demo/regular.csv demo/ore_upper.ply
check demo/ore_upper.ply
check demo/topography.ply
subblock demo/regular.csv --domains demo/domains.toml --scheme octree --min 5,5,2.5 -o h.csv
merge h.csv -o i.csv
distance demo/regular.csv --mesh ORE=demo/ore_upper.ply -o j.csv
compare a.csv a.csv
plot a.csv --section z=350 -o k.svg
convert demo/ore_upper.ply l.stl
convert demo/ore_upper.ply l.dxf
convert demo/ore_upper.ply l.obj
"""
BLANK = re.compile(
    rb"\d+\.\d+ s\b|[\d,.]+ rows/s"
    rb'|"(?:\w*seconds|\w*per_second|started|finished|created|date|version)": [^,\n]*'
    rb"|<dc:date>[^<]*|\b[mp][0-9a-f]{10}\b"  # of matplotlib: the date, and names made of it
)


def run(program: str, folder: Path, commands: list[str]) -> list[tuple[int, bytes]]:
    """Run the commands in a folder and return exit codes and outputs."""
    subprocess.run([program, "demo", "demo"], cwd=folder, check=True, capture_output=True)
    answers = []
    for command in commands:
        words = shlex.split(command.replace("{out}", str(folder)))
        done = subprocess.run([program, *words], cwd=folder, capture_output=True)
        answers.append((done.returncode, blanked(done.stdout + done.stderr, folder)))
    return answers


def blanked(data: bytes, folder: Path) -> bytes:
    """Return data without times, versions and the folder's name."""
    return BLANK.sub(b"-", data.replace(str(folder).encode(), b"FOLDER"))


def first_difference(one: bytes, other: bytes) -> tuple[bytes, bytes]:
    """Return 80 bytes of both from shortly before the place where they differ."""
    place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    begin = max(place - 20, 0)
    return one[begin : begin + 80], other[begin : begin + 80]


def main() -> int:
    """Print what differs, and return how many commands and files do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--commands", type=Path)
    given = parser.parse_args()
    text = COMMANDS + (given.commands.read_text() if given.commands else "")
    commands = [line for line in text.splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as old, tempfile.TemporaryDirectory() as new:
        folders = Path(old), Path(new)
        before, after = (
            run(program, folder, commands)
            for program, folder in zip((given.old, given.new), folders, strict=True)
        )
        differ = 0
        for command, one, other in zip(commands, before, after, strict=True):
            if one != other:
                differ += 1
                print(f"DIFFERS: {command}\n  {first_difference(one[1], other[1])}")
        names = sorted({p.relative_to(f) for f in folders for p in f.rglob("*") if p.is_file()})
        for name in names:
            both = [folder / name for folder in folders]
            if not all(path.is_file() for path in both):
                differ += 1
                print(f"ONLY ONE: {name}")
            elif len({blanked(p.read_bytes(), f) for p, f in zip(both, folders, strict=True)}) > 1:
                differ += 1
                print(f"DIFFERS: {name}")
    failed = sum(code != 0 for code, _ in before)
    for command, (code, text) in zip(commands, before, strict=True):
        if code:
            print(f"ends with {code}: {command}: {text[:160]!r}")
    print(
        f"{len(commands)} commands ({failed} end with another code than 0), {len(names)} files:",
        f"{differ} differ",
    )
    return min(differ, 1)


if __name__ == "__main__":
    sys.exit(main())
