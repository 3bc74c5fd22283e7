// The cells of a grid that a triangle may meet: where its entries go, which slabs it occupies,
// and how it changes the labels of the slabs below.
#pragma once

#include "grid/frame.h"
#include "grid/grid.h"
#include "platform/atomics.h"

namespace geodomain {

// A coordinate inside a column (or row) of cells; the free slabs are labelled along its vertical
// line. NaN if rounding leaves none. [low, high] is the range of the grid.
GD_HD double cell_sample(const Axis& axis, std::int32_t cell, double low, double high) {
  double sample =
      axis.scale > 0.0 ? axis.origin + (cell + 0.5) / axis.scale : low + (high - low) / 2;
  if (is_tiny(sample)) sample = 0.0;
  return axis.index(sample) == cell ? sample : NAN;
}

// Where a triangle goes, stored between counting and scattering: a box of cells, or `large` if the
// cells have to be computed again row by row, or none (no rows).
struct Stamp {
  std::uint32_t cell;
  std::uint8_t columns : 2, rows : 2, wall : 1, large : 1;
  std::uint8_t low, high;  // slabs
};
static_assert(sizeof(Stamp) == 8, "as every compiler has it");

GD_HD Stamp make_stamp(const Frame& frame, const Footprint& box, bool wall) {
  const std::int32_t columns = box.i1 - box.i0 + 1, rows = box.j1 - box.j0 + 1;
  Stamp stamp;
  stamp.cell = static_cast<std::uint32_t>(box.j0) * static_cast<std::uint32_t>(frame.x.cells) +
               static_cast<std::uint32_t>(box.i0);
  stamp.columns = static_cast<std::uint8_t>(columns & 3);
  stamp.rows = static_cast<std::uint8_t>(rows & 3);
  stamp.wall = wall;
  stamp.large = columns > 3 || rows > 3;
  stamp.low = static_cast<std::uint8_t>(box.k0);
  stamp.high = static_cast<std::uint8_t>(box.k1);
  return stamp;
}

// Marks the slabs of a cell that the triangle occupies; if it crosses the cell's sample line (x,
// y), the parity of every slab below it changes. False if the arithmetic is unsure of the crossing,
// which is then left to `mark_crossing` with another arithmetic.
template <class Arithmetic>
GD_HD bool mark_crossing(Slabs& slabs, const Triangle& t, std::int32_t lowest, double x, double y) {
  const std::uint64_t below = (std::uint64_t{1} << lowest) - 1;
  if (below == 0) return true;
  if (!(x >= smallest(t.a.x, t.b.x, t.c.x) && x <= largest(t.a.x, t.b.x, t.c.x) &&
        y >= smallest(t.a.y, t.b.y, t.c.y) && y <= largest(t.a.y, t.b.y, t.c.y))) {
    return true;
  }
  const int sign = crossing_sign<Arithmetic>(t, x, y);
  if (sign == kUnsure) return false;
  if (sign != 0) atomic_xor(&slabs.inside, below);
  return true;
}

GD_HD std::uint64_t slabs_of(const Footprint& box) {
  const std::uint64_t below = (std::uint64_t{1} << box.k0) - 1;
  const std::uint64_t up_to = ~std::uint64_t{0} >> (kSlabs - 1 - box.k1);
  return up_to & ~below;
}

template <class Arithmetic>
GD_HD bool mark(Slabs& slabs, const Triangle& t, const Footprint& box, double x, double y) {
  atomic_or(&slabs.occupied, slabs_of(box));
  return mark_crossing<Arithmetic>(slabs, t, box.k0, x, y);
}

}  // namespace geodomain
