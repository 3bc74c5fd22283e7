"""HTML tables for notebooks, with every text escaped."""
