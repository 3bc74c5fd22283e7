// Memory copied by several threads, between the caller's arrays and memory that a device
// copies from and to: one thread moves a fifth of what the bus does.
#include <cstring>

#include "mesh_view.h"
#include "team.h"

using namespace geodomain;

namespace {

constexpr std::int64_t kPieceBytes = 1 << 18;
constexpr std::int64_t kPointBytes = 24;

void copy_bytes(Team& team, const char* from, char* to, std::int64_t bytes) {
  team.run(bytes, kPieceBytes, [=](std::int64_t begin, std::int64_t end, int) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

// Whether the columns are those of one array, row after row without a gap.
bool is_packed(const PointsView& points) {
  const bool steps = points.stride_x == kPointBytes && points.stride_y == kPointBytes &&
                     points.stride_z == kPointBytes;
  return steps && points.y == points.x + 8 && points.z == points.x + 16;
}

}  // namespace

// Threads that last until the handle is freed: to start them costs more than a small copy.
GD_API int geodomain_stager_create(int threads, void** handle) {
  try {
    *handle = new Team(threads);
    return 0;
  } catch (...) {
    return 1;
  }
}

GD_API void geodomain_stager_free(void* handle) { delete static_cast<Team*>(handle); }

GD_API int geodomain_stager_copy(void* handle, const void* from, void* to, std::int64_t bytes) {
  try {
    copy_bytes(*static_cast<Team*>(handle), static_cast<const char*>(from), static_cast<char*>(to),
               bytes);
    return 0;
  } catch (...) {
    return 1;
  }
}

// Rows of three columns, whatever their strides, to x y z, x y z, ...
GD_API int geodomain_stager_gather(void* handle, const void* const* columns,
                                   const std::int64_t* strides, std::int64_t rows, double* to) {
  try {
    Team& team = *static_cast<Team*>(handle);
    const PointsView points = {static_cast<const char*>(columns[0]),
                               static_cast<const char*>(columns[1]),
                               static_cast<const char*>(columns[2]),
                               strides[0],
                               strides[1],
                               strides[2]};
    if (is_packed(points)) {
      copy_bytes(team, points.x, reinterpret_cast<char*>(to), kPointBytes * rows);
      return 0;
    }
    team.run(rows, kPieceBytes / kPointBytes, [=](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin; row < end; ++row) {
        const Vec3 q = points[row];
        to[3 * row] = q.x;
        to[3 * row + 1] = q.y;
        to[3 * row + 2] = q.z;
      }
    });
    return 0;
  } catch (...) {
    return 1;
  }
}
