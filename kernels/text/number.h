// What the text of one field says: a number, nothing, or something else.
//
//   number  = [blanks] [sign] digits [mark [digits]] [exponent] [blanks]
//           | [blanks] [sign] mark digits [exponent] [blanks]
//   exponent = (e | E | d | D) [sign] digits      (d is Fortran's)
//
// Blanks are spaces and tabs, the mark is the table's decimal mark. An empty
// field and NaN, in any case, are missing; infinity is out of range. A
// thousands separator makes a field text. The locale has no say.
#pragma once

#include <cstdint>

#include "platform/bits.h"
#include "text/decimal.h"

namespace geodomain::text {

enum class Reading { number, missing, word, range, unsure };

struct Number {
  double value;
  Reading reading;
};

inline bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }
inline bool is_digit(char byte) { return static_cast<unsigned char>(byte - '0') < 10; }

inline bool is_word(const char* begin, const char* end, const char* word) {
  for (; begin < end && *word != 0; ++begin, ++word) {
    if ((*begin | 0x20) != *word) return false;
  }
  return begin == end && *word == 0;
}

inline Number read_word(const char* begin, const char* end) {
  if (is_word(begin, end, "nan")) return {0.0, Reading::missing};
  if (is_word(begin, end, "inf") || is_word(begin, end, "infinity")) return {0.0, Reading::range};
  return {0.0, Reading::word};
}

constexpr std::uint64_t kEach = 0x0101010101010101;  // times a byte: that byte eight times
constexpr std::uint64_t kZeros = kEach * '0';

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

inline const char* read_digits(const char* at, const char* end, std::uint64_t& digits) {
  for (std::uint64_t word; end - at >= 8 && are_digits(word = load_word(at)); at += 8) {
    digits = digits * 100000000 + eight_digits(word);
  }
  for (; at < end && is_digit(*at); ++at) {
    digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  return at;
}

// Reads an exponent at `at`; leaves `at` where it is when there is none.
inline const char* read_exponent(const char* at, const char* end, std::int64_t& exponent) {
  if (at == end || ((*at | 0x20) != 'e' && (*at | 0x20) != 'd')) return at;
  const char* digit = at + 1;
  const bool negative = digit < end && *digit == '-';
  if (digit < end && (*digit == '-' || *digit == '+')) ++digit;
  if (digit == end || !is_digit(*digit)) return at;
  constexpr std::int64_t kFar = 1000000000000;  // no field is so long that this were near
  std::int64_t size = 0;
  for (; digit < end && is_digit(*digit); ++digit) {
    if (size < kFar) size = size * 10 + (*digit - '0');
  }
  exponent += negative ? -size : size;
  return digit;
}

inline Number finish(Rounded rounded, bool negative) {
  if (rounded.state == Rounding::overflow) return {0.0, Reading::range};
  if (rounded.state == Rounding::unsure) return {0.0, Reading::unsure};
  return {negative ? -rounded.value : rounded.value, Reading::number};
}

// More digits than a word holds: the number lies in [w, w + 1) * 10^power for
// its first 19 digits w, and where both ends round alike, so does the number.
inline Number read_long(const char* begin, const char* end, std::int64_t power, bool negative) {
  std::uint64_t digits = 0;
  int kept = 0;
  bool more = false;
  for (const char* at = begin; at < end; ++at) {
    if (!is_digit(*at) || (kept == 0 && *at == '0')) continue;
    if (kept < 19) {
      digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
      ++kept;
    } else {
      more = more || *at != '0';
      ++power;
    }
  }
  const Rounded low = round_decimal(digits, power);
  if (!more) return finish(low, negative);
  const Rounded high = round_decimal(digits + 1, power);
  if (low.state != high.state || low.value != high.value) return {0.0, Reading::unsure};
  return finish(low, negative);
}

inline Number read_number(const char* begin, const char* end, char mark) {
  while (begin < end && is_blank(*begin)) ++begin;
  while (begin < end && is_blank(end[-1])) --end;
  if (begin == end) return {0.0, Reading::missing};
  const bool negative = *begin == '-';
  if (negative || *begin == '+') ++begin;

  std::uint64_t digits = 0;
  std::int64_t power = 0;
  const char* at = read_digits(begin, end, digits);
  std::int64_t count = at - begin;
  if (at < end && *at == mark) {
    const char* fraction = ++at;
    at = read_digits(at, end, digits);
    power = fraction - at;
    count -= power;
  }
  if (count == 0) return read_word(begin, end);
  const char* digits_end = at;
  at = read_exponent(at, end, power);
  if (at != end) return {0.0, Reading::word};
  if (count > 19) return read_long(begin, digits_end, power, negative);
  return finish(round_decimal(digits, power), negative);
}

}  // namespace geodomain::text
