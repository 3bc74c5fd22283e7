// The CUDA face of bins: each row draws a number in its bin, bins are given room, rows go there.
#include "bvh/bins.h"
#include "platform/bits.h"
#include "platform/loads.h"
#include "platform/warp.h"

using namespace geodomain;

// The rows of a warp that are in one bin draw together: rows that are all in one, where atomics
// would wait for each other, cost no more than others.
extern "C" __global__ void geodomain_bins_draw(Bins bins, const Segment* segments,
                                               std::uint32_t rows, std::uint32_t* counts,
                                               BinTicket* tickets) {
  const std::int64_t row = thread_row();
  const bool there = row < rows;
  const std::uint32_t bin = there ? bins.of(load_whole(segments + row)) : bins.count;
  const std::uint32_t peers = same_in_warp(bin);
  const int first = trailing_zeros(peers);
  std::uint32_t number = 0;
  if (there && lane() == first) {
    number = atomicAdd(counts + bin, static_cast<std::uint32_t>(count_bits(peers)));
  }
  number = static_cast<std::uint32_t>(shuffle(number, first));
  number += static_cast<std::uint32_t>(count_bits(peers & ((1u << lane()) - 1u)));
  if (there) tickets[row] = {bin, number};
}

// Counts become first places: of a warp's bins one after the other, of warps as they come.
extern "C" __global__ void geodomain_bins_begin(std::uint32_t bins, std::uint32_t* counts,
                                                std::uint32_t* taken) {
  const std::uint32_t begin = static_cast<std::uint32_t>(thread_row()) * kBinsOfThread;
  std::uint32_t own = 0;
  for (std::uint32_t i = begin; i < begin + kBinsOfThread; ++i) own += i < bins ? counts[i] : 0;
  std::uint32_t sum = own;
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t lower = shuffle_up(sum, step);
    if (lane() >= step) sum += lower;
  }
  std::uint32_t first = lane() == 31 ? atomicAdd(taken, sum) : 0;
  first = static_cast<std::uint32_t>(shuffle(first, 31)) + sum - own;
  for (std::uint32_t i = begin; i < begin + kBinsOfThread && i < bins; ++i) {
    const std::uint32_t count = counts[i];
    counts[i] = first;
    first += count;
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
