// Boxes in single precision around exact geometry: their coordinates and Morton codes, and the
// segments and points tested against them.
#pragma once

#include "exact/segment.h"
#include "platform/arithmetic.h"
#include "platform/portable.h"

namespace geodomain {

// Morton codes: 21 bits of each axis, interleaved, so that near codes mean near positions.

// The cell of a position in [-1, 1]; positions outside, and NaN, get a cell at the boundary.
GD_HD std::uint32_t morton_cell(float place) {
  const float cell = (place + 1.0f) * 0x1p20f;
  if (!(cell > 0.0f)) return 0;
  return cell < 0x1.fffffep20f ? static_cast<std::uint32_t>(cell) : 0x1fffff;
}

// Moves bit i to bit 3 i.
GD_HD std::uint64_t spread_bits(std::uint64_t cell) {
  cell = (cell | cell << 32) & 0x001f00000000ffff;
  cell = (cell | cell << 16) & 0x001f0000ff0000ff;
  cell = (cell | cell << 8) & 0x100f00f00f00f00f;
  cell = (cell | cell << 4) & 0x10c30c30c30c30c3;
  return (cell | cell << 2) & 0x1249249249249249;
}

constexpr std::uint32_t kMortonBits = 63;

GD_HD std::uint64_t morton_code(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return spread_bits(x) << 2 | spread_bits(y) << 1 | spread_bits(z);
}

// The digits of a radix sort.

constexpr int kKeyBits = 64, kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;

// Boxes, and the margin that makes them safe.
//
// Boxes only exclude triangles; exact arithmetic decides the rest. So results depend on one
// property of boxes alone: a box that the segment meets is never missed.

struct Box {
  float low[3], high[3];
};
static_assert(sizeof(Box) == 24, "as every compiler has it");

// Maps each axis of a mesh's bounds to [-1, 1]; parameters along a segment do not change. Scales
// are powers of two. `share` is an axis' extent divided by the longest axis' extent, at most 1.
struct BoxFrame {
  double centre[3], scale[3];
  float share[3];

  GD_HD double place(int axis, double value) const { return (value - centre[axis]) * scale[axis]; }
};
static_assert(sizeof(BoxFrame) == 64, "as every compiler has it");

GD_HD Box box_of(const BoxFrame& frame, const Triangle& t) {
  const double corner[3][3] = {{t.a.x, t.b.x, t.c.x}, {t.a.y, t.b.y, t.c.y}, {t.a.z, t.b.z, t.c.z}};
  Box box;
  for (int k = 0; k < 3; ++k) {
    const double* c = corner[k];
    box.low[k] = static_cast<float>(frame.place(k, smallest(c[0], c[1], c[2])));
    box.high[k] = static_cast<float>(frame.place(k, largest(c[0], c[1], c[2])));
  }
  return box;
}

GD_HD Box around(const Box& a, const Box& b) {
  Box both;
  for (int k = 0; k < 3; ++k) {
    both.low[k] = a.low[k] < b.low[k] ? a.low[k] : b.low[k];
    both.high[k] = a.high[k] > b.high[k] ? a.high[k] : b.high[k];
  }
  return both;
}

// The code of a box's middle, in cubes, so that a flat surface is split along its extent. Cubes
// begin at the frame's lower end: if they began at its middle, the first bit would separate the
// upper half of a flat surface from the lower, and boxes of both would spread over all of it.
GD_HD std::uint64_t code_of(const BoxFrame& frame, const Box& box) {
  std::uint32_t cell[3];
  for (int k = 0; k < 3; ++k) {
    cell[k] = morton_cell((0.5f * (box.low[k] + box.high[k]) + 1.0f) * frame.share[k] - 1.0f);
  }
  return morton_code(cell[0], cell[1], cell[2]);
}

// The most that rounding moves a box or a point of the clipped segment, in the frame: nine
// roundings of numbers below 4 (2^-22 each), twice.
constexpr double kRounding = 0x1.2p-19;
// A segment that reaches farther than this many mesh sizes meets every box.
constexpr double kFarthest = 0x1p40;

// The part of a segment inside the frame, as parameters.
struct Stretch {
  double enter, length;

  // An upper bound of tau for a parameter; tau runs from 0 to 1 along the part.
  GD_HD float reach(double t) const {
    const double tau = (t - enter + 0x1p-44) / length + 0x1p-20;
    return tau < 1.0 ? static_cast<float>(tau) : 1.0f;
  }
};

// The part of a segment inside the frame, from parameter `enter` over `length`, as start +
// tau * direction with tau in [0, 1], and the inverse of the direction. A position at a given
// tau is within a margin of the true one. A direction too small to leave the margin is enlarged to
// the size of rounding errors, which moves positions by no more than these.
struct Probe {
  float start[3], inverse[3];
  float margin[3];       // as a difference in tau
  std::uint32_t octant;  // a bit for each axis along which the segment descends
  Stretch stretch;
};

GD_HD Probe probe_everywhere() {
  return {{0.0f, 0.0f, 0.0f}, {1.0f, 1.0f, 1.0f}, {4.0f, 4.0f, 4.0f}, 0, {0.0, 1.0}};
}

// Whether a segment may meet the frame's box; if so, sets its probe. At any parameter the
// computed position and the true one differ by less than 2^-51 of the largest coordinate.
GD_HD bool aim(const BoxFrame& frame, const Segment& s, Probe& probe) {
  const double first[3] = {frame.place(0, s.start.x), frame.place(1, s.start.y),
                           frame.place(2, s.start.z)};
  const double last[3] = {frame.place(0, s.end.x), frame.place(1, s.end.y),
                          frame.place(2, s.end.z)};
  const double size =
      maximum(largest_part(first[0], first[1], first[2]), largest_part(last[0], last[1], last[2]));
  if (size != size) return false;
  if (size > kFarthest) return probe = probe_everywhere(), true;
  const double slack = 0x1p-50 * size, limit = 1.0 + slack;
  double enter = 0.0, leave = 1.0;
  for (int k = 0; k < 3 && size > 1.0; ++k) {
    if (maximum(std::fabs(first[k]), std::fabs(last[k])) <= 1.0)
      continue;  // not clipped along this axis
    const double length = last[k] - first[k];
    if (std::fabs(length) <= slack) {
      if (std::fabs(first[k]) > limit + slack) return false;
      continue;
    }
    const double inverse = 1.0 / length;
    const double a = (-limit - first[k]) * inverse, b = (limit - first[k]) * inverse;
    enter = maximum(enter, a < b ? a : b);
    leave = a < b ? (b < leave ? b : leave) : (a < leave ? a : leave);
  }
  enter = maximum(0.0, enter - 0x1p-45);
  leave = leave + 0x1p-45 < 1.0 ? leave + 0x1p-45 : 1.0;
  if (!(enter <= leave)) return false;
  const double rounding = kRounding + 0x1p-46 * size;
  const auto margin = static_cast<float>(2.0 * rounding);
  probe.octant = 0;
  probe.stretch = {enter, maximum(leave - enter, 0x1p-46)};
  for (int k = 0; k < 3; ++k) {
    double direction = (last[k] - first[k]) * probe.stretch.length;
    if (std::fabs(direction) < rounding) direction = direction < 0.0 ? -rounding : rounding;
    probe.start[k] = static_cast<float>(first[k] + enter * (last[k] - first[k]));
    probe.inverse[k] = 1.0f / static_cast<float>(direction);
    probe.margin[k] = margin * std::fabs(probe.inverse[k]);
    probe.octant |= static_cast<std::uint32_t>(direction < 0.0) << k;
  }
  return true;
}

// A point in the coordinates of boxes.

// A point in the frame, in single precision. Boxes and the point are moved by less than 2^-21 of 1
// and of the point: `kBoxError` is several times the sum over all axes. A point beyond 2^40 is
// moved there, which is nearer to every box.
constexpr float kBoxError = 0x1p-18f, kFarthestPlace = 0x1p40f;
// More than any squared distance to a box.
constexpr float kMostSquare = 0x1p120f;

struct FramedPoint {
  float at[3];
  float most;   // the largest coordinate, at least 1
  float error;  // of a distance to a box, in units of the longest axis

  GD_HD FramedPoint(const BoxFrame& frame, Vec3 p) {
    const double value[3] = {p.x, p.y, p.z};
    most = 1.0f;
    for (int k = 0; k < 3; ++k) {
      const double place = frame.place(k, value[k]);
      const double bounded = minimum(maximum(place, -kFarthestPlace), kFarthestPlace);
      at[k] = static_cast<float>(bounded);
      most = maximum_of(most, std::fabs(at[k]));
    }
    error = kBoxError * most;
  }
  // The point in units of the longest axis.
  GD_HD Vector<float> even(const BoxFrame& frame) const {
    return {at[0] * frame.share[0], at[1] * frame.share[1], at[2] * frame.share[2]};
  }
  // The most that conversions move the point and a corner, together, in units of the longest
  // axis: sqrt(3) u of each, with u = 2^-24; the rest is for corners that a flat triangle moves to
  // its base. A point that was moved nearer may have moved by any distance.
  GD_HD float moved() const { return most < kFarthestPlace ? 0x1p-22f * most : HUGE_VALF; }
  // Squared distances to boxes beyond this need not be examined, if a distance is known to be at
  // most `distance`.
  GD_HD float limit(float distance) const {
    const float reach = multiply_add(distance, 1.0f + 0x1p-18f, error);
    return reach < 0x1p58f ? reach * reach * (1.0f + 0x1p-18f) : kMostSquare;
  }
};

// The scale of the longest axis, whose share is 1, or nearly.
GD_HD double longest_scale(const BoxFrame& frame) { return frame.scale[0] * frame.share[0]; }

// A sort key that puts near points together; arbitrary for a NaN.
GD_HD std::uint64_t code_of_point(const BoxFrame& frame, Vec3 p) {
  const FramedPoint place(frame, p);
  Box box;
  for (int k = 0; k < 3; ++k) box.low[k] = box.high[k] = place.at[k];
  return code_of(frame, box);
}

}  // namespace geodomain
