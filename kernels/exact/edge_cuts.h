// Where lines cut an edge in plan, and in which order along it; exact. Host only.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "exact/orientation.h"

namespace geodomain {

// From p to q, which differ. Every cut is a point p + t (q - p).
struct PlanEdge {
  double px, py, qx, qy;
};

// Where the line through u and v cuts the line of an edge, to which it is not parallel: t is
// `place`, give or take `error`.
struct EdgeCut {
  double ux, uy, vx, vy, place, error;
};

// Exact comparisons multiply four coordinates; those of this range neither underflow nor overflow.
inline bool can_be_cut(double value) {
  return value == 0.0 || (std::fabs(value) >= 0x1p-200 && std::fabs(value) <= 0x1p240);
}

namespace cut_detail {

struct Measured {
  double value, error;
};

// The determinant of a - b and c - d, as `turn_quick` bounds it.
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
  Ratio one(edge, a), other(edge, b);
  Expansion<512> left, right;
  multiply_all(one.above, other.across, left);
  multiply_all(other.above, one.across, right);
  Expansion<1024> difference;
  subtract(left, right, difference);
  return sign_of(difference.value()) * sign_of(one.across.value()) * sign_of(other.across.value());
}

}  // namespace cut_detail

// By the line through u and v, which is the same in either direction.
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
  // two terms are more than what rounds here and in a comparison.
  const double place = above.value / across.value, far = std::fabs(place);
  const double error = 1.01 * ((above.error + far * across.error) / (size - across.error)) +
                       0x1p-50 * far + 0x1p-1000;
  return {ux, uy, vx, vy, place, error};
}

inline EdgeCut cut_at_x(const PlanEdge& edge, double x) { return cut_by_line(edge, x, 0, x, 1); }
inline EdgeCut cut_at_y(const PlanEdge& edge, double y) { return cut_by_line(edge, 0, y, 1, y); }

// At a point of the edge's line.
inline EdgeCut cut_at_point(const PlanEdge& edge, double x, double y) {
  return edge.px != edge.qx ? cut_at_x(edge, x) : cut_at_y(edge, y);
}

// The sign of the one's t less that of the other, for numbers that can be cut.
inline int compare_cuts(const PlanEdge& edge, const EdgeCut& a, const EdgeCut& b) {
  const double apart = a.place - b.place, error = a.error + b.error;
  if (apart > error) return 1;
  if (apart < -error) return -1;
  if (a.ux == b.ux && a.uy == b.uy && a.vx == b.vx && a.vy == b.vy) return 0;
  return cut_detail::compare_exactly(edge, a, b);
}

}  // namespace geodomain
