// Sums, products, minima and maxima by the instructions that each processor has for them.
#pragma once

#include <cmath>
#include <cstdint>

#include "platform/portable.h"

namespace geodomain {

// If the numbers are equal, the second, as processors' instructions do.
GD_HD double minimum(double a, double b) { return a < b ? a : b; }
GD_HD double maximum(double a, double b) { return a > b ? a : b; }

// The rounding error of a * b, exactly, given the rounded product.
GD_HD double product_tail(double a, double b, double product) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, -product);
#elif defined(__FMA__) || defined(__aarch64__) || defined(_M_ARM64)
  return std::fma(a, b, -product);
#else
  // Without the instruction std::fma is a slow library call; Dekker's split gives
  // the same bits. The range of a mesh keeps every factor below 2^690.
  const double splitter = 134217729.0;  // 2^27 + 1
  const double ca = splitter * a, cb = splitter * b;
  const double a_high = ca - (ca - a), b_high = cb - (cb - b);
  const double a_low = a - a_high, b_low = b - b_high;
  const double error = product - a_high * b_high - a_low * b_high - a_high * b_low;
  return a_low * b_low - error;
#endif
}

// The larger and the smaller of two numbers, where NaN does not matter.
GD_HD float maximum_of(float a, float b) {
#if defined(__CUDA_ARCH__)
  return fmaxf(a, b);
#else
  return a > b ? a : b;
#endif
}
GD_HD float minimum_of(float a, float b) {
#if defined(__CUDA_ARCH__)
  return fminf(a, b);
#else
  return a < b ? a : b;
#endif
}

// a * b + c, rounded once or twice, where results need not be the same everywhere.
GD_HD float multiply_add(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#elif defined(__FMA__) || defined(__aarch64__) || defined(_M_ARM64)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}
GD_HD float multiply_subtract(float a, float b, float c) { return multiply_add(a, b, -c); }
GD_HD double multiply_add(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#elif defined(__FMA__) || defined(__aarch64__) || defined(_M_ARM64)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

// A root and an inverse within 2^-21 of themselves, where results need not be the same everywhere.
GD_HD float quick_root(float value) {  // value >= 0
#if defined(__CUDA_ARCH__)
  return value > 0.0f ? value * rsqrtf(value) : 0.0f;
#else
  return std::sqrt(value);
#endif
}

// Byte i of a word as a number plus kByteOffset. Inserted into the bits of 2^15 it takes a GPU
// one quick instruction; a conversion takes as long as eight or more.
constexpr float kByteOffset = 0x1p15f;
GD_HD float offset_byte(std::uint64_t word, int i) {
  const auto half = static_cast<std::uint32_t>(word >> 32 * (i / 4));
#if defined(__CUDA_ARCH__)
  const auto place = static_cast<unsigned>(i % 4) << 4;
  return __uint_as_float(__byte_perm(half, 0x47000000u, 0x7504u | place));
#else
  return static_cast<float>(half >> 8 * (i % 4) & 0xff) + kByteOffset;
#endif
}

// The largest of three numbers and 0; the smallest of four, or any negative one if there are
// negative ones. Not for NaN, nor for -0.0 where it matters: as integers, non-negative numbers
// have the same order, and negative ones are negative. Three integers take one instruction.
GD_HD float largest_from_zero(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __int_as_float(__vimax3_s32_relu(__float_as_int(a), __float_as_int(b), __float_as_int(c)));
#else
  const float larger_two = maximum_of(a, b);
  return maximum_of(maximum_of(larger_two, c), 0.0f);
#endif
}
GD_HD float smallest_of(float a, float b, float c, float d) {
#if defined(__CUDA_ARCH__)
  const int three = __vimin3_s32(__float_as_int(a), __float_as_int(b), __float_as_int(c));
  return __int_as_float(min(three, __float_as_int(d)));
#else
  return minimum_of(minimum_of(a, b), minimum_of(c, d));
#endif
}

// Shifts the bits up by one and appends the sign of a number.
GD_HD std::uint32_t push_sign(std::uint32_t bits, float value) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_l(__float_as_uint(value), bits, 1);
#else
  return bits << 1 | (std::signbit(value) ? 1u : 0u);
#endif
}

// At least the largest of three non-negative numbers, and at most 1 + 2^-20 times that: on
// a GPU from their upper halves, compared as integers. A NaN is the largest there.
GD_HD double bound_of(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __hiloint2double(__vimax3_s32(__double2hiint(a), __double2hiint(b), __double2hiint(c)) + 1,
                          0);
#else
  const double two = a > b ? a : b;
  return two > c ? two : c;
#endif
}

}  // namespace geodomain
