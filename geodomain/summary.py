"""What a labelling found, as plain values, as JSON and as a table to read; nothing is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from geodomain.boxes import within
from geodomain.labeller import Labeller
from geodomain.labels import Labels
from geodomain.mesh import Mesh
from geodomain.ordering import Target
from geodomain.remarks import counted, doubts
from geodomain.solids import Weld
from geodomain.tally import Tally


@dataclass(frozen=True)
class Part:
    """One row of the summary.

    Attributes
    ----------
    name : str
        The domain, or background, unassigned, leaking, beyond, kept.
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
    code : int, optional
        What stands for the label in models that carry numbers.
    """

    name: str
    label: str
    blocks: int
    share: float
    volume: float | None = None
    own_blocks: int | None = None
    own_volume: float | None = None
    wireframe_volume: float | None = None
    code: int | None = None


@dataclass(frozen=True)
class Summary:
    """All that a labelling has to report."""

    rows: int
    domains: tuple[Part, ...]
    background: Part
    unassigned: Part
    leaking: Part
    beyond: Part
    kept: Part
    overlaps: tuple[dict[str, Any], ...]
    folded: tuple[dict[str, Any], ...]
    uncertain: int
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
    solids = labeller.targets
    *domains, background, unassigned, leaking, beyond, kept = parts_of(solids, tally, labels)
    machine, reason = labeller.machine
    return Summary(
        rows=tally.rows,
        domains=tuple(domains),
        background=background,
        unassigned=unassigned,
        leaking=leaking,
        beyond=beyond,
        kept=kept,
        overlaps=overlap_pairs(solids, tally),
        folded=folded_surfaces(tally),
        uncertain=int(tally.uncertain.sum()),
        on_wall=tally.on_wall if labeller.count_on_wall else None,
        seconds=seconds,
        rows_per_second=tally.rows / max(seconds, 1e-9),
        backend=machine,
        backend_reason=reason,
        columns=tuple(columns),
        output=output,
        welds=tuple(welds),
        warnings=tuple(doubts(labeller.domains, tally, domains)),
    )


def parts_of(solids: Sequence[Target], tally: Tally, labels: Labels) -> list[Part]:
    """Give the rows of the summary: the domains, then what no domain surely has."""
    names = [solid.name for solid in solids]
    rest = {
        "background": labels.background,
        "unassigned": labels.unassigned,
        "leaking": labels.leaky,
        "beyond": labels.unassigned,
        "kept": "",
    }
    rows = max(tally.rows, 1)
    parts = []
    for code, (name, label) in enumerate([*zip(names, names, strict=True), *rest.items()]):
        blocks = int(tally.blocks[code])
        volume = float(tally.volumes[code]) if tally.sized and tally.rows else None
        own = _own(solids[code], code, tally) if code < len(solids) else {}
        parts.append(Part(name, label, blocks, blocks / rows, volume, **own))
    return parts


def _own(solid: Target, index: int, tally: Tally) -> dict[str, Any]:
    """Give what a solid has by itself, and its wireframe's volume where that can be compared."""
    sized = tally.sized and tally.rows > 0
    frames = solid.wireframes
    whole = sized and within(solid.bounds, tally.bounds) and not tally.doubled[index]
    return {
        "own_blocks": int(tally.own_blocks[index]),
        "own_volume": float(tally.own_volumes[index]) if sized else None,
        "wireframe_volume": sum(map(mesh_volume, frames)) if whole and frames else None,
        "code": solid.code,
    }


def mesh_volume(mesh: Mesh) -> float:
    """Give the volume that a closed mesh encloses, in cubed units of its coordinates.

    The sum of signed tetrahedra, taken from the middle of the box: at mine coordinates a sum
    from the origin would lose the volume in rounding.
    """
    corners = (mesh.vertices - mesh.bounds.mean(axis=0))[mesh.triangles]
    cross = np.cross(corners[:, 1], corners[:, 2])
    return abs(float(np.einsum("ij,ij->", corners[:, 0], cross))) / 6.0


def overlap_pairs(solids: Sequence[Target], tally: Tally) -> tuple[dict[str, Any], ...]:
    """Give the pairs of solids that share blocks, how many, and their volume where it is known."""
    return tuple(
        {
            "solids": [solids[one].name, solids[two].name],
            "blocks": int(tally.overlaps[one, two]),
            "volume": float(tally.overlap_volumes[one, two]) if tally.sized else None,
        }
        for one, two in combinations(range(len(solids)), 2)
        if tally.overlaps[one, two]
    )


def folded_surfaces(tally: Tally) -> tuple[dict[str, Any], ...]:
    """Give the surfaces that vertical lines cross more than once, and in how many columns."""
    return tuple(
        {"surface": name, "columns": len(folds.columns), "blocks": folds.blocks}
        for name, folds in sorted(tally.folds.items())
    )


def as_table(summary: Summary) -> str:
    """Lay the summary out as lines to read."""
    parts = [*summary.domains, summary.background, summary.unassigned]
    parts += [part for part in (summary.leaking, summary.beyond, summary.kept) if part.blocks]
    sized = any(part.volume is not None for part in parts)
    rows = [["domain", "blocks", "share", *(["volume", "by itself", "wireframe"] if sized else [])]]
    rows += [_cells(part, sized=sized, solid=part in summary.domains) for part in parts]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(_aligned(row, widths)).rstrip() for row in rows]
    lines += [_overlap(pair) for pair in summary.overlaps]
    if summary.on_wall is not None:
        lines.append(f"exactly on a wall: {summary.on_wall:,}")
    lines += [
        f"welded {weld.mesh} at {weld.tolerance:g}: {weld.moved:,} vertices moved, "
        f"at most {weld.largest_move:.3g}"
        for weld in summary.welds
    ]
    lines.append(
        f"{counted(summary.rows, 'row')} in {summary.seconds:.2f} s, "
        f"{summary.rows_per_second:,.0f} rows/s, {summary.backend} ({summary.backend_reason})"
    )
    return "\n".join(lines)


def _overlap(pair: dict[str, Any]) -> str:
    """Say what two solids share."""
    one, two = pair["solids"]
    volume = "" if pair["volume"] is None else f", volume {_volume(pair['volume'])}"
    return f"in both {one} and {two}: {pair['blocks']:,}{volume}"


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
