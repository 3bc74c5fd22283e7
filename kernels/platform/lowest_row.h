// The lowest row index that any thread reports.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace geodomain {

class LowestRow {
 public:
  void keep(std::int64_t row) {
    std::int64_t known = row_.load(std::memory_order_relaxed);
    while (row < known && !row_.compare_exchange_weak(known, row)) {
    }
  }
  std::int64_t found() const {  // -1 where none was reported
    const std::int64_t row = row_.load();
    return row == kNone ? -1 : row;
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> row_{kNone};
};

}  // namespace geodomain
