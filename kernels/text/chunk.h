// The rows that start in one stretch of the text: where their new cells go, and the numbers in
// the columns that are read.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "platform/thread_team.h"
#include "text/dialect.h"
#include "text/marks.h"
#include "text/number.h"
#include "text/row.h"

namespace geodomain::text {

// A number that only exact arithmetic can round, which is left to the caller.
struct Unsure {
  std::int64_t row;  // within the piece
  std::int64_t wanted;
  Range place;
};

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

class Piece {
 public:
  Offset begin = 0, limit = 0;  // rows that start in this range are read
  Offset next = 0;              // start of the first row that was not read
  bool unfinished = false;      // that row continues beyond the text
  std::int64_t lines = 0;       // line ends in [begin, next)
  std::int64_t missing = 0;     // rows without a centroid
  Trouble trouble;              // the fault of the row at `next`
  std::vector<Range> cuts;      // for each row, the range that new cells replace
  // The wanted numbers, each a column of rows, NaN where missing; then room for more.
  std::array<std::vector<double>, kMostWanted> values;
  std::vector<Unsure> unsure;
  std::vector<Range> places;  // other requested fields, by row, without quotes

  std::int64_t rows() const { return static_cast<std::int64_t>(cuts.size()); }

  void clear_at(Offset place) {
    begin = next = place;
    unfinished = false;
    lines = missing = 0;
    trouble = {};
    cuts.clear();
    unsure.clear();
    places.clear();
  }

  void read(const Text& text, const Dialect& dialect, Marks& marks) {
    clear_at(begin);
    read_alike(text, dialect);
    if (next < limit) read_marked(text, dialect, marks);
  }

 private:
  // Reads rows like read_plain, as long as their columns are where `RowShape` expects them:
  // without lists of marks, and without reading again what equals the row before.
  void read_alike(const Text& text, const Dialect& dialect) {
    if (dialect.replaced >= 0 || !dialect.also.empty()) return;
    RowShape shape;
    const char* before = nullptr;  // the row before, if its numbers are certain
    while (next < limit && text.size - next >= 64) {
      const char* row = text.bytes + next;
      const ByteBlock block(row);
      const RowEnds ends(block, row, text.size - next, dialect.delimiter);
      if (ends.length == kNowhere || ends.delimiters != dialect.fields - 1) return;
      const Offset end = next + ends.length;
      if (end >= limit || !is_line_end(text.bytes[end])) return;
      const Offset after = line_after(text, end);
      if (after == kNowhere) return;
      std::uint64_t changed = ~std::uint64_t{0};
      if (!shape.fits(ends)) {
        if (!shape.learn(dialect, ends)) return;
      } else if (before != nullptr) {
        changed = block.differs(ByteBlock(before));
      }
      const std::size_t unsure_before = unsure.size();
      if (!take_changed(text, dialect, shape, changed)) return;
      cuts.push_back({end, end});
      before = unsure.size() == unsure_before ? row : nullptr;
      next = after;
      ++lines;
    }
  }

  // Stores the numbers of a row; numbers of unchanged fields are copied from the row
  // before. False for a fault.
  bool take_changed(const Text& text, const Dialect& dialect, const RowShape& shape,
                    std::uint64_t changed) {
    make_room(dialect);
    bool absent = false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(dialect.wanted_count); ++i) {
      double* value = values[i].data() + cuts.size();
      if ((changed & shape.bytes(i)) == 0) {
        *value = value[-1];
      } else {
        const Range place = {next + shape.place(i).begin, next + shape.place(i).end};
        if (!take_number(text, dialect, place, i, *value)) return false;
      }
      absent = absent || (i < 3 && std::isnan(*value));
    }
    missing += absent;
    return true;
  }

  void read_marked(const Text& text, const Dialect& dialect, Marks& marks) {
    marks.find(text.bytes, {next, limit}, dialect.delimiter,
               static_cast<std::size_t>(dialect.fields) + 1);
    const Offset* delimiter = marks.delimiters();
    const Offset* special = marks.specials();
    RowReader reader(text.bytes, text.size, text.final, dialect);
    MarkedRow marked;
    while (next < limit) {
      if (read_plain(text, dialect, delimiter, special)) continue;
      const bool usual = marked.read(text, dialect, next, limit, delimiter, special) &&
                         take_fields(text, dialect, marked.fields());
      if (usual) {
        ++lines;
        next = marked.next();
      } else if (!read_any(text, dialect, reader)) {
        return;
      }
      while (*delimiter < next) ++delimiter;
      while (*special < next) ++special;
    }
  }

  // Reads a row without quotes, tabs or NUL, with the right number of fields, whose
  // line end is at hand: the special byte after its start is its line end, and
  // the right number of delimiters, at least one, come before that, so that it
  // is not blank. False for any other row, or one with a fault.
  bool read_plain(const Text& text, const Dialect& dialect, const Offset*& delimiter,
                  const Offset*& special) {
    const Offset end = *special;
    if (end >= limit || !is_line_end(text.bytes[end])) return false;
    if (delimiter[dialect.fields - 2] > end) return false;
    if (delimiter[dialect.fields - 1] < end) return false;
    const Offset after = line_after(text, end);
    if (after == kNowhere) return false;
    const auto field = [&](std::int32_t i) {
      return Range{i == 0 ? next : delimiter[i - 1] + 1,
                   i == dialect.fields - 1 ? end : delimiter[i]};
    };
    if (!take(text, dialect, field, field, end)) return false;
    delimiter += dialect.fields - 1;
    special += after - end;
    next = after;
    ++lines;
    return true;
  }

  // Reads any row; false if reading must stop.
  bool read_any(const Text& text, const Dialect& dialect, RowReader& reader) {
    const RowState state = reader.read(next);
    unfinished = state == RowState::unfinished;
    if (state == RowState::faulty) trouble = reader.trouble();
    if (state == RowState::faulty || unfinished) return false;
    if (state == RowState::whole) {
      const std::vector<Range>& fields = reader.fields();
      if (fields.size() != static_cast<std::size_t>(dialect.fields)) {
        return fail(Fault::ragged, {next, reader.content_end()},
                    static_cast<std::int64_t>(fields.size()));
      }
      if (!take_fields(text, dialect, fields)) return false;
    }
    lines += reader.inner_lines() + (is_line_end(text.bytes[reader.next() - 1]) ? 1 : 0);
    next = reader.next();
    return true;
  }

  bool take_fields(const Text& text, const Dialect& dialect, const std::vector<Range>& fields) {
    const auto raw = [&](std::int32_t i) { return fields[static_cast<std::size_t>(i)]; };
    const auto bare = [&](std::int32_t i) { return unquoted(text.bytes, raw(i)); };
    return take(text, dialect, raw, bare, fields.back().end);
  }

  static Range unquoted(const char* text, Range field) {
    if (field.begin == field.end || text[field.begin] != '"') return field;
    while (text[field.end - 1] != '"') --field.end;
    return {field.begin + 1, field.end - 1};
  }

  // Stores a row from its fields, with and without quotes.
  template <class Raw, class Bare>
  bool take(const Text& text, const Dialect& dialect, const Raw& raw, const Bare& bare,
            Offset content_end) {
    make_room(dialect);
    bool absent = false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(dialect.wanted_count); ++i) {
      double& value = values[i][cuts.size()];
      if (!take_number(text, dialect, bare(dialect.wanted[i]), i, value)) return false;
      absent = absent || (i < 3 && std::isnan(value));
    }
    missing += absent;
    for (const std::int32_t field : dialect.also) places.push_back(bare(field));
    cuts.push_back(dialect.replaced < 0 ? Range{content_end, content_end} : raw(dialect.replaced));
    return true;
  }

  // Makes room for the numbers of the next row.
  void make_room(const Dialect& dialect) {
    if (dialect.wanted_count == 0 || cuts.size() < values[0].size()) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(dialect.wanted_count); ++i) {
      values[i].resize(2 * cuts.size() + 1024);
    }
  }

  // Reads the wanted number `i`, NaN where it is missing; false for a fault.
  bool take_number(const Text& text, const Dialect& dialect, Range place, std::size_t i,
                   double& value) {
    const bool is_short =
        place.end >= kReach &&
        short_[i].read(text.bytes + place.begin, text.bytes + place.end, dialect.mark, value);
    if (!is_short && !read_other(text, dialect, place, static_cast<std::int32_t>(i), value)) {
      return false;
    }
    for (const double code : dialect.missing) value = value == code ? kMissing : value;
    return true;
  }

  // Reads a wanted number of any form; false for a fault. A number left to the caller
  // is missing until then.
  bool read_other(const Text& text, const Dialect& dialect, Range place, std::int32_t wanted,
                  double& value) {
    const Number number =
        read_number(text.bytes + place.begin, text.bytes + place.end, dialect.mark);
    value = number.reading == Reading::number ? number.value : kMissing;
    const bool refused = number.reading == Reading::word || number.reading == Reading::range;
    if (refused && is_missing_word(text, dialect, place)) return true;
    if (number.reading == Reading::word) return fail(Fault::word, place, wanted);
    if (number.reading == Reading::range) return fail(Fault::range, place, wanted);
    if (number.reading == Reading::unsure) unsure.push_back({rows(), wanted, place});
    return true;
  }

  static bool is_missing_word(const Text& text, const Dialect& dialect, Range place) {
    if (dialect.missing_words.empty()) return false;
    const char* begin = text.bytes + place.begin;
    const char* end = text.bytes + place.end;
    while (begin < end && is_blank(*begin)) ++begin;
    while (begin < end && is_blank(end[-1])) --end;
    const auto same = [&](const std::string& word) {
      return word.size() == static_cast<std::size_t>(end - begin) &&
             std::equal(begin, end, word.begin());
    };
    return std::any_of(dialect.missing_words.begin(), dialect.missing_words.end(), same);
  }

  bool fail(Fault fault, Range place, std::int64_t detail) {
    trouble = {fault, next, place, detail};
    return false;
  }

  std::array<ShortReader, kMostWanted> short_;  // one for each wanted number
};

// A stretch of the file: all its complete rows, found by several threads.
//
// The text is cut at line feeds into pieces of a fixed size, and every piece is
// read as if a row started at its start. That is only a guess, because the line
// feed may be within quotes, so each guess is checked afterwards, in order:
//
//   The state of the reader at the start of a row does not depend on anything
//   before it. So a piece that was read from the start of a row was
//   read correctly, and gives the correct start of the next row after it. Row 0
//   starts at 0. If the rows before piece i end where piece i starts, its guess
//   was right; if not, it is read again from where they end, or emptied if
//   they end beyond it. By induction every remaining piece was read from the
//   start of a row, and rows, numbers and the first fault are those of one
//   reader of the whole text, for any threads and pieces.
//
// Counting quotes would not do: a quote within an unquoted field is literal.

class Chunk {
 public:
  explicit Chunk(Dialect dialect) : dialect_(std::move(dialect)) {}

  void scan(const Text& text, Offset piece_size, int threads) {
    cut(text, piece_size);
    Team team(std::min<int>(threads, static_cast<int>(pieces_.size())));
    if (marks_.size() < static_cast<std::size_t>(team.size())) {
      marks_.resize(static_cast<std::size_t>(team.size()));
    }
    team.run(static_cast<std::int64_t>(pieces_.size()), 1,
             [&](std::int64_t begin, std::int64_t end, int member) {
               for (std::int64_t i = begin; i < end; ++i) {
                 pieces_[static_cast<std::size_t>(i)].read(
                     text, dialect_, marks_[static_cast<std::size_t>(member)]);
               }
             });
    check(text);
  }

  const Dialect& dialect() const { return dialect_; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  Offset consumed() const { return pieces_.empty() ? 0 : pieces_.back().next; }

  const Trouble& trouble() const {
    static const Trouble none;
    return pieces_.empty() ? none : pieces_.back().trouble;
  }

  template <class Measure>
  std::int64_t total(const Measure& measure) const {
    std::int64_t sum = 0;
    for (const Piece& piece : pieces_) sum += measure(piece);
    return sum;
  }

 private:
  // Pieces are reused with their memory.
  void cut(const Text& text, Offset piece_size) {
    std::size_t count = 0;
    for (Offset begin = 0; begin < text.size; ++count) {
      if (count == pieces_.size()) pieces_.push_back(spare());
      Piece& piece = pieces_[count];
      piece.begin = begin;
      piece.limit = begin = piece_end(text, begin, piece_size);
    }
    keep(count);
  }

  static Offset piece_end(const Text& text, Offset begin, Offset piece_size) {
    if (text.size - begin <= piece_size) return text.size;
    const char* from = text.bytes + begin + piece_size - 1;
    const std::size_t rest = static_cast<std::size_t>(text.bytes + text.size - from);
    const void* feed = std::memchr(from, '\n', rest);
    if (feed == nullptr) return text.size;
    return static_cast<Offset>(static_cast<const char*>(feed) - text.bytes) + 1;
  }

  void check(const Text& text) {
    Offset place = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      Piece& piece = pieces_[i];
      if (piece.begin != place) {
        piece.clear_at(place);
        if (place < piece.limit) piece.read(text, dialect_, marks_[0]);
      }
      place = piece.next;
      if (piece.unfinished || piece.trouble.fault != Fault::none) return keep(i + 1);
    }
  }

  Piece spare() {
    if (spares_.empty()) return {};
    Piece piece = std::move(spares_.back());
    spares_.pop_back();
    return piece;
  }

  void keep(std::size_t count) {
    while (pieces_.size() > count) {
      spares_.push_back(std::move(pieces_.back()));
      pieces_.pop_back();
    }
  }

  Dialect dialect_;
  std::vector<Piece> pieces_, spares_;
  std::vector<Marks> marks_;  // one for each member of the team
};

}  // namespace geodomain::text
