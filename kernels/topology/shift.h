// Moves a mesh by a vector: each vertex is added to once, and rounded once. Host only.
#pragma once

#include <cstdint>

#include "exact/orientation.h"
#include "platform/mesh_view.h"

namespace geodomain {

// Whether the corners of a triangle lie on a line, or some are equal: exactly if its projections
// along x, y and z are lines.
inline bool is_flat(const Triangle& t) {
  return orient2d(t.a.x, t.a.y, t.b.x, t.b.y, t.c.x, t.c.y) == 0 &&
         orient2d(t.a.y, t.a.z, t.b.y, t.b.z, t.c.y, t.c.z) == 0 &&
         orient2d(t.a.z, t.a.x, t.b.z, t.b.x, t.c.z, t.c.x) == 0;
}

// Rounding is monotone, so the moved bounds are the bounds of the moved vertices.
inline void shift_points(const double* points, std::int64_t count, const double* shift,
                         double* out) {
  // A sum of -0.0 is 0.0, as everywhere.
  for (std::int64_t i = 0; i < 3 * count; ++i) out[i] = (points[i] + shift[i % 3]) + 0.0;
}

// The first triangle that rounding has made flat, or -1. `shifted` has the triangles of `mesh`.
inline std::int64_t first_collapsed(const MeshView& mesh, const MeshView& shifted) {
  for (std::int64_t i = 0; i < mesh.triangle_count; ++i) {
    if (is_flat(shifted.triangle(i)) && !is_flat(mesh.triangle(i))) return i;
  }
  return -1;
}

}  // namespace geodomain
