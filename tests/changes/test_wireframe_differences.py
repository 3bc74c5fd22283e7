"""Differences of wireframes, against areas that are known, random points and sampled distances."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from shapes import joined, star
from wireframes import box, roofless

from geodomain import Mesh, contains, distances, write_mesh
from geodomain.changes.wireframe_differences import (
    greatest_distance,
    overlap_volume,
    wireframe_difference,
)
from geodomain.cli import main


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


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_a_void_may_face_either_way() -> None:
    ore, void = box((0, 0, 0), (10, 10, 10)), box((4, 4, 4), (7, 7, 7))
    result = wireframe_difference(joined(ore, inside_out(void)), joined(ore, void))
    assert [round(each.volume, 9) for each in result.shells] == [973, 973]
    assert result.gained == result.lost == 0
    assert not result.is_same and result.turned_triangles == 12
    assert "24 of 24 triangles are the same, and 12 of these face the other way" in str(result)


def test_a_triangle_that_occurs_twice_is_one_pair() -> None:
    cube = box((0, 0, 0), (1, 1, 1))
    old, new = (
        Mesh(cube.vertices, np.concatenate([cube.triangles, cube.triangles[place : place + 1]]))
        for place in (0, 1)
    )
    result = wireframe_difference(old, new)
    assert result.same_triangles == 12 and not result.is_same
    assert "it has edges with an odd number of triangles" in result.note


def test_a_triangle_that_is_gone_is_told() -> None:
    cube = box((0, 0, 0), (1, 1, 1))
    result = wireframe_difference(cube, Mesh(cube.vertices, cube.triangles[1:]))
    assert "11 of 12 old and 11 new triangles are the same" in result.sentence


@pytest.mark.parametrize("seed", range(3))
def test_overlaps_of_stars_agree_with_random_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = star(6)
    second = Mesh(first.vertices * rng.uniform(0.8, 1.2, 3) + rng.normal(0, 15, 3), first.triangles)
    low = np.minimum(first.bounds[0], second.bounds[0])
    high = np.maximum(first.bounds[1], second.bounds[1])
    points = rng.uniform(low, high, (400_000, 3))
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
    assert done.exit_code == 0 and "gained 200, lost 0; greatest distance 2" in done.stdout
    table = (tmp_path / "t.csv").read_text().splitlines()
    assert table[0] == "version,shell,triangles,volume,changed,x,y,z" and len(table) == 3
    values = json.loads(CliRunner().invoke(main, ["diff", str(old), str(new), "--json"]).stdout)
    assert values["kind"] == "wireframe" and values["gained"] == pytest.approx(200)
