"""The designed parts of a report: cut-offs, classes, units, title block, summary and axes."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np
import pytest
from report_page import Page, labelled_model, page_of, run
from wireframes import box

from geodomain import Drillholes, report_file, tonnes_file
from geodomain.domains.domain import Domain
from geodomain.formats.wireframes import write_mesh
from geodomain.reporting.grades import GradeClasses, grade_classes_of
from geodomain.reporting.look import Ramp, orders_of
from geodomain.reporting.svg import chart_svg, grade_classes
from geodomain.reporting.tables import domains_table, rounded, volume
from geodomain.statistics.charts import Series, between, curve_chart, histogram_chart, log_axis


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Return a labelled model with a column of classes and a second grade."""
    path = labelled_model(tmp_path)
    first, *rows = path.read_text().split()
    classes = ("Indicated", "Measured", "", "Inferred")
    rows = [f"{row},{classes[at % 4]},{at % 7 * 100}" for at, row in enumerate(rows)]
    path.write_text("\n".join([f"{first},CLASS,CU", *rows, ""]))
    return path


def text_of(labelled: Path) -> str:
    return (labelled.parent / "report.html").read_text()


# --- Cut-offs, classes and units, as in `geodomain tonnes`.


def test_the_table_has_the_rows_and_totals_of_tonnes(labelled: Path) -> None:
    asked = {
        "density": 2.5, "density_unit": "t/m3", "grade": ["AU", "CU"], "cutoff": {"AU": [1, 2.5]},
        "grade_unit": {"AU": "gpt", "CU": "ppm"}, "classification": "CLASS",
    }  # fmt: skip
    page = page_of(labelled, background="WASTE", **asked)
    expected = tonnes_file(labelled, **asked)
    headings, *rows = page.exact["tonnes"]
    assert headings == [
        *("domain", "CLASS", "AU, g/t from", "blocks", "volume, m³", "tonnes"),
        *("mean AU, g/t", "AU metal, g", "mean CU, ppm", "CU metal, g"),
    ]
    found = {tuple(row[:3]): row[3:] for row in rows}
    assert len(found) == len(rows)
    lines = [(row.domain, row, "(none)") for row in expected.rows]
    lines += [("total", row, "(none)") for row in expected.classes]
    lines += [("total", row, "") for row in expected.totals]
    assert len(lines) == len(rows)
    for name, row, nothing in lines:
        cut = "all" if row.cutoff is None else f"{row.cutoff:g}"
        blocks, *numbers = found[name, row.classification or nothing, cut]
        assert blocks == f"{row.blocks:,}"
        exact = [row.volume, row.tonnes]
        exact += [value for grade in row.grades for value in (grade.mean, grade.metal)]
        assert [float(cell.replace(",", "")) if cell else None for cell in numbers] == exact
    # Domains are in the order of the summary, and classes in that of a statement.
    assert [row[1] for row in rows if row[0] == "ORE" and row[2] == "all"] == [
        *("Measured", "Indicated", "Inferred", "(none)"),
    ]


def test_the_command_has_the_options_of_tonnes(labelled: Path) -> None:
    out = labelled.parent / "r.html"
    words = ("--density", "2.5", "--grade", "AU", "--cutoff", "1", "--grade-unit", "AU=g/t")
    done = run(labelled, *words, "--classification", "CLASS", "--unit", "m", "-o", out)
    assert done.exit_code == 0, done.output
    page = Page(out.read_text())
    assert page.tables["tonnes"][0][1:3] == ["CLASS", "AU, g/t from"]
    assert page.tables["main"][0] == [
        "domain",
        "volume, m³",
        "tonnes",
        "mean AU, g/t",
        "AU metal, g",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--grade", "AU", "--cutoff", "1"), "--cutoff needs --density"),
        (("--classification", "CLASS"), "--classification needs --density"),
        (("--density", "2", "--cutoff", "1"), "--cutoff must name a grade"),
        (("--grade", "AU", "--grade-unit", "CU=%"), "--grade-unit names CU"),
        (("--grade", "AU", "--grade-unit", "AU=pounds"), "the unit of AU is 'pounds'"),
    ],
)
def test_options_that_lack_another_are_refused(
    labelled: Path, words: tuple[str, ...], said: str
) -> None:
    done = run(labelled, *words, "-o", labelled.parent / "r.html")
    assert done.exit_code == 2 and said in done.output
    assert not (labelled.parent / "r.html").exists()


def test_classes_that_are_not_there_and_ambiguous_cut_offs_are_refused(labelled: Path) -> None:
    out = labelled.parent / "r.html"
    done = run(labelled, "--density", "2", "--classification", "KLASS", "-o", out)
    assert done.exit_code == 3 and "KLASS" in done.output
    text = labelled.read_text().replace(",", ";").replace(".", ",")
    labelled.write_text(text)
    words = ("--density", "2", "--grade", "AU", "--cutoff", "0,5")
    done = run(labelled, *words, "-o", out)
    assert (
        done.exit_code == 3
        and "has decimal commas, so the cut-off '0,5' is ambiguous" in done.output
    )
    with pytest.raises(ValueError, match="cutoff= and classification= need density="):
        report_file(labelled, out, classification="CLASS")


def test_lengths_and_volumes_have_their_unit_and_are_never_units(labelled: Path) -> None:
    collar = labelled.parent / "collar.csv"
    collar.write_text("BHID,X,Y,Z,DEPTH,AZIMUTH,DIP\nA,1,2,4,4,90,90\n")
    page = page_of(labelled, unit="ft", holes=Drillholes(collar), within=1.5)
    text = text_of(labelled)
    assert page.scene["unit"] == "ft"
    assert ">2 ft</text>" in text and "x, east (ft) →" in text
    assert "Drillholes are drawn within 1.5 ft on either side." in text
    assert page.tables["domains"][0][3] == "volume, ft³"
    page = page_of(labelled)
    text = text_of(labelled).split("<script")[0]
    assert ">2</text>" in text and page.scene["unit"] == ""
    assert not re.search(r"\d units", text)
    # A unit of density implies that of coordinates.
    assert page_of(labelled, density=160.0, density_unit="lb/ft3").scene["unit"] == "ft"


# --- The title block and the summary.


def test_the_title_block_names_model_author_and_version(labelled: Path) -> None:
    page_of(labelled, title="Golden Hill", prepared_by="<A> Person, MAusIMM")
    head = text_of(labelled).split("<main>")[0]
    assert "<h1>Golden Hill</h1>" in head
    cells = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", head))
    assert html.unescape(cells["Prepared by"]) == "<A> Person, MAusIMM"
    assert cells["Model"] == "labelled.csv" and re.fullmatch(r"\d{4}-\d\d-\d\d", cells["Date"])
    assert cells["Made with"].startswith("geodomain ")
    page_of(labelled)
    assert "Prepared by" not in text_of(labelled)


def test_the_summary_has_one_picture_and_the_main_table(labelled: Path) -> None:
    page = page_of(labelled, density=2.5, grade="AU", grade_unit="g/t", background="WASTE")
    summary = re.search(r'<div class="summary">.*?</table></div></div>', text_of(labelled))
    assert summary is not None
    assert summary[0].count("<svg xmlns") == 1 and re.findall('table id="(.*?)"', summary[0]) == [
        "main"
    ]
    assert [row[0].strip() for row in page.tables["main"]] == [
        *("domain", "DYKE", "ORE", "WASTE", "total"),
    ]
    assert len(page.ids) == len(set(page.ids))
    page_of(labelled, background="WASTE")
    summary = re.search(r'<div class="summary">.*?</table></div></div>', text_of(labelled))
    assert summary is not None and re.findall('table id="(.*?)"', summary[0]) == ["domains"]


def test_air_and_cover_are_off_when_the_view_opens(tmp_path: Path) -> None:
    rows = [
        f"{10 * x + 5},5,5,10,10,10,{name}" for x, name in enumerate(("ORE", "AIR", "COVER", "TOP"))
    ]
    (tmp_path / "l.csv").write_text("\n".join(["X,Y,Z,DX,DY,DZ,domain", *rows, ""]))
    for name in ("ore", "air", "top"):
        write_mesh(box((0, 0, 0), (40, 10, 10)), tmp_path / f"{name}.ply")
    names = {"ORE": "solid", "AIR": "solid", "TOP": "above"}
    domains = [
        Domain(name, f"{tmp_path}/{name.lower()}.ply", kind=kind) for name, kind in names.items()
    ]
    page = page_of(tmp_path / "l.csv", domains=domains)
    hidden = {label["name"]: label["hidden"] for label in page.scene["labels"]}
    assert hidden == {"ORE": False, "AIR": True, "COVER": True, "TOP": True}
    text = text_of(tmp_path / "l.csv")
    checked = dict(re.findall(r'type="checkbox"( checked)? data-wireframe="(\w+)"', text))
    assert checked == {" checked": "ORE", "": "TOP"}
    assert 'type="checkbox" data-wireframe="AIR"' in text


# --- Numbers and axes.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8423190.7, "8,423,000"),
        (1440.0, "1,440"),
        (99999.0, "100,000"),
        (0.0, "0"),
        (12.3456, "12.35"),
    ],
)
def test_numbers_have_four_digits(value: float, text: str) -> None:
    assert rounded(value, 4) == text
    shown = volume(value)
    assert shown == text if float(text.replace(",", "")) == value else f'value="{value!r}"' in shown


def test_huge_volumes_are_in_millions_with_exact_numbers_on_hover(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("X,Y,Z,DX,DY,DZ,domain\n0,0,0,1234,1000,1000.5,A\n")
    page = page_of(tmp_path / "l.csv", unit="m")
    assert page.tables["domains"][0][3] == "volume, million m³"
    assert page.tables["domains"][1][3] == "1,235"
    assert float(page.exact["domains"][1][3]) == 1234 * 1000 * 1000.5
    assert 'title="1,234,617,000"' in text_of(tmp_path / "l.csv")
    assert "domains" in domains_table([], {})


def test_volumes_that_moved_are_rounded_in_their_unit(tmp_path: Path) -> None:
    text = "X,Y,Z,DX,DY,DZ,domain\n0,0,0,12,10,10.293,A\n"
    (tmp_path / "old.csv").write_text(text)
    (tmp_path / "l.csv").write_text(text.replace(",A", ",B"))
    page = page_of(tmp_path / "l.csv", unit="m", compare=tmp_path / "old.csv")
    assert page.tables["moves"] == [
        ["old", "new", "blocks", "volume, m³"],
        ["A", "B", "1", "1,235"],
    ]
    assert float(page.exact["moves"][1][3]) == pytest.approx(1235.16)


def test_a_legend_is_in_the_order_of_the_domains(labelled: Path) -> None:
    page_of(
        labelled,
        background="WASTE",
        sections="z=1.5",
        domains=[
            Domain("ORE", labelled.parent / "ore.stl"),
            Domain("DYKE", labelled.parent / "dyke.stl"),
        ],
    )
    (legend,) = re.findall(r'<p class="legend">(.*?)</p>', text_of(labelled))
    assert re.findall(r"</svg> (.*?)</span>", legend) == ["ORE", "DYKE", "WASTE"]


def test_a_negative_grade_does_not_make_thousands_of_bars() -> None:
    values = np.array([-99.0, 0.5, 1.0, 2.0])
    axis = grade_classes_of(values, -99.0, 2.0)
    assert len(axis.edges) < 40 and axis.edges[0] <= -99 and axis.edges[-1] >= 2


def test_a_difference_of_nothing_has_no_sign(tmp_path: Path) -> None:
    from geodomain.reporting.tables import _percent

    assert [_percent(value) for value in (-1e-9, 1e-9, -0.01, None)] == [
        *("0.00%", "+0.00%", "-1.00%", ""),
    ]


def test_grades_that_span_orders_of_magnitude_have_a_log_axis(labelled: Path) -> None:
    rng = np.random.default_rng(1)
    spread = rng.lognormal(0, 2, 5000)
    axis = grade_classes_of(spread, float(spread.min()), float(np.quantile(spread, 0.99)))
    assert axis.is_log
    marks = log_axis("AG", float(axis.edges[0]), float(axis.edges[-1])).ticks
    assert [text for _, text in marks] == ["0.01", "0.1", "1", "10", "100"]
    low, high = np.quantile(spread, [0.01, 0.99])
    assert axis.edges[0] <= low and axis.edges[-1] >= high
    assert np.allclose(np.diff(np.log10(axis.edges)), np.diff(np.log10(axis.edges))[0])
    narrow = rng.normal(50, 5, 5000)
    axis = grade_classes_of(narrow, float(narrow.min()), float(np.quantile(narrow, 0.99)))
    assert not axis.is_log and axis.edges[0] == 0
    marks = between("AU", 0.0, float(axis.edges[-1]), 6).ticks
    assert [text for _, text in marks] == ["0", "20", "40", "60"]
    first, *rows = labelled.read_text().split()
    values = rng.lognormal(0, 2, len(rows)).round(4)
    rows = [f"{row},{value}" for row, value in zip(rows, values, strict=True)]
    first_ore = next(at for at, row in enumerate(rows) if ",ORE," in row)
    rows[first_ore] = rows[first_ore].rsplit(",", 1)[0] + ",0"
    labelled.write_text("\n".join([f"{first},AG", *rows, ""]))
    page_of(labelled, grade=["AG", "AU"], grade_unit={"AG": "g/t"})
    text = text_of(labelled)
    assert "AG, g/t (log axis)" in text and "AU (log axis)" not in text
    assert "at or below 0, is off the axis" in text


def test_no_volume_of_a_histogram_is_lost(labelled: Path) -> None:
    page_of(labelled, grade="AU", background="WASTE")
    (svg, *_) = re.findall(
        r"<svg [^>]*><title[^>]*>Histogram of AU in ORE.*?</svg>", text_of(labelled)
    )
    (bars,) = re.findall(r'class="bars" d="(.*?)"', svg)
    tops = [(float(foot), float(y)) for foot, y in re.findall(r"M\S+ (\S+?)V([\d.]+)h", bars)]
    top = float(re.findall(r'text-anchor="end">([\d.]+)%</text>', svg)[-1]) / 100
    assert sum(foot - y for foot, y in tops) / 162 * top == pytest.approx(1, abs=0.01)


def test_classes_hold_all_of_the_weight() -> None:
    classes = GradeClasses(np.array([0.1, 1.0, 10.0]), is_log=True)
    shares = classes.shares(np.array([0.0, 0.01, 5.0, 50.0]), np.array([1.0, 1.0, 1.0, 1.0]))
    assert shares.tolist() == [0.25, 0.5]


def test_axes_end_at_round_numbers() -> None:
    series = [Series("blocks", [0.37, 0.63], 1.1, "#123456")]
    edges = np.array([0.0, 1, 2])
    chart = histogram_chart("A", "AU, g/t", edges, series, is_log=False, what="of volume")
    svg = chart_svg(chart, "h", "Histogram")
    assert [f">{share}%<" in svg for share in (0, 20, 40, 60, 80)] == [True] * 5
    assert ">AU, g/t</text>" in svg and "mean 1.1" in svg
    chart = curve_chart("A", "#123456", [0, 1], [1.3e6, 4e5], [1.5, None], "AU, g/t")
    svg = chart_svg(chart, "c", "Curve")
    assert ">1.5 M</text>" in svg and ">cut-off AU, g/t</text>" in svg and ">tonnes</text>" in svg


def test_grades_of_samples_on_sections_have_steps_of_equal_ratio() -> None:
    assert (
        orders_of(np.array([0.0, 0.01, 0.01, 50.0, 50.0])) is not None
        and orders_of(np.zeros(3)) is None
    )
    classes = grade_classes(Ramp("AU", "", 0.01, 2.56, 30.0, is_log=True))
    assert [one.interval for one in classes[:2]] == ["below 0.02", "0.02 to 0.04"]
    assert classes[-1].interval == "1.3 to 30"
