"""Drillholes of geoh5 workspaces: flags as from the same tables as text; the rest stays."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from geoh5_files import NO_FLOAT, NO_INTEGER, Maker, tree
from late import h5py, needs
from wireframes import box

from geodomain import Drillholes, TableError, composite_file, flag_file
from geodomain.cli import main
from geodomain.drillholes.tables import Reading, read_table

# One hole goes up on purpose.
pytestmark = [needs("h5py"), pytest.mark.filterwarnings(r"ignore:.*\[dip-sign\]")]

HOLES = {
    "A 1": ((5.0, 5.0, 30.25), [(0, 0, -90), (20, 10, -80), (40, 30, -75)], 55.5),
    "B": ((9.5, 4.0, 31.0), [(0, 355, -60), (30, 350, -55)], 40.0),
    "é": ((4.0, 6.0, 0.5), [(0, 0, 88)], 30.0),  # up
}
FROM = {"A 1": [0, 8.1, 14.5, 30.0], "B": [0, 10.3], "é": [2, 12]}
TO = {"A 1": [8.1, 14.5, 21.2, 50.0], "B": [10.3, 26.7], "é": [12, 21]}
AU = {"A 1": [1.5, 0.7, NO_FLOAT, 2.25], "B": [0.1, 9], "é": [3, 4]}
ORE = {"ORE é": box((0, 0, 10), (10, 10, 20)), "LOW": box((-20, -20, -30), (60, 60, 6))}


def tables() -> dict[str, dict]:
    """Return an assay table, a table of codes with other intervals, and a log by depth."""
    single = {hole: np.array(values, "<f4") for hole, values in AU.items()}
    codes = {hole: np.array([1, 0], "<u4") for hole in ("A 1", "B")}
    return {
        "assay": {
            "FROM": {hole: np.array(one, "<f4") for hole, one in FROM.items()},
            "TO": {hole: np.array(one, "<f4") for hole, one in TO.items()},
            "AU": single,
            "ROCK": {"A 1": np.array(["é", "b", "", "c"]), "B": np.array(["b", "b"])},
            "N": {
                hole: np.array([NO_INTEGER] + [7] * (len(o) - 1), "<i4") for hole, o in FROM.items()
            },
        },
        "geology": {
            "FROM(1)": {hole: np.array([0, 10], "<f4") for hole in ("A 1", "B")},
            "TO(1)": {hole: np.array([10, 20], "<f4") for hole in ("A 1", "B")},
            "UNIT": {**codes, "names": {1: "Sand é", 2: "Clay"}},
        },
        "log": {
            "DEPTH": {"B": np.array([1, 2, 3], "<f4")},
            "GAMMA": {"B": np.array([5, 6, 7], "<f4")},
        },
    }


def concatenated(path: Path) -> Path:
    with Maker(path) as made:
        parent = made.group("Drilling")
        made.holes("Holes", HOLES, tables(), parent)
        made.surface("Ore", ORE["ORE é"])
    return path


def single(path: Path) -> Path:
    """Write each hole as an object, as files of version 1 have them."""
    with Maker(path) as made:
        parent = made.group("Holes")
        for hole, (collar, stations, end) in HOLES.items():
            key = made.hole(hole, collar, stations, end, parent)
            made.data(key, "FROM", np.array(FROM[hole], float))
            made.data(key, "TO", np.array(TO[hole], float))
            made.data(key, "AU", np.array(AU[hole], float))
        made.surface("Ore", ORE["ORE é"])
    return path


def as_text(folder: Path) -> dict[str, Path]:
    """Write the same tables as text."""
    collar, survey = ["BHID,X,Y,Z,DEPTH"], ["BHID,AT,AZIMUTH,DIP"]
    assay = ["BHID,FROM,TO,AU"]
    for hole, (place, stations, end) in HOLES.items():
        collar.append(",".join(map(str, (hole, *place, end))))
        survey += [",".join(map(str, (hole, *row))) for row in stations]
        for row in zip(FROM[hole], TO[hole], AU[hole], strict=True):
            assay.append(",".join([hole, *("" if v == NO_FLOAT else str(v) for v in row)]))
    found = {}
    for name, lines in (("collar", collar), ("survey", survey), ("assay", assay)):
        found[name] = folder / f"{name}.csv"
        found[name].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return found


def rows(path: object, kind: str = "intervals") -> dict[str, list]:
    """Return the columns of a table."""
    table = read_table(str(path), kind, Reading(), also=None)
    return {
        name: table.cells(place, np.arange(len(table))) for place, name in enumerate(table.names)
    }


@pytest.mark.parametrize("make", [concatenated, single])
def test_collars_surveys_and_intervals(tmp_path, make):
    path = make(tmp_path / "a.geoh5")
    collars = rows(path, "collar")
    assert collars["BHID"] == [*HOLES] and collars["Z"] == ["30.25", "31.0", "0.5"]
    assert collars["DEPTH"] == ["55.5", "40.0", "30.0"]
    stations = rows(f"{path}:Holes", "survey")
    assert stations["BHID"] == ["A 1"] * 3 + ["B"] * 2 + ["é"]
    assert stations["DIP"] == ["-90.0", "-80.0", "-75.0", "-60.0", "-55.0", "88.0"]
    found = rows(path if make is single else f"{path}:assay")
    assert found["BHID"] == ["A 1"] * 4 + ["B"] * 2 + ["é"] * 2
    assert [*map(float, found["FROM"])] == [one for hole in FROM.values() for one in hole]
    assert [float(one) if one else None for one in found["AU"]] == [
        None if one == NO_FLOAT else one for hole in AU.values() for one in hole
    ]
    if make is concatenated:
        assert found["ROCK"] == ["é", "b", "", "c", "b", "b", "", ""]
        assert [one and float(one) for one in found["N"]] == ["", 7, 7, 7, "", 7, "", 7]
        units = rows(f"{path}:Drilling/Holes/geology")
        assert units["UNIT"] == ["Sand é", "", "Sand é", ""] and units["TO"][1] == "20.0"


@pytest.mark.parametrize("make", [concatenated, single])
@pytest.mark.parametrize("by", ["middle", "majority"])
def test_flags_are_those_of_the_same_tables_as_text(tmp_path, make, by):
    path, text = make(tmp_path / "a.geoh5"), as_text(tmp_path)
    told = {"by": by, "background": "W"}
    flag_file(text["assay"], ORE, tmp_path / "b.csv", collar=text["collar"],
              survey=text["survey"], down="negative", **told)  # fmt: skip
    lines = (tmp_path / "b.csv").read_text(encoding="utf-8").splitlines()[1:]
    wanted = [line.rpartition(",")[2] for line in lines]
    assert {*wanted} == {"ORE é", "LOW", "W"}
    name = f"{path}:Holes/assay" if make is concatenated else f"{path}:Holes"
    summary = flag_file(name, ORE, tmp_path / "b.geoh5", collar=f"{path}:Holes", **told)
    assert summary.dips.startswith("negative dips point down (as the format of a.geoh5:")
    found = rows(name.replace("a.geoh5", "b.geoh5"))
    assert found["domain"] == wanted
    again = {key: one for key, one in found.items() if key != "domain"}
    assert again == rows(name)


def test_the_rest_of_the_workspace_stays(tmp_path):
    path, out = concatenated(tmp_path / "a.geoh5"), tmp_path / "b.geoh5"
    flag_file(f"{path}:assay", ORE, out, collar=path, coordinates=True, overwrite=True)
    before, after = tree(path), tree(out)
    changed = {key for key in before if after.get(key) != before[key]}
    assert {key.rpartition("/")[2] for key in changed} == {"Attributes Jsons"}
    old, new = ([json.loads(one) for one in side[min(changed)][1]] for side in (before, after))
    for one, other in zip(old, new[: len(old)], strict=True):
        grown = {key: value for key, value in other.items() if one.get(key) != value}
        one_group = "Group Name" in one
        assert one_group or {*grown} <= {f"Property:{n}" for n in ("domain", "x", "y", "z")}
        if one_group and grown:
            assert one["Group Name"] == "assay" and [*grown] == ["Properties"]
            assert grown["Properties"][: len(one["Properties"])] == one["Properties"]
            assert len(grown["Properties"]) == len(one["Properties"]) + 4
    assert [one["Name"] for one in new[len(old) :]] == [
        name for name in ("domain", "x", "y", "z") for _ in HOLES
    ]
    with h5py.File(out) as file:
        group = next(
            one for one in file["GEOSCIENCE/Groups"].values() if "Concatenated Data" in one
        )
        assert group["Concatenated Data/Data/domain"].dtype == np.uint32
        assert group["Concatenated Data/Data/z"].dtype == np.float64
        kind = file["GEOSCIENCE/Types/Data types"][new[-10]["Type ID"]]
        assert kind["Value map"][...].tolist() == [
            (0, b"Unknown"), (1, "ORE é".encode()), (2, b"LOW")
        ]  # fmt: skip


def test_split_intervals(tmp_path):
    path, text = concatenated(tmp_path / "a.geoh5"), as_text(tmp_path)
    flag_file(text["assay"], ORE, tmp_path / "b.csv", collar=text["collar"], by="split",
              survey=text["survey"], down="negative", background="W")  # fmt: skip
    summary = flag_file(
        f"{path}:assay", ORE, tmp_path / "b.geoh5", collar=path, by="split", background="W"
    )
    found = rows(f"{tmp_path / 'b.geoh5'}:assay")
    wanted = [
        line.split(",")
        for line in (tmp_path / "b.csv").read_text(encoding="utf-8").split("\n")[1:-1]
    ]
    assert len(wanted) > 8 and summary.cut > 3
    assert found["BHID"] == [row[0] for row in wanted]
    assert [*map(float, found["FROM"])] == [float(row[1]) for row in wanted]
    assert [*map(float, found["TO"])] == [float(row[2]) for row in wanted]
    assert found["domain"] == [row[4] for row in wanted]
    assert [float(one or -1) for one in found["AU"]] == [float(row[3] or -1) for row in wanted]
    assert rows(f"{tmp_path / 'b.geoh5'}:geology") == rows(f"{path}:geology")
    path = single(tmp_path / "s.geoh5")
    with pytest.raises(TableError, match="each hole is an object of its own"):
        flag_file(str(path), ORE, tmp_path / "c.geoh5", collar=path, by="split")


def test_a_column_that_exists_in_any_table_is_refused(tmp_path):
    path = concatenated(tmp_path / "a.geoh5")
    flag_file(f"{path}:assay", ORE, tmp_path / "b.geoh5", collar=path)
    with pytest.raises(TableError, match="'domain'"):
        flag_file(f"{tmp_path / 'b.geoh5'}:assay", ORE, tmp_path / "c.geoh5", collar=path)
    with pytest.raises(TableError, match="'A 1' has data 'domain' in another table"):
        flag_file(f"{tmp_path / 'b.geoh5'}:geology", ORE, tmp_path / "c.geoh5", collar=path)
    assert not (tmp_path / "c.geoh5").exists()
    flag_file(f"{tmp_path / 'b.geoh5'}:geology", ORE, tmp_path / "c.geoh5", collar=path,
              column="unit domain")  # fmt: skip
    assert "unit domain" in rows(f"{tmp_path / 'c.geoh5'}:geology")


def test_version_2_0_has_its_attributes_in_one_text(tmp_path):
    path = concatenated(tmp_path / "a.geoh5")
    with h5py.File(path, "r+") as file:
        for one in file["GEOSCIENCE/Groups"].values():
            if (both := one.get("Concatenated Data")) is not None:
                told = [json.loads(text) for text in both["Attributes Jsons"]]
                del both["Attributes Jsons"]
                text = json.dumps({"Attributes": told})
                both.create_dataset("Attributes", data=[text], dtype=h5py.string_dtype())
    flag_file(f"{path}:assay", ORE, tmp_path / "b.geoh5", collar=path, background="W")
    other = concatenated(tmp_path / "c.geoh5")
    flag_file(f"{other}:assay", ORE, tmp_path / "d.geoh5", collar=other, background="W")
    assert rows(f"{tmp_path / 'b.geoh5'}:assay") == rows(f"{tmp_path / 'd.geoh5'}:assay")


def test_an_end_that_repeats_the_last_station_does_not_cut_samples(tmp_path):
    path = tmp_path / "a.geoh5"
    holes = {"A": ((5.0, 5.0, 30.0), [(0, 0, -90), (10, 0, -90)], 10.0)}
    columns = {"FROM": {"A": [0.0, 12.0]}, "TO": {"A": [10.0, 19.5]}, "AU": {"A": [1.0, 2.0]}}
    with Maker(path) as made:
        made.holes("Holes", holes, {"assay": columns})
    assert rows(path, "collar")["DEPTH"] == ["19.5"]
    summary = flag_file(path, ORE, None, collar=path)
    assert summary.unusable == 0


def test_groups_and_tables_are_named(tmp_path):
    path = concatenated(tmp_path / "a.geoh5")
    with pytest.raises(TableError, match=r"2 tables of intervals: choose one of 'Holes/assay' and"):
        rows(path)
    with pytest.raises(TableError, match=r"no table of intervals 'log': .*'Holes/geology'"):
        rows(f"{path}:log")
    with pytest.raises(TableError, match="no group of drillholes 'Hole'"):
        rows(f"{path}:Hole", "collar")
    with Maker(tmp_path / "c.geoh5") as made:
        for name in ("North", "South"):
            made.holes(name, HOLES, tables())
    with pytest.raises(TableError, match="2 groups of drillholes: choose one of 'North' and"):
        rows(tmp_path / "c.geoh5", "collar")
    assert rows(f"{tmp_path / 'c.geoh5'}:South/assay")["BHID"][0] == "A 1"
    with Maker(tmp_path / "b.geoh5") as made:
        made.surface("Ore", ORE["ORE é"])
    with pytest.raises(TableError, match="has no drillholes: it holds 'Surface'"):
        rows(tmp_path / "b.geoh5", "collar")
    assert rows(f"{path}:Holes/assay", "collar") == rows(path, "collar")


def test_composites_crossings_and_checks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, text = concatenated(Path("a.geoh5")), as_text(tmp_path)
    told = {"length": 5.0, "grade": "AU", "background": "W"}
    composite_file(f"{path}:assay", ORE, "a.csv", collar=path, **told)
    composite_file(text["assay"], ORE, "b.csv", collar=text["collar"], survey=text["survey"],
                   down="negative", **told)  # fmt: skip
    assert Path("a.csv").read_text() == Path("b.csv").read_text()
    holes = Drillholes(path, None, f"{path}:assay")
    assert list(holes.names) == [*HOLES]
    run = CliRunner().invoke
    ore = "ORE=a.geoh5:Ore"
    done = run(main, ["flag", "a.geoh5:assay", "--collar", "a.geoh5", "--solid", ore,
                      "--split", "-o", "f.geoh5"])  # fmt: skip
    assert done.exit_code == 0, done.output
    done = run(main, ["holes", "check", "--collar", "a.geoh5", "--intervals", "a.geoh5:assay"])
    assert done.exit_code in (0, 3), done.output
    done = run(main, ["holes", "crossings", "--collar", "a.geoh5", "--solid", ore, "-o", "c.csv"])
    assert done.exit_code == 0, done.output
    done = run(main, ["stats", "f.geoh5:assay", "--grade", "AU"])
    assert done.exit_code == 0 and "ORE" in done.output, done.output


def test_damaged_holes_are_refused(tmp_path):
    def damaged(change) -> str:
        path = concatenated(tmp_path / "a.geoh5")
        with h5py.File(path, "r+") as file:
            for one in file["GEOSCIENCE/Groups"].values():
                if "Concatenated Data" in one:
                    change(one["Concatenated Data"])
        with pytest.raises(TableError) as error:
            flag_file(f"{path}:assay", ORE, None, collar=path)
        assert "\n" not in str(error.value)
        return str(error.value)

    def put(group, name, values) -> None:
        del group[name]
        group.create_dataset(name, data=values)

    def beyond(both) -> None:
        told = both["Index/AU"][...]
        told["Size"][-1] = 3
        put(both["Index"], "AU", told)

    assert "leads beyond its 8 values" in damaged(beyond)
    assert "is damaged" in damaged(
        lambda both: put(both, "Attributes Jsons", np.array(["{", "["], h5py.string_dtype()))
    )
    assert "leads beyond its 0 values" in damaged(lambda both: both["Data"].__delitem__("TO"))
    assert "has no" in damaged(lambda both: both.__delitem__("Attributes Jsons"))

    def endless(both) -> None:
        del both.parent["Concatenated object IDs"]
        both.parent.create_dataset(
            "Concatenated object IDs", (2**40,), h5py.string_dtype(), chunks=(2**10,)
        )

    assert "with an array of 1,099,511,627,776 texts, would take" in damaged(endless)


def test_a_group_that_only_the_tree_has_is_refused(tmp_path):
    path = single(tmp_path / "a.geoh5")
    with h5py.File(path, "r+") as file:
        groups = file["GEOSCIENCE/Groups"]
        (key,) = [key for key, one in groups.items() if one.attrs["Name"] == "Holes"]
        del groups[key]
    with pytest.raises(TableError, match=r"is damaged: .*there is no entity"):
        read_table(str(path), "collar", Reading(), also=None)
