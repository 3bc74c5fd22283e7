// How two components of a mesh relate, according to their surfaces. Evidence is collected where
// they meet. It is complete unless they meet only in points, or not at all. Host only.
#pragma once

#include "topology/box_tree.h"
#include "topology/components.h"

namespace geodomain {

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
    const Meeting found = meet(mesh_.triangle(a), mesh_.triangle(b));
    if (found.contact == Contact::none) return true;
    seen_ |= kTouch;
    if (found.contact == Contact::cross) {
      seen_ |= kCross;
    } else if (found.contact != Contact::point) {
      observe(a, b, found);
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

  void observe(std::int32_t a, std::int32_t b, const Meeting& found) {
    if (facing(a) == 0 || facing(b) == 0) {
      seen_ |= kUndetermined;
    } else if (found.contact == Contact::area) {
      seen_ |= found.same_way == (facing(a) == facing(b)) ? kSame : kBack;
    } else if (found.contact == Contact::edge_in_face) {
      edge_in_face(a, b, found.apex[0], found.side[1], kFirstIn, kSecondIn);
    } else if (found.contact == Contact::face_on_edge) {
      edge_in_face(b, a, found.apex[1], found.side[0], kSecondIn, kFirstIn);
    } else {
      note(about_edge(b, found.apex[1], corner(a, found.apex[0])), kFirstIn);
      note(about_edge(a, found.apex[0], corner(b, found.apex[1])), kSecondIn);
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
    Where found = Where::out;
    for (std::int32_t i = components_.starts[edge]; i < components_.starts[edge + 1]; ++i) {
      const std::int32_t use = components_.uses[static_cast<std::size_t>(i)];
      if (piece_of(use) != piece_of(half)) continue;
      const Where here = about_wedge(use, q);
      if (here == Where::in || here == Where::unsure) return here;
      if (here == Where::on) found = here;
    }
    return found;
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
