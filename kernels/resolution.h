// How fine a grid is, and which triangles are too long for it. What is chosen here decides what
// an index costs, and no answer.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "frame.h"
#include "team.h"

namespace geodomain {

// What a triangle fills of a region, clipped to it: sides of its box, and its area.
struct Extent {
  double width = 0.0, height = 0.0, area = 0.0;
};

inline Extent extent_within(const Bounds& box, const Triangle& t) {
  const double x0 = smallest(t.a.x, t.b.x, t.c.x), x1 = largest(t.a.x, t.b.x, t.c.x);
  const double y0 = smallest(t.a.y, t.b.y, t.c.y), y1 = largest(t.a.y, t.b.y, t.c.y);
  Extent extent;
  extent.width = std::max(std::min(x1, box.high.x) - std::max(x0, box.low.x), 0.0);
  extent.height = std::max(std::min(y1, box.high.y) - std::max(y0, box.low.y), 0.0);
  // Its own area, not its box's: a sliver meets few of the cells of its box.
  const double doubled = (t.b.x - t.a.x) * (t.c.y - t.a.y) - (t.b.y - t.a.y) * (t.c.x - t.a.x);
  extent.area = std::min(extent.width * extent.height, 0.5 * std::fabs(doubled));
  return extent;
}

struct Resolution {
  double nx = 1.0, ny = 1.0;        // cells, not whole
  double per_x = 0.0, per_y = 0.0;  // cells to a unit
  double most = HUGE_VAL;           // cells that a triangle may fill; more make it long

  // The cells that a triangle is expected to fill.
  double cells(const Extent& e) const {
    return e.area * per_x * per_y + e.width * per_x + e.height * per_y + 1.0;
  }
  bool is_long(const Extent& e) const { return cells(e) > most; }
};

// Chooses for the triangles `triangle(i)`, i < count, over a region: `density` triangles to a cell,
// shaped like their mean box, at least `fewest` cells, and at most `allowance` entries altogether.
class ResolutionChooser {
 public:
  template <class Pick>
  ResolutionChooser(std::int64_t count, const Bounds& region, Team& team, Pick&& triangle)
      : count_(static_cast<double>(std::max<std::int64_t>(count, 1))), region_(region) {
    std::vector<Extent> partial(static_cast<std::size_t>((count + kBlock - 1) / kBlock));
    team.run(count, kBlock, [&](std::int64_t begin, std::int64_t end, int) {
      Extent sum;
      for (std::int64_t i = begin; i < end; ++i) {
        const Extent extent = extent_within(region, triangle(i));
        sum.width += extent.width;
        sum.height += extent.height;
        sum.area += extent.area;
      }
      partial[static_cast<std::size_t>(begin / kBlock)] = sum;
    });
    for (const Extent& part : partial) {  // in order: the same sums for any team
      total_.width += part.width;
      total_.height += part.height;
      total_.area += part.area;
    }
  }

  // Every triangle in the grid, which is made as coarse as the allowance wants.
  Resolution coarse_enough(double cells, double allowance) const {
    for (; cells > 1.0; cells *= 0.7) {
      if (entries(at(cells)) <= allowance) break;
    }
    return at(cells);
  }

  // Whether lists would be long without need: many times the triangles over a point.
  bool is_crowded(const Resolution& resolution) const {
    const double usual = entries(resolution) / (resolution.nx * resolution.ny);
    const double over_a_point = total_.area / (extent_x() * extent_y());
    return usual > kCrowded && usual > 4.0 * over_a_point;
  }

  // A grid of these cells; the triangles that would fill most are left out of it, until the
  // allowance is kept.
  template <class Pick>
  Resolution without_long(double cells, double allowance, std::int64_t count, Team& team,
                          Pick&& triangle) const {
    Resolution resolution = at(cells);
    // Entries by the power of two of what a triangle fills.
    std::vector<std::array<double, 64>> partial(
        static_cast<std::size_t>((count + kBlock - 1) / kBlock));
    team.run(count, kBlock, [&](std::int64_t begin, std::int64_t end, int) {
      std::array<double, 64>& sums = partial[static_cast<std::size_t>(begin / kBlock)];
      sums.fill(0.0);
      for (std::int64_t i = begin; i < end; ++i) {
        const double filled = resolution.cells(extent_within(region_, triangle(i)));
        sums[static_cast<std::size_t>(std::clamp(std::ilogb(filled), 0, 63))] += filled;
      }
    });
    double kept = 0.0;
    for (std::size_t power = 0; power < 64; ++power) {
      for (const auto& sums : partial) kept += sums[power];
      if (kept > allowance) {
        resolution.most = std::ldexp(1.0, static_cast<int>(power));
        break;
      }
    }
    return resolution;
  }

  Resolution at(double cells) const {
    Resolution resolution;
    resolution.nx = std::max(1.0, std::sqrt(cells) * shape());
    resolution.ny = std::max(1.0, cells / resolution.nx);
    resolution.per_x = extent_x() > 0.0 ? resolution.nx / extent_x() : 0.0;
    resolution.per_y = extent_y() > 0.0 ? resolution.ny / extent_y() : 0.0;
    return resolution;
  }

 private:
  static constexpr std::int64_t kBlock = 4096;
  static constexpr double kCrowded = 256.0;

  double extent_x() const { return region_.high.x - region_.low.x; }
  double extent_y() const { return region_.high.y - region_.low.y; }
  double entries(const Resolution& resolution) const {
    return resolution.cells(total_) - 1.0 + count_;
  }
  // Of a cell, kept within a factor of 2^20 of square.
  double shape() const {
    if (!(total_.width > 0.0 && total_.height > 0.0 && extent_x() > 0.0 && extent_y() > 0.0)) {
      return 1.0;
    }
    const double shape = (extent_x() / total_.width) / (extent_y() / total_.height);
    return std::clamp(std::sqrt(shape), 1.0 / 1024.0, 1024.0);
  }

  double count_;
  Bounds region_;
  Extent total_;
};

}  // namespace geodomain
