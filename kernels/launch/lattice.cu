// Lattices on the GPU: one thread for each triangle, then one for a few words. Pairs of a triangle
// and a column that quick arithmetic cannot decide are listed for the full arithmetic.
#include "lattice/toggle.h"
#include "platform/atomics.h"
#include "platform/warp.h"

using namespace geodomain;

// One thread for each triangle. If there are few triangles, several threads share the columns of
// each.
extern "C" __global__ void __launch_bounds__(kBlockThreads, 6)
    geodomain_lattice_toggle(LatticeView lattice, MeshView mesh, Pairings unsure) {
  __shared__ WarpTriangles warps[kBlockWarps];
  WarpTriangles& warp = warps[threadIdx.x / 32];
  const std::int64_t index = thread_row();
  Columns box = {0, 0, 0, 0};
  if (index < mesh.triangle_count) {
    const Triangle t = mesh.triangle(index);
    if (top(t) > lattice.z.value[0]) box = columns_of(lattice, t);
    if (gridDim.y > 1) box = share_of(box, lattice.y.count, blockIdx.y, gridDim.y);
    warp.triangle[lane()] = t;
  }
  warp.box[lane()] = box;
  sync_warp();
  Toggler{lattice, warp, unsure, static_cast<std::int32_t>(index) - lane()}.toggle();
}

extern "C" __global__ void geodomain_lattice_full(LatticeView lattice, MeshView mesh,
                                                  Pairings unsure, std::uint32_t* undecided) {
  const std::uint32_t count = *unsure.count < unsure.room ? *unsure.count : unsure.room;
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += step) {
    const Pairing pair = unsure.pairs[k];
    if (!toggle_column<Full>(lattice, mesh.triangle(pair.triangle), pair.i, pair.j, atomic_xor)) {
      *undecided = 1;
    }
  }
}

// Labels of a few columns, one for each lane, as rows of `row_bytes` bytes of bits.
extern "C" __global__ void geodomain_lattice_settle_few(LatticeView lattice, std::int32_t lanes,
                                                        std::uint8_t* rows,
                                                        std::int32_t row_bytes) {
  const Share share(lanes);
  settle_columns<1>(lattice, share,
                    [&](std::int64_t column, std::int32_t first, std::uint64_t word) {
                      const std::int32_t left = column < 0 ? 0 : row_bytes - 8 * first;
                      write_bits(share, word, rows + column * row_bytes + 8 * first, left);
                    });
}

// Labels as rows of `row_bytes` bytes of bits. `rows` may be the lattice's own bits, if the rows
// are whole words. `lanes` threads process kBitsInFlight columns.
extern "C" __global__ void __launch_bounds__(kBlockThreads, 8)
    geodomain_lattice_settle(LatticeView lattice, std::int32_t lanes, std::uint8_t* rows,
                             std::int32_t row_bytes) {
  const Share share(lanes);
  settle_columns<kBitsInFlight>(
      lattice, share, [&](std::int64_t column, std::int32_t first, std::uint64_t word) {
        const std::int32_t left = column < 0 ? 0 : row_bytes - 8 * first;
        write_bits(share, word, rows + column * row_bytes + 8 * first, left);
      });
}

// The same if a column has two words or more, but no more than lanes, and a row is not whole words.
extern "C" __global__ void __launch_bounds__(kBlockThreads, 8)
    geodomain_lattice_settle_tile(LatticeView lattice, std::int32_t lanes, std::uint8_t* rows,
                                  std::int32_t row_bytes) {
  __shared__ std::uint64_t tiles[kBlockWarps][kTileWords];
  settle_tile(lattice, Share(lanes), tiles[threadIdx.x / 32], rows, row_bytes);
}

// Labels as one byte for each block.
extern "C" __global__ void __launch_bounds__(kBlockThreads, 8)
    geodomain_lattice_settle_bytes(LatticeView lattice, std::int32_t lanes, std::uint8_t* blocks) {
  const Share share(lanes);
  const std::int32_t depth = lattice.z.count;
  settle_columns<kBytesInFlight>(
      lattice, share, [&](std::int64_t column, std::int32_t first, std::uint64_t word) {
        const std::int32_t left = column < 0 ? 0 : depth - 64 * first;
        write_bytes(share, word, blocks + column * depth + 64 * first, left);
      });
}
