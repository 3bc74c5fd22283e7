// Searches the caller's lattice axes, and recognises points that form a lattice.
#pragma once

#include <atomic>
#include <vector>

#include "lattice/lattice.h"
#include "platform/mesh_view.h"
#include "platform/thread_team.h"

namespace geodomain {

// A Ruler that owns its table; the values stay the caller's.

class RulerTable {
 public:
  // `value` is strictly increasing and finite; count >= 1.
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

  const std::vector<std::int32_t>& first() const { return first_; }  // empty if not needed

  Ruler view() const {
    Ruler ruler = ruler_;
    ruler.first = first_.empty() ? nullptr : first_.data();
    return ruler;
  }

 private:
  // Whether each value is alone in the cell of its own number, so that no table is needed.
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

// Whether points, in their order, form a lattice: the product of three axes, one of them running
// fastest. All values are compared exactly.

struct LatticeOrder {
  int axis[3];            // 0 x, 1 y, 2 z: fastest first
  std::int64_t count[3];  // of axis[0], axis[1], axis[2]
};

inline double coordinate(const PointsView& points, int axis, std::int64_t row) {
  const Vec3 p = points[row];
  return axis == 0 ? p.x : (axis == 1 ? p.y : p.z);
}

// How many steps of `stride` rows, from row 0, leave the axes in question unchanged.
inline std::int64_t run_length(const PointsView& points, std::int64_t rows, std::int64_t stride,
                               const int* fixed, int fixed_count) {
  std::int64_t steps = 1;
  for (; steps * stride < rows; ++steps) {
    for (int i = 0; i < fixed_count; ++i) {
      const double here = coordinate(points, fixed[i], steps * stride);
      if (!(here == coordinate(points, fixed[i], 0))) return steps;
    }
  }
  return steps;
}

// The only axis order that the first rows allow, if any.
inline bool guess_order(const PointsView& points, std::int64_t rows, LatticeOrder& order) {
  if (rows < 2) return false;
  std::int64_t stride = 1;
  bool used[3] = {false, false, false};
  for (int level = 0; level < 3; ++level) {
    int changing = -1;
    for (int axis = 0; axis < 3 && stride < rows; ++axis) {
      if (coordinate(points, axis, stride) == coordinate(points, axis, 0)) continue;
      if (used[axis] || changing >= 0) return false;
      changing = axis;
    }
    for (int axis = 0; axis < 3 && changing < 0; ++axis) {
      if (!used[axis]) changing = axis;  // an axis of one value, at the end
    }
    used[changing] = true;
    int fixed[3], fixed_count = 0;
    for (int axis = 0; axis < 3; ++axis) {
      if (!used[axis]) fixed[fixed_count++] = axis;
    }
    order.axis[level] = changing;
    order.count[level] =
        level == 2 ? rows / stride : run_length(points, rows, stride, fixed, fixed_count);
    stride *= order.count[level];
    if (rows % stride != 0) return false;
  }
  return stride == rows;
}

// Compares every row with the axes of the first rows.
inline bool verify_order(const PointsView& points, std::int64_t rows, const LatticeOrder& order,
                         Team& team) {
  std::atomic<bool> good{true};
  const std::int64_t n0 = order.count[0], n1 = order.count[1];
  const std::int64_t lines = rows / n0;
  const std::int64_t grain = 1 + 16384 / n0;
  const char* columns[3] = {points.x, points.y, points.z};
  const std::int64_t strides[3] = {points.stride_x, points.stride_y, points.stride_z};
  const int fast = order.axis[0], middle = order.axis[1], slow = order.axis[2];
  team.run(lines, grain, [&](std::int64_t begin, std::int64_t end, int) {
    if (!good.load(std::memory_order_relaxed)) return;
    bool same = true;
    for (std::int64_t line = begin; line < end && same; ++line) {
      const double m = coordinate(points, middle, line % n1 * n0);
      const double s = coordinate(points, slow, line / n1 * n1 * n0);
      for (std::int64_t i = 0; i < n0; ++i) {
        const std::int64_t row = line * n0 + i;
        same &= PointsView::at(columns[fast], strides[fast], row) ==
                PointsView::at(columns[fast], strides[fast], i);
        same &= PointsView::at(columns[middle], strides[middle], row) == m;
        same &= PointsView::at(columns[slow], strides[slow], row) == s;
      }
    }
    if (!same) good.store(false, std::memory_order_relaxed);
  });
  return good.load();
}

}  // namespace geodomain
