"""Distances to meshes, shares of blocks, and tonnes."""
