// Counts and finds bits of a 64-bit word; on the host also loads bytes as a word, and full
// products.
#pragma once

#include <cstdint>
#include <cstring>

#include "platform/portable.h"

namespace geodomain {

GD_HD int trailing_zeros(std::uint64_t word) {  // word != 0
#if defined(__CUDA_ARCH__)
  return __ffsll(static_cast<long long>(word)) - 1;
#elif defined(_MSC_VER) && !defined(__clang__)
  unsigned long index = 0;
  _BitScanForward64(&index, word);
  return static_cast<int>(index);
#else
  return __builtin_ctzll(word);
#endif
}

GD_HD int count_bits(std::uint64_t word) {
#if defined(__CUDA_ARCH__)
  return __popcll(word);
#elif defined(_MSC_VER) && !defined(__clang__)
  word -= (word >> 1) & 0x5555555555555555;
  word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333);
  return static_cast<int>((((word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F) * 0x0101010101010101) >> 56);
#else
  return __builtin_popcountll(word);
#endif
}

#if !defined(__CUDACC__)
inline int leading_zeros(std::uint64_t word) {  // word != 0
#if defined(_MSC_VER) && !defined(__clang__)
  unsigned long index = 0;
  _BitScanReverse64(&index, word);
  return 63 - static_cast<int>(index);
#else
  return __builtin_clzll(word);
#endif
}

// Eight bytes as a word, the first byte lowest.
inline std::uint64_t load_word(const char* text) {
  std::uint64_t word = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  for (int i = 8; i-- > 0;) word = word << 8 | static_cast<unsigned char>(text[i]);
#else
  std::memcpy(&word, text, sizeof word);
#endif
  return word;
}

struct Wide {
  std::uint64_t high, low;
};

// The full product of two words.
inline Wide multiply_wide(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ typedef unsigned __int128 Product;
  const Product product = static_cast<Product>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
#else
  const std::uint64_t a0 = a & 0xFFFFFFFF, a1 = a >> 32, b0 = b & 0xFFFFFFFF, b1 = b >> 32;
  const std::uint64_t low = a0 * b0, cross = a1 * b0 + (low >> 32);
  const std::uint64_t middle = a0 * b1 + (cross & 0xFFFFFFFF);
  return {a1 * b1 + (cross >> 32) + (middle >> 32), (middle << 32) | (low & 0xFFFFFFFF)};
#endif
}
#endif

}  // namespace geodomain
