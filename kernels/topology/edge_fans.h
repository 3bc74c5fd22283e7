// The triangles about one edge: sorted by angle, and paired to the wedges of solid that they
// bound. Host only.
#pragma once

#include <algorithm>
#include <vector>

#include "exact/contact.h"

namespace geodomain {

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
// of one triangle come in the order of their indices, at all three edges alike.
inline bool comes_first(const FanTriangle& one, const FanTriangle& two) {
  if (one.enters != two.enters) return two.enters;
  if (!same_place(one.apex, two.apex)) return lies_before(one.apex, two.apex);
  return one.half / 3 < two.half / 3;
}

// Sorts fan about the edge from a to b by angle, from the first apex on; false where an apex is
// on its line. orient3d(a, b, apex, q) is positive at angles up to half a turn beyond apex.
inline bool sort_about_edge(Vec3 a, Vec3 b, std::vector<FanTriangle>& fan) {
  const Triangle zero = {a, b, fan[0].apex};
  const int axis = broad_axis(zero);
  if (axis < 0) return false;
  const int ahead = turn(a, b, zero.c, axis);
  for (FanTriangle& one : fan) {
    if (broad_axis({a, b, one.apex}) < 0) return false;
    // 0 at the angle 0, 1 up to half a turn, 2 at half a turn, 3 beyond.
    const int side = side_of_plane(zero, one.apex);
    const bool same = side == 0 && turn(a, b, one.apex, axis) == ahead;
    one.level = side > 0 ? 1 : side < 0 ? 3 : same ? 0 : 2;
  }
  const auto turned = [&](const FanTriangle& from, const FanTriangle& to) {
    if (from.level != to.level) return from.level < to.level ? 1 : -1;
    return side_of_plane({a, b, from.apex}, to.apex);
  };
  std::sort(fan.begin(), fan.end(), [&](const FanTriangle& one, const FanTriangle& two) {
    const int sign = turned(one, two);
    return sign != 0 ? sign > 0 : comes_first(one, two);
  });
  std::vector<int> levels(fan.size(), 0);
  for (std::size_t i = 1; i < fan.size(); ++i) {
    levels[i] = levels[i - 1] + (turned(fan[i - 1], fan[i]) != 0);
  }
  for (std::size_t i = 0; i < fan.size(); ++i) fan[i].level = levels[i];
  return true;
}

// How many wedges there are about the first one if somewhere about the edge there is none.
inline int wedges_at_start(const std::vector<FanTriangle>& fan) {
  int depth = 0, least = 0;
  for (const FanTriangle& one : fan) least = std::min(least, depth += one.enters ? 1 : -1);
  return -least;
}

// Whether different triangles begin, or end, at one angle.
inline bool matters(const std::vector<FanTriangle>& fan) {
  for (std::size_t i = 1; i < fan.size(); ++i) {
    const FanTriangle &one = fan[i - 1], &two = fan[i];
    if (one.level == two.level && one.enters == two.enters && !same_place(one.apex, two.apex)) {
      return true;
    }
  }
  return false;
}

// Wedges nest like brackets on a circle. Of those that begin, or end, at one angle the first
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
  const auto one = [&](std::size_t i) -> const FanTriangle& { return fan[(first + i) % count]; };
  std::vector<std::int32_t> open;
  for (std::size_t i = 0; i < count;) {
    if (!one(i).enters) {
      pair(open.back(), one(i++).half);
      open.pop_back();
      continue;
    }
    std::size_t next = i + 1;
    while (next < count && one(next).enters && one(next).level == one(i).level) ++next;
    for (std::size_t back = next; back-- > i;) open.push_back(one(back).half);
    i = next;
  }
}

}  // namespace geodomain
