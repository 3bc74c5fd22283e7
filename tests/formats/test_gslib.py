"""GSLIB grids: the cells that rows stand for, codes at the end of each row, the rest as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from wireframes import box

from geodomain import (
    GeodomainWarning,
    TableError,
    inspect_file,
    label_file,
    tonnes_file,
    write_mesh,
)
from geodomain.cli import main
from geodomain.formats.blocks import open_model
from geodomain.formats.gslib import read_head
from geodomain.formats.registry import kind_of
from geodomain.tables.options import TableOptions

GRID = "4,3,2,105,205,-47.5,10,10,5"
# The cells (0, 0) and (1, 0) of the lower layer.
ORE = {"ORE": box((100, 200, -50), (120, 210, -45))}


def text(second: str = "2", rows: int = 24, end: str = "\n") -> str:
    lines = ["A title, 2", second, "AU (g/t)", "CU"]
    lines += [f" {n / 8:g}\t{n:>4}  " for n in range(rows)]
    return end.join([*lines, ""])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.dat").write_text(text())
    (tmp_path / "grid.out").write_text(text(" 2 4 3 2 105. 205 -4.75e1 10 10 5 1"))
    return tmp_path


def test_the_grid_is_in_the_second_line_or_is_given(folder: Path) -> None:
    for found in (
        inspect_file("a.dat", gslib_grid=GRID),
        inspect_file("a.dat", gslib_grid=[4, 3, 2, 105, 205, -47.5, 10, 10, 5]),
        inspect_file("grid.out"),
        inspect_file("grid.out", gslib_grid=GRID),
    ):
        assert found.lattice.cells == (4, 3, 2) and found.volume == 24 * 500
        assert found.extent == [[100.0, 200.0, -50.0], [140.0, 230.0, -40.0]]
        assert found.columns == ("AU (g/t)", "CU")
    with pytest.raises(TableError, match="without a grid"):
        inspect_file("a.dat")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_codes_are_added_and_every_other_byte_stays(folder: Path, end: str) -> None:
    (folder / "a.dat").write_bytes((text(end=end) + end).encode())
    with pytest.warns(GeodomainWarning, match="ORE is 1, W is 2, and rows without a label get 0"):
        label_file("a.dat", ORE, "b.dat", background="W", gslib_grid=GRID)
    before, after = (Path(name).read_bytes().split(b"\n") for name in ("a.dat", "b.dat"))
    tail = end.encode()[:-1]
    assert after[:5] == [before[0], b"3" + tail, *before[2:4], b"domain" + tail]
    codes = [1 if n in (0, 1) else 2 for n in range(24)]
    pairs = zip(before[4:28], codes, strict=True)
    rows = [line.rstrip() + f" {code}  ".encode() + tail for line, code in pairs]
    assert after[5:29] == rows


def test_codes_of_domains_and_flags(folder: Path) -> None:
    write_mesh(*ORE.values(), "ore.ply")
    Path("d.toml").write_text(
        '[[domain]]\nname = "ORE"\ncode = 7\nmesh = "ore.ply"\nonly_if = { CU = { ">=" = 1 } }\n'
    )
    arguments = ["label", "grid.out", "--domains", "d.toml", "--codes", "--flags", "-o", "o.out"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    table = np.loadtxt("o.out", skiprows=6)
    assert table[:, 2].tolist() == [0, 7] + [0] * 22
    assert table[:, 3].tolist() == [0, 1] + [0] * 22
    assert Path("o.out").read_text().splitlines()[1].startswith(" 4 4 3 2 105. ")
    with pytest.warns(GeodomainWarning, match="CU holds|ORE is 1"):
        label_file("grid.out", ORE, "p.out", column="CU", replace=True)
    lines = Path("p.out").read_text().splitlines()
    assert lines[:4] == Path("grid.out").read_text().splitlines()[:4]
    assert lines[4:6] == [" 0\t   1  ", " 0.125\t   1  "]
    Path("d.toml").write_text(Path("d.toml").read_text().replace("code = 7", "code = 0"))
    with pytest.raises(TableError, match="give background_code"):
        label_file("grid.out", "d.toml", "q.out", codes=True)
    assert not Path("q.out").exists()


def test_a_background_of_code_0_is_told_from_rows_without_a_label(folder: Path) -> None:
    write_mesh(*ORE.values(), "ore.ply")
    domains = (
        'background = "W"\nbackground_code = 0\n{}'
        '[[domain]]\nname = "ORE"\ncode = {}\nmesh = "ore.ply"\n'
    )
    Path("d.toml").write_text(domains.format("", 7))
    label_file("grid.out", "d.toml", "o.out", codes=True)
    assert set(np.loadtxt("o.out", skiprows=5)[:, 2]) == {0, 7}
    Path("d.toml").write_text(domains.format("", -99))
    with pytest.raises(TableError, match="give background_code and unassigned_code"):
        label_file("grid.out", "d.toml", "p.out", codes=True)
    Path("d.toml").write_text(domains.format("unassigned_code = -1\n", -99))
    label_file("grid.out", "d.toml", "p.out", codes=True)
    assert set(np.loadtxt("p.out", skiprows=5)[:, 2]) == {0, -99}


def test_realisations_come_one_after_the_other(folder: Path) -> None:
    Path("r.out").write_text(text("2 4 3 1 105 205 -47.5 10 10 5 2"))
    with pytest.warns(GeodomainWarning, match="holds 2 realisations") as caught:
        assert inspect_file("r.out").volume == 24 * 500
    assert not any("overlap" in str(one.message) for one in caught)
    with pytest.warns(GeodomainWarning) as caught:
        label_file("r.out", ORE, "s.out")
    assert not any("same centroid" in str(one.message) for one in caught)
    codes = np.loadtxt("s.out", skiprows=5)[:, 2]
    assert any("over all of them: divide by 2" in str(one.message) for one in caught)
    assert np.flatnonzero(codes).tolist() == [0, 1, 12, 13]
    with pytest.warns(GeodomainWarning, match="over all of them: divide by 2"):
        tonnes_file("s.out", density=2.0)
    Path("g.out").write_text(text("2"))
    with pytest.warns(GeodomainWarning, match="holds 2 realisations"):
        inspect_file("g.out", gslib_grid="4,3,1,105,205,-47.5,10,10,5")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            text("2 4 3 2 105 205 -47.5 10 10 5", rows=23),
            "has 23 rows for the 24 cells of its grid",
        ),
        (text("2 4 3 2 105 205 -47.5 10 10 5", rows=25), "has 25 rows"),
        (text("2 99999 99999 99999 0 0 0 1 1 1"), "too few rows"),
        (text("2 4 3 2 105 205 -47.5 10 10 0"), "without a grid"),
        (text("2 4 3 2 105 205 nan 10 10 5"), "without a grid"),
        (text("2 4 3 2 105 205 -47.5 10 10 5").replace("\t  23", ""), "row 24 has 1 numbers for 2"),
        (
            text("2 4 3 2 105 205 -47.5 10 10 5").replace("  23", "  x"),
            "contains b'x', which is not a number",
        ),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(folder: Path, content: str, said: str) -> None:
    (folder / "bad.out").write_text(content)
    write_mesh(*ORE.values(), "ore.ply")
    Path("d.toml").write_text(
        '[[domain]]\nname = "ORE"\nmesh = "ore.ply"\nonly_if = { CU = { ">=" = 0 } }\n'
    )
    result = CliRunner().invoke(main, ["label", "bad.out", "--domains", "d.toml", "-o", "o.out"])
    assert result.exit_code == 3, result.output
    (error,) = [line for line in result.output.splitlines() if line.startswith("error: ")]
    assert said in error and "bad.out" in error
    assert not Path("o.out").exists()


def test_exponents_may_be_those_of_fortran(folder: Path) -> None:
    plain = text("2 4 3 2 105 205 -47.5 10 10 5")
    head, rows = plain.replace(" 105 205 ", " 1.05D+2 2050d-1 "), plain.replace("  23", "2.3D1")
    found = []
    for content in (plain, head, rows):
        Path("f.out").write_text(content)
        with open_model("f.out", TableOptions()) as model:
            store = model._store
            centres = [centre for _, centre, _ in store.cells.chunks()]
            found.append([*np.concatenate(centres).ravel(), *store.values(0), *store.values(1)])
    assert rows != plain != head
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("given", ["4,3,2", "4,3,2.5,0,0,0,1,1,1", "4,3,2,0,0,0,1,1,-1", "a"])
def test_a_grid_that_is_none(folder: Path, given: str) -> None:
    with pytest.raises(ValueError, match="is not NX,NY,NZ"):
        inspect_file("a.dat", gslib_grid=given)
    result = CliRunner().invoke(main, ["inspect", "a.dat", "--gslib-grid", given])
    assert result.exit_code == 2, result.output


@pytest.mark.parametrize(
    "content",
    [
        "X,Y,Z\n1,2,3\n",
        "X\n2\n3\n4\n5\n",
        "# made\nX Y Z\n1 2 3\n",
        "a\n2\nx,y\nu,v\n1,2\n",
        "",
        "2\n2\n",
    ],
)
def test_other_tables_are_not_taken_for_it(folder: Path, content: str) -> None:
    (folder / "t.csv").write_text(content)
    assert kind_of("t.csv") == "text"


def test_the_tables_beside_the_checkout(shared_data) -> None:
    folder = shared_data / "formats/gslib"
    found = inspect_file(folder / "kt3d.out")
    assert found.rows == 2500 and found.extent == [[0.0, 0.0, 0.0], [50.0, 50.0, 1.0]]
    found = inspect_file(folder / "true.dat", gslib_grid="50,50,1,.5,.5,.5,1,1,1")
    assert found.rows == 2500 and found.columns == ("Primary", "Secondary")
    with pytest.raises(TableError, match="without a grid"):
        inspect_file(folder / "cluster.dat")


def test_endless_realisations_are_one() -> None:
    head = read_head(b"a\n1 2 2 1 0.5 0.5 0.5 1 1 1 1e999\nAU\n1\n2\n3\n4\n")
    assert head is not None and head.realisations == 1
