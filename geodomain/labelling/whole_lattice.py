"""Label and count all cells of a lattice at once, from bit masks of closed solids.

The three axes describe all cells, so the coordinates of single blocks are never computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools
from geodomain.compute.native import thread_count
from geodomain.compute.rows import expand_lattice
from geodomain.domains.domain import Domain
from geodomain.errors import PointError
from geodomain.formats.cells import LatticeCells
from geodomain.labelling.counts import MOST_SAMPLES, Tally
from geodomain.labelling.evaluate import Shell, SolidEvaluation
from geodomain.labelling.labeller import NONE, REST, Labeller
from geodomain.lattice import MOST_CELLS, EvenLattice, Span, cells_in_words, even_lattice
from geodomain.query.lattice import Axes, label_bits

Codes = NDArray[np.uint8]

# Number of layers in a word of bits; largest number of bytes of masks at a time.
_WORD, _HELD = 64, 1 << 25
_MOST_CODES = 255
# Keys of a domain that bits of closed solids answer, and a key that changes no label. A domain with
# another key is labelled block by block.
_ANSWERED = {
    "name", "meshes", "kind", "code", "keep", "invert", "rule", "extend", "shift", "colour"
}  # fmt: skip


def label_whole(
    cells: LatticeCells,
    labeller: Labeller,
    tally: Tally,
    *,
    flags: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> list[Codes] | None:
    """Label all cells of an evenly spaced lattice at once, or return None if this is impossible.

    All domains must be closed solids with the parity rule. Labels and counts are the same as in
    block-by-block labelling. A volume is the number of cells times the volume of one cell.

    Parameters
    ----------
    cells : LatticeCells
        The lattice.
    labeller : Labeller
        The domains.
    tally : Tally
        Receives the counts.
    flags : bool
        Whether to return a mask for each domain.
    progress : callable
        Called with the amount done and the total.

    Returns
    -------
    list of (n,) uint8
        Arrays in cell order. The first holds the codes as in `Verdict`. If `flags` is true, an
        array of 0 and 1 follows for each domain. The result is None, and nothing is counted, if
        cells must be labelled one by one.
    """
    lattice, shells = even_lattice(cells), _shells(labeller)
    if (
        lattice is None
        or cells.order != "xyz"
        or shells is None
        or len(shells) + REST > _MOST_CODES
    ):
        return None
    parts = _parts(lattice, [shell for some in shells for shell in some], labeller.settings.threads)
    if parts is None:
        return None
    nz, ny, nx = lattice.shape
    codes = np.full(lattice.shape, len(shells) + NONE, np.uint8)
    flagged = [np.zeros(lattice.shape, np.uint8) for _ in shells if flags]
    counts = _Counts([target.is_solid for target in labeller.targets])
    layers = min(_WORD, max(1, _HELD // ((len(shells) + 1) * ny * nx)))
    layers = 1 << layers.bit_length() - 1  # so that a slab lies in one word
    for first in range(0, nz, layers):
        slab = Span(first, min(first + layers, nz))
        there = codes[slab.first : slab.end]
        masks: dict[int, Inside] = {}
        for index, (some, domain) in enumerate(zip(shells, labeller.domains, strict=True)):
            of_domain = [
                mask for s in some if (mask := parts[id(s.locator)].inside(slab)) is not None
            ]
            union, doubled = _union(of_domain, there, invert=domain.invert)
            counts.doubled[index] += doubled
            if union is not None:
                masks[index] = union
        for index in filter(masks.__contains__, labeller.painted):
            mask = masks[index]
            np.copyto(there[mask.place], np.uint8(index), where=mask.cells)
            if flags:
                np.copyto(flagged[index][slab.first : slab.end][mask.place], mask.cells)
        counts.add(there, masks)
        if progress is not None:
            progress(slab.end * ny * nx, lattice.count)
    counts.give(tally, lattice)
    return [codes.reshape(-1), *(flag.reshape(-1) for flag in flagged)]


def _shells(labeller: Labeller) -> list[tuple[Shell, ...]] | None:
    """Return the meshes of each domain; None if bit masks of closed solids are not enough."""
    if labeller.settings.count_on_wall or labeller.domains.stacks:
        return None
    shells = []
    for evaluation in labeller.evaluations:
        if not isinstance(evaluation, SolidEvaluation) or _needs_more(evaluation.domain):
            return None
        shells.append(evaluation.shells)
        for shell in evaluation.shells:
            on_cpu = shell.locator.backend.name == "cpu"
            if not (on_cpu and shell.rule == "parity" and shell.mesh.is_closed) or shell.may_double:
                return None
    return shells


def _needs_more(domain: Domain) -> bool:
    """Return whether a domain has a setting, such as only_if, that bit masks of solids ignore."""
    return any(
        getattr(domain, entry.name) != entry.default
        for entry in fields(domain)
        if entry.name not in _ANSWERED
    )


class Inside(NamedTuple):
    """A range of cells in a slab of layers, with a mask of the cells inside a mesh or domain.

    Attributes
    ----------
    z, y, x : Span
        Ranges of cells; z is counted from the first layer of the slab.
    cells : (z, y, x) bool
        Whether each cell of the ranges is inside.
    """

    z: Span
    y: Span
    x: Span
    cells: Bools

    @property
    def place(self) -> tuple[slice[int, int], slice[int, int], slice[int, int]]:
        """The slices of the range within a slab."""
        return slice(*self.z), slice(*self.y), slice(*self.x)

    def shared(self, other: Inside) -> int:
        """Return the number of cells that are inside in both masks."""
        z, y, x = (
            Span(max(a.first, b.first), min(a.end, b.end))
            for a, b in ((self.z, other.z), (self.y, other.y), (self.x, other.x))
        )
        if not (z.first < z.end and y.first < y.end and x.first < x.end):
            return 0
        first, second = (
            a.cells[
                z.first - a.z.first : z.end - a.z.first,
                y.first - a.y.first : y.end - a.y.first,
                x.first - a.x.first : x.end - a.x.first,
            ]
            for a in (self, other)
        )
        return int(np.count_nonzero(first & second))


class _Part(NamedTuple):
    """The cells in the box of a mesh, with a bit for each cell.

    Attributes
    ----------
    x, y, z : Span
        Ranges of cells. The first layer of z is the first bit of a word.
    bits : (nx, ny, words) uint64
        Bits along z, 1 inside the mesh.
    threads : int
        Threads that expand the bits to bytes.
    """

    x: Span
    y: Span
    z: Span
    bits: NDArray[np.uint64]
    threads: int

    def inside(self, slab: Span) -> Inside | None:
        """Return which cells of a slab are inside; a word of bits must hold all layers of the slab.

        Return None if no cell of the slab is in the box of the mesh.
        """
        low, high = max(slab.first, self.z.first), min(slab.end, self.z.end)
        if low >= high or not self.bits.size:
            return None
        word, bit = divmod(low - self.z.first, _WORD)
        bits = self.bits[:, :, word : word + 1] >> np.uint64(bit)
        cells = np.empty((high - low, bits.shape[1], bits.shape[0]), np.bool_)
        as_they_are = (None, None, None)
        expand_lattice(bits, high - low, as_they_are, cells.transpose(2, 1, 0), self.threads)
        return Inside(Span(low - slab.first, high - slab.first), self.y, self.x, cells)


def _parts(
    lattice: EvenLattice, shells: Sequence[Shell], threads: int | None
) -> Mapping[int, _Part] | None:
    """Return the cells near each mesh, by the id of its locator.

    Return None if this takes more memory or time than labelling cells one by one.
    """
    workers, parts, left = thread_count(threads), dict[int, _Part](), float(MOST_CELLS)
    for shell in shells:
        if id(shell.locator) in parts:
            continue
        x, y, z = lattice.within(shell.mesh.bounds)
        z = Span(z.first - z.first % _WORD, z.end) if z.first < z.end else z
        near = zip(lattice.centres, (x, y, z), strict=True)
        axes = [axis[span.first : span.end] for axis, span in near]
        left -= cells_in_words(*map(len, axes))
        # A triangle costs about as much as a single cell computed separately.
        if left < 0 or len(shell.mesh.triangles) > lattice.count:
            return None
        locator = shell.locator
        try:
            bits = label_bits(locator.mesh, Axes(*axes), locator.backend, workers, locator.index)
        except PointError:  # so that the error names the row
            return None
        parts[id(locator)] = _Part(x, y, z, bits, workers)
    return parts


def _union(masks: Sequence[Inside], slab: Codes, *, invert: bool) -> tuple[Inside | None, int]:
    """Return the cells inside any mesh of a domain, and the number of cells in several meshes.

    With `invert`, return the cells inside no mesh, and 0.
    """
    if not invert and len(masks) < 2:
        return (masks[0] if masks else None), 0
    inside, doubled = np.zeros((2, *slab.shape), np.bool_)
    for mask in masks:
        both, there = doubled[mask.place], inside[mask.place]
        both |= there & mask.cells
        there |= mask.cells
    z, y, x = (Span(0, count) for count in slab.shape)
    if invert:
        return Inside(z, y, x, ~inside), 0
    return Inside(z, y, x, inside), int(np.count_nonzero(doubled))


class _Counts:
    """Numbers of cells with each code, in each domain, and in each pair of solid domains."""

    def __init__(self, solid: Sequence[bool]) -> None:
        domains, self._solid = len(solid), solid
        self.blocks = np.zeros(domains + REST, np.int64)
        self.own, self.doubled = np.zeros((2, domains), np.int64)
        self.overlaps = np.zeros((domains, domains), np.int64)

    def add(self, codes: Codes, masks: Mapping[int, Inside]) -> None:
        """Add the cells of a slab, given their codes and the cells inside each domain."""
        rest, several = codes.size, len(masks) > 1
        for index, mask in masks.items():
            own = labelled = int(np.count_nonzero(mask.cells))
            if several:
                labelled = int(np.count_nonzero(codes[mask.place] == index))
            self.own[index] += own
            self.blocks[index] += labelled
            rest -= labelled
        self.blocks[len(self.own) + NONE] += rest
        solids = {index: mask for index, mask in masks.items() if self._solid[index]}
        if len(solids) > 1 and _meet(codes.shape, solids):
            for first, second in combinations(sorted(solids), 2):
                self.overlaps[first, second] += solids[first].shared(solids[second])

    def give(self, tally: Tally, lattice: EvenLattice) -> None:
        """Add the counts, and the volumes that follow from them, to the counts of a labelling."""
        volume = lattice.volume
        tally.blocks += self.blocks
        tally.own_blocks += self.own
        tally.doubled += self.doubled
        tally.volumes += volume * self.blocks
        tally.own_volumes += volume * self.own
        tally.overlaps.add_tables(self.overlaps, np.float64(volume) * self.overlaps)
        tally.bounds[0] = np.fmin(tally.bounds[0], lattice.bounds[0])
        tally.bounds[1] = np.fmax(tally.bounds[1], lattice.bounds[1])
        tally.keep_sample(lattice.sample(MOST_SAMPLES))


def _meet(shape: tuple[int, ...], masks: Mapping[int, Inside]) -> bool:
    """Return whether any cell is in two domains."""
    times = np.zeros(shape, np.uint8)
    for mask in masks.values():
        there = times[mask.place]
        there += mask.cells
    return bool(times.max(initial=0) > 1)
