// The index for points anywhere: a grid of vertical columns over the projected
// triangles, 64 slabs to a column.
//
// A slab of a cell is free where no triangle's box enters it. The surface of a
// closed mesh does not meet a free slab, so one label holds in all of it, and
// most points are answered by two bits. The others count crossings up to the
// next free slab. A cell that is crowded holds a grid of its own.
#pragma once

#include "frame.h"

namespace geodomain {

struct Cell {
  std::uint64_t occupied;  // slabs that the box of some triangle enters
  std::uint64_t inside;    // parity in the slabs that are not
  std::uint32_t start;     // first entry; walls follow, up to the next cell's start
  std::int32_t count;      // entries that a ray may cross; ~count is a grid where negative
};

struct Entry {
  std::int32_t triangle;
  std::uint8_t low, high;  // the slabs that its box enters
};

struct Grid {
  Frame frame;
  std::int64_t first_cell;
};

struct GridView {
  MeshView mesh;
  Bounds bounds;
  const Grid* grids;  // the first one covers the mesh
  const Cell* cells;
  const Entry* entries;  // in no particular order in a cell
  std::int32_t closed;   // free slabs may be trusted

  GD_HD const Cell& cell(Vec3 q, const Frame*& frame) const {
    const Grid* grid = grids;
    for (;;) {
      const Axis& x = grid->frame.x;
      const Axis& y = grid->frame.y;
      const Cell& found = cells[grid->first_cell +
                                static_cast<std::int64_t>(y.index(q.y)) * x.cells + x.index(q.x)];
      frame = &grid->frame;
      if (found.count >= 0) return found;
      grid = grids + ~found.count;
    }
  }
};

enum class Answer : std::uint8_t { outside = 0, inside = 1, undecided = 2 };

// What two bits tell.
GD_HD Answer look_up(const GridView& grid, Vec3 q) {
  if (misses(grid.bounds, q)) return Answer::outside;
  if (!grid.closed) return Answer::undecided;
  const Frame* frame;
  const Cell& cell = grid.cell(q, frame);
  const std::int32_t slab = frame->z.index(q.z);
  if (cell.occupied >> slab & 1) return Answer::undecided;
  return static_cast<Answer>(cell.inside >> slab & 1);
}

// The parity of crossings above an undecided point: those below the next free
// slab one by one, and the label of that slab for all the others. A triangle of
// this cell is below that slab or above it, whole. Undecided again where Quick
// arithmetic is unsure.
template <class Arithmetic>
GD_HD Answer count_parity(const GridView& grid, Vec3 q) {
  const Frame* frame;
  const Cell& cell = grid.cell(q, frame);
  const std::int32_t slab = frame->z.index(q.z);
  std::int32_t free_slab = kSlabs;
  int parity = 0;
  if (grid.closed) {
    const std::uint64_t free = ~cell.occupied >> slab;
    if (free != 0) {
      free_slab = slab + trailing_zeros(free);
      parity = static_cast<int>(cell.inside >> free_slab & 1);
    }
  }
  for (std::int32_t i = 0; i < cell.count; ++i) {
    const Entry entry = grid.entries[cell.start + i];
    if (entry.high < slab || entry.low > free_slab) continue;
    const Triangle t = grid.mesh.triangle(entry.triangle);
    const int sign = crossing_sign<Arithmetic>(t, q.x, q.y);
    if (sign == 0) continue;
    const int above = sign == kUnsure ? kUnsure : crosses_above<Arithmetic>(t, sign, q);
    if (above == kUnsure) return Answer::undecided;
    parity ^= above;
  }
  return static_cast<Answer>(parity);
}

struct Crossings {
  std::int32_t count;  // above the displaced point
  std::int32_t signed_count;
};

GD_HD Crossings count_crossings(const GridView& grid, Vec3 q) {
  Crossings crossings = {0, 0};
  if (misses(grid.bounds, q)) return crossings;
  const Frame* frame;
  const Cell& cell = grid.cell(q, frame);
  const std::int32_t slab = frame->z.index(q.z);
  for (std::int32_t i = 0; i < cell.count; ++i) {
    const Entry entry = grid.entries[cell.start + i];
    if (entry.high < slab) continue;
    const Triangle t = grid.mesh.triangle(entry.triangle);
    const int sign = crossing_sign<Full>(t, q.x, q.y);
    if (sign == 0 || !crosses_above<Full>(t, sign, q)) continue;
    crossings.count += 1;
    crossings.signed_count += sign;
  }
  return crossings;
}

}  // namespace geodomain
