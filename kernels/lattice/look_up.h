// Looks up rows in any order on a lattice: a row gets the answer of the cell with exactly the same
// three coordinates. No coordinate is computed from steps.
#pragma once

#include "lattice/lattice.h"
#include "platform/mesh_view.h"

namespace geodomain {

// The code of a row: 1 if the crossings above it are odd, plus twice the crossings of its vertical
// line, where 3 and 4 stand for any larger odd and even number; or this.
constexpr std::uint8_t kNotOnLattice = 255;

struct LatticeAnswers {
  LatticeView cells;
  const std::uint8_t* crossings;  // (x.count, y.count), of whole lines; null if not needed
  Bounds box;                     // of the mesh; rows outside need no cell

  // The index of a row's coordinate among the values of an axis, or -1. Mostly this is the index
  // after that of the previous row.
  static std::int32_t find(const Ruler& ruler, double at, std::int32_t before) {
    const std::int32_t after = before + 1;
    if (after < ruler.count && ruler.value[after] == at) return after;
    const std::int32_t place = ruler.lower(at);
    return place < ruler.count && ruler.value[place] == at ? place : -1;
  }

  // Lines outside the box in plan cross nothing; above it no crossing is above, below it all are.
  void answer(const PointsView& points, std::int64_t begin, std::int64_t end,
              std::uint8_t* out) const {
    double y = NAN, z = NAN;  // neighbours mostly share these: they are searched once
    std::int32_t i = -1, j = -1, k = -1;
    for (std::int64_t row = begin; row < end; ++row) {
      const Vec3 p = points[row];
      out[row] = kNotOnLattice;
      if (!((p.x - p.x) + (p.y - p.y) + (p.z - p.z) == 0.0)) continue;  // not finite
      const bool over = p.z > box.high.z, under = p.z < box.low.z;
      if (p.x < box.low.x || p.x > box.high.x || p.y < box.low.y || p.y > box.high.y ||
          (!crossings && (over || under))) {
        out[row] = 0;
        continue;
      }
      if (p.y != y) j = find(cells.y, y = p.y, j);
      if (p.z != z) k = find(cells.z, z = p.z, k);
      i = j < 0 ? -1 : find(cells.x, p.x, i);
      if (i < 0 || (k < 0 && !over && !under)) continue;
      const std::int64_t column = static_cast<std::int64_t>(i) * cells.y.count + j;
      const unsigned total = crossings ? crossings[column] : 0;
      const unsigned odd = over ? 0 : under ? total & 1 : bit(column, k);
      out[row] = static_cast<std::uint8_t>(odd + 2 * total);
    }
  }

 private:
  unsigned bit(std::int64_t column, std::int32_t k) const {
    return static_cast<unsigned>(cells.bits[column * cells.words + k / 64] >> (k % 64) & 1);
  }
};

// A bit for each cell of a lattice that has had a block, to recognise repeated blocks.

// The coordinates along an axis, in cells of one step. A cell has one coordinate, NaN until a block
// has it, so two blocks in the same cell have the same centroid.
struct AxisCells {
  double start, cells_per_unit;
  double first, count;  // the number of the first cell, where the start's is 0; and how many
  double* values;

  // The cell of a coordinate; -1 if it is beyond the cells, or its cell has another coordinate.
  std::int64_t find(double at) const {
    // Adding and subtracting this rounds numbers below 2^51 to integers, half to even; larger
    // numbers stay large, and NaN fails both comparisons.
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

// Sets the bits of blocks, x fastest with whole bytes in a row, and counts bits that were set
// already. Stops at the first block without a cell, and returns the number of blocks before it.
inline std::int64_t mark_blocks(const PointsView& points, std::int64_t rows, AxisCells x,
                                AxisCells y, AxisCells z, std::uint8_t* bits, std::int64_t& again) {
  const auto columns = static_cast<std::int64_t>(x.count),
             lines = static_cast<std::int64_t>(y.count);
  std::int64_t line = 0, place = 0;
  unsigned byte = bits[0];  // the byte at `place`, not yet written: rows along x share it
  Vec3 last = {};
  std::int64_t row = 0, hits = 0;
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
    hits += byte >> (cell % 8) & 1u;
    byte |= 1u << (cell % 8);
  }
  bits[place] = static_cast<std::uint8_t>(byte);
  again += hits;
  return row;
}

}  // namespace geodomain
