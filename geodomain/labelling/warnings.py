"""Warnings and notes about domains and a block model, from their boxes and the counts of blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import gt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.blocks import BlockChecks
from geodomain.compute.data import Floats
from geodomain.domains.domain import Domain
from geodomain.domains.order import DomainOrLayer, Domains, unmet
from geodomain.domains.stack import Layer, Stack
from geodomain.errors import counted, warn
from geodomain.labelling.counts import (
    MOST_COLUMNS,
    MOST_PAIRS,
    MOST_SAMPLES,
    Folds,
    ShareTally,
    Tally,
)
from geodomain.labelling.evaluate import (
    EXCHANGES,
    all_apart,
    explain_height,
    meet,
    say_apart,
    share_within,
    solids_apart,
)
from geodomain.labelling.labeller import LOST, Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.mesh.mesh import Mesh, volume_beyond
from geodomain.volumes.shares import by_lines

_SIDES = (("west side", "east side"), ("south side", "north side"), ("bottom", "top"))
# Fraction of a solid's volume beyond a side below which nothing is reported.
_SHARE = 0.001
# A side whose normal is within 45 degrees of vertical is the top or bottom.
_UPRIGHT = math.sqrt(0.5)
# Solids with at least this fraction of their boxes in the model fit it. With exchanged axes they
# must contain this many times the blocks, and more than a few.
_FITS, _MORE, _FEWEST = 0.9, 1.3, 20
# Up to this many domains get a sentence each; more are reported together, with the first few names.
_MOST_NAMED, _NAMED = 20, 5


def placement_warnings(domains: Domains, bounds: Floats) -> Iterator[str]:
    """Yield a warning for solids and surfaces that do not meet the box (2, 3) of the blocks."""
    lost = [solid.name for solid in solids_apart(domains.targets, bounds)]
    if len(lost) > _MOST_NAMED:
        yield f"{_named(lost)} do not meet the block model: no block is in them"
    else:
        yield from (f"{name} does not meet the block model: no block is in it" for name in lost)
    if not np.isnan(bounds).any():
        yield from _one_sided(domains, bounds)


def _one_sided(domains: Domains, bounds: Floats) -> Iterator[str]:
    """Yield a warning for each surface that has all blocks on one side, probably by mistake."""
    tiles = [(domain.name, domain.placed) for domain in domains.domains if domain.is_surface]
    tiles += [(stack.title, meshes) for stack in domains.stacks for meshes in stack.placed]
    for title, meshes in tiles:
        for mesh in meshes:
            reason = explain_height(mesh.bounds, bounds)
            if reason:
                yield (
                    f"all blocks are on one side of {mesh.name} of {title}: heights of the surface "
                    f"are {mesh.bounds[0, 2]:.10g} to {mesh.bounds[1, 2]:.10g}, and heights of the "
                    f"blocks are {bounds[0, 2]:.10g} to {bounds[1, 2]:.10g}; {reason}"
                )


def exchanged_axes(
    domains: Domains,
    bounds: Floats,
    sample: Floats,
    count_inside: Callable[[Floats], Sequence[int]],
) -> Iterator[str]:
    """Yield a warning if solids extend beyond the model but would fit it with axes exchanged.

    With axes exchanged, the box of every solid must fit the model at least as well as with the
    actual axes, and the solids must contain far more blocks. This is tested by labelling a sample
    of the blocks at exchanged coordinates. Drillhole samples are not tested, because they may lie
    anywhere.

    Parameters
    ----------
    domains : Domains
        Domains; only solids are used.
    bounds : (2, 3) float64
        Box of the blocks.
    sample : (n, 3) float64
        Sample of the centroids.
    count_inside : callable
        Takes points, and returns the number of points in each solid, in order.
    """
    boxes = [d.bounds for d in domains if d.is_solid]
    if not boxes or np.isnan(bounds).any() or not all(meet(box, bounds) for box in boxes):
        return
    fits = [share_within(box, bounds) for box in boxes]
    if min(fits) > _FITS:
        return
    for order, what in EXCHANGES:
        turned = [share_within(box[:, order], bounds) for box in boxes]
        if sum(turned) <= sum(fits) or any(map(gt, fits, turned)):
            continue
        now, then = count_inside(sample), count_inside(np.asfortranarray(sample[:, order]))
        more = all(new >= _MORE * old for old, new in zip(now, then, strict=True))
        if more and sum(then) >= _FEWEST:
            several = len(boxes) > 1
            yield (
                f"with {what} exchanged, {'all solids' if several else 'the solid'} would fit the "
                f"block model better: {sum(then) / len(sample):.0%} of the blocks would be inside, "
                f"instead of {sum(now) / len(sample):.0%}. Check x=, y= and z="
            )
            return


def notes(domains: Domains, tally: Tally, *, samples: bool = False) -> Iterator[str]:
    """Yield remarks that are not warnings.

    If `samples` is true, the rows are drillhole samples, and solids that extend beyond the samples
    are not mentioned.
    """
    rows = tally.rows - int(tally.blocks[len(tally.own_blocks) + LOST])
    if not rows:
        return
    empty = [index for index in range(len(domains.targets)) if not tally.blocks[index]]
    several = len(empty) > _MOST_NAMED
    if several:
        yield from _many_empty(domains.targets, tally, empty)
    for index, target in enumerate(domains.targets):
        conditions = target.stack.only_if if isinstance(target, Layer) else target.only_if
        own = int(tally.own_blocks[index])
        if not tally.blocks[index]:
            yield from () if several else (_empty(target, own),)
        elif own == rows and not target.is_solid and not conditions:
            yield f"all blocks are in {target.name}"
    if not tally.overlaps.are_all:
        last = divmod(int(tally.overlaps.pairs[-1]), tally.overlaps.targets)
        names = [domains.targets[index].name for index in last]
        yield (
            f"more than {MOST_PAIRS:,} pairs of domains share blocks: only the first "
            f"{MOST_PAIRS:,} are counted, in the order of the domains, up to {names[0]} and "
            f"{names[1]}"
        )
    if tally.turned_apart and not samples:
        yield (
            "the parts of the model have different rotations, or some parts are too small to show "
            "a rotation. Therefore the model's box along the world axes decides which part of a "
            "solid is outside the model"
        )
    for domain in () if samples else domains:
        if domain.is_solid and meet(domain.bounds, tally.bounds):
            for mesh in domain.placed:
                yield from _leaving(domain.name, mesh, tally)


def _many_empty(
    targets: Sequence[DomainOrLayer], tally: Tally, empty: Sequence[int]
) -> Iterator[str]:
    """Yield one sentence for many domains that label no block, with the first few names."""
    without = [targets[index].name for index in empty if not tally.own_blocks[index]]
    covered = [targets[index].name for index in empty if tally.own_blocks[index]]
    if without:
        yield f"{_named(without)} {'has' if len(without) == 1 else 'have'} no block"
    if covered:
        which = ("it", "labels") if len(covered) == 1 else ("them", "label")
        yield f"{_named(covered)} {which[1]} no block: other domains label all blocks in {which[0]}"


def _named(names: Sequence[str]) -> str:
    """Return the names of domains; of many domains, their number and the first few names."""
    if len(names) <= _NAMED:
        return _listed(names)
    return f"{len(names):,} domains ({', '.join(names[:_NAMED])}, ...)"


def _empty(target: Domain | Layer, own: int) -> str:
    """Return the note that a domain labels no block, with the number of blocks inside it."""
    what = (
        f"layer {target.name} of {target.stack.title}"
        if isinstance(target, Layer)
        else (target.name)
    )
    if not own:
        return f"{what} has no block"
    return f"{what} labels no block: other domains label all {own:,} blocks inside it"


def _leaving(name: str, mesh: Mesh, tally: Tally) -> Iterator[str]:
    """Yield a note on the volume of a closed solid beyond each side of the model."""
    if not (mesh.is_closed and mesh.is_balanced):
        return
    own, model = tally.along(mesh), tally.box
    below, above = own.bounds[0] < model[0], own.bounds[1] > model[1]
    if not (below.any() or above.any()):
        return
    whole = mesh.volume
    shares = []
    for axis in range(3):
        for end, out in ((0, below[axis]), (1, above[axis])):
            if not out:
                continue
            beyond = volume_beyond(own.vertices, own.triangles, axis, model[end, axis])
            beyond = whole - beyond if end == 0 else beyond
            if whole and beyond > _SHARE * whole:
                share = f"{_six_digits(beyond)} ({beyond / whole:.1%})"
                shares.append(f"{share} beyond the {_side(tally, axis, end)}")
    if shares:
        what = "block model" if tally.sized else "box of the centroids (block sizes are not known)"
        yield f"{mesh.name} of {name} extends beyond the {what}: volume {_listed(shares)}"


def _side(tally: Tally, axis: int, end: int) -> str:
    """Return the name of a side of the model, such as "west side" or "top".

    A vertical side of a rotated model is named by the azimuth that it faces.
    """
    if not tally.is_turned:
        return _SIDES[axis][end]
    east, north, up = tally.axes[axis] if end else -tally.axes[axis]
    if abs(up) > _UPRIGHT:
        return _SIDES[2][int(up > 0)]
    azimuth = round(math.degrees(math.atan2(east, north)), 1) % 360
    return f"side that faces azimuth {azimuth:g}"


def _six_digits(volume: float) -> str:
    """Format a volume with six significant digits: 15,334,200,000."""
    return f"{float(f'{volume:.6g}'):,.15g}"


def _listed(phrases: Sequence[str]) -> str:
    """Join phrases with commas, and the last one with "and"."""
    *most, last = phrases
    return f"{', '.join(most)} and {last}" if most else last


# --- Warnings that follow from the counts of a labelling, one sentence each.

# A regular model may differ from its wireframe's volume by about this much; more is reported.
_VOLUME_TOLERANCE = 0.02


class Volumes(Protocol):
    """The volumes of one domain on its own."""

    @property
    def own_volume(self) -> float | None:
        """The volume of the domain's blocks."""

    @property
    def proportion_volume(self) -> float | None:
        """The domain's volume from block proportions."""

    @property
    def wireframe_volume(self) -> float | None:
        """The volume of the domain's solids."""


def tally_warnings(domains: Domains, tally: Tally, parts: Sequence[Volumes]) -> Iterator[str]:
    """Yield a warning for each count that a geologist should check."""
    solids = domains.targets
    if tally.first_unsized is not None:
        yield _unsized(tally.unsized, *tally.first_unsized)
    if not tally.rows:
        yield "the table has no rows below its header: nothing was labelled"
    yield from placement_warnings(domains, tally.bounds)
    yield from unmet(domains, tally.met, tally.rows, "block")
    yield from tally.conditions.warnings("block")
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
    """Return the warning about blocks without a usable size."""
    dimensions = " x ".join(f"{size:.10g}" for size in sizes)
    return (
        f"{counted(count, 'block')} {'has' if count == 1 else 'have'} no usable size (above 0); "
        f"block {number:,} of the table is the first, with size {dimensions}. "
        "No volumes were computed: correct the sizes, or name other size columns with dx=, dy= and "
        "dz="
    )


def _unsure(name: str, index: int, tally: Tally) -> Iterator[str]:
    """Yield warnings about blocks for which a domain is undecided or uncertain."""
    if tally.leaking[index]:
        x, y, z = tally.first_leak[index]
        yield (
            f"{name} is open, so geodomain cannot decide whether "
            f"{counted(tally.leaking[index], 'block')} above or below gaps in the mesh "
            f"{'is' if tally.leaking[index] == 1 else 'are'} inside; the first is at "
            f"({x:.10g}, {y:.10g}, {z:.10g})"
        )
    if tally.uncertain[index]:
        yield (
            f"{name} is open, and rounding may have decided the label of "
            f"{counted(tally.uncertain[index], 'block')} with a winding number close to 1/2"
        )


_EXTENDED = {
    "unassigned": "unassigned. To label blocks there, set 'extend' to 'nearest' or 'background'",
    "background": "not in this domain (extend = 'background')",
    "nearest": "labelled by the height of the nearest point of the rim (extend = 'nearest')",
}


def _off_footprint(source: Domain | Stack, blocks: int) -> str:
    """Return the warning about blocks outside a surface's footprint, and how they were labelled."""
    title = source.title if isinstance(source, Stack) else source.name
    return (
        f"{counted(blocks, 'block')} {'is' if blocks == 1 else 'are'} outside the footprint of a "
        f"surface of {title}: {_EXTENDED[source.extend]}"
    )


def _crossed(stack: Stack, blocks: int) -> str:
    """Return the warning about blocks at which surfaces of a stack cross."""
    side = "above the upper" if stack.rule == "erode" else "below the lower"
    lie, they = ("lies", "it is") if blocks == 1 else ("lie", "they are")
    return (
        f"{counted(blocks, 'block')} {lie} where surfaces of {stack.title} cross; by rule = "
        f"'{stack.rule}', {they} in the layer {side} surface. If most blocks lie where surfaces "
        "cross, check that the surfaces are listed from top to bottom"
    )


def _off(name: str, part: float) -> Iterator[str]:
    """Yield a warning if the volumes of blocks and wireframe differ by more than the tolerance."""
    if abs(part) > _VOLUME_TOLERANCE:
        yield (
            f"the blocks in {name} have {abs(part):.1%} {'more' if part > 0 else 'less'} "
            "volume than its wireframe: check whether the blocks are too large or some are missing"
        )


def _folded(name: str, folds: Folds) -> str:
    """Return the warning about a surface that vertical lines cross more than once."""
    x, y = folds.first
    more = "" if len(folds.columns) < MOST_COLUMNS else " or more"
    return (
        f"{name} is crossed more than once in {counted(len(folds.columns), 'column')}{more} of "
        f"blocks, the first at x {x:.10g}, y {y:.10g}: it folds over itself, or tiles overlap"
    )


def _doubled(solid: DomainOrLayer, blocks: int) -> str:
    """Return the warning about blocks that are in more than one shell of a solid."""
    what = f"{counted(blocks, 'block')} {'is' if blocks == 1 else 'are'}"
    if isinstance(solid, Domain) and len(solid.meshes) > 1:
        return f"{what} in more than one shell of {solid.name}, whose meshes overlap"
    return (
        f"{what} in overlapping shells of {solid.name}, or in a void that faces outward. By rule = "
        "'parity', such a block is outside; by rule = 'winding', it is inside"
    )


# --- Warnings about proportions.


def share_warnings(
    settings: LabelSettings, tally: ShareTally, targets: Sequence[DomainOrLayer]
) -> Iterator[str]:
    """Yield warnings about proportions."""
    for name, count in tally.crossed.items():
        yield by_lines(name, count, settings.line_count)
    for target, lost in zip(targets, tally.lost.tolist(), strict=True):
        if lost:
            yield (
                f"{counted(lost, 'block')} {'lies' if lost == 1 else 'lie'} partly or wholly "
                f"outside the footprint of a surface of {target.name}, so "
                f"{'it has' if lost == 1 else 'they have'} no "
                f"{settings.share_column(target.name)}"
            )
    if tally.beyond:
        yield (
            f"{counted(tally.beyond, 'block')} {'lies' if tally.beyond == 1 else 'lie'} partly or "
            "wholly outside the footprint of a surface: the part outside is unassigned and belongs "
            "to no proportion"
        )


# --- Warnings about blocks in memory: those of a file, without counts.


def warn_of_blocks(
    points: Floats,
    sizes: Floats | None,
    domains: Domains,
    settings: LabelSettings,
    *,
    whole: bool,
    reach: bool = False,
    axes: Floats | None = None,
) -> None:
    """Warn, as `label_file` does, of domains that do not meet the blocks and of exchanged axes.

    Parameters
    ----------
    points, sizes : (n, 3) float64
        Centroids and sizes of the blocks. Without sizes, the points may be drillhole samples, which
        lie anywhere, so exchanged axes are not tested.
    domains : Domains
        Domains of the labelling.
    settings : LabelSettings
        As for `Labeller`; the test of exchanged axes runs on the CPU.
    whole : bool
        Whether the points are all blocks of the model. If not, nothing is tested, because a part of
        a model may lie outside all domains.
    reach : bool
        Whether a domain that enters a block meets the block, even if the domain does not contain
        the centroid.
    axes : (3, 3) float64, optional
        Directions of the block edges, one in each row, if they differ from the world axes.
    """
    bounds = _bounds(points)
    if reach and sizes is not None:
        half = np.sqrt(np.nanmax(np.square(sizes).sum(axis=1), initial=0.0)) / 2
        bounds = bounds + np.array([[-half], [half]])
    if not whole or np.isnan(bounds).any():
        return
    if all_apart(domains.targets, bounds):
        warn(say_apart(domains.targets, bounds, "the frame"))
        return
    checks = BlockChecks()
    checks.add(points, sizes, axes=axes)
    for sentence in (*placement_warnings(domains, bounds), *checks.warnings(mend="make it NaN")):
        warn(sentence)
    if sizes is None:
        return

    def count_solids(some: Floats) -> list[int]:
        return Labeller(domains, replace(settings, backend="cpu")).count_solids(some)

    sample = points[:: 1 + len(points) // MOST_SAMPLES]
    sample = np.asfortranarray(sample[np.isfinite(sample).all(axis=1)])
    for sentence in exchanged_axes(domains, bounds, sample, count_solids):
        warn(sentence)


def _bounds(points: Floats) -> Floats:
    """Return the box of the finite points, (2, 3), or NaN without finite points."""
    bounds = np.array([points.min(axis=0, initial=np.inf), points.max(axis=0, initial=-np.inf)])
    if not np.isfinite(bounds).all():
        points = points[np.isfinite(points).all(axis=1)]
        if not len(points):
            return np.full((2, 3), np.nan)
        bounds = np.array([points.min(axis=0), points.max(axis=0)])
    return bounds
