// Finds which components of a mesh come near each other, and which of the others are inside which.
// Host only.
//
// If no boxes of triangles of two components meet, their surfaces are disjoint, and all of one is
// inside or outside the other. Boxes that share a column are apart in height, so comparing their
// ends sorts triangles above a point without arithmetic.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "platform/float_guard.h"
#include "platform/thread_team.h"
#include "topology/box_tree.h"
#include "topology/components.h"

namespace geodomain {

using ComponentPairs = std::vector<std::pair<std::int32_t, std::int32_t>>;

// Triangles of each component, component after component.
struct Members {
  std::vector<std::size_t> start;
  std::vector<std::int32_t> triangles;

  explicit Members(const Components& components)
      : start(static_cast<std::size_t>(components.count) + 1, 0) {
    for (std::int32_t component : components.component) {
      if (component != kNobody) ++start[static_cast<std::size_t>(component) + 1];
    }
    for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
    triangles.resize(start.back());
    std::vector<std::size_t> next(start.begin(), start.end() - 1);
    for (std::size_t i = 0; i < components.component.size(); ++i) {
      if (components.component[i] == kNobody) continue;
      triangles[next[static_cast<std::size_t>(components.component[i])]++] =
          static_cast<std::int32_t>(i);
    }
  }
};

// Pairs within a cluster whose boxes meet; if there are more than `most`, `most` + 1 of them.
// cluster: of each component, from 0 to cluster_count - 1, or -1.
inline ComponentPairs near_pairs(const std::vector<Bounds>& boxes, const std::int32_t* cluster,
                                 std::int64_t cluster_count, std::int64_t most) {
  std::vector<std::vector<BoxTree::Leaf>> leaves(static_cast<std::size_t>(cluster_count));
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (cluster[i] == kNobody) continue;
    leaves[static_cast<std::size_t>(cluster[i])].push_back(
        {boxes[i], static_cast<std::int32_t>(i)});
  }
  ComponentPairs pairs;
  for (auto& each : leaves) {
    if (each.size() < 2 || static_cast<std::int64_t>(pairs.size()) > most) continue;
    const BoxTree tree(std::move(each));
    tree.visit_pairs(tree, {0, 0}, [&](std::int32_t one, std::int32_t two) {
      pairs.push_back(std::minmax(one, two));
      return static_cast<std::int64_t>(pairs.size()) <= most;
    });
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// Sorts pairs and drops repeated ones.
inline void drop_repeats(ComponentPairs& pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
}

// Pairs of components with triangles whose boxes meet; if there are more than `most`, more than
// `most` of them.
inline ComponentPairs contact_pairs(const MeshView& mesh,
                                    const std::vector<std::int32_t>& component,
                                    const std::vector<Bounds>& boxes, std::int64_t most) {
  std::vector<BoxTree::Leaf> leaves;
  for (const Bounds& box : boxes) leaves.push_back({box, static_cast<std::int32_t>(leaves.size())});
  const BoxTree whole(std::move(leaves));
  leaves = {};
  for (std::size_t i = 0; i < component.size(); ++i) {
    if (component[i] == kNobody) continue;
    const Bounds box = box_of(mesh.triangle(static_cast<std::int64_t>(i)));
    bool near = false;
    whole.visit_met(box, [&](std::int32_t other) {
      near = other != component[i];
      return !near;
    });
    if (near) leaves.push_back({box, static_cast<std::int32_t>(i)});
  }
  const BoxTree tree(std::move(leaves));
  ComponentPairs pairs;
  std::size_t room = 1 << 16;  // pairs collected before repeated ones are dropped
  const auto owner = [&](std::int32_t triangle) {
    return component[static_cast<std::size_t>(triangle)];
  };
  tree.visit_pairs_of_owners(owner, [&](std::int32_t a, std::int32_t b) {
    pairs.push_back(std::minmax(owner(a), owner(b)));
    if (pairs.size() < room) return true;
    drop_repeats(pairs);
    room = std::max(room, 2 * pairs.size());
    return static_cast<std::int64_t>(pairs.size()) <= most;
  });
  drop_repeats(pairs);
  return pairs;
}

inline void write_pairs(const ComponentPairs& found, std::int32_t* pairs, std::int64_t* count) {
  for (std::size_t i = 0; pairs && i < found.size(); ++i) {
    pairs[2 * i] = found[i].first;
    pairs[2 * i + 1] = found[i].second;
  }
  *count = static_cast<std::int64_t>(found.size());
}

// See `geodomain_components_above`.
inline void next_above(const MeshView& mesh, const std::vector<std::int32_t>& component,
                       const std::int32_t* cluster, std::int64_t cluster_count, Team& team,
                       std::int32_t* above, std::int32_t* highest) {
  const std::size_t count = static_cast<std::size_t>(cluster_count);
  std::vector<Vec3> tops(count, {0.0, 0.0, -std::numeric_limits<double>::infinity()});
  std::vector<BoxTree::Leaf> leaves;
  for (std::size_t i = 0; i < component.size(); ++i) {
    const std::int32_t mine = component[i] == kNobody ? kNobody : cluster[component[i]];
    if (mine == kNobody) continue;
    const Triangle t = mesh.triangle(static_cast<std::int64_t>(i));
    leaves.push_back({box_of(t), static_cast<std::int32_t>(i)});
    Vec3& top = tops[static_cast<std::size_t>(mine)];
    for (const Vec3& corner : {t.a, t.b, t.c}) {
      if (!(corner.z > top.z)) continue;
      top = corner;
      highest[mine] = component[i];
    }
  }
  const BoxTree tree(std::move(leaves));
  team.run(cluster_count, 16, [&](std::int64_t begin, std::int64_t end, int) {
    FloatGuard guard;
    for (std::int64_t k = begin; k < end; ++k) {
      const Vec3 q = tops[static_cast<std::size_t>(k)];
      const std::int32_t triangle = tree.lowest_above(q, [&](std::int32_t index) {
        const std::int32_t other = component[static_cast<std::size_t>(index)];
        return cluster[other] != k && crossing_sign<Full>(mesh.triangle(index), q.x, q.y) != 0;
      });
      above[k] = triangle < 0 ? kNobody : component[static_cast<std::size_t>(triangle)];
    }
  });
}

// See `geodomain_components_inside`.
inline void are_inside(const MeshView& mesh, const Members& members, const std::int32_t* pairs,
                       std::int64_t pair_count, Team& team, std::uint8_t* inside) {
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < pair_count; ++i) {
    if (i == 0 || pairs[2 * i] != pairs[2 * i - 2]) starts.push_back(i);
  }
  starts.push_back(pair_count);
  team.run(static_cast<std::int64_t>(starts.size()) - 1, 1,
           [&](std::int64_t at, std::int64_t, int) {
             FloatGuard guard;
             const std::int64_t begin = starts[static_cast<std::size_t>(at)];
             const std::int64_t end = starts[static_cast<std::size_t>(at) + 1];
             const std::size_t outer = static_cast<std::size_t>(pairs[2 * begin]);
             std::vector<BoxTree::Leaf> leaves;
             for (std::size_t i = members.start[outer]; i < members.start[outer + 1]; ++i) {
               const std::int32_t triangle = members.triangles[i];
               leaves.push_back({box_of(mesh.triangle(triangle)), triangle});
             }
             const BoxTree tree(std::move(leaves));
             for (std::int64_t i = begin; i < end; ++i) {
               const std::size_t inner = static_cast<std::size_t>(pairs[2 * i + 1]);
               const std::int32_t first = members.triangles[members.start[inner]];
               const Vec3 q = mesh.vertex(mesh.triangles[3 * static_cast<std::int64_t>(first)]);
               const Vec3 high = {q.x, q.y, std::numeric_limits<double>::infinity()};
               bool odd = false;
               tree.visit_met({q, high}, [&](std::int32_t index) {
                 if (crossing_above<Full>(mesh.triangle(index), q) != 0) odd = !odd;
                 return true;
               });
               inside[i] = odd;
             }
           });
}

}  // namespace geodomain
