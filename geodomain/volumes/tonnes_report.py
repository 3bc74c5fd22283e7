"""Turns sums into the report of tonnes and grade, and says what a geologist should look at."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError, shown
from geodomain.volumes.exact_sums import ONE, nearest_float
from geodomain.volumes.metal_units import MetalUnit
from geodomain.volumes.tonnage import Group, Tonnage, Wanted
from geodomain.volumes.tonnes_table import GradeTotal, Tonnes, TonnesRow

# A domain, and the lower end of a bench.
_Key = tuple[str, float | None]


def report(tonnage: Tonnage, warned: Iterable[str] = ()) -> Tonnes:
    """Return what was added up."""
    by_bench, by_domain, whole = _gather(tonnage)
    for (name, _), steps in by_domain.items():
        for step, group in enumerate(steps):
            group.counts = tonnage.blocks.get((name, step), np.zeros_like(group.counts))
    for step, group in enumerate(whole):
        group.counts = tonnage.all_blocks[step]
    order = {name: place for place, name in enumerate(tonnage.wanted.domains)}
    return Tonnes(
        rows=_in_order(tonnage, by_bench, order),
        domains=_in_order(tonnage, by_domain, order),
        totals=tuple(_rows(tonnage, ("", None), whole)),
        blocks=tonnage.rows,
        cutoff_grade=tonnage.wanted.cut,
        bench=tonnage.wanted.bench,
        warnings=tuple(warned),
        notes=tuple(_notes(tonnage)),
    )


def _gather(
    tonnage: Tonnage,
) -> tuple[dict[_Key, list[Group]], dict[_Key, list[Group]], list[Group]]:
    """Put the groups together by domain and bench, by domain, and all, a list by interval each."""
    by_bench: dict[_Key, list[Group]] = {}
    by_domain: dict[_Key, list[Group]] = {}
    whole = _empty(tonnage)
    for (name, bench, step), group in tonnage.groups.items():
        by_bench.setdefault((name, bench), _empty(tonnage))[step].add(group)
        by_domain.setdefault((name, None), _empty(tonnage))[step].add(group)
        whole[step].add(group)
    return by_bench, by_domain, whole


def _empty(tonnage: Tonnage) -> list[Group]:
    """Return nothing for each interval."""
    intervals, kinds = tonnage.all_blocks.shape
    sums = 2 + 2 * len(tonnage.wanted.grades)
    return [Group(np.zeros(kinds, np.int64), [0] * sums) for _ in range(intervals)]


def _in_order(
    tonnage: Tonnage, groups: dict[_Key, list[Group]], order: dict[str, int]
) -> tuple[TonnesRow, ...]:
    """Return the rows by domain and bench, what has none of them last."""

    def place(key: _Key) -> tuple[int, bool, str, float]:
        name, bench = key
        return order.get(name, 0), not name, name, math.inf if bench is None else bench

    keys = sorted(groups, key=place)
    return tuple(row for key in keys for row in _rows(tonnage, key, groups[key]))


def _rows(tonnage: Tonnage, key: _Key, steps: list[Group]) -> Iterator[TonnesRow]:
    """Yield the row of all blocks, then one for each cut-off."""
    above = _empty(tonnage)[:1]
    for group in reversed(steps):
        above.append(Group(above[-1].counts, above[-1].sums))
        above[-1].add(group)
    found = above[:0:-1]
    for cutoff, group in zip([None, *tonnage.wanted.cutoffs], found, strict=True):
        yield _row(tonnage.wanted, key, cutoff, group)


def _row(wanted: Wanted, key: _Key, cutoff: float | None, group: Group) -> TonnesRow:
    """Round the sums, once each."""
    units = [wanted.units.get(name, MetalUnit("")) for name in wanted.grades]
    blocks, no_volume, no_density, *no_grade = group.counts.tolist()
    volume, tonnes, *rest = group.sums
    # Sums are exact, and so is the factor of a unit: each is rounded once.
    parts, whole = wanted.density_unit.tonnes if wanted.density_unit else (1, 1)
    row = TonnesRow(
        domain=key[0],
        bench=key[1],
        cutoff=cutoff,
        blocks=blocks,
        volume=nearest_float(volume),
        tonnes=nearest_float(tonnes * parts, whole * ONE),
        grades=tuple(
            GradeTotal(
                name=name,
                mean=nearest_float(metal, graded) if graded else None,
                metal=nearest_float(metal * parts, unit.parts * whole * ONE),
                tonnes=nearest_float(graded * parts, whole * ONE),
                missing=missing,
                unit=unit.name,
            )
            for name, unit, missing, graded, metal in zip(
                wanted.grades, units, no_grade, rest[::2], rest[1::2], strict=True
            )
        ),
        without_volume=no_volume,
        without_density=no_density,
    )
    _require_finite(wanted, row)
    return row


def _require_finite(wanted: Wanted, row: TonnesRow) -> None:
    """Raise TableError for a sum that overflows, though none of its blocks does."""
    density = wanted.density if isinstance(wanted.density, str) else "the density"
    sums = [("volume", "the block sizes", row.volume), ("tonnes", density, row.tonnes)]
    sums += [(f"metal of {grade.name}", grade.name, grade.metal) for grade in row.grades]
    for what, cause, value in sums:
        if math.isinf(value):
            blocks = f"the blocks of {shown(row.domain)}" if row.domain else "all blocks"
            message = (
                f"the {what} of {blocks} add up to more than a number can hold: look for values "
                f"in {cause} that are far too large, and correct them or declare them as missing"
            )
            raise TableError(message)


def _notes(tonnage: Tonnage) -> Iterator[str]:
    """Yield what is worth knowing of the densities, and of the labels."""
    yield from tonnage.densities.notes()
    if not tonnage.wanted.shares:
        yield from tonnage.spelled.notes()


def tonnage_warnings(tonnage: Tonnage, *, negative: bool = True) -> Iterator[str]:
    """Yield a sentence for everything in the sums that a geologist should look at.

    Without `negative`, negative grades were warned of where they were read.
    """
    wanted = tonnage.wanted
    _, no_volume, no_density, *no_grade = _all_counts(tonnage)
    if not tonnage.rows:
        yield "the model has no blocks: there is nothing to add up"
    if no_volume:
        yield (
            f"{_blocks(no_volume)} no volume, by sizes that are missing, not above zero or too "
            "small"
        )
    if no_density:
        yield (
            f"{_blocks(no_density)} no {wanted.density}: their volume counts, and they have no "
            "tonnes"
        )
    for name, missing in zip(wanted.grades, no_grade, strict=True):
        if missing:
            yield f"{_blocks(missing)} no {name}: their tonnes count, and not in its mean"
    for grade in tonnage.negative.values() if negative else ():
        if said := grade.warning("block"):
            yield said
    yield from tonnage.densities.warnings()
    for name, count in tonnage.unshared.items():
        if count:
            yield (
                f"{_blocks(count)} no {wanted.shares[name]}, and no part in {name}: what no other "
                f"share has of them counts in full as {wanted.rest}"
            )
    if tonnage.over:
        count, first = tonnage.over
        yield (
            f"the shares of {count:,} of the blocks add up to more than 1, the first in block "
            f"{first}: the total counts some volume more than once"
        )


def _all_counts(tonnage: Tonnage) -> list[int]:
    """Count all blocks, and those without each thing."""
    counts: NDArray[np.int64] = tonnage.all_blocks.sum(axis=0)
    return [int(count) for count in counts]


def _blocks(count: int) -> str:
    """Say how many blocks have, for what follows."""
    return "1 block has" if count == 1 else f"{count:,} blocks have"
