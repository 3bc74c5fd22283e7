// The two signs from which all labels follow, exact for every input in range:
//
//   orient2d(a, b, q) > 0  if q is to the left of the directed line a -> b,
//   orient3d(a, b, c, q) > 0  if q is below the plane of a, b, c, which turn
//   counter-clockwise seen from above; both are 0 exactly on the line or plane.
//
// Three stages: a filter in doubles decides nearly all cases. If it cannot, a comparison of exact
// products decides orient2d for coordinates whose differences are doubles (a wireframe on the block
// lattice). Expansions decide the other cases.
//
// Code that needs signs takes the arithmetic as a parameter: `Full` always decides, `Quick` omits
// the expansions and may return kUnsure. A GPU runs Quick for all rows, and Full only for the
// undecided ones, because the registers of expansions would slow down the others.
#pragma once

#include "exact/expansion.h"
#include "platform/simd.h"

namespace geodomain {

// A volume by pairs of doubles, if they certainly round to the same double as the expansion, in a
// tenth of the time. If the volume lies between two doubles within the bound below, the expansion
// computes it: this happens for ties, and by chance for a fraction 2^-46 P / |volume|, with P the
// permanent.
//
// The bound, with u = 2^-53 and M for the permanent of a minor. Differences of coordinates are
// exact as pairs, whose tails are at most u times their heads. A product of two heads is exact as a
// pair. What goes with it, the two products of a head and a tail, is at most 2u of it, is rounded
// three times (4u^2) and leaves the tails' product out (u^2); with the product's tail it is at most
// 3u, rounded (3u^2). A minor takes the difference of two such sums (3u^2 M) and adds the tail of
// the heads' difference (4u^2 M): 5 + 3 + 3 + 4 = 15u^2 M. The sum of three minors times a height
// has the errors of the minors, 15u^2 P, of the products, 5 + 3, and of the sums: of small parts
// 3 + 3, of the two tails 2, of both 5. That makes 36u^2 P. The permanent in doubles is within
// 2^-49 of P.
//
// The expansion's value is nearly the rounded volume. Compress leaves components of which each is
// at least 2^52 times the sum of the smaller ones. They are added up from the smallest, so that the
// sum added to the largest at last is wrong by little more than u of itself, and by 4u^2 of the
// volume at most. So the value is the double next to some number within 4u^2 P of the volume. If
// all numbers that near to the pair have the same next double, that is it: rounding is monotone.
// 36u^2 + 4u^2, and u^2 for rounding the ends of that range, are less than 2^-100 = 64u^2.
//
// Nothing underflows: coordinates are multiples of 2^-358, so any product of three is a multiple of
// 2^-1074. The bound is a normal number, because the permanent has to be beyond the floor.

constexpr double kCertainBound = 0x1p-100;

// The difference of two products of pairs, as a pair.
template <class Number>
GD_HD PairOf<Number> minor_pair(const PairOf<Number>& p, const PairOf<Number>& s,
                                const PairOf<Number>& q, const PairOf<Number>& r) {
  const PairOf<Number> left = two_product(p.head, s.head), right = two_product(q.head, r.head);
  const PairOf<Number> heads = two_difference(left.head, right.head);
  const Number of_left = left.tail + multiply_add(p.tail, s.head, p.head * s.tail);
  const Number of_right = right.tail + multiply_add(q.tail, r.head, q.head * r.tail);
  return two_sum(heads.head, heads.tail + (of_left - of_right));
}

// A volume within `bound` of head + tail.
template <class Number>
struct PairVolume {
  PairOf<Number> value;
  Number bound;

  // If both bounds round to the head, so does every number within `bound`.
  GD_HD Number least() const { return value.head + (value.tail - bound); }
  GD_HD Number most() const { return value.head + (value.tail + bound); }
};

// orient3d(a, b, c, q), with its permanent in doubles.
template <class Point, class Number>
GD_HD PairVolume<Number> pair_volume(const Point& a, const Point& b, const Point& c, const Point& q,
                                     const Number& permanent) {
  using Pairs = PairOf<Number>;
  const Pairs adx = two_difference(a.x, q.x), ady = two_difference(a.y, q.y);
  const Pairs bdx = two_difference(b.x, q.x), bdy = two_difference(b.y, q.y);
  const Pairs cdx = two_difference(c.x, q.x), cdy = two_difference(c.y, q.y);
  const Pairs adz = two_difference(a.z, q.z), bdz = two_difference(b.z, q.z);
  const Pairs cdz = two_difference(c.z, q.z);
  const Pairs bc = minor_pair(bdx, cdy, bdy, cdx), ca = minor_pair(cdx, ady, cdy, adx);
  const Pairs ab = minor_pair(adx, bdy, ady, bdx);
  const auto small_part = [](const Pairs& product, const Pairs& minor, const Pairs& height) {
    return product.tail + multiply_add(minor.tail, height.head, minor.head * height.tail);
  };
  const Pairs first = two_product(bc.head, adz.head), second = two_product(ca.head, bdz.head);
  const Pairs third = two_product(ab.head, cdz.head);
  const Pairs two = two_sum(first.head, second.head), all = two_sum(two.head, third.head);
  const Number small =
      (small_part(first, bc, adz) + small_part(second, ca, bdz)) + small_part(third, ab, cdz);
  return {two_sum(all.head, small + (two.tail + all.tail)), Number(kCertainBound) * permanent};
}

struct Vec3 {
  double x, y, z;
};

// Shewchuk's bounds on the filters' rounding errors, times the permanent.
constexpr double kUnit = 0x1p-53;
constexpr double kOrient2dBound = (3.0 + 16.0 * kUnit) * kUnit;
constexpr double kOrient3dBound = (7.0 + 56.0 * kUnit) * kUnit;
// The bounds do not include underflow. A determinant of two differences of numbers
// in range is 0 or at least 2^-716, so 2^-1000 is negligible and covers points
// with smaller coordinates; a permanent of three below 2^-900 is left to the exact
// stage.
constexpr double kOrient2dFloor = 0x1p-1000;
constexpr double kOrient3dFloor = 0x1p-900;

// A mesh's coordinates are 0 or of a magnitude from 2^-306 to 2^339, so that products of three
// neither underflow nor overflow; a point's smaller coordinates are called tiny, and are treated
// separately.
constexpr double kLeastMagnitude = 0x1p-306, kMostMagnitude = 0x1p339;
GD_HD bool is_tiny(double value) { return value != 0.0 && std::fabs(value) < kLeastMagnitude; }

GD_HD int sign_of(double value) { return (value > 0.0) - (value < 0.0); }

// The determinant p.x * r.y - p.y * r.x of differences.
struct Difference2 {
  Expansion<2> x, y;

  GD_HD Difference2(double ax, double ay, double qx, double qy) {
    expand(two_difference(ax, qx), x);
    expand(two_difference(ay, qy), y);
  }
};

GD_HD void minor_expansion(const Difference2& p, const Difference2& r, Expansion<16>& out) {
  Expansion<8> left, right;
  multiply(p.x, r.y, left);
  multiply(p.y, r.x, right);
  subtract(left, right, out);
}

constexpr int kUnsure = 2;

// turn(a, p, b, q) is the determinant of a - p and b - q: positive where the second is
// to the left of the first. orient2d is the turn about one point.
//
// Returns its sign if the four differences are doubles and no product underflows, else
// kUnsure. Rounding is monotone, so unequal rounded products are ordered like the exact ones;
// equal ones are ordered by their tails.
GD_HD int turn_products(double ax, double ay, double px, double py, double bx, double by, double qx,
                        double qy) {
  const Pair adx = two_difference(ax, px), ady = two_difference(ay, py);
  const Pair bdx = two_difference(bx, qx), bdy = two_difference(by, qy);
  if (adx.tail != 0.0 || ady.tail != 0.0 || bdx.tail != 0.0 || bdy.tail != 0.0) return kUnsure;
  if (is_tiny(qx) || is_tiny(qy)) return kUnsure;
  const Pair left = two_product(adx.head, bdy.head);
  const Pair right = two_product(ady.head, bdx.head);
  if (left.head != right.head) return left.head > right.head ? 1 : -1;
  return sign_of(left.tail - right.tail);
}

// The exact determinant's sign, and its magnitude within 2^-52.
GD_NOINLINE double turn_expansions(double ax, double ay, double px, double py, double bx, double by,
                                   double qx, double qy) {
  Expansion<16> det;
  minor_expansion(Difference2(ax, ay, px, py), Difference2(bx, by, qx, qy), det);
  return det.value();
}

GD_HD double orient2d_expansions(double ax, double ay, double bx, double by, double qx, double qy) {
  return turn_expansions(ax, ay, qx, qy, bx, by, qx, qy);
}

GD_HD int turn_quick(double ax, double ay, double px, double py, double bx, double by, double qx,
                     double qy) {
  const double left = (ax - px) * (by - qy), right = (ay - py) * (bx - qx);
  const double det = left - right;
  const double bound = kOrient2dBound * (std::fabs(left) + std::fabs(right)) + kOrient2dFloor;
  if (det > bound) return 1;
  if (det < -bound) return -1;
  return turn_products(ax, ay, px, py, bx, by, qx, qy);
}

GD_HD int orient2d_quick(double ax, double ay, double bx, double by, double qx, double qy) {
  return turn_quick(ax, ay, qx, qy, bx, by, qx, qy);
}

// The turn for coordinates in a mesh's range.
GD_HD int turn(double ax, double ay, double px, double py, double bx, double by, double qx,
               double qy) {
  const int sign = turn_quick(ax, ay, px, py, bx, by, qx, qy);
  return sign != kUnsure ? sign : sign_of(turn_expansions(ax, ay, px, py, bx, by, qx, qy));
}

// The sign of a determinant that is linear in the point's coordinates, from its exact value
// with tiny coordinates as 0 (`rest`), the sign of what each tiny one adds, and a bound on these
// additions. kUnsure only if that does not decide.
GD_HD int sign_with_tiny(double rest, int first, int second, int third, double size) {
  if (rest != 0.0) return std::fabs(rest) > 4.0 * size + 0x1p-1000 ? sign_of(rest) : kUnsure;
  const bool plus = (first > 0) | (second > 0) | (third > 0);
  const bool minus = (first < 0) | (second < 0) | (third < 0);
  return plus && minus ? kUnsure : static_cast<int>(plus) - static_cast<int>(minus);
}

GD_NOINLINE int orient2d_tiny(double ax, double ay, double bx, double by, double qx, double qy) {
  const double tiny_x = is_tiny(qx) ? qx : 0.0, tiny_y = is_tiny(qy) ? qy : 0.0;
  const double rest = orient2d_expansions(ax, ay, bx, by, qx - tiny_x, qy - tiny_y);
  return sign_with_tiny(rest, -sign_of(tiny_x) * sign_of(by - ay),
                        sign_of(tiny_y) * sign_of(bx - ax), 0,
                        std::fabs(tiny_x * (by - ay)) + std::fabs(tiny_y * (bx - ax)));
}

// kUnsure only for a point with tiny coordinates.
GD_HD int orient2d(double ax, double ay, double bx, double by, double qx, double qy) {
  const int sign = orient2d_quick(ax, ay, bx, by, qx, qy);
  if (sign != kUnsure) return sign;
  if (is_tiny(qx) || is_tiny(qy)) return orient2d_tiny(ax, ay, bx, by, qx, qy);
  return sign_of(orient2d_expansions(ax, ay, bx, by, qx, qy));
}

GD_HD void term_expansion(const Difference2& p, const Difference2& r, double z, double qz,
                          Expansion<64>& out) {
  Expansion<16> minor;
  Expansion<2> height;
  minor_expansion(p, r, minor);
  expand(two_difference(z, qz), height);
  multiply(minor, height, out);
}

GD_NOINLINE double orient3d_expansions(Vec3 a, Vec3 b, Vec3 c, Vec3 q) {
  const Difference2 ad(a.x, a.y, q.x, q.y), bd(b.x, b.y, q.x, q.y), cd(c.x, c.y, q.x, q.y);
  Expansion<64> first, second, third;
  term_expansion(bd, cd, a.z, q.z, first);
  term_expansion(cd, ad, b.z, q.z, second);
  term_expansion(ad, bd, c.z, q.z, third);
  Expansion<128> two;
  Expansion<192> det;
  add(first, second, two);
  add(two, third, det);
  return det.value();
}

// The determinant in doubles, and the permanent that bounds its rounding error.
template <class Number>
struct EstimateOf {
  Number det, permanent;

  // Whether the relative error is at most `share`.
  GD_HD bool within(double share) const {
    return permanent > kOrient3dFloor && kOrient3dBound * permanent <= share * std::fabs(det);
  }
};
using Estimate = EstimateOf<double>;

template <class Point>
GD_HD auto orient3d_estimate(const Point& a, const Point& b, const Point& c, const Point& q) {
  const auto adx = a.x - q.x, ady = a.y - q.y, adz = a.z - q.z;
  const auto bdx = b.x - q.x, bdy = b.y - q.y, bdz = b.z - q.z;
  const auto cdx = c.x - q.x, cdy = c.y - q.y, cdz = c.z - q.z;
  const auto bc_left = bdx * cdy, bc_right = bdy * cdx;
  const auto ca_left = cdx * ady, ca_right = cdy * adx;
  const auto ab_left = adx * bdy, ab_right = ady * bdx;
  return EstimateOf<decltype(a.x - q.x)>{
      adz * (bc_left - bc_right) + bdz * (ca_left - ca_right) + cdz * (ab_left - ab_right),
      (absolute(bc_left) + absolute(bc_right)) * absolute(adz) +
          (absolute(ca_left) + absolute(ca_right)) * absolute(bdz) +
          (absolute(ab_left) + absolute(ab_right)) * absolute(cdz)};
}

GD_HD int orient3d_quick(Vec3 a, Vec3 b, Vec3 c, Vec3 q) {
  const Estimate estimate = orient3d_estimate(a, b, c, q);
  const double bound = kOrient3dBound * estimate.permanent;
  if (estimate.permanent > kOrient3dFloor) {
    if (estimate.det > bound) return 1;
    if (estimate.det < -bound) return -1;
  }
  return kUnsure;
}

// The determinant is N . (a - q), N = (b - a) x (c - a).
GD_NOINLINE int orient3d_tiny(Vec3 a, Vec3 b, Vec3 c, Vec3 q) {
  const Vec3 tiny = {is_tiny(q.x) ? q.x : 0.0, is_tiny(q.y) ? q.y : 0.0, is_tiny(q.z) ? q.z : 0.0};
  const double rest = orient3d_expansions(a, b, c, {q.x - tiny.x, q.y - tiny.y, q.z - tiny.z});
  const double nx = orient2d_expansions(a.y, a.z, b.y, b.z, c.y, c.z);
  const double ny = orient2d_expansions(a.z, a.x, b.z, b.x, c.z, c.x);
  const double nz = orient2d_expansions(a.x, a.y, b.x, b.y, c.x, c.y);
  return sign_with_tiny(rest, -sign_of(tiny.x) * sign_of(nx), -sign_of(tiny.y) * sign_of(ny),
                        -sign_of(tiny.z) * sign_of(nz),
                        std::fabs(tiny.x * nx) + std::fabs(tiny.y * ny) + std::fabs(tiny.z * nz));
}

// kUnsure only for a point with tiny coordinates.
GD_HD int orient3d(Vec3 a, Vec3 b, Vec3 c, Vec3 q) {
  const int sign = orient3d_quick(a, b, c, q);
  if (sign != kUnsure) return sign;
  if (is_tiny(q.x) || is_tiny(q.y) || is_tiny(q.z)) return orient3d_tiny(a, b, c, q);
  return sign_of(orient3d_expansions(a, b, c, q));
}

constexpr double kVolumeError = 0x1p-48;

// The expansion's value, computed by pairs if they certainly give the same.
GD_NOINLINE double precise_volume(Vec3 a, Vec3 b, Vec3 c, Vec3 q, double permanent) {
  if (permanent > kOrient3dFloor) {
    const PairVolume<double> volume = pair_volume(a, b, c, q, permanent);
    const double value = volume.value.head;
    if (volume.least() == value && volume.most() == value) return value;
  }
  return orient3d_expansions(a, b, c, q);
}

struct Full {
  static constexpr bool kAlwaysTells = true;
  GD_HD static int orient2d(double ax, double ay, double bx, double by, double qx, double qy) {
    return geodomain::orient2d(ax, ay, bx, by, qx, qy);
  }
  GD_HD static int orient3d(Vec3 a, Vec3 b, Vec3 c, Vec3 q) {
    return geodomain::orient3d(a, b, c, q);
  }
  GD_HD static int turn(double ax, double ay, double px, double py, double bx, double by, double qx,
                        double qy) {
    return geodomain::turn(ax, ay, px, py, bx, by, qx, qy);
  }
  // The determinant within 2^-48 of its magnitude; always true: this arithmetic can always decide.
  GD_HD static bool volume(Vec3 a, Vec3 b, Vec3 c, Vec3 q, double& value) {
    const Estimate estimate = orient3d_estimate(a, b, c, q);
    value = estimate.within(kVolumeError) ? estimate.det
                                          : precise_volume(a, b, c, q, estimate.permanent);
    return true;
  }
};

struct Quick {
  static constexpr bool kAlwaysTells = false;
  GD_HD static int orient2d(double ax, double ay, double bx, double by, double qx, double qy) {
    return orient2d_quick(ax, ay, bx, by, qx, qy);
  }
  GD_HD static int orient3d(Vec3 a, Vec3 b, Vec3 c, Vec3 q) { return orient3d_quick(a, b, c, q); }
  GD_HD static int turn(double ax, double ay, double px, double py, double bx, double by, double qx,
                        double qy) {
    return turn_quick(ax, ay, px, py, bx, by, qx, qy);
  }
  GD_HD static bool volume(Vec3 a, Vec3 b, Vec3 c, Vec3 q, double& value) {
    const Estimate estimate = orient3d_estimate(a, b, c, q);
    value = estimate.det;
    return estimate.within(kVolumeError);
  }
};

}  // namespace geodomain
