"""Compare two versions of a wireframe: volume gained and lost, and the greatest distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats
from geodomain.compute.meshes import vertex_fans
from geodomain.errors import in_lines
from geodomain.inputs import MeshLike, as_mesh
from geodomain.mesh.components import facing
from geodomain.mesh.mesh import Mesh
from geodomain.query.contains import contains
from geodomain.result_tables import (
    ResultColumns,
    html_table,
    records_columns,
    records_frame,
    rounded,
    text_table,
)
from geodomain.volumes.distance import nearest
from geodomain.volumes.shares import Shares
from geodomain.volumes.solids import volume_report

if TYPE_CHECKING:
    import pandas

Place = tuple[float, float, float]
# Digits of volumes in tables.
_DIGITS = 10


@dataclass(frozen=True)
class ShellChange:
    """A shell of one version, with its voids, and the part of it outside the other version.

    Attributes
    ----------
    version : {"old", "new"}
        The version that has the shell.
    shell : int
        Number of the shell in its version, from 1, in the order of the file.
    triangles : int
        Number of triangles, voids included.
    volume : float
        Volume of the shell, without its voids.
    changed : float
        Volume of the shell outside the other version: lost for an old shell, gained for a new one.
    x, y, z : float
        Centre of the box of the shell.
    """

    version: str
    shell: int
    triangles: int
    volume: float
    changed: float
    x: float
    y: float
    z: float


@dataclass(frozen=True)
class Farthest:
    """The greatest distance from the points of one mesh to another mesh.

    Attributes
    ----------
    distance : float
        The greatest distance that was measured, at `place`.
    bound : float
        No point of the mesh is farther than this from the other mesh.
    place, nearest : tuple of float
        The point of the mesh, and the nearest point of the other mesh.
    """

    distance: float
    bound: float
    place: Place
    nearest: Place


@dataclass(frozen=True, repr=False)
class WireframeDifference:
    """The difference between two versions of a wireframe; ``print`` it for a table.

    Attributes
    ----------
    old, new : str
        Names of the two versions.
    old_triangles, new_triangles, same_triangles : int
        Numbers of triangles of each version, and of the pairs of an old and a new triangle whose
        three corners are the same bit for bit.
    old_volume, new_volume : float or None
        Volume of each version, as in `volume_report`; None if it has no volume.
    gained, lost : float or None
        Volume that is inside only the new version, and inside only the old version. They are
        computed by exact clipping, and rounded: the error is about 1e-12 of the volume of the
        box of both. None if one of the volumes is None.
    shells : tuple of ShellChange
        Shells of the old version, then of the new version.
    from_new, from_old : Farthest or None
        The greatest distance from the new version to the old one, and from the old version to the
        new one. None if every triangle of a version is in the other version, too.
    note : str
        The reason for missing volumes, or "".
    turned_triangles : int
        Number of common triangles that face opposite ways in the two versions.
    """

    old: str
    new: str
    old_triangles: int
    new_triangles: int
    same_triangles: int
    old_volume: float | None
    new_volume: float | None
    gained: float | None
    lost: float | None
    shells: tuple[ShellChange, ...]
    from_new: Farthest | None
    from_old: Farthest | None
    note: str = ""
    turned_triangles: int = 0

    @property
    def is_same(self) -> bool:
        """Whether both versions have the same triangles, facing the same way, in any order."""
        same = self.old_triangles == self.new_triangles == self.same_triangles
        return same and not self.turned_triangles

    @property
    def farthest(self) -> Farthest | None:
        """The greater of the two distances."""
        both = [each for each in (self.from_new, self.from_old) if each is not None]
        return max(both, key=lambda each: each.distance, default=None)

    @property
    def sentence(self) -> str:
        """The difference in one sentence."""
        if self.is_same:
            return f"{self.new} has the same triangles as {self.old}"
        parts = []
        if self.gained is not None and self.lost is not None:
            parts.append(f"gained {rounded(self.gained, 6)}, lost {rounded(self.lost, 6)}")
        if (far := self.farthest) is not None:
            parts.append(f"greatest distance {_distance(far)} at {_place(far.place)}")
        counts = f"{self.new_triangles:,}"
        if self.old_triangles != self.new_triangles:
            counts = f"{self.old_triangles:,} old and {counts} new"
        turned = f", and {self.turned_triangles:,} of these face the other way"
        parts.append(
            f"{self.same_triangles:,} of {counts} triangles are the same"
            + turned * bool(self.turned_triangles)
        )
        return f"{self.old} -> {self.new}: {'; '.join(parts)}"

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self) | {"kind": "wireframe", "same": self.is_same}

    def columns(self) -> ResultColumns:
        """Return the columns of the table of shells."""
        return records_columns(ShellChange, self.shells)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a row for each shell."""
        return records_frame(ShellChange, self.shells)

    def __str__(self) -> str:
        """Return volumes and distances, and a table of the shells."""
        headings, rows = self.table()
        return in_lines([self.sentence, *text_table([headings, *rows], names=2), *self.notes])

    def __repr__(self) -> str:
        """Return the difference in one line."""
        return f"<WireframeDifference: {self.sentence}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, rows = self.table()
        notes = [self.sentence, *self.notes]
        return html_table("Wireframes", rows, headings=headings, notes=notes)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return a tuple: the headings, and the cells of the rows with rounded numbers."""
        headings = ["version", "shell", "triangles", "volume", "lost", "gained", "centre"]
        rows = []
        for each in self.shells:
            changed = rounded(each.changed, _DIGITS)
            moved = [changed, ""] if each.version == "old" else ["", changed]
            centre = _place((each.x, each.y, each.z))
            volume = rounded(each.volume, _DIGITS)
            number = str(each.shell)
            rows.append([each.version, number, f"{each.triangles:,}", volume, *moved, centre])
        for name, triangles, *volumes in (
            ("old", self.old_triangles, self.old_volume, self.lost, None),
            ("new", self.new_triangles, self.new_volume, None, self.gained),
        ):
            cells = ["" if value is None else rounded(value, _DIGITS) for value in volumes]
            rows.append([name, "all", f"{triangles:,}", *cells, ""])
        return headings, rows

    @property
    def notes(self) -> list[str]:
        """Lines below the table: the distances, and the reason for missing volumes."""
        lines = []
        pairs = ((self.new, self.old, self.from_new), (self.old, self.new, self.from_old))
        for first, second, far in pairs:
            if far is not None:
                lines.append(
                    f"greatest distance from {first} to {second}: {_distance(far)}, from "
                    f"{_place(far.place)} to {_place(far.nearest)}"
                )
        if self.note:
            lines.append(f"volumes: {self.note}")
        return lines


def _distance(far: Farthest) -> str:
    """Return a distance as text, with its upper bound where the two differ."""
    near = far.bound <= far.distance * (1 + _CLOSE)
    return f"{far.distance:,.6g}" + ("" if near else f" (at most {far.bound:,.6g})")


def _place(place: Sequence[float]) -> str:
    return f"({', '.join(f'{value:.10g}' for value in place)})"


def wireframe_difference(old: MeshLike, new: MeshLike) -> WireframeDifference:
    """Compare two versions of a wireframe: volume gained and lost, and the greatest distance.

    Parameters
    ----------
    old, new : mesh-like
        Any type that `as_mesh` accepts. Open meshes have distances, but no volumes.

    Returns
    -------
    WireframeDifference

    Raises
    ------
    MeshError
        If a mesh has no triangle.
    """
    before, after = as_mesh(old), as_mesh(new)
    same = _same_triangles(before, after)
    volumes, note = _volumes(before, after, same=same.number == len(before.triangles))
    names = before.name, after.name
    if names[0] == names[1]:
        names = f"the old {names[0]}", f"the new {names[1]}"
    return WireframeDifference(
        *names,
        len(before.triangles),
        len(after.triangles),
        same.number,
        volumes.old,
        volumes.new,
        volumes.gained,
        volumes.lost,
        volumes.shells,
        greatest_distance(after, before, ~same.in_old),
        greatest_distance(before, after, ~same.in_new),
        note,
        same.turned,
    )


class _Same(NamedTuple):
    """Triangles of two meshes with the same corners.

    `in_new` marks old triangles that the new mesh has, too, and `in_old` marks new triangles that
    the old mesh has. `number` counts pairs of an old and a new triangle; each triangle is in at
    most one pair. `turned` counts the pairs that face opposite ways.
    """

    in_new: Bools
    in_old: Bools
    number: int
    turned: int


def _same_triangles(old: Mesh, new: Mesh) -> _Same:
    """Find the triangles whose three corners are those of a triangle of the other mesh."""
    corners = (
        np.concatenate([mesh.vertices[mesh.triangles] for mesh in (old, new)]) + 0.0
    )  # no -0.0
    order = np.lexsort(corners.transpose(2, 0, 1)[::-1], axis=-1)
    sorted_corners = np.take_along_axis(corners, order[:, :, None], axis=1)
    flat = np.ascontiguousarray(sorted_corners.reshape(len(corners), 9))
    keys = flat.view(np.dtype((np.void, 72))).reshape(-1)
    numbers = np.unique(keys, return_inverse=True)[1].reshape(-1)
    # An even permutation of the corners faces the same way.
    faces_back = (order[:, 1] - order[:, 0]) % 3 == 2
    first = len(old.triangles)

    def common(numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        size = int(numbers.max(initial=-1)) + 1
        sides = (numbers[:first], numbers[first:])
        return np.minimum(*(np.bincount(side, minlength=size) for side in sides))

    shared = common(numbers)
    count, alike = int(shared.sum()), int(common(2 * numbers + faces_back).sum())
    mask = shared[numbers] > 0
    return _Same(mask[:first], mask[first:], count, count - alike)


def have_same_meshes(old: Sequence[Mesh], new: Sequence[Mesh]) -> bool:
    """Return whether two lists of meshes have the same triangles, mesh by mesh."""
    return len(old) == len(new) and all(
        len(a.triangles) == len(b.triangles) == same.number and not same.turned
        for a, b in zip(old, new, strict=True)
        for same in [_same_triangles(a, b)]
    )


# Volumes below this share of the box of a shell are rounding errors of sums.
_ROUNDING = 1e-12


class _Volumes(NamedTuple):
    """Volumes of two versions of a solid, and the shells of both."""

    old: float | None = None
    new: float | None = None
    gained: float | None = None
    lost: float | None = None
    shells: tuple[ShellChange, ...] = ()


def _volumes(old: Mesh, new: Mesh, *, same: bool) -> tuple[_Volumes, str]:
    """Return the volumes of two solids, and the reason if one of them has none."""
    reports = [volume_report(mesh) for mesh in (old, new)]
    whole = [report.volume for report in reports]
    for report in reports:
        if report.volume is None:
            note = f"{report.name} has no volume, because {report.note}"
            return _Volumes(whole[0], whole[1]), note
    solids = [Shares(mesh, "solid", "parity", "cpu", None) for mesh in (old, new)]
    shells = []
    changed = []
    for version, mesh, other, solid in (
        ("old", old, new, solids[1]),
        ("new", new, old, solids[0]),
    ):
        total = 0.0
        for number, (part, volume) in enumerate(_outer_shells(mesh), 1):
            common = volume if same else overlap_volume(part, other, solid)
            outside = volume - common
            if outside < _ROUNDING * float(np.prod(np.diff(part.bounds, axis=0))):
                outside = 0.0
            centre = part.vertices[part.triangles].reshape(-1, 3)
            x, y, z = ((centre.min(axis=0) + centre.max(axis=0)) / 2).tolist()
            shells.append(
                ShellChange(version, number, len(part.triangles), volume, outside, x, y, z)
            )
            total += outside
        changed.append(total)
    return _Volumes(whole[0], whole[1], changed[1], changed[0], tuple(shells)), ""


def _outer_shells(mesh: Mesh) -> Iterator[tuple[Mesh, float]]:
    """Yield each shell that adds volume, with the voids in it, and its volume without the voids."""
    report = volume_report(mesh)
    component, _ = facing(mesh, vertex_fans(mesh.vertices, mesh.triangles))
    kinds = [shell.counts for shell in report.shells]
    outer = [number for number, kind in enumerate(kinds) if kind == "added"]
    parts = {number: _part(mesh, component == number) for number in outer}
    owner = dict.fromkeys(outer, 0) | {number: number for number in outer}
    for number, kind in enumerate(kinds):
        if kind == "subtracted":
            owner[number] = _innermost(_part(mesh, component == number), parts)
    for number in outer:
        own = [void for void, holder in owner.items() if holder == number]
        # A void may face either way, so signed volumes would not do.
        voids = sum(report.shells[void].volume for void in own if void != number)
        part = _part(mesh, np.isin(component, own)) if len(own) > 1 else parts[number]
        yield part, report.shells[number].volume - voids


def _part(mesh: Mesh, mask: Bools) -> Mesh:
    """Return the triangles in a mask as a mesh of its own."""
    used, places = np.unique(mesh.triangles[mask], return_inverse=True)
    return Mesh(mesh.vertices[used], places.reshape(-1, 3).astype(np.int32), name=mesh.name)


def _innermost(void: Mesh, shells: dict[int, Mesh]) -> int:
    """Return the number of the smallest shell that contains a void."""
    around = [
        number for number, shell in shells.items() if contains(shell, void.vertices[:1]).any()
    ]
    return min(around, key=lambda number: shells[number].volume)


# Most cells along each axis of the grid in which two solids are clipped; affects only speed.
_MOST_CELLS = 16
# Triangles for each cell along an axis.
_FOR_A_CELL = 64


def overlap_volume(first: Mesh, second: Mesh, shares: Shares | None = None) -> float:
    """Return the volume common to two closed meshes, by clipping one against the other exactly.

    Parameters
    ----------
    first, second : Mesh
        Solids that do not cross themselves.
    shares : Shares, optional
        The index of the second solid, if it exists already.

    Examples
    --------
    >>> from geodomain.mesh.mesh import Mesh
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> low = Mesh([[0, 0, 0], [6, 0, 0], [0, 6, 0], [0, 0, 6]], faces)
    >>> high = Mesh(low.vertices + [0, 0, 3], faces)
    >>> low.volume, round(overlap_volume(low, high), 12)
    (36.0, 4.5)
    """
    low = np.maximum(first.bounds[0], second.bounds[0])
    high = np.minimum(first.bounds[1], second.bounds[1])
    if not (high > low).all():
        return 0.0
    many = (len(first.triangles) + len(second.triangles)) / _FOR_A_CELL
    cells = min(_MOST_CELLS, 1 + round(many ** (1 / 3)))
    edges = [np.linspace(low[axis], high[axis], cells + 1) for axis in range(3)]
    lows, highs = (
        np.stack(np.meshgrid(*ends, indexing="ij"), axis=-1).reshape(-1, 3)
        for ends in ([each[:-1] for each in edges], [each[1:] for each in edges])
    )
    own = Shares(first, "solid", "parity", "cpu", None)
    other = shares or Shares(second, "solid", "parity", "cpu", None)
    common = own.common([other], lows, highs)[:, 3]
    return float(np.sum(common * (highs - lows).prod(axis=1)))


# --- The greatest distance of a mesh from another, with an upper bound.

# The search ends when the bound is this close to the distance, as a share of the distance.
_CLOSE = 1e-3
# Most triangles that are measured, parts of triangles included.
_MOST_MEASURED = 400_000


def greatest_distance(mesh: Mesh, other: Mesh, which: Bools | None = None) -> Farthest | None:
    """Find the point of a mesh that is farthest from another mesh.

    Distances are measured at corners. A triangle that may have a farther point is divided into
    four, until the bound is within a thousandth of the distance, or 400,000 triangles have been
    measured.

    Parameters
    ----------
    mesh, other : Mesh
        The meshes.
    which : (t,) bool, optional
        The triangles of the mesh to measure. [default: all]

    Returns
    -------
    Farthest or None
        None if there is no triangle to measure.

    Notes
    -----
    For a corner, let q be the triangle of the other mesh that is nearest to this corner. The
    distance from q is a convex function, so its maximum over a triangle is at a corner. The
    greatest of the three distances from q is therefore an upper bound for the whole triangle.
    """
    triangles = mesh.triangles if which is None else mesh.triangles[which]
    if not len(triangles):
        return None
    corners = mesh.vertices[triangles]
    best, point, opposite = -1.0, np.zeros(3), np.zeros(3)
    settled, measured = 0.0, 0
    while True:
        near = nearest(other, corners.reshape(-1, 3), backend="cpu")
        measured += len(corners)
        place = int(near.distance.argmax())
        if float(near.distance[place]) > best:
            best = float(near.distance[place])
            point, opposite = corners.reshape(-1, 3)[place], near.point[place]
        bounds = _upper_bounds(corners, other, near.triangle.reshape(-1, 3))
        unsettled = bounds > best * (1 + _CLOSE)
        settled = max(settled, float(bounds[~unsettled].max(initial=0.0)))
        corners, bounds = corners[unsettled], bounds[unsettled]
        if not len(corners) or measured + 4 * len(corners) > _MOST_MEASURED:
            bound = max(best, settled, float(bounds.max(initial=0.0)))
            return Farthest(best, bound, _triple(point), _triple(opposite))
        corners = _quarters(corners)


def _triple(point: Floats) -> Place:
    x, y, z = point.tolist()
    return x, y, z


def _quarters(corners: Floats) -> Floats:
    """Divide triangles, (n, 3, 3), at the middles of their sides into four, (4 n, 3, 3)."""
    a, b, c = corners.transpose(1, 0, 2)
    ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
    parts = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
    return np.concatenate([np.stack(part, axis=1) for part in parts])


def _upper_bounds(corners: Floats, other: Mesh, nearby: NDArray[np.int32]) -> Floats:
    """Return for each triangle, (n, 3, 3), an upper bound of its distance from another mesh.

    `nearby` (n, 3) has the triangle of the other mesh that is nearest to each corner.
    """
    bounds = np.full(len(corners), np.inf)
    for column in range(3):
        target = other.vertices[other.triangles[nearby[:, column]]]
        far = np.max([_to_triangles(corners[:, each], target) for each in range(3)], axis=0)
        bounds = np.minimum(bounds, far)
    return bounds


def _to_triangles(points: Floats, corners: Floats) -> Floats:
    """Return the distance of each point, (n, 3), from its own triangle, (n, 3, 3), in float64."""
    a, b, c = corners.transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    length = np.einsum("ij,ij->i", normal, normal)
    inside = length > 0
    for start, end in ((a, b), (b, c), (c, a)):
        inside &= np.einsum("ij,ij->i", np.cross(normal, end - start), points - start) >= 0
    with np.errstate(divide="ignore", invalid="ignore"):
        height = np.abs(np.einsum("ij,ij->i", normal, points - a)) / np.sqrt(length)
    sides = [_to_segments(points, *ends) for ends in ((a, b), (b, c), (c, a))]
    return np.asarray(np.where(inside, height, np.min(sides, axis=0)), np.float64)


def _to_segments(points: Floats, starts: Floats, ends: Floats) -> Floats:
    """Return the distance of each point from its own segment, in float64."""
    along = ends - starts
    length = np.einsum("ij,ij->i", along, along)
    part = np.einsum("ij,ij->i", points - starts, along) / np.where(length > 0, length, 1.0)
    foot = starts + np.clip(part, 0.0, 1.0)[:, None] * along
    return np.asarray(np.linalg.norm(points - foot, axis=1))
