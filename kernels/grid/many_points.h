// Answers many points at once on the host, and finds the boxes of many solids that may hold them.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "grid/frame.h"
#include "grid/grid.h"
#include "platform/loads.h"

namespace geodomain {

// Boxes that may hold a point: a coarse lattice of cells, each with a list of the boxes that touch
// it. Indices are monotone, so a box not in a cell's list holds no point of the cell. A point reads
// only its own cell, however many boxes there are.

class BoxCull {
 public:
  explicit BoxCull(const std::vector<Bounds>& boxes) : frame_(frame_of(boxes)) {
    const auto cells = static_cast<std::size_t>(frame_.x.cells) * frame_.y.cells * frame_.z.cells;
    starts_.assign(cells + 1, 0);
    for (const Bounds& box : boxes) {
      each_cell(box, [&](std::size_t cell) { ++starts_[cell + 1]; });
    }
    for (std::size_t cell = 0; cell < cells; ++cell) starts_[cell + 1] += starts_[cell];
    members_.resize(static_cast<std::size_t>(starts_[cells]));
    std::vector<std::int64_t> next(starts_.begin(), starts_.end() - 1);
    for (std::size_t code = 0; code < boxes.size(); ++code) {
      each_cell(boxes[code], [&](std::size_t cell) {
        members_[static_cast<std::size_t>(next[cell]++)] = static_cast<std::int32_t>(code);
      });
    }
  }

  // Calls body(code) for the boxes that may hold the point, in ascending order, until it is true.
  template <class Body>
  void find(Vec3 q, Body&& body) const {
    const std::size_t cell = cell_at(frame_.x.index(q.x), frame_.y.index(q.y), frame_.z.index(q.z));
    for (std::int64_t i = starts_[cell]; i < starts_[cell + 1]; ++i) {
      if (body(members_[static_cast<std::size_t>(i)])) return;
    }
  }

 private:
  static Frame frame_of(const std::vector<Bounds>& boxes) {
    const double per_axis = std::ceil(8.0 * std::sqrt(static_cast<double>(boxes.size())));
    const double cells = boxes.size() < 2 ? 1.0 : std::min(64.0, per_axis);
    const auto axis = [&](double Vec3::* along, double count) {
      double low = HUGE_VAL, high = -HUGE_VAL;
      for (const Bounds& box : boxes) {
        if (std::isfinite(box.low.*along)) low = std::min(low, box.low.*along);
        if (std::isfinite(box.high.*along)) high = std::max(high, box.high.*along);
      }
      return make_axis(low, high, count, std::max(std::fabs(low), std::fabs(high)));
    };
    return {axis(&Vec3::x, cells), axis(&Vec3::y, cells), axis(&Vec3::z, std::min(cells, 8.0))};
  }

  std::size_t cell_at(std::int32_t x, std::int32_t y, std::int32_t z) const {
    return (static_cast<std::size_t>(z) * frame_.y.cells + y) * frame_.x.cells + x;
  }

  // A mesh without a triangle has a box from +inf to -inf, and is in no cell.
  template <class Body>
  void each_cell(const Bounds& box, const Body& body) const {
    if (!(box.low.x <= box.high.x)) return;
    const Axis &x = frame_.x, &y = frame_.y, &z = frame_.z;
    for (std::int32_t k = z.index(box.low.z); k <= z.index(box.high.z); ++k) {
      for (std::int32_t j = y.index(box.low.y); j <= y.index(box.high.y); ++j) {
        for (std::int32_t i = x.index(box.low.x); i <= x.index(box.high.x); ++i) {
          body(cell_at(i, j, k));
        }
      }
    }
  }

  Frame frame_;
  std::vector<std::int64_t> starts_;
  std::vector<std::int32_t> members_;
};

// Looks up many points without a branch on any of them, and counts crossings together for points
// that two bits do not decide, so that none waits for the memory of another.

// The cells of a block of points in the coarsest grid.
class PointBlock {
 public:
  static constexpr int kSize = 64;

  // For `count` points, at most kSize, from `begin` on.
  PointBlock(const GridView& grid, const PointsView& points, std::int64_t begin, int count) {
    double x[kSize], y[kSize], z[kSize];
    for (int k = 0; k < kSize; ++k) {
      const Vec3 q = points[begin + (k < count ? k : 0)];
      x[k] = q.x, y[k] = q.y, z[k] = q.z;
    }
    const Bounds box = grid.bounds;
    const Frame frame = grid.whole.frame;
    for (int k = 0; k < kSize; ++k) within_[k] = misses(box, {x[k], y[k], z[k]}) ? 0 : 1;
    for (int k = 0; k < kSize; ++k) {
      cells_[k] = frame.y.index(y[k]) * frame.x.cells + frame.x.index(x[k]);
      slabs_[k] = frame.z.index(z[k]);
    }
    for (int k = 0; k < kSize; ++k) fetch(grid.slabs + cells_[k]);
  }

  // The answer of `look_up` for a point; all points are `untold` (1) in a mesh that is not closed.
  Answer answer(const GridView& grid, int k, std::uint64_t untold) const {
    const Slabs& slabs = grid.slabs[cells_[k]];
    const std::uint64_t occupied = (slabs.occupied >> slabs_[k] | untold) & 1;
    const std::uint64_t inside = slabs.inside >> slabs_[k] & ~occupied & 1;
    return static_cast<Answer>((occupied << 1 | inside) & (0 - within_[k]));
  }

 private:
  std::uint64_t within_[kSize];  // whether within the bounds: 1 or 0
  std::int32_t cells_[kSize], slabs_[kSize];
};

// Undecided points whose crossings are counted in steps: the memory that a step reads was
// prefetched in the step before, for all points.
class PointsTogether {
 public:
  static constexpr int kSize = 64;

  PointsTogether(const GridView& grid, const PointsView& points) : grid_(grid), points_(points) {}

  bool is_full() const { return count_ == kSize; }

  void add(std::int64_t row) {
    rows_[count_] = row;
    at_[count_] = points_[row];
    fetch(grid_.lists + grid_.whole.cell(at_[count_]));
    ++count_;
  }

  // Calls tell(row, answer) for every added point, with the answer of `count_parity`, and removes
  // all points.
  template <class Tell>
  void settle(Tell&& tell) {
    for (int i = 0; i < count_; ++i) {
      counting_[i] = counting_at(grid_, at_[i]);
      const List list = counting_[i].list;
      const Entry* const entries = grid_.entries + list.start;
      fetch(entries);  // two lines hold most lists
      fetch(entries + (list.count > 0 ? list.count - 1 : 0));
    }
    for (int i = 0; i < count_; ++i) {
      parity_[i] = counting_[i].parity;
      unsure_[i] = false;
      const List list = counting_[i].list;
      for (std::int32_t k = 0; k < list.count; ++k) {
        const Entry entry = grid_.entries[list.start + k];
        if (!counting_[i].wants(entry)) continue;
        pair(i, entry.triangle);
      }
    }
    cross();
    for (int i = 0; i < count_; ++i) tell(rows_[i], answer(i));
    count_ = 0;
  }

 private:
  static constexpr int kPairs = 512;
  static constexpr int kAhead = 16;  // how many pairs ahead corners are prefetched

  struct Pair {
    std::int32_t point, triangle;
  };

  void pair(std::int32_t point, std::int32_t triangle) {
    if (pair_count_ == kPairs) cross();
    fetch(grid_.mesh.triangles + 3 * static_cast<std::int64_t>(triangle));
    pairs_[pair_count_++] = {point, triangle};
  }

  void fetch_corners(int n) const {
    const std::int32_t* const corners =
        grid_.mesh.triangles + 3 * static_cast<std::int64_t>(pairs_[n].triangle);
    for (int k = 0; k < 3; ++k) {
      fetch(grid_.mesh.vertices + 3 * static_cast<std::int64_t>(corners[k]));
    }
  }

  // Counts the crossings of all pairs.
  void cross() {
    for (int n = 0; n < std::min(pair_count_, kAhead); ++n) fetch_corners(n);
    for (int n = 0; n < pair_count_; ++n) {
      if (n + kAhead < pair_count_) fetch_corners(n + kAhead);
      const auto [point, triangle] = pairs_[n];
      const int crossing = crossing_above<Full>(grid_.mesh.triangle(triangle), at_[point]);
      parity_[point] ^= crossing & 1;
      unsure_[point] |= crossing == kUnsure;
    }
    pair_count_ = 0;
  }

  Answer answer(int i) const {
    if (unsure_[i]) return Answer::undecided;
    return with_long(grid_, at_[i], parity_[i], [&](std::int32_t triangle) {
      return crossing_above<Full>(grid_.mesh.triangle(triangle), at_[i]);
    });
  }

  const GridView& grid_;
  const PointsView& points_;
  int count_ = 0, pair_count_ = 0;
  std::int64_t rows_[kSize];
  Vec3 at_[kSize];
  Counting counting_[kSize];
  int parity_[kSize];
  bool unsure_[kSize];
  Pair pairs_[kPairs];
};

}  // namespace geodomain
