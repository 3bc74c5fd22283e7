"""Arrays as raw little-endian files, as R. Leung's gpu_ray_surface_intersect reads and writes."""
