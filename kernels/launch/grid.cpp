// Queries of the grid on the CPU: loops over points.
#include <algorithm>
#include <cmath>
#include <memory>

#include "grid/build.h"
#include "grid/codes.h"
#include "grid/many_points.h"
#include "grid/sides.h"
#include "lattice/recognise.h"
#include "platform/c_function.h"
#include "platform/float_guard.h"

using namespace geodomain;

namespace {

// The labels of some points: by two bits if these decide, otherwise by crossings.
struct LabelPiece {
  std::uint8_t* out;

  void operator()(const GridView* view, const PointsView& points, std::int64_t begin,
                  std::int64_t end, LowestRow& refused) const {
    const GridView& grid = *view;
    std::int32_t open[kPointsToPiece];
    int open_count = 0;
    const std::uint64_t untold = grid.closed ? 0 : 1;
    for (std::int64_t first = begin; first < end; first += PointBlock::kSize) {
      const int count = static_cast<int>(std::min<std::int64_t>(end - first, PointBlock::kSize));
      const PointBlock block(grid, points, first, count);
      for (int k = 0; k < count; ++k) {
        const Answer answer = block.answer(grid, k, untold);
        out[first + k] = static_cast<std::uint8_t>(answer);
        open[open_count] = static_cast<std::int32_t>(first + k - begin);
        open_count += answer == Answer::undecided;
      }
    }
    PointsTogether together(grid, points);
    const auto tell = [&](std::int64_t row, Answer answer) {
      if (answer == Answer::undecided) refused.keep(row);
      out[row] = static_cast<std::uint8_t>(answer);
    };
    for (int i = 0; i < open_count; ++i) {
      together.add(begin + open[i]);
      if (together.is_full()) together.settle(tell);
    }
    together.settle(tell);
  }
};

// The box in which each mesh may contain a point. For an open mesh it extends down to infinity,
// because the number of crossings above a point below the mesh may be odd.
std::vector<Bounds> reaches(const void* const* handles, std::int32_t handle_count) {
  std::vector<Bounds> boxes;
  for (std::int32_t code = 0; code < handle_count; ++code) {
    const GridView& grid = static_cast<const BuiltGrid*>(handles[code])->view;
    boxes.push_back(grid.bounds);
    if (!grid.closed) boxes.back().low.z = -HUGE_VAL;
  }
  return boxes;
}

// The first of the grids that contains each of some points, -1 for none, -2 for a point that is not
// finite.
void code_piece(const void* const* handles, const BoxCull& cull, const PointsView& points,
                std::int64_t begin, std::int64_t end, std::int32_t* out, LowestRow& refused) {
  for (std::int64_t row = begin; row < end; ++row) {
    const Vec3 q = points[row];
    out[row] = kNotFinite;
    if (!is_finite(q)) continue;
    out[row] =
        first_offered([&](auto&& body) { cull.find(q, body); },
                      [&](std::int32_t solid) {
                        const GridView& grid = static_cast<const BuiltGrid*>(handles[solid])->view;
                        const Answer answer = look_up(grid, q);
                        return answer == Answer::undecided ? count_parity<Full>(grid, q) : answer;
                      });
    if (is_open(out[row])) refused.keep(row);
  }
}

}  // namespace

GD_API Status geodomain_grid_create(const double* vertices, const std::int32_t* triangles,
                                    std::int64_t triangle_count, const double* bounds, int closed,
                                    double density, int threads, void** handle) {
  return guarded([&] {
    FloatGuard guard;  // the caller's thread computes indices too
    const MeshView mesh = {vertices, triangles, triangle_count};
    const Bounds box = {{bounds[0], bounds[1], bounds[2]}, {bounds[3], bounds[4], bounds[5]}};
    Team team(threads);
    std::unique_ptr<BuiltGrid> grid(new BuiltGrid);
    grid->index = GridBuilder(mesh, box, density, team).build();
    const GridIndex& index = grid->index;
    GridView& view = grid->view;
    view.mesh = mesh;
    view.bounds = box;
    view.whole = index.grids[0];
    view.grids = index.grids.data();
    view.slabs = index.slabs.get();
    view.lists = index.lists.get();
    view.entries = index.entries.get();
    view.bundles = index.bundles.empty() ? nullptr : index.bundles.data();
    view.bundled = index.bundled.data();
    view.closed = closed;
    *handle = grid.release();
  });
}
GD_DESCRIBE(geodomain_grid_create);

GD_API void geodomain_grid_free(void* handle) { delete static_cast<BuiltGrid*>(handle); }
GD_DESCRIBE(geodomain_grid_free);

// The numbers of cells, entries, grids and long triangles of the index.
GD_API void geodomain_grid_size(const void* handle, std::int64_t* size) {
  const GridIndex& index = static_cast<const BuiltGrid*>(handle)->index;
  size[0] = index.cell_count;
  size[1] = index.entry_count;
  size[2] = static_cast<std::int64_t>(index.grids.size());
  size[3] = static_cast<std::int64_t>(index.bundled.size());
}
GD_DESCRIBE(geodomain_grid_size);

// The arrays of the index and their sizes in bytes (grids, slabs, lists, entries, bundles,
// bundled), for a copy to a device; they exist as long as the handle.
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
GD_DESCRIBE(geodomain_grid_arrays);

// The functions below write a row of `out` for each point. `refused` is the first row that the
// arithmetic cannot decide, because of coordinates below its range, or -1.

// 1 inside, 0 not.
GD_API Status geodomain_grid_contains(const void* handle, const void* const* columns,
                                      const std::int64_t* strides, std::int64_t rows, int threads,
                                      std::uint8_t* out, std::int64_t* refused) {
  return answer(handle, columns, strides, rows, threads, refused, LabelPiece{out});
}
GD_DESCRIBE(geodomain_grid_contains);

// The index of the first grid that contains the point, -1 for none, -2 for a point that is not
// finite.
GD_API Status geodomain_grid_codes(const void* const* handles, std::int32_t handle_count,
                                   const void* const* columns, const std::int64_t* strides,
                                   std::int64_t rows, int threads, std::int32_t* out,
                                   std::int64_t* refused) {
  return guarded([&] {
    FloatGuard guard;  // the same rounding for points and boxes
    const BoxCull cull(reaches(handles, handle_count));
    return answer(
        nullptr, columns, strides, rows, threads, refused,
        [&](const GridView*, const PointsView& points, std::int64_t begin, std::int64_t end,
            LowestRow& first) { code_piece(handles, cull, points, begin, end, out, first); });
  });
}
GD_DESCRIBE(geodomain_grid_codes);

// Crossings above the displaced point; with `with_sign`, the sum of their signs.
GD_API Status geodomain_grid_crossings(const void* handle, const void* const* columns,
                                       const std::int64_t* strides, std::int64_t rows,
                                       int with_sign, int threads, std::int32_t* out,
                                       std::int64_t* refused) {
  return answer(handle, columns, strides, rows, threads, refused,
                [=](const GridView* grid, const PointsView& points, std::int64_t begin,
                    std::int64_t end, LowestRow& first) {
                  for (std::int64_t row = begin; row < end; ++row) {
                    const Crossings crossings = count_crossings(*grid, points[row]);
                    if (crossings.count < 0) first.keep(row);
                    out[row] = with_sign ? crossings.signed_count : crossings.count;
                  }
                });
}
GD_DESCRIBE(geodomain_grid_crossings);

// 1 if the point is exactly on a triangle, otherwise 0.
GD_API Status geodomain_grid_on_surface(const void* handle, const void* const* columns,
                                        const std::int64_t* strides, std::int64_t rows, int threads,
                                        std::uint8_t* out, std::int64_t* refused) {
  return answer(handle, columns, strides, rows, threads, refused,
                [out](const GridView* grid, const PointsView& points, std::int64_t begin,
                      std::int64_t end, LowestRow& first) {
                  for (std::int64_t row = begin; row < end; ++row) {
                    const Answer answer = on_surface(*grid, points[row]);
                    if (answer == Answer::undecided) first.keep(row);
                    out[row] = static_cast<std::uint8_t>(answer);
                  }
                });
}
GD_DESCRIBE(geodomain_grid_on_surface);

// Sets `is_lattice`; for a lattice also its axes, the fastest first, and their lengths.
GD_API Status geodomain_recognise(const void* const* columns, const std::int64_t* strides,
                                  std::int64_t rows, int threads, std::int64_t* axes,
                                  std::int64_t* counts, std::int32_t* is_lattice) {
  return guarded([&] {
    const PointsView points = points_view(columns, strides);
    LatticeOrder order;
    *is_lattice = 0;
    if (!guess_order(points, rows, order)) return;
    Team team(threads);
    if (!verify_order(points, rows, order, team)) return;
    for (int i = 0; i < 3; ++i) {
      axes[i] = order.axis[i];
      counts[i] = order.count[i];
    }
    *is_lattice = 1;
  });
}
GD_DESCRIBE(geodomain_recognise);
