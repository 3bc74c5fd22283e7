"""Checks of blocks for impossible coordinates and sizes, duplicates and overlaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.overlaps import (
    Overlap,
    OverlappingBlocks,
    RepeatedCentroids,
    say_overlap,
    say_spacing,
)
from geodomain.compute.data import Floats
from geodomain.lattice import StoredArray
from geodomain.tables.frames import turned
from geodomain.tables.rotation import azimuth_of, frame_of_azimuth

# How to declare a value as missing when a file is read.
MISSING_OPTION = "use missing='{}'"
# Numbers that programs write for missing coordinates.
_CODES = (0.0, -99.0, -999.0, -9999.0)
# Tolerance for overlaps of neighbours, because exports round.
_SLACK = 0.01
# Volume beyond the box that rounding cannot explain.
_FULL = 1.0001
# Prefixes of stored centroids: without and with a missing-value number as coordinate.
_APART = ("place_", "code_")
# Decimals of coordinates along the edges of rotated blocks, because rotation rounds.
_DECIMALS = 6
# Key of the warning for overlapping blocks of any size; other keys are x, y and z.
_ANYHOW = "~"


def realisations_of(facts: Mapping[str, str]) -> int:
    """Return the number of realisations, from the facts of a model's file; 1 if none is stated."""
    words = [fact.split() for fact in facts.values() if fact.endswith(" realisations")]
    return int(words[0][-2].replace(",", "")) if words else 1


def summed_realisations(count: int) -> Iterator[str]:
    """If there are several realisations, yield a warning that sums include all of them."""
    if count > 1:
        yield (
            f"the model holds {count:,} realisations; numbers of blocks, volumes and tonnes are "
            f"summed over all of them: divide by {count:,} for the mean, or give a file with one "
            "realisation"
        )


class BlockChecks:
    """Checks of blocks, which are added chunk by chunk from a single thread.

    Parameters
    ----------
    compare : bool
        Whether to compare blocks with each other. False for samples and realisations, whose
        centroids may be equal.

    Attributes
    ----------
    axes : (3, 3) float64, optional
        Directions of the block edges in rows, if they differ from the world axes. They come from
        the caller or the first blocks. Blocks are compared along these directions.
    """

    def __init__(self, *, compare: bool = True) -> None:
        self._box = np.array([[np.inf] * 3, [-np.inf] * 3])
        self._coded = np.zeros((len(_CODES), 3), np.int64)
        self._rows = np.zeros(len(_CODES), np.int64)
        self._reference: Floats | None = None
        self._lines: list[list[Floats]] = [[], [], []]
        self._overlapping: dict[str, str] = {}
        self._boxes = OverlappingBlocks() if compare else None
        # Centroids with a missing-value number are compared separately, because they would make the
        # lattice too large.
        self._coded_places = RepeatedCentroids()
        self._added = 0
        self._compared: tuple[int, Overlap | None] = (0, None)
        self.axes: Floats | None = None

    def add(
        self,
        points: Floats,
        sizes: Floats | None = None,
        box: Floats | None = None,
        axes: Floats | None = None,
    ) -> None:
        """Add a chunk of blocks: centroids (n, 3), NaN where missing, and sizes (n, 3) or None.

        `box` is the bounding box of the centroids; if it is passed, no centroid may be missing.
        `axes` are the directions of the block edges in rows, if they differ from the world axes.
        """
        if not len(points):
            return
        if box is None:
            box = np.array([points.min(axis=0), points.max(axis=0)])
        if np.isnan(box).any():
            finite = np.isfinite(points).all(axis=1)
            self.add(points[finite], None if sizes is None else sizes[finite], axes=axes)
            return
        if np.isin(box, _CODES).any():
            coded = self._count_codes(points)
            if self._boxes is not None:
                self._coded_places.add(points[coded], None if sizes is None else sizes[coded])
            points, sizes = points[~coded], None if sizes is None else sizes[~coded]
            box = np.array(
                [points.min(axis=0, initial=np.inf), points.max(axis=0, initial=-np.inf)]
            )
        self._box = np.array([np.minimum(self._box[0], box[0]), np.maximum(self._box[1], box[1])])
        if sizes is not None and len(points):
            self._keep_lines(points, sizes, box, np.eye(3) if axes is None else axes)
        self._added += len(points)
        if axes is not None and (axes != np.eye(3)).any():
            self.axes = axes
        elif self._added == len(points) and sizes is not None and len(points):
            azimuth = azimuth_of(points, sizes)
            self.axes = np.array(frame_of_azimuth(azimuth).matrix).T if azimuth else None
        if self._boxes is not None:
            if self.axes is not None:
                points = np.round(turned(points, self.axes, (0.0, 0.0, 0.0)), _DECIMALS)
            self._boxes.add(points, sizes)

    def _count_codes(self, points: Floats) -> NDArray[np.bool_]:
        """Count the blocks with a coordinate that may mean a missing value, such as -99.

        Return the mask of these blocks.
        """
        coded = np.zeros(len(points), np.bool_)
        for place, code in enumerate(_CODES):
            equal = points == code
            rows = equal.any(axis=1) if code else equal.all(axis=1)
            self._coded[place] += equal[rows].sum(axis=0)
            self._rows[place] += np.count_nonzero(rows)
            coded |= rows
        return coded

    def _keep_lines(self, points: Floats, sizes: Floats, box: Floats, axes: Floats) -> None:
        """Keep the blocks on three lines through one of the first blocks, one line per axis.

        For rotated blocks, only lines that are parallel to block edges are kept.
        """
        if self._reference is None:
            self._reference = points[len(points) // 2].copy()
        place = self._reference
        met = (box[0] <= place) & (place <= box[1])
        on: dict[int, NDArray[np.intp]] = {}
        # Few rows have the same y or z, and only they are tested further.
        for axis, first, second in ((2, 1, 0), (0, 1, 2), (1, 2, 0)):
            edges = np.flatnonzero(np.abs(axes[:, axis]) == 1.0)
            if len(edges) and met[first] and met[second]:
                if first not in on:
                    on[first] = np.flatnonzero(points[:, first] == place[first])
                some = on[first][points[on[first], second] == place[second]]
                along = np.full(len(some), float(edges[0]))
                self._lines[axis].append(
                    np.column_stack([points[some, axis], sizes[some, edges[0]], along])
                )

    def warnings(self, *, mend: str, twice: bool = True) -> Iterator[str]:
        """Yield a warning for each fault.

        `mend` is advice on how to declare a value as missing; {} in the advice stands for the
        value. If `twice`, also warn about blocks with equal centroids.
        """
        far = list(self._far_codes(mend))
        yield from far
        # A centroid of missing-value numbers is not a location, so it is not a repeated one.
        again = 0 if self._boxes is None else self._boxes.again
        again += 0 if far else self._coded_places.again
        if again and twice:
            yield (
                f"{again:,} {'block has' if again == 1 else 'blocks have'} the same centroid as "
                "another block: their volume counts twice; 'geodomain inspect' names the first of "
                "them"
            )
        overlaps = self._overlaps()
        yield from overlaps.values()
        if self._boxes is not None and not overlaps:
            axes = "xyz" if self.axes is None else [f"the model's {axis}" for axis in "xyz"]
            yield from say_spacing(self._boxes.spacing(), self._boxes.size, axes)

    def _overlaps(self) -> dict[str, str]:
        """Return a warning for each axis along which blocks overlap, with an example."""
        ours = {
            axis: sentence
            for axis, chunks in zip("xyz", self._lines, strict=True)
            if chunks
            for sentence in _overlapping(axis, np.concatenate(chunks))
        }
        if not ours and (overlap := self._overlap()):
            axes = np.eye(3) if self.axes is None else self.axes
            ours = {_ANYHOW: say_overlap(overlap, axes)}
        return dict(sorted((ours | self._overlapping).items()))

    def _overlap(self) -> Overlap | None:
        """Return the overlap of blocks of any size, or None; it is computed once for all blocks."""
        if self._boxes is not None and self._compared[0] != self._added:
            overlap = self._boxes.overlap(turn_is_known=self.axes is not None)
            self._compared = (self._added, overlap)
        return self._compared[1]

    @property
    def tells_volume(self) -> bool:
        """Whether a warning already states the volume that is counted twice."""
        return _ANYHOW in self._overlaps()

    def merge(self, later: BlockChecks) -> None:
        """Add the checks of another pass over other blocks.

        Neighbours are compared only within each pass.
        """
        low, high = later._box
        self._box = np.array([np.minimum(self._box[0], low), np.maximum(self._box[1], high)])
        self._coded += later._coded
        self._rows += later._rows
        self._overlapping = later._overlaps() | self._overlaps()
        self._lines = [[], [], []]
        self._added += later._added
        if self._boxes is not None and later._boxes is not None:
            self._boxes.merge(later._boxes)
            self.axes = later.axes if self.axes is None else self.axes
        self._coded_places.merge(later._coded_places)

    def arrays(self) -> dict[str, StoredArray]:
        """Return the checks as arrays for `restored`."""
        axes, sentences = np.array([*self._overlaps().items()], np.str_).reshape(-1, 2).T
        stored: dict[str, StoredArray] = {
            "box": self._box, "coded": self._coded, "rows": self._rows,
        }  # fmt: skip
        stored |= {"axes": axes, "sentences": sentences}
        if self._boxes is not None:
            directions = np.full((3, 3), np.nan) if self.axes is None else self.axes
            stored |= {"size": self._boxes.size, "directions": directions}
            parts = (self._boxes.arrays(), self._coded_places.arrays())
            for prefix, part in zip(_APART, parts, strict=True):
                stored |= {f"{prefix}{name}": array for name, array in part.items()}
        return stored

    @classmethod
    def restored(cls, arrays: Mapping[str, StoredArray]) -> BlockChecks:
        """Return the checks stored by `arrays`."""
        checks = cls()
        checks._box = np.asarray(arrays["box"], np.float64)
        checks._coded = np.asarray(arrays["coded"], np.int64)
        checks._rows = np.asarray(arrays["rows"], np.int64)
        pairs = zip(arrays["axes"], arrays["sentences"], strict=True)
        checks._overlapping = {str(axis): str(sentence) for axis, sentence in pairs}
        places, coded = (with_prefix(arrays, prefix) for prefix in _APART)
        directions = np.asarray(arrays.get("directions", np.nan), np.float64)
        checks._boxes = None
        if places:
            size = np.asarray(arrays.get("size", [np.nan] * 3), np.float64)
            checks._boxes = OverlappingBlocks.of_size(RepeatedCentroids.restored(places), size)
            checks._coded_places = RepeatedCentroids.restored(coded)
            checks.axes = None if np.isnan(directions).any() else directions
            checks._added = 1
        return checks

    def _far_codes(self, mend: str) -> Iterator[str]:
        """Yield a warning for coordinates such as -99 that are far from all other coordinates."""
        if not np.isfinite(self._box).all():
            return
        reach = float((self._box[1] - self._box[0]).max())
        if not reach:  # with a single other location there is no spread to compare with
            return
        for place, code in enumerate(_CODES):
            away = np.maximum(self._box[0] - code, code - self._box[1])
            if (away[self._coded[place] > 0] > max(reach, 1.0)).any():
                count, shown = int(self._rows[place]), f"{code:g}"
                what = "the coordinates 0, 0, 0" if not code else f"a coordinate of {shown}"
                yield (
                    f"{count:,} {'row has' if count == 1 else 'rows have'} {what}, far from all "
                    f"other coordinates ({say_box(self._box)}): if {shown} means a missing value, "
                    f"{mend.format(shown)}"
                )


class VolumeChecks:
    """The checks of blocks by `label`, for other commands that add up the volumes of a model.

    Parameters
    ----------
    axes : (3, 3) float64
        Directions of the block edges in rows. If they are the world axes, a rotation about z is
        inferred from the first blocks.
    times : int
        Number of realisations; every block occurs in each of them.
    """

    def __init__(self, axes: Floats, *, times: int = 1) -> None:
        self._axes = axes
        self._times, self._blocks = times, BlockChecks(compare=times == 1)
        self._bounds, self._volume = np.array([[np.inf] * 3, [-np.inf] * 3]), 0.0

    def add(self, points: Floats, sizes: Floats | None) -> None:
        """Add a chunk of blocks: world centroids (n, 3), NaN if missing, and sizes or None."""
        good = np.isfinite(points).all(axis=1)
        if sizes is not None:
            good &= (np.isfinite(sizes) & (sizes > 0)).all(axis=1)
        if not good.all():
            points, sizes = points[good], None if sizes is None else sizes[good]
        if not len(points):
            return
        self._blocks.add(points, sizes, axes=self._axes)
        if sizes is None:
            return
        with np.errstate(over="ignore"):
            self._volume += float(np.prod(sizes, axis=1).sum())
        half = sizes / 2
        if self._blocks.axes is not None:
            points = turned(points, self._blocks.axes, (0.0, 0.0, 0.0))
        self._bounds[0] = np.minimum(self._bounds[0], (points - half).min(axis=0))
        self._bounds[1] = np.maximum(self._bounds[1], (points + half).max(axis=0))

    def warnings(self, *, mend: str = MISSING_OPTION) -> Iterator[str]:
        """Yield the same warnings as `label`; for `mend` see `BlockChecks.warnings`."""
        yield from self._blocks.warnings(mend=mend)
        yield from summed_realisations(self._times)
        if self._times == 1 and not self._blocks.tells_volume:
            yield from overfull(self._volume, self._bounds)


def with_prefix(arrays: Mapping[str, StoredArray], prefix: str) -> dict[str, StoredArray]:
    """Return the arrays whose names begin with a prefix, under names without the prefix."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _overlapping(axis: str, line: Floats) -> Iterator[str]:
    """Yield a warning if blocks on a line along an axis overlap.

    Each row of `line`, (n, 3), is one block: its centroid along the line, its size along the line,
    and the index of the block axis to which this size belongs.
    """
    places, sizes, edges = line[line[:, 0].argsort()].T
    gaps = np.diff(places)
    reach = (sizes[1:] + sizes[:-1]) / 2
    wrong = np.flatnonzero((gaps > 0) & (gaps < (1 - _SLACK) * reach))
    if len(wrong):
        first = wrong[0]
        yield (
            f"blocks overlap their neighbours along {axis}: centroids at {places[first]:.10g} and "
            f"{places[first + 1]:.10g} are {gaps[first]:.6g} apart, but the block sizes are "
            f"{sizes[first]:.6g} and {sizes[first + 1]:.6g}. Check d{'xyz'[int(edges[first])]}="
        )


def overfull(volume: float, bounds: Floats) -> Iterator[str]:
    """Yield a warning if the blocks have more volume than their bounding box, (2, 3)."""
    room = float(np.prod(bounds[1] - bounds[0]))
    if np.isfinite([volume, room]).all() and volume > _FULL * room > 0:
        ratio = volume / room
        shown = (f"{ratio:.{digits}g}" for digits in range(4, 17))
        yield (
            f"the blocks have {next(text for text in shown if float(text) > 1)} times the "
            "volume of their bounding box: some blocks overlap or occur twice"
        )


def say_box(box: Floats) -> str:
    """Format the bounds of a box, axis by axis; an axis without bounds is left out."""
    return ", ".join(
        f"{axis} {low:.10g} to {high:.10g}"
        for axis, low, high in zip("xyz", *box, strict=True)
        if np.isfinite([low, high]).all()
    )
