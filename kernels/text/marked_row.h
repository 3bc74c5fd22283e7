// A row with quotes read from mark to mark: the usual case of row.h, and faster.
#pragma once

#include <algorithm>
#include <vector>

#include "text/dialect.h"
#include "text/line_ends.h"

namespace geodomain::text {

class MarkedRow {
 public:
  // Reads the row at `begin`, given the marks from there to `limit`. False where it
  // is not usual: line ends or NUL within quotes, blanks after them, another number
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
  // Goes on to the mark after the closing quote; false where there is none, or a
  // line end or NUL before it.
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

  // Content, though the byte is special.
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

}  // namespace geodomain::text
