"""Differences of lists of domains."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from wireframes import box

from geodomain import Domain, Domains, Mesh, Stack, diff, label_points, write_mesh
from geodomain.changes.domain_differences import domains_difference
from geodomain.cli import main


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


def test_a_domain_with_another_name() -> None:
    dyke, ore, _ = listed()
    other = Domain("ORE_HG", ore.meshes, code=7)
    result = domains_difference(Domains([dyke, ore]), Domains([dyke, other]))
    assert [(each.domain, each.key, each.new) for each in result.changes] == [
        ("ORE", "name", "ORE_HG"), ("ORE", "code", "7")
    ]  # fmt: skip
    assert "ORE is called ORE_HG now, with the same meshes" in str(result)
    moved = domains_difference(Domains([dyke, ore]), Domains([other, dyke]))
    assert "DYKE came before ORE, and comes after it now: ORE labels the blocks in both" in str(
        moved
    )


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


def test_the_order_of_surfaces_and_the_names_of_layers() -> None:
    def sheet(z: float, name: str) -> Mesh:
        return Mesh([[0, 0, z], [9, 0, z], [9, 9, z], [0, 9, z]], [[0, 1, 2], [0, 2, 3]], name=name)

    top, base = sheet(5, "top"), sheet(3, "base")
    old = Domains(stacks=[Stack([top, base], ["AIR", "COAL", "ROCK"])])
    result = domains_difference(old, Domains(stacks=[Stack([base, top], ["AIR", "COAL", "ROCK"])]))
    assert not result.is_same and [each.key for each in result.changes] == ["mesh", "mesh"]
    assert "the mesh of surface 1 changed, top -> base" in str(result)
    renamed = Domains(stacks=[Stack([top, base], ["AIR", "LIGNITE", "ROCK"])])
    assert "is called the stack AIR / LIGNITE / ROCK now" in str(domains_difference(old, renamed))


def test_a_mesh_that_faces_the_other_way_can_change_labels() -> None:
    dyke, ore, _ = listed()
    turned = Mesh(ore.meshes[0].vertices, ore.meshes[0].triangles[:, ::-1], name="ore.stl")
    other = dataclasses.replace(ore, meshes=turned)
    assert changes(Domains([dyke, ore]), Domains([dyke, other])) == [("ORE", "mesh", "labels")]


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_lists_that_are_called_the_same_label_alike(seed: int) -> None:
    """Shuffled, renamed and turned lists, against the labels of random points."""
    rng = np.random.default_rng(seed)
    lows = rng.uniform(0, 7, (4, 3))
    units = [
        Domain(name, box(low, low + rng.uniform(1, 5, 3), name=name), keep=bool(rng.random() < 0.2))
        for name, low in zip("ABCD", lows, strict=True)
    ]
    old = Domains(units, order=rng.choice(["first", "last"]).item())
    new = Domains(
        [units[place] for place in rng.permutation(4)], order=rng.choice(["first", "last"]).item()
    )
    points = rng.uniform(-1, 12, (2000, 3))
    differ = (label_points(points, old) != label_points(points, new)).any()
    assert not (differ and domains_difference(old, new).is_same)


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
