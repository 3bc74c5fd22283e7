// A segment and a triangle: whether the one crosses the other, and where.
//
// Both ends stand for themselves displaced by d = (e^2, e^3, e), e an infinitesimal:
// up first, then +x, then +y. The displaced segment meets no edge and no vertex, and
// neither of its ends is on a triangle, so a crossing is transversal and is counted once.
// The README proves it. Coordinates are in a mesh's range, or NaN, which crosses nothing.
#pragma once

#include "crossing.h"

namespace geodomain {

struct Segment {
  Vec3 start, end;
};

// The side of q + d: the sign of orient3d(a, b, c, q) - N . d with N = (b - a) x (c - a).
// 0 only where N is zero: for a triangle without area, whatever q is.
template <class Arithmetic>
GD_HD int displaced_plane_side(const Triangle& t, Vec3 q) {
  const Vec3 &a = t.a, &b = t.b, &c = t.c;
  const int side = Arithmetic::orient3d(a, b, c, q);
  if (side != 0) return side;
  const int nz = Arithmetic::orient2d(a.x, a.y, b.x, b.y, c.x, c.y);
  if (nz != 0) return nz == kUnsure ? kUnsure : -nz;
  const int nx = Arithmetic::orient2d(a.y, a.z, b.y, b.z, c.y, c.z);
  if (nx != 0) return nx == kUnsure ? kUnsure : -nx;
  const int ny = Arithmetic::orient2d(a.z, a.x, b.z, b.x, c.z, c.x);
  return ny == kUnsure ? kUnsure : -ny;
}

// How the displaced segment passes the edge from a to b: the sign of
// orient3d(s, e, a, b) + d . ((e - s) x (a - b)). 0 only where the edge is parallel to the
// segment or one of the two is a point; then the segment does not cross the plane either.
template <class Arithmetic>
GD_HD int displaced_edge_side(const Segment& s, Vec3 a, Vec3 b) {
  const Vec3 &p = s.start, &q = s.end;
  const int side = Arithmetic::orient3d(p, q, a, b);
  if (side != 0) return side;
  const int z = Arithmetic::turn(q.x, q.y, p.x, p.y, a.x, a.y, b.x, b.y);
  if (z != 0) return z;
  const int x = Arithmetic::turn(q.y, q.z, p.y, p.z, a.y, a.z, b.y, b.z);
  if (x != 0) return x;
  return Arithmetic::turn(q.z, q.x, p.z, p.x, a.z, a.x, b.z, b.x);
}

template <class Arithmetic>
GD_NOINLINE int crosses_close(const Segment& s, const Triangle& t) {
  const int from = displaced_plane_side<Arithmetic>(t, s.start);
  const int to = displaced_plane_side<Arithmetic>(t, s.end);
  if (from == kUnsure || to == kUnsure) return kUnsure;
  if (from == to) return 0;
  const int ab = displaced_edge_side<Arithmetic>(s, t.a, t.b);
  const int bc = displaced_edge_side<Arithmetic>(s, t.b, t.c);
  const int ca = displaced_edge_side<Arithmetic>(s, t.c, t.a);
  if (ab == kUnsure || bc == kUnsure || ca == kUnsure) return kUnsure;
  return ab == bc && bc == ca;
}

GD_HD double larger(double a, double b) { return a > b ? a : b; }
GD_HD double largest_part(double x, double y, double z) {
  return larger(larger(std::fabs(x), std::fabs(y)), std::fabs(z));
}

// A determinant of three vectors of differences is wrong by at most (7 + 56u)u times its
// permanent, which is at most 6 times the product of their largest parts: 43u of that.
constexpr double kNormBound = 43.0 * kUnit;

// 1 crosses, 0 does not, kUnsure: in doubles alone, without a branch, so that a compiler
// can take several triangles at once. With A, B, C and D the corners and the end seen from
// the start, w0, w1, w2 = det(D, B, C), det(D, C, A), det(D, A, B) are the edges' volumes,
// n0 = det(A, B, C) is the start's, and n0 - (w0 + w1 + w2) the end's.
GD_HD int crosses_by_filter(const Segment& s, double ax, double ay, double az, double bx, double by,
                            double bz, double cx, double cy, double cz) {
  const double px = s.start.x, py = s.start.y, pz = s.start.z;
  const double dx = s.end.x - px, dy = s.end.y - py, dz = s.end.z - pz;
  ax -= px, ay -= py, az -= pz;
  bx -= px, by -= py, bz -= pz;
  cx -= px, cy -= py, cz -= pz;
  const double bcx = by * cz - bz * cy, bcy = bz * cx - bx * cz, bcz = bx * cy - by * cx;
  const double cax = cy * az - cz * ay, cay = cz * ax - cx * az, caz = cx * ay - cy * ax;
  const double abx = ay * bz - az * by, aby = az * bx - ax * bz, abz = ax * by - ay * bx;
  const double w0 = dx * bcx + dy * bcy + dz * bcz;
  const double w1 = dx * cax + dy * cay + dz * caz;
  const double w2 = dx * abx + dy * aby + dz * abz;
  const double n0 = ax * bcx + ay * bcy + az * bcz;
  const double n1 = n0 - (w0 + w1 + w2);
  const double reach =
      larger(larger(largest_part(ax, ay, az), largest_part(bx, by, bz)), largest_part(cx, cy, cz));
  const double square = reach * reach, sure_of_w = kNormBound * (largest_part(dx, dy, dz) * square);
  const double sure_of_n0 = kNormBound * (reach * square);
  // The roundings of n1 come on top: at most 6u of the one product, 48u of the other.
  const double sure_of_n1 = 2.0 * sure_of_n0 + 5.0 * sure_of_w;
  const double least = smallest(w0, w1, w2), most = largest(w0, w1, w2);
  // Products that may underflow are left to the exact stage; so is a NaN, by every comparison.
  const bool counted = sure_of_w > kOrient3dFloor;
  const bool split = (least < -sure_of_w) & (most > sure_of_w);
  const bool above = (n0 > sure_of_n0) & (n1 > sure_of_n1);
  const bool below = (n0 < -sure_of_n0) & (n1 < -sure_of_n1);
  const bool one_way = (least > sure_of_w) & (n0 > sure_of_n0) & (n1 < -sure_of_n1);
  const bool other_way = (most < -sure_of_w) & (n0 < -sure_of_n0) & (n1 > sure_of_n1);
  if (!counted) return kUnsure;
  return (one_way | other_way) ? 1 : (split | above | below) ? 0 : kUnsure;
}

template <class Arithmetic>
GD_HD int crosses(const Segment& s, const Triangle& t) {
  const int sure =
      crosses_by_filter(s, t.a.x, t.a.y, t.a.z, t.b.x, t.b.y, t.b.z, t.c.x, t.c.y, t.c.z);
  return sure != kUnsure ? sure : crosses_close<Arithmetic>(s, t);
}

// Where along the segment a triangle that it crosses is: t = |n0| / (|n0| + |n1|), the
// volumes always from the one routine, whatever decided that there is a crossing. Their
// exact values are of opposite sign or one is 0, so nothing cancels. `rest` is 1 - t, by itself.
struct Place {
  double t, rest;
};

template <class Arithmetic>
GD_HD bool place_on_segment(const Segment& s, const Triangle& t, Place& place) {
  double n0, n1;
  const bool sure =
      Arithmetic::volume(t.a, t.b, t.c, s.start, n0) & Arithmetic::volume(t.a, t.b, t.c, s.end, n1);
  n0 = std::fabs(n0), n1 = std::fabs(n1);
  place = {n0 / (n0 + n1), n1 / (n0 + n1)};
  return sure;
}

// What a hit is: t, u, v with the point (1 - u - v) a + u b + v c, its distance from the
// start and its coordinates.
struct Hit {
  double t, u, v, distance;
  Vec3 point;
};

// From the nearer end, so that a hit at an end is that end to the last bit.
GD_HD double between(double start, double end, Place place) {
  const double length = end - start;
  return place.t <= 0.5 ? start + place.t * length : end - place.rest * length;
}

GD_HD Hit describe(const Segment& s, const Triangle& t) {
  Place place;
  double w0, w1, w2;
  place_on_segment<Full>(s, t, place);
  Full::volume(s.start, s.end, t.b, t.c, w0);
  Full::volume(s.start, s.end, t.c, t.a, w1);
  Full::volume(s.start, s.end, t.a, t.b, w2);
  const double sum = std::fabs(w0) + std::fabs(w1) + std::fabs(w2);
  const double x = s.end.x - s.start.x, y = s.end.y - s.start.y, z = s.end.z - s.start.z;
  return {place.t,
          std::fabs(w1) / sum,
          std::fabs(w2) / sum,
          place.t * std::sqrt(x * x + y * y + z * z),
          {between(s.start.x, s.end.x, place), between(s.start.y, s.end.y, place),
           between(s.start.z, s.end.z, place)}};
}

}  // namespace geodomain
