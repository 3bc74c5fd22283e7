"""Compare libraries and algorithms that intersect segments with a surface, on one machine."""
