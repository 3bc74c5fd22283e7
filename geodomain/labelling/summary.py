"""Summary of a labelling: values, JSON and a text table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from geodomain.domains.order import DomainOrLayer
from geodomain.domains.sources import Weld
from geodomain.errors import counted, in_lines, log
from geodomain.files.streams import STANDARD
from geodomain.labelling.counts import ShareTally, Tally
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.labelling.warnings import notes, tally_warnings
from geodomain.mesh.mesh import Mesh
from geodomain.result_tables import html_table, records_frame, text_table

if TYPE_CHECKING:
    import pandas

# Largest number of overlaps shown as text; JSON lists all.
_MOST_PAIRS = 50


@dataclass(frozen=True)
class Part:
    """One row of the summary.

    Attributes
    ----------
    name : str
        Name of the domain, or background, unassigned, leaking, beyond, kept.
    label : str
        Label of the blocks.
    blocks : int
        Number of blocks with this label. A block in several domains is counted once.
    share : float
        Fraction of all blocks, 0 to 1.
    volume : float, optional
        Volume in cubed units of the file, if block sizes are known.
    own_blocks, own_volume : optional
        Blocks in the domain, whichever domain labels them, and their volume.
    wireframe_volume : float, optional
        Volume of the solid's meshes, if it can be compared with `own_volume`.
    code : int, optional
        Code of the domain.
    proportion_volume : float, optional
        Volume from block proportions, if computed: of the domain on its own, or by domain order.
    proportion_error : float, optional
        Estimated error of `proportion_volume`: the sampling error of blocks sampled along lines,
        plus 1e-9 of the volume of all blocks that are partly inside the domain, for rounding.
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
    proportion_volume: float | None = None
    proportion_error: float | None = None


class SharedBlocks(TypedDict):
    """Two solids that share blocks, with the number and the volume (if known) of these blocks."""

    solids: list[str]
    blocks: int
    volume: float | None


class Folded(TypedDict):
    """A surface that some vertical lines cross more than once, with numbers of lines and blocks."""

    surface: str
    columns: int
    blocks: int


@dataclass(frozen=True)
class ShareSummary:
    """How block proportions were computed.

    Attributes
    ----------
    proportions : {"itself", "priority"}, optional
        Proportions that were written; see `label_file`.
    percent : bool
        Whether proportions are written from 0 to 100.
    by : {"centroid", "majority"}
        How blocks were labelled.
    lines : int
        Square root of the number of vertical lines in a block.
    entered, by_lines : int
        Blocks that a wireframe enters, and how many of these blocks were sampled along lines.
    beyond : int
        Blocks with an unassigned part, because this part is outside the footprint of a surface.
    moved : int
        Blocks whose label by majority differs from the label of the centroid.
    estimated_error : float
        Largest estimated error of a share along lines, 0 to 1. The estimate is the difference
        between the share by all lines and the share by every sixth line, or the share that all
        lines may miss if this is larger.
    """

    proportions: str | None
    percent: bool
    by: str
    lines: int
    entered: int
    by_lines: int
    beyond: int
    moved: int
    estimated_error: float

    def __str__(self) -> str:
        """Return the summary as one line of text."""
        text = f"shares: wireframes enter {counted(self.entered, 'block')}"
        if self.by_lines:
            text += (
                f", {self.by_lines:,} of them sampled along {self.lines} x {self.lines} lines: "
                f"proportions there are wrong by at most {self.estimated_error:.2g} (estimated)"
            )
        if self.by == "majority":
            text += f"; majority changed the label of {counted(self.moved, 'block')}"
        return text


@dataclass(frozen=True, repr=False)
class Summary:
    """The result of a labelling; `str` gives a table, and a notebook shows the table.

    Attributes
    ----------
    rows : int
        Number of blocks.
    domains : tuple of Part
        Domains and layers in order.
    background, unassigned, leaking, beyond, kept : Part
        In this order: blocks outside every domain, blocks without coordinates, blocks above or
        below a gap in an open mesh, blocks outside the footprint of a surface, and blocks that keep
        their existing label.
    overlaps : tuple of dict
        Pairs of ``solids`` that share blocks: the number of ``blocks``, and their ``volume``.
    folded : tuple of dict
        Each ``surface`` that folds over itself: the number of ``columns`` (vertical lines that
        cross it more than once), and of ``blocks`` on them.
    uncertain : int
        Blocks whose label rounding may have decided.
    on_wall : int, optional
        Blocks exactly on a wireframe, if they were counted.
    seconds, rows_per_second : float
        Run time in seconds, including reading and writing, and the rows labelled per second.
    backend, backend_reason : str
        Backend that computed the labels, and the reason for this backend.
    columns : tuple of str
        New columns.
    output : str, optional
        File that was written.
    welds : tuple of Weld
        Changes by welding, mesh by mesh.
    warnings : tuple of str
        All warnings.
    notes : tuple of str
        Remarks that are not warnings, such as domains without a block, and solids that extend
        beyond the model.
    shares : ShareSummary, optional
        How block proportions were computed, if they were.
    """

    rows: int
    domains: tuple[Part, ...]
    background: Part
    unassigned: Part
    leaking: Part
    beyond: Part
    kept: Part
    overlaps: tuple[SharedBlocks, ...]
    folded: tuple[Folded, ...]
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
    notes: tuple[str, ...] = ()
    shares: ShareSummary | None = None

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows of the printed table as a DataFrame, with all fields of `Part`."""
        return records_frame(Part, _shown(self))

    def __str__(self) -> str:
        """Return the summary as lines of text."""
        return as_table(self)

    def __repr__(self) -> str:
        """Return one line with the number of blocks of each domain."""
        counts = ", ".join(f"{part.name} {part.blocks:,}" for part in _shown(self))
        return f"<Summary of {counted(self.rows, 'row')}: {counts}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, *rows = _rows(self)
        notes = [*_notes(self), *(f"warning: {warning}" for warning in self.warnings)]
        return html_table(self.output or "not written", rows, headings=headings, notes=notes)


def as_table(summary: Summary) -> str:
    """Return the summary as lines of text."""
    return in_lines([*text_table(_rows(summary)), *_notes(summary)])


def _shown(summary: Summary) -> list[Part]:
    """Return the rows to show; leaking, beyond and kept are left out if they have no blocks."""
    parts = [*summary.domains, summary.background, summary.unassigned]
    return parts + [p for p in (summary.leaking, summary.beyond, summary.kept) if p.blocks]


def _rows(summary: Summary) -> list[list[str]]:
    """Return the cells of the printed table, headings first."""
    parts = _shown(summary)
    sized = any(part.volume is not None for part in parts)
    shown = _volumes(summary) if sized else {}
    rows = [["domain", "blocks", "share", *shown]]
    return rows + [_cells(part, [*shown.values()], solid=part in summary.domains) for part in parts]


def _volumes(summary: Summary) -> dict[str, str]:
    """Map the heading of each volume column to the attribute of `Part` that the column shows."""
    first, own = {"volume": "volume"}, {"before priority": "own_volume"}
    measured = {"by proportion": "proportion_volume", "error": "proportion_error"}
    shares = measured if summary.shares else {}
    if summary.shares and summary.shares.proportions == "itself":
        first |= own | shares
    else:
        first |= shares | own
    return first | {"wireframe volume": "wireframe_volume"}


def _notes(summary: Summary) -> list[str]:
    """Return the lines below the table."""
    lines = _overlaps(summary.overlaps)
    if summary.on_wall is not None:
        lines.append(f"rows exactly on a wireframe: {summary.on_wall:,}")
    lines += [
        f"welded {weld.mesh} at {weld.tolerance:g}: {counted(weld.moved, 'vertex', 'vertices')} "
        "moved, "
        f"at most {weld.largest_move:.3g}"
        for weld in summary.welds
    ]
    lines += str(summary.shares).split("\n") if summary.shares else []
    return [
        *lines,
        *(f"note: {note}" for note in summary.notes),
        f"{counted(summary.rows, 'row')} in {summary.seconds:.2f} s, "
        f"{summary.rows_per_second:,.0f} rows/s, {summary.backend} ({summary.backend_reason})",
        *_written(summary.output),
    ]


def _written(output: str | None) -> list[str]:
    """Return the line about the written file; no line for standard output."""
    if output == STANDARD:
        return []
    return ["no file was written" if output is None else f"wrote {output}"]


def _overlaps(pairs: Sequence[SharedBlocks]) -> list[str]:
    """Return a line for each overlapping pair; if there are very many, for the largest overlaps."""
    if len(pairs) <= _MOST_PAIRS:
        return [_overlap(pair) for pair in pairs]
    largest = sorted(pairs, key=lambda pair: -pair["blocks"])[:_MOST_PAIRS]
    others = len(pairs) - _MOST_PAIRS
    share = "shares" if others == 1 else "share"
    rest = f"{counted(others, 'other pair')} of domains {share} blocks; the JSON lists all pairs"
    return [*map(_overlap, largest), rest]


def _overlap(pair: SharedBlocks) -> str:
    """Format the overlap of two solids."""
    first, second = pair["solids"]
    volume = "" if pair["volume"] is None else f", volume {_volume(pair['volume'])}"
    return f"blocks in both {first} and {second}: {pair['blocks']:,}{volume}"


def _cells(part: Part, volumes: Sequence[str], *, solid: bool) -> list[str]:
    """Format one row of the printed table; `volumes` are the attributes of the volume columns."""
    name = part.name if solid else f"({part.name})"
    # The label is shown only if it differs from the name, as for background.
    shown = f"{name} {part.label}" if part.label and not solid else name
    cells = [shown, f"{part.blocks:,}", f"{part.share:.2%}"]
    return cells + [_volume(getattr(part, name)) for name in volumes]


def _volume(volume: float | None) -> str:
    """Format a volume, to at least six digits; return "" for None."""
    if volume is None:
        return ""
    return f"{volume:,.0f}" if volume >= 1e5 else f"{volume:,.6g}"


# --- The summary of a labelling, computed from its counts.


class _Own(TypedDict, total=False):
    """The fields of `Part` that only domains have."""

    own_blocks: int
    own_volume: float | None
    wireframe_volume: float | None
    code: int | None
    proportion_volume: float | None
    proportion_error: float | None


def summarise(
    labeller: Labeller,
    tally: Tally,
    settings: LabelSettings,
    *,
    seconds: float,
    columns: Sequence[str] = (),
    output: str | None = None,
    welds: Sequence[Weld] = (),
    warnings: Sequence[str] = (),
    earlier: Sequence[str] = (),
) -> Summary:
    """Return the summary of a labelling from its counts.

    Parameters
    ----------
    labeller : Labeller
        The labeller that was used.
    tally : Tally
        Counts of the labelling.
    settings : LabelSettings
        Settings, with the labels of blocks outside all domains.
    seconds : float
        Run time.
    columns, output, welds, warnings : optional
        Further content of the summary.
    earlier : sequence of str
        Notes that precede the notes on domains.

    Returns
    -------
    Summary
        Its warnings are `warnings`, then the warnings that follow from the counts.
    """
    solids = labeller.targets
    *domains, background, unassigned, leaking, beyond, kept = parts_of(solids, tally, settings)
    machine, reason = labeller.machine
    log(
        "labelled %s with %s in %s s, %s (%s)",
        counted(tally.rows, "row"), counted(len(solids), "domain"), f"{seconds:.2f}",
        machine, reason,
    )  # fmt: skip
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
        on_wall=tally.on_wall if labeller.settings.count_on_wall else None,
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
            *notes(labeller.domains, tally, samples=settings.samples),
            *tally.conditions.notes(),
            *(_share_notes(tally.shares) if tally.shares else ()),
        ),
        shares=_share_summary(settings, tally.shares) if tally.shares else None,
    )


def _share_summary(settings: LabelSettings, tally: ShareTally) -> ShareSummary:
    """Return the summary of proportions from their counts."""
    return ShareSummary(
        settings.proportions,
        bool(settings.percent),
        settings.by or "centroid",
        settings.line_count,
        tally.entered,
        tally.by_lines,
        tally.beyond,
        tally.moved,
        tally.worst,
    )


def _share_notes(tally: ShareTally) -> Iterator[str]:
    """Yield remarks on proportions that are not warnings."""
    if tally.turned:
        yield (
            "to compute proportions, the wireframes were rotated to the frame of the blocks in "
            "float64, which rounds the coordinates of the wireframes"
        )


def parts_of(solids: Sequence[DomainOrLayer], tally: Tally, settings: LabelSettings) -> list[Part]:
    """Return the rows of the summary: the domains, then the blocks outside all domains."""
    names = [solid.name for solid in solids]
    others = ("background", "unassigned", "leaking", "beyond", "kept")
    rest = dict(zip(others, (*settings.rest, ""), strict=True))
    rows = max(tally.rows, 1)
    parts = []
    for code, (name, label) in enumerate([*zip(names, names, strict=True), *rest.items()]):
        blocks = int(tally.blocks[code])
        volume = float(tally.volumes[code]) if tally.sized and tally.rows else None
        own: _Own = _own_part(solids[code], code, tally) if code < len(solids) else {}
        parts.append(Part(name, label, blocks, blocks / rows, volume, **own))
    return parts


def _own_part(solid: DomainOrLayer, index: int, tally: Tally) -> _Own:
    """Return the fields of `Part` for a domain on its own; None for an unknown volume."""
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
    """Return the volume of a domain from block proportions, and its estimated error."""
    if shares is None:
        return {}
    return {
        "proportion_volume": float(shares.volumes[index]),
        "proportion_error": float(shares.errors[index]),
    }


def mesh_volume(mesh: Mesh) -> float:
    """Return the volume enclosed by a closed mesh, in cubed units of its coordinates.

    Signed volumes of tetrahedra are summed. Their common corner is the centre of the mesh's box,
    because at mine coordinates a sum from the origin would lose the volume in rounding.
    """
    corners = (mesh.vertices - mesh.bounds.mean(axis=0))[mesh.triangles]
    cross = np.cross(corners[:, 1], corners[:, 2])
    return abs(float(np.einsum("ij,ij->", corners[:, 0], cross))) / 6.0


def overlap_pairs(solids: Sequence[DomainOrLayer], tally: Tally) -> tuple[SharedBlocks, ...]:
    """Return the pairs of solids that share blocks, with the number and volume of these blocks."""
    overlaps = tally.overlaps
    return tuple(
        {
            "solids": [solids[pair // overlaps.targets].name, solids[pair % overlaps.targets].name],
            "blocks": int(blocks),
            "volume": float(volume) if tally.sized else None,
        }
        for pair, blocks, volume in zip(
            overlaps.pairs.tolist(),
            overlaps.blocks.tolist(),
            overlaps.volumes.tolist(),
            strict=True,
        )
    )


def folded_surfaces(tally: Tally) -> tuple[Folded, ...]:
    """Return the surfaces that vertical lines cross more than once, with the number of lines."""
    return tuple(
        {"surface": name, "columns": len(folds.columns), "blocks": folds.blocks}
        for name, folds in sorted(tally.folds.items())
    )
