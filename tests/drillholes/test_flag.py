"""Flagging of intervals: by middle, by majority, split at walls, and the text that stays."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from flagged_holes import ASSAY, COLLAR, ORE, folder, warned_of
from hypothesis import given
from hypothesis import strategies as st
from late import pa, pd, polars
from wireframes import box

import geodomain
from geodomain import Domain, Domains, Drillholes, Mesh, TableError, flag_file
from geodomain.cli import main
from geodomain.drillholes.flagging import Parts, make_cuts

__all__ = ["folder"]


def flagged(assay: str | bytes = ASSAY, domains=ORE, **options) -> list[str]:
    """Flag a table, and return its lines."""
    given = assay if isinstance(assay, bytes) else assay.encode()
    Path("assay.csv").write_bytes(given)
    flag_file("assay.csv", domains, "out.csv", collar="collar.csv", survey="survey.csv",
              overwrite=True, **options)  # fmt: skip
    return Path("out.csv").read_bytes().decode().splitlines()


def test_by_middle_is_the_default(folder: Path, backend: str) -> None:
    lines = flagged(background="W", backend=backend)
    assert lines == [
        "BHID,FROM,TO,AU,NOTE,domain",
        "A,0.00,8.00,1.50,,W",
        'A,8.00,14.5,2.70,"a, b",ORE',
        "A,14.5,21.20,0.10,x,ORE",
        "B,0,10,.5,,W",
    ]


def test_by_majority(folder: Path) -> None:
    assay = "BHID,FROM,TO\nA,8,13.9\nA,7,13\nA,7,12.9\nA,19,21\nA,5,25\n"
    labels = [line.rpartition(",")[2] for line in flagged(assay, by="majority", background="W")]
    # A tie goes to the domain that comes first, and the background comes last.
    assert labels[1:] == ["ORE", "ORE", "W", "ORE", "ORE"]


def test_split_keeps_text_and_cuts_from_and_to(folder: Path) -> None:
    lines = flagged(by="split", background="W")
    assert lines == [
        "BHID,FROM,TO,AU,NOTE,domain",
        "A,0.00,8.00,1.50,,W",
        'A,8.00,10,2.70,"a, b",W',
        'A,10,14.5,2.70,"a, b",ORE',
        "A,14.5,20,0.10,x,ORE",
        "A,20,21.20,0.10,x,W",
        "B,0,10,.5,,W",
    ]


def test_split_in_other_dialects(folder: Path) -> None:
    assay = b'\xef\xbb\xbfTO;"BHID";FROM\r\n"21,50";A;"9,25"\r\n\r\n10;B;0'
    Path("survey.csv").write_text("BHID;AT;BRG;DIP\nA;0;0;90\nB;0;0;90\n")
    Path("collar.csv").write_text(COLLAR.replace(",", ";"))
    flagged(assay, by="split")
    assert Path("out.csv").read_bytes() == (
        b'\xef\xbb\xbfTO;"BHID";FROM;domain\r\n"10";A;"9,25";\r\n"20";A;"10";ORE\r\n'
        b'"21,50";A;"20";\r\n\r\n10;B;0;'
    )


def test_an_interval_may_be_cut_by_several_solids(folder: Path) -> None:
    domains = {"T": box((0, 0, 17), (10, 10, 20)), "L": box((0, 0, 10), (10, 10, 17))}
    lines = flagged("BHID,FROM,TO,V\nA,0,40,7\n", domains, by="split")
    assert lines[1:] == ["A,0,10,7,", "A,10,13,7,T", "A,13,20,7,L", "A,20,40,7,"]


def test_slivers_are_counted_and_not_split_off(folder: Path) -> None:
    assay = "BHID,FROM,TO\nA,9.9995,15\nA,15,20.4\nA,0,20.0004\n"
    lines = flagged(assay, by="split")
    assert lines[1:] == ["A,9.9995,15,ORE", "A,15,20,ORE", "A,20,20.4,", "A,0,10,",
                         "A,10,20.0004,ORE"]  # fmt: skip
    lines = flagged(assay, by="split", min_length=0.5)
    assert lines[1:] == ["A,9.9995,15,ORE", "A,15,20.4,ORE", "A,0,10,", "A,10,20.0004,ORE"]
    found = flag_file("assay.csv", ORE, None, collar="collar.csv", survey="survey.csv", by="split",
                      min_length=0.5)  # fmt: skip
    assert (found.cut, found.slivers) == (1, 3)
    assert "split at walls: 1 interval; 3 slivers not split off" in str(found)


def test_cuts_have_the_digits_of_the_shortest_length(folder: Path) -> None:
    domains = {"ORE": box((0, 0, 10), (10, 10, 30 - 1 / 3))}
    assert flagged("BHID,FROM,TO\nA,0,5\n", domains, by="split")[1] == "A,0,0.333,"
    line = flagged("BHID,FROM,TO\nA,0,5\n", domains, by="split", min_length=1e-6)[1]
    assert line == "A,0,0.333333,"


lengths = st.lists(st.integers(1, 4000), min_size=1, max_size=12)


@given(lengths, st.lists(st.integers(0, 2), min_size=12, max_size=12), st.integers(0, 900))
def test_lengths_add_up_exactly(steps: list[int], labels: list[int], least: int) -> None:
    """Whatever the cuts, pieces lie end to end, and none but a whole one is a sliver."""
    depths = np.cumsum([123, *steps]) / 1000 + 1e-5
    parts = Parts(
        np.zeros(len(steps), np.intp), depths[:-1], depths[1:], np.array(labels[: len(steps)])
    )
    ends = [np.array([Decimal(repr(float(depth)))], object) for depth in (depths[0], depths[-1])]
    whole, shortest = np.array([9]), Decimal(least) / 1000
    cuts = make_cuts(1, parts, whole, ends, shortest)
    pieces = len(cuts.rows)
    begins = [cuts.begins.get(piece, ends[0][0]) for piece in range(pieces)]
    stops = [cuts.ends.get(piece, ends[1][0]) for piece in range(pieces)]
    assert begins[1:] == stops[:-1]
    assert (
        sum(high - low for low, high in zip(begins, stops, strict=True)) == ends[1][0] - ends[0][0]
    )
    if pieces > 1:
        assert all(high - low >= max(shortest, Decimal("1e-9"))
                   for low, high in zip(begins, stops, strict=True))  # fmt: skip
        assert (np.diff(cuts.codes) != 0).all()


@warned_of("interval-below", "interval-no-collar", "interval-no-depth", "interval-reversed")
def test_rows_without_a_place_are_unassigned_and_counted(folder: Path) -> None:
    assay = "BHID,FROM,TO\nA,11,12\nX,11,12\nA,12,12\nA,13,12\nA,,12\nA,41,42\nA,39,41\n"
    found = []
    for by in ("middle", "majority", "split"):
        lines = flagged(assay, by=by, background="W", unassigned="?")
        found.append([line.rpartition(",")[2] for line in lines[1:]])
    assert found[0] == found[1] == found[2] == ["ORE", "?", "?", "?", "?", "?", "W"]
    summary = flag_file("assay.csv", ORE, None, collar="collar.csv", survey="survey.csv")
    assert summary.unusable == 5
    lengths = {part.name: (part.samples, part.length) for part in summary.parts}
    assert lengths["unassigned"] == (5, 2.0)  # of the first without a hole, and the one too deep
    (said,) = (each for each in summary.warnings if "interval-below" in each)
    assert said.startswith("1 interval below the end of its hole (line 7) [interval-below]. ")
    with pytest.raises(TableError, match="1 interval of a hole without a collar"):
        flagged(assay, strict=True)


def test_the_summary_has_samples_and_lengths(folder: Path) -> None:
    flagged()
    found = flag_file("assay.csv", ORE, None, collar="collar.csv", survey="survey.csv", by="split")
    parts = {part.name: (part.samples, part.length) for part in found.parts}
    assert parts["ORE"] == (2, 10) and parts["background"][1] == pytest.approx(21.2)
    assert repr(found) == "<FlagSummary of 4 intervals: ORE 2, background 4>"
    assert "<td" in found._repr_html_() and found.as_dict()["by"] == "split"


def test_coordinates_of_the_middle(folder: Path) -> None:
    lines = flagged(coordinates=True)
    assert lines[0].endswith(",domain,x,y,z") and lines[2].endswith(",ORE,5,5,18.75")
    lines = flagged(coordinates=True, by="split")
    assert lines[2].endswith(",,5,5,21") and lines[3].endswith(",ORE,5,5,17.75")


def test_codes_and_conditions(folder: Path) -> None:
    rich = Domain("RICH", ORE["ORE"], only_if={"AU": {">=": 2}}, code=2)
    domains = Domains((rich, Domain("ORE", ORE["ORE"], code=1)), background_code=0)
    lines = flagged(domains=domains, by="split", codes=True)
    assert [line.rpartition(",")[2] for line in lines[1:]] == ["0", "0", "2", "1", "0", "0"]


def test_surfaces_and_their_rims(folder: Path) -> None:
    """A hole leaves the footprint of a surface at its rim, where there is no triangle."""
    Path("survey.csv").write_text("BHID,AT,BRG,DIP\nA,0,90,0\nB,0,90,0\n")
    sheet = Mesh([[0, 0, 0], [20, 0, 0], [20, 20, 0], [0, 20, 0]], [[0, 1, 2], [0, 2, 3]])
    domains = [Domain("AIR", sheet, kind="above")]
    with pytest.warns(geodomain.GeodomainWarning, match=r"1 sample without a domain.* \(A at 0\)"):
        lines = flagged("BHID,FROM,TO\nA,0,30\n", domains, by="split", unassigned="?")
    assert lines[1:] == ["A,0,15,AIR", "A,15,30,?"]


def test_arcs_are_cut_where_they_cross(folder: Path) -> None:
    Path("survey.csv").write_text("BHID,AT,BRG,DIP\nA,0,90,90\nA,40,90,0\nB,0,0,90\n")
    lines = flagged("BHID,FROM,TO\nA,0,40\n", {"ORE": box((-99, -99, -99), (99, 99, 20))},
                    by="split", bend=(90, 40))  # fmt: skip
    radius = 40 / (np.pi / 2)
    assert lines[1] == f"A,0,{round(radius * np.arcsin(10 / radius), 3)},"


def test_a_domain_of_another_place_is_refused(folder: Path) -> None:
    far = {"ORE": box((1000, 0, 10), (1010, 10, 20))}
    with pytest.raises(TableError, match="no domain meets the drillholes"):
        flagged(domains=far)
    assert len(flagged(domains=far, allow_disjoint=True)) == 5


def test_nothing_is_written_over_what_is_read(folder: Path) -> None:
    for target in ("assay.csv", "collar.csv"):
        with pytest.raises(TableError, match="is the input"):
            flag_file("assay.csv", ORE, target, collar="collar.csv", survey="survey.csv",
                      overwrite=True)  # fmt: skip
    with pytest.raises(FileExistsError):
        Path("out.csv").write_text("mine")
        flag_file("assay.csv", ORE, "out.csv", collar="collar.csv", survey="survey.csv")
    with pytest.raises(TableError, match="already has a column 'AU'"):
        flagged(column="au")


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_frames(library: str, folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(ASSAY)))
    columns = {"BHID": [row["BHID"] for row in rows]}
    columns |= {name: [float(row[name]) for row in rows] for name in ("FROM", "TO", "AU")}
    frame = {"pandas": pd.DataFrame, "polars": polars.DataFrame, "arrow": pa.table}[library](
        columns
    )
    holes = Drillholes("collar.csv", "survey.csv")
    for by in ("middle", "majority"):
        found = geodomain.flag(frame, holes, ORE, by=by, background="W")
        assert list(found.to_pylist() if library == "arrow" else found) == ["W", "ORE", "ORE", "W"]
    cut = geodomain.flag(frame, holes, ORE, by="split", background="W")
    table = cut.to_pandas() if library != "pandas" else cut
    assert list(table.columns) == ["BHID", "FROM", "TO", "AU", "domain"]
    assert table["domain"].tolist() == ["W", "W", "ORE", "ORE", "W", "W"]
    assert table["FROM"].tolist() == [0, 8, 10, 14.5, 20, 0]
    assert table["AU"].tolist() == [1.5, 2.7, 2.7, 0.1, 0.1, 0.5]
    with pytest.raises(ValueError, match="by is 'half'"):
        geodomain.flag(frame, holes, ORE, by="half")


def run(*options: str, code: int = 0) -> Result:
    tables = ("--collar", "collar.csv", "--survey", "survey.csv")
    result = CliRunner().invoke(main, ["flag", "assay.csv", *tables, *options])
    assert result.exit_code == code, result.output
    return result


def test_the_command(folder: Path) -> None:
    result = run("--solid", "ORE=ore.ply", "--background", "W", "--split", "-o", "out.csv")
    assert Path("out.csv").read_text().splitlines() == flagged(by="split", background="W")
    assert "ORE" in result.stderr and "split at walls" in result.stderr
    result = run("--solid", "ORE=ore.ply", "--by", "majority", "-o", "-", "--quiet")
    assert result.stdout.splitlines()[2].endswith(",ORE")
    result = run("--solid", "ORE=ore.ply", "--dry-run", "--json")
    assert '"by": "middle"' in result.stdout


MISUSED = {
    ("--split", "--by", "middle", "-o", "o.csv"): "give one of them",
    ("--min-length", "1", "-o", "o.csv"): "needs --split",
    ("--flags", "-o", "o.csv"): "first flag the intervals with --coordinates, then",
    ("--replace-column", "AU", "-o", "o.csv"): "--replace-column is for points",
    (): "no output given",
}


@pytest.mark.parametrize("options", MISUSED, ids=" ".join)
def test_misuse(options: tuple[str, ...], folder: Path) -> None:
    assert MISUSED[options] in run("--solid", "ORE=ore.ply", *options, code=2).stderr


@pytest.mark.parametrize("option", ["--split", "--coordinates", "--vertical"])
def test_options_of_holes_need_holes(option: str, folder: Path) -> None:
    result = CliRunner().invoke(main, ["flag", "a.csv", "--solid", "O=o.ply", "-o", "b", option])
    assert result.exit_code == 2 and "needs --collar FILE" in result.stderr


@pytest.mark.filterwarnings("ignore:dom1.vtp has .* by parity:geodomain.GeodomainWarning")
def test_samples_of_demo1(shared_data: Path, tmp_path: Path) -> None:
    """By middle, 370 are in the wireframe: those with gold, and no others."""
    folder = shared_data / "demo1"
    survey = shared_data / "formats/drillholes/demo1_survey.csv"
    found = flag_file(folder / "assay.csv", {"ORE": folder / "dom1.vtp"}, tmp_path / "o.csv",
                      collar=folder / "collar.csv", survey=survey)  # fmt: skip
    assert found.parts[0].samples == 370
    before, after = ((path).read_bytes().splitlines()
                     for path in (folder / "assay.csv", tmp_path / "o.csv"))  # fmt: skip
    assert all(new.rpartition(b",")[0] == old for old, new in zip(before, after, strict=True))
