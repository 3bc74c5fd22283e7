// Queries of segments on the GPU: one thread for each segment. If fewer threads are launched, each
// processes every n-th segment. Segments that quick arithmetic cannot decide are listed for the
// full arithmetic.
#include "bvh/bins.h"
#include "bvh/queries.h"
#include "platform/loads.h"
#include "platform/row_list.h"
#include "platform/warp.h"

using namespace geodomain;

namespace {

__device__ std::uint32_t row_at(const SegmentRows& rows, std::uint32_t i) {
  return rows.order ? __ldg(rows.order + i) : i;
}

template <class Question, class Make, class Done>
__device__ void ask_quick(const BvhView& bvh, const SegmentRows& rows, RowList unsure, Make&& make,
                          Done&& done) {
  share(rows.count, [&](std::uint32_t i) {
    const std::uint32_t row = row_at(rows, i);
    Question question = make(row);
    if (ask<Quick, double>(bvh, load_whole(rows.segments + row), question)) {
      done(row, question);
    } else {
      unsure.append(row);
    }
  });
}

template <class Question, class Make, class Done>
__device__ void ask_full(const BvhView& bvh, const SegmentRows& rows, RowList unsure, Make&& make,
                         Done&& done) {
  share(*unsure.count, [&](std::uint32_t i) {
    const std::uint32_t row = unsure.rows[i];
    Question question = make(row);
    ask<Full, double>(bvh, load_whole(rows.segments + row), question);
    done(row, question);
  });
}

}  // namespace

extern "C" __global__ void geodomain_segments_boolean(BvhView bvh, SegmentRows rows,
                                                      std::uint8_t* out, RowList unsure) {
  ask_quick<Any>(
      bvh, rows, unsure, [](std::uint32_t) { return Any{}; },
      [out](std::uint32_t row, const Any& any) { out[row] = any.hit; });
}

extern "C" __global__ void geodomain_segments_boolean_full(BvhView bvh, SegmentRows rows,
                                                           std::uint8_t* out, RowList unsure) {
  ask_full<Any>(
      bvh, rows, unsure, [](std::uint32_t) { return Any{}; },
      [out](std::uint32_t row, const Any& any) { out[row] = any.hit; });
}

extern "C" __global__ void geodomain_segments_count(BvhView bvh, SegmentRows rows,
                                                    std::int32_t* out, RowList unsure) {
  ask_quick<Count>(
      bvh, rows, unsure, [](std::uint32_t) { return Count{}; },
      [out](std::uint32_t row, const Count& all) { out[row] = all.count; });
}

extern "C" __global__ void geodomain_segments_count_full(BvhView bvh, SegmentRows rows,
                                                         std::int32_t* out, RowList unsure) {
  ask_full<Count>(
      bvh, rows, unsure, [](std::uint32_t) { return Count{}; },
      [out](std::uint32_t row, const Count& all) { out[row] = all.count; });
}

extern "C" __global__ void geodomain_segments_nearest(BvhView bvh, SegmentRows rows,
                                                      std::int32_t* out, RowList unsure) {
  ask_quick<Nearest>(
      bvh, rows, unsure, [](std::uint32_t) { return Nearest{}; },
      [out](std::uint32_t row, const Nearest& nearest) { out[row] = nearest.triangle; });
}

extern "C" __global__ void geodomain_segments_nearest_full(BvhView bvh, SegmentRows rows,
                                                           std::int32_t* out, RowList unsure) {
  ask_full<Nearest>(
      bvh, rows, unsure, [](std::uint32_t) { return Nearest{}; },
      [out](std::uint32_t row, const Nearest& nearest) { out[row] = nearest.triangle; });
}

// Every crossing by (t, triangle); those of a segment are at offsets[row] to offsets[row + 1].
extern "C" __global__ void geodomain_segments_all(BvhView bvh, SegmentRows rows,
                                                  const std::int64_t* offsets, Found* out,
                                                  RowList unsure) {
  ask_quick<AllCrossings>(
      bvh, rows, unsure, [=](std::uint32_t row) { return AllCrossings{out + offsets[row]}; },
      [=](std::uint32_t row, const AllCrossings&) {
        sort_found(out + offsets[row], offsets[row + 1] - offsets[row]);
      });
}

extern "C" __global__ void geodomain_segments_all_full(BvhView bvh, SegmentRows rows,
                                                       const std::int64_t* offsets, Found* out,
                                                       RowList unsure) {
  ask_full<AllCrossings>(
      bvh, rows, unsure, [=](std::uint32_t row) { return AllCrossings{out + offsets[row]}; },
      [=](std::uint32_t row, const AllCrossings&) {
        sort_found(out + offsets[row], offsets[row + 1] - offsets[row]);
      });
}

// The results of each hit: rows of t, u, v, distance, x, y, z.
extern "C" __global__ void geodomain_segments_describe(MeshView mesh, const double* ends,
                                                       const std::int64_t* segments,
                                                       const std::int32_t* crossed,
                                                       std::int64_t hits, double* out) {
  const std::int64_t i = thread_row();
  if (i >= hits) return;
  write_hit(describe(segment_of(ends, segments[i]), mesh.triangle(crossed[i])), out + 7 * i);
}
