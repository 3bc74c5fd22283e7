// The CPU face of segments: loops over segments.
#include <algorithm>
#include <cmath>

#include "bvh_host.h"
#include "find.h"
#include "least_row.h"

using namespace geodomain;

namespace {

constexpr std::int64_t kPiece = 512;  // segments to a piece of work

Segment segment_of(const double* ends, std::int64_t row) {
  const double* s = ends + 6 * row;
  return {{s[0], s[1], s[2]}, {s[3], s[4], s[5]}};
}

// row(index) for each of them, by as many threads.
template <class Row>
int each_row(std::int64_t rows, int threads, Row&& row) {
  try {
    Team team(rows > kPiece ? threads : 1);
    team.run(rows, kPiece, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) row(i);
    });
    return 0;
  } catch (...) {
    return 1;
  }
}

}  // namespace

GD_API int geodomain_bvh_create(const double* vertices, const std::int32_t* triangles,
                                std::int64_t triangle_count, const double* bounds, int threads,
                                double* times, void** handle) {
  try {
    FloatGuard guard;
    const MeshView mesh = {vertices, triangles, triangle_count};
    const Bounds box = {{bounds[0], bounds[1], bounds[2]}, {bounds[3], bounds[4], bounds[5]}};
    Team team(triangle_count > kPiece ? threads : 1);
    std::unique_ptr<HostBvh> bvh(new HostBvh(mesh, box, team));
    const BuildTimes& took = bvh->times();
    const double values[4] = {took.boxes, took.codes, took.sort, took.tree};
    std::copy(values, values + 4, times);
    *handle = bvh.release();
    return 0;
  } catch (...) {
    return 1;
  }
}

GD_API void geodomain_bvh_free(void* handle) { delete static_cast<HostBvh*>(handle); }

// In all of these `ends` is (rows, 6): start and end; a row of NaN crosses nothing.

GD_API int geodomain_segments_boolean(const void* handle, const double* ends, std::int64_t rows,
                                      int threads, std::uint8_t* out) {
  const BvhView bvh = static_cast<const HostBvh*>(handle)->view();
  return each_row(rows, threads, [&](std::int64_t i) {
    bool found;
    find_any<Full, kPacket>(bvh, segment_of(ends, i), found);
    out[i] = found;
  });
}

GD_API int geodomain_segments_count(const void* handle, const double* ends, std::int64_t rows,
                                    int threads, std::int32_t* out) {
  const BvhView bvh = static_cast<const HostBvh*>(handle)->view();
  return each_row(rows, threads, [&](std::int64_t i) {
    count_all<Full, kPacket>(bvh, segment_of(ends, i), out[i]);
  });
}

// The crossed triangle with the least (t, index), -1 where there is none.
GD_API int geodomain_segments_nearest(const void* handle, const double* ends, std::int64_t rows,
                                      int threads, std::int32_t* out) {
  const BvhView bvh = static_cast<const HostBvh*>(handle)->view();
  return each_row(rows, threads, [&](std::int64_t i) {
    find_nearest<Full, kPacket>(bvh, segment_of(ends, i), out[i]);
  });
}

// Every crossed triangle, a segment's at offsets[i] to offsets[i + 1], by (t, index).
GD_API int geodomain_segments_all(const void* handle, const double* ends, std::int64_t rows,
                                  int threads, const std::int64_t* offsets, Found* out) {
  const BvhView bvh = static_cast<const HostBvh*>(handle)->view();
  return each_row(rows, threads, [&](std::int64_t i) {
    list_all<Full, kPacket>(bvh, segment_of(ends, i), out + offsets[i]);
    sort_found(out + offsets[i], offsets[i + 1] - offsets[i]);
  });
}

// What each hit is: rows of t, u, v, distance, x, y, z.
GD_API int geodomain_segments_describe(const double* vertices, const std::int32_t* triangles,
                                       std::int64_t triangle_count, const double* ends,
                                       const std::int64_t* segments, const std::int32_t* crossed,
                                       std::int64_t hits, int threads, double* out) {
  const MeshView mesh = {vertices, triangles, triangle_count};
  return each_row(hits, threads, [&](std::int64_t i) {
    const Hit hit = describe(segment_of(ends, segments[i]), mesh.triangle(crossed[i]));
    const double values[7] = {hit.t,       hit.u,       hit.v,      hit.distance,
                              hit.point.x, hit.point.y, hit.point.z};
    std::copy(values, values + 7, out + 7 * i);
  });
}

// Segments as rows of six, checked: what is wrong with a coordinate. `order` may be null.
// faults: the first row with an infinite end; the number of rows with a NaN, which become
// NaN altogether; the number that are finite and out of a mesh's range.
GD_API int geodomain_segments_pack(const double* starts, const double* ends,
                                   const std::int64_t* order, std::int64_t rows, int threads,
                                   double* out, std::uint8_t* out_of_range, std::int64_t* faults) {
  LeastRow infinite;
  std::atomic<std::int64_t> missing{0}, extreme{0};
  const int status = each_row(rows, threads, [&](std::int64_t i) {
    const std::int64_t row = order ? order[i] : i;
    bool nan = false, inf = false, outside = false;
    for (int k = 0; k < 6; ++k) {
      const double value = k < 3 ? starts[3 * row + k] : ends[3 * row + k - 3];
      const double size = std::fabs(value);
      nan |= value != value;
      inf |= size == HUGE_VAL;
      outside |= !(value == 0.0 || (size >= 0x1p-306 && size <= 0x1p339));
      out[6 * i + k] = value + 0.0;  // -0.0 is 0.0
    }
    if (inf && !nan) infinite.keep(row);
    if (nan) missing.fetch_add(1, std::memory_order_relaxed);
    const bool odd = outside && !nan && !inf;
    if (odd) extreme.fetch_add(1, std::memory_order_relaxed);
    if (out_of_range) out_of_range[i] = odd;
    if (outside) std::fill(out + 6 * i, out + 6 * i + 6, std::nan(""));
  });
  faults[0] = infinite.found();
  faults[1] = missing;
  faults[2] = extreme;
  return status;
}
