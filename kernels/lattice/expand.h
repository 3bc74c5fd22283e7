// Expands labels of a lattice from bits to bytes.
#pragma once

#include "lattice/lattice.h"
#include "platform/portable.h"

namespace geodomain {

// Eight bits as eight bytes.

// Expands four bits to four bytes of 0 or 1, lowest bit first: copies 7 bits apart do not overlap.
GD_HD std::uint32_t spread_four(std::uint32_t bits) {
  return (bits & 0xf) * 0x00204081u & 0x01010101u;
}

// Expands the lowest eight bits to eight bytes.
GD_HD std::uint64_t bytes_of_bits(std::uint64_t byte) {
  const std::uint32_t bits = static_cast<std::uint32_t>(byte);
  return std::uint64_t{spread_four(bits >> 4)} << 32 | spread_four(bits);
}

// Expands bits of columns to one byte per block, in the caller's order.

// One axis of the result: for each of its positions, the rank of that coordinate
// in the ruler (null: the position itself), and bytes between positions.
struct OutputAxis {
  const std::int32_t* rank;
  std::int64_t count, stride;

  std::int64_t at(std::int64_t position) const { return rank ? rank[position] : position; }
};

// Expands a column whose blocks are adjacent bytes.
inline void expand_column(const std::uint64_t* column, std::int64_t count, std::uint8_t* out) {
  std::int64_t k = 0;
  for (; k + 8 <= count; k += 8) {
    const std::uint64_t bytes = bytes_of_bits(column[k / 64] >> k % 64);
    for (int b = 0; b < 8; ++b) out[k + b] = static_cast<std::uint8_t>(bytes >> 8 * b);
  }
  for (; k < count; ++k) out[k] = column[k / 64] >> k % 64 & 1;
}

// Up to 64 blocks of a column, from position k0 to k1 of the result, as a word.
inline std::uint64_t gather_word(const std::uint64_t* column, const OutputAxis& z, std::int64_t k0,
                                 std::int64_t k1) {
  if (!z.rank) return column[k0 / 64];
  std::uint64_t word = 0;
  for (std::int64_t k = k0; k < k1; ++k) {
    const std::int32_t rank = z.rank[k];
    word |= (column[rank / 64] >> rank % 64 & 1) << (k - k0);
  }
  return word;
}

// Expands one bit of each word of a row to bytes along x.
inline void expand_row(const std::uint64_t* row, const OutputAxis& x, int bit, std::uint8_t* out) {
  if (x.stride == 1) {
    for (std::int64_t i = 0; i < x.count; ++i)
      out[i] = static_cast<std::uint8_t>(row[i] >> bit & 1);
  } else {
    for (std::int64_t i = 0; i < x.count; ++i) {
      out[i * x.stride] = static_cast<std::uint8_t>(row[i] >> bit & 1);
    }
  }
}

}  // namespace geodomain
