// Whether every edge belongs to an even number of triangles, without sorting.
//
// Each undirected edge is hashed to 128 bits, and the hashes are combined by xor. Edges used an
// even number of times cancel; for any other mesh the result is zero by accident about once in
// 2^128. A sum of hashes, with the sign of the edge's direction, is zero in the same way if the
// directed uses cancel. Xor and addition do not depend on the order, so neither does the result.
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

  // Adds edges side by side, in a loop whose body does not branch: several at once. An edge with
  // two equal ends adds nothing.
  void edges(const std::uint32_t* from, const std::uint32_t* to, int count) {
    EdgeHash sum;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t a = from[i], b = to[i];
      const std::uint64_t key = (a < b ? a : b) << 32 | (a < b ? b : a);
      const std::uint64_t used = 0 - std::uint64_t{a != b};
      const std::uint64_t sign = 0 - std::uint64_t{a > b};  // x ^ sign - sign = +-x
      for (int half = 0; half < 2; ++half) {
        const std::uint64_t mix =
            mixed(key + (half ? 0x9e3779b97f4a7c15u : 0x3c6ef372fe94f82au)) & used;
        sum.parity[half] ^= mix;
        sum.balance[half] += (mix ^ sign) - sign;
      }
    }
    join(sum);
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

// The edges of triangles, collected until there are enough for a loop.
class EdgeBlock {
 public:
  // A triangle with two equal vertices has one edge in both directions, which
  // cancels in both sums, so it needs no test.
  void triangle(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::uint32_t corners[4] = {a, b, c, a};
    for (int k = 0; k < 3; ++k) {
      from_[count_ + k] = corners[k];
      to_[count_ + k] = corners[k + 1];
    }
    count_ += 3;
    if (count_ == kSize) add();
  }

  // The hash of all edges.
  const EdgeHash& hash() {
    add();
    return hash_;
  }

 private:
  static constexpr int kSize = 3 * 128;

  void add() {
    hash_.edges(from_, to_, count_);
    count_ = 0;
  }

  EdgeHash hash_;
  std::uint32_t from_[kSize], to_[kSize];
  int count_ = 0;
};

}  // namespace geodomain
