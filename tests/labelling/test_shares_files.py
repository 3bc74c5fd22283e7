"""Shares as columns of every kind of file, beside what was there; the summary and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from label_command import folder, run  # noqa: F401
from late import pandas
from mining_files import datamine_table
from shapes import joined
from wireframes import box

import geodomain
from geodomain import GeodomainWarning, TableError, label_file, read_domains, write_mesh
from geodomain.formats.datamine import read_table

# Of blocks of 5 from 0 on: A has 0.3 of the first, B 0.7, and half of the second.
SOLIDS = {"A": box((0, 0, 0), (1.5, 5, 5)), "B": box((1.5, 0, 0), (7.5, 5, 5))}
ITSELF = [[0.3, 0.7], [0.0, 0.5], [0.0, 0.0]]
TEXT = (
    b'"X";Y;Z;DX;DY;DZ;AU\r\n2,5;2,5;2,50;5;5;5;"a;b"\r\n\r\n7,5;2,5;2,5;5;5;5;\r\n'
    b"12,5;2,5;2,5;5;5;5;1,0"
)


def test_text_keeps_every_byte_and_its_own_marks(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_bytes(TEXT)
    summary = label_file(tmp_path / "b.csv", SOLIDS, tmp_path / "o.csv", proportions="itself")
    lines = (tmp_path / "o.csv").read_bytes().split(b"\r\n")
    added = [b";domain;prop_a;prop_b", b";B;0,3;0,7", b"", b";;0;0,5", b";;0;0"]
    before = TEXT.split(b"\r\n")
    assert lines == [line + more for line, more in zip(before, added, strict=True)]
    assert summary.columns == ("domain", "prop_a", "prop_b")
    a, b = summary.domains
    assert (a.proportion_volume, b.proportion_volume) == pytest.approx((37.5, 150), rel=1e-12)
    assert (a.own_volume, b.own_volume, a.wireframe_volume) == pytest.approx((0, 125, 37.5))
    assert summary.shares.entered == 2 and summary.shares.by_lines == 0
    headings = ["volume", "before", "priority", "by", "proportion", "error", "wireframe",
                "volume"]  # fmt: skip
    assert str(summary).splitlines()[0].split()[3:] == headings


def test_numbers_are_the_shortest_that_mean_them(tmp_path: Path) -> None:
    blocks = "X,Y,Z\n" + "".join(f"{x + 0.5},0.5,0.5\n" for x in range(3))
    (tmp_path / "b.csv").write_text(blocks)
    third = {"T": box((0, 0, 0), (1 + 1 / 3, 1, 1)), "E": box((2, 0, 0), (2 + 1e-5, 1, 1))}
    with allowed():
        label_file(tmp_path / "b.csv", third, tmp_path / "o.csv",
                   proportions="itself", dx=1, dy=1, dz=1)  # fmt: skip
    cells = [row.split(",")[4:] for row in (tmp_path / "o.csv").read_text().split()]
    assert cells[:2] == [["prop_t", "prop_e"], ["1", "0"]]
    for cell, wanted in ((cells[2][0], 1 / 3), (cells[3][1], 1e-5)):
        assert repr(float(cell)) == cell and float(cell) == pytest.approx(wanted, rel=1e-9)


def frame() -> pandas.DataFrame:
    return pandas.DataFrame(
        {"X": [2.5, 7.5, 12.5], "Y": 2.5, "Z": 2.5, "DX": 5.0, "DY": 5.0, "DZ": 5.0, "rock": "a"}
    )


def test_parquet_has_numbers(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame().to_parquet(tmp_path / "b.parquet", index=False)
    label_file(tmp_path / "b.parquet", SOLIDS, tmp_path / "o.parquet", proportions="itself")
    found = pandas.read_parquet(tmp_path / "o.parquet")
    pandas.testing.assert_frame_equal(found[frame().columns], frame(), check_dtype=False)
    assert found.dtypes[["prop_a", "prop_b"]].tolist() == [np.float64] * 2
    np.testing.assert_allclose(found[["prop_a", "prop_b"]], ITSELF, atol=1e-15)


@pytest.mark.parametrize("suffix", [".vti", ".vtr", ".vtu"])
def test_vtk_has_arrays(tmp_path: Path, suffix: str) -> None:
    pyvista = pytest.importorskip("pyvista")
    grid = pyvista.ImageData(dimensions=(4, 2, 2), spacing=(5, 5, 5))
    grid.cell_data["AU"] = [1.0, 2.0, 3.0]
    made = {".vti": grid, ".vtr": grid.cast_to_rectilinear_grid()}.get(
        suffix, grid.cast_to_unstructured_grid()
    )
    made.save(tmp_path / f"b{suffix}")
    out = tmp_path / f"o{suffix}"
    with allowed():
        label_file(tmp_path / f"b{suffix}", SOLIDS, out, proportions="priority", percent=True)
    found = pyvista.read(out).cell_data
    assert found["AU"].tolist() == [1, 2, 3]
    wanted = [[30, 70], [0, 50], [0, 0]]
    np.testing.assert_allclose(np.stack([found["pct_a"], found["pct_b"]], axis=1), wanted)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("turned", [False, True])
def test_omf_has_numbers_also_where_it_is_turned(tmp_path: Path, version: int, turned) -> None:
    pytest.importorskip("pyarrow")
    import omf_models
    from omf_models import MAKERS, in_file_order, read

    axes = omf_models.TURNED if turned else omf_models.STRAIGHT
    (tmp_path / "b.omf").write_bytes(MAKERS[version](axes=axes))
    local = box((4, -5, -50), (30, 10, -44))
    vertices = np.add(omf_models.ORIGIN, (local.vertices - (0, 0, -50)) @ np.array(axes))
    ore = geodomain.Mesh(vertices, local.triangles, name="ore")
    with allowed():
        label_file(tmp_path / "b.omf", {"ORE": ore}, tmp_path / "o.omf", proportions="itself")
    wanted = np.zeros(omf_models.SHAPE)
    for at, part in ((0, 0.6), (1, 1.0), (2, 0.5)):
        wanted[at, 0] = part, part * 2 / 6
    _, _, values = read(tmp_path / "o.omf")
    np.testing.assert_allclose(values["prop_ore"], in_file_order(wanted, version), atol=1e-9)


def allowed():
    import contextlib
    import warnings

    stack = contextlib.ExitStack()
    stack.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore", GeodomainWarning)
    return stack


@pytest.mark.parametrize("width", [4, 8])
def test_datamine_has_numeric_fields(tmp_path: Path, width: int) -> None:
    told = {"XC": [2.5, 7.5, 12.5], "YC": [2.5] * 3, "ZC": [2.5] * 3, "ROCK": ["a", "b", ""]}
    path = tmp_path / "b.dm"
    path.write_bytes(datamine_table(told, width, "<", {"XINC": 5.0, "YINC": 5.0, "ZINC": 5.0}))
    label_file(path, SOLIDS, tmp_path / "o.dm", proportions="itself")
    found = read_table((tmp_path / "o.dm").read_bytes(), "o.dm").columns
    assert found["ROCK"].tolist() == ["a", "b", ""]
    shares = np.stack([found["PROP_A"], found["PROP_B"]], axis=1)
    np.testing.assert_allclose(shares, ITSELF, atol=1e-7 if width == 4 else 1e-15)


def test_gslib_has_numbers(tmp_path: Path) -> None:
    (tmp_path / "b.dat").write_text("t\n1 3 1 1 2.5 2.5 2.5 5 5 5 1\nAU\n1.50\n 2\n3 \n")
    with pytest.warns(GeodomainWarning, match="A is 1, B is 2"):
        label_file(tmp_path / "b.dat", SOLIDS, tmp_path / "o.dat", proportions="itself")
    assert (tmp_path / "o.dat").read_text().splitlines()[4:] == [
        "prop_a", "prop_b", "1.50 2 0.3 0.7", " 2 0 0 0.5", "3 0 0 0 "
    ]  # fmt: skip


def test_domains_say_what_is_measured(tmp_path: Path) -> None:
    for name, mesh in SOLIDS.items():
        write_mesh(mesh, tmp_path / f"{name}.ply")
    units = "".join(f'[[domain]]\nname = "{n}"\nmesh = "{n}.ply"\n' for n in SOLIDS)
    given = 'proportions = "priority"\npercent = true\nby = "majority"\nlines = 4\n'
    (tmp_path / "d.toml").write_text(given + units)
    domains = read_domains(tmp_path / "d.toml")
    assert (domains.proportions, domains.percent) == ("priority", True)
    assert (domains.by, domains.lines) == ("majority", 4)
    frame().to_csv(tmp_path / "b.csv", index=False)
    with allowed():
        summary = label_file(tmp_path / "b.csv", tmp_path / "d.toml", tmp_path / "o.csv")
    found = pandas.read_csv(tmp_path / "o.csv")
    assert found["domain"].tolist()[:2] == ["B", "B"]  # half of the second is as much as none
    assert found["pct_a"].tolist() == [30, 0, 0]
    assert summary.shares.lines == 4 and summary.shares.moved == 1
    label_file(tmp_path / "b.csv", tmp_path / "d.toml", tmp_path / "p.csv",
               proportions="itself", percent=False, by="centroid")  # fmt: skip
    assert pandas.read_csv(tmp_path / "p.csv")["prop_a"].tolist() == [0.3, 0, 0]
    for line, said in (
        ("lines = 1", "lines is 1; it must be a whole number from 2 to 256"),
        ('by = "corner"', "by is 'corner'; it must be one of 'centroid', 'majority'"),
        ("percent = 1", "percent is 1; it must be true or false"),
    ):
        (tmp_path / "d.toml").write_text(f"{line}\n{units}")
        with pytest.raises(geodomain.DomainError, match=said):
            read_domains(tmp_path / "d.toml")


def test_samples_have_no_shares(folder: Path) -> None:  # noqa: F811
    write_mesh(SOLIDS["B"], "B.ply")
    Path("d.toml").write_text(
        'proportions = "itself"\nby = "majority"\n[[domain]]\nname = "B"\nmesh = "B.ply"\n'
    )
    Path("s.csv").write_text("X,Y,Z\n2.5,2.5,2.5\n")
    label_file("s.csv", "d.toml", "o.csv", samples=True)
    assert Path("o.csv").read_text() == "X,Y,Z,domain\n2.5,2.5,2.5,B\n"
    for asked in ({"proportions": "itself"}, {"by": "majority"}):
        with pytest.raises(ValueError, match="which samples do not have"):
            label_file("s.csv", "d.toml", "p.csv", samples=True, **asked)


def test_the_command_takes_the_same(folder: Path) -> None:  # noqa: F811
    frame().to_csv("m.csv", index=False)
    solids = []
    for name, mesh in SOLIDS.items():
        write_mesh(mesh, f"{name}.ply")
        solids += ["--solid", f"{name}={name}.ply"]
    done = run("m.csv", *solids, "-o", "o.csv", "--proportions", "--by", "majority", "--json")
    summary = json.loads(done.stdout)
    assert summary["columns"] == ["domain", "prop_a", "prop_b"]
    assert summary["shares"] == {
        "proportions": "itself", "percent": False, "by": "majority", "lines": 16, "entered": 2,
        "by_lines": 0, "beyond": 0, "moved": 1, "estimated_error": 0.0,
    }  # fmt: skip
    assert summary["domains"][0]["proportion_volume"] == pytest.approx(37.5)
    run("m.csv", *solids, "-o", "p.csv", "--proportions", "priority", "--percent", "--lines", "2")
    assert pandas.read_csv("p.csv")["pct_a"].tolist() == [30, 0, 0]
    frame()[["X", "Y", "Z"]].to_csv("n.csv", index=False)
    for option in (["--proportions"], ["--by", "majority"]):
        done = run("n.csv", *solids, "-o", "q.csv", *option, code=3)
        said = "n.csv has no block sizes, but proportions need them: give --dx"
        assert said in " ".join(done.stderr.split())
        assert not Path("q.csv").exists()
    run("n.csv", *solids, "-o", "q.csv", "--by", "majority", "--dx", "5", "--dy", "5", "--dz", "5")
    assert pandas.read_csv("q.csv")["domain"].tolist()[:2] == ["B", "B"]
    replaced = ("--replace-column", "domain", "--proportions")
    assert (
        "--proportions adds more" in run("o.csv", *solids, "-o", "r.csv", *replaced, code=2).stderr
    )
    assert (
        "--percent needs --proportions"
        in run("m.csv", *solids, "-o", "r.csv", "--percent", code=3).stderr
    )
    assert (
        "prop_a"
        in run("o.csv", *solids, "-o", "r.csv", "--column", "d2", "--proportions", code=3).stderr
    )


def test_long_tables_are_measured_chunk_by_chunk(tmp_path: Path) -> None:
    count = 70_000  # more than a chunk, and than a part
    x = np.arange(count) % 100 * 5 + 2.5
    y = np.arange(count) // 100 * 5 + 2.5
    table = pandas.DataFrame({"X": x, "Y": y, "Z": 2.5, "note": "n" * 80})
    table.to_csv(tmp_path / "b.csv", index=False)
    long = {"L": box((0, 0, 0), (1.5, 5000, 5)), "M": box((1.0, 0, 0), (7.5, 5000, 5))}
    given = {"by": "majority", "dx": 5, "dy": 5, "dz": 5}
    with allowed():
        summary = label_file(
            tmp_path / "b.csv", long, tmp_path / "o.csv", proportions="priority", lines=10, **given
        )
    found = pandas.read_csv(tmp_path / "o.csv")
    wanted = np.where(x == 2.5, 0.3, 0)
    np.testing.assert_allclose(found["prop_l"], wanted, atol=1e-14)
    np.testing.assert_allclose(found["prop_m"], np.select([x == 2.5, x == 7.5], [0.7, 0.5], 0))
    assert summary.shares.by_lines == 0 and summary.shares.entered == count // 50
    with pytest.raises(TableError, match="no block sizes"):
        label_file(tmp_path / "b.csv", long, tmp_path / "p.csv", by="majority")


# --- One mesh whose own shells overlap.


def ones(path: Path) -> Path:
    """Write blocks of 1: one that both shells of `crossed` enter, one that neither enters."""
    path.write_text("X,Y,Z,DX,DY,DZ\n0.5,0.5,0.5,1,1,1\n5.5,0.5,0.5,1,1,1\n")
    return path


def crossed() -> geodomain.Mesh:
    """Return one mesh of two boxes that overlap."""
    return joined(box((-0.5, -1, -1), (0.3, 2, 2)), box((0.2, -2, -2), (0.7, 3, 3)))


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize(
    "asked", [{"proportions": "itself"}, {"proportions": "priority"}, {"by": "majority"}]
)
@pytest.mark.parametrize("rule", ["winding", "parity"])
def test_one_mesh_that_crosses_itself_has_an_error(tmp_path: Path, rule, asked) -> None:
    path = ones(tmp_path / "b.csv")
    found = label_file(path, {"T": crossed()}, tmp_path / "o.csv", rule=rule, **asked)
    x = (np.arange(256) + 0.5) / 256  # of 16 x 16 lines, all of them different
    inside = (x < 0.7) & ((rule == "winding") | (x < 0.2) | (x > 0.3))
    fine = inside.mean()
    off = max(abs(inside[sample::6].mean() - fine) for sample in range(6))
    (part,) = found.domains
    assert found.shares.entered == found.shares.by_lines == 1
    assert off > 0
    assert part.proportion_volume == pytest.approx(fine, abs=1e-14)
    assert part.proportion_error == pytest.approx(np.hypot(off, 1 / 512) + 1e-9, abs=1e-14)
    assert found.shares.estimated_error == pytest.approx(off, abs=1e-14)
    assert "1 of them sampled along 16 x 16 lines: proportions there are wrong by" in str(found)
    if "proportions" in asked:
        cells = pandas.read_csv(tmp_path / "o.csv")["prop_t"]
        np.testing.assert_allclose(cells, [fine, 0], atol=1e-14)
