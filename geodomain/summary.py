"""What a labelling found, as plain values, as JSON and as a table to read; nothing is printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from geodomain.boxes import apart, within
from geodomain.labeller import Labeller, Solid
from geodomain.mesh import Mesh
from geodomain.solids import Weld
from geodomain.tally import Tally

# A regular model can miss its wireframe's volume by about so much; more deserves a look.
_VOLUME_TOLERANCE = 0.02


@dataclass(frozen=True)
class Part:
    """One row of the summary.

    Attributes
    ----------
    name : str
        The solid, or background, unassigned, leaking.
    label : str
        What its blocks are labelled with.
    blocks : int
        How many, after priority.
    share : float
        Of all the blocks, 0 to 1.
    volume : float, optional
        In cubed units of the file, where block sizes are known.
    own_blocks, own_volume : optional
        Of a solid by itself, before priority.
    wireframe_volume : float, optional
        Of the solid's meshes, where it can be compared with `own_volume`.
    """

    name: str
    label: str
    blocks: int
    share: float
    volume: float | None = None
    own_blocks: int | None = None
    own_volume: float | None = None
    wireframe_volume: float | None = None


@dataclass(frozen=True)
class Summary:
    """All that a labelling has to report."""

    rows: int
    domains: tuple[Part, ...]
    background: Part
    unassigned: Part
    leaking: Part
    overlaps: tuple[dict[str, Any], ...]
    on_wall: int | None
    seconds: float
    rows_per_second: float
    backend: str
    backend_reason: str
    columns: tuple[str, ...] = ()
    output: str | None = None
    welds: tuple[Weld, ...] = ()
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Give plain values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Labels:
    """What blocks are labelled with that no solid surely has."""

    background: str = ""
    unassigned: str = ""
    leaky: str = ""


def summarise(
    labeller: Labeller,
    tally: Tally,
    labels: Labels,
    *,
    seconds: float,
    columns: Sequence[str] = (),
    output: str | None = None,
    welds: Sequence[Weld] = (),
) -> Summary:
    """Turn the counts of a labelling into its report.

    Parameters
    ----------
    labeller : Labeller
        Whose solids were asked.
    tally : Tally
        What was counted.
    labels : Labels
        Of blocks that no solid surely has.
    seconds : float
        How long it took.
    columns, output, welds : optional
        What else there is to report.

    Returns
    -------
    Summary
        Its warnings are what the counts alone give cause for.
    """
    solids = labeller.solids
    *domains, background, unassigned, leaking = parts_of(solids, tally, labels)
    machine, reason = labeller.machine
    return Summary(
        rows=tally.rows,
        domains=tuple(domains),
        background=background,
        unassigned=unassigned,
        leaking=leaking,
        overlaps=overlap_pairs(solids, tally),
        on_wall=tally.on_wall if labeller.count_on_wall else None,
        seconds=seconds,
        rows_per_second=tally.rows / max(seconds, 1e-9),
        backend=machine,
        backend_reason=reason,
        columns=tuple(columns),
        output=output,
        welds=tuple(welds),
        warnings=tuple(doubts(solids, tally, domains)),
    )


def parts_of(solids: Sequence[Solid], tally: Tally, labels: Labels) -> list[Part]:
    """Give the rows of the summary: the solids, then background, unassigned and leaking."""
    names = [solid.name for solid in solids]
    rest = {
        "background": labels.background,
        "unassigned": labels.unassigned,
        "leaking": labels.leaky,
    }
    rows = max(tally.rows, 1)
    parts = []
    for code, (name, label) in enumerate([*zip(names, names, strict=True), *rest.items()]):
        blocks = int(tally.blocks[code])
        volume = float(tally.volumes[code]) if tally.sized and tally.rows else None
        own = _own(solids[code], code, tally) if code < len(solids) else {}
        parts.append(Part(name, label, blocks, blocks / rows, volume, **own))
    return parts


def _own(solid: Solid, index: int, tally: Tally) -> dict[str, Any]:
    """Give what a solid has by itself, and its wireframe's volume where that can be compared."""
    sized = tally.sized and tally.rows > 0
    whole = sized and within(solid.bounds, tally.bounds) and not tally.doubled[index]
    measurable = all(mesh.is_closed and mesh.is_balanced for mesh in solid.meshes)
    return {
        "own_blocks": int(tally.own_blocks[index]),
        "own_volume": float(tally.own_volumes[index]) if sized else None,
        "wireframe_volume": sum(map(mesh_volume, solid.meshes)) if whole and measurable else None,
    }


def mesh_volume(mesh: Mesh) -> float:
    """Give the volume that a closed mesh encloses, in cubed units of its coordinates.

    The sum of signed tetrahedra, taken from the middle of the box: at mine coordinates a sum
    from the origin would lose the volume in rounding.
    """
    corners = (mesh.vertices - mesh.bounds.mean(axis=0))[mesh.triangles]
    cross = np.cross(corners[:, 1], corners[:, 2])
    return abs(float(np.einsum("ij,ij->", corners[:, 0], cross))) / 6.0


def overlap_pairs(solids: Sequence[Solid], tally: Tally) -> tuple[dict[str, Any], ...]:
    """Give the pairs of solids that share blocks, and how many."""
    return tuple(
        {"solids": [solids[one].name, solids[two].name], "blocks": int(tally.overlaps[one, two])}
        for one, two in combinations(range(len(solids)), 2)
        if tally.overlaps[one, two]
    )


def doubts(solids: Sequence[Solid], tally: Tally, parts: Sequence[Part]) -> Iterator[str]:
    """Yield a sentence for everything in the counts that a geologist should look at."""
    if tally.first_unsized is not None:
        number, sizes = tally.first_unsized
        said = " x ".join(f"{size:.10g}" for size in sizes)
        yield (
            f"{_count(tally.unsized, 'block')} {'has' if tally.unsized == 1 else 'have'} no "
            f"usable size (above 0); block {number:,} of the table is the first, with {said}. "
            "So there are no volumes: mend the sizes, or name others with --dx, --dy and --dz"
        )
    for solid in apart(solids, tally.bounds):
        yield f"{solid.name} does not meet the block model: no block is in it"
    for index, (solid, part) in enumerate(zip(solids, parts, strict=False)):
        if tally.doubled[index]:
            yield _doubled(solid, int(tally.doubled[index]))
        if tally.leaking[index]:
            x, y, z = tally.first_leak[index]
            leaking = _count(int(tally.leaking[index]), "block")
            yield (
                f"{solid.name} is open and has no answer for {leaking} above "
                f"or below its holes, the first at ({x:.10g}, {y:.10g}, {z:.10g})"
            )
        if part.wireframe_volume and part.own_volume is not None:
            off = part.own_volume / part.wireframe_volume - 1
            if abs(off) > _VOLUME_TOLERANCE:
                way = "more" if off > 0 else "less"
                yield (
                    f"the blocks in {solid.name} have {abs(off):.1%} {way} "
                    "volume than its wireframe: are they too large for it, or too few?"
                )


def _doubled(solid: Solid, blocks: int) -> str:
    """Say what blocks in more than one shell of a solid mean."""
    said = f"{_count(blocks, 'block')} {'is' if blocks == 1 else 'are'}"
    if len(solid.meshes) > 1:
        return f"{said} in more than one shell of {solid.name}, whose parts overlap"
    return (
        f"{said} in overlapping shells of {solid.name}, or in a void that faces "
        "outward: by parity not inside, by winding inside"
    )


def as_table(summary: Summary) -> str:
    """Lay the summary out as lines to read."""
    parts = [*summary.domains, summary.background, summary.unassigned]
    parts += [summary.leaking] if summary.leaking.blocks else []
    sized = any(part.volume is not None for part in parts)
    rows = [["domain", "blocks", "share", *(["volume", "in solid", "wireframe"] if sized else [])]]
    rows += [_cells(part, sized=sized, solid=part in summary.domains) for part in parts]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(_aligned(row, widths)).rstrip() for row in rows]
    lines += [
        f"in both {pair['solids'][0]} and {pair['solids'][1]}: {pair['blocks']:,}"
        for pair in summary.overlaps
    ]
    if summary.on_wall is not None:
        lines.append(f"exactly on a wall: {summary.on_wall:,}")
    lines += [
        f"welded {weld.mesh} at {weld.tolerance:g}: {weld.moved:,} vertices moved, "
        f"at most {weld.largest_move:.3g}"
        for weld in summary.welds
    ]
    lines.append(
        f"{_count(summary.rows, 'row')} in {summary.seconds:.2f} s, "
        f"{summary.rows_per_second:,.0f} rows/s, {summary.backend} ({summary.backend_reason})"
    )
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    """Say how many there are of something."""
    return f"{number:,} {what}" + "s" * (number != 1)


def _cells(part: Part, *, sized: bool, solid: bool) -> list[str]:
    """Say one row of the table."""
    name = part.name if solid else f"({part.name})"
    # The label is said only where it is not the name: background and the like.
    shown = f"{name} {part.label}" if part.label and not solid else name
    cells = [shown, f"{part.blocks:,}", f"{part.share:.2%}"]
    volumes = (part.volume, part.own_volume, part.wireframe_volume)
    return cells + [_volume(volume) for volume in volumes] if sized else cells


def _volume(volume: float | None) -> str:
    """Say a volume with six digits or more, or nothing."""
    if volume is None:
        return ""
    return f"{volume:,.0f}" if volume >= 1e5 else f"{volume:,.6g}"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Set the first cell to the left and the numbers to the right."""
    cells = zip(row, widths, strict=True)
    return [
        cell.rjust(width) if index else cell.ljust(width)
        for index, (cell, width) in enumerate(cells)
    ]
