// Building the grid on the host: measure, count, scan, scatter, and again inside
// crowded cells. Memory is bounded whatever the triangles are: the resolution is
// lowered until the expected entries are a small multiple of the triangles.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "footprint.h"
#include "grid.h"
#include "team.h"

namespace geodomain {

struct GridIndex {
  std::vector<Grid> grids;
  std::unique_ptr<Slabs[]> slabs;
  std::unique_ptr<List[]> lists;
  std::unique_ptr<Entry[]> entries;
  std::int64_t cell_count = 0, entry_count = 0;
};

class GridBuilder {
 public:
  // `density`: triangles to a cell to aim for; more make a smaller index, fewer
  // make shorter lists.
  GridBuilder(const MeshView& mesh, const Bounds& bounds, double density, Team& team)
      : mesh_(mesh), bounds_(bounds), density_(density), team_(team) {
    magnitude_ = 0.0;
    for (double value : {bounds.low.x, bounds.low.y, bounds.high.x, bounds.high.y}) {
      magnitude_ = std::max(magnitude_, std::fabs(value));
    }
  }

  GridIndex build();

 private:
  struct Node;
  struct Stamp;
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
  };

  Frame choose_frame(const Subset& subset, const Region& region, int depth) const;
  void place_samples(Node& node) const;
  void count_entries(Node& node, const Subset& subset);
  void scatter(Node& node, const Subset& subset);
  void mark(Node& node, std::int32_t i, std::int32_t j, const Triangle& t,
            const Footprint& box) const;
  template <class Body>
  void for_parts(const Node& node, const Subset& subset, Body&& body) const;
  void subdivide(Node& node, int depth);
  Bounds cell_bounds(const Node& node, std::int32_t i, std::int32_t j, const Subset& subset) const;
  std::unique_ptr<Node> build_node(const Subset& subset, const Region& region, int depth);
  void flatten(const Node& node, std::size_t slot, GridIndex& index) const;

  // A crowded cell: many times the usual, and worth a grid of its own.
  static constexpr std::int32_t kCrowded = 256;
  static constexpr double kLong = 1024.0;  // a mean list that is worth more memory to shorten
  static constexpr int kDeepest = 3;

  MeshView mesh_;
  Bounds bounds_;
  double density_;
  Team& team_;
  double magnitude_;
};

struct GridBuilder::Node {
  Region region;
  Frame frame;
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

// Where a triangle goes, kept from counting to scattering: a box of cells, or
// `large` where the cells have to be found again row by row.
struct GridBuilder::Stamp {
  std::uint32_t cell;
  std::uint8_t columns : 2, rows : 2, wall : 1, large : 1;
  std::uint8_t low, high;  // slabs
};

struct Spread {  // sums over boxes, clipped to a region
  double width = 0.0, height = 0.0, area = 0.0;
};

// Cells along x and y for the region: one to `density` triangles, shaped like their mean box, and
// fewer where boxes are so large that they would fill more than eight cells each.
inline Frame GridBuilder::choose_frame(const Subset& subset, const Region& region,
                                       int depth) const {
  constexpr std::int64_t kBlock = 4096;
  const Bounds& box = region.bounds;
  const std::int64_t blocks = (subset.count + kBlock - 1) / kBlock;
  std::vector<Spread> partial(static_cast<std::size_t>(blocks));
  team_.run(subset.count, kBlock, [&](std::int64_t begin, std::int64_t end, int) {
    Spread sum;
    for (std::int64_t i = begin; i < end; ++i) {
      const Triangle t = mesh_.triangle(subset[i]);
      const double width = std::min(largest(t.a.x, t.b.x, t.c.x), box.high.x) -
                           std::max(smallest(t.a.x, t.b.x, t.c.x), box.low.x);
      const double height = std::min(largest(t.a.y, t.b.y, t.c.y), box.high.y) -
                            std::max(smallest(t.a.y, t.b.y, t.c.y), box.low.y);
      sum.width += width;
      sum.height += height;
      // Its own area, not its box's: a sliver meets few of the cells of its box.
      const double doubled = (t.b.x - t.a.x) * (t.c.y - t.a.y) - (t.b.y - t.a.y) * (t.c.x - t.a.x);
      sum.area += std::min(width * height, 0.5 * std::fabs(doubled));
    }
    partial[static_cast<std::size_t>(begin / kBlock)] = sum;
  });
  Spread total;
  for (const Spread& part : partial) {  // in order: the same frame for any team
    total.width += part.width;
    total.height += part.height;
    total.area += part.area;
  }
  const double count = static_cast<double>(std::max<std::int64_t>(subset.count, 1));
  const double extent_x = box.high.x - box.low.x, extent_y = box.high.y - box.low.y;
  // Cells in proportion to the mean box, kept within a factor of 2^20 of square.
  double shape = 1.0;
  if (total.width > 0.0 && total.height > 0.0 && extent_x > 0.0 && extent_y > 0.0) {
    shape = (extent_x / total.width) / (extent_y / total.height);
    shape = std::clamp(std::sqrt(shape), 1.0 / 1024.0, 1024.0);
  }
  double cells = std::clamp(count / density_, depth == 0 ? 4096.0 : 16.0, 4194304.0);
  const double allowance = (depth == 0 ? 8.0 : 4.0) * count + 16384.0 * (depth == 0);
  // Long slivers would leave a few cells with lists of many thousands: they may take more.
  const double generous = depth == 0 ? 4.0 * allowance : allowance;
  for (; cells > 1.0; cells *= 0.7) {
    const double nx = std::max(1.0, std::sqrt(cells) * shape);
    const double ny = std::max(1.0, cells / nx);
    const double per_x = extent_x > 0.0 ? nx / extent_x : 0.0;
    const double per_y = extent_y > 0.0 ? ny / extent_y : 0.0;
    const double entries =
        total.area * per_x * per_y + total.width * per_x + total.height * per_y + count;
    if (entries <= (entries > kLong * cells ? generous : allowance)) break;
  }
  const double nx = std::max(1.0, std::sqrt(cells) * shape);
  return {make_axis(box.low.x, box.high.x, nx, magnitude_),
          make_axis(box.low.y, box.high.y, cells / nx, magnitude_),
          {box.low.z, kSlabs / (box.high.z - box.low.z), kSlabs}};
}

// A point of each column and row of cells, by whose vertical line the free slabs
// are labelled. Where rounding leaves none, the cell stays occupied throughout.
inline void GridBuilder::place_samples(Node& node) const {
  const auto place = [&](Axis Frame::* axis, std::int32_t Region::* cell, double low, double high,
                         std::vector<double>& samples) {
    const Axis& own = node.frame.*axis;
    samples.resize(static_cast<std::size_t>(own.cells));
    for (std::int32_t i = 0; i < own.cells; ++i) {
      double sample = own.scale > 0.0 ? own.origin + (i + 0.5) / own.scale : low + (high - low) / 2;
      if (is_tiny(sample)) sample = 0.0;
      bool good = own.index(sample) == i;
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

// One triangle in one cell: its slabs are taken, and if it crosses the cell's
// sample line, the parity of every slab below it changes.
inline void GridBuilder::mark(Node& node, std::int32_t i, std::int32_t j, const Triangle& t,
                              const Footprint& box) const {
  Slabs& slabs = node.slabs[node.cell(i, j)];
  const std::uint64_t below = (std::uint64_t{1} << box.k0) - 1;
  const std::uint64_t up_to = ~std::uint64_t{0} >> (kSlabs - 1 - box.k1);
  atomic_or(&slabs.occupied, up_to & ~below);
  if (below == 0) return;
  const double x = node.sample_x[static_cast<std::size_t>(i)];
  const double y = node.sample_y[static_cast<std::size_t>(j)];
  if (!(x >= smallest(t.a.x, t.b.x, t.c.x) && x <= largest(t.a.x, t.b.x, t.c.x) &&
        y >= smallest(t.a.y, t.b.y, t.c.y) && y <= largest(t.a.y, t.b.y, t.c.y))) {
    return;
  }
  if (crossing_sign<Full>(t, x, y) != 0) atomic_xor(&slabs.inside, below);
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
    const Footprint box = box_footprint(node.frame, t);
    const bool wall = is_vertical(t);
    std::uint32_t* count = node.part_count.data() + 2 * part * node.cell_count + wall;
    visit_rows(node.frame, t, box, [&](std::int32_t j, std::int32_t i0, std::int32_t i1) {
      for (std::int32_t i = i0; i <= i1; ++i) {
        mark(node, i, j, t, box);
        count[2 * node.cell(i, j)] += 1;
      }
    });
    const std::int32_t columns = box.i1 - box.i0 + 1, rows = box.j1 - box.j0 + 1;
    Stamp& stamp = node.stamps[place];
    stamp.cell = static_cast<std::uint32_t>(node.cell(box.i0, box.j0));
    stamp.columns = columns & 3;
    stamp.rows = rows & 3;
    stamp.wall = wall;
    stamp.large = columns > 3 || rows > 3;
    stamp.low = static_cast<std::uint8_t>(box.k0);
    stamp.high = static_cast<std::uint8_t>(box.k1);
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

inline void GridBuilder::scatter(Node& node, const Subset& subset) {
  std::uint32_t start = 0;
  for (std::int64_t cell = 0; cell < node.cell_count; ++cell) {
    node.lists[cell].start = start;
    for (int wall = 0; wall < 2; ++wall) {
      for (int part = 0; part < node.parts; ++part) {
        std::uint32_t& slot = node.part_count[2 * (part * node.cell_count + cell) + wall];
        const std::uint32_t count = slot;
        slot = start;
        start += count;
      }
      if (wall == 0)
        node.lists[cell].count = static_cast<std::int32_t>(start - node.lists[cell].start);
    }
  }
  node.lists[node.cell_count].start = start;
  node.entry_count = start;
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

inline std::unique_ptr<GridBuilder::Node> GridBuilder::build_node(const Subset& subset,
                                                                  const Region& region, int depth) {
  std::unique_ptr<Node> node(new Node);
  node->region = region;
  node->frame = choose_frame(subset, region, depth);
  node->cell_count = static_cast<std::int64_t>(node->frame.x.cells) * node->frame.y.cells;
  if (depth > 0 && node->cell_count < 4) return nullptr;  // no gain
  // One more than there are cells: where the walls of the last one end.
  node->slabs.reset(new Slabs[static_cast<std::size_t>(node->cell_count + 1)]());
  node->lists.reset(new List[static_cast<std::size_t>(node->cell_count + 1)]);
  node->parts = subset.count < 8192 ? 1 : team_.size();
  place_samples(*node);
  count_entries(*node, subset);
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
  index.grids[slot] = {node.frame, index.cell_count};
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
  const std::unique_ptr<Node> root = build_node(all, {bounds_, nullptr, 0, 0}, 0);
  GridIndex index;
  index.grids.emplace_back();
  if (root->children.empty()) {
    index.grids[0] = {root->frame, 0};
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
  index.slabs.reset(new Slabs[static_cast<std::size_t>(index.cell_count)]);
  index.lists.reset(new List[static_cast<std::size_t>(index.cell_count)]);
  index.entries.reset(new Entry[static_cast<std::size_t>(index.entry_count)]);
  index.cell_count = index.entry_count = 0;
  flatten(*root, 0, index);
  return index;
}

}  // namespace geodomain
