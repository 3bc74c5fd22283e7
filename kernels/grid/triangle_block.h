// Processes eight triangles at once on the host: the cells that they may meet, and sums over the
// triangles of a grid.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "grid/cell_marks.h"
#include "grid/resolution.h"
#include "platform/arithmetic.h"
#include "platform/mesh_view.h"
#include "platform/thread_team.h"

namespace geodomain {

// The coordinates of eight triangles side by side: a branchless loop over them becomes a few
// instructions for all.

struct TriangleBlock {
  static constexpr int kSize = 8;
  double at[9][kSize];  // ax, ay, az, bx, ..., cz

  void put(int k, const Triangle& t) {
    const double corners[9] = {t.a.x, t.a.y, t.a.z, t.b.x, t.b.y, t.b.z, t.c.x, t.c.y, t.c.z};
    for (int i = 0; i < 9; ++i) at[i][k] = corners[i];
  }
  Triangle operator[](int k) const {
    return {{at[0][k], at[1][k], at[2][k]},
            {at[3][k], at[4][k], at[5][k]},
            {at[6][k], at[7][k], at[8][k]}};
  }
};

// Calls body(block, first, count) for all of [begin, end), in order; triangle(i) returns a
// triangle. Unused places of the last block repeat its first triangle.
template <class Pick, class Body>
void for_blocks(std::int64_t begin, std::int64_t end, Pick&& triangle, Body&& body) {
  constexpr int kSize = TriangleBlock::kSize;
  TriangleBlock block;
  for (; begin < end; begin += kSize) {
    const int count = end - begin < kSize ? static_cast<int>(end - begin) : kSize;
    for (int k = 0; k < kSize; ++k) block.put(k, triangle(begin + (k < count ? k : 0)));
    body(block, begin, count);
  }
}

// The cells that the triangles of a block may meet, for all at once. Suited to triangles as
// small as cells, as most are.

// A list of cells of triangles, filled without a branch on their number.
class TouchedCells {
 public:
  struct Touch {
    std::uint32_t cell, triangle;  // the triangle's place in its block
  };

  // Adds a box of at most two by two cells; `row` is the number of cells in a row of the grid.
  void add(int triangle, std::uint32_t cell, bool wide, bool high, std::uint32_t row) {
    const auto k = static_cast<std::uint32_t>(triangle);
    touches_[count_++] = {cell, k};
    touches_[count_] = {cell + 1, k};
    count_ += wide;
    touches_[count_] = {cell + row, k};
    count_ += high;
    touches_[count_] = {cell + row + 1, k};
    count_ += wide & high;
  }
  const Touch* begin() const { return touches_; }
  const Touch* end() const { return touches_ + count_; }

 private:
  Touch touches_[4 * TriangleBlock::kSize];
  int count_ = 0;
};

class BlockFootprints {
 public:
  static constexpr int kSize = TriangleBlock::kSize;

  // `sample_x` and `sample_y` are the samples of columns and rows of cells.
  BlockFootprints(const TriangleBlock& block, const Frame& frame, const double* sample_x,
                  const double* sample_y) {
    for (int k = 0; k < kSize; ++k) {
      const Footprint box = box_footprint(frame, block[k]);
      i0_[k] = box.i0, i1_[k] = box.i1;
      j0_[k] = box.j0, j1_[k] = box.j1;
      k0_[k] = box.k0, k1_[k] = box.k1;
    }
    for (int k = 0; k < kSize; ++k) {
      const Triangle t = block[k];
      const double x_low = smallest(t.a.x, t.b.x, t.c.x), x_high = largest(t.a.x, t.b.x, t.c.x);
      const double y_low = smallest(t.a.y, t.b.y, t.c.y), y_high = largest(t.a.y, t.b.y, t.c.y);
      const double x0 = sample_x[i0_[k]], x1 = sample_x[i1_[k]];
      const double y0 = sample_y[j0_[k]], y1 = sample_y[j1_[k]];
      const int at_x0 = (x0 >= x_low) & (x0 <= x_high), at_x1 = (x1 >= x_low) & (x1 <= x_high);
      const int at_y0 = (y0 >= y_low) & (y0 <= y_high), at_y1 = (y1 >= y_low) & (y1 <= y_high);
      sample_i_[k] = at_x0 ? i0_[k] : i1_[k];
      sample_j_[k] = at_y0 ? j0_[k] : j1_[k];
      const int columns = at_x0 + (at_x1 & (i1_[k] > i0_[k]));
      const int rows = at_y0 + (at_y1 & (j1_[k] > j0_[k]));
      samples_[k] = columns * rows;
    }
    for (int k = 0; k < kSize; ++k) {
      const Triangle t = block[k];
      const double left = (t.a.x - t.c.x) * (t.b.y - t.c.y);
      const double right = (t.a.y - t.c.y) * (t.b.x - t.c.x);
      doubled_[k] = std::fabs(left - right);
      bound_[k] = kOrient2dBound * (std::fabs(left) + std::fabs(right)) + kOrient2dFloor;
    }
  }

  Footprint operator[](int k) const { return {i0_[k], i1_[k], j0_[k], j1_[k], k0_[k], k1_[k]}; }
  // Whether doubles prove that the triangle is not vertical.
  bool slants(int k) const { return doubled_[k] > bound_[k]; }
  // Whether its box has at most two by two cells, and the sample of at most one of them.
  bool is_small(int k) const {
    return (i1_[k] - i0_[k] < 2) & (j1_[k] - j0_[k] < 2) & (samples_[k] < 2);
  }
  // For a small triangle: how many samples are in its box.
  int samples(int k) const { return samples_[k]; }
  std::int32_t sample_i(int k) const { return sample_i_[k]; }
  std::int32_t sample_j(int k) const { return sample_j_[k]; }

 private:
  std::int32_t i0_[kSize], i1_[kSize], j0_[kSize], j1_[kSize], k0_[kSize], k1_[kSize];
  std::int32_t sample_i_[kSize], sample_j_[kSize], samples_[kSize];
  double doubled_[kSize], bound_[kSize];  // twice the projected area, and its error bound
};

// Sums over a grid's triangles for its resolution, and the triangles that are too long for it.

constexpr std::int64_t kSumBlock = 4096;

// The sum of the results of `part(begin, end)` over blocks of [0, count), in order: the same for
// any team. `add` adds two results.
template <class Sum, class Part>
Sum sum_blocks(std::int64_t count, Team& team, Part&& part) {
  std::vector<Sum> sums(static_cast<std::size_t>((count + kSumBlock - 1) / kSumBlock));
  team.run(count, kSumBlock, [&](std::int64_t begin, std::int64_t end, int) {
    sums[static_cast<std::size_t>(begin / kSumBlock)] = part(begin, end);
  });
  Sum total;
  for (const Sum& sum : sums) total.add(sum);
  return total;
}

template <class Pick>
Extent total_extent(std::int64_t count, const Bounds& region, Team& team, Pick&& triangle) {
  return sum_blocks<Extent>(count, team, [&](std::int64_t begin, std::int64_t end) {
    Extent sum;
    for_blocks(begin, end, triangle, [&](const TriangleBlock& block, std::int64_t, int count) {
      double width[TriangleBlock::kSize], height[TriangleBlock::kSize], area[TriangleBlock::kSize];
      for (int k = 0; k < TriangleBlock::kSize; ++k) {
        const Extent extent = extent_within(region, block[k]);
        width[k] = extent.width;
        height[k] = extent.height;
        area[k] = extent.area;
      }
      for (int k = 0; k < count; ++k) sum.add({width[k], height[k], area[k]});
    });
    return sum;
  });
}

// Numbers of entries by the power of two of a triangle's cells.
struct EntriesByLength {
  std::array<double, 64> entries{};

  void add(const EntriesByLength& other) {
    for (std::size_t power = 0; power < entries.size(); ++power) {
      entries[power] += other.entries[power];
    }
  }
};

// As fine as wanted; triangles with the most cells are excluded until the allowance is met.
template <class Pick>
Resolution without_long(const Load& load, std::int64_t count, Team& team, Pick&& triangle) {
  Resolution resolution = load.at(load.wanted_cells());
  const auto by_length =
      sum_blocks<EntriesByLength>(count, team, [&](std::int64_t begin, std::int64_t end) {
        EntriesByLength sum;
        for (std::int64_t i = begin; i < end; ++i) {
          const double filled = resolution.cells(extent_within(load.region, triangle(i)));
          sum.entries[static_cast<std::size_t>(std::clamp(std::ilogb(filled), 0, 63))] += filled;
        }
        return sum;
      });
  double total = 0.0;
  for (std::size_t power = 0; power < by_length.entries.size(); ++power) {
    total += by_length.entries[power];
    if (total <= load.allowance()) continue;
    resolution.most = std::ldexp(1.0, static_cast<int>(power));
    break;
  }
  return resolution;
}

}  // namespace geodomain
