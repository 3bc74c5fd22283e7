"""The summary of a labelling, computed from its counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from geodomain.domains.order import DomainOrLayer
from geodomain.domains.solids import Weld
from geodomain.labelling.cells import Labels
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.placement import notes
from geodomain.labelling.shares.report import share_notes, share_summary
from geodomain.labelling.shares.settings import ShareSettings
from geodomain.labelling.shares.tally import ShareTally
from geodomain.labelling.summary import Folded, Overlap, Part, Summary
from geodomain.labelling.tally import Tally
from geodomain.labelling.warnings import tally_warnings
from geodomain.mesh.mesh import Mesh


class _Own(TypedDict, total=False):
    """Fields of `Part` for a solid by itself."""

    own_blocks: int
    own_volume: float | None
    wireframe_volume: float | None
    code: int | None
    proportion_volume: float | None
    proportion_error: float | None


def summarise(
    labeller: Labeller,
    tally: Tally,
    labels: Labels,
    *,
    seconds: float,
    columns: Sequence[str] = (),
    output: str | None = None,
    welds: Sequence[Weld] = (),
    warnings: Sequence[str] = (),
    samples: bool = False,
    earlier: Sequence[str] = (),
    shares: ShareSettings | None = None,
) -> Summary:
    """Return the summary of a labelling from its counts.

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
    columns, output, welds, warnings : optional
        What else there is to report.
    samples : bool
        Whether the rows are samples, which fill no model that a solid could leave.
    earlier : sequence of str
        Notes to put before those on the domains.
    shares : ShareSettings, optional
        What was asked of shares of blocks.

    Returns
    -------
    Summary
        Its warnings are those given, then what else the counts give cause for.
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
        warnings=tuple(
            dict.fromkeys([*warnings, *tally_warnings(labeller.domains, tally, domains)])
        ),
        notes=(
            *earlier,
            *notes(labeller.domains, tally, samples=samples),
            *(share_notes(tally.shares) if tally.shares else ()),
        ),
        shares=share_summary(shares, tally.shares) if shares and tally.shares else None,
    )


def parts_of(solids: Sequence[DomainOrLayer], tally: Tally, labels: Labels) -> list[Part]:
    """Return the rows of the summary: the domains, then the blocks outside them."""
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
        own: _Own = _own(solids[code], code, tally) if code < len(solids) else {}
        parts.append(Part(name, label, blocks, blocks / rows, volume, **own))
    return parts


def _own(solid: DomainOrLayer, index: int, tally: Tally) -> _Own:
    """Return blocks and volume of a solid by itself, and its wireframe's volume if comparable."""
    sized = tally.sized and tally.rows > 0
    frames = solid.wireframes
    whole = sized and not tally.doubled[index] and tally.encloses(solid)
    return {
        "own_blocks": int(tally.own_blocks[index]),
        "own_volume": float(tally.own_volumes[index]) if sized else None,
        "wireframe_volume": sum(map(mesh_volume, frames)) if whole and frames else None,
        "code": solid.code,
        **_by_shares(index, tally.shares if sized else None),
    }


def _by_shares(index: int, shares: ShareTally | None) -> _Own:
    """Return the volume of a domain by shares of blocks, and its estimated error."""
    if shares is None:
        return {}
    return {
        "proportion_volume": float(shares.volumes[index]),
        "proportion_error": float(shares.errors[index]),
    }


def mesh_volume(mesh: Mesh) -> float:
    """Return the volume that a closed mesh encloses, in cubed units of its coordinates.

    The sum of signed tetrahedra, taken from the middle of the box: at mine coordinates a sum
    from the origin would lose the volume in rounding.
    """
    corners = (mesh.vertices - mesh.bounds.mean(axis=0))[mesh.triangles]
    cross = np.cross(corners[:, 1], corners[:, 2])
    return abs(float(np.einsum("ij,ij->", corners[:, 0], cross))) / 6.0


def overlap_pairs(solids: Sequence[DomainOrLayer], tally: Tally) -> tuple[Overlap, ...]:
    """Return the pairs of solids that share blocks, with the number of blocks and their volume."""
    return tuple(
        {
            "solids": [solids[one].name, solids[two].name],
            "blocks": int(tally.overlaps[one, two]),
            "volume": float(tally.overlap_volumes[one, two]) if tally.sized else None,
        }
        for one, two in np.argwhere(tally.overlaps).tolist()  # above the diagonal, few of many
    )


def folded_surfaces(tally: Tally) -> tuple[Folded, ...]:
    """Return the surfaces that vertical lines cross more than once, with the number of columns."""
    return tuple(
        {"surface": name, "columns": len(folds.columns), "blocks": folds.blocks}
        for name, folds in sorted(tally.folds.items())
    )
