"""Label the blocks of a synthetic deposit, all in memory: arrays in, labels out."""

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

assert set(labels.tolist()) == {"DYKE", "ORE", "OXIDE", "WASTE"}
assert np.average(blocks.grades[labels == "ORE"]) > 1.0
