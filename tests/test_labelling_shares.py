"""Shares of domains in blocks: by volume against fractions, along lines against fractions."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from line_shares import line_shares
from shapes import cube, joined, star
from shares import exact_share
from sheets import sheet
from surfaces import reversed_mesh
from wireframes import box

import geodomain
from geodomain import Domain, Domains, GeodomainWarning, Stack, proportions_blocks

MINE = (414_000.3, 7_480_000.7, 310.1)


def lattice(low, high, counts) -> pandas.DataFrame:
    """Return the blocks of a lattice, x slowest."""
    edges = [np.linspace(a, b, n + 1) for a, b, n in zip(low, high, counts, strict=True)]
    middles = np.meshgrid(*[(e[1:] + e[:-1]) / 2 for e in edges], indexing="ij")
    sizes = np.meshgrid(*[np.diff(e) for e in edges], indexing="ij")
    names = ("X", "Y", "Z", "DX", "DY", "DZ")
    return pandas.DataFrame({n: v.ravel() for n, v in zip(names, [*middles, *sizes], strict=True)})


def corners(blocks: pandas.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    centres, sizes = blocks[["X", "Y", "Z"]].to_numpy(), blocks[["DX", "DY", "DZ"]].to_numpy()
    return centres - sizes / 2, centres + sizes / 2


def shares(blocks, domains, **options) -> np.ndarray:
    """Return the shares (n, k)."""
    found = proportions_blocks(blocks, domains, **options)
    return found[[name for name in found if name.startswith(("prop_", "pct_"))]].to_numpy()


def three(at=(0.0, 0.0, 0.0)) -> dict:
    at = np.asarray(at)
    return {
        "A": star(3, (60, 50, 40), at),
        "B": star(4, (50, 60, 40), at + np.array([35, 10, 5])),
        "C": star(3, (30, 30, 60), at + np.array([-20, 30, 0])),
    }


@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), MINE])
@pytest.mark.parametrize("order", ["first", "last"])
def test_shares_by_order_are_those_of_lines_or_of_volumes(order, at) -> None:
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
    assert len(several) > 40 and len(single) > 60
    for row in several[:40]:
        wanted = line_shares(domains, lows[row], highs[row], 4)
        np.testing.assert_allclose(found[row], [wanted.get(n, 0.0) for n in "ABC"], atol=1e-11)
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


@pytest.mark.parametrize("rule", ["erode", "onlap"])
def test_stacks_solids_conditions_and_sides_along_lines(rule) -> None:
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
    found = shares(blocks, domains, proportions="priority", lines=4)
    itself = shares(blocks, domains, lines=4)
    assert not itself[blocks["rock"] == "FR", 0].any() and itself[:, 0].max() == 1
    lows, highs = corners(blocks)
    names = [target.name for target in domains.targets]
    cut = np.flatnonzero((found.max(axis=1) > 1e-6) & (found.max(axis=1) < 1 - 1e-6))
    along = 0
    for row in cut[::4]:
        rock = {"rock": blocks["rock"][row]}
        wanted = line_shares(domains, lows[row], highs[row], 4, rock)
        off = abs(found[row] - [wanted.get(name, 0) for name in names]).max()
        along += off < 1e-12
        # One wireframe parts the block alone, and lines miss something of its volume.
        assert off < 1e-12 or (off < 0.08 and len(wanted) <= 2)
    assert along > len(cut[::4]) / 2 > 5
    # Layers part what is below the upper surface and above the lower one.
    below = [
        geodomain.proportions(one, (lows + highs) / 2, highs - lows, kind="below") for one in tops
    ]
    apart = (below[0] == 1) | (below[1] == 0)
    np.testing.assert_allclose(itself[apart, 4], (below[0] - below[1])[apart], atol=1e-12)


def test_the_error_is_that_of_half_the_lines_or_of_lines_and_volumes() -> None:
    solids = {"A": box((0, 0, 0), (0.3, 1, 1)), "B": box((0.2, 0, 0), (0.7, 1, 1))}
    blocks = pandas.DataFrame({"X": [0.5], "Y": [0.5], "Z": [0.5]})
    with pytest.warns(GeodomainWarning, match="than its wireframe"):
        found = file_summary(blocks, solids, lines=16)
    # Lines are at 1/32, 3/32, ..: 5 of 16 have x below 0.3, 6 more below 0.7; of 8, 2 and 4.
    assert [part.proportion_volume for part in found.domains] == [5 / 16, 6 / 16]
    assert found.shares.entered == found.shares.by_lines == 1
    assert found.shares.estimated_error == 4 / 8 - 6 / 16
    assert [part.proportion_error for part in found.domains] == pytest.approx([1 / 16, 0.125])


def file_summary(blocks, solids, **options):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.csv"
        blocks.to_csv(path, index=False)
        return geodomain.label_file(
            path, solids, None, proportions="priority", dx=1, dy=1, dz=1, **options
        )


def test_meshes_of_one_domain_are_a_union() -> None:
    parts = [box((0, 0, 0), (0.5, 1, 1)), box((0.25, 0, 0), (0.75, 1, 1))]
    blocks = pandas.DataFrame({"X": [0.5, 1.5, 0.5], "Y": [0.5] * 3, "Z": [0.5, 0.5, 0.9]})
    found = shares(blocks, {"U": parts}, dx=1, dy=1, dz=1, lines=4)
    np.testing.assert_allclose(found[:, 0], [0.75, 0, 0.45], atol=1e-15)


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
    assert any("1 block in which" in str(one.message) for one in said)
    assert found[0, 0] == pytest.approx(1 / 27, abs=1 / 4)


def test_two_walls_that_meet_leave_nothing_between() -> None:
    solids = {"W": box((0, 0, 0), (1.3, 4, 4)), "E": box((1.3, 0, 0), (4, 4, 4))}
    blocks = lattice((0, 0, 0), (4, 4, 4), (4, 4, 4))
    both = shares(blocks, solids)
    np.testing.assert_allclose(both.sum(axis=1), 1, atol=1e-14)
    by_order = shares(blocks, solids, proportions="priority")
    np.testing.assert_allclose(by_order.sum(axis=1), 1, atol=1e-14)
    assert abs(both - by_order).max() <= 1 / 32
    percent = shares(blocks, solids, percent=True)
    assert np.array_equal(percent, 100 * both)
