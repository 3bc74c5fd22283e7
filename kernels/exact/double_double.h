// Sums of two doubles that do not overlap, as numbers of some 106 bits. Not exact, but so much
// finer than a double that what is rounded from them is nearly always the double next to the truth.
// The operations are T. J. Dekker's and D. E. Knuth's; the bounds are in M. Joldes, J.-M. Muller,
// V. Popescu, "Tight and rigorous error bounds for basic building blocks of double-word arithmetic"
// (2017): of the result, a sum is wrong by at most 3 * 2^-106, a product by 5, a quotient by 10.
//
// Factors should be near 1, or neither underflow nor overflow: see `unit_scale`.
#pragma once

#include "exact/expansion.h"

namespace geodomain {

GD_HD Pair ordered_sum(double large, double small) {
  const double sum = large + small;
  return {sum, small - (sum - large)};
}

GD_HD Pair plus(Pair a, Pair b) {
  const Pair heads = two_sum(a.head, b.head), tails = two_sum(a.tail, b.tail);
  const Pair sum = ordered_sum(heads.head, heads.tail + tails.head);
  return ordered_sum(sum.head, sum.tail + tails.tail);
}
GD_HD Pair negative(Pair a) { return {-a.head, -a.tail}; }
GD_HD Pair minus(Pair a, Pair b) { return plus(a, negative(b)); }

GD_HD Pair times(Pair a, Pair b) {
  const Pair product = two_product(a.head, b.head);
  return ordered_sum(product.head, product.tail + (a.head * b.tail + a.tail * b.head));
}
// By a power of two: exact.
GD_HD Pair scaled(Pair a, double power) { return {a.head * power, a.tail * power}; }

GD_HD Pair over(Pair a, Pair b) {
  const double first = a.head / b.head;
  const Pair rest = minus(a, times(b, {first, 0.0}));
  return ordered_sum(first, rest.head / b.head);
}

// Of a number that is not negative.
GD_HD Pair root(Pair a) {
  if (!(a.head > 0.0)) return {0.0, 0.0};
  const double first = std::sqrt(a.head);
  const Pair rest = minus(a, two_product(first, first));
  return ordered_sum(first, rest.head / (2.0 * first));
}

GD_HD bool is_positive(Pair a) { return a.head > 0.0; }

// The sum of an expansion's components.
GD_HD Pair rounded_pair(const double* part, int count) {
  Pair sum = {0.0, 0.0};
  for (int i = 0; i < count; ++i) sum = plus(sum, {part[i], 0.0});
  return sum;
}

// The power of two that brings a number between 1 and 2, and its inverse; of 0 and of subnormal
// numbers the one for the least normal number. Not for the numbers beyond 2^1022.
struct UnitScale {
  double up, down;  // size * up is near 1
};

GD_HD UnitScale unit_scale(double size) {
  std::uint64_t bits;
  std::memcpy(&bits, &size, sizeof bits);
  std::uint64_t exponent = bits >> 52 & 0x7ff;
  if (exponent == 0) exponent = 1;
  const std::uint64_t up = (2046 - exponent) << 52, down = exponent << 52;
  UnitScale scale;
  std::memcpy(&scale.up, &up, sizeof up);
  std::memcpy(&scale.down, &down, sizeof down);
  return scale;
}

struct Pair3 {
  Pair x, y, z;
};

// Exactly.
GD_HD Pair3 difference(const double* p, const double* q) {
  return {two_difference(p[0], q[0]), two_difference(p[1], q[1]), two_difference(p[2], q[2])};
}
GD_HD Pair3 minus(const Pair3& a, const Pair3& b) {
  return {minus(a.x, b.x), minus(a.y, b.y), minus(a.z, b.z)};
}
GD_HD Pair3 times(const Pair3& a, Pair factor) {
  return {times(a.x, factor), times(a.y, factor), times(a.z, factor)};
}
GD_HD Pair3 scaled(const Pair3& a, double power) {
  return {scaled(a.x, power), scaled(a.y, power), scaled(a.z, power)};
}
GD_HD Pair dot(const Pair3& a, const Pair3& b) {
  return plus(plus(times(a.x, b.x), times(a.y, b.y)), times(a.z, b.z));
}
GD_HD Pair3 cross(const Pair3& a, const Pair3& b) {
  return {minus(times(a.y, b.z), times(a.z, b.y)), minus(times(a.z, b.x), times(a.x, b.z)),
          minus(times(a.x, b.y), times(a.y, b.x))};
}

// The size of the largest part.
GD_HD double largest_part(const Pair3& a) {
  const double x = std::fabs(a.x.head), y = std::fabs(a.y.head), z = std::fabs(a.z.head);
  const double two = x > y ? x : y;
  return two > z ? two : z;
}

}  // namespace geodomain
