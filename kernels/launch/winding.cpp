// Winding numbers on the CPU: loops over points.
#include "grid/winding.h"

#include "grid/build.h"
#include "platform/c_function.h"

using namespace geodomain;

// Generalised winding numbers and the bounds on their errors, (rows, 2).
GD_API Status geodomain_grid_winding(const void* handle, const void* const* columns,
                                     const std::int64_t* strides, std::int64_t rows,
                                     const double* ends, const std::int32_t* weights,
                                     std::int64_t edge_count, int threads, double* out,
                                     std::int64_t* refused) {
  const Rim rim = {ends, weights, edge_count};
  return answer(handle, columns, strides, rows, threads, refused,
                [rim, out](const GridView* grid, const PointsView& points, std::int64_t begin,
                           std::int64_t end, LowestRow& first) {
                  for (std::int64_t row = begin; row < end; ++row) {
                    const Winding winding = winding_number(*grid, rim, points[row]);
                    if (!winding.decided) first.keep(row);
                    out[2 * row] = winding.number;
                    out[2 * row + 1] = winding.bound;
                  }
                });
}
GD_DESCRIBE(geodomain_grid_winding);

// The angle of (x, y), y >= 0, for tests.
GD_API double geodomain_upper_angle(double x, double y) { return upper_angle(x, y); }
GD_DESCRIBE(geodomain_upper_angle);
