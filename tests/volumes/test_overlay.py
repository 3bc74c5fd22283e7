"""What two and three bodies have in common in a block: against fractions, and by conservation."""

from __future__ import annotations

import numpy as np
import pytest
from common_shares import convex_common, exact_common, slab
from late import pandas
from lattice_of_blocks import lattice
from shapes import cube, cube_in_six, joined, odd_on_purpose, star
from shares import exact_share
from sheets import sheet

import geodomain
from geodomain import Domain, Domains, Mesh, proportions, proportions_blocks, synthetic
from geodomain.compute.meshes import common_shares
from geodomain.volumes.shares import Shares

MINE = np.array([414_000.3, 7_480_000.7, 310.1])


def common(meshes, lows, highs, kinds=(), rule="parity", threads=1) -> np.ndarray:
    """Return the shares of all sets of bodies."""
    kinds = kinds or ["solid"] * len(meshes)
    first, *others = (
        Shares(mesh, kind, rule, "cpu", threads) for mesh, kind in zip(meshes, kinds, strict=True)
    )
    return first.common(others, np.asarray(lows, float), np.asarray(highs, float))


@pytest.mark.full
@pytest.mark.parametrize("at", [np.zeros(3), MINE])
def test_stars_in_random_blocks_against_fractions(at) -> None:
    rng = np.random.default_rng(7)
    meshes = [
        star(1, (60, 50, 40), at), star(1, (50, 60, 40), np.add(at, (35, 10, 5))),
        star(1, (30, 30, 60), np.add(at, (-20, 30, 0))),
    ]  # fmt: skip
    mixed = 0
    for _ in range(20):
        low = at + rng.uniform(-40, 40, 3)
        high = low + rng.uniform(5, 30, 3)
        found = common(meshes, [low], [high])[0]
        for bits in (3, 5, 6, 7):
            some = [mesh for i, mesh in enumerate(meshes) if bits >> i & 1]
            exact = exact_common(some, low, high)
            assert abs(float(found[bits] - exact)) < 1e-12
            mixed += 0 < exact < 1
    assert mixed > 25


@pytest.mark.full
def test_a_solid_and_a_surface_and_two_surfaces() -> None:
    rng = np.random.default_rng(3)
    sheets = [sheet(rng.uniform(h - 2, h + 2, (7, 7)), 2.0, (-1.0, -1.0, 0.0)) for h in (7, 6.5)]
    meshes = [star(1, (4, 3, 3), (5, 5, 6)), *sheets]
    kinds = ["solid", "below", "below"]
    for _ in range(10):
        low = rng.uniform(0, 7, 3)
        high = low + rng.uniform(0.5, 3, 3)
        found = common(meshes, [low], [high], kinds)[0]
        for bits in (3, 5, 6, 7):
            some = [mesh for i, mesh in enumerate(meshes) if bits >> i & 1]
            assert abs(float(found[bits] - exact_common(some, low, high))) < 1e-13


def test_bodies_that_touch_or_are_the_same() -> None:
    six = cube_in_six()
    lows, highs = (
        np.array([[0.0, 0, 0], [0.25, 0.125, 0.5]]),
        np.array([[1.0, 1, 1], [1.5, 1, 0.75]]),
    )
    for i, one in enumerate(six):
        for j, other in enumerate(six):
            found = common([one, other], lows, highs)[:, 3]
            wanted = [
                exact_share(one, *ends) if i == j else 0 for ends in zip(lows, highs, strict=True)
            ]
            np.testing.assert_allclose(found, np.array(wanted, float), atol=1e-15)
    whole = common([six[0], cube(1)], lows, highs)[:, 3]
    wanted = [float(exact_share(six[0], *ends)) for ends in zip(lows, highs, strict=True)]
    np.testing.assert_allclose(whole, wanted, atol=1e-15)


def test_slanted_faces_that_coincide_are_not_counted_twice() -> None:
    """Rounding alone tells which of equal planes is lower; the parts still fill what they part."""
    rng = np.random.default_rng(48)
    for at in (np.zeros(3), MINE):
        for _ in range(12):
            u, v, w = np.linalg.qr(rng.normal(size=(3, 3)))[0] * rng.uniform(1, 9, (3, 1))
            corners, rows = slab(rng.uniform(-3, 0, 3) + at, u, v, w)
            one = Mesh(corners, rows)
            middle = len(corners)
            finer = np.vstack([corners, corners[rows[::2]].mean(axis=1)])  # nearly in the planes
            fans = [
                (row[k], row[k - 2], middle + n)
                for n, row in enumerate(rows[::2])
                for k in range(3)
            ]
            other = Mesh(finer, [*rows[1::2].tolist(), *fans])
            low = at + rng.uniform(-2, 1, 3)
            high = low + rng.choice([0.5, 1.0, 2.0], 3)
            alone = [float(exact_share(mesh, low, high)) for mesh in (one, other)]
            assert abs(common([one, one], [low], [high])[0, 3] - alone[0]) < 1e-12
            assert abs(common([one, one, one], [low], [high])[0, 7] - alone[0]) < 1e-12
            assert abs(common([one, other], [low], [high])[0, 3] - alone[0]) < 1e-8
            assert abs(alone[0] - alone[1]) < 1e-8
    heights = rng.uniform(-1, 1, (9, 9))
    lower = sheet(heights, 1.0, (-4.0, -4.0, 0.0))
    heights[4:] += 0.5  # two contacts that are one surface in half of the model
    upper = sheet(heights, 1.0, (-4.0, -4.0, 0.0))
    for _ in range(12):
        low = rng.uniform(-3, 2, 3)
        high = low + rng.uniform(0.3, 2, 3)
        share = float(exact_share(lower, low, high))
        found = common([lower, upper], [low], [high], ["below", "below"])[0, 3]
        assert abs(found - share) < 1e-12


def ridge(x, y) -> np.ndarray:
    """Return heights of two planes that meet in a line across the triangles."""
    return np.asarray(4 + np.minimum(0.25 * x - 0.125 * y, 1.5 - 0.375 * x + 0.0625 * y))


def lidded(roof: Mesh, floor: float) -> Mesh:
    """Return the solid between a square sheet and a level."""
    count, down = round(len(roof.vertices) ** 0.5), len(roof.vertices)
    index = np.arange(down).reshape(count, count)
    rim = np.concatenate([index[:-1, 0], index[-1, :-1], index[:0:-1, -1], index[0, :0:-1]])
    after = np.roll(rim, -1)
    walls = [np.stack([rim, rim + down, after], 1), np.stack([rim + down, after + down, after], 1)]
    base = roof.vertices * (1, 1, 0) + (0, 0, floor)
    rows = [roof.triangles, roof.triangles[:, ::-1] + down, *walls]
    return Mesh(np.concatenate([roof.vertices, base]), np.concatenate(rows))


def under(step: float, turned: bool, moved=None, floor=0.0) -> Mesh:
    """Return the solid below the ridge in 8 x 8; its roof may be moved, and cut the other way."""
    x, y = np.meshgrid(*[np.arange(0, 8.1, step)] * 2, indexing="ij")
    heights = ridge(x, y)
    roof = sheet(heights if moved is None else moved(heights), step)
    if turned:
        (a, b, c), (_, _, d) = np.split(roof.triangles, 2)[0].T, np.split(roof.triangles, 2)[1].T
        rows = np.concatenate([np.stack([a, b, d], axis=1), np.stack([b, c, d], axis=1)])
        roof = Mesh(roof.vertices, rows)
    return lidded(roof, floor)


def by_ulps(heights: np.ndarray) -> np.ndarray:
    return heights + np.random.default_rng(5).integers(-1, 2, heights.shape) * np.spacing(heights)


MOVES = {
    "same": None,
    "ulp": by_ulps,
    "near": lambda h: h + np.random.default_rng(6).uniform(-1e-9, 1e-9, h.shape),
    "partly": lambda h: h + 0.25 * (np.arange(len(h)) > len(h) // 2)[:, None],
}


@pytest.mark.full
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("at", [np.zeros(3), MINE])
def test_roofs_that_lie_on_a_surface_with_other_triangles(move, at) -> None:
    rng = np.random.default_rng(26)
    steps = rng.permutation([0.5, 1.0, 2.0])
    x, y = np.meshgrid(np.arange(9.0), np.arange(9.0), indexing="ij")
    bodies = [sheet(ridge(x, y)), under(2.0, True, MOVES[move]), under(steps[0], False, floor=1)]
    bodies = [Mesh(body.vertices + at, body.triangles) for body in bodies]
    kinds = ["below", "solid", "solid"]
    mixed = 0
    for number in range(30):
        if number % 2:  # with faces and edges on those of triangles
            low = rng.integers((0, 0, 2), (6, 6, 5)).astype(float)
            high = low + rng.choice([0.5, 1.0, 2.0], 3)
        else:
            low = rng.uniform((0, 0, 2.5), (6, 6, 4))
            high = low + rng.uniform(0.3, 2, 3)
        low, high = low + at, high + at
        found = common(bodies, [low], [high], kinds)[0]
        for bits in (3, 5, 6, 7):
            some = [mesh for i, mesh in enumerate(bodies) if bits >> i & 1]
            exact = exact_common(some, low, high)
            assert abs(float(found[bits] - exact)) < 1e-12, (number, bits)
            mixed += 0 < exact < 1
        for i in (1, 2):
            alone = proportions(bodies[i], [(low + high) / 2], high - low)[0]
            middle, half = (low + high) / 2, (high - low) / 2
            exact = exact_share(bodies[i], middle - half, middle + half)
            assert abs(float(alone - exact)) < 1e-12
    assert mixed > 40


@pytest.mark.parametrize("ulps", [-1, 1])
def test_a_face_nearly_level_with_the_roof_of_blocks_counts_once(ulps) -> None:
    # Clipping leaves a corner of its part beside the roof, and the others on it.
    rng = np.random.default_rng(8)
    for _ in range(40):
        roof = float(rng.choice([1.0, 4.0, 310.1]))
        heights = np.full((3, 3), roof)
        heights[tuple(rng.integers(0, 3, 2))] += ulps * np.spacing(roof)
        body = lidded(sheet(heights), roof - 1)
        low = np.array([*rng.uniform(0.05, 0.9, 2), roof - 0.5])
        high = np.array([*rng.uniform(1.0, 3.0, 2), roof])
        for top in (roof, np.nextafter(roof, 9999 * ulps)):
            high[2] = top
            middle, size = (low + high) / 2, high - low
            exact = exact_share(body, middle - size / 2, middle + size / 2)
            assert abs(float(proportions(body, [middle], size)[0] - exact)) < 1e-12


@odd_on_purpose
def test_holes_and_windings_are_taken_by_the_rule() -> None:
    shells = joined(cube(4), cube(2, at=(1.0, 1.0, 1.0)))
    other = cube(2, at=(1.5, 1.5, 1.5))
    low, high = [(0.0, 0, 0)], [(4.0, 4, 4)]
    assert common([shells, other], low, high, rule="winding")[0, 3] == pytest.approx(8 / 64)
    assert common([shells, other], low, high)[0, 3] == pytest.approx((8 - 1.5**3) / 64)


def test_the_bits_are_those_of_any_number_of_threads_and_order_of_triangles() -> None:
    meshes = [star(3, (60, 50, 40), MINE), star(3, (50, 60, 40), np.add(MINE, (35, 10, 5)))]
    blocks = lattice(MINE - 60, MINE + 90, (6, 6, 6))
    lows = blocks[["X", "Y", "Z"]].to_numpy() - blocks[["DX", "DY", "DZ"]].to_numpy() / 2
    highs = lows + blocks[["DX", "DY", "DZ"]].to_numpy()
    once = common(meshes, lows, highs)
    assert 0 < once[:, 3].max() <= 1
    assert (common(meshes, lows, highs, threads=3) == once).all()
    rng = np.random.default_rng(1)
    mixed = [Mesh(m.vertices, m.triangles[rng.permutation(len(m.triangles))]) for m in meshes]
    assert (common(mixed, lows, highs) == once).all()


def dyadic_frame(rng) -> np.ndarray:
    """Return three directions nearly at right angles, that short binary fractions make."""
    while True:
        turned = np.round(np.linalg.qr(rng.normal(size=(3, 3)))[0] * 64) / 64
        if abs(np.linalg.det(turned)) > 0.8:
            return turned


@pytest.mark.full
def test_a_thin_vein_has_its_volume_first_and_second_in_the_order() -> None:
    rng = np.random.default_rng(26)
    blocks = lattice((-30, -30, -30), (30, 30, 30), (6, 6, 6))
    for _ in range(30):
        frame, other = dyadic_frame(rng), dyadic_frame(rng)
        at = np.round(rng.uniform(-12, -8, 3) * 1024) / 1024
        thin = np.round(0.1 * 1024) / 1024
        vein = Mesh(*slab(at @ frame, 20 * frame[0], 22 * frame[1], thin * frame[2]), name="VEIN")
        ore = Mesh(*slab(at @ other - 1, 17 * other[0], 15 * other[1], 16 * other[2]), name="ORE")
        both = float(convex_common(vein, ore))
        for names in (("VEIN", "ORE"), ("ORE", "VEIN")):
            domains = {name: {"VEIN": vein, "ORE": ore}[name] for name in names}
            found = proportions_blocks(blocks, domains, proportions="priority")
            volume = blocks["DX"] * blocks["DY"] * blocks["DZ"]
            mixed = volume[((found[["prop_vein", "prop_ore"]] % 1) != 0).any(axis=1)].sum()
            wanted = {name: mesh.volume for name, mesh in domains.items()}
            wanted[names[1]] -= both
            for name, exact in wanted.items():
                measured = float((found[f"prop_{name.lower()}"] * volume).sum())
                assert abs(measured - exact) < 1e-9 * mixed
    assert both >= 0


def test_parts_of_a_block_add_up_to_it() -> None:
    solids = {
        "A": star(3, (60, 50, 40), MINE), "B": star(4, (50, 60, 40), np.add(MINE, (35, 10, 5))),
        "C": star(3, (30, 30, 60), np.add(MINE, (-20, 30, 0))),
    }  # fmt: skip
    blocks = lattice(np.subtract(MINE, (80, 60, 70)), np.add(MINE, (100, 90, 70)), (7, 6, 6))
    for order in ("first", "last"):
        units = [Domain(name, mesh) for name, mesh in solids.items()]
        rest = Domain("REST", [*solids.values()], invert=True)
        domains = Domains((*units, rest), order=order)
        found = proportions_blocks(blocks, domains, proportions="priority")
        parts = found[["prop_a", "prop_b", "prop_c", "prop_rest"]].to_numpy()
        np.testing.assert_allclose(parts.sum(axis=1), 1, atol=1e-14)
        assert parts.min() >= 0 and parts.max() <= 1
        first = {"first": "a", "last": "c"}[order]
        alone = proportions_blocks(blocks, {first.upper(): solids[first.upper()]})
        np.testing.assert_allclose(found[f"prop_{first}"], alone[f"prop_{first}"], atol=1e-15)
    union = proportions_blocks(blocks, [Domain("U", [*solids.values()])])["prop_u"]
    np.testing.assert_allclose(union, parts[:, :3].sum(axis=1), atol=1e-14)


@pytest.mark.parametrize("order", ["first", "last"])
def test_a_domain_first_in_the_order_has_by_priority_what_it_has_by_itself(order) -> None:
    # The roof of the oxide zone lies on the topography.
    deposit = synthetic.deposit("tiny")
    air = Domain("AIR", deposit.topography, kind="above")
    units = [air, Domain("OX", deposit.domains["OXIDE"])]
    domains = Domains(units if order == "first" else units[::-1], order=order)
    names = ["X", "Y", "Z", "DX", "DY", "DZ"]
    sizes = np.broadcast_to(deposit.regular.sizes, deposit.regular.centroids.shape)
    blocks = pandas.DataFrame(np.hstack([deposit.regular.centroids, sizes]), columns=names)
    found = proportions_blocks(blocks, domains, proportions="priority")
    alone = proportions_blocks(blocks, domains, proportions="itself")
    assert ((alone["prop_air"] > 0) & (alone["prop_air"] < 1)).sum() > 300
    np.testing.assert_allclose(found["prop_air"], alone["prop_air"], atol=1e-9, rtol=0)
    np.testing.assert_allclose(found["prop_ox"], alone["prop_ox"], atol=1e-9, rtol=0)


@pytest.mark.parametrize("off", [0.1, -0.3, 1e-8, 1e-11])
def test_volumes_that_contradict_each_other_are_not_used(monkeypatch, tmp_path, off) -> None:
    # Half of the block is in A and a quarter in B, which A contains.
    def wrong(*args):
        shares = common_shares(*args)
        shares[:, 3] = 0.25 + off if off > 0 else off
        return shares

    monkeypatch.setattr(geodomain.volumes.shares, "common_shares", wrong)
    path = tmp_path / "one.csv"
    path.write_text("X,Y,Z,DX,DY,DZ\n0.5,0.5,0.5,1,1,1\n")
    domains = [Domain("A", cube(9, (0.5, -4, -4))), Domain("B", cube(9, (0.75, -4, -4)))]
    found = geodomain.label_file(path, domains, tmp_path / "o.csv", proportions="priority")
    row = pandas.read_csv(tmp_path / "o.csv").iloc[0]
    assert row["prop_a"] == pytest.approx(0.5, abs=1e-15)
    assert found.shares.by_lines == (abs(off) > 1e-9)
    assert row["prop_b"] == pytest.approx(0, abs=1e-9)
