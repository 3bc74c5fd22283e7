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
        packets_[i] = flat_packet(view_.frame, view_.corners + from.first, count_bits(from.there));
      }
    });
  }

  const MeshView& mesh() const { return mesh_; }
  const BatchView& view() const { return view_; }
  const FlatPacket& packet(std::uint32_t index) const { return packets_[index]; }

 private:
  const MeshView mesh_;
  const HostBvh bvh_;
  const BatchView view_;
  std::vector<FlatPacket> packets_;
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
    even_ = place_.even(frame_);
    point_ = p;
    best_ = {{HUGE_VAL, p}, -1};
    most_ = HUGE_VALF;
    limit_ = kMostSquare;
    open_.clear();
    doubtful_.clear();
    if (last_ >= 0) look(static_cast<std::uint32_t>(last_), false);
    open_.push_back({0.0f, 0, false});
    while (!open_.empty()) {
      const Open next = open_.back();
      open_.pop_back();
      if (next.square > limit_) continue;
      if (next.is_packet) {
        look(next.index, true);
      } else {
        descend(index_.view().nodes[next.index]);
      }
    }
    decide();
    last_ = best_packet_;
    return best_;
  }

 private:
  struct Open {
    float square;
    std::uint32_t index;
    bool is_packet;
  };
  struct Doubtful {
    Noted noted;
    std::int32_t packet;
  };
  static constexpr std::size_t kMostDoubtful = 64;

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

  // Looks at a packet: lowers the most that the distance can be, and notes the triangles that may
  // be that near.
  void look(std::uint32_t index, bool notes) {
    const FlatPacket& packet = index_.packet(index);
    if (place_.most <= kFarthestForCylinders && packet.cylinder.least_square(even_) > limit_) {
      return;
    }
    float least[kFloatPacket], most[kFloatPacket];
    reach(packet, least, most);
    float nearest = most[0];
    for (int i = 1; i < kFloatPacket; ++i) nearest = minimum_of(nearest, most[i]);
    if (nearest < most_) lower(nearest);
    if (!notes) return;
    for (int i = 0; i < packet.count; ++i) {
      if (!(least[i] <= most_)) continue;
      if (doubtful_.size() == kMostDoubtful) decide();
      doubtful_.push_back({{least[i], packet.triangle[i]}, static_cast<std::int32_t>(index)});
    }
  }

  // As `flat_range`, of eight at once.
  void reach(const FlatPacket& packet, float* least, float* most) const {
    const FlatTriangle<Floats8> triangles = packet.triangles();
    const FlatReach<Floats8> found(triangles, {even_.x, even_.y, even_.z});
    float edge[kFloatPacket], plane[kFloatPacket], inside[kFloatPacket], error[kFloatPacket];
    found.edge.store(edge);
    minimum(found.plane, found.edge).store(plane);
    found.inside.store(inside);
    multiply_add(Floats8(kFlatError), found.edge + triangles.base, Floats8(place_.moved()))
        .store(error);
    for (int i = 0; i < kFloatPacket; ++i) {
      least[i] = (inside[i] < -error[i] ? edge[i] : plane[i]) - error[i];
      most[i] = (inside[i] > error[i] ? plane[i] : edge[i]) + error[i];
    }
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
  float most_ = 0.0f;  // the distance is at most that, in even places
  float limit_ = 0.0f;
  std::int32_t best_packet_ = -1, last_ = -1;
  std::vector<Open> open_;
  std::vector<Doubtful> doubtful_;
};

}  // namespace geodomain
