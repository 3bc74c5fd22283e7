"""Meshes: the wireframe, its check, repair, shells, and whether it can be used for labelling."""
