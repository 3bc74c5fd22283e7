"""Sums of block proportions, error estimates for shares along lines, and their warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from geodomain.compute.data import Floats
from geodomain.domains.order import DomainOrLayer
from geodomain.errors import counted
from geodomain.labelling.settings import LabelSettings
from geodomain.labelling.share_pieces import SAMPLES
from geodomain.volumes.shares import by_lines

# Error bound of shares by volume, as a fraction of a cut block.
ROUNDING = 1e-9


class ShareTally:
    """Volumes from proportions, and counts of the ways of computing them; only one thread adds.

    Parameters
    ----------
    count : int
        Number of domains and layers, k.

    Attributes
    ----------
    volumes : (k,) float64
        Volumes from proportions, in cubed units of the file.
    entered, by_lines : int
        Blocks that a wireframe enters, and how many of them were cut along lines.
    crossed : dict of str to int
        Blocks cut along lines because triangles of a mesh cross or fold, by mesh name.
    lost : (k,) int64
        Blocks without a proportion for a domain on its own, outside a surface's footprint.
    beyond : int
        Blocks with an unlabelled part, by domain order, for the same reason.
    moved : int
        Blocks whose label by majority differs from the label of the centroid.
    worst : float
        Largest estimated error of a share.
    turned, by_itself : bool
        Whether meshes were rotated to the frame of the blocks; whether volumes are of each domain
        on its own, not by domain order.
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
        """Return the estimated error of each volume, (k,), including rounding."""
        lines = np.sqrt((self._off**2).max(axis=0) + self._unseen)
        return np.asarray(lines + ROUNDING * self._cut)

    def add_cut(self, targets: range, shares: Floats, volumes: Floats) -> None:
        """Add n cut blocks: shares in w targets, (n, w), and block volumes, (n,)."""
        cut = (shares > 0) & (shares < 1)
        self._cut[targets.start : targets.stop] += (cut * volumes[:, None]).sum(axis=0)

    def see(self, off: Floats, unseen: Floats) -> None:
        """Update the largest error of shares."""
        for error in (off, unseen):
            self.worst = max(self.worst, float(np.abs(error).max(initial=0.0)))

    def add_off(self, targets: range, off: Floats, unseen: Floats, volumes: Floats) -> None:
        """Add errors of shares to the errors of volumes.

        Parameters
        ----------
        targets : range
            w of them.
        off : (s, n, w) float64
            Difference between each sample of lines and all lines. Samples may err in the same
            direction in many blocks, so differences are added with their sign.
        unseen : (n, w) float64
            Share that lines may miss; independent between blocks.
        volumes : (n,) float64
            Volumes of the blocks.
        """
        span = slice(targets.start, targets.stop)
        self._off[: len(off), span] += (off * volumes[:, None]).sum(axis=1)
        self._unseen[span] += ((unseen * volumes[:, None]) ** 2).sum(axis=0)


# --- Proportions in the summary, and their warnings.


@dataclass(frozen=True)
class ShareSummary:
    """How block proportions were computed.

    Attributes
    ----------
    proportions : {"itself", "priority"}, optional
        Proportions that were written; see `label_file`.
    percent : bool
        Whether they are from 0 to 100.
    by : {"centroid", "majority"}
        How blocks were labelled.
    lines : int
        Square root of the number of vertical lines in a block.
    entered, by_lines : int
        Blocks that a wireframe enters, and how many of them were cut along lines.
    beyond : int
        Blocks with an unlabelled part outside the footprint of a surface.
    moved : int
        Blocks whose label by majority differs from the label of the centroid.
    estimated_error : float
        Largest estimated error of a share along lines, 0 to 1: its difference from the share by a
        sixth of the lines.
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
        """Return one line of text."""
        said = f"shares: wireframes enter {_blocks(self.entered)}"
        if self.by_lines:
            said += (
                f", {self.by_lines:,} of them cut along {self.lines} x {self.lines} lines: "
                f"proportions there are wrong by at most {self.estimated_error:.2g} (estimated)"
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
    """Yield remarks that are not warnings."""
    if tally.turned:
        yield (
            "for proportions the wireframes were rotated to the frame of the blocks in float64, "
            "which rounds their coordinates"
        )


def share_warnings(
    settings: LabelSettings, tally: ShareTally, targets: Sequence[DomainOrLayer]
) -> Iterator[str]:
    """Yield warnings about proportions."""
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
            "outside the footprint of a surface: the part outside is unassigned and in no "
            "proportion"
        )


def _blocks(count: int) -> str:
    return counted(count, "block")
