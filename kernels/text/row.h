// One row read byte by byte, whatever is in it: the definition of a row, to
// which the fast way in piece.h is a short cut.
//
//   A row is fields with delimiters between, and a line end or the end of the
//   file. A field that starts with a quote runs to its closing quote, a doubled
//   quote stands for one, and blanks may follow; delimiters and line ends within
//   are content. In any other field a quote is a byte like any other. NUL is
//   nowhere allowed. A row of blanks alone is blank: it is passed over.
#pragma once

#include <cstring>
#include <vector>

#include "text/dialect.h"
#include "text/line_ends.h"
#include "text/number.h"

namespace geodomain::text {

enum class RowState { whole, blank, unfinished, faulty };

class RowReader {
 public:
  RowReader(const char* text, Offset size, bool final, const Dialect& dialect)
      : text_(text), size_(size), final_(final), dialect_(dialect) {}

  // Reads the row at `begin` < size. An unfinished row goes on beyond the text:
  // its end may yet come. Faults are found from left to right, so that more
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

}  // namespace geodomain::text
