// The angle of a vector in the upper half plane, in the same bits on every machine:
// only sums, products and quotients of doubles, which IEEE rounds alike everywhere.
// CUDA's atan2 and those of the C libraries differ in their last bits.
#pragma once

#include "platform/portable.h"

namespace geodomain {

constexpr double kPi = 0x1.921fb54442d18p+1;
constexpr double kAngleError = 0x1p-50;  // absolute; the largest found is half of it

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

}  // namespace geodomain
