// Whether a segment crosses a triangle, and where.
//
// Both ends are treated as displaced by d = (e^2, e^3, e), e an infinitesimal:
// up first, then +x, then +y. The displaced segment meets no edge and no vertex, and
// neither of its ends is on a triangle, so a crossing is transversal and is counted once.
// The documentation has the proof. Coordinates are in a mesh's range, or NaN, which crosses
// nothing.
#pragma once

#include "exact/crossing.h"
#include "platform/arithmetic.h"
#include "platform/simd.h"

namespace geodomain {

struct Segment {
  Vec3 start, end;
};
static_assert(sizeof(Segment) == 48, "as every compiler has it");

// A segment from a row of six doubles.
GD_HD Segment segment_of(const double* ends, std::int64_t row) {
  const double* s = ends + 6 * row;
  return {{s[0], s[1], s[2]}, {s[3], s[4], s[5]}};
}

enum class EndFault { none, infinite, missing, extreme };

// Packs a segment into a row, which becomes NaN if something is wrong with it; -0.0
// becomes 0.0. A NaN outweighs the other faults.
GD_HD EndFault pack_segment(const double* start, const double* end, double* row) {
  bool missing = false, infinite = false, outside = false;
  for (int k = 0; k < 6; ++k) {
    const double value = k < 3 ? start[k] : end[k - 3], size = std::fabs(value);
    missing |= value != value;
    infinite |= size == HUGE_VAL;
    outside |= !(value == 0.0 || (size >= kLeastMagnitude && size <= kMostMagnitude));
    row[k] = value + 0.0;
  }
  if (!outside) return EndFault::none;
  for (int k = 0; k < 6; ++k) row[k] = HUGE_VAL - HUGE_VAL;
  return missing ? EndFault::missing : infinite ? EndFault::infinite : EndFault::extreme;
}

// The side of q + d: the sign of orient3d(a, b, c, q) - N . d with N = (b - a) x (c - a).
// 0 only if N is zero: for a triangle without area, for any q.
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
// orient3d(s, e, a, b) + d . ((e - s) x (a - b)). 0 only if the edge is parallel to the
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

// The error of a determinant of three vectors of differences is at most (7 + 56u)u times its
// permanent, which is at most 6 times the product of their largest components: 43u of that product.
constexpr double kNormBound = 43.0 * kUnit;

// At least the magnitude of the largest component.
template <class Number>
GD_HD Number largest_part(const Number& x, const Number& y, const Number& z) {
  return bound_of(absolute(x), absolute(y), absolute(z));
}

template <class Number>
struct Vector {
  Number x, y, z;

  // Fused sums of products round once; the bound counts two roundings.
  GD_HD Number dot(const Vector& o) const {
    return multiply_add(z, o.z, multiply_add(y, o.y, x * o.x));
  }
  GD_HD Vector cross(const Vector& o) const {
    return {multiply_subtract(y, o.z, z * o.y), multiply_subtract(z, o.x, x * o.z),
            multiply_subtract(x, o.y, y * o.x)};
  }
  GD_HD Number size() const { return largest_part(x, y, z); }
};

// Bits for the triangles that the segment crosses, and for those that it may cross.
struct Sifted {
  std::uint32_t crossed, unsure;
};

// In doubles alone and without a branch.
// With A, B, C and D the corners and the end relative to the start, w0, w1, w2 = det(D, B, C),
// det(D, C, A), det(D, A, B) are the volumes of the edges, n0 = det(A, B, C) is the start's, and
// n0 - (w0 + w1 + w2) the end's. The segment crosses if these have one sign and the end's
// volume the other.
template <class Number>
GD_HD Sifted sift(const Vector<Number>& D, const Vector<Number>& A, const Vector<Number>& B,
                  const Vector<Number>& C) {
  const Vector<Number> bc = B.cross(C), ca = C.cross(A), ab = A.cross(B);
  const Number w0 = D.dot(bc), w1 = D.dot(ca), w2 = D.dot(ab), n0 = A.dot(bc);
  const Number n1 = n0 - (w0 + w1 + w2);
  const Number reach = bound_of(A.size(), B.size(), C.size()), square = reach * reach;
  const Number sure_of_w = Number(kNormBound) * (D.size() * square);
  const Number sure_of_n0 = Number(kNormBound) * (reach * square);
  // The roundings of n1 are added: at most 6u of one product, 48u of the other.
  const Number sure_of_n1 = Number(2.0) * sure_of_n0 + Number(5.0) * sure_of_w;
  const Number least = minimum(minimum(w0, w1), w2), most = maximum(maximum(w0, w1), w2);
  const Number zero(0.0);
  const auto rising = n0 > sure_of_n0, falling = (zero - sure_of_n0) > n0;
  const auto risen = n1 > sure_of_n1, fallen = (zero - sure_of_n1) > n1;
  const auto left = least > sure_of_w, right = (zero - sure_of_w) > most;
  const auto astray = ((zero - sure_of_w) > least) & (most > sure_of_w);
  const auto crossed = (rising & fallen & left) | (falling & risen & right);
  const auto missed = astray | (rising & risen) | (falling & fallen);
  // Products that may underflow are left to the exact stage; so is a NaN, by this comparison.
  const std::uint32_t counted = bits_of(sure_of_w > Number(kOrient3dFloor));
  const std::uint32_t hit = bits_of(crossed) & counted;
  return {hit, ~(hit | (bits_of(missed) & counted))};
}

template <class Number>
GD_HD Vector<Number> spread(Vec3 p) {
  return {Number(p.x), Number(p.y), Number(p.z)};
}
template <class Number>
GD_HD Vector<Number> seen_from(const Vector<Number>& start, const Number& x, const Number& y,
                               const Number& z) {
  return {x - start.x, y - start.y, z - start.z};
}

GD_HD bool crosses(const Segment& s, const Triangle& t) {
  const Vector<double> start = spread<double>(s.start);
  const auto from_start = [&](Vec3 p) { return seen_from(start, p.x, p.y, p.z); };
  const Sifted sifted = sift(from_start(s.end), from_start(t.a), from_start(t.b), from_start(t.c));
  if (sifted.crossed & 1) return true;
  return (sifted.unsure & 1) && crosses_close<Full>(s, t) == 1;
}

// Where along the segment a crossed triangle is: t = |n0| / (|n0| + |n1|). The volumes always come
// from the same routine, whatever decided that there is a crossing. Their exact values are of
// opposite sign or one is 0, so nothing cancels. `rest` is 1 - t, computed separately.
struct Place {
  double t, rest;
};
GD_HD Place place_of(double n0, double n1) {  // from magnitudes
  return {n0 / (n0 + n1), n1 / (n0 + n1)};
}

template <class Arithmetic>
GD_HD bool place_on_segment(const Segment& s, const Triangle& t, Place& place) {
  double n0, n1;
  const bool sure =
      Arithmetic::volume(t.a, t.b, t.c, s.start, n0) & Arithmetic::volume(t.a, t.b, t.c, s.end, n1);
  place = place_of(std::fabs(n0), std::fabs(n1));
  return sure;
}

// [low, high] contains the t of place_on_segment<Full>; the two are equal if doubles alone
// determine that t. This needs no expansion, and nearly always separates crossings.
struct Span {
  double low, high;

  GD_HD bool is_exact() const { return low == high; }
};

// How far t may lie outside the quotients of the volumes' bounds: all roundings together are less
// than 2^-49 of t (the documentation adds them up), and 2^-1074 if it is subnormal.
constexpr double kSpanError = 0x1p-48, kLeastSpan = 0x1p-1000;

GD_HD Span span_on_segment(const Segment& s, const Triangle& t) {
  const Estimate from = orient3d_estimate(t.a, t.b, t.c, s.start);
  const Estimate to = orient3d_estimate(t.a, t.b, t.c, s.end);
  const double n0 = std::fabs(from.det), n1 = std::fabs(to.det);
  if (from.within(kVolumeError) & to.within(kVolumeError)) return {n0 / (n0 + n1), n0 / (n0 + n1)};
  if (!(minimum(from.permanent, to.permanent) > kOrient3dFloor)) return {-1.0, 1.0};
  const double e0 = kOrient3dBound * from.permanent, e1 = kOrient3dBound * to.permanent;
  const double least = maximum(0.0, n0 - e0), most = n0 + e0;
  const double low = least / (least + (n1 + e1)), high = most / (most + maximum(0.0, n1 - e1));
  return {low * (1.0 - kSpanError) - kLeastSpan, high * (1.0 + kSpanError) + kLeastSpan};
}

// A hit: t, u, v with the point (1 - u - v) a + u b + v c, its distance from the
// start and its coordinates.
struct Hit {
  double t, u, v, distance;
  Vec3 point;
};

// Interpolates from the nearer end, so that a hit at an end equals that end to the last bit.
GD_HD double between(double start, double end, Place place) {
  const double length = end - start;
  return place.t <= 0.5 ? start + place.t * length : end - place.rest * length;
}

// The five volumes of a hit: n0 and n1, which give t, and w0, w1, w2.
constexpr int kHitVolumes = 5;

GD_HD Hit hit_of(const Segment& s, const double* volumes) {
  const double n0 = std::fabs(volumes[0]), n1 = std::fabs(volumes[1]);
  const double w1 = std::fabs(volumes[3]), w2 = std::fabs(volumes[4]);
  const double sum = std::fabs(volumes[2]) + w1 + w2;
  const Place place = place_of(n0, n1);
  const double x = s.end.x - s.start.x, y = s.end.y - s.start.y, z = s.end.z - s.start.z;
  return {place.t,
          w1 / sum,
          w2 / sum,
          place.t * std::sqrt(x * x + y * y + z * z),
          {between(s.start.x, s.end.x, place), between(s.start.y, s.end.y, place),
           between(s.start.z, s.end.z, place)}};
}

GD_HD Hit describe(const Segment& s, const Triangle& t) {
  double volumes[kHitVolumes];
  Full::volume(t.a, t.b, t.c, s.start, volumes[0]);
  Full::volume(t.a, t.b, t.c, s.end, volumes[1]);
  Full::volume(s.start, s.end, t.b, t.c, volumes[2]);
  Full::volume(s.start, s.end, t.c, t.a, volumes[3]);
  Full::volume(s.start, s.end, t.a, t.b, volumes[4]);
  return hit_of(s, volumes);
}

GD_HD void write_hit(const Hit& hit, double* row) {
  const double values[7] = {hit.t,       hit.u,       hit.v,      hit.distance,
                            hit.point.x, hit.point.y, hit.point.z};
  for (int k = 0; k < 7; ++k) row[k] = values[k];
}

}  // namespace geodomain
