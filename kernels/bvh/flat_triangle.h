// A triangle in its own plane, in single precision, as it is asked how far away it is: for bounds
// of the distance from below and from above. They only leave triangles out.
#pragma once

#include "bvh/box_frame.h"
#include "bvh/framed_point.h"
#include "platform/mesh_view.h"
#include "platform/simd.h"

namespace geodomain {

// Its longest side is the base, from `corner` along `along`; the triangle is on the side of it to
// which `across` points, and `normal` is upright on both. In even places.
template <class Number>
struct FlatTriangle {
  // A side of the triangle in the plane: from where it begins, as far as `length`.
  struct Side {
    Number along, across, length;
  };
  Vector<Number> corner, along, across, normal;
  Number base;
  Side left, right;  // from both ends of the base to the third corner
};
constexpr int kFlatNumbers = 19;
static_assert(sizeof(FlatTriangle<float>) == kFlatNumbers * sizeof(float), "no gaps");

// How far a point is from a flat triangle: from its nearest side, from its plane, and how far
// inside of all three sides its foot is, negative where it is outside of one.
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
  // Of the distance in the plane to a side.
  GD_HD static Number square(const Number& ahead, const Number& aside, const Number& length) {
    const Number beyond = ahead - smaller(larger(ahead, Number(0.0f)), length);
    return multiply_add(beyond, beyond, aside * aside);
  }
};

// All that single precision makes of a distance D to a triangle whose longest side is A, apart from
// where the point and the corner are moved to: with u = 2^-24 and F <= D + A how far the point is
// from the corner, its coordinates in the triangle's frame are wrong by less than 9u F, sides by 4u
// A, what is ahead and aside by 5u F and the roots by 5u D: less than 24u (D + A) in all. So is the
// distance of a foot from a side.
constexpr float kFlatError = 0x1p-19f;

// Between what a distance is.
template <class Number>
struct FlatRange {
  Number least, most;
};

// `moved` is what the point and the corner are moved by at most, together.
template <class Number>
GD_HD FlatRange<Number> flat_range(const FlatTriangle<Number>& t, const Vector<Number>& p,
                                   float moved) {
  const FlatReach<Number> found(t, p);
  const Number error = multiply_add(Number(kFlatError), found.edge + t.base, Number(moved));
  const Number nearest = smaller(found.plane, found.edge);
  const Number none(0.0f);
  return {where_below(found.inside, none - error, found.edge, nearest) - error,
          where_below(error, found.inside, nearest, found.edge) + error};
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
constexpr double kNone = 0x1p-26;  // a length that is none

// A direction of length 1 that is upright on one.
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

// From the corners in even places. A corner that is nearer to the base than 2^-26 is on it, and a
// base that is shorter is a point: that moves less than `moved` has room for.
GD_HD FlatTriangle<float> flat_triangle(const Vector<double>& one, const Vector<double>& two,
                                        const Vector<double>& three) {
  using namespace flat_detail;
  const Vector<double> sides[3] = {apart(two, one), apart(three, two), apart(one, three)};
  double length = -1.0;
  int base = 0;
  for (int k = 0; k < 3; ++k) {
    const double square = sides[k].dot(sides[k]);
    if (square > length) length = square, base = k;
  }
  const Vector<double> corner = base == 0 ? one : base == 1 ? two : three;
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
  rest = apart(rest, scaled(along, rest.dot(along)));  // what cancellation left of it
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

// Of a mesh's triangle.
GD_HD FlatTriangle<float> flat_triangle(const BoxFrame& frame, const Triangle& t) {
  const auto even = [&](const Vec3& c) {
    return Vector<double>{frame.place(0, c.x) * frame.share[0],
                          frame.place(1, c.y) * frame.share[1],
                          frame.place(2, c.z) * frame.share[2]};
  };
  return flat_triangle(even(t.a), even(t.b), even(t.c));
}

}  // namespace geodomain
