// The CUDA face of lattices: one thread to a triangle, then one to a column.
#include "lattice.h"

using namespace geodomain;

extern "C" __global__ void geodomain_lattice_toggle(LatticeView lattice, MeshView mesh) {
  const std::int64_t index = thread_row();
  if (index >= mesh.triangle_count) return;
  toggle_crossings(lattice, mesh.triangle(index),
                   [](std::uint64_t* word, std::uint64_t toggled) { atomic_xor(word, toggled); });
}

extern "C" __global__ void geodomain_lattice_settle(LatticeView lattice) {
  const std::int64_t column = thread_row();
  if (column >= static_cast<std::int64_t>(lattice.x.count) * lattice.y.count) return;
  settle_column(lattice.bits + column * lattice.words, lattice.words);
}
