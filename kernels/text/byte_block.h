// 64 bytes of text at once, in the widest registers available. Only files that need wide registers
// include their header: it takes a compiler a second, as much as the rest of a small file.
#pragma once

#include <cstdint>

#include "platform/portable.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif GD_X86_64
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace geodomain {

// 64 bytes of text compared with one byte, or with 64 others, at once; bit i of a mask is byte i.
class ByteBlock {
 public:
#if GD_X86_64 && defined(__AVX512BW__)
  explicit ByteBlock(const char* text) : bytes_(_mm512_loadu_si512(text)) {}
  std::uint64_t equal(char byte) const {
    return _mm512_cmpeq_epi8_mask(bytes_, _mm512_set1_epi8(byte));
  }
  std::uint64_t at_most(char byte) const {  // bytes are unsigned
    return _mm512_cmple_epu8_mask(bytes_, _mm512_set1_epi8(byte));
  }
  std::uint64_t differs(const ByteBlock& other) const {
    return _mm512_cmpneq_epi8_mask(bytes_, other.bytes_);
  }

 private:
  __m512i bytes_;
#elif GD_X86_64 && defined(__AVX2__)
  explicit ByteBlock(const char* text) {
    for (int i = 0; i < 2; ++i) {
      bytes_[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text) + i);
    }
  }
  std::uint64_t equal(char byte) const {
    const __m256i wanted = _mm256_set1_epi8(byte);
    return join(_mm256_cmpeq_epi8(bytes_[0], wanted), _mm256_cmpeq_epi8(bytes_[1], wanted));
  }
  std::uint64_t at_most(char byte) const {  // bytes are unsigned
    const __m256i top = _mm256_set1_epi8(byte);
    return join(_mm256_cmpeq_epi8(_mm256_max_epu8(bytes_[0], top), top),
                _mm256_cmpeq_epi8(_mm256_max_epu8(bytes_[1], top), top));
  }
  std::uint64_t differs(const ByteBlock& other) const {
    return ~join(_mm256_cmpeq_epi8(bytes_[0], other.bytes_[0]),
                 _mm256_cmpeq_epi8(bytes_[1], other.bytes_[1]));
  }

 private:
  static std::uint64_t join(__m256i first, __m256i second) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(first)) |
           std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(second))} << 32;
  }
  __m256i bytes_[2];
#elif GD_X86_64
  explicit ByteBlock(const char* text) {
    for (int i = 0; i < 4; ++i) {
      bytes_[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text) + i);
    }
  }
  std::uint64_t equal(char byte) const {
    std::uint64_t mask = 0;
    for (int i = 0; i < 4; ++i) {
      mask |= bits(_mm_cmpeq_epi8(bytes_[i], _mm_set1_epi8(byte))) << (16 * i);
    }
    return mask;
  }
  std::uint64_t at_most(char byte) const {  // bytes are unsigned
    const __m128i top = _mm_set1_epi8(byte);
    std::uint64_t mask = 0;
    for (int i = 0; i < 4; ++i) {
      mask |= bits(_mm_cmpeq_epi8(_mm_max_epu8(bytes_[i], top), top)) << (16 * i);
    }
    return mask;
  }
  std::uint64_t differs(const ByteBlock& other) const {
    std::uint64_t mask = 0;
    for (int i = 0; i < 4; ++i) {
      mask |= bits(_mm_cmpeq_epi8(bytes_[i], other.bytes_[i])) << (16 * i);
    }
    return ~mask;
  }

 private:
  static std::uint64_t bits(__m128i flags) {
    return static_cast<std::uint32_t>(_mm_movemask_epi8(flags));
  }
  __m128i bytes_[4];
#elif defined(__aarch64__)
  explicit ByteBlock(const char* text) {
    for (int i = 0; i < 4; ++i) {
      bytes_[i] = vld1q_u8(reinterpret_cast<const std::uint8_t*>(text) + 16 * i);
    }
  }
  std::uint64_t equal(char byte) const {
    const uint8x16_t wanted = vdupq_n_u8(static_cast<std::uint8_t>(byte));
    return join(vceqq_u8(bytes_[0], wanted), vceqq_u8(bytes_[1], wanted),
                vceqq_u8(bytes_[2], wanted), vceqq_u8(bytes_[3], wanted));
  }
  std::uint64_t at_most(char byte) const {  // bytes are unsigned
    const uint8x16_t top = vdupq_n_u8(static_cast<std::uint8_t>(byte));
    return join(vcleq_u8(bytes_[0], top), vcleq_u8(bytes_[1], top), vcleq_u8(bytes_[2], top),
                vcleq_u8(bytes_[3], top));
  }
  std::uint64_t differs(const ByteBlock& other) const {
    return ~join(vceqq_u8(bytes_[0], other.bytes_[0]), vceqq_u8(bytes_[1], other.bytes_[1]),
                 vceqq_u8(bytes_[2], other.bytes_[2]), vceqq_u8(bytes_[3], other.bytes_[3]));
  }

 private:
  // Reduces each flag byte to one bit, then adds neighbours until 64 bits are left.
  static std::uint64_t join(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
    const uint8x16_t weights = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t ab = vpaddq_u8(vandq_u8(a, weights), vandq_u8(b, weights));
    const uint8x16_t cd = vpaddq_u8(vandq_u8(c, weights), vandq_u8(d, weights));
    const uint8x16_t all = vpaddq_u8(ab, cd);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
  }
  uint8x16_t bytes_[4];
#else
  explicit ByteBlock(const char* text) : text_(text) {}
  std::uint64_t equal(char byte) const {
    std::uint64_t mask = 0;
    for (int i = 0; i < 64; ++i) mask |= std::uint64_t{text_[i] == byte} << i;
    return mask;
  }
  std::uint64_t at_most(char byte) const {  // bytes are unsigned
    const auto top = static_cast<unsigned char>(byte);
    std::uint64_t mask = 0;
    for (int i = 0; i < 64; ++i) {
      mask |= std::uint64_t{static_cast<unsigned char>(text_[i]) <= top} << i;
    }
    return mask;
  }
  std::uint64_t differs(const ByteBlock& other) const {
    std::uint64_t mask = 0;
    for (int i = 0; i < 64; ++i) mask |= std::uint64_t{text_[i] != other.text_[i]} << i;
    return mask;
  }

 private:
  const char* text_;
#endif
};

}  // namespace geodomain
