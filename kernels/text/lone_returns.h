// Lines that end in a CR alone, as old Macs wrote them.
#pragma once

#include <cstdint>
#include <cstring>

#include "text/byte_block.h"

namespace geodomain::text {

// Whether one is in [begin, end) of a text of `size` bytes.
inline bool has_lone_return(const char* text, std::int64_t begin, std::int64_t end,
                            std::int64_t size) {
  std::int64_t at = begin;
  for (; at + 64 < end; at += 64) {
    const ByteBlock block(text + at);
    const std::uint64_t returns = block.equal('\r');
    if (returns == 0) continue;
    const std::uint64_t feeds_after = block.equal('\n') >> 1 | std::uint64_t{text[at + 64] == '\n'}
                                                                   << 63;
    if ((returns & ~feeds_after) != 0) return true;
  }
  for (; at < end; ++at) {
    if (text[at] == '\r' && (at + 1 == size || text[at + 1] != '\n')) return true;
  }
  return false;
}

}  // namespace geodomain::text
