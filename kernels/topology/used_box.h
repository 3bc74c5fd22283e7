// The box of the vertices that triangles use. It is that of all vertices where triangles use those
// that touch its sides, six at most; otherwise each vertex gets a mark.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <mutex>

#include "platform/mesh_view.h"
#include "platform/thread_team.h"

namespace geodomain {

inline Bounds no_box() {
  const double infinity = std::numeric_limits<double>::infinity();
  return {{infinity, infinity, infinity}, {-infinity, -infinity, -infinity}};
}

inline Vec3 vertex_at(const double* vertices, std::int64_t row) {
  const double* v = vertices + 3 * row;
  return {v[0], v[1], v[2]};
}

// The box of all vertices, put together piece by piece, and vertices that touch its sides.
class TouchedBox {
 public:
  static constexpr int kSides = 6;

  explicit TouchedBox(std::int64_t grain) : grain_(grain) {}

  // The box of the piece from `begin` on; members of a team call this.
  void join(const Bounds& part, std::int64_t begin) {
    std::lock_guard<std::mutex> lock(mutex_);
    Bounds wider = box_;
    widen(wider, part);
    for (int side = 0; side < kSides; ++side) {
      if (of(wider, side) != of(box_, side)) pieces_[side] = begin;
    }
    box_ = wider;
  }

  // Once all are joined: which vertices touch the sides.
  void find(const double* vertices, std::int64_t count) {
    for (int side = 0; side < kSides; ++side) {
      const std::int64_t end = pieces_[side] + grain_ < count ? pieces_[side] + grain_ : count;
      for (std::int64_t row = pieces_[side]; row < end && rows_[side] < 0; ++row) {
        const Vec3 p = vertex_at(vertices, row);
        if (of({p, p}, side) == of(box_, side)) rows_[side] = static_cast<std::int32_t>(row);
      }
    }
  }

  // Notes which of them are among these corners; members of a team call this.
  void look(const std::int32_t* corners, std::int64_t count) {
    std::uint32_t same[kSides] = {};
    for (std::int64_t i = 0; i < count; ++i) {
      for (int side = 0; side < kSides; ++side) same[side] |= corners[i] == rows_[side] ? 1u : 0u;
    }
    std::uint32_t seen = 0;
    for (int side = 0; side < kSides; ++side) seen |= same[side] << side;
    seen_.fetch_or(seen, std::memory_order_relaxed);
  }

  bool all_used() const { return seen_.load() == (1u << kSides) - 1; }
  const Bounds& box() const { return box_; }

 private:
  static double of(const Bounds& box, int side) {
    const double sides[kSides] = {box.low.x,  box.low.y,  box.low.z,
                                  box.high.x, box.high.y, box.high.z};
    return sides[side];
  }

  std::int64_t grain_;
  std::mutex mutex_;
  Bounds box_ = no_box();
  std::int64_t pieces_[kSides] = {};
  std::int32_t rows_[kSides] = {-1, -1, -1, -1, -1, -1};
  std::atomic<std::uint32_t> seen_{0};
};

// The same box by marks; indices that name no vertex count for nothing.
inline Bounds marked_box(const double* vertices, std::int64_t vertex_count,
                         const std::int32_t* triangles, std::int64_t triangle_count, Team& team,
                         std::int64_t grain) {
  // Several threads may store the same 1.
  const std::unique_ptr<std::atomic<std::uint8_t>[]> used(
      new std::atomic<std::uint8_t>[static_cast<std::size_t>(vertex_count)]());
  team.run(3 * triangle_count, grain, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<std::uint32_t>(triangles[i]);
      if (index < static_cast<std::uint64_t>(vertex_count)) {
        used[index].store(1, std::memory_order_relaxed);
      }
    }
  });
  Bounds box = no_box();
  std::mutex mutex;
  team.run(vertex_count, grain, [&](std::int64_t begin, std::int64_t end, int) {
    Bounds part = no_box();
    for (std::int64_t row = begin; row < end; ++row) {
      if (!used[static_cast<std::size_t>(row)].load(std::memory_order_relaxed)) continue;
      const Vec3 p = vertex_at(vertices, row);
      widen(part, {p, p});
    }
    std::lock_guard<std::mutex> lock(mutex);
    widen(box, part);
  });
  return box;
}

}  // namespace geodomain
