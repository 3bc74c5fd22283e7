"""Shares of domains in blocks: by volume against fractions, along lines against fractions."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from bodies import estimate
from common_shares import exact_common, slab
from late import pandas
from lattice_of_blocks import corners, lattice, shares, three
from line_shares import line_shares, places
from shapes import cube, joined, odd_on_purpose, star
from shares import exact_share
from sheets import sheet
from surfaces import reversed_mesh
from wireframes import box

import geodomain
from geodomain import Domain, Domains, GeodomainWarning, Stack
from geodomain.compute.meshes import line_places
from geodomain.volumes.shares import Shares

MINE = (414_000.3, 7_480_000.7, 310.1)


@pytest.mark.full
@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), MINE])
@pytest.mark.parametrize("order", ["first", "last"])
def test_shares_by_order_are_those_of_volumes(order, at) -> None:
    solids = three(at)
    domains = Domains(tuple(Domain(n, m) for n, m in solids.items()), order=order)
    blocks = lattice(np.subtract(at, (80, 60, 70)), np.add(at, (100, 90, 70)), (9, 8, 7))
    found = shares(blocks, domains, proportions="priority", lines=4)
    lows, highs = corners(blocks)
    alone = {
        n: geodomain.proportions(m, (lows + highs) / 2, highs - lows) for n, m in solids.items()
    }
    entered = np.stack([(one > 0) & (one < 1) for one in alone.values()]).sum(axis=0)
    several, single = np.flatnonzero(entered > 1), np.flatnonzero(entered == 1)
    assert len(several) > 40 and len(single) > 60 and (entered == 3).any()
    ranked = [*solids.values()] if order == "first" else [*solids.values()][::-1]
    for row in [*several[:: len(several) // 4], *np.flatnonzero(entered == 3)[:2]]:
        a, b, c, ab, ac, bc, abc = (
            float(exact_common(some, lows[row], highs[row]))
            for number in (1, 2, 3)
            for some in combinations(ranked, number)
        )
        wanted = [a, b - ab, c - ac - bc + abc]
        found_ranked = found[row] if order == "first" else found[row][::-1]
        np.testing.assert_allclose(found_ranked, wanted, atol=1e-12)
    ranked = "ABC" if order == "first" else "CBA"
    for row in single[:60]:
        left = 1.0
        for name in ranked:  # one of them parts the block, the others hold all of it or nothing
            own = min(left, float(alone[name][row]))
            assert found[row]["ABC".index(name)] == pytest.approx(own, abs=1e-15)
            left -= own
    assert (found.sum(axis=1) < 1 + 1e-12).all()


def test_shares_by_themselves_are_within_the_bound_of_volumes() -> None:
    solids = three(MINE)
    blocks = lattice(np.subtract(MINE, (80, 60, 70)), np.add(MINE, (100, 90, 70)), (9, 8, 7))
    found, (lows, highs) = shares(blocks, solids), corners(blocks)
    for place, mesh in enumerate(solids.values()):
        mixed = np.flatnonzero((found[:, place] > 0) & (found[:, place] < 1))
        for row in mixed[:25]:
            exact = exact_share(mesh, lows[row], highs[row])
            assert abs(float(found[row, place] - exact)) < 1e-11
        volume = found[:, place] @ (highs - lows).prod(axis=1)
        assert volume == pytest.approx(mesh.volume, rel=1e-9)


def hills(seed: int, height: float, name: str) -> geodomain.Mesh:
    rng = np.random.default_rng(seed)
    return sheet(rng.uniform(height - 2, height + 2, (7, 7)), 2.0, (-1.0, -1.0, 0.0), name)


@pytest.mark.filterwarnings("ignore:no row meets only_if")
@pytest.mark.full
@pytest.mark.parametrize("rule", ["erode", "onlap"])
def test_stacks_solids_conditions_and_sides(rule) -> None:
    tops = [hills(1, 7, "upper"), hills(2, 5.5, "lower")]
    domains = Domains(
        (
            Domain("ORE", star(3, (4, 3, 3), (5, 5, 6)), only_if={"rock": "OX"}),
            Domain("AIR", hills(3, 9, "ground"), kind="above"),
            Domain("FAR", star(2, (9, 9, 5), (5, 5, 5)), invert=True),
        ),
        (Stack(tops, ["cover", "middle", ""], rule=rule),),
    )
    blocks = lattice((0, 0, 0), (10, 10, 12), (5, 5, 6))
    blocks["rock"] = np.where(np.arange(len(blocks)) % 3, "OX", "FR")
    found = shares(blocks, domains, proportions="priority")
    itself = shares(blocks, domains)
    assert not itself[blocks["rock"] == "FR", 0].any() and itself[:, 0].max() == 1
    lows, highs = corners(blocks)
    names = [target.name for target in domains.targets]
    cut = np.flatnonzero((found.max(axis=1) > 1e-6) & (found.max(axis=1) < 1 - 1e-6))
    assert len(cut) > 60
    for row in cut[::8]:
        rock = {"rock": blocks["rock"][row]}
        wanted = line_shares(domains, lows[row], highs[row], 20, rock)  # 400 lines miss something
        assert abs(found[row] - [wanted.get(name, 0) for name in names]).max() < 0.006
    # Layers part what is below the upper surface and above the lower one.
    below = [
        geodomain.proportions(one, (lows + highs) / 2, highs - lows, kind="below") for one in tops
    ]
    apart = (below[0] == 1) | (below[1] == 0)
    np.testing.assert_allclose(itself[apart, 4], (below[0] - below[1])[apart], atol=1e-12)


def in_slabs(*slabs) -> dict[str, tuple[float, float]]:
    return {name: box((a, -1, -1), (b, 2, 2)) for name, a, b in slabs}


def test_two_and_three_that_meet_have_no_error() -> None:
    blocks = pandas.DataFrame({"X": [0.5], "Y": [0.5], "Z": [0.5]})
    solids = in_slabs(("A", -0.5, 0.3), ("B", 0.2, 0.7), ("C", 0.65, 0.66))
    for some, wanted in (("AB", [0.3, 0.4]), ("ABC", [0.3, 0.4, 0]), ("CBA", [0.01, 0.49, 0.2])):
        found = file_summary(blocks, {name: solids[name] for name in some}, lines=16)
        volumes = [part.proportion_volume for part in found.domains]
        assert volumes == pytest.approx(wanted, abs=1e-15)
        assert (found.shares.entered, found.shares.by_lines) == (1, 0)
        assert found.shares.estimated_error == 0
        # What rounding may be, of a block that is cut.
        rounding = [1e-9 if 0 < volume < 1 else 0 for volume in volumes]
        assert [part.proportion_error for part in found.domains] == rounding


def test_lines_are_corrected_by_what_is_known() -> None:
    blocks = pandas.DataFrame({"X": [0.5], "Y": [0.5], "Z": [0.5]})
    # Four slabs: shares by themselves are known, what they have in common is not.
    slabs = in_slabs(("A", 0.1234, 0.1247), ("B", -1, 0.5), ("C", 0.4, 0.9), ("D", 0.8, 3.0))
    exact = dict(zip("ABCD", (0.0013, 0.4987, 0.4, 0.1), strict=True))
    found = file_summary(blocks, slabs, lines=16)
    assert (found.shares.entered, found.shares.by_lines) == (1, 1)
    volumes = {part.name: part.proportion_volume for part in found.domains}
    assert volumes["A"] == pytest.approx(exact["A"], abs=1e-15)  # the first, and between two lines
    assert sum(volumes.values()) == pytest.approx(1, abs=1e-12)
    for part in found.domains:
        assert 0 <= part.proportion_volume <= 1
        assert abs(part.proportion_volume - exact[part.name]) <= part.proportion_error + 1e-15
    last = file_summary(blocks, Domains(tuple(Domain(*one) for one in slabs.items()), order="last"))
    by_name = {part.name: part.proportion_volume for part in last.domains}
    assert by_name["D"] == pytest.approx(0.2, abs=1e-15)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_the_error_holds_for_unions_and_shells_that_cross_themselves() -> None:
    """Four to six slabs, some of them together; tests/fuzz/bodies.py goes on for long."""
    told = Counter(estimate(np.random.default_rng((26, case))) for case in range(150))
    assert told["within the error"] >= 0.99 * (150 - told["by volume"]) > 90


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_the_error_is_at_least_the_true_one_in_nearly_all_blocks() -> None:
    rng = np.random.default_rng(99)
    blocks = pandas.DataFrame({"X": [0.5], "Y": [0.5], "Z": [0.5]})
    low, high = np.zeros((1, 3)), np.ones((1, 3))
    good, errors = 0, []
    for _ in range(100):
        solids = {}
        for name, thick in zip("ABCD", rng.choice([0.01, 0.1, 0.4], 4), strict=True):
            u, v, w = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            at = rng.uniform(0.3, 0.7, 3) - 4 * u - 4 * v - thick / 2 * w
            solids[name] = geodomain.Mesh(*slab(at, 8 * u, 8 * v, thick * w), name=name)
        # Exactly, by the parts that the kernel has of any number of bodies.
        bodies = [Shares(mesh, "solid", "parity", "cpu", 1) for mesh in solids.values()]
        parts = bodies[0].common(bodies[1:], low, high)[0]
        parts[0] = 1
        for place, mesh in enumerate(solids.values()):
            parts[1 << place] = geodomain.proportions(mesh, [[0.5] * 3], [1, 1, 1])[0]
        for place in range(4):
            halves = parts.reshape(-1, 2, 1 << place)
            halves[:, 0] -= halves[:, 1]
        first = [min((i for i in range(4) if bits >> i & 1), default=4) for bits in range(16)]
        exact = np.bincount(first, parts)[:4]
        found = file_summary(blocks, solids)
        assert found.shares.by_lines == 1
        off = abs(exact - [part.proportion_volume for part in found.domains])
        errors.append(off.max())
        assert off[0] < 1e-12
        good += bool(
            (off <= np.add([part.proportion_error for part in found.domains], 1e-12)).all()
        )
    assert good >= 99
    assert np.mean(errors) < 0.001


@odd_on_purpose
def test_the_error_is_that_of_a_sixth_of_the_lines() -> None:
    crossing = joined(box((-0.5, -1, -1), (0.3, 2, 2)), box((0.2, -2, -2), (0.7, 3, 3)))
    blocks = pandas.DataFrame({"X": [0.5], "Y": [0.5], "Z": [0.5]})
    found = file_summary(blocks, [Domain("A", crossing, rule="winding")], lines=16)
    inside = np.array([x < 0.7 for x, _ in places(16)])
    (part,) = found.domains
    assert part.proportion_volume == pytest.approx(inside.mean(), abs=1e-14)
    off = max(abs(inside[k::6].mean() - inside.mean()) for k in range(6))
    assert found.shares.estimated_error == pytest.approx(off, abs=1e-14)
    # And what lies between two lines.
    assert part.proportion_error == pytest.approx(np.hypot(off, 1 / 512) + 1e-9, abs=1e-14)
    assert abs(part.proportion_volume - 0.7) <= off


def test_no_line_is_on_an_edge_or_a_diagonal_of_the_block() -> None:
    for lines in range(2, 40):
        x, y = line_places(lines).T
        assert len(np.unique(x)) == len(np.unique(y)) == lines**2
        assert min(x.min(), y.min(), (1 - x).min(), (1 - y).min()) > 0
        assert (x != y).all() and (x + y != 1).all()
        below = [(y < x).mean(), (y < 1 - x).mean(), (y < 0.5).mean(), (x < 0.5).mean()]
        assert max(abs(share - 0.5) for share in below) < 2 / lines**1.5
        np.testing.assert_array_equal(np.column_stack([x, y]), places(lines))


def file_summary(blocks, solids, **options):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.csv"
        blocks.to_csv(path, index=False)
        return geodomain.label_file(
            path, solids, None, proportions="priority", dx=1, dy=1, dz=1, **options
        )


@pytest.mark.filterwarnings("ignore:1 block overlaps other blocks")
def test_meshes_of_one_domain_are_a_union() -> None:
    parts = [box((0, 0, 0), (0.5, 1, 1)), box((0.25, 0, 0), (0.75, 1, 1))]
    blocks = pandas.DataFrame({"X": [0.5, 1.5, 0.5], "Y": [0.5] * 3, "Z": [0.5, 0.5, 0.9]})
    found = shares(blocks, {"U": parts}, dx=1, dy=1, dz=1, lines=4)
    np.testing.assert_allclose(found[:, 0], [0.75, 0, 0.45], atol=1e-15)


@pytest.mark.filterwarnings("ignore:1 block overlaps other blocks")
def test_shells_count_by_the_rule() -> None:
    both = "same way as the shell around it"
    shells = joined(cube(4), cube(2, at=(1.0, 1.0, 1.0)))  # both face outwards
    blocks = pandas.DataFrame({"X": [2.0, 0.5], "Y": [2.0, 0.5], "Z": [2.0, 0.5]})
    with pytest.warns(GeodomainWarning, match=both):
        odd = shares(blocks, {"S": shells}, dx=3, dy=3, dz=3)[:, 0]
    # The second block is from -1 to 2, where the body has 2 a side and the hole 1.
    np.testing.assert_allclose(odd, [(27 - 8) / 27, (8 - 1) / 27], atol=1e-15)
    wound = shares(blocks, {"S": shells}, dx=3, dy=3, dz=3, rule="winding")[:, 0]
    np.testing.assert_allclose(wound, [1, 8 / 27], atol=1e-15)
    with pytest.warns(GeodomainWarning) as said:
        wrong = joined(cube(1), reversed_mesh(cube(1, at=(0.5, 0.0, 0.0))))
        found = shares(blocks[:1] * 0 + 0.5, {"S": wrong}, dx=3, dy=3, dz=3, lines=2)
    assert any("cross or fold in 1 block" in str(one.message) for one in said)
    assert found[0, 0] == pytest.approx(1 / 27, abs=1 / 4)


def test_two_walls_that_meet_leave_nothing_between() -> None:
    solids = {"W": box((0, 0, 0), (1.3, 4, 4)), "E": box((1.3, 0, 0), (4, 4, 4))}
    blocks = lattice((0, 0, 0), (4, 4, 4), (4, 4, 4))
    both = shares(blocks, solids)
    np.testing.assert_allclose(both.sum(axis=1), 1, atol=1e-14)
    by_order = shares(blocks, solids, proportions="priority")
    np.testing.assert_allclose(by_order.sum(axis=1), 1, atol=1e-14)
    np.testing.assert_allclose(by_order, both, atol=1e-15)
    percent = shares(blocks, solids, percent=True)
    assert np.array_equal(percent, 100 * both)
