// Footprints for Python, by a handle that is queried for blocks.
#include "volume/footprint_end.h"

#include <memory>

#include "platform/c_function.h"
#include "platform/float_guard.h"

using namespace geodomain;

// `edges`: (edge_count, 2, 3), the rim of a surface and its folds; the caller keeps them. `reach`:
// for each edge, where the footprint ends along it, as `EdgeReach`.
GD_API Status geodomain_footprint_create(const double* vertices, const std::int32_t* triangles,
                                         std::int64_t triangle_count, const double* edges,
                                         std::int64_t edge_count, int threads, std::uint8_t* reach,
                                         void** handle) {
  return guarded([&] {
    FloatGuard guard;
    Team team(threads);
    const MeshView mesh = {vertices, triangles, triangle_count};
    auto footprint = std::make_unique<FootprintEnd>(mesh, edges, edge_count, team);
    std::copy(footprint->reach().begin(), footprint->reach().end(), reach);
    *handle = footprint.release();
  });
}
GD_DESCRIBE(geodomain_footprint_create);

GD_API void geodomain_footprint_free(void* handle) { delete static_cast<FootprintEnd*>(handle); }
GD_DESCRIBE(geodomain_footprint_free);

// Whether the footprint ends inside the plan of each block from lows to highs, (rows, 3).
GD_API Status geodomain_footprint_ends(const void* handle, const double* lows, const double* highs,
                                       std::int64_t rows, int threads, std::uint8_t* ends) {
  return guarded([&] {
    const FootprintEnd& footprint = *static_cast<const FootprintEnd*>(handle);
    Team team(rows > 64 ? threads : 1);
    team.run(rows, 64, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        ends[i] = footprint.ends_in(block_between(lows + 3 * i, highs + 3 * i));
      }
    });
  });
}
GD_DESCRIBE(geodomain_footprint_ends);
