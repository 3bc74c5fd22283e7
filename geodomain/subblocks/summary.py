"""What splitting and joining did, as values, JSON and text."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from geodomain.errors import counted
from geodomain.labelling.summary import Summary


@dataclass(frozen=True)
class SubblockSummary:
    """What `subblock_file` did.

    Attributes
    ----------
    scheme : str
    parents, split, missing : int
        Blocks of the model; those that were split; those without coordinates or sizes, which are
        as they were.
    subblocks, written : int
        Blocks after splitting, and after joining: the same where nothing is joined.
    dropped : int
        Cuts of a seam that were too near to a face or to another cut.
    labels : Summary
        The labels of the sub-blocks, before any are joined.
    """

    scheme: str
    parents: int
    split: int
    missing: int
    subblocks: int
    written: int
    dropped: int
    labels: Summary

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """Return everything as lines of text."""
        lines = [
            f"{counted(self.parents, 'block')}, of which {self.split:,} split by {self.scheme}: "
            f"{counted(self.subblocks, 'sub-block')}"
        ]
        if self.written != self.subblocks:
            lines.append(f"joined into {counted(self.written, 'block')}")
        if self.dropped:
            lines.append(f"{counted(self.dropped, 'cut')} dropped, too near to a face or a cut")
        return "\n".join([*lines, str(self.labels)])


@dataclass(frozen=True)
class MergeSummary:
    """What `merge_file` did.

    Attributes
    ----------
    parents : int
        Blocks that others were sub-blocks of.
    before, after : int
        Blocks that were read, and that were written.
    seconds : float
    output : str
    warnings : tuple of str
    """

    parents: int
    before: int
    after: int
    seconds: float
    output: str
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """Return everything as a line of text."""
        return (
            f"{counted(self.before, 'block')} of {counted(self.parents, 'parent')} joined into "
            f"{self.after:,} in {self.seconds:.2f} s"
        )
