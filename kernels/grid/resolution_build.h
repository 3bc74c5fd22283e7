// Summing up a grid's triangles on the host, and finding which of them are too long for it.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "grid/resolution.h"
#include "grid/triangle_block.h"
#include "platform/thread_team.h"

namespace geodomain {

constexpr std::int64_t kSumBlock = 4096;

// The sum of what `part(begin, end)` gives for blocks of [0, count), in order: the same for any
// team. Sums are added by `add`.
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

// Entries by the power of two of what a triangle fills.
struct EntriesByLength {
  std::array<double, 64> entries{};

  void add(const EntriesByLength& other) {
    for (std::size_t power = 0; power < entries.size(); ++power) {
      entries[power] += other.entries[power];
    }
  }
};

// As fine as wanted; the triangles that would fill most are left out, until the allowance is kept.
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
  double kept = 0.0;
  for (std::size_t power = 0; power < by_length.entries.size(); ++power) {
    kept += by_length.entries[power];
    if (kept <= load.allowance()) continue;
    resolution.most = std::ldexp(1.0, static_cast<int>(power));
    break;
  }
  return resolution;
}

}  // namespace geodomain
