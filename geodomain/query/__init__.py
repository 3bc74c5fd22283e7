"""Questions about points and one mesh: inside, above, on the surface, on a lattice."""
