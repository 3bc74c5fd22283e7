// The CPU face of segments: loops over segments.
#include <algorithm>
#include <cmath>

#include "bvh_host.h"
#include "find_many.h"
#include "least_row.h"

using namespace geodomain;

namespace {

constexpr std::int64_t kPiece = 512;  // segments to a piece of work

// piece(begin, end) over all rows, by as many threads.
template <class Piece>
int each_piece(std::int64_t rows, int threads, Piece&& piece) {
  try {
    Team team(rows > kPiece ? threads : 1);
    team.run(rows, kPiece, [&](std::int64_t begin, std::int64_t end, int) { piece(begin, end); });
    return 0;
  } catch (...) {
    return 1;
  }
}

// A question to each segment: make(row), then done(row, question).
template <class Question, class Make, class Done>
int ask_rows(const void* handle, const double* ends, std::int64_t rows, int threads, Make&& make,
             Done&& done) {
  const BvhView bvh = static_cast<const HostBvh*>(handle)->view();
  return each_piece(rows, threads, [&](std::int64_t begin, std::int64_t end) {
    ask_many<Question>(
        bvh, begin, end, [&](std::int64_t row) { return segment_of(ends, row); }, make, done);
  });
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
  return ask_rows<Any>(
      handle, ends, rows, threads, [](std::int64_t) { return Any{}; },
      [out](std::int64_t row, const Any& any) { out[row] = any.found; });
}

GD_API int geodomain_segments_count(const void* handle, const double* ends, std::int64_t rows,
                                    int threads, std::int32_t* out) {
  return ask_rows<Count>(
      handle, ends, rows, threads, [](std::int64_t) { return Count{}; },
      [out](std::int64_t row, const Count& all) { out[row] = all.count; });
}

// The crossed triangle with the least (t, index), -1 where there is none.
GD_API int geodomain_segments_nearest(const void* handle, const double* ends, std::int64_t rows,
                                      int threads, std::int32_t* out) {
  return ask_rows<Nearest>(
      handle, ends, rows, threads, [](std::int64_t) { return Nearest{}; },
      [out](std::int64_t row, const Nearest& nearest) { out[row] = nearest.best.triangle; });
}

// Every crossed triangle, a segment's at offsets[i] to offsets[i + 1], by (t, index).
GD_API int geodomain_segments_all(const void* handle, const double* ends, std::int64_t rows,
                                  int threads, const std::int64_t* offsets, Found* out) {
  return ask_rows<List>(
      handle, ends, rows, threads, [=](std::int64_t row) { return List{out + offsets[row]}; },
      [=](std::int64_t row, const List&) {
        sort_found(out + offsets[row], offsets[row + 1] - offsets[row]);
      });
}

// What each hit is: rows of t, u, v, distance, x, y, z.
GD_API int geodomain_segments_describe(const double* vertices, const std::int32_t* triangles,
                                       std::int64_t triangle_count, const double* ends,
                                       const std::int64_t* segments, const std::int32_t* crossed,
                                       std::int64_t hits, int threads, double* out) {
  const MeshView mesh = {vertices, triangles, triangle_count};
  return each_piece(hits, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      write_hit(describe(segment_of(ends, segments[i]), mesh.triangle(crossed[i])), out + 7 * i);
    }
  });
}

// Segments as rows of six, checked. `order` may be null. faults: the first row with an infinite
// end, or -1; the number of rows with a NaN; the number that are finite and out of a mesh's range,
// which are marked. All of these become rows of NaN.
GD_API int geodomain_segments_pack(const double* starts, const double* ends,
                                   const std::int64_t* order, std::int64_t rows, int threads,
                                   double* out, std::uint8_t* out_of_range, std::int64_t* faults) {
  LeastRow infinite;
  std::atomic<std::int64_t> missing{0}, extreme{0};
  const int status = each_piece(rows, threads, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t missing_here = 0, extreme_here = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = order ? order[i] : i;
      const Fault fault = pack_segment(starts + 3 * row, ends + 3 * row, out + 6 * i);
      if (fault == Fault::infinite) infinite.keep(row);
      missing_here += fault == Fault::missing;
      extreme_here += fault == Fault::extreme;
      out_of_range[i] = fault == Fault::extreme;
    }
    missing += missing_here;
    extreme += extreme_here;
  });
  faults[0] = infinite.found();
  faults[1] = missing;
  faults[2] = extreme;
  return status;
}
