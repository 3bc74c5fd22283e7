// Building the grid on the host: measure, count, scan, scatter, and again inside
// crowded cells. Memory is bounded whatever the triangles are: expected entries are
// a small multiple of the triangles, and what is too long for that goes to bundles.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

#include "bundle_build.h"
#include "mark.h"
#include "resolution_build.h"

namespace geodomain {

struct GridIndex {
  std::vector<Grid> grids;
  std::unique_ptr<Slabs[]> slabs;
  std::unique_ptr<List[]> lists;
  std::unique_ptr<Entry[]> entries;
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

  Resolution choose_resolution(const Subset& subset, const Region& region, int depth) const;
  int parts_for(const Node& node, const Subset& subset) const;
  void bundle_long(Node& node, const Subset& subset);
  void place_samples(Node& node) const;
  void count_entries(Node& node, const Subset& subset);
  void scatter(Node& node, const Subset& subset);
  template <class Body>
  void for_parts(const Node& node, const Subset& subset, Body&& body) const;
  void subdivide(Node& node, int depth);
  Bounds cell_bounds(const Node& node, std::int32_t i, std::int32_t j, const Subset& subset) const;
  std::unique_ptr<Node> build_node(const Subset& subset, const Region& region, int depth);
  void flatten(const Node& node, std::size_t slot, GridIndex& index) const;

  // A crowded cell: many times the usual, and worth a grid of its own.
  static constexpr std::int32_t kCrowded = 256;
  static constexpr int kDeepest = 3;

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
  std::unique_ptr<Slabs[]> slabs;
  std::unique_ptr<List[]> lists;
  std::unique_ptr<Entry[]> entries;
  // A coordinate inside each column and row of cells, NaN where none was found.
  std::vector<double> sample_x, sample_y;
  // For each part of the triangles and each cell, how many may be crossed and how
  // many are walls; then where the part scatters them to.
  std::vector<std::uint32_t> part_count;
  std::unique_ptr<Stamp[]> stamps;  // by place in the subset
  int parts = 1;
  std::vector<std::pair<std::int64_t, std::unique_ptr<Node>>> children;  // by cell

  std::int64_t cell(std::int32_t i, std::int32_t j) const {
    return static_cast<std::int64_t>(j) * frame.x.cells + i;
  }
};

// Cells along x and y for the region. Triangles that would fill many cells are left to bundles
// where the grid would be crowded without, and nowhere else: bundles know no free slabs.
inline Resolution GridBuilder::choose_resolution(const Subset& subset, const Region& region,
                                                 int depth) const {
  const auto triangle = [&](std::int64_t i) { return mesh_.triangle(subset[i]); };
  const Load load = {total_extent(subset.count, region.bounds, team_, triangle),
                     static_cast<double>(std::max<std::int64_t>(subset.count, 1)), region.bounds,
                     density_, depth == 0};
  const Resolution coarse = load.coarse_enough();
  return load.crowds(coarse) ? without_long(load, subset.count, team_, triangle) : coarse;
}

// A sample of each column and row of cells that is in the parents' cells too.
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

// body(place in the subset, part) over the subset in `parts` equal runs.
template <class Body>
void GridBuilder::for_parts(const Node& node, const Subset& subset, Body&& body) const {
  team_.run(node.parts, 1, [&](std::int64_t part, std::int64_t, int) {
    const std::int64_t end = subset.count * (part + 1) / node.parts;
    for (std::int64_t i = subset.count * part / node.parts; i < end; ++i) body(i, part);
  });
}

inline void GridBuilder::count_entries(Node& node, const Subset& subset) {
  node.part_count.assign(static_cast<std::size_t>(2 * node.cell_count * node.parts), 0);
  node.stamps.reset(new Stamp[static_cast<std::size_t>(subset.count)]);
  for_parts(node, subset, [&](std::int64_t place, std::int64_t part) {
    const Triangle t = mesh_.triangle(subset[place]);
    if (node.resolution.is_long(extent_within(node.region.bounds, t))) {
      node.stamps[place] = {};
      return;
    }
    const Footprint box = box_footprint(node.frame, t);
    const bool wall = is_vertical<Full>(t);
    std::uint32_t* count = node.part_count.data() + 2 * part * node.cell_count + wall;
    visit_rows(node.frame, t, box, [&](std::int32_t j, std::int32_t i0, std::int32_t i1) {
      for (std::int32_t i = i0; i <= i1; ++i) {
        mark<Full>(node.slabs[node.cell(i, j)], t, box, node.sample_x[i], node.sample_y[j]);
        count[2 * node.cell(i, j)] += 1;
      }
    });
    node.stamps[place] = make_stamp(node.frame, box, wall);
  });
  // A cell without a sample has no label to give.
  for (std::int32_t j = 0; j < node.frame.y.cells; ++j) {
    for (std::int32_t i = 0; i < node.frame.x.cells; ++i) {
      if (std::isnan(node.sample_x[i]) || std::isnan(node.sample_y[j])) {
        node.slabs[node.cell(i, j)].occupied = ~std::uint64_t{0};
      }
    }
  }
}

// The triangles that are in no cell, to a tree of their own. A free slab means nothing where
// triangles are missing from the cells, here or in a grid around this one.
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
  node.entries.reset(new Entry[start]);
  for_parts(node, subset, [&](std::int64_t place, std::int64_t part) {
    const Stamp stamp = node.stamps[place];
    const Entry entry = {static_cast<std::int32_t>(subset[place]), stamp.low, stamp.high};
    std::uint32_t* slot = node.part_count.data() + 2 * part * node.cell_count + stamp.wall;
    const auto put = [&](std::int64_t cell, std::int32_t columns) {
      for (std::int32_t i = 0; i < columns; ++i) node.entries[slot[2 * (cell + i)]++] = entry;
    };
    if (!stamp.large) {
      for (int row = 0; row < stamp.rows; ++row) {
        put(stamp.cell + static_cast<std::int64_t>(row) * node.frame.x.cells, stamp.columns);
      }
      return;
    }
    const Triangle t = mesh_.triangle(entry.triangle);
    visit_rows(node.frame, t, box_footprint(node.frame, t),
               [&](std::int32_t j, std::int32_t i0, std::int32_t i1) {
                 put(node.cell(i0, j), i1 - i0 + 1);
               });
  });
  node.stamps.reset();
  node.part_count = {};
}

// Parts that count on their own: no more than memory for their counts is in proportion to.
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
  // One more than there are cells: where the walls of the last one end.
  node->slabs.reset(new Slabs[static_cast<std::size_t>(node->cell_count + 1)]());
  node->lists.reset(new List[static_cast<std::size_t>(node->cell_count + 1)]);
  node->parts = parts_for(*node, subset);
  place_samples(*node);
  count_entries(*node, subset);
  bundle_long(*node, subset);
  scatter(*node, subset);
  if (depth < kDeepest) subdivide(*node, depth);
  return node;
}

// Gives crowded cells grids of their own.
inline void GridBuilder::subdivide(Node& node, int depth) {
  const double usual = static_cast<double>(node.entry_count) / static_cast<double>(node.cell_count);
  for (std::int64_t cell = 0; cell < node.cell_count; ++cell) {
    const std::uint32_t start = node.lists[cell].start;
    const Subset subset = {node.entries.get() + start, node.lists[cell + 1].start - start};
    if (node.lists[cell].count < kCrowded || node.lists[cell].count < 8.0 * usual) continue;
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

// The cell as a box, as near as rounding allows (the index clamps what is beyond
// it), no larger than what its triangles fill.
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

inline void GridBuilder::flatten(const Node& node, std::size_t slot, GridIndex& index) const {
  Slabs* slabs = index.slabs.get() + index.cell_count;
  List* lists = index.lists.get() + index.cell_count;
  const std::uint32_t shift = static_cast<std::uint32_t>(index.entry_count);
  std::copy(node.slabs.get(), node.slabs.get() + node.cell_count + 1, slabs);
  std::copy(node.lists.get(), node.lists.get() + node.cell_count + 1, lists);
  std::copy(node.entries.get(), node.entries.get() + node.entry_count,
            index.entries.get() + index.entry_count);
  for (std::int64_t cell = 0; cell <= node.cell_count; ++cell) lists[cell].start += shift;
  index.grids[slot] = {node.frame, index.cell_count, node.bundle_begin, node.bundle_end};
  index.cell_count += node.cell_count + 1;
  index.entry_count += node.entry_count;
  for (const auto& child : node.children) {
    const std::size_t child_slot = index.grids.size();
    index.grids.emplace_back();
    lists[child.first].count = ~static_cast<std::int32_t>(child_slot);
    slabs[child.first].occupied = ~std::uint64_t{0};  // the child knows better
    flatten(*child.second, child_slot, index);
  }
}

inline GridIndex GridBuilder::build() {
  const Subset all = {nullptr, mesh_.triangle_count};
  const std::unique_ptr<Node> root = build_node(all, {bounds_, nullptr, 0, 0, false}, 0);
  GridIndex index = std::move(index_);
  index.grids.emplace_back();
  if (root->children.empty()) {
    index.grids[0] = {root->frame, 0, root->bundle_begin, root->bundle_end};
    index.cell_count = root->cell_count + 1;
    index.entry_count = root->entry_count;
    index.slabs = std::move(root->slabs);
    index.lists = std::move(root->lists);
    index.entries = std::move(root->entries);
    return index;
  }
  const std::function<void(const Node&)> measure = [&](const Node& node) {
    index.cell_count += node.cell_count + 1;
    index.entry_count += node.entry_count;
    for (const auto& child : node.children) measure(*child.second);
  };
  measure(*root);
  if (index.entry_count > UINT32_MAX)
    throw std::length_error("more entries than an index can count");
  index.slabs.reset(new Slabs[static_cast<std::size_t>(index.cell_count)]);
  index.lists.reset(new List[static_cast<std::size_t>(index.cell_count)]);
  index.entries.reset(new Entry[static_cast<std::size_t>(index.entry_count)]);
  index.cell_count = index.entry_count = 0;
  flatten(*root, 0, index);
  return index;
}

}  // namespace geodomain
