"""A report of the demo, made when the site is: the page that `docs/how_to/report.md` leads to."""

from __future__ import annotations

import tempfile
from pathlib import Path

import geodomain
from geodomain import synthetic
from geodomain.synthetic import files


def report_folder() -> Path:
    """Return a new folder that holds gallery/demo_report.html, for the root of the site."""
    scratch = Path(tempfile.mkdtemp(prefix="geodomain-report-"))
    demo, site = scratch / "demo", scratch / "site"
    demo.mkdir()
    (site / "gallery").mkdir(parents=True)
    files.write_deposit(synthetic.deposit(), demo, overwrite=False)
    labelled, record = demo / "labelled.csv", demo / "run.json"
    domains = demo / "domains.toml"
    geodomain.label_file(demo / "regular.csv", domains, labelled, record=record)
    geodomain.report_file(
        labelled,
        site / "gallery" / "demo_report.html",
        domains=domains,
        record=record,
        density="DENSITY",
        density_unit="t/m3",
        grade="AU",
        grade_unit="g/t",
        cutoff=[0.5, 1, 2],
        title="A deposit that was never mined",
        note="Made by 'geodomain demo' and 'geodomain report' when this site was built.",
    )
    return site
