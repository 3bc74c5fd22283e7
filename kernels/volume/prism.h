// The volume below a triangle in a column of blocks: its projection is
// clipped to the column, cut where the triangle passes from one block to the next, and each part is
// integrated exactly as a plane.
//
// All coordinates are relative to a corner of the lattice near the triangle, so that each
// coordinate is rounded once by 2^-53 of the triangle's extent E and a block's b. A corner from
// clipping is wrong by less than 8 * 2^-53 (E + b) in each coordinate: it is on its edge within 3,
// its edge's ends within 1, and it is clipped up to four times, each of which moves it along by
// that. (A column clips the triangle itself, not what another column has left: so a column can be
// computed alone, and a corner is clipped no more often, however many columns there are.) So the
// volume of a part, in units of the block's, is wrong by less than 2^-47 (1 + r), with r the
// largest of E / b along x, y and z: the area changes by the outline's length times that, the mean
// height by that, and there are at most nine corners.
#pragma once

#include "exact/crossing.h"
#include "platform/arithmetic.h"

namespace geodomain {

struct Polygon {  // planar, convex, with at most nine corners, and a few that rounding may add
  static constexpr int kMost = 12;
  Vec3 at[kMost];
  int count = 0;

  GD_HD Polygon() {}
  GD_HD Polygon(const Polygon& other) { *this = other; }
  GD_HD Polygon& operator=(const Polygon& other) {  // copies only the corners in use
    count = other.count;
    for (int i = 0; i < count; ++i) at[i] = other.at[i];
    return *this;
  }

  GD_HD void put(const Vec3& p) {
    if (count < kMost) at[count++] = p;
  }
};

GD_HD double& part(Vec3& p, int axis) { return axis == 0 ? p.x : axis == 1 ? p.y : p.z; }
GD_HD double part(const Vec3& p, int axis) { return axis == 0 ? p.x : axis == 1 ? p.y : p.z; }

// Where the edge from p to q passes a value along an axis; always computed from the lower end, so
// that triangles that share the edge agree.
GD_HD Vec3 pass(const Vec3& p, const Vec3& q, int axis, double value) {
  const bool rises = part(p, axis) < part(q, axis);
  const Vec3 &low = rises ? p : q, &high = rises ? q : p;
  const double from = part(low, axis), share = (value - from) / (part(high, axis) - from);
  Vec3 at = {low.x + share * (high.x - low.x), low.y + share * (high.y - low.y),
             low.z + share * (high.z - low.z)};
  part(at, axis) = value;
  return at;
}

// Divides a convex ring of corners along the chord where a value of its corners passes 0; the value
// is linear except for rounding. A ring without negative values is above as a whole. The corners
// from the lowest on, in both directions, are below as long as they are negative, and all others
// are above: so the parts always add up to the whole, even if values are no more than rounding
// errors and their signs change more than twice around the ring.
template <class Shape, class Value, class Pass>
GD_HD void divide(const Shape& whole, const Value& value, const Pass& pass, Shape* below,
                  Shape* above) {
  if (below) below->count = 0;
  if (above) above->count = 0;
  if (whole.count < 3) return;
  int lowest = 0;
  double least = value(0);
  bool rises = least > 0.0;
  for (int i = 1; i < whole.count; ++i) {
    const double here = value(i);
    if (here < least) least = here, lowest = i;
    rises |= here > 0.0;
  }
  if (!(least < 0.0)) {
    if (above) *above = whole;
    return;
  }
  if (!rises) {
    if (below) *below = whole;
    return;
  }
  const auto after = [&](int i) { return i + 1 < whole.count ? i + 1 : 0; };
  const auto before = [&](int i) { return i > 0 ? i - 1 : whole.count - 1; };
  int fall = lowest, rise = after(lowest);  // the first corner below, and the first one after it
  while (value(before(fall)) < 0.0) fall = before(fall);
  while (value(rise) < 0.0) rise = after(rise);
  bool is_below = rise < fall && rise > 0;
  for (int i = 0; i < whole.count; ++i) {
    const int next = after(i);
    if (i == fall) is_below = true;
    if (i == rise) is_below = false;
    const bool is_on = (i == rise || next == fall) && value(i) == 0.0;
    if (below && (is_below || is_on)) below->put(whole.at[i]);
    if (above && !is_below) above->put(whole.at[i]);
    if ((next == fall && value(i) > 0.0) || (next == rise && value(next) > 0.0)) {
      const auto at = pass(i, next);
      if (below) below->put(at);
      if (above) above->put(at);
    }
  }
}

// Cuts a polygon at a value along an axis; points level with it are above.
GD_HD void cut(const Polygon& whole, int axis, double value, Polygon& below, Polygon& above) {
  divide(
      whole, [&](int i) { return part(whole.at[i], axis) - value; },
      [&](int i, int j) { return pass(whole.at[i], whole.at[j], axis, value); }, &below, &above);
}

// Clips a polygon to one side of a value along an axis; points level with it are kept.
GD_HD void clip(const Polygon& whole, int axis, double value, bool is_above, Polygon& clipped) {
  const double side = is_above ? 1.0 : -1.0;
  Polygon* const none = nullptr;
  divide(
      whole, [&](int i) { return side * (part(whole.at[i], axis) - value); },
      [&](int i, int j) { return pass(whole.at[i], whole.at[j], axis, value); }, none, &clipped);
}

struct Range {
  double low, high;
};

GD_HD Range range_of(const Polygon& polygon, int axis) {
  Range range = {part(polygon.at[0], axis), part(polygon.at[0], axis)};
  for (int i = 1; i < polygon.count; ++i) {
    range.low = minimum(range.low, part(polygon.at[i], axis));
    range.high = maximum(range.high, part(polygon.at[i], axis));
  }
  return range;
}

// The part between two values along an axis, of a polygon with a known range there: the polygon
// itself, or one of two buffers that are overwritten.
GD_HD const Polygon& between(const Polygon& whole, const Range& range, int axis, double low,
                             double high, Polygon& first, Polygon& second) {
  const Polygon* current = &whole;
  if (range.low < low) {
    clip(*current, axis, low, true, first);
    current = &first;
  }
  if (range.high > high) {
    clip(*current, axis, high, false, second);
    current = &second;
  }
  return *current;
}

// Integrals over the projection: the area, positive if it turns counter-clockwise, and the integral
// of the height above a level.
struct Integral {
  double area, volume;
};

GD_HD Integral integrate(const Polygon& polygon, double level) {
  Integral sum = {0.0, 0.0};
  const Vec3& a = polygon.at[0];
  for (int i = 2; i < polygon.count; ++i) {
    const Vec3 &b = polygon.at[i - 1], &c = polygon.at[i];
    const double area = 0.5 * ((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x));
    sum.area += area;
    sum.volume += area * (((a.z - level) + (b.z - level) + (c.z - level)) / 3.0);
  }
  return sum;
}

}  // namespace geodomain
