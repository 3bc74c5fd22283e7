"""Drillholes: their tables, the curves between stations, and what they pass through."""
