// Finds equal rows of three doubles, and tests whether all rows are different.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "platform/loads.h"
#include "platform/thread_team.h"
#include "topology/closed.h"

namespace geodomain {

// Finds equal rows without sorting, in a hash table of the distinct rows. Rows come in batches, so
// that memory is prefetched.

class DistinctRows {
 public:
  using Row = std::array<double, 3>;

  // For `expected` distinct rows; the table grows if there are more.
  explicit DistinctRows(std::int64_t expected) {
    std::size_t size = kBatch;
    while (size < 2 * static_cast<std::size_t>(expected)) size *= 2;
    table_.assign(size, -1);
  }

  // The distinct rows in the order of first appearance, without -0.0.
  const std::vector<Row>& rows() const { return rows_; }

  // numbers[i] = which of the distinct rows row i is. Equal rows have the same bits, except that
  // -0.0 is 0.0.
  template <class Number>
  void add(const double* rows, std::int64_t count, Number* numbers) {
    for (std::int64_t at = 0; at < count; at += kBatch) {
      const std::int64_t more = std::min<std::int64_t>(kBatch, count - at);
      make_room(more);
      Row batch[kBatch];
      std::size_t slots[kBatch];
      for (std::int64_t i = 0; i < more; ++i) {
        batch[i] = without_sign_of_zero(rows + 3 * (at + i));
        slots[i] = hash(batch[i]);
        fetch(&table_[slots[i] & mask()]);
      }
      for (std::int64_t i = 0; i < more; ++i) {
        const std::int32_t entry = table_[slots[i] & mask()];
        if (entry >= 0) fetch(&row(entry));
      }
      for (std::int64_t i = 0; i < more; ++i) {
        numbers[at + i] = static_cast<Number>(place(batch[i], slots[i]));
      }
    }
  }

  // Adds a row that counts as different from all others; returns its number.
  std::int32_t add_alone(const double* row) {
    rows_.push_back(without_sign_of_zero(row));
    return static_cast<std::int32_t>(rows_.size() - 1);
  }

 private:
  static constexpr std::int64_t kBatch = 64;

  static Row without_sign_of_zero(const double* row) {
    return {row[0] + 0.0, row[1] + 0.0, row[2] + 0.0};
  }

  static std::size_t hash(const Row& row) {
    std::uint64_t bits[3];
    std::memcpy(bits, row.data(), sizeof bits);
    return static_cast<std::size_t>(mixed(bits[0] + mixed(bits[1] + mixed(bits[2]))));
  }

  std::size_t mask() const { return table_.size() - 1; }
  const Row& row(std::int32_t number) const { return rows_[static_cast<std::size_t>(number)]; }

  std::int32_t place(const Row& wanted, std::size_t slot) {
    for (;; ++slot) {
      std::int32_t& entry = table_[slot & mask()];
      if (entry < 0) {
        entry = add_alone(wanted.data());
        return entry;
      }
      if (std::memcmp(&row(entry), &wanted, sizeof(Row)) == 0) return entry;
    }
  }

  // Grows the table so that half of it stays empty.
  void make_room(std::int64_t more) {
    if (2 * (rows_.size() + static_cast<std::size_t>(more)) <= table_.size()) return;
    std::vector<std::int32_t> old(2 * table_.size(), -1);
    old.swap(table_);
    for (std::int32_t entry : old) {
      if (entry < 0) continue;
      std::size_t slot = hash(row(entry));
      while (table_[slot & mask()] >= 0) ++slot;
      table_[slot & mask()] = entry;
    }
  }

  std::vector<Row> rows_;
  std::vector<std::int32_t> table_;
};

// Tests whether all rows are different, without a table of them: each row sets a bit, and only rows
// whose bit is set already, or that share it with such a row, are compared.

// Bits that several threads set.
class SharedBits {
 public:
  explicit SharedBits(std::uint64_t count)
      : words_(new std::atomic<std::uint64_t>[static_cast<std::size_t>(count / 64 + 1)]()) {}

  bool has(std::uint64_t bit) const {
    return words_[bit / 64].load(std::memory_order_relaxed) >> bit % 64 & 1;
  }
  // Returns whether it was set before.
  bool set(std::uint64_t bit) {
    const std::uint64_t mask = std::uint64_t{1} << bit % 64;
    return has(bit) || (words_[bit / 64].fetch_or(mask, std::memory_order_relaxed) & mask) != 0;
  }

 private:
  std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
};

// Rows must not hold -0.0, so that equal rows have the same bits.
inline bool are_distinct(const double* rows, std::int64_t count, Team& team) {
  constexpr std::int64_t kPiece = 8192, kBitsToRow = 16;
  std::uint64_t size = 64;
  while (size < static_cast<std::uint64_t>(kBitsToRow * count)) size *= 2;
  const auto bit_of = [&](std::int64_t row) {
    std::uint64_t bits[3];
    std::memcpy(bits, rows + 3 * row, sizeof bits);
    return mixed(bits[0] + mixed(bits[1] + mixed(bits[2]))) & (size - 1);
  };
  SharedBits seen(size), doubtful(size);
  team.run(count, kPiece, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t bit = bit_of(i);
      if (seen.set(bit)) doubtful.set(bit);
    }
  });
  std::vector<std::array<double, 3>> compared;
  Mutex mutex;
  team.run(count, kPiece, [&](std::int64_t begin, std::int64_t end, int) {
    std::vector<std::array<double, 3>> part;
    for (std::int64_t i = begin; i < end; ++i) {
      if (doubtful.has(bit_of(i))) part.push_back({rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]});
    }
    const Lock lock(mutex);
    compared.insert(compared.end(), part.begin(), part.end());
  });
  std::sort(compared.begin(), compared.end());
  return std::adjacent_find(compared.begin(), compared.end()) == compared.end();
}

}  // namespace geodomain
