// Whether two triangles of one surface cross, or lie on each other, where neighbours only meet:
// then what is on either side of them is not the same all over. Host only.
#pragma once

#include "exact/parting_plane.h"
#include "topology/triangle_packets.h"

namespace geodomain {

// Triangles are compared within their groups, which are shells, or shells that overlap; those of no
// group, -1, meet nothing. `parted`: of each vertex, whether its triangles meet in what they share
// alone, for certain (topology/vertex_fans.h).
class SelfCrossings {
 public:
  SelfCrossings(const MeshView& mesh, const Bounds& bounds, const std::int32_t* group,
                const std::uint8_t* parted, Team& team)
      : mesh_(mesh), group_(group), packets_(mesh, bounds, group, parted, team) {}

  std::int64_t group_count() const { return packets_.group_count(); }

  // found(a, b) of the triangles that cross of which one is in a group of packets, and the other in
  // it or in a later one.
  template <class Found>
  void visit_group(std::int64_t group, Found&& found) const {
    packets_.visit_pairs(
        group, [&](std::int64_t packet, int lane, std::int64_t other, std::uint32_t lanes) {
          const TrianglePacket &own = packets_[packet], &theirs = packets_[other];
          for (lanes &= ~neighbours(own, lane, theirs); lanes != 0; lanes &= lanes - 1) {
            const std::int32_t a = own.triangle[lane], b = theirs.triangle[trailing_zeros(lanes)];
            if (cross(a, b)) found(a, b);
          }
        });
  }

  bool cross(std::int32_t a, std::int32_t b) const {
    if (group_[a] != group_[b]) return false;
    const Triangle one = mesh_.triangle(a), two = mesh_.triangle(b);
    if (meet_where_they_share(one, two)) return false;
    if (has_parting_plane(one, two) || has_parting_plane(two, one)) return false;
    const Meeting found = meet(one, two);
    switch (found.contact) {
      case Contact::cross:
      case Contact::edge_in_face:
      case Contact::face_on_edge:
      case Contact::area:
        return true;
      case Contact::edges:
        return cross_along_edges(a, b, edge_of(a, found.apex[0]), edge_of(b, found.apex[1]));
      default:
        return false;
    }
  }

 private:
  // A bit for each triangle of a packet that shares a parted vertex with one.
  static std::uint32_t neighbours(const TrianglePacket& own, int lane,
                                  const TrianglePacket& other) {
    std::uint32_t found = 0;
    for (int k = 0; k < 3; ++k) {
      const std::int32_t corner = own.corner[k][lane];
      if (corner < 0) continue;
      for (int j = 0; j < 3; ++j) {
        found |= equal(Integers8(corner), Integers8::load(other.corner[j]));
      }
    }
    return found;
  }

  struct Edge {  // its ends in the order of their coordinates
    Vec3 low, high;
  };

  static bool precedes(Vec3 p, Vec3 q) {
    if (p.x != q.x) return p.x < q.x;
    return p.y != q.y ? p.y < q.y : p.z < q.z;
  }

  // The edge opposite a corner.
  Edge edge_of(std::int32_t triangle, int apex) const {
    const Triangle t = mesh_.triangle(triangle);
    const Vec3 p = contact_detail::corner(t, apex + 1), q = contact_detail::corner(t, apex + 2);
    return precedes(p, q) ? Edge{p, q} : Edge{q, p};
  }

  // Two edges of one line that have more than a point in common. An edge of both is where they are
  // neighbours: what more than two triangles do there, their wedges tell (`topology/edge_fans.h`).
  // Of other edges, two triangles are a fold with a vertex on one side of it alone, and any more
  // are sheets that meet along the line, and perhaps cross.
  bool cross_along_edges(std::int32_t a, std::int32_t b, const Edge& one, const Edge& two) const {
    if (same_place(one.low, two.low) && same_place(one.high, two.high)) return false;
    const Edge both = {precedes(one.low, two.low) ? two.low : one.low,
                       precedes(one.high, two.high) ? one.high : two.high};
    Bounds box = {both.low, both.low};
    widen(box, {both.high, both.high});
    bool found = false;
    packets_.visit_met(box, [&](std::int32_t i) {
      found = i != a && i != b && group_[i] == group_[a] && has_edge_along(i, both);
      return !found;
    });
    return found;
  }

  bool has_edge_along(std::int32_t triangle, const Edge& line) const {
    if (broad_axis(mesh_.triangle(triangle)) < 0) return false;
    for (int apex = 0; apex < 3; ++apex) {
      const Edge edge = edge_of(triangle, apex);
      if (in_line(edge.low, line) && in_line(edge.high, line) && precedes(edge.low, line.high) &&
          precedes(line.low, edge.high)) {
        return true;
      }
    }
    return false;
  }

  static bool in_line(Vec3 p, const Edge& line) {
    if (same_place(p, line.low) || same_place(p, line.high)) return true;
    for (int axis = 0; axis < 3; ++axis) {
      if (turn(line.low, line.high, p, axis) != 0) return false;
    }
    return true;
  }

  const MeshView mesh_;
  const std::int32_t* group_;
  const TrianglePackets packets_;
};

}  // namespace geodomain
