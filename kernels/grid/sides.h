// The whole vertical line through a point: how often it crosses the mesh above the
// point, and how often below. That is what an open surface is asked.
#pragma once

#include "grid/grid.h"

namespace geodomain {

struct Sides {
  std::int32_t above, below;  // of the displaced point; above is -1 where undecided
};

// Every triangle of the cell may be on the line, so no slab is passed over, and of the
// long ones none by its top.
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
