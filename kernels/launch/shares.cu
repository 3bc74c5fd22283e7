// Shares of blocks on a lattice, on the GPU: one thread for each triangle in each column that it
// may meet, then one warp for some columns. Sums are integers, so they do not depend on the order.
#include "platform/atomics.h"
#include "platform/bits.h"
#include "platform/warp.h"
#include "volume/shares.h"

// Converts steps to shares by warps, with one lane for each layer of a column.

namespace geodomain {

// The sum of this lane's value and those of all higher lanes; the whole warp calls together.
__device__ inline std::uint64_t sum_down(std::uint64_t own) {
  for (int step = 1; step < 32; step *= 2) {
    const std::uint64_t higher = shuffle(own, (lane() + step) & 31);
    if (lane() + step < 32) own += higher;
  }
  return own;
}

// Like settle_shares for one column; returns the number of this lane's blocks that a triangle
// enters.
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

using namespace geodomain;

// The number of columns that each triangle may meet.
extern "C" __global__ void geodomain_shares_count(ShareLattice lattice, MeshView mesh,
                                                  const std::int8_t* weights,
                                                  std::uint64_t* counts) {
  const std::int64_t i = thread_row();
  if (i >= mesh.triangle_count) return;
  std::uint64_t count = 0;
  if (weights[i] != 0) {
    count = static_cast<std::uint64_t>(Shedder(lattice, mesh.triangle(i), weights[i]).part_count());
  }
  counts[i] = count;
}

// Processes one of the pairs of a triangle and a column; the pairs of a triangle begin at its
// start.
extern "C" __global__ void __launch_bounds__(kBlockThreads, 3)
    geodomain_shares_shed(ShareLattice lattice, MeshView mesh, const std::int8_t* weights,
                          const std::uint64_t* starts, std::uint64_t pairs) {
  const auto place = static_cast<std::uint64_t>(thread_row());
  if (place >= pairs) return;
  const std::int64_t owner = owner_of(starts, mesh.triangle_count, place);
  Shedder(lattice, mesh.triangle(owner), weights[owner])
      .shed_part(static_cast<std::int64_t>(place - starts[owner]));
}

// Converts steps to shares. `labels` are bits of blocks, like `entered`. `mixed`: the number of
// blocks that a triangle enters.
extern "C" __global__ void geodomain_shares_settle(ShareLattice lattice,
                                                   const std::uint64_t* labels,
                                                   std::uint64_t* mixed) {
  const std::int64_t begin = thread_row() / 32 * kColumnsOfWarp, columns = lattice.columns();
  std::uint32_t count = 0;
  for (std::int64_t i = begin; i < begin + kColumnsOfWarp && i < columns; ++i) {
    count += settle_by_warp(lattice, labels, i);
  }
  for (int step = 16; step > 0; step /= 2) count += shuffle(count, lane() ^ step);
  if (lane() == 0 && count != 0) atomic_add(mixed, std::uint64_t{count});
}
