"""Label a block-model file from a script, and see that not a byte of it has changed."""

import csv
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from geodomain import synthetic
from geodomain.synthetic.files import write_deposit

folder = Path(tempfile.mkdtemp())
domains = write_deposit(synthetic.deposit("tiny"), folder)
model, result = folder / "subblocked.csv", folder / "labelled.csv"

solids = [f"--solid={name}={path}" for name, paths in domains.items() for path in paths]
command = [sys.executable, "-c", "from geodomain.cli import main; main()", "label"]
subprocess.run([*command, model, *solids, "--background=WASTE", "-o", result], check=True)

with result.open(newline="") as file:
    print(Counter(row["domain"] for row in csv.DictReader(file)))

for before, after in zip(model.open("rb"), result.open("rb"), strict=True):
    assert after.startswith(before.rstrip(b"\n") + b",")
