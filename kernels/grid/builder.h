// The class that builds a grid on the host, and what it leaves: `grid/build_cells.h` fills the
// cells of one grid, `grid/build.h` makes the tree of grids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "grid/cell_marks.h"
#include "grid/long_triangles_build.h"
#include "grid/resolution_build.h"
#include "platform/large_array.h"
#include "platform/triangles_ahead.h"

namespace geodomain {

struct GridIndex {
  std::vector<Grid> grids;
  LargeArray<Slabs> slabs;
  LargeArray<List> lists;
  LargeArray<Entry> entries;
  std::int64_t cell_count = 0, entry_count = 0;
  std::vector<Bundle> bundles;
  std::vector<std::int32_t> bundled;
};

class GridBuilder {
 public:
  // `density`: triangles to a cell to aim for; more make a smaller index, fewer
  // make shorter lists.
  GridBuilder(const MeshView& mesh, const Bounds& bounds, double density, Team& team)
      : mesh_(mesh),
        bounds_(bounds),
        density_(density),
        team_(team),
        magnitude_(magnitude_of(bounds)) {}

  GridIndex build();

 private:
  struct Node;
  // The triangles of a node: all of them, or those in one cell of its parent.
  struct Subset {
    const Entry* list;  // null: all of them
    std::int64_t count;
    std::int64_t operator[](std::int64_t i) const { return list ? list[i].triangle : i; }
  };
  struct Region {
    Bounds bounds;
    const Node* parent;
    std::int32_t i, j;  // the cell of the parent
    bool bundled;       // some grid around it has long triangles
  };

  // A triangle by its place; the corners of one that comes later are asked for, which are anywhere.
  Triangle take(const Subset& subset, std::int64_t place) const {
    const std::int64_t later = subset[std::min(place + kTrianglesAhead, subset.count - 1)];
    fetch_corners(mesh_, later);
    return mesh_.triangle(subset[place]);
  }

  Resolution choose_resolution(const Subset& subset, const Region& region, int depth) const;
  int parts_for(const Node& node, const Subset& subset) const;
  void bundle_long(Node& node, const Subset& subset);
  void place_samples(Node& node) const;
  void count_entries(Node& node, const Subset& subset);
  void count_block(Node& node, const TriangleBlock& block, int size, Stamp* stamps,
                   std::uint32_t* counts) const;
  void scatter(Node& node, const Subset& subset);
  template <class Body>
  void for_parts(const Node& node, const Subset& subset, Body&& body) const;
  void subdivide(Node& node, int depth);
  Bounds cell_bounds(const Node& node, std::int32_t i, std::int32_t j, const Subset& subset) const;
  std::unique_ptr<Node> build_node(const Subset& subset, const Region& region, int depth);
  static void append(const Node& node, GridIndex& index);
  static void append_children(const Node& node, std::int64_t first_cell, GridIndex& index);

  // A overfull cell: many times the usual, and worth a grid of its own.
  static constexpr std::int32_t kOverfull = 256;
  static constexpr int kDeepest = 3;
  // Triangles by which corners are asked for early: some 200 ns.

  MeshView mesh_;
  Bounds bounds_;
  double density_;
  Team& team_;
  double magnitude_;
  GridIndex index_;  // its bundles grow as grids are built; the rest comes at the end
};

struct GridBuilder::Node {
  Region region;
  Resolution resolution;
  Frame frame;
  std::int32_t bundle_begin = 0, bundle_end = 0;
  std::int64_t cell_count = 0, entry_count = 0;
  LargeArray<Slabs> slabs;
  LargeArray<List> lists;
  LargeArray<Entry> entries;
  // A coordinate inside each column and row of cells, NaN where none was found.
  std::vector<double> sample_x, sample_y;
  // For each part of the triangles and each cell, how many may be crossed and how
  // many are walls; then where the part scatters them to.
  std::vector<std::uint32_t> part_count;
  LargeArray<Stamp> stamps;  // by place in the subset
  int parts = 1;
  std::vector<std::pair<std::int64_t, std::unique_ptr<Node>>> children;  // by cell

  std::int64_t cell(std::int32_t i, std::int32_t j) const {
    return static_cast<std::int64_t>(j) * frame.x.cells + i;
  }
};

}  // namespace geodomain
