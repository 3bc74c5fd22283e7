"""What the counts of a labelling give a geologist cause to look at, a sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.boxes import apart
from geodomain.domains import Domain
from geodomain.ordering import Domains, Target
from geodomain.stacks import Layer, Stack
from geodomain.tally import MOST_COLUMNS, Folds, Tally

# A regular model can miss its wireframe's volume by about so much; more deserves a look.
_VOLUME_TOLERANCE = 0.02


class Volumes(Protocol):
    """What is known of the volume of a domain by itself."""

    @property
    def own_volume(self) -> float | None:
        """Give the volume of its blocks."""

    @property
    def wireframe_volume(self) -> float | None:
        """Give the volume of its solids."""


def counted(number: int, what: str) -> str:
    """Say how many there are of something."""
    return f"{number:,} {what}" + "s" * bool(number != 1)


def doubts(domains: Domains, tally: Tally, parts: Sequence[Volumes]) -> Iterator[str]:
    """Yield a sentence for everything in the counts that a geologist should look at."""
    solids = domains.targets
    if tally.first_unsized is not None:
        yield _unsized(tally.unsized, *tally.first_unsized)
    for solid in apart(solids, tally.bounds):
        yield f"{solid.name} does not meet the block model: no block is in it"
    yield from _unmet(domains, tally)
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
        if part.wireframe_volume and part.own_volume is not None:
            yield from _off(solid.name, part.own_volume / part.wireframe_volume - 1)


def _unsized(count: int, number: int, sizes: NDArray[np.float64]) -> str:
    """Say which blocks have no size."""
    said = " x ".join(f"{size:.10g}" for size in sizes)
    return (
        f"{counted(count, 'block')} {'has' if count == 1 else 'have'} no usable size (above 0); "
        f"block {number:,} of the table is the first, with {said}. "
        "So there are no volumes: mend the sizes, or name others with --dx, --dy and --dz"
    )


def _unsure(name: str, index: int, tally: Tally) -> Iterator[str]:
    """Yield what a domain has no answer for, or no sure one."""
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
    """Yield whose conditions no block meets: a value may be spelt in another way."""
    for (title, conditions), met in zip(domains.conditions, tally.met, strict=False):
        if conditions and tally.rows and not met:
            yield f"no block meets only_if of {title}: {', '.join(map(str, conditions))}"


_EXTENDED = {
    "unassigned": "it has no answer there, and 'extend' can say what becomes of them",
    "background": "it leaves them to others, as extend = 'background' says",
    "nearest": "the nearest place of the rim decides, as extend = 'nearest' says",
}


def _off_footprint(source: Domain | Stack, blocks: int) -> str:
    """Say what became of blocks where a surface has no extent."""
    title = source.title if isinstance(source, Stack) else source.name
    return (
        f"{counted(blocks, 'block')} {'is' if blocks == 1 else 'are'} outside the footprint of a "
        f"surface of {title}: {_EXTENDED[source.extend]}"
    )


def _crossed(stack: Stack, blocks: int) -> str:
    """Say where surfaces of a stack change places."""
    kept = "above the upper" if stack.rule == "erode" else "below the lower"
    return (
        f"{counted(blocks, 'block')} {'lies' if blocks == 1 else 'lie'} where surfaces of "
        f"{stack.title} cross, in the layer {kept} one by rule = '{stack.rule}'; if that is most "
        "of them, are the surfaces listed from top to bottom?"
    )


def _off(name: str, part: float) -> Iterator[str]:
    """Yield that blocks and wireframe differ in volume, where they do by much."""
    if abs(part) > _VOLUME_TOLERANCE:
        yield (
            f"the blocks in {name} have {abs(part):.1%} {'more' if part > 0 else 'less'} "
            "volume than its wireframe: are they too large for it, or too few?"
        )


def _folded(name: str, folds: Folds) -> str:
    """Say where a surface is not single-valued."""
    x, y = folds.first
    more = "" if len(folds.columns) < MOST_COLUMNS else " or more"
    return (
        f"{name} is crossed more than once in {counted(len(folds.columns), 'column')}{more} of "
        f"blocks, the first at x {x:.10g}, y {y:.10g}: it folds over itself, or tiles overlap"
    )


def _doubled(solid: Target, blocks: int) -> str:
    """Say what blocks in more than one shell of a solid mean."""
    said = f"{counted(blocks, 'block')} {'is' if blocks == 1 else 'are'}"
    if isinstance(solid, Domain) and len(solid.meshes) > 1:
        return f"{said} in more than one shell of {solid.name}, whose parts overlap"
    return (
        f"{said} in overlapping shells of {solid.name}, or in a void that faces "
        "outward: by parity not inside, by winding inside"
    )
