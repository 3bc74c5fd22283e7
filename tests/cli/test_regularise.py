"""The command `geodomain regularise`."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from label_command import run_command

ROWS = "X;Y;Z;DX;DY;DZ;SG;AU;ROCK\n5;5;5;10;10;10;2;1,5;A\n15;5;5;10;10;10;3;4;B\n"


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(ROWS)


def test_sums_are_printed_and_written() -> None:
    words = ["a.csv", "--size", "20,10,10", "--density", "SG", "--mean", "AU", "-o", "b.csv"]
    text = run_command("regularise", *words, "--cutoff", "AU=2", "--cutoff-table", "c.csv").stdout
    assert "2 blocks to 1 block of 20 x 10 x 10" in text and "before, exactly" in text
    assert Path("b.csv").read_text() == "x,y,z,dx,dy,dz,filled,SG,AU\n10,5,5,20,10,10,1,2.5,3\n"
    header, before, loss, *_ = Path("c.csv").read_text().splitlines()
    assert header == "cutoff,part,volume,tonnes,metal"
    assert before == "2.0,ore before,1000.0,3000.0,12000.0" and loss.startswith("2.0,ore loss,0.0")


def test_sums_in_json_are_exact_fractions() -> None:
    words = ["a.csv", "--size", "3", "--origin", "1,0,0", "--mean", "AU=volume", "-o", "b.csv"]
    told = json.loads(run_command("regularise", *words, "--json").stdout)
    assert told["low"] == ["-2", "0", "0"] and told["after"] == 8 * 4 * 4
    (volume, grade) = told["balances"]
    assert Fraction(volume["inside"]["exact"]) == 2000
    assert grade["name"] == "AU x volume" and grade["before"]["value"] == 5500


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        (["--size", "2,3"], "give one number, or X,Y,Z", 2),
        (["--size", "5", "--count", "2,2,2"], "--count needs --origin", 2),
        (["--size", "5", "--mean", "AU=tonnes"], "which need --density", 2),
        (["--size", "5", "--mean", "AU", "--mean", "AU=volume"], "--mean names a column twice", 2),
        (["--size", "5", "--mean", "=AU"], "is not COLUMN or COLUMN=WEIGHT", 2),
        (["--size", "5", "--cutoff-table", "c.csv"], "--cutoff-table is the table of --cutoff", 2),
        (["--size", "5", "--mean", "AU", "--cutoff", "0,5"], "decimal commas", 3),
        (["--size", "5", "--mean", "ROCK"], "ROCK is not a number", 3),
        (["--size", "5", "--mean", "CU"], "no column 'CU'", 3),
        (["--size", "0.0001"], "--memory", 3),
        (["--size", "5", "--origin", "90,90,90", "--count", "1,1,1"], "lies in the new model", 3),
    ],
)
def test_bad_options_are_one_sentence(words: list[str], message: str, code: int) -> None:
    result = run_command("regularise", "a.csv", *words, "-o", "b.csv", code=code)
    assert message in result.stderr and "Traceback" not in result.stderr
    assert not Path("b.csv").exists()


def test_stdin_and_existing_outputs_are_refused() -> None:
    result = run_command("regularise", "-", "--size", "5", "-o", "b.csv", code=2)
    assert "MODEL is read several times" in result.stderr
    result = run_command("regularise", "a.csv", "--size", "5", "-o", "a.csv", code=3)
    assert Path("a.csv").read_text() == ROWS
