"""Datamine block models: any precision and byte order, labels as a field, the rest as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from mining_files import datamine_table
from wireframes import box

from geodomain import GeodomainWarning, TableError, inspect_file, label_file, write_mesh
from geodomain.cli import main
from geodomain.formats.datamine import read_definition, read_table

FORMS = [(8, "<"), (8, ">"), (4, "<"), (4, ">")]
SHAPE = (7, 6, 5)
PROTOTYPE = {
    "XMORIG": 100.0, "YMORIG": 200.0, "ZMORIG": -50.0, "XINC": 10.0, "YINC": 10.0, "ZINC": 5.0,
    "NX": 7.0, "NY": 6.0, "NZ": 5.0, "DEPOSIT": "PIT",
}  # fmt: skip
# The cells with i < 2, j < 1: ten of them.
ORE = {"ORE_HIGH GRADE": box((100, 200, -50), (120, 210, -25))}


def fields() -> dict[str, list]:
    """Return 210 cells as Datamine counts them, k fastest, with a grade that lacks every fifth."""
    i, j, k = (axis.ravel() for axis in np.indices(SHAPE))
    grade = np.where((i + j + k) % 5 == 0, -1e30, i + j / 8)
    return {
        "XC": (105.0 + 10 * i).tolist(),
        "YC": (205.0 + 10 * j).tolist(),
        "ZC": (-47.5 + 5 * k).tolist(),
        "IJK": (k + 5.0 * (j + 6 * i)).tolist(),
        "AU": grade.tolist(),
        "ROCK": ["OX", "FRSH", ""] * 70,
    }


def wanted() -> np.ndarray:
    i, j, _ = (axis.ravel() for axis in np.indices(SHAPE))
    return np.where((i < 2) & (j < 1), "ORE_HIGH GRADE", "")


def columns(path: Path) -> dict[str, np.ndarray]:
    return read_table(path.read_bytes(), path.name).columns


def made(tmp_path: Path, told: dict, fixed: dict, width: int = 8, order: str = "<") -> Path:
    path = tmp_path / "a.dm"
    path.write_bytes(datamine_table(told, width, order, fixed))
    return path


@pytest.mark.parametrize(("width", "order"), FORMS)
def test_labels_are_a_field_and_all_other_fields_stay(tmp_path, width, order):
    path, out = made(tmp_path, fields(), PROTOTYPE, width, order), tmp_path / "b.dm"
    label_file(path, ORE, out, column="my domain", flags=True, background="")
    before, after = columns(path), columns(out)
    assert [*after] == [*before, "MY DOMAI", "IN_ORE_H"]
    np.testing.assert_array_equal(after["MY DOMAI"], wanted())
    np.testing.assert_array_equal(after["IN_ORE_H"], wanted() != "")
    for name, values in before.items():
        np.testing.assert_array_equal(after[name], values)
    old, new = (read_definition(one.read_bytes()) for one in (path, out))
    assert (new.width, new.order, new.count) == (width, order, 210)
    assert new.length == old.length + 4 + 1 and new.last_page > old.last_page > 2
    assert out.stat().st_size == new.last_page * new.page
    head = 24 * width  # the name of the file, its description and owner
    assert out.read_bytes()[:head] == path.read_bytes()[:head]


def test_every_word_comes_back_as_it_was(tmp_path):
    """Also what is no number: other bits of a word, texts of odd bytes."""
    path, out = made(tmp_path, fields(), PROTOTYPE), tmp_path / "b.dm"
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(1)
    for row in range(84):  # the last word of a record, which is ROCK
        at = 4096 + (6 * row + 5) * 8
        data[at : at + 8] = rng.bytes(8)
    path.write_bytes(data)
    label_file(path, ORE, out)
    old, new = (np.frombuffer(one.read_bytes(), "V8") for one in (path, out))
    for row in range(84):
        page, place = divmod(row, 508 // 10)
        words = new[512 * (1 + page) + 10 * place :][:6]
        np.testing.assert_array_equal(words, old[512 + 6 * row :][:6])


def test_cells_without_centroids_are_counted(tmp_path):
    told = {name: values for name, values in fields().items() if name not in ("XC", "YC", "ZC")}
    path = made(tmp_path, told, PROTOTYPE)
    found = inspect_file(path)
    assert found.volume == 210 * 500 and found.lattice.cells == SHAPE
    assert found.extent == [[100.0, 200.0, -50.0], [170.0, 260.0, -25.0]]
    label_file(path, ORE, tmp_path / "b.dm")
    after = columns(tmp_path / "b.dm")
    assert [*after] == [*columns(path), "DOMAIN"]
    np.testing.assert_array_equal(after["DOMAIN"], wanted())


def test_sub_cells_have_their_own_sizes(tmp_path):
    told = fields()
    told["XINC"] = [5.0 if n < 2 else 10.0 for n in range(210)]
    told["XC"][0], told["XC"][1] = 102.5, 107.5
    told["IJK"][1] = 0.0
    told["ZC"][1] = told["ZC"][0]
    fixed = {name: value for name, value in PROTOTYPE.items() if name != "XINC"}
    found = inspect_file(made(tmp_path, told, fixed))
    assert found.volume == 208 * 500 + 2 * 250 and "sub" in found.blocks


def test_a_rotated_model_is_turned_into_the_world(tmp_path):
    turned = {"X0": 1000.0, "Y0": 2000.0, "Z0": 0.0, "ANGLE1": 90.0, "ROTAXIS1": 3.0}
    with pytest.warns(GeodomainWarning, match="is a rotated model"):
        found = inspect_file(made(tmp_path, fields(), PROTOTYPE | turned))
    assert "z=90" in found.rotation and "1000,2000,0" in found.rotation
    assert found.centroids == [[1005.0, 1935.0, 2.5], [1055.0, 1995.0, 22.5]]


def test_a_field_is_rewritten_and_widened(tmp_path):
    path, out = made(tmp_path, fields(), PROTOTYPE), tmp_path / "b.dm"
    label_file(path, ORE, out, column="rock", replace=True, background="W")
    rock = columns(out)["ROCK"]
    np.testing.assert_array_equal(rock, np.where(wanted() == "", "W", wanted()))
    assert [*columns(out)] == [*columns(path)]
    label_file(
        out, {"X": next(iter(ORE.values()))}, out, column="ROCK", replace=True, overwrite=True
    )
    np.testing.assert_array_equal(columns(out)["ROCK"], np.where(wanted() == "", "", "X"))
    label_file(path, ORE, out, column="deposit", replace=True, overwrite=True)
    after = columns(out)
    np.testing.assert_array_equal(after["DEPOSIT"], wanted())
    np.testing.assert_array_equal(after["ROCK"], columns(path)["ROCK"])


@pytest.mark.parametrize("column", ["ROCK", "DEPOSIT"])
def test_labels_that_are_kept(tmp_path, column):
    path, out = made(tmp_path, fields(), PROTOTYPE), tmp_path / "b.dm"
    write_mesh(*ORE.values(), tmp_path / "ore.ply")
    (tmp_path / "d.toml").write_text(
        'background = "W"\n[[domain]]\nname = "LONG NAME"\nmesh = "ore.ply"\nkeep = true\n'
    )
    label_file(path, tmp_path / "d.toml", out, column=column, replace=True)
    before, after = columns(path), columns(out)
    labels = np.where(wanted() == "", "W", "LONG NAME")
    expected = np.where(before[column] == "", labels, before[column])
    np.testing.assert_array_equal(after[column], expected)


def test_codes_are_numbers_on_a_condition(tmp_path):
    path, out = made(tmp_path, fields(), PROTOTYPE), tmp_path / "b.dm"
    write_mesh(*ORE.values(), tmp_path / "ore.ply")
    (tmp_path / "d.toml").write_text(
        '[[domain]]\nname = "ORE"\ncode = 12\nmesh = "ore.ply"\n'
        'only_if = { AU = { ">=" = 1 }, ROCK = "OX" }\n'
    )
    label_file(path, tmp_path / "d.toml", out, codes=True)
    before, after = columns(path), columns(out)
    with np.errstate(invalid="ignore"):
        new = (wanted() != "") & (before["AU"] >= 1) & (before["ROCK"] == "OX")
    assert 0 < new.sum() < 5
    np.testing.assert_array_equal(after["DOMAIN"], np.where(new, 12.0, np.nan))


def test_what_the_format_cannot_hold_is_said(tmp_path):
    path = made(tmp_path, fields(), PROTOTYPE)
    ore = next(iter(ORE.values()))
    for options, said in (
        ({"column": "AU", "replace": True}, "the field AU holds numbers"),
        ({"column": "DEPOSITS"[:7]}, "already has a column 'DEPOSIT'"),
        ({"column": "xc", "replace": True}, "holds the coordinates"),
    ):
        with pytest.raises(TableError, match=said):
            label_file(path, ORE, tmp_path / "b.dm", **options)
    with pytest.raises(TableError, match="Latin-1"):
        label_file(path, {"\u0420\u0443\u0434\u0430": ore}, tmp_path / "b.dm")
    with pytest.raises(TableError, match="two new columns would be called 'IN_ORE_H'"):
        label_file(path, {"ORE_HIGH": ore, "ORE_HALF": ore}, tmp_path / "b.dm", flags=True)
    many = fields() | {f"G{n}": [0.0] * 210 for n in range(52)}
    with pytest.raises(TableError, match="no room for another field"):
        label_file(made(tmp_path, many, PROTOTYPE), ORE, tmp_path / "b.dm")
    assert not (tmp_path / "b.dm").exists()


def test_single_precision_is_warned_of(tmp_path):
    told = fields()
    told["YC"] = [7_000_000.0 + value for value in told["YC"]]
    with pytest.warns(GeodomainWarning, match="is only accurate to"):
        inspect_file(made(tmp_path, told, PROTOTYPE, 4))


def bad_files() -> dict[str, bytes]:
    good = datamine_table(fields(), 8, "<", PROTOTYPE)

    def put(word: int, value: float) -> bytes:
        return good[: 8 * word] + np.float64(value).tobytes() + good[8 * word + 8 :]

    return {
        "cut in a page": good[:-9],
        "cut after its definition": good[:4096],
        "pages without end": put(26, 2.0**39),
        "records beyond a page": put(27, 500.0),
        "no page": put(26, 0.0),
        "no field is stored": datamine_table({"A": [1.0]}, 8, "<")[: 8 * 31]
        + np.float64(0).tobytes()
        + datamine_table({"A": [1.0]}, 8, "<")[8 * 32 :],
        "no centroids": datamine_table({"AU": [1.0]}, 8, "<"),
        "half of a wireframe": datamine_table({f"PID{n}": [1.0] for n in (1, 2, 3)}, 8, "<"),
        "more fields than are read": put(25, 70.0),
    }


@pytest.mark.parametrize("case", bad_files())
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, case):
    (tmp_path / "a.dm").write_bytes(bad_files()[case])
    result = CliRunner().invoke(main, ["inspect", str(tmp_path / "a.dm")])
    assert result.exit_code == 3, result.output
    (error,) = [line for line in result.output.splitlines() if line.startswith("error: ")]
    assert "a.dm" in error and len(error) < 500


def test_missing_coordinates_are_unassigned(tmp_path):
    told = fields()
    told["XC"][3], told["YC"][4], told["ZC"][5] = -1e30, float("nan"), float("inf")
    path = made(tmp_path, told, PROTOTYPE)
    with pytest.warns(GeodomainWarning, match="less volume"):
        summary = label_file(path, ORE, tmp_path / "b.dm", unassigned="?")
    assert "unassigned 3" in repr(summary)
    assert columns(tmp_path / "b.dm")["DOMAIN"][3:6].tolist() == ["?"] * 3


def test_the_model_beside_the_checkout(shared_data, tmp_path):
    path = shared_data / "formats/datamine/made_ep_model.dm"
    found = inspect_file(path)
    assert found.rows == 210 and found.volume == 210 * 500
    assert found.extent[0] == [478000.125, 6771000.25, 290.5]
    ore = {"ORE": box((478000, 6771000, 290), (478020, 6771100, 400))}
    label_file(path, ore, tmp_path / "b.dm", allow_disjoint=True)
    before, after = columns(path), columns(tmp_path / "b.dm")
    assert (after["DOMAIN"] == "ORE").sum() == 60
    for name, values in before.items():
        np.testing.assert_array_equal(after[name], values)
