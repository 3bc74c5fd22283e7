"""Make random tables of drillholes: honest ones have no warning, and each planted fault is named.

python tests/fuzz/holes.py [--cases 100 | --seconds 60 | --case 17] [--seed 1]

A case is a field of holes (grid, scatter, district, fans under ground; flat or steep; metres or
feet; either sign of dips; azimuths from 0 to 360 or from -180 to 180). It is read as it is, then
with one fault of each kind, and then with cells of rubbish, which may be refused and never
anything else. Holes without the fault stay where they were, bit by bit. Then collars alone are
checked, honest ones and with one wrong number, and alarms and misses are counted.
"""

from __future__ import annotations

import copy
import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from math import cos, radians, sin
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from campaign import Case, campaign

import geodomain
from geodomain.drillholes.collars import check_collars
from geodomain.drillholes.findings import Finding
from geodomain.errors import GeodomainError

_WORDS = (
    "", "-", "nan", "inf", "-1e400", "1e30", "-99", "0", "x", '"1,410"', "1_0", "DH1", "400",
    "-400", "90000", "1e-320", "\u0661", "3.5.1", '"', ",", ";", "  ", "-0",
)  # fmt: skip
Cells = list[list[str | float]]


class Fault(Exception):
    """Something that must not be."""


@dataclass
class Field:
    """Tables of one field, and the ground above it."""

    collar: Cells
    survey: Cells
    log: Cells
    ground: geodomain.Mesh
    down: int
    signed: bool
    fans: bool
    unit: float
    heads: dict[str, str] = field(default_factory=lambda: {
        "collar": "BHID,XCOLLAR,YCOLLAR,ZCOLLAR,ENDDEPTH",
        "survey": "BHID,AT,BRG,DIP",
        "log": "BHID,FROM,TO,AU",
    })  # fmt: skip

    def written(self, folder: Path) -> list[Path]:
        """Write the tables."""
        paths = []
        for name, head in self.heads.items():
            rows = getattr(self, name)
            lines = [",".join(f"{cell:.10g}" if isinstance(cell, float) else cell for cell in row)
                     for row in rows]  # fmt: skip
            path = folder / f"{name}.csv"
            path.write_text("\n".join([head, *lines]) + "\n")
            paths.append(path)
        return paths


def field_of(dice: random.Random) -> Field:
    """Return an honest field."""
    unit = dice.choice((1.0, 3.28))
    size = dice.choice((150.0, 600.0, 4000.0)) * unit
    relief = dice.choice((0.0, 0.01, 0.2, 0.5))
    origin = [dice.choice((5000.0, 414_000.0, 2.29e6)), dice.choice((9000.0, 7_480_000.0)),
              dice.choice((120.0, 1500.0, 3900.0)) * unit]  # fmt: skip
    slopes = [dice.uniform(-relief, relief) for _ in range(2)]
    downhill = relief > 0.1 and dice.random() < 0.5
    if downhill:  # steep, so that level holes leave the ground
        slopes = [dice.choice((-0.4, 0.4)), dice.choice((-0.5, 0.5))]

    def height(x: float, y: float) -> float:
        return origin[2] + slopes[0] * (x - origin[0]) + slopes[1] * (y - origin[1])

    far = 8 * size + 2000 * unit
    corners = [(origin[0] + a * far, origin[1] + b * far) for a in (-1, 1) for b in (-1, 1)]
    ground = geodomain.Mesh([[x, y, height(x, y)] for x, y in corners], [[0, 2, 1], [1, 2, 3]])
    count = dice.choice((6, 20, 60, 150))
    places = [(origin[0] + dx, origin[1] + dy) for dx, dy in plan(dice, size, count)]
    style = dice.choice(("DH{:03}", "B1-{:03}", "{}", "CA{}_PLUS_R", "RC 20-{:04}"))
    made = Field([], [], [], ground, dice.choice((1, -1)), dice.random() < 0.3, False, unit)
    heading, length = dice.uniform(0, 360), dice.choice((80.0, 200.0, 600.0)) * unit
    spread = dice.choice((0.0, 5.0, 180.0))
    if downhill:
        heading, spread = float(np.degrees(np.arctan2(-slopes[0], -slopes[1]))), 5.0
    for number, (x, y) in enumerate(places):
        aim = heading + dice.uniform(-spread, spread)
        steep = dice.choice((90.0, 60.0, dice.uniform(32, 90)))
        steep = dice.uniform(75, 88) if downhill else steep
        # Rounded as surveyors do, and no nearer to the ground than that.
        add_hole(made, dice, style.format(number + 1), (x, y, height(x, y)), aim, steep, length)
    if dice.random() < 0.2 and count >= 20:
        add_fan(made, dice, style, places[0], height(*places[0]) - 0.3 * length, length)
    return made


def plan(dice: random.Random, size: float, count: int) -> list[tuple[float, float]]:
    """Return the places of collars in plan."""
    kind = dice.choice(("grid", "scatter", "district", "fence"))
    if kind == "grid":
        side = int(np.ceil(count**0.5))
        return [(size * (n % side) / side, size * (n // side) / side) for n in range(count)]
    if kind == "scatter":
        return [(dice.uniform(0, size), dice.uniform(0, size)) for _ in range(count)]
    if kind == "fence":
        return [(size * n / count, 0.0) for n in range(count)]
    pads = [(dice.uniform(0, 5 * size), dice.uniform(0, 5 * size)) for _ in range(4)]
    return [(x + dice.uniform(0, size), y + dice.uniform(0, size))
            for x, y in (pads[n % 4] for n in range(count))]  # fmt: skip


def add_hole(
    made: Field,
    dice: random.Random,
    name: str,
    place: tuple[float, float, float],
    aim: float,
    steep: float,
    length: float,
) -> None:
    """Add one hole with its stations, which wander by 3 degrees in 30 metres, and its samples."""
    depth = round(length * dice.uniform(0.6, 1.0), 2)
    made.collar.append([name, *(round(value, 2) for value in place), depth])
    step = dice.choice((10.0, 30.0, 50.0)) * made.unit
    azimuth, dip, at = aim, steep, 0.0
    while at < depth:
        angle = round(azimuth % 360.0, 1) % 360.0
        if made.signed and angle > 180:
            angle -= 360.0
        made.survey.append([name, round(at, 2), round(angle, 1), round(made.down * dip, 1)])
        wander = 3.0 * step / (30.0 * made.unit)
        azimuth += dice.uniform(-wander, wander)
        dip = min(90.0, max(30.0, dip + dice.uniform(-wander, wander)))
        at += step
    samples = max(1, min(8, int(depth / 10)))
    edges = [round(depth * n / samples, 2) for n in range(samples + 1)]
    made.log += [[name, low, high, 0.5] for low, high in pairwise(edges)]


def add_fan(
    made: Field,
    dice: random.Random,
    style: str,
    place: tuple[float, float],
    level: float,
    length: float,
) -> None:
    """Add a fan of holes that go up from under the ground."""
    made.fans = True
    for number in range(max(4, len(made.collar) // 8)):
        name = style.format(900 + number)
        made.collar.append([name, round(place[0] + number, 2), round(place[1], 2),
                            round(level, 2), round(0.2 * length, 2)])  # fmt: skip
        dip = -made.down * dice.uniform(5, 60)
        made.survey.append([name, 0.0, float(10 * number), round(dip, 1)])
        made.log.append([name, 0.0, round(0.1 * length, 2), 0.5])


# Each fault changes a field and names the hole; None where it would be honest there.
def no_height(value: float) -> Callable[[Field, random.Random], str | None]:
    """Give one collar an elevation that stands for a missing one."""

    def plant(made: Field, dice: random.Random) -> str | None:
        heights = [float(row[3]) for row in made.collar]
        gap = min(abs(height - value) for height in heights)
        if max(heights) == min(heights) or gap <= max(heights) - min(heights):
            return None
        row = dice.choice(made.collar)
        row[3] = value
        others = [float(one[3]) for one in made.collar if one is not row]
        return str(row[0]) if min(others) < max(others) or value == -99 else None

    return plant


def lost_digit(made: Field, dice: random.Random) -> str | None:
    """Lose the first digit of an easting that was among the others."""
    eastings = [float(row[1]) for row in made.collar]
    northings = [float(row[2]) for row in made.collar]
    scale = max(np.ptp(eastings), np.ptp(northings), max(float(row[4]) for row in made.collar))
    row = dice.choice(made.collar)
    others = [float(one[1]) for one in made.collar if one is not row]
    among = min(others) <= float(row[1]) <= max(others)
    row[1] = float(f"{row[1]:.2f}"[1:])
    gap = min(abs(other - row[1]) for other in others)
    return str(row[0]) if among and gap > 4 * scale and row[1] != 0 else None


def station(change: Callable[[Field, list], bool]) -> Callable[[Field, random.Random], str | None]:
    """Change one station that is not vertical."""

    def plant(made: Field, dice: random.Random) -> str | None:
        rows = [row for row in made.survey if abs(float(row[3])) < 70]
        if not rows:
            return None
        row = dice.choice(rows)
        return str(row[0]) if change(made, row) else None

    return plant


def azimuth(value: float) -> Callable[[Field, list], bool]:
    """Return a change of the azimuth; -99 is honest where others are negative."""

    def change(made: Field, row: list) -> bool:
        row[2] = value
        others = [one for one in made.survey if one is not row and abs(float(one[3])) != 90]
        return value > 360 or not any(float(one[2]) < 0 for one in others)

    return change


def no_dip(_: Field, row: list) -> bool:
    """Take the dip away."""
    row[3] = ""
    return True


def turned(made: Field, row: list) -> bool:
    """Turn the azimuth about, where the hole has another station."""
    row[2] = (float(row[2]) + 180.0) % 360.0
    return sum(one[0] == row[0] for one in made.survey) > 1


def other_sign(made: Field, dice: random.Random) -> str | None:
    """Give all dips of one hole the other sign."""
    if made.fans or any(float(row[3]) * made.down <= 0 for row in made.survey):
        return None
    name = dice.choice(made.collar)[0]
    for row in made.survey:
        if row[0] == name:
            row[3] = -float(row[3])
    return str(name)


def exchanged(made: Field, _: random.Random) -> str | None:
    """Exchange the columns of azimuths and dips."""
    beyond = [row for row in made.survey if abs(float(row[2])) > 90]
    for row in made.survey:
        row[2], row[3] = row[3], row[2]
    return "" if 4 * len(beyond) >= len(made.survey) else None


def in_radians(made: Field, _: random.Random) -> str | None:
    """Write azimuths and dips in radians."""
    if made.signed:
        return None
    for row in made.survey:
        row[2], row[3] = round(radians(float(row[2])), 4), round(radians(float(row[3])), 4)
    return "" if any(float(row[2]) > 0 for row in made.survey) else None


def other_id(made: Field, dice: random.Random) -> str | None:
    """Write one id otherwise in the survey."""
    name = str(dice.choice(made.collar)[0])
    near = dice.choice((name.lower(), f"0{name}" if name.isdigit() else name.replace("0", ""),
                        name.replace(" ", "").replace("_", " ")))  # fmt: skip
    if near in {row[0] for row in made.collar} or near == name:
        return None
    for row in made.survey:
        row[0] = near if row[0] == name else row[0]
    return near


def no_collar(made: Field, dice: random.Random) -> str | None:
    """Take a collar away."""
    row = dice.choice(made.collar)
    made.collar.remove(row)
    return str(row[0])


def reversed_sample(made: Field, dice: random.Random) -> str | None:
    """Exchange FROM and TO."""
    row = dice.choice(made.log)
    row[1], row[2] = row[2], row[1]
    return str(row[0])


def sunk(made: Field, dice: random.Random) -> str | None:
    """Put a collar deep below the ground, where others are at it."""
    if made.fans:
        return None
    row = dice.choice(made.collar)
    row[3] = float(row[3]) - 0.2 * max(float(one[4]) for one in made.collar) - 10.0
    return str(row[0])


def from_vertical(made: Field, _: random.Random) -> str | None:
    """Measure dips from the vertical, on ground that falls steeply where the holes go."""
    heights = [made.ground.vertices[n][2] for n in range(4)]
    if made.fans or np.ptp(heights) == 0:
        return None
    (x0, y0, z0), (_, y1, z1), (x2, _, z2) = made.ground.vertices[:3]
    fall = np.array([(z2 - z0) / (x2 - x0), (z1 - z0) / (y1 - y0)])
    for row in made.survey:
        row[3] = made.down * (90.0 - abs(float(row[3])))
    first = [row for row in made.survey if row[1] == 0]
    above = [
        -abs(sin(radians(float(row[3]))))
        - cos(radians(float(row[3])))
        * float(fall @ [sin(radians(float(row[2]))), cos(radians(float(row[2])))])
        for row in first
    ]
    return "" if above and min(above) > 0.15 else None


FAULTS: dict[str, tuple[str, Callable[[Field, random.Random], str | None]]] = {
    "an elevation of 0": ("collar-zero", no_height(0.0)),
    "an elevation of -99": ("collar-mark", no_height(-99.0)),
    "a lost digit": ("collar-far", lost_digit),
    "an azimuth of 400": ("azimuth-beyond", station(azimuth(400.0))),
    "an azimuth of -99": ("azimuth-mark", station(azimuth(-99.0))),
    "a missing dip": ("station-incomplete", station(no_dip)),
    "a station turned about": ("hole-bend", station(turned)),
    "the other sign": ("dip-sign", other_sign),
    "exchanged columns": ("exchanged", exchanged),
    "radians": ("angles-radians", in_radians),
    "another id": ("survey-no-collar", other_id),
    "no collar": ("interval-no-collar", no_collar),
    "TO above FROM": ("interval-reversed", reversed_sample),
    "a sunk collar": ("collar-off-topography", sunk),
    "dips from the vertical": ("dip-from-vertical", from_vertical),
}


# Collars alone: many kinds of honest fields, and one wrong number in each.


@dataclass(frozen=True)
class Pad:
    """Collars of one field: what it is like, their places, and the lengths of holes."""

    kind: str
    points: np.ndarray
    lengths: np.ndarray

    @property
    def underground(self) -> bool:
        """Whether some holes start in drives."""
        return self.kind.endswith(("fan", "levels"))


def rough_ground(dice: random.Random, relief: float) -> Callable[[float, float], float]:
    """Return the height of hills, of which the smaller ones are lower."""
    wave = dice.choice((2.0, 5.0, 15.0)) * max(2.5 * relief, 200.0)
    waves = []
    for octave in (1.0, 2.0, 4.0, 8.0):
        for _ in range(3):
            angle, phase = dice.uniform(0, 6.283), dice.uniform(0, 6.283)
            number = 6.283 * octave / wave
            waves.append(
                (relief / octave**0.9 / 3, number * cos(angle), number * sin(angle), phase)
            )
    return lambda x, y: sum(a * sin(u * x + v * y + phase) for a, u, v, phase in waves)


def scattered(
    dice: random.Random, count: int, size: float
) -> tuple[str, list[tuple[float, float]]]:
    """Return a kind of drilling, and places."""
    kind = dice.choice(("grid", "scatter", "line", "pads", "two clusters", "district"))
    if kind == "two clusters":
        away, angle = size * dice.choice((3, 10, 40)), dice.uniform(0, 6.283)
        return kind, [(dice.uniform(0, size) + (n % 3 == 0) * away * cos(angle),
                       dice.uniform(0, size) + (n % 3 == 0) * away * sin(angle))
                      for n in range(count)]  # fmt: skip
    if kind == "line":
        angle, steps = dice.uniform(0, 6.283), [size * n / count for n in range(count)]
        return kind, [(at * cos(angle) + dice.gauss(0, 1), at * sin(angle)) for at in steps]
    if kind == "pads":
        pads = [(dice.uniform(0, size), dice.uniform(0, size)) for _ in range(max(2, count // 5))]
        picked = [dice.choice(pads) for _ in range(count)]
        return kind, [(x + dice.gauss(0, 3), y + dice.gauss(0, 3)) for x, y in picked]
    if kind == "grid":
        side = int(np.ceil(count**0.5))
        return kind, [(size * (n % side) / side, size * (n // side) / side) for n in range(count)]
    size *= 10 if kind == "district" else 1
    return kind, [(dice.uniform(0, size), dice.uniform(0, size)) for _ in range(count)]


def honest_collars(dice: random.Random) -> Pad:
    """Return collars as they may be: hills, benches, drives, remote holes, three holes."""
    size, count = dice.choice((150.0, 500.0, 1500.0)), dice.choice((3, 5, 8, 12, 20, 40, 80, 150))
    length = dice.choice((60.0, 150.0, 300.0, 700.0))
    kind, places = scattered(dice, count, size)
    base, relief = (
        dice.choice((-20.0, 95.0, 380.0, 1180.0, 4400.0)),
        dice.choice((0, 2, 20, 100, 400)),
    )
    ground = rough_ground(dice, relief)
    points = [[x, y, base + ground(x, y)] for x, y in places]
    more = dice.choice(("", "", "fan", "levels", "remote", "benches"))
    x, y, z = dice.choice(points)
    if more == "fan":
        step, level = dice.choice((0.3, 2.0, 15.0)), z - dice.uniform(50, 600)
        points += [
            [x + step * n, y + dice.gauss(0, 0.5), level] for n in range(dice.choice((3, 8, 20)))
        ]
    if more == "levels":
        for level in range(dice.choice((2, 5))):
            points += [[x + 20 * n, y + 5 * level, z - 80 - 40 * level + dice.gauss(0, 0.5)]
                       for n in range(dice.choice((2, 4, 9)))]  # fmt: skip
    if more == "remote":
        angle, away = dice.uniform(0, 6.283), dice.choice((2, 4, 8)) * max(size, 100.0)
        far = x + away * cos(angle), y + away * sin(angle)
        points.append([*far, base + ground(*far)])
    if more == "benches":
        points = [[x, y, 10.0 * round(z / 10.0)] for x, y, z in points]
    origin = (dice.choice((1000.0, 5000.0, 12000.0, 414_000.0, 2.29e6)),
              dice.choice((9000.0, 52_000.0, 3.62e6, 7.48e6)), 0.0)  # fmt: skip
    lengths = [length * dice.uniform(0.5, 1.3) for _ in points]
    return Pad(f"{kind}, {more}", np.round(np.array(points) + origin, 2), np.array(lengths))


def _other_digits(change: str) -> Callable[[random.Random, float], float]:
    def changed(dice: random.Random, value: float) -> float:
        whole, _, rest = f"{abs(value):.2f}".partition(".")
        at = dice.randrange(len(whole))
        if change == "lost":
            whole = whole[:at] + whole[at + 1 :]
        elif change == "added":
            whole = whole[:at] + dice.choice("123456789") + whole[at:]
        else:
            whole = whole[1:]
        return float(f"{'-' if value < 0 else ''}{whole or '0'}.{rest}")

    return changed


# A wrong number by its name: the axis, -1 for one of plan, and what it becomes.
SLIPS: dict[str, tuple[int, Callable[[random.Random, float], float]]] = {
    "RL 0": (2, lambda _, value: 0.0),
    "RL -99": (2, lambda _, value: -99.0),
    "RL with a digit lost": (2, _other_digits("lost")),
    "RL with a digit added": (2, _other_digits("added")),
    "EAST without its first digit": (-1, _other_digits("first")),
    "EAST with a digit lost": (-1, _other_digits("lost")),
    "EAST with a digit added": (-1, _other_digits("added")),
    "EAST 0": (-1, lambda _, value: 0.0),
    "EAST with the other sign": (-1, lambda _, value: -value),
    "EAST with a digit changed": (-1, lambda dice, value: value + dice.choice((-1, 1)) * (
        dice.choice((1000.0, 2000.0, 3000.0, 5000.0, 10_000.0)))),
}  # fmt: skip


def one_slip(dice: random.Random, pad: Pad, slip: str) -> tuple[Pad, int, bool]:
    """Return collars with one wrong number, its row, and whether a reader would see it."""
    points = pad.points.copy()
    row, (axis, change) = dice.randrange(len(points)), SLIPS[slip]
    axis = dice.randrange(2) if axis < 0 else axis
    points[row, axis] = change(dice, points[row, axis])
    others = np.delete(points, row, 0)
    apart = np.hypot(*(others[:, :2] - points[row, :2]).T)
    near = np.argsort(apart)[:6]
    usual = float(np.median(pad.lengths))
    if axis == 2:
        rise = np.abs(others[near, 2] - points[row, 2]).min()
        least = max(np.median(apart[near]), usual / 2, 3 * np.ptp(others[near, 2]))
        return Pad(pad.kind, points, pad.lengths), row, bool(rise > least)
    between = np.hypot(*(others[:, None, :2] - others[None, :, :2]).transpose(2, 0, 1))
    np.fill_diagonal(between, np.inf)
    least = max(5 * np.quantile(between.min(axis=1), 0.95), 3 * np.ptp(others[:, :2], axis=0).max())
    if slip == "EAST with a digit changed":
        return Pad(pad.kind, points, pad.lengths), row, out_of_sequence(pad, points, row, axis)
    return Pad(pad.kind, points, pad.lengths), row, bool(apart.min() > max(least, 5 * usual))


def out_of_sequence(pad: Pad, points: np.ndarray, row: int, axis: int) -> bool:
    """Tell whether a reader of the table would see a changed digit between two like rows."""
    steps = np.hypot(*np.diff(pad.points[:, :2], axis=0).T)
    if not 0 < row < len(points) - 1 or len(points) < 20 or f"{points[row, axis]:.2f}"[0] == "-":
        return False
    texts = (f"{each[row, axis]:.2f}" for each in (points, pad.points))
    one_digit = sum(a != b for a, b in zip(*texts, strict=False))
    leap = abs(points[row, axis] - pad.points[row, axis])
    return one_digit == 1 and bool(steps.max() < 0.1 * leap)


def odd_collars(pad: Pad) -> dict[int, list[str]]:
    """Return the findings about each collar, by its row."""
    found: list[Finding] = []
    check_collars(found, [str(row) for row in range(len(pad.points))], pad.points, pad.lengths)
    said: dict[int, list[str]] = {}
    for each in found:
        for case in each.cases():
            said.setdefault(int(case.hole), []).append(str(case))
    return said


def try_collars(dice: random.Random, counts: Counter[str]) -> None:
    """Count alarms about honest collars, and evident slips that are missed."""
    pad = honest_collars(dice)
    kind = "with drives" if pad.underground else "above ground"
    counts[f"collars {kind}: honest"] += 1
    counts[f"collars {kind}: honest, with an alarm"] += bool(odd_collars(pad))
    for slip in SLIPS:
        wrong, row, evident = one_slip(dice, pad, slip)
        if evident:
            counts[f"collars {kind}: {slip}"] += 1
            counts[f"collars {kind}: {slip}, missed"] += row not in odd_collars(wrong)


def read(made: Field, folder: Path) -> geodomain.Drillholes:
    """Read the tables with the ground; fans are under it, which is said and true."""
    fans = ["collar-off-topography"] if made.fans else []
    return geodomain.Drillholes(
        *made.written(folder), topography=made.ground, bend=(15.0, 30.0 * made.unit), accept=fans
    )


def try_case(dice: random.Random, folder: Path, counts: Counter[str]) -> None:
    """Read an honest field, then one with each fault, then rubbish."""
    honest = field_of(dice)
    holes = read(honest, folder)
    said = [str(one) for one in holes.report.findings if one.bad]
    if said:
        message = f"an honest field has {said}"
        raise Fault(message)
    counts["honest"] += 1
    for what, (code, plant) in FAULTS.items():
        made = copy.deepcopy(honest)
        hole = plant(made, dice)
        if hole is None:
            continue
        counts[f"{code}: {what}"] += 1
        try:
            found = read(made, folder)
        except GeodomainError as error:
            if code not in str(error) and code != "survey-no-collar":
                message = f"{what}: not {code} but {error}"
                raise Fault(message) from error
            continue
        named = {one.code: one for one in found.report.findings if one.bad}
        if code not in named or (hole and hole not in named[code].holes):
            message = f"{what} of {hole or 'all'}: not {code} but {list(map(str, named.values()))}"
            raise Fault(message)
        if hole:
            require_others_stay(holes, found, hole)
    made = copy.deepcopy(honest)
    for _ in range(dice.choice((1, 3, 30))):
        rows = getattr(made, dice.choice(("collar", "survey", "log")))
        row = dice.choice(rows)
        row[dice.randrange(len(row))] = dice.choice(_WORDS)
    try:
        read(made, folder)
        counts["rubbish, read"] += 1
    except GeodomainError as error:
        if "\n" in str(error):
            raise
        counts["rubbish, refused"] += 1


def require_others_stay(
    before: geodomain.Drillholes, after: geodomain.Drillholes, hole: str
) -> None:
    """Raise where another hole has moved."""
    if before.report.down != after.report.down:
        message = f"the fault of {hole} turned the dips of all holes"
        raise Fault(message)
    for name, end in zip(after.names, after.ends.tolist(), strict=True):
        if name != hole and name in before.names:
            depths = np.linspace(0.0, min(end, before.ends[before.rows_of(name)[0]]), 5)
            if not (before.positions(name, depths) == after.positions(name, depths)).all():
                message = f"the fault of {hole} moved {name}"
                raise Fault(message)


def main() -> int:
    """Run the cases that the command line asks for; 1 if there was a fault."""
    folder = Path(tempfile.mkdtemp(prefix="geodomain-holes-"))
    sys.stderr.write(f"the last tables are in {folder}\n")
    warnings.filterwarnings("error", category=RuntimeWarning)

    def outcomes(case: Case) -> Counter[str]:
        counts: Counter[str] = Counter()
        try_case(random.Random(str(case)), folder, counts)
        try_collars(random.Random(f"{case} collars"), counts)
        return counts

    return campaign(__doc__, outcomes)


if __name__ == "__main__":
    raise SystemExit(main())
