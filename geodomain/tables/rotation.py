"""How a block model is rotated: by its head, or by its blocks where the head is silent."""

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

# So many columns of blocks must tell local from world coordinates; exports round to decimals.
_ENOUGH, _SLACK = 10, 0.02


class Blocks(NamedTuple):
    """The first blocks of a table.

    Attributes
    ----------
    points : (n, 3) float64
        Their coordinates as they stand.
    sizes : (n, 3) float64, optional
        Their sizes.
    position : {"centroid", "corner"}
        What the coordinates are.
    """

    points: Floats
    sizes: Floats | None
    position: Position


def first_blocks(
    sample: Sequence[Sequence[str]], xyz: Triplet, sizes: Triplet | None, position: Position
) -> Blocks:
    """Read the rows of a sample that have all their numbers."""
    wanted = [*xyz, *(sizes or ())]
    found = [[number(row[column]) for column in wanted] for row in sample if max(wanted) < len(row)]
    numbers = np.array([row for row in found if None not in row], np.float64)
    table = numbers.reshape(-1, len(wanted))
    return Blocks(table[:, :3], table[:, 3:] if sizes else None, position)


def position_of(model: MicromineModel | None, table: str) -> Position:
    """Give what the coordinates are by the last cell of the origin row.

    Raises
    ------
    TableError
        Where they are the upper corners.
    """
    word = model.position.casefold() if model else ""
    if word.startswith("top"):
        message = (
            f"{table} has the upper corners of its blocks ({model.position if model else ''}); "
            "export it with the block origin at the centre or bottom left, or "
            "say what its coordinates are with position=."
        )
        raise TableError(message)
    return "corner" if word.startswith("bottom") else "centroid"


def frame_of(model: MicromineModel, blocks: Blocks) -> LocalFrame | str | None:
    """Give the frame of a rotated model's blocks, None for the world, or what is in doubt.

    Micromine's help (block model export) names the cells of the two rows and not the frame of the
    coordinates, so the blocks themselves must tell: on the lattice of the origin row as they
    stand, they are local; turned back, they are in the world. An angle about Z is an azimuth,
    clockwise; of the senses of the two others nothing certain is known.
    """
    if any(model.angles[1:]):
        return "in which sense it is turned about X and Y is not certain"
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
        return "its blocks are on the lattice of its origin row neither or both ways"
    if world and blocks.position == "corner":
        return "it has the corners of turned blocks in world coordinates: export their centres"
    return frame if local else None


def _on_lattice(corners: Floats, sizes: Floats, model: MicromineModel) -> bool:
    """Tell whether blocks begin at whole numbers of their sizes from the origin, in plan."""
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = (corners - np.array(model.origin))[:, :2] / sizes[:, :2]
    return bool((np.abs(steps - np.round(steps)) < _SLACK).all())


# Rotation inferred from the blocks.

# The blocks that decide: a few of the first ones, or more of them where these do not tell; of a
# file in no order so many of one level and size.
_FEW, FIRST, _LEVEL = 4_096, 65_536, 500
# Centroids are one size apart within this part of the size, and directions agree within degrees.
_NEAR, _AGREE = 1e-3, 0.01
# A step between rounded coordinates is off by 1.5 units at most; coarser units tell no direction.
_ROUNDED, _COARSE = 1.5, 10.0
# So few columns of blocks show nothing; of a turned lattice hardly any two share an x or a y.
_COLUMNS, _SHARE = 10, 0.9
_SAY = (
    "say how they are turned with frame=, such as frame='z=30', or frame='z=0' if they lie along "
    "the axes of the world"
)


def azimuth_of(points: Floats, sizes: Floats, unit: float | None = None) -> float:
    """Return the azimuth of the blocks' rows, from neighbours among the first blocks.

    Rounded coordinates scatter the directions from block to block: centimetres by 0.08 degrees
    where blocks measure 10. So a rough azimuth comes from neighbours, as exact as the rounding
    allows, and all blocks that lie on one lattice make it precise.

    Parameters
    ----------
    points, sizes : (n, 3) float64
        Centroids or lowest corners, and sizes.
    unit : float, optional
        What the coordinates are rounded to; by default the unit of their last decimal.

    Returns
    -------
    float
        Degrees, clockwise, to a millionth; within 45 of zero for blocks that are square in plan,
        else within 90. 0 where blocks are not turned, or where too few are neighbours to tell.
    """
    unit = rounding_of(points[:_FEW]) if unit is None else unit
    azimuth = _of_first(points[:_FEW], sizes[:_FEW], unit)
    if azimuth is None and len(points) > _FEW:
        azimuth = _of_first(points[:FIRST], sizes[:FIRST], unit)
    return azimuth or 0.0


def rounding_of(points: Floats) -> float:
    """Return the unit of the last decimal of x and y, 0 for more than six decimals."""
    plan = points[np.isfinite(points).all(axis=1), :2]
    for digits in range(7):
        if (np.round(plan, digits) == plan).all():
            return float(10.0**-digits)
    return 0.0


def _of_first(points: Floats, sizes: Floats, unit: float) -> float | None:
    """Return the azimuth of some blocks, None where they do not show one."""
    level = np.argsort(points[:, 2], kind="stable")  # where z runs first, a level is a row
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
    """Tell whether blocks with an azimuth lie along the axes, within some degrees."""
    return abs((azimuth + 45) % 90 - 45) <= slack


def _of_rows(points: Floats, sizes: Floats, unit: float) -> float | None:
    """Return the azimuth from each block to the next; None where too few are neighbours."""
    steps = np.diff(points, axis=0)
    same = (sizes[1:] == sizes[:-1]).all(axis=1) & (steps[:, 2] == 0)
    return _agreed(steps[same], sizes[1:][same], len(points) / 4, unit)


def _of_level(points: Floats, sizes: Floats, unit: float) -> float | None:
    """Return the azimuth of neighbours within the level and size that most blocks have."""
    usable = np.isfinite(points).all(axis=1) & np.isfinite(sizes).all(axis=1)
    points, sizes = points[usable], sizes[usable]
    if len(points) < 2:
        return None
    level = _commonest(np.column_stack([points[:, 2], sizes]))[:_LEVEL]
    some = points[level]
    one, other = np.triu_indices(len(some), 1)
    return _agreed(some[other] - some[one], sizes[level][other], max(4.0, len(some) / 32), unit)


def _commonest(rows: Floats) -> NDArray[np.intp]:
    """Return where the row is that occurs most often."""
    _, kind, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return np.flatnonzero(kind.ravel() == counts.argmax())


def _agreed(steps: Floats, sizes: Floats, fewest: float, unit: float) -> float | None:
    """Return the azimuth of the steps that are as long as a block, if there are enough.

    0 where they lie along the axes; None where they are too few, or differ. Both ends of a step
    are rounded, each of its coordinates by half a unit at most.
    """
    length = np.hypot(steps[:, 0], steps[:, 1])
    for axis in (0, 1):
        off = (
            _ROUNDED * unit if _COARSE * unit < float(sizes[:, axis].min(initial=math.inf)) else 0.0
        )
        beside = np.abs(length - sizes[:, axis]) < np.maximum(_NEAR * sizes[:, axis], off)
        if beside.sum() > fewest:
            angles = np.degrees(np.arctan2(steps[beside, 1], steps[beside, 0]))
            # Of blocks that are square in plan it is not known along which side a step leads.
            square = np.abs(sizes[beside, 1] - sizes[beside, 0]) < _NEAR * sizes[beside, 0]
            period = 90 if square.all() else 180
            angles = angles if period == 90 else angles[~square] - 90 * axis
            slack = max(_AGREE, float(np.degrees(2 * off / sizes[beside, axis].min())))
            turns = _about_one(-angles, period)
            middle = float(np.median(turns))
            agree = np.abs(turns - middle) < slack
            if agree.mean() > 0.9:
                azimuth = float(turns[agree].mean())
                if _along_axes(azimuth, max(_AGREE, slack / 8)):
                    return 0.0
                return (azimuth + period / 2) % period - period / 2
    return None


def _about_one(turns: Floats, period: int) -> Floats:
    """Return angles that are alike but for whole periods as numbers beside each other."""
    waves = np.radians(turns * (360 / period))
    middle = np.degrees(np.arctan2(np.sin(waves).mean(), np.cos(waves).mean())) * period / 360
    beside: Floats = middle + (turns - middle + period / 2) % period - period / 2
    return beside


def _fitted(points: Floats, sizes: Floats, azimuth: float, unit: float) -> float | None:
    """Return an azimuth with the fewest decimals that the blocks allow, 6 at most.

    The blocks of the commonest size are fitted to a lattice by least squares, first those that are
    near to each other, where a rough azimuth still tells the rows apart, then farther ones. Blocks
    on no lattice leave the azimuth as it is; None where their coordinates are so coarse, such as
    whole numbers, that single steps show no direction.
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
        # Rounding repeats along rows, and its errors add up: to a unit at the usual distance.
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


def refuse_misfit(points: Floats, sizes: Floats | None, frame: Frame, name: str) -> None:
    """Refuse what the caller says of a turn where the blocks contradict it.

    The evidence is that blocks of one size and level are one block size apart in a direction off
    the axes of the frame, and that as boxes along its axes these neighbours overlap; or, without
    sizes and for coordinates too coarse for that, that nearly all blocks of a level lie on one
    rectangular lattice off those axes. Blocks of a model in its own frame lie along its axes and
    do not overlap, so that none is refused.

    Parameters
    ----------
    points : (n, 3) float64
        World centroids of the first blocks, by what the caller says.
    sizes : (n, 3) float64, optional
        Their sizes.
    frame : Frame
        What the caller says; what a file says is not in question.
    name : str
        What messages call the model.

    Raises
    ------
    TableError
        With two such blocks or the lattice, and the turn that they show.
    """
    local = frame.lattice
    if local is None or not frame.said:
        return
    unit = rounding_of(points[:_FEW])
    # The turn there and back rounds, and blocks of one level must have one height.
    points = np.round(local.to_local(points[:FIRST]), 6)
    turn = None if sizes is None else _turn_of_boxes(points, sizes[:FIRST], max(unit, 1e-6))
    turn = turn or _turn_of_plan(points, sizes, max(unit, rounding_of(points[:_FEW]), 1e-6))
    if turn is None:
        return
    azimuth = turn.azimuth
    if frame.boxes is None:
        known = say_turn(azimuth)
        message = (
            f"{name}: its coordinates lie on a lattice that is turned by {known} already: "
            f"{turn.evidence}, and {local.say_turns()} would turn them once more. If their "
            "coordinates are those of the world, leave rotation= and origin= away; to measure or "
            f"split boxes, give frame={known!r} in their place"
        )
        raise TableError(message)
    about_z = sum(angle for axis, angle in local.turns if axis == "z")
    mend = "correct its turns"
    if all(axis == "z" for axis, _ in local.turns):
        mend = f"give frame={say_turn(round(about_z + azimuth, 6))!r}"
    said = local.say_turns("frame")
    message = f"{name}: {turn.evidence} and {said} does not fit them: {mend}"
    if turn.pair is not None:
        one, other = local.to_world(points[[*turn.pair]])
        message = (
            f"{name}: blocks at ({_place(one)}) and ({_place(other)}) are one block size apart and "
            f"would overlap with {said}: {mend}"
        )
    raise TableError(message)


class _Turn(NamedTuple):
    """How blocks are turned against the axes of a frame, what shows it, and two such blocks."""

    azimuth: float
    evidence: str
    pair: tuple[int, int] | None = None


def _turn_of_boxes(points: Floats, sizes: Floats, unit: float) -> _Turn | None:
    """Return the turn of boxes of which neighbours would overlap along the axes, if any do."""
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
        "apart and would overlap if they lay along the axes"
    )
    return _Turn(azimuth, evidence, pair)


# A lattice is looked for among so many columns of blocks of a level, and shown by so many of them;
# steps of fewer units than these show no direction.
_NEARBY, _FEWEST, _UNITS = 256, 24, 4.0


def _turn_of_plan(points: Floats, sizes: Floats | None, unit: float) -> _Turn | None:
    """Return the turn of the lattice that the blocks of one level lie on, if there is such a one.

    The shortest step that occurs often and the shortest one across it span a lattice, which is
    then fitted to ever more columns of blocks.
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
    evidence = f"{share:.0%} of the {len(plan):,} blocks of one level are {sides} apart that way"
    return _Turn(round(azimuth, digits), evidence)


def _lattice_steps(near: Floats, unit: float) -> Floats | None:
    """Return the shortest usual step between points and the shortest across it, (2, 2)."""
    one, other = np.triu_indices(len(near), 1)
    steps = near[other] - near[one]
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
    """Return the mean of the shortest steps that are alike and more than so many."""
    rest = np.ones(len(steps), np.bool_)
    while rest.any():
        step = steps[rest.argmax()]
        slack = max(2 * unit, _NEAR * float(lengths[rest.argmax()]))
        beside = np.minimum(  # of two opposite steps, either may have been kept
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
    """Tell whether every second or fifth block along the axes would have this azimuth, too."""
    tangent = abs(math.tan(math.radians(azimuth)))
    return min(abs(tangent - 1.0), abs(tangent - 0.5)) < _AGREE


def _fill(plan: Floats, area: float) -> float:
    """Return the share of their bounding rectangle that columns of an area take."""
    return len(plan) * area / float((np.ptp(plan, axis=0) + area**0.5).prod())


def _overlapping(
    points: Floats, sizes: Floats, azimuth: float, unit: float
) -> tuple[int, int] | None:
    """Return two neighbours on a turned lattice that overlap as boxes along the axes, if any do."""
    back = frame_of_azimuth(azimuth).to_local(points)
    for along, across in ((0, 1), (1, 0)):
        lane = np.round((back[:, across] - back[0, across]) / sizes[:, across] * 4)
        order = np.lexsort([back[:, along], lane, *sizes.T, points[:, 2]])
        one, other = order[:-1], order[1:]
        same = (sizes[one] == sizes[other]).all(axis=1) & (points[one, 2] == points[other, 2])
        size = sizes[one, :2]
        near = np.maximum(_NEAR * size, _ROUNDED * unit)
        beside = np.abs(back[other] - back[one])[:, :2]
        same &= np.abs(beside[:, along] - size[:, along]) < near[:, along]
        same &= beside[:, across] < near[:, across]
        offset = np.abs(points[other, :2] - points[one, :2])
        same &= (offset < size - near).all(axis=1)
        if same.any():
            pair = int(same.argmax())
            return int(one[pair]), int(other[pair])
    return None


def _place(point: Floats) -> str:
    return ", ".join(f"{value:.10g}" for value in point)


# Whether centroids are local to a rotated model, and its frame.

_AXES: dict[float, Axis] = {1.0: "x", 2.0: "y", 3.0: "z"}


class Rotation(NamedTuple):
    """What the head and the first rows say of a rotation: nothing, where the words are empty.

    Attributes
    ----------
    rows : str
        What Micromine's rotation row says.
    angles : str
        What Datamine's ANGLE columns say.
    prototype : LocalFrame or str
        Datamine's local frame, or what is lacking to know it.
    model : MicromineModel, optional
        What Micromine says of the whole model.
    origins : tuple of two points, optional
        Datamine's X0, Y0, Z0 and XMORIG, YMORIG, ZMORIG, where they differ.
    """

    rows: str
    angles: str
    prototype: LocalFrame | str = ""
    model: MicromineModel | None = None
    origins: tuple[Triple, Triple] | None = None

    def prefer_world(self, found: dict[Triplet, Family]) -> dict[Triplet, Family]:
        """Keep world coordinates alone where they stand beside ones that are or may be local."""
        world = {columns: family for columns, family in found.items() if family == WORLD}
        if world and (self.rows or self.angles or DATAMINE in found.values()):
            rest = {c: f for c, f in found.items() if f not in (WORLD, DATAMINE)}
            return world if self.rows or self.angles else world | rest
        return found

    def settle(
        self, names: Sequence[str], xyz: Triplet, table: str, *, named: bool, blocks: Blocks
    ) -> LocalFrame | None:
        """Give the frame that the chosen centroids are in, None where that is the world.

        Columns that the user has named are taken for world coordinates, with a warning.

        Raises
        ------
        TableError
            Where they are local to a rotated model, or may be, and the head does not say how.
        """
        plain = tuple(plain_name(names[column]) for column in xyz)
        local = self.rows or (self.angles if plain == DATAMINE.names else "")
        if plain == WORLD.names or not (local or self.angles):
            if plain == DATAMINE.names and self.origins and not named:
                _warn(_uncertain(table, *self.origins))
            return None
        chosen = ", ".join(names[column] for column in xyz)
        if local and not named:
            return self._known(local, chosen, table, blocks)
        _warn(
            f"{table} is a rotated model ({local or self.angles}); {chosen} are taken for world "
            "coordinates"
        )
        return None

    def _known(self, local: str, chosen: str, table: str, blocks: Blocks) -> LocalFrame | None:
        """Give the frame of local centroids, or refuse to guess."""
        frame = frame_of(self.model, blocks) if self.model else self.prototype
        if frame is None:
            _warn(
                f"{table} is a rotated model ({local}); {chosen} lie on its turned lattice and are "
                "taken for world coordinates"
            )
            return None
        if isinstance(frame, LocalFrame):
            _warn(
                f"{table} is a rotated model ({local}); {chosen} are local to it, and are turned "
                f"into world coordinates ({frame.say()})"
            )
            return frame
        message = (
            f"{table} is a rotated model ({local}) and {chosen} may be local to it: there are no "
            f"XWORLD, YWORLD and ZWORLD, and {frame}. Say where it lies with rotation= and "
            "origin=, or export world coordinates and name them with x=, y= and z=, which "
            f"also accept {chosen} if they are in the world frame."
        )
        raise TableError(message)


def datamine_rotation(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Say which ANGLE column turns the model, or nothing.

    A Datamine file repeats its prototype in every row, so that the first rows decide. An angle
    turns the model where it is not zero and its ROTAXIS, if there is one, names an axis; in such a
    file XC, YC and ZC are local to the rotated frame.
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
    """Give the frame that a Datamine prototype describes, or what is lacking to know it.

    Datamine's help, of the process PROTOM: a rotated model has its origin in the world, X0, Y0
    and Z0, and in its own frame, XMORIG, YMORIG and ZMORIG. Of COPYMOD: XC, YC and ZC are in the
    latter, and ANGLE1..3 with ROTAXIS1..3 (1, 2, 3: x, y, z; 0: no rotation) relate the two.
    """
    plain = [plain_name(name) for name in names]
    values: list[float] = []
    for name in (*_ORIGINS, *_TURNS):
        found = set(_numbers(rows, plain.index(name))) if name in plain else set()
        # The second and third turn may be missing altogether.
        if not found and name in _TURNS[2:]:
            found = {0.0}
        if len(found) != 1:
            return f"{name.upper()} {'differs among the rows' if found else 'is not there'}"
        values += found
    turns = list(zip(values[6::2], values[7::2], strict=True))
    if any(axis not in (0.0, *_AXES) for axis, _ in turns):
        return "a ROTAXIS is none of 0, 1, 2 and 3"
    return LocalFrame(
        [(_AXES[axis], angle) for axis, angle in turns if axis and angle],
        origin=(values[0], values[1], values[2]),
        local_origin=(values[3], values[4], values[5]),
    )


def datamine_origins(
    names: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[Triple, Triple] | None:
    """Return the origins in the world and in the model's frame, where a prototype has both.

    None where they are equal, or where the one in the world is 0, 0, 0, as a model that was never
    rotated may have it.
    """
    plain = [plain_name(name) for name in names]
    if not set(_ORIGINS) <= set(plain):
        return None
    values = [set(_numbers(rows, plain.index(name))) for name in _ORIGINS]
    if any(len(found) != 1 for found in values):
        return None
    x, y, z, *local = (found.pop() for found in values)
    world = (x, y, z)
    return (world, (local[0], local[1], local[2])) if any(world) and world != (*local,) else None


def _uncertain(table: str, world: Triple, local: Triple) -> str:
    """Say that the coordinates of a model that is not rotated may be local to it all the same."""
    here, there = (", ".join(map(shortest, point)) for point in (world, local))
    frame = LocalFrame([("z", 0.0)], world, local)
    return (
        f"{table}: its angles are all 0, but its origin is {here} in X0, Y0, Z0 and {there} in "
        "XMORIG, YMORIG, ZMORIG: whether XC, YC, ZC are in the world or local to the model is not "
        "certain. They are taken for world coordinates; if they are local, give "
        f"{frame.say()}; if not, x='XC', y='YC', z='ZC'"
    )


def datamine_constants(
    names: Sequence[str], rows: Sequence[Sequence[str]], *, turned: bool
) -> dict[int, float]:
    """Give the columns of a Datamine prototype that every row must repeat, and what they say.

    Where the model is not turned only its angles matter: another model further down might be.
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
    """Refuse a row that says something else of the frame than the first ones: another model.

    `done` rows were seen before those that `column` gives.
    """
    for place, value in constants.items():
        numbers = column(place).loose_numbers()
        other = (numbers != value) & ~(np.isnan(numbers) & (value == 0))
        if other.any():
            row = int(other.argmax())
            message = (
                f"{table}: {names[place]} is {value:g} in the first blocks and "
                f"{numbers[row]:g} in block {done + row + 1}: these are several models, rotated "
                "in different ways; label them one at a time."
            )
            raise TableError(message)


def micromine_rotation(model: MicromineModel | None) -> str:
    """Say that a Micromine rotation row turns the model, or nothing."""
    if model is None or not any(model.angles):
        return ""
    return "its rotation row says " + ", ".join(f"{angle:g}" for angle in model.angles)


def _numbers(rows: Sequence[Sequence[str]], column: int) -> list[float]:
    """Read the numbers of a column, leaving out what is none."""
    cells = (number(row[column]) for row in rows if column < len(row))
    return [cell for cell in cells if cell is not None]


def _warn(message: str) -> None:
    """Say what has been understood of a rotation: nobody should have to guess it."""
    warn(message)
