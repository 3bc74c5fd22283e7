"""Labelling of blocks by domains, in arrays and files: labels, counts, warnings and summary."""
