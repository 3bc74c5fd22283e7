// Repeats rows of a table with other numbers, and computes decimal numbers without rounding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

#include "text/number.h"

namespace geodomain::text {

// Decimal numbers as integers and multiples of 10^-18, without rounding. Differences and halves of
// a table's numbers are then exact, while those of doubles are not.

constexpr int kPlaces = 18;
constexpr std::int64_t kParts = 1000000000000000000;  // 10^18 in a unit

struct Fixed {
  std::int64_t whole;  // the floor
  std::int64_t parts;  // from 0 up to but excluding kParts
};

constexpr int kLongestFixed = 40;  // bytes of the longest number as text

// Reads [blanks] [sign] digits [mark digits] [blanks] of up to 18 digits on either side, and
// counts the decimals; false for anything else.
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

// Writes a number with all its decimals, and at least `least`.
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

// The nearest double; NaN if only the caller can determine it.
inline double nearest_double(Fixed value) {
  char text[kLongestFixed];
  const Number number = read_number(text, write_fixed(value, 0, '.', text), '.');
  return number.reading == Reading::number ? number.value
                                           : std::numeric_limits<double>::quiet_NaN();
}

// Writes rows several times, once, or not at all, with other numbers in some of their cells and new
// cells at the end: a block's row becomes the rows of its sub-blocks.

// Rows of a text: the begin, the end before the line end, and the begin of the next row.
struct RowPlaces {
  const std::int64_t *begin, *end, *next;
};

constexpr std::uint8_t kNotPlain = 255;

// A cell that is rewritten in each new row: its place in the old rows, (rows, 2), without quotes;
// its new values; and the decimals of the old cell, which are the least number of new decimals, or
// kNotPlain to leave it unchanged.
struct NewNumber {
  const std::int64_t* places;
  const std::int64_t *whole, *parts;
  const std::uint8_t* decimals;
};

// A cell at the end of each new row: the texts of codes, or numbers if there are no texts.
struct NewCell {
  const std::int64_t* codes;
  const char* cells;
  const std::int64_t* starts;
};

struct Repeated {
  const char* text;
  RowPlaces rows;
  std::int64_t count;             // of new rows
  const std::int64_t* row;        // the old row of each
  const std::uint8_t* unchanged;  // 1 to leave its cells unchanged
  const NewNumber* numbers;       // from left to right
  std::int32_t number_count;
  const NewCell* cells;
  std::int32_t cell_count;
  char delimiter, mark;
  std::string_view line_end;  // between new rows of the same old row
};

inline char* put(const char* from, std::int64_t size, char* to) {
  std::memcpy(to, from, static_cast<std::size_t>(size));
  return to + size;
}

// An upper bound of the bytes that `repeat` writes.
inline std::int64_t room_for(const Repeated& all) {
  std::int64_t size = 0;
  const auto fixed = static_cast<std::int64_t>(all.line_end.size()) +
                     all.number_count * (kLongestFixed + 2) + all.cell_count * 24;
  for (std::int64_t i = 0; i < all.count; ++i) {
    const std::int64_t row = all.row[i];
    size += all.rows.next[row] - all.rows.begin[row] + fixed;
    for (std::int32_t k = 0; k < all.cell_count; ++k) {
      const NewCell& cell = all.cells[k];
      if (cell.starts) size += cell.starts[cell.codes[i] + 1] - cell.starts[cell.codes[i]];
    }
  }
  return size;
}

// Writes the new rows, each with the bytes that followed the old one, and returns their end.
inline char* repeat(const Repeated& all, char* out) {
  for (std::int64_t i = 0; i < all.count; ++i) {
    const std::int64_t row = all.row[i];
    std::int64_t at = all.rows.begin[row];
    for (std::int32_t k = 0; k < all.number_count && !all.unchanged[i]; ++k) {
      const NewNumber& number = all.numbers[k];
      if (number.decimals[row] == kNotPlain) continue;
      std::int64_t begin = number.places[2 * row], end = number.places[2 * row + 1];
      // If the decimal mark is also the delimiter, only a field within quotes can hold it.
      const bool bare = all.mark == all.delimiter && (begin == 0 || all.text[begin - 1] != '"');
      while (!bare && begin < end && is_blank(all.text[begin])) ++begin;
      while (!bare && begin < end && is_blank(all.text[end - 1])) --end;
      out = put(all.text + at, begin - at, out);
      if (bare) *out++ = '"';
      out = write_fixed({number.whole[i], number.parts[i]}, number.decimals[row], all.mark, out);
      if (bare) *out++ = '"';
      at = end;
    }
    out = put(all.text + at, all.rows.end[row] - at, out);
    for (std::int32_t k = 0; k < all.cell_count; ++k) {
      const NewCell& cell = all.cells[k];
      const std::int64_t code = cell.codes[i];
      *out++ = all.delimiter;
      out = cell.starts ? put(cell.cells + cell.starts[code],
                              cell.starts[code + 1] - cell.starts[code], out)
                        : write_digits(static_cast<std::uint64_t>(code), out);
    }
    const bool again = i + 1 < all.count && all.row[i + 1] == row;
    out = again ? put(all.line_end.data(), static_cast<std::int64_t>(all.line_end.size()), out)
                : put(all.text + all.rows.end[row], all.rows.next[row] - all.rows.end[row], out);
  }
  return out;
}

// Numbers rows by their bytes, without some cells: equal rows get the same code, in the order of
// first appearance. `places` are those of the cells, (cell_count, rows, 2), from left to right.
inline void number_alike(const char* text, const RowPlaces& rows, std::int64_t count,
                         const std::int64_t* const* places, std::int32_t cell_count,
                         std::int64_t* codes) {
  std::unordered_map<std::string, std::int64_t> code_of;
  std::string key, before;
  std::int64_t code = -1;
  for (std::int64_t row = 0; row < count; ++row) {
    key.clear();
    std::int64_t at = rows.begin[row];
    for (std::int32_t k = 0; k < cell_count; ++k) {
      key.append(text + at, static_cast<std::size_t>(places[k][2 * row] - at));
      key.push_back('\0');  // which occurs in no text
      at = places[k][2 * row + 1];
    }
    key.append(text + at, static_cast<std::size_t>(rows.end[row] - at));
    if (code < 0 || key != before) {
      code = code_of.try_emplace(key, static_cast<std::int64_t>(code_of.size())).first->second;
      before = key;
    }
    codes[row] = code;
  }
}

}  // namespace geodomain::text
