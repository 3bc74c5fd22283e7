// The triangle that is nearest to a point, over the hierarchy. Boxes and doubles only leave
// triangles out; among those that are left `foot_on` decides, by (distance, index), so that no
// answer depends on the order in which they are met.
#pragma once

#include <vector>

#include "bvh/corner_packet.h"
#include "bvh/framed_point.h"
#include "bvh/host.h"
#include "exact/nearest.h"
#include "platform/arithmetic.h"
#include "platform/bits.h"

namespace geodomain {

// Squares of the distances to a node's boxes.
inline void box_squares(const OpenNode& node, const BoxFrame& frame, const FramedPoint& p,
                        float* squares) {
  Floats8 sum(0.0f);
  for (int k = 0; k < 3; ++k) {
    const Floats8 place(p.at[k]);
    const Floats8 below = Floats8::load(node.side[k][0]) - place;
    const Floats8 above = place - Floats8::load(node.side[k][1]);
    const Floats8 off = maximum(maximum(below, above), Floats8(0.0f)) * Floats8(frame.share[k]);
    sum = multiply_add(off, off, sum);
  }
  sum.store(squares);
}

// The hierarchy as points ask it.
class NearestIndex {
 public:
  NearestIndex(const MeshView& mesh, const Bounds& bounds, Team& team)
      : mesh_(mesh), bvh_(mesh, bounds, team), view_(bvh_.view()) {
    packets_.resize(static_cast<std::size_t>(bvh_.packet_count()));
    team.run(bvh_.packet_count(), 256, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const FloatPacket& from = view_.packets[i];
        packets_[i] = corner_packet(view_.corners + from.first, count_bits(from.there));
      }
    });
  }

  const MeshView& mesh() const { return mesh_; }
  const BatchView& view() const { return view_; }
  const CornerPacket& packet(std::uint32_t index) const { return packets_[index]; }

 private:
  const MeshView mesh_;
  const HostBvh bvh_;
  const BatchView view_;
  std::vector<CornerPacket> packets_;
};

// Asks for one point after the other; what was found last is where the next search begins.
class NearestAsker {
 public:
  explicit NearestAsker(const NearestIndex& index)
      : index_(index),
        frame_(index.view().frame),
        longest_(longest_scale(frame_)),
        place_(frame_, {0.0, 0.0, 0.0}) {}

  NearestFound ask(Vec3 p) {
    place_ = FramedPoint(frame_, p);
    point_ = p;
    best_ = {{HUGE_VAL, p}, -1};
    most_ = HUGE_VAL;
    open_.clear();
    doubtful_.clear();
    if (last_ >= 0) look(static_cast<std::uint32_t>(last_), false);
    set_limit();
    open_.push_back({0.0f, 0, false});
    while (!open_.empty()) {
      const Open next = open_.back();
      open_.pop_back();
      if (next.square > limit_) continue;
      if (next.is_packet) {
        look(next.index, true);
        set_limit();
      } else {
        descend(index_.view().nodes[next.index]);
      }
    }
    settle();
    last_ = best_packet_;
    return best_;
  }

 private:
  struct Open {
    float square;
    std::uint32_t index;
    bool is_packet;
  };
  struct Doubtful {  // a triangle that may be the nearest
    double least;
    std::int32_t triangle, packet;
  };
  static constexpr std::size_t kMostDoubtful = 64;

  void set_limit() { limit_ = place_.limit(most_ * longest_); }

  // The boxes that are near enough, the nearest on top.
  void descend(const OpenNode& node) {
    float squares[kWide];
    box_squares(node, frame_, place_, squares);
    const std::size_t first = open_.size();
    const auto both = static_cast<std::uint32_t>(node.inner | node.leaf);
    for (std::uint32_t rest = both; rest != 0; rest &= rest - 1) {
      const int slot = trailing_zeros(rest);
      if (!(squares[slot] <= limit_)) continue;
      open_.push_back({squares[slot], node.child[slot], (node.leaf >> slot & 1) != 0});
      for (std::size_t i = open_.size() - 1; i > first && open_[i - 1].square < open_[i].square;
           --i) {
        std::swap(open_[i - 1], open_[i]);
      }
    }
  }

  // Looks at a packet in doubles: lowers the most that the distance can be, and notes the
  // triangles that may be that near.
  void look(std::uint32_t index, bool notes) {
    const CornerPacket& packet = index_.packet(index);
    const double r = packet.reach(point_);
    if (r <= kFarthestForDoubles && packet.least_distance(point_, r) > most_) return;
    double least[kFloatPacket], most[kFloatPacket];
    if (r <= kFarthestForDoubles) {
      for (int i = 0; i < packet.count; i += kLanes) reach(packet, i, r, least + i, most + i);
    } else {
      for (int i = 0; i < packet.count; ++i) least[i] = 0.0, most[i] = HUGE_VAL;
    }
    for (int i = 0; i < packet.count; ++i) most_ = minimum(most_, most[i]);
    if (!notes) return;
    for (int i = 0; i < packet.count; ++i) {
      if (!(least[i] <= most_)) continue;
      if (doubtful_.size() == kMostDoubtful) settle();
      doubtful_.push_back({least[i], packet.triangle[i], static_cast<std::int32_t>(index)});
    }
  }

  static constexpr int kLanes = 4;
  void reach(const CornerPacket& packet, int first, double r, double* least, double* most) const {
    using Number = Doubles4;
    const auto corner = [&](int k) {
      return Vector<Number>{Number::load(packet.at[k] + first),
                            Number::load(packet.at[k + 1] + first),
                            Number::load(packet.at[k + 2] + first)};
    };
    const auto apart = [](const Vector<Number>& to, const Vector<Number>& from) {
      return Vector<Number>{to.x - from.x, to.y - from.y, to.z - from.z};
    };
    const Vector<Number> p = spread<Number>(point_), a = corner(0), b = corner(3), c = corner(6);
    const TriangleReach<Number> found(apart(p, a), apart(p, b), apart(b, a), apart(c, b),
                                      apart(c, a), r);
    const double edge_error = TriangleReach<Number>::edge_error(r);
    const std::uint32_t out = bits_below(found.depth, Number(0.0) - found.doubt);
    const std::uint32_t in = bits_below(found.doubt, found.depth);
    double edge[kLanes], plane[kLanes], plane_error[kLanes], least_length[kLanes];
    found.nearest_edge.store(edge);
    found.plane.store(plane);
    found.plane_error.store(plane_error);
    found.least_length.store(least_length);
    for (int i = 0; i < kLanes; ++i) {
      const DistanceRange range =
          distance_range(edge[i], edge_error, plane[i], plane_error[i], least_length[i],
                         out >> i & 1, in >> i & 1, found.thin >> i & 1);
      least[i] = range.least;
      most[i] = range.most;
    }
  }

  // Decides among the triangles that have been noted.
  void settle() {
    for (const Doubtful& one : doubtful_) {
      if (!(one.least <= most_)) continue;
      const Foot foot = foot_on(index_.mesh().triangle(one.triangle), point_);
      const NearestFound found = {foot, one.triangle};
      if (best_.triangle < 0 || found.is_before(best_)) best_ = found, best_packet_ = one.packet;
    }
    // A rounded distance may be below the bound that doubles gave, never far below it.
    if (best_.triangle >= 0) most_ = minimum(most_, best_.foot.distance * (1.0 + 0x1p-50));
    doubtful_.clear();
    set_limit();
  }

  const NearestIndex& index_;
  const BoxFrame& frame_;
  const double longest_;
  Vec3 point_ = {};
  NearestFound best_ = {};
  double most_ = 0.0;  // the distance is at most that
  FramedPoint place_;
  float limit_ = 0.0f;
  std::int32_t best_packet_ = -1, last_ = -1;
  std::vector<Open> open_;
  std::vector<Doubtful> doubtful_;
};

}  // namespace geodomain
