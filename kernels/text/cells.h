// Cells of a table: reads the cells of a column for conditions, and inserts new cells into rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "platform/thread_team.h"
#include "text/chunk.h"

namespace geodomain::text {

// A column that is not a coordinate: the kind and the text of its cells, for conditions.

// Python uses these values.
enum class Kind : std::uint8_t { missing = 0, number = 1, word = 2, unsure = 3 };

struct CellText {
  const char *begin, *end;  // without surrounding blanks
  bool quoted;              // a doubled quote is a literal quote
};

inline CellText word_at(const char* text, Range place) {
  const char *begin = text + place.begin, *end = text + place.end;
  while (begin < end && is_blank(*begin)) ++begin;
  while (begin < end && is_blank(end[-1])) --end;
  // The byte before an unquoted field is a delimiter or a line end.
  return {begin, end, place.begin > 0 && text[place.begin - 1] == '"'};
}

inline bool same(const CellText& word, const std::string& wanted) {
  std::size_t at = 0;
  for (const char* byte = word.begin; byte < word.end; ++byte, ++at) {
    if (at == wanted.size() || *byte != wanted[at]) return false;
    if (word.quoted && *byte == '"' && byte + 1 < word.end && byte[1] == '"') ++byte;
  }
  return at == wanted.size();
}

inline bool is_any(const CellText& word, const std::vector<std::string>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const std::string& mark) { return same(word, mark); });
}

inline Kind read_cell(const CellText& word, const Dialect& dialect, double& value) {
  value = kMissing;
  if (word.begin == word.end || is_any(word, dialect.missing_words)) return Kind::missing;
  const Number number = read_number(word.begin, word.end, dialect.mark);
  if (number.reading == Reading::missing) return Kind::missing;
  if (number.reading == Reading::unsure) return Kind::unsure;
  if (number.reading != Reading::number) return Kind::word;
  for (const double code : dialect.missing) {
    if (number.value == code) return Kind::missing;
  }
  value = number.value;
  return Kind::number;
}

// Calls body(place, row) for the field `which` of `also` in every row of a chunk.
template <class Body>
void each_cell(const Chunk& chunk, std::int32_t which, const Body& body) {
  const std::size_t step = chunk.dialect().also.size();
  std::int64_t row = 0;
  for (const Piece& piece : chunk.pieces()) {
    const Range* place = piece.places.data() + which;
    for (std::int64_t i = 0; i < piece.rows(); ++i, place += step) body(*place, row++);
  }
}

// Numbers the distinct spellings of the field `which` in the order of first appearance:
// codes[row], and the place of each first appearance, without surrounding blanks, as
// places[2 * code]. Returns their number.
inline std::int32_t number_spellings(const Chunk& chunk, const char* text, std::int32_t which,
                                     std::int32_t* codes, std::int64_t* places) {
  std::unordered_map<std::string_view, std::int32_t> code_of;
  std::string_view last;  // neighbours are often equal
  std::int32_t last_code = -1;
  each_cell(chunk, which, [&](Range place, std::int64_t row) {
    const CellText word = word_at(text, place);
    const std::string_view spelled(word.begin, static_cast<std::size_t>(word.end - word.begin));
    if (last_code >= 0 && spelled == last) {
      codes[row] = last_code;
      return;
    }
    const auto code = static_cast<std::int32_t>(code_of.size());
    const auto [entry, is_new] = code_of.try_emplace(spelled, code);
    codes[row] = last_code = entry->second;
    last = spelled;
    if (!is_new) return;
    places[2 * code] = word.begin - text;
    places[2 * code + 1] = word.end - text;
  });
  return static_cast<std::int32_t>(code_of.size());
}

// Copies rows unchanged, with new cells inserted at their cuts.

// The cells of one new column: a code for each row, and the text of each code. If a column
// is rewritten, the code after the last leaves a cell unchanged.
struct Column {
  const std::int32_t* codes;
  const char* cells;
  const std::int64_t* starts;  // cells from starts[code] to starts[code + 1]
  std::int32_t count;
};

class Splicer {
 public:
  Splicer(const Chunk& chunk, std::vector<Column> columns, int threads)
      : chunk_(chunk), columns_(std::move(columns)), team_(threads) {}

  // The number of bytes that `write` will need, or -1 if a code has no cell.
  std::int64_t measure() {
    const std::vector<Piece>& pieces = chunk_.pieces();
    sizes_.assign(pieces.size(), 0);
    std::int64_t row = 0;
    first_rows_.clear();
    for (const Piece& piece : pieces) {
      first_rows_.push_back(row);
      row += piece.rows();
    }
    each_piece([&](std::size_t i) { sizes_[i] = measure(pieces[i], first_rows_[i]); });
    std::int64_t total = 0;
    for (const std::int64_t size : sizes_) {
      if (size < 0) return -1;
      total += size;
    }
    return total;
  }

  void write(const char* text, char* out) {
    std::vector<char*> outs;
    for (const std::int64_t size : sizes_) {
      outs.push_back(out);
      out += size;
    }
    each_piece([&](std::size_t i) { write(text, chunk_.pieces()[i], first_rows_[i], outs[i]); });
  }

 private:
  template <class Body>
  void each_piece(const Body& body) {
    team_.run(static_cast<std::int64_t>(sizes_.size()), 1,
              [&](std::int64_t begin, std::int64_t end, int) {
                for (std::int64_t i = begin; i < end; ++i) body(static_cast<std::size_t>(i));
              });
  }

  std::int64_t measure(const Piece& piece, std::int64_t first_row) const {
    std::int64_t size = piece.next - piece.begin;
    for (const Column& column : columns_) {
      const std::int32_t* codes = column.codes + first_row;
      for (std::int64_t row = 0; row < piece.rows(); ++row) {
        const std::int32_t code = codes[row];
        if (stands(column, code)) {
          size += length(piece.cuts[static_cast<std::size_t>(row)]);
          continue;
        }
        if (code < 0 || code >= column.count) return -1;
        size += column.starts[code + 1] - column.starts[code];
      }
    }
    if (chunk_.dialect().replaced < 0) return size;
    for (const Range& cut : piece.cuts) size -= length(cut);
    return size;
  }

  void write(const char* text, const Piece& piece, std::int64_t row, char* out) const {
    Offset at = piece.begin;
    for (const Range& cut : piece.cuts) {
      out = copy(text + at, cut.begin - at, out);
      for (const Column& column : columns_) {
        if (stands(column, column.codes[row])) {
          out = copy(text + cut.begin, length(cut), out);
          continue;
        }
        const std::int64_t start = column.starts[column.codes[row]];
        out = copy(column.cells + start, column.starts[column.codes[row] + 1] - start, out);
      }
      at = cut.end;
      ++row;
    }
    copy(text + at, piece.next - at, out);
  }

  bool stands(const Column& column, std::int32_t code) const {
    return code == column.count && chunk_.dialect().replaced >= 0;
  }

  static std::int64_t length(const Range& cut) { return cut.end - cut.begin; }

  static char* copy(const char* from, std::int64_t size, char* to) {
    std::memcpy(to, from, static_cast<std::size_t>(size));
    return to + size;
  }

  const Chunk& chunk_;
  std::vector<Column> columns_;
  Team team_;
  std::vector<std::int64_t> sizes_, first_rows_;
};

}  // namespace geodomain::text
