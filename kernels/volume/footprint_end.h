// Finds where the footprint of a surface ends, exactly. Host only.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "exact/orientation.h"
#include "platform/thread_team.h"
#include "topology/box_tree.h"
#include "volume/block.h"

namespace geodomain {

// Where lines cut an edge in plan, and their order along it.

// From p to q, which differ. Every cut is a point p + t (q - p).
struct PlanEdge {
  double px, py, qx, qy;
};

// Where the line through u and v cuts the line of an edge that is not parallel to it: t is
// `place`, within `error`.
struct EdgeCut {
  double ux, uy, vx, vy, place, error;
};

// Exact comparisons multiply four coordinates; in this range they neither underflow nor overflow.
inline bool can_be_cut(double value) {
  return value == 0.0 || (std::fabs(value) >= 0x1p-200 && std::fabs(value) <= 0x1p240);
}

namespace cut_detail {

struct Measured {
  double value, error;
};

// The determinant of a - b and c - d, with the error bound of `turn_quick`.
inline Measured determinant(double ax, double ay, double bx, double by, double cx, double cy,
                            double dx, double dy) {
  const double left = (ax - bx) * (cy - dy), right = (ay - by) * (cx - dx);
  return {left - right, kOrient2dBound * (std::fabs(left) + std::fabs(right)) + kOrient2dFloor};
}

template <int M, int N>
void multiply_all(const Expansion<M>& e, const Expansion<N>& f, Expansion<2 * M * N>& out) {
  double sum[2 * M * N], term[2 * M];
  out.count = 0;
  for (int i = 0; i < f.count; ++i) {
    const int count = expansion_scale(e.part, e.count, f.part[i], term);
    out.count = expansion_sum(out.part, out.count, term, count, 1.0, sum);
    std::copy(sum, sum + out.count, out.part);
  }
}

// t is above / across: with w = v - u the determinants of w and p - u, and of w and p - q.
struct Ratio {
  Expansion<16> above, across;

  Ratio(const PlanEdge& edge, const EdgeCut& cut) {
    const Difference2 along(cut.vx, cut.vy, cut.ux, cut.uy);
    minor_expansion(along, Difference2(edge.px, edge.py, cut.ux, cut.uy), above);
    minor_expansion(along, Difference2(edge.px, edge.py, edge.qx, edge.qy), across);
  }
};

inline int compare_exactly(const PlanEdge& edge, const EdgeCut& a, const EdgeCut& b) {
  Ratio first(edge, a), second(edge, b);
  Expansion<512> left, right;
  multiply_all(first.above, second.across, left);
  multiply_all(second.above, first.across, right);
  Expansion<1024> difference;
  subtract(left, right, difference);
  return sign_of(difference.value()) * sign_of(first.across.value()) *
         sign_of(second.across.value());
}

}  // namespace cut_detail

// The cut by the line through u and v, which is the same in either direction.
inline EdgeCut cut_by_line(const PlanEdge& edge, double ux, double uy, double vx, double vy) {
  using cut_detail::determinant;
  if (ux > vx || (ux == vx && uy > vy)) {
    std::swap(ux, vx);
    std::swap(uy, vy);
  }
  const auto above = determinant(vx, vy, ux, uy, edge.px, edge.py, ux, uy);
  const auto across = determinant(vx, vy, ux, uy, edge.px, edge.py, edge.qx, edge.qy);
  const double size = std::fabs(across.value);
  if (!(size > 2.0 * across.error)) {
    return {ux, uy, vx, vy, 0.0, std::numeric_limits<double>::infinity()};
  }
  // t - place = (e - place f) / (across + f), where e and f are the errors; the factor and the last
  // two terms exceed the rounding here and in a comparison.
  const double place = above.value / across.value, far = std::fabs(place);
  const double error = 1.01 * ((above.error + far * across.error) / (size - across.error)) +
                       0x1p-50 * far + 0x1p-1000;
  return {ux, uy, vx, vy, place, error};
}

inline EdgeCut cut_at_x(const PlanEdge& edge, double x) { return cut_by_line(edge, x, 0, x, 1); }
inline EdgeCut cut_at_y(const PlanEdge& edge, double y) { return cut_by_line(edge, 0, y, 1, y); }

// The cut at a point of the edge's line.
inline EdgeCut cut_at_point(const PlanEdge& edge, double x, double y) {
  return edge.px != edge.qx ? cut_at_x(edge, x) : cut_at_y(edge, y);
}

// The sign of one cut's t minus the other's, for coordinates that can be cut.
inline int compare_cuts(const PlanEdge& edge, const EdgeCut& a, const EdgeCut& b) {
  const double apart = a.place - b.place, error = a.error + b.error;
  if (apart > error) return 1;
  if (apart < -error) return -1;
  if (a.ux == b.ux && a.uy == b.uy && a.vx == b.vx && a.vy == b.vy) return 0;
  return cut_detail::compare_exactly(edge, a, b);
}

// The footprint of a surface is the area that its triangles cover in plan, however often. It ends
// at the parts of edges that have nothing on one side.
//
// The area that no triangle covers is open, and made of polygons. Their sides lie on edges
// across which the number of covering triangles changes: on the rim, or on a fold. Along such
// an edge the triangles that reach its left side cover intervals there, because they are convex,
// and so on its right; the footprint ends where the intervals leave a gap. So an open rectangle
// that no such part enters is covered everywhere or nowhere.

// Where the footprint ends along an edge: nowhere, all along, or at parts of it.
enum EdgeReach : std::uint8_t { kNowhere = 0, kAllAlong = 1, kInParts = 2 };

class FootprintEnd {
 public:
  // For edges (count, 2, 3), which include all the rim's and the folds'. The mesh and the edges
  // belong to the caller; the mesh is not used afterwards.
  FootprintEnd(const MeshView& mesh, const double* edges, std::int64_t count, Team& team)
      : edges_(edges), reach_(static_cast<std::size_t>(count), kNowhere), parts_(reach_.size()) {
    const Passes passes(*this, mesh, team);
    team.run(count, 64, [&](std::int64_t begin, std::int64_t end, int) {
      std::vector<CoveredSpan> intervals;
      for (std::int64_t i = begin; i < end; ++i) {
        find_parts(mesh, static_cast<std::int32_t>(i), passes, intervals);
      }
    });
    tree_ = tree_of([&](std::size_t i) { return reach_[i] != kNowhere; });
  }

  const std::vector<std::uint8_t>& reach() const { return reach_; }

  // Whether the footprint ends inside a block's plan. For a block with coordinates that cannot be
  // cut, edges count along their whole length.
  bool ends_in(const Block& block) const {
    Block plan = block;
    plan.low.z = -1.0, plan.high.z = 1.0;
    bool hit = false;
    tree_.visit_met({plan.low, plan.high}, [&](std::int32_t i) {
      hit = enters(edge_in_plan(ends_of(i)), plan) && is_reached_in(i, plan);
      return !hit;
    });
    return hit;
  }

 private:
  struct CoveredSpan {
    EdgeCut from, to;
    bool is_left, is_right;  // the sides of the edge that a triangle covers there
  };
  struct BareSpan {
    EdgeCut from, to;
  };

  // The triangles that lie along each edge.
  class Passes {
   public:
    Passes(const FootprintEnd& footprint, const MeshView& mesh, Team& team) {
      struct Pass {
        std::int32_t edge, triangle;
      };
      constexpr std::int64_t kTogether = 4096;
      const std::size_t count = footprint.reach_.size();
      const BoxTree tree = footprint.tree_of([&](std::size_t) { return true; });
      std::vector<std::vector<Pass>> batches(
          static_cast<std::size_t>((mesh.triangle_count + kTogether - 1) / kTogether));
      team.run(mesh.triangle_count, kTogether, [&](std::int64_t begin, std::int64_t end, int) {
        std::vector<Pass>& here = batches[static_cast<std::size_t>(begin / kTogether)];
        for (std::int64_t i = begin; i < end; ++i) {
          const Triangle t = mesh.triangle(i);
          Bounds box = box_of(t);
          box.low.z = box.high.z = 0.0;
          tree.visit_met(box, [&](std::int32_t edge) {
            if (passes(footprint.edge(edge), t)) {
              here.push_back({edge, static_cast<std::int32_t>(i)});
            }
            return true;
          });
        }
      });
      begins_.assign(count + 1, 0);
      for (const auto& some : batches) {
        for (const Pass& pass : some) ++begins_[static_cast<std::size_t>(pass.edge) + 1];
      }
      for (std::size_t i = 0; i < count; ++i) begins_[i + 1] += begins_[i];
      triangles_.resize(begins_[count]);
      std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
      for (const auto& some : batches) {
        for (const Pass& pass : some) {
          triangles_[next[static_cast<std::size_t>(pass.edge)]++] = pass.triangle;
        }
      }
    }

    template <class Visit>
    void visit(std::int32_t edge, Visit&& visit) const {
      const auto index = static_cast<std::size_t>(edge);
      for (std::size_t i = begins_[index]; i < begins_[index + 1]; ++i) visit(triangles_[i]);
    }

   private:
    // Whether the edge's line has a length in common with the triangle in plan.
    static bool passes(const PlanEdge& e, const Triangle& t) {
      const int a = orient2d(e.px, e.py, e.qx, e.qy, t.a.x, t.a.y);
      const int b = orient2d(e.px, e.py, e.qx, e.qy, t.b.x, t.b.y);
      const int c = orient2d(e.px, e.py, e.qx, e.qy, t.c.x, t.c.y);
      const int lefts = (a > 0) + (b > 0) + (c > 0), rights = (a < 0) + (b < 0) + (c < 0);
      if (lefts + rights == 0 || (lefts + rights > 1 && (lefts == 0 || rights == 0))) return false;
      return orient2d(t.a.x, t.a.y, t.b.x, t.b.y, t.c.x, t.c.y) != 0;
    }

    std::vector<std::size_t> begins_;
    std::vector<std::int32_t> triangles_;
  };

  const double* ends_of(std::int32_t i) const { return edges_ + 6 * std::int64_t{i}; }

  PlanEdge edge(std::int32_t i) const {
    const double* ends = ends_of(i);
    return {ends[0], ends[1], ends[3], ends[4]};
  }

  // Collects the passes along edges that are not a point in plan.
  template <class Wanted>
  BoxTree tree_of(Wanted&& wanted) const {
    std::vector<BoxTree::Leaf> leaves;
    for (std::size_t i = 0; i < reach_.size(); ++i) {
      const auto index = static_cast<std::int32_t>(i);
      const PlanEdge e = edge(index);
      if ((e.px != e.qx || e.py != e.qy) && wanted(i)) {
        leaves.push_back({box_of(edge_in_plan(ends_of(index))), index});
      }
    }
    return BoxTree(std::move(leaves));
  }

  // Writes where the footprint ends along an edge.
  void find_parts(const MeshView& mesh, std::int32_t index, const Passes& passes,
                  std::vector<CoveredSpan>& intervals) {
    const PlanEdge e = edge(index);
    if (e.px == e.qx && e.py == e.qy) return;
    std::uint8_t& reach = reach_[static_cast<std::size_t>(index)];
    bool fits = can_be_cut(e.px) && can_be_cut(e.py) && can_be_cut(e.qx) && can_be_cut(e.qy);
    intervals.clear();
    passes.visit(index, [&](std::int32_t i) {
      const Triangle t = mesh.triangle(i);
      for (const Vec3& p : {t.a, t.b, t.c}) fits &= can_be_cut(p.x) && can_be_cut(p.y);
      if (fits) intervals.push_back(interval_of(e, t));
    });
    if (!fits) {  // the safe choice
      reach = kAllAlong;
      return;
    }
    std::sort(intervals.begin(), intervals.end(), [&](const CoveredSpan& a, const CoveredSpan& b) {
      return compare_cuts(e, a.from, b.from) < 0;
    });
    std::vector<BareSpan>& parts = parts_[static_cast<std::size_t>(index)];
    const bool whole = leaves(e, intervals, &CoveredSpan::is_left, parts) ||
                       leaves(e, intervals, &CoveredSpan::is_right, parts);
    if (whole) parts.clear();
    reach = whole ? kAllAlong : parts.empty() ? kNowhere : kInParts;
  }

  // The interval of a triangle that lies along an edge's line.
  static CoveredSpan interval_of(const PlanEdge& e, const Triangle& t) {
    const Vec3* corner[3] = {&t.a, &t.b, &t.c};
    int sign[3], count = 0;
    for (int k = 0; k < 3; ++k) {
      sign[k] = orient2d(e.px, e.py, e.qx, e.qy, corner[k]->x, corner[k]->y);
    }
    EdgeCut at[2];
    for (int k = 0; k < 3 && count < 2; ++k) {
      const Vec3 &p = *corner[k], &q = *corner[(k + 1) % 3];
      if (sign[k] == 0) {
        at[count++] = cut_at_point(e, p.x, p.y);
      } else if (sign[k] * sign[(k + 1) % 3] < 0) {
        at[count++] = cut_by_line(e, p.x, p.y, q.x, q.y);
      }
    }
    const bool turned = compare_cuts(e, at[0], at[1]) > 0;
    const auto has = [&](int side) {
      return sign[0] == side || sign[1] == side || sign[2] == side;
    };
    return {at[turned ? 1 : 0], at[turned ? 0 : 1], has(1), has(-1)};
  }

  // Adds the parts of an edge that sorted intervals leave free on one side; true if that is all of
  // it.
  static bool leaves(const PlanEdge& e, const std::vector<CoveredSpan>& intervals,
                     bool CoveredSpan::* on_side, std::vector<BareSpan>& parts) {
    const EdgeCut begin = cut_at_point(e, e.px, e.py), end = cut_at_point(e, e.qx, e.qy);
    EdgeCut to = begin;
    bool is_begun = false;  // covered by an interval
    for (const CoveredSpan& span : intervals) {
      if (!(span.*on_side) || compare_cuts(e, span.to, to) <= 0) continue;
      if (compare_cuts(e, span.from, end) >= 0) break;
      if (compare_cuts(e, span.from, to) > 0) parts.push_back({to, span.from});
      to = span.to;
      is_begun = true;
    }
    if (compare_cuts(e, to, end) < 0) parts.push_back({to, end});
    return !is_begun;
  }

  // Whether the footprint ends somewhere on the part of an edge inside a plan that it enters.
  bool is_reached_in(std::int32_t index, const Block& plan) const {
    if (reach_[static_cast<std::size_t>(index)] == kAllAlong) return true;
    const PlanEdge e = edge(index);
    const Vec3 &low = plan.low, &high = plan.high;
    if (!(can_be_cut(low.x) && can_be_cut(low.y) && can_be_cut(high.x) && can_be_cut(high.y))) {
      return true;
    }
    EdgeCut in[3], out[3];  // where it enters and leaves
    int count = 1;
    if (e.px != e.qx) {
      in[count] = cut_at_x(e, e.px < e.qx ? low.x : high.x);
      out[count++] = cut_at_x(e, e.px < e.qx ? high.x : low.x);
    }
    if (e.py != e.qy) {
      in[count] = cut_at_y(e, e.py < e.qy ? low.y : high.y);
      out[count++] = cut_at_y(e, e.py < e.qy ? high.y : low.y);
    }
    for (const BareSpan& part : parts_[static_cast<std::size_t>(index)]) {
      in[0] = part.from, out[0] = part.to;
      bool meets = true;
      for (int i = 0; i < count; ++i) {
        for (int k = 0; k < count && meets; ++k) meets = compare_cuts(e, in[i], out[k]) < 0;
      }
      if (meets) return true;
    }
    return false;
  }

  const double* const edges_;
  std::vector<std::uint8_t> reach_;
  std::vector<std::vector<BareSpan>> parts_;
  BoxTree tree_ = BoxTree({});
};

}  // namespace geodomain
