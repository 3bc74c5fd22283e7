// The groups of a DXF drawing, text or binary. A drawing is a list of groups: a code, which says
// what kind of value follows, and the value. In text each has a line of its own. In binary files
// the code has two bytes, one in those of R12 and before, and the value is as wide as the code
// says.
#pragma once

#include <cstdint>
#include <cstring>

#include "text/number.h"
#include "text/short_number.h"

namespace geodomain::text {

enum class DxfFault : std::int32_t { none, code, number, integer, cut };

struct DxfValue {
  std::int64_t begin = 0, end = 0;  // of text
  double number = 0.0;              // of binary numbers
  std::int64_t integer = 0;
};

// Groups of a text drawing.
class DxfText {
 public:
  DxfText(const char* bytes, std::int64_t size) : bytes_(bytes), size_(size) {}

  // False at the end, or where a code is none: `fault` tells which.
  bool next(std::int32_t& code, DxfValue& value, DxfFault& fault) {
    std::int64_t begin, end;
    do {
      if (!line(begin, end)) return false;
      trim(begin, end);
    } while (begin == end && at_ >= size_);  // a blank line at the very end
    std::int64_t found;
    value.begin = begin;
    value.end = end;
    if (!read_integer(begin, end, found) || found < -5 || found > 1071) {
      fault = DxfFault::code;
      return false;
    }
    code = static_cast<std::int32_t>(found);
    if (!line(value.begin, value.end)) {
      fault = DxfFault::cut;
      return false;
    }
    trim(value.begin, value.end);
    return true;
  }

  Reading number(DxfValue& value) {
    const char *begin = bytes_ + value.begin, *end = bytes_ + value.end;
    if (value.end >= kReach && short_.read(begin, end, '.', value.number)) return Reading::number;
    const Number number = read_number(begin, end, '.');
    value.number = number.value;
    return number.reading;
  }

  bool integer(DxfValue& value) const {
    return read_integer(value.begin, value.end, value.integer);
  }

 private:
  bool line(std::int64_t& begin, std::int64_t& end) {
    if (at_ >= size_) return false;
    begin = at_;
    const void* found = std::memchr(bytes_ + at_, '\n', static_cast<std::size_t>(size_ - at_));
    end = found == nullptr ? size_ : static_cast<const char*>(found) - bytes_;
    at_ = end + 1;
    return true;
  }

  void trim(std::int64_t& begin, std::int64_t& end) const {
    while (end > begin && (is_blank(bytes_[end - 1]) || bytes_[end - 1] == '\r')) --end;
    while (begin < end && is_blank(bytes_[begin])) ++begin;
  }

  bool read_integer(std::int64_t begin, std::int64_t end, std::int64_t& value) const {
    const bool negative = begin < end && bytes_[begin] == '-';
    begin += negative || (begin < end && bytes_[begin] == '+');
    if (begin == end || end - begin > 10) return false;
    value = 0;
    for (; begin < end; ++begin) {
      if (!is_digit(bytes_[begin])) return false;
      value = value * 10 + (bytes_[begin] - '0');
    }
    if (value > 0x7FFFFFFF) return false;
    if (negative) value = -value;
    return true;
  }

  const char* bytes_;
  std::int64_t size_, at_ = 0;
  ShortReader short_;
};

constexpr char kDxfSentinel[] = "AutoCAD Binary DXF\r\n\x1A";  // and the NUL that ends it
constexpr std::int64_t kDxfSentinelSize = sizeof kDxfSentinel;

// Groups of a binary drawing.
class DxfBinary {
 public:
  // The first group is 0 SECTION: after a code of two bytes the second byte is 0.
  DxfBinary(const char* bytes, std::int64_t size)
      : bytes_(bytes),
        size_(size),
        wide_(size > kDxfSentinelSize + 1 && bytes[kDxfSentinelSize + 1] == 0) {}

  bool next(std::int32_t& code, DxfValue& value, DxfFault& fault) {
    if (at_ >= size_) return false;
    fault = DxfFault::cut;
    value.begin = value.end = at_;
    if (!read_code(code)) return false;
    const int width = width_of(code);
    value.begin = at_;
    if (width == kString) {
      const void* found = std::memchr(bytes_ + at_, 0, static_cast<std::size_t>(size_ - at_));
      if (found == nullptr) return false;
      value.end = static_cast<const char*>(found) - bytes_;
      at_ = value.end + 1;
    } else {
      std::int64_t length = width;
      if (width == kChunk) {
        if (at_ >= size_) return false;
        length = 1 + static_cast<unsigned char>(bytes_[at_]);
      }
      if (length > size_ - at_) return false;
      value.end = at_ + length;
      at_ = value.end;
    }
    fault = DxfFault::none;
    return true;
  }

  Reading number(DxfValue& value) const {
    std::memcpy(&value.number, bytes_ + value.begin, 8);
    return Reading::number;
  }

  bool integer(DxfValue& value) const {
    value.integer = little(value.begin, static_cast<int>(value.end - value.begin));
    return true;
  }

 private:
  static constexpr int kString = 0, kChunk = -1;

  std::int64_t little(std::int64_t at, int width) const {
    std::uint64_t value = 0;
    for (int i = 0; i < width; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[at + i])) << (8 * i);
    }
    const int unused = 64 - 8 * width;
    return static_cast<std::int64_t>(value << unused) >> unused;
  }

  bool read_code(std::int32_t& code) {
    int width = wide_ ? 2 : 1;
    if (width > size_ - at_) return false;
    if (!wide_ && static_cast<unsigned char>(bytes_[at_]) == 255) {
      ++at_;
      width = 2;
      if (width > size_ - at_) return false;
    }
    code = static_cast<std::int32_t>(little(at_, width));
    if (width == 1) code &= 0xFF;
    at_ += width;
    return true;
  }

  static int width_of(std::int32_t code) {
    const auto in = [code](int low, int high) { return code >= low && code <= high; };
    if (in(10, 59) || in(110, 149) || in(210, 239) || in(460, 469) || in(1010, 1059)) return 8;
    if (in(60, 79) || in(170, 179) || in(270, 289) || in(370, 389) || in(400, 409)) return 2;
    if (in(1060, 1070)) return 2;
    if (in(90, 99) || in(420, 429) || in(440, 459) || code == 1071) return 4;
    if (in(160, 169)) return 8;
    if (in(290, 299)) return 1;
    if (in(310, 319) || code == 1004) return kChunk;
    return kString;
  }

  const char* bytes_;
  std::int64_t size_, at_ = kDxfSentinelSize;
  bool wide_;
};

}  // namespace geodomain::text
