// Signed shares of the blocks of a lattice below a surface: for a closed mesh they add up to
// the share that is inside.
//
// Shares are summed as integers, in units of 2^-56 and modulo 2^64: sums do not depend on the order
// of triangles or threads, and only the final sum must fit, whatever is added on the way. What a
// triangle adds to a column is stored as steps from each block to the one above, so that a triangle
// costs only the blocks that it passes and not all those below. A block that no triangle enters has
// no share: its label is exact.
#pragma once

#include "exact/enters.h"
#include "lattice/lattice.h"
#include "platform/arithmetic.h"
#include "platform/atomics.h"
#include "volume/prism.h"

namespace geodomain {

constexpr double kShareUnits = 0x1p56;
// Columns whose shares a warp of a GPU computes, one after the other.
constexpr int kColumnsOfWarp = 8;

// The nearest integer; it may wrap in use.
GD_HD std::int64_t units_of(double share) {
  return static_cast<std::int64_t>(std::floor(share * kShareUnits + 0.5));
}

// The edges of blocks along the axes, one more than blocks, and the sums: of the layers along
// x from `x_begin` up to but excluding `x_end`, which are all layers or a part that fits into a
// device's memory.
struct ShareLattice {
  Ruler x, y, z;
  std::uint64_t* steps;    // (x_end - x_begin, ny, nz)
  std::uint64_t* entered;  // bits (x_end - x_begin, ny, words): a triangle enters the block
  std::int32_t words, x_begin, x_end;

  GD_HD std::int32_t rows() const { return y.count - 1; }
  GD_HD std::int32_t layers() const { return z.count - 1; }
  GD_HD std::int64_t columns() const { return static_cast<std::int64_t>(x_end - x_begin) * rows(); }
  GD_HD std::int64_t column(std::int32_t i, std::int32_t j) const {
    return static_cast<std::int64_t>(i - x_begin) * rows() + j;
  }
  GD_HD Block block(std::int32_t i, std::int32_t j, std::int32_t k) const {
    return {{x.value[i], y.value[j], z.value[k]}, {x.value[i + 1], y.value[j + 1], z.value[k + 1]}};
  }
};
static_assert(sizeof(ShareLattice) == size_by_pointers(176, 144), "as every compiler has it");

struct Cells {  // of one axis: from begin up to but excluding end
  std::int32_t begin, end;
};

// The cells whose insides a closed interval meets; none for a point on an edge.
GD_HD Cells cells_of(const Ruler& edges, double low, double high) {
  const std::int32_t begin = edges.upper(low) - 1, end = edges.lower(high);
  return {begin > 0 ? begin : 0, end < edges.count - 1 ? end : edges.count - 1};
}

// Adds one triangle, times its weight, to the columns that it meets: to all of them, or to one, as
// a device's thread does.
class Shedder {
 public:
  GD_HD Shedder(const ShareLattice& lattice, const Triangle& t, int weight)
      : lattice_(lattice), t_(t), weight_(weight) {
    const Cells i =
        cells_of(lattice.x, smallest(t.a.x, t.b.x, t.c.x), largest(t.a.x, t.b.x, t.c.x));
    const Cells j =
        cells_of(lattice.y, smallest(t.a.y, t.b.y, t.c.y), largest(t.a.y, t.b.y, t.c.y));
    if (i.begin >= i.end || j.begin >= j.end || !(top(t) > lattice.z.value[0])) return;
    const std::int32_t floor = cells_of(lattice.z, bottom(t), top(t)).begin;
    // The same for any part of the lattice.
    origin_ = {lattice.x.value[i.begin], lattice.y.value[j.begin],
               lattice.z.value[floor < lattice.layers() ? floor : lattice.layers()]};
    box_ = {i.begin > lattice.x_begin ? i.begin : lattice.x_begin,
            i.end < lattice.x_end ? i.end : lattice.x_end, j.begin, j.end};
  }

  // The number of columns that the triangle may meet.
  GD_HD std::int64_t part_count() const {
    return box_.empty() ? 0 : std::int64_t{box_.i1 - box_.i0} * (box_.j1 - box_.j0);
  }

  GD_HD void shed() const {
    slice(seen(), 1, lattice_.y, origin_.y, {box_.j0, box_.j1},
          [&](const Polygon& strip, std::int32_t j) {
            slice(strip, 0, lattice_.x, origin_.x, columns_of(strip),
                  [&](const Polygon& piece, std::int32_t i) { shed_column(piece, i, j); });
          });
  }

  // Adds the triangle to one of the columns that it may meet, by number.
  GD_HD void shed_part(std::int64_t number) const {
    const std::int32_t width = box_.i1 - box_.i0;
    const auto row = static_cast<std::int32_t>(number / width);
    const auto place = static_cast<std::int32_t>(number - std::int64_t{row} * width);
    Polygon parts[3] = {seen()};
    const Polygon& strip =
        part_of(parts[0], 1, lattice_.y, origin_.y, box_.j0 + row, parts[1], parts[2]);
    if (strip.count == 0) return;
    const auto used = static_cast<int>(&strip - parts);
    const Polygon& piece = part_of(strip, 0, lattice_.x, origin_.x, box_.i0 + place,
                                   parts[(used + 1) % 3], parts[(used + 2) % 3]);
    if (piece.count > 0) shed_column(piece, box_.i0 + place, box_.j0 + row);
  }

 private:
  static constexpr std::int32_t kFew = 4;  // columns for which a search is not worth it

  // The triangle, relative to the origin.
  GD_HD Polygon seen() const {
    Polygon whole;
    for (const Vec3& p : {t_.a, t_.b, t_.c}) {
      whole.put({p.x - origin_.x, p.y - origin_.y, p.z - origin_.z});
    }
    return whole;
  }

  // The triangle's columns that a strip of it may meet.
  GD_HD Cells columns_of(const Polygon& strip) const {
    if (box_.i1 - box_.i0 <= kFew) return {box_.i0, box_.i1};
    const Range range = range_of(strip, 0);
    const Cells i = cells_of(lattice_.x, range.low + origin_.x, range.high + origin_.x);
    // Rounding may have moved an end past an edge.
    return {i.begin - 1 > box_.i0 ? i.begin - 1 : box_.i0,
            i.end + 1 < box_.i1 ? i.end + 1 : box_.i1};
  }

  // The part of a polygon in a cell along an axis: itself, or one of two buffers that are
  // overwritten.
  GD_HD static const Polygon& part_of(const Polygon& whole, int axis, const Ruler& edges,
                                      double origin, std::int32_t cell, Polygon& first,
                                      Polygon& second) {
    return between(whole, range_of(whole, axis), axis, edges.value[cell] - origin,
                   edges.value[cell + 1] - origin, first, second);
  }

  // Calls visit(part, cell) for the parts of a polygon in cells along an axis; with a single cut
  // for the last two cells, if they contain the rest.
  template <class Visit>
  GD_HD static void slice(const Polygon& whole, int axis, const Ruler& edges, double origin,
                          Cells cells, Visit&& visit) {
    const Range range = range_of(whole, axis);
    Polygon first, second;
    for (std::int32_t at = cells.begin; at < cells.end; ++at) {
      const double low = edges.value[at] - origin, high = edges.value[at + 1] - origin;
      if (range.low > high || range.high < low) continue;
      if (at + 2 == cells.end && range.low >= low && range.high > high &&
          range.high <= edges.value[at + 2] - origin) {
        cut(whole, axis, high, first, second);
        if (first.count > 0) visit(first, at);
        if (second.count > 0) visit(second, at + 1);
        return;
      }
      const Polygon& part = between(whole, range, axis, low, high, first, second);
      if (part.count > 0) visit(part, at);
    }
  }

  GD_HD double level(std::int32_t k) const { return lattice_.z.value[k] - origin_.z; }

  // Blocks below a piece get all its area; blocks that it passes get the part above
  // their floor, up to their roof.
  GD_HD void shed_column(const Polygon& piece, std::int32_t i, std::int32_t j) const {
    const double plan = (lattice_.x.value[i + 1] - lattice_.x.value[i]) *
                        (lattice_.y.value[j + 1] - lattice_.y.value[j]);
    const std::int64_t all = units_of(integrate(piece, 0.0).area / plan);
    const Range range = range_of(piece, 2);
    Cells k = cells_of(lattice_.z, range.low + origin_.z, range.high + origin_.z);
    if (k.begin >= lattice_.layers()) k.begin = lattice_.layers();
    std::uint64_t* column = lattice_.steps + lattice_.column(i, j) * lattice_.layers();
    Polygon within, above[2];  // one of them is the rest, the other is free
    const Polygon* rest = &piece;
    int free = 0;
    if (range.low < level(0)) {
      clip(piece, 2, level(0), true, above[free]);
      rest = &above[free];
      free = 1 - free;
    }
    std::int64_t before = all;  // what the block `last` gets
    std::int32_t last = k.begin - 1;
    for (std::int32_t at = k.begin; at < k.end; ++at) mark(i, j, at);
    for (std::int32_t at = k.begin; at < k.end && rest->count > 0; ++at) {
      const double height = lattice_.z.value[at + 1] - lattice_.z.value[at];
      const bool is_last = range.high <= level(at + 1);
      double share = 0.0;
      if (is_last) {
        share = integrate(*rest, level(at)).volume / height;
      } else {
        cut(*rest, 2, level(at + 1), within, above[free]);
        if (within.count > 0) share += integrate(within, level(at)).volume / height;
        rest = &above[free];
        free = 1 - free;
        if (rest->count > 0) share += integrate(*rest, 0.0).area;
      }
      const std::int64_t units = units_of(share / plan);
      add(column, last, before - units);
      before = units, last = at;
      if (is_last) break;
    }
    add(column, last, before);
  }

  GD_HD void add(std::uint64_t* column, std::int32_t k, std::int64_t units) const {
    if (k < 0 || units == 0) return;
    atomic_add(column + k, static_cast<std::uint64_t>(units) * static_cast<std::uint64_t>(weight_));
  }

  GD_HD void mark(std::int32_t i, std::int32_t j, std::int32_t k) const {
    std::uint64_t* word = lattice_.entered + lattice_.column(i, j) * lattice_.words + k / 64;
    const std::uint64_t bit = std::uint64_t{1} << k % 64;
    if ((atomic_read(word) & bit) == 0 && enters(t_, lattice_.block(i, j, k))) atomic_or(word, bit);
  }

  const ShareLattice& lattice_;
  const Triangle t_;
  const int weight_;
  Vec3 origin_ = {};
  Columns box_ = {0, 0, 0, 0};
};

// The share of a block from the sum of its steps and those above it: 0 or 1 by the label if
// no triangle enters.
GD_HD double share_of_block(std::uint64_t sum, bool is_entered, bool label) {
  if (!is_entered) return label ? 1.0 : 0.0;
  const double exact = static_cast<double>(static_cast<std::int64_t>(sum)) / kShareUnits;
  return minimum(maximum(exact, 0.0), 1.0);
}

// Turns a column's steps into shares, in place.
GD_HD void settle_shares(const ShareLattice& lattice, const std::uint64_t* labels,
                         std::int64_t column) {
  std::uint64_t* steps = lattice.steps + column * lattice.layers();
  std::uint64_t sum = 0;
  for (std::int32_t k = lattice.layers() - 1; k >= 0; --k) {
    const std::int64_t word = column * lattice.words + k / 64;
    sum += steps[k];
    const double share =
        share_of_block(sum, lattice.entered[word] >> k % 64 & 1, labels[word] >> k % 64 & 1);
    std::memcpy(steps + k, &share, sizeof share);
  }
}

// The owner of a place: the last of ascending starts that is at most the place. starts[0] is 0.
GD_HD std::int64_t owner_of(const std::uint64_t* starts, std::int64_t count, std::uint64_t place) {
  std::int64_t from = 0, to = count;  // starts[from] <= place, and no start from `to` on is
  while (to - from > 1) {
    const std::int64_t middle = from + (to - from) / 2;
    if (starts[middle] <= place) {
      from = middle;
    } else {
      to = middle;
    }
  }
  return from;
}

}  // namespace geodomain
