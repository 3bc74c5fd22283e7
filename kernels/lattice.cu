// The CUDA face of lattices: one thread to a triangle, then one to a column. The
// pairs of triangle and column that quick arithmetic is unsure of are listed for
// the full one.
#include "lattice.h"

using namespace geodomain;

namespace {

struct Pairing {
  std::int32_t triangle, i, j;
};

}  // namespace

extern "C" __global__ void geodomain_lattice_toggle(LatticeView lattice, MeshView mesh,
                                                    Pairing* unsure, std::uint32_t* unsure_count,
                                                    std::uint32_t unsure_room) {
  const std::int64_t index = thread_row();
  if (index >= mesh.triangle_count) return;
  const Triangle t = mesh.triangle(index);
  visit_columns(lattice, t, [&](std::int32_t i, std::int32_t j) {
    if (toggle_column<Quick>(lattice, t, i, j, atomic_xor)) return;
    const std::uint32_t slot = atomicAdd(unsure_count, 1u);
    if (slot < unsure_room) unsure[slot] = {static_cast<std::int32_t>(index), i, j};
  });
}

extern "C" __global__ void geodomain_lattice_full(LatticeView lattice, MeshView mesh,
                                                  const Pairing* unsure,
                                                  const std::uint32_t* unsure_count,
                                                  std::uint32_t unsure_room,
                                                  std::uint32_t* undecided) {
  const std::uint32_t count = *unsure_count < unsure_room ? *unsure_count : unsure_room;
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += step) {
    const Pairing pair = unsure[k];
    if (!toggle_column<Full>(lattice, mesh.triangle(pair.triangle), pair.i, pair.j, atomic_xor)) {
      *undecided = 1;
    }
  }
}

// `lanes` threads to a column.
extern "C" __global__ void geodomain_lattice_settle(LatticeView lattice, std::int32_t lanes) {
  const std::int64_t column = thread_row() / lanes;
  const bool there = column < static_cast<std::int64_t>(lattice.x.count) * lattice.y.count;
  settle_columns(there ? lattice.bits + column * lattice.words : nullptr, lattice.words, lanes);
}
