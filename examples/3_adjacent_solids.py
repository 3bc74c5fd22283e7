"""Solids that share walls, triangulated on the block lattice: every block has exactly one."""

import itertools

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
claims = sum(contains_lattice(solid, x, y, z).astype(int) for solid in fault_blocks)

print(f"{claims.size:,} points, {np.count_nonzero(claims)} in the cube, none in two solids")

# Floors and walls to the west and south belong to the cube; roofs and the other walls do not.
within = [(axis >= low) & (axis < low + side) for axis, low in zip((x, y, z), corner, strict=True)]
assert (claims == np.einsum("i,j,k->ijk", *within)).all()
