// Vertical lines on the GPU: one thread for each point.
#include "grid/sides.h"
#include "platform/row_list.h"
#include "platform/warp.h"

using namespace geodomain;

// Two numbers for each point: the crossings above and below.
extern "C" __global__ void geodomain_sides(GridView grid, PointsView points, std::int64_t rows,
                                           std::int32_t* out, std::uint64_t* refused) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Sides sides = count_sides(grid, points[row]);
  if (sides.above < 0) refuse(row, refused);
  out[2 * row] = sides.above;
  out[2 * row + 1] = sides.below;
}
