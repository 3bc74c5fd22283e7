"""Blocks against domains: labels, counts, warnings and the summary, for arrays and for files."""
