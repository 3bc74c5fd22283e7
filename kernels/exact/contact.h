// How two triangles meet: nowhere, in a point, along a segment, or over an area. Decided
// by signs alone, on the given corners; nothing is constructed or rounded.
#pragma once

#include "exact/crossing.h"

namespace geodomain {

GD_HD bool same_place(Vec3 a, Vec3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

// The sign of orient3d, decided at once if q is a corner, two corners are equal, or the triangle is
// level along an axis. Shared walls are full of these, and they would otherwise reach the exact
// stage.
GD_HD int side_of_plane(const Triangle& t, Vec3 q) {
  if (same_place(t.a, q) || same_place(t.b, q) || same_place(t.c, q)) return 0;
  if (same_place(t.a, t.b) || same_place(t.b, t.c) || same_place(t.c, t.a)) return 0;
  if (t.a.z == t.b.z && t.b.z == t.c.z && t.a.z == q.z) return 0;
  if (t.a.x == t.b.x && t.b.x == t.c.x && t.a.x == q.x) return 0;
  if (t.a.y == t.b.y && t.b.y == t.c.y && t.a.y == q.y) return 0;
  return orient3d(t.a, t.b, t.c, q);
}

// A point projected along one of the three axes.
struct Vec2 {
  double x, y;
};

GD_HD Vec2 along(Vec3 p, int axis) {
  if (axis == 2) return {p.x, p.y};
  return axis == 0 ? Vec2{p.y, p.z} : Vec2{p.z, p.x};
}

GD_HD int turn(Vec3 a, Vec3 b, Vec3 c, int axis) {
  const Vec2 p = along(a, axis), q = along(b, axis), r = along(c, axis);
  return orient2d(p.x, p.y, q.x, q.y, r.x, r.y);
}

// An axis along which the triangle does not project to a line, or -1 if it has no area.
GD_HD int broad_axis(const Triangle& t) {
  for (int axis = 2; axis >= 0; --axis) {
    if (turn(t.a, t.b, t.c, axis) != 0) return axis;
  }
  return -1;
}

enum class Contact : std::uint8_t {
  none,
  point,         // one point, or a shared edge in one plane with the triangles on either side
  cross,         // a segment in the inside of both
  edge_in_face,  // an edge of the first runs through the inside of the second
  face_on_edge,  // an edge of the second runs through the inside of the first
  edges,         // a segment of an edge of both, in different planes
  area           // in one plane, with insides that overlap
};

struct Meeting {
  Contact contact = Contact::none;
  std::int8_t apex[2] = {0, 0};  // the corners opposite the edges, if edges meet
  std::int8_t side[2][3] =
      {};  // side[0]: the first's corners relative to the second; side[1]: the reverse
  bool same_way = false;  // over an area: both have the same orientation
};

namespace contact_detail {

enum class Reach : std::uint8_t { apart, vertex, edge, through };

GD_HD Vec3 corner(const Triangle& t, int k) { return k % 3 == 0 ? t.a : k % 3 == 1 ? t.b : t.c; }

// How a triangle reaches the other's plane, from the sides of its corners, and the corner that is
// alone on its side; `apart` also if all corners are in the plane.
GD_HD Reach reach(const std::int8_t* side, int& alone) {
  for (alone = 0; alone < 3; ++alone) {
    const int here = side[alone], next = side[(alone + 1) % 3], last = side[(alone + 2) % 3];
    if (here == 0 && next == last && next != 0) return Reach::vertex;
    if (here != 0 && next == 0 && last == 0) return Reach::edge;
    if (here != 0 && here * next <= 0 && here * last <= 0) return Reach::through;
  }
  return Reach::apart;
}

// Two triangles in one plane, projected along an axis: convex sets have disjoint insides exactly
// if a line through an edge of one separates them.
GD_HD Contact in_one_plane(const Triangle& s, const Triangle& t, int axis, bool& same_way) {
  const int turn_s = turn(s.a, s.b, s.c, axis), turn_t = turn(t.a, t.b, t.c, axis);
  same_way = turn_s == turn_t;
  bool area = true;
  for (int which = 0; which < 2; ++which) {
    const Triangle& own = which ? t : s;
    const Triangle& other = which ? s : t;
    for (int k = 0; k < 3; ++k) {
      int most = -1;
      for (int j = 0; j < 3; ++j) {
        const int side = turn(corner(own, k), corner(own, k + 1), corner(other, j), axis) *
                         (which ? turn_t : turn_s);
        most = side > most ? side : most;
      }
      if (most < 0) return Contact::none;
      area = area && most > 0;
    }
  }
  return area ? Contact::area : Contact::point;
}

}  // namespace contact_detail

// Whether doubles show that triangles meet only in what they share: an edge, if their planes
// differ, or a corner, if a plane through it has the rest of both on either side. Its normal may be
// any vector, so rounding moves a side by less than 2^-50 of the magnitudes of its products;
// products of differences of a mesh's coordinates do not underflow.
GD_HD bool meet_where_they_share(const Triangle& s, const Triangle& t) {
  using contact_detail::corner;
  int count = 0, in_s = 0, in_t = 0;  // sums of the indices of shared corners
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      if (same_place(corner(s, i), corner(t, j))) ++count, in_s += i, in_t += j;
    }
  }
  if (count == 2) return orient3d_quick(s.a, s.b, s.c, corner(t, 3 - in_t)) != kUnsure;
  if (count != 1) return false;
  const Vec3 shared = corner(s, in_s);
  const auto from_shared = [&](Vec3 q) {
    return Vec3{q.x - shared.x, q.y - shared.y, q.z - shared.z};
  };
  const Vec3 ends[4] = {from_shared(corner(s, in_s + 1)), from_shared(corner(s, in_s + 2)),
                        from_shared(corner(t, in_t + 1)), from_shared(corner(t, in_t + 2))};
  const Vec3 normal = {(ends[0].x + ends[1].x) - (ends[2].x + ends[3].x),
                       (ends[0].y + ends[1].y) - (ends[2].y + ends[3].y),
                       (ends[0].z + ends[1].z) - (ends[2].z + ends[3].z)};
  for (int k = 0; k < 4; ++k) {
    const double x = normal.x * ends[k].x, y = normal.y * ends[k].y, z = normal.z * ends[k].z;
    const double bound = 0x1p-50 * (std::fabs(x) + std::fabs(y) + std::fabs(z));
    if (!(k < 2 ? x + y + z > bound : x + y + z < -bound)) return false;
  }
  return true;
}

// Triangles without area meet nothing; their neighbours do.
//
// If the planes differ, each triangle meets the common line of both planes in an interval.
// Its ends are where an edge from the corner alone on its side, a0 or b0, meets the line,
// and orient3d(a0, a1, b0, b1) has the sign (or everywhere the opposite sign) of the position of
// one such end along the line minus that of the other: with the line as x, one plane as xy and the
// other as xz the determinant is that difference times the distances of a0 and b0 from the line.
GD_HD Meeting meet(const Triangle& a, const Triangle& b) {
  using namespace contact_detail;
  Meeting meeting;
  bool planar[2];
  for (int which = 0; which < 2; ++which) {
    const Triangle& own = which ? b : a;
    const Triangle& other = which ? a : b;
    std::int8_t* side = meeting.side[which];
    for (int k = 0; k < 3; ++k) {
      side[k] = static_cast<std::int8_t>(side_of_plane(other, corner(own, k)));
    }
    if (side[0] != 0 && side[0] == side[1] && side[1] == side[2]) return meeting;
    planar[which] = side[0] == 0 && side[1] == 0 && side[2] == 0;
  }
  if (planar[0] || planar[1]) {
    const int axis = broad_axis(a);
    if (axis < 0 || !planar[0] || !planar[1] || turn(b.a, b.b, b.c, axis) == 0) return meeting;
    meeting.contact = in_one_plane(a, b, axis, meeting.same_way);
    return meeting;
  }
  int alone[2];
  const Reach reaches[2] = {reach(meeting.side[0], alone[0]), reach(meeting.side[1], alone[1])};
  bool before = false, behind = false, level = false;
  for (int i = 1; i <= 2; ++i) {
    for (int j = 1; j <= 2; ++j) {
      const Triangle ends = {corner(a, alone[0]), corner(a, alone[0] + i), corner(b, alone[1])};
      const int order = side_of_plane(ends, corner(b, alone[1] + j));
      before |= order < 0;
      behind |= order > 0;
      level |= order == 0;
    }
  }
  const bool overlap = before && behind;
  if (!overlap && !level) return meeting;
  meeting.contact = Contact::point;
  if (!overlap || reaches[0] == Reach::vertex || reaches[1] == Reach::vertex) return meeting;
  const bool edge_a = reaches[0] == Reach::edge, edge_b = reaches[1] == Reach::edge;
  meeting.apex[0] = static_cast<std::int8_t>(alone[0]);
  meeting.apex[1] = static_cast<std::int8_t>(alone[1]);
  meeting.contact = edge_a ? (edge_b ? Contact::edges : Contact::edge_in_face)
                           : (edge_b ? Contact::face_on_edge : Contact::cross);
  return meeting;
}

// A quick test in doubles: whether a plane separates two triangles. It tries the first triangle's
// own plane and the planes perpendicular to it along its edges. False if rounding leaves a doubt.

namespace parting_detail {

GD_HD Vec3 difference(Vec3 p, Vec3 q) { return {p.x - q.x, p.y - q.y, p.z - q.z}; }

GD_HD Vec3 cross(Vec3 p, Vec3 q) {
  return {p.y * q.z - p.z * q.y, p.z * q.x - p.x * q.z, p.x * q.y - p.y * q.x};
}

// The range of m . (p - origin) over a triangle's corners, widened by its rounding error: less than
// 2^-50 of the products' magnitudes, and less than the floor if products underflow.
struct ProjectedRange {
  double low = HUGE_VAL, high = -HUGE_VAL;

  GD_HD ProjectedRange(Vec3 m, const Triangle& t, Vec3 origin) {
    for (int k = 0; k < 3; ++k) {
      const Vec3 p = difference(contact_detail::corner(t, k), origin);
      const double x = m.x * p.x, y = m.y * p.y, z = m.z * p.z, sum = x + y + z;
      const double off = 0x1p-50 * (std::fabs(x) + std::fabs(y) + std::fabs(z)) + 0x1p-1000;
      low = minimum(low, sum - off);
      high = maximum(high, sum + off);
    }
  }
};

}  // namespace parting_detail

GD_HD bool has_parting_plane(const Triangle& s, const Triangle& t) {
  using namespace parting_detail;
  const Vec3 ab = difference(s.b, s.a), bc = difference(s.c, s.b), ca = difference(s.a, s.c);
  const Vec3 normal = cross(ab, bc);
  const Vec3 directions[] = {normal, cross(ab, normal), cross(bc, normal), cross(ca, normal)};
  for (const Vec3& m : directions) {
    const ProjectedRange first(m, s, s.a), second(m, t, s.a);
    if (first.high < second.low || second.high < first.low) return true;
  }
  return false;
}

}  // namespace geodomain
