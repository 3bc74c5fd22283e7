// A grid of vertical columns over the projected triangles, with 64 slabs in a column.
//
// A slab of a cell is free if no triangle's box enters it. The surface of a closed mesh does not
// meet a free slab, so one label holds for all of it, and two bits answer most points. For the
// others, crossings are counted up to the next free slab. An overfull cell contains a grid of its
// own. Triangles too long for a grid are in its bundles, and then none of its slabs is free.
#pragma once

#include "grid/frame.h"
#include "platform/bits.h"
#include "platform/mesh_view.h"

namespace geodomain {

// Long triangles, such as slivers as long as the mesh, would fill many cells of a grid each. They
// are in a tree of boxes, each rotated to the direction of its own triangles.

// The position of (x, y) along a direction and across it. With p = 2^-53 the computed values are
// within 2^-51 times the larger of |x|, |y| of the exact ones, or 2^-1073 if products are tiny:
// linear functions of x and y, whatever c and s are.
struct Direction {
  double c, s;  // at most 1 in magnitude

  GD_HD double along(double x, double y) const { return c * x + s * y; }
  GD_HD double across(double x, double y) const { return c * y - s * x; }
};

// A node of the tree, in the order of a walk. A linear function takes its least and greatest
// values over a triangle at vertices, so a point outside the box, which is widened by
// more than the rounding of both, is outside every triangle of the node.
struct Bundle {
  Direction direction;
  double along_low, along_high, across_low, across_high;
  double top;          // highest z of its triangles
  std::int32_t first;  // first triangle of a leaf, in GridView::bundled
  std::int32_t count;  // 0 for a node with children
  std::int32_t next;   // the node after all of its descendants
  std::int32_t unused;

  GD_HD bool holds(Vec3 q) const {
    if (q.z > top) return false;
    const double u = direction.along(q.x, q.y), v = direction.across(q.x, q.y);
    return (u >= along_low) & (u <= along_high) & (v >= across_low) & (v <= across_high);
  }
};
static_assert(sizeof(Bundle) == 72, "as every compiler has it");

// Calls visit(triangle) for every triangle that may meet the vertical ray up from q, or hold q;
// returns false as soon as a visit does. Nodes [begin, end) are one tree; q is within the bounds.
template <class Visit>
GD_HD bool visit_bundled(const Bundle* bundles, const std::int32_t* bundled, std::int32_t begin,
                         std::int32_t end, Vec3 q, Visit&& visit) {
  for (std::int32_t node = begin; node < end;) {
    const Bundle& bundle = bundles[node];
    if (!bundle.holds(q)) {
      node = bundle.next;
      continue;
    }
    for (std::int32_t i = 0; i < bundle.count; ++i) {
      if (!visit(bundled[bundle.first + i])) return false;
    }
    ++node;
  }
  return true;
}

// The index for points anywhere: see the head of this file.

struct Slabs {             // of one cell, bit k for slab k; 16 bytes, one load
  std::uint64_t occupied;  // the box of some triangle enters it
  std::uint64_t inside;    // the label, if none does
};
static_assert(sizeof(Slabs) == 16, "as every compiler has it");

struct List {           // of one cell
  std::uint32_t start;  // first entry; walls follow, up to the next cell's start
  std::int32_t count;   // entries that a ray may cross; if negative, ~count is a grid
};
static_assert(sizeof(List) == 8, "as every compiler has it");

struct Entry {
  std::int32_t triangle;
  std::uint8_t low, high;  // the slabs that its box enters
};
static_assert(sizeof(Entry) == 8, "as every compiler has it");

struct Grid {
  Frame frame;
  std::int64_t first_cell;
  std::int32_t bundle_begin, bundle_end;  // of its long triangles, which are in no cell

  GD_HD std::int64_t cell(Vec3 q) const {
    return first_cell + static_cast<std::int64_t>(frame.y.index(q.y)) * frame.x.cells +
           frame.x.index(q.x);
  }
};
static_assert(sizeof(Grid) == 88, "as every compiler has it");

struct GridView {
  MeshView mesh;
  Bounds bounds;
  Grid whole;                   // covers the mesh; its first cell is 0
  const Grid* grids;            // all of them
  const Slabs* slabs;           // by cell; all occupied if the cell contains a grid
  const List* lists;            // by cell
  const Entry* entries;         // in no particular order in a cell
  const Bundle* bundles;        // null if no grid has any
  const std::int32_t* bundled;  // the triangles of the bundles
  std::int32_t closed;          // free slabs may be trusted

  // The cell of the finest grid there, and that grid's frame.
  GD_HD std::int64_t cell(Vec3 q, Axis& z) const {
    std::int64_t leaf = whole.cell(q);
    z = whole.frame.z;
    for (std::int32_t count; (count = lists[leaf].count) < 0;) {
      const Grid& grid = grids[~count];
      leaf = grid.cell(q);
      z = grid.frame.z;
    }
    return leaf;
  }
};
static_assert(sizeof(GridView) == size_by_pointers(216, 184), "as every compiler has it");

// Calls visit(triangle) for the long triangles of every grid around q, which is within the bounds;
// returns false as soon as a visit does.
template <class Visit>
GD_HD bool visit_long(const GridView& grid, Vec3 q, Visit&& visit) {
  if (grid.bundles == nullptr) return true;
  const Grid* at = &grid.whole;
  for (;;) {
    if (!visit_bundled(grid.bundles, grid.bundled, at->bundle_begin, at->bundle_end, q, visit)) {
      return false;
    }
    const std::int32_t count = grid.lists[at->cell(q)].count;
    if (count >= 0) return true;
    at = grid.grids + ~count;
  }
}

enum class Answer : std::uint8_t { outside = 0, inside = 1, undecided = 2 };

// The answer of two bits for a point within the bounds of a closed mesh.
GD_HD Answer told_by(const Slabs& slabs, std::int32_t slab) {
  if (slabs.occupied >> slab & 1) return Answer::undecided;
  return static_cast<Answer>(slabs.inside >> slab & 1);
}

GD_HD Answer look_up(const GridView& grid, Vec3 q) {
  if (misses(grid.bounds, q)) return Answer::outside;
  if (!grid.closed) return Answer::undecided;
  return told_by(grid.slabs[grid.whole.cell(q)], grid.whole.frame.z.index(q.z));
}

// How the crossings above an undecided point are counted: those below the next free slab one by
// one, the others by the label of that slab. A triangle of this cell is entirely below or
// entirely above that slab.
struct Counting {
  List list;                     // of the point's cell
  std::int32_t slab, free_slab;  // the point's slab, and the next free slab above
  int parity;                    // of the crossings above the free slab

  GD_HD bool wants(const Entry& entry) const {
    return entry.high >= slab && entry.low <= free_slab;
  }
};

GD_HD Counting counting_at(const GridView& grid, Vec3 q) {
  Axis z;
  const std::int64_t cell = grid.cell(q, z);
  Counting counting = {grid.lists[cell], z.index(q.z), kSlabs, 0};
  if (grid.closed) {
    const Slabs slabs = grid.slabs[cell];
    const std::uint64_t free = ~slabs.occupied >> counting.slab;
    if (free != 0) {
      counting.free_slab = counting.slab + trailing_zeros(free);
      counting.parity = static_cast<int>(slabs.inside >> counting.free_slab & 1);
    }
  }
  return counting;
}

// The parity including the long triangles' crossings. Undecided again if crossing_of(triangle),
// which is like `crossing_above`, is unsure.
template <class Crossing>
GD_HD Answer with_long(const GridView& grid, Vec3 q, int parity, Crossing&& crossing_of) {
  const bool sure = visit_long(grid, q, [&](std::int32_t triangle) {
    const int crossing = crossing_of(triangle);
    parity ^= crossing & 1;
    return crossing != kUnsure;
  });
  return sure ? static_cast<Answer>(parity) : Answer::undecided;
}

// The parity of crossings above an undecided point.
template <class Crossing>
GD_HD Answer count_parity_by(const GridView& grid, Vec3 q, Crossing&& crossing_of) {
  const Counting counting = counting_at(grid, q);
  int parity = counting.parity;
  for (std::int32_t i = 0; i < counting.list.count; ++i) {
    const Entry entry = grid.entries[counting.list.start + i];
    if (!counting.wants(entry)) continue;
    const int crossing = crossing_of(entry.triangle);
    if (crossing == kUnsure) return Answer::undecided;
    parity ^= crossing & 1;
  }
  return with_long(grid, q, parity, crossing_of);
}

// Sometimes undecided in Quick arithmetic, hardly ever in Full.
template <class Arithmetic>
GD_HD Answer count_parity(const GridView& grid, Vec3 q) {
  return count_parity_by(grid, q, [&](std::int32_t triangle) {
    return crossing_above<Arithmetic>(grid.mesh.triangle(triangle), q);
  });
}

struct Crossings {
  std::int32_t count;  // above the displaced point; -1 undecided
  std::int32_t signed_count;
};

GD_HD Crossings count_crossings(const GridView& grid, Vec3 q) {
  Crossings crossings = {0, 0};
  if (misses(grid.bounds, q)) return crossings;
  Axis z;
  const List list = grid.lists[grid.cell(q, z)];
  const std::int32_t slab = z.index(q.z);
  const auto take = [&](std::int32_t triangle) {
    const int crossing = crossing_above<Full>(grid.mesh.triangle(triangle), q);
    if (crossing == kUnsure) return false;
    crossings.count += crossing & 1;
    crossings.signed_count += crossing;
    return true;
  };
  for (std::int32_t i = 0; i < list.count; ++i) {
    const Entry entry = grid.entries[list.start + i];
    if (entry.high >= slab && !take(entry.triangle)) return {-1, 0};
  }
  return visit_long(grid, q, take) ? crossings : Crossings{-1, 0};
}

}  // namespace geodomain
