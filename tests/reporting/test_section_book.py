"""The section book: true scale, sheets that continue each other, names of holes, classes."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from label_command import run_command
from late import matplotlib, needs
from section_model import model

from geodomain import plot_sections
from geodomain.errors import TableError
from geodomain.reporting.look import Ramp, as_classes, parse_classes
from geodomain.reporting.sheets import parse_paper, parse_scale

__all__ = ["model"]
pytestmark = needs("matplotlib")
MM = 72 / 25.4  # points


def book(*arguments: str, code: int = 0) -> Result:
    return run_command("plot", *arguments, "-o", "book.pdf", "--overwrite", code=code)


def blocks_of(pdf: bytes) -> list[np.ndarray]:
    """Return the corners of the blocks on each page, in points; each is a path of four corners."""
    number = rb"([\d.]+) ([\d.]+) [ml]\n"
    pages = []
    for stream in re.findall(rb"stream\n(.*?)endstream", pdf, re.DOTALL):
        content = stream[stream.find(b" rg 0.2 w") :]  # the paper comes before
        content = b"\n".join(re.split(rb"\sQ\s", content)[:2])  # ORE and WASTE
        found = re.findall(number * 4 + rb"h", content)
        if b" rg 0.2 w" in stream:
            pages.append(np.array(found, float).reshape(-1, 4, 2))
    return pages


def drawn(model: str, **asked: Any) -> bytes:
    with matplotlib.rc_context({"pdf.compression": 0}):
        plot_sections(model, "book.pdf", overwrite=True, **asked)
    return Path("book.pdf").read_bytes()


@pytest.mark.parametrize(("unit", "metres"), [("", 1), ("m", 1), ("ft", 0.3048)])
@pytest.mark.parametrize("scale", ["1:1000", 1250, "1:2,000".replace(",", "")])
def test_lengths_on_paper_are_true(model: str, unit: str, metres: float, scale: Any) -> None:
    (corners,) = blocks_of(drawn(model, sections="z=5", unit=unit, scale=scale, paper="A3"))
    assert len(corners) == 200
    length = 10 * metres * 1000 / parse_scale(scale) * MM
    np.testing.assert_allclose(np.ptp(corners, axis=1), length, atol=2e-6)
    # All blocks together, 200 by 100 units.
    assert np.ptp(corners.reshape(-1, 2), axis=0) == pytest.approx([20 * length, 10 * length])


def test_exaggeration_is_vertical_alone(model: str) -> None:
    asked = {"sections": "y=5", "scale": "1:1000", "paper": "A4", "exaggerate": 2}
    (corners,) = blocks_of(drawn(model, **asked))
    sides = np.ptp(corners, axis=1)
    np.testing.assert_allclose(sides, np.broadcast_to([10 * MM, 20 * MM], sides.shape), atol=2e-6)
    assert "vertical 1:500" in texts(model, **asked)[0]


@pytest.mark.parametrize(
    ("paper", "size"),
    [
        ("A4", (297, 210)),
        ("a3-portrait", (297, 420)),
        ("A0-landscape", (1189, 841)),
        ("Letter", (279.4, 215.9)),
        ("tabloid-portrait", (279.4, 431.8)),
        ("ANSI-D", (863.6, 558.8)),
        ("ansi-b-portrait", (279.4, 431.8)),
    ],
)
def test_sizes_of_paper(model: str, paper: str, size: tuple[float, float]) -> None:
    pdf = drawn(model, sections="z=5", scale=2000, paper=paper)
    (box,) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", pdf)
    assert [float(side) / MM for side in box] == pytest.approx(size)


def test_text_is_text_and_pictures_are_none(model: str) -> None:
    pdf = drawn(model, sections="z=5", paper="A4", prepared_by="J. Smith", title="Hill")
    assert b"/Subtype /CIDFontType2" in pdf and b"/Subtype /Image" not in pdf
    assert b"(J. Smith)" in pdf and b"(Hill)" in pdf


def test_without_a_scale_each_section_fits_on_one_sheet(model: str) -> None:
    # 200 units and air go into 391 mm: 1:500 needs 400, and 1:750 needs 267.
    pdf = drawn(model, sections=["z=5", "y=5"], paper="A3")
    for corners in blocks_of(pdf):
        assert np.ptp(corners[0, :, 0]) == pytest.approx(10 / 0.75 * MM)
    assert len(blocks_of(pdf)) == 2


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect the figures of a book."""
    from matplotlib.backends.backend_pdf import PdfPages

    kept: list[Any] = []
    monkeypatch.setattr(PdfPages, "savefig", lambda _, figure, **__: kept.append(figure))
    return kept


def texts(model: str, **asked: Any) -> list[list[str]]:
    """Return the texts of each sheet."""
    from matplotlib.backends.backend_pdf import PdfPages

    found: list[list[str]] = []

    def keep(_: object, figure: Any, **__: object) -> None:
        found.append([text.get_text() for axes in figure.axes for text in axes.texts])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PdfPages, "savefig", keep)
        plot_sections(model, "book.pdf", overwrite=True, **asked)
    return found


def test_the_title_block(model: str) -> None:
    asked = {"sections": ["z=5", "y=15,25,10"], "line": (0, 0, 200, 100), "title": "Long Hill"}
    sheets = texts(model, scale="1:1000", paper="A4", prepared_by="J. Smith", **asked)
    assert len(sheets) == 4
    for number, sheet in enumerate(sheets, 1):
        today = datetime.now().astimezone().date().isoformat()
        shown = ("Long Hill", "b.csv", "1:1,000 at A4", today, "J. Smith", f"{number} of 4")
        assert set(shown) <= set(sheet), sheet
    assert "Plan z = 5" in sheets[0]
    assert "Section y = 15, looking north" in sheets[1]
    assert "Section A-A', looking 333°" in sheets[3]
    # Coordinates of the grid have their directions; a line has distances, eastings and its ends.
    assert {"100 E", "50 N", "N"} <= set(sheets[0])
    assert {"100 E", "0 RL"} <= set(sheets[1])
    assert {"100", "100 E", "A", "A'", "0 E, 0 N", "200 E, 100 N"} <= set(sheets[3])
    for sheet in sheets:
        assert {"ORE", "WASTE", "Key plan", "Legend"} <= set(sheet)


def test_a_section_goes_on_on_further_sheets(model: str, figures: list[Any]) -> None:
    # At 1:250 the plan is 800 by 400 mm, and a sheet of A4 shows 268 by 128.
    plot_sections(model, "book.pdf", "z=5", scale="1:250", paper="A4-landscape")
    shown, named = [], []
    for figure in figures:
        (shared,) = [axes for axes in figure.axes if axes.get_gid() == "map"]
        shown.append([*shared.get_xlim(), *shared.get_ylim()])
        named.append(
            {int(text.get_text().split()[-1]) for axes in figure.axes for text in axes.texts
             if text.get_text().startswith("match line")}
        )  # fmt: skip
    windows = np.array(shown)
    # Every block is on a sheet, and each match line is named on both of its sheets.
    for x, y in ((0.1, 0.1), (199, 99), (100, 50), (66, 99), (0, 50)):
        left, right, low, high = windows.T
        assert ((left <= x) & (x <= right) & (low <= y) & (y <= high)).any()
    for number, others in enumerate(named, 1):
        assert others, number
        for other in others:
            assert number in named[other - 1]
            a, b = windows[number - 1], windows[other - 1]
            overlap = min(a[1], b[1]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[2], b[2])
            assert min(overlap) >= 2 * 10 * 0.25 - 1e-9  # 10 mm on either side
    # All sheets have the scale.
    np.testing.assert_allclose(windows[:, 1] - windows[:, 0], 268 * 0.25)


def test_the_key_plan_shows_the_part_on_each_sheet(model: str, figures: list[Any]) -> None:
    asked = {"sections": ["y=45", "x=65"], "line": (0, 0, 200, 100)}
    plot_sections(model, "book.pdf", scale="1:250", paper="A4-landscape", **asked)
    parts = []
    for figure in figures:
        lines = [line for axes in figure.axes for line in axes.lines]
        (bold,) = [line.get_xydata() for line in lines if line.get_linewidth() == 1.6]
        parts.append(bold)
        grey = [line for line in lines if line.get_color() == "#888888"]
        assert len(grey) == 2  # the other two sections of the book
    ends = np.array([part for part in parts if (part[:, 1] == 45).all()])[..., 0]
    # The sheets of y = 45 follow each other from the west to the east end of the model.
    assert ends[0, 0] == pytest.approx(-2, abs=0.1) and ends[-1, 1] == pytest.approx(202, abs=0.1)
    assert ends[1:, 0].tolist() == pytest.approx(ends[:-1, 1].tolist())
    oblique = np.array([part for part in parts if np.ptp(part, axis=0).all()])
    np.testing.assert_allclose(oblique[..., 0], 2 * oblique[..., 1], atol=1e-9)


def test_sheets_without_blocks_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{x},{y},5,10,10,10,ORE" for x, y in ((5, 5), (995, 995))]
    Path("far.csv").write_text("\n".join(["X,Y,Z,DX,DY,DZ,domain", *rows, ""]))
    assert len(texts("far.csv", sections="z=5", scale=1000, paper="A4")) == 2


def test_a_scale_for_too_many_sheets_is_refused(model: str) -> None:
    with pytest.raises(
        TableError, match=r"need [\d,]+ sheets of A4 at 1:1, .* 1:1,000 is the larg"
    ):
        plot_sections(model, "book.pdf", "z=5", scale=1, paper="A4")
    assert not Path("book.pdf").exists()


def test_names_of_holes_stay_between_the_ends_of_a_line(model: str, figures: list[Any]) -> None:
    from geodomain import Drillholes

    rows = [f"H{x},{x},45,40,60,90,-10" for x in range(4, 200, 11)]
    Path("c.csv").write_text("\n".join(["HOLE,X,Y,Z,DEPTH,AZIMUTH,DIP", *rows, ""]))
    plot_sections(model, "book.pdf", line=["50,45,120,45"], scale=1000, paper="A4",
                  holes=Drillholes("c.csv"), within=12)  # fmt: skip
    (figure,) = figures
    figure.draw_without_rendering()
    (shared,) = [axes for axes in figure.axes if axes.get_gid() == "map"]
    names = [text for axes in figure.axes for text in axes.texts if text.get_gid() == "hole-name"]
    assert len(names) >= 6
    for name in names:
        corners = shared.transData.inverted().transform(name.get_window_extent().corners())
        assert corners[:, 0].min() <= 75 and corners[:, 0].max() >= -5, name.get_text()


def test_hole_names_are_in_the_frame_and_apart(model: str, figures: list[Any]) -> None:
    from geodomain import Drillholes

    rows = [
        f"HOLE-{number},{number % 20 * 10 + 4},{number // 20 * 4 + 30},20,15,0,-90"
        for number in range(200)
    ]
    Path("c.csv").write_text("\n".join(["HOLE,X,Y,Z,DEPTH,AZIMUTH,DIP", *rows, ""]))
    plot_sections(model, "book.pdf", ["z=5", "y=45"], scale=1000, paper="A4",
                  holes=Drillholes("c.csv"), within=12)  # fmt: skip
    # On the plan all holes; on the section six rows of twenty.
    for figure, near in zip(figures, (200, 120), strict=True):
        figure.draw_without_rendering()
        (shared,) = [axes for axes in figure.axes if axes.get_gid() == "map"]
        frame = shared.get_window_extent()
        names = [text for axes in figure.axes for text in axes.texts
                 if text.get_gid() == "hole-name"]  # fmt: skip
        (dots,) = [line for axes in figure.axes for line in axes.lines
                   if line.get_gid() == "hole-dots"]  # fmt: skip
        assert len(dots.get_xdata()) == (200 if near == 200 else 0)  # seen from above
        boxes = [name.get_window_extent() for name in names]
        assert len(names) > 15
        notes = [text.get_text() for axes in figure.axes for text in axes.texts]
        left_out = sum(int(note.split()[0]) for note in notes if note.endswith("without room"))
        assert left_out + len(names) == near  # each hole has a name, or is counted
        for number, box in enumerate(boxes):
            assert frame.x0 <= box.x0 and box.x1 <= frame.x1
            assert frame.y0 <= box.y0 and box.y1 <= frame.y1
            for other in boxes[:number]:
                assert not box.shrunk(0.95, 0.95).overlaps(other)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--scale", "0"), "'0' is not a scale: give it as 1:500"),
        (("--scale", "1:x"), "is not a scale"),
        (("--paper", "A7"), "'A7' is not a paper size: use one of A4, A3"),
        (("--prepared-by", "me"), "give --scale or --paper too"),
        (("--paper", "A3", "--unit", "km"), "the unit is 'km'"),
        (("--classes", "AU=2,1"), "the classes of AU are"),
        (("--classes", "AU"), "not of the form COLUMN=GRADE,GRADE"),
        (("--classes", "AU=1,x"), "the classes of AU are"),
        (
            ("--classes", "CU=1,2", "--colour-by", "AU"),
            "--classes names CU, but no blocks or samples",
        ),
    ],
)
def test_what_is_refused(model: str, arguments: tuple[str, ...], words: str) -> None:
    said = book(model, *arguments, code=2).stderr
    assert words in " ".join(said.split())
    assert not Path("book.pdf").exists()


def test_a_book_is_a_pdf(model: str) -> None:
    said = run_command("plot", model, "--scale", "1:500", "-o", "s.png", code=2).stderr
    assert "s.png is not a PDF: --scale and --paper make a book" in " ".join(said.split())


def test_scales_and_papers() -> None:
    assert [parse_scale(each) for each in ("1:500", "500", 500, "1 : 2500", 12.5)] == [
        500, 500, 500, 2500, 12.5
    ]  # fmt: skip
    assert parse_paper("ansi-d") == ("Ansi-D", None)
    assert parse_paper("A2-Portrait") == ("A2", "portrait")
    with pytest.raises(ValueError, match="not a scale"):
        parse_scale(float("nan"))


# Classes of grades.


def test_a_grade_on_a_limit_is_in_the_class_above() -> None:
    ramp = Ramp("AU", "viridis", 0, 9, 9, (0.5, 1.0, 2500.0))
    assert ramp.classes == ["below 0.5", "0.5 to 1", "1 to 2,500", "2,500 and above"]
    values = np.array([-1, 0.4999, 0.5, 0.99, 1, 2499, 2500, 1e9, np.nan])
    assert ramp.steps(values, 4).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, -1]


def test_classes_in_words() -> None:
    assert parse_classes("AU=0.5,1,2") == ("AU", (0.5, 1.0, 2.0))
    assert parse_classes("A=B=3") == ("A=B", (3.0,))
    assert as_classes({"au": [1]}, ["AU", None]) == {"au": (1.0,)}
    assert as_classes(None, []) == {}
    for wrong in ([], [1, 1], [float("nan")], ["x"]):
        with pytest.raises(ValueError, match="ascending"):
            as_classes({"AU": wrong}, ["AU"])


def test_commas_of_classes_are_ambiguous_if_the_model_has_decimal_commas(model: str) -> None:
    text = Path(model).read_text().replace(",", ";").replace(";5;", ";5,0;")
    Path("commas.csv").write_text(text)
    words = ("plot", "commas.csv", "--section", "y=5", "--colour-by", "AU", "-o", "s.svg")
    refused = run_command(*words, "--classes", "AU=0,5", code=3)
    assert (
        "commas.csv has decimal commas, so the classes '0,5' are ambiguous: write AU=0.5 for one "
        "grade, or AU=0.0,5.0 for two" in refused.output
    )
    assert not Path("s.svg").exists()
    run_command(*words, "--classes", "AU=0.0,5.0")
    run_command(*words, "--classes", "AU=5", "--overwrite")
    run_command("plot", model, *words[2:], "--classes", "AU=0,5", "--overwrite")


def test_blocks_have_the_colours_of_their_classes(model: str) -> None:
    run_command("plot", model, "--section", "y=5", "--colour-by", "au", "--classes", "AU=5,15",
                "-o", "s.svg")  # fmt: skip
    picture = Path("s.svg").read_text()
    blocks = re.findall(r'<path d="([^"]+)"[^>]*style="fill: (#[0-9a-f]{6})', picture)
    counts = {colour: path.count("z") for path, colour in blocks if path.count("z") > 4}
    # 20 columns of 2 blocks: 0 to 4, 5 to 14, 15 to 19.
    assert counts == {"#440154": 10, "#21918c": 20, "#fde725": 10}
    assert {"5", "15", "au"} <= set(re.findall(r"<!-- (.*?) -->", picture))


def test_classes_are_in_the_legend_of_a_book(model: str) -> None:
    (sheet,) = texts(model, sections="y=5", paper="A4", colour_by="AU", classes={"AU": [5, 15]})
    assert {"AU", "below 5", "5 to 15", "15 and above"} <= set(sheet)
    (ramp,) = texts(model, sections="y=5", paper="A4", colour_by="AU")
    assert {"AU", "0"} <= set(ramp) and "ORE" not in ramp


def test_samples_of_a_report_have_classes(model: str) -> None:
    Path("c.csv").write_text("HOLE,X,Y,Z,DEPTH,AZIMUTH,DIP\nH1,55,45,20,15,0,-90\n")
    Path("a.csv").write_text("HOLE,FROM,TO,AU\nH1,0,5,0.2\nH1,5,10,1\nH1,10,15,7\n")
    near = ("--collar", "c.csv", "--intervals", "a.csv", "--within", "9", "--sample-grade", "AU")
    run_command("report", model, "--section", "y=45", *near, "--classes", "AU=1,5", "-o", "r.html")
    page = Path("r.html").read_text()
    assert "below 1</span>" in page and "1 to 5</span>" in page and "5 and above</span>" in page
    # The ends of viridis, and its middle.
    bars = re.findall(r'<path stroke="(#\w{6})" stroke-width="74"', page)
    assert [bars[0], bars[-1], len(set(bars))] == ["#440154", "#fde725", 3]
    said = run_command("report", model, "--classes", "AU=1", "-o", "t.html", code=2).stderr
    assert "--classes names AU, but no blocks or samples" in " ".join(said.split())
