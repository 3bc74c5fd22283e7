// Edges that are used more than once in one direction, without a table of edges. Each vertex
// keeps 64 bits; an edge sets three of them at its lower end. One that finds all three set may be
// there already, and leaves its lower end in doubt: the edges of such vertices are compared.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "platform/thread_team.h"
#include "topology/proper.h"

namespace geodomain {

class Repeats {
 public:
  explicit Repeats(std::int64_t vertex_count)
      : seen_(static_cast<std::size_t>(vertex_count)),
        doubt_(static_cast<std::size_t>(vertex_count / 64 + 1)) {}

  // All triangles, by one thread. Nothing foretells which way an edge runs: no branch asks.
  void note(const ProperTriangles& rows, std::int64_t count) {
    std::uint32_t low[kRoom], high[kRoom];
    int held = 0;
    rows.visit(0, count, [&](const std::uint32_t* corner) {
      for (int k = 0; k < 3; ++k) {
        low[held] = corner[k];
        high[held] = corner[(k + 1) % 3];
        held += low[held] < high[held];
      }
      if (held <= kRoom - 3) return;
      note(low, high, held);
      held = 0;
    });
    note(low, high, held);
  }

  // How many uses are one too many, once all are noted.
  std::int64_t count(Team& team, const ProperTriangles& rows, std::int64_t count,
                     std::int64_t grain) const {
    std::vector<std::uint64_t> edges;
    std::mutex mutex;
    team.run(count, grain, [&](std::int64_t begin, std::int64_t end, int) {
      std::vector<std::uint64_t> part;
      rows.visit(begin, end, [&](const std::uint32_t* corner) {
        for (int k = 0; k < 3; ++k) {
          const std::uint32_t from = corner[k], to = corner[(k + 1) % 3];
          if ((from < to) & (doubt_[from / 64] >> from % 64))
            part.push_back(std::uint64_t{from} << 32 | to);
        }
      });
      std::lock_guard<std::mutex> lock(mutex);
      edges.insert(edges.end(), part.begin(), part.end());
    });
    std::sort(edges.begin(), edges.end());
    return edges.end() - std::unique(edges.begin(), edges.end());
  }

 private:
  static constexpr int kRoom = 512;
  static constexpr std::uint64_t kOne = 1;

  void note(const std::uint32_t* low, const std::uint32_t* high, int count) {
    for (int i = 0; i < count; ++i) {
      const std::uint64_t mix = high[i] * 0x9e3779b97f4a7c15u;
      const std::uint64_t bits =
          kOne << (mix >> 58) | kOne << (mix >> 52 & 63) | kOne << (mix >> 46 & 63);
      if ((bits & ~seen_[low[i]]) == 0) doubt_[low[i] / 64] |= kOne << low[i] % 64;
      seen_[low[i]] |= bits;
    }
  }

  std::vector<std::uint64_t> seen_, doubt_;  // 64 bits, and one bit, of each vertex
};

}  // namespace geodomain
