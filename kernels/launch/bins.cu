// Sorts rows into bins on the GPU: each row gets a number in its bin, bins get space, and rows are
// stored there.
#include "bvh/bins.h"
#include "platform/bits.h"
#include "platform/loads.h"
#include "platform/mesh_view.h"
#include "platform/warp.h"

using namespace geodomain;

namespace {

// The rows of a warp that are in the same bin get their numbers by one atomic operation: if all
// rows are in one bin, single atomic operations would wait for each other. The whole warp calls
// together.
__device__ void draw(bool there, std::uint32_t bin, std::uint32_t* counts, BinTicket* ticket) {
  const std::uint32_t peers = same_in_warp(there ? bin : kNoBin);
  const int first = trailing_zeros(peers);
  std::uint32_t number = 0;
  if (there && lane() == first) {
    number = atomicAdd(counts + bin, static_cast<std::uint32_t>(count_bits(peers)));
  }
  number = static_cast<std::uint32_t>(shuffle(number, first));
  number += static_cast<std::uint32_t>(lanes_before(peers));
  if (there) *ticket = {bin, number};
}

}  // namespace

extern "C" __global__ void geodomain_bins_draw(Bins bins, const Segment* segments,
                                               std::uint32_t rows, std::uint32_t* counts,
                                               BinTicket* tickets) {
  const std::int64_t row = thread_row();
  const bool there = row < rows;
  draw(there, there ? bins.of(load_whole(segments + row)) : 0, counts, tickets + row);
}

extern "C" __global__ void geodomain_bins_draw_points(CurveBins bins, PointsView points,
                                                      std::uint32_t rows, std::uint32_t* counts,
                                                      BinTicket* tickets) {
  const std::int64_t row = thread_row();
  const bool there = row < rows;
  draw(there, there ? bins.of(points[row]) : 0, counts, tickets + row);
}

// The number of rows in the bins of a block.
extern "C" __global__ void geodomain_bins_add_up(std::uint32_t bins, const std::uint32_t* counts,
                                                 std::uint32_t* sums) {
  __shared__ std::uint32_t shared[kBlockWarps];
  const std::uint32_t begin = blockIdx.x * kBinsOfBlock;
  std::uint32_t mine = 0, whole;
  for (std::uint32_t i = threadIdx.x; i < kBinsOfBlock; i += kBlockThreads) {
    mine += begin + i < bins ? counts[begin + i] : 0;
  }
  scan_block(mine, shared, whole);
  if (threadIdx.x == 0) sums[blockIdx.x] = whole;
}

// Converts counts to first places, in the order of the bins.
extern "C" __global__ void geodomain_bins_begin(std::uint32_t bins, const std::uint32_t* sums,
                                                std::uint32_t* counts) {
  __shared__ std::uint32_t shared[kBlockWarps];
  std::uint32_t mine = 0, before, whole;
  for (std::uint32_t i = threadIdx.x; i < blockIdx.x; i += kBlockThreads) mine += sums[i];
  scan_block(mine, shared, before);
  const std::uint32_t begin = blockIdx.x * kBinsOfBlock;
  for (std::uint32_t i = begin + threadIdx.x; i < begin + kBinsOfBlock; i += kBlockThreads) {
    const std::uint32_t count = i < bins ? counts[i] : 0;
    const std::uint32_t first = before + scan_block(count, shared, whole);
    if (i < bins) counts[i] = first;
    before += whole;
  }
}

// order[first place of the row's bin + its number] = row
extern "C" __global__ void geodomain_bins_order(const BinTicket* tickets, std::uint32_t rows,
                                                const std::uint32_t* firsts, std::uint32_t* order) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const BinTicket ticket = tickets[row];
  order[firsts[ticket.bin] + ticket.number] = static_cast<std::uint32_t>(row);
}
