"""One rule for labels in every kind of file: an empty cell is no label, all else is text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from late import pandas
from wireframes import box

import geodomain
from geodomain import Domain, Stack
from geodomain.checks.columns import alike_labels, read_as_missing
from geodomain.cli import main
from geodomain.errors import DomainError, GeodomainWarning
from geodomain.tables.conditions import ArrayColumn

LABELS = ["nan", "NaN", "NAN", "", "ORE", "NA", "null", "None"]
LOW = box((-1, -1, -1), (1000, 11, 11))


@pytest.fixture(params=["csv", "quoted", "parquet"])
def model(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a model of eight blocks with a label each, as a kind of file."""
    monkeypatch.chdir(tmp_path)
    frame = table()
    path = Path("model.parquet" if request.param == "parquet" else "model.csv")
    if request.param == "parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, quoting=2 if request.param == "quoted" else 0)
    return path


def table() -> pandas.DataFrame:
    count = len(LABELS)
    columns = {"X": np.arange(count) * 10.0 + 5, "Y": 5.0, "Z": 5.0, "DX": 10.0, "DY": 10.0}
    labels = pandas.Series([label or None for label in LABELS], dtype=object)
    return pandas.DataFrame({**columns, "DZ": 10.0, "domain": labels})


def labels_in(path: Path) -> list[str]:
    """Return the labels of a file as texts."""
    if path.suffix == ".parquet":
        return pandas.read_parquet(path)["domain"].fillna("").tolist()
    return pandas.read_csv(path, keep_default_na=False)["domain"].tolist()


def test_tonnes_have_a_row_for_each_text(model: Path) -> None:
    told = geodomain.tonnes_file(model, density=2)
    assert {row.domain for row in told.rows} == set(LABELS)
    assert told.rows == geodomain.tonnes(table(), density=2).rows
    assert told.notes == (
        "domain has labels that differ only by case or blanks, but are counted separately: "
        "'NAN' and 'NaN' and 'nan'",
    )


def test_keep_keeps_every_text_and_no_empty_cell(model: Path) -> None:
    domains = [Domain("NEW", LOW, keep=True)]
    output = model.with_stem("kept")
    geodomain.label_file(model, domains, output, replace=True)
    assert labels_in(output) == [label or "NEW" for label in LABELS]
    frame = geodomain.label_blocks(table(), domains, replace="domain")
    assert frame.astype(object).tolist() == [label or "NEW" for label in LABELS]


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ({"!=": "ORE"}, [0, 1, 2, 5, 6, 7]),
        ("nan", [0]),
        (["NaN", "ORE"], [1, 4]),
    ],
)
@pytest.mark.filterwarnings("ignore:only_if of NEW. .* is case-sensitive")
def test_conditions_take_nan_for_a_text(model: Path, wanted: object, rows: list[int]) -> None:
    domains = [Domain("NEW", LOW, only_if={"domain": wanted})]
    output = model.with_stem("new")
    geodomain.label_file(model, domains, output, column="new")
    read = pandas.read_parquet if output.suffix == ".parquet" else pandas.read_csv
    assert np.flatnonzero(read(output)["new"] == "NEW").tolist() == rows


def test_compare_tells_nan_from_no_label(model: Path) -> None:
    other = table()
    other["domain"] = ["", *LABELS[1:]]
    other.to_csv("other.csv", index=False)
    with pytest.warns(GeodomainWarning, match="'NAN' and 'NaN' and 'nan'"):
        found = geodomain.compare_files(model, "other.csv")
    assert found.changed == 1 and (found.moves[0].old, found.moves[0].new) == ("nan", "")


def test_report_has_nan_among_its_labels(model: Path) -> None:
    result = CliRunner().invoke(main, ["report", str(model), "-o", "r.html"])
    assert result.exit_code == 0, result.output
    assert "'NAN' and 'NaN' and 'nan'" in result.stderr
    page = Path("r.html").read_text()
    assert all(label in page for label in LABELS)


def test_nan_among_numbers_is_missing_to_comparisons_with_numbers(tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    path.write_text("X,Y,Z,AU\n5,5,5,1\n15,5,5,NaN\n25,5,5,\n35,5,5,2\n")
    domains = [Domain("NEW", LOW, only_if={"AU": {"!=": 1}})]
    geodomain.label_file(path, domains, tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text().splitlines()[1:] == [
        "5,5,5,1,", "15,5,5,NaN,", "25,5,5,,", "35,5,5,2,NEW",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["nan", "NaN", "NAN", "-nan"])
def test_no_new_domain_is_called_nan(name: str) -> None:
    with pytest.raises(DomainError, match="read as a missing value: choose another"):
        Domain(name, LOW)
    with pytest.raises(DomainError, match="read as a missing value"):
        geodomain.label_points([[1, 1, 1]], {name: LOW})
    surface = geodomain.Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]])
    with pytest.raises(DomainError, match="read as a missing value"):
        Stack([surface], [name, "B"])


def line() -> pandas.DataFrame:
    return pandas.DataFrame({"X": [1.0, 90.0], "Y": [1.0, 1.0], "Z": [1.0, 1.0]})


DOORS = {
    "points of a mapping": lambda **label: geodomain.label_points(line(), {"A": LOW}, **label),
    "points": lambda **label: geodomain.label_points(line(), [Domain("A", LOW)], **label),
    "blocks": lambda **label: geodomain.label_blocks(line(), {"A": LOW}, **label),
    "lattice": lambda **label: geodomain.label_lattice([1], [1], [1], {"A": LOW}, **label),
    "domains": lambda **label: geodomain.Domains((Domain("A", LOW),), **label),
}


@pytest.mark.parametrize("what", ["background", "unassigned"])
@pytest.mark.parametrize("door", DOORS)
def test_no_other_new_label_is_called_nan(door: str, what: str, model: Path) -> None:
    with pytest.raises(DomainError, match=f"{what} is 'NaN', which programs read as a missing"):
        DOORS[door](**{what: "NaN"})
    with pytest.raises(DomainError, match=f"{what} is 'nan', which programs read as a missing"):
        geodomain.label_file(model, {"A": LOW}, None, column="new", **{what: "nan"})
    if door != "domains":
        with pytest.warns(GeodomainWarning, match="the label 'Null' is read as a missing"):
            DOORS[door](**{what: "Null"})


def test_names_of_a_mapping_are_warned_of_in_memory_too() -> None:
    with pytest.warns(GeodomainWarning, match="the label 'NA' is read as a missing"):
        geodomain.label_points(line(), {"NA": LOW})
    with pytest.warns(GeodomainWarning, match="the label 'NA' is read as a missing"):
        geodomain.label_blocks(line(), {"NA": LOW})


@pytest.mark.parametrize("name", ["NA", "na", "Null", "none", "N/A"])
def test_names_that_others_read_as_missing_are_warned_of(model: Path, name: str) -> None:
    with pytest.warns(GeodomainWarning, match=f"the label '{name}' is read as a missing"):
        geodomain.label_file(model, {name: LOW}, model.with_stem("o"), column="new")


def test_what_is_said_of_names() -> None:
    assert not [*read_as_missing(["ORE", "NANA", "NONE SUCH", "nation"])]
    assert not [*alike_labels(["ORE", "WASTE", ""], "domain")]
    (said,) = alike_labels(["ORE", "Ore", "A  B", "A B", "X"], "ZONE")
    assert said == (
        "ZONE has labels that differ only by case or blanks, but are counted separately: "
        "'ORE' and 'Ore'; 'A  B' and 'A B'"
    )
    column = ArrayColumn(["nan", "", None, float("nan"), "A"], "c")
    assert column.present().tolist() == [True, False, False, False, True]
    assert column.present(number=True).tolist() == [False, False, False, False, True]


@pytest.mark.parametrize("kind", ["csv", "quoted", "parquet"])
def test_labels_with_blanks_are_told_by_every_verb(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = table().assign(domain=["ORE", "ORE ", "ORE", " ORE", "WASTE ", "WASTE ", "", "Ore"])
    path = "b.parquet" if kind == "parquet" else "b.csv"
    if kind == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, quoting=2 if kind == "quoted" else 0)
    said = "have blanks before or after them, and these blanks are ignored: 'ORE' in 2 row"
    for words in (
        ["tonnes", path, "--density", "1"],
        ["compare", path, path],
        ["plot", path, "--section", "y=5", "-o", "p.svg"],
        ["report", path, "-o", "r.html"],
    ):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
        told = " ".join(done.output.split())
        assert "'ORE' and 'Ore'" in told and said.split(": ")[0] in told, done.output
        assert "WASTE' in" not in told
    notes = geodomain.tonnes(frame, density=1).notes
    assert any(said in one for one in notes)


def test_every_text_that_pandas_reads_as_missing_is_warned_of_or_refused(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("X,Y,Z\n5,5,5\n")
    ore = box((0, 0, 0), (9, 9, 9))
    parsers = pytest.importorskip("pandas._libs.parsers")
    for text in sorted(parsers.STR_NA_VALUES - {""}):
        if text.lower().lstrip("-") == "nan":
            with pytest.raises(DomainError, match="read as a missing value"):
                geodomain.label_file(tmp_path / "b.csv", {text: ore}, None)
        else:
            with pytest.warns(GeodomainWarning, match="read as a missing value"):
                geodomain.label_file(tmp_path / "b.csv", {text: ore}, None)


@pytest.mark.parametrize("label", [" ", " W", "W ", "\tW", "W\nX", "W\r"])
@pytest.mark.parametrize("what", ["background", "unassigned"])
@pytest.mark.parametrize("door", DOORS)
def test_labels_of_the_rest_read_back_as_written(door: str, what: str, label: str) -> None:
    said = rf"{what} is .*; it must be one line of text without blanks around it"
    with pytest.raises(DomainError, match=said):
        DOORS[door](**{what: label})


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x1c", "\x85", "\u2028"])
def test_a_name_that_ends_a_line_is_refused(end: str) -> None:
    with pytest.raises(DomainError, match="it must be one line of text"):
        Domain(f"ORE{end}", LOW)
