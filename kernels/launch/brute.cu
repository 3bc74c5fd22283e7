// Brute force on the GPU: one block for each triangle, whose threads share the segments. Blocks
// combine their results in any order: flags, sums and minima.
#include "bvh/queries.h"
#include "platform/warp.h"

using namespace geodomain;

namespace {

using Word = unsigned long long;

// Calls body(row, segment, triangle, its index) for the segments that the block's triangle meets.
template <class Body>
__device__ void for_crossing(const BruteView& brute, const double* ends, std::uint32_t rows,
                             Body&& body) {
  const std::int64_t index = blockIdx.x;
  const Box box = brute.boxes[index];
  for (std::uint64_t row = threadIdx.x; row < rows; row += blockDim.x) {
    const Segment s = segment_of(ends, static_cast<std::int64_t>(row));
    if (!meet(span_of(brute.frame, s), box) || !crosses(s, brute.mesh.triangle(index))) continue;
    body(row, s, brute.mesh.triangle(index), static_cast<std::int32_t>(index));
  }
}

// The bits of a non-negative number; they have the same order as the numbers.
__device__ Word bits_of_t(const Segment& s, const Triangle& t) {
  Place place;
  place_on_segment<Full>(s, t, place);
  Word bits;
  memcpy(&bits, &place.t, sizeof bits);
  return bits;
}

}  // namespace

extern "C" __global__ void geodomain_brute_boolean(BruteView brute, const double* ends,
                                                   std::uint32_t rows, std::uint8_t* out) {
  for_crossing(
      brute, ends, rows,
      [=](std::uint64_t row, const Segment&, const Triangle&, std::int32_t) { out[row] = 1; });
}

extern "C" __global__ void geodomain_brute_count(BruteView brute, const double* ends,
                                                 std::uint32_t rows, std::int32_t* out) {
  for_crossing(brute, ends, rows,
               [=](std::uint64_t row, const Segment&, const Triangle&, std::int32_t) {
                 atomicAdd(out + row, 1);
               });
}

// The smallest t of each segment, as bits, and the smallest triangle with this t: `out` begins as
// -1, the largest unsigned number.
extern "C" __global__ void geodomain_brute_least(BruteView brute, const double* ends,
                                                 std::uint32_t rows, Word* least) {
  for_crossing(brute, ends, rows,
               [=](std::uint64_t row, const Segment& s, const Triangle& t, std::int32_t) {
                 atomicMin(least + row, bits_of_t(s, t));
               });
}

extern "C" __global__ void geodomain_brute_nearest(BruteView brute, const double* ends,
                                                   std::uint32_t rows, const Word* least,
                                                   std::uint32_t* out) {
  for_crossing(brute, ends, rows,
               [=](std::uint64_t row, const Segment& s, const Triangle& t, std::int32_t index) {
                 if (bits_of_t(s, t) == least[row]) {
                   atomicMin(out + row, static_cast<std::uint32_t>(index));
                 }
               });
}

// `taken` is the number of crossings stored for each segment so far.
extern "C" __global__ void geodomain_brute_all(BruteView brute, const double* ends,
                                               std::uint32_t rows, const std::int64_t* offsets,
                                               std::uint32_t* written, Found* out) {
  for_crossing(brute, ends, rows,
               [=](std::uint64_t row, const Segment& s, const Triangle& t, std::int32_t index) {
                 Place place;
                 place_on_segment<Full>(s, t, place);
                 out[offsets[row] + atomicAdd(written + row, 1u)] = {place.t, index};
               });
}

extern "C" __global__ void geodomain_brute_sort(std::uint32_t rows, const std::int64_t* offsets,
                                                Found* out) {
  const std::int64_t row = thread_row();
  if (row < rows) sort_found(out + offsets[row], offsets[row + 1] - offsets[row]);
}
