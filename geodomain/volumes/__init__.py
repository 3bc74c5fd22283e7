"""Distances to meshes, shares of blocks, and the tonnes that follow; arrays in, arrays out."""
