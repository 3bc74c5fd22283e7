// What building the grid on a device works with, and when the host has to build instead: crowded
// cells and long triangles are not for a device.
#pragma once

#include "grid/cell_marks.h"
#include "grid/resolution.h"

namespace geodomain {

constexpr int kBuildThreads = 256;  // of a block
constexpr int kScannedCells = 4;    // to a thread of a scan
// With more triangles 32-bit counts of entries might not do.
constexpr std::int64_t kMostTrianglesBuilt = std::int64_t{1} << 28;
// Entries of a cell's list. The host gives a cell of 256 a grid of its own (grid/build.h); to read
// longer lists costs a device less than to have the host build, so it takes four times as many.
constexpr std::uint32_t kLongestBuilt = 1024;

struct Plan {
  Frame frame;
  std::uint32_t cell_count;
  std::uint32_t entry_count;
  std::uint32_t crowds;        // lists would be long: left to the host
  std::uint32_t longest;       // list
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
  Slabs* slabs;           // zero at first
  std::uint32_t* counts;  // by cell: that may be crossed, walls; zero at first, then where they go
  List* lists;
  Stamp* stamps;        // by triangle
  Marking* unsure;      // room for as many as there are triangles
  std::int32_t* large;  // likewise
};
static_assert(sizeof(Building) == 128, "as every compiler has it");

// Whether the host has to build the grid that a device has planned, and counted the entries of.
inline bool is_for_the_host(const Plan& plan, std::int64_t triangle_count) {
  const double usual =
      static_cast<double>(plan.entry_count) / (plan.cell_count > 1 ? plan.cell_count : 1);
  const bool crowded = plan.longest > kLongestBuilt && plan.longest > 8.0 * usual;
  return plan.crowds != 0 || crowded || plan.unsure_count > triangle_count;
}

}  // namespace geodomain
