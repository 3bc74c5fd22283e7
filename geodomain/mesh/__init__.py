"""Meshes: the wireframe, its check, repair, shells and fitness for labelling."""
