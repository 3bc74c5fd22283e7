// The bodies of a mesh: triangles that hang together by vertices. Members of a team join them
// at the same time; what hangs together does not depend on who joins first.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "platform/thread_team.h"

namespace geodomain {

class Bodies {
 public:
  explicit Bodies(std::int64_t vertex_count)
      : up_(new std::atomic<std::uint32_t>[static_cast<std::size_t>(vertex_count)]()),
        vertex_count_(vertex_count) {}

  // Three corners that hang together.
  void join(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::uint32_t up = up_[a].load(std::memory_order_relaxed);
    if (up != 0 && up == up_[b].load(std::memory_order_relaxed) &&
        up == up_[c].load(std::memory_order_relaxed)) {
      return;
    }
    join(join(a, b), c);
  }

  // found: how many bodies, and how many vertices that have been joined.
  void count(Team& team, std::int64_t grain, std::int64_t* found) const {
    std::atomic<std::int64_t> bodies{0}, vertices{0};
    team.run(vertex_count_, grain, [&](std::int64_t begin, std::int64_t end, int) {
      std::int64_t roots = 0, used = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::uint32_t up = up_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed);
        used += up != 0;
        roots += up == static_cast<std::uint32_t>(i) + 1;
      }
      bodies += roots;
      vertices += used;
    });
    found[0] = bodies;
    found[1] = vertices;
  }

 private:
  // Returns the root of both, as it is then.
  std::uint32_t join(std::uint32_t a, std::uint32_t b) {
    for (;;) {
      a = root(a);
      b = root(b);
      if (a == b) return a;
      if (a < b) std::swap(a, b);
      std::uint32_t alone = a + 1;
      if (up_[a].compare_exchange_weak(alone, b + 1, std::memory_order_relaxed)) return b;
    }
  }

  // Upwards is towards lower indices, so that no cycle can close.
  std::uint32_t root(std::uint32_t vertex) {
    for (;;) {
      std::uint32_t up = up_[vertex].load(std::memory_order_relaxed);
      if (up == 0 && up_[vertex].compare_exchange_strong(up, vertex + 1)) return vertex;
      if (up == vertex + 1) return vertex;
      const std::uint32_t above = up_[up - 1].load(std::memory_order_relaxed);
      if (above != up) up_[vertex].compare_exchange_weak(up, above, std::memory_order_relaxed);
      vertex = above - 1;
    }
  }

  // Of each vertex, one more than another of its body, or than itself; 0 where it is in none.
  std::unique_ptr<std::atomic<std::uint32_t>[]> up_;
  std::int64_t vertex_count_;
};

}  // namespace geodomain
