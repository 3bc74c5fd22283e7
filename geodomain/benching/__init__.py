"""Ways to test segments against a surface, compared on one machine in one run."""
