// The triangle that is nearest to each of a few points that are near to each other, for the threads
// of a warp, which go through the nodes together, a thread to a point. As in
// bvh/nearest_triangle.h boxes, floats and doubles only leave triangles out, and `foot_on` decides
// by (distance, index): what is found is the same in whatever order, company and nodes.
#pragma once

#include "bvh/cylinders.h"
#include "bvh/framed_point.h"
#include "bvh/nodes.h"
#include "exact/nearest.h"

namespace geodomain {

// What the kernels need to answer.
struct NearestView {
  BvhView bvh;
  const Cylinder *of_nodes, *of_packets;
  MeshView mesh;
};
static_assert(sizeof(NearestView) == 128, "as every compiler has it");

// A node to look at, and the square of the distance from it to the nearest point of the group.
struct OpenBox {
  std::uint32_t node;
  float least;
};

// A node leaves at most so many more than it takes, on each level.
constexpr int kMostOpen = (kWide - 1) * kDeepest + 1;

// A group of one point: its vote decides.
struct Alone {
  GD_HD static bool any(bool vote) { return vote; }
  GD_HD static float least(float value) { return value; }
  GD_HD static bool writes() { return true; }
  GD_HD static void sync() {}
};

template <class Group>
class NearestWalk {
 public:
  // `open` has room for kMostOpen, and is shared by the group.
  GD_HD NearestWalk(const NearestView& view, OpenBox* open, Vec3 p, bool asks)
      : view_(view),
        open_(open),
        point_(p),
        asks_(asks),
        place_(view.bvh.frame, p),
        even_(place_.even(view.bvh.frame)) {
    best_ = {{HUGE_VAL, p}, -1};
    longest_ = longest_scale(view.bvh.frame);
    if (!asks) limit_ = -1.0f;
  }

  // The mesh has triangles.
  GD_HD NearestFound find() {
    push({0, 0.0f});
    Group::sync();
    while (count_ > 0) {
      const OpenBox next = open_[--count_];
      Group::sync();
      if (!Group::any(next.least <= limit_)) continue;
      look_at(load_whole(view_.bvh.nodes + next.node));
      Group::sync();
    }
    settle();
    return best_;
  }

 private:
  static constexpr int kMostDoubtful = 8;
  struct Doubtful {  // a triangle that may be the nearest
    double least;
    std::int32_t triangle;
  };

  GD_HD void push(const OpenBox& box) {
    if (Group::writes()) open_[count_] = box;
    ++count_;
  }

  GD_HD void look_at(const WideNode& node) {
    float squares[kWide], least[kWide];
    box_squares(node, squares);
    std::uint32_t wanted = 0;
    for (int slot = 0; slot < kWide; ++slot) {
      const bool there = (node.inner | node.leaf) >> slot & 1;
      least[slot] = Group::least(there && squares[slot] <= limit_ ? squares[slot] : HUGE_VALF);
      wanted |= (least[slot] < HUGE_VALF ? 1u : 0u) << slot;
    }
    for (std::uint32_t rest = wanted & node.leaf; rest != 0;) {  // the nearest first
      const int slot = extreme<false>(least, rest);
      rest &= ~(1u << slot);
      const std::uint32_t packet = node.packet + rank_below(node.leaf, slot);
      if (Group::any(least_square(view_.of_packets[packet], at(squares, slot)) <= limit_)) {
        look_at_packet(view_.bvh.packets[packet]);
      }
    }
    for (std::uint32_t rest = wanted & node.inner; rest != 0;) {  // the farthest first
      const int slot = extreme<true>(least, rest);
      rest &= ~(1u << slot);
      const std::uint32_t child = node.child + rank_below(node.inner, slot);
      const float square = least_square(view_.of_nodes[child], at(squares, slot));
      const float nearest = Group::least(square <= limit_ ? square : HUGE_VALF);
      if (nearest < HUGE_VALF) push({child, nearest});
    }
  }

  // The larger of the squares of the distances to a box and to a cylinder.
  GD_HD float least_square(const Cylinder& from, float of_box) const {
    const Cylinder cylinder = load_whole(&from);
    if (!(place_.most <= kFarthestForCylinders)) return of_box;
    return maximum_of(of_box, cylinder.least_square(even_));
  }

  // One of eight numbers in registers.
  GD_HD static float at(const float* values, int slot) {
    float value = values[0];
    for (int i = 1; i < kWide; ++i) value = i == slot ? values[i] : value;
    return value;
  }
  // The slot with the largest number, or the smallest.
  template <bool kLargest>
  GD_HD static int extreme(const float* least, std::uint32_t slots) {
    int slot = -1;
    float most = 0.0f;
    for (int i = 0; i < kWide; ++i) {
      const bool beyond = slot < 0 || (kLargest ? least[i] > most : least[i] < most);
      const bool is_better = (slots >> i & 1) && beyond;
      slot = is_better ? i : slot;
      most = is_better ? least[i] : most;
    }
    return slot;
  }

  // Squares of the distances to a node's boxes, in even places, as `OpenNode` has them.
  GD_HD void box_squares(const WideNode& node, float* squares) const {
    for (int slot = 0; slot < kWide; ++slot) squares[slot] = 0.0f;
    for (int k = 0; k < 3; ++k) {
      const float step = power_of_two(node.exponent[k]) * view_.bvh.frame.share[k];
      const float begin = (node.origin[k] - place_.at[k]) * view_.bvh.frame.share[k];
      // What `offset_byte` adds is taken off there, rounded to less than 2^-8 of a step.
      const float low = multiply_add(-kByteOffset - 0x1p-8f, step, begin);
      const float high = multiply_add(kByteOffset - 0x1p-8f, step, -begin);
      for (int slot = 0; slot < kWide; ++slot) {
        const float below = multiply_add(offset_byte(node.low[k], slot), step, low);
        const float above = multiply_add(-offset_byte(node.high[k], slot), step, high);
        const float off = maximum_of(maximum_of(below, above), 0.0f);
        squares[slot] = multiply_add(off, off, squares[slot]);
      }
    }
  }

  // Lowers the most that the distance can be, and notes the triangles that may be that near.
  GD_HD void look_at_packet(const Packet& packet) {
    for (int k = 0, count = 1; k < count; ++k) {
      const PacketRow row = load_whole(packet.row + k);
      const double* c = row.at;
      count = row.count;
      const DistanceRange range =
          distance_range({{c[0], c[1], c[2]}, {c[3], c[4], c[5]}, {c[6], c[7], c[8]}}, point_);
      if (!asks_ || !(range.least <= most_)) continue;
      if (range.most < most_) {
        most_ = range.most;
        set_limit();
      }
      note({range.least, row.triangle});
    }
  }

  GD_HD void note(const Doubtful& one) {
    if (doubtful_count_ == kMostDoubtful) forget();
    if (doubtful_count_ == kMostDoubtful) settle();
    doubtful_[doubtful_count_++] = one;
  }

  // Leaves out those that are known to be farther by now.
  GD_HD void forget() {
    int kept = 0;
    for (int i = 0; i < doubtful_count_; ++i) {
      if (doubtful_[i].least <= most_) doubtful_[kept++] = doubtful_[i];
    }
    doubtful_count_ = kept;
  }

  // Decides among the triangles that have been noted: doubles leave out most of them.
  GD_HD void settle() {
    for (int i = 0; i < doubtful_count_; ++i) {
      if (!(doubtful_[i].least <= most_)) continue;
      const std::int32_t triangle = doubtful_[i].triangle;
      const NearestFound found = {foot_on(view_.mesh.triangle(triangle), point_), triangle};
      if (best_.triangle < 0 || found.is_before(best_)) best_ = found;
    }
    doubtful_count_ = 0;
    if (best_.triangle < 0) return;
    // A rounded distance may be below the bound that doubles gave, never far below it.
    most_ = minimum(most_, best_.foot.distance * (1.0 + 0x1p-50));
    set_limit();
  }

  GD_HD void set_limit() { limit_ = place_.limit(most_ * longest_); }

  const NearestView& view_;
  OpenBox* const open_;
  const Vec3 point_;
  const bool asks_;
  const FramedPoint place_;
  const Vector<float> even_;
  NearestFound best_;
  double longest_;
  double most_ = HUGE_VAL;  // the distance is at most that
  float limit_ = HUGE_VALF;
  int count_ = 0, doubtful_count_ = 0;
  Doubtful doubtful_[kMostDoubtful];
};

}  // namespace geodomain
