// The cells of one grid, filled on the host: count, scan, scatter. What is too long for the cells
// goes to bundles.
#pragma once

#include <cmath>
#include <stdexcept>

#include "grid/block_footprints.h"
#include "grid/builder.h"

namespace geodomain {

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

// body(begin, end, part) over the places of the subset, in `parts` equal runs.
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
  // A cell without a sample has no label to give.
  for (std::int32_t j = 0; j < node.frame.y.cells; ++j) {
    for (std::int32_t i = 0; i < node.frame.x.cells; ++i) {
      if (std::isnan(node.sample_x[i]) || std::isnan(node.sample_y[j])) {
        node.slabs[node.cell(i, j)].occupied = ~std::uint64_t{0};
      }
    }
  }
}

// Counts the first `size` triangles of a block in their cells, marks these, and writes stamps. What
// small triangles do is done for all of them in turn, so that none waits for what another branches
// on.
inline void GridBuilder::count_block(Node& node, const TriangleBlock& block, int size,
                                     Stamp* stamps, std::uint32_t* counts) const {
  constexpr int kSize = TriangleBlock::kSize;
  const double *const sample_x = node.sample_x.data(), *const sample_y = node.sample_y.data();
  Slabs* const slabs = node.slabs.get();
  const BlockFootprints boxes(block, node.frame, sample_x, sample_y);
  TouchedCells touched;
  std::uint64_t taken[kSize];
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
      taken[k] = slabs_of(box);
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
    atomic_or(&slabs[touch.cell].occupied, taken[touch.triangle]);
    counts[std::int64_t{2} * touch.cell + walls[touch.triangle]] += 1;
  }
  for (int n = 0; n < sampled_count; ++n) {
    const int k = sampled[n];
    const std::int32_t i = boxes.sample_i(k), j = boxes.sample_j(k);
    mark_crossing<Full>(slabs[node.cell(i, j)], block[k], boxes[k].k0, sample_x[i], sample_y[j]);
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

}  // namespace geodomain
