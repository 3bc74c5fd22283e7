// The share of one block along vertical lines, for blocks where the weight of a triangle is not the
// same everywhere. Host only.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "platform/arithmetic.h"
#include "volume/block.h"

namespace geodomain {

// The rule for inside along a line down from above: an odd number of crossings, or a nonzero sum of
// their signs.
enum class Inside : std::int32_t { odd = 0, wound = 1 };

// The position of a vertical line in a block's plan, as fractions of its sides.
struct LinePlace {
  double x, y;
};

// The positions of n x n lines. They are evenly spaced along x, and along y too, in another order:
// that of the fractional parts of multiples of the golden ratio. No row of lines lies along an
// edge in any direction, so nearly the right share of lines is on either side of it. Along y lines
// are moved by a quarter of their distance towards the sides, so that none is on a diagonal; their
// mean is the block's middle.
inline std::vector<LinePlace> line_places(std::int32_t n) {
  constexpr double kGolden = 0.6180339887498949;
  const auto count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<std::pair<double, std::size_t>> order(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double turns = (static_cast<double>(i) + 0.5) * kGolden;
    order[i] = {turns - std::floor(turns), i};
  }
  std::sort(order.begin(), order.end());
  std::vector<LinePlace> places(count);
  const auto all = static_cast<double>(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = order[k].second, twice = 2 * k + 1;
    const double part = twice < count ? 0.25 : twice > count ? 0.75 : 0.5;
    places[i] = {(static_cast<double>(i) + 0.5) / all, (static_cast<double>(k) + part) / all};
  }
  return places;
}

class BlockLines {
 public:
  explicit BlockLines(const BlocksView& blocks) : blocks_(blocks) {}

  // Stores the triangles over the block for the following queries; see `visit_over`.
  void take(const Block& block, bool with_below) {
    block_ = block;
    over_.clear();
    visit_over(blocks_, block, with_below, [&](std::int32_t i) { over_.push_back(i); });
  }

  // Whether the line through the block's middle crosses one of these triangles.
  bool is_covered() {
    const Vec3 &low = block_.low, &high = block_.high;
    return !crossings_of(low.x + (high.x - low.x) / 2, low.y + (high.y - low.y) / 2).empty();
  }

  struct Crossing {
    double height;  // above the block's floor
    int sign;
  };

  // Calls visit(crossings) for each of n x n vertical lines, in the order of `line_places`. Each
  // line crosses the same triangles as in `contains`; only the heights are rounded.
  template <class Visit>
  void visit_lines(std::int32_t n, Visit&& visit) {
    const Vec3 &low = block_.low, &high = block_.high;
    if (places_.size() != static_cast<std::size_t>(n) * static_cast<std::size_t>(n)) {
      places_ = line_places(n);
    }
    for (const LinePlace& at : places_) {
      visit(crossings_of(low.x + (high.x - low.x) * at.x, low.y + (high.y - low.y) * at.y));
    }
  }

  double along_lines(int n, Inside rule) {
    double total = 0.0;
    visit_lines(n,
                [&](std::vector<Crossing>& crossings) { total += length_inside(crossings, rule); });
    return total / ((block_.high.z - block_.low.z) * n * n);
  }

 private:
  std::vector<Crossing>& crossings_of(double x, double y) {
    crossings_.clear();
    for (const std::int32_t i : over_) {
      const Triangle t = blocks_.mesh.triangle(i);
      const int sign = crossing_sign<Full>(t, x, y);
      if (sign == 1 || sign == -1) crossings_.push_back({height_at(t, x, y, block_.low.z), sign});
    }
    std::sort(crossings_.begin(), crossings_.end(),
              [](const Crossing& a, const Crossing& b) { return a.height > b.height; });
    return crossings_;
  }

  double length_inside(const std::vector<Crossing>& crossings, Inside rule) const {
    const double roof = block_.high.z - block_.low.z;
    double length = 0.0, from = roof;
    int count = 0, wound = 0;
    const auto pass = [&](double height) {
      const double to = minimum(maximum(height, 0.0), from);
      if (rule == Inside::odd ? (count & 1) != 0 : wound != 0) length += from - to;
      from = to;
    };
    for (const Crossing& crossing : crossings) {
      pass(crossing.height);
      ++count, wound += crossing.sign;
    }
    pass(0.0);
    return length;
  }

  static double height_at(const Triangle& t, double x, double y, double floor) {
    const double adx = t.a.x - x, ady = t.a.y - y, bdx = t.b.x - x, bdy = t.b.y - y;
    const double cdx = t.c.x - x, cdy = t.c.y - y;
    const double bc = bdx * cdy - bdy * cdx, ca = cdx * ady - cdy * adx, ab = adx * bdy - ady * bdx;
    const double low = bottom(t) - floor, high = top(t) - floor;
    const double height =
        ((t.a.z - floor) * bc + (t.b.z - floor) * ca + (t.c.z - floor) * ab) / (bc + ca + ab);
    return minimum(maximum(height, low), high);
  }

  const BlocksView blocks_;
  Block block_ = {};
  std::vector<LinePlace> places_;
  std::vector<std::int32_t> over_;
  std::vector<Crossing> crossings_;
};

}  // namespace geodomain
