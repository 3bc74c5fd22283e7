"""Shares through the GPU's host side with a stand-in driver, and on a GPU where there is one."""

from __future__ import annotations

import numpy as np
import pytest
from fake_gpu import eager, fake, small_buffers
from shapes import cube, joined, star

import geodomain
from geodomain import GeodomainWarning, Mesh, synthetic
from geodomain.compute.cuda import pipeline, shares

__all__ = ["eager", "fake", "small_buffers"]

MINE = (414_000.3, 7_480_000.7, 310.1)
RULES = ("parity", "winding")
odd_on_purpose = pytest.mark.filterwarnings("ignore:.*face the same way")


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make several parts of lattices and blocks, and several pieces of each."""
    monkeypatch.setattr(shares, "PART_BYTES", 20_000)
    monkeypatch.setattr(shares, "TOGETHER", 700)
    monkeypatch.setattr(pipeline, "_PIECE_BYTES", 3000)
    monkeypatch.setattr(pipeline, "_LEAST_BYTES", 3000)


def around(mesh: Mesh, counts: tuple[int, int, int], margin: float = 0.05) -> list[np.ndarray]:
    low, high = mesh.bounds
    wider = margin * (high - low)
    return [
        np.linspace(a, b, n + 1) for a, b, n in zip(low - wider, high + wider, counts, strict=True)
    ]


def uneven(edges: list[np.ndarray]) -> list[np.ndarray]:
    """Return edges of which some are left out."""
    kept = [np.random.default_rng(len(e)).random(len(e)) < 0.6 for e in edges]
    for keep in kept:
        keep[[0, -1]] = True
    return [e[keep] for e, keep in zip(edges, kept, strict=True)]


def some_blocks(mesh: Mesh, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of any size in and around a mesh, some without a centroid."""
    rng = np.random.default_rng(5)
    low, high = mesh.bounds
    span = high - low
    centres = low + (rng.random((count, 3)) * 1.3 - 0.15) * span
    sizes = span * 10.0 ** rng.uniform(-3, -0.7, (count, 3))
    centres[::97, 1] = np.nan
    return centres, sizes


def hill(n: int, at: tuple[float, float, float] = (0.0, 0.0, 0.0), fold: float = 0.0) -> Mesh:
    """Return an open sheet over [0, 10] x [0, 10], folded back over itself on request."""
    x, y = np.meshgrid(np.linspace(0, 10, n), np.linspace(0, 10, n), indexing="ij")
    z = 3 * np.sin(x / 2) + np.cos(y)
    x = x + fold * np.sin(z * 2)
    corner = np.arange(n * n).reshape(n, n)
    a, b, c, d = corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]
    faces = [np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, d, c], -1).reshape(-1, 3)]
    vertices = np.stack([x, y, z], -1).reshape(-1, 3) + np.asarray(at)
    return Mesh(vertices, np.concatenate(faces))


def nested() -> Mesh:
    return joined(cube(9.0), cube(6.0, (1, 1, 1)), cube(2.0, (3, 3, 3)))


def crossed() -> Mesh:
    return joined(cube(2.0), cube(2.0, (1, 0.5, 0.5)))


def solid(name: str) -> Mesh:
    return {
        "star": lambda: star(9),
        "mine": lambda: star(12, centre=MINE),
        "body": lambda: synthetic.star_shaped_orebody(frequency=24),
        "nested": nested,
        "cube": lambda: cube(7.0, (0.5, -0.25, 1 / 3)),
    }[name]()


@pytest.mark.usefixtures("fake", "small_parts")
@pytest.mark.parametrize("rule", RULES)
def test_parts_of_a_lattice_come_back_in_their_places(rule: str) -> None:
    mesh = star(6)
    edges = uneven(around(mesh, (23, 19, 90)))
    expected = geodomain.proportions_lattice(mesh, *edges, rule=rule, backend="cpu")
    found = geodomain.proportions_lattice(mesh, *edges, rule=rule, backend="cuda")
    np.testing.assert_array_equal(found, expected)
    assert ((expected > 0) & (expected < 1)).any()


@pytest.mark.usefixtures("fake", "small_parts")
@pytest.mark.parametrize("kind", ["solid", "below", "above"])
def test_blocks_come_back_in_their_places(kind: str) -> None:
    mesh = star(6) if kind == "solid" else hill(9)
    centres, sizes = some_blocks(mesh, 2000)
    expected = geodomain.proportions(mesh, centres, sizes, kind=kind, backend="cpu")
    found = geodomain.proportions(mesh, centres, sizes, kind=kind, backend="cuda")
    np.testing.assert_array_equal(found, expected)
    assert ((expected > 0) & (expected < 1)).sum() > 50


@pytest.mark.usefixtures("fake", "small_parts")
@pytest.mark.parametrize("kind", ["below", "above"])
def test_blocks_where_tiles_overlap_are_the_hosts(kind: str) -> None:
    mesh = joined(hill(9), hill(9, (6, 3, 1)), hill(40, (0, 12, 0), 0.9))
    centres, sizes = some_blocks(mesh, 2000)
    shares = []
    for backend in ("cpu", "cuda"):
        with pytest.warns(GeodomainWarning, match="triangles may cross or fold in [0-9]+ blocks"):
            shares.append(geodomain.proportions(mesh, centres, sizes, kind=kind, backend=backend))
    np.testing.assert_array_equal(*shares)
    assert ((shares[0] > 0) & (shares[0] < 1)).sum() > 50


@pytest.mark.filterwarnings("ignore:.*overlapping shells")
@pytest.mark.usefixtures("fake", "small_parts")
def test_blocks_along_lines_are_the_hosts() -> None:
    mesh = crossed()
    centres, sizes = some_blocks(mesh, 1500)
    with pytest.warns(GeodomainWarning, match="triangles may cross or fold in [0-9]+ blocks"):
        expected = geodomain.proportions(mesh, centres, sizes, backend="cpu")
    with pytest.warns(GeodomainWarning, match="triangles may cross or fold in [0-9]+ blocks"):
        found = geodomain.proportions(mesh, centres, sizes, backend="cuda")
    np.testing.assert_array_equal(found, expected)
    assert ((expected > 0) & (expected < 1)).sum() > 50


@pytest.mark.usefixtures("small_parts")
def test_without_memory_the_cpu_gives_the_same(fake) -> None:
    mesh = star(6)
    edges = around(mesh, (9, 8, 7))
    centres, sizes = some_blocks(mesh, 900)
    lattice = geodomain.proportions_lattice(mesh, *edges, backend="cpu")
    anywhere = geodomain.proportions(mesh, centres, sizes, backend="cpu")
    for call in ("geodomain_shares_shed", "geodomain_blocks_answer"):
        fake.fail_launch[call] = type(fake).MemoryError("out of memory")
    with pytest.warns(GeodomainWarning, match="not enough GPU memory for the shares of 9 x 8 x 7"):
        found = geodomain.proportions_lattice(mesh, *edges, backend="cuda")
    np.testing.assert_array_equal(found, lattice)
    with pytest.warns(GeodomainWarning, match="not enough GPU memory for the shares of 900 blocks"):
        found = geodomain.proportions(mesh, centres, sizes, backend="cuda")
    np.testing.assert_array_equal(found, anywhere)


@pytest.mark.usefixtures("eager")
def test_auto_asks_the_gpu_where_it_pays(fake) -> None:
    mesh = star(6)
    edges = around(mesh, (9, 8, 7))
    expected = geodomain.proportions_lattice(mesh, *edges, backend="cpu")
    np.testing.assert_array_equal(geodomain.proportions_lattice(mesh, *edges), expected)
    assert "geodomain_shares_settle" in fake.calls
    centres, sizes = some_blocks(mesh, 900)
    geodomain.proportions(mesh, centres, sizes)
    assert "geodomain_blocks_share" in fake.calls


@pytest.mark.filterwarnings("ignore:.*hardly any two columns")
@pytest.mark.usefixtures("eager", "fake")
def test_blocks_of_a_table_by_the_gpu() -> None:
    pandas = pytest.importorskip("pandas")
    mesh = star(6)
    centres, sizes = some_blocks(mesh, 600)
    table = pandas.DataFrame(
        np.hstack([centres, sizes]), columns=["XC", "YC", "ZC", "XINC", "YINC", "ZINC"]
    )
    asked = {"ORE": mesh}
    expected = geodomain.proportions_blocks(table, asked, backend="cpu")
    found = geodomain.proportions_blocks(table, asked, backend="cuda")
    pandas.testing.assert_frame_equal(found, expected, check_exact=True)


@odd_on_purpose
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["star", "mine", "body", "nested", "cube"])
def test_every_machine_gives_the_same_bits_of_a_lattice(name: str, rule: str, backend: str) -> None:
    mesh = solid(name)
    large = backend == "cuda"
    for counts in ((60, 50, 130), (3, 2, 1), (5, 200, 70)) if large else ((6, 5, 70), (3, 2, 1)):
        for edges in (around(mesh, counts), uneven(around(mesh, counts, -0.1))):
            found = geodomain.proportions_lattice(mesh, *edges, rule=rule, backend=backend)
            expected = geodomain.proportions_lattice(
                mesh, *edges, rule=rule, backend="cpu", threads=1
            )
            np.testing.assert_array_equal(found, expected)


def test_every_machine_gives_the_same_bits_of_walls_on_the_lattice(backend: str) -> None:
    mesh, axes = synthetic.staircase(112 if backend == "cuda" else 12)
    halves = [np.union1d(axis, (axis[1:] + axis[:-1]) / 2 + 0.25) for axis in axes]
    for edges in (axes, halves):
        found = geodomain.proportions_lattice(mesh, *edges, backend=backend)
        expected = geodomain.proportions_lattice(mesh, *edges, backend="cpu", threads=1)
        np.testing.assert_array_equal(found, expected)


def test_every_machine_gives_the_same_bits_in_parts(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "PART_BYTES", 100_000)
    mesh = star(9, centre=MINE)
    edges = around(mesh, (40, 30, 50))
    found = geodomain.proportions_lattice(mesh, *edges, backend=backend)
    expected = geodomain.proportions_lattice(mesh, *edges, backend="cpu", threads=1)
    np.testing.assert_array_equal(found, expected)


@odd_on_purpose
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["star", "mine", "body", "nested", "cube"])
def test_every_machine_gives_the_same_bits_of_blocks(name: str, rule: str, backend: str) -> None:
    mesh = solid(name)
    centres, sizes = some_blocks(mesh, 100_000 if backend == "cuda" else 1000)
    found = geodomain.proportions(mesh, centres, sizes, rule=rule, backend=backend)
    expected = geodomain.proportions(mesh, centres, sizes, rule=rule, backend="cpu")
    np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize("kind", ["above", "below"])
@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), MINE])
@pytest.mark.parametrize("fold", [0.0, 0.9])
def test_every_machine_gives_the_same_bits_of_surfaces(
    kind: str, at: tuple[float, float, float], fold: float, backend: str
) -> None:
    mesh = hill(60, at, fold)
    centres, sizes = some_blocks(mesh, 50_000 if backend == "cuda" else 1000)
    found = geodomain.proportions(mesh, centres, sizes, kind=kind, backend=backend)
    expected = geodomain.proportions(mesh, centres, sizes, kind=kind, backend="cpu")
    np.testing.assert_array_equal(found, expected)
    edges = around(mesh, (30, 30, 30) if backend == "cuda" else (5, 6, 7))
    np.testing.assert_array_equal(
        geodomain.proportions_lattice(mesh, *edges, kind=kind, backend=backend),
        geodomain.proportions_lattice(mesh, *edges, kind=kind, backend="cpu"),
    )


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize("rule", RULES)
def test_every_machine_gives_the_same_bits_where_shells_cross(rule: str, backend: str) -> None:
    mesh = crossed()
    centres, sizes = some_blocks(mesh, 20_000 if backend == "cuda" else 500)
    found = geodomain.proportions(mesh, centres, sizes, rule=rule, backend=backend)
    expected = geodomain.proportions(mesh, centres, sizes, rule=rule, backend="cpu")
    np.testing.assert_array_equal(found, expected)


def test_every_machine_gives_the_same_bits_of_blocks_on_walls(backend: str) -> None:
    """Blocks of a lattice, and parts of them."""
    mesh, axes = synthetic.staircase(112 if backend == "cuda" else 12)
    rng = np.random.default_rng(2)
    count = 100_000 if backend == "cuda" else 300
    steps = np.array([axis[1] - axis[0] for axis in axes])
    parts = 2.0 ** rng.integers(-2, 2, (count, 3))
    centres = np.stack([rng.choice(axis, count) for axis in axes], axis=1)
    for one, place in ((mesh, centres), (mesh, centres + steps / 4)):
        found = geodomain.proportions(one, place, steps * parts, backend=backend)
        expected = geodomain.proportions(one, place, steps * parts, backend="cpu")
        np.testing.assert_array_equal(found, expected)
