"""`label_dataset`: the labels and the summary are those of one file of all rows."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from datasets_of_blocks import (
    GROUND,
    HALO,
    all_parts,
    domains,
    folder,
    oracle,
    rows_of,
    write_csv,
    write_parquet,
)
from late import pandas, parquet, pyarrow
from wireframes import roofless

import geodomain
from geodomain import GeodomainWarning, label_dataset, label_file
from geodomain.labelling.evaluate import Shell

__all__ = ["folder"]
pytestmark = pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
TIMES = {"seconds", "rows_per_second", "output"}


def said(summary: geodomain.Summary) -> dict[str, object]:
    """Return a summary without what differs from run to run."""
    return {key: value for key, value in summary.as_dict().items() if key not in TIMES}


def test_text_is_labelled_as_one_file_of_all_rows(folder: Path) -> None:
    write_csv("blocks", all_parts())
    whole = pandas.concat(all_parts().values())
    whole.to_csv("whole.csv", index=False)
    one = label_file("whole.csv", domains(), "one.csv", flags=True)
    many = label_dataset("blocks", domains(), "out", flags=True)
    assert said(many) == said(one)
    labelled = [Path("out", name).read_text().splitlines() for name in sorted(all_parts())]
    head, *rows = Path("one.csv").read_text().splitlines()
    assert {lines[0] for lines in labelled} == {head}
    assert [row for lines in labelled for row in lines[1:]] == rows
    assert [row.split(",")[7] for row in rows] == oracle(whole)


def test_parquet_is_labelled_with_its_schema_and_folders(folder: Path) -> None:
    write_parquet("blocks", all_parts())
    whole = pandas.concat(all_parts().values())
    summary = label_dataset("blocks", domains(), "out")
    assert summary.rows == len(whole) and summary.output == "out"
    assert rows_of("out", ".parquet") == oracle(whole)
    for name in all_parts():
        before = parquet.read_table(Path("blocks", name).with_suffix(".parquet"), partitioning=None)
        after = parquet.read_table(Path("out", name).with_suffix(".parquet"), partitioning=None)
        assert after.drop_columns("domain") == before
        assert after.schema.field("domain").type == pyarrow.string()
    # What reads a folder sees the folders' columns, and none of what the output knows of its parts.
    read = parquet.read_table("out")
    assert {"domain", "zone"} <= set(read.schema.names) and len(read) == len(whole)


def test_everything_that_is_counted_is_that_of_one_file(folder: Path) -> None:
    """Leaks, folds, conditions that nothing meets, blocks without a size; the first of each."""
    sheets = [[*corner[:2], z] for z in (12.0, 14.0) for corner in GROUND.vertices]
    folded = geodomain.Mesh(sheets, [[0, 1, 2], [0, 2, 3], [4, 6, 5], [4, 7, 6]], name="folded")
    domains = [
        geodomain.Domain("NONE", HALO, only_if={"ROCK": "ZZ"}),
        geodomain.Domain("HALO", HALO),
        geodomain.Domain("OPEN", roofless()),
        geodomain.Domain("DEEP", folded, kind="below"),
    ]
    parts = {name: part.copy() for name, part in all_parts().items()}
    parts["zone=B/1.csv"].iloc[[3, 5], 4] = 0.0
    write_csv("blocks", parts)
    pandas.concat(parts.values()).to_csv("whole.csv", index=False)
    given = {"allow_open": True, "leaky": "HOLE", "count_on_wall": True, "flags": True}
    one = label_file("whole.csv", domains, "one.csv", **given)
    many = label_dataset("blocks", domains, "out", **given)
    assert said(many) == said(one)
    assert one.leaking.blocks and one.folded and one.overlaps
    for words in (
        "cannot decide",
        "no usable size",
        "crossed more than once",
        "no block meets",
    ):
        assert any(words in warning for warning in many.warnings)


def test_a_pattern_names_the_parts(folder: Path) -> None:
    write_csv("blocks", all_parts())
    summary = label_dataset("blocks/zone=A/*.csv", domains(), "out")
    wanted = sorted(name for name in all_parts() if name.startswith("zone=A"))
    assert sorted(path.name for path in Path("out").glob("*.csv")) == [n[7:] for n in wanted]
    assert summary.rows == sum(len(all_parts()[name]) for name in wanted)


def test_compressed_text_stays_compressed(folder: Path) -> None:
    Path("blocks").mkdir()
    Path("blocks/a.csv.gz").write_bytes(gzip.compress(b"X,Y,Z\n5,5,5\n"))
    label_dataset("blocks", {"ORE": HALO}, "out")
    text = gzip.decompress(Path("out/a.csv.gz").read_bytes())
    assert text == b"X,Y,Z,domain\n5,5,5,ORE\n"


def test_parts_far_from_all_solids_ask_no_geometry(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing coordinate is counted there, and what has no box still labels."""
    asked: list[int] = []
    ask = Shell.ask

    def spy(shell: Shell, scene: object) -> object:
        asked.append(len(scene.points))
        return ask(shell, scene)

    monkeypatch.setattr(Shell, "ask", spy)
    near = pandas.DataFrame({"X": [6.0, 7.0], "Y": [6.0, 7.0], "Z": [6.0, 7.0]})
    far = near + 1e5
    far.loc[1, "Y"] = np.nan
    write_parquet("blocks", {"a.csv": near, "b.csv": far})
    summary = label_dataset("blocks", {"HALO": HALO}, "out")
    assert asked == [2]
    assert (summary.domains[0].blocks, summary.background.blocks) == (2, 1)
    assert summary.unassigned.blocks == 1
    rest = [geodomain.Domain("REST", HALO, invert=True)]
    summary = label_dataset("blocks", rest, "out2", allow_disjoint=True)
    assert (summary.domains[0].blocks, summary.background.blocks) == (1, 2)
    assert rows_of("out2", ".parquet") == ["", "", "REST", ""]


def test_empty_parts_are_kept(folder: Path) -> None:
    empty = all_parts()["zone=A/1.csv"].iloc[:0]
    write_parquet("blocks", {"a.csv": empty, "b.csv": all_parts()["zone=A/1.csv"]})
    write_csv("text", {"a.csv": empty, "b.csv": all_parts()["zone=A/1.csv"]})
    for dataset, name in (("blocks", "a.parquet"), ("text", "a.csv")):
        summary = label_dataset(dataset, domains(), f"{dataset} out")
        assert summary.rows == len(all_parts()["zone=A/1.csv"])
        assert (Path(f"{dataset} out") / name).is_file()
    assert parquet.read_schema("blocks out/a.parquet") == parquet.read_schema(
        "blocks out/b.parquet"
    )
    assert Path("text out/a.csv").read_text().splitlines() == ["X,Y,Z,DX,DY,DZ,ROCK,domain"]


def test_a_dry_run_counts_and_writes_nothing(folder: Path) -> None:
    write_csv("blocks", all_parts())
    before = sorted(folder.rglob("*"))
    dry = label_dataset("blocks", domains(), None)
    assert sorted(folder.rglob("*")) == before
    assert said(dry) == said(label_dataset("blocks", domains(), "out"))


def test_centroids_that_repeat_in_another_part_are_found(folder: Path) -> None:
    part = all_parts()["zone=A/1.csv"].dropna()
    write_csv("blocks", {"a.csv": part, "b.csv": part})
    with pytest.warns(GeodomainWarning) as caught:
        label_dataset("blocks", domains(), "out")
    found = [str(one.message) for one in caught if "same centroid" in str(one.message)]
    assert len(found) == 1 and found[0].startswith(f"{len(part):,} blocks have")


@pytest.mark.full
def test_the_record_has_every_part(folder: Path) -> None:
    write_csv("blocks", all_parts())
    first = label_dataset("blocks", domains(), "out")
    label_dataset("blocks", domains(), "out", record="again.json")
    label_dataset("blocks", domains(), "new", record="first.json")
    again, new = (json.loads(Path(name).read_text()) for name in ("again.json", "first.json"))
    # Hashed on their way, or read again where an earlier run has labelled them: the same.
    assert again["parts"] == new["parts"]
    assert [one["part"] for one in new["parts"]] == sorted(all_parts())
    assert sum(one["rows"] for one in new["parts"]) == first.rows
    one = new["parts"][0]
    text = Path("new", one["part"]).read_bytes()
    assert (one["output"]["bytes"], one["output"]["sha256"]) == (len(text), sha256(text))
    assert new["output"] is None and new["dataset"] == "blocks"


def sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("names", [("a.csv", "b.csv", "c.csv"), ("c.csv", "a.csv", "b.csv")])
def test_the_progress_is_that_of_all_bytes(folder: Path, names: Sequence[str]) -> None:
    write_csv("blocks", {name: all_parts()["zone=A/1.csv"] for name in names})
    total = sum(path.stat().st_size for path in Path("blocks").iterdir())
    told: list[tuple[int, int | None]] = []
    label_dataset("blocks", domains(), "out", progress=lambda *now: told.append(now))
    assert {end for _, end in told} == {total}
    assert [now for now, _ in told] == sorted(now for now, _ in told)
    assert told[-1][0] == total
