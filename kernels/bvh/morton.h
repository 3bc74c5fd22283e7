// Morton codes: three places interleaved to one number, so that what is near in it is near in
// space. 21 bits an axis.
#pragma once

#include "platform/portable.h"

namespace geodomain {

// The cell of a place in [-1, 1]; outside of it, and for NaN, one at the rim.
GD_HD std::uint32_t morton_cell(float place) {
  const float cell = (place + 1.0f) * 0x1p20f;
  if (!(cell > 0.0f)) return 0;
  return cell < 0x1.fffffep20f ? static_cast<std::uint32_t>(cell) : 0x1fffff;
}

// Bit i goes to bit 3 i.
GD_HD std::uint64_t spread_bits(std::uint64_t cell) {
  cell = (cell | cell << 32) & 0x001f00000000ffff;
  cell = (cell | cell << 16) & 0x001f0000ff0000ff;
  cell = (cell | cell << 8) & 0x100f00f00f00f00f;
  cell = (cell | cell << 4) & 0x10c30c30c30c30c3;
  return (cell | cell << 2) & 0x1249249249249249;
}

constexpr std::uint32_t kMortonBits = 63;

GD_HD std::uint64_t morton_code(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return spread_bits(x) << 2 | spread_bits(y) << 1 | spread_bits(z);
}

}  // namespace geodomain
