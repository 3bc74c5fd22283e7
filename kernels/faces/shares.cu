// The CUDA face of shares on a lattice: a thread to a triangle and a column that it may meet, then
// a warp to some columns. Sums are of integers, so that their order does not matter.
#include "platform/atomics.h"
#include "platform/warp.h"
#include "volume/settle_shares.h"

using namespace geodomain;

// How many columns each triangle may meet.
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

// One of so many pairs of a triangle and a column; a triangle's begin at its start.
extern "C" __global__ void __launch_bounds__(kBlockThreads, 3)
    geodomain_shares_shed(ShareLattice lattice, MeshView mesh, const std::int8_t* weights,
                          const std::uint64_t* starts, std::uint64_t pairs) {
  const auto place = static_cast<std::uint64_t>(thread_row());
  if (place >= pairs) return;
  const std::int64_t owner = owner_of(starts, mesh.triangle_count, place);
  Shedder(lattice, mesh.triangle(owner), weights[owner])
      .shed_part(static_cast<std::int64_t>(place - starts[owner]));
}

// Steps to shares; `labels` are bits of blocks, as `entered` is. `mixed`: blocks that a triangle
// enters.
extern "C" __global__ void geodomain_shares_settle(ShareLattice lattice,
                                                   const std::uint64_t* labels,
                                                   std::uint64_t* mixed) {
  const std::int64_t begin = thread_row() / 32 * kColumnsOfWarp, columns = lattice.columns();
  std::uint32_t found = 0;
  for (std::int64_t i = begin; i < begin + kColumnsOfWarp && i < columns; ++i) {
    found += settle_by_warp(lattice, labels, i);
  }
  for (int step = 16; step > 0; step /= 2) found += shuffle(found, lane() ^ step);
  if (lane() == 0 && found != 0) atomic_add(mixed, std::uint64_t{found});
}
