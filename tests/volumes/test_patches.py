"""Shares in meshes that cross themselves: from triangles where they do not, else along lines."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from shapes import star
from shares import exact_share

import geodomain
from geodomain import GeodomainWarning, Mesh
from geodomain.compute.api import BlockAnswer
from geodomain.volumes.shares import Shares, triangle_weights

pytestmark = pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
RULES = ("parity", "winding")
# Half-cells of a grid of 12 x 12 x 12.
MIDDLES = np.arange(24) / 2 + 0.25
Corners = tuple[tuple[float, float, float], ...]


def of_squares(squares: list[Corners], rng: np.random.Generator) -> Mesh:
    """Return squares cut in two along either diagonal, in any order."""
    vertices: dict[tuple[float, ...], int] = {}
    triangles = []
    for square in squares:
        a, b, c, d = np.roll([vertices.setdefault(p, len(vertices)) for p in square], rng.choice(4))
        triangles += [[a, b, c], [a, c, d]]
    return Mesh(np.array(list(vertices), float), rng.permutation(np.array(triangles)))


def box_squares(low, high, rng: np.random.Generator, *, inwards: bool) -> list[Corners]:
    """Return the walls of a box, cut at some of the planes between them."""
    cuts = [
        [a, *(v for v in range(a + 1, b) if rng.random() < 0.4), b]
        for a, b in zip(low, high, strict=True)
    ]
    squares = []
    for axis, end in itertools.product(range(3), (0, 1)):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        parts = itertools.product(itertools.pairwise(cuts[u]), itertools.pairwise(cuts[v]))
        for (u0, u1), (v0, v1) in parts:
            corners = []
            for at_u, at_v in ((u0, v0), (u1, v0), (u1, v1), (u0, v1)):
                point = [0.0] * 3
                point[axis], point[u], point[v] = cuts[axis][-end], at_u, at_v
                corners.append(tuple(point))
            squares.append(tuple(corners[:: 1 if (end == 1) != inwards else -1]))
    return squares


def inside(counts: np.ndarray, windings: np.ndarray, rule: str) -> np.ndarray:
    return (counts % 2 if rule == "parity" else windings != 0).astype(float)


def test_what_does_not_go_along_lines_is_exact() -> None:
    """Boxes of whole units that overlap, touch, coincide and face either way."""
    assert sum(compare_boxes(seed) for seed in range(12)) > 300


def compare_boxes(seed: int) -> int:
    """Return how many shares came from triangles."""
    rng = np.random.default_rng(seed)
    squares: list[Corners] = []
    counts, windings = np.zeros((2, 24, 24, 24), int)
    for _ in range(4):
        low = rng.integers(1, 7, 3)
        high, inwards = low + rng.integers(1, 5, 3), rng.random() < 0.25
        squares += box_squares(low.tolist(), high.tolist(), rng, inwards=bool(inwards))
        here = [(low[k] < MIDDLES) & (high[k] > MIDDLES) for k in range(3)]
        body = here[0][:, None, None] & here[1][:, None] & here[2]
        counts, windings = counts + body, windings + body * (-1 if inwards else 1)
    mesh = of_squares(squares, rng)
    first, size = rng.integers(0, 16, (80, 3)), rng.integers(1, 9, (80, 3))
    lows, highs = first / 2, (first + size) / 2
    total = 0
    for rule in RULES:
        full = inside(counts, windings, rule)
        shares = Shares(mesh, "solid", rule, "cpu", 1)
        found = np.full(80, np.nan)
        answers = shares.entered(lows, highs, found)
        exact = np.flatnonzero(answers == BlockAnswer.BY_TRIANGLES)
        total += len(exact)
        for row in exact:
            cells = tuple(slice(a, a + n) for a, n in zip(first[row], size[row], strict=True))
            assert found[row] == pytest.approx(full[cells].mean(), abs=1e-12)
        edges = [np.arange(13.0) - 0.5] * 3
        lattice = geodomain.proportions_lattice(mesh, *edges, rule=rule)
        centres = np.stack(np.meshgrid(*[np.arange(12.0)] * 3, indexing="ij"), -1).reshape(-1, 3)
        assert lattice.reshape(-1) == pytest.approx(
            geodomain.proportions(mesh, centres, [1, 1, 1], rule=rule), abs=1e-13
        )
    return total


def tube(*, shifted: bool) -> tuple[Mesh, list[set[tuple[int, ...]]]]:
    """Return one shell whose end passes through its beginning, and its cells in two layers.

    Walls cross along edges of both. With `shifted`, some of those edges have other ends.
    """

    def cells(x, y, z) -> set[tuple[int, ...]]:
        return set(itertools.product(range(*x), range(*y), range(*z)))

    layers = [
        cells((0, 10), (0, 2), (0, 2))
        | cells((8, 10), (0, 2), (0, 8))
        | cells((2, 10), (0, 3), (6, 8)),
        cells((3, 5), (1, 3), (-3, 6)),
    ]
    door = {(x, y) for x in (3, 4) for y in (1, 2)}
    squares = []
    for layer, own in enumerate(layers):
        for cell, axis, end in itertools.product(own, range(3), (0, 1)):
            near = tuple(v + (2 * end - 1) * (k == axis) for k, v in enumerate(cell))
            joined = cell[:2] in door and {cell[2], near[2]} == {5, 6}
            if near in own or (axis == 2 and joined):
                continue
            corners = []
            for at_u, at_v in ((0, 0), (1, 0), (1, 1), (0, 1)):
                point = list(map(float, cell))
                point[axis] += end
                point[(axis + 1) % 3] += at_u
                point[(axis + 2) % 3] += at_v
                if shifted and layer == 1 and point[1:] == [2, 1] and point[0] in (3, 5):
                    point[2] = 1.3
                corners.append(tuple(point))
            squares.append(tuple(corners[:: 1 if end else -1]))
    return of_squares(squares, np.random.default_rng(1)), layers


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shifted", [False, True])
def test_a_shell_that_crosses_itself_along_edges(rule: str, shifted: bool) -> None:
    mesh, layers = tube(shifted=shifted)
    assert mesh.is_closed
    edges = [np.arange(-1.5, 12), np.arange(-1.5, 5), np.arange(-4.5, 10)]
    expected = np.zeros([len(e) - 1 for e in edges])
    for place in np.ndindex(expected.shape):
        base = [int(np.floor(e[i])) for e, i in zip(edges, place, strict=True)]
        for corner in itertools.product((0, 1), repeat=3):
            cell = tuple(b + c for b, c in zip(base, corner, strict=True))
            depth = sum(cell in layer for layer in layers)
            expected[place] += (depth % 2 if rule == "parity" else depth > 0) / 8
    found = geodomain.proportions_lattice(mesh, *edges, rule=rule)
    assert found == pytest.approx(expected, abs=1e-12)
    assert triangle_weights(mesh, rule).doubtful.any() == shifted


def test_one_crossing_leaves_the_other_blocks_exact() -> None:
    """A dent pushed through the other side, and far from it shares within their bound."""
    mesh = star(6)
    vertices = mesh.vertices.copy()
    top = int(vertices[:, 2].argmax())
    vertices[top, 2] *= -1.3
    dented = Mesh(vertices, mesh.triangles)
    edges = [np.linspace(-110, 110, 8), np.linspace(-90, 90, 8), np.linspace(-70, 70, 8)]
    weights = triangle_weights(dented, "parity")
    assert 0 < weights.doubtful.sum() < len(mesh.triangles) / 4
    with pytest.warns(GeodomainWarning, match="triangles may cross or fold in") as said:
        found = geodomain.proportions_lattice(dented, *edges)
    count = int(next(str(w.message).split()[7] for w in said if "may cross" in str(w.message)))
    mixed = np.argwhere((found > 0) & (found < 1))
    assert 0 < count < len(mixed) / 2
    far = [place for place in mixed if abs(place[:2] - 3).max() == 3]
    assert len(far) > 20
    for place in far[:30]:
        low, high = ([e[i + k] for e, i in zip(edges, place, strict=True)] for k in (0, 1))
        assert abs(found[tuple(place)] - float(exact_share(dented, low, high))) < 1e-12


def test_a_fold_with_a_vertex_on_one_side_alone_is_no_crossing() -> None:
    """A triangle without area closes the slit; and a mesh of two such cubes says nothing."""
    corners = np.array([(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)] + [(0.5, 0, 1)])
    faces = [
        (0, 2, 3), (0, 3, 1), (4, 8, 7), (8, 5, 7), (4, 7, 6), (0, 1, 5), (0, 5, 4),
        (4, 5, 8), (1, 3, 7), (1, 7, 5), (3, 2, 6), (3, 6, 7), (2, 0, 4), (2, 4, 6),
    ]  # fmt: skip
    mesh = Mesh(corners, faces)
    assert mesh.is_closed and mesh.is_balanced
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        share = geodomain.proportions(mesh, [[0.5, 0, 1]], [1, 1, 1])
    assert share.tolist() == [0.25]
    assert not triangle_weights(mesh, "parity").doubtful.any()
