// Finds the components of a mesh, and the order of triangles about an edge. Host only.
#pragma once

#include <algorithm>
#include <vector>

#include "exact/contact.h"
#include "platform/mesh_view.h"

namespace geodomain {

// The triangles about one edge, sorted by angle, and paired as bounds of wedges of solid.

// A triangle about an edge.
struct FanTriangle {
  std::int32_t half;
  Vec3 apex;
  bool enters;  // solid begins behind it, as angles grow
  int level;    // equal for equal angles, ascending
};

inline bool lies_before(Vec3 a, Vec3 b) {
  if (a.x != b.x) return a.x < b.x;
  return a.y != b.y ? a.y < b.y : a.z < b.z;
}

// At one angle solid ends before it begins: bodies that share a wall do not overlap. Copies
// of one triangle are ordered by their indices, in the same way at all three edges.
inline bool comes_first(const FanTriangle& first, const FanTriangle& second) {
  if (first.enters != second.enters) return second.enters;
  if (!same_place(first.apex, second.apex)) return lies_before(first.apex, second.apex);
  return first.half / 3 < second.half / 3;
}

// Sorts `fan` about the edge from a to b by angle, from the first apex on; false if an apex is
// on its line. orient3d(a, b, apex, q) is positive at angles up to half a turn beyond apex.
inline bool sort_about_edge(Vec3 a, Vec3 b, std::vector<FanTriangle>& fan) {
  const Triangle zero = {a, b, fan[0].apex};
  const int axis = broad_axis(zero);
  if (axis < 0) return false;
  const int ahead = turn(a, b, zero.c, axis);
  for (FanTriangle& member : fan) {
    if (broad_axis({a, b, member.apex}) < 0) return false;
    // Sector: 0 at the angle 0, 1 up to half a turn, 2 at half a turn, 3 beyond.
    const int side = side_of_plane(zero, member.apex);
    const bool same = side == 0 && turn(a, b, member.apex, axis) == ahead;
    member.level = side > 0 ? 1 : side < 0 ? 3 : same ? 0 : 2;
  }
  const auto turned = [&](const FanTriangle& from, const FanTriangle& to) {
    if (from.level != to.level) return from.level < to.level ? 1 : -1;
    return side_of_plane({a, b, from.apex}, to.apex);
  };
  std::sort(fan.begin(), fan.end(), [&](const FanTriangle& first, const FanTriangle& second) {
    const int sign = turned(first, second);
    return sign != 0 ? sign > 0 : comes_first(first, second);
  });
  std::vector<int> levels(fan.size(), 0);
  for (std::size_t i = 1; i < fan.size(); ++i) {
    levels[i] = levels[i - 1] + (turned(fan[i - 1], fan[i]) != 0);
  }
  for (std::size_t i = 0; i < fan.size(); ++i) fan[i].level = levels[i];
  return true;
}

// How many wedges contain the first angle, if some angle about the edge is in none.
inline int wedges_at_start(const std::vector<FanTriangle>& fan) {
  int depth = 0, least = 0;
  for (const FanTriangle& member : fan) least = std::min(least, depth += member.enters ? 1 : -1);
  return -least;
}

// Whether different triangles begin, or end, at one angle.
inline bool matters(const std::vector<FanTriangle>& fan) {
  for (std::size_t i = 1; i < fan.size(); ++i) {
    const FanTriangle &before = fan[i - 1], &after = fan[i];
    if (before.level == after.level && before.enters == after.enters &&
        !same_place(before.apex, after.apex)) {
      return true;
    }
  }
  return false;
}

// Wedges nest like brackets on a circle. Of wedges that begin, or end, at one angle the first
// is the innermost, so copies of a body pair copy by copy.
template <class Pair>
void pair_wedges(const std::vector<FanTriangle>& fan, Pair&& pair) {
  const std::size_t count = fan.size();
  int depth = 0, least = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < count; ++i) {
    depth += fan[i].enters ? 1 : -1;
    if (depth < least) {
      least = depth;
      first = i + 1;
    }
  }
  const auto member = [&](std::size_t i) -> const FanTriangle& { return fan[(first + i) % count]; };
  std::vector<std::int32_t> open;
  for (std::size_t i = 0; i < count;) {
    if (!member(i).enters) {
      pair(open.back(), member(i++).half);
      open.pop_back();
      continue;
    }
    std::size_t next = i + 1;
    while (next < count && member(next).enters && member(next).level == member(i).level) ++next;
    for (std::size_t back = next; back-- > i;) open.push_back(member(back).half);
    i = next;
  }
}

// Edge-connected components of a mesh. Where more than two triangles meet at an edge, the two that
// bound the same wedge of solid are connected: bodies that share an edge, a wall, or all their
// points remain separate.

// Half-edge 3 t + k runs from corner k of triangle t to the next one, opposite corner k + 2.
constexpr std::int32_t kNobody = -1;

struct Components {
  std::vector<std::int32_t> component;  // of each triangle; kNobody if two corners are equal
  std::vector<std::int32_t> partner;  // of each half-edge: the other side of its wedge, or kNobody
  std::vector<std::int32_t> group;    // of each half-edge: its edge among `starts`, or kNobody
  std::vector<std::int32_t> starts;   // where each edge of more than two uses begins in `uses`
  std::vector<std::int32_t> uses;     // half-edges
  std::int32_t count = 0;
  bool closed = true,
       balanced = true;  // for every edge; like topology/closed.h, but without hashing
  bool simple() const { return closed && balanced && count <= 1 && uses.empty(); }
};

class PieceFinder {
 public:
  // Indices must be equal if, and only if, their vertices are.
  PieceFinder(const MeshView& mesh, std::int64_t vertex_count)
      : mesh_(mesh), vertex_count_(static_cast<std::size_t>(vertex_count)) {}

  Components find() {
    const std::size_t triangles = static_cast<std::size_t>(mesh_.triangle_count);
    parent_.resize(triangles);
    for (std::size_t i = 0; i < triangles; ++i) parent_[i] = static_cast<std::int32_t>(i);
    out_.partner.assign(3 * triangles, kNobody);
    gather();
    link_plain_edges();
    if (!out_.uses.empty()) link_shared_edges();
    number();
    return std::move(out_);
  }

 private:
  static constexpr int kRounds = 256;
  struct End {
    std::int32_t high, half;
  };
  std::int32_t vertex(std::int32_t half, int step) const {
    return mesh_.triangles[half / 3 * 3 + (half % 3 + step) % 3];
  }
  bool forward(std::int32_t half) const { return vertex(half, 0) < vertex(half, 1); }

  std::int32_t root(std::int32_t triangle) {
    while (parent_[static_cast<std::size_t>(triangle)] != triangle) {
      std::int32_t& up = parent_[static_cast<std::size_t>(triangle)];
      up = parent_[static_cast<std::size_t>(up)];
      triangle = up;
    }
    return triangle;
  }
  void join(std::int32_t a, std::int32_t b) {
    a = root(a);
    b = root(b);
    parent_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  }
  void pair(std::int32_t a, std::int32_t b) {
    out_.partner[static_cast<std::size_t>(a)] = b;
    out_.partner[static_cast<std::size_t>(b)] = a;
    join(a / 3, b / 3);
  }

  // Groups half-edges by their lower vertex, which has about three.
  void gather() {
    const std::int32_t halves = static_cast<std::int32_t>(3 * mesh_.triangle_count);
    start_.assign(vertex_count_ + 1, 0);
    const auto each = [&](auto&& visit) {
      for (std::int32_t half = 0; half < halves; ++half) {
        const std::int32_t a = vertex(half, 0), b = vertex(half, 1);
        if (a != b && b != vertex(half, 2) && vertex(half, 2) != a) {
          visit(half, std::min(a, b), std::max(a, b));
        }
      }
    };
    each([&](std::int32_t, std::int32_t low, std::int32_t) {
      ++start_[static_cast<std::size_t>(low) + 1];
    });
    for (std::size_t i = 1; i < start_.size(); ++i) start_[i] += start_[i - 1];
    ends_.resize(start_.back());
    std::vector<std::uint32_t> next(start_.begin(), start_.end() - 1);
    each([&](std::int32_t half, std::int32_t low, std::int32_t high) {
      ends_[next[static_cast<std::size_t>(low)]++] = {high, half};
    });
  }

  void link_plain_edges() {
    for (std::size_t i = 0; i < vertex_count_; ++i) {
      End* const end = ends_.data() + start_[i + 1];
      End* begin = ends_.data() + start_[i];
      std::sort(begin, end, [](const End& a, const End& b) {
        return a.high != b.high ? a.high < b.high : a.half < b.half;
      });
      while (begin < end) {
        End* stop = begin + 1;
        while (stop < end && stop->high == begin->high) ++stop;
        link_plain_edge(begin, stop);
        begin = stop;
      }
    }
    out_.starts.push_back(static_cast<std::int32_t>(out_.uses.size()));
  }

  void link_plain_edge(const End* begin, const End* end) {
    int balance = 0;
    for (const End* use = begin; use < end; ++use) balance += forward(use->half) ? 1 : -1;
    out_.balanced &= balance == 0;
    out_.closed &= (end - begin) % 2 == 0;
    if (end - begin == 2 && balance == 0) return pair(begin[0].half, begin[1].half);
    if (end - begin == 2) return join(begin[0].half / 3, begin[1].half / 3);
    if (end - begin == 1) return;
    out_.starts.push_back(static_cast<std::int32_t>(out_.uses.size()));
    for (const End* use = begin; use < end; ++use) out_.uses.push_back(use->half);
  }

  // Triangles known to be connected form a patch: where a patch's own uses of an edge cancel they
  // are paired among themselves, and only the rest is paired across patches. So each edge that is
  // settled may settle others. Edges where the choice between triangles at one angle matters wait
  // until nothing else is left; then the first of them is decided, and so on.
  void link_shared_edges() {
    out_.group.assign(out_.partner.size(), kNobody);
    std::vector<std::size_t> open(out_.starts.size() - 1);
    for (std::size_t edge = 0; edge < open.size(); ++edge) {
      open[edge] = edge;
      for (std::int32_t i = out_.starts[edge]; i < out_.starts[edge + 1]; ++i) {
        out_.group[static_cast<std::size_t>(out_.uses[static_cast<std::size_t>(i)])] =
            static_cast<std::int32_t>(edge);
      }
    }
    bool sorted = false;
    for (int round = 0; !open.empty(); ++round) {
      const std::size_t before = open.size();
      const auto settled = [&](std::size_t edge) { return settle(edge, round >= kRounds); };
      open.erase(std::remove_if(open.begin(), open.end(), settled), open.end());
      if (open.empty() || open.size() < before) continue;
      if (!sorted) {
        std::sort(open.begin(), open.end(), [&](std::size_t edge, std::size_t other) {
          return edge_lies_before(edge, other);
        });
        sorted = true;
      }
      settle(open[0], true);
      open.erase(open.begin());
    }
  }

  // Compares by coordinates, so that neither the order of triangles nor that of vertices matters.
  bool edge_lies_before(std::size_t edge, std::size_t other) const {
    double places[2][6];
    for (int which = 0; which < 2; ++which) {
      const std::int32_t half =
          out_.uses[static_cast<std::size_t>(out_.starts[which ? other : edge])];
      const Vec3 a = mesh_.vertex(vertex(half, 0)), b = mesh_.vertex(vertex(half, 1));
      const bool swap = lies_before(b, a);
      const Vec3 first = swap ? b : a, last = swap ? a : b;
      const double place[6] = {first.x, first.y, first.z, last.x, last.y, last.z};
      std::copy(place, place + 6, places[which]);
    }
    return std::lexicographical_compare(places[0], places[0] + 6, places[1], places[1] + 6);
  }
  // Pairs the uses of an edge; false if that has to wait. If directions do not cancel, or
  // a triangle has no area, no wedge is solid: all are merged and none has a partner.
  bool settle(std::size_t edge, bool whatever) {
    const std::int32_t* const begin = out_.uses.data() + out_.starts[edge];
    const std::int32_t* const end = out_.uses.data() + out_.starts[edge + 1];
    const Vec3 a = mesh_.vertex(std::min(vertex(*begin, 0), vertex(*begin, 1)));
    const Vec3 b = mesh_.vertex(std::max(vertex(*begin, 0), vertex(*begin, 1)));
    int balance = 0;
    std::vector<FanTriangle> all;
    for (const std::int32_t* half = begin; half < end; ++half) {
      balance += forward(*half) ? 1 : -1;
      all.push_back({*half, mesh_.vertex(vertex(*half, 2)), forward(*half), 0});
    }
    if (balance != 0 || !sort_about_edge(a, b, all)) {
      for (const std::int32_t* half = begin; half < end; ++half) join(*begin / 3, *half / 3);
      return true;
    }
    const std::vector<std::vector<FanTriangle>> groups = by_patch(all);
    int open = 0;
    for (const std::vector<FanTriangle>& group : groups) open += wedges_at_start(group);
    // If all angles are in one wedge more than necessary, the patches do not bound these wedges.
    const bool as_patches = open == wedges_at_start(all);
    if (!whatever && matters(as_patches ? groups[0] : all)) return false;
    const auto link = [&](std::int32_t a, std::int32_t b) { pair(a, b); };
    if (!as_patches) pair_wedges(all, link);
    for (std::size_t i = 0; as_patches && i < groups.size(); ++i) pair_wedges(groups[i], link);
    return true;
  }

  // The triangles of all patches whose own uses do not cancel, then those of each other patch.
  std::vector<std::vector<FanTriangle>> by_patch(const std::vector<FanTriangle>& all) {
    std::vector<std::pair<std::int32_t, std::size_t>> order;
    for (std::size_t i = 0; i < all.size(); ++i) order.push_back({root(all[i].half / 3), i});
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> owner(all.size(), 0);
    std::size_t count = 1;
    for (std::size_t i = 0, next = 0; i < order.size(); i = next) {
      int balance = 0;
      for (next = i; next < order.size() && order[next].first == order[i].first; ++next) {
        balance += all[order[next].second].enters ? 1 : -1;
      }
      if (balance != 0) continue;
      for (std::size_t k = i; k < next; ++k) owner[order[k].second] = count;
      ++count;
    }
    std::vector<std::vector<FanTriangle>> groups(count);
    for (std::size_t i = 0; i < all.size(); ++i) groups[owner[i]].push_back(all[i]);
    return groups;
  }

  void number() {
    out_.component.assign(parent_.size(), kNobody);
    for (std::size_t i = 0; i < parent_.size(); ++i) {
      const std::int32_t* t = mesh_.triangles + 3 * i;
      if (t[0] == t[1] || t[1] == t[2] || t[2] == t[0]) continue;
      std::int32_t& own =
          out_.component[static_cast<std::size_t>(root(static_cast<std::int32_t>(i)))];
      if (own == kNobody) own = out_.count++;
      out_.component[i] = own;
    }
  }

  const MeshView mesh_;
  const std::size_t vertex_count_;
  Components out_;
  std::vector<std::int32_t> parent_;
  std::vector<std::uint32_t> start_;
  std::vector<End> ends_;
};

}  // namespace geodomain
