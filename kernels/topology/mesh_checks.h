// Checks a whole mesh: triangles of three different vertices, repeated edges, the sign of the
// volume, the box of used vertices, and vertex-connected bodies.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "platform/mesh_view.h"
#include "platform/thread_team.h"

namespace geodomain {

// The triangles with three different vertices, by index.

struct ProperTriangles {
  const std::int32_t* triangles;
  const std::int32_t*
      merged;  // which vertices are equal, or null if equal vertices have equal indices

  template <class Visit>
  void visit(std::int64_t begin, std::int64_t end, const Visit& corners) const {
    for (const std::int32_t* t = triangles + 3 * begin; t < triangles + 3 * end; t += 3) {
      std::uint32_t corner[3];
      for (int k = 0; k < 3; ++k) {
        corner[k] = static_cast<std::uint32_t>(merged ? merged[t[k]] : t[k]);
      }
      if (corner[0] == corner[1] || corner[1] == corner[2] || corner[2] == corner[0]) continue;
      corners(corner);
    }
  }
};

// Counts edges used more than once in one direction, without a table of edges. Each vertex has 64
// bits; an edge sets three of them at its lower end. An edge whose bits are set already may be a
// repetition: the edges of its lower end are then compared.

class Repeats {
 public:
  explicit Repeats(std::int64_t vertex_count)
      : seen_(static_cast<std::size_t>(vertex_count)),
        doubt_(static_cast<std::size_t>(vertex_count / 64 + 1)) {}

  // Marks all triangles, by one thread, without a branch on the unpredictable direction of edges.
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

  // The number of repeated uses, once all triangles are marked.
  std::int64_t count(Team& team, const ProperTriangles& rows, std::int64_t count,
                     std::int64_t grain) const {
    std::vector<std::uint64_t> edges;
    Mutex mutex;
    team.run(count, grain, [&](std::int64_t begin, std::int64_t end, int) {
      std::vector<std::uint64_t> part;
      rows.visit(begin, end, [&](const std::uint32_t* corner) {
        for (int k = 0; k < 3; ++k) {
          const std::uint32_t from = corner[k], to = corner[(k + 1) % 3];
          if ((from < to) & (doubt_[from / 64] >> from % 64))
            part.push_back(std::uint64_t{from} << 32 | to);
        }
      });
      const Lock lock(mutex);
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

  std::vector<std::uint64_t> seen_, doubt_;  // 64 bits, and one bit, for each vertex
};

// The sign of the enclosed volume, if doubles are certain of it.

// Six times the volume, and the summed magnitudes of its terms.
struct SignedVolume {
  double value = 0.0, size = 0.0;

  void add(Vec3 a, Vec3 b, Vec3 c) {
    const double rows[3][3] = {
        {a.x, b.y * c.z, b.z * c.y}, {a.y, b.z * c.x, b.x * c.z}, {a.z, b.x * c.y, b.y * c.x}};
    double term = 0.0;
    for (const auto& [height, left, right] : rows) {
      term += height * (left - right);
      size += std::fabs(height) * (std::fabs(left) + std::fabs(right));
    }
    value += term;
  }
};

// 0 if doubles cannot decide. The error of a term is below 16 units of its magnitude, that of the
// sum one more for each addend.
inline int volume_sign(const MeshView& mesh, Team& team) {
  if (mesh.triangle_count == 0) return 0;
  const Vec3 origin = mesh.vertex(mesh.triangles[0]);
  const auto seen = [&](Vec3 p) { return Vec3{p.x - origin.x, p.y - origin.y, p.z - origin.z}; };
  SignedVolume all;
  Mutex mutex;
  team.run(mesh.triangle_count, 8192, [&](std::int64_t begin, std::int64_t end, int) {
    SignedVolume part;
    visit_triangles(mesh, begin, end, [&](const Triangle& t, std::int64_t) {
      part.add(seen(t.a), seen(t.b), seen(t.c));
    });
    const Lock lock(mutex);
    all.value += part.value, all.size += part.size;
  });
  const double bound = all.size * 0x1p-52 * (16.0 + static_cast<double>(mesh.triangle_count));
  return all.value > bound ? 1 : all.value < -bound ? -1 : 0;
}

// The box of the vertices that triangles use. It equals the box of all vertices if triangles use
// the vertices that touch its sides, six at most; otherwise each vertex gets a mark.

inline Bounds no_box() {
  const double infinity = std::numeric_limits<double>::infinity();
  return {{infinity, infinity, infinity}, {-infinity, -infinity, -infinity}};
}

inline Vec3 vertex_at(const double* vertices, std::int64_t row) {
  const double* v = vertices + 3 * row;
  return {v[0], v[1], v[2]};
}

// The box of all vertices, joined piece by piece, and the vertices that touch its sides.
class TouchedBox {
 public:
  static constexpr int kSides = 6;

  explicit TouchedBox(std::int64_t grain) : grain_(grain) {}

  // Adds the box of the piece from `begin` on; members of a team call this.
  void join(const Bounds& part, std::int64_t begin) {
    const Lock lock(mutex_);
    Bounds wider = box_;
    widen(wider, part);
    for (int side = 0; side < kSides; ++side) {
      if (of(wider, side) != of(box_, side)) pieces_[side] = begin;
    }
    box_ = wider;
  }

  // Finds the vertices that touch the sides, once all pieces are joined.
  void find(const double* vertices, std::int64_t count) {
    for (int side = 0; side < kSides; ++side) {
      const std::int64_t end = pieces_[side] + grain_ < count ? pieces_[side] + grain_ : count;
      for (std::int64_t row = pieces_[side]; row < end && rows_[side] < 0; ++row) {
        const Vec3 p = vertex_at(vertices, row);
        if (of({p, p}, side) == of(box_, side)) rows_[side] = static_cast<std::int32_t>(row);
      }
    }
  }

  // Marks which of them are among these corners; members of a team call this.
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
  Mutex mutex_;
  Bounds box_ = no_box();
  std::int64_t pieces_[kSides] = {};
  std::int32_t rows_[kSides] = {-1, -1, -1, -1, -1, -1};
  std::atomic<std::uint32_t> seen_{0};
};

// The same box by marks; indices without a vertex are ignored.
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
  Mutex mutex;
  team.run(vertex_count, grain, [&](std::int64_t begin, std::int64_t end, int) {
    Bounds part = no_box();
    for (std::int64_t row = begin; row < end; ++row) {
      if (!used[static_cast<std::size_t>(row)].load(std::memory_order_relaxed)) continue;
      const Vec3 p = vertex_at(vertices, row);
      widen(part, {p, p});
    }
    const Lock lock(mutex);
    widen(box, part);
  });
  return box;
}

// Vertex-connected components. The threads of a team join vertices concurrently; the result
// does not depend on which joins first.

class Bodies {
 public:
  explicit Bodies(std::int64_t vertex_count)
      : up_(new std::atomic<std::uint32_t>[static_cast<std::size_t>(vertex_count)]()),
        vertex_count_(vertex_count) {}

  // Joins three corners.
  void join(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::uint32_t up = up_[a].load(std::memory_order_relaxed);
    if (up != 0 && up == up_[b].load(std::memory_order_relaxed) &&
        up == up_[c].load(std::memory_order_relaxed)) {
      return;
    }
    join(join(a, b), c);
  }

  // found: the number of bodies, and of vertices that have been joined.
  void count(Team& team, std::int64_t grain, std::int64_t* counts) const {
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
    counts[0] = bodies;
    counts[1] = vertices;
  }

 private:
  // Joins two vertices; returns their current root.
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

  // Parents have lower indices, so that no cycle can close.
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

  // For each vertex, 1 + its parent's index (its own for a root); 0 if it is in no body.
  std::unique_ptr<std::atomic<std::uint32_t>[]> up_;
  std::int64_t vertex_count_;
};

}  // namespace geodomain
