// The double nearest to digits * 10^power, correctly rounded.
#pragma once

#include <cstdint>
#include <cstring>

#include "platform/bits.h"
#include "text/powers_of_five.h"

namespace geodomain::text {

enum class Rounding { exact, overflow, unsure };

struct Rounded {
  double value;
  Rounding state;
};

inline double assemble(std::uint64_t fraction, std::int64_t biased_exponent) {
  const std::uint64_t bits = fraction | static_cast<std::uint64_t>(biased_exponent) << 52;
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Clinger (1990): both factors are exact doubles, so one operation rounds once.
inline bool round_small(std::uint64_t digits, std::int64_t power, double& value) {
  static constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (digits >> 53 != 0 || power < -22 || power > 22) return false;
  const double factor = static_cast<double>(digits);
  value = power < 0 ? factor / kTens[-power] : factor * kTens[power];
  return true;
}

// The first 128 bits of digits * 5^power, good to the last but one of `high`
// that rounding looks at: the second half of the power is multiplied in only
// where a carry from it could reach them.
inline Wide leading_product(std::uint64_t digits, int power) {
  const Wide& five = PowersOfFive::get()[power];
  Wide product = multiply_wide(digits, five.high);
  if ((product.high & 0x1FF) == 0x1FF) {
    const Wide second = multiply_wide(digits, five.low);
    product.low += second.high;
    if (product.low < second.high) ++product.high;
  }
  return product;
}

// Below 2^-1022 fewer bits are kept. No tie is possible: it would need digits
// divisible by 5^-power, and -power > 27 there.
inline Rounded round_subnormal(std::uint64_t mantissa, std::int64_t exponent) {
  if (exponent <= -63) return {0.0, Rounding::exact};
  mantissa >>= 1 - exponent;
  mantissa = (mantissa + (mantissa & 1)) >> 1;
  return {assemble(mantissa, 0), Rounding::exact};  // a carry into bit 52 is the exponent 1
}

// Eisel and Lemire: Lemire, "Number parsing at a gigabyte per second", 2021.
inline Rounded round_decimal(std::uint64_t digits, std::int64_t power) {
  double small;
  if (round_small(digits, power, small)) return {small, Rounding::exact};
  if (digits == 0 || power < kSmallestPower) return {0.0, Rounding::exact};
  if (power > kLargestPower) return {0.0, Rounding::overflow};

  const int shift = leading_zeros(digits);
  const Wide product = leading_product(digits << shift, static_cast<int>(power));
  // All ones below: one more unit in the cut-off power might carry through.
  if (product.low == ~std::uint64_t{0} && (power < -27 || power > 55)) {
    return {0.0, Rounding::unsure};
  }
  const int top = static_cast<int>(product.high >> 63);
  std::uint64_t mantissa = product.high >> (top + 9);  // 54 bits: one to round by
  // floor(power * log2(10)) + 63, by 217706 / 2^16, exact over the table.
  std::int64_t exponent = ((217706 * power) >> 16) + 63 + top - shift + 1023;
  if (exponent <= 0) return round_subnormal(mantissa, exponent);

  // Half way between two doubles, which only powers in [-4, 23] reach: to even.
  const bool half = product.low <= 1 && power >= -4 && power <= 23 && (mantissa & 3) == 1 &&
                    mantissa << (top + 9) == product.high;
  if (half) --mantissa;
  mantissa = (mantissa + (mantissa & 1)) >> 1;
  if (mantissa >> 53 != 0) {
    mantissa >>= 1;
    ++exponent;
  }
  if (exponent >= 2047) return {0.0, Rounding::overflow};
  return {assemble(mantissa & ~(std::uint64_t{1} << 52), exponent), Rounding::exact};
}

}  // namespace geodomain::text
