// A uniform division of a range into cells. The index of a coordinate is a
// monotone function of it, rounding included, and triangles and points go
// through the same function: a triangle whose indices leave out a cell has no
// point there. That is all the exactness that a grid needs.
#pragma once

#include "platform/mesh_view.h"

namespace geodomain {

constexpr std::int32_t kSlabs = 64;  // bits of a word: the divisions of a cell along z

struct Axis {
  double origin, scale;  // cells per unit
  std::int32_t cells;

  GD_HD std::int32_t index(double value) const {
    const double position = (value - origin) * scale, last = cells - 1;
    const double low = position > 0.0 ? position : 0.0;  // 0 for what is not a number
    return static_cast<std::int32_t>(low < last ? low : last);
  }
};
static_assert(sizeof(Axis) == 24, "as every compiler has it");

struct Frame {
  Axis x, y, z;
};
static_assert(sizeof(Frame) == 72, "as every compiler has it");

// An axis over [low, high] of at most `cells` cells, none of them narrower than
// 1024 steps of the floating-point grid at `magnitude`.
GD_HD Axis make_axis(double low, double high, double cells, double magnitude) {
  const double extent = high - low;
  const double finest = extent / (1024.0 * 0x1p-52 * magnitude);
  const double count = std::floor(cells < finest ? cells : finest);
  if (!(extent > 0.0) || !(count >= 1.0)) return {low, 0.0, 1};
  return {low, count / extent, static_cast<std::int32_t>(count)};
}

}  // namespace geodomain
