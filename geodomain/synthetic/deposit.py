"""The whole synthetic deposit: wireframes and block models that belong together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodomain.mesh.mesh import Mesh
from geodomain.synthetic import ground
from geodomain.synthetic.blocks import BlockTable, regular, subblocked
from geodomain.synthetic.drilling import HoleTables, drilling

# Name: parent block (m), rings of a lens, spacing of the dyke and of the surveyed surfaces (m).
SIZES = {
    "tiny": ((20.0, 20.0, 10.0), 8, 20.0, 50.0),
    "small": ((10.0, 10.0, 5.0), 24, 10.0, 20.0),
    "large": ((5.0, 5.0, 2.5), 60, 5.0, 10.0),
}


@dataclass(frozen=True, eq=False)
class Deposit:
    """A deposit at mine coordinates, in metres.

    Attributes
    ----------
    solids : dict of str to Mesh
        Closed wireframes: ``dyke``, ``ore_upper``, ``ore_lower``, ``oxide``.
    domains : dict of str to list of Mesh
        The same under the names of the domains, first to win first.
    topography : Mesh
        The ground, an open surface; the roof of ``oxide`` coincides with it.
    regular, subblocked : BlockTable
        Two models of the same ground.
    drilling : HoleTables
        Holes through it, and their samples.
    """

    solids: dict[str, Mesh]
    domains: dict[str, list[Mesh]]
    topography: Mesh
    regular: BlockTable
    subblocked: BlockTable
    drilling: HoleTables


def deposit(size: str = "small", *, seed: int = 1) -> Deposit:
    """Make a gold deposit that was never mined: folded lenses, a dyke, an oxide zone.

    Parameters
    ----------
    size : {"small", "tiny", "large"}
        Blocks of 10 x 10 x 5 m (100,000 of them), 20 x 20 x 10 m (12,500) or
        5 x 5 x 2.5 m (800,000), and wireframes to match. The sub-blocked model
        halves such blocks twice where the boundary of the ore passes.
    seed : int
        Of the grades' nugget; nothing else is random.

    Returns
    -------
    Deposit

    Raises
    ------
    ValueError
        For a size that is not one of the three.

    Examples
    --------
    >>> from geodomain import synthetic
    >>> deposit = synthetic.deposit("tiny")
    >>> list(deposit.domains)
    ['DYKE', 'ORE', 'OXIDE']
    >>> len(deposit.regular)
    12500
    """
    if size not in SIZES:
        message = f"there is no deposit of size {size!r}: choose from {', '.join(SIZES)}"
        raise ValueError(message)
    block, rings, dyke_spacing, survey_spacing = SIZES[size]
    lenses = [lens.wireframe(rings) for lens in ground.LENSES]
    dyke, oxide = ground.dyke(dyke_spacing), ground.oxide_zone(survey_spacing)
    return Deposit(
        solids={mesh.name: mesh for mesh in (dyke, *lenses, oxide)},
        domains={"DYKE": [dyke], "ORE": lenses, "OXIDE": [oxide]},
        topography=ground.topography(survey_spacing),
        regular=regular(np.array(block), seed),
        subblocked=subblocked(np.array(block), seed),
        drilling=drilling(seed),
    )
