// Threads of a GPU: blocks, rows, exchange of values within a warp, and sums over a block.
#pragma once

#include <cstdint>

#include "platform/arithmetic.h"
#include "platform/portable.h"

namespace geodomain {

// Threads in a block, in every launch of one thread per row: the full arithmetic takes 255
// registers per thread.
constexpr int kBlockThreads = 128;
constexpr int kBlockWarps = kBlockThreads / 32;
constexpr int kRowsOfThread = 4;  // looked up by one thread, to have as many loads in flight

#if defined(__CUDACC__)
// The row of this thread, in a launch of one thread per row.
__device__ inline std::int64_t thread_row() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// Calls body(i) for i in [0, count), distributed over the threads of a launch.
template <class Body>
__device__ inline void share(std::uint32_t count, Body&& body) {
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t i = static_cast<std::uint64_t>(thread_row()); i < count; i += step) {
    body(static_cast<std::uint32_t>(i));
  }
}

// The threads of the warp with the same value, as bits; the whole warp calls together.
__device__ inline std::uint32_t same_in_warp(std::uint32_t value) {
  return __match_any_sync(0xffffffffu, value);
}

// A bit for each thread's vote; the whole warp calls together.
__device__ inline std::uint32_t ballot(bool vote) { return __ballot_sync(0xffffffffu, vote); }
__device__ inline int lane() { return threadIdx.x & 31; }
// The least of the lanes' numbers; the whole warp calls together.
__device__ inline std::uint32_t least_in_warp(std::uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(0xffffffffu, value);
#else
  for (int step = 16; step > 0; step /= 2) {
    const std::uint32_t other = __shfl_xor_sync(0xffffffffu, value, step);
    value = other < value ? other : value;
  }
  return value;
#endif
}
// The xor of the lanes' bits; the whole warp calls together.
__device__ inline std::uint32_t xor_in_warp(std::uint32_t bits) {
#if __CUDA_ARCH__ >= 800
  return __reduce_xor_sync(0xffffffffu, bits);
#else
  for (int step = 16; step > 0; step /= 2) bits ^= __shfl_xor_sync(0xffffffffu, bits, step);
  return bits;
#endif
}
// The or of the lanes' bits; the whole warp calls together.
__device__ inline std::uint32_t or_in_warp(std::uint32_t bits) {
#if __CUDA_ARCH__ >= 800
  return __reduce_or_sync(0xffffffffu, bits);
#else
  for (int step = 16; step > 0; step /= 2) bits |= __shfl_xor_sync(0xffffffffu, bits, step);
  return bits;
#endif
}
// The number of votes of lanes below this one.
__device__ inline int lanes_before(std::uint32_t votes) {
  return __popc(votes & ((1u << lane()) - 1u));
}
// Makes the warp's writes to shared memory visible to all its lanes.
__device__ inline void sync_warp() { __syncwarp(); }
// The value of the lane `step` below; the whole warp calls together.
__device__ inline std::uint32_t shuffle_up(std::uint32_t value, int step) {
  return __shfl_up_sync(0xffffffffu, value, static_cast<unsigned>(step));
}
// The lower half of two halves shifted down together by up to 32 bits.
__device__ inline std::uint32_t moved_down(std::uint32_t low, std::uint32_t high,
                                           std::uint32_t bits) {
  return __funnelshift_rc(low, high, bits);
}
// The value of the lane `from`; the whole warp calls together.
__device__ inline std::uint32_t shuffle(std::uint32_t value, int from) {
  return __shfl_sync(0xffffffffu, value, from);
}
__device__ inline double shuffle(double value, int from) {
  return __shfl_sync(0xffffffffu, value, from);
}
// The word of the lane `from`; the whole warp calls together.
__device__ inline std::uint64_t shuffle(std::uint64_t word, int from) {
  return __shfl_sync(0xffffffffu, static_cast<unsigned long long>(word), from);
}
#endif

// Sums over the threads of a block.

#if defined(__CUDACC__)
// The sum over the threads before this one, and the total. The whole block calls
// together, and `shared` has room for one number per warp.
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
