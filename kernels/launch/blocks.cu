// Shares of blocks off a lattice on the GPU, with one thread for each block. Blocks that a triangle
// enters are listed, and the next kernel computes them from their triangles. The host computes
// blocks that need lines.
#include "platform/row_list.h"
#include "platform/warp.h"
#include "volume/block.h"

using namespace geodomain;

extern "C" __global__ void __launch_bounds__(kBlockThreads, 4)
    geodomain_blocks_answer(BlocksView blocks, const double* lows, const double* highs,
                            std::int64_t rows, std::uint8_t* answers, RowList entered) {
  const std::int64_t i = thread_row();
  if (i >= rows) return;
  const BlockAnswer answer = first_answer(blocks, block_between(lows + 3 * i, highs + 3 * i));
  answers[i] = answer;
  if (answer == kByLines) entered.append(static_cast<std::uint32_t>(i));
}

// Computes the shares of listed blocks; the number of blocks is on the device.
extern "C" __global__ void __launch_bounds__(kBlockThreads, 4)
    geodomain_blocks_share(BlocksView blocks, const std::int8_t* weights, const double* lows,
                           const double* highs, double single, const std::uint32_t* rows,
                           const std::uint32_t* row_count, double* shares, std::uint8_t* answers) {
  const std::uint32_t step = gridDim.x * blockDim.x, count = *row_count;
  for (std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += step) {
    const std::int64_t i = rows[k];
    const Block block = block_between(lows + 3 * i, highs + 3 * i);
    answers[i] = by_triangles(blocks, weights, block, single, shares[i]);
  }
}
