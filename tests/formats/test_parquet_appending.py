"""Parquet with a column more keeps the bytes of the others, wherever its footer can be extended."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from late import pa
from late import parquet as pq
from shapes import cube

import geodomain
from geodomain import Domain, TableError, label_file
from geodomain.formats import parquet_footer

PLACES = [0.25, 0.75, 1.25, None, float("nan"), 0.5, -3.0]
LABELS = ["ORE", "ORE", "", "", "", "ORE", ""]


@cache
def others() -> dict[str, object]:
    return {
        "AU": pa.array([2.7, None, float("nan"), -0.0, 1e-300, 5, 6], pa.float32()),
        "ROCK": pa.array(["a", None, "é", "", "b", "a", "a"]).dictionary_encode(),
        "HOLES": pa.array([[1, 2], [], None, [3], [4], [5], [6]], pa.list_(pa.int16())),
        "BOX": pa.array([{"a": 1, "b": "x"}] * 7),
    }


OPTIONS = [
    {"compression": "zstd", "write_page_index": True},
    {"compression": "none", "version": "1.0", "use_dictionary": False},
    {"store_schema": False, "data_page_version": "2.0"},
    {"sorting_columns": [0], "write_page_checksum": True},
]


def body(data: bytes) -> bytes:
    """Return what stands before a footer."""
    return data[: -8 - int.from_bytes(data[-8:-4], "little")]


def write(path: Path, **options: object) -> bytes:
    if "sorting_columns" in options:
        options["sorting_columns"] = [pq.SortingColumn(0)]
    table = pa.table(dict.fromkeys("XYZ", PLACES) | others())
    pq.write_table(table, path, row_group_size=3, **options)
    return path.read_bytes()


def label(source: Path, target: Path, **keywords: object) -> pa.Table:
    label_file(source, {"ORE": cube()}, target, **keywords)
    return pq.ParquetFile(target).read()


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options))
def test_the_bytes_of_columns_stay(tmp_path: Path, options: dict) -> None:
    first, second, third = (tmp_path / f"{name}.parquet" for name in "abc")
    before = write(first, **options)
    after = label(first, second)
    assert second.read_bytes().startswith(body(before))
    assert after.column("domain").to_pylist() == LABELS
    again = label(second, third, column="twice", flags=True)
    assert third.read_bytes().startswith(body(second.read_bytes()))
    assert again.column("twice").to_pylist() == LABELS
    assert again.column("in_ore").to_pylist() == [int(cell == "ORE") for cell in LABELS]
    given = pq.ParquetFile(first).read()
    assert again.schema.names == [*given.schema.names, "domain", "twice", "in_ore"]
    assert repr(again.select(given.schema.names).to_pylist()) == repr(given.to_pylist())


def test_metadata_of_the_columns_stays(tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write(first, write_page_index=True, compression="zstd")
    label(first, second)
    one, two = pq.read_metadata(first), pq.read_metadata(second)
    assert (two.num_rows, two.num_row_groups) == (7, 3)
    for group in range(3):
        old, new = one.row_group(group), two.row_group(group)
        chunks = [new.column(place) for place in range(new.num_columns)]
        assert [old.column(place) for place in range(old.num_columns)] == chunks[:-1]
        added = chunks[-1]
        assert added.path_in_schema == "domain" and added.compression == "ZSTD"
        assert added.has_offset_index and added.statistics.null_count == 0
        assert new.total_byte_size == old.total_byte_size + added.total_uncompressed_size


def test_answers_to_filters_come_from_new_statistics(tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write(first, write_page_index=True)
    label(first, second)
    assert pq.read_table(second, filters=[("domain", "=", "ORE")]).num_rows == 3
    assert pq.read_table(second, filters=[("domain", "=", "WASTE")]).num_rows == 0


@pytest.mark.parametrize("kind", ["large footer", "long form", "replaced"])
def test_unusual_files_are_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    data = write(first)
    column = "AU" if kind == "replaced" else "domain"
    if kind == "large footer":
        monkeypatch.setattr(parquet_footer, "_LARGEST_FOOTER", 100)
    if kind == "long form":  # the first field's number by itself, which nobody does
        footer = bytes([data[len(body(data))] & 15, 2]) + data[len(body(data)) + 1 : -8]
        first.write_bytes(body(data) + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    after = label(first, second, column=column, replace=kind == "replaced")
    assert after.column(column).to_pylist() == LABELS
    assert not second.read_bytes().startswith(body(data))


ADDED = {"geo": '{"columns": ["X"]}', "twice": "1", "é": ""}


@pytest.mark.parametrize("own", [{}, {"own": "of the schema"}])
@pytest.mark.parametrize("replace", [False, True])
def test_keys_beside_the_schema_stay(tmp_path: Path, replace: bool, own: dict) -> None:
    """Some add them when they close a file; pyarrow's schema tells them if it has own ones."""
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    table = pa.table(dict.fromkeys("XYZ", PLACES) | {"ROCK": ["a"] * 7})
    table = table.replace_schema_metadata(own)
    with pq.ParquetWriter(first, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(ADDED)
    after = label(first, second, column="ROCK" if replace else "domain", replace=replace)
    keys = pq.read_metadata(second).metadata
    due = {key.encode(): value.encode() for key, value in (ADDED | own).items()}
    assert due.items() <= keys.items() and keys.keys() - due.keys() == {b"ARROW:schema"}
    assert after.schema.names == [*table.schema.names, *([] if replace else ["domain"])]


def test_keys_that_are_there_twice_or_have_no_value_stay(tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    data = write(first)
    footer = parquet_footer.Reader(data[len(body(data)) : -8]).struct()
    keys = footer[5].value.values
    for given in ({1: b"k", 2: b"1"}, {1: b"k", 2: b"2"}, {1: b"none"}):
        keys.append(
            {
                place: parquet_footer.Field(parquet_footer.BINARY, text)
                for place, text in given.items()
            }
        )
    first.write_bytes(body(data) + parquet_footer.tail(footer))
    label(first, second)
    labelled = second.read_bytes()
    found = parquet_footer.Reader(labelled[len(body(labelled)) : -8]).struct()[5].value.values
    assert [key[1].value for key in found] == [b"ARROW:schema", b"k", b"k", b"none"]
    assert found[1:] == keys[1:] and found[0] != keys[0]


@pytest.mark.parametrize("rows", [2, 5, -1, 0, 1 << 33])
def test_a_row_group_that_does_not_say_its_rows_is_refused(tmp_path: Path, rows: int) -> None:
    """Pyarrow leaves rows out, or takes as much memory as is said."""
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    data = write(first)
    footer = parquet_footer.Reader(data[len(body(data)) : -8]).struct()
    footer[4].value.values[1][3].value = rows
    first.write_bytes(body(data) + parquet_footer.tail(footer))
    with pytest.raises(TableError, match=r"in row group 2|cannot be read"):
        label(first, second)
    assert [*tmp_path.iterdir()] == [first]


@pytest.mark.parametrize("text", [b"parquet-cpp", b"ROCK"])
def test_text_that_is_no_text_is_refused(tmp_path: Path, text: bytes) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    data = write(first, store_schema=False)
    assert text in data
    first.write_bytes(data.replace(text, b"\xff" + text[1:]))
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        label(first, second)


def test_a_path_that_is_no_text_does_not_matter(tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    data = write(first, compression="zstd")
    footer = parquet_footer.Reader(data[len(body(data)) : -8]).struct()
    path = footer[4].value.values[0][1].value.values[3][3].value[3].value.values
    assert path == [b"AU"]
    path[0] = b"\xff"
    first.write_bytes(body(data) + parquet_footer.tail(footer))
    assert label(first, second).column("domain").to_pylist() == LABELS
    assert pq.read_metadata(second).row_group(0).column(3).compression == "ZSTD"


def test_a_cell_that_is_no_text_is_refused_where_it_is_asked_for(tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    table = pa.table(dict.fromkeys("XYZ", PLACES) | {"ROCK": ["oxide"] * 7})
    pq.write_table(table, first, compression="none", write_statistics=False)
    data = first.read_bytes()
    assert data.count(b"oxide") == 1
    first.write_bytes(data.replace(b"oxide", b"ox\xffde"))
    label_file(first, {"ORE": cube()}, second)
    assert second.read_bytes().startswith(body(first.read_bytes()))
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        label_file(first, [Domain("ORE", cube(), only_if={"ROCK": "oxide"})], None)
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        geodomain.compare_files(first, second, column="ROCK")


def test_what_goes_wrong_leaves_nothing(tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write(first)
    with pytest.raises(ValueError, match="no solid meets"):
        label_file(first, {"ORE": cube(at=(99.0, 99.0, 99.0))}, second)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.full
def test_footers_are_written_as_they_were_read(tmp_path: Path) -> None:
    data = write(tmp_path / "a.parquet", write_page_index=True)
    footer = data[len(body(data)) : -8]
    assert parquet_footer.encoded(parquet_footer.Reader(footer).struct()) == footer
    chance = random.Random(0)
    for _ in range(2000):  # damage is refused, or read and written as it is
        broken = bytearray(footer)
        broken[chance.randrange(len(footer))] = chance.randrange(256)
        try:
            parquet_footer.encoded(parquet_footer.Reader(bytes(broken)).struct())
        except (ValueError, IndexError):
            continue
    for end in range(len(footer)):
        with pytest.raises((ValueError, IndexError)):
            parquet_footer.Reader(footer[:end]).struct()
