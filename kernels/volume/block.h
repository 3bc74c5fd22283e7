// The share of one block below a surface or inside a solid: from the triangles over it, or along
// vertical lines where what a triangle counts is not the same everywhere. Host only.
#pragma once

#include <algorithm>
#include <vector>

#include "platform/arithmetic.h"
#include "topology/box_tree.h"
#include "volume/shares.h"

namespace geodomain {

// What is inside along a line down from above: an odd number of crossings, or a sum of their signs
// that is not 0.
enum class Inside : std::int32_t { odd = 0, wound = 1 };

class BlockShares {
 public:
  BlockShares(const MeshView& mesh, const BoxTree& tree) : mesh_(mesh), tree_(tree) {}

  // Whether a triangle has a point strictly inside the block.
  bool is_entered(const Block& block) const {
    bool found = false;
    tree_.visit_met({block.low, block.high}, [&](std::int32_t i) {
      found = enters(mesh_.triangle(i), block);
      return !found;
    });
    return found;
  }

  // Keeps the triangles over the block, or in it, for what is asked next; on request, with those
  // below it, without which nobody knows how often its plan is covered.
  void take(const Block& block, bool with_below) {
    block_ = block;
    over_.clear();
    Bounds column = {block.low, block.high};
    if (with_below) column.low.z = -HUGE_VAL;
    column.high.z = HUGE_VAL;
    tree_.visit_met(column, [&](std::int32_t i) {
      over_.push_back(i);
      return true;
    });
  }

  struct Sum {
    double share;  // of the block below the triangles, each times its weight
    double cover;  // of its plan, by all of them, whatever their signs
  };

  Sum sum(const std::int8_t* weights) const {
    std::uint64_t share = 0, cover = 0;
    for (const std::int32_t i : over_) {
      if (weights[i] == 0) continue;
      const Part part = part_of(mesh_.triangle(i));
      share += static_cast<std::uint64_t>(part.volume) * static_cast<std::uint64_t>(weights[i]);
      cover += static_cast<std::uint64_t>(part.area < 0 ? -part.area : part.area);
    }
    return {static_cast<double>(static_cast<std::int64_t>(share)) / kShareUnits,
            static_cast<double>(static_cast<std::int64_t>(cover)) / kShareUnits};
  }

  struct Crossing {
    double height;  // above the block's floor
    int sign;
  };

  // visit(crossings) of each of n x n vertical lines, evenly spaced, y fastest. Each line crosses
  // what `contains` would; only the heights are rounded.
  template <class Visit>
  void visit_lines(int n, Visit&& visit) {
    const Vec3 &low = block_.low, &high = block_.high;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        visit(crossings_of(low.x + (high.x - low.x) * ((i + 0.5) / n),
                           low.y + (high.y - low.y) * ((j + 0.5) / n)));
      }
    }
  }

  double along_lines(int n, Inside rule) {
    double total = 0.0;
    visit_lines(n, [&](std::vector<Crossing>& found) { total += length_inside(found, rule); });
    return total / ((block_.high.z - block_.low.z) * n * n);
  }

 private:
  struct Part {
    std::int64_t volume, area;  // in units
  };

  Part part_of(const Triangle& t) const {
    const Vec3 &low = block_.low, &high = block_.high;
    const double side[3] = {high.x - low.x, high.y - low.y, high.z - low.z};
    Polygon rest, within, above;
    for (const Vec3& p : {t.a, t.b, t.c}) rest.put({p.x - low.x, p.y - low.y, p.z - low.z});
    for (int axis = 0; axis < 2 && rest.count > 0; ++axis) {
      cut(rest, axis, 0.0, within, above);
      if (above.count == 0) return {0, 0};
      cut(above, axis, side[axis], rest, within);
    }
    if (rest.count == 0) return {0, 0};
    const double plan = side[0] * side[1], area = integrate(rest, 0.0).area / plan;
    const Range range = range_of(rest, 2);
    if (range.low >= side[2]) return {units_of(area), units_of(area)};
    if (range.low < 0.0) {
      cut(rest, 2, 0.0, within, above);
      rest = above;
    }
    double share = 0.0;
    if (rest.count > 0) {
      cut(rest, 2, side[2], within, above);
      if (within.count > 0) share += integrate(within, 0.0).volume / side[2];
      if (above.count > 0) share += integrate(above, 0.0).area;
    }
    return {units_of(share / plan), units_of(area)};
  }

  std::vector<Crossing>& crossings_of(double x, double y) {
    crossings_.clear();
    for (const std::int32_t i : over_) {
      const Triangle t = mesh_.triangle(i);
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

  const MeshView mesh_;
  const BoxTree& tree_;
  Block block_ = {};
  std::vector<std::int32_t> over_;
  std::vector<Crossing> crossings_;
};

}  // namespace geodomain
