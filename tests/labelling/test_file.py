"""`label_file`: what it takes, what it returns and warns of, and what it leaves behind."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner
from late import pandas, pyarrow
from wireframes import box, cube, roofless

import geodomain
from geodomain import Domain, Domains, GeodomainWarning, TableError, label_file, write_mesh
from geodomain.cli import main

BLOCKS = "X,Y,Z,DX,DY,DZ,ROCK\n2,2,2,5,5,5,a\n7,7,7,5,5,5,b\n12,12,12,5,5,5,c\n99,9,9,5,5,5,\n"
HALO = box((5, 5, 5), (15, 15, 15))
TOML = """background = "W"
[[domain]]
name = "ORE"
mesh = "ore.obj"
code = 7
[[domain]]
name = "HALO"
mesh = "halo.obj"
code = 8
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside a block model and wireframes, blocks at centroids of the lattice."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.csv").write_text(BLOCKS)
    (tmp_path / "d.toml").write_text(TOML)
    for name, mesh in {"ore": cube(), "halo": HALO, "open": roofless()}.items():
        write_mesh(mesh, tmp_path / f"{name}.obj")
    write_mesh(box((900, 900, 900), (910, 910, 910)), tmp_path / "far.obj")
    return tmp_path


# Four blocks fill no solid, and some solids are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")


def labels(path: str = "out.csv") -> list[str]:
    return [row.rpartition(",")[2] for row in Path(path).read_text().splitlines()]


GIVEN = {
    "paths": {"ORE": "ore.obj", "HALO": Path("halo.obj")},
    "meshes": {"ORE": cube(), "HALO": HALO},
    "both": {"ORE": ["ore.obj", cube()], "HALO": [HALO]},
    "list": [Domain("ORE", cube()), Domain("HALO", HALO)],
    "domains": Domains((Domain("ORE", cube()), Domain("HALO", HALO))),
    "toml": "d.toml",
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN.keys())
def test_domains_however_they_are_given(given: object) -> None:
    summary = label_file("b.csv", given, "out.csv", background="W")
    assert labels() == ["domain", "ORE", "ORE", "HALO", "W"]
    assert [part.blocks for part in summary.domains] == [2, 1]
    assert summary.output == "out.csv" and summary.columns == ("domain",)


def test_the_summary_is_what_the_command_prints() -> None:
    summary = label_file("b.csv", "d.toml", "out.csv")
    arguments = ["label", "b.csv", "--domains", "d.toml", "-o", "two.csv", "--json"]
    said = json.loads(CliRunner().invoke(main, arguments).stdout)
    again = json.loads(json.dumps(summary.as_dict()))
    for key in ("seconds", "rows_per_second", "output"):
        del said[key], again[key]
    assert said == again and Path("out.csv").read_bytes() == Path("two.csv").read_bytes()


def test_every_option_has_its_keyword() -> None:
    text = "E;N;H;AU;domain\n2,5;2;2;1;old\n-99;2;2;1;old\nNA;2;2;1;old\n0,5;0,5;50;1;old\n"
    Path("t.csv").write_text(text)
    columns = {"x": "e", "y": "N", "z": "H", "missing": [-99, "NA"], "delimiter": "semicolon"}
    seen: list[tuple[int, int | None]] = []
    summary = label_file(
        "t.csv",
        {"POT": "open.obj"},
        "out.csv",
        replace=True,
        background="W",
        unassigned="?",
        leaky="LEAK",
        allow_open=True,
        weld=1e-6,
        allow_disjoint=True,
        count_on_wall=True,
        backend="cpu",
        threads=1,
        progress=lambda done, total: seen.append((done, total)),
        decimal=",",
        encoding="latin-1",
        **columns,
    )
    assert labels()[0] == "E;N;H;AU;domain"
    cells = [row.rpartition(";")[2] for row in labels()[1:]]
    assert cells == ["LEAK", "?", "?", "LEAK"]
    assert summary.unassigned.blocks == 2 and summary.on_wall == 0
    assert summary.welds[0].tolerance == 1e-6 and seen[-1][0] == seen[-1][1] == len(text)


def test_names_codes_and_flags() -> None:
    label_file("b.csv", "d.toml", "out.csv", codes=True, flags=True, column="code", uncertain=True)
    rows = Path("out.csv").read_text().splitlines()
    assert rows[0].endswith("ROCK,code,in_ore,in_halo,uncertain")
    assert rows[2].endswith(",7,1,1,0") and rows[4].endswith(",,0,0,0")


def test_rotated_models() -> None:
    Path("r.csv").write_text("X,Y,Z\n-2,1,1\n5,1,1\n")
    for turn in ("z=90", [("z", 90)]):
        label_file(
            "r.csv", {"A": cube()}, "out.csv", overwrite=True, rotation=turn, origin=(0, 0, 0)
        )
        assert labels() == ["domain", "A", ""]  # in the world (1, 2, 1) and (1, -5, 1)
    with pytest.raises(ValueError, match="rotation= needs origin="):
        label_file("r.csv", {"A": cube()}, None, rotation="z=90")
    with pytest.raises(ValueError, match="need a rotation="):
        label_file("r.csv", {"A": cube()}, None, origin=(0, 0, 0))


def test_an_output_that_is_there_is_kept() -> None:
    Path("out.csv").write_text("precious")
    with pytest.raises(FileExistsError, match=r"out\.csv already exists"):
        label_file("b.csv", "d.toml", "out.csv")
    with pytest.raises(FileExistsError):
        label_file("b.csv", "d.toml", "b.csv")
    assert Path("out.csv").read_text() == "precious" and Path("b.csv").read_text() == BLOCKS
    label_file("b.csv", "d.toml", "out.csv", overwrite=True)
    assert labels()[1] == "ORE"


def test_it_is_refused_before_a_mesh_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geodomain.domains.sources.read_mesh", lambda _: pytest.fail("read"))
    Path("run.json").write_text("{}")
    for output, record, error in (
        ("b.csv", None, FileExistsError),
        ("no/out.csv", None, FileNotFoundError),
        ("out.parquet", None, TableError),
        ("out.csv", "run.json", FileExistsError),
        ("out.csv", "no/run.json", FileNotFoundError),
        ("out.csv", "./out.csv", ValueError),
    ):
        with pytest.raises(error):
            label_file("b.csv", "d.toml", output, record=record)


def test_what_is_read_is_never_the_output() -> None:
    for output, record in (("ore.obj", None), ("out.csv", "d.toml"), ("out.csv", "b.csv")):
        with pytest.raises(TableError, match=r"is the input|is for wireframes|use the extension"):
            label_file("b.csv", "d.toml", output, record=record, overwrite=True)
    Path("hard.csv").hardlink_to("b.csv")
    with pytest.raises(TableError, match="is the input itself"):
        label_file("b.csv", "d.toml", "hard.csv", overwrite=True)
    assert Path("b.csv").read_text() == BLOCKS and Path("d.toml").read_text() == TOML


@pytest.mark.parametrize("name", ["b.csv", "link.csv", "./b.csv"])
def test_in_place_is_the_model_itself_with_overwrite(name: str) -> None:
    Path("link.csv").symlink_to("b.csv")
    label_file("b.csv", "d.toml", name, overwrite=True)
    assert Path("link.csv").is_symlink() and Path("b.csv").read_text().endswith("99,9,9,5,5,5,,W\n")


def test_a_dry_run_writes_nothing(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    summary = label_file("b.csv", "d.toml", None)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert summary.rows == 4 and summary.output is None


BAD = {
    "table": (BLOCKS + "1,east,1,5,5,5,x\n", {"ORE": "ore.obj"}, TableError),
    "mesh": (BLOCKS, {"ORE": "open.obj"}, geodomain.MeshError),
    "no mesh": (BLOCKS, {"ORE": "gone.obj"}, FileNotFoundError),
    "far": (BLOCKS, {"ORE": "far.obj"}, TableError),
    "name": (BLOCKS, {"": "ore.obj"}, geodomain.DomainError),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_nothing_is_left_behind_by_what_goes_wrong(case: tuple, folder: Path) -> None:
    text, domains, error = case
    Path("b.csv").write_text(text)
    before = sorted(folder.iterdir())
    with pytest.raises(error):
        label_file("b.csv", domains, "out.csv", record="run.json")
    assert sorted(folder.iterdir()) == before


def test_warnings_are_raised_and_kept(folder: Path) -> None:
    with pytest.warns(GeodomainWarning) as told:
        summary = label_file("b.csv", {"ORE": "ore.obj", "FAR": "far.obj"}, "out.csv")
    said = [" ".join(str(one.message).split()) for one in told]
    assert summary.warnings == tuple(dict.fromkeys(said))
    assert any("FAR does not meet the block model" in one for one in summary.warnings)
    assert {Path(one.filename).name for one in told} == {"test_file.py"}
    before = sorted(folder.iterdir())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(GeodomainWarning):
            label_file("b.csv", {"ORE": "ore.obj", "FAR": "far.obj"}, "strict.csv")
    assert sorted(folder.iterdir()) == before


def test_the_record_says_what_was_run() -> None:
    summary = label_file("b.csv", {"ORE": cube(), "HALO": "halo.obj"}, "o.csv", record="run.json")
    record = json.loads(Path("run.json").read_text())
    assert record["command"] == "label_file" and record["options"]["output"] == "o.csv"
    assert [Path(one["path"]).name for one in record["inputs"]] == ["b.csv", "halo.obj"]
    assert record["output"]["bytes"] == Path("o.csv").stat().st_size
    assert record["summary"] == json.loads(json.dumps(summary.as_dict()))


def test_slips_of_the_caller() -> None:
    for options in (
        {"column": ""},
        {"leaky": "L"},
        {"replace": True, "flags": True},
        {"delimiter": "%"},
        {"decimal": "x"},
        {"encoding": "utf-16"},
        {"position": "top"},
        {"missing": ""},
    ):
        with pytest.raises(ValueError, match=r"."):
            label_file("b.csv", "d.toml", "out.csv", **options)
    with pytest.raises(TypeError, match=r"not DataFrame; use label_blocks for a table in memory"):
        label_file(pandas.DataFrame({"X": [1.0]}), "d.toml", "out.csv")
    with pytest.raises(TypeError, match="no keyword 'delimeter'"):
        label_file("b.csv", "d.toml", "out.csv", delimeter=";")
    assert not Path("out.csv").exists()


def test_parquet_and_gzip() -> None:
    pyarrow.parquet.write_table(pyarrow.csv.read_csv("b.csv"), "b.parquet")
    label_file("b.parquet", "d.toml", "out.parquet")
    found = pyarrow.parquet.read_table("out.parquet").column("domain").to_pylist()
    label_file("b.csv", "d.toml", "out.csv.gz")
    rows = gzip.decompress(Path("out.csv.gz").read_bytes()).decode().splitlines()
    assert found == ["ORE", "ORE", "HALO", "W"] == [row.rpartition(",")[2] for row in rows[1:]]


def test_a_summary_says_what_it_is_in_a_notebook_and_elsewhere() -> None:
    summary = label_file("b.csv", {"<ORE & CO>": "ore.obj"}, None, background="<b>")
    assert repr(summary) == "<Summary of 4 rows: <ORE & CO> 2, background 2, unassigned 0>"
    assert "(background) <b>" in str(summary) and "4 rows in" in str(summary)
    html = summary._repr_html_()
    assert "&lt;ORE &amp; CO&gt;" in html and "(background) &lt;b&gt;" in html
    assert "<ORE" not in html and "<b>" not in html and html.count("<tr>") == 4


def test_progress_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    label_file("b.csv", "d.toml", "out.csv", progress=True)
    said = capsys.readouterr()
    assert said.out == "" and "\r\x1b[Klabelling 100%" in said.err and said.err.endswith("\r\x1b[K")
    label_file("b.csv", "d.toml", None)
    assert capsys.readouterr().err == ""
