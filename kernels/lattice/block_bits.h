// Which cells of a lattice have had a block: a bit each, by which one that comes again is found.
#pragma once

#include "platform/mesh_view.h"

namespace geodomain {

// The coordinates along an axis, in cells of one step. A cell has one coordinate, NaN until it is
// met, so two blocks in the same cell have the same centroid, as numbers.
struct AxisCells {
  double start, cells_per_unit;
  double first, count;  // the number of the first cell, the start's being 0; how many
  double* values;

  // The cell of a coordinate; -1 for one beyond the cells, or in a cell that has another.
  std::int64_t find(double at) const {
    // Added and taken away, it rounds numbers below 2^51 to whole ones, half to even; larger ones
    // stay large, and NaN fails both comparisons.
    constexpr double kWhole = 6755399441055744.0;
    const double cell = (((at - start) * cells_per_unit + kWhole) - kWhole) - first;
    if (!(cell >= 0 && cell < count)) return -1;
    const auto place = static_cast<std::int64_t>(cell);
    if (values[place] == at) return place;
    if (values[place] == values[place]) return -1;
    values[place] = at;
    return place;
  }
};

// Sets the bits of blocks, x fastest and a whole number of bytes to a row, and counts those that
// were set. Stops at the first block without a cell, and returns how many came before it.
inline std::int64_t mark_blocks(const PointsView& points, std::int64_t rows, AxisCells x,
                                AxisCells y, AxisCells z, std::uint8_t* bits, std::int64_t& again) {
  const auto columns = static_cast<std::int64_t>(x.count),
             lines = static_cast<std::int64_t>(y.count);
  std::int64_t line = 0, place = 0;
  unsigned byte = bits[0];  // the one at `place`, not yet written: rows along x share it
  Vec3 last = {};
  std::int64_t row = 0, found = 0;
  for (; row < rows; ++row) {
    const Vec3 p = points[row];
    if (row == 0 || p.y != last.y || p.z != last.z) {
      const std::int64_t j = y.find(p.y), k = z.find(p.z);
      if (j < 0 || k < 0) break;
      line = (k * lines + j) * columns;
      last = p;
    }
    const std::int64_t i = x.find(p.x);
    if (i < 0) break;
    const std::int64_t cell = line + i;
    if (cell / 8 != place) {
      bits[place] = static_cast<std::uint8_t>(byte);
      place = cell / 8;
      byte = bits[place];
    }
    found += byte >> (cell % 8) & 1u;
    byte |= 1u << (cell % 8);
  }
  bits[place] = static_cast<std::uint8_t>(byte);
  again += found;
  return row;
}

}  // namespace geodomain
