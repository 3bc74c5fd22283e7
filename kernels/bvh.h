// The hierarchy over a mesh's triangles, as it is asked: nodes of eight boxes in 80 bytes,
// packets of up to four triangles below them.
//
// Boxes are kept as bytes, in steps of a power of two from their node's corner (H. Ylitie, T.
// Karras, S. Laine, "Efficient incoherent ray traversal on GPUs through compressed wide BVHs",
// 2017). Which slot a child is in says on which side of the node's middle it is, along each axis:
// a ray that takes slots in the order of slot ^ octant takes the near ones first.
#pragma once

#include "box_frame.h"
#include "mesh_view.h"

namespace geodomain {

constexpr int kWide = 8;
constexpr int kPacket = 4;
// A level of the tree that nodes are gathered from shares one more bit of 63-bit codes and of
// 32-bit indices than the level above, and a node is at least a level.
constexpr int kDeepest = 63 + 32;

struct alignas(16) WideNode {
  float origin[3];
  std::int8_t exponent[3];
  std::uint8_t inner;  // slots that are nodes: `child` on, in the order of slots
  std::uint32_t child;
  std::uint32_t packet;  // slots that are packets: `packet` on
  std::uint8_t leaf;
  std::uint8_t unused[7];
  std::uint8_t low[3][kWide], high[3][kWide];
};
static_assert(sizeof(WideNode) == 80, "a node is five loads of sixteen bytes");

// Corners by coordinate, for a compiler to take them all at once; those beyond `count` are NaN.
struct alignas(16) Packet {
  double at[9][kPacket];  // ax, ay, az, bx, ..., cz
  std::int32_t triangle[kPacket];
  std::int32_t count;

  GD_HD Triangle corners(int k) const {
    return {{at[0][k], at[1][k], at[2][k]},
            {at[3][k], at[4][k], at[5][k]},
            {at[6][k], at[7][k], at[8][k]}};
  }
};

struct BvhView {
  const WideNode* nodes;
  const Packet* packets;
  BoxFrame frame;
  std::int64_t triangle_count;
};

GD_HD float power_of_two(int exponent) {  // -126 to 127
  const std::uint32_t bits = static_cast<std::uint32_t>(exponent + 127) << 23;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The slots whose boxes the probe meets within `reach`.
GD_HD std::uint32_t met_slots(const WideNode& node, const Probe& probe, float reach) {
  float enter[kWide], leave[kWide];
  for (int i = 0; i < kWide; ++i) enter[i] = 0.0f, leave[i] = reach;
  for (int k = 0; k < 3; ++k) {
    const float step = power_of_two(node.exponent[k]) * probe.inverse[k];
    const float from = node.origin[k] - probe.start[k];
    const float low = (from - probe.margin) * probe.inverse[k];
    const float high = (from + probe.margin) * probe.inverse[k];
    for (int i = 0; i < kWide; ++i) {
      const float a = multiply_add(static_cast<float>(node.low[k][i]), step, low);
      const float b = multiply_add(static_cast<float>(node.high[k][i]), step, high);
      const float near = a < b ? a : b, far = a < b ? b : a;
      enter[i] = near > enter[i] ? near : enter[i];
      leave[i] = far < leave[i] ? far : leave[i];
    }
  }
  std::uint32_t met = 0;
  for (int i = 0; i < kWide; ++i) {
    met |= (enter[i] <= leave[i] * 1.000001f ? 1u : 0u) << i;
  }
  return met & (node.inner | node.leaf);
}

// Bit i goes to bit i ^ octant, and back.
GD_HD std::uint32_t turned(std::uint32_t slots, std::uint32_t octant) {
  if (octant & 1) slots = (slots & 0x55) << 1 | (slots >> 1 & 0x55);
  if (octant & 2) slots = (slots & 0x33) << 2 | (slots >> 2 & 0x33);
  if (octant & 4) slots = (slots & 0x0f) << 4 | (slots >> 4 & 0x0f);
  return slots;
}

GD_HD std::uint32_t rank_below(std::uint32_t slots, int slot) {
  return static_cast<std::uint32_t>(count_bits(slots & ((1u << slot) - 1u)));
}

// visit(packet) for each packet whose box the probe meets, near ones first more or less, until it
// returns true. It may lower `reach`, after which boxes that lie beyond are passed over.
// The stack has an entry for each level above, so it cannot overflow.
template <class Visit>
GD_HD void visit_packets(const BvhView& bvh, const Probe& probe, const float& reach,
                         Visit&& visit) {
  struct Siblings {
    std::uint32_t child, inner, open;
  };
  Siblings stack[kDeepest];
  int depth = 0;
  std::uint32_t index = 0;
  for (;;) {
    const WideNode node = bvh.nodes[index];
    const std::uint32_t met = met_slots(node, probe, reach);
    for (std::uint32_t leaves = met & node.leaf; leaves != 0; leaves &= leaves - 1) {
      const int slot = trailing_zeros(leaves);
      if (visit(bvh.packets[node.packet + rank_below(node.leaf, slot)])) return;
    }
    const std::uint32_t open = turned(met & node.inner, probe.octant);
    if (open != 0) stack[depth++] = {node.child, node.inner, open};
    if (depth == 0) return;
    Siblings& top = stack[depth - 1];
    const int slot = trailing_zeros(top.open) ^ static_cast<int>(probe.octant);
    top.open &= top.open - 1;
    index = top.child + rank_below(top.inner, slot);
    if (top.open == 0) --depth;
  }
}

}  // namespace geodomain
