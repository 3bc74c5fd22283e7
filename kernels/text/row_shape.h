// Where the wanted fields of a row are, counted from its start: for rows without quotes, tabs or
// NUL whose wanted fields end within their first 64 bytes. Most rows have the shape of the row
// before, and then a field whose bytes are the same says the same.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "platform/bits.h"
#include "text/dialect.h"
#include "text/marks.h"

namespace geodomain::text {

// Bit i for byte i of a row: its delimiters and its line end, as far as 64 bytes go.
struct RowEnds {
  std::uint64_t first = 0;  // among the first 64 bytes
  std::int32_t delimiters = 0;
  Offset length = kNowhere;  // where the first special byte is; kNowhere: not in the text

  // Reads on from `block`, the first 64 of `room` bytes.
  RowEnds(const ByteBlock& block, const char* row, Offset room, char delimiter) {
    BlockMarks found(block, delimiter);
    first = found.delimiters;
    Offset at = 0;
    while (found.specials == 0) {
      delimiters += count_bits(found.delimiters);
      at += 64;
      if (room - at < 64) return;
      found = BlockMarks(ByteBlock(row + at), delimiter);
    }
    const std::uint64_t end = found.specials & (0 - found.specials);
    delimiters += count_bits(found.delimiters & (end - 1));
    length = at + static_cast<Offset>(trailing_zeros(end));
    if (at == 0) first = (first & (end - 1)) | end;
  }
};

class RowShape {
 public:
  // Whether the wanted fields of a row that ends so are where they were in the row that was
  // learnt last.
  bool fits(const RowEnds& ends) const { return known_ && ((ends.first ^ ends_) & span_) == 0; }

  // False: a wanted field ends too late.
  bool learn(const Dialect& dialect, const RowEnds& ends) {
    std::int32_t last = -1;
    for (std::int32_t i = 0; i < dialect.wanted_count; ++i) {
      last = std::max(last, dialect.wanted[static_cast<std::size_t>(i)]);
    }
    std::uint64_t left = ends_ = ends.first;
    span_ = 0;
    known_ = false;
    std::array<std::uint8_t, 65> starts;
    starts[0] = 0;
    for (std::int32_t field = 0; field <= last; ++field) {
      if (left == 0) return false;
      starts[static_cast<std::size_t>(field) + 1] =
          static_cast<std::uint8_t>(trailing_zeros(left) + 1);
      left &= left - 1;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(dialect.wanted_count); ++i) {
      const auto field = static_cast<std::size_t>(dialect.wanted[i]);
      places_[i] = {starts[field], starts[field + 1] - Offset{1}};
      bytes_[i] = up_to(places_[i].end) & ~(up_to(places_[i].begin) >> 1);
      span_ |= up_to(places_[i].end);
    }
    known_ = true;
    return true;
  }

  Range place(std::size_t wanted) const { return places_[wanted]; }
  // Those of a wanted field, and the delimiter or line end after it.
  std::uint64_t bytes(std::size_t wanted) const { return bytes_[wanted]; }

 private:
  static std::uint64_t up_to(Offset bit) { return (std::uint64_t{2} << bit) - 1; }

  bool known_ = false;
  std::uint64_t ends_ = 0, span_ = 0;
  std::array<Range, kMostWanted> places_{};
  std::array<std::uint64_t, kMostWanted> bytes_{};
};

}  // namespace geodomain::text
