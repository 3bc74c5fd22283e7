// Whether doubles show that one of a few planes has two triangles on either side: the plane of the
// first, or one across it along an edge. What is not certain does not count.
#pragma once

#include "exact/contact.h"

namespace geodomain {

namespace parting_detail {

GD_HD Vec3 difference(Vec3 p, Vec3 q) { return {p.x - q.x, p.y - q.y, p.z - q.z}; }

GD_HD Vec3 cross(Vec3 p, Vec3 q) {
  return {p.y * q.z - p.z * q.y, p.z * q.x - p.x * q.z, p.x * q.y - p.y * q.x};
}

// The least and the most of m . (p - origin) over a triangle's corners. Either is off by less than
// 2^-50 of the sizes of its products, and by what underflows: less than the floor.
struct Extent {
  double low = HUGE_VAL, high = -HUGE_VAL;

  GD_HD Extent(Vec3 m, const Triangle& t, Vec3 origin) {
    for (int k = 0; k < 3; ++k) {
      const Vec3 p = difference(contact_detail::corner(t, k), origin);
      const double x = m.x * p.x, y = m.y * p.y, z = m.z * p.z, sum = x + y + z;
      const double off = 0x1p-50 * (std::fabs(x) + std::fabs(y) + std::fabs(z)) + 0x1p-1000;
      low = minimum(low, sum - off);
      high = maximum(high, sum + off);
    }
  }
};

}  // namespace parting_detail

GD_HD bool has_parting_plane(const Triangle& s, const Triangle& t) {
  using namespace parting_detail;
  const Vec3 ab = difference(s.b, s.a), bc = difference(s.c, s.b), ca = difference(s.a, s.c);
  const Vec3 normal = cross(ab, bc);
  for (const Vec3& m : {normal, cross(ab, normal), cross(bc, normal), cross(ca, normal)}) {
    const Extent own(m, s, s.a), other(m, t, s.a);
    if (own.high < other.low || other.high < own.low) return true;
  }
  return false;
}

}  // namespace geodomain
