// Rows copied as they stand, with new cells put in where they were cut.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "platform/thread_team.h"
#include "text/chunk.h"

namespace geodomain::text {

// The cells of one new column: a code for each row, and what each code says. Where a column
// is rewritten, the code after the last leaves a cell as it stands.
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

  // The bytes that `write` will need, or -1 if a code has no cell.
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
