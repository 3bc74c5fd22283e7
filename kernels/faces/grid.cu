// The CUDA face of the grid: one thread to a point. Two bits answer most points;
// the others are listed, counted in quick arithmetic, and the few that it leaves
// unsure are listed again for the full one. Lists come in any order; no answer
// depends on it.
#include "grid/codes.h"
#include "grid/on_surface.h"
#include "platform/refuse.h"
#include "platform/row_list.h"
#include "platform/warp.h"

using namespace geodomain;

namespace {

// The rows of a list, whose length is on the device, among the threads of a launch.
template <class Body>
__device__ void for_listed(const std::uint32_t* rows, const std::uint32_t* row_count, Body&& body) {
  const std::uint32_t step = gridDim.x * blockDim.x, count = *row_count;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) body(rows[i]);
}

// count_parity by floats first, by Quick doubles where those are unsure.
__device__ Answer count_single(const GridView& grid, const SingleView& single, Vec3 q) {
  return count_parity_by(grid, q, [&](std::int32_t triangle) {
    const int crossing = single.crossing_above(grid.mesh, triangle, q);
    if (crossing != kUnsure) return crossing;
    return crossing_above<Quick>(grid.mesh.triangle(triangle), q);
  });
}

// The codes of listed points, from the solid on that left them open; count(solid, q) decides.
template <class Count, class Undecided>
__device__ void go_on(const Solids& solids, const PointsView& points, const std::uint32_t* rows,
                      const std::uint32_t* row_count, std::int32_t* codes, Count&& count,
                      Undecided&& undecided) {
  for_listed(rows, row_count, [&](std::uint32_t row) {
    const Vec3 q = points[row];
    const std::int32_t code = first_solid(solids, q, solid_of(codes[row]), [&](const Solid& solid) {
      const Answer answer = look_up(solid.grid, q);
      return answer == Answer::undecided ? count(solid, q) : answer;
    });
    codes[row] = code;
    if (is_open(code)) undecided(row);
  });
}

}  // namespace

extern "C" __global__ void geodomain_look_up(GridView grid, PointsView points, std::uint32_t rows,
                                             std::uint8_t* out, RowList open) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Vec3 q = points[row];
  const Answer answer = look_up(grid, q);
  if (answer == Answer::undecided) {
    open.append(static_cast<std::uint32_t>(row));
  } else {
    out[row] = static_cast<std::uint8_t>(answer);
  }
}

extern "C" __global__ void geodomain_count_quick(GridView grid, PointsView points,
                                                 const std::uint32_t* rows,
                                                 const std::uint32_t* row_count, std::uint8_t* out,
                                                 RowList unsure) {
  for_listed(rows, row_count, [&](std::uint32_t row) {
    const Answer answer = count_parity<Quick>(grid, points[row]);
    if (answer == Answer::undecided) {
      unsure.append(row);
    } else {
      out[row] = static_cast<std::uint8_t>(answer);
    }
  });
}

// As geodomain_count_quick, in floats first: for cards with slow doubles.
extern "C" __global__ void geodomain_count_single(GridView grid, SingleView single,
                                                  PointsView points, const std::uint32_t* rows,
                                                  const std::uint32_t* row_count, std::uint8_t* out,
                                                  RowList unsure) {
  for_listed(rows, row_count, [&](std::uint32_t row) {
    const Answer answer = count_single(grid, single, points[row]);
    if (answer == Answer::undecided) {
      unsure.append(row);
    } else {
      out[row] = static_cast<std::uint8_t>(answer);
    }
  });
}

extern "C" __global__ void geodomain_halve_vertices(const double* vertices, std::int64_t count,
                                                    HalvedVertex* out) {
  const std::int64_t row = thread_row();
  if (row >= count) return;
  const double* v = vertices + 3 * row;
  out[row] = halve({v[0], v[1], v[2]});
}

extern "C" __global__ void geodomain_count_full(GridView grid, PointsView points,
                                                const std::uint32_t* rows,
                                                const std::uint32_t* row_count, std::uint8_t* out,
                                                std::uint64_t* refused) {
  for_listed(rows, row_count, [&](std::uint32_t row) {
    const Answer answer = count_parity<Full>(grid, points[row]);
    if (answer == Answer::undecided) refuse(row, refused);
    out[row] = static_cast<std::uint8_t>(answer);
  });
}

extern "C" __global__ void geodomain_crossings(GridView grid, PointsView points, std::int64_t rows,
                                               std::int32_t with_sign, std::int32_t* out,
                                               std::uint64_t* refused) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Crossings crossings = count_crossings(grid, points[row]);
  if (crossings.count < 0) refuse(row, refused);
  out[row] = with_sign ? crossings.signed_count : crossings.count;
}

extern "C" __global__ void geodomain_on_surface(GridView grid, PointsView points, std::int64_t rows,
                                                std::uint8_t* out, std::uint64_t* refused) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Answer answer = on_surface(grid, points[row]);
  if (answer == Answer::undecided) refuse(row, refused);
  out[row] = static_cast<std::uint8_t>(answer);
}

// The first solid that holds each point: by two bits where they tell, and so on as for one solid.
extern "C" __global__ void geodomain_codes_look_up(Solids solids, PointsView points,
                                                   std::uint32_t rows, std::int32_t* codes,
                                                   RowList open) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Vec3 q = points[row];
  std::int32_t code = kNotFinite;
  if (is_finite(q)) {
    code = first_solid(solids, q, 0, [&](const Solid& solid) { return look_up(solid.grid, q); });
  }
  codes[row] = code;
  if (is_open(code)) open.append(static_cast<std::uint32_t>(row));
}

extern "C" __global__ void geodomain_codes_quick(Solids solids, PointsView points,
                                                 const std::uint32_t* rows,
                                                 const std::uint32_t* row_count,
                                                 std::int32_t* codes, RowList unsure) {
  go_on(
      solids, points, rows, row_count, codes,
      [](const Solid& solid, Vec3 q) { return count_parity<Quick>(solid.grid, q); },
      [&](std::uint32_t row) { unsure.append(row); });
}

extern "C" __global__ void geodomain_codes_single(Solids solids, PointsView points,
                                                  const std::uint32_t* rows,
                                                  const std::uint32_t* row_count,
                                                  std::int32_t* codes, RowList unsure) {
  go_on(
      solids, points, rows, row_count, codes,
      [](const Solid& solid, Vec3 q) { return count_single(solid.grid, solid.single, q); },
      [&](std::uint32_t row) { unsure.append(row); });
}

extern "C" __global__ void geodomain_codes_full(Solids solids, PointsView points,
                                                const std::uint32_t* rows,
                                                const std::uint32_t* row_count, std::int32_t* codes,
                                                std::uint64_t* refused) {
  go_on(
      solids, points, rows, row_count, codes,
      [](const Solid& solid, Vec3 q) { return count_parity<Full>(solid.grid, q); },
      [&](std::uint32_t row) { refuse(row, refused); });
}
