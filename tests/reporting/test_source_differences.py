"""Differences of wireframes and of lists of domains."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from shapes import joined, star
from wireframes import box, roofless

from geodomain import Domain, Domains, Mesh, Stack, diff, write_mesh
from geodomain.cli import main
from geodomain.reporting.source_differences import (
    domains_difference,
    greatest_distance,
    overlap_volume,
    wireframe_difference,
)

# --- Wireframes.


def inside_out(mesh: Mesh) -> Mesh:
    return Mesh(mesh.vertices, mesh.triangles[:, ::-1], name=mesh.name)


def test_boxes_gain_and_lose_what_does_not_overlap() -> None:
    old, new = box((0, 0, 0), (10, 10, 10)), box((2, 0, 0), (13, 10, 9))
    result = wireframe_difference(old, new)
    assert result.gained == pytest.approx(3 * 10 * 9, rel=1e-12)
    assert result.lost == pytest.approx(2 * 100 + 8 * 10, rel=1e-12)
    assert result.new_volume - result.old_volume == pytest.approx(result.gained - result.lost)
    assert result.from_new.distance == pytest.approx(3) and result.from_new.place[0] == 13
    assert result.from_old.distance == pytest.approx(3) and result.from_old.place[0] == 10


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_each_shell_with_its_voids() -> None:
    """The first shell has a void, the second is new, and the third is gone."""
    ore = box((0, 0, 0), (10, 10, 10))
    void = inside_out(box((4, 4, 4), (6, 6, 6)))
    old = joined(ore, void, box((30, 0, 0), (32, 2, 2)))
    new = joined(box((20, 0, 0), (23, 1, 1)), ore)
    result = wireframe_difference(old, new)
    rows = [
        (each.version, each.shell, round(each.volume, 9), round(each.changed, 9))
        for each in result.shells
    ]
    assert rows == [("old", 1, 992, 0), ("old", 2, 8, 8), ("new", 1, 3, 3), ("new", 2, 1000, 8)]
    assert (round(result.gained, 9), round(result.lost, 9)) == (11, 8)
    assert result.same_triangles == 12 and not result.is_same


@pytest.mark.parametrize("seed", range(3))
def test_overlaps_of_stars_agree_with_random_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = star(6)
    second = Mesh(first.vertices * rng.uniform(0.8, 1.2, 3) + rng.normal(0, 15, 3), first.triangles)
    low = np.minimum(first.bounds[0], second.bounds[0])
    high = np.maximum(first.bounds[1], second.bounds[1])
    points = rng.uniform(low, high, (400_000, 3))
    from geodomain import contains

    both = (contains(first, points) & contains(second, points)).mean()
    volume = float((high - low).prod())
    error = 5 * volume * np.sqrt(both * (1 - both) / len(points))
    assert overlap_volume(first, second) == pytest.approx(both * volume, abs=error)
    assert overlap_volume(first, first) == pytest.approx(first.volume, rel=1e-12)


def test_overlaps_at_mine_coordinates() -> None:
    shift = np.array([414_000.0, 7_480_000.0, 300.0])
    first = star(5)
    second = Mesh(first.vertices + np.array([8.25, -3.5, 2.0]), first.triangles)
    there = [Mesh(mesh.vertices + shift, mesh.triangles) for mesh in (first, second)]
    assert overlap_volume(*there) == pytest.approx(overlap_volume(first, second), rel=1e-7)


def test_the_greatest_distance_has_a_proven_bound() -> None:
    rng = np.random.default_rng(1)
    first = star(4)
    second = Mesh(first.vertices + rng.normal(0, 3, first.vertices.shape), first.triangles)
    far = greatest_distance(second, first)
    corners = second.vertices[second.triangles]
    weights = rng.dirichlet([1, 1, 1], (len(corners), 200))
    points = np.einsum("tkc,tcx->tkx", weights, corners).reshape(-1, 3)
    from geodomain import distances

    sampled = distances(first, points).max()
    assert sampled <= far.bound and far.distance <= far.bound <= far.distance * 1.001
    assert far.distance >= sampled * 0.999
    assert np.linalg.norm(np.subtract(far.place, far.nearest)) == pytest.approx(far.distance)


def test_a_far_point_inside_a_triangle_is_found() -> None:
    """All corners of the long triangle are on the other mesh, and its middle is far from it."""
    bridge = Mesh([[0, 0, 0], [100, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    ends = Mesh(
        [[0, 0, 0], [0, 1, 0], [-1, 0, 0], [100, 0, 0], [101, 0, 0], [100, 1, 0]],
        [[0, 1, 2], [3, 4, 5]],
    )
    far = greatest_distance(bridge, ends)
    assert 49.9 < far.distance <= far.bound < 50.1


def test_triangles_in_another_order_are_the_same() -> None:
    mesh = star(3)
    other = Mesh(mesh.vertices[::-1], (len(mesh.vertices) - 1 - mesh.triangles)[::-1, [1, 2, 0]])
    result = wireframe_difference(mesh, other)
    assert result.is_same and result.farthest is None and "same triangles" in result.sentence
    assert (result.gained, result.lost) == (0, 0)


def test_open_meshes_have_distances_only() -> None:
    result = wireframe_difference(box((0, 0, 0), (10, 10, 10)), roofless())
    assert result.gained is None and "not closed" in result.note
    incircle = 10 - np.sqrt(50)  # of the missing triangle
    assert result.from_old.distance == pytest.approx(incircle, rel=2e-3)
    assert result.from_old.distance <= incircle <= result.from_old.bound
    assert result.from_new is None  # each of its triangles is in the box


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_shells_that_cross_have_no_volume() -> None:
    crossing = joined(box((0, 0, 0), (10, 10, 10)), box((5, 5, 5), (15, 15, 15)))
    result = wireframe_difference(crossing, box((0, 0, 0), (10, 10, 10)))
    assert result.gained is None and "cross" in result.note


def test_the_command_compares_wireframes(tmp_path: Path) -> None:
    old, new = tmp_path / "january.stl", tmp_path / "march.stl"
    write_mesh(box((0, 0, 0), (10, 10, 10)), old)
    write_mesh(box((0, 0, 0), (10, 10, 12)), new)
    done = CliRunner().invoke(main, ["diff", str(old), str(new), "-o", str(tmp_path / "t.csv")])
    assert done.exit_code == 0 and "gained 200, lost 0; greatest distance 2" in done.stderr
    table = (tmp_path / "t.csv").read_text().splitlines()
    assert table[0] == "version,shell,triangles,volume,changed,x,y,z" and len(table) == 3
    values = json.loads(CliRunner().invoke(main, ["diff", str(old), str(new), "--json"]).stdout)
    assert values["kind"] == "wireframe" and values["gained"] == pytest.approx(200)


# --- Lists of domains.


def listed() -> list[Domain]:
    return [
        Domain("DYKE", box((0, 0, 0), (4, 4, 4), name="dyke.stl"), code=1),
        Domain("ORE", box((2, 2, 2), (9, 9, 9), name="ore.stl"), code=2),
        Domain("FAR", box((50, 50, 50), (60, 60, 60), name="far.stl"), code=3),
    ]


def changes(old: Domains, new: Domains) -> list[tuple[str, str, str]]:
    result = domains_difference(old, new)
    return [(each.domain, each.key, each.effect) for each in result.changes]


def test_equal_lists() -> None:
    result = domains_difference(Domains(listed()), Domains(listed()))
    assert result.is_same and not result.changes and "list the same domains" in str(result)


def test_priority_is_told_where_it_matters() -> None:
    dyke, ore, far = listed()
    old = Domains([dyke, ore, far])
    assert changes(old, Domains([ore, dyke, far])) == [("ORE", "priority", "labels")]
    assert changes(old, Domains([dyke, far, ore])) == [("FAR", "priority", "nothing")]
    assert changes(old, Domains([far, ore, dyke], order="last")) == []


def test_settings_and_keys() -> None:
    old = Domains(listed(), background="WASTE", background_code=9)
    units = listed()
    units[0] = dataclasses.replace(units[0], code=5, colour="#112233")
    units[1] = dataclasses.replace(units[1], only_if={"au": {">=": 1}})
    new = Domains(units, background="ROCK", background_code=9, proportions="priority")
    assert changes(old, new) == [
        ("", "proportions", "shares"),
        ("", "background", "labels"),
        ("DYKE", "code", "codes"),
        ("DYKE", "colour", "pictures"),
        ("ORE", "only_if", "labels"),
    ]
    text = str(domains_difference(old, new))
    assert "ORE: only_if was not set, and is 'au >= 1' now" in text
    assert "background was 'WASTE', and is 'ROCK' now" in text


def test_domains_that_come_and_go_and_meshes() -> None:
    dyke, ore, far = listed()
    moved = Domain("ORE", box((2, 2, 2), (9, 9, 10), name="ore.stl"), code=2)
    vein = Domain("VEIN", box((1, 1, 1), (2, 2, 2), name="vein.stl"))
    result = domains_difference(Domains([dyke, ore, far]), Domains([vein, dyke, moved]))
    assert [(each.domain, each.key) for each in result.changes] == [
        ("FAR", "removed"), ("VEIN", "added"), ("ORE", "mesh")
    ]  # fmt: skip
    assert "gained 49, lost 0" in str(result)
    assert [each.gained for each in result.wireframes] == [pytest.approx(49)]


def test_a_renamed_mesh_changes_nothing() -> None:
    old, new = (Domains([Domain("A", box((0, 0, 0), (1, 1, 1), name=n))]) for n in ("a", "b"))
    result = domains_difference(old, new)
    assert result.is_same and "is called b now, and is the same" in str(result)


def test_stacks() -> None:
    def sheet(z: float, name: str) -> Mesh:
        return Mesh([[0, 0, z], [9, 0, z], [9, 9, z], [0, 9, z]], [[0, 1, 2], [0, 2, 3]], name=name)

    old = Domains(stacks=[Stack([sheet(5, "top")], ["AIR", "ROCK"])])
    new = Domains(stacks=[Stack([sheet(6, "top")], ["AIR", "ROCK"], extend="nearest")])
    assert changes(old, new) == [
        ("the stack AIR / ROCK", "extend", "labels"), ("the stack AIR / ROCK", "mesh", "labels")
    ]  # fmt: skip


def test_the_command_compares_lists(tmp_path: Path) -> None:
    write_mesh(box((0, 0, 0), (1, 1, 1)), tmp_path / "a.stl")
    for name, more in (("old.toml", ""), ("new.toml", "invert = true\n")):
        text = f'[[domain]]\nname = "A"\nmesh = "a.stl"\n{more}'
        (tmp_path / name).write_text(text)
    words = ["diff", str(tmp_path / "old.toml"), str(tmp_path / "new.toml")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0 and "A: invert was 'false', and is 'true' now" in done.stdout
    values = json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)
    assert values["kind"] == "domains" and values["changes"][0]["effect"] == "labels"
    assert diff(*words[1:]).is_same is False
