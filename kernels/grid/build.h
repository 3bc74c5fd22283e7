// Builds the grid on the host; a built grid is used through a handle.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "grid/cell_marks.h"
#include "grid/long_triangles_build.h"
#include "grid/triangle_block.h"
#include "platform/c_function.h"
#include "platform/large_array.h"
#include "platform/mesh_view.h"
#include "platform/thread_team.h"

namespace geodomain {

// The builder of a tree of grids, and its result.

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
  // `density`: target number of triangles per cell; more make a smaller index, fewer
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
  // The triangles of a node: all triangles, or the triangles in one cell of its parent.
  struct Subset {
    const Entry* list;  // null for all triangles
    std::int64_t count;
    std::int64_t operator[](std::int64_t i) const { return list ? list[i].triangle : i; }
  };
  struct Region {
    Bounds bounds;
    const Node* parent;
    std::int32_t i, j;  // the cell of the parent
    bool bundled;       // some grid around it has long triangles
  };

  // Returns a triangle by its position in the list, and prefetches the corners of a later one.
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

  // The number of entries of an overfull cell: many times the usual number, so it gets its own
  // grid.
  static constexpr std::int32_t kOverfull = 256;
  static constexpr int kDeepest = 3;
  // How many triangles ahead corners are prefetched: some 200 ns.

  MeshView mesh_;
  Bounds bounds_;
  double density_;
  Team& team_;
  double magnitude_;
  GridIndex index_;  // bundles grow while grids are built; the rest is filled at the end
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
  // A coordinate inside each column and row of cells, or NaN.
  std::vector<double> sample_x, sample_y;
  // For each part of the triangles and each cell, how many may be crossed and how
  // many are walls; later, where the part's entries go.
  std::vector<std::uint32_t> part_count;
  LargeArray<Stamp> stamps;  // by place in the subset
  int parts = 1;
  std::vector<std::pair<std::int64_t, std::unique_ptr<Node>>> children;  // by cell

  std::int64_t cell(std::int32_t i, std::int32_t j) const {
    return static_cast<std::int64_t>(j) * frame.x.cells + i;
  }
};

// Fills the cells of one grid: count, scan, scatter. Triangles that are too long for the cells go
// to bundles.

// Chooses a sample of each column and row of cells that is also in the parents' cells.
inline void GridBuilder::place_samples(Node& node) const {
  const auto place = [&](Axis Frame::* axis, std::int32_t Region::* cell, double low, double high,
                         std::vector<double>& samples) {
    const Axis& own = node.frame.*axis;
    samples.resize(static_cast<std::size_t>(own.cells));
    for (std::int32_t i = 0; i < own.cells; ++i) {
      const double sample = cell_sample(own, i, low, high);
      bool good = true;
      for (const Node* n = &node; n->region.parent; n = n->region.parent) {
        good = good && (n->region.parent->frame.*axis).index(sample) == n->region.*cell;
      }
      samples[static_cast<std::size_t>(i)] = good ? sample : std::nan("");
    }
  };
  const Bounds& box = node.region.bounds;
  place(&Frame::x, &Region::i, box.low.x, box.high.x, node.sample_x);
  place(&Frame::y, &Region::j, box.low.y, box.high.y, node.sample_y);
}

// Calls body(begin, end, part) over the places of the subset, in `parts` equal runs.
template <class Body>
void GridBuilder::for_parts(const Node& node, const Subset& subset, Body&& body) const {
  team_.run(node.parts, 1, [&](std::int64_t part, std::int64_t, int) {
    body(subset.count * part / node.parts, subset.count * (part + 1) / node.parts, part);
  });
}

inline void GridBuilder::count_entries(Node& node, const Subset& subset) {
  node.part_count.assign(static_cast<std::size_t>(2 * node.cell_count * node.parts), 0);
  node.stamps.resize(subset.count);
  const auto triangle = [&](std::int64_t place) { return take(subset, place); };
  for_parts(node, subset, [&](std::int64_t begin, std::int64_t end, std::int64_t part) {
    std::uint32_t* const counts = node.part_count.data() + 2 * part * node.cell_count;
    for_blocks(begin, end, triangle, [&](const TriangleBlock& block, std::int64_t place, int size) {
      count_block(node, block, size, node.stamps.get() + place, counts);
    });
  });
  // A cell without a sample has no label.
  for (std::int32_t j = 0; j < node.frame.y.cells; ++j) {
    for (std::int32_t i = 0; i < node.frame.x.cells; ++i) {
      if (std::isnan(node.sample_x[i]) || std::isnan(node.sample_y[j])) {
        node.slabs[node.cell(i, j)].occupied = ~std::uint64_t{0};
      }
    }
  }
}

// Counts the first `size` triangles of a block in their cells, marks these cells, and writes
// stamps. Each step is done for all small triangles before the next step, so that none waits for
// the branches of another.
inline void GridBuilder::count_block(Node& node, const TriangleBlock& block, int size,
                                     Stamp* stamps, std::uint32_t* counts) const {
  constexpr int kSize = TriangleBlock::kSize;
  const double *const sample_x = node.sample_x.data(), *const sample_y = node.sample_y.data();
  Slabs* const slabs = node.slabs.get();
  const BlockFootprints boxes(block, node.frame, sample_x, sample_y);
  TouchedCells touched;
  std::uint64_t box_slabs[kSize];
  bool walls[kSize];
  int sampled[kSize], sampled_count = 0;
  for (int k = 0; k < size; ++k) {
    const Triangle t = block[k];
    if (node.resolution.most < HUGE_VAL &&
        node.resolution.is_long(extent_within(node.region.bounds, t))) {
      stamps[k] = {};
      continue;
    }
    const Footprint box = boxes[k];
    const bool wall = !boxes.slants(k) && is_vertical<Full>(t);
    const Stamp stamp = stamps[k] = make_stamp(node.frame, box, wall);
    if (boxes.is_small(k)) {
      box_slabs[k] = slabs_of(box);
      walls[k] = wall;
      touched.add(k, stamp.cell, box.i1 > box.i0, box.j1 > box.j0,
                  static_cast<std::uint32_t>(node.frame.x.cells));
      sampled[sampled_count] = k;
      sampled_count += boxes.samples(k);
      continue;
    }
    visit_rows(node.frame, t, box, [&](std::int32_t j, std::int32_t i0, std::int32_t i1) {
      for (std::int32_t i = i0; i <= i1; ++i) {
        mark<Full>(slabs[node.cell(i, j)], t, box, sample_x[i], sample_y[j]);
        counts[2 * node.cell(i, j) + wall] += 1;
      }
    });
  }
  for (const TouchedCells::Touch& touch : touched) {
    atomic_or(&slabs[touch.cell].occupied, box_slabs[touch.triangle]);
    counts[std::int64_t{2} * touch.cell + walls[touch.triangle]] += 1;
  }
  for (int n = 0; n < sampled_count; ++n) {
    const int k = sampled[n];
    const std::int32_t i = boxes.sample_i(k), j = boxes.sample_j(k);
    mark_crossing<Full>(slabs[node.cell(i, j)], block[k], boxes[k].k0, sample_x[i], sample_y[j]);
  }
}

// Adds the triangles that are in no cell to a separate tree. Free slabs are not valid if triangles
// are missing from the cells, here or in a grid around this one.
inline void GridBuilder::bundle_long(Node& node, const Subset& subset) {
  std::vector<std::int32_t> missing;
  for (std::int64_t place = 0; node.resolution.most < HUGE_VAL && place < subset.count; ++place) {
    const Stamp& stamp = node.stamps[place];
    if (stamp.rows == 0 && !stamp.large) {
      missing.push_back(static_cast<std::int32_t>(subset[place]));
    }
  }
  node.bundle_begin = static_cast<std::int32_t>(index_.bundles.size());
  if (!missing.empty()) {
    BundleBuilder(mesh_, magnitude_, team_).build(missing, index_.bundles, index_.bundled);
    node.region.bundled = true;
  }
  node.bundle_end = static_cast<std::int32_t>(index_.bundles.size());
  for (std::int64_t cell = 0; node.region.bundled && cell < node.cell_count; ++cell) {
    node.slabs[cell].occupied = ~std::uint64_t{0};
  }
}

inline void GridBuilder::scatter(Node& node, const Subset& subset) {
  std::uint64_t start = 0;
  for (std::int64_t cell = 0; cell < node.cell_count; ++cell) {
    node.lists[cell].start = static_cast<std::uint32_t>(start);
    for (int wall = 0; wall < 2; ++wall) {
      for (int part = 0; part < node.parts; ++part) {
        std::uint32_t& slot = node.part_count[2 * (part * node.cell_count + cell) + wall];
        const std::uint32_t count = slot;
        slot = static_cast<std::uint32_t>(start);
        start += count;
      }
      if (wall == 0)
        node.lists[cell].count = static_cast<std::int32_t>(start - node.lists[cell].start);
    }
  }
  if (start > UINT32_MAX) throw std::length_error("more entries than a grid can count");
  node.lists[node.cell_count].start = static_cast<std::uint32_t>(start);
  node.entry_count = static_cast<std::int64_t>(start);
  node.entries.resize(node.entry_count);
  for_parts(node, subset, [&](std::int64_t begin, std::int64_t end, std::int64_t part) {
    std::uint32_t* const slots = node.part_count.data() + 2 * part * node.cell_count;
    for (std::int64_t place = begin; place < end; ++place) {
      const Stamp stamp = node.stamps[place];
      const Entry entry = {static_cast<std::int32_t>(subset[place]), stamp.low, stamp.high};
      const auto put = [&](std::int64_t cell, std::int32_t columns) {
        std::uint32_t* const slot = slots + 2 * cell + stamp.wall;
        for (std::int32_t i = 0; i < columns; ++i) node.entries[slot[2 * i]++] = entry;
      };
      for (int row = 0; !stamp.large && row < stamp.rows; ++row) {
        put(stamp.cell + static_cast<std::int64_t>(row) * node.frame.x.cells, stamp.columns);
      }
      if (!stamp.large) continue;
      const Triangle t = mesh_.triangle(entry.triangle);
      visit_rows(node.frame, t, box_footprint(node.frame, t),
                 [&](std::int32_t j, std::int32_t i0, std::int32_t i1) {
                   put(node.cell(i0, j), i1 - i0 + 1);
                 });
    }
  });
  node.stamps = {};
  node.part_count = {};
}

// Builds the tree of grids: measure, fill the cells, and recurse into overfull cells.
// Memory is bounded for any triangles: the expected entries are a small multiple of the triangles,
// and triangles too long for that go to bundles.

// Chooses the cells along x and y for the region. Triangles that would fill many cells go to
// bundles only if the grid would otherwise be overfull, because bundles have no free slabs.
inline Resolution GridBuilder::choose_resolution(const Subset& subset, const Region& region,
                                                 int depth) const {
  const auto triangle = [&](std::int64_t i) { return take(subset, i); };
  const Load load = {total_extent(subset.count, region.bounds, team_, triangle),
                     static_cast<double>(std::max<std::int64_t>(subset.count, 1)), region.bounds,
                     density_, depth == 0};
  const Resolution coarse = load.coarse_enough();
  return load.crowds(coarse) ? without_long(load, subset.count, team_, triangle) : coarse;
}

// The number of parts that count separately, limited so that memory for counts is in proportion.
inline int GridBuilder::parts_for(const Node& node, const Subset& subset) const {
  if (subset.count < 8192) return 1;
  return static_cast<int>(
      std::clamp<std::int64_t>(8 * subset.count / node.cell_count, 1, team_.size()));
}

inline std::unique_ptr<GridBuilder::Node> GridBuilder::build_node(const Subset& subset,
                                                                  const Region& region, int depth) {
  std::unique_ptr<Node> node(new Node);
  node->region = region;
  node->resolution = choose_resolution(subset, region, depth);
  node->frame = node->resolution.frame(region.bounds, magnitude_);
  node->cell_count = static_cast<std::int64_t>(node->frame.x.cells) * node->frame.y.cells;
  if (depth > 0 && node->cell_count < 4) return nullptr;  // no gain
  // One more than there are cells: the end of the last cell's walls.
  node->slabs.resize(node->cell_count + 1);
  std::fill_n(node->slabs.get(), node->cell_count + 1, Slabs{});
  node->lists.resize(node->cell_count + 1);
  node->parts = parts_for(*node, subset);
  place_samples(*node);
  count_entries(*node, subset);
  bundle_long(*node, subset);
  scatter(*node, subset);
  if (depth < kDeepest) subdivide(*node, depth);
  return node;
}

// Gives overfull cells grids of their own.
inline void GridBuilder::subdivide(Node& node, int depth) {
  const double usual = static_cast<double>(node.entry_count) / static_cast<double>(node.cell_count);
  for (std::int64_t cell = 0; cell < node.cell_count; ++cell) {
    const std::uint32_t start = node.lists[cell].start;
    const Subset subset = {node.entries.get() + start, node.lists[cell + 1].start - start};
    if (node.lists[cell].count < kOverfull || node.lists[cell].count < 8.0 * usual) continue;
    Region region;
    region.parent = &node;
    region.bundled = node.region.bundled;
    region.i = static_cast<std::int32_t>(cell % node.frame.x.cells);
    region.j = static_cast<std::int32_t>(cell / node.frame.x.cells);
    region.bounds = cell_bounds(node, region.i, region.j, subset);
    std::unique_ptr<Node> child = build_node(subset, region, depth + 1);
    if (child) node.children.emplace_back(cell, std::move(child));
  }
}

// The cell as a box, as near as rounding allows (the index clamps points beyond it), no larger
// than the box of its triangles.
inline Bounds GridBuilder::cell_bounds(const Node& node, std::int32_t i, std::int32_t j,
                                       const Subset& subset) const {
  const auto span = [](const Axis& axis, std::int32_t cell, double low, double high) {
    if (!(axis.scale > 0.0)) return Interval{low, high};
    return Interval{axis.origin + cell / axis.scale, axis.origin + (cell + 1) / axis.scale};
  };
  const Bounds& all = node.region.bounds;
  const Interval x = span(node.frame.x, i, all.low.x, all.high.x);
  const Interval y = span(node.frame.y, j, all.low.y, all.high.y);
  Bounds box = {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};
  for (std::int64_t k = 0; k < subset.count; ++k) {
    const Triangle t = mesh_.triangle(subset[k]);
    for (const Vec3& p : {t.a, t.b, t.c}) {
      box.low = {std::min(box.low.x, p.x), std::min(box.low.y, p.y), std::min(box.low.z, p.z)};
      box.high = {std::max(box.high.x, p.x), std::max(box.high.y, p.y), std::max(box.high.z, p.z)};
    }
  }
  box.low.x = std::max(box.low.x, x.low);
  box.high.x = std::min(box.high.x, x.high);
  box.low.y = std::max(box.low.y, y.low);
  box.high.y = std::min(box.high.y, y.high);
  return box;
}

// Appends a grid's cells and entries to the index, which has room for them.
inline void GridBuilder::append(const Node& node, GridIndex& index) {
  const std::int64_t cells = node.cell_count + 1;
  List* const lists = index.lists.get() + index.cell_count;
  std::copy_n(node.slabs.get(), cells, index.slabs.get() + index.cell_count);
  std::copy_n(node.lists.get(), cells, lists);
  std::copy_n(node.entries.get(), node.entry_count, index.entries.get() + index.entry_count);
  const auto shift = static_cast<std::uint32_t>(index.entry_count);
  for (std::int64_t cell = 0; cell < cells; ++cell) lists[cell].start += shift;
  index.cell_count += cells;
  index.entry_count += node.entry_count;
}

// Appends the child grids of a grid that has been appended.
inline void GridBuilder::append_children(const Node& node, std::int64_t first_cell,
                                         GridIndex& index) {
  for (const auto& [cell, child] : node.children) {
    index.lists[first_cell + cell].count = ~static_cast<std::int32_t>(index.grids.size());
    index.slabs[first_cell + cell].occupied = ~std::uint64_t{0};  // the child grid decides
    const std::int64_t childs_first = index.cell_count;
    index.grids.push_back({child->frame, childs_first, child->bundle_begin, child->bundle_end});
    append(*child, index);
    append_children(*child, childs_first, index);
  }
}

inline GridIndex GridBuilder::build() {
  const Subset all = {nullptr, mesh_.triangle_count};
  const std::unique_ptr<Node> root = build_node(all, {bounds_, nullptr, 0, 0, false}, 0);
  GridIndex index = std::move(index_);
  const std::function<void(const Node&)> measure = [&](const Node& node) {
    index.cell_count += node.cell_count + 1;
    index.entry_count += node.entry_count;
    for (const auto& child : node.children) measure(*child.second);
  };
  measure(*root);
  if (index.entry_count > UINT32_MAX)
    throw std::length_error("more entries than an index can count");
  index.slabs = std::move(root->slabs);
  index.lists = std::move(root->lists);
  index.entries = std::move(root->entries);
  index.slabs.resize(index.cell_count);
  index.lists.resize(index.cell_count);
  index.entries.resize(index.entry_count);
  index.cell_count = root->cell_count + 1;
  index.entry_count = root->entry_count;
  index.grids.push_back({root->frame, 0, root->bundle_begin, root->bundle_end});
  append_children(*root, 0, index);
  return index;
}

// A grid used through a handle, and the loop over the points of a query.

constexpr std::int64_t kPointsToPiece = 2048;  // points in a piece of work

struct BuiltGrid {
  GridIndex index;
  GridView view;
};

// Runs piece(grid, points, begin, end, refused) over all rows, and sets `refused` to the first row
// that the arithmetic cannot decide, or -1.
template <class Piece>
Status answer(const void* handle, const void* const* columns, const std::int64_t* strides,
              std::int64_t rows, int threads, std::int64_t* refused, Piece&& piece) {
  return guarded([&] {
    const GridView* grid = handle ? &static_cast<const BuiltGrid*>(handle)->view : nullptr;
    const PointsView points = points_view(columns, strides);
    LowestRow first;
    Team team(rows > kPointsToPiece ? threads : 1);
    team.run(rows, kPointsToPiece, [&](std::int64_t begin, std::int64_t end, int) {
      piece(grid, points, begin, end, first);
    });
    *refused = first.row();
  });
}

}  // namespace geodomain
