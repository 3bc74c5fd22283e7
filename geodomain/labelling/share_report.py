"""What shares of blocks add up to, chunk by chunk, and how far off those along lines may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from geodomain.compute.data import Floats
from geodomain.domains.order import DomainOrLayer
from geodomain.errors import counted
from geodomain.labelling.settings import LabelSettings
from geodomain.labelling.share_pieces import SAMPLES
from geodomain.volumes.block_shares import by_lines

# Shares by volume are wrong by less than so much of a block that is cut.
ROUNDING = 1e-9


class ShareTally:
    """Volumes by shares, and counts of how shares were found; one thread adds.

    Parameters
    ----------
    count : int
        Domains and layers, k.

    Attributes
    ----------
    volumes : (k,) float64
        By shares, in cubed units of the file.
    entered, by_lines : int
        Blocks that a wireframe enters, and those of them that went along lines.
    crossed : dict of str to int
        Blocks along lines because triangles of one mesh cross or fold, by its name.
    lost : (k,) int64
        Blocks without a share of a domain by itself, beyond a surface's footprint.
    beyond : int
        Blocks of which a part has no label, by the domains' order, for the same reason.
    moved : int
        Blocks whose label by majority is not that of their centroid.
    worst : float
        The largest estimated error of one share.
    turned, by_itself : bool
        Whether meshes were turned into the frame of the blocks; whether volumes are those of each
        domain by itself, not by their order.
    """

    def __init__(self, count: int) -> None:
        self.volumes = np.zeros(count)
        self._off, self._unseen = np.zeros((SAMPLES, count)), np.zeros(count)
        self._cut = np.zeros(count)
        self.lost = np.zeros(count, np.int64)
        self.entered = self.by_lines = self.beyond = self.moved = 0
        self.crossed: dict[str, int] = {}
        self.worst = 0.0
        self.turned = self.by_itself = False

    @property
    def errors(self) -> Floats:
        """Return the estimated error of each volume, (k,), with what rounding may be."""
        lines = np.sqrt((self._off**2).max(axis=0) + self._unseen)
        return np.asarray(lines + ROUNDING * self._cut)

    def add_cut(self, targets: range, shares: Floats, volumes: Floats) -> None:
        """Add the volumes of blocks that are cut, (n,), with the shares of w targets, (n, w)."""
        cut = (shares > 0) & (shares < 1)
        self._cut[targets.start : targets.stop] += (cut * volumes[:, None]).sum(axis=0)

    def see(self, off: Floats, unseen: Floats) -> None:
        """Remember the largest error of shares."""
        for error in (off, unseen):
            self.worst = max(self.worst, float(np.abs(error).max(initial=0.0)))

    def add_off(self, targets: range, off: Floats, unseen: Floats, volumes: Floats) -> None:
        """Add errors of shares to those of volumes.

        Parameters
        ----------
        targets : range
            w of them.
        off : (s, n, w) float64
            How far samples of lines are from all of them. They err alike in many blocks, or not:
            so each is added up with its sign.
        unseen : (n, w) float64
            What lines may miss, which is different in each block.
        volumes : (n,) float64
            Of the blocks.
        """
        span = slice(targets.start, targets.stop)
        self._off[: len(off), span] += (off * volumes[:, None]).sum(axis=1)
        self._unseen[span] += ((unseen * volumes[:, None]) ** 2).sum(axis=0)


# --- What a labelling says of shares: for its summary, and as sentences of warning.


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


def share_summary(settings: LabelSettings, tally: ShareTally) -> ShareSummary:
    """Return the summary of shares."""
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


def share_notes(tally: ShareTally) -> Iterator[str]:
    """Yield what need not be wrong, and should be known."""
    if tally.turned:
        yield (
            "for shares the wireframes were turned into the frame of the blocks, in float64: "
            "their coordinates are rounded there"
        )


def share_warnings(
    settings: LabelSettings, tally: ShareTally, targets: Sequence[DomainOrLayer]
) -> Iterator[str]:
    """Yield a sentence for everything that a geologist should know of the shares."""
    for name, count in tally.crossed.items():
        yield by_lines(name, count, settings.line_count)
    for target, lost in zip(targets, tally.lost.tolist(), strict=True):
        if lost:
            yield (
                f"{_blocks(lost)} {'lies' if lost == 1 else 'lie'} partly or wholly outside the "
                f"footprint of a surface of {target.name}, and {'has' if lost == 1 else 'have'} no "
                f"{settings.share_column(target.name)}"
            )
    if tally.beyond:
        yield (
            f"{_blocks(tally.beyond)} {'lies' if tally.beyond == 1 else 'lie'} partly or wholly "
            "outside the footprint of a surface: what is beyond it is unassigned, in no share"
        )


def _blocks(count: int) -> str:
    return counted(count, "block")
