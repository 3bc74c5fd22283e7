"""How a model's blocks are turned where its file does not say so: read off the blocks themselves.

Files that hold world coordinates of a turned lattice seldom say that it is turned. Neighbouring
blocks do: their centroids are one block size apart, in a direction that is not along the axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError, warn
from geodomain.io.header.frames import Frame, LocalFrame, shortest

Floats = NDArray[np.float64]

# The blocks that decide: a few of the first ones, or more of them where these do not tell; of a
# file in no order so many of one level and size.
_FEW, FIRST, _LEVEL = 4_096, 65_536, 500
# Centroids are one size apart within this part of the size, and directions agree within degrees.
_NEAR, _AGREE = 1e-3, 0.01
# So few columns of blocks show nothing; of a turned lattice hardly any two share an x or a y.
_COLUMNS, _SHARE = 10, 0.9
_SAY = (
    "say how they are turned with frame=, such as frame='z=30', or frame='z=0' if they lie along "
    "the axes of the world"
)


def azimuth_of(points: Floats, sizes: Floats) -> float:
    """Return the azimuth of the blocks' rows, from neighbours among the first blocks.

    Parameters
    ----------
    points, sizes : (n, 3) float64
        Centroids or lowest corners, and sizes.

    Returns
    -------
    float
        Degrees, clockwise, to a millionth; within 45 of zero for blocks that are square in plan,
        else within 90. 0 where blocks are not turned, or where too few are neighbours to tell.
    """
    found = _of_first(points[:_FEW], sizes[:_FEW])
    if found is None and len(points) > _FEW:
        found = _of_first(points[:FIRST], sizes[:FIRST])
    return found or 0.0


def _of_first(points: Floats, sizes: Floats) -> float | None:
    """Return the azimuth of some blocks, None where they do not show one."""
    found = _of_rows(points, sizes)
    if found is None:  # where z runs first, blocks that follow each other are those of one level
        level = np.argsort(points[:, 2], kind="stable")
        found = _of_rows(points[level], sizes[level])
    return _of_level(points, sizes) if found is None else found


def _of_rows(points: Floats, sizes: Floats) -> float | None:
    """Return the azimuth from each block to the next; None where too few are neighbours."""
    steps = np.diff(points, axis=0)
    same = (sizes[1:] == sizes[:-1]).all(axis=1) & (steps[:, 2] == 0)
    return _agreed(steps[same], sizes[1:][same], len(points) / 4)


def _of_level(points: Floats, sizes: Floats) -> float | None:
    """Return the azimuth of neighbours within the level and size that most blocks have."""
    usable = np.isfinite(points).all(axis=1) & np.isfinite(sizes).all(axis=1)
    points, sizes = points[usable], sizes[usable]
    if len(points) < 2:
        return None
    kinds = np.column_stack([points[:, 2], sizes])
    _, kind, counts = np.unique(kinds, axis=0, return_inverse=True, return_counts=True)
    level = np.flatnonzero(kind.ravel() == counts.argmax())[:_LEVEL]
    some = points[level]
    one, other = np.triu_indices(len(some), 1)
    return _agreed(some[other] - some[one], sizes[level][other], max(4.0, len(some) / 32))


def _agreed(steps: Floats, sizes: Floats, fewest: float) -> float | None:
    """Return the azimuth of the steps that are as long as a block, if there are enough.

    0 where they lie along the axes; None where they are too few, or differ.
    """
    length = np.hypot(steps[:, 0], steps[:, 1])
    for axis in (0, 1):
        beside = np.abs(length - sizes[:, axis]) < _NEAR * sizes[:, axis]
        if beside.sum() > fewest:
            angles = np.degrees(np.arctan2(steps[beside, 1], steps[beside, 0]))
            # Of blocks that are square in plan it is not known along which side a step leads.
            square = np.abs(sizes[beside, 1] - sizes[beside, 0]) < _NEAR * sizes[beside, 0]
            period = 90 if square.all() else 180
            angles = angles if period == 90 else angles[~square] - 90 * axis
            turns = -((angles + period / 2) % period - period / 2)
            found = float(np.median(turns))
            agree = np.abs(turns - found) < _AGREE
            if agree.mean() > 0.9:
                off = abs((found + 45) % 90 - 45)
                return _plain(turns[agree]) if off > _AGREE else 0.0
    return None


def _plain(turns: Floats) -> float:
    """Return the mean of turns with the fewest decimals that they allow, 6 at most.

    Rounded coordinates scatter them; along a row what one step has too much the next has too
    little, so that the mean is better than any of them. What is within their mean deviation is
    the same azimuth.
    """
    azimuth = float(turns.mean())
    off = float(np.abs(turns - azimuth).mean())
    for digits in range(6):
        if abs(round(azimuth, digits) - azimuth) <= off:
            return round(azimuth, digits)
    return round(azimuth, 6)


def frame_of_azimuth(azimuth: float) -> LocalFrame:
    """Return the frame, about the origin of the world, of blocks with an azimuth."""
    return LocalFrame([("z", azimuth)], (0.0, 0.0, 0.0))


def say_turn(azimuth: float) -> str:
    """Write an azimuth as ``frame=`` and ``rotation=`` take it."""
    return f"z={shortest(azimuth)}"


def require_known_turn(
    points: Floats,
    sizes: Floats,
    frame: Frame,
    name: str,
    done: str,
    mend: Callable[[str], str] = "give frame={!r}".format,
) -> None:
    """Refuse blocks of the world that are turned where nothing says so.

    Parameters
    ----------
    points, sizes : (n, 3) float64
        World centroids and sizes of the first blocks.
    frame : Frame
        What the file or the caller says; with a frame nothing is left to ask.
    name : str
        What messages call the model.
    done : str
        What is about to be done to blocks along their edges: "split", "measured".
    mend : callable
        From the turn, such as "z=30", to what the user can do.

    Raises
    ------
    TableError
        If `azimuth_of` finds that they are turned.

    Warns
    -----
    GeodomainWarning
        If hardly any two columns of blocks share an x or a y, and nothing else is known.
    """
    if frame.lattice is not None:
        return
    azimuth = azimuth_of(points, sizes)
    if azimuth:
        turn = say_turn(azimuth)
        message = (
            f"{name}: the blocks lie on a lattice that is turned by {turn}, and their coordinates "
            f"are those of the world: {done} along the axes of the world they would be other boxes "
            f"than they are; {mend(turn)}"
        )
        raise TableError(message)
    for sentence in _lonely(points[np.isfinite(sizes).all(axis=1)], name, done):
        warn(sentence)


def _lonely(points: Floats, name: str, done: str) -> Iterator[str]:
    """Yield a warning if centroids lie in columns of which no two share an x or a y."""
    plan = points[np.isfinite(points).all(axis=1), :2]
    columns = len(np.unique(plan, axis=0))
    alone = min(len(np.unique(plan[:, axis])) for axis in range(2))
    if columns >= _COLUMNS and alone > _SHARE * columns:
        yield (
            f"{name}: hardly any two columns of blocks share an x or a y, as if the model were "
            f"rotated; blocks are {done} along the axes of the world, which are not theirs then: "
            f"{_SAY}"
        )


def refuse_misfit(points: Floats, sizes: Floats, frame: Frame, name: str) -> None:
    """Refuse what the caller says of a turn where neighbouring blocks contradict it.

    The evidence is that blocks of one size and level are one block size apart in a direction off
    the axes of the frame, and that as boxes along its axes these neighbours overlap. Blocks of a
    model in its own frame lie along its axes and do not overlap, so that none is refused.

    Parameters
    ----------
    points, sizes : (n, 3) float64
        World centroids of the first blocks, by what the caller says, and their sizes.
    frame : Frame
        What the caller says; what a file says is not in question.
    name : str
        What messages call the model.

    Raises
    ------
    TableError
        With two such blocks, and the turn that they show.
    """
    local = frame.lattice
    if local is None or not frame.said:
        return
    points, sizes = local.to_local(points[:FIRST]), sizes[:FIRST]
    # The turn there and back rounds, and blocks of one level must have one height.
    points = np.round(points, 6)
    azimuth = azimuth_of(points, sizes)
    pair = _overlapping(points, sizes, azimuth) if azimuth else None
    if pair is None:
        return
    if frame.boxes is None:
        turn = say_turn(azimuth)
        message = (
            f"{name}: its coordinates lie on a lattice that is turned by {turn} already: blocks at "
            f"({_place(points[pair[0]])}) and ({_place(points[pair[1]])}) are one block size apart "
            f"and would overlap if they lay along the axes, and {local.say_turns()} would turn "
            "them once more. If their coordinates are those of the world, leave rotation= and "
            f"origin= away; to measure or split boxes, give frame={turn!r} in their place"
        )
        raise TableError(message)
    one, other = local.to_world(points[[*pair]])
    about_z = sum(angle for axis, angle in local.turns if axis == "z")
    mend = "correct its turns"
    if all(axis == "z" for axis, _ in local.turns):
        mend = f"give frame={say_turn(round(about_z + azimuth, 6))!r}"
    message = (
        f"{name}: blocks at ({_place(one)}) and ({_place(other)}) are one block size apart and "
        f"would overlap with {local.say_turns('frame')}: {mend}"
    )
    raise TableError(message)


def _overlapping(points: Floats, sizes: Floats, azimuth: float) -> tuple[int, int] | None:
    """Return two neighbours on a turned lattice that overlap as boxes along the axes, if any do."""
    back = frame_of_azimuth(azimuth).to_local(points)
    for along, across in ((0, 1), (1, 0)):
        lane = np.round((back[:, across] - back[0, across]) / sizes[:, across] * 4)
        order = np.lexsort([back[:, along], lane, *sizes.T, points[:, 2]])
        one, other = order[:-1], order[1:]
        same = (sizes[one] == sizes[other]).all(axis=1) & (points[one, 2] == points[other, 2])
        size = sizes[one]
        same &= np.abs(back[other, along] - back[one, along] - size[:, along]) < (
            _NEAR * size[:, along]
        )
        same &= np.abs(back[other, across] - back[one, across]) < _NEAR * size[:, across]
        offset = np.abs(points[other, :2] - points[one, :2])
        same &= (offset < (1 - _NEAR) * size[:, :2]).all(axis=1)
        if same.any():
            pair = int(same.argmax())
            return int(one[pair]), int(other[pair])
    return None


def _place(point: Floats) -> str:
    return ", ".join(f"{value:.10g}" for value in point)
