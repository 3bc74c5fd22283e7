"""Checks of block models and densities, used by several commands."""
