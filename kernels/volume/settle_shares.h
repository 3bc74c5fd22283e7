// Steps to shares by warps: the layers of a column among the lanes. On a GPU alone.
#pragma once

#include "platform/bits.h"
#include "platform/warp.h"
#include "volume/shares.h"

namespace geodomain {

// What a lane has, and all the higher lanes; the whole warp together.
__device__ inline std::uint64_t sum_down(std::uint64_t own) {
  for (int step = 1; step < 32; step *= 2) {
    const std::uint64_t higher = shuffle(own, (lane() + step) & 31);
    if (lane() + step < 32) own += higher;
  }
  return own;
}

// settle_shares of one column; returns how many of this lane's blocks a triangle enters.
__device__ inline std::uint32_t settle_by_warp(const ShareLattice& lattice,
                                               const std::uint64_t* labels, std::int64_t column) {
  std::uint64_t* steps = lattice.steps + column * lattice.layers();
  std::uint64_t above = 0;
  std::uint32_t mixed = 0;
  for (std::int32_t first = (lattice.layers() - 1) / 32 * 32; first >= 0; first -= 32) {
    const std::int32_t k = first + lane();
    const bool there = k < lattice.layers();
    const std::int64_t word = column * lattice.words + first / 64;
    const std::uint64_t entered = lattice.entered[word] >> k % 64, label = labels[word] >> k % 64;
    const std::uint64_t sum = sum_down(there ? steps[k] : 0) + above;
    above = shuffle(sum, 0);
    if (!there) continue;
    const double share = share_of_block(sum, entered & 1, label & 1);
    std::memcpy(steps + k, &share, sizeof share);
    mixed += entered & 1;
  }
  return mixed;
}

}  // namespace geodomain
