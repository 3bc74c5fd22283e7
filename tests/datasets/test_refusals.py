"""What `label_dataset` refuses, in one sentence, before it writes anything."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from datasets_of_blocks import HALO, all_parts, domains, folder, rows_of, write_csv, write_parquet
from late import pandas

import geodomain
from geodomain import DomainError, GeodomainError, TableError, label_dataset
from geodomain.cli import main

__all__ = ["folder"]
pytestmark = pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")


@pytest.mark.parametrize(
    ("dataset", "output", "said"),
    [
        ("blocks", "blocks/out", "out is inside the dataset's folder blocks"),
        ("blocks", "blocks", "blocks is the dataset's folder blocks"),
        ("blocks/*/*.csv", "blocks/out", "is inside the dataset's folder"),
        ("blocks/zone=A/*.csv", "blocks", "holds the dataset's folder"),
        ("blocks/zone=A", "blocks/zone=A/../zone=A/x", "is inside the dataset's folder"),
        ("blocks", "blocks/zone=A/1.csv", "is a file, but a labelled dataset is a folder"),
        ("blocks", "-", "a labelled dataset is a folder of files"),
        ("blocks/*.parquet", "out", "has no Parquet or CSV files"),
    ],
)
def test_places_that_cannot_be(folder: Path, dataset: str, output: str, said: str) -> None:
    write_csv("blocks", all_parts())
    before = sorted(folder.rglob("*"))
    with pytest.raises(TableError, match=said):
        label_dataset(dataset, domains(), output)
    assert sorted(folder.rglob("*")) == before


def test_a_folder_below_that_the_pattern_does_not_name_is_an_output(folder: Path) -> None:
    write_csv(".", {"a.csv": all_parts()["zone=A/1.csv"], "b.csv": all_parts()["zone=A/2.csv"]})
    for _ in range(2):
        summary = label_dataset("*.csv", domains(), "labelled")
        assert summary.rows == len(rows_of("labelled", ".csv"))


def test_an_output_by_a_link_is_inside(folder: Path) -> None:
    write_csv("blocks", all_parts())
    Path("link").symlink_to("blocks", target_is_directory=True)
    with pytest.raises(TableError, match="is inside"):
        label_dataset("blocks", domains(), "link/out")


def unlike(how: str) -> None:
    """Write a dataset whose second part differs."""
    part = all_parts()["zone=A/1.csv"]
    write_parquet("blocks", {"a.csv": part, "c.csv": part})
    if how == "type":
        write_parquet("blocks", {"b.csv": part.astype({"DX": "float32"})})
    elif how == "more":
        write_parquet("blocks", {"b.csv": part.assign(AU=1.0)})
    elif how == "less":
        write_parquet("blocks", {"b.csv": part.drop(columns="ROCK")})
    elif how == "order":
        write_parquet("blocks", {"b.csv": part[["Y", "X", *part.columns[2:]]]})
    elif how == "kind":
        write_csv("blocks", {"b.csv": part})
    elif how == "damaged":
        Path("blocks/b.parquet").write_bytes(Path("blocks/a.parquet").read_bytes()[:-9])
    elif how == "other":
        Path("blocks/b.pdf").write_bytes(b"%PDF-1.7")


SAID = {
    "type": "b.parquet has 'DX: float' as column 4, not 'DX: double', unlike a.parquet",
    "more": "b.parquet has 'AU: double' as column 8, unlike a.parquet",
    "less": "b.parquet has no column 'ROCK: ",
    "order": "b.parquet has 'Y: double' as column 1, not 'X: double'",
    "kind": "b.csv is text, unlike a.parquet",
    "damaged": "b.parquet cannot be read as Parquet",
    "other": "b.pdf in blocks does not have the extension of a Parquet or CSV file",
}


@pytest.mark.parametrize("how", SAID)
def test_a_part_that_differs_is_named(folder: Path, how: str) -> None:
    unlike(how)
    with pytest.raises(TableError) as raised:
        label_dataset("blocks", domains(), "out")
    assert SAID[how] in str(raised.value)
    assert not Path("out").exists()


def test_a_part_with_its_coordinates_elsewhere_is_named(folder: Path) -> None:
    local = ",XMORIG,YMORIG,ZMORIG,X0,Y0,Z0,ANGLE1,ROTAXIS1"
    head = "XC,YC,ZC,XINC,YINC,ZINC" + local
    Path("blocks").mkdir()
    for name, angle in {"a": 0, "b": 30}.items():
        row = f"5,5,5,2,2,2,0,0,0,0,0,0,{angle},3"
        Path(f"blocks/{name}.csv").write_text(f"{head}\n{row}\n")
    with pytest.raises(TableError, match=r"b\.csv has another position or rotation"):
        label_dataset("blocks", {"HALO": HALO}, "out")


def test_bad_rows_name_the_part_and_leave_the_others(folder: Path) -> None:
    write_csv("blocks", all_parts())
    bad = Path("blocks/zone=B/1.csv")
    bad.write_text(bad.read_text() + "1,2\n")
    with pytest.raises(GeodomainError, match=r"zone=B/1\.csv"):
        label_dataset("blocks", domains(), "out")
    done = [path.relative_to("out").as_posix() for path in Path("out").glob("zone*/*")]
    assert sorted(done) == [name for name in sorted(all_parts()) if name < "zone=B"]
    write_csv("blocks", {"zone=B/1.csv": all_parts()["zone=B/1.csv"]})
    assert label_dataset("blocks", domains(), "out").rows == len(rows_of("out", ".csv"))


def test_a_column_of_the_folders_is_not_written_again(folder: Path) -> None:
    write_csv("blocks", all_parts())
    with pytest.raises(TableError, match="'zone' is the name of a folder's column in zone=A/1"):
        label_dataset("blocks", domains(), "out", column="zone")


def test_no_domain_near_the_blocks(folder: Path) -> None:
    write_csv(
        "blocks",
        {
            name: part + 1e6
            for name, part in {"a.csv": all_parts()["zone=A/1.csv"][["X", "Y", "Z"]]}.items()
        },
    )
    with pytest.raises(TableError, match="no solid meets the block model: the blocks of blocks"):
        label_dataset("blocks", {"HALO": HALO}, "out")
    summary = label_dataset("blocks", {"HALO": HALO}, "out", allow_disjoint=True)
    assert summary.notes[0] == "1 of 1 part was labelled by an earlier run"


def test_contradictions_are_a_callers_slip(folder: Path) -> None:
    write_csv("blocks", all_parts())
    with pytest.raises(ValueError, match="leaky= needs allow_open=True"):
        label_dataset("blocks", domains(), "out", leaky="HOLE")
    with pytest.raises(TypeError, match="there is no keyword 'samples'"):
        label_dataset("blocks", domains(), "out", samples=True)


def run(*arguments: str, code: int = 0) -> Result:
    """Run `geodomain label`."""
    result = CliRunner().invoke(main, ["label", *arguments, "--solid", "HALO=halo.ply"])
    assert result.exit_code == code, result.output
    return result


def test_the_command_takes_a_folder_and_a_pattern(folder: Path) -> None:
    geodomain.write_mesh(HALO, "halo.ply")
    write_csv("blocks", all_parts())
    label_dataset("blocks", {"HALO": HALO}, "library")
    run("blocks", "-o", "out", "--record", "run.json")
    assert rows_of("out", ".csv") == rows_of("library", ".csv")
    assert '"parts"' in Path("run.json").read_text()
    assert "6 of 6 parts were labelled" in run("blocks", "-o", "out").stderr
    said = json.loads(run("blocks/zone=B/*.csv", "--dry-run", "--json").stdout)
    assert said["rows"] == len(all_parts()["zone=B/1.csv"]) + len(all_parts()["zone=B/2.csv"])


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--in-place"], 2, "--in-place works only for single files"),
        (["-o", "out", "--report", "r.html"], 2, "--report works only for a single labelled file"),
        (["-o", "out", "--background", "X"], 3, "remove these parts with --overwrite"),
        (["-o", "out", "--proportions"], 2, "work only for single files"),
        (["-o", "out", "--by", "majority"], 2, "work only for single files"),
        (["-o", "out", "--scheduler", "local:x"], 2, "give 'local:4' for four processes"),
        (["--dry-run", "--scheduler", "local:2"], 2, "--scheduler lets workers write the files"),
        (["-o", "blocks/out"], 3, "choose a folder outside the dataset"),
        (["-o", "nowhere/out"], 4, "the folder does not exist"),
    ],
)
def test_what_the_command_refuses(folder: Path, options: list[str], code: int, said: str) -> None:
    geodomain.write_mesh(HALO, "halo.ply")
    write_csv("blocks", all_parts())
    run("blocks", "-o", "out")
    assert said in run("blocks", *options, code=code).stderr


def test_domains_that_ask_for_shares_are_refused(folder: Path) -> None:
    write_csv("blocks", all_parts())
    halo = geodomain.Domain("HALO", HALO)
    for asked in ({"by": "majority"}, {"proportions": "itself"}):
        with pytest.raises(DomainError, match="only for single files"):
            label_dataset("blocks", geodomain.Domains((halo,), **asked), "out")
        assert not Path("out").exists()


def test_a_file_with_a_wildcard_in_its_name_is_a_file(folder: Path) -> None:
    geodomain.write_mesh(HALO, "halo.ply")
    all_parts()["zone=B/1.csv"].to_csv("blocks[1].csv", index=False)
    run("blocks[1].csv", "-o", "out.csv")
    assert len(pandas.read_csv("out.csv")) == len(all_parts()["zone=B/1.csv"])


def test_a_record_inside_the_output_is_refused(folder: Path) -> None:
    write_csv("blocks", all_parts())
    label_dataset("blocks", domains(), "out")
    part = next(Path("out").rglob("*.csv"))
    before = part.read_bytes()
    for place in (part.with_suffix(".json"), Path("out/run.json"), Path("out/_geodomain/job.json")):
        with pytest.raises(TableError, match="would be inside the output out"):
            label_dataset("blocks", domains(), "out", record=place, overwrite=True)
    assert part.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders")
def test_a_pipe_among_the_parts_is_refused(folder: Path) -> None:
    write_csv("blocks", all_parts())
    os.mkfifo("blocks/pipe.csv")
    with pytest.raises(TableError, match=r"pipe\.csv is not a regular file"):
        label_dataset("blocks", domains(), "out")
