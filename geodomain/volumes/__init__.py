"""Distances to meshes, shares of blocks inside meshes, and tonnes."""
