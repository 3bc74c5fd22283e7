"""The unit of metal, by the unit of its grade; numbers worked out by hand."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest
from label_command import run_command as run
from late import pandas
from wireframes import box

import geodomain

# Of 100 m3 and 250 t each.
MODEL = """X,Y,Z,DX,DY,DZ,domain,AU,CU
0,0,0,10,5,2,ORE,2,1.5
10,0,0,10,5,2,ORE,4,0.5
"""
# Tonnes in a short ton: 2,000 pounds of 0.45359237 kg.
SHORT = Fraction("0.90718474")
BOTH = ("--density", "2.5", "--grade", "AU", "--grade", "CU")


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work beside the model."""
    monkeypatch.chdir(tmp_path)
    Path("model.csv").write_text(MODEL)


def test_metal_is_in_grams_and_in_tonnes() -> None:
    units = ("--grade-unit", "AU=g/t", "--grade-unit", "CU=%")
    read = run("tonnes", "model.csv", *BOTH, *units, "-o", "t.csv").stderr
    assert "AU metal, g" in read and "CU metal, t" in read
    with Path("t.csv").open() as table:
        (row,) = csv.DictReader(table)
    assert list(row)[6:] == ["mean_AU", "metal_AU_g", "mean_CU", "metal_CU_t"]
    assert [float(row[name]) for name in list(row)[6:]] == [3, 1500, 1, 5]
    found = json.loads(run("tonnes", "model.csv", *BOTH, *units, "--json").stdout)
    assert [(one["metal"], one["unit"]) for one in found["totals"][0]["grades"]] == [
        (1500, "g"),
        (5, "t"),
    ]


@pytest.mark.parametrize(
    ("unit", "name", "metal"),
    [("ppm", "g", 1500), ("ppb", "mg", 1500), ("kg/t", "kg", 1500), ("oz/t", "oz", 1500)],
)
def test_units_of_one_grade(unit: str, name: str, metal: float) -> None:
    frame = pandas.read_csv("model.csv")
    (whole,) = geodomain.tonnes(frame, density=2.5, grade="AU", grade_unit=unit).totals
    assert (whole.grades[0].unit, whole.grades[0].metal, whole.grades[0].mean) == (name, metal, 3)
    named = geodomain.tonnes(frame, density=2.5, grade=["AU", "CU"], grade_unit={"AU": unit})
    assert [one.unit for one in named.totals[0].grades] == [name, ""]
    assert (
        geodomain.tonnes_file("model.csv", density=2.5, grade=["AU", "CU"], grade_unit={"AU": unit})
        == named
    )


def test_ounces_per_short_ton() -> None:
    frame = pandas.read_csv("model.csv")
    (whole,) = geodomain.tonnes(frame, density=2.5, grade="AU", grade_unit="opt").totals
    # 500 t are 551.155655... short tons, of 3 ounces each.
    assert (whole.grades[0].unit, whole.grades[0].metal) == ("oz", float(Fraction(1500) / SHORT))
    (grams,) = geodomain.tonnes(frame, density=2.5, grade="AU", grade_unit="gpt").totals
    assert (grams.grades[0].unit, grams.grades[0].metal) == ("g", 1500)


def test_label_takes_units() -> None:
    geodomain.write_mesh(box((-5, -5, -5), (20, 5, 5)), "ore.ply")
    options = ("--replace-column", "domain", "--density", "2.5", "--grade", "CU")
    asked = ("label", "model.csv", "--solid", "ORE=ore.ply", *options, "--grade-unit", "%")
    found = json.loads(run(*asked, "-o", "o.csv", "--json").stdout)
    assert found["tonnes"]["totals"][0]["grades"][0]["unit"] == "t"
    assert found["tonnes"]["totals"][0]["grades"][0]["metal"] == 5


MISUSED = {
    ("--grade-unit", "g/t"): "must name a grade, such as AU=g/t, unless there",
    ("--grade-unit", "AG=g/t"): "names AG, but there is no --grade",
    ("--grade-unit", "AU=g/t", "--grade-unit", "AU=%"): "give each grade one unit",
    ("--grade-unit", "AU=g"): "the unit of AU is 'g'; use %, ppm, ppb, gpt, opt (troy ounces",
}


@pytest.mark.parametrize("options", MISUSED, ids=" ".join)
def test_what_is_no_unit_is_refused(options: tuple[str, ...]) -> None:
    said = run("tonnes", "model.csv", *BOTH, *options, "-o", "t.csv", code=2).stderr
    assert MISUSED[options] in " ".join(said.split())
    assert not Path("t.csv").exists()


def test_what_a_call_cannot_mean_is_refused() -> None:
    frame = pandas.read_csv("model.csv")
    with pytest.raises(ValueError, match="must name the grade"):
        geodomain.tonnes(frame, density=2.5, grade=["AU", "CU"], grade_unit="g/t")
    with pytest.raises(ValueError, match="grade_unit names AG"):
        geodomain.tonnes(frame, density=2.5, grade="AU", grade_unit={"AG": "g/t"})
