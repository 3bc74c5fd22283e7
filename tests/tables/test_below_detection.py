"""Values below detection are counted in the same words by every command that reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from late import pandas
from wireframes import box

from geodomain import write_mesh
from geodomain.cli import main

TOLD = "AU: 2 values below detection, read with --below-detection half"
NEGATIVE = "AU is negative in 1 of the samples, the first in sample 4 (-99.0 in 1)"
HOLES = ["--collar", "collar.csv", "--survey", "survey.csv"]
DOMAINS = ["--domains", "domains.toml"]
COMMANDS = {
    "composite": [*HOLES, *DOMAINS, "--length", "5", "--grade", "AU", "-o", "out.csv"],
    "contacts": [*HOLES, *DOMAINS, "--between", "ORE", "WASTE", "--grade", "AU"],
    "flag": [*HOLES, *DOMAINS, "-o", "out.{kind}"],
    "label": [*DOMAINS, "-o", "out.{kind}", "--column", "new"],
    "plot": ["--section", "y=6", "--colour-by", "AU", "-o", "out.svg"],
    "report": ["--grade", "AU", "-o", "out.html"],
    "stats": ["--grade", "AU"],
    "tonnes": ["--density", "2", "--grade", "AU"],
    "validate": ["--samples", "blocks.{kind}", "--grade", "AU"],
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write holes, a model and domains, one of which has a condition on the grade."""
    monkeypatch.chdir(tmp_path)
    write_mesh(box((0, 0, 0), (10, 10, 20)), "ore.obj")
    Path("domains.toml").write_text(
        'background = "WASTE"\n'
        '[[domain]]\nname = "LEAN"\nmesh = "ore.obj"\nonly_if = { AU = { "<" = 0.004 } }\n'
        '[[domain]]\nname = "ORE"\nmesh = "ore.obj"\n'
    )
    Path("collar.csv").write_text("HOLEID,X,Y,Z,DEPTH\nA,5,5,30,40\nB,6,5,30,40\n")
    Path("survey.csv").write_text("HOLEID,AT,AZIMUTH,DIP\nA,0,0,-90\nB,0,0,-90\n")
    grades = ["<0.01", "1.5", "<0.02", "2", "3", "4", "2.5", "1"]
    intervals = pandas.DataFrame(
        {"HOLEID": list("AAAABBBB"), "FROM": [0.0, 10, 20, 30] * 2, "TO": [10.0, 20, 30, 40] * 2}
    ).assign(AU=grades)
    blocks = pandas.DataFrame(
        {"X": [5.0 + 10 * place for place in range(8)], "Y": 5.0, "Z": 5.0, "DX": 10.0, "DY": 10.0}
    ).assign(DZ=10.0, domain=["ORE", *["WASTE"] * 7], AU=grades)
    for name, table in (("samples", intervals), ("blocks", blocks)):
        table.to_csv(f"{name}.csv", index=False)
        table.to_parquet(f"{name}.parquet")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("command", COMMANDS)
def test_cells_below_detection_are_counted(command: str, kind: str) -> None:
    table = "samples" if HOLES[0] in COMMANDS[command] else "blocks"
    words = [word.format(kind=kind) for word in COMMANDS[command]]
    policy = ["--below-detection", "half"]
    result = CliRunner().invoke(main, [command, f"{table}.{kind}", *words, *policy])
    assert result.exit_code == 0, result.output
    assert (result.stdout + result.stderr).count(TOLD) == 1


def test_density_below_detection_is_counted() -> None:
    frame = pandas.read_csv("blocks.csv").assign(RHO=["<0.1", *["2.5"] * 7])
    frame.to_csv("dense.csv", index=False)
    words = ["tonnes", "dense.csv", "--density", "RHO", "--below-detection", "limit"]
    told = CliRunner().invoke(main, words).stdout
    assert "RHO: 1 value below detection, read with --below-detection limit" in told


@pytest.mark.parametrize("policy", [[], ["--below-detection", "half"]])
@pytest.mark.parametrize("command", ["composite", "contacts", "flag"])
def test_negative_grades_are_told_once(command: str, policy: list[str]) -> None:
    frame = pandas.read_csv("samples.csv")
    frame["AU"] = [1.0, 1.5, 0.5, -99.0, 3.0, 4.0, 2.5, 1.0]
    frame.to_csv("samples.csv", index=False)
    words = [word.format(kind="csv") for word in COMMANDS[command]]
    result = CliRunner().invoke(main, [command, "samples.csv", *words, *policy])
    assert result.exit_code == 0, result.output
    assert result.stderr.count("AU is negative") == 1 and NEGATIVE in result.stderr


def test_a_condition_that_no_sample_meets_is_told_by_flag_and_composite() -> None:
    text = Path("domains.toml").read_text()
    Path("domains.toml").write_text(text.replace("0.004", "-5"))
    policy = ["--below-detection", "half", "--overwrite"]
    for command in ("flag", "composite"):
        words = [word.format(kind="csv") for word in COMMANDS[command]]
        result = CliRunner().invoke(main, [command, "samples.csv", *words, *policy])
        assert result.stderr.count("no sample meets only_if of LEAN") == 1, result.output
