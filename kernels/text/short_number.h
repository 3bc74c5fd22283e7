// Plain decimals of up to sixteen bytes, which nearly all coordinates are, read
// a word at a time. Anything else is for number.h, and gives the same doubles.
#pragma once

#include <cstdint>

#include "platform/bits.h"
#include "text/decimal.h"
#include "text/number.h"

namespace geodomain::text {

// The last `count` bytes of a word, 1 to 8, after zeros.
inline std::uint64_t last_bytes(std::uint64_t word, int count) {
  const std::uint64_t kept = ~std::uint64_t{0} << (8 * (8 - count));
  return (word & kept) | (kZeros & ~kept);
}

// A bit for the first byte of `word` that is `byte`; there may be others above.
inline std::uint64_t find_byte(std::uint64_t word, char byte) {
  const std::uint64_t other = word ^ (kEach * static_cast<unsigned char>(byte));
  return (other - kEach) & ~other & (kEach * 0x80);
}

// The word without its byte number `place`: those before it move up, and the
// first one becomes the last of `before`.
inline std::uint64_t without(std::uint64_t word, int place, std::uint64_t before) {
  const std::uint64_t below = (std::uint64_t{1} << (8 * place)) - 1;
  const std::uint64_t above = ~below << 8;
  return (word & above) | (word & below) << 8 | before >> 56;
}

constexpr int kReach = 16;

// Reads [-] digit [digits] [mark [digits]] of up to 16 bytes that ends at least
// as many after the start of the text, and remembers the last one: from row to
// row most coordinates and sizes are what they were.
class ShortReader {
 public:
  // False: not so plain.
  bool read(const char* begin, const char* end, char mark, double& value) {
    const bool negative = begin < end && *begin == '-';
    begin += negative;
    if (!is_short(begin, end)) return false;
    const Words words = words_of(begin, end);
    if (words.high != words_.high || words.low != words_.low) {
      double size;
      if (!convert(words, mark, size)) return false;
      words_ = words;
      size_ = size;
    }
    value = negative ? -size_ : size_;
    return true;
  }

  // Reads such a number with an exponent of two digits after it, (e | E) (+ | -) digit digit.
  static bool read_scientific(const char* begin, const char* end, char mark, double& value) {
    const bool negative = begin < end && *begin == '-';
    begin += negative;
    const char* const stop = end - kExponent;
    if (end - begin <= kExponent || (*stop | 0x20) != 'e' || (stop[1] != '+' && stop[1] != '-') ||
        !is_digit(stop[2]) || !is_digit(stop[3]) || !is_short(begin, stop)) {
      return false;
    }
    const int power = 10 * (stop[2] - '0') + (stop[3] - '0');
    std::uint64_t digits;
    int decimals;
    double size;
    if (!take_apart(words_of(begin, stop), mark, digits, decimals)) return false;
    if (!round_small(digits, (stop[1] == '-' ? -power : power) - decimals, size)) return false;
    value = negative ? -size : size;
    return true;
  }

  static constexpr int kExponent = 4;  // bytes

 private:
  struct Words {
    std::uint64_t high, low;
  };

  static bool is_short(const char* begin, const char* end) {
    return end > begin && end - begin <= kReach && is_digit(*begin);
  }

  static Words words_of(const char* begin, const char* end) {
    const auto length = static_cast<int>(end - begin);
    const std::uint64_t high = load_word(end - 8);
    if (length <= 8) return {last_bytes(high, length), kZeros};
    return {high, last_bytes(load_word(end - 16), length - 8)};
  }

  static bool convert(Words words, char mark, double& size) {
    std::uint64_t digits;
    int decimals;
    return take_apart(words, mark, digits, decimals) && round_small(digits, -decimals, size);
  }

  // The digits, and how many of them stand after the mark.
  static bool take_apart(Words words, char mark, std::uint64_t& digits, int& decimals) {
    std::uint64_t high = words.high, low = words.low;
    decimals = 0;
    if (const std::uint64_t hit = find_byte(high, mark)) {
      const int place = trailing_zeros(hit) / 8;
      decimals = 7 - place;
      high = without(high, place, low);
      low = low << 8 | '0';
    } else if (const std::uint64_t far = find_byte(low, mark)) {
      const int place = trailing_zeros(far) / 8;
      decimals = 15 - place;
      low = without(low, place, kZeros);
    }
    if (!are_digits(high) || !are_digits(low)) return false;
    digits = eight_digits(high);
    if (low != kZeros) digits += eight_digits(low) * 100000000;
    return true;
  }

  Words words_{kZeros, kZeros};
  double size_ = 0.0;
};

}  // namespace geodomain::text
