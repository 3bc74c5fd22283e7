"""A table comes back byte for byte with its cells in place, whatever the chunks and threads."""

import io
import re
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from geodomain.errors import TableError
from geodomain.files import pipeline
from geodomain.tables import scanner
from geodomain.tables.layout import TableLayout
from geodomain.tables.text import Splice, relabel

NAMES = ("ID", "XC", "YC", "ZC", "NOTE")
HEAD = b"\xef\xbb\xbfID,XC,YC,ZC,NOTE\r\n"
CELLS = (b"\x01ORE\x01", b"\x01W\x01")


def layout_of(head=HEAD, *, delimiter=b",", decimal=b".", names=NAMES, sizes=None, missing=()):
    return TableLayout(
        delimiter, decimal, names, (1, 2, 3), sizes, len(head), head.count(b"\n") + 1, missing,
    )  # fmt: skip


def by_row(counts=None):
    """Label rows 0, 1, 0, 1, ... in the order of the file, and note the points."""
    seen = []

    def label(points, sizes, column):
        start = sum(map(len, seen))
        seen.append(points.copy())
        return [((start + np.arange(len(points))) % 2).astype(np.int32)]

    label.seen = seen
    return label


def run(table, layout=None, *, chunk=1 << 16, piece=1 << 16, threads=1, splice=None, label=None):
    out = io.BytesIO()
    label = label or by_row()
    with mock.patch.object(scanner, "PIECE_BYTES", piece):
        summary = relabel(
            io.BytesIO(table), out, layout or layout_of(), splice or Splice((), (CELLS,)), label,
            threads=threads, chunk_bytes=chunk,
        )  # fmt: skip
    points = np.concatenate([np.empty((0, 3)), *getattr(label, "seen", [])])
    return out.getvalue(), points, summary


# A second definition of a row, by regular expressions over the whole text.
FIELD = r'"(?:[^"\0]|"")*"(?:(?!{0})[ \t])*(?=[{0}\r\n]|\Z)|(?!")[^{0}\r\n\0]*'


def reference_rows(text, delimiter):
    """Return the fields of each row, and where its content ends; None stands for no field."""
    field = re.compile(FIELD.format(re.escape(delimiter.decode("latin1"))).encode("latin1"))
    at, rows = 0, []
    while at < len(text):
        start, fields = at, []
        while True:
            match = field.match(text, at)
            fields.append(match.group())
            at = match.end()
            if text[at : at + 1] != delimiter:
                break
            at += 1
        if len(fields) > 1 or text[start:at].strip(b" \t"):
            rows.append((fields, at))
        at = re.compile(rb"\r\n|\r|\n|\Z").match(text, at).end()
    return rows


def reference_number(field, decimal, missing=()):
    field = field.strip(b" \t")
    if field.startswith(b'"'):
        field = field[1:-1].strip(b" \t")
    value = float(field.replace(decimal, b".").lower().replace(b"d", b"e")) if field else np.nan
    return np.nan if value in missing else value


def with_cells(text, rows, delimiter):
    parts, at = [], 0
    for index, (_, end) in enumerate(rows):
        parts += [text[at:end], delimiter, CELLS[index % 2]]
        at = end
    return b"".join([*parts, text[at:]])


coordinate = st.one_of(
    st.floats(-1e15, 1e15).map(repr),  # farther away there is no place
    st.just("nan"),
    st.integers(-(10**15), 10**15).map(str),
    st.decimals(-(10**8), 10**8, places=2).map(str),
    st.sampled_from(["", " ", "NaN", "nan", "-99", "+5", "0.50", "1e5", "-1D+3", ".5", "7.", "-0"]),
).map(lambda text: text.encode())
quoted = st.binary(max_size=6) | st.text('",;\r\n a', max_size=8).map(str.encode)
plain = st.binary(max_size=6) | st.sampled_from([b'6" core', b" x ", b"2.70", b"", b' "a"'])


@st.composite
def tables(draw):
    delimiter, decimal = draw(st.sampled_from([b",.", b";,", b"\t.", b"|."])).decode()
    delimiter, decimal = delimiter.encode(), decimal.encode()
    banned = re.compile(b"[\r\n\0\1" + re.escape(delimiter) + b"]")

    def any_field():
        if draw(st.booleans()):
            content = draw(quoted).replace(b"\0", b"").replace(b"\1", b"").replace(b'"', b'""')
            return b'"' + content + b'"' + draw(st.sampled_from([b"", b" "]))
        return banned.sub(b"", draw(plain)).lstrip(b'"')

    def number():
        text = draw(coordinate).replace(b".", decimal)
        return draw(st.sampled_from([text, b" " + text, b'"' + text + b'"']))

    parts = []
    for _ in range(draw(st.integers(0, 8))):
        if draw(st.integers(0, 5)) == 0:
            parts.append(draw(st.sampled_from([b"", b"  "])))
        else:
            fields = [any_field(), number(), number(), number(), any_field()]
            parts.append(delimiter.join(fields))
        parts.append(draw(st.sampled_from([b"\n", b"\r\n", b"\r\n", b"\r"])))
    if parts and draw(st.booleans()):
        parts.pop()
    head = HEAD.replace(b",", delimiter)
    missing = draw(st.sampled_from([(), (-99.0,)]))
    layout = layout_of(head, delimiter=delimiter, decimal=decimal, missing=missing)
    return head, b"".join(parts), layout


@pytest.mark.full
@settings(max_examples=300, deadline=None)
@given(tables(), st.integers(1, 80), st.integers(1, 60), st.integers(1, 8))
def test_round_trip(table, chunk, piece, threads):
    head, body, layout = table
    out, points, summary = run(head + body, layout, chunk=chunk, piece=piece, threads=threads)

    cell = re.escape(layout.delimiter) + b"\x01[OREW]+\x01"
    assert re.sub(cell, b"", out) == head + body
    rows = reference_rows(body, layout.delimiter)
    assert out == head + with_cells(body, rows, layout.delimiter)
    expected = np.array(
        [[reference_number(row[i], layout.decimal, layout.missing) for i in (1, 2, 3)]
         for row, _ in rows]
    ).reshape(-1, 3)  # fmt: skip
    np.testing.assert_array_equal(points.view(np.uint64), _canonical(expected))
    assert summary.rows == len(rows)
    assert summary.missing == np.isnan(expected).any(axis=1).sum()
    assert (summary.bytes_read, summary.bytes_written) == (len(head + body), len(out))


def _canonical(numbers):
    numbers = numbers.copy()
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint64)


def outcome(table, **options):
    try:
        return run(table, **options)[0]
    except TableError as error:
        return str(error)


soup = st.lists(
    st.sampled_from(
        [b"1,2,3,4,5", b",1,2,3,", b'"', b",", b"\n", b"\r", b"\r\n", b" ", b"x", b"\0", b"\t",
         b'a,1,2,3,"b\nc"\n', b"a,1,2,3,b\n", b"a,1e999,2,3,b\n", b'"a\n",1,2,3,b\n']
    ),
    max_size=24,
).map(b"".join)  # fmt: skip


@pytest.mark.full
@settings(max_examples=400, deadline=None)
@given(soup, st.integers(1, 40), st.integers(1, 20), st.integers(1, 8))
@example(b'"a\n,1,2,3,b\n",1,2,3,b\n', 100, 4, 2)
def test_any_text_gives_the_same_for_any_chunks_and_threads(body, chunk, piece, threads):
    whole = outcome(HEAD + body)
    assert outcome(HEAD + body, chunk=chunk, piece=piece, threads=threads) == whole


def test_quoted_newlines_across_pieces():
    body = b"".join(
        b'"%s",%d.5,2,3,"x"\r\n' % (b'line\n1,2,3,4\n""' * (i % 7), i) for i in range(500)
    )
    whole = run(HEAD + body)
    assert len(whole[1]) == 500
    for piece in (1, 10, 100, 1000):
        for threads in (1, 3, 8):
            other = run(HEAD + body, piece=piece, threads=threads)
            assert other[0] == whole[0]
            np.testing.assert_array_equal(other[1], whole[1])


def test_appends_several_columns():
    label = lambda points, *_: [np.arange(2, dtype=np.int32), np.ones(2, dtype=np.int32)]  # noqa: E731
    splice = Splice(((18, 18, b",domain"), (18, 18, b",in_ore")), ((b"ORE", b""), (b"0", b"1")))
    table = b"ID,XC,YC,ZC,NOTE\r\n1,2,3,4,5\r\n\r\n6,7,8,9,10"
    layout = layout_of(b"ID,XC,YC,ZC,NOTE\r\n")
    with pytest.raises(ValueError, match="2 label columns for 1 new column"):
        run(table, layout, splice=Splice((), ((b"",),)), label=label)
    splice = Splice(((16, 16, b",domain"), (16, 16, b",in_ore")), splice.vocabulary)
    out, _, _ = run(table, layout, splice=splice, label=label)
    assert out == (
        b"ID,XC,YC,ZC,NOTE,domain,in_ore\r\n1,2,3,4,5,ORE,1\r\n\r\n6,7,8,9,10,,1"
    )  # fmt: skip


@pytest.mark.parametrize("field", [0, 4])
def test_replaces_a_column_where_it_stands(field):
    body = b'"a,b" ,1,2,3,"old"\n\n"c""" ,4,5,6,\r\nx,7,8,9,old'
    out, _, _ = run(HEAD + body, splice=Splice((), ((b"N", b"MM"),), replace=field))
    expected = {
        0: b'N,1,2,3,"old"\n\nMM,4,5,6,\r\nN,7,8,9,old',
        4: b'"a,b" ,1,2,3,N\n\n"c""" ,4,5,6,MM\r\nx,7,8,9,N',
    }
    assert out == HEAD + expected[field]


def test_only_one_column_can_replace():
    with pytest.raises(ValueError, match="only one new column"):
        Splice((), ((b"",), (b"",)), replace=1)


def test_gives_block_sizes():
    head = b"X,Y,Z,DX,DY,DZ\n"
    names = ("X", "Y", "Z", "DX", "DY", "DZ")
    layout = TableLayout(
        b",", b".", names, (0, 1, 2), (5, 3, 4), len(head), 2, (-1.0,)
    )  # fmt: skip
    kept = []

    def label(points, sizes, column):
        kept.append((points, sizes))
        return [np.zeros(len(points), np.int32)]

    _, _, summary = run(head + b"1,2,3,10,20,30\n4,5,6,,20,-1\n", layout, label=label)
    np.testing.assert_array_equal(kept[0][0], [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(kept[0][1], [[30, 10, 20], [np.nan, np.nan, 20]])
    assert summary.missing == 0


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n\r\n", b"\n  \n"])
def test_header_alone(end):
    head = b"ID,XC,YC,ZC,NOTE" + end
    splice = Splice(((16, 16, b",domain"),), (CELLS,))
    out, _, summary = run(head, layout_of(head), splice=splice)
    assert out == b"ID,XC,YC,ZC,NOTE,domain" + end
    assert summary.rows == 0


def test_a_row_longer_than_the_chunk_and_the_headroom():
    long = b'"' + b"x\n" * pipeline.HEADROOM + b'"'
    body = b"1,2,3,4," + long + b"\n" + b"5,6,7,8,9\n"
    out, _, _ = run(HEAD + body, chunk=1000)
    assert out == HEAD + body.replace(b'"\n5', b'",\x01ORE\x01\n5').replace(
        b"9\n", b"9,\x01W\x01\n"
    )


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (b'1,2,3,4,"' + b"x\n" * 3000, "line 3: the quote that opens .* is never closed"),
        (b"1,2,3,4," + b"x" * 6000, "line 3: the row that starts there is longer than"),
    ],
)
def test_a_row_without_end_is_refused_early(row, sentence):
    with mock.patch.object(scanner, "LONGEST_ROW", 1000), pytest.raises(TableError, match=sentence):
        run(HEAD + b"1,2,3,4,5\n" + row + b"\n1,2,3,4,5\n" * 10, chunk=500)


def test_a_dry_run_writes_nothing_and_reads_all():
    label = by_row()
    summary = relabel(
        io.BytesIO(HEAD + b"1,2,3,4,5\n"), None, layout_of(), Splice((), (CELLS,)), label
    )
    assert (summary.rows, summary.bytes_written) == (1, 0)


def test_a_check_before_the_end_can_abandon():
    def refuse():
        message = "no solid meets the model"
        raise TableError(message)

    source = io.BytesIO(HEAD + b"1,2,3,4,5\n")
    with pytest.raises(TableError, match="no solid"):
        relabel(source, None, layout_of(), Splice((), (CELLS,)), by_row(), before_commit=refuse)


def test_a_code_without_a_cell_is_a_slip():
    label = lambda points, *_: [np.full(len(points), 2, np.int32)]  # noqa: E731
    with pytest.raises(ValueError, match="no cell"):
        run(HEAD + b"1,2,3,4,5\n", label=label)
    label = lambda points, *_: [np.zeros(7, np.int32)]  # noqa: E731
    with pytest.raises(ValueError, match=r"shape \(7,\), but there are 1 rows"):
        run(HEAD + b"1,2,3,4,5\n", label=label)


def test_a_failing_target_ends_the_run():
    class Full:
        def write(self, data):
            raise OSError(28, "No space left on device")

    source = io.BytesIO(HEAD + b"1,2,3,4,5\n" * 1000)
    with pytest.raises(OSError, match="No space"):
        relabel(source, Full(), layout_of(), Splice((), (CELLS,)), by_row(), chunk_bytes=100)


def test_a_failing_source_ends_the_run():
    class Broken(io.BytesIO):
        def readinto(self, buffer):
            if self.tell() > 100:
                raise OSError(5, "Input/output error")
            return super().readinto(buffer[:50])

    with pytest.raises(OSError, match="Input/output"):
        relabel(
            Broken(HEAD + b"1,2,3,4,5\n" * 1000), None, layout_of(), Splice((), (CELLS,)), by_row()
        )


def test_reports_progress():
    calls = []
    source = io.BytesIO(HEAD + b"1,2,3,4,5\n" * 100)
    relabel(
        source, None, layout_of(), Splice((), (CELLS,)), by_row(), chunk_bytes=300,
        progress=lambda done, total: calls.append((done, total)),
    )  # fmt: skip
    assert calls[-1] == (len(source.getvalue()), None)
    assert calls == sorted(calls)
