// Whether a point lies on a triangle, exactly and without displacement; vertical
// and degenerate triangles included.
#pragma once

#include "grid.h"

namespace geodomain {

// No two of the signs are opposite: q is in the closed projected triangle, or
// the projection is a line that holds q.
GD_HD bool agree(int ab, int bc, int ca) {
  const bool left = (ab > 0) | (bc > 0) | (ca > 0);
  const bool right = (ab < 0) | (bc < 0) | (ca < 0);
  return !(left & right);
}

// In the box, in the plane, and strictly outside no projection. A triangle with
// area has a projection with area, which decides; the others hold q in their
// line. One without area is its own line in all three, and the box ends it.
GD_HD bool on_triangle(const Triangle& t, Vec3 q) {
  const Vec3 &a = t.a, &b = t.b, &c = t.c;
  if (q.x < smallest(a.x, b.x, c.x) || q.x > largest(a.x, b.x, c.x)) return false;
  if (q.y < smallest(a.y, b.y, c.y) || q.y > largest(a.y, b.y, c.y)) return false;
  if (q.z < bottom(t) || q.z > top(t)) return false;
  return orient3d(a, b, c, q) == 0 &&
         agree(orient2d(a.x, a.y, b.x, b.y, q.x, q.y), orient2d(b.x, b.y, c.x, c.y, q.x, q.y),
               orient2d(c.x, c.y, a.x, a.y, q.x, q.y)) &&
         agree(orient2d(a.y, a.z, b.y, b.z, q.y, q.z), orient2d(b.y, b.z, c.y, c.z, q.y, q.z),
               orient2d(c.y, c.z, a.y, a.z, q.y, q.z)) &&
         agree(orient2d(a.z, a.x, b.z, b.x, q.z, q.x), orient2d(b.z, b.x, c.z, c.x, q.z, q.x),
               orient2d(c.z, c.x, a.z, a.x, q.z, q.x));
}

GD_HD bool on_surface(const GridView& grid, Vec3 q) {
  const Bounds& box = grid.bounds;
  if (misses(box, q) && !(q.z == box.high.z)) return false;
  if (!(q.x >= box.low.x && q.x <= box.high.x && q.y >= box.low.y && q.y <= box.high.y))
    return false;
  const Frame* frame;
  const Cell& cell = grid.cell(q, frame);
  const std::int32_t slab = frame->z.index(q.z);
  if (!(cell.occupied >> slab & 1)) return false;
  const std::uint32_t end = (&cell)[1].start;
  for (std::uint32_t i = cell.start; i < end; ++i) {
    const Entry entry = grid.entries[i];
    if (entry.high < slab || entry.low > slab) continue;
    if (on_triangle(grid.mesh.triangle(entry.triangle), q)) return true;
  }
  return false;
}

}  // namespace geodomain
