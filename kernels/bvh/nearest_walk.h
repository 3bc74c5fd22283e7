// Finds the triangles nearest to the points of a warp, one thread for each point. The points are
// near each other, so the threads walk through the nodes together. Boxes, cylinders and flat
// triangles, all in single precision, exclude most triangles and list the few that may be nearest.
// Of these, doubles exclude some, and `foot_on` decides by (distance, index): the result does not
// depend on the order, on the other points of the warp, or on the nodes.
#pragma once

#include "bvh/nearest.h"

namespace geodomain {

// A node to visit, and a lower bound of the squared distance from its box to the nearest point of
// the group.
struct OpenBox {
  std::uint32_t node;
  float least;
};

// The bits of a non-negative number, which sort like the number.
GD_HD std::uint32_t bits_of_float(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
GD_HD float float_of_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// On each level a node adds at most this many entries more than it takes.
constexpr int kMostOpen = (kWide - 1) * kDeepest + 1;

// A group of one point: its vote decides.
struct Alone {
  GD_HD static bool any(bool vote) { return vote; }
  GD_HD static std::uint32_t least(std::uint32_t value) { return value; }
  GD_HD static bool writes() { return true; }
  GD_HD static void sync() {}
};

// With `kDecides` the walk decides whenever its list is full; otherwise it goes on without listing.
template <class Group, bool kDecides>
class NearestWalk {
 public:
  // `open` has room for kMostOpen and is shared by the group; `noted` is a point's own, for
  // kMostNoted. Both are separate from the walk, so that a compiler can keep the rest in registers.
  GD_HD NearestWalk(const NearestView& view, OpenBox* open, Noted* noted, Vec3 p, bool asks)
      : view_(view),
        open_(open),
        noted_(noted),
        point_(p),
        asks_(asks),
        place_(view.frame, p),
        even_(place_.even(view.frame)) {
    if (!asks) limit_ = -1.0f;
  }

  // Visits all nodes and packets that may contain the nearest. The mesh has triangles.
  GD_HD void go() {
    push({0, 0.0f});
    Group::sync();
    while (count_ > 0) {
      const OpenBox next = open_[--count_];
      Group::sync();
      if (!Group::any(next.least <= limit_)) continue;
      if (!Group::any(least_square(view_.of_nodes[next.node], 0.0f) <= limit_)) continue;
      look_at(view_.nodes[next.node]);
      Group::sync();
    }
    forget();
  }

  // The number of listed triangles, one of which is the nearest; -1 if there was no room.
  GD_HD int noted_count() const { return has_room_ ? noted_count_ : -1; }

  // The result of a walk that decides.
  GD_HD NearestFound result() {
    decide();
    return best_;
  }

 private:
  GD_HD void push(const OpenBox& box) {
    if (Group::writes()) open_[count_] = box;
    ++count_;
  }

  GD_HD void look_at(const NearestNode& node) {
    float squares[kWide];
    box_squares(node, squares);
    const std::uint32_t inner = node.inner, leaf = node.leaf;
    // Nodes go in farthest first, so that the nearest is on top; packets nearest first.
    std::uint32_t nodes[kWide], packets[kWide];
    for (int slot = 0; slot < kWide; ++slot) {
      const std::uint32_t square = squares[slot] <= limit_ ? bits_of_float(squares[slot]) : kNone;
      const std::uint32_t least = Group::least(square);
      const std::uint32_t key = ((least & ~kSlots) | static_cast<std::uint32_t>(slot)) + kWide;
      nodes[slot] = least != kNone && (inner >> slot & 1) ? key : 0;
      packets[slot] = least != kNone && (leaf >> slot & 1) ? ~key : 0;
    }
    in_turn(packets, [&](std::uint32_t key) {
      const int slot = static_cast<int>(~key & kSlots);
      const std::uint32_t packet = node.packet + rank_below(leaf, slot);
      if (Group::any(least_square(view_.of_packets[packet], at(squares, slot)) <= limit_)) {
        look_at_packet(view_.rows + kDevicePacket * packet);
      }
    });
    in_turn(nodes, [&](std::uint32_t key) {
      const int slot = static_cast<int>(key & kSlots);
      push({node.child + rank_below(inner, slot), float_of_bits((key - kWide) & ~kSlots)});
    });
  }

  static constexpr std::uint32_t kNone = 0xffffffffu, kSlots = kWide - 1;

  // Visits keys other than 0 and kNone, the largest first; no two are equal.
  template <class Visit>
  GD_HD static void in_turn(const std::uint32_t* keys, Visit&& visit) {
    for (std::uint32_t last = kNone;;) {
      std::uint32_t next = 0;
      for (int i = 0; i < kWide; ++i) {
        const std::uint32_t key = keys[i] < last ? keys[i] : 0;
        next = key > next ? key : next;
      }
      if (next == 0) return;
      visit(next);
      last = next;
    }
  }

  // The larger of the squared distances to a box and to a cylinder.
  GD_HD float least_square(const Cylinder& from, float of_box) const {
    const Cylinder cylinder = load_whole(&from);
    if (!(place_.most <= kFarthestForCylinders)) return of_box;
    return maximum_of(of_box, cylinder.least_square(even_));
  }

  // One of eight values in registers.
  GD_HD static float at(const float* values, int slot) {
    float value = values[0];
    for (int i = 1; i < kWide; ++i) value = i == slot ? values[i] : value;
    return value;
  }
  // Squared distances to a node's boxes.
  GD_HD void box_squares(const NearestNode& node, float* squares) const {
    const float place[3] = {even_.x, even_.y, even_.z};
    for (int slot = 0; slot < kWide; ++slot) squares[slot] = 0.0f;
    for (int k = 0; k < 3; ++k) {
      for (int slot = 0; slot < kWide; ++slot) {
        const float below = node.side[k][0][slot] - place[k];
        const float above = place[k] - node.side[k][1][slot];
        const float off = largest_from_zero(below, above, above);
        squares[slot] = multiply_add(off, off, squares[slot]);
      }
    }
  }

  // Lowers the upper bound of the distance, and lists the triangles that may be within it.
  GD_HD void look_at_packet(const FlatRow* rows) {
    for (std::uint32_t which = FlatRow::kAnother; which & FlatRow::kAnother; ++rows) {
      const FlatRow row = load_whole(rows);
      which = row.triangle;
      const FlatRange<float> range = flat_range(row.flat, even_, place_.moved());
      if (!asks_ || !(range.least <= most_)) continue;
      if (range.most < most_) {
        most_ = range.most;
        limit_ = place_.limit(most_);
      }
      note({range.least, static_cast<std::int32_t>(which & ~FlatRow::kAnother)});
    }
  }

  GD_HD void note(const Noted& candidate) {
    if (noted_count_ == kMostNoted) forget();
    if (noted_count_ == kMostNoted) {
      if (!kDecides) return void(has_room_ = false);
      decide();
    }
    noted_[noted_count_++] = candidate;
  }

  // Removes listed triangles that are farther than the bound by now.
  GD_HD void forget() {
    int count = 0;
    for (int i = 0; i < noted_count_; ++i) {
      if (noted_[i].least <= most_) noted_[count++] = noted_[i];
    }
    noted_count_ = count;
  }

  GD_HD void decide() {
    forget();
    best_ = nearest_of(view_.mesh, point_, noted_, noted_count_, best_);
    noted_count_ = 0;
    const float most = most_in_places(best_.foot.distance, longest_scale(view_.frame));
    if (most < most_) {
      most_ = most;
      limit_ = place_.limit(most_);
    }
  }

  const NearestView& view_;
  OpenBox* const open_;
  Noted* const noted_;
  const Vec3 point_;
  const bool asks_;
  const FramedPoint place_;
  const Vector<float> even_;
  NearestFound best_ = {{HUGE_VAL, {0.0, 0.0, 0.0}}, -1};
  float most_ = HUGE_VALF;  // upper bound of the distance, in units of the longest axis
  float limit_ = kMostSquare;
  int count_ = 0, noted_count_ = 0;
  bool has_room_ = true;
};

}  // namespace geodomain
