// Blocks on a lattice: one ray for all the blocks of a column. Each crossing
// toggles one bit, that of the highest block below it, and a running xor down
// the column turns toggles into labels.
#pragma once

#include "footprint.h"

namespace geodomain {

// Ascending distinct coordinates, and where each cell of `axis` begins in them: a
// search is one multiplication and a step or two where they are regular, and a
// bisection where many share a cell.
struct Ruler {
  const double* value;
  std::int32_t count;
  Axis axis;
  const std::int32_t* first;  // by cell, and one past: the first value of that index or more

  // The first value >= x, or count.
  GD_HD std::int32_t lower(double x) const {
    return search([x](double v) { return v < x; }, x);
  }
  // The first value > x, or count.
  GD_HD std::int32_t upper(double x) const {
    return search([x](double v) { return v <= x; }, x);
  }

 private:
  template <class Before>
  GD_HD std::int32_t search(Before&& before, double x) const {
    const std::int32_t cell = axis.index(x);
    std::int32_t from = first[cell], to = first[cell + 1];
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

struct LatticeView {
  Ruler x, y, z;
  std::int32_t words;   // of 64 bits, to a column
  std::uint64_t* bits;  // (x.count, y.count, words)
};

// How many of the values from the bottom lie below the crossing. The height is
// only guessed; steps that double, then halve, end where the exact test says.
// -1 where Quick arithmetic is unsure.
template <class Arithmetic>
GD_HD std::int32_t blocks_below(const Ruler& z, const Triangle& t, int sign, double x, double y) {
  const std::int32_t low = z.lower(bottom(t)), high = z.lower(top(t));
  if (low == high) return low;
  const double abx = t.b.x - t.a.x, aby = t.b.y - t.a.y, abz = t.b.z - t.a.z;
  const double acx = t.c.x - t.a.x, acy = t.c.y - t.a.y, acz = t.c.z - t.a.z;
  const double dx = x - t.a.x, dy = y - t.a.y;
  const double area = abx * acy - aby * acx;
  const double height = t.a.z + ((dx * acy - dy * acx) * abz + (abx * dy - aby * dx) * acz) / area;
  std::int32_t guess = height > bottom(t) ? (height < top(t) ? z.lower(height) : high) : low;
  std::int32_t from = low, to = high;  // all below `from` are below the crossing, none from `to`
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

// The crossing of one triangle with the column (i, j), if there is one: toggle(word,
// bit) below it, or nothing and false where Quick arithmetic is unsure.
template <class Arithmetic, class Toggle>
GD_HD bool toggle_column(const LatticeView& lattice, const Triangle& t, std::int32_t i,
                         std::int32_t j, Toggle&& toggle) {
  const double x = lattice.x.value[i], y = lattice.y.value[j];
  const int sign = crossing_sign<Arithmetic>(t, x, y);
  if (sign == 0) return true;
  if (sign == kUnsure) return false;
  const std::int32_t below = blocks_below<Arithmetic>(lattice.z, t, sign, x, y);
  if (below < 0) return false;
  if (below == 0) return true;
  const std::int64_t column = static_cast<std::int64_t>(i) * lattice.y.count + j;
  toggle(lattice.bits + column * lattice.words + (below - 1) / 64,
         std::uint64_t{1} << (below - 1) % 64);
  return true;
}

// visit(i, j) for every column that one triangle may cross.
template <class Visit>
GD_HD void visit_columns(const LatticeView& lattice, const Triangle& t, Visit&& visit) {
  const std::int32_t i0 = lattice.x.lower(smallest(t.a.x, t.b.x, t.c.x));
  const std::int32_t i1 = lattice.x.upper(largest(t.a.x, t.b.x, t.c.x));
  if (i0 >= i1) return;
  const std::int32_t j0 = lattice.y.lower(smallest(t.a.y, t.b.y, t.c.y));
  const std::int32_t j1 = lattice.y.upper(largest(t.a.y, t.b.y, t.c.y));
  if (j0 >= j1 || !(top(t) > lattice.z.value[0])) return;
  const bool wide = i1 - i0 > 4;
  // Rounding in x_range is a few units in the last place of these magnitudes.
  const double slack = 0x1p-48 * (std::fabs(smallest(t.a.x, t.b.x, t.c.x)) +
                                  std::fabs(largest(t.a.x, t.b.x, t.c.x)));
  for (std::int32_t j = j0; j < j1; ++j) {
    std::int32_t from = i0, to = i1;
    if (wide) {
      const double y = lattice.y.value[j];
      const Interval row = x_range(t, {y, y});
      const std::int32_t a = lattice.x.lower(row.low - slack),
                         b = lattice.x.upper(row.high + slack);
      from = a > i0 ? a : i0;
      to = b < i1 ? b : i1;
    }
    for (std::int32_t i = from; i < to; ++i) visit(i, j);
  }
}

// Xor of each bit with all the higher ones.
GD_HD std::uint64_t xor_down(std::uint64_t word) {
  word ^= word >> 1;
  word ^= word >> 2;
  word ^= word >> 4;
  word ^= word >> 8;
  word ^= word >> 16;
  return word ^ word >> 32;
}

#if defined(__CUDACC__)
// Toggles to labels by a warp, for neighbouring lanes to touch neighbouring words:
// `lanes` (a power of two up to 32) to a column, 32 / lanes columns at a time. All
// lanes come here; `column` is null where there is none.
__device__ inline void settle_columns(std::uint64_t* column, std::int32_t words, int lanes) {
  const int own = lane() & (lanes - 1);
  const int shift = lane() - own;
  const std::uint32_t mask = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
  std::uint32_t above = 0;  // crossings above the words at hand, odd or even
  for (std::int32_t first = (words - 1) / lanes * lanes; first >= 0; first -= lanes) {
    const bool there = column != nullptr && first + own < words;
    const std::uint64_t word = there ? xor_down(column[first + own]) : 0;
    // The lowest bit of a settled word is the parity of its toggles.
    const std::uint32_t odd = ballot(word & 1) >> shift & mask;
    const std::uint32_t higher = own == 31 ? 0 : odd >> (own + 1);
    if (there && ((count_bits(higher) + above) & 1)) {
      column[first + own] = ~word;
    } else if (there) {
      column[first + own] = word;
    }
    above += static_cast<std::uint32_t>(count_bits(odd));
  }
}
#endif

// Toggles to labels, from the top of a column to its bottom.
GD_HD void settle_column(std::uint64_t* column, std::int32_t words) {
  std::uint64_t above = 0;  // all ones where an odd number of crossings is above
  for (std::int32_t i = words - 1; i >= 0; --i) {
    column[i] = xor_down(column[i]) ^ above;
    above = 0 - (column[i] & 1);
  }
}

}  // namespace geodomain
