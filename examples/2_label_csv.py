"""Label a block-model file from a script, and see that not a byte of it has changed."""

import csv
import tempfile
from collections import Counter
from pathlib import Path

from geodomain import label_file, synthetic
from geodomain.synthetic.files import write_deposit

folder = Path(tempfile.mkdtemp())
domains = write_deposit(synthetic.deposit("small"), folder)  # by name, the wireframes' paths
model, result = folder / "subblocked.csv", folder / "labelled.csv"

summary = label_file(model, domains, result, background="WASTE")
print(summary)

with result.open(newline="") as file:
    counts = Counter(row["domain"] for row in csv.DictReader(file))

assert all(counts[domain.name] == domain.blocks for domain in summary.domains)
rows = zip(model.read_bytes().splitlines(), result.read_bytes().splitlines(), strict=True)
for before, after in rows:
    assert after.startswith(before + b",")
