// Labels blocks on a lattice with one ray for all the blocks of a column. Each crossing
// toggles one bit, that of the highest block below it, and a running xor down
// the column turns toggles into labels.
#pragma once

#include "grid/frame.h"
#include "platform/atomics.h"
#include "platform/portable.h"

namespace geodomain {

// Strictly increasing coordinates, and the index of the first value in each cell of `axis`: a
// search is one multiplication and a step or two if they are regular, and a
// bisection if many share a cell.
struct Ruler {
  const double* value;
  std::int32_t count;
  Axis axis;
  // By cell, and one past: the first value of that index or more; null if each value is in the
  // cell of its own number.
  const std::int32_t* first;

  // The first value >= x, or count.
  GD_HD std::int32_t lower(double x) const {
    return search([x](double v) { return v < x; }, x);
  }
  // The first value > x, or count.
  GD_HD std::int32_t upper(double x) const {
    return search([x](double v) { return v <= x; }, x);
  }
  // A value near x, if values are regular: the first of its cell.
  GD_HD std::int32_t near(double x) const {
    const std::int32_t cell = axis.index(x);
    return first ? first[cell] : cell;
  }

 private:
  template <class Before>
  GD_HD std::int32_t search(Before&& before, double x) const {
    const std::int32_t cell = axis.index(x);
    std::int32_t from = first ? first[cell] : cell, to = first ? first[cell + 1] : cell + 1;
    if (to - from <= 1) {  // the usual case, without a branch on the comparison
      return from + ((from < to) & before(value[from < count ? from : count - 1]));
    }
    while (to - from > 4) {
      const std::int32_t middle = from + (to - from) / 2;
      if (before(value[middle])) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    while (from < to && before(value[from])) ++from;
    return from;
  }
};
static_assert(sizeof(Ruler) == size_by_pointers(48, 40), "as every compiler has it");

struct LatticeView {
  Ruler x, y, z;
  std::int32_t words;   // of 64 bits, in a column
  std::uint64_t* bits;  // (x.count, y.count, words)
};
static_assert(sizeof(LatticeView) == size_by_pointers(160, 128), "as every compiler has it");

// Columns per lane of a GPU that are read before the first is written, for labels as bits and as
// bytes: as many as there are registers for.
constexpr int kBitsInFlight = 8, kBytesInFlight = 4;

// How many values, from the bottom, lie below the crossing. The height is
// only guessed; steps that double, then halve, end where the exact test decides.
// -1 if Quick arithmetic is unsure.
template <class Arithmetic>
GD_HD std::int32_t blocks_below(const Ruler& z, const Triangle& t, int sign, double x, double y) {
  const double adx = t.a.x - x, ady = t.a.y - y;
  const double bdx = t.b.x - x, bdy = t.b.y - y;
  const double cdx = t.c.x - x, cdy = t.c.y - y;
  const double bc = bdx * cdy - bdy * cdx, ca = cdx * ady - cdy * adx, ab = adx * bdy - ady * bdx;
  const double height = (t.a.z * bc + t.b.z * ca + t.c.z * ab) / (bc + ca + ab);
  std::int32_t guess = z.near(height);
  std::int32_t from = 0, to = z.count;  // all below `from` are below the crossing, none from `to`
  for (std::int32_t step = 1; from < to; step *= 2) {
    const std::int32_t probe = guess < from ? from : (guess < to ? guess : to - 1);
    const int above = crosses_above<Arithmetic>(t, sign, {x, y, z.value[probe]});
    if (above == kUnsure) return -1;
    if (above) {
      from = probe + 1;
      guess = probe + step;
    } else {
      to = probe;
      guess = probe - step;
    }
    if (step > 8) guess = from + (to - from) / 2;
  }
  return from;
}

// For a crossing of the column (i, j) with a known sign: calls toggle(word, bit) below it, or
// nothing; false if Quick arithmetic is unsure.
template <class Arithmetic, class Toggle>
GD_HD bool toggle_below(const LatticeView& lattice, const Triangle& t, int sign, std::int32_t i,
                        std::int32_t j, Toggle&& toggle) {
  const double x = lattice.x.value[i], y = lattice.y.value[j];
  const std::int32_t below = blocks_below<Arithmetic>(lattice.z, t, sign, x, y);
  if (below < 0) return false;
  if (below == 0) return true;
  const std::int64_t column = static_cast<std::int64_t>(i) * lattice.y.count + j;
  toggle(lattice.bits + column * lattice.words + (below - 1) / 64,
         std::uint64_t{1} << (below - 1) % 64);
  return true;
}

// Does the same for the crossing of the triangle with the column, if there is one.
template <class Arithmetic, class Toggle>
GD_HD bool toggle_column(const LatticeView& lattice, const Triangle& t, std::int32_t i,
                         std::int32_t j, Toggle&& toggle) {
  const int sign = crossing_sign<Arithmetic>(t, lattice.x.value[i], lattice.y.value[j]);
  if (sign == 0) return true;
  return sign != kUnsure && toggle_below<Arithmetic>(lattice, t, sign, i, j, toggle);
}

// The position of a vertex among the columns: twice the number of lower coordinates,
// plus one if it is level with one. A triangle's columns follow from its
// corners' positions, and most triangles of a fine mesh have none.
struct ColumnPlace {
  std::int32_t x, y;
};

GD_HD std::int32_t place_on(const Ruler& ruler, double value) {
  const std::int32_t lower = ruler.lower(value);
  return 2 * lower + (lower < ruler.count && ruler.value[lower] == value);
}

GD_HD ColumnPlace place_of(const Ruler& x, const Ruler& y, const Vec3& vertex) {
  return {place_on(x, vertex.x), place_on(y, vertex.y)};
}

struct Columns {  // from i0 and j0 up to but excluding i1 and j1
  std::int32_t i0, i1, j0, j1;

  GD_HD bool empty() const { return i0 >= i1 || j0 >= j1; }
};

GD_HD std::int32_t least(std::int32_t a, std::int32_t b, std::int32_t c) {
  return a < b ? (a < c ? a : c) : (b < c ? b : c);
}
GD_HD std::int32_t most(std::int32_t a, std::int32_t b, std::int32_t c) {
  return a > b ? (a > c ? a : c) : (b > c ? b : c);
}

// The columns in the box of a triangle with corners at these positions.
GD_HD Columns columns_between(ColumnPlace a, ColumnPlace b, ColumnPlace c) {
  return {least(a.x, b.x, c.x) / 2, (most(a.x, b.x, c.x) + 1) / 2, least(a.y, b.y, c.y) / 2,
          (most(a.y, b.y, c.y) + 1) / 2};
}

GD_HD Columns columns_of(const MeshView& mesh, const ColumnPlace* places, std::int64_t triangle) {
  const std::int32_t* corner = mesh.triangles + 3 * triangle;
  return columns_between(places[corner[0]], places[corner[1]], places[corner[2]]);
}

// The columns in the box of one triangle.
GD_HD Columns columns_of(const LatticeView& lattice, const Triangle& t) {
  return {lattice.x.lower(smallest(t.a.x, t.b.x, t.c.x)),
          lattice.x.upper(largest(t.a.x, t.b.x, t.c.x)),
          lattice.y.lower(smallest(t.a.y, t.b.y, t.c.y)),
          lattice.y.upper(largest(t.a.y, t.b.y, t.c.y))};
}

// The part of a box that is in part `part` of a lattice with `rows` rows.
GD_HD Columns share_of(const Columns& box, std::int32_t rows, std::uint32_t part,
                       std::uint32_t parts) {
  const auto begin = static_cast<std::int32_t>(std::int64_t{rows} * part / parts);
  const auto end = static_cast<std::int32_t>(std::int64_t{rows} * (part + 1) / parts);
  return {box.i0, box.i1, box.j0 > begin ? box.j0 : begin, box.j1 < end ? box.j1 : end};
}

// Boxes with longer rows have the triangle clipped to each row.
constexpr std::int32_t kNarrow = 4;
GD_HD bool is_wide(const Columns& box) { return box.i1 - box.i0 > kNarrow; }

// The columns in row j of its box that the triangle may cross.
GD_HD Run column_run(const LatticeView& lattice, const Triangle& t, const Columns& box,
                     std::int32_t j) {
  if (!is_wide(box)) return {box.i0, box.i1 - 1};
  // Rounding in x_range is a few units in the last place of these magnitudes.
  const double slack = 0x1p-48 * (std::fabs(smallest(t.a.x, t.b.x, t.c.x)) +
                                  std::fabs(largest(t.a.x, t.b.x, t.c.x)));
  const double y = lattice.y.value[j];
  const Interval row = x_range(t, {y, y});
  const std::int32_t from = lattice.x.lower(row.low - slack),
                     to = lattice.x.upper(row.high + slack);
  return {from > box.i0 ? from : box.i0, (to < box.i1 ? to : box.i1) - 1};
}

// Calls visit(i, j) for every column of the box that the triangle may cross.
template <class Visit>
GD_HD void visit_columns(const LatticeView& lattice, const Triangle& t, const Columns& box,
                         Visit&& visit) {
  if (!(top(t) > lattice.z.value[0])) return;
  for (std::int32_t j = box.j0; j < box.j1; ++j) {
    const Run run = column_run(lattice, t, box, j);
    for (std::int32_t i = run.i0; i <= run.i1; ++i) visit(i, j);
  }
}

// The xor of each bit with all higher bits.
GD_HD std::uint64_t xor_down(std::uint64_t word) {
  word ^= word >> 1;
  word ^= word >> 2;
  word ^= word >> 4;
  word ^= word >> 8;
  word ^= word >> 16;
  return word ^ word >> 32;
}

// Turns toggles into labels, from the top of a column to its bottom.
GD_HD void settle_column(std::uint64_t* column, std::int32_t words) {
  std::uint64_t above = 0;  // all ones if an odd number of crossings is above
  for (std::int32_t i = words - 1; i >= 0; --i) {
    column[i] = xor_down(column[i]) ^ above;
    above = 0 - (column[i] & 1);
  }
}

// Pairs of a triangle and a column that quick arithmetic cannot decide.

struct Pairing {
  std::int32_t triangle, i, j;
};
static_assert(sizeof(Pairing) == 12, "as every compiler has it");

// In any order; the count goes on beyond the room.
struct Pairings {
  Pairing* pairs;
  std::uint32_t* count;
  std::uint32_t room;

  GD_HD void append(Pairing pair) const {
    const std::uint32_t slot = atomic_add(count, 1u);
    if (slot < room) pairs[slot] = pair;
  }
};
static_assert(sizeof(Pairings) == size_by_pointers(24, 12), "as every compiler has it");

}  // namespace geodomain
