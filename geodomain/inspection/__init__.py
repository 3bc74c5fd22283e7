"""Description of a block model in one pass: extent, sizes, lattice, and how meshes fit it."""
