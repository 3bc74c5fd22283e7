"""Arrays as raw little-endian files, as R. Leung's gpu_ray_surface_intersect reads and writes."""

from __future__ import annotations

from geodomain.rawfiles.reading import RawSegments, open_segments, read_raw_mesh
from geodomain.rawfiles.writing import ArrayWriter, written_together

__all__ = ["ArrayWriter", "RawSegments", "open_segments", "read_raw_mesh", "written_together"]
