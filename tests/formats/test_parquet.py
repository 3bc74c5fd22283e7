"""Block models as Parquet: labels go in, and everything else comes back as it was."""

from __future__ import annotations

import datetime
import decimal
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from label_command import run_command
from late import pa, pd
from late import parquet as pq
from wireframes import box, cube

from geodomain import Domain, Domains, label_file
from geodomain.cli import main
from geodomain.formats.parquet_table import encoded_texts, writing_options
from geodomain.formats.wireframes import write_mesh
from geodomain.tables.conditions import ArrayColumn

BOTH = ("--solid", "ORE=ore.obj", "--solid", "HALO=halo.obj")
# In both solids, in the second, in none, nowhere, and without a number.
PLACES = [2.5, 7.5, 12.5, 99.0, None, float("nan")]
LABELS = ["ORE", "ORE", "HALO", "W", "?", "?"]


def table(**others: object) -> pa.Table:
    columns = {"X": PLACES, "Y": PLACES, "Z": PLACES, "DX": [5.0] * 6, "DY": [5.0] * 6}
    return pa.table({**columns, "DZ": [5.0] * 6, **others})


@cache
def rich() -> dict[str, object]:
    return {
        "AU": pa.array([2.70, None, float("nan"), -0.0, 1e-300, 5], pa.float32()),
        "ROCK": pa.array(["a", None, "é", "", "b", "a"]).dictionary_encode(),
        "BIG": pa.array(range(2**62, 2**62 + 6), pa.int64()),
        "WHEN": pa.array([datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)] * 6),
        "GRADE": pa.array([decimal.Decimal("1.10")] * 6, pa.decimal128(9, 2)),
        "HOLES": pa.array([[1, 2], [], None, [3], [4], [5]], pa.list_(pa.int16())),
        "BOX": pa.array([{"a": 1, "b": "x"}] * 6),
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with two wireframes."""
    monkeypatch.chdir(tmp_path)
    write_mesh(cube(), tmp_path / "ore.obj")
    write_mesh(box((5, 5, 5), (15, 15, 15)), tmp_path / "halo.obj")
    return tmp_path


def run(*options: str, code: int = 0, source: str = "b.parquet", out: str = "o.parquet") -> Result:
    rest = ("--background", "W", "--unassigned", "?", "-o", out)
    return run_command("label", source, *BOTH, *rest, *options, code=code)


def read(name: str = "o.parquet") -> pa.Table:
    return pq.ParquetFile(name).read()


def test_a_column_more_and_the_rest_as_it_was(folder: Path) -> None:
    before = table(**rich()).replace_schema_metadata({b"site": b"North pit", b"bytes": b"\xff\x00"})
    pq.write_table(before, "b.parquet", row_group_size=4, compression="zstd")
    result = run("--json")
    after = read()
    assert after.column("domain").to_pylist() == LABELS
    rest, before = after.drop_columns(["domain"]), read("b.parquet")
    assert rest.schema.equals(before.schema, check_metadata=True)
    # As text, because NaN is not NaN, and 0.0 is -0.0.
    assert repr(rest.to_pylist()) == repr(before.to_pylist())
    assert after.schema.field("domain").type == pa.string()
    summary = json.loads(result.stdout)
    assert [part["blocks"] for part in summary["domains"]] == [2, 1]
    assert summary["domains"][0]["volume"] == 250 and summary["unassigned"]["blocks"] == 2


@pytest.mark.parametrize(
    "options",
    [
        {"compression": {"X": "gzip", "Y": "none", "Z": "lz4"}},
        {"compression": "brotli", "use_dictionary": ["X"], "version": "1.0"},
        {"use_dictionary": False, "column_encoding": {"X": "BYTE_STREAM_SPLIT", "Y": "PLAIN"}},
        {"write_statistics": ["X"], "store_schema": False},
        {"sorting_columns": [2], "write_page_index": True},
    ],
    ids=lambda options: " ".join(options),
)
def test_written_as_it_was_written(folder: Path, options: dict) -> None:
    if "sorting_columns" in options:
        options["sorting_columns"] = [pq.SortingColumn(2, descending=True)]
    pq.write_table(table(), "b.parquet", row_group_size=4, **options)
    run()
    one, two = pq.ParquetFile("b.parquet"), pq.ParquetFile("o.parquet")
    assert two.metadata.num_row_groups == 2
    assert [two.metadata.row_group(group).num_rows for group in range(2)] == [4, 2]
    first, second = (writing_options(file, []) for file in (one, two))
    new = second["compression"].pop("domain")
    for key in ("use_dictionary", "write_statistics"):
        second[key].remove("domain")
    assert first == second
    assert new in first["compression"].values()


def test_pandas_reads_it_back(folder: Path) -> None:
    frame = table().to_pandas().set_index(["X", "Y"])
    frame.attrs["unit"] = "m"
    frame.to_parquet("b.parquet")
    run("--flags")
    back = pd.read_parquet("o.parquet")
    assert back["domain"].tolist() == LABELS
    assert back["in_ore"].tolist() == [1, 1, 0, 0, 0, 0] and back["in_ore"].dtype == np.int32
    pd.testing.assert_frame_equal(back.drop(columns=["domain", "in_ore", "in_halo"]), frame)
    assert back.attrs == {"unit": "m"}
    known = json.loads(pq.read_schema("o.parquet").metadata[b"pandas"])["columns"]
    names = [column["name"] for column in known]
    assert names == ["Z", "DX", "DY", "DZ", "domain", "in_ore", "in_halo", "X", "Y"]


def test_a_column_is_replaced_where_it_stands(folder: Path) -> None:
    table(AU=[1.0] * 6, ZONE=["old"] * 6).to_pandas().to_parquet("b.parquet")
    assert "already has a column 'AU'" in run("--column", "au", code=3).stderr
    run("--replace-column", "au")
    assert read().schema.names == ["X", "Y", "Z", "DX", "DY", "DZ", "AU", "ZONE"]
    assert read().column("AU").to_pylist() == LABELS
    assert pd.read_parquet("o.parquet")["AU"].tolist() == LABELS
    assert "coordinates or sizes" in run("--replace-column", "DX", "--overwrite", code=3).stderr


def half(value: int | None) -> np.float16 | None:
    """Return a number as older releases of pyarrow want it for float16."""
    return None if value is None else np.float16(value)


def test_numbers_of_every_kind_are_coordinates(folder: Path) -> None:
    kinds = [pa.float32(), pa.float16(), pa.int8(), pa.uint64(), pa.decimal128(5, 1)]
    values = [2, 7, 12, 99, None, None]
    for kind in kinds:
        whole = pa.array([half(value) if kind == pa.float16() else value for value in values], kind)
        # Older releases of pyarrow have no dictionaries of float16.
        columns = [whole, whole if kind == pa.float16() else whole.dictionary_encode()]
        pq.write_table(pa.table([*columns, columns[0]], names=["X", "Y", "Z"]), "b.parquet")
        run("--overwrite")
        assert read().column("domain").to_pylist() == LABELS


BAD = {
    "text": ({"X": ["1"], "Y": [1.0], "Z": [1.0]}, "'X' holds string, not numbers"),
    "too large": ({"X": [2**53 + 1], "Y": [1], "Z": [1]}, "float64 cannot represent exactly"),
    "no centroid": ({"X": [1.0], "Y": [1.0]}, "no complete set of centroid columns"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_bad_columns(folder: Path, case: tuple[dict, str]) -> None:
    pq.write_table(pa.table(case[0]), "b.parquet")
    assert case[1] in run(code=3).stderr
    assert sorted(path.name for path in folder.iterdir()) == ["b.parquet", "halo.obj", "ore.obj"]


@pytest.mark.parametrize("cut", ["head", "middle", "no Parquet"])
def test_damaged_files(folder: Path, cut: str) -> None:
    pq.write_table(pa.table(dict.fromkeys("XYZ", np.arange(9e4))), "b.parquet")
    data = (folder / "b.parquet").read_bytes()
    middle = data[:5000] + bytes(200_000) + data[205_000:]
    broken = {"head": data[:5000], "middle": middle, "no Parquet": b"X,Y,Z\n1,2,3\n"}[cut]
    (folder / "b.parquet").write_bytes(broken)
    result = run(code=3)
    assert "b.parquet cannot be read as Parquet" in result.stderr
    assert result.stderr.count("\n") == 1 and not Path("o.parquet").exists()


def test_missing_codes(folder: Path) -> None:
    pq.write_table(table(), "b.parquet")
    run("--missing", "99")
    assert read().column("domain").to_pylist() == [*LABELS[:3], "?", "?", "?"]


def test_no_rows(folder: Path) -> None:
    pq.write_table(table().slice(0, 0), "b.parquet")
    run()
    assert read().schema.names[-1] == "domain" and len(read()) == 0


def test_files_are_as_safe_as_text(folder: Path) -> None:
    pq.write_table(table(), "b.parquet")
    before = (folder / "b.parquet").read_bytes()
    assert "--in-place" in run("--overwrite", code=3, out="b.parquet").stderr
    run("--dry-run")
    assert "extension .parquet" in run(code=3, out="o.csv").stderr
    (folder / "t.csv").write_text("X,Y,Z\n1,2,3\n")
    assert "extension .csv" in run(code=3, source="t.csv").stderr
    (folder / "o.parquet").write_text("precious")
    assert "--overwrite" in run(code=4).stderr
    assert (folder / "o.parquet").read_text() == "precious"
    assert "nil.parquet" in run(code=4, source="nil.parquet", out="n.parquet").stderr
    assert (folder / "b.parquet").read_bytes() == before
    (folder / "b.parquet").rename("named.csv")
    assert "extension .parquet" in run(code=3, source="named.csv", out="n.csv").stderr


def test_in_place_and_to_stdout(folder: Path) -> None:
    pq.write_table(table(), "b.parquet")
    stream = run(out="-", source="b.parquet").stdout_bytes
    assert pq.read_table(pa.BufferReader(stream)).column("domain").to_pylist() == LABELS
    result = CliRunner().invoke(main, ["label", "b.parquet", *BOTH, "--in-place"])
    assert result.exit_code == 0
    assert read("b.parquet").column("domain").to_pylist() == ["ORE", "ORE", "HALO", "", "", ""]


def test_nothing_meets_the_model(folder: Path) -> None:
    write_mesh(box((900, 900, 900), (910, 910, 910)), folder / "ore.obj", overwrite=True)
    write_mesh(box((900, 900, 900), (910, 910, 910)), folder / "halo.obj", overwrite=True)
    pq.write_table(table(), "b.parquet")
    assert "no solid meets the block model" in run(code=3).stderr
    assert not Path("o.parquet").exists()


def test_corners_and_frames_are_understood_as_in_text(folder: Path) -> None:
    corners = {axis: [0.0, 10.0] for axis in "XYZ"} | {f"D{axis}": [5.0, 5.0] for axis in "XYZ"}
    pq.write_table(pa.table(corners), "b.parquet")
    run("--position", "corner")
    assert read().column("domain").to_pylist() == ["ORE", "HALO"]
    turned = {"XC": [-2.0], "YC": [2.0], "ZC": [2.0], "ANGLE1": [90.0], "ROTAXIS1": [3]}
    origins = {f"{axis}{name}": [0] for axis in "XYZ" for name in ("0", "MORIG")}
    pq.write_table(pa.table(turned | origins), "b.parquet")
    assert "converted to world coordinates" in run("--overwrite").stderr
    assert read().column("domain").to_pylist() == ["ORE"]
    pq.write_table(pa.table(turned), "b.parquet")
    assert "X0 is missing" in run("--overwrite", code=3).stderr


def test_without_pyarrow_it_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    pq.write_table(table(), "b.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'geodomain[parquet]'" in run(code=3).stderr


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_numbers_that_a_text_column_keeps_have_no_needless_point(
    tmp_path: Path, kind: type[np.floating]
) -> None:
    solid = Domain("NEW", box((0, 0, 0), (9, 9, 9)), keep=True)
    frame = pd.DataFrame({"X": [1.0, 2.0, 3.0], "Y": 1.0, "Z": 1.0})
    frame["domain"] = np.array([1.0, np.nan, 0.7], kind)
    frame.to_parquet(tmp_path / "a.parquet")
    label_file(tmp_path / "a.parquet", Domains((solid,)), tmp_path / "b.parquet", replace=True)
    assert pd.read_parquet(tmp_path / "b.parquet")["domain"].tolist() == ["1", "NEW", "0.7"]


@pytest.mark.parametrize(
    "kind",
    ["string", "large_string", "dictionary<values=string, indices=int8, ordered=0>"],
)
def test_texts_of_a_column_are_those_of_its_rows(kind: str) -> None:
    """A column is read by its distinct texts, as if it were read row by row."""
    parts = [["a", " b", None, "a", "a"], [], ["", "NA", None, "é"]]
    arrays = [pa.array(part, pa.string()) for part in parts]
    if kind.startswith("dict"):
        arrays = [part.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
                  for part in arrays]  # fmt: skip
    else:
        arrays = [part.cast(getattr(pa, kind)()) for part in arrays]
    # A slice has an offset, and leaves texts of its dictionary unused.
    for column in (pa.chunked_array(arrays), pa.chunked_array(arrays).slice(1, 6)):
        rows = column.to_pylist()
        words, codes = encoded_texts(column)
        assert [words[code] for code in codes] == rows and {*words} == {*rows}
        one = ArrayColumn(np.array(rows, object), "r")
        other = ArrayColumn.of_codes(words, codes, "r")
        for known in ((), ("a", "x")):
            (texts, places), (wanted, found) = one.distinct(known), other.distinct(known)
            assert [texts[at] for at in places] == [wanted[at] for at in found]
            assert {*texts} == {*wanted}
        assert (one.padded() == other.padded()).all()
        assert (one.present() == other.present()).all()
        assert (one.among(["b", "é"]) == other.among(["b", "é"])).all()
