// Views of the caller's arrays; nothing is copied or owned.
#pragma once

#include "exact/crossing.h"
#include "platform/arithmetic.h"
#include "platform/loads.h"

namespace geodomain {

struct MeshView {
  const double* vertices;         // (v, 3)
  const std::int32_t* triangles;  // (t, 3)
  std::int64_t triangle_count;

  GD_HD Vec3 vertex(std::int32_t index) const {
    const double* v = vertices + 3 * static_cast<std::int64_t>(index);
    return {v[0], v[1], v[2]};
  }
  GD_HD Triangle triangle(std::int64_t index) const {
    const std::int32_t* t = triangles + 3 * index;
    return {vertex(t[0]), vertex(t[1]), vertex(t[2])};
  }
};
static_assert(sizeof(MeshView) == size_by_pointers(24, 16), "as every compiler has it");

// Points as three columns with strides in bytes, so that neither a row-major
// array nor a column-major table needs to be copied.
struct PointsView {
  const char* x;
  const char* y;
  const char* z;
  std::int64_t stride_x, stride_y, stride_z;

  GD_HD static double at(const char* column, std::int64_t stride, std::int64_t row) {
    return *reinterpret_cast<const double*>(column + stride * row);
  }
  GD_HD Vec3 operator[](std::int64_t row) const {
    return {at(x, stride_x, row), at(y, stride_y, row), at(z, stride_z, row)};
  }
};
static_assert(sizeof(PointsView) == size_by_pointers(48, 40), "as every compiler has it");

inline PointsView points_view(const void* const* columns, const std::int64_t* strides) {
  return {static_cast<const char*>(columns[0]),
          static_cast<const char*>(columns[1]),
          static_cast<const char*>(columns[2]),
          strides[0],
          strides[1],
          strides[2]};
}

struct Bounds {  // of the vertices that triangles use
  Vec3 low, high;
};
static_assert(sizeof(Bounds) == 48, "as every compiler has it");

GD_HD void widen(Bounds& box, const Bounds& other) {
  box.low = {minimum(box.low.x, other.low.x), minimum(box.low.y, other.low.y),
             minimum(box.low.z, other.low.z)};
  box.high = {maximum(box.high.x, other.high.x), maximum(box.high.y, other.high.y),
              maximum(box.high.z, other.high.z)};
}

// Whether a point is beyond the bounds in x or y, above them, or NaN: then it is in no solid and
// has no crossing above. Exact, and the first test of any point. All five comparisons at once
// need one branch that is mostly predicted.
GD_HD bool misses(const Bounds& bounds, Vec3 q) {
  return !((q.x >= bounds.low.x) & (q.x <= bounds.high.x) & (q.y >= bounds.low.y) &
           (q.y <= bounds.high.y) & (q.z < bounds.high.z));
}

// Visits triangles of a mesh in order, and prefetches the corners of later ones, which may be
// anywhere in memory. Host only.

constexpr std::int64_t kTrianglesAhead = 16;

inline void fetch_corners(const MeshView& mesh, std::int64_t triangle) {
  for (int k = 0; k < 3; ++k) {
    const std::int64_t corner = mesh.triangles[3 * triangle + k];
    fetch(reinterpret_cast<const Vec3*>(mesh.vertices + 3 * corner));
  }
}

// Calls visit(triangle, index).
template <class Visit>
void visit_triangles(const MeshView& mesh, std::int64_t begin, std::int64_t end, Visit&& visit) {
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t ahead = i + kTrianglesAhead, last = mesh.triangle_count - 1;
    fetch_corners(mesh, ahead < last ? ahead : last);
    visit(mesh.triangle(i), i);
  }
}

}  // namespace geodomain
