"""Make the demo's gold deposit: wireframes, block models and drillholes as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.mesh.mesh import Mesh

Triangles = NDArray[np.int32]

# Coordinates of the wireframes are rounded to a step, like surveyed coordinates. Every centroid of
# the demo's models is a multiple of an eighth of a metre, so some vertices lie exactly above
# centroids. Rounding also removes the last bits, in which sines differ between machines.
SURVEY_STEP = 0.125


def surveyed(points: Floats) -> Floats:
    """Round coordinates to multiples of `SURVEY_STEP`."""
    rounded: Floats = np.round(points / SURVEY_STEP) * SURVEY_STEP
    return rounded


def grid(rows: int, columns: int) -> Triangles:
    """Triangulate a grid of vertices, ``rows`` x ``columns``, numbered row by row.

    Returns
    -------
    ndarray of shape (2 (rows - 1) (columns - 1), 3), int32
        Triangles, counter-clockwise if x grows from row to row and y from column to column.
    """
    corner = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    here, right = corner[:-1, :-1].ravel(), corner[1:, :-1].ravel()
    up, across = corner[:-1, 1:].ravel(), corner[1:, 1:].ravel()
    cells = np.stack([here, right, across, here, across, up], axis=1)
    return cells.reshape(-1, 3)


def disc(rings: int) -> tuple[Floats, Triangles]:
    """Triangulate the unit disc. Its vertices are the rings of a hexagonal lattice, made round.

    Returns
    -------
    points : ndarray of shape (3 rings (rings + 1) + 1, 2)
        The outermost ring has a radius of 1, apart from rounding.
    triangles : ndarray of shape (6 rings^2, 3), int32
        Counter-clockwise.
    """
    steps = np.arange(-rings, rings + 1)
    i, j = (index.ravel() for index in np.meshgrid(steps, steps, indexing="ij"))
    ring = np.maximum(np.maximum(abs(i), abs(j)), abs(i + j))
    number = np.cumsum(ring <= rings) - 1
    flat = np.stack([i + j / 2, j * np.sqrt(0.75)], axis=1)[ring <= rings]
    length = np.sqrt((flat**2).sum(axis=1))
    unit = flat / np.where(length == 0, 1, length)[:, None]
    width = 2 * rings + 1
    here = np.arange(i.size).reshape(width, width)[:-1, :-1].ravel()
    upper = np.stack([here, here + width, here + 1], axis=1)
    lower = np.stack([here + width, here + width + 1, here + 1], axis=1)
    both = np.concatenate([upper, lower])
    both = both[(ring[both] <= rings).all(axis=1)]
    return unit * (ring[ring <= rings] / rings)[:, None], number[both].astype(np.int32)


def rim(triangles: Triangles) -> NDArray[np.int64]:
    """Return the directed edges of a sheet that belong to one triangle only, shape (e, 2)."""
    edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).astype(np.int64)
    span = int(triangles.max()) + 1
    forward, backward = edges @ [span, 1], edges @ [1, span]
    return edges[~np.isin(forward, backward)]


def between(top: Floats, bottom: Floats, triangles: Triangles, name: str) -> Mesh:
    """Make the closed solid between two sheets that share a triangulation.

    Parameters
    ----------
    top, bottom : ndarray of shape (v, 3)
        Positions of each vertex in the upper and the lower sheet. The sheets join where a rim
        vertex has equal positions in both; along the rest of the rim, a wall is added.
    triangles : ndarray of shape (t, 3)
        Counter-clockwise seen from above.
    name : str
        The name of the mesh.

    Returns
    -------
    Mesh
        Closed, oriented outward, every vertex once.
    """
    below = np.arange(len(top), dtype=np.int64) + len(top)
    below[(top == bottom).all(axis=1)] -= len(top)
    a, b = rim(triangles).T
    walls = np.stack([b, a, below[a], b, below[a], below[b]], axis=1).reshape(-1, 3)
    shell = np.concatenate([triangles, below[triangles[:, ::-1]], walls])
    collapsed = (shell == np.roll(shell, 1, axis=1)).any(axis=1)
    used, corners = np.unique(shell[~collapsed], return_inverse=True)
    return Mesh(np.concatenate([top, bottom])[used], corners.reshape(-1, 3), name=name)


# --- The geology of the demo: where its folds, lenses, dyke, oxidation and topography lie.

ORIGIN = np.array([414_000.0, 7_480_000.0, 150.0])  # south-west corner at the lowest bench, m
EXTENT = np.array([500.0, 400.0, 250.0])
FOLD_LEVEL = 130.0  # height of the axial plane's hinge line above the lowest bench, m
FARTHEST_RIM = 1.13  # of a lens, in its own half lengths: see Lens.outline
SHEAR = 1.1  # metres east for each metre up: overturns the eastern limbs


def topography_height(x: Floats, y: Floats) -> Floats:
    """Return the height of the ground above the lowest bench, all in metres; x and y are local."""
    height: Floats = 221 + 9 * np.sin(x / 83) * np.cos(y / 71) + 4 * np.sin((x + 2 * y) / 57)
    return height


def oxidation_height(x: Floats, y: Floats) -> Floats:
    """Return the height of the base of oxidation above the lowest bench; it is below the ground."""
    cover: Floats = 28 + 7 * np.sin(x / 61 + 1) * np.sin(y / 47) + 0.02 * x
    return topography_height(x, y) - cover


@dataclass(frozen=True)
class Lens:
    """An ore lens that follows the folded surface, pinching out at an uneven rim."""

    name: str
    centre: tuple[float, float]  # of the unsheared lens in plan, local metres
    reach: tuple[float, float]  # half lengths across and along the fold axis
    level: float  # of its mid-surface, relative to the fold's
    thickness: float  # vertical, at its middle

    def middle(self, x: Floats, y: Floats) -> Floats:
        """Return the height of the lens's folded middle surface at a position before shearing."""
        return FOLD_LEVEL + self.level + 42 * np.cos(x / 37 - 6.4) + 0.06 * y - 12

    def outline(self, p: Floats, q: Floats) -> Floats:
        """Return the distance of the rim in the direction (p, q), relative to its mean distance."""
        angle = np.arctan2(q, p)
        reach: Floats = 1 + 0.08 * np.cos(3 * angle + self.level) + 0.05 * np.cos(5 * angle)
        return reach

    def wireframe(self, rings: int) -> Mesh:
        """Return the closed surface, with ``rings`` rings of vertices from middle to rim."""
        flat, triangles = disc(rings)
        p, q = flat.T
        radius = np.round(np.hypot(p, q), 9)
        x, y = (flat * self.reach * self.outline(p, q)[:, None] + self.centre).T
        half = self.thickness / 2 * np.sqrt(1 - radius**2)
        sheets = []
        for z in (self.middle(x, y) + half, self.middle(x, y) - half):
            sheets.append(surveyed(np.stack([x + SHEAR * (z - FOLD_LEVEL), y, z], axis=1)) + ORIGIN)
        return between(sheets[0], sheets[1], triangles, self.name)

    def holds(self, points: Floats) -> NDArray[np.bool_]:
        """Return which points, in mine coordinates, are inside the smooth shape of the lens."""
        x, y, z = (points - ORIGIN).T
        x = x - SHEAR * (z - FOLD_LEVEL)
        p, q = (x - self.centre[0]) / self.reach[0], (y - self.centre[1]) / self.reach[1]
        # Most points are far away: exclude them before the trigonometry.
        near = np.flatnonzero(p * p + q * q < FARTHEST_RIM**2)
        height = abs(z[near] - self.middle(x[near], y[near]))
        near, height = near[height < self.thickness / 2], height[height < self.thickness / 2]
        radius = np.hypot(p[near], q[near]) / self.outline(p[near], q[near])
        held = np.zeros(len(points), dtype=bool)
        held[near] = height < self.thickness / 2 * np.sqrt(np.maximum(1 - radius**2, 0))
        return held


LENSES = (
    Lens("ore_upper", (238.0, 205.0), (150.0, 165.0), 0.0, 26.0),
    Lens("ore_lower", (262.0, 190.0), (120.0, 130.0), -52.0, 17.0),
)


def dyke_solid(spacing: float) -> Mesh:
    """Return the closed solid of the dyke: a thin, wavy, steep sheet of waste that cuts the ore.

    The vertices are `spacing` metres apart along the sheet.
    """
    u = np.arange(-160, 161, spacing)
    v = np.arange(-100, 81, spacing)
    along, up = (axis.ravel() for axis in np.meshgrid(u, v, indexing="ij"))
    middle = 4 * np.sin(along / 60) + 3 * np.sin(up / 41)
    half = 4.5 + 1.5 * np.cos(along / 90) + up / 80
    # Orthonormal: along the strike, up the dip (74 degrees), across the sheet.
    frame = np.array([[0.28, 0.96, 0.0], [-0.2688, 0.0784, 0.96], [0.9216, -0.2688, 0.28]])
    centre = ORIGIN + np.array([262.0, 200.0, 110.0])
    local = [np.stack([along, up, middle + side * half], axis=1) for side in (1, -1)]
    top, bottom = (surveyed(sheet @ frame) + centre for sheet in local)
    return between(top, bottom, grid(len(u), len(v)), "dyke")


def survey_grid(spacing: float) -> tuple[Floats, Floats, NDArray[np.int32]]:
    """Return x and y (local metres, flat arrays) and triangles of a grid over the model.

    The vertices are `spacing` metres apart.
    """
    x, y = (np.arange(0, length + 1, spacing) for length in EXTENT[:2])
    east, north = (axis.ravel() for axis in np.meshgrid(x, y, indexing="ij"))
    return east, north, grid(len(x), len(y))


def draped(x: Floats, y: Floats, height: Floats) -> Floats:
    """Return the vertices of a sheet, in mine coordinates, from local x, y and heights."""
    vertices: Floats = surveyed(np.stack([x, y, height], axis=1)) + ORIGIN
    return vertices


def topography(spacing: float) -> Mesh:
    """Return the ground as an open surface over the model, with a vertex every `spacing` metres."""
    x, y, triangles = survey_grid(spacing)
    return Mesh(draped(x, y, topography_height(x, y)), triangles, name="topography")


def oxide_zone(spacing: float) -> Mesh:
    """Return the closed solid between the ground and the base of oxidation.

    Its vertices are `spacing` metres apart in plan.
    """
    x, y, triangles = survey_grid(spacing)
    top, bottom = (draped(x, y, height(x, y)) for height in (topography_height, oxidation_height))
    return between(top, bottom, triangles, "oxide")


# --- Block models of the deposit, and their text.

NAMES = ("XC", "YC", "ZC", "XINC", "YINC", "ZINC", "AU", "DENSITY", "ROCK")
ROCKS = np.array(["AIR", "LATERITE", "SCHIST", "BIF"])
SUBDIVISIONS = 2  # halvings of a parent block: 10 x 10 x 5 m down to 2.5 x 2.5 x 1.25 m
HALVES = np.array([[i, j, k] for k in (-1, 1) for j in (-1, 1) for i in (-1, 1)]) / 2.0
# Corners and the middles of edges and faces, so that a thin rim between corners is not missed.
PROBES = np.array([[i, j, k] for k in (-1, 0, 1) for j in (-1, 0, 1) for i in (-1, 0, 1)]) / 2.0


@dataclass(frozen=True, eq=False)
class BlockTable:
    """A block model as a mining package exports it.

    Attributes
    ----------
    centroids, sizes : ndarray of shape (n, 3)
        Metres. Parent blocks are in the order of a lattice, x fastest.
    grades : ndarray of shape (n,)
        Gold, grams per tonne.
    densities : ndarray of shape (n,)
        Tonnes per cubic metre.
    rocks : ndarray of shape (n,), str
        Logged rock type, which is not the domain.
    """

    centroids: Floats
    sizes: Floats
    grades: Floats
    densities: Floats
    rocks: NDArray[np.str_]

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.centroids)

    def csv(self, rows_per_chunk: int = 100_000) -> Iterator[bytes]:
        """Yield the table as CSV text, header first, with trailing zeros as in real exports."""
        yield (",".join(NAMES) + "\n").encode()
        for start in range(0, len(self), rows_per_chunk):
            part = slice(start, start + rows_per_chunk)
            numbers = [*self.centroids[part].T, *self.sizes[part].T]
            cells = [spelled(column, 3) for column in numbers]
            cells += [spelled(self.grades[part], 2), spelled(self.densities[part], 2)]
            rows = zip(*cells, self.rocks[part].tolist(), strict=True)
            yield "".join([",".join(row) + "\n" for row in rows]).encode()


def spelled(column: Floats, decimals: int) -> list[str]:
    """Return numbers as text with this many decimals; each distinct number is formatted once."""
    values, where = np.unique(column, return_inverse=True)
    texts = np.array([f"{value:.{decimals}f}" for value in values.tolist()], dtype=object)
    spelling: list[str] = texts[where].tolist()
    return spelling


def regular(block: Floats, seed: int) -> BlockTable:
    """Return the model in which every block has the size ``block``."""
    return described(parents(block), np.broadcast_to(block, (len(parents(block)), 3)), seed)


def subblocked(block: Floats, seed: int) -> BlockTable:
    """Return the model whose parents are halved twice where the ore's boundary crosses them."""
    whole, split = parents(block), np.ones((1, 3)) * block
    order = np.arange(len(whole), dtype=np.float64)
    finished: list[tuple[Floats, Floats, Floats]] = []
    for level in range(SUBDIVISIONS + 1):
        straddles = straddling(whole, split) & (level < SUBDIVISIONS)
        unsplit = whole[~straddles]
        finished.append((order[~straddles], unsplit, np.broadcast_to(split, unsplit.shape)))
        split = split / 2
        whole = (whole[straddles][:, None] + HALVES * split).reshape(-1, 3)
        order = (order[straddles][:, None] + np.arange(8) / 8.0 ** (level + 1)).ravel()
    rank = np.argsort(np.concatenate([part[0] for part in finished]), kind="stable")
    centroids = np.concatenate([part[1] for part in finished])[rank]
    return described(centroids, np.concatenate([part[2] for part in finished])[rank], seed)


def parents(block: Floats) -> Floats:
    """Return the centroids of a regular model of blocks of this size, x fastest, shape (n, 3)."""
    axes = (np.arange(block[a] / 2, EXTENT[a], block[a]) + ORIGIN[a] for a in (2, 1, 0))
    z, y, x = np.meshgrid(*axes, indexing="ij")
    return np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)


def straddling(centroids: Floats, size: Floats) -> NDArray[np.bool_]:
    """Return which blocks are crossed by the boundary of an ore lens."""
    crossed = np.zeros(len(centroids), dtype=bool)
    for lens in LENSES:
        middle = lens.holds(centroids)
        for probe in PROBES:
            crossed |= lens.holds(centroids + probe * size) != middle
    return crossed


def described(centroids: Floats, sizes: Floats, seed: int) -> BlockTable:
    """Return a block model in which each block has a rock, a density and a grade."""
    x, y, z = (centroids - ORIGIN).T
    ore = np.zeros(len(centroids), dtype=bool)
    for lens in LENSES:
        ore |= lens.holds(centroids)
    air, oxidised = z > topography_height(x, y), z > oxidation_height(x, y)
    kind = np.where(ore, 3, 2)
    rocks = ROCKS[np.where(air, 0, np.where(oxidised & ~ore, 1, kind))]
    # The sum of three uniform numbers is bell-shaped and, unlike a normal variate, needs no
    # logarithm.
    random = np.random.Generator(np.random.PCG64(seed))
    nugget = random.random((3, len(centroids))).sum(axis=0) - 1.5
    trend = 0.5 * np.sin(x / 29) * np.cos(y / 43) + 0.3 * np.sin(z / 11)
    grades: Floats = np.exp(np.where(ore, 0.7, -3.0) + trend + 1.2 * nugget)
    densities: Floats = np.where(oxidised, 2.1, np.where(ore, 3.2, 2.7)) + 0.08 * nugget
    grades[air] = densities[air] = 0
    return BlockTable(
        centroids=centroids,
        sizes=np.ascontiguousarray(sizes),
        grades=grades.round(2),
        densities=densities.round(2),
        rocks=rocks,
    )


# --- Drillholes through the deposit, and their tables as text.

SAMPLE, STATION = 2.0, 30.0  # metres along a hole
# A hole starts steep and flattens in a vertical plane, as real holes do: LIFT in degrees a metre.
STEEP, LIFT, WEST = 66.0, 0.05, 270.0


@dataclass(frozen=True, eq=False)
class HoleTables:
    """Drillholes as a mining package exports them.

    Attributes
    ----------
    collars : (h, 3) float64
        Metres, mine coordinates.
    lengths : (h,) float64
        Metres; each hole is sampled over its whole length.
    grades : list of (n,) float64
        Gold in each sample of each hole, grams per tonne.
    """

    collars: Floats
    lengths: Floats
    grades: list[Floats]

    def __len__(self) -> int:
        """Return the number of holes."""
        return len(self.collars)

    @property
    def names(self) -> list[str]:
        """The ids of the holes."""
        return [f"DH{number:03d}" for number in range(1, len(self) + 1)]

    def collar_csv(self) -> bytes:
        """Return the collar table as CSV text, with the depth of each hole."""
        rows = ["HOLEID,EAST,NORTH,RL,MAXDEPTH"]
        for name, (x, y, z), length in zip(self.names, self.collars, self.lengths, strict=True):
            rows.append(f"{name},{x:.2f},{y:.2f},{z:.2f},{length:.1f}")
        return _text(rows)

    def survey_csv(self) -> bytes:
        """Return the survey table as CSV text.

        Dips are negative downwards, and there is no station at the end of a hole.
        """
        rows = ["HOLEID,DEPTH,AZIMUTH,DIP"]
        for name, length in zip(self.names, self.lengths, strict=True):
            for depth in np.arange(0.0, length, STATION).tolist():
                rows.append(f"{name},{depth:.1f},{WEST:.1f},{LIFT * depth - STEEP:.1f}")
        return _text(rows)

    def assay_csv(self) -> bytes:
        """Return the assay table as CSV text, with samples of two metres."""
        rows = ["HOLEID,FROM,TO,AU"]
        for name, grades in zip(self.names, self.grades, strict=True):
            for place, grade in enumerate(grades.tolist()):
                rows.append(f"{name},{place * SAMPLE:.1f},{(place + 1) * SAMPLE:.1f},{grade:.2f}")
        return _text(rows)


def drilling(seed: int = 1) -> HoleTables:
    """Drill 56 holes to the west through the deposit, on a grid of 50 m, and assay them.

    Examples
    --------
    >>> holes = drilling()
    >>> len(holes), sum(map(len, holes.grades))
    (56, 5600)
    """
    east, north = (part.ravel() for part in np.meshgrid(np.arange(110.0, 461, 50),
                                                        np.arange(50.0, 351, 50)))  # fmt: skip
    local = np.stack([east, north, topography_height(east, north)], axis=1)
    collars = (local + ORIGIN).round(2)
    lengths = np.full(len(collars), 200.0)
    grades = []
    for number, (collar, length) in enumerate(zip(collars, lengths.tolist(), strict=True)):
        middles = path(collar, np.arange(SAMPLE / 2, length, SAMPLE))
        table = described(middles, np.zeros_like(middles), seed + 1000 + number)
        grades.append(table.grades)
    return HoleTables(collars, lengths, grades)


def path(collar: Floats, depths: Floats) -> Floats:
    """Return the points of a hole at these depths, (n, 3), on a vertical arc towards the west.

    A hole desurveyed from the survey table is straight below the last station; there it is at most
    0.1 m from the arc.
    """
    rate = np.deg2rad(LIFT)
    dips: NDArray[np.float64] = np.deg2rad(STEEP) - rate * depths
    west = (np.sin(np.deg2rad(STEEP)) - np.sin(dips)) / rate
    down = (np.cos(dips) - np.cos(np.deg2rad(STEEP))) / rate
    points: Floats = collar + np.stack([-west, np.zeros_like(west), -down], axis=1)
    return points


def _text(rows: list[str]) -> bytes:
    return ("\n".join(rows) + "\n").encode()


# --- The whole deposit: wireframes, block models and drillholes that belong together.

# Name: parent block (m), rings of a lens, spacing of the dyke and of the surveyed surfaces (m).
SIZES = {
    "tiny": ((20.0, 20.0, 10.0), 8, 20.0, 50.0),
    "small": ((10.0, 10.0, 5.0), 24, 10.0, 20.0),
    "large": ((5.0, 5.0, 2.5), 60, 5.0, 10.0),
}


@dataclass(frozen=True, eq=False)
class Deposit:
    """A deposit at mine coordinates, in metres.

    Attributes
    ----------
    solids : dict of str to Mesh
        Closed wireframes: ``dyke``, ``ore_upper``, ``ore_lower``, ``oxide``.
    domains : dict of str to list of Mesh
        For each domain, in order of priority, its meshes among ``solids``.
    topography : Mesh
        The ground, an open surface; the upper side of ``oxide`` coincides with it.
    regular, subblocked : BlockTable
        Two models of the same rock.
    drilling : HoleTables
        Holes through the deposit, and their samples.
    """

    solids: dict[str, Mesh]
    domains: dict[str, list[Mesh]]
    topography: Mesh
    regular: BlockTable
    subblocked: BlockTable
    drilling: HoleTables


def deposit(size: str = "small", *, seed: int = 1) -> Deposit:
    """Make a synthetic gold deposit: folded lenses, a dyke, an oxide zone.

    Parameters
    ----------
    size : {"small", "tiny", "large"}
        "small" has 100,000 blocks of 10 x 10 x 5 m, "tiny" 12,500 of 20 x 20 x 10 m, and "large"
        800,000 of 5 x 5 x 2.5 m. Wireframes have similar detail. In the sub-blocked model, these
        blocks are halved twice at the boundary of the ore.
    seed : int
        Seed of the random part of the grades.

    Returns
    -------
    Deposit

    Raises
    ------
    ValueError
        If the size is not one of the three.

    Examples
    --------
    >>> from geodomain import synthetic
    >>> deposit = synthetic.deposit("tiny")
    >>> list(deposit.domains)
    ['DYKE', 'ORE', 'OXIDE']
    >>> len(deposit.regular)
    12500
    """
    if size not in SIZES:
        message = f"there is no deposit of size {size!r}: choose from {', '.join(SIZES)}"
        raise ValueError(message)
    block, rings, dyke_spacing, survey_spacing = SIZES[size]
    lenses = [lens.wireframe(rings) for lens in LENSES]
    dyke, oxide = dyke_solid(dyke_spacing), oxide_zone(survey_spacing)
    return Deposit(
        solids={mesh.name: mesh for mesh in (dyke, *lenses, oxide)},
        domains={"DYKE": [dyke], "ORE": lenses, "OXIDE": [oxide]},
        topography=topography(survey_spacing),
        regular=regular(np.array(block), seed),
        subblocked=subblocked(np.array(block), seed),
        drilling=drilling(seed),
    )
