// Many points at once, on the host: looked up without a branch on any of them, and counted
// together where two bits do not tell, so that none waits for the memory of another.
#pragma once

#include <algorithm>

#include "grid/grid.h"
#include "platform/loads.h"

namespace geodomain {

// Where the points of a block are in the coarsest grid.
class PointBlock {
 public:
  static constexpr int kSize = 64;

  // Of `count` points, at most kSize, from `begin` on.
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

  // What `look_up` tells of a point, all of them being `untold` (1) in a mesh that is not closed.
  Answer answer(const GridView& grid, int k, std::uint64_t untold) const {
    const Slabs& slabs = grid.slabs[cells_[k]];
    const std::uint64_t occupied = (slabs.occupied >> slabs_[k] | untold) & 1;
    const std::uint64_t inside = slabs.inside >> slabs_[k] & ~occupied & 1;
    return static_cast<Answer>((occupied << 1 | inside) & (0 - within_[k]));
  }

 private:
  std::uint64_t within_[kSize];  // the bounds: 1 or 0
  std::int32_t cells_[kSize], slabs_[kSize];
};

// Undecided points whose crossings are counted in steps: what each step reads was asked for in the
// one before, for all points.
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

  // tell(row, answer) for every point that was added, as `count_parity` has it; none is left.
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
  static constexpr int kAhead = 16;  // pairs by which corners are asked for early

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
