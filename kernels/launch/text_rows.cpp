// Decimal numbers for Python, and rows repeated with other numbers.
#include <vector>

#include "platform/c_function.h"
#include "platform/thread_team.h"
#include "text/repeat.h"

using namespace geodomain;
using namespace geodomain::text;

// The cells at `places`, (count, 2): whole units, parts of 10^-18, and the number of decimals; 255
// decimals for a cell that is not a plain number.
GD_API void geodomain_fixed_read(const char* text, const std::int64_t* places, std::int64_t count,
                                 char mark, std::int64_t* whole, std::int64_t* parts,
                                 std::uint8_t* decimals) {
  for (std::int64_t i = 0; i < count; ++i) {
    Fixed value{0, 0};
    int digits = 0;
    const bool plain =
        read_fixed(text + places[2 * i], text + places[2 * i + 1], mark, value, digits);
    whole[i] = value.whole;
    parts[i] = value.parts;
    decimals[i] = plain ? static_cast<std::uint8_t>(digits) : kNotPlain;
  }
}
GD_DESCRIBE(geodomain_fixed_read);

// The doubles nearest to numbers, NaN if only the caller can determine them.
GD_API Status geodomain_fixed_doubles(const std::int64_t* whole, const std::int64_t* parts,
                                      std::int64_t count, int threads, double* out) {
  return guarded([&] {
    geodomain::Team team(count > 16384 ? threads : 1);
    team.run(count, 8192, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) out[i] = nearest_double({whole[i], parts[i]});
    });
  });
}
GD_DESCRIBE(geodomain_fixed_doubles);

// Writes one number as text, for tests and heads; returns its length.
GD_API int geodomain_fixed_write(std::int64_t whole, std::int64_t parts, int least, char mark,
                                 char* out) {
  return static_cast<int>(write_fixed({whole, parts}, least, mark, out) - out);
}
GD_DESCRIBE(geodomain_fixed_write);

namespace {

Repeated repeated(const char* text, const std::int64_t* const* rows, std::int64_t count,
                  const std::int64_t* row, const std::uint8_t* unchanged,
                  const std::vector<NewNumber>& numbers, const std::vector<NewCell>& cells,
                  const char* dialect, std::int32_t line_end) {
  return {text,
          {rows[0], rows[1], rows[2]},
          count,
          row,
          unchanged,
          numbers.data(),
          static_cast<std::int32_t>(numbers.size()),
          cells.data(),
          static_cast<std::int32_t>(cells.size()),
          dialect[0],
          dialect[1],
          {dialect + 2, static_cast<std::size_t>(line_end)}};
}

}  // namespace

// New rows of a text. `rows`: begins, ends and next begins of the old rows. `numbers` has four
// arrays for each, `cells` three, as in repeat.h. `dialect`: the delimiter, the decimal mark, a
// line end. Without `out`, `size` gets the number of bytes to allocate; with it, the number of
// bytes written.
GD_API Status geodomain_text_repeat(const char* text, const std::int64_t* const* rows,
                                    std::int64_t count, const std::int64_t* row,
                                    const std::uint8_t* unchanged, std::int32_t number_count,
                                    const void* const* numbers, std::int32_t cell_count,
                                    const void* const* cells, const char* dialect,
                                    std::int32_t line_end, char* out, std::int64_t* size) {
  return guarded([&] {
    std::vector<NewNumber> new_numbers;
    for (std::int32_t i = 0; i < number_count; ++i) {
      const void* const* arrays = numbers + 4 * i;
      new_numbers.push_back({static_cast<const std::int64_t*>(arrays[0]),
                             static_cast<const std::int64_t*>(arrays[1]),
                             static_cast<const std::int64_t*>(arrays[2]),
                             static_cast<const std::uint8_t*>(arrays[3])});
    }
    std::vector<NewCell> added;
    for (std::int32_t i = 0; i < cell_count; ++i) {
      const void* const* arrays = cells + 3 * i;
      added.push_back({static_cast<const std::int64_t*>(arrays[0]),
                       static_cast<const char*>(arrays[1]),
                       static_cast<const std::int64_t*>(arrays[2])});
    }
    const Repeated all =
        repeated(text, rows, count, row, unchanged, new_numbers, added, dialect, line_end);
    *size = out ? repeat(all, out) - out : room_for(all);
  });
}
GD_DESCRIBE(geodomain_text_repeat, 11);

// Codes of rows that are equal except for some cells.
GD_API Status geodomain_text_alike(const char* text, const std::int64_t* const* rows,
                                   std::int64_t count, std::int32_t cell_count,
                                   const std::int64_t* const* places, std::int64_t* codes) {
  return guarded(
      [&] { number_alike(text, {rows[0], rows[1], rows[2]}, count, places, cell_count, codes); });
}
GD_DESCRIBE(geodomain_text_alike);
