// Triangles of a mesh one after the other: the corners of those that come soon are asked for, which
// are anywhere. Host only.
#pragma once

#include <algorithm>

#include "platform/loads.h"
#include "platform/mesh_view.h"

namespace geodomain {

constexpr std::int64_t kTrianglesAhead = 16;

inline void fetch_corners(const MeshView& mesh, std::int64_t triangle) {
  for (int k = 0; k < 3; ++k) {
    const std::int64_t corner = mesh.triangles[3 * triangle + k];
    fetch(reinterpret_cast<const Vec3*>(mesh.vertices + 3 * corner));
  }
}

// visit(triangle, index)
template <class Visit>
void visit_triangles(const MeshView& mesh, std::int64_t begin, std::int64_t end, Visit&& visit) {
  for (std::int64_t i = begin; i < end; ++i) {
    fetch_corners(mesh, std::min(i + kTrianglesAhead, mesh.triangle_count - 1));
    visit(mesh.triangle(i), i);
  }
}

}  // namespace geodomain
