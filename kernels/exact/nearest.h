// The distance from a point to a triangle, in sums of two doubles.
#pragma once

#include "exact/expansion.h"
#include "exact/segment.h"
#include "platform/arithmetic.h"

namespace geodomain {

// Sums of two non-overlapping doubles, as numbers of some 106 bits. They are not exact, but so much
// finer than a double that rounding them nearly always gives the double nearest to the true value.
// The operations are T. J. Dekker's and D. E. Knuth's; the bounds are in M. Joldes, J.-M. Muller,
// V. Popescu, "Tight and rigorous error bounds for basic building blocks of double-word arithmetic"
// (2017): the relative error of a sum is at most 3 * 2^-106, of a product 5, of a quotient 10.
//
// Factors should be near 1, or neither underflow nor overflow: see `unit_scale`.

GD_HD Pair ordered_sum(double large, double small) {
  const double sum = large + small;
  return {sum, small - (sum - large)};
}

GD_HD Pair plus(Pair a, Pair b) {
  const Pair heads = two_sum(a.head, b.head), tails = two_sum(a.tail, b.tail);
  const Pair sum = ordered_sum(heads.head, heads.tail + tails.head);
  return ordered_sum(sum.head, sum.tail + tails.tail);
}
GD_HD Pair negative(Pair a) { return {-a.head, -a.tail}; }
GD_HD Pair minus(Pair a, Pair b) { return plus(a, negative(b)); }

GD_HD Pair times(Pair a, Pair b) {
  const Pair product = two_product(a.head, b.head);
  return ordered_sum(product.head, product.tail + (a.head * b.tail + a.tail * b.head));
}
// Scales by a power of two, exactly.
GD_HD Pair scaled(Pair a, double power) { return {a.head * power, a.tail * power}; }

GD_HD Pair over(Pair a, Pair b) {
  const double first = a.head / b.head;
  const Pair rest = minus(a, times(b, {first, 0.0}));
  return ordered_sum(first, rest.head / b.head);
}

// The root of a non-negative number.
GD_HD Pair root(Pair a) {
  if (!(a.head > 0.0)) return {0.0, 0.0};
  const double first = std::sqrt(a.head);
  const Pair rest = minus(a, two_product(first, first));
  return ordered_sum(first, rest.head / (2.0 * first));
}

GD_HD bool is_positive(Pair a) { return a.head > 0.0; }

// The sum of an expansion's components.
GD_HD Pair rounded_pair(const double* part, int count) {
  Pair sum = {0.0, 0.0};
  for (int i = 0; i < count; ++i) sum = plus(sum, {part[i], 0.0});
  return sum;
}

// The power of two that brings a number between 1 and 2, and its inverse; for 0 and subnormal
// numbers, that of the smallest normal number. Not for numbers beyond 2^1022.
struct UnitScale {
  double up, down;  // size * up is near 1
};

GD_HD UnitScale unit_scale(double size) {
  std::uint64_t bits;
  std::memcpy(&bits, &size, sizeof bits);
  std::uint64_t exponent = bits >> 52 & 0x7ff;
  if (exponent == 0) exponent = 1;
  const std::uint64_t up = (2046 - exponent) << 52, down = exponent << 52;
  UnitScale scale;
  std::memcpy(&scale.up, &up, sizeof up);
  std::memcpy(&scale.down, &down, sizeof down);
  return scale;
}

struct Pair3 {
  Pair x, y, z;
};

// The exact difference.
GD_HD Pair3 difference(const double* p, const double* q) {
  return {two_difference(p[0], q[0]), two_difference(p[1], q[1]), two_difference(p[2], q[2])};
}
GD_HD Pair3 minus(const Pair3& a, const Pair3& b) {
  return {minus(a.x, b.x), minus(a.y, b.y), minus(a.z, b.z)};
}
GD_HD Pair3 times(const Pair3& a, Pair factor) {
  return {times(a.x, factor), times(a.y, factor), times(a.z, factor)};
}
GD_HD Pair3 scaled(const Pair3& a, double power) {
  return {scaled(a.x, power), scaled(a.y, power), scaled(a.z, power)};
}
GD_HD Pair dot(const Pair3& a, const Pair3& b) {
  return plus(plus(times(a.x, b.x), times(a.y, b.y)), times(a.z, b.z));
}
GD_HD Pair3 cross(const Pair3& a, const Pair3& b) {
  return {minus(times(a.y, b.z), times(a.z, b.y)), minus(times(a.z, b.x), times(a.x, b.z)),
          minus(times(a.x, b.y), times(a.y, b.x))};
}

// The magnitude of the largest component.
GD_HD double largest_part(const Pair3& a) {
  const double x = std::fabs(a.x.head), y = std::fabs(a.y.head), z = std::fabs(a.z.head);
  const double two = x > y ? x : y;
  return two > z ? two : z;
}

// The point of a triangle nearest to a given point, and its distance: in double-double, rounded
// once, so that the distance is within one unit in the last place of the largest coordinate
// difference between the point and the corners, whatever the triangle's shape.
//
// A distance to a corner or an edge is computed from that corner or edge alone, with an edge's ends
// in the order of their coordinates, so triangles that share it agree to the last bit. At a corner
// the distance is 0.

struct Foot {  // the nearest point, and the distance to it
  double distance;
  Vec3 point;
};

namespace nearest_detail {

struct Place3 {  // a point as an array of coordinates
  double at[3];

  GD_HD explicit Place3(Vec3 p) : at{p.x, p.y, p.z} {}
  GD_HD Vec3 vector() const { return {at[0], at[1], at[2]}; }
};

GD_HD bool comes_before(const Place3& a, const Place3& b) {
  for (int k = 0; k < 3; ++k) {
    if (a.at[k] != b.at[k]) return a.at[k] < b.at[k];
  }
  return false;
}

GD_HD double length(const Pair3& v, UnitScale scale) {
  const Pair3 unit = scaled(v, scale.up);
  return root(dot(unit, unit)).head * scale.down;
}

GD_HD Foot foot_on_corner(const Place3& corner, const Place3& p) {
  const Pair3 off = difference(p.at, corner.at);
  return {length(off, unit_scale(largest_part(off))), corner.vector()};
}

// The foot at the point minus the offset.
GD_HD Foot foot_at(const Place3& p, const Pair3& offset, double distance) {
  const Pair parts[3] = {offset.x, offset.y, offset.z};
  double at[3];
  for (int k = 0; k < 3; ++k) at[k] = minus({p.at[k], 0.0}, parts[k]).head + 0.0;
  return {distance, {at[0], at[1], at[2]}};
}

GD_HD double larger_size(const Pair3& a, const Pair3& b) {
  return maximum(largest_part(a), largest_part(b));
}

// All factors are scaled near 1 first: the edge by its own size, the rest by the overall size, so
// that edges much shorter or longer than the distance lose no precision either.
GD_NOINLINE Foot foot_on_edge(const Place3& a, const Place3& b, const Place3& p) {
  const bool in_order = comes_before(a, b);
  const Place3 &first = in_order ? a : b, &last = in_order ? b : a;
  const Pair3 along = difference(last.at, first.at), off = difference(p.at, first.at);
  const UnitScale edge = unit_scale(largest_part(along));
  const UnitScale all = unit_scale(larger_size(along, off));
  const Pair3 e = scaled(along, edge.up), w = scaled(off, all.up);
  const Pair part = dot(w, e), square = dot(e, e);
  // The foot is part / whole along the edge. At the last corner the two are equal to the last
  // bit, at the first corner `part` is 0.
  const Pair whole = scaled(scaled(square, edge.down), all.up);
  if (!is_positive(part)) return foot_on_corner(first, p);
  if (!is_positive(minus(whole, part))) return foot_on_corner(last, p);
  const Pair3 rest = minus(w, times(e, over(part, square)));
  return foot_at(p, scaled(rest, all.down), root(dot(rest, rest)).head * all.down);
}

GD_NOINLINE Pair exact_minor(double ax, double ay, double bx, double by, double cx, double cy) {
  Expansion<16> minor;
  minor_expansion(Difference2(bx, by, ax, ay), Difference2(cx, cy, ax, ay), minor);
  return rounded_pair(minor.part, minor.count);
}

// The cross product of two edges, each scaled by its own size: the normal, unless it is a needle.
GD_HD Pair3 even_cross(const Pair3& ab, const Pair3& ac) {
  return cross(scaled(ab, unit_scale(largest_part(ab)).up),
               scaled(ac, unit_scale(largest_part(ac)).up));
}
GD_HD Pair3 unit_sized(const Pair3& normal) {
  return scaled(normal, unit_scale(largest_part(normal)).up);
}

// A triangle's normal with its largest component near 1; 0 if it has no area. The product of two
// nearly parallel vectors is computed exactly, because its rounding error scales with their
// lengths.
GD_HD Pair3 unit_normal(const Place3& a, const Place3& b, const Place3& c, const Pair3& ab,
                        const Pair3& ac) {
  constexpr double kNeedle = 0x1p-24;
  Pair3 normal = even_cross(ab, ac);
  if (!(largest_part(normal) > kNeedle)) {
    normal = {exact_minor(a.at[1], a.at[2], b.at[1], b.at[2], c.at[1], c.at[2]),
              exact_minor(a.at[2], a.at[0], b.at[2], b.at[0], c.at[2], c.at[0]),
              exact_minor(a.at[0], a.at[1], b.at[0], b.at[1], c.at[0], c.at[1])};
  }
  return unit_sized(normal);
}

// The foot on a plane; `w` is the scaled vector from a point of the plane to the query point.
GD_HD Foot foot_on_plane(const Place3& p, const Pair3& normal, const Pair3& w, UnitScale all) {
  const Pair height = dot(w, normal), square = dot(normal, normal);
  const double distance = std::fabs(over(height, root(square)).head) * all.down;
  return foot_at(p, scaled(times(normal, over(height, square)), all.down), distance);
}

// The same as `foot_on_face`, if the foot is known to be inside and the triangle is no needle: with
// a sine of at least 2^-20 nothing needs to be exact.
GD_HD Foot foot_inside(const Place3& a, const Place3& b, const Place3& c, const Place3& p) {
  const Pair3 ab = difference(b.at, a.at), ac = difference(c.at, a.at);
  const Pair3 off = difference(p.at, a.at);
  const UnitScale all = unit_scale(maximum(larger_size(ab, ac), largest_part(off)));
  return foot_on_plane(p, unit_sized(even_cross(ab, ac)), scaled(off, all.up), all);
}

// The side of an edge that a point of the plane is on, seen along the normal: positive is inside.
GD_HD Pair side_of_edge(const Pair3& normal, const Pair3& along, const Pair3& off) {
  return dot(cross(normal, scaled(along, unit_scale(largest_part(along)).up)), off);
}

// False if the perpendicular is not strictly inside the triangle, or there is no normal.
GD_NOINLINE bool foot_on_face(const Place3& a, const Place3& b, const Place3& c, const Place3& p,
                              Foot& foot) {
  const Pair3 ab = difference(b.at, a.at), ac = difference(c.at, a.at);
  const Pair3 normal = unit_normal(a, b, c, ab, ac);
  if (largest_part(normal) == 0.0) return false;
  const Pair3 off = difference(p.at, a.at);
  const UnitScale all = unit_scale(maximum(larger_size(ab, ac), largest_part(off)));
  const Pair3 w = scaled(off, all.up);
  if (!is_positive(side_of_edge(normal, ab, w))) return false;
  const Pair3 from_b = scaled(difference(p.at, b.at), all.up);
  if (!is_positive(side_of_edge(normal, difference(c.at, b.at), from_b))) return false;
  const Pair3 from_c = scaled(difference(p.at, c.at), all.up);
  if (!is_positive(side_of_edge(normal, difference(a.at, c.at), from_c))) return false;
  foot = foot_on_plane(p, normal, w, all);
  return true;
}

}  // namespace nearest_detail

// Parts of a triangle, as bits: the face, and the edges ab, bc and ca.
constexpr std::uint32_t kFace = 1, kFirstEdge = 2, kEveryPart = 15;

// Bounds of a point's distance from a triangle by doubles, and the parts that may contain the
// nearest point: the face alone only if that is certain.
struct TriangleReach {
  double least, most;
  std::uint32_t parts;
};

// With r at least every coordinate difference between the point and a corner, roundings add up to
// less than 80 * 2^-53 r for an edge, wherever along it the foot is, and to less than
// 32 * 2^-53 r / sin for the plane, with the sine of the angle at the first corner. The bounds are
// at least four times these. The foot of the perpendicular is inside if depth > doubt, and outside
// if depth < -doubt. For a triangle too thin for that, or with lengths too small to be
// multiplied, the distance to its edges exceeds that to its plane by no more than its width.
constexpr double kEdgeError = 0x1p-44, kPlaneError = 0x1p-46, kDoubt = 0x1p-45;
constexpr double kLeastError = 0x1p-140;
constexpr double kLeastLengths = 0x1p-600;       // of the product of two squared edge lengths
constexpr double kThinnest = 0x1p-40;            // the square of the smallest sine
constexpr double kFarthestForDoubles = 0x1p100;  // of r

namespace nearest_detail {

// The squared distance to an edge.
GD_HD double edge_square(const Vector<double>& from, const Vector<double>& along, double square) {
  const double share = from.dot(along) / maximum(square, 0x1p-900);
  const double clamped = minimum(maximum(share, 0.0), 1.0);
  const Vector<double> rest = {from.x - clamped * along.x, from.y - clamped * along.y,
                               from.z - clamped * along.z};
  return rest.dot(rest);
}

}  // namespace nearest_detail

GD_HD TriangleReach reach_of(const Triangle& t, Vec3 point) {
  using nearest_detail::edge_square;
  const Vector<double> a = spread<double>(t.a), b = spread<double>(t.b), c = spread<double>(t.c);
  const Vector<double> from_a = seen_from(a, point.x, point.y, point.z);
  const Vector<double> from_b = seen_from(b, point.x, point.y, point.z);
  const Vector<double> from_c = seen_from(c, point.x, point.y, point.z);
  const double r = maximum(maximum(from_a.size(), from_b.size()), from_c.size());
  if (!(r <= kFarthestForDoubles)) return {0.0, HUGE_VAL, kEveryPart};
  const Vector<double> ab = seen_from(a, t.b.x, t.b.y, t.b.z);
  const Vector<double> bc = seen_from(b, t.c.x, t.c.y, t.c.z);
  const Vector<double> ac = seen_from(a, t.c.x, t.c.y, t.c.z);
  const double b_square = ab.dot(ab), c_square = ac.dot(ac);
  const double edge[3] = {edge_square(from_a, ab, b_square), edge_square(from_b, bc, bc.dot(bc)),
                          edge_square(from_a, ac, c_square)};
  const double nearest = root(minimum(minimum(edge[0], edge[1]), edge[2]));
  const double error = kEdgeError * r + kLeastError;
  TriangleReach reach = {nearest - error, nearest + error, 0};

  const Vector<double> normal = ab.cross(ac);
  const double square = normal.dot(normal), lengths = b_square * c_square;
  const bool thin = square < kThinnest * lengths || lengths < kLeastLengths;
  const double product = root(lengths);
  const double of_b = from_a.cross(ac).dot(normal), of_c = ab.cross(from_a).dot(normal);
  const double depth = minimum(minimum(of_b, of_c), square - (of_b + of_c));
  const double doubt = kDoubt * (root(from_a.dot(from_a) * maximum(b_square, c_square)) * product);
  const bool is_inside = !thin && depth > doubt, is_outside = !thin && depth < -doubt;
  if (thin) {
    // Its width is less than 2^-18 of its shorter edge.
    reach.least = reach.least - 0x1p-18 * root(minimum(b_square, c_square));
  } else if (!is_outside) {
    const double inverse = 1.0 / root(square);
    const double plane = std::fabs(from_a.dot(normal)) * inverse;
    const double plane_error = kPlaneError * r * (product * inverse) + kLeastError;
    reach.least = minimum(plane - plane_error, reach.least);
    if (is_inside) reach.most = minimum(reach.most, plane + plane_error);
  }
  if (!is_outside) reach.parts = kFace;
  for (int k = 0; k < 3 && !is_inside; ++k) {
    if (root(edge[k]) <= nearest + 2.0 * error) reach.parts |= kFirstEdge << k;
  }
  return reach;
}

// The nearest point of an edge.
GD_HD Foot foot_on_edge(Vec3 a, Vec3 b, Vec3 point) {
  using nearest_detail::Place3;
  return nearest_detail::foot_on_edge(Place3(a), Place3(b), Place3(point));
}

// The nearest point of a triangle, searched in the given parts, in the face first.
GD_HD Foot foot_on(const Triangle& t, Vec3 point, std::uint32_t parts) {
  using namespace nearest_detail;
  const Place3 a(t.a), b(t.b), c(t.c), p(point);
  if (parts == kFace) return foot_inside(a, b, c, p);
  Foot best = {HUGE_VAL, {0.0, 0.0, 0.0}};
  if ((parts & kFace) && foot_on_face(a, b, c, p, best)) return best;
  const Place3* const ends[4] = {&a, &b, &c, &a};
  for (int k = 0; k < 3; ++k) {
    if (!(parts & kFirstEdge << k)) continue;
    const Foot foot = foot_on_edge(*ends[k], *ends[k + 1], p);
    if (foot.distance < best.distance) best = foot;
  }
  return best;
}

// The nearest triangle so far; of equal distances the lowest index.
struct NearestFound {
  Foot foot;
  std::int32_t triangle;  // -1 for none

  GD_HD bool is_before(const NearestFound& other) const {
    if (foot.distance != other.foot.distance) return foot.distance < other.foot.distance;
    return triangle < other.triangle;
  }
};

// Whether a point can be queried: a point that is not finite has no distance, and beyond a mesh's
// own range squares would overflow.
constexpr double kFarthestCoordinate = 0x1p339;

enum class PointKind { finite, missing, too_far };

GD_HD PointKind kind_of(Vec3 p) {
  const double size = maximum(maximum(std::fabs(p.x), std::fabs(p.y)), std::fabs(p.z));
  const double sum = (p.x - p.x) + (p.y - p.y) + (p.z - p.z);  // 0, or NaN
  if (sum != 0.0) return PointKind::missing;
  return size <= kFarthestCoordinate ? PointKind::finite : PointKind::too_far;
}

}  // namespace geodomain
