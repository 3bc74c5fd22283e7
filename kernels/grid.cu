// The CUDA face of the grid: one thread to a point. Two bits answer most points;
// the others are listed, counted in quick arithmetic, and the few that it leaves
// unsure are listed again for the full one. Lists come in any order; no answer
// depends on it.
#include "surface.h"

using namespace geodomain;

namespace {

struct RowList {
  std::uint32_t* rows;
  std::uint32_t* count;

  __device__ void append(std::uint32_t row) { rows[atomicAdd(count, 1u)] = row; }
};

// The first row whose coordinates are below the range of the arithmetic.
__device__ void refuse(Vec3 q, std::uint64_t row, std::uint64_t* refused) {
  if (too_small(q)) {
    atomicMin(reinterpret_cast<unsigned long long*>(refused), static_cast<unsigned long long>(row));
  }
}

template <class Arithmetic>
__device__ void count_listed(const GridView& grid, const PointsView& points,
                             const std::uint32_t* rows, const std::uint32_t* row_count,
                             std::uint8_t* out, RowList unsure) {
  const std::uint32_t step = gridDim.x * blockDim.x, count = *row_count;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const std::uint32_t row = rows[i];
    const Answer answer = count_parity<Arithmetic>(grid, points[row]);
    if (answer == Answer::undecided) {
      unsure.append(row);
    } else {
      out[row] = static_cast<std::uint8_t>(answer);
    }
  }
}

}  // namespace

extern "C" __global__ void geodomain_look_up(GridView grid, PointsView points, std::uint32_t rows,
                                             std::uint8_t* out, RowList open,
                                             std::uint64_t* refused) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Vec3 q = points[row];
  const Answer answer = look_up(grid, q);
  if (answer == Answer::undecided) {
    refuse(q, row, refused);
    open.append(static_cast<std::uint32_t>(row));
  } else {
    out[row] = static_cast<std::uint8_t>(answer);
  }
}

extern "C" __global__ void geodomain_count_quick(GridView grid, PointsView points,
                                                 const std::uint32_t* rows,
                                                 const std::uint32_t* row_count, std::uint8_t* out,
                                                 RowList unsure) {
  count_listed<Quick>(grid, points, rows, row_count, out, unsure);
}

extern "C" __global__ void geodomain_count_full(GridView grid, PointsView points,
                                                const std::uint32_t* rows,
                                                const std::uint32_t* row_count, std::uint8_t* out) {
  count_listed<Full>(grid, points, rows, row_count, out, {nullptr, nullptr});
}

extern "C" __global__ void geodomain_crossings(GridView grid, PointsView points, std::int64_t rows,
                                               std::int32_t with_sign, std::int32_t* out,
                                               std::uint64_t* refused) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Vec3 q = points[row];
  if (!misses(grid.bounds, q)) refuse(q, row, refused);
  const Crossings crossings = count_crossings(grid, q);
  out[row] = with_sign ? crossings.signed_count : crossings.count;
}

extern "C" __global__ void geodomain_on_surface(GridView grid, PointsView points, std::int64_t rows,
                                                std::uint8_t* out, std::uint64_t* refused) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Vec3 q = points[row];
  if (!misses(grid.bounds, q)) refuse(q, row, refused);
  out[row] = on_surface(grid, q);
}

// Codes of several solids, one after the other: -1 or, not finite, -2 to begin with.
extern "C" __global__ void geodomain_codes_begin(PointsView points, std::uint32_t rows,
                                                 std::int32_t* codes) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Vec3 q = points[row];
  codes[row] = isfinite(q.x) && isfinite(q.y) && isfinite(q.z) ? -1 : -2;
}

// The solid's code where it holds a point that no earlier one did.
extern "C" __global__ void geodomain_codes_take(const std::uint8_t* inside, std::uint32_t rows,
                                                std::int32_t code, std::int32_t* codes) {
  const std::int64_t row = thread_row();
  if (row < rows && inside[row] && codes[row] == -1) codes[row] = code;
}
