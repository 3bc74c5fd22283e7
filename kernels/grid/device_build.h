// The data for building the grid on a device, and the conditions under which the host has to build
// it instead: crowded cells and long triangles need the host.
#pragma once

#include "grid/cell_marks.h"
#include "grid/resolution.h"

namespace geodomain {

constexpr int kBuildThreads = 256;  // threads in a block
constexpr int kScannedCells = 4;    // cells for each thread of a scan
// With more triangles, 32-bit counts of entries might overflow.
constexpr std::int64_t kMostTrianglesBuilt = std::int64_t{1} << 28;
// Most entries of a cell's list. On the host, a cell with 256 entries gets its own grid
// (grid/build.h). A device accepts four times as many, because reading longer lists costs less than
// building on the host.
constexpr std::uint32_t kLongestBuilt = 1024;

struct Plan {
  Frame frame;
  std::uint32_t cell_count;
  std::uint32_t entry_count;
  std::uint32_t crowds;        // lists would be long: the host has to build
  std::uint32_t longest;       // length of the longest list
  std::uint32_t unsure_count;  // pairs of triangle and cell for the full arithmetic
  std::uint32_t large_count;   // triangles
};
static_assert(sizeof(Plan) == 96, "as every compiler has it");

struct Marking {
  std::int32_t triangle, i, j;
};
static_assert(sizeof(Marking) == 12, "as every compiler has it");

struct Building {
  MeshView mesh;
  Bounds bounds;
  Plan* plan;
  Slabs* slabs;           // initially zero
  std::uint32_t* counts;  // by cell: crossable entries, walls; initially zero, later their places
  List* lists;
  Stamp* stamps;        // by triangle
  Marking* unsure;      // room for one per triangle
  std::int32_t* large;  // likewise
};
static_assert(sizeof(Building) == size_by_pointers(128, 96), "as every compiler has it");

// Whether the host has to build the grid, after a device has planned it and counted its entries.
inline bool is_for_the_host(const Plan& plan, std::int64_t triangle_count) {
  const double usual =
      static_cast<double>(plan.entry_count) / (plan.cell_count > 1 ? plan.cell_count : 1);
  const bool crowded = plan.longest > kLongestBuilt && plan.longest > 8.0 * usual;
  return plan.crowds != 0 || crowded || plan.unsure_count > triangle_count;
}

}  // namespace geodomain
