// Words of a wireframe's text, separated by blanks and line ends, and their numbers: those of
// Python's float() and int(), without underscores.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "platform/bits.h"
#include "text/byte_block.h"
#include "text/number.h"

namespace geodomain::text {

struct Word {
  const char* begin;
  const char* end;
};

// The blanks of Python's bytes.split(): tab, LF, VT, FF, CR, space.
inline bool is_between_words(char byte) {
  return byte == ' ' || static_cast<unsigned char>(byte - '\t') < 5;
}

// The end of the word at `at`, eight bytes at a time, the usual length of a number.
inline const char* end_of_word(const char* at, const char* end) {
  while (end - at >= 8) {
    const std::uint64_t bytes = load_word(at);
    // The lowest of these bits marks the first byte below '!'; higher bits may be wrong.
    const std::uint64_t low = (bytes - kEach * '!') & ~bytes & (kEach * 0x80);
    if (low == 0) {
      at += 8;
      continue;
    }
    at += trailing_zeros(low) / 8;
    if (is_between_words(*at)) return at;
    ++at;  // a control character is part of the word
  }
  while (at < end && !is_between_words(*at)) ++at;
  return at;
}

// Whether a word of the text that starts at `text` is a keyword, in upper or lower case.
template <std::size_t kSize>
inline bool is_keyword(Word word, const char (&keyword)[kSize], const char* text) {
  constexpr int kLength = static_cast<int>(kSize) - 1;
  static_assert(kLength <= 8, "a keyword is one word of the processor at most");
  if (word.end - word.begin != kLength) return false;
  if (word.end - text < 8) return is_word(word.begin, word.end, keyword);
  std::uint64_t wanted = 0;
  for (int i = 0; i < kLength; ++i) {
    wanted |= static_cast<std::uint64_t>(keyword[i]) << (8 * (8 - kLength + i));
  }
  const std::uint64_t tail = load_word(word.end - 8) | kEach * 0x20;
  return tail >> (8 * (8 - kLength)) == wanted >> (8 * (8 - kLength));
}

// A number that needs more than its first digits: the caller rounds it.
struct UnsureNumber {
  std::int64_t slot, begin, end;
};

// Reads numbers of one kind one after the other, such as the x of vertices.
class RealReader {
 public:
  explicit RealReader(const char* text) : text_(text) {}

  // Returns Reading::number (also for NaN and infinity), Reading::unsure or Reading::word.
  Reading read(Word word, double& value) {
    if (word.end - text_ >= kReach && short_.read(word.begin, word.end, '.', value)) {
      return Reading::number;
    }
    if (word.end - text_ >= kReach + ShortReader::kExponent &&
        ShortReader::read_scientific(word.begin, word.end, '.', value)) {
      return Reading::number;
    }
    return read_any(word, value);
  }

 private:
  static Reading read_any(Word word, double& value) {
    using Limits = std::numeric_limits<double>;
    const Number number = read_number(word.begin, word.end, '.');
    if (number.reading == Reading::word) return Reading::word;
    for (const char* at = word.begin; at < word.end; ++at) {
      if ((*at | 0x20) == 'd') return Reading::word;  // a Fortran exponent
    }
    value = number.value;
    if (number.reading == Reading::missing) value = Limits::quiet_NaN();
    if (number.reading == Reading::range) {
      value = *word.begin == '-' ? -Limits::infinity() : Limits::infinity();
    }
    return number.reading == Reading::unsure ? Reading::unsure : Reading::number;
  }

  const char* text_;
  ShortReader short_;
};

// Reads [sign] digits of at most 64 bits.
inline bool read_whole(Word word, std::int64_t& value) {
  const char* at = word.begin;
  const bool negative = at < word.end && *at == '-';
  at += negative || (at < word.end && *at == '+');
  if (at == word.end) return false;
  std::uint64_t size = 0;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (; at < word.end; ++at) {
    if (!is_digit(*at)) return false;
    const auto digit = static_cast<std::uint64_t>(*at - '0');
    if (size > (kMost - digit) / 10) return false;
    size = size * 10 + digit;
  }
  value = negative ? -static_cast<std::int64_t>(size) : static_cast<std::int64_t>(size);
  return true;
}

// Lines that end in a lone CR, as old Macs wrote them.

// Whether there is a lone CR in [begin, end) of a text of `size` bytes.
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
