// Writes columns as rows of a text table.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "platform/c_function.h"
#include "platform/portable.h"
#include "platform/thread_team.h"

// A number as text: the fewest digits that read back as the same double, in the form of Python's
// repr.

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

// Empty for NaN, which is a missing value.
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

namespace {

using geodomain::Status;
using geodomain::Team;
using namespace geodomain::text;

struct Columns {
  int count;
  const void* const* values;
  const std::int32_t* whole;  // whether the column is of int64, not of double
  const std::int64_t* steps;  // bytes from one row to the next
};

char* write_row(const Columns& columns, std::int64_t row, char delimiter, char mark, char* to) {
  for (int k = 0; k < columns.count; ++k) {
    if (k > 0) *to++ = delimiter;
    const char* cell = static_cast<const char*>(columns.values[k]) + row * columns.steps[k];
    if (columns.whole[k] != 0) {
      std::int64_t value;
      std::memcpy(&value, cell, sizeof value);
      to = write_integer(value, to);
    } else {
      double value;
      std::memcpy(&value, cell, sizeof value);
      to = write_double(value, mark, to);
    }
  }
  *to++ = '\n';
  return to;
}

}  // namespace

// The number of bytes that `geodomain_text_rows` needs for a row.
GD_API std::int64_t geodomain_text_row_room(std::int32_t columns) {
  return static_cast<std::int64_t>(columns) * (kNumberRoom + 1);
}
GD_DESCRIBE(geodomain_text_row_room);

// Writes the rows of columns as lines to `out`, and returns their number of bytes.
GD_API Status geodomain_text_rows(std::int32_t count, const void* const* values,
                                  const std::int32_t* whole, const std::int64_t* steps,
                                  std::int64_t rows, char delimiter, char mark,
                                  std::int32_t threads, char* out, std::int64_t* size) {
  constexpr std::int64_t kPiece = 4096;
  return geodomain::guarded([&] {
    const Columns columns{count, values, whole, steps};
    const std::int64_t room = geodomain_text_row_room(count);
    const std::int64_t pieces = (rows + kPiece - 1) / kPiece;
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(pieces));
    Team team(static_cast<int>(std::min<std::int64_t>(threads, pieces)));
    team.run(pieces, 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t piece = begin; piece < end; ++piece) {
        char* const start = out + piece * kPiece * room;
        char* to = start;
        const std::int64_t last = std::min(rows, (piece + 1) * kPiece);
        for (std::int64_t row = piece * kPiece; row < last; ++row) {
          to = write_row(columns, row, delimiter, mark, to);
        }
        sizes[static_cast<std::size_t>(piece)] = to - start;
      }
    });
    char* to = out;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const auto bytes = static_cast<std::size_t>(sizes[static_cast<std::size_t>(piece)]);
      std::memmove(to, out + piece * kPiece * room, bytes);
      to += bytes;
    }
    *size = to - out;
  });
}
GD_DESCRIBE(geodomain_text_rows);
