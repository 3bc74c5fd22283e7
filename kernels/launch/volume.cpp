// Volumes and shares on the CPU: loops over triangles, columns and blocks.
#include <atomic>
#include <memory>

#include "lattice/recognise.h"
#include "platform/arithmetic.h"
#include "platform/bits.h"
#include "platform/c_function.h"
#include "platform/float_guard.h"
#include "platform/mesh_view.h"
#include "platform/thread_team.h"
#include "topology/box_tree.h"
#include "topology/self_crossings.h"
#include "volume/block_lines.h"
#include "volume/overlay.h"

using namespace geodomain;

namespace {

struct HostBlocks {
  MeshView mesh;
  BoxTree tree;
  BoxTree rim;  // of edges, without bounds along z
  const double* edges;

  BlocksView view() const { return {mesh, tree.view(), rim.view(), edges}; }
};

BoxTree tree_of(const MeshView& mesh) {
  std::vector<BoxTree::Leaf> leaves(static_cast<std::size_t>(mesh.triangle_count));
  for (std::int32_t i = 0; i < mesh.triangle_count; ++i) {
    leaves[static_cast<std::size_t>(i)] = {box_of(mesh.triangle(i)), i};
  }
  return BoxTree(std::move(leaves));
}

BoxTree tree_of_rim(const double* edges, std::int64_t count) {
  std::vector<BoxTree::Leaf> leaves(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; ++i) {
    leaves[static_cast<std::size_t>(i)] = {box_of(edge_in_plan(edges + 6 * i)), i};
  }
  return BoxTree(std::move(leaves));
}

// The answer along n x n lines; with `below`, for a surface that covers the block's plan completely
// or not at all.
BlockAnswer share_by_lines(BlockLines& along, const Block& block, int n, Inside rule, bool below,
                           double& share) {
  along.take(block, below);
  if (below && !along.is_covered()) return kOffRim;
  share = minimum(maximum(along.along_lines(n, rule), 0.0), 1.0);
  return kByLines;
}

}  // namespace

// Shares of the blocks between the edges, (nx, ny, nz); at the end they are doubles. `weights`: the
// weight of each triangle, 0 to ignore it. `labels`: bits of blocks, (nx, ny, words), for the
// blocks that no triangle enters. `mixed` is the number of the other blocks.
GD_API Status geodomain_shares_lattice(const double* vertices, const std::int32_t* triangles,
                                       std::int64_t triangle_count, const std::int8_t* weights,
                                       const double* const* edges, const std::int64_t* counts,
                                       const std::uint64_t* labels, std::uint64_t* shares,
                                       int threads, std::int64_t* mixed) {
  return guarded([&] {
    FloatGuard guard;  // tables and searches must round alike
    const RulerTable x(edges[0], counts[0]), y(edges[1], counts[1]), z(edges[2], counts[2]);
    const std::int64_t columns = (counts[0] - 1) * (counts[1] - 1);
    const auto words = static_cast<std::int32_t>((counts[2] - 1 + 63) / 64);
    const std::unique_ptr<std::uint64_t[]> entered(
        new std::uint64_t[static_cast<std::size_t>(columns * words)]());
    const auto layers = static_cast<std::int32_t>(counts[0] - 1);
    const ShareLattice lattice = {x.view(),      y.view(), z.view(), shares,
                                  entered.get(), words,    0,        layers};
    const MeshView mesh = {vertices, triangles, triangle_count};
    Team team(threads);
    team.run(columns, 1024, [&](std::int64_t begin, std::int64_t end, int) {
      std::fill(shares + begin * lattice.layers(), shares + end * lattice.layers(), 0);
    });
    team.run(triangle_count, 512, [&](std::int64_t begin, std::int64_t end, int) {
      visit_triangles(mesh, begin, end, [&](const Triangle& t, std::int64_t i) {
        if (weights[i] != 0) Shedder(lattice, t, weights[i]).shed();
      });
    });
    std::atomic<std::int64_t> total{0};
    team.run(columns, 1024, [&](std::int64_t begin, std::int64_t end, int) {
      std::int64_t here = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        settle_shares(lattice, labels, i);
        for (std::int32_t k = 0; k < words; ++k) here += count_bits(entered[i * words + k]);
      }
      total += here;
    });
    *mixed = total;
  });
}
GD_DESCRIBE(geodomain_shares_lattice);

// Finds the triangles that cross another one of their group, as in `SelfCrossings`, and writes them
// to `crossed`, (t,), which the caller has set to zero. `bounds`, (2, 3), contain all triangles;
// `parted`, (v,), comes from `geodomain_vertex_fans`.
GD_API Status geodomain_self_crossings(const double* vertices, const std::int32_t* triangles,
                                       std::int64_t triangle_count, const double* bounds,
                                       const std::int32_t* group, const std::uint8_t* parted,
                                       int threads, std::uint8_t* crossed) {
  return guarded([&] {
    FloatGuard guard;
    Team team(threads);
    const MeshView mesh = {vertices, triangles, triangle_count};
    const Bounds box = {{bounds[0], bounds[1], bounds[2]}, {bounds[3], bounds[4], bounds[5]}};
    const SelfCrossings crossings(mesh, box, group, parted, team);
    Mutex mutex;
    team.run(crossings.group_count(), 4, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t group = begin; group < end; ++group) {
        crossings.visit_group(group, [&](std::int32_t a, std::int32_t b) {
          const Lock lock(mutex);
          crossed[a] = crossed[b] = 1;
        });
      }
    });
  });
}
GD_DESCRIBE(geodomain_self_crossings);

// The index for queries of blocks off a lattice. `edges`: (edge_count, 2, 3), the rim of an open
// surface. The caller keeps the arrays.
GD_API Status geodomain_blocks_create(const double* vertices, const std::int32_t* triangles,
                                      std::int64_t triangle_count, const double* edges,
                                      std::int64_t edge_count, void** handle) {
  return guarded([&] {
    const MeshView mesh = {vertices, triangles, triangle_count};
    *handle = new HostBlocks{mesh, tree_of(mesh), tree_of_rim(edges, edge_count), edges};
  });
}
GD_DESCRIBE(geodomain_blocks_create);

GD_API void geodomain_blocks_free(void* handle) { delete static_cast<HostBlocks*>(handle); }
GD_DESCRIBE(geodomain_blocks_free);

// The trees of a handle, which owns them: of the triangles, and of the rim's edges; `counts`: their
// numbers of leaves.
GD_API void geodomain_blocks_trees(const void* handle, BoxTreeView* trees, std::int64_t* counts) {
  const HostBlocks& blocks = *static_cast<const HostBlocks*>(handle);
  trees[0] = blocks.tree.view(), trees[1] = blocks.rim.view();
  counts[0] = blocks.tree.leaf_count(), counts[1] = blocks.rim.leaf_count();
}
GD_DESCRIBE(geodomain_blocks_trees);

// The sign of each triangle's projection, or 0 if the projection is a line.
GD_API void geodomain_projection_signs(const double* vertices, const std::int32_t* triangles,
                                       std::int64_t triangle_count, std::int8_t* signs) {
  FloatGuard guard;
  const MeshView mesh = {vertices, triangles, triangle_count};
  for (std::int64_t i = 0; i < triangle_count; ++i) {
    const Triangle t = mesh.triangle(i);
    signs[i] = static_cast<std::int8_t>(orient2d(t.a.x, t.a.y, t.b.x, t.b.y, t.c.x, t.c.y));
  }
}
GD_DESCRIBE(geodomain_projection_signs);

// Shares of the blocks from lows to highs, (rows, 3), that a triangle enters; others are unchanged.
// `weights` may be null: then all blocks are sampled along n x n lines. With `single`, a block is
// sampled if the triangles do not cover its plan exactly once, within `single`.
GD_API Status geodomain_blocks_shares(const void* handle, const std::int8_t* weights,
                                      const double* lows, const double* highs, std::int64_t rows,
                                      std::int32_t inside, std::int32_t lines, double single,
                                      int threads, double* out, std::uint8_t* answers) {
  return guarded([&] {
    const BlocksView blocks = static_cast<const HostBlocks*>(handle)->view();
    const auto rule = static_cast<Inside>(inside);
    Team team(rows > 64 ? threads : 1);
    team.run(rows, 64, [&](std::int64_t begin, std::int64_t end, int) {
      BlockLines along(blocks);
      for (std::int64_t i = begin; i < end; ++i) {
        const Block block = block_between(lows + 3 * i, highs + 3 * i);
        BlockAnswer answer = first_answer(blocks, block);
        if (answer == kByLines && weights) {
          answer = by_triangles(blocks, weights, block, single, out[i]);
        }
        if (answer == kByLines) {
          answer = share_by_lines(along, block, lines, rule, single > 0.0, out[i]);
        }
        answers[i] = answer;
      }
    });
  });
}
GD_DESCRIBE(geodomain_blocks_shares, 1);

// The same for blocks whose plans the surface certainly covers, whatever rims cross them.
GD_API Status geodomain_blocks_covered(const void* handle, const std::int8_t* weights,
                                       const double* lows, const double* highs, std::int64_t rows,
                                       std::int32_t lines, double single, int threads, double* out,
                                       std::uint8_t* answers) {
  return guarded([&] {
    const BlocksView blocks = static_cast<const HostBlocks*>(handle)->view();
    Team team(rows > 64 ? threads : 1);
    team.run(rows, 64, [&](std::int64_t begin, std::int64_t end, int) {
      BlockLines along(blocks);
      for (std::int64_t i = begin; i < end; ++i) {
        const Block block = block_between(lows + 3 * i, highs + 3 * i);
        double share = out[i];
        BlockAnswer answer = by_triangles(blocks, weights, block, single, share);
        if (answer == kByLines) {
          answer = share_by_lines(along, block, lines, Inside::odd, true, share);
        } else if (!is_entered(blocks, block)) {
          answer = kByLabel;
        }
        if (answer != kByLabel) out[i] = share;
        answers[i] = answer;
      }
    });
  });
}
GD_DESCRIBE(geodomain_blocks_covered);

// The volume common to several bodies in each block from lows to highs, (rows, 3): for each set of
// two or more of the `count` handles, its share of the block, in `common`, (rows, 2^count), at the
// index of the set's bits. Other entries are unchanged.
GD_API Status geodomain_blocks_common(const void* const* handles, const std::int8_t* const* weights,
                                      std::int32_t count, const double* lows, const double* highs,
                                      std::int64_t rows, int threads, double* common) {
  return guarded([&] {
    std::vector<Overlay::Body> bodies;
    for (std::int32_t i = 0; i < count; ++i) {
      bodies.push_back({static_cast<const HostBlocks*>(handles[i])->view(), weights[i]});
    }
    Team team(rows > 16 ? threads : 1);
    team.run(rows, 16, [&](std::int64_t begin, std::int64_t end, int) {
      Overlay overlay(bodies);
      for (std::int64_t i = begin; i < end; ++i) {
        overlay.find(block_between(lows + 3 * i, highs + 3 * i), common + (i << count));
      }
    });
  });
}
GD_DESCRIBE(geodomain_blocks_common);

namespace {

// The crossings of vertical lines through blocks: for each line, their numbers above and below the
// block, and their positions inside it, from the top down.
struct Lines {
  struct Task {  // the lines of some blocks, in their order
    std::vector<double> heights;
    std::vector<std::int8_t> signs;
  };
  std::vector<Task> tasks;
};

constexpr std::int64_t kLineBlocks = 8;  // of a task

}  // namespace

// The positions of the n x n lines in a block's plan, as fractions of its sides, (n * n, 2).
GD_API Status geodomain_line_places(std::int32_t n, double* places) {
  return guarded([&] {
    FloatGuard guard;
    double* next = places;
    for (const LinePlace& at : line_places(n)) *next++ = at.x, *next++ = at.y;
  });
}
GD_DESCRIBE(geodomain_line_places);

// The crossings of n x n lines through each block; lines_take returns them. `counts`, (rows * n *
// n, 4) int32, has for each line the crossings above the block, the sum of their signs, the
// crossings inside, and those below, which are counted only on request. `total`: all crossings
// inside.
GD_API Status geodomain_blocks_lines(const void* handle, const double* lows, const double* highs,
                                     std::int64_t rows, std::int32_t n, std::int32_t with_below,
                                     int threads, std::int32_t* counts, std::int64_t* total,
                                     void** lines) {
  return guarded([&] {
    const BlocksView blocks = static_cast<const HostBlocks*>(handle)->view();
    auto result = std::make_unique<Lines>();
    result->tasks.resize(static_cast<std::size_t>((rows + kLineBlocks - 1) / kLineBlocks));
    Team team(rows > kLineBlocks ? threads : 1);
    team.run(rows, kLineBlocks, [&](std::int64_t begin, std::int64_t end, int) {
      Lines::Task& task = result->tasks[static_cast<std::size_t>(begin / kLineBlocks)];
      BlockLines along(blocks);
      std::int32_t* count = counts + 4 * begin * n * n;
      for (std::int64_t i = begin; i < end; ++i) {
        const double *low = lows + 3 * i, *high = highs + 3 * i;
        const double roof = high[2] - low[2];
        along.take(block_between(low, high), with_below != 0);
        along.visit_lines(n, [&](const std::vector<BlockLines::Crossing>& crossings) {
          count[0] = count[1] = count[2] = count[3] = 0;
          for (const BlockLines::Crossing& crossing : crossings) {
            if (crossing.height >= roof) {
              ++count[0], count[1] += crossing.sign;
            } else if (crossing.height > 0.0) {
              ++count[2];
              task.heights.push_back(crossing.height);
              task.signs.push_back(static_cast<std::int8_t>(crossing.sign));
            } else {
              ++count[3];
            }
          }
          count += 4;
        });
      }
    });
    *total = 0;
    for (const Lines::Task& task : result->tasks) {
      *total += static_cast<std::int64_t>(task.heights.size());
    }
    *lines = result.release();
  });
}
GD_DESCRIBE(geodomain_blocks_lines);

// The heights above the floor of a block, and the signs, of the crossings that `blocks_lines`
// found; frees them.
GD_API void geodomain_lines_take(void* lines, double* heights, std::int8_t* signs) {
  const std::unique_ptr<Lines> result(static_cast<Lines*>(lines));
  for (const Lines::Task& task : result->tasks) {
    heights = std::copy(task.heights.begin(), task.heights.end(), heights);
    signs = std::copy(task.signs.begin(), task.signs.end(), signs);
  }
}
GD_DESCRIBE(geodomain_lines_take);
