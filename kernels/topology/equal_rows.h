// Rows of three doubles that are equal, found without sorting: an open table of the first row of
// each kind. Rows come a batch at a time, so that memory is asked for before it is needed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "platform/loads.h"
#include "topology/closed.h"

namespace geodomain {

class EqualRows {
 public:
  // `rows` has `count` rows by their bits: -0.0 is 0.0 already.
  EqualRows(const double* rows, std::int64_t count) : rows_(rows) {
    std::size_t size = kBatch;
    while (size < static_cast<std::size_t>(count) / 2) size *= 2;  // a soup has a sixth of its rows
    table_.assign(size, -1);
  }

  // first[i] = the first row equal to row i, of all that were asked, in order, from row 0 on.
  void find(std::int64_t begin, std::int64_t end, std::int32_t* first) {
    for (std::int64_t at = begin; at < end; at += kBatch) {
      const std::int64_t stop = std::min(at + kBatch, end);
      make_room(stop - at);
      std::size_t slots[kBatch];
      for (std::int64_t i = at; i < stop; ++i) {
        slots[i - at] = hash(i);
        fetch(&table_[slots[i - at] & mask()]);
      }
      for (std::int64_t i = at; i < stop; ++i) {
        const std::int32_t known = table_[slots[i - at] & mask()];
        if (known >= 0) fetch(row(known));
      }
      for (std::int64_t i = at; i < stop; ++i) first[i] = place(i, slots[i - at]);
    }
  }

 private:
  static constexpr std::int64_t kBatch = 64;

  std::size_t mask() const { return table_.size() - 1; }
  const double* row(std::int64_t i) const { return rows_ + 3 * i; }

  std::size_t hash(std::int64_t i) const {
    std::uint64_t bits[3];
    std::memcpy(bits, row(i), sizeof bits);
    return static_cast<std::size_t>(mixed(bits[0] + mixed(bits[1] + mixed(bits[2]))));
  }

  std::int32_t place(std::int64_t i, std::size_t slot) {
    for (;; ++slot) {
      std::int32_t& known = table_[slot & mask()];
      if (known < 0) {
        ++held_;
        known = static_cast<std::int32_t>(i);
      }
      if (std::memcmp(row(known), row(i), 3 * sizeof(double)) == 0) return known;
    }
  }

  // Keeps half of the table empty.
  void make_room(std::int64_t more) {
    if (2 * (held_ + static_cast<std::size_t>(more)) <= table_.size()) return;
    std::vector<std::int32_t> old(2 * table_.size(), -1);
    old.swap(table_);
    for (std::int32_t known : old) {
      if (known < 0) continue;
      std::size_t slot = hash(known);
      while (table_[slot & mask()] >= 0) ++slot;
      table_[slot & mask()] = known;
    }
  }

  const double* rows_;
  std::vector<std::int32_t> table_;
  std::size_t held_ = 0;
};

}  // namespace geodomain
