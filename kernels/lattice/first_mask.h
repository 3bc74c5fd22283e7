// Gives each block the code of the first mask that has it: domains in their order. Host only.
#pragma once

#include <cstdint>
#include <cstring>

#include "lattice/expand.h"
#include "platform/bits.h"

namespace geodomain {

// Masks of blocks in words of 64 bits, as labels of a lattice have them.
struct MaskOrder {
  const std::uint64_t* const* masks;  // (mask_count,), of (columns, words)
  const std::uint8_t* codes;          // (mask_count,)
  std::int32_t mask_count;
  std::uint8_t background;  // the code of blocks in no mask
  std::int64_t* counts;     // (mask_count,): the blocks that each mask decides, added

  // Writes the codes of the `layers` blocks of a column.
  void column(std::int64_t number, std::int64_t layers, std::uint8_t* out) const {
    const std::int64_t words = (layers + 63) / 64;
    for (std::int64_t w = 0; w < words; ++w) {
      const std::int64_t left = layers - 64 * w;
      const int count = left < 64 ? static_cast<int>(left) : 64;
      word(number * words + w, count, out + 64 * w);
    }
  }

 private:
  // Codes are sums of products of disjoint bytes of 0 or 1, so nothing is carried between bytes.
  void word(std::int64_t place, int count, std::uint8_t* out) const {
    const std::uint64_t all = count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
    std::uint64_t open = all, eight[8] = {};
    const auto add = [&](std::uint64_t bits, std::uint8_t code) {
      for (int k = 0; k < 8; ++k) eight[k] += bytes_of_bits(bits >> 8 * k) * code;
    };
    for (std::int32_t i = 0; i < mask_count && open; ++i) {
      const std::uint64_t own = masks[i][place] & open;
      if (!own) continue;
      counts[i] += count_bits(own);
      open ^= own;
      add(own, codes[i]);
    }
    if (open) add(open, background);
    if (count == 64) {
      store(eight, out);
    } else {
      std::uint8_t bytes[64];
      store(eight, bytes);
      std::memcpy(out, bytes, static_cast<std::size_t>(count));
    }
  }

  static void store(const std::uint64_t* eight, std::uint8_t* out) {
    for (int k = 0; k < 64; ++k) out[k] = static_cast<std::uint8_t>(eight[k / 8] >> 8 * (k % 8));
  }
};

}  // namespace geodomain
