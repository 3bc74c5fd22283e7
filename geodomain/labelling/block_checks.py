"""Checks of the blocks themselves, on what is read anyway: coordinates and sizes that cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from geodomain.labelling.lattice_bits import StoredArray
from geodomain.labelling.overlap import say_box
from geodomain.labelling.repeated import RepeatedCentroids

Floats = NDArray[np.float64]

# How a code becomes a missing value, where a file is read.
MISSING_OPTION = "say so with missing='{}'"
# Numbers that programs write where a coordinate is missing.
_CODES = (0.0, -99.0, -999.0, -9999.0)
# Neighbours whose sizes reach so much further than their centroids overlap; exports round.
_SLACK = 0.01
# Volumes add up in another order: what is more than the box has is no rounding.
_FULL = 1.0001


def has_realisations(facts: Mapping[str, str]) -> bool:
    """Return whether a model holds its cells several times on purpose, by what its file says."""
    return any(fact.endswith(" realisations") for fact in facts.values())


class BlockChecks:
    """What the blocks say of themselves, gathered chunk by chunk; safe where one thread adds.

    Parameters
    ----------
    compare : bool
        Whether centroids are compared with each other; those of samples may be the same, and who
        compares whole blocks need not.
    """

    def __init__(self, *, compare: bool = True) -> None:
        self._box = np.array([[np.inf] * 3, [-np.inf] * 3])
        self._coded = np.zeros((len(_CODES), 3), np.int64)
        self._rows = np.zeros(len(_CODES), np.int64)
        self._reference: Floats | None = None
        self._lines: list[list[Floats]] = [[], [], []]
        self._overlapping: dict[str, str] = {}
        self._repeated = RepeatedCentroids() if compare else None

    def add(self, points: Floats, sizes: Floats | None = None, box: Floats | None = None) -> None:
        """Add a chunk: (n, 3) centroids, NaN where missing, and (n, 3) sizes, or None.

        The box is theirs where it is known already; then none is missing.
        """
        if not len(points):
            return
        if box is None:
            box = np.array([points.min(axis=0), points.max(axis=0)])
        if np.isnan(box).any():
            finite = np.isfinite(points).all(axis=1)
            self.add(points[finite], None if sizes is None else sizes[finite])
            return
        if np.isin(box, _CODES).any():
            points, sizes, box = self._without_codes(points, sizes)
        self._box = np.array([np.minimum(self._box[0], box[0]), np.maximum(self._box[1], box[1])])
        if sizes is not None and len(points):
            self._keep_lines(points, sizes, box)
        if self._repeated is not None:
            self._repeated.add(points, sizes)

    def _without_codes(
        self, points: Floats, sizes: Floats | None
    ) -> tuple[Floats, Floats | None, Floats]:
        """Count the rows that have a code for a coordinate, and give the others and their box."""
        coded = np.zeros(len(points), np.bool_)
        for place, code in enumerate(_CODES):
            found = points == code
            rows = found.any(axis=1) if code else found.all(axis=1)
            self._coded[place] += found[rows].sum(axis=0)
            self._rows[place] += np.count_nonzero(rows)
            coded |= rows
        rest = points[~coded]
        box = np.array([rest.min(axis=0, initial=np.inf), rest.max(axis=0, initial=-np.inf)])
        return rest, None if sizes is None else sizes[~coded], box

    def _keep_lines(self, points: Floats, sizes: Floats, box: Floats) -> None:
        """Keep the blocks on the three lines along the axes through one of the first blocks."""
        if self._reference is None:
            self._reference = points[len(points) // 2].copy()
        place = self._reference
        met = (box[0] <= place) & (place <= box[1])
        on: dict[int, NDArray[np.intp]] = {}
        # Few rows have the same y or z, and only they are looked at again.
        for axis, first, second in ((2, 1, 0), (0, 1, 2), (1, 2, 0)):
            if met[first] and met[second]:
                if first not in on:
                    on[first] = np.flatnonzero(points[:, first] == place[first])
                some = on[first][points[on[first], second] == place[second]]
                self._lines[axis].append(np.column_stack([points[some, axis], sizes[some, axis]]))

    def warnings(self, *, mend: str) -> Iterator[str]:
        """Yield a warning for each thing that cannot be; `mend` says how codes become missing.

        In `mend`, {} stands for the code.
        """
        yield from self._far_codes(mend)
        if self._repeated is not None:
            yield from self._repeated.warnings()
        yield from self._overlaps().values()

    def _overlaps(self) -> dict[str, str]:
        """Return a warning for each axis along which blocks overlap: the first that was found."""
        ours = {
            axis: sentence
            for axis, kept in zip("xyz", self._lines, strict=True)
            if kept
            for sentence in _overlapping(axis, np.concatenate(kept))
        }
        return dict(sorted((ours | self._overlapping).items()))

    def merge(self, later: BlockChecks) -> None:
        """Add what another pass has gathered; neighbours are compared within each of them."""
        low, high = later._box
        self._box = np.array([np.minimum(self._box[0], low), np.maximum(self._box[1], high)])
        self._coded += later._coded
        self._rows += later._rows
        self._overlapping = later._overlaps() | self._overlaps()
        self._lines = [[], [], []]
        if self._repeated is not None and later._repeated is not None:
            self._repeated.merge(later._repeated)

    def arrays(self) -> dict[str, StoredArray]:
        """Return what `restored` makes the same checks of."""
        axes, sentences = np.array([*self._overlaps().items()], np.str_).reshape(-1, 2).T
        found: dict[str, StoredArray] = {
            "box": self._box, "coded": self._coded, "rows": self._rows,
        }  # fmt: skip
        repeated = {} if self._repeated is None else self._repeated.arrays()
        return found | {"axes": axes, "sentences": sentences} | repeated

    @classmethod
    def restored(cls, arrays: Mapping[str, StoredArray]) -> BlockChecks:
        """Return what `arrays` stored."""
        checks = cls()
        checks._box = np.asarray(arrays["box"], np.float64)
        checks._coded = np.asarray(arrays["coded"], np.int64)
        checks._rows = np.asarray(arrays["rows"], np.int64)
        pairs = zip(arrays["axes"], arrays["sentences"], strict=True)
        checks._overlapping = {str(axis): str(sentence) for axis, sentence in pairs}
        checks._repeated = RepeatedCentroids.restored(arrays) if "kept" in arrays else None
        return checks

    def _far_codes(self, mend: str) -> Iterator[str]:
        """Yield a warning for codes that lie far from all other coordinates."""
        if not np.isfinite(self._box).all():
            return
        reach = float((self._box[1] - self._box[0]).max())
        for place, code in enumerate(_CODES):
            away = np.maximum(self._box[0] - code, code - self._box[1])
            if (away[self._coded[place] > 0] > max(reach, 1.0)).any():
                count, shown = int(self._rows[place]), f"{code:g}"
                what = "0, 0, 0 for coordinates" if not code else f"{shown} for a coordinate"
                yield (
                    f"{count:,} {'row has' if count == 1 else 'rows have'} {what}, far from all "
                    f"others ({say_box(self._box)}): if that stands for a missing one, "
                    f"{mend.format(shown)}"
                )


def _overlapping(axis: str, line: Floats) -> Iterator[str]:
    """Yield a warning if blocks of a line, (n, 2) centroids and sizes, reach into each other."""
    places, sizes = line[line[:, 0].argsort()].T
    gaps = np.diff(places)
    reach = (sizes[1:] + sizes[:-1]) / 2
    wrong = np.flatnonzero((gaps > 0) & (gaps < (1 - _SLACK) * reach))
    if len(wrong):
        one = wrong[0]
        yield (
            f"blocks overlap their neighbours along {axis}: centroids at {places[one]:.10g} and "
            f"{places[one + 1]:.10g} are {gaps[one]:.6g} apart, and the blocks' sizes are "
            f"{sizes[one]:.6g} and {sizes[one + 1]:.6g}. Check d{axis}="
        )


def overfull(volume: float, bounds: Floats) -> Iterator[str]:
    """Yield a warning if blocks have more volume than the box that they are in, (2, 3)."""
    room = float(np.prod(bounds[1] - bounds[0]))
    if np.isfinite([volume, room]).all() and volume > _FULL * room > 0:
        yield (
            f"the blocks have {volume / room:.4g} times the volume of the box that they are in: "
            "some overlap, or are there twice"
        )
