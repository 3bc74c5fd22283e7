// Sums over the threads of a block.
#pragma once

#include "platform/warp.h"

namespace geodomain {

#if defined(__CUDACC__)
// The sum of what the threads before this one have, and the whole sum. The whole block adds up
// together, and `shared` has room for a number of each warp.
__device__ inline std::uint32_t scan_block(std::uint32_t mine, std::uint32_t* shared,
                                           std::uint32_t& whole) {
  std::uint32_t sum = mine;
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t lower = shuffle_up(sum, step);
    if (lane() >= step) sum += lower;
  }
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (lane() == 31) shared[warp] = sum;
  __syncthreads();
  std::uint32_t before = 0;
  whole = 0;
  for (int w = 0; w < kBlockWarps; ++w) {
    if (w < warp) before += shared[w];
    whole += shared[w];
  }
  __syncthreads();
  return before + sum - mine;
}
#endif

}  // namespace geodomain
