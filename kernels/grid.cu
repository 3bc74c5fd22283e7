// The CUDA face of the grid: one thread to a point.
#include "surface.h"

using namespace geodomain;

namespace {

// The first row whose coordinates are below the range of the arithmetic.
__device__ void refuse(Vec3 q, std::int64_t row, std::int64_t* refused) {
  if (too_small(q)) {
    atomicMin(reinterpret_cast<unsigned long long*>(refused), static_cast<unsigned long long>(row));
  }
}

}  // namespace

extern "C" __global__ void geodomain_contains(GridView grid, PointsView points, std::int64_t rows,
                                              std::uint8_t* out, std::int64_t* refused) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Vec3 q = points[row];
  Answer answer = look_up(grid, q);
  if (answer == Answer::undecided) {
    refuse(q, row, refused);
    answer = count_parity(grid, q) ? Answer::inside : Answer::outside;
  }
  out[row] = static_cast<std::uint8_t>(answer);
}

extern "C" __global__ void geodomain_crossings(GridView grid, PointsView points, std::int64_t rows,
                                               std::int32_t with_sign, std::int32_t* out,
                                               std::int64_t* refused) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Vec3 q = points[row];
  if (!misses(grid.bounds, q)) refuse(q, row, refused);
  const Crossings crossings = count_crossings(grid, q);
  out[row] = with_sign ? crossings.signed_count : crossings.count;
}

extern "C" __global__ void geodomain_on_surface(GridView grid, PointsView points, std::int64_t rows,
                                                std::uint8_t* out, std::int64_t* refused) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Vec3 q = points[row];
  if (!misses(grid.bounds, q)) refuse(q, row, refused);
  out[row] = on_surface(grid, q);
}
