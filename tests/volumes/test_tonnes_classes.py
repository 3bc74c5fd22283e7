"""Tonnes by resource class: rows, totals and order of classes, in files and frames."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from label_command import run_command as run
from late import pandas
from wireframes import box

import geodomain

# Blocks of 100 m3 and 250 t.
MODEL = """X,Y,Z,DX,DY,DZ,domain,AU,CLASS
0,0,0,10,5,2,ORE,2,Inferred
10,0,0,10,5,2,ORE,4,MEASURED
20,0,0,10,5,2,ORE,1,Indicated
30,0,0,10,5,2,WASTE,0.5,
40,0,0,10,5,2,WASTE,0.5,Target
50,0,0,10,5,2,WASTE,3,Inferred
"""


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work beside the model."""
    monkeypatch.chdir(tmp_path)
    Path("model.csv").write_text(MODEL)


def test_classes_are_in_the_order_of_a_statement() -> None:
    made = geodomain.tonnes_file("model.csv", density=2.5, grade="AU", classification="CLASS")
    assert [(row.domain, row.classification, row.grades[0].metal) for row in made.rows] == [
        ("ORE", "MEASURED", 1000),
        ("ORE", "Indicated", 250),
        ("ORE", "Inferred", 500),
        ("WASTE", "Inferred", 750),
        ("WASTE", "Target", 125),
        ("WASTE", "", 125),
    ]
    assert [(row.classification, row.blocks, row.tonnes) for row in made.classes] == [
        ("MEASURED", 1, 250),
        ("Indicated", 1, 250),
        ("Inferred", 2, 500),
        ("Target", 1, 250),
        ("", 1, 250),
    ]
    assert [(row.domain, row.classification, row.blocks) for row in made.domains] == [
        ("ORE", "", 3),
        ("WASTE", "", 3),
    ]
    assert (made.totals[0].blocks, made.totals[0].tonnes) == (6, 1500)
    assert list(made.to_pandas()["classification"])[:2] == ["MEASURED", "Indicated"]
    assert "classification" not in geodomain.tonnes_file("model.csv", density=2.5).to_pandas()
    frame = pandas.read_csv("model.csv", keep_default_na=False)
    assert geodomain.tonnes(frame, density=2.5, grade="AU", classification="CLASS") == made


def test_table_csv_and_json_have_the_class() -> None:
    asked = ("tonnes", "model.csv", "--density", "2.5", "--grade", "AU", "--classification")
    said = run(*asked, "CLASS").output.splitlines()
    assert said[0].split() == ["domain", "CLASS", "blocks", "volume", "tonnes", "AU", "AU", "metal"]
    assert ["total", "Inferred", "2", "200", "500", "2.5", "1,250"] in [
        line.split() for line in said
    ]
    rows = list(csv.DictReader(io.StringIO(run(*asked, "CLASS", "-o", "-").stdout)))
    assert [row["classification"] for row in rows] == [
        *("MEASURED", "Indicated", "Inferred", "Inferred", "Target", "")
    ]
    found = json.loads(run(*asked, "CLASS", "--json").stdout)
    assert (found["classification"], len(found["classes"])) == ("CLASS", 5)
    assert "no column 'CLAS' (did you mean 'CLASS'?)" in run(*asked, "CLAS", code=3).stderr


def test_a_block_in_several_benches_and_domains_counts_once_for_its_class() -> None:
    Path("shares.csv").write_text(
        "X,Y,Z,DX,DY,DZ,A,B,CLASS\n5,5,10,10,10,10,0.5,0.25,Measured\n5,5,30,10,10,10,0,1,Inferred\n"
    )
    made = geodomain.tonnes_file(
        "shares.csv", density=2, bench=10, proportion={"A": "A", "B": "B"}, classification="CLASS"
    )
    assert [(row.classification, row.blocks, row.volume) for row in made.classes] == [
        ("Measured", 1, 1000),
        ("Inferred", 1, 1000),
    ]
    assert sum(row.volume for row in made.rows) == 2000
    assert {row.classification for row in made.rows if row.domain == "A"} == {"Measured"}


def test_sums_by_class_equal_sums_of_the_blocks() -> None:
    random = np.random.default_rng(7)
    count = 3000
    frame = pandas.DataFrame(
        {
            **{name: random.uniform(0, 1000, count) for name in "XYZ"},
            **{name: 1.0 for name in ("DX", "DY", "DZ")},
            "domain": random.choice(["A", "B", "C"], count),
            "AU": random.lognormal(0, 1, count),
            "CLASS": random.choice(["Measured", "Indicated", ""], count),
        }
    )
    made = geodomain.tonnes(frame, density=3.0, grade="AU", cutoff=[1, 2], classification="CLASS")
    for row in made.rows:
        rows = frame[(frame["domain"] == row.domain) & (frame["CLASS"] == row.classification)]
        rows = rows[rows["AU"] >= (row.cutoff or 0)]
        assert row.blocks == len(rows)
        assert row.grades[0].metal == float(sum(Fraction(3.0 * grade) for grade in rows["AU"]))


def test_misuse_is_refused() -> None:
    frame = pandas.read_csv("model.csv")
    with pytest.raises(TypeError, match="classification is 3; give the name of the column"):
        geodomain.tonnes(frame, density=2.5, classification=3)  # type: ignore[arg-type]
    ids = frame.loc[frame.index.repeat(200)].assign(
        X=range(1200), ID=[f"b{n}" for n in range(1200)]
    )
    with pytest.raises(geodomain.GeodomainError, match="resource classes with classification="):
        geodomain.tonnes(ids, density=2.5, classification="ID")


def test_label_takes_the_class() -> None:
    asked = ("label", "model.csv", "--solid", "ORE=ore.ply", "--replace-column", "domain")
    geodomain.write_mesh(box((-5, -5, -5), (14, 5, 5)), "ore.ply")
    made = run(*asked, "--density", "2.5", "--classification", "CLASS", "-o", "o.csv", "--json")
    found = json.loads(made.stdout)["tonnes"]
    assert [row["classification"] for row in found["rows"]][:2] == ["MEASURED", "Inferred"]
    said = run(*asked, "--classification", "CLASS", "-o", "o.csv", code=2).stderr
    assert "--classification need --density" in " ".join(said.split())
