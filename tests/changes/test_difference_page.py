"""The page and the chart of a difference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from late import playwright
from report_page import CHROMIUM, SOFTWARE, Page
from test_differences import labelled
from wireframes import box

from geodomain import Domain, Domains, ModelDifference, diff, write_mesh
from geodomain.changes.difference_page import waterfalls

pytestmark = pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")


def made(tmp_path: Path, **keywords: object) -> tuple[ModelDifference, Page]:
    paths = tmp_path / "old.csv", tmp_path / "new.csv"
    for path, model in zip(paths, labelled(2), strict=True):
        model.to_csv(path, index=False)
    page = tmp_path / "page.html"
    result = diff(*paths, density="SG", grade="AU", report=page, **keywords)
    return result, Page(page.read_text())


def test_a_page_has_waterfalls_tables_and_blocks(tmp_path: Path) -> None:
    result, page = made(tmp_path, title="March <minus> January")
    text = (tmp_path / "page.html").read_text()
    assert "<h1>March &lt;minus&gt; January</h1>" in text and page.loads == []
    assert text.count("<svg viewBox") >= len(waterfalls(result)) > 0
    assert len(page.tables["steps-table"]) == 1 + len(result.rows) + len(result.totals)
    assert len(page.tables["moves-table"]) == 1 + len(result.moves)
    assert [row[0] for row in page.tables["files"]][1:] == ["old", "new"]
    scene = json.loads(page.blocks["scene"])
    names = {label["name"] for label in scene["labels"]}
    assert "new.csv only" in names
    assert any(" -> " in name for name in names)
    changed = result.changed
    assert changed is not None and scene["count"] == len(changed.codes)


def test_the_changed_block_of_a_model(tmp_path: Path) -> None:
    old = labelled(3)[0]
    again = old.assign(
        domain=["NEW" if place == 4 else name for place, name in enumerate(old.domain)]
    )
    result = diff(old, again, report=tmp_path / "page.html")
    changed = result.changed
    assert changed is not None and changed.rows.tolist() == [4]
    assert changed.kinds[changed.codes[0]] == f"{old.domain[4]} -> NEW"
    assert changed.points.tolist() == old.loc[[4], ["X", "Y", "Z"]].to_numpy().tolist()


def test_pages_without_changed_blocks_have_no_program(tmp_path: Path) -> None:
    old = labelled(3)[0]
    diff(old, old, report=tmp_path / "same.html")
    page = Page((tmp_path / "same.html").read_text())
    assert page.code == "" and "script-src 'none'" in page.policy
    for name, top in (("a.stl", 1), ("b.stl", 2)):
        write_mesh(box((0, 0, 0), (1, 1, top)), tmp_path / name)
    diff(tmp_path / "a.stl", tmp_path / "b.stl", report=tmp_path / "wire.html")
    page = Page((tmp_path / "wire.html").read_text())
    assert page.code == "" and page.tables["shells"][1:] == [
        ["old", "1", "12", "1", "0", "", "(0.5, 0.5, 0.5)"],
        ["new", "1", "12", "2", "", "1", "(0.5, 0.5, 1)"],
        ["old", "all", "12", "1", "0", "", ""],
        ["new", "all", "12", "2", "", "1", ""],
    ]
    lists = [Domains([Domain("A", box((0, 0, 0), (1, 1, top)))]) for top in (1, 2)]
    diff(*lists, report=tmp_path / "lists.html")
    assert "mesh changed" in (tmp_path / "lists.html").read_text()


def test_the_page_has_every_digit_of_a_volume(tmp_path: Path) -> None:
    result, page = made(tmp_path)
    volumes = [float(row[2].replace(",", "")) for row in page.tables["moves-table"][1:]]
    assert volumes == pytest.approx([move.volume for move in result.moves], rel=1e-9)
    assert all(float(move.exact) == move.volume for move in result.moves)


def test_no_kind_of_change_without_a_block(tmp_path: Path) -> None:
    old = labelled(3)[0]
    result = diff(old, old.assign(domain="NEW"), report=tmp_path / "page.html")
    assert result.changed is not None
    assert set(result.changed.codes.tolist()) == set(range(len(result.changed.kinds)))


def test_models_are_drawn_in_the_colour_of_text(tmp_path: Path) -> None:
    """A fixed dark grey would vanish on a dark page."""
    made(tmp_path)
    text = (tmp_path / "page.html").read_text()
    assert 'class="bars" d=' in text and "#2b2b2b" not in text


def test_wireframes_that_changed_are_in_the_view(tmp_path: Path) -> None:
    lists = tuple(
        Domains([Domain("ORE", box((0.1, 0.1, 0.1), (5.1, 5.1, top)))], background="WASTE")
        for top in (4.3, 6.7)
    )
    _, page = made(tmp_path, domains=lists)
    names = [each["domain"] for each in json.loads(page.blocks["scene"])["wireframes"]]
    assert names == ["ORE, old", "ORE, new"]


def test_levels_of_a_waterfall_end_at_the_new_model() -> None:
    result = diff(*labelled(5), density="SG", grade="AU", grade_unit="g/t")
    falls = waterfalls(result)
    assert {fall.what for fall in falls} == {"tonnes", "AU metal, g"}
    for fall in falls:
        assert fall.levels[-2] == pytest.approx(fall.levels[-1])
        axis = fall.chart().panels[0].y
        assert axis.low <= min(fall.levels) and max(fall.levels) <= axis.high
        assert len({text for _, text in axis.ticks}) == len(axis.ticks)


@pytest.mark.parametrize("name", ["fall.svg", "fall.png", "fall.pdf"])
def test_charts(tmp_path: Path, name: str) -> None:
    diff(*labelled(5), density="SG", grade="AU", chart=tmp_path / name)
    assert (tmp_path / name).stat().st_size > 5000
    with pytest.raises(FileExistsError):
        diff(*labelled(5), density="SG", chart=tmp_path / name)


@pytest.mark.full
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_a_browser_draws_the_changed_blocks(tmp_path: Path) -> None:
    made(tmp_path)
    page_url = (tmp_path / "page.html").as_uri()
    heard: list[str] = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=SOFTWARE)
        page = browser.new_context(offline=True).new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.goto(page_url)
        page.wait_for_selector("body[data-ready]", timeout=20_000)
        page.locator("#canvas").press("Enter")
        page.wait_for_selector("#picked table", timeout=20_000)
        cells = page.locator("#picked th").all_inner_texts()
        browser.close()
    assert heard == [] and cells == ["model", "row", "change"]
