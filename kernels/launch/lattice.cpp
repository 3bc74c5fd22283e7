// Lattices on the CPU: loops over triangles and columns.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "lattice/expand.h"
#include "lattice/look_up.h"
#include "lattice/recognise.h"
#include "platform/atomics.h"
#include "platform/c_function.h"
#include "platform/float_guard.h"
#include "platform/thread_team.h"

using namespace geodomain;

// Labels as bits: `bits` is (nx, ny, ceil(nz / 64)) words, which the caller has set to zero. The
// axes must be strictly increasing, finite and not empty. Returns 2 if a block could not be
// decided, because of coordinates below the range of the arithmetic.
GD_API Status geodomain_lattice_contains(const double* vertices, std::int64_t vertex_count,
                                         const std::int32_t* triangles, std::int64_t triangle_count,
                                         const double* const* values, const std::int64_t* counts,
                                         std::uint64_t* bits, int threads) {
  return guarded([&] {
    FloatGuard guard;  // tables and searches must round alike
    const RulerTable x(values[0], counts[0]), y(values[1], counts[1]), z(values[2], counts[2]);
    const LatticeView lattice = {x.view(), y.view(), z.view(),
                                 static_cast<std::int32_t>((counts[2] + 63) / 64), bits};
    const MeshView mesh = {vertices, triangles, triangle_count};
    std::atomic<bool> undecided{false};
    Team team(threads);
    const std::unique_ptr<ColumnPlace[]> places(
        new ColumnPlace[static_cast<std::size_t>(vertex_count)]);
    team.run(vertex_count, 8192, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        places[i] = place_of(lattice.x, lattice.y, mesh.vertex(static_cast<std::int32_t>(i)));
      }
    });
    team.run(triangle_count, 2048, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t k = begin; k < end; ++k) {
        const Columns box = columns_of(mesh, places.get(), k);
        if (box.empty()) continue;
        const Triangle t = mesh.triangle(k);
        visit_columns(lattice, t, box, [&](std::int32_t i, std::int32_t j) {
          if (!toggle_column<Full>(lattice, t, i, j, atomic_xor)) undecided = true;
        });
      }
    });
    team.run(counts[0] * counts[1], 4096, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        settle_column(bits + i * lattice.words, lattice.words);
      }
    });
    return undecided ? kUndecided : kDone;
  });
}
GD_DESCRIBE(geodomain_lattice_contains);

// The bytes to allocate for the rulers of axes: the values, and for each axis a search table with
// at most two cells for each value and one more.
GD_API std::int64_t geodomain_rulers_room(const std::int64_t* counts, std::int64_t number) {
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < number; ++i) {
    const auto tables = static_cast<std::int64_t>(2 * sizeof(std::int32_t));
    bytes += counts[i] * (static_cast<std::int64_t>(sizeof(double)) + tables) + tables;
  }
  return bytes;
}
GD_DESCRIBE(geodomain_rulers_room);

// Rulers of axes for a device. `image` is to be copied to its memory at `address`: the values of
// each axis and, if needed, its search table. It has space for geodomain_rulers_room bytes; `bytes`
// is the number used.
GD_API Status geodomain_rulers(const double* const* axes, const std::int64_t* counts,
                               std::int64_t number, std::uint64_t address, Ruler* rulers,
                               char* image, std::int64_t* bytes) {
  return guarded([&] {
    FloatGuard guard;
    std::uint64_t used = 0;
    const auto put = [&](const void* from, std::size_t size) {
      std::memcpy(image + used, from, size);
      const std::uint64_t at = address + used;
      used += (size + 7) / 8 * 8;
      return at;
    };
    for (std::int64_t i = 0; i < number; ++i) {
      const RulerTable table(axes[i], counts[i]);
      const auto& first = table.first();
      rulers[i] = table.view();
      rulers[i].value = reinterpret_cast<const double*>(
          put(axes[i], sizeof(double) * static_cast<std::size_t>(counts[i])));
      if (first.empty()) continue;
      rulers[i].first = reinterpret_cast<const std::int32_t*>(
          put(first.data(), sizeof(std::int32_t) * first.size()));
    }
    *bytes = static_cast<std::int64_t>(used);
  });
}
GD_DESCRIBE(geodomain_rulers);

// Expands bits to one byte for each block, in `room`. ranks[a] (may be null), counts[a],
// strides[a]: the axes of the result, with or without gaps; `rulers`: the numbers of distinct
// coordinates.
GD_API Status geodomain_lattice_expand(const std::uint64_t* bits, const std::int64_t* rulers,
                                       const std::int32_t* const* ranks, const std::int64_t* counts,
                                       const std::int64_t* strides, void* room, int threads) {
  return guarded([&] {
    auto* const out = static_cast<std::uint8_t*>(room);
    const OutputAxis x = {ranks[0], counts[0], strides[0]}, y = {ranks[1], counts[1], strides[1]},
                     z = {ranks[2], counts[2], strides[2]};
    const std::int64_t words = (rulers[2] + 63) / 64;
    const auto column = [&](std::int64_t i, std::int64_t j) {
      return bits + (x.at(i) * rulers[1] + y.at(j)) * words;
    };
    Team team(threads);
    if (z.stride == 1 && !z.rank) {
      team.run(x.count * y.count, 1024, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t c = begin; c < end; ++c) {
          const std::int64_t i = c / y.count, j = c % y.count;
          expand_column(column(i, j), z.count, out + i * x.stride + j * y.stride);
        }
      });
      return;
    }
    // Rows of x for one word of z at a time: collected once, then written as runs.
    const std::int64_t blocks = (z.count + 63) / 64;
    team.run(y.count * blocks, 4, [&](std::int64_t begin, std::int64_t end, int) {
      std::vector<std::uint64_t> row(static_cast<std::size_t>(x.count));
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t j = task % y.count, k0 = task / y.count * 64;
        const std::int64_t k1 = k0 + 64 < z.count ? k0 + 64 : z.count;
        for (std::int64_t i = 0; i < x.count; ++i) row[i] = gather_word(column(i, j), z, k0, k1);
        for (std::int64_t k = k0; k < k1; ++k) {
          expand_row(row.data(), x, static_cast<int>(k - k0), out + j * y.stride + k * z.stride);
        }
      }
    });
  });
}
GD_DESCRIBE(geodomain_lattice_expand);

// Copies results of cells to rows: `values` and `bits` as for geodomain_lattice_contains, the
// crossings of whole lines, (nx, ny), or null, and the mesh's box, low and high.
GD_API Status geodomain_lattice_look_up(const void* const* columns, const std::int64_t* strides,
                                        std::int64_t rows, const double* const* values,
                                        const std::int64_t* counts, std::uint64_t* bits,
                                        const std::uint8_t* crossings, const double* box,
                                        std::uint8_t* out, int threads) {
  return guarded([&] {
    FloatGuard guard;
    const RulerTable x(values[0], counts[0]), y(values[1], counts[1]), z(values[2], counts[2]);
    const LatticeAnswers answers = {
        {x.view(), y.view(), z.view(), static_cast<std::int32_t>((counts[2] + 63) / 64), bits},
        crossings,
        {{box[0], box[1], box[2]}, {box[3], box[4], box[5]}}};
    const PointsView points = points_view(columns, strides);
    Team(threads).run(rows, 16384, [&](std::int64_t begin, std::int64_t end, int) {
      answers.answer(points, begin, end, out);
    });
  });
}
GD_DESCRIBE(geodomain_lattice_look_up, 6);

// Marks the cells of centroids, and adds to `again` the number of cells that were already marked.
// Returns the number of processed rows: all, or the rows before the first one without a cell.
GD_API std::int64_t geodomain_mark_blocks(const void* const* columns, const std::int64_t* strides,
                                          std::int64_t rows, const double* starts,
                                          const double* cells_per_unit, const std::int64_t* firsts,
                                          const std::int64_t* counts, double* const* values,
                                          std::uint8_t* bits, std::int64_t* again) {
  FloatGuard guard;
  const auto axis = [&](int a) {
    return AxisCells{starts[a], cells_per_unit[a], static_cast<double>(firsts[a]),
                     static_cast<double>(counts[a]), values[a]};
  };
  return mark_blocks(points_view(columns, strides), rows, axis(0), axis(1), axis(2), bits, *again);
}
GD_DESCRIBE(geodomain_mark_blocks);
