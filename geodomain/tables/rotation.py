"""Rotation of a block model, read from its file or inferred from its blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import TableError, warn
from geodomain.tables.conditions import Column
from geodomain.tables.dialect import number
from geodomain.tables.frames import Axis, Frame, LocalFrame, Position, Triple, shortest
from geodomain.tables.vendors import DATAMINE, WORLD, Family, MicromineModel, Triplet, plain_name

# Block columns needed to tell local from world coordinates, and tolerance for rounded exports.
_ENOUGH, _SLACK = 10, 0.02


class Blocks(NamedTuple):
    """Coordinates and sizes of the first blocks of a table.

    Attributes
    ----------
    points : (n, 3) float64
        Coordinates as in the table.
    sizes : (n, 3) float64, optional
        Block sizes.
    position : {"centroid", "corner"}
        Meaning of the coordinates.
    """

    points: Floats
    sizes: Floats | None
    position: Position


def first_blocks(
    sample: Sequence[Sequence[str]], xyz: Triplet, sizes: Triplet | None, position: Position
) -> Blocks:
    """Return the blocks of those first rows whose coordinates and sizes are all numbers."""
    wanted = [*xyz, *(sizes or ())]
    values = [
        [number(row[column]) for column in wanted] for row in sample if max(wanted) < len(row)
    ]
    numbers = np.array([row for row in values if None not in row], np.float64)
    table = numbers.reshape(-1, len(wanted))
    return Blocks(table[:, :3], table[:, 3:] if sizes else None, position)


def position_of(model: MicromineModel | None, table: str) -> Position:
    """Return which point of a block the coordinates give, from Micromine's origin row.

    The last cell of that row states the point. Without the row, coordinates are centroids.

    Raises
    ------
    TableError
        If the coordinates are upper corners.
    """
    word = model.position.casefold() if model else ""
    if model and word.startswith("top"):
        message = (
            f"{table} declares its coordinates to be upper corners of blocks ({model.position}); "
            "export the model with the block origin at the centre or bottom left. If the "
            "declaration is wrong, use position='centroid' or position='corner' (lowest corner)."
        )
        raise TableError(message)
    return "corner" if word.startswith("bottom") else "centroid"


def frame_of(model: MicromineModel, blocks: Blocks) -> LocalFrame | str | None:
    """Return the local frame of a rotated model, or None for world coordinates.

    If the frame is uncertain, return the reason as a text. Micromine's help (block model export)
    describes the cells of the origin row and the rotation row, but not the frame of the
    coordinates. The blocks therefore decide. If they lie on the lattice of the origin row, their
    coordinates are local. If they lie on this lattice only after the rotation is undone, their
    coordinates are world coordinates. The angle about Z is an azimuth, clockwise. The directions of
    the other two angles are uncertain.
    """
    if any(model.angles[1:]):
        return "the direction of its rotation about X and Y is not certain"
    if blocks.sizes is None or len(np.unique(blocks.points[:, :2], axis=0)) < _ENOUGH:
        return "there are not enough blocks with sizes to tell local from world coordinates"
    pivot = (model.pivot[0], model.pivot[1], model.pivot[2])
    frame = LocalFrame([("z", model.angles[0])], origin=pivot, local_origin=pivot)
    back = LocalFrame([("z", -model.angles[0])], origin=pivot, local_origin=pivot)
    half = blocks.sizes / 2 if blocks.position == "centroid" else np.zeros(3)
    local, world = (
        _on_lattice(points - half, blocks.sizes, model)
        for points in (blocks.points, back.to_world(blocks.points))
    )
    if local == world:
        return "its blocks do not show whether they have local or world coordinates"
    if world and blocks.position == "corner":
        return "it has the corners of rotated blocks in world coordinates: export their centres"
    return frame if local else None


def _on_lattice(corners: Floats, sizes: Floats, model: MicromineModel) -> bool:
    """Return whether corners are, in plan, whole numbers of block sizes away from the origin."""
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = (corners - np.array(model.origin))[:, :2] / sizes[:, :2]
    return bool((np.abs(steps - np.round(steps)) < _SLACK).all())


# Rotation inferred from the blocks.

# Number of first blocks to examine; a larger number if these do not show a direction; and, for a
# file in no order, the number of blocks of one level and size.
_FEW, FIRST, _LEVEL = 4_096, 65_536, 500
# Tolerances: of the distance between neighbours, as a fraction of the size; of directions, degrees.
_NEAR, _AGREE = 1e-3, 0.01
# A step between rounded coordinates is off by 1.5 rounding units at most. Blocks must measure more
# than 10 rounding units to show a direction.
_ROUNDED, _COARSE = 1.5, 10.0
# Minimum number of block columns, and the fraction of them that share no x or y if rotated.
_COLUMNS, _SHARE = 10, 0.9
_SAY = (
    "give the rotation of the blocks with frame=, such as frame='z=30', or frame='z=0' if they are "
    "parallel to the world axes"
)


def azimuth_of(points: Floats, sizes: Floats, unit: float | None = None) -> float:
    """Return the azimuth to which blocks are rotated, from neighbours among the first blocks.

    Rounded coordinates scatter the directions from block to block: rounding to 0.01 scatters them
    by 0.08 degrees if blocks measure 10. Therefore neighbours give a rough azimuth, and a fit of
    all blocks to one lattice makes it precise.

    Parameters
    ----------
    points, sizes : (n, 3) float64
        Centroids or lowest corners, and sizes.
    unit : float, optional
        Step to which coordinates are rounded; by default the unit of their last decimal.

    Returns
    -------
    float
        Degrees, clockwise, to a millionth: from -45 to 45 for blocks that are square in plan, or
        else from -90 to 90. The result is 0 if blocks are not rotated, or have too few neighbours.
    """
    unit = rounding_of(points[:_FEW]) if unit is None else unit
    azimuth = _of_first(points[:_FEW], sizes[:_FEW], unit)
    if azimuth is None and len(points) > _FEW:
        azimuth = _of_first(points[:FIRST], sizes[:FIRST], unit)
    return azimuth or 0.0


def rounding_of(points: Floats) -> float:
    """Return the unit of the last decimal of x and y, or 0 if there are more than six decimals."""
    plan = points[np.isfinite(points).all(axis=1), :2]
    for digits in range(7):
        if (np.round(plan, digits) == plan).all():
            return float(10.0**-digits)
    return 0.0


def _of_first(points: Floats, sizes: Floats, unit: float) -> float | None:
    """Return the azimuth of some blocks: 0 if not rotated, None if they show no direction."""
    level = np.argsort(points[:, 2], kind="stable")  # if z runs fastest, sort into levels
    azimuth = _of_rows(points, sizes, unit)
    if azimuth is None:
        azimuth = _of_rows(points[level], sizes[level], unit)
    if azimuth is None:
        azimuth = _of_level(points, sizes, unit)
    if not azimuth:
        return azimuth
    fitted = _fitted(points, sizes, azimuth, unit)
    return 0.0 if fitted is not None and _along_axes(fitted, _AGREE) else fitted


def _along_axes(azimuth: float, slack: float) -> bool:
    """Return whether an azimuth is a multiple of 90, within `slack` degrees."""
    return abs((azimuth + 45) % 90 - 45) <= slack


def _of_rows(points: Floats, sizes: Floats, unit: float) -> float | None:
    """Return the azimuth of the steps from the block of each row to that of the next row.

    Return None if too few of the steps lead to a neighbour, or if their directions differ.
    """
    steps = np.diff(points, axis=0)
    same = (sizes[1:] == sizes[:-1]).all(axis=1) & (steps[:, 2] == 0)
    return _agreed(steps[same], sizes[1:][same], len(points) / 4, unit)


def _of_level(points: Floats, sizes: Floats, unit: float) -> float | None:
    """Return the azimuth of the steps from block to neighbouring block.

    The blocks have one elevation and one size: the most frequent pair. If too few of them are
    neighbours, return None.
    """
    usable = np.isfinite(points).all(axis=1) & np.isfinite(sizes).all(axis=1)
    points, sizes = points[usable], sizes[usable]
    if len(points) < 2:
        return None
    level = _commonest(np.column_stack([points[:, 2], sizes]))[:_LEVEL]
    some = points[level]
    first, second = np.triu_indices(len(some), 1)
    return _agreed(some[second] - some[first], sizes[level][second], max(4.0, len(some) / 32), unit)


def _commonest(rows: Floats) -> NDArray[np.intp]:
    """Return the indices at which the most frequent row of an array occurs."""
    _, kind, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return np.flatnonzero(kind.ravel() == counts.argmax())


def _agreed(steps: Floats, sizes: Floats, fewest: float, unit: float) -> float | None:
    """Return the azimuth of steps that are one block size long.

    Return 0 if the steps are parallel to the axes. Return None if there are fewer than `fewest`
    steps, or if their directions differ. Both ends of a step are rounded, so each coordinate
    may be off by half of `unit`, the last decimal.
    """
    length = np.hypot(steps[:, 0], steps[:, 1])
    for axis in (0, 1):
        off = (
            _ROUNDED * unit if _COARSE * unit < float(sizes[:, axis].min(initial=math.inf)) else 0.0
        )
        beside = np.abs(length - sizes[:, axis]) < np.maximum(_NEAR * sizes[:, axis], off)
        if beside.sum() > fewest:
            angles = np.degrees(np.arctan2(steps[beside, 1], steps[beside, 0]))
            # If blocks are square in plan, a step may be along either side.
            square = np.abs(sizes[beside, 1] - sizes[beside, 0]) < _NEAR * sizes[beside, 0]
            period = 90 if square.all() else 180
            angles = angles if period == 90 else angles[~square] - 90 * axis
            slack = max(_AGREE, float(np.degrees(2 * off / sizes[beside, axis].min())))
            turns = _about_one(-angles, period)
            ordered = np.sort(turns)  # np.median would import numpy.ma, which takes 6 ms
            middle = float(ordered[(len(turns) - 1) // 2] + ordered[len(turns) // 2]) / 2
            agree = np.abs(turns - middle) < slack
            if agree.mean() > 0.9:
                azimuth = float(turns[agree].mean())
                if _along_axes(azimuth, max(_AGREE, slack / 8)):
                    return 0.0
                return (azimuth + period / 2) % period - period / 2
    return None


def _about_one(turns: Floats, period: int) -> Floats:
    """Return angles shifted by whole periods, so that similar directions are close numbers."""
    waves = np.radians(turns * (360 / period))
    middle = np.degrees(np.arctan2(np.sin(waves).mean(), np.cos(waves).mean())) * period / 360
    beside: Floats = middle + (turns - middle + period / 2) % period - period / 2
    return beside


def _fitted(points: Floats, sizes: Floats, azimuth: float, unit: float) -> float | None:
    """Refine an azimuth, and round it to the fewest decimals that fit the blocks, at most 6.

    The blocks of the most frequent size are fitted to a lattice by least squares. The fit begins
    with close blocks, for which a rough azimuth can identify the rows, and adds more distant ones.
    If the blocks fit no lattice, the fit stops and the azimuth reached so far is used. In that
    case, if coordinates are so coarse (such as whole numbers) that a step from block to block shows
    no direction, return None.
    """
    usable = np.flatnonzero(np.isfinite(points).all(axis=1) & np.isfinite(sizes).all(axis=1))
    rows = usable[_commonest(sizes[usable])]
    plan, size = points[rows, :2] - points[rows[0], :2], sizes[rows[0], :2]
    away = np.hypot(plan[:, 0], plan[:, 1])
    reach, off, error = 4.0 * float(size.max()), math.inf, math.inf
    while True:
        some = plan[away <= reach]
        across = np.radians(azimuth)
        local = some @ np.array(
            [[np.cos(across), np.sin(across)], [-np.sin(across), np.cos(across)]]
        )
        lattice = np.round(local / size) * size
        left = local - lattice
        off = float(np.quantile(np.hypot(left[:, 0], left[:, 1]), 0.9))
        lattice, local = lattice - lattice.mean(axis=0), local - local.mean(axis=0)
        spread = float((lattice**2).sum())
        if spread == 0 or off > max(float(size.min()) / 4, 2 * unit):
            if unit * _COARSE >= size.min():
                return None
            break
        turn = np.arctan2((lattice[:, 0] * local[:, 1] - lattice[:, 1] * local[:, 0]).sum(),
                          (lattice * local).sum())  # fmt: skip
        azimuth -= float(np.degrees(turn))
        # Rounding repeats along rows, so its errors add up to one unit at the typical distance.
        scatter = 3.0 * float(np.abs(local - lattice).mean()) / len(some) ** 0.5
        error = float(np.degrees(max(unit, scatter) / (spread / len(some)) ** 0.5))
        if reach >= away.max():
            break
        reach *= 3.0
    allowed = max(error, 2e-7) if math.isfinite(error) else 0.0
    for digits in range(6):
        if abs(round(azimuth, digits) - azimuth) <= allowed:
            return round(azimuth, digits)
    return round(azimuth, 6)


def frame_of_azimuth(azimuth: float) -> LocalFrame:
    """Return a frame that is rotated to an azimuth about the world origin."""
    return LocalFrame([("z", azimuth)], (0.0, 0.0, 0.0))


def say_turn(azimuth: float) -> str:
    """Format an azimuth as a value of ``frame=`` and ``rotation=``."""
    return f"z={shortest(azimuth)}"


def require_known_turn(
    points: Floats,
    sizes: Floats,
    frame: Frame,
    name: str,
    done: str,
    mend: Callable[[str], str] = "give frame={!r}".format,
) -> None:
    """Refuse blocks in world coordinates that look rotated, if no rotation is stated.

    Parameters
    ----------
    points, sizes : (n, 3) float64
        World centroids and sizes of the first blocks.
    frame : Frame
        The frame from the file or the caller. If it states the rotation of the blocks, nothing is
        checked.
    name : str
        Name of the model in messages.
    done : str
        Past participle of the operation on blocks, for messages: "split", "measured".
    mend : callable
        Returns the remedy for a rotation such as "z=30".

    Raises
    ------
    TableError
        If `azimuth_of` finds a rotation.

    Warns
    -----
    GeodomainWarning
        If no rotation is found, but hardly any two vertical columns of blocks have the same x or
        the same y.
    """
    if frame.lattice is not None:
        return
    azimuth = azimuth_of(points, sizes)
    if azimuth:
        turn = say_turn(azimuth)
        message = (
            f"{name}: the blocks lie on a lattice that is rotated by {turn}, but no frame is "
            f"given. If blocks were {done} along the world axes, their boxes would be wrong: "
            f"{mend(turn)}"
        )
        raise TableError(message)
    for sentence in _lonely(points[np.isfinite(sizes).all(axis=1)], name, done):
        warn(sentence)


def _lonely(points: Floats, name: str, done: str) -> Iterator[str]:
    """Yield a warning if hardly any two vertical columns of blocks have the same x or same y."""
    plan = points[np.isfinite(points).all(axis=1), :2]
    columns = len(np.unique(plan, axis=0))
    alone = min(len(np.unique(plan[:, axis])) for axis in range(2))
    if columns >= _COLUMNS and alone > _SHARE * columns:
        yield (
            f"{name}: hardly any two columns of blocks have the same x or the same y, so the model "
            f"may be rotated, but blocks are {done} along the world axes: {_SAY}"
        )


def refuse_misfit(points: Floats, sizes: Floats | None, frame: Frame, name: str) -> None:
    """Refuse the caller's rotation if the blocks contradict it.

    Either of two observations contradicts a frame. First: two blocks of one size and elevation are
    one block size apart, but not along an axis of the frame. Boxes along the axes would overlap.
    Second: nearly all blocks at one elevation lie on a rectangular lattice that is not parallel to
    the axes. The second observation is needed if sizes are unknown or coordinates are coarse. In
    the right frame, neighbours lie along the axes and do not overlap, so the right frame is never
    refused.

    Parameters
    ----------
    points : (n, 3) float64
        World centroids of the first blocks, computed with the caller's rotation.
    sizes : (n, 3) float64, optional
        Block sizes.
    frame : Frame
        The caller's frame. A frame from the file is not checked.
    name : str
        Name of the model in messages.

    Raises
    ------
    TableError
        The message names two such blocks or the lattice, and the rotation that they show.
    """
    local = frame.lattice
    if local is None or not frame.stated:
        return
    unit = rounding_of(points[:_FEW])
    # The two rotations round, but blocks of one level must have exactly the same height.
    points = np.round(local.to_local(points[:FIRST]), 6)
    turn = None if sizes is None else _turn_of_boxes(points, sizes[:FIRST], max(unit, 1e-6))
    turn = turn or _turn_of_plan(points, sizes, max(unit, rounding_of(points[:_FEW]), 1e-6))
    if turn is None:
        return
    azimuth = turn.azimuth
    if frame.boxes is None:
        actual = say_turn(azimuth)
        message = (
            f"{name}: its coordinates are already rotated by {actual}: {turn.evidence}. "
            f"{local.say_turns()} would rotate them twice. If they are world coordinates, leave "
            f"out rotation= and origin=; to measure or split blocks, give frame={actual!r} instead"
        )
        raise TableError(message)
    about_z = sum(angle for axis, angle in local.turns if axis == "z")
    mend = "correct its rotations"
    if all(axis == "z" for axis, _ in local.turns):
        mend = f"give frame={say_turn(round(about_z + azimuth, 6))!r}"
    stated = local.say_turns("frame")
    message = f"{name}: {turn.evidence}. This contradicts {stated}: {mend}"
    if turn.pair is not None:
        a, b = local.to_world(points[[*turn.pair]])
        message = (
            f"{name}: blocks at ({_place(a)}) and ({_place(b)}) are one block size apart and "
            f"would overlap each other with {stated}: {mend}"
        )
    raise TableError(message)


class _Turn(NamedTuple):
    """A rotation of blocks in a frame, the evidence as text, and two blocks that show it."""

    azimuth: float
    evidence: str
    pair: tuple[int, int] | None = None


def _turn_of_boxes(points: Floats, sizes: Floats, unit: float) -> _Turn | None:
    """Return the rotation that neighbouring blocks show, or None if they show none.

    The rotation counts only if two neighbours would overlap as boxes parallel to the axes.
    """
    azimuth = azimuth_of(points, sizes, unit)
    if not azimuth:
        return None
    # Exact coordinates may be whole numbers, which look rounded.
    pair = _overlapping(points, sizes, azimuth, 0.0)
    pair = pair or _overlapping(points, sizes, azimuth, unit)
    if pair is None:
        return None
    evidence = (
        f"blocks at ({_place(points[pair[0]])}) and ({_place(points[pair[1]])}) are one block size "
        "apart and would overlap if their edges were parallel to the axes"
    )
    return _Turn(azimuth, evidence, pair)


# Most block columns of a level in which to search for a lattice, fewest columns that show one, and
# shortest step, in rounding units, that shows a direction.
_NEARBY, _FEWEST, _UNITS = 256, 24, 4.0


def _turn_of_plan(points: Floats, sizes: Floats | None, unit: float) -> _Turn | None:
    """Return the rotation of the lattice on which the blocks at one elevation lie, or None.

    A step leads from one column of blocks to another, in plan. The shortest frequent step, and the
    shortest frequent step at right angles to it, span a lattice. The lattice is then fitted to more
    and more columns of blocks.
    """
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return None
    level = _commonest(points[:, 2:])
    plan = np.unique(points[level, :2], axis=0)
    if len(plan) < _FEWEST:
        return None
    away = np.hypot(*(plan - np.median(plan, axis=0)).T)
    centre = plan[away.argmin()]
    away = np.hypot(*(plan - centre).T)
    steps = _lattice_steps(plan[np.argsort(away, kind="stable")[:_NEARBY]] - centre, unit)
    if steps is None:
        return None
    reach = 3.0 * float(np.hypot(*steps.T).max())
    while True:
        some = plan[away <= reach] - centre
        places = np.round(some @ np.linalg.inv(steps))
        fitted, _, rank, _ = np.linalg.lstsq(np.column_stack([places, np.ones(len(some))]), some)
        if rank < 3:
            return None
        steps = fitted[:2]
        if reach >= away.max():
            break
        reach *= 2.0
    lengths = np.hypot(*steps.T)
    off = np.abs(some - np.column_stack([places, np.ones(len(some))]) @ fitted).max(axis=1)
    slack = max(_ROUNDED * unit, _NEAR * float(lengths.min()))
    share = float((off < slack).mean())
    spans = np.ptp(places, axis=0) * lengths
    azimuth = -float(np.degrees(np.arctan2(steps[0, 1], steps[0, 0])))
    azimuth = (azimuth + 45) % 90 - 45
    skew = abs(float(steps[0] @ steps[1])) / float(lengths.prod()) * float(spans.max())
    drift = abs(math.sin(math.radians(azimuth))) * float(spans.max())
    if share < 0.9 or spans.min() == 0 or skew > 2 * slack or drift < 2 * slack + lengths.min() / 8:
        return None
    if _may_be_checkered(azimuth) and _fill(places, 1.0) <= _fill(some, float(lengths.prod())):
        return None
    if sizes is not None:
        usual = sizes[_commonest(sizes)[0], :2]
        if (np.abs(np.sort(usual) - np.sort(lengths)) > slack).any():
            return None
    error = math.degrees(3.0 * float(off[off < slack].mean()) / float(spans.max())) + 2e-7
    digits = next((d for d in range(6) if abs(round(azimuth, d) - azimuth) <= error), 6)
    sides = " by ".join(f"{length:.4g}" for length in lengths)
    evidence = (
        f"{share:.0%} of {len(plan):,} blocks of one level lie on a lattice of {sides} that is not "
        "parallel to the axes"
    )
    return _Turn(round(azimuth, digits), evidence)


def _lattice_steps(near: Floats, unit: float) -> Floats | None:
    """Return two steps, (2, 2), that span a lattice, or None if there are no such steps.

    A step is the offset of two block columns in plan. The first result is the shortest frequent
    step. The second is the shortest frequent step at right angles to the first.
    """
    begin, end = np.triu_indices(len(near), 1)
    steps = near[end] - near[begin]
    steps[(steps[:, 0] < 0) | ((steps[:, 0] == 0) & (steps[:, 1] < 0))] *= -1
    lengths = np.hypot(*steps.T)
    order = np.argsort(lengths, kind="stable")[: 16 * len(near)]
    steps, lengths = steps[order], lengths[order]
    first = _usual(steps, lengths, unit, len(near) / 2)
    if first is None or math.hypot(*first) < _UNITS * unit:
        return None
    along = np.abs(steps @ first) / math.hypot(*first)
    across = along <= np.maximum(2 * unit, 4 * _NEAR * lengths)
    second = _usual(steps[across], lengths[across], unit, len(near) / 2)
    if second is None or math.hypot(*second) < _UNITS * unit:
        return None
    return np.array([first, second])


def _usual(steps: Floats, lengths: Floats, unit: float, fewest: float) -> Floats | None:
    """Return the shortest step that occurs more than `fewest` times, or None if there is none.

    Steps that are equal or opposite, apart from rounding, count as the same step, and the result is
    their mean.
    """
    rest = np.ones(len(steps), np.bool_)
    while rest.any():
        step = steps[rest.argmax()]
        slack = max(2 * unit, _NEAR * float(lengths[rest.argmax()]))
        beside = np.minimum(  # a step and its opposite are the same step
            np.abs(steps - step).max(axis=1), np.abs(steps + step).max(axis=1)
        )
        alike = beside <= slack
        if np.count_nonzero(alike) > fewest:
            signs = np.where(steps[alike] @ step < 0, -1.0, 1.0)
            mean: Floats = (steps[alike] * signs[:, None]).mean(axis=0)
            return mean
        rest &= ~alike
    return None


def _may_be_checkered(azimuth: float) -> bool:
    """Return whether blocks at this azimuth may belong to an unrotated model with gaps.

    If an unrotated model has only every second or every fifth block, its blocks seem to lie on a
    lattice of such an azimuth.
    """
    tangent = abs(math.tan(math.radians(azimuth)))
    return min(abs(tangent - 1.0), abs(tangent - 0.5)) < _AGREE


def _fill(plan: Floats, area: float) -> float:
    """Return the fraction of a rectangle in plan that block columns cover.

    The rectangle is the smallest one around all block columns. `area` is the area of one column in
    plan.
    """
    return len(plan) * area / float((np.ptp(plan, axis=0) + area**0.5).prod())


def _overlapping(
    points: Floats, sizes: Floats, azimuth: float, unit: float
) -> tuple[int, int] | None:
    """Return two neighbours on a rotated lattice that would overlap as unrotated boxes, or None."""
    back = frame_of_azimuth(azimuth).to_local(points)
    for along, across in ((0, 1), (1, 0)):
        lane = np.round((back[:, across] - back[0, across]) / sizes[:, across] * 4)
        order = np.lexsort([back[:, along], lane, *sizes.T, points[:, 2]])
        first, second = order[:-1], order[1:]
        same = (sizes[first] == sizes[second]).all(axis=1) & (points[first, 2] == points[second, 2])
        size = sizes[first, :2]
        near = np.maximum(_NEAR * size, _ROUNDED * unit)
        beside = np.abs(back[second] - back[first])[:, :2]
        same &= np.abs(beside[:, along] - size[:, along]) < near[:, along]
        same &= beside[:, across] < near[:, across]
        offset = np.abs(points[second, :2] - points[first, :2])
        same &= (offset < size - near).all(axis=1)
        if same.any():
            pair = int(same.argmax())
            return int(first[pair]), int(second[pair])
    return None


def _place(point: Floats) -> str:
    return ", ".join(f"{value:.10g}" for value in point)


# Whether centroids are local to a rotated model, and its frame.

_AXES: dict[float, Axis] = {1.0: "x", 2.0: "y", 3.0: "z"}


class Rotation(NamedTuple):
    """The rotation that the header and the first rows state; empty texts mean no rotation.

    Attributes
    ----------
    rows : str
        Description of Micromine's rotation row.
    angles : str
        Description of Datamine's ANGLE columns.
    prototype : LocalFrame or str
        Datamine's local frame, or the reason why it is unknown.
    model : MicromineModel, optional
        Micromine's description of the whole model.
    origins : tuple of two points, optional
        Datamine's X0, Y0, Z0 and XMORIG, YMORIG, ZMORIG, if they differ.
    """

    rows: str
    angles: str
    prototype: LocalFrame | str = ""
    model: MicromineModel | None = None
    origins: tuple[Triple, Triple] | None = None

    def prefer_world(self, sets: dict[Triplet, Family]) -> dict[Triplet, Family]:
        """If the file has columns of world coordinates, drop columns that are or may be local."""
        world = {columns: family for columns, family in sets.items() if family == WORLD}
        if world and (self.rows or self.angles or DATAMINE in sets.values()):
            rest = {c: f for c, f in sets.items() if f not in (WORLD, DATAMINE)}
            return world if self.rows or self.angles else world | rest
        return sets

    def settle(
        self, names: Sequence[str], xyz: Triplet, table: str, *, named: bool, blocks: Blocks
    ) -> LocalFrame | None:
        """Return the local frame of the chosen centroids, or None for world coordinates.

        Columns that the user names are used as world coordinates, with a warning.

        Raises
        ------
        TableError
            If centroids are local to a rotated model, or may be, and the file does not describe the
            rotation.
        """
        plain = tuple(plain_name(names[column]) for column in xyz)
        local = self.rows or (self.angles if plain == DATAMINE.names else "")
        if plain == WORLD.names or not (local or self.angles):
            if plain == DATAMINE.names and self.origins and not named:
                _warn(_uncertain(table, *self.origins))
            return None
        chosen = ", ".join(names[column] for column in xyz)
        if local and not named:
            return self._local_frame(local, chosen, table, blocks)
        _warn(
            f"{table} is a rotated model ({local or self.angles}); {chosen} are used as world "
            "coordinates"
        )
        return None

    def _local_frame(
        self, local: str, chosen: str, table: str, blocks: Blocks
    ) -> LocalFrame | None:
        """Return the frame of centroids in a rotated model.

        Return None if the blocks show that the centroids are world coordinates. Raise TableError if
        the frame is uncertain.
        """
        frame = frame_of(self.model, blocks) if self.model else self.prototype
        if frame is None:
            _warn(
                f"{table} is a rotated model ({local}); {chosen} are already rotated, so they are "
                "used as world coordinates"
            )
            return None
        if isinstance(frame, LocalFrame):
            _warn(
                f"{table} is a rotated model ({local}); {chosen} are local to it, and are "
                f"converted to world coordinates ({frame.say()})"
            )
            return frame
        message = (
            f"{table} is a rotated model ({local}) and {chosen} may be local to it: there are no "
            f"XWORLD, YWORLD and ZWORLD, and {frame}. Give rotation= and origin=; or export world "
            f"coordinates and name their columns with x=, y= and z=; or, if {chosen} already are "
            "world coordinates, name them with x=, y= and z=."
        )
        raise TableError(message)


def datamine_rotation(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Describe the ANGLE column that rotates the model; return "" if the model is not rotated.

    A Datamine file repeats its prototype in every row, so the first rows decide. The model is
    rotated if an angle is not zero and its ROTAXIS, if there is one, names an axis. In such a file
    XC, YC and ZC are local to the rotated frame.
    """
    plain = [plain_name(name) for name in names]
    for index in "123":
        if f"angle{index}" not in plain:
            continue
        angles = _numbers(rows, plain.index(f"angle{index}"))
        axis = f"rotaxis{index}"
        axes = _numbers(rows, plain.index(axis)) if axis in plain else [1.0]
        turned = next((angle for angle in angles if angle), 0.0)
        if turned and any(axes):
            return f"ANGLE{index} is {turned:g}"
    return ""


_ORIGINS = tuple(f"{axis}{word}" for word in ("0", "morig") for axis in "xyz")
_TURNS = tuple(f"{word}{index}" for index in "123" for word in ("rotaxis", "angle"))


def datamine_prototype(names: Sequence[str], rows: Sequence[Sequence[str]]) -> LocalFrame | str:
    """Return the frame that a Datamine prototype describes, or the reason why it is unknown.

    According to Datamine's help for the process PROTOM, a rotated model has its origin in the
    world, X0, Y0 and Z0, and in its own frame, XMORIG, YMORIG and ZMORIG. According to its help for
    COPYMOD, XC, YC and ZC are in the model's frame, and ANGLE1..3 with ROTAXIS1..3 (1, 2, 3: x, y,
    z; 0: no rotation) relate the two frames.
    """
    plain = [plain_name(name) for name in names]
    values: list[float] = []
    for name in (*_ORIGINS, *_TURNS):
        distinct = set(_numbers(rows, plain.index(name))) if name in plain else set()
        # The columns of the second and third rotation may be absent.
        if not distinct and name in _TURNS[2:]:
            distinct = {0.0}
        if len(distinct) != 1:
            return f"{name.upper()} {'differs among the rows' if distinct else 'is missing'}"
        values += distinct
    turns = list(zip(values[6::2], values[7::2], strict=True))
    if any(axis not in (0.0, *_AXES) for axis, _ in turns):
        return "a ROTAXIS is not 0, 1, 2 or 3"
    return LocalFrame(
        [(_AXES[axis], angle) for axis, angle in turns if axis and angle],
        origin=(values[0], values[1], values[2]),
        local_origin=(values[3], values[4], values[5]),
    )


def datamine_origins(
    names: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[Triple, Triple] | None:
    """Return the origins of a prototype in the world and in the model's frame.

    Return None in three cases: an origin is missing, the two origins are equal, or the world origin
    is 0, 0, 0, as in a model that was never rotated.
    """
    plain = [plain_name(name) for name in names]
    if not set(_ORIGINS) <= set(plain):
        return None
    values = [set(_numbers(rows, plain.index(name))) for name in _ORIGINS]
    if any(len(numbers) != 1 for numbers in values):
        return None
    x, y, z, *local = (numbers.pop() for numbers in values)
    world = (x, y, z)
    return (world, (local[0], local[1], local[2])) if any(world) and world != (*local,) else None


def _uncertain(table: str, world: Triple, local: Triple) -> str:
    """Return a warning that coordinates may be local although all angles of the model are 0."""
    here, there = (", ".join(map(shortest, point)) for point in (world, local))
    frame = LocalFrame([("z", 0.0)], world, local)
    return (
        f"{table}: its angles are all 0, but its origin is {here} in X0, Y0, Z0 and {there} in "
        "XMORIG, YMORIG, ZMORIG, so XC, YC, ZC may be local to the model. They are used as world "
        f"coordinates; if they are local, give {frame.say()}; if not, give x='XC', y='YC', z='ZC'"
    )


def datamine_constants(
    names: Sequence[str], rows: Sequence[Sequence[str]], *, turned: bool
) -> dict[int, float]:
    """Return the columns of a Datamine prototype whose value must not change, each with its value.

    If the first rows are not rotated, only the ANGLE and ROTAXIS columns are returned. They show
    whether a rotated model follows further down in the same file.
    """
    plain = [plain_name(name) for name in names]
    wanted = (*_ORIGINS, *_TURNS) if turned else _TURNS
    places = [plain.index(name) for name in wanted if name in plain]
    return {place: next(iter(_numbers(rows, place)), 0.0) for place in places}


def require_constants(
    constants: Mapping[int, float],
    column: Callable[[int], Column],
    names: Sequence[str],
    table: str,
    done: int = 0,
) -> None:
    """Raise TableError for a row whose frame differs from the frame of the first rows.

    Such a row belongs to another model. `done` is the number of rows before the first row of
    `column`.
    """
    for place, value in constants.items():
        numbers = column(place).loose_numbers()
        other = (numbers != value) & ~(np.isnan(numbers) & (value == 0))
        if other.any():
            row = int(other.argmax())
            message = (
                f"{table}: {names[place]} is {value:g} in the first blocks and "
                f"{numbers[row]:g} in block {done + row + 1}, so the file holds several models "
                "with different rotations; label them one at a time."
            )
            raise TableError(message)


def micromine_rotation(model: MicromineModel | None) -> str:
    """Describe the rotation in Micromine's rotation row; return "" if there is none."""
    if model is None or not any(model.angles):
        return ""
    return "its rotation row is " + ", ".join(f"{angle:g}" for angle in model.angles)


def _numbers(rows: Sequence[Sequence[str]], column: int) -> list[float]:
    """Return the numbers of a column, without cells that are not numbers."""
    cells = (number(row[column]) for row in rows if column < len(row))
    return [cell for cell in cells if cell is not None]


def _warn(message: str) -> None:
    """Warn about the assumed rotation, so that the user can check it."""
    warn(message)
