// Plain decimals of up to sixteen bytes, which nearly all coordinates are, read
// a word at a time. Anything else is for number.h, and gives the same doubles.
#pragma once

#include <cstdint>

#include "platform/bits.h"
#include "text/decimal.h"
#include "text/number.h"

namespace geodomain::text {

constexpr std::uint64_t kEach = 0x0101010101010101;  // times a byte: that byte eight times
constexpr std::uint64_t kZeros = kEach * '0';

// The last `count` bytes of a word, 1 to 8, after zeros.
inline std::uint64_t last_bytes(std::uint64_t word, int count) {
  const std::uint64_t kept = ~std::uint64_t{0} << (8 * (8 - count));
  return (word & kept) | (kZeros & ~kept);
}

inline bool are_digits(std::uint64_t word) {
  const std::uint64_t halves = kEach * 0xF0;
  return (word & halves) == kZeros && ((word + kEach * 6) & halves) == kZeros;
}

// Pairs, fours, then all eight digits, side by side.
inline std::uint64_t eight_digits(std::uint64_t word) {
  word -= kZeros;
  word = word * 10 + (word >> 8);
  constexpr std::uint64_t pairs = 0x000000FF000000FF;
  return ((word & pairs) * (100 + (std::uint64_t{1000000} << 32)) +
          ((word >> 16) & pairs) * (1 + (std::uint64_t{10000} << 32))) >>
         32;
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
    const auto length = end - begin;
    if (length < 1 || length > kReach || !is_digit(*begin)) return false;
    const std::uint64_t high = load_word(end - 8);
    const Words words =
        length > 8 ? Words{high, last_bytes(load_word(end - 16), static_cast<int>(length - 8))}
                   : Words{last_bytes(high, static_cast<int>(length)), kZeros};
    if (words.high != words_.high || words.low != words_.low) {
      double size;
      if (!convert(words, mark, size)) return false;
      words_ = words;
      size_ = size;
    }
    value = negative ? -size_ : size_;
    return true;
  }

 private:
  struct Words {
    std::uint64_t high, low;
  };

  static bool convert(Words words, char mark, double& size) {
    std::uint64_t high = words.high, low = words.low;
    int decimals = 0;
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
    std::uint64_t digits = eight_digits(high);
    if (low != kZeros) digits += eight_digits(low) * 100000000;
    return round_small(digits, -decimals, size);
  }

  Words words_{kZeros, kZeros};
  double size_ = 0.0;
};

}  // namespace geodomain::text
