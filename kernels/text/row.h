// Reads one row of a table: by definition, from mark to mark, or by the shape of the row before.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "platform/bits.h"
#include "text/dialect.h"
#include "text/marks.h"
#include "text/number.h"

namespace geodomain::text {

// Reads a row byte by byte, whatever it contains: this is the definition of a row; the
// fast ways below and in chunk.h are shortcuts.
//
//   A row is fields with delimiters between, and a line end or the end of the
//   file. A field that starts with a quote runs to its closing quote, a doubled
//   quote is a literal quote, and blanks may follow; delimiters and line ends within
//   are content. In any other field a quote is an ordinary byte. NUL is
//   not allowed anywhere. A row of only blanks is blank: it is skipped.

enum class RowState { whole, blank, unfinished, faulty };

class RowReader {
 public:
  RowReader(const char* text, Offset size, bool final, const Dialect& dialect)
      : text_(text), size_(size), final_(final), dialect_(dialect) {}

  // Reads the row at `begin` < size. An unfinished row continues beyond the text, and
  // its end may still come. Faults are found from left to right, so that more
  // text never changes which comes first.
  RowState read(Offset begin) {
    row_ = at_ = begin;
    fields_.clear();
    inner_lines_ = 0;
    for (;;) {
      const RowState state = read_field();
      if (state != RowState::whole) return state;
      if (at_ < size_ && text_[at_] == dialect_.delimiter) {
        ++at_;
        continue;
      }
      content_end_ = at_;
      if (!pass_line_end()) return RowState::unfinished;
      return is_blank_row() ? RowState::blank : RowState::whole;
    }
  }

  const std::vector<Range>& fields() const { return fields_; }  // quotes included
  Offset content_end() const { return content_end_; }
  Offset next() const { return at_; }
  std::int64_t inner_lines() const { return inner_lines_; }  // within quotes
  const Trouble& trouble() const { return trouble_; }

 private:
  RowState read_field() {
    const Offset begin = at_;
    if (at_ < size_ && text_[at_] == '"') {
      const RowState state = pass_quoted();
      if (state != RowState::whole) return state;
    } else {
      while (at_ < size_ && !ends_field(text_[at_]) && text_[at_] != 0) ++at_;
    }
    if (at_ < size_ && text_[at_] == 0) return fail(Fault::nul, {at_, at_ + 1});
    if (at_ == size_ && !final_) return RowState::unfinished;
    fields_.push_back({begin, at_});
    return RowState::whole;
  }

  RowState pass_quoted() {
    const Offset opened = at_++;
    for (;;) {
      const Offset from = at_;
      const char* quote = static_cast<const char*>(std::memchr(text_ + at_, '"', size_ - at_));
      at_ = quote == nullptr ? size_ : static_cast<Offset>(quote - text_);
      if (const void* nul = std::memchr(text_ + from, 0, at_ - from)) {
        const Offset place = static_cast<Offset>(static_cast<const char*>(nul) - text_);
        return fail(Fault::nul, {place, place + 1});
      }
      if (at_ == size_) {
        return final_ ? fail(Fault::unclosed, {opened, size_}) : RowState::unfinished;
      }
      ++at_;
      if (at_ == size_ || text_[at_] != '"') break;
      ++at_;
    }
    inner_lines_ += count_line_ends(text_, opened, at_, size_);
    const Offset closed = at_;
    while (at_ < size_ && text_[at_] != dialect_.delimiter && is_blank(text_[at_])) ++at_;
    if (at_ == size_ || ends_field(text_[at_]) || text_[at_] == 0) return RowState::whole;
    return fail(Fault::junk, {opened, closed});
  }

  bool ends_field(char byte) const { return byte == dialect_.delimiter || is_line_end(byte); }

  bool pass_line_end() {
    if (at_ == size_) return final_;
    const Offset after = line_after({text_, size_, final_}, at_);
    if (after == kNowhere) return false;
    at_ = after;
    return true;
  }

  bool is_blank_row() const {
    if (fields_.size() != 1) return false;
    Offset at = row_;
    while (at < content_end_ && is_blank(text_[at])) ++at;
    return at == content_end_;
  }

  RowState fail(Fault fault, Range place) {
    trouble_ = {fault, row_, place, static_cast<std::int64_t>(fields_.size())};
    return RowState::faulty;
  }

  const char* text_;
  Offset size_;
  bool final_;
  const Dialect& dialect_;
  Offset row_ = 0, at_ = 0, content_end_ = 0;
  std::vector<Range> fields_;
  std::int64_t inner_lines_ = 0;
  Trouble trouble_;
};

// Reads a row with quotes from mark to mark, which is faster than byte by byte.

class MarkedRow {
 public:
  // Reads the row at `begin`, from the marks between there and `limit`. False for an
  // unusual row: line ends or NUL within quotes, blanks after them, another number
  // of fields, no line end at hand, a fault.
  bool read(const Text& text, const Dialect& dialect, Offset begin, Offset limit,
            const Offset* delimiter, const Offset* special) {
    fields_.clear();
    for (;;) {
      const bool quoted = *special == begin && text.bytes[begin] == '"';
      if (quoted && !pass_quoted(text.bytes, limit, special)) return false;
      while (!quoted && *special < *delimiter && is_literal(text.bytes, *special)) ++special;
      const Offset from = quoted ? special[-1] + 1 : begin;
      while (*delimiter < from) ++delimiter;
      const Offset end = std::min(*delimiter, *special);
      if (end >= limit || (quoted && end != from)) return false;
      fields_.push_back({begin, end});
      if (end == *special) return finish(text, dialect, end);
      begin = end + 1;
    }
  }

  const std::vector<Range>& fields() const { return fields_; }  // quotes included
  Offset next() const { return next_; }

 private:
  // Advances to the mark after the closing quote; false if there is none, or a
  // line end or NUL comes before it.
  static bool pass_quoted(const char* text, Offset limit, const Offset*& special) {
    for (++special; *special < limit; ++special) {
      const char byte = text[*special];
      if (byte != '"' && !is_literal(text, *special)) return false;
      if (byte != '"') continue;
      if (special[1] == kNowhere || special[1] != *special + 1 || text[special[1]] != '"') {
        ++special;
        return true;
      }
      ++special;
    }
    return false;
  }

  // Whether a special byte is content.
  static bool is_literal(const char* text, Offset place) {
    return text[place] != 0 && !is_line_end(text[place]);
  }

  bool finish(const Text& text, const Dialect& dialect, Offset end) {
    if (!is_line_end(text.bytes[end]) || fields_.size() < 2) return false;
    if (fields_.size() != static_cast<std::size_t>(dialect.fields)) return false;
    next_ = line_after(text, end);
    return next_ != kNowhere;
  }

  std::vector<Range> fields_;
  Offset next_ = 0;
};

// The positions of the columns of interest within a row, for rows without
// quotes, tabs or NUL whose columns end within their first 64 bytes. Most rows have the shape of
// the row before, and a field with the same bytes has the same number.

// The delimiters and the line end among a row's first 64 bytes, bit i for byte i.
struct RowEnds {
  std::uint64_t first = 0;  // among the first 64 bytes
  std::int32_t delimiters = 0;
  Offset length =
      kNowhere;  // position of the first special byte; kNowhere if it is not in the text

  // Reads from `block`, the first 64 of `room` bytes, onwards.
  RowEnds(const ByteBlock& block, const char* row, Offset room, char delimiter) {
    BlockMarks marks(block, delimiter);
    first = marks.delimiters;
    Offset at = 0;
    while (marks.specials == 0) {
      delimiters += count_bits(marks.delimiters);
      at += 64;
      if (room - at < 64) return;
      marks = BlockMarks(ByteBlock(row + at), delimiter);
    }
    const std::uint64_t end = marks.specials & (0 - marks.specials);
    delimiters += count_bits(marks.delimiters & (end - 1));
    length = at + static_cast<Offset>(trailing_zeros(end));
    if (at == 0) first = (first & (end - 1)) | end;
  }
};

class RowShape {
 public:
  // Whether the wanted fields of a row with these ends are where they were in the row last
  // learnt.
  bool fits(const RowEnds& ends) const { return ready_ && ((ends.first ^ ends_) & span_) == 0; }

  // Stores the shape of a row; false if a wanted field ends too late.
  bool learn(const Dialect& dialect, const RowEnds& ends) {
    std::int32_t last = -1;
    for (std::int32_t i = 0; i < dialect.wanted_count; ++i) {
      last = std::max(last, dialect.wanted[static_cast<std::size_t>(i)]);
    }
    std::uint64_t left = ends_ = ends.first;
    span_ = 0;
    ready_ = false;
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
    ready_ = true;
    return true;
  }

  Range place(std::size_t wanted) const { return places_[wanted]; }
  // The bytes of a wanted field, and the delimiter or line end after it.
  std::uint64_t bytes(std::size_t wanted) const { return bytes_[wanted]; }

 private:
  static std::uint64_t up_to(Offset bit) { return (std::uint64_t{2} << bit) - 1; }

  bool ready_ = false;
  std::uint64_t ends_ = 0, span_ = 0;
  std::array<Range, kMostWanted> places_{};
  std::array<std::uint64_t, kMostWanted> bytes_{};
};

}  // namespace geodomain::text
