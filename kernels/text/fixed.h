// Decimal numbers as text has them: whole units and parts of 10^-18, without rounding. Differences
// and halves of what a table says are then exact, where those of doubles are not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "text/number.h"

namespace geodomain::text {

constexpr int kPlaces = 18;
constexpr std::int64_t kParts = 1000000000000000000;  // 10^18 to a unit

struct Fixed {
  std::int64_t whole;  // the floor
  std::int64_t parts;  // from 0 up to, not including, kParts
};

constexpr int kLongestFixed = 40;  // bytes of the longest one as text

// Reads [blanks] [sign] digits [mark digits] [blanks] of up to 18 digits on either side, and says
// how many decimals there are; false for anything else.
inline bool read_fixed(const char* begin, const char* end, char mark, Fixed& value, int& decimals) {
  while (begin < end && is_blank(*begin)) ++begin;
  while (begin < end && is_blank(end[-1])) --end;
  if (begin == end) return false;
  const bool negative = *begin == '-';
  if (negative || *begin == '+') ++begin;
  std::uint64_t whole = 0, parts = 0;
  const char* at = read_digits(begin, end, whole);
  const auto digits = at - begin;
  decimals = 0;
  if (at < end && *at == mark) {
    const char* fraction = ++at;
    at = read_digits(at, end, parts);
    decimals = static_cast<int>(std::min<std::ptrdiff_t>(at - fraction, kPlaces + 1));
  }
  if (at != end || digits > kPlaces || decimals > kPlaces || digits + decimals == 0) return false;
  for (int i = decimals; i < kPlaces; ++i) parts *= 10;
  value = {static_cast<std::int64_t>(whole), static_cast<std::int64_t>(parts)};
  if (negative && value.parts == 0) value.whole = -value.whole;
  if (negative && value.parts != 0) value = {-value.whole - 1, kParts - value.parts};
  return true;
}

inline char* write_digits(std::uint64_t value, char* out) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (count > 0) *out++ = digits[--count];
  return out;
}

// Writes a number with all the decimals that it has, and `least` of them at least.
inline char* write_fixed(Fixed value, int least, char mark, char* out) {
  if (value.whole < 0) {
    *out++ = '-';
    const bool split = value.parts != 0;
    value = {-(value.whole + split), split ? kParts - value.parts : 0};
  }
  out = write_digits(static_cast<std::uint64_t>(value.whole), out);
  if (value.parts == 0 && least == 0) return out;
  *out++ = mark;
  std::uint64_t rest = static_cast<std::uint64_t>(value.parts);
  for (int i = kPlaces; i-- > 0; rest /= 10) out[i] = static_cast<char>('0' + rest % 10);
  int count = kPlaces;
  while (count > least && out[count - 1] == '0') --count;
  return out + count;
}

// The nearest double, NaN where only the caller can tell it.
inline double nearest_double(Fixed value) {
  char text[kLongestFixed];
  const Number number = read_number(text, write_fixed(value, 0, '.', text), '.');
  return number.reading == Reading::number ? number.value
                                           : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace geodomain::text
