"""Line segments, prepared once for queries against several surfaces."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import as_rows_of_either, host_room, is_on_device
from geodomain.backends import segment_rows
from geodomain.backends.data import Coordinates, Floats, Held
from geodomain.backends.threads import thread_count
from geodomain.errors import PointError


def as_ends(starts: ArrayLike, ends: ArrayLike) -> tuple[Coordinates, Coordinates]:
    """Return both of one shape (n, 3) and one type, float32 or float64, uncopied if they are."""
    pair = []
    for values, name in ((starts, "starts"), (ends, "ends")):
        if is_on_device(values):
            message = (
                f"{name} are on a GPU, and segments are prepared in memory: give a NumPy array, "
                f"such as cupy.asnumpy({name})"
            )
            raise TypeError(message)
        pair.append(as_rows_of_either(values, name))
    if len(pair[0]) != len(pair[1]):
        message = (
            f"there are {len(pair[0])} starts and {len(pair[1])} ends; each segment needs one of "
            "either"
        )
        raise ValueError(message)
    if pair[0].dtype != pair[1].dtype:
        pair = [array.astype(np.float64) for array in pair]
    return pair[0], pair[1]


def sort_rays(
    starts: ArrayLike, ends: ArrayLike, *, threads: int | None = None
) -> NDArray[np.int64]:
    """Return an order in which neighbouring segments are near each other.

    Segments in the order of the Morton codes of their middles walk through the same
    part of a surface one after the other, which is faster on a GPU. The order belongs
    to the segments: it serves any number of surfaces.

    Parameters
    ----------
    starts, ends : array_like of shape (n, 3)
        Coordinates x, y, z.
    threads : int, optional
        Number of threads. [default: all cores that the process may use]

    Returns
    -------
    numpy.ndarray of int64, shape (n,)
        A permutation of the rows: ``starts[order]`` is sorted. An answer in that order
        is put back by ``restored[order] = answer``.

    Examples
    --------
    >>> import geodomain
    >>> starts = [[0, 0, 0], [9, 9, 9], [1, 0, 0], [8, 9, 9]]
    >>> geodomain.sort_rays(starts, starts).tolist()
    [0, 2, 3, 1]
    """
    first, second = (np.ascontiguousarray(array) for array in as_ends(starts, ends))
    return segment_rows.order(first, second, thread_count(threads))


class Segments:
    """Line segments, checked and copied once, for queries against several surfaces.

    Parameters
    ----------
    starts, ends : array_like of shape (n, 3)
        The coordinates of each segment's ends, in the unit of the surfaces. Which end is
        the start matters to distances and to which hit is nearest.
    sort : bool
        Store the segments in the order of `sort_rays`, which makes a GPU faster.
        Answers still come in the caller's order.
    threads : int, optional
        Number of threads for the preparation. [default: all cores that the process may use]
    first_row : int
        Row number of the first segment in error messages, if these are part of a longer list.
    out : numpy.ndarray of float64, shape (n, 6), optional
        What the copy is written to, if these are part of a stream: new memory for each part takes
        time. They are of no use any more once it is given to others.

    Attributes
    ----------
    order : numpy.ndarray of int64, shape (n,), or None
        Rows in stored order, if that differs from the caller's.
    missing : int
        How many segments have a coordinate that is NaN. They cross nothing.

    Raises
    ------
    PointError
        For an end at infinity, with the row.
    ValueError
        If there are not as many starts as ends.

    Notes
    -----
    A coordinate that is not 0 with a magnitude below 2^-306 or above 2^339 cannot be
    computed with exactly. Such a segment is taken where its box does not meet the surface's, and
    refused with its row (PointError) where it does.

    Segments are a context manager: on leaving it the device's copy is freed.

    Examples
    --------
    >>> import geodomain
    >>> ground = geodomain.Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]])
    >>> with geodomain.Segments([[1, 1, 0], [1, 1, 0]], [[1, 1, 9], [1, 1, 4]]) as holes:
    ...     geodomain.SegmentIntersector(ground).intersect(holes)
    array([ True, False])
    """

    def __init__(
        self,
        starts: ArrayLike,
        ends: ArrayLike,
        *,
        sort: bool = False,
        threads: int | None = None,
        first_row: int = 0,
        out: Floats | None = None,
    ) -> None:
        first, second = (np.ascontiguousarray(array) for array in as_ends(starts, ends))
        count = thread_count(threads)
        self.order = segment_rows.order(first, second, count) if sort else None
        room = host_room((len(first), 6), np.float64, out, (first, second))
        packed = segment_rows.pack(first, second, self.order, count, room[:])
        if packed.infinite >= 0:
            row = packed.infinite
            message = (
                f"{_path(first_row + row, first[row], second[row])}; an end must be finite: end it "
                "beyond the surface's box"
            )
            raise PointError(message)
        self.missing = packed.missing
        # Kept apart with their true ends; among the others they are NaN, which crosses nothing.
        rows = np.sort(packed.extreme if self.order is None else self.order[packed.extreme])
        self._extreme = first_row + rows, *(ends[rows].astype(float) for ends in (first, second))
        self.packed = packed.ends
        self.packed.flags.writeable = False
        self.device: dict[str, Held] = {}

    def __len__(self) -> int:
        """Return the number of segments."""
        return len(self.packed)

    def __repr__(self) -> str:
        """Return the count; the arrays are too long to show."""
        return f"Segments({len(self)})"

    def __enter__(self) -> Segments:
        """Return the segments themselves."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free the device's copy."""
        self.close()

    def close(self) -> None:
        """Free the device's copy, once no thread asks about it; a later question makes another."""
        self.device.clear()

    def refuse_extreme(self, bounds: Floats) -> None:
        """Raise PointError for the first segment out of range that may meet the bounds (2, 3)."""
        rows, starts, ends = self._extreme
        low, high = np.minimum(starts, ends), np.maximum(starts, ends)
        meeting = np.flatnonzero(((low <= bounds[1]) & (bounds[0] <= high)).all(axis=1))
        if len(meeting):
            first = meeting[0]
            message = (
                f"{_path(rows[first], starts[first], ends[first])}; a coordinate that is not 0 "
                "must have a magnitude between 2^-306 and 2^339 to be exact: write 0, or end it "
                "nearer"
            )
            raise PointError(message)


def _path(row: int, start: Floats, end: Floats) -> str:
    """Say which segment goes from where to where."""
    places = (tuple(map(float, point)) for point in (start, end))
    return "segment {} goes from {} to {}".format(row, *places)
