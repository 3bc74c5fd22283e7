// A Ruler that owns its table; the values stay the caller's.
#pragma once

#include <vector>

#include "lattice/lattice.h"

namespace geodomain {

class RulerTable {
 public:
  // `value` ascends strictly and is finite; count >= 1.
  RulerTable(const double* value, std::int64_t count) {
    const double low = value[0], high = value[count - 1];
    const double magnitude = std::fabs(low) > std::fabs(high) ? std::fabs(low) : std::fabs(high);
    const auto cells = static_cast<double>(count);
    const double half = count > 1 ? 0.5 * ((high - low) / (cells - 1.0)) : 0.0;
    ruler_.value = value;
    ruler_.count = static_cast<std::int32_t>(count);
    ruler_.axis = make_axis(low - half, high + half, cells, magnitude);
    if (is_even()) return;
    ruler_.axis = make_axis(low, high, 2.0 * cells, magnitude);
    first_.assign(static_cast<std::size_t>(ruler_.axis.cells) + 1, ruler_.count);
    std::int32_t filled = 0;
    for (std::int32_t i = 0; i < ruler_.count; ++i) {
      for (const std::int32_t cell = ruler_.axis.index(value[i]); filled <= cell; ++filled) {
        first_[static_cast<std::size_t>(filled)] = i;
      }
    }
  }

  const std::vector<std::int32_t>& first() const { return first_; }  // empty where not needed

  Ruler view() const {
    Ruler ruler = ruler_;
    ruler.first = first_.empty() ? nullptr : first_.data();
    return ruler;
  }

 private:
  // Whether each value is alone in the cell of its own number: no table is needed then.
  bool is_even() const {
    if (ruler_.axis.cells != ruler_.count) return false;
    for (std::int32_t i = 0; i < ruler_.count; ++i) {
      if (ruler_.axis.index(ruler_.value[i]) != i) return false;
    }
    return true;
  }

  Ruler ruler_ = {};
  std::vector<std::int32_t> first_;
};

}  // namespace geodomain
