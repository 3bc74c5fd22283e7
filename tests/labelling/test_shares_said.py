"""What a labelling by shares says: turned models, cells that are no boxes, slips."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from label_command import folder, run  # noqa: F401
from late import pandas
from wireframes import box

import geodomain
from geodomain import GeodomainWarning, Mesh, TableError, label_file, write_mesh
from geodomain.tables.frames import LocalFrame

ORE = box((0, 0, 0), (20, 20, 20))
LINES_ALONE = "lines= has an effect only with proportions= or by='majority'"


def turned_model(path: Path) -> None:
    """Write world centroids of a lattice that is turned by 30 degrees, without a rotation."""
    frame = LocalFrame([("z", 30.0)], origin=(0.0, 0.0, 0.0))
    local = np.stack(np.meshgrid(*[np.arange(5.0, 50, 10)] * 3), -1).reshape(-1, 3)
    rows = [",".join(map(repr, p)) for p in frame.to_world(local).tolist()]
    path.write_text("X,Y,Z,DX,DY,DZ\n" + "\n".join(f"{row},10,10,10" for row in rows))


@pytest.mark.parametrize("asked", [{"proportions": "itself"}, {"by": "majority"}])
def test_columns_that_share_no_coordinate_are_warned_of(tmp_path: Path, asked) -> None:
    # Blocks of this size are no neighbours, so that nothing shows how they are turned.
    frame = LocalFrame([("z", 30.0)], origin=(0.0, 0.0, 0.0))
    local = np.stack(np.meshgrid(*[np.arange(5.0, 50, 10)] * 3), -1).reshape(-1, 3)
    rows = [",".join(map(repr, p)) for p in frame.to_world(local).tolist()]
    (tmp_path / "a.csv").write_text("X,Y,Z,DX,DY,DZ\n" + "\n".join(f"{row},6,7,10" for row in rows))
    said = "so the model may be rotated, but blocks are measured along the world axes"
    with pytest.warns(GeodomainWarning) as warned:
        found = label_file(tmp_path / "a.csv", {"ORE": ORE}, tmp_path / "b.csv", **asked)
    assert sum(said in str(one.message) for one in warned) == 1
    assert sum(said in one and "frame=" in one for one in found.warnings) == 1
    assert not any("rotation=" in one for one in found.warnings)


@pytest.mark.filterwarnings("ignore:.*has .* volume than its wireframe")
@pytest.mark.filterwarnings("ignore:.*have .* volume than its wireframe")
def test_centroids_alone_and_local_coordinates_are_not_warned_of(tmp_path: Path) -> None:
    turned_model(tmp_path / "a.csv")
    label_file(tmp_path / "a.csv", {"ORE": ORE}, tmp_path / "b.csv")
    at = np.stack(np.meshgrid(*[np.arange(5.0, 50, 10)] * 3), -1).reshape(-1, 3)
    rows = [",".join(map(repr, p)) for p in at.tolist()]
    (tmp_path / "l.csv").write_text(
        "X,Y,Z,DX,DY,DZ\n" + "\n".join(f"{row},10,10,10" for row in rows)
    )
    for where in ({}, {"rotation": "z=30", "origin": "0,0,0"}):
        found = label_file(tmp_path / "l.csv", {"ORE": ORE}, None, proportions="itself", **where)
        assert not any("rotated" in one for one in found.warnings)


def test_skewed_cells_are_refused_and_turned_ones_are_measured(tmp_path: Path) -> None:
    pyvista = pytest.importorskip("pyvista")
    grid = pyvista.ImageData(dimensions=(4, 5, 3), spacing=(5, 5, 5)).cast_to_unstructured_grid()
    skew = np.eye(4)
    skew[0, 1] = 0.25
    grid.transform(skew, inplace=False).save(tmp_path / "t.vtu")
    frame = LocalFrame([("z", 30.0)], (0.0, 0.0, 0.0))
    turned = grid.copy()
    turned.points = frame.to_world(np.asarray(grid.points, np.float64))
    turned.save(tmp_path / "r.vtu")
    ore = Mesh(frame.to_world(ORE.vertices), ORE.triangles)
    found = label_file(tmp_path / "r.vtu", {"ORE": ore}, None, proportions="itself")
    assert found.domains[0].proportion_volume == pytest.approx(15 * 20 * 10)
    grid.save(tmp_path / "s.vtu")
    for asked in ({"proportions": "itself"}, {"by": "majority"}):
        out = tmp_path / "o.vtu"
        with (
            pytest.warns(GeodomainWarning, match="no usable size"),
            pytest.raises(TableError, match=r"no block of .*t\.vtu is a box with sizes above 0"),
        ):
            label_file(tmp_path / "t.vtu", {"ORE": ORE}, out, **asked)
        assert not out.exists()
    found = label_file(tmp_path / "s.vtu", {"ORE": ORE}, None, proportions="itself")
    assert found.domains[0].proportion_volume == pytest.approx(15 * 20 * 10)


def test_what_would_do_nothing_is_refused(folder: Path) -> None:  # noqa: F811
    write_mesh(ORE, "ore.ply")
    Path("b.csv").write_text("X,Y,Z,DX,DY,DZ\n0.5,0.5,0.5,1,1,1\n")
    with pytest.raises(geodomain.DomainError, match=LINES_ALONE):
        label_file("b.csv", {"ORE": ORE}, "o.csv", lines=8)
    with pytest.raises(geodomain.DomainError, match=LINES_ALONE):
        geodomain.label_blocks(pandas.read_csv("b.csv"), {"ORE": ORE}, lines=8)
    done = run("b.csv", "--solid", "ORE=ore.ply", "-o", "o.csv", "--lines", "8", code=3)
    assert "--lines has an effect only with --proportions or --by majority" in done.stderr
    for line, given, said in (
        ("percent = true", (), "the domain list sets 'percent', which needs 'proportions'"),
        ("percent = true", ("--by", "majority"), "the domain list sets 'percent'"),
        ("lines = 8", (), "the domain list sets 'lines', which has an effect only"),
    ):
        Path("d.toml").write_text(f'{line}\n[[domain]]\nname = "ORE"\nmesh = "ore.ply"\n')
        done = run("b.csv", "--domains", "d.toml", "-o", "o.csv", *given, code=3)
        assert said in " ".join(done.stderr.split())
        assert not Path("o.csv").exists()
        done = run("b.csv", "--domains", "d.toml", "--dry-run", "--proportions", "--json")
        assert json.loads(done.stdout)["shares"]["proportions"] == "itself"
    # Neither samples nor a choice of the centroid after all are slips.
    label_file("b.csv", "d.toml", None, samples=True)
    Path("d.toml").write_text('by = "majority"\n' + Path("d.toml").read_text())
    run("b.csv", "--domains", "d.toml", "--dry-run", "--by", "centroid")
