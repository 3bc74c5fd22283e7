"""Conversion of what users pass to functions: meshes, points, tables of blocks."""
