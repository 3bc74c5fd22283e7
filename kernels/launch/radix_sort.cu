// A stable sort of 64-bit keys with 32-bit values on a GPU, by eight bits at a time, the lowest
// first: count the digits of each tile, add them up, scatter. Each tile belongs to one block, whose
// threads sort `rounds` keys each. With few keys there are fewer rounds, so that many blocks have
// work.
#include "bvh/box_frame.h"
#include "platform/bits.h"
#include "platform/warp.h"

using namespace geodomain;

namespace {

constexpr std::uint32_t kBlock = kBlockThreads;
constexpr std::uint32_t kWarps = kBlockWarps;
static_assert(kDigits == 2 * kBlock, "two digits to a thread");

__device__ std::uint32_t digit_of(std::uint64_t key, std::uint32_t shift) {
  return static_cast<std::uint32_t>(key >> shift) & (kDigits - 1);
}

}  // namespace

// counts[digit * tiles + tile]
extern "C" __global__ void geodomain_radix_count(const std::uint64_t* keys, std::uint32_t count,
                                                 std::uint32_t rounds, std::uint32_t shift,
                                                 std::uint32_t* counts) {
  __shared__ std::uint32_t seen[kDigits];
  for (std::uint32_t d = threadIdx.x; d < kDigits; d += kBlock) seen[d] = 0;
  __syncthreads();
  const std::uint32_t begin = blockIdx.x * rounds * kBlock;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const std::uint32_t i = begin + round * kBlock + threadIdx.x;
    if (i < count) atomicAdd(&seen[digit_of(keys[i], shift)], 1u);
  }
  __syncthreads();
  for (std::uint32_t d = threadIdx.x; d < kDigits; d += kBlock) {
    counts[d * gridDim.x + blockIdx.x] = seen[d];
  }
}

// One block for each digit: its counts become sums over the tiles before, and their total.
extern "C" __global__ void geodomain_radix_add_up(std::uint32_t* counts, std::uint32_t tiles,
                                                  std::uint32_t* totals) {
  __shared__ std::uint32_t shared[kWarps];
  std::uint32_t* mine = counts + static_cast<std::uint64_t>(blockIdx.x) * tiles;
  std::uint32_t before = 0;
  for (std::uint32_t begin = 0; begin < tiles; begin += kBlock) {
    const std::uint32_t tile = begin + threadIdx.x;
    std::uint32_t whole;
    const std::uint32_t sum = scan_block(tile < tiles ? mine[tile] : 0, shared, whole);
    if (tile < tiles) mine[tile] = before + sum;
    before += whole;
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = before;
}

// Keys of a round keep their order: by warp, then by thread.
extern "C" __global__ void geodomain_radix_scatter(
    const std::uint64_t* keys, const std::int32_t* values, std::uint32_t count,
    std::uint32_t rounds, std::uint32_t shift, const std::uint32_t* counts,
    const std::uint32_t* totals, std::uint64_t* to_keys, std::int32_t* to_values) {
  __shared__ std::uint32_t shared[kWarps], place[kDigits], seen[kWarps][kDigits];
  const std::uint32_t low = 2 * threadIdx.x, first = totals[low];
  std::uint32_t whole;
  const std::uint32_t smaller = scan_block(first + totals[low + 1], shared, whole);
  place[low] = smaller + counts[low * gridDim.x + blockIdx.x];
  place[low + 1] = smaller + first + counts[(low + 1) * gridDim.x + blockIdx.x];
  const std::uint32_t warp = threadIdx.x / 32;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::uint32_t d = threadIdx.x; d < kWarps * kDigits; d += kBlock) (&seen[0][0])[d] = 0;
    __syncthreads();
    const std::uint32_t i = (blockIdx.x * rounds + round) * kBlock + threadIdx.x;
    const bool there = i < count;
    const std::uint64_t key = there ? keys[i] : 0;
    const std::uint32_t digit = there ? digit_of(key, shift) : kDigits;
    const std::uint32_t peers = same_in_warp(digit);
    const auto rank = static_cast<std::uint32_t>(lanes_before(peers));
    if (there && rank == 0) seen[warp][digit] = static_cast<std::uint32_t>(count_bits(peers));
    __syncthreads();
    if (there) {
      std::uint32_t to = place[digit] + rank;
      for (std::uint32_t w = 0; w < warp; ++w) to += seen[w][digit];
      to_keys[to] = key;
      to_values[to] = values[i];
    }
    __syncthreads();
    for (std::uint32_t d = threadIdx.x; d < kDigits; d += kBlock) {
      for (std::uint32_t w = 0; w < kWarps; ++w) place[d] += seen[w][d];
    }
    __syncthreads();
  }
}
