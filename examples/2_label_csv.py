"""A CSV model with a domain column, and every other byte as it was.

A script labels the file, draws it in plan and in section, and compares it with the input.
"""

import csv
import tempfile
from collections import Counter
from pathlib import Path

from geodomain import label_file, plot_sections, synthetic
from geodomain.synthetic.files import write_deposit

folder = Path(tempfile.mkdtemp())
domains = write_deposit(synthetic.deposit("small"), folder)  # by name, the wireframes' paths
model, result = folder / "subblocked.csv", folder / "labelled.csv"

summary = label_file(model, domains, result, background="WASTE")
print(summary)
plot_sections(result, "sections.png", domains=domains, background="WASTE", overwrite=True)

with result.open(newline="") as file:
    counts = Counter(row["domain"] for row in csv.DictReader(file))

assert all(counts[domain.name] == domain.blocks for domain in summary.domains)
rows = zip(model.read_bytes().splitlines(), result.read_bytes().splitlines(), strict=True)
for before, after in rows:
    assert after.startswith(before + b",")
