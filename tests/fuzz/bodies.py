"""Measure random solids in random blocks: two and three against fractions, more within their error.

python tests/fuzz/bodies.py [--cases 100 | --seconds 60 | --case 17] [--seed 1]

A case is made by its number alone. Even cases clip two or three solids and surfaces, near and far
from the origin, on the block's faces and off them, with fractions: what they have in common and
what each has by priority must be that to 1e-9 of the block. Odd cases are four to six bodies, also
as unions and as shells that cross themselves, whose exact shares are sums of what they have in
common: the error of `label` must be at least the true one, in 98 of 100 blocks.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
sys.path.insert(0, str(Path(__file__).parent))
from campaign import Case, campaign
from common_shares import exact_common, slab
from late import pandas
from shapes import cube, joined, random_body, staircase, star, tetrahedron
from shares import exact_share
from sheets import sheet
from surfaces import reversed_mesh

import geodomain
from geodomain import Domain, Mesh
from geodomain.errors import GeodomainWarning
from geodomain.volumes.shares import Shares

_NEAR = 1e-9
_MINE = np.array([414_000.3, 7_480_000.7, 310.1])
_LEAST, _FEWEST = 0.98, 200


def solid(dice: np.random.Generator) -> Mesh:
    """Return a solid about the origin, some units across, that winds once."""
    kind = dice.integers(7)
    if kind == 0:
        return star(1, dice.uniform(1, 4, 3), dice.uniform(-1, 1, 3))
    if kind == 1:
        return tetrahedron(dice.integers(-3, 4, (4, 3)) + dice.choice([0, 0.1]))
    if kind == 2:
        return cube(float(dice.integers(1, 5)), dice.integers(-3, 2, 3))
    if kind == 3:
        return staircase(random_body((3, 3, 2), int(dice.integers(99))))
    if kind == 4:  # a void, whose walls the block may lie on
        low = dice.integers(-3, 0, 3)
        return joined(cube(4.0, low), reversed_mesh(cube(1.0, low + dice.integers(1, 3, 3))))
    u, v, w = np.linalg.qr(dice.normal(size=(3, 3)))[0]
    along, up, thick = dice.uniform(1, 9), dice.uniform(1, 9), dice.choice([1e-6, 0.01, 0.1, 2])
    at = dice.uniform(-1, 1, 3) - along / 2 * u - up / 2 * v
    return Mesh(*slab(at, along * u, up * v, thick * w))


def flat(mesh: Mesh) -> bool:
    """Return whether a tetrahedron of whole numbers has no inside."""
    return abs(mesh.volume) < 1e-9


def bodies(dice: np.random.Generator) -> tuple[list[Mesh], list[str]]:
    """Return two or three bodies, and what they are."""
    meshes: list[Mesh] = []
    kinds: list[str] = []
    for _ in range(dice.integers(2, 4)):
        if dice.random() < 0.2:
            heights = dice.choice([dice.uniform(-2, 2, (9, 9)), dice.integers(-1, 2, (9, 9))])
            meshes.append(sheet(heights.astype(float), 2.0, (-8.0, -8.0, 0.0)))
            kinds.append("below")
            continue
        mesh = solid(dice)
        if not flat(mesh):
            meshes.append(mesh)
            kinds.append("solid")
    if len(meshes) > 1 and dice.random() < 0.1:  # the same again
        meshes[-1], kinds[-1] = meshes[0], kinds[0]
    return meshes, kinds


def block(dice: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return corners of a block, often on whole numbers."""
    if dice.random() < 0.5:
        low = dice.integers(-3, 3, 3).astype(float)
        return low, low + dice.choice([0.5, 1.0, 2.0, 4.0], 3)
    low = dice.uniform(-3, 2, 3)
    return low, low + np.exp(dice.uniform(-4, 2, 3))


def moved(mesh: Mesh, by: np.ndarray) -> Mesh:
    """Return a mesh elsewhere."""
    return Mesh(mesh.vertices + by, mesh.triangles, name=mesh.name)


def clip(dice: np.random.Generator) -> str:
    """Compare what two or three bodies have in common with what fractions give."""
    meshes, kinds = bodies(dice)
    if len(meshes) < 2:
        return "too few"
    low, high = block(dice)
    by = dice.choice(np.array([np.zeros(3), _MINE]))
    meshes, low, high = [moved(mesh, by) for mesh in meshes], low + by, high + by
    made = [
        Shares(mesh, kind, "parity", "cpu", 1) for mesh, kind in zip(meshes, kinds, strict=True)
    ]
    found = made[0].common(made[1:], low[None], high[None])[0]
    exact = np.zeros(1 << len(meshes), object)
    exact[0] = Fraction(1)
    for bits in range(1, len(exact)):
        some = [mesh for place, mesh in enumerate(meshes) if bits >> place & 1]
        several = len(some) > 1 or not some[0].is_closed
        exact[bits] = exact_common(some, low, high) if several else exact_share(*some, low, high)
        off = abs(float(found[bits] - exact[bits])) if len(some) > 1 else 0.0
        if not off < _NEAR:
            message = f"bodies {bits:b} have {float(exact[bits])} in common, and {found[bits]}"
            raise AssertionError(message)
    if "below" not in kinds:
        require_order(meshes, low, high, exact)
    return "clipped"


def require_order(meshes: list[Mesh], low: np.ndarray, high: np.ndarray, exact: np.ndarray) -> None:
    """Compare shares by priority with sums of what bodies have in common."""
    parts = exact.copy()
    for place in range(len(meshes)):
        halves = parts.reshape(-1, 2, 1 << place)
        halves[:, 0] -= halves[:, 1]
    wanted = [Fraction(0)] * (len(meshes) + 1)
    for bits, part in enumerate(parts):
        wanted[next((i for i in range(len(meshes)) if bits >> i & 1), len(meshes))] += part
    centre, sizes = (low + high) / 2, high - low
    if ((centre - sizes / 2 != low) | (centre + sizes / 2 != high)).any():
        return  # the block of a table would be another one
    row = dict(zip(("X", "Y", "Z", "DX", "DY", "DZ"), (*centre, *sizes), strict=True))
    domains = [Domain(f"D{place}", mesh) for place, mesh in enumerate(meshes)]
    found = geodomain.proportions_blocks(pandas.DataFrame([row]), domains, proportions="priority")
    for place in range(len(meshes)):
        share = found[f"prop_d{place}"][0]
        if not abs(share - float(wanted[place])) < _NEAR:
            message = f"D{place} has {float(wanted[place])} by priority, and {share}"
            raise AssertionError(message)


class Scene(NamedTuple):
    """Domains of four to six slabs in the unit cube, and their exact shares."""

    domains: list[Domain]
    rule: str
    proportions: str
    exact: np.ndarray


def scene(dice: np.random.Generator) -> Scene:
    """Return slabs by themselves, as unions of meshes, and as one mesh that crosses itself."""
    slabs = []
    for thick in dice.choice([0.01, 0.05, 0.1, 0.4, 0.8], dice.integers(4, 7)):
        u, v, w = np.linalg.qr(dice.normal(size=(3, 3)))[0]
        a, b = dice.uniform(0.2, 1.5, 2) if dice.random() < 0.5 else (8, 8)
        at = dice.uniform(0.2, 0.8, 3) - a / 2 * u - b / 2 * v - thick / 2 * w
        slabs.append(Mesh(*slab(at, a * u, b * v, thick * w)))
    rule = str(dice.choice(["parity", "winding"]))
    bits = np.arange(1 << len(slabs))
    domains: list[Domain] = []
    members: list[np.ndarray] = []
    begin = 0
    while begin < len(slabs):
        take = min(len(slabs) - begin, int(dice.choice([1, 1, 2, 3])))
        within = sum((bits >> place) & 1 for place in range(begin, begin + take))
        meshes = slabs[begin : begin + take]
        is_crossed = take > 1 and dice.random() < 0.5
        members.append(within % 2 == 1 if is_crossed and rule == "parity" else within > 0)
        domains.append(Domain(f"D{begin}", [joined(*meshes)] if is_crossed else meshes))
        begin += take
    parts = parts_of(slabs)
    proportions = str(dice.choice(["priority", "itself"]))
    if proportions == "itself":
        exact = np.array([parts[member].sum() for member in members])
    else:
        first = np.argmax(np.array([*members, np.ones(len(bits), np.bool_)]), axis=0)
        exact = np.bincount(first, parts, len(members) + 1)[:-1]
    return Scene(domains, rule, proportions, exact)


def parts_of(slabs: list[Mesh]) -> np.ndarray:
    """Return the share of the unit cube inside each set of slabs, and outside of all others."""
    made = [Shares(mesh, "solid", "parity", "cpu", 1) for mesh in slabs]
    parts: np.ndarray = made[0].common(made[1:], np.zeros((1, 3)), np.ones((1, 3)))[0]
    parts[0] = 1.0
    for place, mesh in enumerate(slabs):
        parts[1 << place] = geodomain.proportions(mesh, [[0.5] * 3], [1, 1, 1])[0]
    for place in range(len(slabs)):
        halves = parts.reshape(-1, 2, 1 << place)
        halves[:, 0] -= halves[:, 1]
    return parts


def estimate(dice: np.random.Generator) -> str:
    """Return whether the errors of a scene's shares are at least the true ones."""
    one = scene(dice)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.csv"
        path.write_text("X,Y,Z,DX,DY,DZ\n0.5,0.5,0.5,1,1,1\n")
        found = geodomain.label_file(
            path, one.domains, None, rule=one.rule, proportions=one.proportions
        )
    volumes = np.array([part.proportion_volume for part in found.domains])
    errors = np.array([part.proportion_error for part in found.domains])
    if not ((volumes >= 0) & (volumes <= 1)).all():
        message = f"shares are {volumes}"
        raise AssertionError(message)
    if one.proportions == "priority" and volumes.sum() > 1 + _NEAR:
        message = f"shares add up to {volumes.sum()}"
        raise AssertionError(message)
    off = np.abs(volumes - one.exact)
    if not found.shares.by_lines:
        if not (off < _NEAR).all():
            message = f"shares of one, two or three bodies are {volumes}, not {one.exact}"
            raise AssertionError(message)
        return "by volume"
    return "within the error" if (off <= errors).all() else "beyond the error"


def outcomes(case: Case) -> tuple[str]:
    """Run a case: an even one by fractions, an odd one by its error."""
    dice = np.random.default_rng((case.seed, case.number))
    return (estimate(dice) if case.number % 2 else clip(dice),)


def too_small(counts: Counter[str]) -> str:
    """Say so where errors are often smaller than the true ones."""
    within, beyond = counts["within the error"], counts["beyond the error"]
    if within + beyond >= _FEWEST and within < _LEAST * (within + beyond):
        return "errors are too small in more than 2 of 100 blocks"
    return ""


def main() -> int:
    """Run the cases that the command line asks for; 1 if there was a fault."""
    warnings.simplefilter("ignore", GeodomainWarning)
    return campaign(__doc__, outcomes, at_end=too_small)


if __name__ == "__main__":
    raise SystemExit(main())
