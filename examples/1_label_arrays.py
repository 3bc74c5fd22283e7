"""Volume and grade of each domain, from arrays in memory.

The blocks of a synthetic deposit are labelled by a dyke, two ore lenses and an oxide zone, and
drawn in plan.
"""

import matplotlib.pyplot as plt
import numpy as np

from geodomain import label_points, synthetic

deposit = synthetic.deposit("small")
blocks = deposit.subblocked

# An ordered mapping: the dyke cuts the ore, so it comes first. ORE is a union of two lenses.
labels = label_points(blocks.centroids, deposit.domains, background="WASTE")

volumes = blocks.sizes.prod(axis=1)
tonnes = volumes * blocks.densities
for domain in (*deposit.domains, "WASTE"):
    inside = labels == domain
    grade = np.average(blocks.grades[inside], weights=tonnes[inside])
    print(f"{domain:6}{inside.sum():8,} blocks {volumes[inside].sum():12,.0f} m3 {grade:6.2f} g/t")

colours = {"WASTE": "#e4e0d6", "OXIDE": "#e6b566", "ORE": "#b5382c", "DYKE": "#3d6b73"}
plan = np.abs(blocks.centroids[:, 2] - 270.1) < blocks.sizes[:, 2] / 2
figure, axes = plt.subplots(figsize=(7, 5.6), layout="constrained")
for domain, colour in colours.items():
    east, north, _ = blocks.centroids[plan & (labels == domain)].T
    axes.scatter(east, north, s=9, marker="s", color=colour, label=domain)
axes.set(aspect="equal", xlabel="easting", ylabel="northing", title="Plan at elevation 270")
axes.ticklabel_format(useOffset=False, style="plain")
axes.legend(loc="upper right")
figure.savefig("plan.png")

assert set(labels.tolist()) == {"DYKE", "ORE", "OXIDE", "WASTE"}
assert np.average(blocks.grades[labels == "ORE"]) > 1.0
