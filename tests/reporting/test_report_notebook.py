"""The widget of a notebook: what it holds, and what is there without widgets."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from late import pa, pd, polars
from report_page import Page, labelled_model
from wireframes import box

import geodomain
from geodomain import report_file
from geodomain.errors import TableError
from geodomain.reporting.notebook import _widget_type


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    return labelled_model(tmp_path)


@pytest.mark.full
def test_the_widget_holds_the_page_and_a_picture(labelled: Path) -> None:
    pytest.importorskip("anywidget")
    domains = {"ORE": labelled.parent / "ore.stl"}
    shown = geodomain.view(labelled, domains=domains, sections="z=1.5", height=500)
    page = Page(shown.page)
    assert [one["domain"] for one in page.scene["wireframes"]] == ["ORE"]
    assert "default-src 'none'" in page.policy and not page.loads
    assert (shown.height, shown.title) == (500, "labelled.csv by domain")
    state = shown.get_state()
    assert state["page"] == shown.page and "sandbox" in state["_esm"]
    picture = shown._repr_html_()
    assert picture.count("<svg") == 1 and "labelled.csv by domain" in picture
    data, *_ = shown._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data


def test_the_widget_has_the_tonnes_of_a_report(labelled: Path) -> None:
    pytest.importorskip("anywidget")
    asked = {"density": 2.5, "density_unit": "t/m3", "grade": "AU", "grade_unit": "g/t"}
    asked |= {"cutoff": [0.5, 1], "classification": "Z"}
    page = Page(geodomain.view(labelled, **asked).page)
    report_file(labelled, labelled.parent / "r.html", **asked)
    wanted = Page((labelled.parent / "r.html").read_text())
    assert page.exact["tonnes"] == wanted.exact["tonnes"] and page.scene["unit"] == "m"


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_table_in_memory_is_shown_as_its_file_is(library: str, labelled: Path) -> None:
    pytest.importorskip("anywidget")
    frame = pd.read_csv(labelled)
    frame["domain"] = frame["domain"].astype("category")
    frame.loc[3, ["domain", "AU"]] = None
    frame.to_csv(labelled, index=False)
    frame["odd"] = [[1, 2]] * len(frame)  # no text, so it is left out
    makers = {"pandas": pd.DataFrame, "polars": polars.from_pandas, "arrow": pa.Table.from_pandas}
    table = makers[library](frame)
    options = {"grade": "AU", "domains": {"ORE": labelled.parent / "ore.stl"}, "background": "W"}
    shown, wanted = geodomain.view(table, **options), geodomain.view(labelled, **options)
    page, same = Page(shown.page), Page(wanted.page)
    assert page.tables["domains"] == same.tables["domains"]
    assert page.scene["wireframes"] == same.scene["wireframes"]
    assert shown.title == "table in memory by domain"
    named = [row[1] for row in page.tables["files"][1:]]
    assert named == ["table in memory", str(labelled.parent / "ore.stl")]


@pytest.mark.full
def test_a_model_that_is_not_labelled_is_refused(labelled: Path) -> None:
    pytest.importorskip("anywidget")
    with pytest.raises(TableError, match="domain"):
        geodomain.view(labelled.parent / "blocks.csv")


@pytest.mark.full
@pytest.mark.parametrize("thing", [box((0, 0, 0), (1, 1, 1)), 5, None, [1, 2]])
def test_what_is_no_file_is_one_clear_sentence(thing: object, tmp_path: Path) -> None:
    pytest.importorskip("anywidget")
    said = f"must be either the path of a file or a table, not {type(thing).__name__}; give"
    with pytest.raises(TypeError, match=said):
        geodomain.view(thing)
    said = f"must be the path of a file, not {type(thing).__name__}; write the labelled blocks"
    with pytest.raises(TypeError, match=said):
        geodomain.report_file(thing, tmp_path / "r.html")


def test_without_the_extra_one_sentence_says_which(
    labelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    _widget_type.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'geodomain\[notebook\]'"):
        geodomain.view(labelled)
