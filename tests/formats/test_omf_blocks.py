"""Block models of OMF 1 and 2: centres by hand, labels in the same version, the rest as it was."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import omf_models
import pytest
from click.testing import CliRunner
from late import needs
from omf_models import MAKERS, STRAIGHT, TURNED, in_file_order, read
from shapes import cube
from wireframes import box

import geodomain
from geodomain import Mesh, TableError, inspect_file, label_file
from geodomain.cli import main

pytestmark = needs("pyarrow")

# A cube about the centres of the cells (0, 0) and (1, 0), of both layers, and no other.
ORE = {"ORE é": cube(12, at=(1004.0, 1999.0, -50.5))}


@pytest.mark.parametrize("axes", [STRAIGHT, TURNED])
@pytest.mark.parametrize("version", [1, 2])
def test_centres_and_values_are_where_the_version_has_them(tmp_path, version, axes):
    path = tmp_path / "named.dat"  # the content decides
    path.write_bytes(MAKERS[version](axes=axes, project=(1.0, 2.0, 3.0)))
    centres, sizes, values = read(path)
    wanted = omf_models.centres(axes, (1.0, 2.0, 3.0))
    np.testing.assert_allclose(centres, in_file_order(wanted, version), rtol=1e-15)
    assert values["AU"] == in_file_order(omf_models.numbers(), version).tolist()
    assert sizes.prod(axis=1).sum() == 50 * 25 * 10
    expected = ["", "GRANITE", "Ovb é"] if version == 1 else ["GRANITE", "Ovb é", None]
    assert values["ROCK"][:3] == expected


@pytest.mark.parametrize("version", [1, 2])
def test_labels_are_a_category_in_the_same_version(tmp_path, version):
    path, out = tmp_path / "a.omf", tmp_path / "b.omf"
    path.write_bytes(MAKERS[version]())
    summary = label_file(path, ORE, out, flags=True)
    assert "ORE é 4" in repr(summary) and out.read_bytes()[:4] == path.read_bytes()[:4]
    before, after = read(path), read(out)
    np.testing.assert_array_equal(after[0], before[0])
    assert {name: after[2][name] for name in before[2]} == before[2]
    labels = np.full(omf_models.SHAPE, "", dtype=object)
    labels[:2, 0] = "ORE é"
    found = [label or "" for label in after[2]["domain"]]
    assert found == in_file_order(labels, version).tolist()
    assert after[2]["in_ore é"] == [int(label != "") for label in found]
    again = label_file(out, ORE, tmp_path / "c.omf", replace=True, background="W")
    assert again.rows == 24
    assert set(read(tmp_path / "c.omf")[2]["domain"]) == {"ORE é", "W"}
    label_file(out, ORE, out, overwrite=True, column="second")
    assert read(out)[2]["second"] == after[2]["domain"]


def test_version_1_keeps_every_array_and_object(tmp_path):
    data = omf_models.omf1()
    (tmp_path / "a.omf").write_bytes(data)
    label_file(tmp_path / "a.omf", ORE, tmp_path / "b.omf")
    start = int.from_bytes(data[52:60], "little")
    after = (tmp_path / "b.omf").read_bytes()
    assert after[60:start] == data[60:start] and after[:52] == data[:52]
    old, new = json.loads(data[start:]), json.loads(after[int.from_bytes(after[52:60], "little") :])
    changed = [name for name in old if old[name] != new[name]]
    assert [old[name]["__class__"] for name in changed] == ["VolumeElement"]
    assert sorted(new[name]["__class__"] for name in new.keys() - old.keys()) == [
        "Legend",
        "MappedData",
        "ScalarArray",
        "StringArray",
    ]


def test_version_2_keeps_every_member_and_the_index(tmp_path):
    (tmp_path / "a.omf").write_bytes(omf_models.omf2())
    label_file(tmp_path / "a.omf", ORE, tmp_path / "b.omf")
    with zipfile.ZipFile(tmp_path / "a.omf") as a, zipfile.ZipFile(tmp_path / "b.omf") as b:
        assert b.comment == a.comment and b.namelist()[-1] == "index.json.gz"
        assert all(info.compress_type == zipfile.ZIP_STORED for info in b.infolist())
        kept = [name for name in a.namelist() if name != "index.json.gz"]
        assert b.namelist()[: len(kept)] == kept
        assert all(a.read(name) == b.read(name) for name in kept)
        old, new = (json.loads(gzip.decompress(z.read("index.json.gz"))) for z in (a, b))
    attributes = new["elements"][0]["geometry"]["elements"][0]["attributes"]
    added = attributes.pop()
    assert new == old and added["data"]["type"] == "Category" and added["name"] == "domain"


@pytest.mark.parametrize("kind", ["Regular", "Freeform"])
def test_sub_blocks_are_the_blocks(tmp_path, kind):
    path = tmp_path / "a.omf"
    path.write_bytes(omf_models.omf2(sub=kind))
    centres, sizes, values = read(path)
    np.testing.assert_allclose(centres, omf_models.sub_centres(), rtol=1e-14)
    np.testing.assert_allclose(sizes, [[5, 10, 4], [5, 10, 1], [2.5, 2.5, 1.5]], rtol=1e-14)
    parents = omf_models.numbers()[[0, 0, 3], [0, 0, 2], [0, 0, 1]]
    assert values == {
        "CU": [0.5, 1.5, 2.5],
        "AU": parents.tolist(),
        "ROCK": ["GRANITE", "GRANITE", None],
    }
    label_file(path, {"ORE": box((1000, 2000, -50), (1005, 2010, -46))}, tmp_path / "b.omf")
    assert read(tmp_path / "b.omf")[2]["domain"] == ["ORE", None, None]
    found = inspect_file(path)
    assert found.rows == 3 and found.columns == ("CU", "AU", "ROCK")


def test_a_regular_grid_of_version_2(tmp_path):
    grid = {"type": "Regular", "size": [2.0, 3.0, 4.0], "count": [4, 3, 2]}
    (tmp_path / "a.omf").write_bytes(omf_models.omf2(**grid))
    centres, sizes, _ = read(tmp_path / "a.omf")
    assert centres[[0, 1, 4, 12]].tolist() == [
        [1001.0, 2001.5, -48.0],
        [1003.0, 2001.5, -48.0],
        [1001.0, 2004.5, -48.0],
        [1001.0, 2001.5, -44.0],
    ]
    assert (sizes == [2.0, 3.0, 4.0]).all()


def test_one_model_of_several(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.omf").write_bytes(omf_models.omf1(names=("North", "South")))
    with pytest.raises(TableError, match=r"holds 2 block models: choose one of 'North'"):
        inspect_file("a.omf")
    with pytest.raises(TableError, match="no block model with the name 'West'"):
        inspect_file("a.omf:West")
    label_file("a.omf:South", ORE, "b.omf")
    assert "domain" not in read("b.omf:North")[2] and "domain" in read("b.omf:South")[2]
    geodomain.write_mesh(*ORE.values(), "ore.ply")
    arguments = ["label", "b.omf:North", "--solid", "ORE=ore.ply", "--in-place"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert read("b.omf:North")[2]["domain"].count("ORE") == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.omf", "b.omf", "ore.ply"]


@pytest.mark.parametrize("version", [1, 2])
def test_conditions_keep_and_codes(tmp_path, version):
    path = tmp_path / "a.omf"
    path.write_bytes(MAKERS[version]())
    geodomain.write_mesh(cube(900, at=(900.0, 1900.0, -90.0)), tmp_path / "all.ply")
    (tmp_path / "d.toml").write_text(
        '[[domain]]\nname = "G"\ncode = 7\nmesh = "all.ply"\n'
        'only_if = { ROCK = "GRANITE", AU = { ">=" = 1 } }\n'
    )
    label_file(path, tmp_path / "d.toml", tmp_path / "b.omf", codes=True)
    values = read(tmp_path / "b.omf")[2]
    wanted = [
        rock == "GRANITE" and grade >= 1
        for rock, grade in zip(values["ROCK"], values["AU"], strict=True)
    ]
    assert 0 < sum(wanted) < 24
    assert [value == 7 for value in values["domain"]] == wanted
    with pytest.raises(TableError, match="so x= does not apply"):
        inspect_file(path, x="AU")
    with pytest.raises(TableError, match=r"give .* the extension .omf"):
        label_file(path, tmp_path / "d.toml", tmp_path / "b.csv")


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("first", [5e9, 1.25, 2.0**60])
@pytest.mark.parametrize("version", [1, 2])
def test_numbers_that_are_kept_stay_as_they_are(tmp_path, monkeypatch, version, first):
    grades = omf_models.numbers()
    monkeypatch.setattr(omf_models, "numbers", lambda: grades + first)
    path = tmp_path / "a.omf"
    path.write_bytes(MAKERS[version]())
    domain = geodomain.Domain("A", cube(900, at=(900.0, 1900.0, -90.0)), code=1, keep=True)
    label_file(path, domain, tmp_path / "b.omf", column="AU", codes=True, replace=True)
    old, new = read(path)[2]["AU"], read(tmp_path / "b.omf")[2]["AU"]
    assert min(old) >= first
    assert new == old


HUGE = [1.0] * 3000
REGULAR = {"type": "Regular", "size": [1.0, 1.0, 1.0]}


def orphans() -> np.ndarray:
    """Return sub-blocks of which one names a parent that is not there."""
    rows = omf_models.SUB_BLOCKS.copy()
    rows[1, 0] = 4
    return rows


BAD_FILES = {
    "1, cut in its head": lambda: omf_models.omf1()[:40],
    "1, cut in its index": lambda: omf_models.omf1()[:-9],
    "1, an index beyond its end": lambda: (
        omf_models.omf1()[:52] + b"\xff" * 8 + omf_models.omf1()[60:]
    ),
    "1, cells without end": lambda: omf_models.omf1(tensor_u=HUGE, tensor_v=HUGE, tensor_w=HUGE),
    "1, a size that is no number": lambda: omf_models.omf1(tensor_u=[1.0, float("nan"), 1.0, 1.0]),
    "1, a size below zero": lambda: omf_models.omf1(tensor_u=[1.0, -1.0, 1.0, 1.0]),
    "1, an origin that is no number": lambda: omf_models.omf1(origin=[float("nan"), 0, 0]),
    "1, an axis too few": lambda: omf_models.omf1(axis_u=[1.0, 0.0]),
    "2, cut in half": lambda: omf_models.omf2()[: len(omf_models.omf2()) // 2],
    "2, cut at its end": lambda: omf_models.omf2()[:-40],
    "2, cells without end": lambda: omf_models.omf2(**REGULAR, count=[100000, 100000, 100000]),
    "2, a count below zero": lambda: omf_models.omf2(**REGULAR, count=[-1, 3, 2]),
    "2, an endless axis": lambda: omf_models.omf2(**REGULAR, count=[10**12, 1, 1]),
    "2, a parent that is not there": lambda: omf_models.omf2(sub="Regular", rows=orphans()),
    "2, an axis that is no number": lambda: omf_models.omf2(
        axes=((float("nan"), 0, 0), *STRAIGHT[1:])
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, case):
    (tmp_path / "a.omf").write_bytes(BAD_FILES[case]())
    result = CliRunner().invoke(main, ["inspect", str(tmp_path / "a.omf")])
    assert result.exit_code == 3, result.output
    (error,) = [line for line in result.output.splitlines() if line.startswith("error: ")]
    assert "a.omf" in error and len(error) < 300


@pytest.mark.parametrize("version", [1, 2])
def test_values_that_are_not_those_of_the_cells(tmp_path, version):
    """What is asked for is checked: an array of another length, by its first use."""
    if version == 1:
        data = omf_models.omf1(tensor_w=[1.0, 2.0, 3.0])
    else:
        data = omf_models.omf2(type="Regular", size=[1.0, 1.0, 1.0], count=[5, 3, 2])
    (tmp_path / "a.omf").write_bytes(data)
    with pytest.raises(TableError, match=r"a\.omf is damaged"):
        label_file(tmp_path / "a.omf", ORE, None, replace=True, column="AU", allow_disjoint=True)
        read(tmp_path / "a.omf")


def test_models_that_others_wrote(shared_data):
    path = shared_data / "formats/omf/rotated_block_model_ijk.omf"
    _, _, values = read(path)
    i, j, k, index = (np.array(values[name]) for name in ("i", "j", "k", "index"))
    np.testing.assert_array_equal(index, i + 4 * j + 12 * k)
    pandas = pytest.importorskip("pandas")
    centres, sizes, labels = read(shared_data / "bunny/bunny_blocks.omf")
    table = pandas.read_csv(shared_data / "bunny/bunny_blocks.csv")
    assert np.abs(table[["X", "Y", "Z"]].to_numpy() - centres).max() < 1e-12
    np.testing.assert_array_equal(table[["dX", "dY", "dZ"]].to_numpy(), sizes)
    assert labels["Bunny"].count("Body") == 1774


# --- Threads of Arrow, which may abort a process that ends soon after.


# A few numbers to each thread are enough: Arrow starts them for the columns of a file.
PROGRAM = """
import os, sys
import pyarrow.parquet
import geodomain
before = set(os.listdir("/proc/self/task"))
geodomain.read_mesh(sys.argv[1])
print(len(set(os.listdir("/proc/self/task")) - before))
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="this system lists no threads")
def test_no_thread_is_started(tmp_path: Path) -> None:
    corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    place = tmp_path / "a.omf"
    geodomain.write_mesh(Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]), place)
    command = [sys.executable, "-c", PROGRAM, str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
