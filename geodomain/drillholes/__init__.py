"""Drillholes: their tables, curves between stations, crossings, flags and composites."""
