"""Reads and writes mesh files, each format in a module of its own; computes nothing."""

from __future__ import annotations

from geodomain.meshfiles.reading import read_mesh
from geodomain.meshfiles.writing import write_mesh

__all__ = ["read_mesh", "write_mesh"]
