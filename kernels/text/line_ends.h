// Line ends: LF, CR LF, and a lone CR, as old Macs wrote and broken transfers
// leave ("\r\r\n" is a line end and a blank line).
#pragma once

#include <cstdint>

#include "text/dialect.h"

namespace geodomain::text {

inline bool is_line_end(char byte) { return byte == '\n' || byte == '\r'; }

// Where the line after the line end at `place` starts; kNowhere for a CR that may
// yet turn out to be half of a CR LF.
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
