"""Queries of one mesh: which points are inside, above or on it, and where segments cross it."""
