"""Warnings that follow from the counts of a labelling, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.domains.domain import Domain
from geodomain.domains.order import DomainOrLayer, Domains
from geodomain.domains.stack import Layer, Stack
from geodomain.errors import counted
from geodomain.labelling.placement import placement_warnings
from geodomain.labelling.tally import MOST_COLUMNS, Folds, Tally

# A regular model can miss its wireframe's volume by about so much; more deserves a look.
_VOLUME_TOLERANCE = 0.02


class Volumes(Protocol):
    """The volume of a domain by itself."""

    @property
    def own_volume(self) -> float | None:
        """Return the volume of its blocks."""

    @property
    def proportion_volume(self) -> float | None:
        """Return its volume by shares of blocks."""

    @property
    def wireframe_volume(self) -> float | None:
        """Return the volume of its solids."""


def tally_warnings(domains: Domains, tally: Tally, parts: Sequence[Volumes]) -> Iterator[str]:
    """Yield a warning for each count that a geologist should look at."""
    solids = domains.targets
    if tally.first_unsized is not None:
        yield _unsized(tally.unsized, *tally.first_unsized)
    if not tally.rows:
        yield "the table has no rows below its header: nothing was labelled"
    yield from placement_warnings(domains, tally.bounds)
    yield from _unmet(domains, tally)
    yield from filter(None, (one.warning("block") for one in tally.negative.values()))
    yield from (_folded(name, folds) for name, folds in sorted(tally.folds.items()))
    for index, (solid, part) in enumerate(zip(solids, parts, strict=False)):
        yield from _unsure(solid.name, index, tally)
        source = solid.stack if isinstance(solid, Layer) else solid
        if tally.off[index]:
            yield _off_footprint(source, int(tally.off[index]))
        if isinstance(source, Stack) and tally.crossed[index]:
            yield _crossed(source, int(tally.crossed[index]))
        if tally.doubled[index]:
            yield _doubled(solid, int(tally.doubled[index]))
        by_shares = tally.shares is not None and tally.shares.by_itself
        own = part.proportion_volume if by_shares else part.own_volume
        if part.wireframe_volume and own is not None:
            yield from _off(solid.name, own / part.wireframe_volume - 1)


def _unsized(count: int, number: int, sizes: NDArray[np.float64]) -> str:
    """Describe the blocks that have no usable size."""
    said = " x ".join(f"{size:.10g}" for size in sizes)
    return (
        f"{counted(count, 'block')} {'has' if count == 1 else 'have'} no usable size (above 0); "
        f"block {number:,} of the table is the first, with {said}. "
        "No volumes were computed: correct the sizes, or name others with dx=, dy= and dz="
    )


def _unsure(name: str, index: int, tally: Tally) -> Iterator[str]:
    """Yield warnings of blocks for which a domain has no answer, or no certain one."""
    if tally.leaking[index]:
        x, y, z = tally.first_leak[index]
        yield (
            f"{name} is open and has no answer for {counted(tally.leaking[index], 'block')} above "
            f"or below its holes, the first at ({x:.10g}, {y:.10g}, {z:.10g})"
        )
    if tally.uncertain[index]:
        yield (
            f"{name} is open, and rounding may have decided for "
            f"{counted(tally.uncertain[index], 'block')} whose winding number is close to 1/2"
        )


def _unmet(domains: Domains, tally: Tally) -> Iterator[str]:
    """Yield a warning for conditions that no block meets: a value may be misspelt."""
    for (title, conditions), met in zip(domains.conditions, tally.met, strict=False):
        if conditions and tally.rows and not met:
            yield f"no block meets only_if of {title}: {', '.join(map(str, conditions))}"


_EXTENDED = {
    "unassigned": "unassigned there, which 'extend' can change",
    "background": "not in this domain, as extend = 'background' says",
    "nearest": "labelled as at the nearest place of the rim, as extend = 'nearest' says",
}


def _off_footprint(source: Domain | Stack, blocks: int) -> str:
    """Describe how blocks outside a surface's footprint were labelled."""
    title = source.title if isinstance(source, Stack) else source.name
    return (
        f"{counted(blocks, 'block')} {'is' if blocks == 1 else 'are'} outside the footprint of a "
        f"surface of {title}: {_EXTENDED[source.extend]}"
    )


def _crossed(stack: Stack, blocks: int) -> str:
    """Describe the blocks where surfaces of a stack cross."""
    kept = "above the upper" if stack.rule == "erode" else "below the lower"
    return (
        f"{counted(blocks, 'block')} {'lies' if blocks == 1 else 'lie'} where surfaces of "
        f"{stack.title} cross, in the layer {kept} one by rule = '{stack.rule}'; if these are most "
        "blocks, check that the surfaces are listed from top to bottom"
    )


def _off(name: str, part: float) -> Iterator[str]:
    """Yield a warning if the volumes of blocks and wireframe differ by more than the tolerance."""
    if abs(part) > _VOLUME_TOLERANCE:
        yield (
            f"the blocks in {name} have {abs(part):.1%} {'more' if part > 0 else 'less'} "
            "volume than its wireframe: are they too large for it, or too few?"
        )


def _folded(name: str, folds: Folds) -> str:
    """Describe where a surface is not single-valued."""
    x, y = folds.first
    more = "" if len(folds.columns) < MOST_COLUMNS else " or more"
    return (
        f"{name} is crossed more than once in {counted(len(folds.columns), 'column')}{more} of "
        f"blocks, the first at x {x:.10g}, y {y:.10g}: it folds over itself, or tiles overlap"
    )


def _doubled(solid: DomainOrLayer, blocks: int) -> str:
    """Describe the blocks that are in more than one shell of a solid."""
    said = f"{counted(blocks, 'block')} {'is' if blocks == 1 else 'are'}"
    if isinstance(solid, Domain) and len(solid.meshes) > 1:
        return f"{said} in more than one shell of {solid.name}, whose parts overlap"
    return (
        f"{said} in overlapping shells of {solid.name}, or in a void that faces "
        "outward: outside by parity, inside by winding"
    )
