// Whether rows of three doubles are all different, without a table of them: of each row a bit is
// set, and only rows that find theirs set already, or share it with such a one, are compared.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "platform/thread_team.h"
#include "topology/closed.h"

namespace geodomain {

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

// Equal rows have the same bits: there is no -0.0.
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
  std::mutex mutex;
  team.run(count, kPiece, [&](std::int64_t begin, std::int64_t end, int) {
    std::vector<std::array<double, 3>> part;
    for (std::int64_t i = begin; i < end; ++i) {
      if (doubtful.has(bit_of(i))) part.push_back({rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]});
    }
    const std::lock_guard<std::mutex> lock(mutex);
    compared.insert(compared.end(), part.begin(), part.end());
  });
  std::sort(compared.begin(), compared.end());
  return std::adjacent_find(compared.begin(), compared.end()) == compared.end();
}

}  // namespace geodomain
