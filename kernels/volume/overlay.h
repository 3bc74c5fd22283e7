// The volumes common to several bodies inside one block. Host only.
//
// Inside the block, a body is the sum over its triangles t of s_t [(x, y) in t] [z < z_t(x, y)],
// with s_t the weight of t times the sign of its projection: that sum is 1 inside the body and 0
// outside it. The product of two such sums is 1 in the space of both bodies, and its integral is
// the sum over pairs (t, u) of s_t s_u times the integral of min(z_t, z_u) over the part of the
// plan that both projections cover. Three bodies take the minimum of three heights, and so on. The
// minimum of linear functions is linear on either side of a line, so nothing is sampled.
//
// Bound. A triangle is first clipped by the block's plan, as in prism.h, so that its corners are
// wrong by less than e = 8 * 2^-53 (E + b), with E its extent and b the block's. Its plane is that
// of the largest triangle in a fan of those corners, which the others exceed by a factor of ten at
// most; a height from it is wrong by e times the steepness, on a strip that is narrower by the
// steepness where the height matters, between floor and roof. Edges clip where the original edges
// are, displaced by e. Both change a pair's volume by less than e times the outline; a pair's
// piece has at most 18 corners. So a pair is wrong by less than 2^-44 (1 + r) of the block, with r
// the largest of E / b, and the sum by as much for each pair. Terms are rounded to 2^-56 of the
// block and added as integers, so the result does not depend on the order of triangles or threads.
#pragma once

#include <algorithm>
#include <vector>

#include "topology/box_tree.h"
#include "volume/block.h"

namespace geodomain {

class Overlay {
 public:
  struct Body {
    BlocksView blocks;
    const std::int8_t* weights;
  };

  explicit Overlay(std::vector<Body> bodies) : bodies_(std::move(bodies)) {
    facets_.resize(bodies_.size());
    sums_.resize(std::size_t{1} << bodies_.size());
  }

  // Writes the share of the block that is in all bodies of a set, at the index of the set's bits,
  // for sets of two bodies or more. Other entries are unchanged.
  void find(const Block& block, double* common) {
    low_ = block.low;
    side_ = {block.high.x - low_.x, block.high.y - low_.y, block.high.z - low_.z};
    plan_ = side_.x * side_.y;
    std::fill(sums_.begin(), sums_.end(), 0);
    trees_.clear();
    for (std::size_t i = 0; i < bodies_.size(); ++i) take(bodies_[i], block, facets_[i]);
    for (std::size_t i = 0; i + 1 < bodies_.size(); ++i) {
      for (const Facet& facet : facets_[i]) start(facet, i);
    }
    for (std::size_t set = 0; set < sums_.size(); ++set) {
      if ((set & (set - 1)) == 0) continue;
      const double share = static_cast<double>(static_cast<std::int64_t>(sums_[set])) / kShareUnits;
      common[set] = minimum(maximum(share, 0.0), 1.0);
    }
  }

 private:
  struct Edge {
    double x, y, along_x, along_y;  // the inside is on the left
  };

  // A triangle inside the block's plan, relative to the block's lower corner.
  struct Facet {
    Polygon plan;
    Edge edges[3];
    Bounds box;  // level, but for what is needed to tell that all is above the block
    double x, y, height, slope_x, slope_y;
    int sign;
    bool is_above;
  };

  struct Place {
    double x, y, height, other;
  };
  struct Piece {  // convex, with the least height so far
    static constexpr int kMost = 40;
    Place at[kMost];
    int count = 0;

    Piece() {}
    Piece(const Piece& piece) { *this = piece; }
    Piece& operator=(const Piece& piece) {
      count = piece.count;
      for (int i = 0; i < count; ++i) at[i] = piece.at[i];
      return *this;
    }

    void put(const Place& place) {
      if (count < kMost) at[count++] = place;
    }
  };

  void take(const Body& body, const Block& block, std::vector<Facet>& facets) {
    facets.clear();
    visit_over(body.blocks, block, false, [&](std::int32_t i) {
      if (body.weights[i] == 0) return;
      const Triangle t = body.blocks.mesh.triangle(i);
      if (!(top(t) > low_.z)) return;
      const int turn = orient2d(t.a.x, t.a.y, t.b.x, t.b.y, t.c.x, t.c.y);
      if (turn != 1 && turn != -1) return;
      Facet facet;
      if (!fill(facet, t, turn)) return;
      facet.sign = turn * body.weights[i];
      facets.push_back(facet);
    });
    std::vector<BoxTree::Leaf> leaves(facets.size());
    for (std::size_t i = 0; i < facets.size(); ++i) {
      leaves[i] = {facets[i].box, static_cast<std::int32_t>(i)};
    }
    trees_.emplace_back(std::move(leaves));
  }

  // False for a triangle without area in the block's plan.
  bool fill(Facet& facet, const Triangle& t, int turn) const {
    const Vec3 corner[3] = {t.a, turn > 0 ? t.b : t.c, turn > 0 ? t.c : t.b};
    Polygon polygon, buffer;
    for (const Vec3& p : corner) polygon.put({p.x - low_.x, p.y - low_.y, p.z - low_.z});
    for (int k = 0; k < 3; ++k) {
      const Vec3 &p = corner[k], &q = corner[(k + 1) % 3];
      facet.edges[k] = {polygon.at[k].x, polygon.at[k].y, q.x - p.x, q.y - p.y};
    }
    for (int axis = 0; axis < 2; ++axis) {
      clip(polygon, axis, 0.0, true, buffer);
      clip(buffer, axis, part(side_, axis), false, polygon);
    }
    if (polygon.count == 0) return false;
    facet.plan = polygon;
    const Range x = range_of(polygon, 0), y = range_of(polygon, 1), z = range_of(polygon, 2);
    facet.box = {{x.low, y.low, 0.0}, {x.high, y.high, 0.0}};
    facet.is_above = z.low >= side_.z;
    return facet.is_above || find_plane(facet);
  }

  static bool find_plane(Facet& facet) {
    const Polygon& plan = facet.plan;
    const Vec3& a = plan.at[0];
    double whole = 0.0;
    int best = 0;
    for (int i = 2; i < plan.count; ++i) {
      const Vec3 &b = plan.at[i - 1], &c = plan.at[i];
      const double area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
      if (std::fabs(area) > std::fabs(whole)) whole = area, best = i;
    }
    if (best == 0) return false;
    const Vec3 &b = plan.at[best - 1], &c = plan.at[best];
    const double rise_b = b.z - a.z, rise_c = c.z - a.z;
    facet.x = a.x, facet.y = a.y, facet.height = a.z;
    facet.slope_x = (rise_b * (c.y - a.y) - rise_c * (b.y - a.y)) / whole;
    facet.slope_y = (rise_c * (b.x - a.x) - rise_b * (c.x - a.x)) / whole;
    return std::isfinite(facet.slope_x) && std::isfinite(facet.slope_y);
  }

  // Splits a piece where a value, given at its corners, is negative and where it is not.
  static void split(const Piece& whole, const double* value, Piece* below, Piece* above) {
    const auto pass = [&](int i, int j) -> Place {
      const Place &p = whole.at[i], &q = whole.at[j];
      const double share = value[i] / (value[i] - value[j]);
      return {p.x + share * (q.x - p.x), p.y + share * (q.y - p.y),
              p.height + share * (q.height - p.height), p.other + share * (q.other - p.other)};
    };
    divide(whole, [&](int i) { return value[i]; }, pass, below, above);
  }

  // Clips a piece to a facet's plan; returns whether anything is left.
  static bool keep_within(Piece& piece, const Facet& facet) {
    double value[Piece::kMost];
    Piece rest;
    for (const Edge& edge : facet.edges) {
      bool out = false;
      for (int i = 0; i < piece.count; ++i) {
        value[i] =
            edge.along_x * (piece.at[i].y - edge.y) - edge.along_y * (piece.at[i].x - edge.x);
        out |= value[i] < 0.0;
      }
      if (!out) continue;
      split(piece, value, nullptr, &rest);
      piece = rest;
      if (piece.count == 0) return false;
    }
    return true;
  }

  // Starts with a facet of the first body of a set.
  void start(const Facet& facet, std::size_t body) {
    const auto go_on = [&](const Polygon& polygon, bool is_roof) {
      if (polygon.count < 1) return;
      Piece piece;
      for (int i = 0; i < polygon.count; ++i) {
        const Vec3& p = polygon.at[i];
        piece.put({p.x, p.y, is_roof ? side_.z : p.z, 0.0});
      }
      join(piece, facet.sign, body + 1, std::size_t{1} << body);
    };
    if (facet.is_above) return go_on(facet.plan, true);
    Polygon over, within, above;
    clip(facet.plan, 2, 0.0, true, over);
    cut(over, 2, side_.z, within, above);
    go_on(within, false);
    go_on(above, true);
  }

  // Adds a piece, times its sign, to every set that has one body more than `set`, of the bodies
  // from `next` on, and recurses into their intersections.
  void join(const Piece& piece, int sign, std::size_t next, std::size_t set) {
    Bounds box = {{piece.at[0].x, piece.at[0].y, 0.0}, {piece.at[0].x, piece.at[0].y, 0.0}};
    for (int i = 1; i < piece.count; ++i) {
      box.low.x = minimum(box.low.x, piece.at[i].x),
      box.high.x = maximum(box.high.x, piece.at[i].x);
      box.low.y = minimum(box.low.y, piece.at[i].y),
      box.high.y = maximum(box.high.y, piece.at[i].y);
    }
    for (std::size_t body = next; body < bodies_.size(); ++body) {
      const std::size_t joined = set | std::size_t{1} << body;
      trees_[body].visit_met(box, [&](std::int32_t i) {
        const Facet& facet = facets_[body][static_cast<std::size_t>(i)];
        join_facet(piece, facet, sign * facet.sign, body + 1, joined);
        return true;
      });
    }
  }

  void join_facet(Piece piece, const Facet& facet, int sign, std::size_t next, std::size_t set) {
    if (!keep_within(piece, facet)) return;
    if (facet.is_above) return add(piece, sign, next, set);
    double value[Piece::kMost];
    bool under = false;
    for (int i = 0; i < piece.count; ++i) {
      Place& p = piece.at[i];
      p.other = facet.height + facet.slope_x * (p.x - facet.x) + facet.slope_y * (p.y - facet.y);
      value[i] = p.other;
      under |= p.other < 0.0;
    }
    Piece below, above;
    if (under) {
      split(piece, value, nullptr, &above);
      piece = above;
    }
    for (int i = 0; i < piece.count; ++i) value[i] = piece.at[i].height - piece.at[i].other;
    split(piece, value, &below, &above);
    if (below.count > 0) add(below, sign, next, set);
    if (above.count == 0) return;
    for (int i = 0; i < above.count; ++i) above.at[i].height = above.at[i].other;
    add(above, sign, next, set);
  }

  void add(const Piece& piece, int sign, std::size_t next, std::size_t set) {
    const Place& a = piece.at[0];
    double volume = 0.0;
    for (int i = 2; i < piece.count; ++i) {
      const Place &b = piece.at[i - 1], &c = piece.at[i];
      const double area = 0.5 * ((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x));
      volume += area * ((a.height + b.height + c.height) / 3.0);
    }
    const std::int64_t units = units_of(volume / side_.z / plan_);
    sums_[set] += static_cast<std::uint64_t>(units) * static_cast<std::uint64_t>(sign);
    if (next < bodies_.size()) join(piece, sign, next, set);
  }

  const std::vector<Body> bodies_;
  std::vector<std::vector<Facet>> facets_;
  std::vector<BoxTree> trees_;
  std::vector<std::uint64_t> sums_;
  Vec3 low_ = {}, side_ = {};
  double plan_ = 0.0;
};

}  // namespace geodomain
