// Vertical lines on the CPU: loops over points.
#include "grid/sides.h"

#include "grid/build.h"
#include "platform/c_function.h"

using namespace geodomain;

// Crossings above and below the displaced point, (rows, 2).
GD_API Status geodomain_grid_sides(const void* handle, const void* const* columns,
                                   const std::int64_t* strides, std::int64_t rows, int threads,
                                   std::int32_t* out, std::int64_t* refused) {
  return answer(handle, columns, strides, rows, threads, refused,
                [out](const GridView* grid, const PointsView& points, std::int64_t begin,
                      std::int64_t end, LowestRow& first) {
                  for (std::int64_t row = begin; row < end; ++row) {
                    const Sides sides = count_sides(*grid, points[row]);
                    if (sides.above < 0) first.keep(row);
                    out[2 * row] = sides.above;
                    out[2 * row + 1] = sides.below;
                  }
                });
}
GD_DESCRIBE(geodomain_grid_sides);
