"""Checks of block models and densities that several commands make, in the same words."""
