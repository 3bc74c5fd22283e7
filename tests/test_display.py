"""How objects look in a console and in a notebook, what they measure, and how they pickle."""

from __future__ import annotations

import pickle
import xml.dom.minidom

import numpy as np
import pytest
from sheets import level
from wireframes import box, cube, roofless

import geodomain
from geodomain import Domain, Domains, Mesh, Stack
from geodomain.errors import MeshError

EVIL = Mesh(cube().vertices, cube().triangles, name="<script>&")
SOLID = Domain("<ORE>", EVIL, code=3, only_if={"a<b": {"<": 3}})
STACK = Stack([EVIL], ["<UP>", ""], codes=[1, 2])
HITS = geodomain.intersect(cube(), [[5, 5, -5]] * 8, [[5, 5, 50]] * 8, mode="all")

SHOWN = {
    "Mesh('<script>&', 8 vertices, 12 triangles)": EVIL,
    "<MeshReport of <script>&: can be used for labelling: 12 triangles, 1 shell, 0 warnings>": (
        geodomain.check(EVIL)
    ),
    "PointLocator(Mesh('<script>&', 8 vertices, 12 triangles), backend='cpu')": (
        geodomain.PointLocator(EVIL, backend="cpu")
    ),
    f"Domain('<ORE>', {EVIL!r}, code=3, only_if='a<b < 3')": SOLID,
    "Stack(['<UP>', ''], 1 surfaces, rule='erode')": STACK,
    "Domains(['<ORE>', '<UP>'], order='last', background='<W>')": Domains(
        (SOLID,), (STACK,), order="last", background="<W>"
    ),
    "Hits(crossings=16, segment_count=8)": HITS,
}


@pytest.mark.parametrize("said", SHOWN)
def test_a_repr_and_an_escaped_table(said) -> None:
    thing = SHOWN[said]
    assert repr(thing) == said
    html = thing._repr_html_()
    assert "<script>" not in html and len(html) < 5000
    table = xml.dom.minidom.parseString(f"<div>{html}</div>")
    assert table.getElementsByTagName("tr")


def test_tables_say_what_matters() -> None:
    assert "not closed" not in EVIL._repr_html_() and "0 to 10" in EVIL._repr_html_()
    assert "is not closed" in geodomain.check(roofless())._repr_html_()
    assert "the first 10 of them" in HITS._repr_html_()
    assert "&lt;UP&gt;" in STACK._repr_html_() and "below &lt;script&gt;" in STACK._repr_html_()
    assert Mesh([], [])._repr_html_().count("<tr>") == 3


def rows_of(thing) -> dict[str, str]:
    html = thing._repr_html_()
    assert "<script>" not in html
    table = xml.dom.minidom.parseString(f"<div>{html}</div>")
    rows = [row.childNodes for row in table.getElementsByTagName("tr")]
    cells = [[cell.firstChild.data if cell.firstChild else "" for cell in row] for row in rows]
    return {row[0]: row[1] for row in cells}


def test_tables_of_what_functions_on_files_return(tmp_path) -> None:
    welded = geodomain.weld(EVIL, 0.5)
    assert rows_of(welded)["triangles"] == "12" and rows_of(welded)["vertices moved"] == "0"
    place = tmp_path / "ore.ply"
    geodomain.write_mesh(roofless(), place)
    rows = rows_of(geodomain.check_file(place, tmp_path / "out.ply", weld=0.5))
    assert rows["as a solid"] == "cannot be used" and rows["open edges"] == "3"
    assert rows["welding"].startswith("at 0.5: 0 vertices moved")
    assert "ore.ply is not closed" in geodomain.check_file(place)._repr_html_()
    (tmp_path / "lines.csv").write_text("x0,y0,z0,x1,y1,z1\n3,5,-5,3,5,50\n50,5,-5,50,5,50\n")
    done = geodomain.intersect_file(place, tmp_path / "lines.csv", tmp_path / "hits.csv")
    assert rows_of(done)["segments"] == "2" and rows_of(done)["that cross"] == "1"
    model = tmp_path / "blocks.csv"
    model.write_text("X,Y,Z,DX,DY,DZ,domain\n5,5,5,10,10,10,A\n15,5,5,10,10,10,B\n")
    made = geodomain.report_file(model, tmp_path / "<script>.html", sections="z=5")
    assert rows_of(made)["blocks"] == "2" and rows_of(made)["sections"] == "z = 5"
    assert "blocks" in rows_of(geodomain.inspect_file(model))


def test_area_and_volume() -> None:
    solid = box((2e6, 4e6, 1500), (2e6 + 30, 4e6 + 20, 1510))
    assert solid.volume == pytest.approx(6000, rel=1e-14)
    assert solid.area == pytest.approx(2 * (600 + 300 + 200), rel=1e-14)
    assert Mesh(solid.vertices, solid.triangles[:, ::-1]).volume == solid.volume
    hollow = Mesh(
        np.r_[cube().vertices, box((2, 2, 2), (4, 4, 4)).vertices],
        np.r_[cube().triangles, cube().triangles[:, ::-1] + 8],
    )
    assert hollow.volume == 992 == pytest.approx(geodomain.check(hollow).signed_volume)
    assert hollow.area == pytest.approx(geodomain.check(hollow).area, rel=1e-14)
    assert Mesh([], []).volume == Mesh([], []).area == 0
    assert level(5.0).area > 0


def test_what_encloses_nothing_has_no_volume() -> None:
    with pytest.raises(MeshError, match="roofless is not closed, so it encloses no volume"):
        _ = roofless().volume
    triangles = cube().triangles.copy()
    triangles[0] = triangles[0, ::-1]
    with pytest.raises(MeshError, match="orient all triangles of a shell the same way"):
        _ = Mesh(cube().vertices, triangles).volume


def test_what_can_be_pickled() -> None:
    points = [[1.0, 1, 1], [11, 1, 1]]
    mesh = pickle.loads(pickle.dumps(EVIL))
    assert mesh.name == EVIL.name and mesh.triangles.tolist() == EVIL.triangles.tolist()
    locator = geodomain.PointLocator(cube().to_pyvista(), threads=2)
    assert pickle.loads(pickle.dumps(locator)).contains(points).tolist() == [True, False]
    with geodomain.SegmentIntersector(cube(), strategy="brute") as intersector:
        again = pickle.loads(pickle.dumps(intersector))
    with again:
        assert again.intersect((points, [[5, 5, 50], [50, 5, 50]])).tolist() == [True, False]
    for domains in (Domains((SOLID,), (STACK,)), SOLID, STACK):
        assert repr(pickle.loads(pickle.dumps(domains))) == repr(domains)
    winding = geodomain.generalised_winding(roofless(), points)
    assert isinstance(winding, geodomain.Winding)
    assert pickle.loads(pickle.dumps(winding)).inside.tolist() == winding.inside.tolist()
    assert repr(pickle.loads(pickle.dumps(HITS))) == repr(HITS)
    report = pickle.loads(pickle.dumps(geodomain.check(cube())))
    assert report.closed
