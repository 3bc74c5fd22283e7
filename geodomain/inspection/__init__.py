"""What a block model is, found in one pass: extent, sizes, lattice, and how meshes fit it."""
