// The predicates alone on the GPU, for tests: see launch/predicates.cpp.
#include "exact/crossing.h"
#include "platform/warp.h"

using namespace geodomain;

extern "C" __global__ void geodomain_orient2d(const double* rows, std::int64_t count,
                                              std::int8_t* out) {
  const std::int64_t row = thread_row();
  if (row >= count) return;
  const double* r = rows + 6 * row;
  out[row] = static_cast<std::int8_t>(orient2d(r[0], r[1], r[2], r[3], r[4], r[5]));
}

extern "C" __global__ void geodomain_orient3d(const double* rows, std::int64_t count,
                                              std::int8_t* out) {
  const std::int64_t row = thread_row();
  if (row >= count) return;
  const double* r = rows + 12 * row;
  out[row] = static_cast<std::int8_t>(
      orient3d({r[0], r[1], r[2]}, {r[3], r[4], r[5]}, {r[6], r[7], r[8]}, {r[9], r[10], r[11]}));
}
