"""Tables of segments: their columns are found, or refused, and their rows read."""

from __future__ import annotations

import io

import numpy as np
import pytest

from geodomain.errors import TableError
from geodomain.query.segment_files import FAMILIES, read_segment_layout, read_segments
from geodomain.tables.options import table_options

ROW = "1,2,3,4,5,6"


def layout_of(header: str, **options):
    return read_segment_layout(f"{header}\n{ROW}\n".encode(), name="holes.csv", **options)


def columns(layout) -> tuple[int, ...]:
    return (*layout.xyz, *layout.sizes)


def test_every_family_is_found_in_any_case() -> None:
    for (x, y, z), (to_x, to_y, to_z) in FAMILIES:
        assert columns(layout_of(",".join((x, y, z, to_x, to_y, to_z)))) == (0, 1, 2, 3, 4, 5)
        mixed = ",".join((to_z, to_y, to_x, z, y, x)).upper()
        assert columns(layout_of(mixed)) == (5, 4, 3, 2, 1, 0)


@pytest.mark.parametrize(
    "header",
    [
        "x1,y1,z1,x2,y2,z2",
        "XFROM,YFROM,ZFROM,XTO,YTO,ZTO",
        "Start X,Start Y,Start Z,End X,End Y,End Z",
        "easting_from,northing_from,rl_from,easting_to,northing_to,rl_to",
        "collar_east,collar_north,collar_rl,toe_east,toe_north,toe_rl",
        "XCOLLAR,YCOLLAR,ZCOLLAR,XEOH,YEOH,ZEOH",
        "x_top,y_top,z_top,x_bottom,y_bottom,z_bottom",
        "XS,YS,ZS,XE,YE,ZE",
    ],
)
def test_names_that_holes_have(header: str) -> None:
    assert columns(layout_of(header)) == (0, 1, 2, 3, 4, 5)


def test_columns_are_named() -> None:
    layout = layout_of("a,b,c,d,e,f", start=("c", "b", "a"), end=("d", "E", "f"))
    assert columns(layout) == (2, 1, 0, 3, 4, 5)


def test_centroids_and_sizes_beside_them_do_not_matter() -> None:
    head = b"XC,YC,ZC,XINC,x1,y1,z1,x2,y2,z2\n0,0,0,1,1,2,3,4,5,6\n"
    assert columns(read_segment_layout(head)) == (4, 5, 6, 7, 8, 9)


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_and_decimal_commas(delimiter: str) -> None:
    header = delimiter.join(["hole", "x1", "y1", "z1", "x2", "y2", "z2"])
    row = delimiter.join(["A"] + ["1,5"] * 6)
    layout = read_segment_layout(f"\ufeff{header}\r\n{row}\r\n".encode())
    assert (layout.delimiter, layout.decimal) == (delimiter.encode(), b",")


def test_two_families_are_refused() -> None:
    with pytest.raises(TableError, match=r"more than one set .*x1, y1, .*; x0, y0, .*start="):
        read_segment_layout(b"x0,y0,z0,x1,y1,z1,x2,y2,z2\n1,2,3,4,5,6,7,8,9\n")


def test_no_family_is_refused_with_what_is_there() -> None:
    with pytest.raises(TableError, match=r"lacks the six columns .* its columns are a, b, c"):
        layout_of("a,b,c,d,e,f")


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(TableError, match="no column 'nope'"):
        layout_of("a,b,c,d,e,f", start=("nope", "b", "c"), end=("d", "e", "f"))


def test_a_column_for_two_things() -> None:
    with pytest.raises(TableError, match="name 'a' twice"):
        layout_of("a,b,c,d,e,f", start=("a", "b", "c"), end=("A", "e", "f"))


def test_rows_are_read_with_gaps_as_nan() -> None:
    text = b"x1,y1,z1,x2,y2,z2\n1,2,3,4,5,6\n7,8,9,,11,12\n-99,2,3,4,5,6\n,,,NA,1,1\n"
    layout = read_segment_layout(text, table_options(missing=[-99.0, "NA"]))
    seen = []
    summary = read_segments(io.BytesIO(text), layout, lambda *chunk: seen.append(chunk))
    starts, ends = (np.concatenate(side) for side in zip(*seen, strict=True))
    assert summary.rows == 4
    assert starts[:2].tolist() == [[1, 2, 3], [7, 8, 9]]
    assert np.isnan(starts).sum(axis=1).tolist() == [0, 0, 1, 3]
    assert np.isnan(ends).sum(axis=1).tolist() == [0, 1, 0, 1]


def test_a_word_for_a_number_is_refused_with_its_line() -> None:
    text = b"x1,y1,z1,x2,y2,z2\n1,2,3,4,5,6\n1,2,3,four,5,6\n"
    with pytest.raises(TableError, match=r"line 3: x2 is 'four'"):
        read_segments(io.BytesIO(text), read_segment_layout(text), lambda *_: None)
