// Crossings of triangles and columns found by warps: what a lane's triangle may cross is dealt out
// to all the lanes, and so are the crossings, since some triangles have many and most have none.
#pragma once

#include "lattice/lattice.h"
#include "lattice/pairings.h"
#include "platform/atomics.h"
#include "platform/bits.h"
#include "platform/warp.h"

namespace geodomain {

// What a warp shares: its triangles, one to a lane, and crossings that wait for 32 to be together.
struct WarpTriangles {
  struct Crossing {
    std::int32_t owner;  // the lane of the triangle; ~lane where the sign is negative
    std::int32_t i, j;
  };
  Triangle triangle[32];
  Columns box[32];
  Crossing crossing[63];
};

// Quick arithmetic on the triangles from `first` on, one to a lane, whose boxes are there.
struct Toggler {
  const LatticeView& lattice;
  WarpTriangles& warp;
  const Pairings& unsure;
  std::int32_t first;
  int waiting = 0;  // crossings

  // Deals out the columns of narrow triangles, and the rows of wide ones, in the order of lanes.
  __device__ void toggle() {
    const Columns box = warp.box[lane()];
    const std::int32_t rows = box.empty() ? 0 : box.j1 - box.j0;
    const auto parts = static_cast<std::uint32_t>(is_wide(box) ? rows : rows * (box.i1 - box.i0));
    std::uint32_t end = parts;  // of this lane's among all
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t below = shuffle_up(end, step);
      if (lane() >= step) end += below;
    }
    const std::uint32_t all = shuffle(end, 31);
    for (std::uint32_t begin = 0; begin < all; begin += 32) {
      const std::uint32_t at = begin + static_cast<std::uint32_t>(lane());
      int owner = 0;  // the first lane whose parts end beyond
      for (int step = 16; step > 0; step /= 2) {
        if (shuffle(end, owner + step - 1) <= at) owner += step;
      }
      const std::uint32_t start = shuffle(end - parts, owner);
      cross(owner, at - start, at < all);
    }
    drain();
  }

 private:
  __device__ void cross(int owner, std::uint32_t part, bool there) {
    const Triangle& t = warp.triangle[owner];
    const Columns box = warp.box[owner];
    const auto row = static_cast<std::int32_t>(row_of(part, box));
    const std::int32_t j = box.j0 + row;
    const std::int32_t i = box.i0 + static_cast<std::int32_t>(part) - row * (box.i1 - box.i0);
    Run run = {i, there ? i : i - 1};
    if (there && is_wide(box)) run = column_run(lattice, t, box, j);
    for (std::int32_t k = run.i0; ballot(k <= run.i1) != 0; ++k) {
      int sign = 0;
      if (k <= run.i1) {
        sign = crossing_sign<Quick>(t, lattice.x.value[k], lattice.y.value[j]);
        if (sign == kUnsure) unsure.append({first + owner, k, j});
      }
      keep({sign > 0 ? owner : ~owner, k, j}, sign == 1 || sign == -1);
    }
  }

  // A division, but for the widths that there are.
  __device__ static std::uint32_t row_of(std::uint32_t part, const Columns& box) {
    switch (box.i1 - box.i0) {
      case 2:
        return part / 2;
      case 3:
        return part / 3;
      case kNarrow:
        return part / kNarrow;
      default:
        return part;
    }
  }

  __device__ void keep(const WarpTriangles::Crossing& crossing, bool there) {
    const std::uint32_t all = ballot(there);
    const int below = count_bits(all & ((1u << lane()) - 1));
    if (there) warp.crossing[waiting + below] = crossing;
    waiting += count_bits(all);
    sync_warp();
    if (waiting < 32) return;
    drain();
    sync_warp();
  }

  // Takes up to 32 of the crossings that wait, the last ones.
  __device__ void drain() {
    const int count = waiting < 32 ? waiting : 32;
    waiting -= count;
    if (lane() >= count) return;
    const WarpTriangles::Crossing c = warp.crossing[waiting + lane()];
    const int owner = c.owner < 0 ? ~c.owner : c.owner;
    const int sign = c.owner < 0 ? -1 : 1;
    if (!toggle_below<Quick>(lattice, warp.triangle[owner], sign, c.i, c.j, atomic_xor)) {
      unsure.append({first + owner, c.i, c.j});
    }
  }
};

}  // namespace geodomain
