"""Reports in Chromium, offline, drawn by software: what is seen, asked for and picked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from late import playwright
from report_page import CHROMIUM, SOFTWARE, sampled_model
from wireframes import box

from geodomain import Drillholes, label_file, report_file
from geodomain.formats.wireframes import write_mesh

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a model of 12 x 10 x 6 blocks at mine coordinates, and its record."""
    folder = tmp_path_factory.mktemp("report")
    ore = box((414020, 7480020, 110), (414090, 7480080, 150))
    dyke = box((414060, 7480000, 100), (414080, 7480100, 160))
    write_mesh(ore, folder / "ore.obj")
    write_mesh(dyke, folder / "dyke.obj")
    rows = ["XC,YC,ZC,XINC,YINC,ZINC,AU"]
    rows += [
        f"{414005 + 10 * x}.000,{7480005 + 10 * y}.000,{105 + 10 * z}.00,10,10,10,{x + y / 10:.2f}"
        for z in range(6)
        for y in range(10)
        for x in range(12)
    ]  # fmt: skip
    (folder / "blocks.csv").write_text("\n".join(rows) + "\n")
    domains = {"DYKE": folder / "dyke.obj", "ORE": folder / "ore.obj"}
    labelled, record = folder / "labelled.csv", folder / "run.json"
    label_file(folder / "blocks.csv", domains, labelled, background="WASTE", record=record)
    report_file(labelled, folder / "report.html", domains=domains, record=record)
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=SOFTWARE)
        yield opened
        opened.close()


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Any]:
    """Return a function that opens the report; nothing may be asked for or complained of."""
    pages, said = [], []

    def open_report(width: int = 1400, scheme: str = "light") -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda asked: said.append(asked.url))
        page.goto(report.as_uri())
        page.wait_for_selector("body[data-ready]", timeout=20_000)
        drawn(page)
        pages.append(context)
        return page

    yield open_report
    for context in pages:
        context.close()
    assert said == [report.as_uri()] * len(pages)


COUNT = """(colour) => {
  const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const source = document.getElementById("canvas");
  const copy = document.createElement("canvas");
  Object.assign(copy, { width: source.width, height: source.height });
  const context = copy.getContext("2d");
  context.drawImage(source, 0, 0);
  const data = context.getImageData(0, 0, copy.width, copy.height).data;
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    const light = Math.max(data[i], data[i + 1], data[i + 2]) / Math.max(...wanted);
    const off = wanted.map((part, each) => Math.abs(data[i + each] - light * part));
    count += light > 0.3 && off[0] + off[1] + off[2] < 24;
  }
  return count;
}"""


def drawn(page: Any) -> None:
    """Wait until the last picture is drawn."""
    page.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")


def seen(page: Any, colour: str) -> int:
    """Count the canvas's pixels near a colour, #rrggbb, in any light."""
    return page.evaluate(COUNT, colour)


def colour_of(page: Any, name: str) -> str:
    label = page.locator("#shown label", has_text=f"blocks of {name}")
    return label.locator("rect").get_attribute("fill")


def test_the_view_is_drawn_and_domains_switch(opened: Any) -> None:
    page = opened()
    dyke, ore = colour_of(page, "DYKE"), colour_of(page, "ORE")
    before = seen(page, dyke), seen(page, ore)
    assert min(before) > 500
    page.get_by_label("blocks of DYKE").uncheck()
    page.get_by_label("wireframe of DYKE").uncheck()
    drawn(page)
    after = seen(page, dyke), seen(page, ore)
    assert after[0] < before[0] / 20 and after[1] > before[1]


def test_the_slider_cuts_true_blocks_and_a_pick_reads_the_file(opened: Any, report: Path) -> None:
    page = opened()
    page.select_option("#cut-axis", "2")
    page.get_by_role("button", name="Look down").click()
    page.select_option("#projection", "orthographic")
    # The middle of the slider is amid the model, 414060, 7480050, 130.
    page.locator("#cut-range").fill("750")
    drawn(page)
    assert page.input_value("#cut-at") == "145"
    size = page.locator("#canvas").bounding_box()
    middle = {"x": size["width"] / 2 - 5, "y": size["height"] / 2 - 5}
    page.locator("#canvas").click(position=middle)
    page.wait_for_selector("#picked table")
    cells = page.locator("#picked td").all_text_contents()
    assert cells[:3] == ["414055.000", "7480055.000", "145.00"]
    number = int(page.locator("#picked caption").text_content().split()[1])
    line = (report.parent / "labelled.csv").read_text().split()[number]
    assert cells == line.split(",")


def test_blocks_hidden_within_are_cut(opened: Any) -> None:
    page = opened()
    page.get_by_label("wireframe of ORE").uncheck()
    ore = colour_of(page, "ORE")
    page.get_by_role("button", name="Look north").click()
    page.select_option("#cut-axis", "1")
    drawn(page)
    cut = seen(page, ore)
    page.get_by_label("blocks of ORE").uncheck()
    drawn(page)
    assert cut > 3000 and seen(page, ore) < cut / 20


def test_keys_turn_the_model_and_pick(opened: Any) -> None:
    page = opened()
    before = page.locator("#canvas").screenshot()
    page.focus("#canvas")
    for key in ("ArrowLeft", "ArrowUp", "+"):
        page.keyboard.press(key)
    drawn(page)
    assert page.locator("#canvas").screenshot() != before
    page.keyboard.press("Enter")
    page.wait_for_selector("#picked table")
    assert page.get_attribute("#picked", "aria-live") == "polite"


def test_a_row_is_found_by_its_number(opened: Any, report: Path) -> None:
    page = opened()
    page.fill("#row", "100")
    page.press("#row", "Enter")
    page.wait_for_selector("#picked table")
    line = (report.parent / "labelled.csv").read_text().split()[100]
    assert page.locator("#picked td").all_text_contents() == line.split(",")


def test_sections_are_stepped_through(opened: Any) -> None:
    page = opened()
    shown = page.locator("figure:visible")
    assert shown.count() == 1
    before = shown.get_attribute("data-section")
    page.get_by_role("button", name="Next").click()
    assert shown.count() == 1 and shown.get_attribute("data-section") != before


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_the_page_fits_and_is_accessible(opened: Any, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe is not installed")
    code = (Path(axe.__file__).parent / "axe.min.js").read_text()
    page = opened(width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(code)
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_without_scripts_tables_and_sections_are_there(browser: Any, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("figure:visible").count() == page.locator("#section-choice option").count()
    assert page.locator("figure:visible").count() > 20
    assert page.locator("#domains tbody tr").count() == 4
    assert page.locator("#no-view").is_visible() and not page.locator("#viewer").is_visible()
    context.close()


CORNER = """() => {
  const source = document.getElementById("canvas");
  const copy = document.createElement("canvas");
  Object.assign(copy, { width: source.width, height: source.height });
  copy.getContext("2d").drawImage(source, 0, 0);
  return [...copy.getContext("2d").getImageData(3, 3, 1, 1).data.slice(0, 3)];
}"""


# The most lines that a number of the summary takes.
LINES = """() => Math.max(...[...document.querySelectorAll("#domains td")].map((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return range.getClientRects().length;
}))"""


def test_it_prints_on_white_without_controls(opened: Any) -> None:
    page = opened(1400, "dark")
    assert max(page.evaluate(CORNER)) < 60
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(CORNER) == [255, 255, 255]
    page.emulate_media(media="print")
    assert not page.locator(".controls").is_visible() and not page.locator("#strip").is_visible()
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.set_viewport_size({"width": 700, "height": 990})  # A4
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    assert page.evaluate(LINES) == 1  # no number is broken
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert max(page.evaluate(CORNER)) < 60


PAPER = """() => {
  const source = document.getElementById("overlay");
  const copy = document.createElement("canvas");
  Object.assign(copy, { width: source.width, height: source.height });
  copy.getContext("2d").drawImage(source, 0, 0);
  const data = copy.getContext("2d").getImageData(0, 0, copy.width, copy.height).data;
  let count = 0;
  for (let i = 0; i < data.length; i += 4) count += data[i + 3] === 255;
  return count / (data.length / 4);
}"""


def test_the_model_is_printed_although_browsers_print_no_webgl(opened: Any) -> None:
    page = opened()
    assert page.evaluate(PAPER) < 0.1
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(PAPER) > 0.9
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(PAPER) < 0.1


def test_the_summary_fits_a_screen(opened: Any) -> None:
    page = opened(1280)
    page.set_viewport_size({"width": 1280, "height": 800})
    for name in (".picture svg", ".summary table"):
        box = page.locator(name).bounding_box()
        assert box["y"] + box["height"] <= 800 and box["x"] + box["width"] <= 1280
    assert page.locator(".picture svg").bounding_box()["width"] > 400


def test_tables_scroll_within_themselves_on_a_phone(opened: Any) -> None:
    page = opened(390)
    page.locator(".summary .wide").evaluate("each => each.scrollTo(9999, 0)")
    scrolled = page.locator(".summary .wide").evaluate("each => each.scrollLeft")
    first = page.locator("#domains tbody th").first.bounding_box()
    # The names of the domains stay in sight.
    assert scrolled > 50 and 0 <= first["x"] < 30
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_wireframes_of_air_are_off_when_the_view_opens(
    browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("air")
    rows = [f"{x},5,{z},10,10,10,{'AIR' if z > 10 else 'ORE'}" for x in (5, 15) for z in (5, 15)]
    (folder / "l.csv").write_text("\n".join(["X,Y,Z,DX,DY,DZ,domain", *rows, ""]))
    write_mesh(box((0, 0, 10), (20, 10, 20)), folder / "air.ply")
    report_file(folder / "l.csv", folder / "r.html", domains={"AIR": folder / "air.ply"})
    page = browser.new_page()
    page.goto((folder / "r.html").as_uri())
    page.wait_for_selector("body[data-ready]", timeout=20_000)
    drawn(page)
    before = page.locator("#canvas").screenshot()
    for name in ("blocks of AIR", "wireframe of AIR"):
        assert not page.get_by_label(name).is_checked()
    page.get_by_label("wireframe of AIR").check()
    drawn(page)
    assert page.locator("#canvas").screenshot() != before
    page.close()


def test_without_webgl_tables_and_sections_are_there(browser: Any, report: Path) -> None:
    blind = browser.browser_type.launch(
        executable_path=CHROMIUM, args=["--no-sandbox", "--disable-3d-apis"]
    )
    page = blind.new_page()
    page.goto(report.as_uri())
    page.wait_for_selector("#no-view:has-text('could not be drawn')")
    assert not page.locator("#viewer").is_visible()
    assert page.locator("#domains tbody tr").count() == 4
    before = page.locator("figure:visible").get_attribute("data-section")
    page.get_by_role("button", name="Next").click()
    assert page.locator("figure:visible").get_attribute("data-section") != before
    blind.close()


# --- Pages of domains.


@pytest.fixture(scope="module")
def domain_pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = sampled_model(tmp_path_factory.mktemp("pages"))
    report_file(
        folder / "labelled.csv",
        folder / "pages.html",
        domains={"DYKE": folder / "dyke.stl", "ORE": folder / "ore.stl"},
        record=folder / "run.json",
        holes=Drillholes(folder / "c.csv", None, folder / "a.csv"),
        samples=folder / "a.csv",
        grade="AU",
        density=2.5,
        contact_bin=0.5,
        unit="m",
    )
    return folder / "pages.html"


OUTSIDE = """() =>
  [...document.querySelectorAll(".charts > svg, .contact > svg")].flatMap((svg) => {
  const { width, height } = svg.viewBox.baseVal;
  return [...svg.querySelectorAll("text")].filter((text) => {
    const box = text.getBBox();
    return box.x < -1 || box.y < -1 || box.x + box.width > width + 1 ||
      box.y + box.height > height + 1;
  }).map((text) => text.textContent);
})"""


@pytest.mark.parametrize("width", [1280, 420])
def test_pages_of_domains_fit_their_screen(browser: Any, domain_pages: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, offline=True)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(domain_pages.as_uri())
    page.wait_for_selector("body[data-ready]", timeout=20_000)
    assert page.locator("article.domain").count() == 2
    assert page.locator(".charts > svg, .contact > svg").count() >= 14
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OUTSIDE) == [] and said == []
    # A small section shows the large one, and is drawn itself.
    link = page.locator("#domain-1 a.small").last
    small = link.locator("use").bounding_box()
    assert small is not None and small["width"] > 100
    wanted = link.get_attribute("href")
    link.click()
    assert page.locator("figure:visible").get_attribute("id") == str(wanted).removeprefix("#")
    page.close()


def test_each_domain_begins_a_page_on_paper(browser: Any, domain_pages: Path) -> None:
    page = browser.new_page()
    page.goto(domain_pages.as_uri())
    page.emulate_media(media="print")
    breaks = page.evaluate(
        """() => [...document.querySelectorAll("#domain-pages, .domain")].map(
             (each) => getComputedStyle(each).breakBefore)"""
    )
    assert breaks == ["page", "auto", "page"]
    page.close()
