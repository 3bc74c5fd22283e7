// Building the grid on the host: measure, fill the cells, and again inside overfull cells. Memory
// is bounded whatever the triangles are: expected entries are a small multiple of the triangles,
// and what is too long for that goes to bundles.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>

#include "grid/build_cells.h"
#include "grid/builder.h"

namespace geodomain {

// Cells along x and y for the region. Triangles that would fill many cells are left to bundles
// where the grid would be overfull without, and nowhere else: bundles know no free slabs.
inline Resolution GridBuilder::choose_resolution(const Subset& subset, const Region& region,
                                                 int depth) const {
  const auto triangle = [&](std::int64_t i) { return take(subset, i); };
  const Load load = {total_extent(subset.count, region.bounds, team_, triangle),
                     static_cast<double>(std::max<std::int64_t>(subset.count, 1)), region.bounds,
                     density_, depth == 0};
  const Resolution coarse = load.coarse_enough();
  return load.crowds(coarse) ? without_long(load, subset.count, team_, triangle) : coarse;
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

// Puts a grid's cells and entries after those that are there, where there is room.
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

// The same with the grids in the cells of one that is there.
inline void GridBuilder::append_children(const Node& node, std::int64_t first_cell,
                                         GridIndex& index) {
  for (const auto& [cell, child] : node.children) {
    index.lists[first_cell + cell].count = ~static_cast<std::int32_t>(index.grids.size());
    index.slabs[first_cell + cell].occupied = ~std::uint64_t{0};  // the child knows better
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

}  // namespace geodomain
