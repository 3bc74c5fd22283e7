// Bits to bytes.
#pragma once

#include "platform/portable.h"

namespace geodomain {

// Four bits to four bytes of 0 or 1, lowest bit first: copies of them 7 bits apart do not overlap.
GD_HD std::uint32_t spread_four(std::uint32_t bits) {
  return (bits & 0xf) * 0x00204081u & 0x01010101u;
}

// The lowest eight bits to eight bytes.
GD_HD std::uint64_t bytes_of_bits(std::uint64_t byte) {
  const std::uint32_t bits = static_cast<std::uint32_t>(byte);
  return std::uint64_t{spread_four(bits >> 4)} << 32 | spread_four(bits);
}

}  // namespace geodomain
