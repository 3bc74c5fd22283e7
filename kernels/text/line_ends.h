// Line ends: LF, CR LF, and a lone CR, as old Macs wrote and broken transfers
// leave ("\r\r\n" is a line end and a blank line).
#pragma once

#include <cstdint>

#include "dialect.h"

namespace geodomain::text {

inline bool is_line_end(char byte) { return byte == '\n' || byte == '\r'; }

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
