// Nodes of the hierarchy as a CPU is asked through them: boxes as eight floats to a side, opened
// once from the bytes that they are kept in elsewhere, and references side by side.
#pragma once

#include <cstring>

#include "bvh/float_packets.h"
#include "platform/arithmetic.h"

namespace geodomain {

struct alignas(64) OpenNode {
  float side[3][2][kWide];     // low and high, along each axis
  std::uint32_t child[kWide];  // of a slot: a node or a packet
  std::uint32_t inner, leaf;   // slots that are nodes, and packets
};

// One rounding to the nearest float, 2^-24, comes to what `Ray` counts.
inline OpenNode open_node(const WideNode& node) {
  OpenNode open = {};
  open.inner = node.inner;
  open.leaf = node.leaf;
  for (int slot = 0; slot < kWide; ++slot) {
    const bool is_leaf = node.leaf >> slot & 1;
    open.child[slot] = is_leaf ? node.packet + rank_below(node.leaf, slot)
                               : node.child + rank_below(node.inner, slot);
    for (int k = 0; k < 3; ++k) {
      const float step = power_of_two(node.exponent[k]);
      const auto place = [&](std::uint64_t steps) {
        return node.origin[k] + step * static_cast<float>(steps >> 8 * slot & 0xff);
      };
      open.side[k][0][slot] = place(node.low[k]);
      open.side[k][1][slot] = place(node.high[k]);
    }
  }
  return open;
}

// A frame for all axes at once, in four lanes of which the last is 0.
struct EvenFrame {
  BoxFrame axes;
  double centre[4], scale[4], share[4];

  explicit EvenFrame(const BoxFrame& frame) : axes(frame), centre(), scale(), share() {
    for (int k = 0; k < 3; ++k) {
      centre[k] = frame.centre[k];
      scale[k] = frame.scale[k];
      share[k] = frame.share[k];
    }
  }
};

// A probe made ready for many boxes: a side at x is met at x * inverse + near, or far.
//
// In the frame, all that rounding moves a position by: a box, when it was made and when it was
// opened, and the start 2^-24 each; the direction and its inverse 2^-22; start * inverse, the
// margin's sum, the product and the sum 5 * 2^-24. That is less than 4 * 2^-22, where the margin
// has room for eight.
struct Ray {
  float inverse[4], near[4], far[4];
  std::uint32_t near_side[3];  // where the sides begin that are met first
  std::uint32_t octant;
  float reach;  // what lies beyond is passed over; a visitor may lower it
  Sight sight;
  Stretch stretch;

  // Whether it may meet the frame's box at all; `ends` is the row of the segment.
  bool begin(const EvenFrame& frame, const double* ends) {
    const Doubles4 centre = Doubles4::load(frame.centre), scale = Doubles4::load(frame.scale);
    const Doubles4 share = Doubles4::load(frame.share);
    const double end[4] = {ends[3], ends[4], ends[5], ends[5]};
    const Doubles4 first = (Doubles4::load(ends) - centre) * scale;
    const Doubles4 last = (Doubles4::load(end) - centre) * scale;
    const Doubles4 along = (Doubles4::load(end) - Doubles4::load(ends)) * scale;
    const Doubles4 whole = along * share;
    const Floats4 even = whole.rounded();
    (first * share).store(sight.start);
    whole.store(sight.whole);
    even.store(sight.along);
    sight.size = largest(absolute(even));
    reach = 1.000001f;
    if (all_at_most(maximum(absolute(first), absolute(last)), Doubles4(1.0))) {
      // As `aim` does for a segment that nothing is clipped off.
      constexpr double kInside = kRounding + 0x1p-46;
      const Doubles4 size = maximum(absolute(along), Doubles4(kInside));
      const Floats4 one = Floats4(1.0f) / signed_as(size, along).rounded();
      set(first.rounded(), one, Floats4(static_cast<float>(2.0 * kInside)) * absolute(one));
      stretch = {0.0, 1.0};
      return true;
    }
    Probe probe;
    if (!aim(frame.axes, segment_of(ends, 0), probe)) return false;
    const auto of = [](const float* v) {
      const float all[4] = {v[0], v[1], v[2], 0.0f};
      return Floats4::load(all);
    };
    set(of(probe.start), of(probe.inverse), of(probe.margin));
    stretch = probe.stretch;
    return true;
  }

  void shorten(double t) { reach = stretch.reach(t); }
  void end() { reach = -1.0f; }

 private:
  void set(Floats4 start, Floats4 inverse_of, Floats4 margin) {
    const Floats4 offset = start * inverse_of;
    inverse_of.store(inverse);
    (Floats4(0.0f) - (offset + margin)).store(near);
    (margin - offset).store(far);
    octant = signs(inverse_of) & 7;
    for (std::uint32_t k = 0; k < 3; ++k) near_side[k] = kWide * (2 * k + (octant >> k & 1));
  }
};

// The slots whose boxes the ray meets within its reach, and where it does, as the reach is told; of
// slots that are empty, any.
struct MetSlots {
  std::uint32_t slots;
  Floats8 enter;
};

inline MetSlots met_slots(const OpenNode& node, const Ray& ray) {
  const float* const sides = node.side[0][0];
  Floats8 enter(0.0f), leave(ray.reach);
  for (int k = 0; k < 3; ++k) {
    const std::size_t first = ray.near_side[k], last = first ^ kWide;
    const Floats8 inverse(ray.inverse[k]);
    enter =
        maximum(enter, multiply_add(Floats8::load(sides + first), inverse, Floats8(ray.near[k])));
    leave = minimum(leave, multiply_add(Floats8::load(sides + last), inverse, Floats8(ray.far[k])));
  }
  return {at_most(enter, leave), enter};
}

}  // namespace geodomain
