// Exact sums of products by group: a whole number times some doubles, without rounding. Host only.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace geodomain {

// A sum is a fixed-point number: lanes of 64 bits with a digit of 32 bits each, the lowest first,
// in units of 2^unit. Lanes are signed and keep their carries, so that up to 2^31 products can be
// added before the caller has to carry; the order of the products does not change the sums.
class ProductSums {
 public:
  ProductSums(std::int64_t* lanes, int lane_count, int unit)
      : lanes_(lanes), lane_count_(lane_count), unit_(unit) {}

  // Adds whole * factors[0] * ... to the sum of a group. Returns false, and adds nothing, if the
  // product is not a multiple of the unit or has more digits than there are lanes. `whole` is not
  // negative, and factors are finite.
  bool add(std::int64_t group, std::int64_t whole, const double* factors, int factor_count) {
    Digits digits{static_cast<std::uint32_t>(whole),
                  static_cast<std::uint32_t>(static_cast<std::uint64_t>(whole) >> 32)};
    int exponent = 0;
    bool negative = false;
    for (int i = 0; i < factor_count; ++i) {
      const Parts parts = parts_of(factors[i]);
      multiply(digits, 2 + 2 * i, parts.mantissa);
      exponent += parts.exponent;
      negative ^= parts.negative;
    }
    int used = 2 + 2 * factor_count;
    while (used > 0 && digits[static_cast<std::size_t>(used - 1)] == 0) --used;
    if (used == 0) return true;
    return place(group, digits, used, exponent - unit_, negative);
  }

  // Adds a finite number to the sum of a group, quickly. The lanes must hold every double: the unit
  // is kUnit, and there are kLanes.
  static constexpr int kUnit = -1088, kLanes = 68;
  void add(std::int64_t group, double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const std::uint64_t fraction = bits & 0xfffffffffffffu, power = bits >> 52 & 0x7ff;
    const std::uint64_t mantissa = power ? fraction | std::uint64_t{1} << 52 : fraction;
    // The number is the mantissa times 2^(power - 1075), where 0 counts as power 1.
    const auto position = static_cast<int>(power ? power : 1) - 1075 - kUnit;
    const int shift = position % 32;
    const std::uint64_t low = (mantissa & 0xffffffffu) << shift, high = (mantissa >> 32) << shift;
    const std::int64_t sign = -static_cast<std::int64_t>(bits >> 63);  // all ones: (x ^ -1) + 1
    const auto add_to = [sign](std::int64_t& lane, std::uint64_t digit) {
      lane += (static_cast<std::int64_t>(digit) ^ sign) - sign;
    };
    std::int64_t* const sum = lanes_ + group * kLanes + position / 32;
    add_to(sum[0], low & 0xffffffffu);
    add_to(sum[1], (low >> 32) + (high & 0xffffffffu));
    add_to(sum[2], high >> 32);
  }

  // Adds the sum of another group to the sum of a group.
  void join(std::int64_t group, std::int64_t other) {
    for (int i = 0; i < lane_count_; ++i) {
      lanes_[group * lane_count_ + i] += lanes_[other * lane_count_ + i];
    }
  }

 private:
  static constexpr int kDigits = 6;  // a whole number of 64 bits and two mantissas of 53
  using Digits = std::array<std::uint32_t, kDigits>;

  // A double is mantissa * 2^exponent, with a sign.
  struct Parts {
    std::uint64_t mantissa;
    int exponent;
    bool negative;
  };

  static Parts parts_of(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    const int power = static_cast<int>(bits >> 52 & 0x7ff);
    // Subnormal numbers have the exponent of the smallest normal ones, and no hidden bit.
    const std::uint64_t hidden = power == 0 ? 0 : std::uint64_t{1} << 52;
    return {fraction | hidden, (power == 0 ? 1 : power) - 1075, (bits >> 63) != 0};
  }

  // Multiplies a number of `count` digits; the product has two digits more.
  static void multiply(Digits& digits, int count, std::uint64_t mantissa) {
    const std::uint64_t low = mantissa & 0xffffffffu, high = mantissa >> 32;
    // Before each step, `above` is the part of the product above the digits done: below 2^64, as
    // (2^32 - 1) * 2^21 + 2^33 is.
    std::uint64_t above = 0;
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::uint64_t digit = digits[at];
      const std::uint64_t sum = digit * low + (above & 0xffffffffu);
      digits[at] = static_cast<std::uint32_t>(sum);
      above = (above >> 32) + (sum >> 32) + digit * high;
    }
    digits[static_cast<std::size_t>(count)] = static_cast<std::uint32_t>(above);
    digits[static_cast<std::size_t>(count) + 1] = static_cast<std::uint32_t>(above >> 32);
  }

  // Adds digits at a bit position; below the unit, only zeros may be cut off.
  bool place(std::int64_t group, const Digits& digits, int used, int position, bool negative) {
    const int first = position >= 0 ? position / 32 : -((31 - position) / 32);
    const int shift = position - 32 * first;  // 0 to 31
    if (first + used > lane_count_) return false;
    std::int64_t* sum = lanes_ + group * lane_count_;
    std::uint64_t parts[kDigits + 1] = {};
    for (int i = 0; i < used; ++i) {
      const std::uint64_t wide = std::uint64_t{digits[static_cast<std::size_t>(i)]} << shift;
      parts[i] |= wide & 0xffffffffu;
      parts[i + 1] = wide >> 32;
    }
    for (int i = 0; i <= used; ++i) {
      const int lane = first + i;
      if (parts[i] != 0 && (lane < 0 || lane >= lane_count_)) return false;
    }
    for (int i = 0; i <= used; ++i) {
      if (parts[i] == 0) continue;
      const auto digit = static_cast<std::int64_t>(parts[i]);
      sum[first + i] += negative ? -digit : digit;
    }
    return true;
  }

  std::int64_t* const lanes_;
  const int lane_count_;
  const int unit_;
};

}  // namespace geodomain
