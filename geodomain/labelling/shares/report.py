"""What a labelling says of shares: for its summary, and as sentences of warning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from geodomain.domains.order import DomainOrLayer
from geodomain.errors import counted
from geodomain.labelling.shares.settings import ShareSettings
from geodomain.labelling.shares.tally import ShareTally
from geodomain.volumes.block_shares import by_lines


@dataclass(frozen=True)
class ShareSummary:
    """How shares of blocks were found.

    Attributes
    ----------
    proportions : {"itself", "priority"}, optional
        Which were written; see `label_file`.
    percent : bool
        From 0 to 100.
    by : {"centroid", "majority"}
        What labelled the blocks.
    lines : int
        The root of the number of vertical lines in a block.
    entered, by_lines : int
        Blocks that a wireframe enters, and those of them that went along lines.
    beyond : int
        Blocks of which a part has no label, beyond the footprint of a surface.
    moved : int
        Blocks whose label by majority is not that of their centroid.
    estimated_error : float
        The largest of one share along lines, 0 to 1: how far the share by a sixth of the lines
        is from it.
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
        """Say it in a line."""
        said = f"shares: wireframes enter {_blocks(self.entered)}"
        if self.by_lines:
            said += (
                f", {self.by_lines:,} of them along {self.lines} x {self.lines} lines: shares "
                f"there are wrong by at most {self.estimated_error:.2g} (estimated)"
            )
        if self.by == "majority":
            said += f"; majority changed the label of {_blocks(self.moved)}"
        return said


def share_summary(settings: ShareSettings, tally: ShareTally) -> ShareSummary:
    """Return the summary of shares."""
    return ShareSummary(
        settings.proportions,
        settings.percent,
        settings.by,
        settings.lines,
        tally.entered,
        tally.by_lines,
        tally.beyond,
        tally.moved,
        tally.worst,
    )


def share_notes(tally: ShareTally) -> Iterator[str]:
    """Yield what need not be wrong, and should be known."""
    if tally.turned:
        yield (
            "for shares the wireframes were turned into the frame of the blocks, in float64: "
            "their coordinates are rounded there"
        )


def share_warnings(
    settings: ShareSettings, tally: ShareTally, targets: Sequence[DomainOrLayer]
) -> Iterator[str]:
    """Yield a sentence for everything that a geologist should know of the shares."""
    for name, count in tally.crossed.items():
        yield by_lines(name, count, settings.lines)
    for target, lost in zip(targets, tally.lost.tolist(), strict=True):
        if lost:
            yield (
                f"{_blocks(lost)} {'lies' if lost == 1 else 'lie'} partly or wholly outside the "
                f"footprint of a surface of {target.name}, and {'has' if lost == 1 else 'have'} no "
                f"{settings.column(target.name)}"
            )
    if tally.beyond:
        yield (
            f"{_blocks(tally.beyond)} {'lies' if tally.beyond == 1 else 'lie'} partly or wholly "
            "outside the footprint of a surface: what is beyond it is unassigned, in no share"
        )


def _blocks(count: int) -> str:
    return counted(count, "block")
