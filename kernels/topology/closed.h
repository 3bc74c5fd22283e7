// Whether every edge belongs to an even number of triangles, without sorting.
//
// Each undirected edge is mixed to 128 bits and the mixes are xored: what is used
// an even number of times cancels, and a sum of others is zero by accident about
// once in 2^128. The mixes added with the sign of the direction cancel in the
// same way where the directed uses do. Xor and addition have no order, so neither
// has the answer.
#pragma once

#include "platform/mesh_view.h"

namespace geodomain {

// Stafford's variant 13 of the MurmurHash3 finaliser, as in SplitMix64 (Steele,
// Lea and Flood, 2014): every input bit reaches every output bit.
GD_HD std::uint64_t mixed(std::uint64_t key) {
  key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
  key = (key ^ key >> 27) * 0x94d049bb133111ebu;
  return key ^ key >> 31;
}

struct EdgeHash {
  std::uint64_t parity[2] = {0, 0};   // zero: every edge is used an even number of times
  std::uint64_t balance[2] = {0, 0};  // zero: directed uses cancel

  GD_HD void edge(std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    const bool forward = from < to;
    const std::uint64_t key =
        forward ? std::uint64_t{from} << 32 | to : std::uint64_t{to} << 32 | from;
    const std::uint64_t sign = forward ? 0 : ~std::uint64_t{0};  // x ^ sign - sign = +-x
    for (int half = 0; half < 2; ++half) {
      const std::uint64_t mix = mixed(key + (half ? 0x9e3779b97f4a7c15u : 0x3c6ef372fe94f82au));
      parity[half] ^= mix;
      balance[half] += (mix ^ sign) - sign;
    }
  }

  // A triangle with two equal vertices has one edge there and back, which
  // cancels in both sums: it is left out by itself.
  GD_HD void triangle(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    edge(a, b);
    edge(b, c);
    edge(c, a);
  }

  GD_HD void join(const EdgeHash& other) {
    for (int half = 0; half < 2; ++half) {
      parity[half] ^= other.parity[half];
      balance[half] += other.balance[half];
    }
  }

  GD_HD bool closed() const { return (parity[0] | parity[1]) == 0; }
  GD_HD bool balanced() const { return (balance[0] | balance[1]) == 0; }
};

}  // namespace geodomain
