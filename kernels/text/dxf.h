// The faces and polylines of a DXF drawing, text or binary, as rows of numbers: one row for each
// 3DFACE, POLYLINE, VERTEX and SEQEND of the sections ENTITIES and BLOCKS, in the order of the
// file. What a row means (a triangle or a quad, a point or a face of a polyface mesh) is decided by
// the caller. Every other entity is counted by its type.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/dxf_groups.h"

namespace geodomain::text {

enum class DxfKind : std::uint8_t { face, polyline, vertex, sequence_end };

struct DxfRow {
  DxfKind kind;
  bool in_block;
  std::int32_t layer = -1;
  std::array<std::int32_t, 6> integers{};  // groups 70 to 75
  std::uint32_t seen = 0;                  // a bit for each coordinate that is there
  std::array<double, 12> corners{};        // groups 10, 20, 30, 11, 21, 31, ...
};

struct DxfUnsure {
  std::int64_t row, slot, begin, end;  // a number that the caller must round
};

inline bool is_corner(std::int32_t code) {
  return (code >= 10 && code <= 13) || (code >= 20 && code <= 23) || (code >= 30 && code <= 33);
}

class DxfDrawing {
 public:
  DxfDrawing(const char* bytes, std::int64_t size) : bytes_(bytes) {
    if (size >= kDxfSentinelSize && std::memcmp(bytes, kDxfSentinel, kDxfSentinelSize) == 0) {
      scan(DxfBinary(bytes, size));
    } else {
      scan(DxfText(bytes, size));
    }
  }

  const std::vector<DxfRow>& rows() const { return rows_; }
  const std::vector<DxfUnsure>& unsure() const { return unsure_; }
  const std::vector<std::string>& layers() const { return layers_.names; }
  const std::vector<std::string>& types() const { return types_.names; }  // in ENTITIES
  const std::vector<std::int64_t>& type_counts() const { return type_counts_; }
  DxfFault fault() const { return fault_; }
  std::int64_t place() const { return place_; }

 private:
  struct Names {
    std::vector<std::string> names;
    std::unordered_map<std::string, std::int32_t> numbers;
    std::int32_t last = -1;

    std::int32_t number(const char* text, std::size_t length) {
      if (last >= 0) {
        const std::string& known = names[static_cast<std::size_t>(last)];
        if (known.size() == length && std::memcmp(known.data(), text, length) == 0) return last;
      }
      const auto made =
          numbers.emplace(std::string(text, length), static_cast<std::int32_t>(names.size()));
      if (made.second) names.push_back(made.first->first);
      return last = made.first->second;
    }
  };

  enum class Section { other, opened, entities, blocks };

  bool is(const DxfValue& value, const char* word) const {
    const auto length = static_cast<std::int64_t>(std::strlen(word));
    return value.end - value.begin == length &&
           std::memcmp(bytes_ + value.begin, word, static_cast<std::size_t>(length)) == 0;
  }

  template <class Groups>
  void scan(Groups groups) {
    std::int32_t code;
    DxfValue value;
    while (!ended_ && groups.next(code, value, fault_)) {
      if (code == 0) {
        begin(value);
      } else if (section_ == Section::opened && code == 2) {
        section_ = is(value, "ENTITIES") ? Section::entities
                   : is(value, "BLOCKS") ? Section::blocks
                                         : Section::other;
      } else if (open_) {
        take(groups, code, value);
      }
      place_ = value.begin;
      if (fault_ != DxfFault::none) return;
    }
    if (fault_ != DxfFault::none) place_ = value.begin;
    if (fault_ == DxfFault::none && !complete_) fault_ = DxfFault::cut;
    // What follows the entities may be damaged: it is not read.
    if (complete_ && fault_ != DxfFault::none) fault_ = DxfFault::none;
  }

  void begin(const DxfValue& value) {
    open_ = false;
    if (is(value, "SECTION")) {
      section_ = Section::opened;
    } else if (is(value, "ENDSEC")) {
      complete_ = complete_ || section_ == Section::entities;
      section_ = Section::other;
    } else if (is(value, "EOF")) {
      ended_ = complete_ = true;
    } else if (section_ == Section::entities || section_ == Section::blocks) {
      if (section_ == Section::entities) count(value);
      const int kind = is(value, "3DFACE")     ? 0
                       : is(value, "VERTEX")   ? 2
                       : is(value, "POLYLINE") ? 1
                       : is(value, "SEQEND")   ? 3
                                               : -1;
      if (kind < 0) return;
      DxfRow row;
      row.kind = static_cast<DxfKind>(kind);
      row.in_block = section_ == Section::blocks;
      rows_.push_back(row);
      open_ = true;
    }
  }

  void count(const DxfValue& value) {
    const std::int32_t type =
        types_.number(bytes_ + value.begin, static_cast<std::size_t>(value.end - value.begin));
    if (static_cast<std::size_t>(type) == type_counts_.size()) type_counts_.push_back(0);
    ++type_counts_[static_cast<std::size_t>(type)];
  }

  template <class Groups>
  void take(Groups& groups, std::int32_t code, DxfValue& value) {
    DxfRow& row = rows_.back();
    if (is_corner(code)) {
      const int slot = 3 * (code % 10) + code / 10 - 1;
      const Reading reading = groups.number(value);
      if (reading == Reading::unsure) {
        unsure_.push_back(
            {static_cast<std::int64_t>(rows_.size()) - 1, slot, value.begin, value.end});
      } else if (reading != Reading::number) {
        fault_ = DxfFault::number;
      }
      row.corners[static_cast<std::size_t>(slot)] = value.number;
      row.seen |= std::uint32_t{1} << slot;
    } else if (code == 8) {
      row.layer =
          layers_.number(bytes_ + value.begin, static_cast<std::size_t>(value.end - value.begin));
    } else if (code >= 70 && code <= 75) {
      if (!groups.integer(value)) fault_ = DxfFault::integer;
      row.integers[static_cast<std::size_t>(code - 70)] = static_cast<std::int32_t>(value.integer);
    }
  }

  const char* bytes_;
  std::vector<DxfRow> rows_;
  std::vector<DxfUnsure> unsure_;
  Names layers_, types_;
  std::vector<std::int64_t> type_counts_;
  Section section_ = Section::other;
  bool open_ = false, complete_ = false, ended_ = false;
  DxfFault fault_ = DxfFault::none;
  std::int64_t place_ = 0;
};

}  // namespace geodomain::text
