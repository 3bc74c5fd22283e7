// Whether a point lies on a surface, and how much of the surface is above and below it.
#pragma once

#include "grid/grid.h"

namespace geodomain {

// Whether a point lies on a triangle, exactly and without displacement, including vertical
// and degenerate triangles.

// Whether q is in the closed projected triangle, or on the line that contains it if
// the projection is one: no two of the sides are opposite.
GD_HD Answer in_projection(double ax, double ay, double bx, double by, double cx, double cy,
                           double qx, double qy) {
  const int ab = orient2d(ax, ay, bx, by, qx, qy);
  const int bc = orient2d(bx, by, cx, cy, qx, qy);
  const int ca = orient2d(cx, cy, ax, ay, qx, qy);
  if (ab == kUnsure || bc == kUnsure || ca == kUnsure) return Answer::undecided;
  const bool left = (ab > 0) | (bc > 0) | (ca > 0);
  const bool right = (ab < 0) | (bc < 0) | (ca < 0);
  return left && right ? Answer::outside : Answer::inside;
}

// In the box, in the plane, and strictly outside no projection. A triangle with
// area has a projection with area, which decides; its other projections contain q in their
// line. A triangle without area is a line in all three, and the box bounds it.
GD_HD Answer on_triangle(const Triangle& t, Vec3 q) {
  const Vec3 &a = t.a, &b = t.b, &c = t.c;
  if (q.x < smallest(a.x, b.x, c.x) || q.x > largest(a.x, b.x, c.x) ||
      q.y < smallest(a.y, b.y, c.y) || q.y > largest(a.y, b.y, c.y) || q.z < bottom(t) ||
      q.z > top(t)) {
    return Answer::outside;
  }
  const int side = orient3d(a, b, c, q);
  if (side != 0) return side == kUnsure ? Answer::undecided : Answer::outside;
  const Answer xy = in_projection(a.x, a.y, b.x, b.y, c.x, c.y, q.x, q.y);
  const Answer yz = in_projection(a.y, a.z, b.y, b.z, c.y, c.z, q.y, q.z);
  const Answer zx = in_projection(a.z, a.x, b.z, b.x, c.z, c.x, q.z, q.x);
  if (xy == Answer::outside || yz == Answer::outside || zx == Answer::outside) {
    return Answer::outside;
  }
  return xy == Answer::inside && yz == Answer::inside && zx == Answer::inside ? Answer::inside
                                                                              : Answer::undecided;
}

// Here `inside` means on the surface.
GD_HD Answer on_surface(const GridView& grid, Vec3 q) {
  const Bounds& box = grid.bounds;
  if (!(q.x >= box.low.x && q.x <= box.high.x && q.y >= box.low.y && q.y <= box.high.y &&
        q.z >= box.low.z && q.z <= box.high.z)) {
    return Answer::outside;
  }
  Axis z;
  const std::int64_t cell = grid.cell(q, z);
  const std::int32_t slab = z.index(q.z);
  const std::uint32_t end = grid.lists[cell + 1].start;
  Answer answer = Answer::outside;
  const auto try_triangle = [&](std::int32_t triangle) {  // false once q is on it
    const Answer here = on_triangle(grid.mesh.triangle(triangle), q);
    if (here != Answer::outside) answer = here;
    return here != Answer::inside;
  };
  for (std::uint32_t i = grid.lists[cell].start; i < end; ++i) {
    const Entry entry = grid.entries[i];
    if (entry.high < slab || entry.low > slab) continue;
    if (!try_triangle(entry.triangle)) return answer;
  }
  visit_long(grid, q, try_triangle);
  return answer;
}

// The whole vertical line through a point: how often it crosses the mesh above the point, and how
// often below.

struct Sides {
  std::int32_t above, below;  // of the displaced point; above is -1 if undecided
};

// Every triangle of the cell may be on the line, so no slab is skipped, and no long triangle by
// its top.
GD_HD Sides count_sides(const GridView& grid, Vec3 q) {
  Sides sides = {0, 0};
  const Bounds& box = grid.bounds;
  if (!(q.x >= box.low.x && q.x <= box.high.x && q.y >= box.low.y && q.y <= box.high.y)) {
    return sides;
  }
  if (!(q.z - q.z == 0.0)) return sides;  // not finite
  const auto take = [&](std::int32_t triangle) {
    const Triangle t = grid.mesh.triangle(triangle);
    const int sign = crossing_sign<Full>(t, q.x, q.y);
    if (sign == 0) return true;
    const int above = sign == kUnsure ? kUnsure : crosses_above<Full>(t, sign, q);
    if (above == kUnsure) return false;
    sides.above += above;
    sides.below += 1 - above;
    return true;
  };
  Axis z;
  const List list = grid.lists[grid.cell(q, z)];
  for (std::int32_t i = 0; i < list.count; ++i) {
    if (!take(grid.entries[list.start + i].triangle)) return {-1, 0};
  }
  return visit_long(grid, {q.x, q.y, -HUGE_VAL}, take) ? sides : Sides{-1, 0};
}

}  // namespace geodomain
