"""The volume of a wireframe, shell by shell."""

from __future__ import annotations

import pytest
from shapes import cube, joined
from surfaces import lidless, reversed_mesh, torus

import geodomain
from geodomain import GeodomainWarning, volume_report


def test_a_solid_has_its_volume_at_mine_coordinates() -> None:
    report = volume_report(cube(3.0, at=(414_000.1, 7_480_000.7, 150.3)))
    assert report.volume == pytest.approx(27, abs=1e-7) and report.area == pytest.approx(54)
    assert str(report) == "mesh: volume 27, area 54"
    assert volume_report(torus()).volume == pytest.approx(torus().volume)


@pytest.mark.parametrize("turn", [lambda mesh: mesh, reversed_mesh])
def test_a_void_is_subtracted_whichever_way_it_faces(turn) -> None:
    hollow = joined(cube(3.0), turn(cube(1.0, at=(1, 1, 1))))
    with pytest.warns(GeodomainWarning, match="void"):
        report = volume_report(hollow)
    assert report.volume == pytest.approx(26)
    assert [shell.counts for shell in report.shells] == ["added", "subtracted"]
    assert report.to_pandas()["volume"].tolist() == pytest.approx([27, 1])
    assert report.signed_volume == pytest.approx(28 if turn is not reversed_mesh else 26)
    assert str(report).splitlines()[2].split() == ["1", "12", "54", "27", "added"]
    assert "subtracted" in report._repr_html_()


def test_an_inward_shell_has_a_volume() -> None:
    report = volume_report(reversed_mesh(cube(3.0)))
    assert report.volume == pytest.approx(27) and report.signed_volume == pytest.approx(-27)


def test_separate_shells_add_up() -> None:
    report = volume_report(joined(cube(3.0), cube(1.0, at=(5, 0, 0))))
    assert report.volume == pytest.approx(28) and len(report.shells) == 2
    assert report.as_dict()["shells"][1]["triangles"] == 12


def test_a_mesh_without_a_volume_says_why() -> None:
    def note(mesh) -> str:
        report = volume_report(mesh)
        assert report.volume is None and not report.shells
        assert report.note in repr(report)
        return report.note

    assert note(lidless()).startswith("it is not closed: 4 of its edges")
    assert note(geodomain.Mesh([], [])) == "it has no triangles"
    assert "copies cancel" in note(joined(cube(), cube()))
    with pytest.warns(GeodomainWarning, match="overlapping"):
        assert "cross" in note(joined(cube(3.0), cube(3.0, at=(1, 1, 1))))


def test_wrong_types_are_refused() -> None:
    with pytest.raises(TypeError, match="not int"):
        volume_report(3)
