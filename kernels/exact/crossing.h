// Whether a vertical line crosses a triangle. Every label depends on these signs alone.
//
// A point is treated as displaced by (e^2, e^3, e), e an infinitesimal: up
// first, then +x, then +y. The displaced point is on no edge, no vertex and no
// facet, so each of its crossings is counted once and there are no special cases.
#pragma once

#include "exact/orientation.h"

namespace geodomain {

struct Triangle {
  Vec3 a, b, c;
};

GD_HD double smallest(double a, double b, double c) {
  const double ab = a < b ? a : b;
  return ab < c ? ab : c;
}
GD_HD double largest(double a, double b, double c) {
  const double ab = a > b ? a : b;
  return ab > c ? ab : c;
}

GD_HD double bottom(const Triangle& t) { return smallest(t.a.z, t.b.z, t.c.z); }
GD_HD double top(const Triangle& t) { return largest(t.a.z, t.b.z, t.c.z); }

// The sign of orient2d(a, b, q displaced). d/dx is -(b.y - a.y) and d/dy is
// (b.x - a.x); e^2 in x outweighs e^3 in y. 0 only if the edge is a point.
template <class Arithmetic>
GD_HD int displaced_side(Vec3 a, Vec3 b, double x, double y) {
  const int side = Arithmetic::orient2d(a.x, a.y, b.x, b.y, x, y);
  if (side != 0) return side;
  if (a.y != b.y) return a.y > b.y ? 1 : -1;
  if (a.x != b.x) return b.x > a.x ? 1 : -1;
  return 0;
}

template <class Arithmetic>
GD_NOINLINE int crossing_sign_close(const Triangle& t, double x, double y) {
  const int ab = displaced_side<Arithmetic>(t.a, t.b, x, y);
  const int bc = displaced_side<Arithmetic>(t.b, t.c, x, y);
  const int ca = displaced_side<Arithmetic>(t.c, t.a, x, y);
  if (ab == kUnsure || bc == kUnsure || ca == kUnsure) return kUnsure;
  return ab == bc && bc == ca ? ab : 0;
}

// +1 or -1 if the vertical line through the displaced (x, y) crosses the
// triangle: the sign of its projection, + for counter-clockwise, which is the
// roof of a solid that is oriented outwards. 0 if it does not cross; a triangle
// that projects to a line has edge signs that sum to zero, and is never crossed.
// kUnsure if the arithmetic cannot decide.
template <class Arithmetic>
GD_HD int crossing_sign(const Triangle& t, double x, double y) {
  const double adx = t.a.x - x, ady = t.a.y - y;
  const double bdx = t.b.x - x, bdy = t.b.y - y;
  const double cdx = t.c.x - x, cdy = t.c.y - y;
  const double ab_left = adx * bdy, ab_right = ady * bdx, ab = ab_left - ab_right;
  const double bc_left = bdx * cdy, bc_right = bdy * cdx, bc = bc_left - bc_right;
  const double ca_left = cdx * ady, ca_right = cdy * adx, ca = ca_left - ca_right;
  const bool certain =
      (std::fabs(ab) >
       kOrient2dBound * (std::fabs(ab_left) + std::fabs(ab_right)) + kOrient2dFloor) &
      (std::fabs(bc) >
       kOrient2dBound * (std::fabs(bc_left) + std::fabs(bc_right)) + kOrient2dFloor) &
      (std::fabs(ca) >
       kOrient2dBound * (std::fabs(ca_left) + std::fabs(ca_right)) + kOrient2dFloor);
  if (!certain) return crossing_sign_close<Arithmetic>(t, x, y);
  const bool left = (ab > 0.0) & (bc > 0.0) & (ca > 0.0);
  const bool right = (ab < 0.0) & (bc < 0.0) & (ca < 0.0);
  return static_cast<int>(left) - static_cast<int>(right);
}

// 1 if the crossing of `t`, whose sign is given, is above the displaced point,
// else 0; kUnsure if the arithmetic cannot decide. A point on the plane counts as
// above it. The comparisons with the triangle's own range are exact, decide
// horizontal facets completely, and keep a point at z = -1e300 away from the
// arithmetic.
template <class Arithmetic>
GD_HD int crosses_above(const Triangle& t, int sign, Vec3 q) {
  if (q.z >= top(t)) return 0;
  if (q.z < bottom(t)) return 1;
  const int side = Arithmetic::orient3d(t.a, t.b, t.c, q);
  return side == kUnsure ? kUnsure : side * sign > 0;
}

// The sign of the triangle's crossing above the displaced point, or 0.
template <class Arithmetic>
GD_HD int crossing_above(const Triangle& t, Vec3 q) {
  const int sign = crossing_sign<Arithmetic>(t, q.x, q.y);
  if (sign == 0 || sign == kUnsure) return sign;
  const int above = crosses_above<Arithmetic>(t, sign, q);
  return above == kUnsure ? kUnsure : above * sign;
}

// Whether a triangle projects to a line or a point: never crossed. Quick arithmetic may miss one.
template <class Arithmetic>
GD_HD bool is_vertical(const Triangle& t) {
  return Arithmetic::orient2d(t.a.x, t.a.y, t.b.x, t.b.y, t.c.x, t.c.y) == 0;
}

}  // namespace geodomain
