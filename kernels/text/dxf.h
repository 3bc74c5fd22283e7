// Reads the faces and polylines of a DXF drawing, text or binary.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/number.h"

namespace geodomain::text {

// A drawing is a list of groups: a code, which determines the type of the value, and the value. In
// text each is on its own line. In binary files the code has two bytes, or one in R12 and
// before, and the width of the value follows from the code.

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

  // False at the end or for an invalid code; `fault` tells which.
  bool next(std::int32_t& code, DxfValue& value, DxfFault& fault) {
    std::int64_t begin, end;
    do {
      if (!line(begin, end)) return false;
      trim(begin, end);
    } while (begin == end && at_ >= size_);  // a blank line at the very end
    std::int64_t number;
    value.begin = begin;
    value.end = end;
    if (!read_integer(begin, end, number) || number < -5 || number > 1071) {
      fault = DxfFault::code;
      return false;
    }
    code = static_cast<std::int32_t>(number);
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
    const void* line_end = std::memchr(bytes_ + at_, '\n', static_cast<std::size_t>(size_ - at_));
    end = line_end == nullptr ? size_ : static_cast<const char*>(line_end) - bytes_;
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

constexpr char kDxfSentinel[] = "AutoCAD Binary DXF\r\n\x1A";  // including the final NUL
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
      const void* zero = std::memchr(bytes_ + at_, 0, static_cast<std::size_t>(size_ - at_));
      if (zero == nullptr) return false;
      value.end = static_cast<const char*>(zero) - bytes_;
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

// Reads a drawing as rows of numbers in the order of the file: a row for each 3DFACE, POLYLINE,
// VERTEX, SEQEND, INSERT and MESH in the sections ENTITIES and BLOCKS, for each entity there that
// may be a surface and is not read (a body), for the start and the end of each block, and for each
// layer of TABLES. Lines, texts and the like without a thickness have no rows. The caller
// interprets the rows (a triangle or a quad, the placement of a block). The entities of ENTITIES
// are counted by type.

enum class DxfKind : std::uint8_t {
  face,
  polyline,
  vertex,
  sequence_end,
  block,
  block_end,
  insert,
  mesh,
  body,
  layer
};

struct DxfRow {
  DxfKind kind;
  bool in_block;
  bool paper = false;       // group 67: in paper space
  bool invisible = false;   // group 60
  std::int32_t layer = -1;  // index in names()
  std::int32_t name = -1;   // of a block, of the block of an INSERT, or the type of a body
  // Groups 70 to 75; for a layer 70 and 62 (its colour); for a MESH its level of subdivision, its
  // coordinates, its face list's integers, and 1 if coordinates are out of order.
  std::array<std::int32_t, 6> integers{};
  std::uint32_t seen = 0;  // a bit for each number that is present
  // Groups 10, 20, 30, 11, 21, 31, ...; for an INSERT 10, 20, 30, 41, 42, 43, 50, 44, 45, 210, 220,
  // 230.
  std::array<double, 12> corners{};
};

constexpr std::uint32_t kThick = std::uint32_t{1} << 31;  // in `seen` of a POLYLINE: group 39

struct DxfUnsure {
  // A number that the caller must round: its row and slot, or row -1 and its index among
  // the coordinates of the MESHes.
  std::int64_t row, slot, begin, end;
};

// The slot of a coordinate of corner 0 to 3, -1 for any other group.
inline int corner_slot(std::int32_t code) {
  const bool corner =
      (code >= 10 && code <= 13) || (code >= 20 && code <= 23) || (code >= 30 && code <= 33);
  return corner ? 3 * (code % 10) + code / 10 - 1 : -1;
}

inline int insert_slot(std::int32_t code) {
  constexpr std::int32_t codes[12] = {10, 20, 30, 41, 42, 43, 50, 44, 45, 210, 220, 230};
  for (int slot = 0; slot < 12; ++slot) {
    if (codes[slot] == code) return slot;
  }
  return -1;
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
  const std::vector<std::string>& names() const { return names_.names; }  // of layers and blocks
  const std::vector<double>& mesh_places() const { return mesh_places_; }
  const std::vector<std::int32_t>& mesh_faces() const { return mesh_faces_; }
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
        const std::string& last_name = names[static_cast<std::size_t>(last)];
        if (last_name.size() == length && std::memcmp(last_name.data(), text, length) == 0)
          return last;
      }
      const auto made =
          numbers.emplace(std::string(text, length), static_cast<std::int32_t>(names.size()));
      if (made.second) names.push_back(made.first->first);
      return last = made.first->second;
    }
  };

  enum class Section { other, opened, tables, entities, blocks };
  enum class MeshPart { head, places, faces, rest };  // of a MESH, by its groups 92, 93 and 94

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
                   : is(value, "TABLES") ? Section::tables
                                         : Section::other;
      } else if (open_) {
        take(groups, code, value);
      } else if (flat_ && code == 67) {
        flat_paper_ = groups.integer(value) && value.integer != 0;
      } else if (flat_ && code == 39) {
        take_thickness(groups, value);
      }
      place_ = value.begin;
      if (fault_ != DxfFault::none) return;
    }
    if (fault_ != DxfFault::none) place_ = value.begin;
    if (fault_ == DxfFault::none && !complete_) fault_ = DxfFault::cut;
    // The text after the entities is not read, so it may be damaged.
    if (complete_ && fault_ != DxfFault::none) fault_ = DxfFault::none;
  }

  void begin(const DxfValue& value) {
    open_ = flat_ = flat_paper_ = false;
    if (is(value, "SECTION")) {
      section_ = Section::opened;
    } else if (is(value, "ENDSEC")) {
      complete_ = complete_ || section_ == Section::entities;
      section_ = Section::other;
    } else if (is(value, "EOF")) {
      ended_ = complete_ = true;
    } else if (section_ == Section::tables) {
      if (is(value, "LAYER")) open(DxfKind::layer);
    } else if (section_ == Section::entities || section_ == Section::blocks) {
      if (section_ == Section::entities) count(value);
      const int kind = kind_of(value);
      if (kind < 0) {
        flat_ = true;
        flat_type_ = value;
        return;
      }
      open(static_cast<DxfKind>(kind));
      if (kind == static_cast<int>(DxfKind::body)) rows_.back().name = name(value);
    }
  }

  void open(DxfKind kind) {
    DxfRow row;
    row.kind = kind;
    row.in_block = section_ == Section::blocks;
    rows_.push_back(row);
    open_ = true;
    mesh_part_ = MeshPart::head;
  }

  // A line or text with a thickness is a surface: it has a row as a body has.
  template <class Groups>
  void take_thickness(Groups& groups, DxfValue& value) {
    if (is_thick(groups, value)) {
      const std::string type(bytes_ + flat_type_.begin,
                             static_cast<std::size_t>(flat_type_.end - flat_type_.begin));
      const std::string words = type + " with a thickness";
      open(DxfKind::body);
      rows_.back().name = names_.number(words.data(), words.size());
      rows_.back().paper = flat_paper_;
    }
    flat_ = false;
  }

  template <class Groups>
  static bool is_thick(Groups& groups, DxfValue& value) {
    const Reading reading = groups.number(value);
    return reading == Reading::unsure || (reading == Reading::number && value.number != 0.0);
  }

  int kind_of(const DxfValue& value) const {
    constexpr const char* kinds[] = {"3DFACE", "POLYLINE", "VERTEX", "SEQEND",
                                     "BLOCK",  "ENDBLK",   "INSERT", "MESH"};
    int kind = 0;
    for (const char* word : kinds) {
      if (is(value, word)) return kind;
      ++kind;
    }
    return is_flat(value) ? -1 : kind;
  }

  // Whether an entity is a line, a text or the like: no surface, unless it has a thickness.
  bool is_flat(const DxfValue& value) const {
    // clang-format off
    constexpr const char* words[] = {
        "LINE", "LWPOLYLINE", "POINT", "TEXT", "MTEXT", "ATTDEF", "ATTRIB", "CIRCLE", "ARC",
        "ELLIPSE", "SPLINE", "HATCH", "MPOLYGON", "DIMENSION", "ARC_DIMENSION",
        "LARGE_RADIAL_DIMENSION", "LEADER", "MLEADER", "MULTILEADER", "TOLERANCE", "VIEWPORT",
        "MLINE", "XLINE", "RAY", "SHAPE", "HELIX", "DGNLINE", "RTEXT", "ARCALIGNEDTEXT",
        "ACAD_TABLE", "IMAGE", "WIPEOUT", "OLEFRAME", "OLE2FRAME", "PDFUNDERLAY", "DWFUNDERLAY",
        "DGNUNDERLAY", "SECTION", "LIGHT", "SUN", "CAMERA", "GEOPOSITIONMARKER"};
    // clang-format on
    for (const char* word : words) {
      if (is(value, word)) return true;
    }
    return false;
  }

  std::int32_t name(const DxfValue& value) {
    return names_.number(bytes_ + value.begin, static_cast<std::size_t>(value.end - value.begin));
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
    if (row.kind == DxfKind::mesh && take_of_mesh(groups, row, code, value)) return;
    const int slot = row.kind == DxfKind::insert ? insert_slot(code) : corner_slot(code);
    if (slot >= 0) {
      const auto number = static_cast<std::int64_t>(rows_.size()) - 1;
      row.corners[static_cast<std::size_t>(slot)] = read(groups, value, number, slot);
      row.seen |= std::uint32_t{1} << slot;
    } else if (code == 8) {
      row.layer = name(value);
    } else if (code == 2 && row.kind != DxfKind::body) {  // for a body this group is an id
      const std::int32_t number = name(value);
      (row.kind == DxfKind::layer ? row.layer : row.name) = number;
    } else if (code == 60) {
      row.invisible = integer(groups, value) != 0;
    } else if (code == 67) {
      row.paper = integer(groups, value) != 0;
    } else if (code >= 70 && code <= 75) {
      row.integers[static_cast<std::size_t>(code - 70)] = integer(groups, value);
    } else if (code == 39 && row.kind == DxfKind::polyline) {
      if (is_thick(groups, value)) row.seen |= kThick;
    } else if (code == 62 && row.kind == DxfKind::layer) {
      row.integers[1] = integer(groups, value);
    }
  }

  // Whether a group belongs to the lists of a MESH: lengths, coordinates, and corners of faces.
  template <class Groups>
  bool take_of_mesh(Groups& groups, DxfRow& row, std::int32_t code, DxfValue& value) {
    if (code == 91 && mesh_part_ == MeshPart::head) {
      row.integers[0] = integer(groups, value);
    } else if (code == 92 && mesh_part_ == MeshPart::head) {
      mesh_part_ = MeshPart::places;
    } else if (code == 93 && mesh_part_ <= MeshPart::places) {
      mesh_part_ = MeshPart::faces;
    } else if (code == 94 || code == 95) {
      mesh_part_ = MeshPart::rest;
    } else if (mesh_part_ == MeshPart::places && (code == 10 || code == 20 || code == 30)) {
      if (row.integers[1] % 3 != code / 10 - 1) row.integers[3] = 1;
      const auto place = static_cast<std::int64_t>(mesh_places_.size());
      mesh_places_.push_back(read(groups, value, -1, place));
      ++row.integers[1];
    } else if (mesh_part_ == MeshPart::faces && code == 90) {
      mesh_faces_.push_back(integer(groups, value));
      ++row.integers[2];
    } else {
      return (code >= 10 && code < 60) || (code >= 70 && code < 80);  // groups that no row uses
    }
    return true;
  }

  template <class Groups>
  double read(Groups& groups, DxfValue& value, std::int64_t row, std::int64_t slot) {
    const Reading reading = groups.number(value);
    if (reading == Reading::unsure) {
      unsure_.push_back({row, slot, value.begin, value.end});
    } else if (reading != Reading::number) {
      fault_ = DxfFault::number;
    }
    return value.number;
  }

  template <class Groups>
  std::int32_t integer(Groups& groups, DxfValue& value) {
    if (!groups.integer(value)) fault_ = DxfFault::integer;
    return static_cast<std::int32_t>(value.integer);
  }

  const char* bytes_;
  std::vector<DxfRow> rows_;
  std::vector<DxfUnsure> unsure_;
  std::vector<double> mesh_places_;
  std::vector<std::int32_t> mesh_faces_;
  Names names_, types_;
  std::vector<std::int64_t> type_counts_;
  Section section_ = Section::other;
  MeshPart mesh_part_ = MeshPart::head;
  bool open_ = false, complete_ = false, ended_ = false;
  bool flat_ = false, flat_paper_ = false;  // of the entity that has no row
  DxfValue flat_type_;
  DxfFault fault_ = DxfFault::none;
  std::int64_t place_ = 0;
};

}  // namespace geodomain::text
