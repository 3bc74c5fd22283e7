// The CPU face of the grid: loops over points.
#include <cmath>
#include <memory>

#include "grid_build.h"
#include "least_row.h"
#include "recognise.h"
#include "surface.h"

using namespace geodomain;

namespace {

constexpr std::int64_t kPiece = 2048;  // points to a piece of work

struct BuiltGrid {
  GridIndex index;
  GridView view;
};

PointsView points_view(const void* const* columns, const std::int64_t* strides) {
  return {static_cast<const char*>(columns[0]),
          static_cast<const char*>(columns[1]),
          static_cast<const char*>(columns[2]),
          strides[0],
          strides[1],
          strides[2]};
}

// Labels of a piece, by two bits each where they tell, then one by one.
void label_piece(const GridView& grid, const PointsView& points, std::int64_t begin,
                 std::int64_t end, std::uint8_t* out, LeastRow& refused) {
  std::int32_t open[kPiece];
  int open_count = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    const Answer answer = look_up(grid, points[row]);
    out[row] = static_cast<std::uint8_t>(answer);
    open[open_count] = static_cast<std::int32_t>(row - begin);
    open_count += answer == Answer::undecided;
  }
  for (int i = 0; i < open_count; ++i) {
    const std::int64_t row = begin + open[i];
    const Answer answer = count_parity<Full>(grid, points[row]);
    if (answer == Answer::undecided) refused.keep(row);
    out[row] = static_cast<std::uint8_t>(answer);
  }
}

Bounds piece_bounds(const PointsView& points, std::int64_t begin, std::int64_t end) {
  Bounds box = {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};
  for (std::int64_t row = begin; row < end; ++row) {
    const Vec3 q = points[row];  // comparisons with NaN leave the box as it is
    box.low = {q.x < box.low.x ? q.x : box.low.x, q.y < box.low.y ? q.y : box.low.y,
               q.z < box.low.z ? q.z : box.low.z};
    box.high = {q.x > box.high.x ? q.x : box.high.x, q.y > box.high.y ? q.y : box.high.y,
                q.z > box.high.z ? q.z : box.high.z};
  }
  return box;
}

// Whether the grid's mesh has no crossing above any point of the box, or, being closed, an even
// number above all that lie below it. An open one may have an odd number there.
bool apart(const Bounds& box, const GridView& grid) {
  const Bounds& mesh = grid.bounds;
  return box.high.x < mesh.low.x || mesh.high.x < box.low.x || box.high.y < mesh.low.y ||
         mesh.high.y < box.low.y || mesh.high.z < box.low.z ||
         (grid.closed && box.high.z < mesh.low.z);
}

// The first of the grids that holds each point of a piece, -1 none, -2 not finite.
// Only points without a label go on to the next grid.
void code_piece(const void* const* handles, std::int32_t handle_count, const PointsView& points,
                std::int64_t begin, std::int64_t end, std::int32_t* out, LeastRow& refused) {
  std::int32_t open[kPiece];
  int open_count = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    const Vec3 q = points[row];
    const bool finite = std::isfinite(q.x) && std::isfinite(q.y) && std::isfinite(q.z);
    out[row] = finite ? -1 : -2;
    open[open_count] = static_cast<std::int32_t>(row - begin);
    open_count += finite;
  }
  const Bounds box = piece_bounds(points, begin, end);
  for (std::int32_t code = 0; code < handle_count && open_count > 0; ++code) {
    const GridView& grid = static_cast<const BuiltGrid*>(handles[code])->view;
    if (apart(box, grid)) continue;
    int still_open = 0;
    for (int i = 0; i < open_count; ++i) {
      const std::int64_t row = begin + open[i];
      const Vec3 q = points[row];
      Answer answer = look_up(grid, q);
      if (answer == Answer::undecided) {
        answer = count_parity<Full>(grid, q);
        if (answer == Answer::undecided) refused.keep(row);
      }
      if (answer == Answer::inside) out[row] = code;
      open[still_open] = open[i];
      still_open += answer != Answer::inside;
    }
    open_count = still_open;
  }
}

// piece(grid, points, begin, end, refused) over all rows; what the status says, and
// in `refused` the first row that the arithmetic cannot decide, or -1.
template <class Piece>
int answer(const void* handle, const void* const* columns, const std::int64_t* strides,
           std::int64_t rows, int threads, std::int64_t* refused, Piece&& piece) {
  try {
    const GridView* grid = handle ? &static_cast<const BuiltGrid*>(handle)->view : nullptr;
    const PointsView points = points_view(columns, strides);
    LeastRow first;
    Team team(rows > kPiece ? threads : 1);
    team.run(rows, kPiece, [&](std::int64_t begin, std::int64_t end, int) {
      piece(grid, points, begin, end, first);
    });
    *refused = first.found();
    return 0;
  } catch (...) {
    return 1;
  }
}

}  // namespace

GD_API int geodomain_grid_create(const double* vertices, const std::int32_t* triangles,
                                 std::int64_t triangle_count, const double* bounds, int closed,
                                 double density, int threads, void** handle) {
  try {
    FloatGuard guard;  // the caller's thread computes indices too
    const MeshView mesh = {vertices, triangles, triangle_count};
    const Bounds box = {{bounds[0], bounds[1], bounds[2]}, {bounds[3], bounds[4], bounds[5]}};
    Team team(threads);
    std::unique_ptr<BuiltGrid> grid(new BuiltGrid);
    grid->index = GridBuilder(mesh, box, density, team).build();
    const GridIndex& index = grid->index;
    grid->view = {mesh,
                  box,
                  index.grids[0],
                  index.grids.data(),
                  index.slabs.get(),
                  index.lists.get(),
                  index.entries.get(),
                  index.bundles.empty() ? nullptr : index.bundles.data(),
                  index.bundled.data(),
                  closed};
    *handle = grid.release();
    return 0;
  } catch (...) {
    return 1;
  }
}

GD_API void geodomain_grid_free(void* handle) { delete static_cast<BuiltGrid*>(handle); }

// cells, entries, grids, bundled triangles: what the index holds.
GD_API void geodomain_grid_size(const void* handle, std::int64_t* size) {
  const GridIndex& index = static_cast<const BuiltGrid*>(handle)->index;
  size[0] = index.cell_count;
  size[1] = index.entry_count;
  size[2] = static_cast<std::int64_t>(index.grids.size());
  size[3] = static_cast<std::int64_t>(index.bundled.size());
}

// The index's arrays and their sizes in bytes (grids, slabs, lists, entries, bundles,
// bundled), for a copy to a device; they live as long as the handle.
GD_API void geodomain_grid_arrays(const void* handle, const void** arrays, std::int64_t* bytes) {
  const GridIndex& index = static_cast<const BuiltGrid*>(handle)->index;
  arrays[0] = index.grids.data();
  arrays[1] = index.slabs.get();
  arrays[2] = index.lists.get();
  arrays[3] = index.entries.get();
  bytes[0] = static_cast<std::int64_t>(index.grids.size() * sizeof(Grid));
  bytes[1] = index.cell_count * static_cast<std::int64_t>(sizeof(Slabs));
  bytes[2] = index.cell_count * static_cast<std::int64_t>(sizeof(List));
  bytes[3] = index.entry_count * static_cast<std::int64_t>(sizeof(Entry));
  arrays[4] = index.bundles.data();
  arrays[5] = index.bundled.data();
  bytes[4] = static_cast<std::int64_t>(index.bundles.size() * sizeof(Bundle));
  bytes[5] = static_cast<std::int64_t>(index.bundled.size() * sizeof(std::int32_t));
}

// The answers below: a row of `out` to a point, and in `refused` the first row that
// the arithmetic cannot decide, for coordinates below its range, or -1.

// 1 inside, 0 not.
GD_API int geodomain_grid_contains(const void* handle, const void* const* columns,
                                   const std::int64_t* strides, std::int64_t rows, int threads,
                                   std::uint8_t* out, std::int64_t* refused) {
  return answer(
      handle, columns, strides, rows, threads, refused,
      [out](const GridView* grid, const PointsView& points, std::int64_t begin, std::int64_t end,
            LeastRow& first) { label_piece(*grid, points, begin, end, out, first); });
}

// The index of the first grid that holds the point, -1 none, -2 not finite.
GD_API int geodomain_grid_codes(const void* const* handles, std::int32_t handle_count,
                                const void* const* columns, const std::int64_t* strides,
                                std::int64_t rows, int threads, std::int32_t* out,
                                std::int64_t* refused) {
  return answer(
      nullptr, columns, strides, rows, threads, refused,
      [=](const GridView*, const PointsView& points, std::int64_t begin, std::int64_t end,
          LeastRow& first) { code_piece(handles, handle_count, points, begin, end, out, first); });
}

// Crossings above the displaced point; with `with_sign`, each by its sign.
GD_API int geodomain_grid_crossings(const void* handle, const void* const* columns,
                                    const std::int64_t* strides, std::int64_t rows, int with_sign,
                                    int threads, std::int32_t* out, std::int64_t* refused) {
  return answer(handle, columns, strides, rows, threads, refused,
                [=](const GridView* grid, const PointsView& points, std::int64_t begin,
                    std::int64_t end, LeastRow& first) {
                  for (std::int64_t row = begin; row < end; ++row) {
                    const Crossings crossings = count_crossings(*grid, points[row]);
                    if (crossings.count < 0) first.keep(row);
                    out[row] = with_sign ? crossings.signed_count : crossings.count;
                  }
                });
}

// 1 exactly on a triangle, 0 not.
GD_API int geodomain_grid_on_surface(const void* handle, const void* const* columns,
                                     const std::int64_t* strides, std::int64_t rows, int threads,
                                     std::uint8_t* out, std::int64_t* refused) {
  return answer(handle, columns, strides, rows, threads, refused,
                [out](const GridView* grid, const PointsView& points, std::int64_t begin,
                      std::int64_t end, LeastRow& first) {
                  for (std::int64_t row = begin; row < end; ++row) {
                    const Answer found = on_surface(*grid, points[row]);
                    if (found == Answer::undecided) first.keep(row);
                    out[row] = static_cast<std::uint8_t>(found);
                  }
                });
}

// 1 and the order where the points are a lattice, 0 where they are not.
GD_API int geodomain_recognise(const void* const* columns, const std::int64_t* strides,
                               std::int64_t rows, int threads, std::int64_t* axes,
                               std::int64_t* counts) {
  try {
    const PointsView points = points_view(columns, strides);
    LatticeOrder order;
    if (!guess_order(points, rows, order)) return 0;
    Team team(threads);
    if (!verify_order(points, rows, order, team)) return 0;
    for (int i = 0; i < 3; ++i) {
      axes[i] = order.axis[i];
      counts[i] = order.count[i];
    }
    return 1;
  } catch (...) {
    return -1;
  }
}
