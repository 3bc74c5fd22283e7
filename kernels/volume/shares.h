// Shares of the blocks of a lattice below a surface, with signs: of a closed mesh they add up to
// the share that is inside.
//
// Shares are summed as integers, in units of 2^-56 and modulo 2^64: sums do not depend on the order
// of triangles or threads, and only the last sum must fit, whatever is added on the way. What a
// triangle adds to a column is kept as steps from each block to the one above, so that a triangle
// costs the blocks that it passes and not all those below. A block that no triangle enters has no
// share: its label is exact.
#pragma once

#include "exact/enters.h"
#include "lattice/lattice.h"
#include "platform/arithmetic.h"
#include "platform/atomics.h"
#include "volume/prism.h"

namespace geodomain {

constexpr double kShareUnits = 0x1p56;

// The nearest integer; wrapped where it is used.
GD_HD std::int64_t units_of(double share) {
  return static_cast<std::int64_t>(std::floor(share * kShareUnits + 0.5));
}

// The edges of blocks along the axes, one more than blocks, and what is summed.
struct ShareLattice {
  Ruler x, y, z;
  std::uint64_t* steps;    // (nx, ny, nz)
  std::uint64_t* entered;  // bits (nx, ny, words): a triangle enters the block
  std::int32_t words;

  GD_HD std::int32_t columns() const { return x.count - 1; }
  GD_HD std::int32_t rows() const { return y.count - 1; }
  GD_HD std::int32_t layers() const { return z.count - 1; }
  GD_HD std::int64_t column(std::int32_t i, std::int32_t j) const {
    return static_cast<std::int64_t>(i) * rows() + j;
  }
  GD_HD Block block(std::int32_t i, std::int32_t j, std::int32_t k) const {
    return {{x.value[i], y.value[j], z.value[k]}, {x.value[i + 1], y.value[j + 1], z.value[k + 1]}};
  }
};

struct Cells {  // of one axis: from begin up to, not including, end
  std::int32_t begin, end;
};

// The cells whose insides a closed interval meets; of one that is a point on an edge, none.
GD_HD Cells cells_of(const Ruler& edges, double low, double high) {
  const std::int32_t begin = edges.upper(low) - 1, end = edges.lower(high);
  return {begin > 0 ? begin : 0, end < edges.count - 1 ? end : edges.count - 1};
}

// Adds one triangle, times its weight, to the columns that it meets.
class Shedder {
 public:
  GD_HD Shedder(const ShareLattice& lattice, const Triangle& t, int weight)
      : lattice_(lattice), t_(t), weight_(weight) {}

  GD_HD void shed() {
    const Cells i =
        cells_of(lattice_.x, smallest(t_.a.x, t_.b.x, t_.c.x), largest(t_.a.x, t_.b.x, t_.c.x));
    const Cells j =
        cells_of(lattice_.y, smallest(t_.a.y, t_.b.y, t_.c.y), largest(t_.a.y, t_.b.y, t_.c.y));
    if (i.begin >= i.end || j.begin >= j.end || !(top(t_) > lattice_.z.value[0])) return;
    const Cells k = cells_of(lattice_.z, bottom(t_), top(t_));
    origin_ = {lattice_.x.value[i.begin], lattice_.y.value[j.begin],
               lattice_.z.value[k.begin < lattice_.layers() ? k.begin : lattice_.layers()]};
    Polygon rest, strip, next;
    const Vec3 corners[3] = {t_.a, t_.b, t_.c};
    for (const Vec3& p : corners) rest.put({p.x - origin_.x, p.y - origin_.y, p.z - origin_.z});
    if (range_of(rest, 1).low < 0.0) trim(rest, 1, 0.0);
    for (std::int32_t row = j.begin; row < j.end && rest.count > 0; ++row) {
      if (ends_below(rest, 1, lattice_.y.value[row + 1] - origin_.y)) {
        shed_row(rest, i, row);
        break;
      }
      cut(rest, 1, lattice_.y.value[row + 1] - origin_.y, strip, next);
      rest = next;
      if (strip.count > 0) shed_row(strip, i, row);
    }
  }

 private:
  GD_HD static bool ends_below(const Polygon& polygon, int axis, double value) {
    return range_of(polygon, axis).high <= value;
  }

  // Leaves what is above a value.
  GD_HD static void trim(Polygon& polygon, int axis, double value) {
    Polygon below, above;
    cut(polygon, axis, value, below, above);
    polygon = above;
  }

  GD_HD void shed_row(const Polygon& strip, Cells box, std::int32_t row) {
    const Range range = range_of(strip, 0);
    Cells i = cells_of(lattice_.x, range.low + origin_.x, range.high + origin_.x);
    // Rounding may have moved an end past an edge.
    i.begin = i.begin - 1 > box.begin ? i.begin - 1 : box.begin;
    i.end = i.end + 1 < box.end ? i.end + 1 : box.end;
    Polygon rest = strip, piece, next;
    const double first = lattice_.x.value[i.begin] - origin_.x;
    if (range.low < first) trim(rest, 0, first);
    for (std::int32_t column = i.begin; column < i.end && rest.count > 0; ++column) {
      if (ends_below(rest, 0, lattice_.x.value[column + 1] - origin_.x)) {
        shed_column(rest, column, row);
        break;
      }
      cut(rest, 0, lattice_.x.value[column + 1] - origin_.x, piece, next);
      rest = next;
      if (piece.count > 0) shed_column(piece, column, row);
    }
  }

  GD_HD double level(std::int32_t k) const { return lattice_.z.value[k] - origin_.z; }

  // Blocks below the piece are below it with all its area; those that it passes with what
  // is above their floor, up to their roof.
  GD_HD void shed_column(const Polygon& piece, std::int32_t i, std::int32_t j) {
    const double plan = (lattice_.x.value[i + 1] - lattice_.x.value[i]) *
                        (lattice_.y.value[j + 1] - lattice_.y.value[j]);
    const std::int64_t all = units_of(integrate(piece, 0.0).area / plan);
    const Range range = range_of(piece, 2);
    Cells k = cells_of(lattice_.z, range.low + origin_.z, range.high + origin_.z);
    if (k.begin >= lattice_.layers()) k.begin = lattice_.layers();
    std::uint64_t* column = lattice_.steps + lattice_.column(i, j) * lattice_.layers();
    Polygon rest = piece, within, above;
    if (range.low < level(0)) trim(rest, 2, level(0));
    std::int64_t before = all;  // what the block `last` has
    std::int32_t last = k.begin - 1;
    for (std::int32_t at = k.begin; at < k.end; ++at) mark(i, j, at);
    for (std::int32_t at = k.begin; at < k.end && rest.count > 0; ++at) {
      const double height = lattice_.z.value[at + 1] - lattice_.z.value[at];
      double share = 0.0;
      if (range.high <= level(at + 1)) {
        share = integrate(rest, level(at)).volume / height;
        rest.count = 0;
      } else {
        cut(rest, 2, level(at + 1), within, above);
        if (within.count > 0) share += integrate(within, level(at)).volume / height;
        if (above.count > 0) share += integrate(above, 0.0).area;
        rest = above;
      }
      const std::int64_t units = units_of(share / plan);
      add(column, last, before - units);
      before = units, last = at;
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
};

// A column's steps to shares, in place: 0 or 1 by the label where no triangle enters.
GD_HD void settle_shares(const ShareLattice& lattice, const std::uint64_t* labels,
                         std::int64_t column) {
  std::uint64_t* steps = lattice.steps + column * lattice.layers();
  std::uint64_t sum = 0;
  for (std::int32_t k = lattice.layers() - 1; k >= 0; --k) {
    const std::int64_t word = column * lattice.words + k / 64;
    sum += steps[k];
    double share = static_cast<double>(labels[word] >> k % 64 & 1);
    if (lattice.entered[word] >> k % 64 & 1) {
      const double exact = static_cast<double>(static_cast<std::int64_t>(sum)) / kShareUnits;
      share = minimum(maximum(exact, 0.0), 1.0);
    }
    std::memcpy(steps + k, &share, sizeof share);
  }
}

}  // namespace geodomain
