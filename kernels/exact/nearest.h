// The place of a triangle that is nearest to a point, and how far it is: in double-double, rounded
// once, so that the distance is within one unit in the last place of the largest coordinate
// difference between the point and the corners, whatever the triangle's shape.
//
// A distance to a corner or to an edge is computed from it alone, an edge's ends in the order of
// their coordinates: triangles that share it agree to the last bit. At a corner it is 0.
#pragma once

#include "exact/double_double.h"
#include "exact/segment.h"
#include "platform/arithmetic.h"

namespace geodomain {

struct Foot {  // of the perpendicular, where it is inside the triangle
  double distance;
  Vec3 point;
};

namespace nearest_detail {

struct Place3 {  // a point by its coordinates' numbers
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

// Where the point less the offset is.
GD_HD Foot foot_at(const Place3& p, const Pair3& offset, double distance) {
  const Pair parts[3] = {offset.x, offset.y, offset.z};
  double at[3];
  for (int k = 0; k < 3; ++k) at[k] = minus({p.at[k], 0.0}, parts[k]).head + 0.0;
  return {distance, {at[0], at[1], at[2]}};
}

GD_HD double larger_size(const Pair3& a, const Pair3& b) {
  return maximum(largest_part(a), largest_part(b));
}

// Everything that is multiplied is near 1 first: the edge by its own size, the rest by the size of
// all, so that edges beside which the distance is very long or short lose nothing either.
GD_NOINLINE Foot foot_on_edge(const Place3& one, const Place3& two, const Place3& p) {
  const bool in_order = comes_before(one, two);
  const Place3 &first = in_order ? one : two, &last = in_order ? two : one;
  const Pair3 along = difference(last.at, first.at), off = difference(p.at, first.at);
  const UnitScale edge = unit_scale(largest_part(along));
  const UnitScale all = unit_scale(larger_size(along, off));
  const Pair3 e = scaled(along, edge.up), w = scaled(off, all.up);
  const Pair part = dot(w, e), square = dot(e, e);
  // The foot is after part / whole of the edge. At the last corner the two are equal to the last
  // bit, at the first one the former is 0.
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

// A triangle's normal, its largest part near 1; 0 where it has no area. A product of two vectors
// that are nearly parallel is taken exactly, since its rounding error is by their lengths.
GD_HD Pair3 unit_normal(const Place3& a, const Place3& b, const Place3& c, const Pair3& ab,
                        const Pair3& ac) {
  constexpr double kNeedle = 0x1p-24;
  const Pair3 e = scaled(ab, unit_scale(largest_part(ab)).up);
  const Pair3 f = scaled(ac, unit_scale(largest_part(ac)).up);
  Pair3 normal = cross(e, f);
  if (!(largest_part(normal) > kNeedle)) {
    normal = {exact_minor(a.at[1], a.at[2], b.at[1], b.at[2], c.at[1], c.at[2]),
              exact_minor(a.at[2], a.at[0], b.at[2], b.at[0], c.at[2], c.at[0]),
              exact_minor(a.at[0], a.at[1], b.at[0], b.at[1], c.at[0], c.at[1])};
  }
  return scaled(normal, unit_scale(largest_part(normal)).up);
}

// On which side of an edge a point of the plane is, seen along the normal: inside where positive.
GD_HD Pair side_of_edge(const Pair3& normal, const Pair3& along, const Pair3& off) {
  return dot(cross(normal, scaled(along, unit_scale(largest_part(along)).up)), off);
}

// False where the perpendicular is not strictly inside of the triangle, or there is no normal.
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
  const Pair height = dot(w, normal), square = dot(normal, normal);
  const double distance = std::fabs(over(height, root(square)).head) * all.down;
  foot = foot_at(p, scaled(times(normal, over(height, square)), all.down), distance);
  return true;
}

}  // namespace nearest_detail

// What doubles tell of a point's distances from a triangle, or from several at once: that to each
// edge within `edge_error`, that to the plane within `plane_error`, and whether the foot of the
// perpendicular is inside: where depth > doubt, not where depth < -doubt.
//
// With r at least every coordinate difference between the point and a corner, roundings add up to
// less than 80 * 2^-53 r for an edge, wherever along it its foot is put, and to less than
// 32 * 2^-53 r / sin for the plane, sin that of the angle at the first corner. The bounds are four
// times that at least. A triangle that is too thin for that, or whose lengths are too small to be
// multiplied, is no farther from its edges than from its plane by more than its width.
constexpr double kEdgeError = 0x1p-44, kPlaneError = 0x1p-46, kDoubt = 0x1p-45;
constexpr double kLeastError = 0x1p-140;
constexpr double kLeastLengths = 0x1p-600;       // of the product of the squares of two edges
constexpr double kThinnest = 0x1p-40;            // the square of the least sine
constexpr double kFarthestForDoubles = 0x1p100;  // of r

template <class Number>
struct TriangleReach {
  Number edge[3];  // of ab, bc, ca: squares of distances
  Number nearest_edge, plane, plane_error, depth, doubt;
  Number least_length;     // the square of the shorter of ab and ac
  std::uint32_t thin = 0;  // a bit for each triangle

  // From the point less the corners and the edges; `r` as above, at most kFarthestForDoubles.
  GD_HD TriangleReach(const Vector<Number>& from_a, const Vector<Number>& from_b,
                      const Vector<Number>& ab, const Vector<Number>& bc, const Vector<Number>& ac,
                      double r) {
    const Number b_square = ab.dot(ab), c_square = ac.dot(ac);
    edge[0] = to_edge(from_a, ab, b_square);
    edge[1] = to_edge(from_b, bc, bc.dot(bc));
    edge[2] = to_edge(from_a, ac, c_square);
    nearest_edge = root(minimum(minimum(edge[0], edge[1]), edge[2]));
    const Vector<Number> normal = ab.cross(ac);
    const Number square = normal.dot(normal), lengths = b_square * c_square;
    const Number inverse = Number(1.0) / root(square), product = root(lengths);
    const Number of_b = from_a.cross(ac).dot(normal), of_c = ab.cross(from_a).dot(normal);
    depth = minimum(minimum(of_b, of_c), square - (of_b + of_c));
    doubt = Number(kDoubt) * (root(from_a.dot(from_a) * maximum(b_square, c_square)) * product);
    plane = absolute(from_a.dot(normal)) * inverse;
    plane_error = Number(kPlaneError * r) * (product * inverse) + Number(kLeastError);
    least_length = minimum(b_square, c_square);
    thin = bits_below(square, Number(kThinnest) * lengths) |
           bits_below(lengths, Number(kLeastLengths));
  }

  GD_HD static double edge_error(double r) { return kEdgeError * r + kLeastError; }

 private:
  GD_HD static Number to_edge(const Vector<Number>& from, const Vector<Number>& along,
                              const Number& square) {
    const Number share = from.dot(along) / maximum(square, Number(0x1p-900));
    const Number kept = minimum(maximum(share, Number(0.0)), Number(1.0));
    const Vector<Number> rest = {from.x - kept * along.x, from.y - kept * along.y,
                                 from.z - kept * along.z};
    return rest.dot(rest);
  }
};

// The nearest place of a triangle. Edges that doubles show to be farther than another one, or than
// the face, are left out, and so is the face where the perpendicular is outside.
GD_HD Foot foot_on(const Triangle& t, Vec3 point) {
  using namespace nearest_detail;
  const Place3 a(t.a), b(t.b), c(t.c), p(point);
  const Vector<double> from_a = seen_from(spread<double>(t.a), point.x, point.y, point.z);
  const Vector<double> from_b = seen_from(spread<double>(t.b), point.x, point.y, point.z);
  const Vector<double> from_c = seen_from(spread<double>(t.c), point.x, point.y, point.z);
  const double r = maximum(maximum(from_a.size(), from_b.size()), from_c.size());
  bool edges[3] = {true, true, true}, face = true;
  if (r <= kFarthestForDoubles) {
    const TriangleReach<double> reach(from_a, from_b,
                                      seen_from(spread<double>(t.a), t.b.x, t.b.y, t.b.z),
                                      seen_from(spread<double>(t.b), t.c.x, t.c.y, t.c.z),
                                      seen_from(spread<double>(t.a), t.c.x, t.c.y, t.c.z), r);
    const double most = reach.nearest_edge + 2.0 * TriangleReach<double>::edge_error(r);
    const bool thin = reach.thin & 1;
    const bool in = !thin && reach.depth > reach.doubt;
    for (int k = 0; k < 3; ++k) edges[k] = !in && root(reach.edge[k]) <= most;
    face = thin || !(reach.depth < -reach.doubt);
  }
  Foot best = {HUGE_VAL, {0.0, 0.0, 0.0}};
  if (face && foot_on_face(a, b, c, p, best)) return best;
  const Place3* const ends[4] = {&a, &b, &c, &a};
  for (int k = 0; k < 3; ++k) {
    if (!edges[k]) continue;
    const Foot foot = foot_on_edge(*ends[k], *ends[k + 1], p);
    if (foot.distance < best.distance) best = foot;
  }
  return best;
}

// Between what a triangle's distance is, by doubles; `out` and `in` say where the foot is for sure.
struct DistanceRange {
  double least, most;
};

// A thin triangle's width is less than 2^-18 of its shorter edge.
GD_HD DistanceRange distance_range(double edge, double edge_error, double plane, double plane_error,
                                   double least_length, bool out, bool in, bool thin) {
  DistanceRange range = {edge - edge_error, edge + edge_error};
  if (thin) range.least = range.least - 0x1p-18 * root(least_length);
  if (!thin && !out) range.least = minimum(plane - plane_error, range.least);
  if (!thin && !out && in) range.most = minimum(range.most, plane + plane_error);
  return range;
}

// From the point less the corners, and the edges.
GD_HD DistanceRange distance_range(const Triangle& t, Vec3 point) {
  const Vector<double> a = spread<double>(t.a), b = spread<double>(t.b), c = spread<double>(t.c);
  const Vector<double> from_a = seen_from(a, point.x, point.y, point.z);
  const Vector<double> from_b = seen_from(b, point.x, point.y, point.z);
  const Vector<double> from_c = seen_from(c, point.x, point.y, point.z);
  const double r = maximum(maximum(from_a.size(), from_b.size()), from_c.size());
  if (!(r <= kFarthestForDoubles)) return {0.0, HUGE_VAL};
  const TriangleReach<double> reach(from_a, from_b, seen_from(a, b.x, b.y, b.z),
                                    seen_from(b, c.x, c.y, c.z), seen_from(a, c.x, c.y, c.z), r);
  return distance_range(reach.nearest_edge, TriangleReach<double>::edge_error(r), reach.plane,
                        reach.plane_error, reach.least_length,
                        reach.depth<-reach.doubt, reach.depth> reach.doubt, reach.thin & 1);
}

// The nearest triangle so far: of equal distances the lowest.
struct NearestFound {
  Foot foot;
  std::int32_t triangle;  // -1 where there is none

  GD_HD bool is_before(const NearestFound& other) const {
    if (foot.distance != other.foot.distance) return foot.distance < other.foot.distance;
    return triangle < other.triangle;
  }
};

// What can be asked about: a point that is not finite has no distance, and beyond a mesh's own
// range squares would overflow.
constexpr double kFarthestCoordinate = 0x1p339;

enum class PointKind { finite, missing, too_far };

GD_HD PointKind kind_of(Vec3 p) {
  const double size = maximum(maximum(std::fabs(p.x), std::fabs(p.y)), std::fabs(p.z));
  const double sum = (p.x - p.x) + (p.y - p.y) + (p.z - p.z);  // 0, or NaN
  if (sum != 0.0) return PointKind::missing;
  return size <= kFarthestCoordinate ? PointKind::finite : PointKind::too_far;
}

}  // namespace geodomain
