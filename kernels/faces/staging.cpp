// Memory copied by several threads, between the caller's arrays and memory that a device
// copies from and to: one thread moves a fifth of what the bus does.
#include <cstring>

#include "platform/c_function.h"
#include "platform/mesh_view.h"
#include "platform/staging_ring.h"
#include "platform/thread_team.h"

using namespace geodomain;

namespace {

constexpr std::int64_t kPieceBytes = 1 << 18;
constexpr std::int64_t kAlone = 1 << 20;  // what one thread copies before another wakes
constexpr std::int64_t kPointBytes = 24;

void copy_bytes(Team& team, const char* from, char* to, std::int64_t bytes) {
  team.run(bytes, bytes > kAlone ? kPieceBytes : kAlone,
           [=](std::int64_t begin, std::int64_t end, int) {
             std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
           });
}

// Whether the columns are those of one array, row after row without a gap.
bool is_packed(const PointsView& points) {
  const bool steps = points.stride_x == kPointBytes && points.stride_y == kPointBytes &&
                     points.stride_z == kPointBytes;
  return steps && points.y == points.x + 8 && points.z == points.x + 16;
}

void gather(const PointsView& points, std::int64_t begin, std::int64_t end, double* to) {
  if (is_packed(points)) {
    std::memcpy(to, points.x + kPointBytes * begin,
                static_cast<std::size_t>(kPointBytes * (end - begin)));
    return;
  }
  for (std::int64_t row = begin; row < end; ++row, to += 3) {
    const Vec3 q = points[row];
    to[0] = q.x;
    to[1] = q.y;
    to[2] = q.z;
  }
}

}  // namespace

// Threads that last until the handle is freed: to start them costs more than a small copy.
GD_API Status geodomain_stager_create(int threads, void** handle) {
  return guarded([&] { *handle = new Team(threads); });
}
GD_DESCRIBE(geodomain_stager_create);

GD_API void geodomain_stager_free(void* handle) { delete static_cast<Team*>(handle); }
GD_DESCRIBE(geodomain_stager_free);

GD_API Status geodomain_stager_copy(void* handle, const void* from, void* to, std::int64_t bytes) {
  return guarded([&] {
    copy_bytes(*static_cast<Team*>(handle), static_cast<const char*>(from), static_cast<char*>(to),
               bytes);
  });
}
GD_DESCRIBE(geodomain_stager_copy);

// Threads that write rows of three columns, whatever their strides, as x y z, x y z, ... to the
// pieces of a ring: piece k has rows [k * piece_rows, (k + 1) * piece_rows) and lies at k % size.
GD_API Status geodomain_filler_create(const void* const* columns, const std::int64_t* strides,
                                      std::int64_t rows, double* const* ring,
                                      std::int64_t ring_size, std::int64_t piece_rows, int threads,
                                      void** handle) {
  return guarded([&] {
    const PointsView points = {static_cast<const char*>(columns[0]),
                               static_cast<const char*>(columns[1]),
                               static_cast<const char*>(columns[2]),
                               strides[0],
                               strides[1],
                               strides[2]};
    const auto fill = [points](std::int64_t begin, std::int64_t end, double* to) {
      gather(points, begin, end, to);
    };
    *handle = new Filler(threads, rows, piece_rows, {ring, ring + ring_size}, fill);
  });
}
GD_DESCRIBE(geodomain_filler_create);

GD_API void geodomain_filler_free(void* handle) { delete static_cast<Filler*>(handle); }
GD_DESCRIBE(geodomain_filler_free);

GD_API void geodomain_filler_wait(void* handle, std::int64_t piece) {
  static_cast<Filler*>(handle)->wait(piece);
}
GD_DESCRIBE(geodomain_filler_wait);

GD_API void geodomain_filler_release(void* handle, std::int64_t piece) {
  static_cast<Filler*>(handle)->release(piece);
}
GD_DESCRIBE(geodomain_filler_release);
