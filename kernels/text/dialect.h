// How a table is written, and which fields are read from each row.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace geodomain::text {

// Offsets count from the start of the scanned text, which is smaller than 4 GB.
using Offset = std::uint32_t;
constexpr Offset kNowhere = ~Offset{0};

struct Range {
  Offset begin, end;
};

struct Text {
  const char* bytes;
  Offset size;
  bool final;  // nothing follows it
};

constexpr int kMostWanted = 6;

struct Dialect {
  char delimiter, mark;       // mark: the decimal point or comma
  std::int32_t fields;        // number of fields in every row, at least two
  std::int32_t wanted_count;  // fields to read as numbers: the centroid, then the sizes
  std::array<std::int32_t, kMostWanted> wanted;
  std::int32_t replaced;                   // the field that is rewritten, or -1 to append
  std::vector<double> missing;             // numbers that mean "missing"
  std::vector<std::string> missing_words;  // texts that mean "missing", without surrounding blanks
  std::vector<std::int32_t> also;          // fields whose places are stored, for conditions
};

// Python uses these values, and words the messages.
enum class Fault : std::int64_t {
  none = 0,
  ragged = 1,
  word = 2,
  range = 3,
  unclosed = 4,
  nul = 5,
  junk = 6,
};

struct Trouble {
  Fault fault = Fault::none;
  Offset row = 0;           // where the row starts
  Range place{0, 0};        // the faulty text
  std::int64_t detail = 0;  // the faulty number; for ragged rows the number of fields
};

// Line ends: LF, CR LF, and a lone CR, as old Macs wrote and broken transfers
// leave ("\r\r\n" is a line end and a blank line).

inline bool is_line_end(char byte) { return byte == '\n' || byte == '\r'; }

// Where the line after the line end at `place` starts; kNowhere for a CR that may
// still be half of a CR LF.
inline Offset line_after(const Text& text, Offset place) {
  const Offset after = place + 1;
  if (text.bytes[place] == '\n') return after;
  if (after == text.size) return text.final ? after : kNowhere;
  return text.bytes[after] == '\n' ? after + 1 : after;
}

// The lines that end in [begin, end); a CR LF counts at its LF.
inline std::int64_t count_line_ends(const char* text, Offset begin, Offset end, Offset size) {
  std::int64_t count = 0;
  for (Offset at = begin; at < end; ++at) {
    const bool pair = text[at] == '\r' && at + 1 < size && text[at + 1] == '\n';
    count += is_line_end(text[at]) && !pair;
  }
  return count;
}

}  // namespace geodomain::text
