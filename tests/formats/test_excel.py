"""Sheets of Excel workbooks, read and written as tables."""

from __future__ import annotations

import csv
import datetime
import io
import os
import random
import struct
import sys
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path

import excel_files as xml
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from late import openpyxl
from wireframes import box

import geodomain
from geodomain import (
    Domain,
    Domains,
    Drillholes,
    GeodomainWarning,
    TableError,
    label_file,
    write_mesh,
)
from geodomain.cli import main
from geodomain.formats.blocks import open_table
from geodomain.formats.excel import cell_name, read_sheet

ORE = box((0, 0, 0), (10, 10, 10))
Cells = Sequence[Sequence[object]]
BLOCKS: Cells = [
    ["X", "Y", "Z", "DX", "DY", "DZ", "AU", "ROCK"],
    [5, 5, 5, 10, 10, 10, 1.5, "OX"],
    [15, 5, 5, 10, 10, 10, "<0.01", "FR"],
    [5, 15, 5, 10, 10, 10, None, None],
]
COLLAR: Cells = [["HOLE", "X", "Y", "Z", "DEPTH", "AZIMUTH", "DIP"], ["A", 5, 5, 9, 9, 0, 90]]
SURVEY: Cells = [["HOLE", "AT", "AZIMUTH", "DIP"], ["A", 0, 0, 90]]
ASSAY: Cells = [
    ["HOLE", "FROM", "TO", "AU"],
    ["A", 0, 4, 0.5],
    ["A", 4, 7.25, "<0.01"],
    ["A", 7.25, 9, 2],
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_mesh(ORE, "ore.ply")
    return tmp_path


def book(path: str, hidden: Sequence[str] = (), **sheets: Cells) -> str:
    """Write a workbook with openpyxl."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for cells in rows:
            sheet.append(list(cells))
        if name in hidden:
            sheet.sheet_state = "hidden"
    made.save(path)
    return path


def text(rows: Cells) -> str:
    """Return the same table as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def cells(path: str) -> list[list[object]]:
    """Return the values of the only sheet of a workbook."""
    (sheet,) = openpyxl.load_workbook(path).worksheets
    return [[cell.value for cell in row] for row in sheet.iter_rows()]


def run(*words: str, code: int = 0) -> str:
    """Run a command, and return all that it prints; an error is one line."""
    done = CliRunner().invoke(main, words)
    assert done.exit_code == code, done.output
    if code:
        assert done.stderr.count("\n") == 1, done.stderr
    return done.output


def refused(path: str | Path) -> str:
    """Return the error about a block model, which is one line, with the exit code 3."""
    return run("label", str(path), "--solid", "ORE=ore.ply", "-o", "refused.csv", code=3)


# --- Block models.


def test_a_sheet_is_labelled_as_the_same_table_of_text() -> None:
    book("blocks.xlsx", Model=BLOCKS)
    Path("blocks.csv").write_text(text(BLOCKS))
    for source in ("blocks.csv", "blocks.xlsx", "blocks.xlsx:Model"):
        label_file(source, {"ORE": ORE}, "out.csv", overwrite=True)
        wanted = [[*BLOCKS[0], "domain"], [*BLOCKS[1], "ORE"]]
        assert Path("out.csv").read_text() == text([*wanted, *([*r, ""] for r in BLOCKS[2:])])


@pytest.mark.parametrize("source", ["blocks.csv", "blocks.xlsx"])
def test_a_labelled_workbook_has_the_same_cells_and_a_new_column(source: str) -> None:
    book("blocks.xlsx", Model=BLOCKS)
    Path("blocks.csv").write_text(text(BLOCKS))
    run("label", source, "--solid", "ORE=ore.ply", "-o", "out.xlsx")
    labels = ["domain", "ORE", None, None]
    assert cells("out.xlsx") == [[*row, each] for row, each in zip(BLOCKS, labels, strict=True)]
    assert openpyxl.load_workbook("out.xlsx").active.freeze_panes == "A2"


def test_types_of_cells_survive() -> None:
    day = datetime.datetime(2024, 6, 4)
    moment = datetime.datetime(2024, 6, 4, 13, 45, 30)
    rows: Cells = [
        ["X", "Y", "Z", "ID", "A", "B"],
        [1, 1, 1, 12, "12", "=1+1"],
        [1, 1, 1, "0012", True, "TRUE"],
        [1, 1, 1, 1e-05, day, "2024-06-04"],
        [1, 1, 1, -0.5, moment, 'say "no", or\nyes'],
        [1, 1, 1, 123456789012, datetime.time(7, 30), " blank "],
    ]
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    for place in ("E2", "F2", "D3", "F3", "F4"):
        made.active[place].data_type = "s"
    made.save("blocks.xlsx")
    label_file("blocks.xlsx", {"ORE": ORE}, "out.xlsx")
    assert [row[:6] for row in cells("out.xlsx")] == [
        *map(list, rows[:5]), [1, 1, 1, 123456789012, datetime.time(7, 30), "blank"],
    ]  # fmt: skip
    sheet = openpyxl.load_workbook("out.xlsx").active
    assert [sheet[f"{c}{r}"].data_type for r in (2, 3, 4) for c in "DEF"] == list("nsssbsnds")


def test_numbers_keep_their_bits() -> None:
    chance = random.Random(4)
    numbers = [struct.unpack("<d", chance.randbytes(8))[0] for _ in range(400)]
    numbers = [each for each in numbers if 1e-290 < abs(each) < 1e290] + [0.1 + 0.2, -0.0, 0.0]
    rows = [["X", "Y", "Z", "AU"], *([1, 1, 1, repr(each)] for each in numbers)]
    Path("a.csv").write_text(text(rows))
    with pytest.warns(GeodomainWarning, match="same centroid"):
        label_file("a.csv", {"ORE": ORE}, "b.xlsx")
        label_file("b.xlsx", {"ORE": ORE}, "c.csv", column="again")
    with Path("c.csv").open() as file:
        read = [float(row["AU"]) for row in csv.DictReader(file)]
    assert [struct.pack("<d", each) for each in read] == [struct.pack("<d", n) for n in numbers]


def test_decimals_of_a_text_table_stay_visible() -> None:
    Path("a.csv").write_text("X;Y;Z;AU;ID\n1,50;1;1;2,500;007\n")
    label_file("a.csv", {"ORE": ORE}, "b.xlsx")
    row = openpyxl.load_workbook("b.xlsx").active[2]
    assert [cell.value for cell in row] == [1.5, 1, 1, 2.5, "007", "ORE"]
    assert [cell.number_format for cell in row][:4] == ["0.00", "General", "General", "0.000"]


def test_numbers_as_text_with_decimal_commas() -> None:
    book("a.xlsx", A=[["X", "Y", "Z", "AU"], ["1,5", "2,5", "3,5", 0.25]])
    for decimal in (None, ","):
        label_file("a.xlsx", {"ORE": ORE}, "b.xlsx", decimal=decimal, overwrite=True)
        assert cells("b.xlsx")[1] == ["1,5", "2,5", "3,5", 0.25, "ORE"]
    inside = Domain("RICH", ORE, only_if={"AU": {">": 0.2}})
    label_file("a.xlsx", Domains((inside,)), "b.xlsx", overwrite=True)
    assert cells("b.xlsx")[1][-1] == "RICH"
    book("a.xlsx", A=[["X", "Y", "Z"], ["1,5", 2.5, 3.5]])
    said = refused("a.xlsx")
    assert "mixes decimal commas" in said and "The text '1,5' is in cell A2: enter it as" in said


def test_text_with_thousands_separators_is_refused_at_its_cell() -> None:
    book("a.xlsx", Model=[["X", "Y", "Z", "AU"], [1, 1, 1, "1,410"], [1, 1, 1, 2]])
    said = run("label", "a.xlsx", "--solid", "ORE=ore.ply", "-o", "b.csv")
    assert "ORE" in said
    book("c.xlsx", Model=[[*BLOCKS[0], "domain"], [*BLOCKS[1][:6], "1,410", "OX", "ORE"]])
    said = run("tonnes", "c.xlsx", "--density", "2", "--grade", "AU", code=3)
    assert "c.xlsx:Model: AU is not a number" in said and "'1,410' in cell G2" in said
    book("d.xlsx", Model=[["X", "Y", "Z"], ["7,480,200", 1, 1]])
    said = refused("d.xlsx")
    assert "thousands separators" in said and "'7,480,200' is in cell A2" in said


def test_a_header_below_a_title_and_blank_rows() -> None:
    rows = [["Model of January"], [], *BLOCKS[:2], [], *BLOCKS[2:], [None, None, "x"]]
    book("a.xlsx", Model=rows)
    said = refused("a.xlsx")
    assert "a.xlsx:Model, cell C8: Z is 'x', which is not a number" in said
    book("a.xlsx", Model=rows[:-1])
    label_file("a.xlsx", {"ORE": ORE}, "out.xlsx")
    assert [row[-1] for row in cells("out.xlsx")] == [None, None, "domain", "ORE", None, None, None]
    assert openpyxl.load_workbook("out.xlsx").active.freeze_panes == "A4"
    assert "first row of data  row 4" in run("inspect", "out.xlsx")


def test_line_ends_in_cells_do_not_move_rows() -> None:
    header = ["X", "Y", "Z", "Grade\n(g/t)"]
    book("a.xlsx", A=[header, [1, 1, 1, "a\nb\r\nc"], [1, 1, 1, "d"], [1, "east", 1, 2]])
    assert "a.xlsx:A, cell B4: Y is 'east'" in refused("a.xlsx")
    book("a.xlsx", A=[header, [1, 1, 1, "a\nb"], [1, 1, 1, "d"]])
    label_file("a.xlsx", {"ORE": ORE}, "b.xlsx")
    assert cells("b.xlsx")[1][3:] == ["a\nb", "ORE"] and cells("b.xlsx")[0][3] == header[3]


def test_the_output_has_a_name_of_a_workbook_or_a_text_table() -> None:
    book("a.xlsx", A=BLOCKS)
    for name in ("b.xls", "b.xlsm", "b.parquet", "b.xlsx.gz", "b.dm", "b.ods"):
        said = run("label", "a.xlsx", "--solid", "ORE=ore.ply", "-o", name, code=3)
        assert name in said and ".csv" in said
        assert not Path(name).exists()
    assert "X,Y,Z" in run("label", "a.xlsx", "--solid", "ORE=ore.ply", "-o", "-", "--quiet")


def test_a_workbook_is_not_replaced_by_its_labelled_sheet() -> None:
    book("a.xlsx", A=BLOCKS, B=[["more"]])
    before = Path("a.xlsx").read_bytes()
    said = run("label", "a.xlsx:A", "--solid", "ORE=ore.ply", "--in-place", code=3)
    assert "remove the other sheets" in said and Path("a.xlsx").read_bytes() == before
    said = run("label", "a.xlsx:A", "--solid", "ORE=ore.ply", "-o", "a.xlsx", code=3)
    assert "is the input itself" in said and Path("a.xlsx").read_bytes() == before


def test_other_commands_read_sheets() -> None:
    rows = [[*BLOCKS[0], "domain"], *([*row, "ORE"] for row in BLOCKS[1:])]
    book("a.xlsx", Model=rows, Notes=[["by", "me"]])
    said = run("tonnes", "a.xlsx:Model", "--density", "2", "-o", "t.xlsx")
    assert cells("t.xlsx")[1][:6] == ["ORE", None, None, 3, 3000, 6000]
    said = run("compare", "a.xlsx:Model", "a.xlsx:Model", "-o", "m.xlsx")
    assert "0 of 3 blocks" in said and cells("m.xlsx")[1] == ["ORE", "ORE", 3, 3000, 0]
    said = run("compare", "a.xlsx:Model", "a.xlsx:Model", "-o", "m.xlsx", code=4)
    assert "m.xlsx already exists" in said
    said = run("compare", "a.xlsx:Model", "a.xlsx:Model", "-o", "-", "--quiet")
    assert said == "old,new,blocks,volume,unsized\nORE,ORE,3,3000.0,0\n"
    assert "a.xlsx:Model" in run("inspect", "a.xlsx:Model")
    options = ["--solid", "IN=ore.ply", "--scheme", "octree", "--minimum", "5", "--column", "in"]
    run("subblock", "a.xlsx:Model", *options, "-o", "s.xlsx")
    assert cells("s.xlsx")[0][:9] == rows[0] and "in" in cells("s.xlsx")[0]
    run("convert", "a.xlsx:Model", "b.vtu")
    run("convert", "b.vtu", "c.xlsx")
    assert len(cells("c.xlsx")) == 4 and cells("c.xlsx")[1][:3] == [5, 5, 5]
    run("distance", "a.xlsx:Model", "--mesh", "ORE=ore.ply", "-o", "d.xlsx")
    assert isinstance(cells("d.xlsx")[1][-1], int | float), said


# --- Which sheet.


def test_the_only_sheet_with_cells_is_read() -> None:
    book("a.xlsx", Empty=[], Model=BLOCKS, Sheet3=[])
    assert read_sheet("a.xlsx").name == "a.xlsx:Model"


def test_several_sheets_are_listed() -> None:
    book("a.xlsx", Model=BLOCKS, Notes=[["x"]])
    said = refused("a.xlsx")
    assert "a.xlsx has the sheets 'Model', 'Notes'" in said and "a.xlsx:Model" in said
    assert "a.xlsx has no sheet 'Old': its sheets are 'Model', 'Notes'" in refused("a.xlsx:Old")
    assert read_sheet("a.xlsx:model").name == "a.xlsx:Model"


def test_a_hidden_sheet_is_read_only_by_its_name() -> None:
    book("a.xlsx", ["Old"], Model=BLOCKS, Old=[["X", "Y", "Z"], [1, 1, 1]])
    with pytest.warns(GeodomainWarning, match="only the sheet 'Model' is read; hidden sheets"):
        assert read_sheet("a.xlsx").name == "a.xlsx:Model"
    assert read_sheet("a.xlsx:Old").text == b"X,Y,Z\n1,1,1\n"


def test_a_workbook_without_cells() -> None:
    book("a.xlsx", A=[], B=[])
    assert "a.xlsx has no cells in any sheet" in refused("a.xlsx")


@pytest.mark.skipif(os.name == "nt", reason="colons in names of files")
def test_a_colon_in_a_path_is_not_always_a_sheet(folder: Path) -> None:
    book("a.xlsx", A=BLOCKS)
    Path("a.xlsx").rename("b:c.xlsx")
    assert read_sheet("b:c.xlsx").name == "b:c.xlsx:A"
    assert read_sheet("b:c.xlsx:A").name == "b:c.xlsx:A"
    assert read_sheet(str(folder / "b:c.xlsx")).name == "b:c.xlsx:A"
    with pytest.raises(FileNotFoundError):
        read_sheet(r"C:\a.xlsx")
    Path("b:c.xlsx").rename(r"C:\a.xlsx")
    for path in (r"C:\a.xlsx", r"C:\a.xlsx:A"):
        assert read_sheet(path).name.endswith(r"a.xlsx:A")


# --- Odd cells.


def model(*rows: str, after: str = "", **settings: object) -> Path:
    """Write a sheet of blocks whose data rows are XML."""
    names = [xml.text(f"{letter}1", name) for letter, name in zip("ABCD", "XYZA", strict=True)]
    content = xml.sheet(xml.row(1, *names) + "".join(rows), after)
    return xml.write(Path("a.xlsx"), {"S": content}, **settings)  # type: ignore[arg-type]


def placed(row: int, *cells: str) -> str:
    """Return a data row with coordinates 1, 1, 1 and other cells."""
    return xml.row(row, *(xml.number(f"{letter}{row}", 1) for letter in "ABC"), *cells)


def read(cell: str, **settings: object) -> str:
    """Return a cell of column D as text."""
    sheet = read_sheet(str(model(placed(2, cell), **settings)))
    return sheet.text.decode().splitlines()[1].removeprefix("1,1,1,")


def test_dates() -> None:
    assert read(xml.number("D2", 45447, 1)) == "2024-06-04"
    assert read(xml.number("D2", 45447.75, 3)) == "2024-06-04 18:00:00"
    assert read(xml.number("D2", 59, 1)) == "1900-02-28"
    assert read(xml.number("D2", 61, 1)) == "1900-03-01"
    assert read(xml.number("D2", 1, 1)) == "1900-01-01"
    assert read(xml.number("D2", 43985, 1), since_1904=True) == "2024-06-04"
    assert read(xml.number("D2", 0.3125, 5)) == "07:30:00"
    assert read(xml.number("D2", 1.5, 4)) == "36:00:00"
    assert read(xml.number("D2", 1.5, 6)) == "1.5"
    assert read(xml.number("D2", -3.0000000001, 1)) == "-3.0000000001"
    assert read(xml.number("D2", 2958466, 1)) == "2958466"
    assert read(xml.number("D2", -0.5, 4)) == "-12:00:00"
    assert read(xml.number("D2", 45447, 7)) == "2024-06-04"
    assert read('<c r="D2" t="d"><v>2024-06-04T00:00:00Z</v></c>') == "2024-06-04"


def test_what_openpyxl_warns_of_is_not_shown() -> None:
    """An unknown extension, and a style that the workbook does not define."""
    after = '<autoFilter ref="A1:D2"><x/></autoFilter><extLst><ext uri="{X}"/></extLst>'
    assert read_sheet(str(model(placed(2, xml.number("D2", 7, 99)), after=after))).text
    assert read(xml.number("D2", 7, 99)) == "7"


def test_a_strict_workbook_is_refused() -> None:
    book("a.xlsx", A=BLOCKS)
    with zipfile.ZipFile("a.xlsx") as archive, zipfile.ZipFile("b.xlsx", "w") as strict:
        for name in archive.namelist():
            space = "http://purl.oclc.org/ooxml/spreadsheetml/main"
            strict.writestr(name, archive.read(name).replace(xml.MAIN.encode(), space.encode()))
    assert "b.xlsx is a Strict Open XML workbook, which is not read" in refused("b.xlsx")


def test_numbers() -> None:
    for stored, said in (
        ("0.10000000000000001", "0.1"), ("1E-3", "0.001"), ("5.0", "5"), ("-7", "-7"),
        ("1.0E+20", "1e+20"), ("12345678901234567", "1.2345678901234568e+16"), ("-0.0", "-0.0"),
    ):  # fmt: skip
        assert read(xml.number("D2", stored)) == said
        assert float(said) == float(stored)
    with pytest.raises(TableError, match=r"a\.xlsx:S, cell D2 holds inf, which is not a number"):
        read(xml.number("D2", "1e999"))
    for wrong in ("nan", "x"):
        with pytest.raises(TableError, match=r"not a readable Excel workbook \(cell D2: invalid"):
            read(xml.number("D2", wrong))


def test_texts() -> None:
    assert read('<c r="D2" t="b"><v>1</v></c>') == "TRUE"
    assert read('<c r="D2" t="str"><f>A1</f><v>yes</v></c>') == "yes"
    assert read('<c r="D2" t="inlineStr"><is><r><t>a</t></r><r><t> b</t></r></is></c>') == "a b"
    sound = '<rPh sb="0" eb="1"><t>no</t></rPh>'
    texts = f"<si><t>one</t></si><si><r><t>t</t></r>{sound}<r><t>wo_x0009_x</t></r></si>"
    assert read('<c r="D2" t="s"><v>1</v></c>', shared=texts) == "two\tx"
    assert read(xml.text("D2", "12")) == '"12"' and read(xml.text("D2", "a,b")) == '"a,b"'
    for number in ("7", "x"):
        with pytest.raises(TableError, match=r"a\.xlsx is not a readable Excel workbook"):
            read(f'<c r="D2" t="s"><v>{number}</v></c>', shared=texts)
    assert read(xml.text("D2", "_x005F_x000A_")) == "_x000A_"
    assert read(xml.text("D2", "_x0000__xD800_")) == "_x0000__xD800_"


def test_cells_without_names_and_with_prefixes() -> None:
    rows = "<x:row><x:c><x:v>1</x:v></x:c><x:c/><x:c><x:v>3</x:v></x:c></x:row><x:row/>"
    content = f'<x:worksheet xmlns:x="{xml.MAIN}"><x:sheetData>{rows}</x:sheetData></x:worksheet>'
    assert read_sheet(str(xml.write(Path("a.xlsx"), {"S": content}))).text == b"1,,3\n"


def test_a_formula_without_a_value_is_refused() -> None:
    said = refused(
        model(placed(2, xml.number("D2", 1)), placed(3, '<c r="D3"><f>A3*2</f><v/></c>'))
    )
    assert "a.xlsx:S, cell D3 has the formula =A3*2 without a value: open the file in Excel" in said
    said = refused(model(placed(2, '<c r="D2"><f t="shared" si="0"/></c>')))
    assert "cell D2 has the formula" in said
    assert read('<c r="D2"><f>A2*2</f><v>2</v></c>') == "2"
    assert read('<c r="D2" t="str"><f>A2</f><v></v></c>') == ""


def test_errors_of_formulas() -> None:
    for fault in ("#N/A", "#DIV/0!"):
        bad = '<c r="{}" t="e"><f>1/0</f><v>{}</v></c>'
        assert read(bad.format("D2", fault)) == f'"{fault}"'
        label_file("a.xlsx", {"ORE": ORE}, "b.xlsx", overwrite=True)
        assert openpyxl.load_workbook("b.xlsx").active["D2"].data_type == "e"
        row = xml.row(2, bad.format("A2", fault), xml.number("B2", 1), xml.number("C2", 1))
        assert f"a.xlsx:S, cell A2: X is the error {fault}" in refused(model(row))


def test_a_date_as_coordinate_is_refused() -> None:
    row = xml.row(2, xml.number("A2", 1), xml.number("B2", 45447, 1), xml.number("C2", 1))
    said = refused(model(row))
    assert "a.xlsx:S, cell B2: Y is the date 2024-06-04" in said and "General" in said


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("A1:B1", "the cells A1:B1 of the header are merged"),
        ("A2:A3", "the cells A2:A3 are merged"),
    ],
)
def test_merged_cells_are_refused(cells: str, said: str) -> None:
    after = f'<mergeCells count="1"><mergeCell ref="{cells}"/></mergeCells>'
    assert f"a.xlsx:S: {said}" in refused(model(placed(2), placed(3), after=after))


def test_merged_columns_are_damage() -> None:
    after = '<mergeCells count="1"><mergeCell ref="A:B"/></mergeCells>'
    assert "not a readable Excel workbook (A:B)" in refused(model(placed(2), after=after))


def test_a_merged_title_is_no_part_of_the_table() -> None:
    after = '<mergeCells count="1"><mergeCell ref="A1:D1"/></mergeCells>'
    names = [xml.text(f"{letter}2", name) for letter, name in zip("ABC", "XYZ", strict=True)]
    content = xml.sheet(xml.row(1, xml.text("A1", "Model")) + xml.row(2, *names) + placed(3), after)
    xml.write(Path("a.xlsx"), {"S": content})
    label_file("a.xlsx", {"ORE": ORE}, "b.csv")
    assert Path("b.csv").read_text().splitlines()[2] == "1,1,1,ORE"


def test_a_header_that_is_lost_in_merged_cells() -> None:
    book("a.xlsx", A=[["Place", None, None, "AU"], ["X", "Y", "elevation of block", None]])
    made = openpyxl.load_workbook("a.xlsx")
    made.active.merge_cells("A1:C1")
    made.save("a.xlsx")
    assert "Cells of the sheet are merged, such as A1:C1" in refused("a.xlsx")


# --- Drillholes.


def holes(**sheets: Cells) -> list[str]:
    """Write a workbook of drillholes, and return the options that name its tables."""
    made = {"Collars": COLLAR, "Survey": SURVEY, "Assay": ASSAY} | sheets
    book("holes.xlsx", **made)
    return ["--collar", "holes.xlsx:Collars", "--survey", "holes.xlsx:Survey"]


def test_holes_are_read_as_the_same_tables_of_text() -> None:
    options = [*holes(), "--solid", "ORE=ore.ply", "--split"]
    run("flag", "holes.xlsx:Assay", *options, "-o", "a.csv")
    for name, rows in (("c", COLLAR), ("s", SURVEY), ("i", ASSAY)):
        Path(f"{name}.csv").write_text(text(rows))
    of_text = ["--collar", "c.csv", "--survey", "s.csv", "--solid", "ORE=ore.ply"]
    of_text.append("--split")
    run("flag", "i.csv", *of_text, "-o", "b.csv")
    assert Path("a.csv").read_text() == Path("b.csv").read_text()
    run("flag", "holes.xlsx:Assay", *options, "-o", "a.xlsx")
    run("flag", "i.csv", *of_text, "-o", "b.xlsx")
    assert cells("a.xlsx") == cells("b.xlsx")
    assert cells("a.xlsx")[2] == ["A", 4, 7.25, "<0.01", "ORE"]


def test_composites_and_crossings_are_written() -> None:
    options = [*holes(), "--solid", "ORE=ore.ply"]
    composites = ["--length", "3", "--grade", "AU", "--below-detection", "half"]
    run("composite", "holes.xlsx:Assay", *options, *composites, "-o", "c.xlsx")
    assert cells("c.xlsx")[1][:4] == ["A", 0, 3, 3]
    run("holes", "crossings", *options, "-o", "s.xlsx", "--pierce", "p.xlsx")
    assert cells("s.xlsx")[0][:2] == ["hole", "domain"] and cells("s.xlsx")[1][:2] == ["A", "ORE"]


def test_positions_of_findings_are_rows_of_the_sheet() -> None:
    options = holes(Survey=[SURVEY[0], [], *SURVEY[1:], ["A", "a\nb", 0, 90]])
    said = run("holes", "crossings", *options, "--solid", "ORE=ore.ply", "-o", "s.csv", code=3)
    assert "holes.xlsx:Survey: AT is not a number" in said and "in cell B4" in said
    options = holes(Assay=[*ASSAY[:2], [], ["", 4, 9, 1]])
    said = run("flag", "holes.xlsx:Assay", *options, "--solid", "ORE=ore.ply", "-o", "a.csv")
    assert "row 4" in said, said


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [*ASSAY, ["A", datetime.datetime(2024, 6, 4), 9, 1]],
            "holes.xlsx:Assay, cell B5: FROM is the date 2024-06-04",
        ),
        (
            [*ASSAY, [datetime.datetime(2024, 3, 1), 0, 9, 1]],
            "holes.xlsx:Assay, cell A5: HOLE is the date 2024-03-01",
        ),
        ([*ASSAY, ["A", "nine", 9, 1]], "FROM is not a number in 1 of the rows up to cell B5"),
        ([*ASSAY, ["A", "1,410", 9, 1]], "The text '1,410' is in cell B5: enter it as a"),
    ],
)
def test_wrong_cells_of_intervals_are_named(rows: Cells, said: str) -> None:
    options = [*holes(Assay=rows), "--solid", "ORE=ore.ply"]
    assert said in run("flag", "holes.xlsx:Assay", *options, "-o", "a.csv", code=3)


def test_an_error_as_the_id_of_a_hole_is_not_a_comment() -> None:
    made = openpyxl.Workbook()
    for row in [*ASSAY, ["#N/A", 0, 1, 1]]:
        made.active.append(row)
    made.save("assay.xlsx")
    options = [*holes(), "--solid", "ORE=ore.ply"]
    said = run("flag", "assay.xlsx", *options, "-o", "a.csv", code=3)
    assert "assay.xlsx:Sheet, cell A5: HOLE is the error #N/A" in said


def test_an_error_in_a_first_column_that_is_not_used_keeps_its_row() -> None:
    book("a.xlsx", A=[["NOTE", "X", "Y", "Z"], ["#N/A", 1, 1, 1], ["#REF!", 1, 1, 2]])
    label_file("a.xlsx", {"ORE": ORE}, "b.csv")
    assert Path("b.csv").read_text().splitlines()[1:] == [
        '"#N/A",1,1,1,ORE', '"#REF!",1,1,2,ORE',
    ]  # fmt: skip


def test_an_output_does_not_replace_the_workbook_that_is_read() -> None:
    options = [*holes(), "--solid", "ORE=ore.ply", "-o", "holes.xlsx", "--overwrite"]
    assert "is the input" in run("flag", "holes.xlsx:Assay", *options, code=3)


def test_drillholes_of_frames_and_sheets_are_equal() -> None:
    holes()
    from pandas import DataFrame

    def frame(rows: Cells) -> DataFrame:
        return DataFrame(rows[1:], columns=rows[0])

    one = Drillholes("holes.xlsx:Collars", "holes.xlsx:Survey", "holes.xlsx:Assay")
    two = Drillholes(frame(COLLAR), frame(SURVEY), frame(ASSAY))
    assert repr(one) == repr(two)


# --- Files that are no workbooks, or too large.


def test_older_and_encrypted_workbooks() -> None:
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    Path("a.xls").write_bytes(old)
    assert "a.xls is a workbook of Excel 97 to 2003" in refused("a.xls")
    Path("a.xlsx").write_bytes(old + "EncryptedPackage".encode("utf-16-le"))
    assert "a.xlsx is encrypted: open it in Excel, and save it without" in refused("a.xlsx")
    Path("b.xlsx").write_text("X,Y,Z\n1,1,1\n")
    assert "b.xlsx is not an Excel workbook, in spite of its name" in refused("b.xlsx")
    Path("c.xlsx").write_bytes(b"")
    assert "c.xlsx is empty" in refused("c.xlsx")
    Path("d.xlsb").write_bytes(b"PK")
    assert "d.xlsb is a binary workbook" in refused("d.xlsb")
    with zipfile.ZipFile("e.xlsx", "w") as archive:
        archive.writestr("a.txt", "x")
    assert "e.xlsx is not a readable Excel workbook" in refused("e.xlsx")


def test_content_decides_before_the_name() -> None:
    book("a.xlsx", A=BLOCKS)
    Path("a.xlsx").rename("a.dat")
    assert "format             Excel" in run("inspect", "a.dat")


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEODOMAIN_MEMORY", "10MB")
    path = model(placed(2), after="<x/>" + " " * 20_000_000)
    assert "20 MB" in refused(path)


def test_many_empty_elements_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    said = refused(model(xml.row(2, "<x/>" * 20_000)))
    assert "a.xlsx is not a readable Excel workbook (a row has 20,000 cells)" in said
    monkeypatch.setenv("GEODOMAIN_MEMORY", "10MB")
    said = refused(model(placed(2), after="<x/>" * 200_000))
    assert "a.xlsx (xl/worksheets/s0.xml) would take 16 MB of memory" in said


def test_a_text_that_many_cells_repeat_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEODOMAIN_MEMORY", "20MB")
    long = f"<si><t>{'x' * 30_000}</t></si>"
    rows = [placed(n, f'<c r="D{n}" t="s"><v>0</v></c>') for n in range(2, 1500)]
    assert "a.xlsx:S, read as text, would take" in refused(model(*rows, shared=long))


def test_a_wide_sheet_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEODOMAIN_MEMORY", "20MB")
    rows = [placed(n) for n in range(2, 2000)]
    last = xml.row(2000, xml.number("XFD2000", 1))
    assert "rows of 16,384 columns, would take" in refused(model(*rows, last))


def test_a_document_type_is_refused() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbb">]>' + xml.sheet(placed(1))
    assert "DOCTYPE" in refused(xml.write(Path("a.xlsx"), {"S": bomb}))


@pytest.mark.parametrize(
    "rows",
    [
        xml.row(3) + xml.row(2),
        xml.row(2_000_000),
        xml.row(2, xml.number("A3", 1)),
        xml.row(2, xml.number("B2", 1), xml.number("A2", 1)),
        xml.row(2, xml.number("XFE2", 1)),
        xml.row(2, xml.number("1A", 1)),
        '<row r="x"/>',
        xml.row(2, '<c r="A2" s="x"><v>1</v></c>'),
        xml.row(2, '<c r="A2" t="s"><v>x</v></c>'),
        "<row",
    ],
)
def test_damaged_sheets_are_refused(rows: str) -> None:
    said = refused(model(rows))
    assert "a.xlsx is not a readable Excel workbook (" in said


def test_the_last_row_of_excel() -> None:
    path = model(placed(1_048_576, xml.number("D1048576", 7)))
    assert read_sheet(str(path)).text.endswith(b"\n\n1,1,1,7\n")
    label_file(path, {"ORE": ORE}, "b.csv")
    assert Path("b.csv").read_text().splitlines()[-1] == "1,1,1,7,ORE"


# --- Tables that are written.


def written(data: str, path: str = "t.xlsx") -> list[list[object]]:
    """Write a text table as a workbook, and return its cells."""
    with open_table(path, overwrite=True) as target:
        for start in range(0, len(data), 1000):
            target.write(memoryview(data[start : start + 1000].encode()))
    return cells(path)


def test_fields_become_cells() -> None:
    data = 'a,b\n1,"1"\n0.50,007\n1E5,1e+05\n=A1,"=A1"\n,"x ""y"""\n\n-1e-7,TRUE\n'
    assert written(data) == [
        ["a", "b"],
        [1, "1"],
        [0.5, "007"],
        ["1E5", 100000],
        ["=A1", "=A1"],
        [None, 'x "y"'],
        [None, None],
        [-1e-7, True],
    ]
    assert read_sheet("t.xlsx").text.decode().splitlines()[1] == '1,"1"'


def test_what_a_sheet_cannot_hold_is_said() -> None:
    with pytest.raises(TableError, match=r"the text of cell B2 has 40,000 characters"):
        written(f"a,b\n1,{'x' * 40_000}\n")
    with pytest.raises(TableError, match="at most 1,048,576 rows and 16,384 columns"):
        written("," * 16_384 + "\n")
    assert not Path("t.xlsx").exists()
    from geodomain.formats import excel

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(excel, "ROWS", 3)
        with pytest.raises(TableError, match=r"t\.xlsx: a sheet of Excel has at most 3 rows"):
            written("a\n1\n2\n3\n")
    assert not Path("t.xlsx").exists()


def test_text_that_is_not_utf8_is_kept() -> None:
    Path("a.csv").write_bytes(b"X,Y,Z,NOTE\n1,1,1,caf\xe9\n")
    label_file("a.csv", {"ORE": ORE}, "b.xlsx")
    assert cells("b.xlsx")[1][3] == "caf\xe9"


def test_the_name_of_the_sheet() -> None:
    written("a\n", "[old] model of a very long name, January.xlsx")
    (path,) = Path().glob("*model*.xlsx")
    assert openpyxl.load_workbook(path).sheetnames == ["_old_ model of a very long name"]


def test_without_openpyxl_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    book("a.xlsx", A=BLOCKS)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert "a.xlsx can only be read with openpyxl: pip install" in refused("a.xlsx")
    Path("a.csv").write_text(text(BLOCKS))
    for words in (["label", "a.csv", "--solid", "ORE=ore.ply"], ["convert", "a.csv"]):
        output = ["c.xlsx"] if words[0] == "convert" else ["-o", "c.xlsx"]
        said = run(*words, *output, code=3)
        assert "c.xlsx can only be written with openpyxl: pip install 'geodomain[excel]'" in said
    assert not Path("c.xlsx").exists()


# --- Any cells, and damage.

ANY_CELL = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs", "Nd"], exclude_characters="\x00"), max_size=8),
    st.sampled_from(["#N/A", "12", "1e5", "TRUE", "a,b", '"', "\r\n", "=1", "_x0041_", " ", "-"]),
)


@given(st.lists(st.lists(ANY_CELL, min_size=1, max_size=4), min_size=1, max_size=5))
def test_any_cells_are_read_as_they_are_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[object]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.xlsx"
    plain = [[_field(value) for value in row] for row in rows]
    lines = "".join(",".join(row) + "\n" for row in plain)
    with open_table(path, overwrite=True) as target:
        target.write(memoryview(lines.encode()))
    if not any(any(row) for row in plain):
        return
    width = max(_used(row) for row in plain)
    whole = [row[: _used(row)] for row in plain]
    wanted = [",".join([*row, *[""] * (width - len(row))]) if row else "" for row in whole]
    while not wanted[-1]:
        wanted.pop()
    assert read_sheet(str(path)).text.decode() == "".join(line + "\n" for line in wanted)


def _field(value: object) -> str:
    """Return a value as the field of a text table; a text is quoted if it needs quotes."""
    if value is None or isinstance(value, bool):
        return {None: "", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, int | float):
        number = repr(float(value))
        return number if number == "-0.0" else number.removesuffix(".0")
    said = str(value).strip(" \t")
    typed = said in {"#N/A", "12", "TRUE"}
    if not said or not (typed or any(mark in said for mark in ',"\r\n')):
        return said
    return '"' + said.replace('"', '""') + '"'


def _used(row: list[str]) -> int:
    return max((place + 1 for place, cell in enumerate(row) if cell), default=0)


@given(st.integers(1, 1_048_576), st.integers(0, 16_383))
def test_names_of_cells(row: int, column: int) -> None:
    from openpyxl.utils import get_column_letter

    assert cell_name(row, column) == f"{get_column_letter(column + 1)}{row}"


def test_damage_is_said_in_one_sentence() -> None:
    book("a.xlsx", A=BLOCKS)
    whole, chance = Path("a.xlsx").read_bytes(), random.Random(7)
    damaged = [whole[: len(whole) * part // 25] for part in range(25)]
    for _ in range(100):
        at = chance.randrange(len(whole))
        damaged.append(whole[:at] + chance.randbytes(1) + whole[at + 1 :])
    for data in damaged:
        Path("a.xlsx").write_bytes(data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GeodomainWarning)
                found = read_sheet("a.xlsx")
        except TableError as error:
            assert "\n" not in str(error) and "a.xlsx" in str(error)
        else:
            assert found.text.endswith(b"\n")


@pytest.mark.full
def test_damaged_parts_are_said_in_one_sentence() -> None:
    book("a.xlsx", A=BLOCKS, B=[])
    with zipfile.ZipFile("a.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    chance = random.Random(8)
    for name in [name for name in parts if name.endswith((".xml", ".rels"))]:
        for _ in range(40):
            content = bytearray(parts[name])
            at = chance.randrange(len(content))
            content[at : at + chance.choice([0, 1, 30])] = chance.choice([b"", b"9", b"<", b"x"])
            with zipfile.ZipFile("b.xlsx", "w") as archive:
                for each, data in parts.items():
                    archive.writestr(each, bytes(content) if each == name else data)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", GeodomainWarning)
                    geodomain.label_file("b.xlsx", {"ORE": ORE}, None)
            except geodomain.GeodomainError as error:
                assert "\n" not in str(error), error


def test_tables_of_results_are_workbooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("HOLE,FROM,TO,AU,domain\nA,0,1,4.5,ORE\nA,1,3,1,ORE\nB,0,2,2,WASTE\n")
    run("stats", "s.csv", "--grade", "AU", "-o", "stats.xlsx")
    rows = list(openpyxl.load_workbook("stats.xlsx").active.iter_rows(values_only=True))
    named = dict(zip(rows[0], rows[1], strict=True))
    assert (named["domain"], named["count"], named["maximum"], named["cap"]) == (
        "ORE",
        2,
        4.5,
        None,
    )
    Path("c.csv").write_text("HOLE,X,Y,Z,AZIMUTH,DIP\nA,0,0,0,0,90\nB,9,0,0,0,90\n")
    run("holes", "check", "--collar", "c.csv", "--intervals", "s.csv", "-o", "check.xlsx")
    rows = list(openpyxl.load_workbook("check.xlsx").active.iter_rows(values_only=True))
    assert rows[0][:4] == ("severity", "code", "finding", "table")
