"""Old names of keywords and options go on working, and say the new name."""

from __future__ import annotations

import inspect
import re
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner
from late import pd
from wireframes import cube

import geodomain
from geodomain.cli import RENAMED, main
from geodomain.settings import renamed

ROOT = Path(__file__).parents[1]
MODEL = "X,Y,Z,DX,DY,DZ,rock,AU\n5,5,5,10,10,10,A,1\n15,5,5,10,10,10,B,2\n"
HOLES = ("--collar", "collar.csv", "--intervals", "assay.csv", "--within", "9")
# For each option that was renamed: a command with its value, which takes either name.
COMMANDS = {
    "composite --weight": (
        "composite assay.csv --collar collar.csv --solid ORE=ore.ply --length 5 --json",
        "AU",
    ),
    "plot --grade": ("plot model.csv --column rock -o s.svg --overwrite --section y=5", "AU"),
    "subblock --min": (
        "subblock model.csv --solid ORE=ore.ply --scheme grid -o s.csv --overwrite --json",
        "5",
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.csv").write_text(MODEL)
    Path("collar.csv").write_text("HOLE,X,Y,Z,AZIMUTH,DIP\nA,5,5,30,0,90\n")
    Path("assay.csv").write_text("HOLE,FROM,TO,AU\nA,0,10,1\nA,10,30,2\n")
    geodomain.write_mesh(cube(), tmp_path / "ore.ply")
    return tmp_path


def test_an_old_keyword_is_passed_on_with_a_warning() -> None:
    @renamed(old="new", gone="here")
    def function(first: int, *, new: int = 1, here: int = 0) -> tuple[int, int, int]:
        """Return the arguments."""
        return first, new, here

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function(3, new=4) == (3, 4, 0)
    said = r"function\(old=\.\.\.\) is now called function\(new=\.\.\.\)"
    with pytest.warns(DeprecationWarning, match=said) as told:
        assert function(3, old=5) == (3, 5, 0)
    assert told[0].filename == __file__
    with pytest.raises(TypeError, match=r"old= is the old name of new=: give only new="):
        function(3, old=5, new=5)
    assert [*inspect.signature(function).parameters] == ["first", "new", "here"]


def test_the_column_of_labels_is_called_column(folder: Path) -> None:
    frame = pd.read_csv("model.csv")
    wanted = geodomain.tonnes(frame, density=2, column="rock")
    assert [row.domain for row in wanted.domains] == ["A", "B"]
    with pytest.warns(DeprecationWarning, match=r"tonnes\(column=\.\.\.\)"):
        assert geodomain.tonnes(frame, density=2, domain="rock") == wanted
    with pytest.warns(DeprecationWarning, match=r"tonnes_file\(column=\.\.\.\)"):
        again = geodomain.tonnes_file("model.csv", density=2, domain="rock")
    assert again.domains == wanted.domains


def test_the_grade_of_samples_is_called_sample_grade(folder: Path) -> None:
    options = {"column": "rock", "samples": "assay.csv", "within": 9, "overwrite": True}
    holes = geodomain.Drillholes("collar.csv", intervals="assay.csv")
    for old in (True, False):
        given = {"grade" if old else "sample_grade": "AU"} | options
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            geodomain.plot_sections("model.csv", f"{old}.svg", "y=5", holes=holes, **given)
        assert [each.category for each in told if "sample_grade" in str(each.message)] == (
            [DeprecationWarning] if old else []
        )


@pytest.mark.parametrize("name", COMMANDS)
def test_an_old_option_works_with_a_line_on_stderr(name: str, folder: Path) -> None:
    command, old = name.split(" ")
    new = RENAMED[command][old]
    line, value = COMMANDS[name]
    words = [*line.split(" "), *(HOLES if command == "plot" else ())]
    runs = [
        CliRunner().invoke(main, [*words, *given])
        for given in ([new, value], [old, value], [f"{old}={value}"], [old, value, "--quiet"])
    ]
    assert [run.exit_code for run in runs] == [0] * 4, [run.output for run in runs]
    said = f"warning: {old} is now called {new}\n"
    assert [said in run.stderr for run in runs] == [False, True, True, False]
    assert len({re.sub(r'"(seconds|rows_per_second)": .*', "", run.stdout) for run in runs}) == 1
    shown = CliRunner().invoke(main, [command, "--help"]).stdout
    assert new in shown and not re.search(rf"{old}(?![\w-])", shown)


def test_every_old_name_is_on_the_page() -> None:
    assert {f"{command} {old}" for command, names in RENAMED.items() for old in names} == {
        *COMMANDS
    }
    page = (ROOT / "docs/reference/compatibility.md").read_text(encoding="utf-8")
    for command, names in RENAMED.items():
        for old, new in names.items():
            assert f"| `{command} {old}` | `{new}` |" in page
    for function in (geodomain.tonnes, geodomain.tonnes_file, geodomain.plot_sections):
        for old, new in vars(function)["renamed"].items():
            assert f"| `{function.__name__}({old}=)` | `{new}=` |" in page
