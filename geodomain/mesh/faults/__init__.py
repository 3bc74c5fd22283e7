"""Faults of a mesh: what they are, where, and what welding would repair."""
