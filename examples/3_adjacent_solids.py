"""Six solids that share walls: each block is in exactly one.

The corners of the solids lie on the lattice of the blocks, so that blocks are on walls, on edges
and on corners. None is in two solids, and none is lost between them.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

from geodomain import Mesh, contains_lattice, synthetic

# A cube cut into six tetrahedra around its diagonal, at mine coordinates. Each of the inner walls
# belongs to two solids, and the lattice has points on the walls, the edges and the vertices.
corner, side = np.array(synthetic.MINE), 40.0
fault_blocks = []
for order in itertools.permutations(np.eye(3)):
    path = corner + side * np.concatenate([np.zeros((1, 3)), np.cumsum(order, axis=0)])
    faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
    if np.linalg.det(order) < 0:  # mirrored: turn the faces outward again
        faces = [face[::-1] for face in faces]
    fault_blocks.append(Mesh(path, faces))

x, y, z = (corner[axis] + np.arange(-10.0, side + 10, 2.5) for axis in range(3))
inside = np.array([contains_lattice(solid, x, y, z) for solid in fault_blocks])
claims = inside.sum(axis=0)

print(f"{claims.size:,} points, {np.count_nonzero(claims)} in the cube, none in two solids")

# The solid of each block of one level; white blocks are in no solid.
level = len(z) // 2
owner = np.where(claims, inside.argmax(axis=0) + 1, np.nan)[:, :, level]
figure, axes = plt.subplots(figsize=(5.6, 5.4), layout="constrained")
axes.pcolormesh(x, y, owner.T, cmap="tab10", vmin=1, vmax=10, edgecolors="white", linewidth=0.5)
axes.set(aspect="equal", xlabel="easting", ylabel="northing", title="The solid of each block")
axes.ticklabel_format(useOffset=False, style="plain")
axes.tick_params(axis="x", labelrotation=30)
figure.savefig("solids.png")

# Floors and walls to the west and south belong to the cube; roofs and the other walls do not.
within = [(axis >= low) & (axis < low + side) for axis, low in zip((x, y, z), corner, strict=True)]
assert (claims == np.einsum("i,j,k->ijk", *within)).all()
