// Sub-blocks on the CPU: finds the blocks that a mesh enters, where its sheets cut them, joins
// blocks, and shows that none overlap.
#include "volume/sub_blocks.h"

#include <memory>

#include "platform/c_function.h"
#include "platform/thread_team.h"

using namespace geodomain;

namespace {

Block block_of(const double* low, const double* high) {
  return {{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
}

}  // namespace

// A mesh, prepared for queries of blocks. The caller keeps the arrays.
GD_API Status geodomain_boundary_create(const double* vertices, const std::int32_t* triangles,
                                        std::int64_t triangle_count, void** handle) {
  return guarded([&] { *handle = new Boundary({vertices, triangles, triangle_count}); });
}
GD_DESCRIBE(geodomain_boundary_create);

GD_API void geodomain_boundary_free(void* handle) { delete static_cast<Boundary*>(handle); }
GD_DESCRIBE(geodomain_boundary_free);

// Sets `entered` to 1 if a triangle enters a block. Other blocks keep their value, and blocks that
// are already marked are not tested. Corners are (rows, 3); no triangle enters a block with NaN.
GD_API Status geodomain_boundary_enters(const void* handle, const double* lows, const double* highs,
                                        std::int64_t rows, int threads, std::uint8_t* entered) {
  return guarded([&] {
    const Boundary& boundary = *static_cast<const Boundary*>(handle);
    Team team(rows > 256 ? threads : 1);
    team.run(rows, 256, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (entered[i]) continue;
        const Block block = block_of(lows + 3 * i, highs + 3 * i);
        const bool sound =
            block.low.x < block.high.x && block.low.y < block.high.y && block.low.z < block.high.z;
        entered[i] = sound && boundary.enters_block(block);
      }
    });
  });
}
GD_DESCRIBE(geodomain_boundary_enters);

// The heights at which sheets cut blocks: their number for each block, and all heights, block after
// block, in an array that `geodomain_heights_free` frees.
GD_API Status geodomain_boundary_seams(const void* handle, const double* lows, const double* highs,
                                       std::int64_t rows, int threads, std::int64_t* counts,
                                       double** heights) {
  return guarded([&] {
    constexpr std::int64_t kGrain = 256;
    const Boundary& boundary = *static_cast<const Boundary*>(handle);
    std::vector<std::vector<double>> batches(
        static_cast<std::size_t>((rows + kGrain - 1) / kGrain));
    Team team(rows > kGrain ? threads : 1);
    team.run(rows, kGrain, [&](std::int64_t begin, std::int64_t end, int) {
      SeamFinder finder(boundary);
      std::vector<double> some;
      for (std::int64_t i = begin; i < end; ++i) {
        finder.find(block_of(lows + 3 * i, highs + 3 * i), some);
        counts[i] = static_cast<std::int64_t>(some.size());
        std::vector<double>& all = batches[static_cast<std::size_t>(i / kGrain)];
        all.insert(all.end(), some.begin(), some.end());
      }
    });
    std::size_t total = 0;
    for (const auto& some : batches) total += some.size();
    double* at = *heights = new double[total + 1];
    for (const auto& some : batches) at = std::copy(some.begin(), some.end(), at);
  });
}
GD_DESCRIBE(geodomain_boundary_seams);

GD_API void geodomain_heights_free(void* heights) { delete[] static_cast<double*>(heights); }
GD_DESCRIBE(geodomain_heights_free);

// Joins the boxes of each parent, from starts[p] to starts[p + 1]. `boxes`, (count, 6), are lows
// and highs; each joined box replaces the box at its first row. `owner`: the first row of the box
// that now contains each.
GD_API Status geodomain_join_boxes(const std::int64_t* starts, std::int64_t parents,
                                   std::int32_t* boxes, const std::int32_t* keys, int threads,
                                   std::int64_t* owner) {
  return guarded([&] {
    Team team(parents > 64 ? threads : 1);
    team.run(parents, 64, [&](std::int64_t begin, std::int64_t end, int) {
      BoxJoiner joiner;
      std::vector<JoinedBox> some;
      std::vector<std::int32_t> owners;
      for (std::int64_t parent = begin; parent < end; ++parent) {
        const std::int64_t from = starts[parent], count = starts[parent + 1] - from;
        some.clear();
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int32_t* box = boxes + 6 * (from + i);
          some.push_back({{box[0], box[1], box[2]},
                          {box[3], box[4], box[5]},
                          keys[from + i],
                          static_cast<std::int32_t>(i)});
        }
        joiner.join(some, owners);
        for (std::int64_t i = 0; i < count; ++i) {
          owner[from + i] = from + owners[static_cast<std::size_t>(i)];
        }
        for (const JoinedBox& box : some) {
          std::int32_t* out = boxes + 6 * (from + box.first);
          std::copy(box.low, box.low + 3, out);
          std::copy(box.high, box.high + 3, out + 3);
        }
      }
    });
  });
}
GD_DESCRIBE(geodomain_join_boxes);

// Fills the cells between planes with blocks, (rows, 6) centroids and sizes, until a cell is filled
// twice or a face is on no plane: `outcome` is 0 if neither occurs, 1 or 2, and the row. `planes`
// holds those of x, y and z, at least two of each, and `counts` their numbers; `filled` has a bit
// for each cell, all 0.
GD_API Status geodomain_fill_cells(const double* blocks, std::int64_t rows, const double* planes,
                                   const std::int64_t* counts, const double* slack,
                                   std::uint64_t* filled, std::int64_t* outcome) {
  return guarded([&] {
    const double* const axes[] = {planes, planes + counts[0], planes + counts[0] + counts[1]};
    CellFiller cells(axes, counts, slack, filled);
    Fill state = Fill::kOnce;
    std::int64_t row = -1;
    while (state == Fill::kOnce && ++row < rows) state = cells.fill(blocks + 6 * row);
    outcome[0] = static_cast<std::int64_t>(state);
    outcome[1] = row;
  });
}
GD_DESCRIBE(geodomain_fill_cells);
