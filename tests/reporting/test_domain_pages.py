"""Pages of domains in a report: each figure is that of a command, and charts show what is there."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from late import pd
from report_page import Page, run, sampled_model

import geodomain
from geodomain import Drillholes, report_file, synthetic
from geodomain.cli import main
from geodomain.errors import GeodomainWarning
from geodomain.statistics.settings import ReportKeywords, ReportSettings, read_bands
from geodomain.synthetic import files

pytestmark = pytest.mark.filterwarnings("ignore::geodomain.errors.GeodomainWarning")

TONNES = {"density": 2.5, "density_unit": "t/m3", "grade": "AU", "cutoff": [1, 2]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a labelled model of 8 x 6 x 4 blocks, and with 12 vertical holes."""
    return sampled_model(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def made(folder: Path) -> tuple[geodomain.reporting.report_file.Report, Page]:
    """Return the report of holes and samples, and its page."""
    done = report_file(
        folder / "labelled.csv",
        folder / "report.html",
        domains={"DYKE": folder / "dyke.stl", "ORE": folder / "ore.stl"},
        record=folder / "run.json",
        holes=Drillholes(folder / "c.csv", None, folder / "a.csv"),
        samples=folder / "a.csv",
        sample_grade="AU",
        cap=5,
        contact_bin=0.5,
        contact_max=2,
        distance_bands="0.5,1,2",
        unit="m",
        **TONNES,
    )
    return done, Page((folder / "report.html").read_text())


def domain(done, name: str) -> dict:
    """Return the figures of a domain, as JSON holds them."""
    figures = json.loads(json.dumps(done.as_dict()))
    (values,) = (each for each in figures["domains"] if each["name"] == name)
    return values


def plain(value: object) -> object:
    return json.loads(json.dumps(value))


NAMES = ("DYKE", "ORE")


# --- Each figure is that of a command.


@pytest.mark.parametrize("name", NAMES)
def test_statistics_are_those_of_stats(folder: Path, made, name: str) -> None:
    options = {"decluster": "nearest", "blocks": folder / "labelled.csv", "cap": 5}
    samples = geodomain.stats(folder / "s.csv", "AU", **options)
    blocks = geodomain.stats(folder / "labelled.csv", "AU")
    values = domain(made[0], name)
    for key, expected in (("sample_statistics", samples), ("block_statistics", blocks)):
        rows = [plain(asdict(row)) for row in expected.rows if row.domain == name]
        assert values[key] == rows and rows


@pytest.mark.parametrize("name", NAMES)
def test_comparisons_are_those_of_validate(folder: Path, made, name: str) -> None:
    expected = geodomain.validate(folder / "labelled.csv", "AU", samples=folder / "s.csv")
    values = domain(made[0], name)["validation"]["AU"]
    (row,) = (row for row in expected.rows if row.domain == name)
    assert values["row"] == plain(asdict(row))
    for key in ("quantiles", "swaths"):
        own = [plain(asdict(each)) for each in getattr(expected, key) if each.domain == name]
        assert values[key] == own and own


def test_contacts_are_those_of_contacts(folder: Path, made) -> None:
    values = domain(made[0], "ORE")
    assert values["touching"] == ["WASTE", "DYKE"]
    pairs = [tuple(each["between"]) for each in values["contacts"]["AU"]]
    assert pairs == [("DYKE", "ORE"), ("ORE", "WASTE")]
    for pair, contact in zip(pairs, values["contacts"]["AU"], strict=True):
        expected = geodomain.contacts(
            folder / "a.csv",
            {"DYKE": folder / "dyke.stl", "ORE": folder / "ore.stl"},
            pair,
            "AU",
            holes=Drillholes(folder / "c.csv", None, folder / "a.csv"),
            background="WASTE",
            bin=0.5,
            max=2,
        ).as_dict()
        both = (plain({**each, "findings": [], "dips": ""}) for each in (contact, expected))
        assert next(both) == next(both)


@pytest.mark.parametrize("name", NAMES)
def test_tonnes_and_crossings_are_those_of_their_commands(folder: Path, made, name: str) -> None:
    values = domain(made[0], name)
    tonnes = geodomain.tonnes_file(folder / "labelled.csv", **TONNES)
    assert values["tonnes"] == [plain(asdict(row)) for row in tonnes.domains if row.domain == name]
    holes = Drillholes(folder / "c.csv", None, folder / "a.csv")
    stays, _ = holes.crossings({name: folder / f"{name.lower()}.stl"}).to_pandas()
    assert [row["hole"] for row in values["crossings"]] == stays["hole"].tolist()
    assert [row["from"] for row in values["crossings"]] == stays["from"].tolist()
    assert [row["length"] for row in values["crossings"]] == stays["length"].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_distances_and_spacing_by_brute_force(folder: Path, made, name: str) -> None:
    blocks, samples = pd.read_csv(folder / "labelled.csv"), pd.read_csv(folder / "s.csv")
    samples = samples[(samples["domain"] == name) & samples["AU"].notna()]
    centres = blocks.loc[blocks["domain"] == name, ["X", "Y", "Z"]].to_numpy()
    points = samples[["x", "y", "z"]].to_numpy()
    apart = np.sqrt(((centres[:, None] - points[None]) ** 2).sum(axis=2)).min(axis=1)
    values = domain(made[0], name)
    assert values["beyond"] == [float((apart > band).mean()) for band in (0.5, 1, 2)]
    middles = samples.groupby("HOLE")[["x", "y", "z"]].mean().to_numpy()
    squares = ((middles[:, None] - middles[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    expected = np.median(np.sqrt(squares.min(axis=1))) if len(middles) > 1 else 0
    assert values["spacing"] == pytest.approx(expected)
    assert (values["holes"], values["samples"]) == (len(middles), len(samples))


def test_samples_with_coordinates_give_the_same_figures(folder: Path, made) -> None:
    """The labels are those of the wireframes, so both ways of reading samples agree."""
    done = report_file(
        folder / "labelled.csv", folder / "points.html", samples=folder / "s.csv", cap=5,
        record=folder / "run.json", distance_bands=[0.5, 1, 2], overwrite=True, **TONNES,
    )  # fmt: skip
    for name in NAMES:
        one, other = domain(made[0], name), domain(done, name)
        for key in ("sample_statistics", "block_statistics", "beyond", "holes", "tonnes"):
            assert one[key] == other[key]
        assert other["crossings"] == [] and other["contacts"] == {}
        assert other["spacing"] == pytest.approx(one["spacing"])
    text = (folder / "points.html").read_text()
    assert "Samples belong to the domains in their column domain." in text
    assert "Not shown: contacts and crossings of holes: give domains=" in text


# --- The page shows them.


def test_the_page_has_the_figures_in_tables(made) -> None:
    done, page = made
    names = [each["name"] for each in done.figures["domains"]]
    assert names == ["DYKE", "ORE"] and len(page.ids) == len(set(page.ids))
    headings, *rows = page.exact["statistics-1-0"]
    stats = domain(done, "ORE")
    shown = [row for row in stats["sample_statistics"] if row["cap"] is None or row["samples_cut"]]
    shown += stats["block_statistics"]
    assert [row[0] for row in rows][-1] == "blocks" and len(rows) == len(shown)
    for cells, row in zip(rows, shown, strict=True):
        numbers = dict(zip(headings, cells, strict=True))
        assert numbers["count"] == f"{row['count']:,}"
        for heading, key in (("mean", "mean"), ("CV", "cv"), ("P90", "p90"), ("max", "maximum")):
            assert float(numbers[heading].replace(",", "")) == row[key]
    assert json.loads(page.blocks["figures"]) == plain(done.figures)
    assert len(page.tables["crossings-1"]) - 1 == min(10, len(stats["crossings"]))
    assert [row[0] for row in page.tables["cutoffs-1-0"]] == ["cut-off", "all", "1", "2"]


def test_the_page_has_the_charts(folder: Path, made) -> None:
    text = (folder / "report.html").read_text()
    article = text[text.index('<article class="domain" id="domain-1">') :]
    titles = re.findall(r"<title[^>]*>(.*?)</title>", article)
    for what in (
        "Histogram of AU in ORE; blocks, mean",
        "Log-probability plot of AU in ORE; blocks, mean",
        "Grade-tonnage curve of AU in ORE",
        "Slices along x of AU in ORE",
        "Slices along z of AU in ORE",
        "AU by distance from the contact of ORE and WASTE; ORE: mean",
    ):
        assert any(title.startswith(what) for title in titles), what
    assert article.count('<use href="#drawing-') == 3
    for number in re.findall(r'href="#drawing-(\d+)"', article):
        assert text.count(f'<g id="drawing-{number}">') == 1
        assert f'<figure id="section-{number}"' in text


def test_findings_are_those_of_holes_check(folder: Path, made) -> None:
    done, page = made
    check = Drillholes(folder / "c.csv", None, folder / "a.csv").check(
        {"DYKE": folder / "dyke.stl", "ORE": folder / "ore.stl"}
    )
    assert done.as_dict()["holes"] == check.as_dict()
    rows = page.tables["findings"][1:]
    assert {(row[1], row[4]) for row in rows} == {
        (each.what, f"{each.count:,}") for each in check.findings
    }
    assert [row[2:4] for row in page.tables["hole-rows"][1:]] == [
        [f"{each.rows:,}", f"{each.used:,}"] for each in check.tables.values()
    ]


def test_without_samples_and_grades_the_page_says_what_brings_them(folder: Path) -> None:
    done = report_file(folder / "labelled.csv", folder / "bare.html")
    text = (folder / "bare.html").read_text()
    what = "statistics of samples, contacts, slices and distances from samples: give samples, and"
    assert what in text and "statistics of the grades of blocks: give grade=" in text
    assert run(folder / "labelled.csv", "-o", folder / "bare.html", "--overwrite").exit_code == 0
    said = (folder / "bare.html").read_text()
    assert f"{what} their grade with --sample-grade" in said and "blocks: give --grade" in said
    assert '<table id="statistics-' not in text and '<article class="domain"' in text
    assert domain(done, "ORE")["sample_statistics"] == []
    done = report_file(folder / "labelled.csv", folder / "bare.html", grade="AU", overwrite=True)
    assert "Histogram of AU in ORE; blocks, mean" in (folder / "bare.html").read_text()
    assert len(domain(done, "ORE")["block_statistics"]) == 1
    done = report_file(
        folder / "labelled.csv", folder / "bare.html", samples=folder / "s.csv",
        sample_grade="AU", overwrite=True,
    )  # fmt: skip
    assert "Histogram of AU in ORE; samples, mean" in (folder / "bare.html").read_text()
    assert {row["weights"] for row in domain(done, "ORE")["sample_statistics"]} == {"naive"}


def test_a_wireframe_that_cannot_be_used_is_a_note(folder: Path) -> None:
    """An open solid cannot label samples: its parts are left out, and the rest is shown."""
    mesh = geodomain.read_mesh(folder / "ore.stl")
    bowl = geodomain.Mesh(mesh.vertices, mesh.triangles[:-1], name="bowl")
    done = report_file(
        folder / "labelled.csv", folder / "open.html", domains={"ORE": bowl}, overwrite=True,
        holes=Drillholes(folder / "c.csv", None, folder / "a.csv"), samples=folder / "s.csv",
        sample_grade="AU",
    )  # fmt: skip
    notes = done.figures["notes"]
    assert any(note.startswith("contacts and labels of samples by wireframes") for note in notes)
    assert all(note in (folder / "open.html").read_text().replace("&#x27;", "'") for note in notes)
    assert "left out" in str(done)
    # The samples have a label column, so their statistics are there.
    assert domain(done, "ORE")["sample_statistics"]


def test_new_warnings_are_issued_once(folder: Path) -> None:
    rows = (folder / "s.csv").read_text().replace("WASTE", "DIKE")
    (folder / "typo.csv").write_text(rows)
    with pytest.warns(GeodomainWarning, match="samples without blocks to compare with: 'DIKE'"):
        report_file(
            folder / "labelled.csv", folder / "typo.html", samples=folder / "typo.csv", grade="AU"
        )
    (warned,) = re.findall(r'<ul id="warnings">(.*?)</ul>', (folder / "typo.html").read_text())
    assert warned.count("samples without blocks to compare with") == 1


# --- The command and its settings.


def test_the_command_has_the_settings(folder: Path) -> None:
    out = folder / "command.html"
    words = ("--samples", folder / "s.csv", "--grade", "AU", "--decluster", "2", "--swath", "x")
    done = run(folder / "labelled.csv", *words, "--distance-bands", "1", "--json", "-o", out)
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert figures["distance_bands"] == [1.0] and figures["output"] == str(out)
    values = next(each for each in figures["domains"] if each["name"] == "ORE")
    assert values["validation"]["AU"]["row"]["weights"] == "cells"
    assert {each["axis"] for each in values["validation"]["AU"]["swaths"]} == {"x"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--distance-bands", "0"), "is not a list of distances above 0"),
        (("--contact-bin", "5", "--contact-max", "2"), "max from"),
        (("--cap", "CU=1", "--grade", "AU"), "names CU"),
        (("--decluster", "near"), "is not a size of cells"),
    ],
)
def test_invalid_settings_are_refused(folder: Path, words: tuple[str, ...], said: str) -> None:
    done = run(folder / "labelled.csv", *words, "-o", folder / "no.html")
    assert done.exit_code == 2 and said in done.output and not (folder / "no.html").exists()


def test_keywords_are_the_fields() -> None:
    names = {entry for entry in ReportSettings.__dataclass_fields__ if entry != "column"}
    assert names <= ReportKeywords.__annotations__.keys()
    assert read_bands(5) == (5.0,)
    with pytest.raises(ValueError, match="sample_grade= names 2 columns, but grade= names 1"):
        report_file("m.csv", "r.html", samples="s.csv", grade="AU", sample_grade=["AU", "CU"])


# --- The demo, by the commands.


@pytest.mark.full
def test_the_demo_has_the_figures_of_the_commands(tmp_path: Path) -> None:
    files.write_deposit(synthetic.deposit("tiny"), tmp_path, overwrite=False)
    listed = ("--domains", tmp_path / "domains.toml")
    drilled = ("--collar", tmp_path / "collar.csv", "--survey", tmp_path / "survey.csv")
    assay, model, samples = (tmp_path / name for name in ("assay.csv", "model.csv", "samples.csv"))
    command("label", tmp_path / files.REGULAR, *listed, "-o", model)
    command("flag", assay, *drilled, *listed, "--coordinates", "-o", samples)
    tonnage = ("--density", "DENSITY", "--density-unit", "t/m3", "--grade", "AU", "--cutoff", "1")
    report = command(
        "report", model, *listed, *drilled, "--intervals", assay, "--sample-grade", "AU",
        *tonnage, "--cap", "8", "--contact-bin", "4", "--contact-max", "20",
        "-o", tmp_path / "r.html",
    )  # fmt: skip
    nearest = ("--decluster", "nearest", "--blocks", model, "--cap", "8")
    stats = command("stats", samples, "--grade", "AU", *nearest)
    blocks = command("stats", model, "--grade", "AU")
    validation = command("validate", model, "--samples", samples, "--grade", "AU")
    tonnes = command("tonnes", model, *tonnage)
    names = [each["name"] for each in report["domains"]]
    assert {"ORE", "RICH ORE", "DYKE", "OXIDE"} <= {*names}
    for values in report["domains"]:
        name = values["name"]

        def own(rows: list[dict], name: str = name) -> list[dict]:
            return [row for row in rows if row["domain"] == name]

        assert values["block_statistics"] == own(blocks["rows"])
        naive, ours = ([row for row in rows if row["weights"] == "naive"]
                       for rows in (values["sample_statistics"], own(stats["rows"])))  # fmt: skip
        assert naive == ours
        # The file of samples has coordinates with six decimals.
        for row, other in zip(values["sample_statistics"], own(stats["rows"]), strict=True):
            assert row["mean"] == pytest.approx(other["mean"], rel=1e-6)
        compared = values["validation"]["AU"]
        assert compared["row"]["block_mean"] == own(validation["rows"])[0]["block_mean"]
        assert [each["blocks"] for each in compared["swaths"]] == [
            each["blocks"] for each in own(validation["swaths"])
        ]
        assert values["tonnes"] == own(tonnes["domains"])
        for contact in values["contacts"]["AU"]:
            expected = command(
                "contacts", assay, *drilled, *listed, "--between", *contact["between"],
                "--grade", "AU", "--bin", "4", "--max", "20",
            )  # fmt: skip
            assert contact["classes"] == expected["classes"]
            assert contact["step"] == expected["step"]
            assert contact["counts"] == expected["counts"]
    crossings = command("holes", "crossings", *drilled, *listed)
    totals = {each["name"]: each["stays"] for each in crossings["solids"]}
    for values in report["domains"]:
        assert len(values["crossings"]) == totals.get(values["name"], 0)


def command(*words: object) -> dict:
    """Run a command, and return its JSON."""
    done = CliRunner().invoke(main, [*map(str, words), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize("unit", ["%", {"AU": "%"}])
def test_a_grade_of_samples_alone_has_its_unit(folder: Path, unit: object) -> None:
    model, page = folder / "labelled.csv", folder / "unit.html"
    settings = {"samples": folder / "s.csv", "sample_grade": "AU", "overwrite": True}
    report_file(model, page, grade_unit=unit, density=2.5, **settings)
    assert "AU, %" in page.read_text()
    with pytest.raises(ValueError, match=r"names CU; it must name grades \(AU\)"):
        report_file(model, page, grade_unit={"CU": "%"}, **settings)
    words = ["report", str(model), "--samples", str(folder / "s.csv"), "--sample-grade", "AU"]
    for given, code in (("%", 0), ("CU=%", 2)):
        options = ["--grade-unit", given, "-o", str(page), "--overwrite"]
        assert CliRunner().invoke(main, [*words, *options]).exit_code == code


def test_what_conditions_take_is_told_beside_contacts_and_crossings(
    folder: Path, tmp_path: Path
) -> None:
    text = (
        'background = "WASTE"\n[[domain]]\nname = "RICH"\nmesh = "ore.stl"\n'
        'only_if = { AU = { ">=" = 2 } }\n[[domain]]\nname = "ORE"\nmesh = "ore.stl"\n'
    )
    (folder / "rich.toml").write_text(text)
    page = tmp_path / "r.html"
    done = report_file(
        folder / "labelled.csv", page, domains=folder / "rich.toml",
        holes=Drillholes(folder / "c.csv", None, folder / "a.csv"), samples=folder / "a.csv",
        sample_grade="AU", grade="AU",
    )  # fmt: skip
    words = "here ORE may include what the conditions of RICH take from it"
    assert page.read_text().count(words) >= 1
    assert any(
        "RICH is left out, because its condition is on a column" in n
        for n in done.as_dict()["notes"]
    )


def test_results_in_small_print_are_on_paper() -> None:
    style = (Path(geodomain.__file__).parent / "reporting/viewer/page.css").read_text()
    (hidden,) = re.findall(r"@media print \{.*?\n  (nav,[^\n]*) \{ display: none; \}", style, re.S)
    assert ".hint" not in hidden and ".screen" in hidden
