// The two signs that everything rests on, exact for every input in range:
//
//   orient2d(a, b, q) > 0  when q is to the left of the directed line a -> b,
//   orient3d(a, b, c, q) > 0  when q is below the plane of a, b, c, which turn
//   counter-clockwise seen from above; both are 0 exactly on the line or plane.
//
// A cascade: a filter in doubles decides nearly everything; where it cannot,
// products compared exactly decide orient2d for coordinates whose differences
// are doubles (a wireframe on the block lattice); expansions decide the rest.
//
// Code that asks for signs takes the arithmetic as a parameter: `Full` always
// answers, `Quick` leaves the expansions out and may answer kUnsure. A GPU runs
// Quick over everything and Full over the few that were unsure, since the
// expansions' registers would slow all the others.
#pragma once

#include "expansion.h"

namespace geodomain {

struct Vec3 {
  double x, y, z;
};

// Shewchuk's bounds on the filters' rounding errors, times the permanent.
constexpr double kUnit = 0x1p-53;
constexpr double kOrient2dBound = (3.0 + 16.0 * kUnit) * kUnit;
constexpr double kOrient3dBound = (7.0 + 56.0 * kUnit) * kUnit;
// Below this a product of three differences may underflow, which the bound above
// does not count; such a determinant goes to the exact stage.
constexpr double kOrient3dFloor = 0x1p-900;

GD_HD int sign_of(double value) { return (value > 0.0) - (value < 0.0); }

// The determinant px * ry - py * rx.
GD_HD Expansion<16> minor_expansion(Pair px, Pair py, Pair rx, Pair ry) {
  return difference(product(expansion(px), expansion(ry)), product(expansion(py), expansion(rx)));
}

constexpr int kUnsure = 2;

// The sign where the four differences are doubles, else kUnsure. Rounding is
// monotone, so unequal rounded products are ordered as the exact ones are; equal
// ones are ordered by their tails.
GD_HD int orient2d_products(double ax, double ay, double bx, double by, double qx, double qy) {
  const Pair adx = two_difference(ax, qx), ady = two_difference(ay, qy);
  const Pair bdx = two_difference(bx, qx), bdy = two_difference(by, qy);
  if (adx.tail != 0.0 || ady.tail != 0.0 || bdx.tail != 0.0 || bdy.tail != 0.0) return kUnsure;
  const Pair left = two_product(adx.head, bdy.head);
  const Pair right = two_product(ady.head, bdx.head);
  if (left.head != right.head) return left.head > right.head ? 1 : -1;
  return sign_of(left.tail - right.tail);
}

GD_NOINLINE int orient2d_expansions(double ax, double ay, double bx, double by, double qx,
                                    double qy) {
  return minor_expansion(two_difference(ax, qx), two_difference(ay, qy), two_difference(bx, qx),
                         two_difference(by, qy))
      .sign();
}

GD_HD int orient2d_quick(double ax, double ay, double bx, double by, double qx, double qy) {
  const double left = (ax - qx) * (by - qy), right = (ay - qy) * (bx - qx);
  const double det = left - right;
  const double bound = kOrient2dBound * (std::fabs(left) + std::fabs(right));
  if (det > bound) return 1;
  if (det < -bound) return -1;
  return orient2d_products(ax, ay, bx, by, qx, qy);
}

GD_HD int orient2d(double ax, double ay, double bx, double by, double qx, double qy) {
  const int sign = orient2d_quick(ax, ay, bx, by, qx, qy);
  return sign != kUnsure ? sign : orient2d_expansions(ax, ay, bx, by, qx, qy);
}

GD_NOINLINE int orient3d_expansions(Vec3 a, Vec3 b, Vec3 c, Vec3 q) {
  const Pair adx = two_difference(a.x, q.x), ady = two_difference(a.y, q.y);
  const Pair bdx = two_difference(b.x, q.x), bdy = two_difference(b.y, q.y);
  const Pair cdx = two_difference(c.x, q.x), cdy = two_difference(c.y, q.y);
  const Expansion<2> adz = expansion(two_difference(a.z, q.z));
  const Expansion<2> bdz = expansion(two_difference(b.z, q.z));
  const Expansion<2> cdz = expansion(two_difference(c.z, q.z));
  const auto first = product(minor_expansion(bdx, bdy, cdx, cdy), adz);
  const auto second = product(minor_expansion(cdx, cdy, adx, ady), bdz);
  const auto third = product(minor_expansion(adx, ady, bdx, bdy), cdz);
  return sum(sum(first, second), third).sign();
}

GD_HD int orient3d_quick(Vec3 a, Vec3 b, Vec3 c, Vec3 q) {
  const double adx = a.x - q.x, ady = a.y - q.y, adz = a.z - q.z;
  const double bdx = b.x - q.x, bdy = b.y - q.y, bdz = b.z - q.z;
  const double cdx = c.x - q.x, cdy = c.y - q.y, cdz = c.z - q.z;
  const double bc_left = bdx * cdy, bc_right = bdy * cdx;
  const double ca_left = cdx * ady, ca_right = cdy * adx;
  const double ab_left = adx * bdy, ab_right = ady * bdx;
  const double det =
      adz * (bc_left - bc_right) + bdz * (ca_left - ca_right) + cdz * (ab_left - ab_right);
  const double permanent = (std::fabs(bc_left) + std::fabs(bc_right)) * std::fabs(adz) +
                           (std::fabs(ca_left) + std::fabs(ca_right)) * std::fabs(bdz) +
                           (std::fabs(ab_left) + std::fabs(ab_right)) * std::fabs(cdz);
  const double bound = kOrient3dBound * permanent;
  if (permanent > kOrient3dFloor) {
    if (det > bound) return 1;
    if (det < -bound) return -1;
  }
  return kUnsure;
}

GD_HD int orient3d(Vec3 a, Vec3 b, Vec3 c, Vec3 q) {
  const int sign = orient3d_quick(a, b, c, q);
  return sign != kUnsure ? sign : orient3d_expansions(a, b, c, q);
}

struct Full {
  GD_HD static int orient2d(double ax, double ay, double bx, double by, double qx, double qy) {
    return geodomain::orient2d(ax, ay, bx, by, qx, qy);
  }
  GD_HD static int orient3d(Vec3 a, Vec3 b, Vec3 c, Vec3 q) {
    return geodomain::orient3d(a, b, c, q);
  }
};

struct Quick {
  GD_HD static int orient2d(double ax, double ay, double bx, double by, double qx, double qy) {
    return orient2d_quick(ax, ay, bx, by, qx, qy);
  }
  GD_HD static int orient3d(Vec3 a, Vec3 b, Vec3 c, Vec3 q) { return orient3d_quick(a, b, c, q); }
};

}  // namespace geodomain
