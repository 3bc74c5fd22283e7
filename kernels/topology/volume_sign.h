// The sign of the volume that triangles enclose, where doubles tell it for certain. Host only.
#pragma once

#include <mutex>

#include "platform/thread_team.h"
#include "platform/triangles_ahead.h"

namespace geodomain {

// Six times the volume, and the sizes of what was added up.
struct SignedVolume {
  double value = 0.0, size = 0.0;

  void add(Vec3 a, Vec3 b, Vec3 c) {
    const double rows[3][3] = {
        {a.x, b.y * c.z, b.z * c.y}, {a.y, b.z * c.x, b.x * c.z}, {a.z, b.x * c.y, b.y * c.x}};
    double term = 0.0;
    for (const auto& [height, left, right] : rows) {
      term += height * (left - right);
      size += std::fabs(height) * (std::fabs(left) + std::fabs(right));
    }
    value += term;
  }
};

// 0 where doubles do not tell. Each term is off by less than 16 units of its size, the sum by one
// for each addend.
inline int volume_sign(const MeshView& mesh, Team& team) {
  if (mesh.triangle_count == 0) return 0;
  const Vec3 origin = mesh.vertex(mesh.triangles[0]);
  const auto seen = [&](Vec3 p) { return Vec3{p.x - origin.x, p.y - origin.y, p.z - origin.z}; };
  SignedVolume all;
  std::mutex mutex;
  team.run(mesh.triangle_count, 8192, [&](std::int64_t begin, std::int64_t end, int) {
    SignedVolume part;
    visit_triangles(mesh, begin, end, [&](const Triangle& t, std::int64_t) {
      part.add(seen(t.a), seen(t.b), seen(t.c));
    });
    const std::lock_guard<std::mutex> lock(mutex);
    all.value += part.value, all.size += part.size;
  });
  const double bound = all.size * 0x1p-52 * (16.0 + static_cast<double>(mesh.triangle_count));
  return all.value > bound ? 1 : all.value < -bound ? -1 : 0;
}

}  // namespace geodomain
