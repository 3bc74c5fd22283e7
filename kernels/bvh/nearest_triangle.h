// The triangle that is nearest to a point, over the hierarchy. Boxes, cylinders and flat triangles,
// all in single precision, only leave triangles out; among those that are left doubles leave out
// some more and `foot_on` decides, by (distance, index), so that no answer depends on the order in
// which they are met.
#pragma once

#include <vector>

#include "bvh/flat_packet.h"
#include "bvh/framed_point.h"
#include "bvh/host.h"
#include "bvh/nearest_of.h"
#include "bvh/surrounded_node.h"
#include "platform/arithmetic.h"
#include "platform/bits.h"

namespace geodomain {

// The hierarchy as points ask it.
class NearestIndex {
 public:
  NearestIndex(const MeshView& mesh, const Bounds& bounds, Team& team)
      : mesh_(mesh), bvh_(mesh, bounds, team), view_(bvh_.view()) {
    const auto cylinder = [&](PacketRange below) {
      return cylinder_of(view_.frame, view_.corners + below.first, below.count);
    };
    packets_.resize(static_cast<std::size_t>(bvh_.packet_count()));
    nodes_.resize(bvh_.nodes().size());
    std::vector<Cylinder> of_packets(packets_.size()), of_nodes(nodes_.size());
    team.run(bvh_.packet_count(), 256, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const FloatPacket& from = view_.packets[i];
        const int count = count_bits(from.there);
        packets_[i] = flat_packet(view_.frame, view_.corners + from.first, count);
        of_packets[i] = cylinder({static_cast<std::int32_t>(from.first), count});
      }
    });
    const auto node_count = static_cast<std::int64_t>(nodes_.size());
    team.run(node_count, 1, [&](std::int64_t node, std::int64_t, int) {
      if (node > 0) of_nodes[node] = cylinder(bvh_.below(node));  // the first is in no other
    });
    team.run(node_count, 256, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        nodes_[i] =
            surrounded_node(view_.frame, bvh_.nodes()[i], of_nodes.data(), of_packets.data());
      }
    });
  }

  const MeshView& mesh() const { return mesh_; }
  const BoxFrame& frame() const { return view_.frame; }
  const SurroundedNode& node(std::uint32_t index) const { return nodes_[index]; }
  const FlatPacket& packet(std::uint32_t index) const { return packets_[index]; }

 private:
  const MeshView mesh_;
  const HostBvh bvh_;
  const BatchView view_;
  std::vector<SurroundedNode> nodes_;
  std::vector<FlatPacket> packets_;
};

// Asks for one point after the other; what was found last is where the next search begins.
class NearestAsker {
 public:
  explicit NearestAsker(const NearestIndex& index)
      : index_(index),
        frame_(index.frame()),
        longest_(longest_scale(frame_)),
        place_(frame_, {0.0, 0.0, 0.0}) {}

  NearestFound ask(Vec3 p) {
    place_ = FramedPoint(frame_, p);
    even_ = place_.even(frame_);
    is_far_ = !(place_.most <= kFarthestForCylinders);
    point_ = p;
    best_ = {{HUGE_VAL, p}, -1};
    most_ = HUGE_VALF;
    limit_ = kMostSquare;
    open_count_ = 0;
    doubtful_.clear();
    if (last_ >= 0) lower_by(reach(static_cast<std::uint32_t>(last_)));
    descend(index_.node(0));
    while (open_count_ > 0) {
      const std::uint32_t below = below_[--open_count_];
      if (squares_[open_count_] > limit_) continue;
      if (below & kIsPacket) {
        look(below & ~kIsPacket);
      } else {
        descend(index_.node(below));
      }
    }
    decide();
    last_ = best_packet_;
    return best_;
  }

 private:
  struct Doubtful {
    Noted noted;
    std::int32_t packet;
  };
  static constexpr std::size_t kMostDoubtful = 64;
  static constexpr int kRoom = (kWide - 1) * kDeepest + 1;  // as `kMostOpen` of a GPU's walk

  // What is below a node and near enough, the nearest on top.
  void descend(const SurroundedNode& node) {
    const Floats8 least = node.least_squares({even_.x, even_.y, even_.z}, is_far_);
    float squares[kWide];
    least.store(squares);
    const int first = open_count_;
    for (std::uint32_t rest = at_most(least, Floats8(limit_)); rest != 0; rest &= rest - 1) {
      const int slot = trailing_zeros(rest);
      int place = open_count_++;
      for (; place > first && squares_[place - 1] < squares[slot]; --place) {
        squares_[place] = squares_[place - 1];
        below_[place] = below_[place - 1];
      }
      squares_[place] = squares[slot];
      below_[place] = node.below[slot];
    }
  }

  FlatRange<Floats8> reach(std::uint32_t packet) const {
    return flat_range(index_.packet(packet).triangles(), {even_.x, even_.y, even_.z},
                      place_.moved());
  }

  // Looks at a packet: lowers the most that the distance can be, and notes the triangles that may
  // be that near.
  void look(std::uint32_t index) {
    const FlatPacket& packet = index_.packet(index);
    const FlatRange<Floats8> range = reach(index);
    lower_by(range);
    std::uint32_t rest = at_most(range.least, Floats8(most_)) & packet.there;
    if (rest == 0) return;
    float least[kFloatPacket];
    range.least.store(least);
    for (; rest != 0; rest &= rest - 1) {
      const int i = trailing_zeros(rest);
      if (doubtful_.size() == kMostDoubtful) decide();
      doubtful_.push_back({{least[i], packet.triangle[i]}, static_cast<std::int32_t>(index)});
    }
  }

  void lower_by(const FlatRange<Floats8>& range) {
    const float most = smallest(range.most);
    if (most < most_) lower(most);
  }

  void lower(float most) {
    most_ = most;
    limit_ = place_.limit(most_);
  }

  // Decides among the triangles that have been noted.
  void decide() {
    const std::int32_t before = best_.triangle;
    Noted few[kMostNoted];
    int count = 0;
    const auto among_few = [&] {
      best_ = nearest_of(index_.mesh(), point_, few, count, best_);
      count = 0;
    };
    for (const Doubtful& one : doubtful_) {
      if (!(one.noted.least <= most_)) continue;
      if (count == kMostNoted) among_few();
      few[count++] = one.noted;
    }
    among_few();
    if (best_.triangle != before) {
      for (const Doubtful& one : doubtful_) {
        if (one.noted.triangle == best_.triangle) best_packet_ = one.packet;
      }
      const float most = most_in_places(best_.foot.distance, longest_);
      if (most < most_) lower(most);
    }
    doubtful_.clear();
  }

  const NearestIndex& index_;
  const BoxFrame& frame_;
  const double longest_;
  Vec3 point_ = {};
  NearestFound best_ = {};
  FramedPoint place_;
  Vector<float> even_ = {};
  bool is_far_ = false;
  float most_ = 0.0f;  // the distance is at most that, in even places
  float limit_ = 0.0f;
  std::int32_t best_packet_ = -1, last_ = -1;
  // What is open: squares of the least distances, and what to look at.
  float squares_[kRoom];
  std::uint32_t below_[kRoom];
  int open_count_ = 0;
  std::vector<Doubtful> doubtful_;
};

}  // namespace geodomain
