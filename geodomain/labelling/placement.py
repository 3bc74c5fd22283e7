"""How domains lie to a block model: which have no block, which leave it, which would fit turned."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from operator import gt

import numpy as np
from numpy.typing import NDArray

from geodomain.domains.domain import Domain
from geodomain.domains.order import Domains
from geodomain.domains.stack import Layer
from geodomain.labelling.overlap import EXCHANGES, apart, explain_height, meet, share_within
from geodomain.labelling.tally import Tally
from geodomain.labelling.verdict import LOST
from geodomain.mesh.measure import volume_beyond
from geodomain.mesh.mesh import Mesh

Floats = NDArray[np.float64]

_SIDES = (("west side", "east side"), ("south side", "north side"), ("bottom", "top"))
# Less of a solid's volume beyond a side is not worth a remark.
_SHARE = 0.001
# A side that faces the vertical within 45 degrees is the top or the bottom.
_UPRIGHT = math.sqrt(0.5)
# Solids of whose boxes so much is in the model fit it. With axes exchanged they must have so many
# times the blocks, and not only a few.
_FITS, _MORE, _FEWEST = 0.9, 1.3, 20


def placement_warnings(domains: Domains, bounds: Floats) -> Iterator[str]:
    """Yield a warning for solids and surfaces that lie apart from the blocks, (2, 3) their box."""
    for solid in apart(domains.targets, bounds):
        yield f"{solid.name} does not meet the block model: no block is in it"
    if not np.isnan(bounds).any():
        yield from _one_sided(domains, bounds)


def _one_sided(domains: Domains, bounds: Floats) -> Iterator[str]:
    """Yield a warning for surfaces with all blocks on one side because of a likely mistake."""
    tiles = [(one.name, one.meshes) for one in domains.domains if one.is_surface]
    tiles += [(stack.title, meshes) for stack in domains.stacks for meshes in stack.surfaces]
    for title, meshes in tiles:
        for mesh in meshes:
            reason = explain_height(mesh.bounds, bounds)
            if reason:
                yield (
                    f"all blocks are on one side of {mesh.name} of {title}: its heights are "
                    f"{mesh.bounds[0, 2]:.10g} to {mesh.bounds[1, 2]:.10g}, and those of the "
                    f"blocks {bounds[0, 2]:.10g} to {bounds[1, 2]:.10g}; {reason}"
                )


def exchanged_axes(
    domains: Domains,
    bounds: Floats,
    sample: Floats,
    count_inside: Callable[[Floats], Sequence[int]],
) -> Iterator[str]:
    """Yield a warning if the solids leave the model, and would fit better with axes exchanged.

    Their boxes must fit no worse, each of them, and must have far more of the blocks: some are
    labelled again, at exchanged places. Not for samples, which may lie anywhere.

    Parameters
    ----------
    domains : Domains
        Only the solids are looked at.
    bounds : (2, 3) float64
        Box of the blocks.
    sample : (n, 3) float64
        Some of the centroids.
    count_inside : callable
        Gives, for points, how many each of the solids has, in their order.
    """
    boxes = [d.bounds for d in domains if d.is_solid]
    if not boxes or np.isnan(bounds).any() or not all(meet(box, bounds) for box in boxes):
        return
    given = [share_within(box, bounds) for box in boxes]
    if min(given) > _FITS:
        return
    for order, what in EXCHANGES:
        turned = [share_within(box[:, order], bounds) for box in boxes]
        if sum(turned) <= sum(given) or any(map(gt, given, turned)):
            continue
        now, then = count_inside(sample), count_inside(np.asfortranarray(sample[:, order]))
        more = all(new >= _MORE * old for old, new in zip(now, then, strict=True))
        if more and sum(then) >= _FEWEST:
            several = len(boxes) > 1
            yield (
                f"with {what} exchanged {'all solids' if several else 'the solid'} would fit the "
                f"block model better: {sum(then) / len(sample):.0%} of the blocks would be inside, "
                f"and {sum(now) / len(sample):.0%} are. Check x=, y= and z="
            )
            return


def notes(domains: Domains, tally: Tally, *, samples: bool = False) -> Iterator[str]:
    """Yield what need not be wrong, and should be known: no warnings.

    Solids may leave the box of samples as they like.
    """
    rows = tally.rows - int(tally.blocks[len(tally.own_blocks) + LOST])
    if not rows:
        return
    for index, target in enumerate(domains.targets):
        conditions = target.stack.only_if if isinstance(target, Layer) else target.only_if
        own = int(tally.own_blocks[index])
        if not tally.blocks[index]:
            yield _empty(target, own)
        elif own == rows and not target.is_solid and not conditions:
            yield f"all blocks are in {target.name}"
    if tally.turned_apart and not samples:
        yield (
            "the parts of the model are not all turned alike, or some are too small to show how: "
            "what of a solid leaves the model is measured by its box along the axes of the world"
        )
    for domain in () if samples else domains:
        if domain.is_solid and meet(domain.bounds, tally.bounds):
            for mesh in domain.meshes:
                yield from _leaving(domain.name, mesh, tally)


def _empty(target: Domain | Layer, own: int) -> str:
    """Say that a domain labels no block, and whether it has any by itself."""
    what = (
        f"layer {target.name} of {target.stack.title}"
        if isinstance(target, Layer)
        else (target.name)
    )
    if not own:
        return f"{what} has no block"
    return f"{what} labels no block: other domains take all {own:,} that it has by itself"


def _leaving(name: str, mesh: Mesh, tally: Tally) -> Iterator[str]:
    """Say how much of a closed solid lies beyond which sides of the model, along its own axes."""
    if not (mesh.is_closed and mesh.is_balanced):
        return
    own, model = tally.along(mesh), tally.box
    below, above = own.bounds[0] < model[0], own.bounds[1] > model[1]
    if not (below.any() or above.any()):
        return
    whole = mesh.volume
    said = []
    for axis in range(3):
        for end, out in ((0, below[axis]), (1, above[axis])):
            if not out:
                continue
            beyond = volume_beyond(own.vertices, own.triangles, axis, model[end, axis])
            beyond = whole - beyond if end == 0 else beyond
            if whole and beyond > _SHARE * whole:
                share = f"{_six_digits(beyond)} ({beyond / whole:.1%})"
                said.append(f"{share} beyond its {_side(tally, axis, end)}")
    if said:
        what = "block model" if tally.sized else "box of the centroids (block sizes are not known)"
        yield f"{mesh.name} of {name} leaves the {what}: of its volume {_listed(said)}"


def _side(tally: Tally, axis: int, end: int) -> str:
    """Name a side of the model; sides of a turned one by the direction that they face."""
    if not tally.is_turned:
        return _SIDES[axis][end]
    east, north, up = tally.axes[axis] if end else -tally.axes[axis]
    if abs(up) > _UPRIGHT:
        return _SIDES[2][int(up > 0)]
    azimuth = round(math.degrees(math.atan2(east, north)), 1) % 360
    return f"side that faces azimuth {azimuth:g}"


def _six_digits(volume: float) -> str:
    """Format a volume by six digits, and zeros after them: 15,334,200,000."""
    return f"{float(f'{volume:.6g}'):,.15g}"


def _listed(said: Sequence[str]) -> str:
    """Join phrases by commas and a last "and"."""
    *most, last = said
    return f"{', '.join(most)} and {last}" if most else last
