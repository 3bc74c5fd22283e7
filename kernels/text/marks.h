// Finds the delimiters and the special bytes of a piece of text, 64
// bytes at a time. text/row.h decides their meaning.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "platform/bits.h"
#include "text/byte_block.h"
#include "text/dialect.h"

namespace geodomain::text {

constexpr std::uint64_t kLastBit = std::uint64_t{1} << 63;

// The marks in 64 bytes, bit i for byte i. Special bytes are the quote and, except for the
// delimiter, all bytes up to 13: NUL, tab and both line ends, in one comparison.
struct BlockMarks {
  BlockMarks(const ByteBlock& block, char delimiter)
      : delimiters(block.equal(delimiter)),
        specials((block.at_most('\r') | block.equal('"')) & ~delimiters) {}
  std::uint64_t delimiters, specials;
};

class Marks {
 public:
  // Both lists end in `padding` entries beyond any text.
  void find(const char* text, Range range, char delimiter, std::size_t padding) {
    delimiters_.clear();
    specials_.clear();
    Offset at = range.begin;
    for (; range.end - at >= 64; at += 64) note(text + at, at, ~std::uint64_t{0}, delimiter);
    if (at < range.end) {
      char rest[64] = {};
      std::memcpy(rest, text + at, range.end - at);
      note(rest, at, (std::uint64_t{1} << (range.end - at)) - 1, delimiter);
    }
    delimiters_.extend(padding);
    specials_.extend(padding);
  }

  const Offset* delimiters() const { return delimiters_.data(); }
  const Offset* specials() const { return specials_.data(); }

 private:
  // A list that reserves room for a whole block before it writes.
  class List {
   public:
    void clear() { size_ = 0; }
    const Offset* data() const { return entries_.data(); }

    void add(std::uint64_t mask, Offset base) {
      if (mask == 0) return;
      if (entries_.size() < size_ + 64) entries_.resize(2 * size_ + 4096);
      Offset* out = entries_.data() + size_;
      // Eight at a time: the number of iterations is then nearly always
      // the same. Entries written for missing bits are overwritten.
      const int count = count_bits(mask);
      for (int done = 0; done < count; done += 8) {
        for (int i = 0; i < 8; ++i) {
          out[done + i] = base + static_cast<Offset>(trailing_zeros(mask | kLastBit));
          mask &= mask - 1;
        }
      }
      size_ += static_cast<std::size_t>(count);
    }

    void extend(std::size_t count) {
      if (entries_.size() < size_ + count) entries_.resize(size_ + count + 4096);
      for (std::size_t i = 0; i < count; ++i) entries_[size_ + i] = kNowhere;
    }

   private:
    std::vector<Offset> entries_;
    std::size_t size_ = 0;
  };

  void note(const char* bytes, Offset base, std::uint64_t valid, char delimiter) {
    const BlockMarks marks(ByteBlock(bytes), delimiter);
    delimiters_.add(marks.delimiters & valid, base);
    specials_.add(marks.specials & valid, base);
  }

  List delimiters_, specials_;
};

}  // namespace geodomain::text
