// Flat cylinders around what is below a node, or in a packet, in single precision and even places.
// Boxes of a surface that is tilted are thick, so that many look near; a cylinder about the mean
// plane is as thin as the surface is flat.
#pragma once

#include "bvh/framed_point.h"
#include "bvh/nodes.h"
#include "platform/simd.h"

namespace geodomain {

GD_HD Vector<float> apart(const Vector<float>& to, const Vector<float>& from) {
  return {to.x - from.x, to.y - from.y, to.z - from.z};
}
GD_HD Vector<float> plus(const Vector<float>& a, const Vector<float>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
GD_HD Vector<float> times(const Vector<float>& a, float factor) {
  return {a.x * factor, a.y * factor, a.z * factor};
}
GD_HD float length(const Vector<float>& v) { return quick_root(v.dot(v)); }

// In places from the frame's middle: nearer than this, single precision is enough.
constexpr float kFarthestForCylinders = 16.0f;

// At most the square of the distance to anything in a cylinder, from the point less its centre.
// Rounding errors, that of the normal's length included, are less than 2^-20 of the distance to the
// centre.
template <class Number>
GD_HD Number square_to_cylinder(const Vector<Number>& off, const Vector<Number>& normal,
                                const Number& thickness, const Number& radius) {
  const Number none(0.0f), error(0x1p-19f);
  const Number height = size_of(off.dot(normal)), square = off.dot(off);
  const Number far = quick_root(square);
  const Number aside = larger(square - height * height - error * square, none);
  const Number beside = larger(quick_root(aside) - radius, none);
  const Number above = larger(height - thickness - error * far, none);
  return (beside * beside + above * above) * Number(1.0f - 0x1p-19f);
}

// What is in it is within `thickness` of its middle plane, and within `radius` of its axis.
struct alignas(16) Cylinder {
  float centre[3];
  float thickness;
  float normal[3];  // of length 1, or 0: then it is a ball
  float radius;

  GD_HD float least_square(const Vector<float>& p) const {
    return square_to_cylinder(apart(p, {centre[0], centre[1], centre[2]}),
                              {normal[0], normal[1], normal[2]}, thickness, radius);
  }
};
static_assert(sizeof(Cylinder) == 32, "a cylinder is two loads of sixteen bytes");

// A direction of length 1, or 0 where there is none.
GD_HD Vector<float> direction_of(const Vector<float>& sum) {
  const float size = maximum_of(maximum_of(std::fabs(sum.x), std::fabs(sum.y)), std::fabs(sum.z));
  if (!(size > 0x1p-100f)) return {0.0f, 0.0f, 0.0f};
  const Vector<float> even = times(sum, 1.0f / size);
  return times(even, 1.0f / std::sqrt(even.dot(even)));
}

// Half of a cylinder's height, and its radius, wider by more than roundings come to.
GD_HD Cylinder cylinder(const Vector<float>& centre, const Vector<float>& normal, float thickness,
                        float radius) {
  const float wide = radius * (1.0f + 0x1p-18f) + 0x1p-22f;
  return {{centre.x, centre.y, centre.z},
          thickness * (1.0f + 0x1p-18f) + 0x1p-19f * wide,
          {normal.x, normal.y, normal.z},
          wide};
}

// Around the triangles of a packet.
GD_HD Cylinder cylinder_of(const BoxFrame& frame, const PacketRow* rows, int triangle_count) {
  const auto corner = [&](int i) {
    const double* at = rows[i / 3].at + 3 * (i % 3);
    return FramedPoint(frame, {at[0], at[1], at[2]}).even(frame);
  };

  Vector<float> sum = {0.0f, 0.0f, 0.0f}, centre = sum;
  const int count = 3 * triangle_count;
  for (int i = 0; i < count; i += 3) {
    const Vector<float> a = corner(i), b = corner(i + 1), c = corner(i + 2);
    sum = plus(sum, apart(b, a).cross(apart(c, a)));
    centre = plus(centre, times(plus(plus(a, b), c), 1.0f / static_cast<float>(count)));
  }
  const Vector<float> normal = direction_of(sum);
  float thickness = 0.0f, radius = 0.0f;
  for (int i = 0; i < count; ++i) {
    const Vector<float> off = apart(corner(i), centre);
    thickness = maximum_of(thickness, std::fabs(off.dot(normal)));
    radius = maximum_of(radius, length(off));
  }
  return cylinder(centre, normal, thickness, radius);
}

// Around others; child(i) for i in [0, count).
template <class Child>
GD_HD Cylinder cylinder_around(int count, Child&& child) {
  Vector<float> sum = {0.0f, 0.0f, 0.0f}, centre = sum;
  for (int i = 0; i < count; ++i) {
    const Cylinder one = child(i);
    sum = plus(sum, times({one.normal[0], one.normal[1], one.normal[2]}, one.radius));
    centre = plus(centre, times({one.centre[0], one.centre[1], one.centre[2]},
                                1.0f / static_cast<float>(count)));
  }
  const Vector<float> normal = direction_of(sum);
  float thickness = 0.0f, radius = 0.0f;
  for (int i = 0; i < count; ++i) {
    const Cylinder one = child(i);
    const Vector<float> off = apart({one.centre[0], one.centre[1], one.centre[2]}, centre);
    const float upright = Vector<float>{one.normal[0], one.normal[1], one.normal[2]}.dot(normal);
    const float lean = std::sqrt(maximum_of(1.0f - upright * upright, 0.0f) + 0x1p-20f);
    const float half = one.thickness + one.radius * lean;
    thickness = maximum_of(thickness, std::fabs(off.dot(normal)) + half);
    radius = maximum_of(radius, length(off) + one.thickness + one.radius);
  }
  return cylinder(centre, normal, thickness, radius);
}

// Of a node, once those of its children are there.
GD_HD Cylinder cylinder_of(const WideNode& node, const Cylinder* of_nodes,
                           const Cylinder* of_packets) {
  const int inner = count_bits(node.inner), all = inner + count_bits(node.leaf);
  return cylinder_around(all, [&](int i) {
    return i < inner ? of_nodes[node.child + i] : of_packets[node.packet + (i - inner)];
  });
}

}  // namespace geodomain
