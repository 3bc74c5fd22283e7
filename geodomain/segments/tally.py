"""Counts of a stream of segments against one surface."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from geodomain.backends.data import Coordinates, Floats
from geodomain.errors import PointError
from geodomain.segments.hits import Hits
from geodomain.segments.intersector import SegmentIntersector
from geodomain.segments.modes import WORDS, Answer, Mode
from geodomain.segments.segments import Segments

MODES: dict[str, Mode] = {**WORDS, "all": "all"}


@dataclass
class HitTally:
    """Count what a stream of segments does.

    Attributes
    ----------
    segments : int
        How many have been asked about.
    crossing : int
        How many of them cross the surface.
    crossings : int
        How many crossings were told: one to a segment, but in modes that count them all.
    missing : int
        How many have no number for a coordinate; they cross nothing.
    """

    segments: int = 0
    crossing: int = 0
    crossings: int = 0
    missing: int = 0

    def ask(
        self,
        intersector: SegmentIntersector,
        starts: Coordinates,
        ends: Coordinates,
        mode: str,
        name: str,
        *,
        out: Floats | None = None,
    ) -> Answer:
        """Ask about the next segments, in one of `MODES`, and count; ``out`` is of `Segments`.

        Raises
        ------
        PointError
            For an end that cannot be computed with, with its row in the whole stream.
        """
        try:
            with Segments(
                starts, ends, threads=intersector.threads, first_row=self.segments, out=out
            ) as segments:
                answer = intersector.intersect(segments, mode=MODES[mode])
                self.missing += segments.missing
        except PointError as error:
            message = f"{name}: {error}"
            raise PointError(message) from None
        self.segments += len(starts)
        if isinstance(answer, Hits):
            # Sorted, so that a segment begins where the number changes.
            self.crossing += int(np.count_nonzero(np.diff(answer.segment, prepend=-1)))
            self.crossings += len(answer)
        else:
            crossing = int(np.count_nonzero(answer))
            self.crossing += crossing
            self.crossings += crossing if answer.dtype == np.bool_ else int(answer.sum())
        return answer

    def as_dict(self) -> dict[str, int]:
        """Return the counts for JSON."""
        return asdict(self)
