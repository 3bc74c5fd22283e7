// The text of a number: the fewest digits that read back as the same double,
// laid out as Python's repr lays them out.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace geodomain::text {

// The longest double is -2.2250738585072014e-308, the longest integer -9223372036854775808.
inline constexpr int kNumberRoom = 24;

inline char* put(char* to, const char* from, int count) {
  std::memcpy(to, from, static_cast<std::size_t>(count));
  return to + count;
}

inline char* put_zeros(char* to, int count) {
  std::memset(to, '0', static_cast<std::size_t>(count));
  return to + count;
}

inline char* write_integer(std::int64_t value, char* to) {
  return std::to_chars(to, to + kNumberRoom, value).ptr;
}

// Nothing for NaN, which is a missing value.
inline char* write_double(double value, char mark, char* to) {
  if (std::isnan(value)) return to;
  if (std::signbit(value)) *to++ = '-';
  if (std::isinf(value)) return put(to, "inf", 3);
  char text[kNumberRoom + 8];
  const char* end =
      std::to_chars(text, text + sizeof text, std::fabs(value), std::chars_format::scientific).ptr;
  // The text is d.ddde+XX, or de+XX.
  const char* e = end - 1;
  while (*e != 'e') --e;
  char digits[kNumberRoom];
  int count = 0;
  for (const char* at = text; at < e; ++at) {
    if (*at != '.') digits[count++] = *at;
  }
  int exponent = 0;
  for (const char* at = e + 2; at < end; ++at) exponent = 10 * exponent + (*at - '0');
  if (e[1] == '-') exponent = -exponent;

  if (exponent < -4 || exponent >= 16) {
    *to++ = digits[0];
    if (count > 1) {
      *to++ = mark;
      to = put(to, digits + 1, count - 1);
    }
    return put(to, e, static_cast<int>(end - e));
  }
  if (exponent < 0) {
    *to++ = '0';
    *to++ = mark;
    return put(put_zeros(to, -exponent - 1), digits, count);
  }
  const int before = exponent + 1;  // digits before the mark
  if (count <= before) {
    to = put_zeros(put(to, digits, count), before - count);
    *to++ = mark;
    *to++ = '0';
    return to;
  }
  to = put(to, digits, before);
  *to++ = mark;
  return put(to, digits + before, count - before);
}

}  // namespace geodomain::text
