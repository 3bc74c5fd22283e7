// Shared by host and GPU in the search for the nearest triangle: bounds of distances by flat
// triangles and flat cylinders in single precision, and the decision among the few that remain.
#pragma once

#include "bvh/box_frame.h"
#include "bvh/nodes.h"
#include "exact/nearest.h"
#include "platform/mesh_view.h"
#include "platform/simd.h"

namespace geodomain {

// Finds the nearest of the few triangles that remain after single precision.

// A candidate for the nearest triangle, with a lower bound of its distance in units of the longest
// axis.
struct Noted {
  float least;
  std::int32_t triangle;
};
// Most candidates before a decision among them.
constexpr int kMostNoted = 8;

// The nearest of a few candidates and the best so far; doubles exclude most of them.
GD_HD NearestFound nearest_of(const MeshView& mesh, Vec3 p, const Noted* noted, int count,
                              NearestFound best) {
  double most = best.foot.distance * (1.0 + 0x1p-50);
  TriangleReach reach[kMostNoted];
  for (int i = 0; i < count; ++i) {
    reach[i] = reach_of(mesh.triangle(noted[i].triangle), p);
    most = minimum(most, reach[i].most);
  }
  for (int i = 0; i < count; ++i) {
    if (!(reach[i].least <= most)) continue;
    const std::int32_t triangle = noted[i].triangle;
    const NearestFound candidate = {foot_on(mesh.triangle(triangle), p, reach[i].parts), triangle};
    if (best.triangle < 0 || candidate.is_before(best)) best = candidate;
    // A rounded distance may be below the bound by doubles, but only slightly.
    most = minimum(most, best.foot.distance * (1.0 + 0x1p-50));
  }
  return best;
}

// A distance in units of the longest axis, rounded up; `longest` is from `longest_scale`.
GD_HD float most_in_places(double distance, double longest) {
  return static_cast<float>(distance * longest * (1.0 + 0x1p-20));
}

// A triangle in its own plane, in single precision: lower and upper bounds of the distance to it.
// They only exclude triangles.

// Its longest side is the base, from `corner` along `along`; `across` points to the triangle's side
// of the base, and `normal` is perpendicular to both. In units of the longest axis.
template <class Number>
struct FlatTriangle {
  // A side of the triangle in the plane, with its start and length.
  struct Side {
    Number along, across, length;
  };
  Vector<Number> corner, along, across, normal;
  Number base;
  Side left, right;  // from both ends of the base to the third corner
};
constexpr int kFlatNumbers = 19;
static_assert(sizeof(FlatTriangle<float>) == kFlatNumbers * sizeof(float), "no gaps");

// The distance of a point from a flat triangle: from its nearest side, from its plane, and how far
// its foot is inside all three sides, negative if it is outside one.
template <class Number>
struct FlatReach {
  Number edge, plane, inside;

  GD_HD FlatReach(const FlatTriangle<Number>& t, const Vector<Number>& p) {
    const Vector<Number> off = {p.x - t.corner.x, p.y - t.corner.y, p.z - t.corner.z};
    const Number x = off.dot(t.along), y = off.dot(t.across), z = off.dot(t.normal);
    const Number from_right = x - t.base;
    const Number left = multiply_subtract(x, t.left.across, y * t.left.along);
    const Number right = multiply_subtract(y, t.right.along, from_right * t.right.across);
    const Number nearest =
        smaller(smaller(square(x, y, t.base), square(ahead(t.left, x, y), left, t.left.length)),
                square(ahead(t.right, from_right, y), right, t.right.length));
    edge = quick_root(multiply_add(z, z, nearest));
    plane = size_of(z);
    inside = smaller(smaller(y, left), right);
  }

 private:
  GD_HD static Number ahead(const typename FlatTriangle<Number>::Side& side, const Number& x,
                            const Number& y) {
    return multiply_add(x, side.along, y * side.across);
  }
  // The squared distance, in the plane, to a side.
  GD_HD static Number square(const Number& ahead, const Number& aside, const Number& length) {
    const Number beyond = ahead - smaller(larger(ahead, Number(0.0f)), length);
    return multiply_add(beyond, beyond, aside * aside);
  }
};

// Error of a distance D in single precision, to a triangle with longest side A, apart from the
// movement of point and corner: with u = 2^-24, and F <= D + A the distance of the point from the
// corner, the point's coordinates in the triangle's frame are wrong by less than 9u F, sides by 4u
// A, the parts ahead and aside by 5u F and the roots by 5u D: less than 24u (D + A) in all. So is
// the distance of a foot from a side.
constexpr float kFlatError = 0x1p-19f;

// Lower and upper bound of a distance.
template <class Number>
struct FlatRange {
  Number least, most;
};

// `moved` bounds how far the point and the corner have moved, together.
template <class Number>
GD_HD FlatRange<Number> flat_range(const FlatTriangle<Number>& t, const Vector<Number>& p,
                                   float moved) {
  const FlatReach<Number> flat(t, p);
  const Number error = multiply_add(Number(kFlatError), flat.edge + t.base, Number(moved));
  const Number nearest = smaller(flat.plane, flat.edge);
  const Number none(0.0f);
  return {where_below(flat.inside, none - error, flat.edge, nearest) - error,
          where_below(error, flat.inside, nearest, flat.edge) + error};
}

namespace flat_detail {

GD_HD Vector<double> apart(const Vector<double>& to, const Vector<double>& from) {
  return {to.x - from.x, to.y - from.y, to.z - from.z};
}
GD_HD Vector<double> scaled(const Vector<double>& v, double factor) {
  return {v.x * factor, v.y * factor, v.z * factor};
}
GD_HD Vector<float> single(const Vector<double>& v) {
  return {static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)};
}
constexpr double kNone = 0x1p-26;  // lengths up to this count as 0

// A unit vector perpendicular to `along`.
GD_HD Vector<double> any_across(const Vector<double>& along) {
  const double x = std::fabs(along.x), y = std::fabs(along.y), z = std::fabs(along.z);
  const Vector<double> axis = x <= y && x <= z ? Vector<double>{1.0, 0.0, 0.0}
                              : y <= z         ? Vector<double>{0.0, 1.0, 0.0}
                                               : Vector<double>{0.0, 0.0, 1.0};
  const Vector<double> normal = along.cross(axis);
  return scaled(normal, 1.0 / std::sqrt(normal.dot(normal)));
}
GD_HD FlatTriangle<float>::Side side(double along, double across) {
  const double length = std::sqrt(along * along + across * across);
  if (!(length > kNone)) return {1.0f, 0.0f, 0.0f};  // any direction
  return {static_cast<float>(along / length), static_cast<float>(across / length),
          static_cast<float>(length)};
}

}  // namespace flat_detail

// Builds a flat triangle from corners in units of the longest axis. A corner within 2^-26 of the
// base is moved to it, and a shorter base is a point: `moved` includes these movements.
GD_HD FlatTriangle<float> flat_triangle(const Vector<double>& a, const Vector<double>& b,
                                        const Vector<double>& c) {
  using namespace flat_detail;
  const Vector<double> sides[3] = {apart(b, a), apart(c, b), apart(a, c)};
  double length = -1.0;
  int base = 0;
  for (int k = 0; k < 3; ++k) {
    const double square = sides[k].dot(sides[k]);
    if (square > length) length = square, base = k;
  }
  const Vector<double> corner = base == 0 ? a : base == 1 ? b : c;
  length = std::sqrt(length);
  const Vector<double> to_third = scaled(base == 0   ? sides[2]
                                         : base == 1 ? sides[0]
                                                     : sides[1],
                                         -1.0);
  Vector<double> along = {1.0, 0.0, 0.0};
  if (length > kNone)
    along = scaled(sides[base], 1.0 / length);
  else
    length = 0.0;
  const double ahead = to_third.dot(along);
  Vector<double> rest = apart(to_third, scaled(along, ahead));
  rest = apart(rest, scaled(along, rest.dot(along)));  // again, because of cancellation
  double aside = std::sqrt(rest.dot(rest));
  Vector<double> across = any_across(along);
  if (aside > kNone)
    across = scaled(rest, 1.0 / aside);
  else
    aside = 0.0;
  return {single(corner),
          single(along),
          single(across),
          single(along.cross(across)),
          static_cast<float>(length),
          side(ahead, aside),
          side(ahead - length, aside)};
}

// The flat triangle of a mesh's triangle.
GD_HD FlatTriangle<float> flat_triangle(const BoxFrame& frame, const Triangle& t) {
  const auto even = [&](const Vec3& c) {
    return Vector<double>{frame.place(0, c.x) * frame.share[0],
                          frame.place(1, c.y) * frame.share[1],
                          frame.place(2, c.z) * frame.share[2]};
  };
  return flat_triangle(even(t.a), even(t.b), even(t.c));
}

// Flat cylinders around the triangles of a node or a packet, in single precision and in units of
// the longest axis. The boxes of a tilted surface are thick, so many of them look near; a cylinder
// about the mean plane is as thin as the surface is flat.

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

// Distance from the frame's middle up to which single precision is enough.
constexpr float kFarthestForCylinders = 16.0f;

// A lower bound of the squared distance to anything in a cylinder, from the vector from its centre
// to the point. Rounding errors, including that of the normal's length, are less than 2^-20 of the
// distance to the centre.
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

// The points within `thickness` of the middle plane and within `radius` of the axis.
struct alignas(16) Cylinder {
  float centre[3];
  float thickness;
  float normal[3];  // of length 1, or 0 for a ball
  float radius;

  GD_HD float least_square(const Vector<float>& p) const {
    return square_to_cylinder(apart(p, {centre[0], centre[1], centre[2]}),
                              {normal[0], normal[1], normal[2]}, thickness, radius);
  }
};
static_assert(sizeof(Cylinder) == 32, "a cylinder is two loads of sixteen bytes");

// The unit vector along a sum, or 0.
GD_HD Vector<float> direction_of(const Vector<float>& sum) {
  const float size = maximum_of(maximum_of(std::fabs(sum.x), std::fabs(sum.y)), std::fabs(sum.z));
  if (!(size > 0x1p-100f)) return {0.0f, 0.0f, 0.0f};
  const Vector<float> even = times(sum, 1.0f / size);
  return times(even, 1.0f / std::sqrt(even.dot(even)));
}

// A cylinder, widened by more than the rounding errors.
GD_HD Cylinder cylinder(const Vector<float>& centre, const Vector<float>& normal, float thickness,
                        float radius) {
  const float wide = radius * (1.0f + 0x1p-18f) + 0x1p-22f;
  return {{centre.x, centre.y, centre.z},
          thickness * (1.0f + 0x1p-18f) + 0x1p-19f * wide,
          {normal.x, normal.y, normal.z},
          wide};
}

// The cylinder around the triangles of a packet.
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

// The cylinder around the cylinders child(i), i in [0, count).
template <class Child>
GD_HD Cylinder cylinder_around(int count, Child&& child) {
  Vector<float> sum = {0.0f, 0.0f, 0.0f}, centre = sum;
  for (int i = 0; i < count; ++i) {
    const Cylinder part = child(i);
    sum = plus(sum, times({part.normal[0], part.normal[1], part.normal[2]}, part.radius));
    centre = plus(centre, times({part.centre[0], part.centre[1], part.centre[2]},
                                1.0f / static_cast<float>(count)));
  }
  const Vector<float> normal = direction_of(sum);
  float thickness = 0.0f, radius = 0.0f;
  for (int i = 0; i < count; ++i) {
    const Cylinder part = child(i);
    const Vector<float> off = apart({part.centre[0], part.centre[1], part.centre[2]}, centre);
    const float upright = Vector<float>{part.normal[0], part.normal[1], part.normal[2]}.dot(normal);
    const float lean = std::sqrt(maximum_of(1.0f - upright * upright, 0.0f) + 0x1p-20f);
    const float half = part.thickness + part.radius * lean;
    thickness = maximum_of(thickness, std::fabs(off.dot(normal)) + half);
    radius = maximum_of(radius, length(off) + part.thickness + part.radius);
  }
  return cylinder(centre, normal, thickness, radius);
}

// The cylinder of a node, from those of its children.
GD_HD Cylinder cylinder_of(const WideNode& node, const Cylinder* of_nodes,
                           const Cylinder* of_packets) {
  const int inner = count_bits(node.inner), all = inner + count_bits(node.leaf);
  return cylinder_around(all, [&](int i) {
    return i < inner ? of_nodes[node.child + i] : of_packets[node.packet + (i - inner)];
  });
}

// Nodes, cylinders and flat triangles of a mesh's hierarchy, in the form for a GPU.

// A packet's triangle, read by five loads of sixteen bytes.
struct alignas(16) FlatRow {
  FlatTriangle<float> flat;
  std::uint32_t triangle;  // and, in the highest bit, whether the packet has another

  static constexpr std::uint32_t kAnother = 0x80000000u;
};
static_assert(sizeof(FlatRow) == 80, "a row is five loads of sixteen bytes");

GD_HD FlatRow flat_row(const BoxFrame& frame, const MeshView& mesh, const Packet& packet, int k) {
  const bool another = k + 1 < packet.row[0].count;
  const auto triangle = static_cast<std::uint32_t>(packet.row[k].triangle);
  return {flat_triangle(frame, mesh.triangle(packet.row[k].triangle)),
          triangle | (another ? FlatRow::kAnother : 0u)};
}

// A node's boxes as floats, in units of the longest axis: on a GPU converting bytes would take
// three times as long. An empty slot is infinitely far from everything.
struct alignas(16) NearestNode {
  float side[3][2][kWide];  // by axis: lower and upper sides of boxes
  std::uint32_t child, packet;
  std::uint32_t inner, leaf;
};
static_assert(sizeof(NearestNode) == 208, "a node is thirteen loads of sixteen bytes");

GD_HD NearestNode nearest_node(const BoxFrame& frame, const WideNode& node) {
  NearestNode wide;
  for (int k = 0; k < 3; ++k) {
    const float step = power_of_two(node.exponent[k]);
    for (int slot = 0; slot < kWide; ++slot) {
      const bool there = (node.inner | node.leaf) >> slot & 1;
      const float low = node.origin[k] + step * static_cast<float>(node.low[k] >> 8 * slot & 0xff);
      const float high =
          node.origin[k] + step * static_cast<float>(node.high[k] >> 8 * slot & 0xff);
      wide.side[k][0][slot] = there ? low * frame.share[k] : HUGE_VALF;
      wide.side[k][1][slot] = there ? high * frame.share[k] : -HUGE_VALF;
    }
  }
  wide.child = node.child, wide.packet = node.packet;
  wide.inner = node.inner, wide.leaf = node.leaf;
  return wide;
}

// The index as the kernels take it.
struct NearestView {
  BoxFrame frame;
  const NearestNode* nodes;
  const Cylinder *of_nodes, *of_packets;
  const FlatRow* rows;  // kDevicePacket rows for each packet
  MeshView mesh;
};
static_assert(sizeof(NearestView) == size_by_pointers(120, 96), "as every compiler has it");

constexpr std::int32_t kNoRoom = -2;  // instead of the first candidate

}  // namespace geodomain
