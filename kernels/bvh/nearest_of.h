// The nearest of a few triangles, which single precision has left.
#pragma once

#include "exact/nearest.h"
#include "platform/mesh_view.h"

namespace geodomain {

// A triangle that may be the nearest, and how near it is at least, in even places.
struct Noted {
  float least;
  std::int32_t triangle;
};
// As many as are noted until it has to be decided among them.
constexpr int kMostNoted = 8;

// The nearest of a few triangles, or what was found before: doubles leave out most of them.
GD_HD NearestFound nearest_of(const MeshView& mesh, Vec3 p, const Noted* noted, int count,
                              NearestFound best) {
  double most = best.foot.distance * (1.0 + 0x1p-50);
  TriangleReach reach[kMostNoted];
  for (int i = 0; i < count; ++i) {
    reach[i] = reach_of(mesh.triangle(noted[i].triangle), p);
    most = minimum(most, reach[i].most);
  }
  for (int i = 0; i < count; ++i) {
    if (!(reach[i].least <= most)) continue;
    const std::int32_t triangle = noted[i].triangle;
    const NearestFound found = {foot_on(mesh.triangle(triangle), p, reach[i].parts), triangle};
    if (best.triangle < 0 || found.is_before(best)) best = found;
    // A rounded distance may be below the bound that doubles gave, never far below it.
    most = minimum(most, best.foot.distance * (1.0 + 0x1p-50));
  }
  return best;
}

// A distance in even places, rounded up; `longest` as `longest_scale` has it.
GD_HD float most_in_places(double distance, double longest) {
  return static_cast<float>(distance * longest * (1.0 + 0x1p-20));
}

}  // namespace geodomain
