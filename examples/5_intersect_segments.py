"""Log where drillholes go through the ground and the ore, and check it against the ore's inside."""

import numpy as np

from geodomain import SegmentIntersector, Segments, contains, synthetic

deposit = synthetic.deposit("small")
ore, ground = deposit.solids["ore_upper"], deposit.topography

# A fence of inclined holes across the deposit, from above the ground to below the ore.
easting = np.linspace(414_100.0, 414_400.0, 31)
collars = np.stack([easting, np.full(31, 7_480_200.0), np.full(31, 420.0)], axis=1)
toes = collars + np.array([60.0, 25.0, -260.0])

with Segments(collars, toes) as holes:  # prepared once, asked of two surfaces
    surface = SegmentIntersector(ground).intersect(holes, mode="nearest")
    walls = SegmentIntersector(ore).intersect(holes, mode="all")

depth = dict(zip(surface.segment.tolist(), surface.distance.tolist(), strict=True))
print("hole  ground   in ore, metres from the collar")
for hole in np.unique(walls.segment):
    rows = slice(*walls.offsets[hole : hole + 2])
    pairs = walls.distance[rows].reshape(-1, 2)  # in, out: the ore is closed and holes end outside
    spans = "  ".join(f"{enter:6.1f} to {leave:6.1f}" for enter, leave in pairs)
    print(f"{hole:4}  {depth[hole]:6.1f}   {spans}")

# Halfway between going in and coming out is inside.
middles = walls.point.reshape(-1, 2, 3).mean(axis=1)
assert len(surface) == len(collars)
assert not contains(ore, np.concatenate([collars, toes])).any()
assert contains(ore, middles).all()
