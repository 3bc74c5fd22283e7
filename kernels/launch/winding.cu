// Winding numbers on the GPU: one thread for each point.
#include "grid/winding.h"
#include "platform/row_list.h"
#include "platform/warp.h"

using namespace geodomain;

// Two doubles for each point: the number and its bound.
extern "C" __global__ void geodomain_winding(GridView grid, PointsView points, std::int64_t rows,
                                             Rim rim, double* out, std::uint64_t* refused) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Winding winding = winding_number(grid, rim, points[row]);
  if (!winding.decided) refuse(row, refused);
  out[2 * row] = winding.number;
  out[2 * row + 1] = winding.bound;
}
