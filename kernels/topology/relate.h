// The components of a mesh in relation to each other: which come near each other, which are inside
// which, and how the surfaces of two relate. Host only.
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

// Which components come near each other, and which of the others are inside which.
//
// If no boxes of triangles of two components meet, their surfaces are disjoint, and all of one is
// inside or outside the other. Boxes that share a column are apart in height, so comparing their
// ends sorts triangles above a point without arithmetic.

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
    tree.visit_pairs(tree, {0, 0}, [&](std::int32_t a, std::int32_t b) {
      pairs.push_back(std::minmax(a, b));
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

inline void write_pairs(const ComponentPairs& touching, std::int32_t* pairs, std::int64_t* count) {
  for (std::size_t i = 0; pairs && i < touching.size(); ++i) {
    pairs[2 * i] = touching[i].first;
    pairs[2 * i + 1] = touching[i].second;
  }
  *count = static_cast<std::int64_t>(touching.size());
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

// How two components relate, according to their surfaces. Evidence is collected where they meet. It
// is complete unless they meet only in points, or not at all.

// Flags of evidence. The surfaces of two components cut each other along lines and over areas;
// between these, each part of one is inside or outside the other, and next to a line the signs show
// which. `kFirstIn`: some of the first's surface is inside the second; and so on. `kSame`, `kBack`:
// both have a wall there, with their insides on the same side of it or on opposite sides.
enum Evidence : std::int32_t {
  kTouch = 1,
  kCross = 2,
  kFirstIn = 4,
  kFirstOut = 8,
  kSecondIn = 16,
  kSecondOut = 32,
  kSame = 64,
  kBack = 128,
  kUndetermined = 256,  // a line where the signs do not decide
  kTooMany = 512,       // not everything was examined
};
constexpr std::int32_t kBeyondPoint = ~(kTouch | kTooMany);  // more than a point

// Whether some inside is common to both; whether some is only in the first, or the second.
inline bool share(std::int32_t seen) { return (seen & (kFirstIn | kSecondIn | kSame)) != 0; }
inline bool first_alone(std::int32_t seen) { return (seen & (kFirstOut | kSecondIn | kBack)) != 0; }
inline bool second_alone(std::int32_t seen) {
  return (seen & (kSecondOut | kFirstIn | kBack)) != 0;
}
inline bool overlap(std::int32_t seen) {
  return (seen & kCross) != 0 || (share(seen) && first_alone(seen) && second_alone(seen));
}

class Relation {
 public:
  // outward: 1 if a component's triangles turn counter-clockwise seen from outside, -1 if
  // clockwise, 0 if they disagree or enclose nothing.
  // `seen`: the evidence so far.
  Relation(const MeshView& mesh, const Components& components, const std::int8_t* outward,
           std::int32_t seen)
      : mesh_(mesh), components_(components), outward_(outward), seen_(seen) {}

  // Examines one pair of triangles of different components; false once everything is known.
  bool look(std::int32_t a, std::int32_t b) {
    if (overlap(seen_)) return false;
    const Meeting meeting = meet(mesh_.triangle(a), mesh_.triangle(b));
    if (meeting.contact == Contact::none) return true;
    seen_ |= kTouch;
    if (meeting.contact == Contact::cross) {
      seen_ |= kCross;
    } else if (meeting.contact != Contact::point) {
      observe(a, b, meeting);
    }
    return !overlap(seen_);
  }
  void give_up() { seen_ |= kTooMany; }
  std::int32_t seen() const { return seen_; }

 private:
  enum class Where { in, out, on, unsure };

  int facing(std::int32_t triangle) const {
    return outward_[components_.component[static_cast<std::size_t>(triangle)]];
  }
  // 1 on the inner side of a triangle's plane, -1 on the outer, 0 in it.
  int inner(std::int32_t triangle, Vec3 q) const {
    return facing(triangle) * side_of_plane(mesh_.triangle(triangle), q);
  }
  Vec3 corner(std::int32_t triangle, int k) const {
    return mesh_.vertex(mesh_.triangles[3 * static_cast<std::int64_t>(triangle) + k % 3]);
  }

  void observe(std::int32_t a, std::int32_t b, const Meeting& meeting) {
    if (facing(a) == 0 || facing(b) == 0) {
      seen_ |= kUndetermined;
    } else if (meeting.contact == Contact::area) {
      seen_ |= meeting.same_way == (facing(a) == facing(b)) ? kSame : kBack;
    } else if (meeting.contact == Contact::edge_in_face) {
      edge_in_face(a, b, meeting.apex[0], meeting.side[1], kFirstIn, kSecondIn);
    } else if (meeting.contact == Contact::face_on_edge) {
      edge_in_face(b, a, meeting.apex[1], meeting.side[0], kSecondIn, kFirstIn);
    } else {
      note(about_edge(b, meeting.apex[1], corner(a, meeting.apex[0])), kFirstIn);
      note(about_edge(a, meeting.apex[0], corner(b, meeting.apex[1])), kSecondIn);
    }
  }

  // The edge of `a` opposite its corner `apex` runs through the inside of `b`: `a` is on one side
  // of `b`, and each half of `b`, identified by a corner in it, is in a wedge of a's component or
  // not.
  void edge_in_face(std::int32_t a, std::int32_t b, int apex, const std::int8_t* side_b,
                    std::int32_t a_in, std::int32_t b_in) {
    note(inner(b, corner(a, apex)) > 0 ? Where::in : Where::out, a_in);
    bool done[2] = {false, false};
    for (int k = 0; k < 3; ++k) {
      if (side_b[k] == 0 || done[side_b[k] > 0]) continue;
      done[side_b[k] > 0] = true;
      note(about_edge(a, apex, corner(b, k)), b_in);
    }
  }

  // kFirstOut and kSecondOut are twice kFirstIn and kSecondIn.
  void note(Where where, std::int32_t in) {
    if (where == Where::in) seen_ |= in;
    if (where == Where::out) seen_ |= 2 * in;
    if (where == Where::unsure) seen_ |= kUndetermined;
  }

  // Where the half-plane from the edge of triangle t opposite corner `apex` through q is, relative
  // to the component of t. Wedges are on the side that its triangles face away from: for a
  // component that faces inwards, that is the outside.
  Where about_edge(std::int32_t t, int apex, Vec3 q) const {
    const Where where = about_wedges(3 * t + (apex + 1) % 3, q);
    if (facing(t) > 0 || where == Where::on || where == Where::unsure) return where;
    return where == Where::in ? Where::out : Where::in;
  }

  Where about_wedges(std::int32_t half, Vec3 q) const {
    const std::int32_t group =
        components_.group.empty() ? kNobody : components_.group[static_cast<std::size_t>(half)];
    if (group == kNobody) return about_wedge(half, q);
    const std::size_t edge = static_cast<std::size_t>(group);
    Where place = Where::out;
    for (std::int32_t i = components_.starts[edge]; i < components_.starts[edge + 1]; ++i) {
      const std::int32_t use = components_.uses[static_cast<std::size_t>(i)];
      if (piece_of(use) != piece_of(half)) continue;
      const Where here = about_wedge(use, q);
      if (here == Where::in || here == Where::unsure) return here;
      if (here == Where::on) place = here;
    }
    return place;
  }
  std::int32_t piece_of(std::int32_t half) const {
    return components_.component[static_cast<std::size_t>(half / 3)];
  }

  // Solid is behind the planes of both triangles if the wedge is less than half a turn,
  // behind either if it is more.
  Where about_wedge(std::int32_t half, Vec3 q) const {
    const std::int32_t other = components_.partner[static_cast<std::size_t>(half)];
    if (other == kNobody) return Where::unsure;
    const std::int32_t t = half / 3, u = other / 3;
    if (broad_axis(mesh_.triangle(t)) < 0 || broad_axis(mesh_.triangle(u)) < 0)
      return Where::unsure;
    const Triangle first = mesh_.triangle(t), second = mesh_.triangle(u);
    const int bend = side_of_plane(first, corner(u, other % 3 + 2));
    const int behind_t = side_of_plane(first, q), behind_u = side_of_plane(second, q);
    if (bend == 0) {
      if (behind_t != behind_u) return Where::unsure;  // folded flat
      return behind_t == 0 ? Where::on : behind_t > 0 ? Where::in : Where::out;
    }
    if (behind_t == bend && behind_u == bend) return bend > 0 ? Where::in : Where::out;
    if ((behind_t == 0 && behind_u == bend) || (behind_u == 0 && behind_t == bend))
      return Where::on;
    return bend > 0 ? Where::out : Where::in;
  }

  const MeshView mesh_;
  const Components& components_;
  const std::int8_t* const outward_;
  std::int32_t seen_;
};

}  // namespace geodomain
