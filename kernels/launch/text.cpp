// Text tables for Python: a handle for each table, no logic.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "platform/c_function.h"
#include "text/cells.h"
#include "text/chunk.h"
#include "text/number.h"

namespace {

using namespace geodomain::text;
using geodomain::guarded;
using geodomain::Status;

struct Table {
  explicit Table(Dialect dialect) : chunk(std::move(dialect)) {}
  Chunk chunk;
  std::unique_ptr<Splicer> splicer;
};

// Must agree with FOUND in geodomain/tables/scanner.py.
void report(const Text& text, const Chunk& chunk, std::int64_t* out) {
  const Trouble& trouble = chunk.trouble();
  const std::int64_t lines = chunk.total([](const Piece& piece) { return piece.lines; });
  const auto line_of = [&](Offset place) {
    return lines + count_line_ends(text.bytes, trouble.row, place, text.size);
  };
  out[0] = chunk.total([](const Piece& piece) { return piece.rows(); });
  out[1] = chunk.consumed();
  out[2] = lines;
  out[3] = chunk.total([](const Piece& piece) { return piece.missing; });
  out[4] = chunk.total([](const Piece& p) { return static_cast<std::int64_t>(p.unsure.size()); });
  out[5] = static_cast<std::int64_t>(trouble.fault);
  out[6] = trouble.place.begin;
  out[7] = trouble.place.end;
  out[8] = line_of(trouble.place.begin);
  out[9] = line_of(trouble.place.end);
  out[10] = trouble.detail;
}

}  // namespace

GD_API Status geodomain_text_open(char delimiter, char mark, std::int32_t fields,
                                  std::int32_t wanted_count, const std::int32_t* wanted,
                                  std::int32_t replaced, std::int32_t missing_count,
                                  const double* missing, std::int32_t word_count,
                                  const char* const* words, std::int32_t also_count,
                                  const std::int32_t* also, void** table) {
  return guarded([&] {
    Dialect dialect{delimiter, mark, fields, wanted_count, {}, replaced, {}, {}, {}};
    std::copy(wanted, wanted + wanted_count, dialect.wanted.begin());
    dialect.missing.assign(missing, missing + missing_count);
    dialect.missing_words.assign(words, words + word_count);  // each ends in NUL
    dialect.also.assign(also, also + also_count);
    *table = new Table(std::move(dialect));
  });
}
GD_DESCRIBE(geodomain_text_open);

GD_API void geodomain_text_close(void* table) { delete static_cast<Table*>(table); }
GD_DESCRIBE(geodomain_text_close);

GD_API Status geodomain_text_scan(void* table, const char* bytes, std::int64_t size,
                                  std::int32_t final, std::int64_t piece_size, std::int32_t threads,
                                  std::int64_t* out) {
  return guarded([&] {
    const Text text{bytes, static_cast<Offset>(size), final != 0};
    Chunk& chunk = static_cast<Table*>(table)->chunk;
    chunk.scan(text, static_cast<Offset>(piece_size), threads);
    report(text, chunk, out);
  });
}
GD_DESCRIBE(geodomain_text_scan);

// The wanted numbers of all rows, by columns: the first three to `points`, (3, rows), and the next
// three, if any, to `sizes`.
GD_API Status geodomain_text_values(void* table, double* points, double* sizes,
                                    std::int32_t threads) {
  return guarded([&] {
    const std::vector<Piece>& pieces = static_cast<Table*>(table)->chunk.pieces();
    std::vector<std::int64_t> first_rows{0};
    for (const Piece& piece : pieces) first_rows.push_back(first_rows.back() + piece.rows());
    const std::int64_t rows = first_rows.back();
    const std::int64_t wanted = sizes == nullptr ? 3 : 6;
    geodomain::Team team(std::min<int>(threads, static_cast<int>(pieces.size())));
    const auto count = static_cast<std::int64_t>(pieces.size());
    team.run(count, 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Piece& piece = pieces[static_cast<std::size_t>(i)];
        for (std::int64_t k = 0; k < wanted; ++k) {
          double* column = (k < 3 ? points + k * rows : sizes + (k - 3) * rows) +
                           first_rows[static_cast<std::size_t>(i)];
          std::copy_n(piece.values[static_cast<std::size_t>(k)].data(), piece.rows(), column);
        }
      }
    });
  });
}
GD_DESCRIBE(geodomain_text_values, 2);

// For each number that the caller must decide: row, index of the wanted number, begin, end.
GD_API void geodomain_text_unsure(void* table, std::int64_t* out) {
  std::int64_t first_row = 0;
  for (const Piece& piece : static_cast<Table*>(table)->chunk.pieces()) {
    for (const Unsure& unsure : piece.unsure) {
      *out++ = first_row + unsure.row;
      *out++ = unsure.wanted;
      *out++ = unsure.place.begin;
      *out++ = unsure.place.end;
    }
    first_row += piece.rows();
  }
}
GD_DESCRIBE(geodomain_text_unsure);

// The field `which` of `also` in every row of the scanned text: its number, NaN if it is not a
// number, and its Kind.
GD_API Status geodomain_text_column(void* table, const char* text, std::int32_t which,
                                    double* numbers, std::uint8_t* kinds) {
  return guarded([&] {
    const Chunk& chunk = static_cast<Table*>(table)->chunk;
    each_cell(chunk, which, [&](Range place, std::int64_t row) {
      const Kind kind = read_cell(word_at(text, place), chunk.dialect(), numbers[row]);
      kinds[row] = static_cast<std::uint8_t>(kind);
    });
  });
}
GD_DESCRIBE(geodomain_text_column);

// 1 if that field is one of the words, each of which ends in NUL.
GD_API Status geodomain_text_among(void* table, const char* text, std::int32_t which,
                                   std::int32_t word_count, const char* const* words,
                                   std::uint8_t* out) {
  return guarded([&] {
    const std::vector<std::string> wanted(words, words + word_count);
    each_cell(static_cast<Table*>(table)->chunk, which, [&](Range place, std::int64_t row) {
      out[row] = is_any(word_at(text, place), wanted);
    });
  });
}
GD_DESCRIBE(geodomain_text_among);

// The distinct spellings of that field: a code for each row, the first place of each, and their
// number.
GD_API Status geodomain_text_spellings(void* table, const char* text, std::int32_t which,
                                       std::int32_t* codes, std::int64_t* places,
                                       std::int32_t* count) {
  return guarded([&] {
    *count = number_spellings(static_cast<Table*>(table)->chunk, text, which, codes, places);
  });
}
GD_DESCRIBE(geodomain_text_spellings);

// The position of that field in one of the scanned rows: begin, end.
GD_API void geodomain_text_place(void* table, std::int32_t which, std::int64_t row,
                                 std::int64_t* out) {
  const Chunk& chunk = static_cast<Table*>(table)->chunk;
  for (const Piece& piece : chunk.pieces()) {
    if (row < piece.rows()) {
      const std::size_t step = chunk.dialect().also.size();
      const Range place = piece.places[static_cast<std::size_t>(row) * step + which];
      out[0] = place.begin;
      out[1] = place.end;
      return;
    }
    row -= piece.rows();
  }
}
GD_DESCRIBE(geodomain_text_place);

// The position of that field in every row: begin, end.
GD_API void geodomain_text_places(void* table, std::int32_t which, std::int64_t* out) {
  each_cell(static_cast<Table*>(table)->chunk, which, [&](Range place, std::int64_t) {
    *out++ = place.begin;
    *out++ = place.end;
  });
}
GD_DESCRIBE(geodomain_text_places);

// The end of every row, before its line end, in a table to which cells are appended.
GD_API void geodomain_text_ends(void* table, std::int64_t* out) {
  for (const Piece& piece : static_cast<Table*>(table)->chunk.pieces()) {
    for (const Range& cut : piece.cuts) *out++ = cut.end;
  }
}
GD_DESCRIBE(geodomain_text_ends);

// The size of the text with the new cells, in `size`, or -1 if a code has no cell. The columns must
// not move until the text is written.
GD_API Status geodomain_text_measure(void* table, std::int32_t count,
                                     const std::int32_t* const* codes, const char* const* cells,
                                     const std::int64_t* const* starts,
                                     const std::int32_t* cell_counts, std::int32_t threads,
                                     std::int64_t* size) {
  return guarded([&] {
    Table& owner = *static_cast<Table*>(table);
    std::vector<Column> columns;
    for (std::int32_t i = 0; i < count; ++i) {
      columns.push_back({codes[i], cells[i], starts[i], cell_counts[i]});
    }
    const int members =
        std::min<int>(threads, std::max<int>(1, static_cast<int>(owner.chunk.pieces().size())));
    owner.splicer = std::make_unique<Splicer>(owner.chunk, std::move(columns), members);
    *size = owner.splicer->measure();
  });
}
GD_DESCRIBE(geodomain_text_measure);

// Writes the text that was measured, and ends the team.
GD_API Status geodomain_text_write(void* table, const char* text, char* out) {
  return guarded([&] {
    Table& owner = *static_cast<Table*>(table);
    owner.splicer->write(text, out);
    owner.splicer.reset();
  });
}
GD_DESCRIBE(geodomain_text_write);

// One field, for tests and for the head of a table: 0 number, 1 missing, 2 a word, 3 out of range,
// 4 unsure.
GD_API int geodomain_text_number(const char* bytes, std::int64_t size, char mark, double* value) {
  const Number number = read_number(bytes, bytes + size, mark);
  *value = number.value;
  return static_cast<int>(number.reading);
}
GD_DESCRIBE(geodomain_text_number);
