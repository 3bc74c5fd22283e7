"""Outputs of drillholes and reports never take the place of a file that is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from wireframes import box

import geodomain
from geodomain import Drillholes, Mesh, TableError
from geodomain.formats.wireframes import write_mesh

TABLES = {"collar": Path("collar.csv"), "survey": Path("survey.csv")}
ORE, GROUND = Path("ore.ply"), Path("ground.ply")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("collar.csv").write_text("BHID,X,Y,Z,DEPTH\nA,5,5,30,40\n")
    Path("survey.csv").write_text("BHID,AT,BRG,DIP\nA,0,0,90\n")
    Path("assay.csv").write_text("BHID,FROM,TO,AU\nA,0,8,1.5\nA,8,20,2.5\n")
    Path("domains.toml").write_text('[[domain]]\nname = "ORE"\nmesh = "ore.ply"\n')
    Path("blocks.csv").write_text("X,Y,Z,DX,DY,DZ\n5,5,15,10,10,10\n5,5,25,10,10,10\n")
    write_mesh(box((0, 0, 10), (10, 10, 20)), ORE)
    write_mesh(Mesh([[-999, -99, 15], [999, -99, 15], [0, 999, 15]], [[0, 1, 2]]), GROUND)
    geodomain.label_file("blocks.csv", {"ORE": ORE}, "labelled.csv", record="run.json")
    return tmp_path


def flag(output: Path) -> None:
    geodomain.flag_file("assay.csv", "domains.toml", output, overwrite=True, **TABLES)


def composite(output: Path) -> None:
    geodomain.composite_file(
        "assay.csv", "domains.toml", output, length=5, grade="AU", overwrite=True, **TABLES
    )


def cross(output: Path, place: str = "output") -> None:
    geodomain.crossings_file(
        **TABLES,
        intervals=["assay.csv"],
        surfaces={"TOPO": GROUND},
        domains="domains.toml",
        overwrite=True,
        **{place: output},
    )


def pierce(output: Path) -> None:
    cross(output, "pierce")


def report(output: Path) -> None:
    holes = Drillholes(*TABLES.values(), Path("assay.csv"))
    geodomain.report_file(
        "labelled.csv", output, domains="domains.toml", record="run.json", holes=holes,
        overwrite=True,
    )  # fmt: skip


READ = {
    flag: ("ore.ply", "domains.toml", "collar.csv", "survey.csv", "assay.csv"),
    composite: ("ore.ply", "domains.toml", "collar.csv", "survey.csv", "assay.csv"),
    cross: ("ore.ply", "domains.toml", "ground.ply", "collar.csv", "survey.csv", "assay.csv"),
    pierce: ("ore.ply", "domains.toml", "ground.ply", "collar.csv", "survey.csv", "assay.csv"),
    report: ("ore.ply", "domains.toml", "run.json", "labelled.csv", "collar.csv", "survey.csv",
             "assay.csv"),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:1 pierce point is not written:geodomain.GeodomainWarning")
@pytest.mark.parametrize(
    ("write", "name"), [(write, name) for write, names in READ.items() for name in names]
)
def test_an_input_is_not_replaced(write: Callable[[Path], None], name: str, folder: Path) -> None:
    before = Path(name).read_bytes()
    with pytest.raises(
        TableError, match=f"{name} is the input|{name}: .* use the extension .(csv|html)"
    ):
        write(Path(name))
    assert Path(name).read_bytes() == before
    Path("other.out").write_text("old")
    write(Path("other.out"))
    assert Path("other.out").read_text() != "old"


def test_a_path_of_any_kind_is_an_input(folder: Path) -> None:
    class Place:
        def __fspath__(self) -> str:
            return "collar.csv"

    with pytest.raises(TableError, match="is the input"):
        geodomain.composite_file(
            "assay.csv", {"ORE": ORE}, "collar.csv", collar=Place(), survey="survey.csv",
            length=5, overwrite=True,
        )  # fmt: skip


@pytest.mark.parametrize("other", ["out.csv", "./out.csv", "-"])
def test_two_tables_need_two_files(other: str, folder: Path) -> None:
    given = {"surfaces": {"TOPO": GROUND}, "solids": {"ORE": ORE}, "overwrite": True}
    one = "out.csv" if other != "-" else "-"
    said = "out.csv is given for two outputs" if other != "-" else "both go to stdout"
    with pytest.raises(TableError, match=said):
        geodomain.crossings_file(**TABLES, **given, output=one, pierce=other)
    assert not Path("out.csv").exists()


def test_two_names_that_differ_in_case_are_one_file(folder: Path) -> None:
    """Where disks mind no case, the second table would take the place of the first."""
    given = {"surfaces": {"TOPO": GROUND}, "solids": {"ORE": ORE}, "overwrite": True}
    with pytest.raises(TableError, match=r"out\.csv and OUT\.csv are the same file on disks"):
        geodomain.crossings_file(**TABLES, **given, output="out.csv", pierce="OUT.csv")
    assert not Path("out.csv").exists()
