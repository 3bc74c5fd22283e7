// Chooses how fine a grid is, and which triangles are too long for it. The choice affects the cost
// of an index, but no result.
#pragma once

#include "grid/frame.h"
#include "platform/arithmetic.h"

namespace geodomain {

// The extent of triangles, clipped to a region: the sides of their boxes, and their area.
struct Extent {
  double width = 0.0, height = 0.0, area = 0.0;

  GD_HD void add(const Extent& other) {
    width += other.width;
    height += other.height;
    area += other.area;
  }
};
static_assert(sizeof(Extent) == 24, "as every compiler has it");

GD_HD double limited(double value, double low, double high) {
  return maximum(low, minimum(value, high));
}

GD_HD Extent extent_within(const Bounds& box, const Triangle& t) {
  const double x0 = smallest(t.a.x, t.b.x, t.c.x), x1 = largest(t.a.x, t.b.x, t.c.x);
  const double y0 = smallest(t.a.y, t.b.y, t.c.y), y1 = largest(t.a.y, t.b.y, t.c.y);
  Extent extent;
  extent.width = maximum(minimum(x1, box.high.x) - maximum(x0, box.low.x), 0.0);
  extent.height = maximum(minimum(y1, box.high.y) - maximum(y0, box.low.y), 0.0);
  // The triangle's area, not its box's: a sliver meets few of the cells of its box.
  const double doubled = (t.b.x - t.a.x) * (t.c.y - t.a.y) - (t.b.y - t.a.y) * (t.c.x - t.a.x);
  extent.area = minimum(extent.width * extent.height, 0.5 * std::fabs(doubled));
  return extent;
}

struct Resolution {
  double nx = 1.0, ny = 1.0;        // numbers of cells, not rounded
  double per_x = 0.0, per_y = 0.0;  // cells per unit
  double most = HUGE_VAL;           // most cells of a triangle; with more it is long

  // The expected cells of a triangle; for a sum over many, their entries minus one each.
  GD_HD double cells(const Extent& e) const {
    return e.area * per_x * per_y + e.width * per_x + e.height * per_y + 1.0;
  }
  GD_HD bool is_long(const Extent& e) const { return cells(e) > most; }

  GD_HD Frame frame(const Bounds& box, double magnitude) const {
    return {make_axis(box.low.x, box.high.x, nx, magnitude),
            make_axis(box.low.y, box.high.y, ny, magnitude),
            {box.low.z, kSlabs / (box.high.z - box.low.z), kSlabs}};
  }
};

constexpr double kFewestCells = 4096.0, kMostCells = 4194304.0;  // of a mesh's grid
constexpr double kMostOblong = 1024.0;  // the sides of a mesh's grid, counted in cells

// The sums over a grid's triangles.
struct Load {
  Extent total;
  double count;  // at least 1
  Bounds region;
  double density;  // target number of triangles per cell
  bool whole;      // for a mesh, not for a cell of another grid

  // The most entries that a grid may have.
  GD_HD double allowance() const { return whole ? 8.0 * count + 16384.0 : 4.0 * count; }
  GD_HD double wanted_cells() const {
    return limited(count / density, whole ? kFewestCells : 16.0, kMostCells);
  }

  // About this many cells, shaped like the triangles' mean box.
  GD_HD Resolution at(double cells) const {
    Resolution resolution;
    resolution.nx = maximum(1.0, std::sqrt(cells) * shape());
    resolution.ny = maximum(1.0, cells / resolution.nx);
    resolution.per_x = extent_x() > 0.0 ? resolution.nx / extent_x() : 0.0;
    resolution.per_y = extent_y() > 0.0 ? resolution.ny / extent_y() : 0.0;
    return resolution;
  }

  // With every triangle in the grid, and the grid coarse enough for the allowance.
  GD_HD Resolution coarse_enough() const {
    double cells = wanted_cells();
    while (cells > 1.0 && entries(at(cells)) > allowance()) cells *= 0.7;
    return at(cells);
  }

  // Whether lists would be much longer than the triangles over a point.
  GD_HD bool crowds(const Resolution& resolution) const {
    const double usual = entries(resolution) / (resolution.nx * resolution.ny);
    const double over_a_point = total.area / (extent_x() * extent_y());
    return usual > 256.0 && usual > 4.0 * over_a_point;
  }

  // The most cells, not rounded, of any resolution `at(cells)`: at least one
  // along y, whatever the shape.
  GD_HD double most_cells() const {
    const double wanted = wanted_cells();
    return maximum(wanted, kMostOblong * std::sqrt(wanted));
  }

 private:
  GD_HD double extent_x() const { return region.high.x - region.low.x; }
  GD_HD double extent_y() const { return region.high.y - region.low.y; }
  GD_HD double entries(const Resolution& resolution) const {
    return resolution.cells(total) - 1.0 + count;
  }
  // The shape of a cell, within a factor of 2^20 of square.
  GD_HD double shape() const {
    if (!(total.width > 0.0 && total.height > 0.0 && extent_x() > 0.0 && extent_y() > 0.0)) {
      return 1.0;
    }
    const double shape = (extent_x() / total.width) / (extent_y() / total.height);
    return limited(std::sqrt(shape), 1.0 / kMostOblong, kMostOblong);
  }
};

// The largest magnitude of a mesh's x and y, which bounds rounding.
GD_HD double magnitude_of(const Bounds& b) {
  return maximum(maximum(std::fabs(b.low.x), std::fabs(b.high.x)),
                 maximum(std::fabs(b.low.y), std::fabs(b.high.y)));
}

}  // namespace geodomain
