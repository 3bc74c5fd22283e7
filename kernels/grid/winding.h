// Winding numbers of open meshes.
#pragma once

#include "grid/grid.h"
#include "platform/portable.h"

namespace geodomain {

// The angle of a vector in the upper half plane, with the same bits on every machine: it uses only
// sums, products and quotients of doubles, which IEEE rounds the same way everywhere. CUDA's atan2
// and those of the C libraries differ in their last bits.

constexpr double kPi = 0x1.921fb54442d18p+1;
constexpr double kAngleError = 0x1p-50;  // absolute; the largest observed is half of it

// atan(u) for |u| <= 1/16: the series, whose first omitted term is below 2^-59 of the sum.
GD_HD double small_arctangent(double u) {
  const double v = u * u;
  double sum = 1.0 / 13.0;
  sum = 1.0 / 11.0 - v * sum;
  sum = 1.0 / 9.0 - v * sum;
  sum = 1.0 / 7.0 - v * sum;
  sum = 1.0 / 5.0 - v * sum;
  sum = 1.0 / 3.0 - v * sum;
  return u - u * (v * sum);
}

// atan(k / 8), rounded.
GD_HD double arctangent_of_eighths(int k) {
  constexpr double table[9] = {0x0.0p+0,
                               0x1.fd5ba9aac2f6ep-4,
                               0x1.f5b75f92c80ddp-3,
                               0x1.6f61941e4def1p-2,
                               0x1.dac670561bb4fp-2,
                               0x1.1e00babdefeb4p-1,
                               0x1.4978fa3269ee1p-1,
                               0x1.700a7c5784634p-1,
                               0x1.921fb54442d18p-1};
  return table[k];
}

// In [0, pi] for y >= 0; 0 for the zero vector. With t the smaller over the larger
// component and c the nearest eighth, atan(t) = atan(c) + atan((t - c) / (1 + t c)).
GD_HD double upper_angle(double x, double y) {
  const double size = std::fabs(x);
  const double large = size > y ? size : y, small = size > y ? y : size;
  if (!(large > 0.0)) return 0.0;
  const int k = static_cast<int>(8.0 * (small / large) + 0.5);
  const double c = k * 0.125;
  double angle =
      arctangent_of_eighths(k) + small_arctangent((small - c * large) / (large + c * small));
  if (y > size) angle = 0.5 * kPi - angle;
  return x < 0.0 ? kPi - angle : angle;
}

// The generalised winding number of an open mesh: its solid angle about a point divided by
// 4 pi, from the crossings of one vertical ray and the edges of the rim.
//
// Sweep every edge of the rim down to infinity. The mesh and these sheets together are closed
// except for the direction straight down, so about the displaced point their solid angle
// is 4 pi times an integer, the signed crossings of the ray up: no sheet is vertically
// above it. Hence
//
//   w = signed crossings above - (sum over the sheets of their solid angles) / 4 pi.
//
// The sheet of the edge a -> b (as its triangles run) covers, seen from the point, the
// spherical triangle of a, b and the direction down. By van Oosterom and Strackee half
// its angle is that of the vector (x, y) with
//
//   y = a.x b.y - a.y b.x,   x = (|a| - a.z)(|b| - b.z) + a.x b.x + a.y b.y,
//
// with a and b relative to the point. y is twice the area of the projection, so its sign is the
// sign of orient2d. The angle jumps from pi to -pi where the edge passes over the point, exactly
// where the number of crossings changes by one. So the sign must be the exact one of the displaced
// point, as for crossings. Only the magnitude is rounded, which the guarantee of exactness does not
// cover; `bound` is the largest possible rounding error.

// The rim: edges whose directed uses do not cancel, in the caller's order.
struct Rim {
  const double* ends;           // (m, 2, 3)
  const std::int32_t* weights;  // uses along the edge minus uses against it
  std::int64_t edge_count;
};
static_assert(sizeof(Rim) == size_by_pointers(24, 16), "as every compiler has it");

struct Winding {
  double number;
  double bound;          // on the error of number; infinite for a point on the rim
  std::int32_t decided;  // 0 if the arithmetic cannot decide a sign
};

// An end of an edge, relative to the point.
struct Spoke {
  double x, y, z, square, drop;  // square = x^2 + y^2, drop = length - z

  GD_HD Spoke(const double* end, Vec3 q) : x(end[0] - q.x), y(end[1] - q.y), z(end[2] - q.z) {
    square = x * x + y * y;
    const double length = std::sqrt(square + z * z);
    // The difference of two near numbers, if z > 0, without cancellation.
    drop = z > 0.0 ? square / (length + z) : length - z;
    // Straight above, the displaced point sees it to the west.
    if (square == 0.0 && z > 0.0) x = -1.0;
  }
};

constexpr double kHuge = 0x1p+400;  // beyond this distance, every mesh in range looks like a point

struct SheetAngle {
  double angle, bound;  // half the solid angle, without its sign
};

// `side` is the sign of y for the displaced point.
GD_HD SheetAngle sheet_angle(const Spoke& a, const Spoke& b, int side) {
  const double cross = side * (a.x * b.y - a.y * b.x);
  const double y = cross > 0.0 ? cross : 0.0;
  const double drops = a.drop * b.drop;
  const double x = drops + (a.x * b.x + a.y * b.y);
  // The terms of x and y; each is off by less than 16 units of this, from the rounding of
  // differences, squares, the root, the quotient and the sums.
  const double parts =
      drops + (std::fabs(a.x) + std::fabs(a.y)) * (std::fabs(b.x) + std::fabs(b.y));
  const double size = std::fabs(x) > y ? std::fabs(x) : y;
  return {upper_angle(x, y), size > 0.0 ? 64.0 * kUnit * (parts / size) + kAngleError : HUGE_VAL};
}

// A vertical edge has no sheet; on it the point is on the rim.
GD_HD double on_vertical(const Spoke& a, const Spoke& b) {
  return a.square == 0.0 && a.z * b.z <= 0.0 ? HUGE_VAL : 0.0;
}

GD_HD Winding winding_number(const GridView& grid, const Rim& rim, Vec3 q) {
  const double far = std::fabs(q.x) + std::fabs(q.y) + std::fabs(q.z);
  if (!(far < kHuge)) return {0.0, 0.0, 1};
  if (is_tiny(q.x) || is_tiny(q.y) || is_tiny(q.z)) return {0.0, 0.0, 0};  // squares underflow
  const Crossings crossings = count_crossings(grid, q);
  if (crossings.count < 0) return {0.0, 0.0, 0};
  double sum = 0.0, sizes = 0.0, bound = 0.0;
  for (std::int64_t i = 0; i < rim.edge_count; ++i) {
    const double* ends = rim.ends + 6 * i;
    const Vec3 start = {ends[0], ends[1], ends[2]}, end = {ends[3], ends[4], ends[5]};
    const int side = displaced_side<Full>(start, end, q.x, q.y);
    if (side == kUnsure) return {0.0, 0.0, 0};
    const Spoke a(ends, q), b(ends + 3, q);
    if (side == 0) {
      bound += on_vertical(a, b);
      continue;
    }
    const SheetAngle sheet = sheet_angle(a, b, side);
    const double weight = rim.weights[i], size = std::fabs(weight);
    sum += side * weight * sheet.angle;
    sizes += size * sheet.angle;
    bound += size * sheet.bound;
  }
  const double turn = 0.5 / kPi;
  const double steps = static_cast<double>(rim.edge_count) + 8.0;
  const double rounding =
      kUnit * steps * (sizes + std::fabs(static_cast<double>(crossings.signed_count)));
  return {crossings.signed_count - turn * sum, turn * (bound + rounding) + rounding, 1};
}

}  // namespace geodomain
