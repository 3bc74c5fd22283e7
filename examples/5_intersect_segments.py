"""Where straight drillholes pass through the ground and the ore.

A fence of 31 holes is intersected with the topography and an ore lens. Halfway between going in
and coming out, a hole is inside the ore.
"""

import matplotlib.pyplot as plt
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

# The fence in section: holes from the ground down, and their parts inside the ore.
figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
starts = np.empty_like(collars)
starts[surface.segment] = surface.point
axes.plot([starts[:, 0], toes[:, 0]], [starts[:, 2], toes[:, 2]], color="#8a857a", linewidth=0.8)
enters, leaves = walls.point[0::2], walls.point[1::2]
axes.plot([enters[:, 0], leaves[:, 0]], [enters[:, 2], leaves[:, 2]], color="#b5382c", linewidth=3)
axes.plot(starts[:, 0], starts[:, 2], color="#222222", linewidth=1.5)
axes.set(aspect="equal", xlabel="easting", ylabel="elevation", title="Ore along a fence of holes")
axes.ticklabel_format(useOffset=False, style="plain")
figure.savefig("fence.png")

# The point halfway between entry and exit is inside.
middles = walls.point.reshape(-1, 2, 3).mean(axis=1)
assert len(surface) == len(collars)
assert not contains(ore, np.concatenate([collars, toes])).any()
assert contains(ore, middles).all()
