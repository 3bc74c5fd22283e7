// Finds triangles of a mesh that cross each other. Host only.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "bvh/host.h"
#include "exact/contact.h"
#include "platform/large_array.h"
#include "platform/mesh_view.h"
#include "platform/simd.h"

namespace geodomain {

// Packets of eight nearby triangles, under levels of nodes of eight boxes: they
// find which boxes meet, eight at a time, and decide nothing.
//
// Coordinates are in single precision, in a frame. Points and boxes are rounded by monotone
// steps, so that boxes that meet still do.

struct EightBoxes {
  float low[3][8], high[3][8];

  void put(int lane, const Box& box) {
    for (int k = 0; k < 3; ++k) low[k][lane] = box.low[k], high[k][lane] = box.high[k];
  }
  Box box(int lane) const {
    Box lane_box;
    for (int k = 0; k < 3; ++k) lane_box.low[k] = low[k][lane], lane_box.high[k] = high[k][lane];
    return lane_box;
  }
  // A bit for each box that meets another.
  std::uint32_t met(const Box& box) const {
    std::uint32_t bits = 0xff;
    for (int k = 0; k < 3; ++k) {
      bits &= at_most(maximum(Floats8::load(low[k]), Floats8(box.low[k])),
                      minimum(Floats8::load(high[k]), Floats8(box.high[k])));
    }
    return bits;
  }
};

struct TrianglePacket {
  std::int32_t corner[3][8];  // vertices that are parted, and else -1
  std::int32_t triangle[8];
};

class TrianglePackets {
 public:
  // For the triangles that have a group, not -1. `bounds` hold all triangles, `parted` is from
  // `look_at_fans`.
  TrianglePackets(const MeshView& mesh, const Bounds& bounds, const std::int32_t* group,
                  const std::uint8_t* parted, Team& team)
      : team_(team) {
    LargeArray<std::int32_t> rows(mesh.triangle_count);
    for (std::int32_t i = 0; i < mesh.triangle_count; ++i) {
      rows[count_] = i;
      count_ += group[i] >= 0;
    }
    if (count_ == 0) return;
    frame_ = make_frame(bounds);
    LargeArray<Box> all(count_);
    team_.run(count_, kPiece, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        fetch_corners(mesh, rows[std::min(i + kTrianglesAhead, count_ - 1)]);
        all[i] = box_of(frame_, mesh.triangle(rows[i]));
      }
    });
    const LargeArray<std::int32_t> order = sorted(all);
    packets_.resize(size());
    levels_.emplace_back(size());
    sizes_.push_back(size());
    team_.run(size(), 256, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) fill(mesh, rows, all, order, parted, i);
    });
    do add_level();
    while (sizes_.back() > 1);
  }

  std::int64_t size() const { return (count_ + 7) / 8; }
  std::int64_t group_count() const { return (size() + 7) / 8; }
  const TrianglePacket& operator[](std::int64_t packet) const { return packets_[packet]; }

  // Calls visit(packet, lane, other, lanes) for a triangle of a packet in a group of eight, and
  // those of the packet or of a later one whose boxes meet its own; each pair once.
  template <class Visit>
  void visit_pairs(std::int64_t group, Visit&& visit) const {
    std::vector<std::int64_t> near;  // groups
    descend(box_around(1, group), group, 1, [&](std::int64_t node) { near.push_back(node); });
    for (std::int64_t packet = 8 * group; packet < std::min(8 * group + 8, size()); ++packet) {
      const Box box = box_around(0, packet);
      for (const std::int64_t node : near) {
        std::uint32_t lanes = levels_[1][node].met(box);
        if (node == group) lanes &= 0xffu << packet % 8;
        for (; lanes != 0; lanes &= lanes - 1) {
          compare(packet, 8 * node + trailing_zeros(lanes), visit);
        }
      }
    }
  }

  // Calls visit(triangle) for triangles whose boxes meet a box, and perhaps for some that only come
  // near it, until it returns false.
  template <class Visit>
  void visit_met(const Bounds& bounds, Visit&& visit) const {
    const Box box = box_of(frame_, {bounds.low, bounds.high, bounds.low});
    bool going = true;
    descend(box, 0, 0, [&](std::int64_t packet) {
      const std::uint32_t lanes = levels_[0][packet].met(box);
      for (int lane = 0; lane < 8 && going; ++lane) {
        if (lanes >> lane & 1) going = visit(packets_[packet].triangle[lane]);
      }
    });
  }

 private:
  static constexpr std::int64_t kPiece = 4096;
  // Bits of a code that sorting ignores; a small number of boxes is sorted by one digit less.
  static constexpr int kDropped = 31;
  static constexpr std::int64_t kMany = 1 << 21;
  // Runs of equal codes twice this long, and perhaps shorter, are sorted by the ignored bits.
  static constexpr std::int64_t kRun = 16;

  // The boxes sorted by their codes.
  LargeArray<std::int32_t> sorted(const LargeArray<Box>& boxes) const {
    const int dropped = count_ < kMany ? kDropped + kDigitBits : kDropped;
    LargeArray<std::uint64_t> keys(count_);
    LargeArray<std::int32_t> order(count_);
    team_.run(count_, kPiece, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        keys[i] = code_of(frame_, boxes[i]) >> dropped;
        order[i] = static_cast<std::int32_t>(i);
      }
    });
    RadixSort(keys.get(), order.get(), count_, team_);
    std::vector<std::pair<std::uint64_t, std::int32_t>> run;
    for (std::int64_t at = 0; at + kRun < count_; at += kRun) {
      if (keys[at] != keys[at + kRun]) continue;
      const auto [first, last] = std::equal_range(keys.get(), keys.get() + count_, keys[at]);
      const std::int64_t begin = first - keys.get(), end = last - keys.get();
      run.clear();
      for (std::int64_t i = begin; i < end; ++i) {
        run.push_back({code_of(frame_, boxes[order[i]]), order[i]});
      }
      std::sort(run.begin(), run.end());
      for (std::int64_t i = begin; i < end; ++i) order[i] = run[i - begin].second;
      at = (end - 1) / kRun * kRun;
    }
    return order;
  }

  void fill(const MeshView& mesh, const LargeArray<std::int32_t>& rows, const LargeArray<Box>& all,
            const LargeArray<std::int32_t>& order, const std::uint8_t* parted,
            std::int64_t packet) {
    TrianglePacket& out = packets_[packet];
    EightBoxes& boxes = levels_[0][packet] = nothing();
    for (int lane = 0; lane < 8; ++lane) {
      const std::int64_t at = 8 * packet + lane;
      const std::int32_t later = order[std::min(at + kTrianglesAhead, count_ - 1)];
      fetch(&all[later]);
      fetch(mesh.triangles + 3 * std::int64_t{rows[later]});
      const std::int32_t row = out.triangle[lane] = at < count_ ? rows[order[at]] : -1;
      for (int k = 0; k < 3; ++k) {
        const std::int32_t vertex = row < 0 ? -1 : mesh.triangles[3 * row + k];
        out.corner[k][lane] = vertex < 0 || !parted[vertex] ? -1 : vertex;
      }
      if (row >= 0) boxes.put(lane, all[order[at]]);
    }
  }

  static EightBoxes nothing() {
    constexpr float kFar = std::numeric_limits<float>::infinity();
    EightBoxes boxes;
    for (int lane = 0; lane < 8; ++lane) {
      boxes.put(lane, {{kFar, kFar, kFar}, {-kFar, -kFar, -kFar}});
    }
    return boxes;
  }

  void add_level() {
    const std::int64_t below = sizes_.back(), count = (below + 7) / 8;
    const LargeArray<EightBoxes>& children = levels_.back();
    LargeArray<EightBoxes> nodes(count);
    team_.run(count, 256, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        nodes[i] = nothing();
        for (int lane = 0; lane < 8 && 8 * i + lane < below; ++lane) {
          nodes[i].put(lane, around_all(children[8 * i + lane]));
        }
      }
    });
    levels_.push_back(std::move(nodes));
    sizes_.push_back(count);
  }

  // The box of a packet (level 0) or a node.
  Box box_around(int level, std::int64_t node) const {
    const auto above = static_cast<std::size_t>(level) + 1;
    if (above < levels_.size()) return levels_[above][node / 8].box(static_cast<int>(node % 8));
    return around_all(levels_.back()[node]);
  }

  static Box around_all(const EightBoxes& boxes) {
    Box box = boxes.box(0);
    for (int lane = 1; lane < 8; ++lane) box = around(box, boxes.box(lane));
    return box;
  }

  // Visits the triangles of two packets.
  template <class Visit>
  void compare(std::int64_t packet, std::int64_t other, Visit&& visit) const {
    const EightBoxes& boxes = levels_[0][packet];
    for (std::uint32_t near = boxes.met(box_around(0, other)); near != 0; near &= near - 1) {
      const int lane = trailing_zeros(near);
      std::uint32_t lanes = levels_[0][other].met(boxes.box(lane));
      if (other == packet) lanes &= 0xfeu << lane;
      if (lanes != 0) visit(packet, lane, other, lanes);
    }
  }

  // Calls visit(node) for the nodes of a level, from one on, whose boxes meet a box; packets are
  // level 0.
  template <class Visit>
  void descend(const Box& box, std::int64_t from, int to, Visit&& visit) const {
    struct Open {
      int level;
      std::int64_t node;
    };
    // Each level adds at most seven open nodes; there are at most 2^31 triangles.
    Open open[8 * 12];
    int count = 0;
    if (count_ > 0) open[count++] = {static_cast<int>(levels_.size()) - 1, 0};
    while (count > 0) {
      const auto [level, node] = open[--count];
      if (level == to) {
        visit(node);
        continue;
      }
      std::uint32_t lanes = levels_[static_cast<std::size_t>(level)][node].met(box);
      const std::int64_t least = (from >> 3 * (level - 1 - to)) - 8 * node;
      if (least > 0) lanes &= 0xffu << (least < 8 ? least : 8);
      for (lanes &= 0xff; lanes != 0; lanes &= lanes - 1) {
        open[count++] = {level - 1, 8 * node + trailing_zeros(lanes)};
      }
    }
  }

  Team& team_;
  BoxFrame frame_ = {};
  std::int64_t count_ = 0;
  LargeArray<TrianglePacket> packets_;
  std::vector<LargeArray<EightBoxes>> levels_;  // of triangles, of packets, of nodes
  std::vector<std::int64_t> sizes_;
};

// Whether two triangles of one surface cross or lie on each other, instead of meeting as
// neighbours: then the space on either side of them is not uniform.

// Triangles are compared within their groups, which are shells, or shells that overlap; triangles
// without a group, -1, meet nothing. `parted`: for each vertex, whether its triangles provably meet
// only in what they share (topology/vertex_fans.h).
class SelfCrossings {
 public:
  SelfCrossings(const MeshView& mesh, const Bounds& bounds, const std::int32_t* group,
                const std::uint8_t* parted, Team& team)
      : mesh_(mesh), group_(group), packets_(mesh, bounds, group, parted, team) {}

  std::int64_t group_count() const { return packets_.group_count(); }

  // Calls found(a, b) for triangles that cross, one of them in a group of packets, the other in
  // it or in a later one.
  template <class Visit>
  void visit_group(std::int64_t group, Visit&& visit) const {
    packets_.visit_pairs(
        group, [&](std::int64_t packet, int lane, std::int64_t other, std::uint32_t lanes) {
          const TrianglePacket &own = packets_[packet], &theirs = packets_[other];
          for (lanes &= ~neighbours(own, lane, theirs); lanes != 0; lanes &= lanes - 1) {
            const std::int32_t a = own.triangle[lane], b = theirs.triangle[trailing_zeros(lanes)];
            if (cross(a, b)) visit(a, b);
          }
        });
  }

  bool cross(std::int32_t a, std::int32_t b) const {
    if (group_[a] != group_[b]) return false;
    const Triangle first = mesh_.triangle(a), second = mesh_.triangle(b);
    if (meet_where_they_share(first, second)) return false;
    if (has_parting_plane(first, second) || has_parting_plane(second, first)) return false;
    const Meeting meeting = meet(first, second);
    switch (meeting.contact) {
      case Contact::cross:
      case Contact::edge_in_face:
      case Contact::face_on_edge:
      case Contact::area:
        return true;
      case Contact::edges:
        return cross_along_edges(a, b, edge_of(a, meeting.apex[0]), edge_of(b, meeting.apex[1]));
      default:
        return false;
    }
  }

 private:
  // A bit for each triangle of a packet that shares a parted vertex with a given triangle.
  static std::uint32_t neighbours(const TrianglePacket& own, int lane,
                                  const TrianglePacket& other) {
    std::uint32_t lanes = 0;
    for (int k = 0; k < 3; ++k) {
      const std::int32_t corner = own.corner[k][lane];
      if (corner < 0) continue;
      for (int j = 0; j < 3; ++j) {
        lanes |= equal(Integers8(corner), Integers8::load(other.corner[j]));
      }
    }
    return lanes;
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

  // Two edges on one line with more than a point in common. If it is an edge of both, they are
  // neighbours; where more than two triangles meet, their wedges decide (`topology/components.h`).
  // For other edges, two triangles are a fold with a vertex on one side only, and more
  // are sheets that meet along the line, and perhaps cross.
  bool cross_along_edges(std::int32_t a, std::int32_t b, const Edge& first,
                         const Edge& second) const {
    if (same_place(first.low, second.low) && same_place(first.high, second.high)) return false;
    const Edge both = {precedes(first.low, second.low) ? second.low : first.low,
                       precedes(first.high, second.high) ? first.high : second.high};
    Bounds box = {both.low, both.low};
    widen(box, {both.high, both.high});
    bool hit = false;
    packets_.visit_met(box, [&](std::int32_t i) {
      hit = i != a && i != b && group_[i] == group_[a] && has_edge_along(i, both);
      return !hit;
    });
    return hit;
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
