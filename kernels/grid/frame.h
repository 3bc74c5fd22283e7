// A uniform division of a range into cells. The index of a coordinate is a monotone function of the
// coordinate, also after rounding, and triangles and points use the same function. So if the
// indices of a triangle exclude a cell, the triangle has no point in that cell. The grid needs no
// other exactness.
#pragma once

#include "platform/mesh_view.h"

namespace geodomain {

constexpr std::int32_t kSlabs = 64;  // bits of a word: the divisions of a cell along z

struct Axis {
  double origin, scale;  // cells per unit
  std::int32_t cells;

  GD_HD std::int32_t index(double value) const {
    const double position = (value - origin) * scale, last = cells - 1;
    const double low = position > 0.0 ? position : 0.0;  // 0 for NaN
    return static_cast<std::int32_t>(low < last ? low : last);
  }
};
static_assert(sizeof(Axis) == 24, "as every compiler has it");

struct Frame {
  Axis x, y, z;
};
static_assert(sizeof(Frame) == 72, "as every compiler has it");

// An axis over [low, high] with at most `cells` cells, none narrower than
// 1024 steps of the floating-point grid at `magnitude`.
GD_HD Axis make_axis(double low, double high, double cells, double magnitude) {
  const double extent = high - low;
  const double finest = extent / (1024.0 * 0x1p-52 * magnitude);
  const double count = std::floor(cells < finest ? cells : finest);
  if (!(extent > 0.0) || !(count >= 1.0)) return {low, 0.0, 1};
  return {low, count / extent, static_cast<std::int32_t>(count)};
}

// The cells that a projected triangle may meet: never too few, rarely too many.

struct Interval {
  double low, high;
};

// The range of x where the projected triangle may be while its y is in `band`. Rounding in
// the clipped ends is a few units in the last place of the largest coordinate;
// callers widen by far more than that. Empty (low > high) if it is nowhere.
GD_HD Interval x_range(const Triangle& t, Interval band) {
  const Vec3 corner[3] = {t.a, t.b, t.c};
  Interval range = {1.0, -1.0};
  bool empty = true;
  for (int i = 0; i < 3; ++i) {
    const Vec3 p = corner[i], q = corner[(i + 1) % 3];
    const double low = p.y < q.y ? p.y : q.y, high = p.y < q.y ? q.y : p.y;
    if (high < band.low || low > band.high) continue;
    const double ends[2] = {low > band.low ? low : band.low, high < band.high ? high : band.high};
    for (const double y : ends) {
      double x[2] = {p.x, q.x};
      if (p.y != q.y) x[0] = x[1] = p.x + (q.x - p.x) * ((y - p.y) / (q.y - p.y));
      for (const double value : x) {
        if (empty || value < range.low) range.low = value;
        if (empty || value > range.high) range.high = value;
        empty = false;
      }
    }
  }
  return range;
}

struct Footprint {  // inclusive ranges of cells and slabs
  std::int32_t i0, i1, j0, j1, k0, k1;
};

GD_HD Footprint box_footprint(const Frame& frame, const Triangle& t) {
  return {frame.x.index(smallest(t.a.x, t.b.x, t.c.x)),
          frame.x.index(largest(t.a.x, t.b.x, t.c.x)),
          frame.y.index(smallest(t.a.y, t.b.y, t.c.y)),
          frame.y.index(largest(t.a.y, t.b.y, t.c.y)),
          frame.z.index(bottom(t)),
          frame.z.index(top(t))};
}

struct Run {  // of cells in a row, ends included; empty if i0 > i1
  std::int32_t i0, i1;
};

// The cells in row j of its box that `t` may meet. Small triangles take all cells of their box;
// large ones are clipped to the row, widened by 1/64 of a cell; an axis has at least 1024
// floating-point steps per cell. The outermost rows and columns reach to infinity, as the index
// does.
GD_HD Run row_run(const Frame& frame, const Triangle& t, const Footprint& box, std::int32_t j) {
  if (box.i1 - box.i0 < 3 || box.j1 - box.j0 < 3) return {box.i0, box.i1};
  const double height = 1.0 / frame.y.scale, width = 1.0 / frame.x.scale;
  const double low = frame.y.origin + (j - 0.015625) * height;
  const double high = frame.y.origin + (j + 1.015625) * height;
  const double infinity = HUGE_VAL;
  const Interval x =
      x_range(t, {j == 0 ? -infinity : low, j == frame.y.cells - 1 ? infinity : high});
  if (x.low > x.high) return {0, -1};
  const std::int32_t from = frame.x.index(x.low - 0.015625 * width);
  const std::int32_t to = frame.x.index(x.high + 0.015625 * width);
  return {from > box.i0 ? from : box.i0, to < box.i1 ? to : box.i1};
}

// Calls visit(j, i0, i1) for every row of cells that the triangle may meet.
template <class Visit>
GD_HD void visit_rows(const Frame& frame, const Triangle& t, const Footprint& box, Visit&& visit) {
  for (std::int32_t j = box.j0; j <= box.j1; ++j) {
    const Run run = row_run(frame, t, box, j);
    if (run.i0 <= run.i1) visit(j, run.i0, run.i1);
  }
}

}  // namespace geodomain
