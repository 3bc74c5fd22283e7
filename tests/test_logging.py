"""The channel geodomain of logging: what is told, and that nothing is where nobody listens."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from wireframes import cube

import geodomain
from geodomain.compute import auto
from geodomain.errors import DeviceError, log

ORE = {"ORE": "ore.ply"}
MODEL = "X,Y,Z,DX,DY,DZ\n5,5,5,10,10,10\n15,5,5,10,10,10\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.csv").write_text(MODEL)
    geodomain.write_mesh(cube(), tmp_path / "ore.ply")
    return tmp_path


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "geodomain")
    return caplog


def lines(told: pytest.LogCaptureFixture, level: int) -> list[str]:
    assert {record.name for record in told.records} <= {"geodomain"}
    return [record.getMessage() for record in told.records if record.levelno == level]


def test_files_that_are_read_and_written(folder: Path, told: pytest.LogCaptureFixture) -> None:
    geodomain.label_file("model.csv", ORE, "out.csv", backend="cpu")
    said = lines(told, logging.INFO)
    assert said[:2] == [
        "read ore.ply: PLY, 12 faces in 1 solid",
        "opened model.csv: text, 6 columns",
    ]
    assert said[2].startswith("wrote ") and said[2].endswith("out.csv: 58 bytes")
    assert said[3].startswith("labelled 2 rows with 1 domain in 0.") and said[3].endswith(
        "cpu (asked for)"
    )
    assert len(said) == 4


def test_parts_that_an_earlier_run_labelled(folder: Path, told: pytest.LogCaptureFixture) -> None:
    for name in ("a", "b"):
        Path("parts").mkdir(exist_ok=True)
        Path("parts", f"{name}.csv").write_text(
            MODEL.replace("5,5,5", f"5,5,{5 + 90 * (name == 'b')}")
        )
    geodomain.label_dataset("parts", ORE, "out")
    said = lines(told, logging.INFO)
    assert "parts: 2 of 2 parts are to be labelled" in said
    assert [line for line in said if line.startswith("wrote") and "a.csv: " in line]
    told.clear()
    geodomain.label_dataset("parts", ORE, "out")
    said = lines(told, logging.INFO)
    assert "parts: 0 of 2 parts are to be labelled" in said
    assert not [line for line in said if line.startswith("wrote") and ".csv" in line]


def test_the_choice_of_a_backend(told: pytest.LogCaptureFixture) -> None:
    geodomain.contains(cube(), np.zeros((3, 3)), backend="cpu")
    assert lines(told, logging.DEBUG) == []  # nothing was chosen
    record = auto.Record()
    record.choose(0.0, 1200)
    record.choose(9.0, 5)
    record.give_up(DeviceError("no GPU"), quiet=True)
    assert lines(told, logging.DEBUG) == [
        "cpu: too little work for the GPU: 1,200 at once",
        "cuda: enough work for the GPU: 5 at once",
    ]
    assert lines(told, logging.INFO) == ["the CPU takes over: no GPU"]


def test_names_are_escaped(told: pytest.LogCaptureFixture) -> None:
    log("read %s", "a\x1b[31m\n.ply")
    assert lines(told, logging.INFO) == [r"read a\x1b[31m\n.ply"]
    assert Path(told.records[0].pathname) == Path(__file__)


def test_nothing_is_printed_and_nothing_is_loaded_unless_asked_for(folder: Path) -> None:
    """A warning stays a warning, and logging is loaded by who wants it."""
    program = (
        "import sys, geodomain\n"
        "geodomain.label_file('model.csv', {'ORE': 'ore.ply'}, None)\n"
        "assert 'logging' not in sys.modules\n"
        "import logging\n"
        "logging.getLogger('geodomain').setLevel('DEBUG')\n"
        "geodomain.label_file('model.csv', {'ORE': 'ore.ply'}, None)\n"
        "logging.basicConfig(format='%(levelname)s %(name)s %(message)s')\n"
        "geodomain.read_mesh('ore.ply')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr == "INFO geodomain read ore.ply: PLY, 12 faces in 1 solid\n"
