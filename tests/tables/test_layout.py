"""What the heads of real-looking tables mean, and what is said of those that mean nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodomain.errors import GeodomainWarning, TableError
from geodomain.tables.dialect import count_line_ends, split_rows
from geodomain.tables.layout import TableLayout, read_layout
from geodomain.tables.options import TableOptions
from geodomain.tables.scanner import Scanner

DATAMINE = b"""IJK,XC,YC,ZC,XINC,YINC,ZINC,XMORIG,YMORIG,ZMORIG,NX,NY,NZ,AU
1,505,1005,102.5,10,10,5,500,1000,100,20,20,10,1.25
"""
DATAMINE_TURNED = b"""IJK,XC,YC,ZC,XINC,YINC,ZINC,ANGLE1,ANGLE2,ANGLE3,ROTAXIS1,ROTAXIS2,ROTAXIS3,AU
1,5,5,2.5,10,10,5,%s,0,0,%s,0,0,1.25
"""
DATAMINE_WORLD = b"""IJK,XC,YC,ZC,XINC,YINC,ZINC,XWORLD,YWORLD,ZWORLD,ANGLE1,ROTAXIS1,AU
1,5,5,2.5,10,10,5,7005.2,9004.1,102.5,30,3,1.25
"""
VULCAN = b"""centroid_x,centroid_y,centroid_z,dim_x,dim_y,dim_z,volume,cu,rock
Variable descriptions:,,,,,,,copper grade,rock type
Variable types:,,,,,,,double,name
Variable defaults:,,,,,,,-99.0,waste
78010,4510,1205,20,20,10,4000,0.54,granite
"""
VULCAN_UNTITLED = b"""centroid_x,centroid_y,centroid_z,dim_x,dim_y,dim_z,volume,cu,rock
,,,,,,,copper grade,rock type
,,,,,,,double,name
,,,,,,,-99.0,waste
78010,4510,1205,20,20,10,4000,0.54,granite
"""
VULCAN_TYPED = b"""centroid_x,centroid_y,centroid_z,dim_x,dim_y,dim_z,cu
centroid x,centroid y,centroid z,dim x,dim y,dim z,copper grade
double,double,double,double,double,double,double
0.0,0.0,0.0,0.0,0.0,0.0,-99.0
78010,4510,1205,20,20,10,0.54
"""
MICROMINE = b"""EAST,_EAST,NORTH,_NORTH,RL,_RL,AU,LITH
R,R,R,R,R,R,R,C
500,10,1000,10,100,5,Centre
505,10,1005,10,102.5,5,1.25,BIF
"""
MICROMINE_TURNED = b"""EAST,_EAST,NORTH,_NORTH,RL,_RL,AU,LITH
REAL,REAL,REAL,REAL,REAL,REAL,REAL,CHARACTER(12)
500,10,1000,10,100,5,Centre
%s,0,0,500,1000,100
505,10,1005,10,102.5,5,1.25,BIF
"""
LEAPFROG = b"""# Block model: resource_2024
# Base point: 500, 1000, 100
# Boundary size: 200, 200, 50; "as drawn"
# Azimuth: 35 degrees

X,Y,Z,dX,dY,dZ,Domain
505.0,1005.0,102.5,10.0,10.0,5.0,
"""
LEAPFROG_BARE = b"""Block model: resource_2024
Base point, 500, 1000, 100
Block size, 10, 10, 5

X,Y,Z,dX,dY,dZ,Lith
505.0,1005.0,102.5,10.0,10.0,5.0,
"""
SURPAC = (
    b'surpac_model,gold.mdl\r\n\r\n"X","Y","Z","DX","DY","DZ","AU"\r\n'
    b"505,1005,102.5,10,10,5,1.25\r\n"
)
EXCEL_EUROPE = b"""sep=;\r\nX;Y;Z;AU\r\n505,5;1005,5;102,5;1,25\r\n"""
BRAZIL = "Leste;Norte;Cota;Teor médio\n7480000,75;414095,5;812,5;1,25\n".encode("latin-1")

# head, delimiter, decimal, xyz, sizes, first line of data
HEADS = {
    "datamine": (DATAMINE, ",", ".", (1, 2, 3), (4, 5, 6), 2),
    "datamine, angle 0": (DATAMINE_TURNED % (b"0", b"3"), ",", ".", (1, 2, 3), (4, 5, 6), 2),
    "datamine, no axis": (DATAMINE_TURNED % (b"30", b"0"), ",", ".", (1, 2, 3), (4, 5, 6), 2),
    "datamine, world beside": (DATAMINE_WORLD, ",", ".", (7, 8, 9), (4, 5, 6), 2),
    "vulcan": (VULCAN, ",", ".", (0, 1, 2), (3, 4, 5), 5),
    "vulcan, untitled": (VULCAN_UNTITLED, ",", ".", (0, 1, 2), (3, 4, 5), 5),
    "vulcan, typed centroids": (VULCAN_TYPED, ",", ".", (0, 1, 2), (3, 4, 5), 5),
    "micromine": (MICROMINE, ",", ".", (0, 2, 4), (1, 3, 5), 4),
    "micromine, turned by 0": (MICROMINE_TURNED % b"0", ",", ".", (0, 2, 4), (1, 3, 5), 5),
    "leapfrog": (LEAPFROG, ",", ".", (0, 1, 2), (3, 4, 5), 7),
    "leapfrog, bare preamble": (LEAPFROG_BARE, ",", ".", (0, 1, 2), (3, 4, 5), 6),
    "surpac": (SURPAC, ",", ".", (0, 1, 2), (3, 4, 5), 4),
    "excel in europe": (EXCEL_EUROPE, ";", ",", (0, 1, 2), None, 3),
    "brazil": (BRAZIL, ";", ",", (0, 1, 2), None, 2),
    "tabs with commas": (b"x\ty\tz\n1,5\t2\t3\n", "\t", ",", (0, 1, 2), None, 2),
    "pipes": (b"au|mid_x|mid_y|mid_z\n1|1.5|2|3\n", "|", ".", (1, 2, 3), None, 2),
    "whole numbers": (b"x;y;z;au\n1;2;3;0,5\n", ";", ",", (0, 1, 2), None, 2),
    "quoted decimal commas": (b'x,y,z\n"1,5","2,5","3,5"\n', ",", ",", (0, 1, 2), None, 2),
    "case and blanks": (b' "X Centre" ,"YCENTRE",zcentre\n1,2,3\n', ",", ".", (0, 1, 2), None, 2),
    "quoted newline in a name": (b'"au\n(g/t)",X,Y,Z\n1,1,2,3\n', ",", ".", (1, 2, 3), None, 3),
    "delimiter in a name": (b'"a;b;c;d",X,Y,Z\n1,1,2,3\n', ",", ".", (1, 2, 3), None, 2),
    "byte order mark": (b"\xef\xbb\xbfX,Y,Z\n1,2,3\n", ",", ".", (0, 1, 2), None, 2),
    "byte order mark, sep": (b"\xef\xbb\xbfsep=|\nX|Y|Z\n1|2|3\n", "|", ".", (0, 1, 2), None, 3),
    "header in a comment": (b"# made by a script\n# x,y,z\n1,2,3\n", ",", ".", (0, 1, 2), None, 3),
    "comment, then header": (b"# x,y,z of blocks\nx,y,z\n1,2,3\n", ",", ".", (0, 1, 2), None, 3),
    "header alone": (b"X,Y,Z\n", ",", ".", (0, 1, 2), None, 2),
    "header alone, unended": (b"X,Y,Z", ",", ".", (0, 1, 2), None, 1),
    "old mac": (b"# a\r\rX,Y,Z\r1,2,3\r", ",", ".", (0, 1, 2), None, 4),
    "trailing delimiter": (b"X,Y,Z,\n1,2,3,\n", ",", ".", (0, 1, 2), None, 2),
    "easting": (b"Easting,Northing,Elevation\n1,2,3\n", ",", ".", (0, 1, 2), None, 2),
    "east of Z": (b"RL,NORTH,EAST\n1,2,3\n", ",", ".", (2, 1, 0), None, 2),
}  # fmt: skip


@pytest.mark.parametrize("case", HEADS.values(), ids=HEADS.keys())
def test_layout_of_a_head(case: tuple[bytes, str, str, object, object, int]) -> None:
    head, delimiter, decimal, xyz, sizes, line = case
    layout = read_layout(head)
    assert (layout.delimiter, layout.decimal) == (delimiter.encode(), decimal.encode())
    assert (layout.xyz, layout.sizes, layout.data_line) == (xyz, sizes, line)
    # The offset is where that line begins.
    lines = head.splitlines(keepends=True)
    before = lines[: line - 1] if head.endswith((b"\n", b"\r")) else lines
    assert layout.data_start == len(b"".join(before))


@pytest.mark.parametrize("case", HEADS.values(), ids=HEADS.keys())
def test_layout_is_the_same_with_crlf(case: tuple[bytes, ...]) -> None:
    head = b"\r\n".join(case[0].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"))
    plain, crlf = read_layout(case[0]), read_layout(head)
    assert (crlf.xyz, crlf.sizes, crlf.data_line) == (plain.xyz, plain.sizes, plain.data_line)
    assert crlf.names == tuple(name.replace("\n", "\r\n") for name in plain.names)
    assert all(head[row.row.end : row.row.end + 2] in (b"\r\n", b"") for row in crlf.head_rows)


def test_names_are_unquoted_and_stripped() -> None:
    assert read_layout(SURPAC).names == ("X", "Y", "Z", "DX", "DY", "DZ", "AU")
    assert read_layout(b' X , "say ""au""",Y,Z\n').names == ("X", 'say "au"', "Y", "Z")
    assert read_layout(BRAZIL, TableOptions(encoding="latin-1")).names[3] == "Teor médio"


@pytest.mark.parametrize(
    ("options", "xyz", "sizes"),
    [
        (TableOptions(x="XC", y="YC", z="ZC"), (0, 1, 2), None),
        (TableOptions(x="x", y="y", z="z"), (3, 4, 5), None),
        (TableOptions(z="ZC", x="xc", y=" yc "), (0, 1, 2), None),
        (TableOptions(x="X", y="Y", z="Z", dx="A", dy="B", dz="C"), (3, 4, 5), (6, 7, 8)),
    ],
)
def test_named_columns_decide(options: TableOptions, xyz: object, sizes: object) -> None:
    layout = read_layout(b"XC,YC,ZC,X,Y,Z,a,b,c\n1,2,3,4,5,6,7,8,9\n", options)
    assert (layout.xyz, layout.sizes) == (xyz, sizes)


def test_one_named_column_completes_a_family() -> None:
    layout = read_layout(b"X,Y,Z,RL_AHD\n1,2,3,4\n", TableOptions(z="RL_AHD"))
    assert layout.xyz == (0, 1, 3)


def test_exact_spelling_comes_first() -> None:
    assert read_layout(b"x,Y,Z,X2,y2,z2\n", TableOptions(x="x")).xyz == (0, 1, 2)
    with pytest.raises(TableError, match="2 columns called 'x'"):
        read_layout(b"x,X,Y,Z\n1,2,3,4\n")


def test_a_delimiter_can_be_said() -> None:
    layout = read_layout(b"a,X;b,Y;c,Z;X;Y;Z\n", TableOptions(delimiter=b";"))
    assert layout.names == ("a,X", "b,Y", "c,Z", "X", "Y", "Z")


def test_missing_codes_are_passed_on() -> None:
    assert read_layout(b"X,Y,Z\n", TableOptions(missing=(-99.0, 1e31))).missing == (-99.0, 1e31)


def test_a_cut_head_is_enough() -> None:
    text = b"X,Y,Z\n" + b"1.5,2.5,3.5\n" * 1000
    for size in (40, 41, 1000):
        assert read_layout(text[:size], whole=False).xyz == (0, 1, 2)


def test_a_cut_row_is_not_read() -> None:
    rows = list(split_rows(b"a,b\r\n1,2\r\n3,4", b",", 0, whole=False))
    assert [row.cells for row in rows] == [(b"a", b"b"), (b"1", b"2")]
    rows = list(split_rows(b"a,b\r\n1,2\r", b",", 0, whole=False))
    assert [row.cells for row in rows] == [(b"a", b"b")]
    rows = list(split_rows(b"a,b\r\n1,2\r", b",", 0, whole=True))
    assert [(row.end, row.following) for row in rows] == [(3, 5), (8, 9)]


CELL = st.sampled_from(["1", "", '"a,b"', '"q""q"', '"l\n\rf"', 'core 6"', " x", '"" '])
END = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\r\r\n"])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(CELL, CELL, END)), st.booleans())
def test_rows_are_those_of_the_scanner(rows: list[tuple[str, str, str]], ended: bool) -> None:
    text = "".join(f"{one},{two},1,2,3{end}" for one, two, end in rows)
    text = (text if ended else text.rstrip("\r\n")).encode()
    layout = TableLayout(b",", b".", tuple("abxyz"), (2, 3, 4), None, 0, 1)
    found = Scanner(layout, "t").scan(np.frombuffer(text, np.uint8), final=True)
    ours = list(split_rows(text, b",", 0, whole=True))
    assert found.rows == len(ours) == len(rows)
    assert found.lines == count_line_ends(text, 0, len(text))
    assert all(len(row.cells) == 5 for row in ours)


REFUSED = {
    "empty": (b"", "is empty"),
    "blank": (b" \r\n\t\n", "is empty"),
    "mark alone": (b"\xef\xbb\xbf", "is empty"),
    "utf-16 with a mark": ("X,Y,Z\n1,2,3\n".encode("utf-16"), "UTF-16.*save it as UTF-8"),
    "utf-16, few of it ascii": ("ИКС,ИГРЕК\n".encode("utf-16"), "UTF-16"),
    "utf-16 without": ("X,Y,Z\n1,2,3\n".encode("utf-16-le"), "UTF-16.*save it as UTF-8"),
    "utf-16 big": ("X,Y,Z\n1,2,3\n".encode("utf-16-be"), "UTF-16.*save it as UTF-8"),
    "utf-32": ("X,Y,Z\n1,2,3\n".encode("utf-32"), "UTF-32"),
    "utf-32 without": ("X,Y,Z\n1,2,3\n".encode("utf-32-le"), "UTF-32"),
    "nul": (b"X,Y,Z\n1,2,3\n1,2\x00,3\n", "NUL byte in line 3"),
    "workbook": (b"PK\x03\x04" + bytes(range(256)), "Excel workbook"),
    "parquet": (b"PAR1" + bytes(50), "Parquet"),
    "control": (b"\x01\x02\x03\x04\x05 X,Y,Z", "not text"),
    "no header": (b"1,2,3\n4,5,6\n", "no header line"),
    "blanks between": (b"X  Y  Z  AU\n1  2  3  4\n", "separated by blanks"),
    "nothing known": (b"a,b,c\n1,2,3\n", "no complete set of centroid.*its columns are a, b, c"),
    "one missing": (b"XC,YC,AU\n1,2,3\n", "there is no ZC.*its columns are XC, YC, AU"),
    "a guess": (b"xcentre,ycentre,zcenter_,au\n1,2,3,4\n", "did you mean 'zcenter_'"),
    "ambiguous": (b"XC,YC,ZC,X,Y,Z\n1,2,3,4,5,6\n", r"more than one.*XC, YC, ZC; X, Y, Z.*x="),
    "ambiguous height": (b"EAST,NORTH,RL,Z\n1,2,3,4\n", "EAST, NORTH, RL; EAST, NORTH, Z"),
    "mixed families": (b"XC,Y,RL\n1,2,3\n", "no complete set of centroid"),
    "twins": (b"X,Y,Z,z\n1,2,3,4\n", "2 columns called 'Z'.*columns 3 and 4"),
    "turned": (DATAMINE_TURNED % (b"30", b"3"), "rotated model .ANGLE1 is 30.*XWORLD, YWORLD"),
    "micromine turned": (MICROMINE_TURNED % b"35", "rotation row is 35, 0, 0.*EAST, NORTH, RL"),
    "thousands": (b"X;Y;Z\n1.234,5;2;3\n", "thousands separators"),
    "both marks": (
        b"X;Y;Z\n1,5;2.5;3\n",
        r"mixes decimal commas \(1,5\) and decimal points \(2.5\)",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_refused_heads(case: tuple[bytes, str]) -> None:
    head, sentence = case
    with pytest.raises(TableError, match=sentence) as caught:
        read_layout(head, name="blocks.csv")
    assert str(caught.value).startswith("blocks.csv")
    assert "\n" not in str(caught.value)


REFUSED_OPTIONS = {
    "no such column": (TableOptions(x="XCC"), "no column 'XCC' .did you mean 'XC'.*XC, YC, ZC"),
    "sizes incomplete": (TableOptions(dx="XC"), "dx=, dy= and dz="),
    "one column twice": (TableOptions(x="XC", y="XC", z="ZC"), "three different columns"),
}


@pytest.mark.parametrize("case", REFUSED_OPTIONS.values(), ids=REFUSED_OPTIONS.keys())
def test_refused_options(case: tuple[TableOptions, str]) -> None:
    with pytest.raises(TableError, match=case[1]):
        read_layout(b"XC,YC,ZC\n1,2,3\n", case[0])


def test_local_columns_can_be_named_with_a_warning() -> None:
    head = DATAMINE_TURNED % (b"30", b"3")
    with pytest.warns(GeodomainWarning, match="ANGLE1 is 30.*used as world"):
        assert read_layout(head, TableOptions(x="XC", y="YC", z="ZC")).xyz == (1, 2, 3)
    with pytest.warns(GeodomainWarning, match="rotation row"):
        options = TableOptions(x="EAST", y="NORTH", z="RL")
        assert read_layout(MICROMINE_TURNED % b"35", options).xyz == (0, 2, 4)


def test_world_columns_serve_a_turned_micromine_model() -> None:
    head = MICROMINE_TURNED.replace(b"AU,LITH", b"XWORLD,YWORLD,ZWORLD") % b"35"
    head = head.replace(b"REAL,CHARACTER(12)", b"REAL,REAL,REAL").replace(b"1.25,BIF", b"1,2,3")
    assert read_layout(head).xyz == (6, 7, 8)


def test_seven_columns_are_not_an_origin_row() -> None:
    head = b"EAST,_EAST,NORTH,_NORTH,RL,_RL,AU\nN,N,N,N,N,N,N\n5,10,5,10,5,5,1.2\n"
    assert read_layout(head).data_line == 3
    assert read_layout(head + b"6,10,5,10,5,5,1.2\n").data_line == 3
    origin = head.replace(b"5,1.2\n", b"5,Centre\n")
    assert read_layout(origin).data_line == 4


def test_decimal_commas_that_come_late() -> None:
    whole = b"X;Y;Z;AU\n" + b"1;2;3;4\n" * 500
    assert read_layout(whole + b"1;2;3;4\n").decimal == b"."
    assert read_layout(whole + b"1,5;2;3;4\n").decimal == b","
    assert read_layout(whole + b"1;2;3;4,5\n").decimal == b","
    assert read_layout(whole + b"1;2.5;3;4,5\n").decimal == b"."
    with pytest.raises(TableError, match="mixes decimal commas"):
        read_layout(whole + b"1,5;2.5;3;4\n")
    assert read_layout(whole, TableOptions(decimal=b",")).decimal == b","
    assert read_layout(b"X,Y,Z\n1,2,3\n").decimal == b"."


BOTH_MARKS = "contains {} in one column and {} in another.*decimal=',' or decimal='.'"


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_whole_coordinates_do_not_choose_between_two_marks(mark: str) -> None:
    def head(*rows: str) -> bytes:
        return "\n".join(("X;Y;Z;DENSITY;CU", *rows, "")).replace(";", mark).encode()

    first = head("1;2;3;3,2;2.390", "1;2;3;2,69;50")
    late = head(*["1;2;3;NA;2.390"] * 500, "1;2;3;3,2;50")
    for text, said in ((first, ("3,2", "2.390")), (late, ("3,2", "2.390"))):
        with pytest.raises(TableError, match=BOTH_MARKS.format(*said)):
            read_layout(text)
        assert read_layout(text, TableOptions(decimal=b",")).decimal == b","
    assert read_layout(head("1;2,5;3;3,2;2.390")).decimal == b","
    assert read_layout(head("1;2.5;3;3,2;2.390")).decimal == b"."


@pytest.mark.parametrize(
    ("cells", "decimal"),
    [
        (("12.05.2024", "3,2"), b","),  # a date
        (("1.2;2.0b", "3,2"), b","),  # versions
        (("1.5,2", "3.5"), b"."),  # a list
        (("1,350", "2.7"), b"."),  # thousands, as 2.7 are none
        (("<0,5;NA", "BDL;nan"), b","),
        (("A.1", "B,2"), b"."),
    ],
)
def test_texts_are_no_witnesses_of_a_mark(cells: tuple[str, ...], decimal: bytes) -> None:
    """Each text is a column of two rows, which are the same or are parted by a semicolon."""
    columns = [cell.split(";") if ";" in cell else [cell, cell] for cell in cells]
    names = "\t".join(f"C{place}" for place in range(len(columns)))
    rows = ["\t".join(("1\t2\t3", *row)) for row in zip(*columns, strict=True)]
    head = "\n".join((f"X\tY\tZ\t{names}", *rows, ""))
    assert read_layout(head.encode()).decimal == decimal
