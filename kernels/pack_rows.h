// Columns of whole words to columns of whole bytes, one after the other without a gap.
#pragma once

#include "portable.h"

namespace geodomain {

// Four bytes of the packed rows, from byte 4 * word on: `row_bytes` of each `pitch` are kept.
// Bytes past `total` are 0.
GD_HD std::uint32_t packed_word(const std::uint8_t* rows, std::uint32_t pitch,
                                std::uint32_t row_bytes, std::uint32_t total, std::uint32_t word) {
  std::uint32_t row = 4 * word / row_bytes, at = 4 * word % row_bytes, packed = 0;
  for (std::uint32_t k = 0; k < 4 && 4 * word + k < total; ++k) {
    packed |= std::uint32_t{rows[static_cast<std::size_t>(row) * pitch + at]} << 8 * k;
    if (++at == row_bytes) {
      at = 0;
      ++row;
    }
  }
  return packed;
}

}  // namespace geodomain
