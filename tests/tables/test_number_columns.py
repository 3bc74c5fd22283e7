"""Columns that are used as numbers: one rule in every format and by every command."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import grades
import numpy as np
import pytest
from click.testing import CliRunner
from late import pandas, pyvista
from wireframes import box

import geodomain
from geodomain import Domain, Domains
from geodomain.cli import main
from geodomain.errors import GeodomainWarning, TableError
from geodomain.tables import text as stream
from geodomain.tables.layout import read_layout
from geodomain.tables.numbers import NegativeGrades, as_float64
from geodomain.tables.options import TableOptions

ALL = box((0, 0, 0), (100, 10, 10))
RICH = Domains((Domain("RICH", ALL, only_if={"AU": {">=": 500}}),), background="POOR")


def table(cells: list[object]) -> pandas.DataFrame:
    """Return a row of blocks with a grade."""
    count = len(cells)
    frame = pandas.DataFrame({"X": [5.0 + 10 * place for place in range(count)]})
    frame["Y"] = frame["Z"] = 5.0
    frame["DX"] = frame["DY"] = frame["DZ"] = 10.0
    return frame.assign(domain="ORE", AU=cells)


def written(frame: pandas.DataFrame, kind: str, folder: Path) -> Path:
    """Write blocks as a kind of file."""
    path = folder / f"blocks.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        grid = pyvista.ImageData(dimensions=(len(frame) + 1, 2, 2), spacing=(10, 10, 10))
        for name in ("domain", "AU"):
            values = frame[name].to_numpy()
            grid.cell_data[name] = values if values.dtype.kind == "f" else values.astype(str)
        grid.save(path)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "vti"])
def test_thousands_meet_no_condition_in_silence(kind: str, tmp_path: Path) -> None:
    frame = table(["314", "1,410", "2,003", "600"])
    with pytest.raises(TableError, match=r"only_if of RICH: .*AU is not a number in 2 of the rows"):
        geodomain.label_file(
            written(frame, kind, tmp_path), RICH, tmp_path / f"out.{kind}", column="rich"
        )
    assert not (tmp_path / f"out.{kind}").exists()
    with pytest.raises(TableError, match=r"'1,410' in row 2, '2,003' in row 3"):
        geodomain.label_blocks(frame, RICH)
    plain = frame.assign(AU=frame["AU"].str.replace(",", "").astype(float))
    assert geodomain.label_blocks(plain, RICH).tolist() == ["POOR", "RICH", "RICH", "RICH"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "vti"])
def test_every_command_refuses_text_in_a_grade(kind: str, tmp_path: Path) -> None:
    path = str(written(table(["1.5", "1,410", "2.5", "0.5"]), kind, tmp_path))
    for arguments in (
        ["tonnes", path, "--density", "2", "--grade", "AU"],
        ["report", path, "--grade", "AU", "-o", str(tmp_path / "r.html")],
        ["plot", path, "--colour-by", "AU", "-o", str(tmp_path / "p.svg")],
    ):
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 3, done.output
        assert f"blocks.{kind}: AU is not a number in 1 of the rows" in done.output
        assert "'1,410' in " + ("line 3" if kind == "csv" else "row 2") in done.output


@pytest.mark.filterwarnings("ignore:2 blocks have no AU")
@pytest.mark.parametrize("kind", ["csv", "parquet", "vti"])
def test_marks_of_missing_values_are_the_same_in_every_format(kind: str, tmp_path: Path) -> None:
    cells = ["1.5", "-99", "n.a.", "600"]
    frame = table(cells)
    path = written(frame, kind, tmp_path)
    marks = {"AU": [-99, "n.a."]}
    of_file = geodomain.tonnes_file(path, density=2, grade="AU", missing=marks)
    of_frame = geodomain.tonnes(frame, density=2, grade="AU", missing=["AU=-99", "AU=n.a."])
    assert of_file.totals == of_frame.totals and of_file.totals[0].grades[0].missing == 2
    typed = written(table([1.5, -99.0, np.nan, 600.0]), "parquet", tmp_path)
    of_typed = geodomain.tonnes_file(typed, density=2, grade="AU", missing=["AU=-99"])
    assert of_typed.totals == of_file.totals


def test_a_list_of_domains_says_what_counts_below_detection(tmp_path: Path) -> None:
    frame = table(["<1000", "700", "300", "<0.5"])
    path = written(frame, "csv", tmp_path)
    geodomain.write_mesh(ALL, tmp_path / "all.ply")
    text = '[[domain]]\nname = "RICH"\nmesh = "all.ply"\nonly_if = { AU = { ">=" = 500 } }\n'
    (tmp_path / "d.toml").write_text(text)
    with pytest.raises(TableError, match=r"'<1000' in line 2, '<0.5' in line 5. Choose how"):
        geodomain.label_file(path, tmp_path / "d.toml", None, column="rich")
    for policy, count in {"half": 2, "limit": 2, "zero": 1, "missing": 1}.items():
        (tmp_path / "d.toml").write_text(f'below_detection = "{policy}"\n{text}')
        found = geodomain.label_file(path, tmp_path / "d.toml", None, column="rich")
        assert found.domains[0].blocks == count
        labels = geodomain.label_blocks(frame, geodomain.read_domains(tmp_path / "d.toml"))
        assert int((labels == "RICH").sum()) == count
    by_keyword = geodomain.label_file(
        path, tmp_path / "d.toml", None, column="rich", below_detection="half"
    )
    assert by_keyword.domains[0].blocks == 2
    (tmp_path / "d.toml").write_text(f'below_detection = "some"\n{text}')
    with pytest.raises(geodomain.DomainError, match="one of 'half', 'limit', 'zero', 'missing'"):
        geodomain.read_domains(tmp_path / "d.toml")


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize("number", range(12))
def test_every_form_of_a_random_grade_gives_what_fractions_give(number, tmp_path: Path) -> None:
    assert grades.check(grades.Case(random.Random(f"0 {number}")), tmp_path)


COMMAS = {
    "beside a point": (b'X,Y,Z,AU\n"12,005","11,050",50,1.5\n', "12,005"),
    "without one": (b'X,Y,Z\n"12,005","11,050",50\n', "12,005"),
    "in a semicolon's table": (b"X;Y;Z;AU\n12,005;11,050;50;1.5\n", "12,005"),
    "where semicolons part the fields": (b"X;Y;Z;domain\n12,005;11,050;50;ORE\n", "12,005"),
    "with sizes": (b"X|Y|Z|DX\n12,005|11,050|50|10\n", "12,005"),
    "points beside decimal commas": (b"X;Y;Z;AU\n12.005;11.050;50;1,5\n", "12.005"),
    "of a million": (b'X,Y,Z\n"6,012,005","11,050",50\n', "6,012,005"),
}


@pytest.mark.parametrize("case", COMMAS)
def test_quoted_thousands_are_no_decimal_commas(case: str) -> None:
    head, said = COMMAS[case]
    with pytest.raises(TableError, match=f"contains '{said}'.*without"):
        read_layout(head)
    if case != "of a million":
        mark = said[2].encode()
        assert read_layout(head, TableOptions(decimal=mark)).decimal == mark


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_thousands_are_refused_whatever_parts_the_fields(delimiter: str, tmp_path: Path) -> None:
    rows = ["X,Y,Z,DX,DY,DZ,AU,domain", "5,5,5,9,9,9,983,A", "5,5,15,9,9,9,1#410,A"]
    lines = [row.replace(",", delimiter).replace("#", ",") for row in rows]
    (tmp_path / "b.txt").write_text("\n".join([*lines, ""]))
    with pytest.raises(TableError, match="'1,410' in line 3"):
        geodomain.tonnes_file(tmp_path / "b.txt", density=2.7, grade="AU")
    said = geodomain.tonnes_file(tmp_path / "b.txt", density=2.7, grade="AU", decimal=",")
    assert "492.205" in str(said)


@pytest.mark.parametrize(
    "head",
    [
        b'X,Y,Z\n"12,005","11,5",50\n',
        b'X,Y,Z\n"0,005","11,050",50\n',
        b"X;Y;Z;AU\n12,005;11,050;50;1,5\n",
        b"X;Y;Z;AU\n512,0051;11,050;50;1.5\n",
    ],
)
def test_decimal_commas_that_are_no_thousands_are_taken(head: bytes) -> None:
    assert read_layout(head).decimal == b","


def test_a_mark_of_a_coordinate_holds_for_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_text("X,Y,Z\n5,5,5\n5,6,6\n7,5,5\n")
    found = geodomain.label_file(path, {"A": ALL}, None, missing="X=5")
    assert found.unassigned.blocks == 2 and found.rows == 3


def test_a_report_refuses_thousands_in_a_share(tmp_path: Path) -> None:
    frame = table(["1", "2"]).assign(prop_ore=["0.5", "0,5"], prop_note=["a", "b"])
    frame.to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(
        TableError, match="prop_ore is not a number in 1 of the rows, such as '0,5' in line 3"
    ):
        geodomain.report_file(tmp_path / "b.csv", tmp_path / "r.html")
    frame.assign(prop_ore=0.5).to_csv(tmp_path / "b.csv", index=False)
    geodomain.report_file(tmp_path / "b.csv", tmp_path / "r.html")


def test_a_sum_beyond_float64_is_refused_where_no_block_is(tmp_path: Path) -> None:
    frame = table([1.5, 2.5]).assign(RHO=1.5e305)
    with pytest.raises(
        TableError, match=r"total tonnes of the blocks of 'ORE' is more than float64"
    ):
        geodomain.tonnes(frame, density="RHO")
    frame = table([1.5e304, 2.5e304])
    path = str(written(frame, "csv", tmp_path))
    done = CliRunner().invoke(
        main, ["tonnes", path, "--density", "5", "--grade", "AU", "-o", str(tmp_path / "t.csv")]
    )
    assert done.exit_code == 3 and "metal of AU" in done.output, done.output
    assert "Traceback" not in done.output and not (tmp_path / "t.csv").exists()


@pytest.mark.parametrize("name", ["r.xlsx", "r.csv", "r.pdf", "r.parquet"])
def test_a_page_is_not_written_under_a_name_that_promises_another_file(
    name: str, tmp_path: Path
) -> None:
    path, page = str(written(table([1.5, 2.5]), "csv", tmp_path)), tmp_path / name
    done = CliRunner().invoke(main, ["report", path, "-o", str(page)])
    assert done.exit_code == 3 and "use the extension .html" in done.output, done.output
    assert not page.exists()


@pytest.mark.parametrize("option", ["--record", "--report"])
def test_what_lies_beside_a_labelled_model_has_a_name_of_its_kind(
    option: str, tmp_path: Path
) -> None:
    path, beside = str(written(table([1.5, 2.5]), "csv", tmp_path)), tmp_path / "beside.xlsx"
    geodomain.write_mesh(ALL, tmp_path / "all.ply")
    words = ["label", path, "--solid", f"ORE={tmp_path / 'all.ply'}", "--column", "new"]
    words += ["-o", str(tmp_path / "out.csv"), option, str(beside)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 3 and ".xlsx is a different format" in done.output, done.output
    assert not beside.exists() and not (tmp_path / "out.csv").exists()


POLICIES = {"half": 2, "limit": 2, "zero": 1, "missing": 1}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_take_the_keywords_of_files(library: str, tmp_path: Path) -> None:
    frame = table(["<1000", "700", "BDL", "-99"])
    path, native = written(frame, "csv", tmp_path), frame
    if library == "polars":
        native = pytest.importorskip("polars").from_pandas(frame)
    elif library == "pyarrow":
        native = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    points = frame[["X", "Y", "Z"]].to_numpy()
    for policy, count in POLICIES.items():
        said = {"below_detection": policy, "detection_limit": {"AU": 0.5}, "missing": {"AU": -99}}
        labels = np.array(
            geodomain.label_blocks(native, RICH, **said).to_numpy(zero_copy_only=False)
            if library == "pyarrow"
            else geodomain.label_blocks(native, RICH, **said)
        )
        assert (labels == "RICH").sum() == count
        of_points = geodomain.label_points(points, RICH, columns={"AU": frame["AU"]}, **said)
        assert of_points.tolist() == labels.tolist()
        of_file = geodomain.label_file(path, RICH, None, column="rich", **said)
        assert of_file.domains[0].blocks == count
        shares = geodomain.proportions_blocks(native, RICH, **said)["prop_rich"]
        assert np.asarray(shares).sum() == count
    with pytest.raises(TypeError, match="there is no keyword 'detection'"):
        geodomain.label_blocks(native, RICH, detection=1)


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_the_policy_of_a_list_of_domains_reaches_tonnes_pages_and_plots(tmp_path: Path) -> None:
    path = str(written(table(["<1000", "700", "-300", "<0.5"]), "csv", tmp_path))
    geodomain.write_mesh(ALL, tmp_path / "all.ply")
    text = 'below_detection = "half"\n[[domain]]\nname = "IN"\nmesh = "all.ply"\n'
    (tmp_path / "d.toml").write_text(text)
    words = ["--domains", str(tmp_path / "d.toml"), "--density", "1", "--grade", "AU"]
    out = str(tmp_path / "o.csv")
    done = CliRunner().invoke(main, ["label", path, "--column", "new", "-o", out, *words])
    assert done.exit_code == 0 and "1,350,250" in done.output, done.output
    page = str(tmp_path / "r.html")
    done = CliRunner().invoke(main, ["report", out, "--column", "new", "-o", page, *words])
    assert done.exit_code == 0 and "1,350,250" in Path(page).read_text(), done.output
    words = ["--domains", str(tmp_path / "d.toml"), "--colour-by", "AU"]
    done = CliRunner().invoke(main, ["plot", out, *words, "-o", str(tmp_path / "p.svg")])
    assert done.exit_code == 0, done.output


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_infinite_coordinates_and_sizes_are_refused_or_declared(kind: str, tmp_path: Path) -> None:
    for name, value in product(("X", "Z", "DX"), (np.inf, -np.inf)):
        frame = table([1.5, 2.5, 3.5])
        frame.loc[1, name] = value
        path = written(frame, kind, tmp_path)
        wrong = f"{name} is '?-?inf'?, which|{name} is not a number in 1 of the rows.* in row 2"
        with pytest.raises(TableError, match=wrong):
            geodomain.tonnes_file(path, density=2)
        with pytest.raises(TableError, match=wrong):
            geodomain.tonnes(frame, density=2)
        with pytest.raises(TableError, match=wrong):
            geodomain.label_file(path, {"IN": ALL}, None, column="new")
        with pytest.raises(TableError, match=wrong):
            geodomain.label_blocks(frame, {"IN": ALL})
        for mark in ({name: str(value)}, str(value)):
            found = geodomain.label_file(path, {"IN": ALL}, None, column="new", missing=mark)
            assert found.rows == 3
            geodomain.label_blocks(frame, {"IN": ALL}, missing=mark)


def test_a_text_marks_missing_coordinates_of_one_column(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("X,Y,Z,AU\n5,5,5,NA\nNA,5,5,1\n")
    found = geodomain.label_file(tmp_path / "b.csv", {"IN": ALL}, None, missing={"X": "NA"})
    assert (found.domains[0].blocks, found.unassigned.blocks) == (1, 1)
    (tmp_path / "b.csv").write_text("X,Y,Z,AU\n5,NA,5,NA\nNA,5,5,1\n")
    with pytest.raises(TableError, match="line 2: Y is 'NA', which is not a number"):
        geodomain.label_file(tmp_path / "b.csv", {"IN": ALL}, None, missing={"X": "NA"})


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_other_text_is_counted_over_the_whole_file(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = ["1.5"] * 3000
    for row, text in {10: "1,410", 700: "1,410", 1500: "n.a.", 2998: "<0.5"}.items():
        cells[row] = text
    frame = table(cells)
    path = written(frame, kind, tmp_path)
    if kind == "csv":
        monkeypatch.setitem(stream.relabel.__kwdefaults__, "chunk_bytes", 4096)
    else:
        frame.to_parquet(path, row_group_size=500)
    first = "line 12" if kind == "csv" else "row 11"
    said = f"AU is not a number in 4 of the rows, such as '1,410' in {first}, 'n.a.' in "
    with pytest.raises(TableError, match=f"{said}.*'<0.5' in "):
        geodomain.tonnes_file(path, density=2, grade="AU")
    with pytest.raises(TableError, match=f"^only_if of RICH: .*{said}"):
        geodomain.label_file(path, RICH, tmp_path / f"o.{kind}", column="rich")
    assert not (tmp_path / f"o.{kind}").exists()


POOR = Domains((Domain("POOR", ALL, only_if={"AU": {"<": 1}}),), background="RICH")
TOLD = r"AU is negative in 2 of the {}s, the first in {} 2 \(-99.0 in 1, -0.01 in 1\)"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_negative_values_in_conditions_are_told_and_count_as_stated(
    kind: str, tmp_path: Path
) -> None:
    frame = table([2.0, -99.0, -0.01, 0.5])
    blocks = written(frame, kind, tmp_path)
    out = tmp_path / f"out.{kind}"
    with pytest.warns(geodomain.GeodomainWarning, match=TOLD.format("block", "block")):
        geodomain.label_file(blocks, POOR, out, column="found")
    with pytest.warns(geodomain.GeodomainWarning, match=TOLD.format("row", "row")):
        assert geodomain.label_blocks(frame, POOR).tolist() == ["RICH", "POOR", "POOR", "POOR"]
    with pytest.warns(geodomain.GeodomainWarning, match="they count as missing"):
        found = geodomain.label_blocks(frame, POOR, below_detection="missing")
    assert found.tolist() == ["RICH", "RICH", "RICH", "POOR"]
    with pytest.warns(geodomain.GeodomainWarning, match="the detection limit"):
        found = geodomain.label_blocks(frame, POOR, missing={"AU": -99}, below_detection="half")
    assert found.tolist() == ["RICH", "RICH", "POOR", "POOR"]


@pytest.mark.parametrize("wanted", [{"<": 0}, {"<=": -5}, {">": -1, "<": 1}, {">=": 0, "<": 1}])
@pytest.mark.filterwarnings("error::geodomain.GeodomainWarning")
def test_signs_that_a_condition_asks_for_are_not_told(wanted: dict[str, float]) -> None:
    frame = table([2.0, -99.0, -0.01, 0.5])
    domains = Domains((Domain("IN", ALL, only_if={"AU": wanted}),), background="OUT")
    geodomain.label_blocks(frame, domains)


def test_whole_numbers_beyond_float64_are_refused_in_frames_as_in_files(tmp_path: Path) -> None:
    frame = table([2**63 - 1, 1])
    with pytest.raises(ValueError, match="AU"):
        geodomain.tonnes(frame, density=2, grade="AU")
    with pytest.raises(TableError, match="AU"):
        geodomain.tonnes_file(written(frame, "parquet", tmp_path), density=2, grade="AU")


@pytest.mark.parametrize("text", ["1_000", "inf", "1,410", "<0.5", "true"])
def test_an_amount_that_parts_share_is_a_number_by_the_same_rule(text: str, tmp_path: Path) -> None:
    frame = table([text, "1e3"])
    geodomain.write_mesh(box((1, 1, 1), (6, 6, 6)), tmp_path / "o.ply")
    words = ["subblock", str(written(frame, "csv", tmp_path)), "--solid", f"O={tmp_path / 'o.ply'}"]
    words += ["--minimum", "5", "--scheme", "octree", "--extensive", "AU", "--column", "new"]
    done = CliRunner().invoke(main, [*words, "-o", str(tmp_path / "s.csv")])
    assert done.exit_code == 3 and "which is not a number that can" in done.output, done.output


SINGLE = [0.7, 2.39, 0.05, 5.0, 1e-7, 0.0, None]


@pytest.mark.parametrize("kind", ["text", "parquet", "frame", "polars", "vtk", "nullable"])
@pytest.mark.parametrize("wanted", [0.7, {">=": 0.7}, {"<": 0.05}, [2.39, 1e-7]])
def test_a_number_of_single_precision_is_its_shortest_decimal(kind, wanted, tmp_path) -> None:
    path = tmp_path / "blocks"
    plain = table(SINGLE)
    single = plain.assign(AU=plain["AU"].astype("Float32" if kind == "nullable" else np.float32))
    domains = Domains((Domain("RICH", ALL, only_if={"AU": wanted}),), background="POOR")
    want = list(geodomain.label_blocks(plain, domains))
    assert "RICH" in want or wanted == {"<": 0.05}
    if kind in ("frame", "nullable", "polars"):
        given = single
        if kind == "polars":
            given = pytest.importorskip("polars").from_pandas(single)
        assert list(geodomain.label_blocks(given, domains)) == want
        return
    if kind == "vtk":
        grid = pyvista.ImageData(dimensions=(8, 2, 2), spacing=(10, 10, 10))
        grid.cell_data["AU"] = single["AU"].to_numpy()
        grid.save(path := path.with_suffix(".vti"))
    elif kind == "parquet":
        single.drop(columns="domain").to_parquet(path := path.with_suffix(".parquet"))
    else:
        plain.drop(columns="domain").to_csv(path := path.with_suffix(".csv"), index=False)
    geodomain.label_file(path, domains, out := tmp_path / f"out{path.suffix}")
    geodomain.convert_blocks(out, text := tmp_path / "text.csv")
    found = pandas.read_csv(text, keep_default_na=False, dtype=str)
    assert found["domain"].tolist() == want
    if kind != "text":
        assert found["AU"].tolist() == ["0.7", "2.39", "0.05", "5", "1e-07", "0", ""]


def test_coordinates_of_single_precision_are_where_their_bits_say(tmp_path: Path) -> None:
    frame = table([1.0]).astype({"X": np.float32}).assign(X=np.float32([410000.03]))
    frame.to_parquet(tmp_path / "b.parquet")
    geodomain.convert_blocks(tmp_path / "b.parquet", tmp_path / "b.csv")
    assert pandas.read_csv(tmp_path / "b.csv")["X"][0] == float(np.float32(410000.03))


def test_every_single_number_is_read_as_it_is_written() -> None:
    dice = np.random.default_rng(5)
    bits = dice.integers(0, 2**31, 20_000).astype(np.uint32)
    with np.errstate(over="ignore"):
        tens = np.array([float(f"{s}e{k}") for k in range(-45, 39) for s in (1, -7.25)])
        all_of_them = [
            bits.view(np.float32),
            tens.astype(np.float32),
            np.exp2(np.arange(-149, 128)).astype(np.float32),
        ]
    single = np.concatenate(all_of_them)
    single = single[np.isfinite(single)]
    whole = (np.abs(single) < 2.0**53) & (single == np.rint(single))
    want = [
        float(one) if exact else float(str(one)) for one, exact in zip(single, whole, strict=True)
    ]
    assert as_float64(single).tolist() == want


@pytest.mark.parametrize("mark", ["1e30", "1.70141e+38"])
def test_a_grade_as_large_as_a_mark_is_told(mark: str, tmp_path: Path) -> None:
    rows = [f"5,5,{z},10,10,10,{'2.5' if z != 25 else mark},A" for z in (5, 15, 25)]
    text = "\n".join(["X,Y,Z,DX,DY,DZ,AU,domain", *rows, ""])
    (tmp_path / "b.csv").write_text(text)
    with pytest.warns(GeodomainWarning, match=r"AU is 1e\+20 or more in 1 of the blocks"):
        geodomain.tonnes_file(tmp_path / "b.csv", density=2, grade="AU")
    with pytest.warns(GeodomainWarning, match="1 block has no AU") as caught:
        geodomain.tonnes_file(
            tmp_path / "b.csv", density=2, grade="AU", missing={"AU": float(mark)}
        )
    assert len(caught) == 1


def test_large_and_negative_grades_are_restored_and_merged() -> None:
    one, other = NegativeGrades("AU"), NegativeGrades("AU")
    one.take(np.array([1.0, -1.0, 1e30]))
    other.take(np.array([1e30, 1e31, -2.0, -2.0]))
    one.merge(NegativeGrades.restored("AU", other.stored()), 3)
    negative, large = one.warnings("row")
    assert "negative in 3 of the rows, the first in row 2 (-2.0 in 2, -1.0 in 1)" in negative
    assert "in 3 of the rows, the first in row 3 (1e+30 in 2, 1e+31 in 1)" in large


SPELLINGS = ["ox", "OX", "ox\u00a0", "fr"]


def spelled(path: Path) -> Path:
    """Write blocks with a text of each spelling, twice."""
    rows = [[5, 5, 5 + 10 * row, SPELLINGS[row % 4]] for row in range(8)]
    frame = pandas.DataFrame(rows, columns=["X", "Y", "Z", "rock"])
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(("operator", "met"), [("==", 2), ("!=", 6)])
def test_texts_that_differ_by_case_or_blanks_are_told(
    kind: str, operator: str, met: int, tmp_path: Path
) -> None:
    path = spelled(tmp_path / f"b.{kind}")
    where = {"rock": {operator: "ox"}}
    domains = Domains((Domain("A", box((0, 0, 0), (10, 10, 100)), only_if=where),), background="W")
    said = r"some blocks have a text that differs only by case or blanks \('OX' in 2"
    with pytest.warns(GeodomainWarning, match=said):
        found = geodomain.label_file(path, domains, None)
    assert found.domains[0].blocks == met
    frame = pandas.read_csv(path) if kind == "csv" else pandas.read_parquet(path)
    with pytest.warns(GeodomainWarning, match=said.replace("blocks", "rows")):
        labels = geodomain.label_blocks(frame, domains)
    assert (labels == "A").sum() == met


def test_a_no_break_space_beside_a_number_is_refused_in_every_format(tmp_path: Path) -> None:
    frame = table(["2.5", "2.5\u00a0"]).drop(columns="domain")
    frame.to_csv(tmp_path / "b.csv", index=False)
    frame.to_parquet(tmp_path / "b.parquet")
    for name in ("b.csv", "b.parquet"):
        with pytest.raises(TableError, match=r"'2\.5.xa0'"):
            geodomain.label_file(tmp_path / name, RICH, None)
    with pytest.raises(TableError, match=r"'2\.5.xa0'"):
        geodomain.label_blocks(frame, RICH)


def test_a_condition_that_no_row_meets_is_told_in_memory(tmp_path: Path) -> None:
    frame = table(["2.5", "3.5"])
    for label in (geodomain.label_blocks, geodomain.label_points):
        given = frame if label is geodomain.label_blocks else frame[["X", "Y", "Z"]].to_numpy()
        more = {} if label is geodomain.label_blocks else {"columns": {"AU": frame["AU"]}}
        with pytest.warns(GeodomainWarning, match="no row meets only_if of RICH: AU >= 500"):
            label(given, RICH, **more)
