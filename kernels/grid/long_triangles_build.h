// Builds the tree of long triangles: by halves, along whichever of position, offset and direction
// spreads the boxes most. The tree affects only the cost of a query.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "grid/grid.h"
#include "platform/thread_team.h"

namespace geodomain {

class BundleBuilder {
 public:
  // `magnitude`: the largest |x| or |y| of the mesh.
  BundleBuilder(const MeshView& mesh, double magnitude, Team& team)
      : mesh_(mesh), pad_(0x1p-48 * magnitude), team_(team) {}

  // Appends a tree over `triangles`: its nodes to `bundles`, its triangles to `bundled`.
  void build(const std::vector<std::int32_t>& triangles, std::vector<Bundle>& bundles,
             std::vector<std::int32_t>& bundled) const;

 private:
  // A triangle as a stroke: its middle, its longest side as a vector, and its width.
  struct Stroke {
    double x = 0.0, y = 0.0, dx = 0.0, dy = 0.0, thickness = 0.0;
    double key = 0.0;  // by which a branch is split
    std::int32_t triangle = 0;
  };
  struct Spread {
    double low = HUGE_VAL, high = -HUGE_VAL;
    void take(double value) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
    double width() const { return high > low ? high - low : 0.0; }
  };

  struct Branch {  // a part of the tree still to be built: its strokes and first node
    std::int64_t first, count;
    std::int32_t node;
  };

  static constexpr std::int64_t kLeaf = 4;
  static constexpr std::int64_t kBranch = 8192;  // strokes that one member of the team builds alone

  static std::int64_t nodes_over(std::int64_t count);
  Stroke stroke(std::int32_t triangle) const;
  Direction common_direction(const Stroke* strokes, std::int64_t count) const;
  void enclose(Bundle& bundle, const Stroke* strokes, std::int64_t count) const;
  void order_by_widest(const Direction& direction, Stroke* strokes, std::int64_t count) const;
  std::int64_t halve(const Branch& branch, Stroke* strokes, Bundle& bundle) const;
  template <class Later>
  void build_branch(const Branch& branch, std::vector<Stroke>& strokes,
                    std::vector<Bundle>& bundles, Later&& later) const;

  MeshView mesh_;
  double pad_;
  Team& team_;
};

inline std::int64_t BundleBuilder::nodes_over(std::int64_t count) {
  if (count <= kLeaf) return 1;
  return 1 + nodes_over(count / 2) + nodes_over(count - count / 2);
}

inline BundleBuilder::Stroke BundleBuilder::stroke(std::int32_t triangle) const {
  const Triangle t = mesh_.triangle(triangle);
  Stroke stroke;
  stroke.triangle = triangle;
  stroke.x = t.a.x / 3 + t.b.x / 3 + t.c.x / 3;
  stroke.y = t.a.y / 3 + t.b.y / 3 + t.c.y / 3;
  double longest = -1.0;
  const Vec3 corner[4] = {t.a, t.b, t.c, t.a};
  for (int i = 0; i < 3; ++i) {
    const double dx = corner[i + 1].x - corner[i].x, dy = corner[i + 1].y - corner[i].y;
    const double length = std::max(std::fabs(dx), std::fabs(dy));
    if (length <= longest) continue;
    longest = length;
    stroke.dx = dx;
    stroke.dy = dy;
  }
  const double doubled = (t.b.x - t.a.x) * (t.c.y - t.a.y) - (t.b.y - t.a.y) * (t.c.x - t.a.x);
  if (longest > 0.0) stroke.thickness = std::fabs(doubled) / longest;
  return stroke;
}

// The mean of unsigned directions, weighted by length: sums of vectors with doubled angles.
inline Direction BundleBuilder::common_direction(const Stroke* strokes, std::int64_t count) const {
  double cosine = 0.0, sine = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double length = std::hypot(strokes[i].dx, strokes[i].dy);
    if (!(length > 0.0)) continue;
    const double c = strokes[i].dx / length, s = strokes[i].dy / length;
    cosine += (c * c - s * s);
    sine += 2.0 * c * s;
  }
  const double angle = 0.5 * std::atan2(sine, cosine);
  return {std::cos(angle), std::sin(angle)};
}

inline void BundleBuilder::enclose(Bundle& bundle, const Stroke* strokes,
                                   std::int64_t count) const {
  Spread along, across, height;
  for (std::int64_t i = 0; i < count; ++i) {
    const Triangle t = mesh_.triangle(strokes[i].triangle);
    for (const Vec3& p : {t.a, t.b, t.c}) {
      along.take(bundle.direction.along(p.x, p.y));
      across.take(bundle.direction.across(p.x, p.y));
      height.take(p.z);
    }
  }
  bundle.along_low = along.low - pad_;
  bundle.along_high = along.high + pad_;
  bundle.across_low = across.low - pad_;
  bundle.across_high = across.high + pad_;
  bundle.top = height.high;
}

// Splits the strokes at their median: by their middles along or across the direction, or by their
// own directions, whose spread makes a box wider.
inline void BundleBuilder::order_by_widest(const Direction& direction, Stroke* strokes,
                                           std::int64_t count) const {
  Spread along, across, turn;
  double length = 0.0, thickness = 0.0;  // mean length and width
  const auto angle = [&](const Stroke& s) {
    const double u = direction.along(s.dx, s.dy), v = direction.across(s.dx, s.dy);
    return u < 0.0 ? std::atan2(-v, -u) : std::atan2(v, u);
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const Stroke& s = strokes[i];
    along.take(direction.along(s.x, s.y));
    across.take(direction.across(s.x, s.y));
    turn.take(angle(s));
    length += std::hypot(s.dx, s.dy) / static_cast<double>(count);
    thickness += s.thickness / static_cast<double>(count);
  }
  // The gain of halving the box. Offset and direction are worth halving alternately, again and
  // again; position only until boxes are not much longer than their strokes.
  const double offset = across.width(), fan = turn.width() * length;
  const double width = offset + fan + thickness;
  const double by_one = width / (width - 0.5 * std::max(offset, fan));
  const double by_both = std::sqrt(width / (thickness + 0.5 * (offset + fan)));
  const double by_place = (along.width() + length) / (0.5 * along.width() + length);
  const bool place = by_place > std::max(by_one, by_both);
  for (std::int64_t i = 0; i < count; ++i) {
    Stroke& s = strokes[i];
    if (place) {
      s.key = direction.along(s.x, s.y);
    } else {
      s.key = fan > offset ? angle(s) : direction.across(s.x, s.y);
    }
  }
  std::nth_element(strokes, strokes + count / 2, strokes + count,
                   [](const Stroke& a, const Stroke& b) { return a.key < b.key; });
}

// Writes one node: its box and, unless it is a leaf, its strokes in two halves. Returns how many
// strokes the first half has, 0 for a leaf.
inline std::int64_t BundleBuilder::halve(const Branch& branch, Stroke* strokes,
                                         Bundle& bundle) const {
  const std::int64_t count = branch.count;
  bundle.direction = common_direction(strokes, count);
  enclose(bundle, strokes, count);
  bundle.first = static_cast<std::int32_t>(branch.first);
  bundle.count = count <= kLeaf ? static_cast<std::int32_t>(count) : 0;
  bundle.next = branch.node + static_cast<std::int32_t>(nodes_over(count));
  bundle.unused = 0;
  if (count <= kLeaf) return 0;
  order_by_widest(bundle.direction, strokes, count);
  return count / 2;
}

// Writes the branch's first node; its halves go to `later`.
template <class Later>
void BundleBuilder::build_branch(const Branch& branch, std::vector<Stroke>& strokes,
                                 std::vector<Bundle>& bundles, Later&& later) const {
  const std::int64_t half =
      halve(branch, strokes.data() + branch.first, bundles[static_cast<std::size_t>(branch.node)]);
  if (half == 0) return;
  const auto left_nodes = static_cast<std::int32_t>(nodes_over(half));
  later(Branch{branch.first, half, branch.node + 1});
  later(Branch{branch.first + half, branch.count - half, branch.node + 1 + left_nodes});
}

inline void BundleBuilder::build(const std::vector<std::int32_t>& triangles,
                                 std::vector<Bundle>& bundles,
                                 std::vector<std::int32_t>& bundled) const {
  const auto count = static_cast<std::int64_t>(triangles.size());
  std::vector<Stroke> strokes(triangles.size());
  team_.run(count, kBranch, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) strokes[i] = stroke(triangles[i]);
  });
  std::vector<Bundle> own(static_cast<std::size_t>(nodes_over(count)));
  std::vector<Branch> large = {{0, count, 0}}, small;
  while (!large.empty()) {
    const Branch branch = large.back();
    large.pop_back();
    if (branch.count <= kBranch) {
      small.push_back(branch);
    } else {
      build_branch(branch, strokes, own, [&](const Branch& half) { large.push_back(half); });
    }
  }
  team_.run(static_cast<std::int64_t>(small.size()), 1, [&](std::int64_t i, std::int64_t, int) {
    std::vector<Branch> open = {small[i]};
    while (!open.empty()) {
      const Branch branch = open.back();
      open.pop_back();
      build_branch(branch, strokes, own, [&](const Branch& half) { open.push_back(half); });
    }
  });
  const auto node = static_cast<std::int32_t>(bundles.size());
  const auto first = static_cast<std::int32_t>(bundled.size());
  for (Bundle& bundle : own) {
    bundle.next += node;
    bundle.first += first;
  }
  bundles.insert(bundles.end(), own.begin(), own.end());
  for (const Stroke& s : strokes) bundled.push_back(s.triangle);
}

}  // namespace geodomain
