// Exact sums of products by group.
#include "volume/product_sums.h"

#include "platform/c_function.h"
#include "platform/portable.h"

using namespace geodomain;

// Adds, for each row, wholes[row] times its factors, (rows, factor_count), to the sum of the row's
// group: see `ProductSums`. Stops at the first row whose product does not fit; `done` is the number
// of rows that were added. There are at most two factors.
GD_API Status geodomain_add_products(const std::int64_t* groups, const std::int64_t* wholes,
                                     const double* factors, int factor_count, std::int64_t rows,
                                     int lane_count, int unit, std::int64_t* lanes,
                                     std::int64_t* done) {
  return guarded([&] {
    ProductSums sums(lanes, lane_count, unit);
    std::int64_t row = 0;
    while (row < rows &&
           sums.add(groups[row], wholes[row], factors + row * factor_count, factor_count)) {
      ++row;
    }
    *done = row;
  });
}
GD_DESCRIBE(geodomain_add_products);
