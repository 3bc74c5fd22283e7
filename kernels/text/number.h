// Reads numbers in text, correctly rounded.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "platform/bits.h"

namespace geodomain::text {

// The first 128 bits of every power of five within the range of doubles.

constexpr int kSmallestPower = -342, kLargestPower = 308;

// Entry q is 5^q scaled by a power of two so that its highest bit is bit 127,
// truncated; for -27 <= q < 0 one is added, so that a product with it is
// never below the true one (Lemire, "Number parsing at a gigabyte per second",
// 2021, section 5).
class PowersOfFive {
 public:
  static const PowersOfFive& get() {
    static const PowersOfFive powers;
    return powers;
  }

  const Wide& operator[](int power) const {
    return powers_[static_cast<std::size_t>(power - kSmallestPower)];
  }

 private:
  PowersOfFive() {
    fill_positive();
    fill_negative();
  }

  // 5^342 has 795 bits, and 128 more are needed below: 960 bits are enough.
  static constexpr int kWords = 15;
  using Integer = std::array<std::uint64_t, kWords>;  // lowest word first

  Wide& at(int power) { return powers_[static_cast<std::size_t>(power - kSmallestPower)]; }

  void fill_positive() {
    Integer number{};
    number[0] = 1;
    for (int power = 0; power <= kLargestPower; ++power) {
      at(power) = leading(number);
      std::uint64_t carry = 0;
      for (std::uint64_t& word : number) {
        const Wide product = multiply_wide(word, 5);
        word = product.low + carry;
        carry = product.high + (word < carry ? 1 : 0);
      }
    }
  }

  // floor(2^959 / 5^k), since floor(floor(n / a) / b) = floor(n / (a b)).
  void fill_negative() {
    Integer number{};
    number[kWords - 1] = std::uint64_t{1} << 63;
    for (int power = -1; power >= kSmallestPower; --power) {
      std::uint64_t rest = 0;
      for (int i = kWords; i-- > 0;) divide_by_five(number[static_cast<std::size_t>(i)], rest);
      Wide& entry = at(power) = leading(number);
      if (power >= -27 && ++entry.low == 0) ++entry.high;
    }
  }

  // word, rest = divmod(rest * 2^64 + word, 5), in halves that fit in a word.
  static void divide_by_five(std::uint64_t& word, std::uint64_t& rest) {
    const std::uint64_t high = (rest << 32) | (word >> 32);
    const std::uint64_t low = (high % 5) << 32 | (word & 0xFFFFFFFF);
    word = (high / 5) << 32 | (low / 5);
    rest = low % 5;
  }

  static Wide leading(const Integer& number) {
    int top = kWords - 1;
    while (number[static_cast<std::size_t>(top)] == 0) --top;
    const auto word = [&](int i) { return i < 0 ? 0 : number[static_cast<std::size_t>(i)]; };
    const int shift = leading_zeros(word(top));
    if (shift == 0) return {word(top), word(top - 1)};
    return {word(top) << shift | word(top - 1) >> (64 - shift),
            word(top - 1) << shift | word(top - 2) >> (64 - shift)};
  }

  std::array<Wide, kLargestPower - kSmallestPower + 1> powers_;
};

// The double nearest to digits * 10^power, correctly rounded.

enum class Rounding { exact, overflow, unsure };

struct Rounded {
  double value;
  Rounding state;
};

inline double assemble(std::uint64_t fraction, std::int64_t biased_exponent) {
  const std::uint64_t bits = fraction | static_cast<std::uint64_t>(biased_exponent) << 52;
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Clinger (1990): both factors are exact doubles, so one operation rounds once.
inline bool round_small(std::uint64_t digits, std::int64_t power, double& value) {
  static constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (digits >> 53 != 0 || power < -22 || power > 22) return false;
  const double factor = static_cast<double>(digits);
  value = power < 0 ? factor / kTens[-power] : factor * kTens[power];
  return true;
}

// The first 128 bits of digits * 5^power, correct up to the last but one bit of `high`
// that rounding uses: the second half of the power is multiplied in only
// if a carry from it could reach them.
inline Wide leading_product(std::uint64_t digits, int power) {
  const Wide& five = PowersOfFive::get()[power];
  Wide product = multiply_wide(digits, five.high);
  if ((product.high & 0x1FF) == 0x1FF) {
    const Wide second = multiply_wide(digits, five.low);
    product.low += second.high;
    if (product.low < second.high) ++product.high;
  }
  return product;
}

// Below 2^-1022 fewer bits are kept. There are no ties: they would need digits
// divisible by 5^-power, and -power > 27 there.
inline Rounded round_subnormal(std::uint64_t mantissa, std::int64_t exponent) {
  if (exponent <= -63) return {0.0, Rounding::exact};
  mantissa >>= 1 - exponent;
  mantissa = (mantissa + (mantissa & 1)) >> 1;
  return {assemble(mantissa, 0), Rounding::exact};  // a carry into bit 52 is the exponent 1
}

// Eisel and Lemire: Lemire, "Number parsing at a gigabyte per second", 2021.
inline Rounded round_decimal(std::uint64_t digits, std::int64_t power) {
  double small;
  if (round_small(digits, power, small)) return {small, Rounding::exact};
  if (digits == 0 || power < kSmallestPower) return {0.0, Rounding::exact};
  if (power > kLargestPower) return {0.0, Rounding::overflow};

  const int shift = leading_zeros(digits);
  const Wide product = leading_product(digits << shift, static_cast<int>(power));
  // All ones below: one more unit in the truncated power might carry through.
  if (product.low == ~std::uint64_t{0} && (power < -27 || power > 55)) {
    return {0.0, Rounding::unsure};
  }
  const int top = static_cast<int>(product.high >> 63);
  std::uint64_t mantissa = product.high >> (top + 9);  // 54 bits: one to round by
  // floor(power * log2(10)) + 63, by 217706 / 2^16, exact over the table.
  std::int64_t exponent = ((217706 * power) >> 16) + 63 + top - shift + 1023;
  if (exponent <= 0) return round_subnormal(mantissa, exponent);

  // Ties between two doubles occur only for powers in [-4, 23]: round to even.
  const bool half = product.low <= 1 && power >= -4 && power <= 23 && (mantissa & 3) == 1 &&
                    mantissa << (top + 9) == product.high;
  if (half) --mantissa;
  mantissa = (mantissa + (mantissa & 1)) >> 1;
  if (mantissa >> 53 != 0) {
    mantissa >>= 1;
    ++exponent;
  }
  if (exponent >= 2047) return {0.0, Rounding::overflow};
  return {assemble(mantissa & ~(std::uint64_t{1} << 52), exponent), Rounding::exact};
}

// Reads the text of a field as a number, nothing, or something else.
//
//   number  = [blanks] [sign] digits [mark [digits]] [exponent] [blanks]
//           | [blanks] [sign] mark digits [exponent] [blanks]
//   exponent = (e | E | d | D) [sign] digits      (d is Fortran's)
//
// Blanks are spaces and tabs, the mark is the table's decimal mark. An empty field and NaN, in any
// case, are missing; infinity is out of range. A field with a thousands separator is text. The
// locale has no influence.

enum class Reading { number, missing, word, range, unsure };

struct Number {
  double value;
  Reading reading;
};

inline bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }
inline bool is_digit(char byte) { return static_cast<unsigned char>(byte - '0') < 10; }

inline bool is_word(const char* begin, const char* end, const char* word) {
  for (; begin < end && *word != 0; ++begin, ++word) {
    if ((*begin | 0x20) != *word) return false;
  }
  return begin == end && *word == 0;
}

inline Number read_word(const char* begin, const char* end) {
  if (is_word(begin, end, "nan")) return {0.0, Reading::missing};
  if (is_word(begin, end, "inf") || is_word(begin, end, "infinity")) return {0.0, Reading::range};
  return {0.0, Reading::word};
}

constexpr std::uint64_t kEach = 0x0101010101010101;  // multiplied by a byte: that byte eight times
constexpr std::uint64_t kZeros = kEach * '0';

inline bool are_digits(std::uint64_t word) {
  const std::uint64_t halves = kEach * 0xF0;
  return (word & halves) == kZeros && ((word + kEach * 6) & halves) == kZeros;
}

// Combines pairs, fours, then all eight digits, side by side.
inline std::uint64_t eight_digits(std::uint64_t word) {
  word -= kZeros;
  word = word * 10 + (word >> 8);
  constexpr std::uint64_t pairs = 0x000000FF000000FF;
  return ((word & pairs) * (100 + (std::uint64_t{1000000} << 32)) +
          ((word >> 16) & pairs) * (1 + (std::uint64_t{10000} << 32))) >>
         32;
}

inline const char* read_digits(const char* at, const char* end, std::uint64_t& digits) {
  for (std::uint64_t word; end - at >= 8 && are_digits(word = load_word(at)); at += 8) {
    digits = digits * 100000000 + eight_digits(word);
  }
  for (; at < end && is_digit(*at); ++at) {
    digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  return at;
}

// Reads an exponent at `at`; leaves `at` unchanged if there is none.
inline const char* read_exponent(const char* at, const char* end, std::int64_t& exponent) {
  if (at == end || ((*at | 0x20) != 'e' && (*at | 0x20) != 'd')) return at;
  const char* digit = at + 1;
  const bool negative = digit < end && *digit == '-';
  if (digit < end && (*digit == '-' || *digit == '+')) ++digit;
  if (digit == end || !is_digit(*digit)) return at;
  constexpr std::int64_t kFar = 1000000000000;  // far beyond any exponent that matters
  std::int64_t size = 0;
  for (; digit < end && is_digit(*digit); ++digit) {
    if (size < kFar) size = size * 10 + (*digit - '0');
  }
  exponent += negative ? -size : size;
  return digit;
}

inline Number finish(Rounded rounded, bool negative) {
  if (rounded.state == Rounding::overflow) return {0.0, Reading::range};
  if (rounded.state == Rounding::unsure) return {0.0, Reading::unsure};
  return {negative ? -rounded.value : rounded.value, Reading::number};
}

// For more digits than a word holds: the number lies in [w, w + 1) * 10^power for
// its first 19 digits w; if both ends round to the same double, so does the number.
inline Number read_long(const char* begin, const char* end, std::int64_t power, bool negative) {
  std::uint64_t digits = 0;
  int digit_count = 0;
  bool more = false;
  for (const char* at = begin; at < end; ++at) {
    if (!is_digit(*at) || (digit_count == 0 && *at == '0')) continue;
    if (digit_count < 19) {
      digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
      ++digit_count;
    } else {
      more = more || *at != '0';
      ++power;
    }
  }
  const Rounded low = round_decimal(digits, power);
  if (!more) return finish(low, negative);
  const Rounded high = round_decimal(digits + 1, power);
  if (low.state != high.state || low.value != high.value) return {0.0, Reading::unsure};
  return finish(low, negative);
}

inline Number read_number(const char* begin, const char* end, char mark) {
  while (begin < end && is_blank(*begin)) ++begin;
  while (begin < end && is_blank(end[-1])) --end;
  if (begin == end) return {0.0, Reading::missing};
  const bool negative = *begin == '-';
  if (negative || *begin == '+') ++begin;

  std::uint64_t digits = 0;
  std::int64_t power = 0;
  const char* at = read_digits(begin, end, digits);
  std::int64_t count = at - begin;
  if (at < end && *at == mark) {
    const char* fraction = ++at;
    at = read_digits(at, end, digits);
    power = fraction - at;
    count -= power;
  }
  if (count == 0) return read_word(begin, end);
  const char* digits_end = at;
  at = read_exponent(at, end, power);
  if (at != end) return {0.0, Reading::word};
  if (count > 19) return read_long(begin, digits_end, power, negative);
  return finish(round_decimal(digits, power), negative);
}

// Reads plain decimals of up to sixteen bytes, as nearly all coordinates are, a machine word at a
// time. Anything else goes to the general reader above, with the same results.

// The last `count` bytes of a word, 1 to 8, after zeros.
inline std::uint64_t last_bytes(std::uint64_t word, int count) {
  const std::uint64_t mask = ~std::uint64_t{0} << (8 * (8 - count));
  return (word & mask) | (kZeros & ~mask);
}

// A bit for the first byte of `word` that equals `byte`; higher bits may be wrong.
inline std::uint64_t find_byte(std::uint64_t word, char byte) {
  const std::uint64_t other = word ^ (kEach * static_cast<unsigned char>(byte));
  return (other - kEach) & ~other & (kEach * 0x80);
}

// The word without byte number `place`: the bytes before it move up, and the
// first byte becomes the last of `before`.
inline std::uint64_t without(std::uint64_t word, int place, std::uint64_t before) {
  const std::uint64_t below = (std::uint64_t{1} << (8 * place)) - 1;
  const std::uint64_t above = ~below << 8;
  return (word & above) | (word & below) << 8 | before >> 56;
}

constexpr int kReach = 16;

// Reads [-] digit [digits] [mark [digits]] of up to 16 bytes, at least as many bytes
// after the start of the text, and caches the last number: from row to
// row most coordinates and sizes repeat.
class ShortReader {
 public:
  // False if the text has another form.
  bool read(const char* begin, const char* end, char mark, double& value) {
    const bool negative = begin < end && *begin == '-';
    begin += negative;
    if (!is_short(begin, end)) return false;
    const Words words = words_of(begin, end);
    if (words.high != words_.high || words.low != words_.low) {
      double size;
      if (!convert(words, mark, size)) return false;
      words_ = words;
      size_ = size;
    }
    value = negative ? -size_ : size_;
    return true;
  }

  // Reads such a number followed by an exponent of two digits, (e | E) (+ | -) digit digit.
  static bool read_scientific(const char* begin, const char* end, char mark, double& value) {
    const bool negative = begin < end && *begin == '-';
    begin += negative;
    const char* const stop = end - kExponent;
    if (end - begin <= kExponent || (*stop | 0x20) != 'e' || (stop[1] != '+' && stop[1] != '-') ||
        !is_digit(stop[2]) || !is_digit(stop[3]) || !is_short(begin, stop)) {
      return false;
    }
    const int power = 10 * (stop[2] - '0') + (stop[3] - '0');
    std::uint64_t digits;
    int decimals;
    double size;
    if (!take_apart(words_of(begin, stop), mark, digits, decimals)) return false;
    if (!round_small(digits, (stop[1] == '-' ? -power : power) - decimals, size)) return false;
    value = negative ? -size : size;
    return true;
  }

  static constexpr int kExponent = 4;  // bytes

 private:
  struct Words {
    std::uint64_t high, low;
  };

  static bool is_short(const char* begin, const char* end) {
    return end > begin && end - begin <= kReach && is_digit(*begin);
  }

  static Words words_of(const char* begin, const char* end) {
    const auto length = static_cast<int>(end - begin);
    const std::uint64_t high = load_word(end - 8);
    if (length <= 8) return {last_bytes(high, length), kZeros};
    return {high, last_bytes(load_word(end - 16), length - 8)};
  }

  static bool convert(Words words, char mark, double& size) {
    std::uint64_t digits;
    int decimals;
    return take_apart(words, mark, digits, decimals) && round_small(digits, -decimals, size);
  }

  // Separates the digits, and counts those after the mark.
  static bool take_apart(Words words, char mark, std::uint64_t& digits, int& decimals) {
    std::uint64_t high = words.high, low = words.low;
    decimals = 0;
    if (const std::uint64_t hit = find_byte(high, mark)) {
      const int place = trailing_zeros(hit) / 8;
      decimals = 7 - place;
      high = without(high, place, low);
      low = low << 8 | '0';
    } else if (const std::uint64_t far = find_byte(low, mark)) {
      const int place = trailing_zeros(far) / 8;
      decimals = 15 - place;
      low = without(low, place, kZeros);
    }
    if (!are_digits(high) || !are_digits(low)) return false;
    digits = eight_digits(high);
    if (low != kZeros) digits += eight_digits(low) * 100000000;
    return true;
  }

  Words words_{kZeros, kZeros};
  double size_ = 0.0;
};

}  // namespace geodomain::text
