// The caller's arrays checked, copied and measured, in one pass each.
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "closed.h"
#include "team.h"

using namespace geodomain;

namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kPiece = 8192;

struct Smallest {
  std::atomic<std::int64_t> value{kNone};

  void keep(std::int64_t candidate) {
    std::int64_t known = value.load(std::memory_order_relaxed);
    while (candidate < known && !value.compare_exchange_weak(known, candidate)) {
    }
  }
  std::int64_t found() const { return value == kNone ? -1 : value.load(); }
};

// Degree-3 expansions of such coordinates neither underflow nor overflow.
bool in_range(double value) {
  const double size = std::fabs(value);
  return value == 0.0 || (size >= 0x1p-306 && size <= 0x1p+339);
}

void widen(Bounds& box, const Bounds& other) {
  box.low = {std::fmin(box.low.x, other.low.x), std::fmin(box.low.y, other.low.y),
             std::fmin(box.low.z, other.low.z)};
  box.high = {std::fmax(box.high.x, other.high.x), std::fmax(box.high.y, other.high.y),
              std::fmax(box.high.z, other.high.z)};
}

EdgeHash hash_edges(const std::int32_t* triangles, std::int64_t triangle_count,
                    const std::int32_t* merged, Team& team) {
  std::vector<EdgeHash> parts(static_cast<std::size_t>(team.size()));
  team.run(triangle_count, kPiece, [&](std::int64_t begin, std::int64_t end, int member) {
    EdgeHash hash;
    for (std::int64_t i = 3 * begin; i < 3 * end; i += 3) {
      const auto corner = [&](int k) {
        const std::int32_t index = triangles[i + k];
        return static_cast<std::uint32_t>(merged ? merged[index] : index);
      };
      hash.triangle(corner(0), corner(1), corner(2));
    }
    parts[static_cast<std::size_t>(member)].join(hash);
  });
  EdgeHash total;
  for (const EdgeHash& part : parts) total.join(part);
  return total;
}

}  // namespace

// Copies vertices (-0.0 becoming 0.0) and triangles. bounds: low x, y, z, high x,
// y, z of the vertices that triangles use; faults: the first vertex that is not
// finite or out of range and the first triangle with an index out of range, -1
// where there is none; flags: closed and balanced by index.
GD_API int geodomain_mesh_check(const double* vertices, std::int64_t vertex_count,
                                const std::int32_t* triangles, std::int64_t triangle_count,
                                int threads, double* vertices_out, std::int32_t* triangles_out,
                                double* bounds, std::int64_t* faults, std::int32_t* flags) {
  try {
    Team team(threads);
    Smallest bad_vertex, bad_triangle;
    // Several threads may store the same 1.
    std::unique_ptr<std::atomic<std::uint8_t>[]> used(
        new std::atomic<std::uint8_t>[static_cast<std::size_t>(vertex_count)]());
    team.run(triangle_count, kPiece, [&](std::int64_t begin, std::int64_t end, int) {
      std::memcpy(triangles_out + 3 * begin, triangles + 3 * begin,
                  static_cast<std::size_t>(3 * (end - begin)) * sizeof(std::int32_t));
      for (std::int64_t i = 3 * begin; i < 3 * end; ++i) {
        if (triangles[i] < 0 || triangles[i] >= vertex_count) {
          bad_triangle.keep(i / 3);
        } else {
          used[static_cast<std::size_t>(triangles[i])].store(1, std::memory_order_relaxed);
        }
      }
    });
    const double infinity = std::numeric_limits<double>::infinity();
    const Bounds nothing = {{infinity, infinity, infinity}, {-infinity, -infinity, -infinity}};
    Bounds box = nothing;
    std::mutex box_mutex;
    team.run(vertex_count, kPiece, [&](std::int64_t begin, std::int64_t end, int) {
      Bounds part = nothing;
      for (std::int64_t i = begin; i < end; ++i) {
        const double* v = vertices + 3 * i;
        const Vec3 p = {v[0] + 0.0, v[1] + 0.0, v[2] + 0.0};
        if (!(in_range(p.x) && in_range(p.y) && in_range(p.z))) bad_vertex.keep(i);
        vertices_out[3 * i] = p.x;
        vertices_out[3 * i + 1] = p.y;
        vertices_out[3 * i + 2] = p.z;
        if (used[static_cast<std::size_t>(i)].load(std::memory_order_relaxed)) widen(part, {p, p});
      }
      std::lock_guard<std::mutex> lock(box_mutex);
      widen(box, part);
    });
    const double corners[6] = {box.low.x, box.low.y, box.low.z, box.high.x, box.high.y, box.high.z};
    std::memcpy(bounds, corners, sizeof corners);
    faults[0] = bad_vertex.found();
    faults[1] = bad_triangle.found();
    if (faults[0] >= 0 || faults[1] >= 0) return 0;
    const EdgeHash hash = hash_edges(triangles_out, triangle_count, nullptr, team);
    flags[0] = hash.closed();
    flags[1] = hash.balanced();
    return 0;
  } catch (...) {
    return 1;
  }
}

// flags: closed and balanced, vertices taken as equal where `merged` says so.
GD_API int geodomain_mesh_closed(const std::int32_t* triangles, std::int64_t triangle_count,
                                 const std::int32_t* merged, int threads, std::int32_t* flags) {
  try {
    Team team(threads);
    const EdgeHash hash = hash_edges(triangles, triangle_count, merged, team);
    flags[0] = hash.closed();
    flags[1] = hash.balanced();
    return 0;
  } catch (...) {
    return 1;
  }
}

// merged[i] = the first vertex equal to vertex i, as numbers; -0.0 is 0.0 already.
GD_API int geodomain_merge_vertices(const double* vertices, std::int64_t vertex_count,
                                    std::int32_t* merged) {
  try {
    std::size_t size = 16;
    while (size < 2 * static_cast<std::size_t>(vertex_count)) size *= 2;
    std::vector<std::int32_t> table(size, -1);
    for (std::int64_t i = 0; i < vertex_count; ++i) {
      std::uint64_t bits[3];
      std::memcpy(bits, vertices + 3 * i, sizeof bits);
      std::size_t slot = mixed(bits[0] + mixed(bits[1] + mixed(bits[2])));
      for (;; ++slot) {
        std::int32_t& known = table[slot & (size - 1)];
        if (known < 0) known = static_cast<std::int32_t>(i);
        if (std::memcmp(vertices + 3 * static_cast<std::int64_t>(known), bits, sizeof bits) == 0) {
          merged[i] = known;
          break;
        }
      }
    }
    return 0;
  } catch (...) {
    return 1;
  }
}
