"""Checks of block models and densities that several commands share."""
