// Nodes of the hierarchy as a CPU is asked through them: boxes as eight floats to a side, opened
// once from the bytes that they are kept in elsewhere, and references side by side.
#pragma once

#include <cstring>

#include "bvh.h"

namespace geodomain {

struct alignas(64) OpenNode {
  float side[2][3][kWide];     // low and high, along each axis
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
      open.side[0][k][slot] = place(node.low[k]);
      open.side[1][k][slot] = place(node.high[k]);
    }
  }
  return open;
}

// A probe made ready for many boxes: a side at x is met at x * inverse + near, or far.
//
// In the frame, all that rounding moves a position by: a box, when it was made and when it was
// opened, and the start 2^-24 each; the direction and its inverse 2^-22; start * inverse, the
// margin's sum, the product and the sum 5 * 2^-24. That is less than 4 * 2^-22, where the margin
// has room for eight.
struct Ray {
  float inverse[3], near[3], far[3];
  float reach;  // what lies beyond is passed over; a visitor may lower it
  std::uint32_t octant;
  Stretch stretch;

  void begin(const Probe& probe) {
    for (int k = 0; k < 3; ++k) {
      const float offset = -probe.start[k] * probe.inverse[k];
      inverse[k] = probe.inverse[k];
      near[k] = offset - probe.margin[k];
      far[k] = offset + probe.margin[k];
    }
    reach = 1.000001f;
    octant = probe.octant;
    stretch = probe.stretch;
  }
  void shorten(double t) { reach = stretch.reach(t); }
  void end() { reach = -1.0f; }
};

// The slots whose boxes the ray meets within its reach; of slots that are empty, any.
inline std::uint32_t met_slots(const OpenNode& node, const Ray& ray) {
  Floats8 enter(0.0f), leave(ray.reach);
  for (int k = 0; k < 3; ++k) {
    const std::uint32_t descends = ray.octant >> k & 1;
    const Floats8 inverse(ray.inverse[k]);
    const Floats8 first = Floats8::load(node.side[descends][k]);
    const Floats8 last = Floats8::load(node.side[descends ^ 1][k]);
    enter = larger(enter, multiply_add(first, inverse, Floats8(ray.near[k])));
    leave = smaller(leave, multiply_add(last, inverse, Floats8(ray.far[k])));
  }
  return at_most(enter, leave);
}

}  // namespace geodomain
