"""Find the walls between two labels, and measure the distances of samples from them.

A wireframe bounds its domain, but only parts of it separate the two labels: elsewhere it touches a
third domain, or a domain of higher priority hides it. Each triangle is therefore labelled
on both sides, by the same exact rule as blocks, at points just off the wall. A triangle that
another wall may cut is halved until the labels agree over each piece, or the piece is tiny.

Along a hole, the walls are the exact crossings at which the label changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats
from geodomain.domains.order import Domains
from geodomain.drillholes.curves import HolePaths
from geodomain.drillholes.flagging import curtains, cut_at, place_in, wall_depths
from geodomain.drillholes.intervals import Intervals
from geodomain.errors import DomainError, warn
from geodomain.labelling.labeller import Labeller
from geodomain.mesh.mesh import Mesh
from geodomain.volumes.distance import MeshDistance

# Number of points labelled, or of triangles halved, at a time.
_BATCH = 1 << 18
# Most pieces of the walls of all labels that are stored, of 140 bytes each.
_MOST_PIECES = 3_000_000
# Barycentric coordinates of test points: the centroid, and points near the corners.
_INNER = np.array([[1, 1, 1], [2.8, 0.1, 0.1], [0.1, 2.8, 0.1], [0.1, 0.1, 2.8]]) / 3.0


def with_walls(domains: Domains, between: Sequence[str]) -> Domains:
    """Return the domains and stacks whose labels depend on walls alone.

    Raises
    ------
    DomainError
        If one of the two labels `between` belongs to a domain that is left out.

    Warns
    -----
    GeodomainWarning
        For each domain that is left out, and for each surface that is extended beyond its rim.
    """
    why = {title: _CONDITIONS for title, conditions in domains.conditions if conditions}
    why |= {domain.name: _DISTANCE for domain in domains if domain.is_skin}
    usable = tuple(domain for domain in domains if domain.name not in why)
    stacks = tuple(stack for stack in domains.stacks if stack.title not in why)
    layers = {name: stack.title for stack in domains.stacks for name in stack.layers}
    for label in between:
        title = layers.get(label, label)
        if title in why:
            message = f"{title} has no walls of its own, because {why[title]}: choose other labels"
            raise DomainError(message)
    for title, reason in why.items():
        warn(f"{title} is left out, because {reason}")
    extended = [each.name for each in usable if each.extend == "nearest"]
    extended += [stack.title for stack in stacks if stack.extend == "nearest"]
    for name in extended:
        warn(
            f"{name} continues beyond the rim of its surface, but has no wall there: beyond the "
            "rim, distances are measured from the rim"
        )
    return replace(domains, domains=usable, stacks=stacks)


_CONDITIONS = "it has conditions on columns (only_if), and a wall has no columns"
_DISTANCE = "'within' and 'beyond' are distances, not walls"


def labels_at(labeller: Labeller, points: Floats) -> NDArray[np.intp]:
    """Return the domain code of each point (n, 3), as in `Verdict`."""
    codes = np.empty(len(points), np.intp)
    for begin in range(0, len(points), _BATCH):
        some = slice(begin, begin + _BATCH)
        codes[some] = labeller.label(points[some]).codes
    return codes


@dataclass(frozen=True, eq=False)
class ContactDistances:
    """Distances of samples that have one of two labels.

    Attributes
    ----------
    contact : (n,) float64
        Distance from the nearest wall between the two labels; infinite if there is none.
    other : (n,) float64
        Distance from the nearest wall between the sample's own label and a third label; infinite
        if there is none.
    """

    contact: Floats
    other: Floats


@dataclass(frozen=True, eq=False)
class ContactWalls:
    """The walls between two labels, and those between each of them and other labels.

    Attributes
    ----------
    contact : Mesh or None
        Triangles with one of the two labels on each side; None if there are none.
    others : tuple of Mesh or None
        For each of the two labels, triangles that separate it from a third label.
    edge : float
        Largest error of the places at which other walls cut these walls off.
    """

    contact: Mesh | None
    others: tuple[Mesh | None, Mesh | None]
    edge: float

    def measure(
        self, points: Floats, sides: NDArray[np.intp], most: float, labeller: Labeller
    ) -> ContactDistances:
        """Measure points (n, 3) from the walls.

        `sides` has 0 for a point with the first label and 1 for a point with the second. Distances
        from other walls are measured only for points within the distance `most` of the contact.
        """
        contact = _distances(self.contact, points, labeller)
        other = np.full(len(points), np.inf)
        for side, mesh in enumerate(self.others):
            rows = np.flatnonzero((sides == side) & (contact <= most))
            other[rows] = _distances(mesh, points[rows], labeller)
        return ContactDistances(contact, other)


def _distances(mesh: Mesh | None, points: Floats, labeller: Labeller) -> Floats:
    """Return the distances of points from a mesh; infinity if there is no mesh."""
    if mesh is None or not len(points):
        return np.full(len(points), np.inf)
    return _index(mesh, labeller).of(points)


class WallPieces:
    """Pieces of the walls near some points, with the labels on both sides.

    Large triangles that another wall may cut are halved. The pieces that are small enough are
    labelled at four places; where the labels differ, they are halved further.

    Parameters
    ----------
    labeller : Labeller
        The domains.
    points : (n, 3) float64
        Samples. Walls farther than `reach` from the box of the samples are left out.
    reach : float
        The largest distance that matters.
    size : float
        Pieces of triangles are halved down to `size` if another wall is near, and down to
        `size` / 16 if another wall cuts them. Labels are taken at `size` / 64 off the wall, so
        narrower gaps and slivers between wireframes do not matter.
    codes : tuple of int, optional
        Codes of two labels. If they are given, differences of other labels do not halve a piece.

    Attributes
    ----------
    too_many : bool
        Whether there are more pieces than may be stored; then there are no walls. This limit does
        not apply if `codes` is given.
    """

    def __init__(
        self,
        labeller: Labeller,
        points: Floats,
        reach: float,
        size: float,
        codes: tuple[int, int] | None = None,
    ) -> None:
        self._labeller, self._reach, self._size = labeller, reach, size
        # For each labelled piece: corners, radius, labels, and the piece that it is a half of.
        self._pieces: Floats = np.empty((0, 3, 3))
        self._radii: Floats = np.empty(0)
        self._labels: NDArray[np.int32] = np.empty((0, 4, 2), np.int32)
        self._halved: NDArray[np.intp] = np.empty(0, np.intp)
        self._depths: NDArray[np.intp] = np.empty(0, np.intp)
        self._least = size / 16
        self._by_label: dict[int, Bools] = {}
        self.too_many = False
        if len(points):
            self._divide(points, codes)

    def _divide(self, points: Floats, codes: tuple[int, int] | None) -> None:
        labeller, size = self._labeller, self._size
        near = _Near(points, self._reach, labeller)
        rims = curtains(labeller, *near.box[:, 2].tolist())
        meshes = [mesh for mesh in (*labeller.domains.placed, *rims) if len(mesh.triangles)]
        indexes = [_index(mesh, labeller) for mesh in meshes]
        triangles, owned = _distinct(meshes)
        # Smaller pieces and offsets would be lost in rounding.
        scale = float(np.abs(near.box).max())
        least, offset = max(size / 16, 1e-11 * scale), max(size / 64, 2e-12 * scale)
        self._least = least
        done: list[tuple[Floats, Floats, NDArray[np.int32], NDArray[np.intp], int]] = []
        count = 0
        none = np.full(len(triangles), -1)
        batches = [(triangles, np.arange(len(triangles)), none, 0)]
        while batches:
            pieces, parents, above, depth = batches.pop()
            if len(pieces) > _BATCH:
                half = len(pieces) // 2
                batches += [
                    (pieces[part], parents[part], above[part], depth)
                    for part in (slice(half, None), slice(half))
                ]
                continue
            centres = pieces.mean(axis=1)
            radii = np.sqrt(((pieces - centres[:, None]) ** 2).sum(axis=2).max(axis=1))
            close = near.mask(pieces, centres, radii)
            pieces, parents, above = pieces[close], parents[close], above[close]
            centres, radii = centres[close], radii[close]
            cut = _may_be_cut(centres, radii, owned[parents], indexes)
            whole, small = np.flatnonzero(~cut), np.flatnonzero(cut & (radii <= max(size, least)))
            labels = np.empty((len(whole) + len(small), 4, 2), np.int32)
            labels[: len(whole)] = _labels_beside(labeller, pieces[whole], offset, inner=False)
            labels[len(whole) :] = _labels_beside(labeller, pieces[small], offset, inner=True)
            both = np.concatenate([whole, small])
            done.append((pieces[both], radii[both], labels, above[both], depth))
            tested = labels[len(whole) :]
            agree = _agree(tested if codes is None else _kinds(tested, codes)[..., None])
            cut[small[agree | (radii[small] <= least)]] = False
            if cut.any():
                own = np.full(len(pieces), -1)
                own[small] = count + len(whole) + np.arange(len(small))
                halves, parents = _halved(pieces[cut], parents[cut])
                deeper = depth + 1 if len(small) else depth
                batches.append((halves, parents, np.tile(own[cut], 2), deeper))
            count += len(both)
            if codes is None and count + len(triangles) > _MOST_PIECES:
                self.too_many = True
                return
        if done:
            pieces_, radii_, labels_, above_, depths = zip(*done, strict=True)
            self._pieces, self._radii = np.concatenate(pieces_), np.concatenate(radii_)
            self._labels, self._halved = np.concatenate(labels_), np.concatenate(above_)
            self._depths = np.repeat(depths, list(map(len, radii_)))

    def between(self, codes: tuple[int, int], points: Floats) -> ContactWalls:
        """Return the walls between two labels; `points` are the samples with these labels."""
        if not len(self._pieces) or not len(points):
            return ContactWalls(None, (None, None), 0.0)
        # No other piece, and no part of another piece, is a wall of these labels.
        own = np.flatnonzero(self._with_label(codes[0]) | self._with_label(codes[1]))
        pieces, radii, depths = self._pieces[own], self._radii[own], self._depths[own]
        kinds = _kinds(self._labels[own], codes)
        agree = _agree(kinds[..., None])
        settled = agree | (radii <= self._least)
        # For these two labels, a piece is whole where its kinds agree, even if other labels differ.
        halved = self._halved[own]
        alive = halved < 0
        above = np.searchsorted(own, halved)
        above[above == len(own)] = 0
        is_half = ~alive & (own[above] == halved) if len(own) else alive
        for depth in range(1, int(depths.max(initial=0)) + 1):
            rows = np.flatnonzero(is_half & (depths == depth))
            alive[rows] = alive[above[rows]] & ~settled[above[rows]]
        leaves = alive & settled
        contact, *others = (
            _mesh(pieces[leaves & (kinds[:, 0] == kind)]) for kind in (_CONTACT, *_OTHERS)
        )
        rows = np.flatnonzero(leaves & ~agree)
        if len(rows):
            near = _Near(points, self._reach, self._labeller)
            rows = rows[near.mask(pieces[rows], pieces[rows].mean(axis=1), radii[rows])]
        edge = float(radii[rows].max(initial=0.0))
        return ContactWalls(contact, (others[0], others[1]), edge)

    def _with_label(self, code: int) -> Bools:
        """Return the mask of the pieces with a label on any side."""
        if code not in self._by_label:
            self._by_label[code] = (self._labels == code).any(axis=(1, 2))
        return self._by_label[code]


def _agree(answers: NDArray[np.generic]) -> Bools:
    """Return whether the answers (n, k, m) of each piece are the same at all k places."""
    same: Bools = (answers == answers[:, :1]).all(axis=(1, 2))
    return same


def _distinct(meshes: Sequence[Mesh]) -> tuple[Floats, Bools]:
    """Return the distinct triangles of meshes, (n, 3, 3), and the mask (n, m) of their meshes.

    A triangle that two solids share is cut by neither of them. Corners may be in any order.
    """
    corners = np.concatenate([mesh.vertices[mesh.triangles] for mesh in meshes])
    owners = np.repeat(np.arange(len(meshes)), [len(mesh.triangles) for mesh in meshes])
    first, groups = _same_triangles(corners)
    owned = np.zeros((len(first), len(meshes)), np.bool_)
    owned[groups, owners] = True
    return corners[first], owned


def _same_triangles(corners: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first of each set of equal triangles, and the set of each triangle.

    Triangles are grouped by hashes first. Then those with equal hashes are compared by their
    corners.
    """
    bits = np.ascontiguousarray(corners).view(np.uint64)
    mixed = (bits ^ (bits >> np.uint64(29))) * _MIXERS
    hashes = mixed.sum(axis=2, dtype=np.uint64)
    hashes = (hashes ^ (hashes >> np.uint64(32))) * _MIXERS[0]
    _, first, groups = np.unique(
        hashes.sum(axis=1, dtype=np.uint64), return_index=True, return_inverse=True
    )
    again = np.flatnonzero(first[groups] != np.arange(len(corners)))
    if (_sorted_corners(bits[again]) != _sorted_corners(bits[first[groups[again]]])).any():
        every = _sorted_corners(bits).reshape(-1, 9)
        _, first, groups = np.unique(every, axis=0, return_index=True, return_inverse=True)
    return first, groups.ravel()


def _sorted_corners(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return triangles (n, 3, 3) with their corners sorted by x, y and z."""
    order = np.lexsort(np.moveaxis(bits, 2, 0)[::-1], axis=1)
    return np.take_along_axis(bits, order[:, :, None], axis=1)


# Odd numbers with well mixed bits: fractions of the golden ratio, and of square roots of 2 and 3.
_MIXERS = np.array([0x9E3779B97F4A7C15, 0x6A09E667F3BCC909, 0xBB67AE8584CAA73B], np.uint64)

# Kinds of walls: between the two labels, and between each of them and a third one.
_NO_WALL, _CONTACT, *_OTHERS = range(4)


def _kinds(
    labels: NDArray[np.int32] | NDArray[np.intp], codes: tuple[int, int]
) -> NDArray[np.intp]:
    """Return the kind of each wall; the last axis of `labels` has its two sides."""
    beside = [(labels == code).any(axis=-1) for code in codes]
    kinds = np.where(beside[0] & beside[1], _CONTACT, _NO_WALL)
    for here, there, kind in zip(beside, beside[::-1], _OTHERS, strict=True):
        kinds[here & ~there & (labels[..., 0] != labels[..., 1])] = kind
    return kinds


class _Near:
    """Tells which triangles may be within a distance of some points.

    The points are replaced by the middles of the cells that contain them; a cell is half as wide as
    the distance.
    """

    def __init__(self, points: Floats, reach: float, labeller: Labeller) -> None:
        self.box = np.stack([points.min(axis=0) - reach, points.max(axis=0) + reach])
        # At most a million cells along an axis, so that an int64 can number all of them.
        size = max(0.5 * reach, float((self.box[1] - self.box[0]).max()) / (1 << 20))
        cells = np.floor((points - self.box[0]) / size).astype(np.int64)
        counts = cells.max(axis=0) + 1
        keys = np.unique((cells[:, 0] * counts[1] + cells[:, 1]) * counts[2] + cells[:, 2])
        places = np.stack(np.unravel_index(keys, tuple(counts.tolist())), axis=1)
        middles = self.box[0] + (places + 0.5) * size
        # A triangle whose corners are equal is a point.
        spots = Mesh(middles, np.repeat(np.arange(len(middles)), 3).reshape(-1, 3), name="cells")
        self._index = _index(spots, labeller)
        self._reach = reach + size  # half a diagonal of a cell is 0.87 of its size

    def mask(self, pieces: Floats, centres: Floats, radii: Floats) -> Bools:
        """Return the mask of triangles (n, 3, 3) that may be near, from a ball around each."""
        low, high = pieces.min(axis=1), pieces.max(axis=1)
        met: Bools = ((low <= self.box[1]) & (high >= self.box[0])).all(axis=1)
        rows = np.flatnonzero(met)
        met[rows] = self._index.of(centres[rows]) <= radii[rows] + self._reach
        return met


def _index(mesh: Mesh, labeller: Labeller) -> MeshDistance:
    """Return the distance index of a mesh."""
    settings = labeller.settings
    return MeshDistance(mesh, backend=settings.backend, threads=settings.threads)


def _may_be_cut(centres: Floats, radii: Floats, owned: Bools, indexes: list[MeshDistance]) -> Bools:
    """Return the mask of triangles whose ball meets a mesh other than their own."""
    cut = np.zeros(len(centres), np.bool_)
    for place, index in enumerate(indexes):
        rows = np.flatnonzero(~owned[:, place] & ~cut)
        cut[rows] = index.of(centres[rows]) <= radii[rows] * (1.0 + 1e-9)
    return cut


def _labels_beside(
    labeller: Labeller, pieces: Floats, offset: float, *, inner: bool
) -> NDArray[np.intp]:
    """Return the codes on both sides of triangles, (n, k, 2), at an offset from the wall.

    With `inner`, k is 4: the centroid, and points near the corners. Otherwise k is 1. A triangle
    without area has the same code on both sides.
    """
    weights = _INNER if inner else _INNER[:1]
    normals = np.cross(pieces[:, 1] - pieces[:, 0], pieces[:, 2] - pieces[:, 0])
    lengths = np.sqrt(np.einsum("ij,ij->i", normals, normals))
    steps = np.divide(offset, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    places = np.einsum("kc,nca->nka", weights, pieces)
    off = (normals * steps[:, None])[:, None]
    points = np.stack([places + off, places - off], axis=2)
    return labels_at(labeller, points.reshape(-1, 3)).reshape(len(pieces), len(weights), 2)


def _halved(pieces: Floats, parents: NDArray[np.intp]) -> tuple[Floats, NDArray[np.intp]]:
    """Halve triangles at the middle of their longest side."""
    lengths = ((pieces - np.roll(pieces, -1, axis=1)) ** 2).sum(axis=2)
    turn = (np.argmax(lengths, axis=1)[:, None] + np.arange(3)) % 3
    start, end, top = np.moveaxis(np.take_along_axis(pieces, turn[:, :, None], axis=1), 1, 0)
    middle = 0.5 * (start + end)
    halves = [np.stack([start, middle, top], axis=1), np.stack([middle, end, top], axis=1)]
    return np.concatenate(halves), np.concatenate([parents, parents])


def _mesh(pieces: Floats) -> Mesh | None:
    """Return triangles (n, 3, 3) as a mesh; None if there are none."""
    if not len(pieces):
        return None
    return Mesh(pieces.reshape(-1, 3), np.arange(3 * len(pieces)).reshape(-1, 3), name="walls")


# --- Labels that touch.

# Most pieces of triangles that are labelled to find which labels touch, and most halvings.
_PIECES, _HALVINGS = 200_000, 12


def touching_labels(labeller: Labeller, offset: float) -> dict[tuple[int, int], float]:
    """Return the area of the walls between each two labels, by their codes in ascending order.

    Each triangle is labelled at its middle, `offset` off the wall on both sides. Large triangles
    are halved first, so a contact that is much smaller than the pieces may be missed. A wall that
    two wireframes share may count twice.
    """
    meshes = [mesh for mesh in labeller.domains.placed if len(mesh.triangles)]
    if not meshes:
        return {}
    pieces = _distinct(meshes)[0]
    total = float(_areas(pieces).sum())
    for _ in range(_HALVINGS):
        large = _areas(pieces) > 4 * total / _PIECES
        if not large.any() or len(pieces) > _PIECES:
            break
        halves = _halved(pieces[large], np.zeros(int(large.sum()), np.intp))[0]
        pieces = np.concatenate([pieces[~large], halves])
    scale = float(np.abs(pieces).max())
    labels = _labels_beside(labeller, pieces, max(offset, 2e-12 * scale), inner=False)[:, 0]
    labels.sort(axis=1)
    apart = labels[:, 0] != labels[:, 1]
    pairs, places = np.unique(labels[apart], axis=0, return_inverse=True)
    areas = np.bincount(places.reshape(-1), _areas(pieces[apart]), len(pairs))
    return {(a, b): area for (a, b), area in zip(pairs.tolist(), areas.tolist(), strict=True)}


def _areas(pieces: Floats) -> Floats:
    """Return the areas of triangles (n, 3, 3)."""
    normals = np.cross(pieces[:, 1] - pieces[:, 0], pieces[:, 2] - pieces[:, 0])
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", normals, normals)) / 2, np.float64)


# --- Along holes.


def measure_along(
    holes: HolePaths,
    rows: Intervals,
    samples: NDArray[np.intp],
    labels: NDArray[np.intp],
    codes: tuple[int, int],
    labeller: Labeller,
    thin: float,
) -> ContactDistances:
    """Measure samples along their holes, to the nearest crossings at which their label ends.

    Parameters
    ----------
    holes : HolePaths
        The holes.
    rows : Intervals
        All intervals.
    samples, labels : (n,) intp
        Rows of the samples to measure, and their codes.
    codes : tuple of int
        The two labels; each sample has one of them.
    labeller : Labeller
        The domains.
    thin : float
        Shorter stretches of a hole between two walls are skipped.

    Returns
    -------
    ContactDistances
        Distances of the middles of the samples.
    """
    contact, other = np.full((2, len(samples)), np.inf)
    if not len(samples):
        return ContactDistances(contact, other)
    stops = holes.ends.copy()
    np.maximum.at(stops, rows.holes[rows.usable], rows.ends[rows.usable])
    used = np.unique(rows.holes[samples])
    walls = wall_depths(holes, labeller, used)
    owners, begins, ends = cut_at(used, np.zeros(len(used)), stops[used], *walls)
    long = ends - begins > thin
    run_holes, begins, ends = used[owners[long]], begins[long], ends[long]
    run_labels = labels_at(labeller, holes.points_at(run_holes, 0.5 * (begins + ends)))
    new = np.ones(len(run_labels), np.bool_)
    new[1:] = (run_holes[1:] != run_holes[:-1]) | (run_labels[1:] != run_labels[:-1])
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(run_labels))[: len(first)] - 1
    run_holes, run_labels, begins, ends = (
        run_holes[first],
        run_labels[first],
        begins[first],
        ends[last],
    )
    middles = 0.5 * (rows.starts[samples] + rows.ends[samples])
    run = place_in(run_holes, begins, rows.holes[samples], middles, side="right") - 1
    same = (run >= 0) & (run_holes[run] == rows.holes[samples]) & (run_labels[run] == labels)
    wanted = np.where(labels == codes[0], codes[1], codes[0])
    for beside, depths in ((run - 1, begins), (run + 1, ends)):
        within = same & (beside >= 0) & (beside < len(run_labels))
        beside = np.where(within, beside, 0)
        within &= run_holes[beside] == rows.holes[samples]
        distances = np.where(within, np.abs(depths[run] - middles), np.inf)
        is_contact = run_labels[beside] == wanted
        contact = np.where(is_contact, np.minimum(contact, distances), contact)
        other = np.where(is_contact, other, np.minimum(other, distances))
    return ContactDistances(contact, other)
