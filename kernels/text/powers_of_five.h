// The first 128 bits of every power of five that a double can meet.
#pragma once

#include <array>
#include <cstdint>

#include "platform/bits.h"

namespace geodomain::text {

constexpr int kSmallestPower = -342, kLargestPower = 308;

// Entry q is 5^q scaled by a power of two so that its highest bit is bit 127,
// cut off below; for -27 <= q < 0 one is added, so that a product with it is
// never below the true one (Lemire, "Number parsing at a gigabyte per second",
// 2021, section 5).
class PowersOfFive {
 public:
  static const PowersOfFive& get() {
    static const PowersOfFive powers;
    return powers;
  }

  const Wide& operator[](int power) const {
    return powers_[static_cast<std::size_t>(power - kSmallestPower)];
  }

 private:
  PowersOfFive() {
    fill_positive();
    fill_negative();
  }

  // 5^342 has 795 bits, and 128 are wanted below it: 960 bits hold all there is.
  static constexpr int kWords = 15;
  using Integer = std::array<std::uint64_t, kWords>;  // lowest word first

  Wide& at(int power) { return powers_[static_cast<std::size_t>(power - kSmallestPower)]; }

  void fill_positive() {
    Integer number{};
    number[0] = 1;
    for (int power = 0; power <= kLargestPower; ++power) {
      at(power) = leading(number);
      std::uint64_t carry = 0;
      for (std::uint64_t& word : number) {
        const Wide product = multiply_wide(word, 5);
        word = product.low + carry;
        carry = product.high + (word < carry ? 1 : 0);
      }
    }
  }

  // floor(2^959 / 5^k), since floor(floor(n / a) / b) = floor(n / (a b)).
  void fill_negative() {
    Integer number{};
    number[kWords - 1] = std::uint64_t{1} << 63;
    for (int power = -1; power >= kSmallestPower; --power) {
      std::uint64_t rest = 0;
      for (int i = kWords; i-- > 0;) divide_by_five(number[static_cast<std::size_t>(i)], rest);
      Wide& entry = at(power) = leading(number);
      if (power >= -27 && ++entry.low == 0) ++entry.high;
    }
  }

  // word, rest = divmod(rest * 2^64 + word, 5), in halves that fit a word.
  static void divide_by_five(std::uint64_t& word, std::uint64_t& rest) {
    const std::uint64_t high = (rest << 32) | (word >> 32);
    const std::uint64_t low = (high % 5) << 32 | (word & 0xFFFFFFFF);
    word = (high / 5) << 32 | (low / 5);
    rest = low % 5;
  }

  static Wide leading(const Integer& number) {
    int top = kWords - 1;
    while (number[static_cast<std::size_t>(top)] == 0) --top;
    const auto word = [&](int i) { return i < 0 ? 0 : number[static_cast<std::size_t>(i)]; };
    const int shift = leading_zeros(word(top));
    if (shift == 0) return {word(top), word(top - 1)};
    return {word(top) << shift | word(top - 1) >> (64 - shift),
            word(top - 1) << shift | word(top - 2) >> (64 - shift)};
  }

  std::array<Wide, kLargestPower - kSmallestPower + 1> powers_;
};

}  // namespace geodomain::text
