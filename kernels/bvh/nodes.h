// The hierarchy over a mesh's triangles in the form for queries: nodes of eight boxes in 80 bytes,
// with packets of a few triangles below them.
//
// Boxes are stored as bytes, in steps of a power of two from their node's corner (H. Ylitie, T.
// Karras, S. Laine, "Efficient incoherent ray traversal on GPUs through compressed wide BVHs",
// 2017). A child's slot tells on which side of the node's middle it is, along each axis: a ray that
// takes slots in the order of slot ^ octant takes the near ones first.
#pragma once

#include "bvh/box_frame.h"
#include "platform/arithmetic.h"
#include "platform/bits.h"
#include "platform/loads.h"
#include "platform/mesh_view.h"

namespace geodomain {

constexpr int kWide = 8;
// Triangles in a packet. A thread of a GPU takes them one by one, so that smaller boxes pay off; a
// CPU takes eight at once, from its own packets (bvh/float_packets.h).
constexpr int kDevicePacket = 2;
// Each level of the binary tree shares one more bit of 63-bit codes and 32-bit indices than the
// level above, and a node spans at least a level.
constexpr int kDeepest = 63 + 32;

struct alignas(16) WideNode {
  float origin[3];
  std::int8_t exponent[3];
  std::uint8_t inner;  // slots with nodes: from `child` on, in the order of slots
  std::uint32_t child;
  std::uint32_t packet;  // slots with packets: from `packet` on
  std::uint8_t leaf;
  std::uint8_t unused[7];
  std::uint64_t low[3], high[3];  // a byte for each slot, the first lowest
};
static_assert(sizeof(WideNode) == 80, "a node is five loads of sixteen bytes");

// A triangle of a packet, read by five loads of sixteen bytes.
struct alignas(16) PacketRow {
  double at[9];  // ax, ay, az, bx, ..., cz
  std::int32_t triangle;
  std::int32_t count;  // triangles in the packet
};
static_assert(sizeof(PacketRow) == 80, "a row is five loads of sixteen bytes");

// One triangle after the other, for a thread of a GPU: threads at different packets wait for each
// of their loads, whatever its size, and missing rows cost nothing.
struct Packet {
  PacketRow row[kDevicePacket];

  // Corners are read again when they are needed, which is rare: this saves eighteen registers.
  // Without `volatile` compilers would keep the corners.
  struct Taken {
    const PacketRow& from;
    PacketRow row;
    std::int32_t count;

    GD_HD double coordinate(int k) const { return row.at[k]; }
    GD_HD Triangle corners(int) const {
      const volatile double* c = from.at;
      return {{c[0], c[1], c[2]}, {c[3], c[4], c[5]}, {c[6], c[7], c[8]}};
    }
    GD_HD std::int32_t index(int) const { return from.triangle; }
  };

  template <class Number>
  GD_HD Taken take(int first) const {
    const PacketRow held = load_whole(row + first);
    return {row[first], held, held.count};
  }
  GD_HD void put(int k, const double* corners, std::int32_t index, std::int32_t all) {
    PacketRow filled;
    for (int i = 0; i < 9; ++i) filled.at[i] = corners[i];
    filled.triangle = index;
    filled.count = all;
    row[k] = filled;
  }
};

struct BvhView {
  const WideNode* nodes;
  const Packet* packets;
  BoxFrame frame;
  std::int64_t triangle_count;
};
static_assert(sizeof(BvhView) == size_by_pointers(88, 80), "as every compiler has it");

GD_HD float power_of_two(int exponent) {  // -126 to 127
  const std::uint32_t bits = static_cast<std::uint32_t>(exponent + 127) << 23;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Where a probe meets the two sides of each slot's box along an axis. All slots of an axis are
// computed together, which GPU compilers turn into fewer instructions.
struct AxisClip {
  float enter[kWide], leave[kWide];

  // A side at a byte is met at byte * step from the node's corner. What `offset_byte` adds is
  // subtracted there, rounded twice, by 2^-24 of that many steps each time; the margin subtracts
  // twice as much, including its own rounding.
  GD_HD AxisClip(const WideNode& node, const Probe& probe, int k) {
    const bool descends = probe.octant >> k & 1;
    const std::uint64_t near = descends ? node.high[k] : node.low[k];
    const std::uint64_t far = descends ? node.low[k] : node.high[k];
    const float step = power_of_two(node.exponent[k]) * probe.inverse[k];
    const float begin =
        multiply_add(-kByteOffset, step, (node.origin[k] - probe.start[k]) * probe.inverse[k]);
    const float margin = multiply_add(kByteOffset * 0x1p-22f, std::fabs(step), probe.margin[k]);
    const float first = begin - margin, last = begin + margin;
    for (int slot = 0; slot < kWide; ++slot) {
      enter[slot] = multiply_add(offset_byte(near, slot), step, first);
    }
    for (int slot = 0; slot < kWide; ++slot) {
      leave[slot] = multiply_add(offset_byte(far, slot), step, last);
    }
  }
};

// The slots whose boxes the probe meets within `reach`.
GD_HD std::uint32_t met_slots(const WideNode& node, const Probe& probe, float reach) {
  const AxisClip x(node, probe, 0), y(node, probe, 1), z(node, probe, 2);
  std::uint32_t missed = 0;
  for (int slot = kWide; slot-- > 0;) {
    const float enter = largest_from_zero(x.enter[slot], y.enter[slot], z.enter[slot]);
    const float leave = smallest_of(x.leave[slot], y.leave[slot], z.leave[slot], reach);
    missed = push_sign(missed, multiply_add(leave, 1.0f + 0x1p-20f, -enter));
  }
  return ~missed & (node.inner | node.leaf);
}

// Moves bit i to bit i ^ octant; its own inverse.
GD_HD std::uint32_t turned(std::uint32_t slots, std::uint32_t octant) {
  if (octant & 1) slots = (slots & 0x55) << 1 | (slots >> 1 & 0x55);
  if (octant & 2) slots = (slots & 0x33) << 2 | (slots >> 2 & 0x33);
  if (octant & 4) slots = (slots & 0x0f) << 4 | (slots >> 4 & 0x0f);
  return slots;
}

GD_HD std::uint32_t rank_below(std::uint32_t slots, int slot) {
  return static_cast<std::uint32_t>(count_bits(slots & ((1u << slot) - 1u)));
}

// The nodes of a level that a walk has still to visit. A stack has an entry for each level above
// the walk's own, so it cannot overflow.
struct Siblings {
  std::uint32_t child, inner, open;
};
using Stack = Siblings[kDeepest];

// A segment's way through the hierarchy, one node per step, near ones first if that helps. Its
// stack is separate, so that a compiler can keep the rest in registers.
struct Walk {
  Probe probe;
  float reach;  // boxes beyond this are skipped; a visitor may lower it
  std::uint32_t index;
  Siblings top;  // the stack's top; deeper entries have nodes left too
  int depth;     // of the stack; -1 when all is done
  // Packets met by the last step, prefetched since.
  std::uint32_t packet, leaf, leaves;

  // Starts the walk; returns whether there is anything to visit.
  GD_HD bool begin(const BvhView& bvh, const Segment& s) {
    reach = 1.0f;
    index = 0;
    top.open = 0;
    depth = 0;
    leaves = 0;
    return bvh.triangle_count > 0 && aim(bvh.frame, s, probe);
  }

  // Skips boxes beyond a parameter from now on.
  GD_HD void shorten(double t) { reach = probe.stretch.reach(t); }

  // Visits the packets that the last step met, until visit(packet) returns true, then the next
  // node. Returns whether there is another step.
  template <bool kNearFirst, class Visit>
  GD_HD bool step(const BvhView& bvh, Stack& stack, Visit&& visit) {
    for (; leaves != 0; leaves &= leaves - 1) {
      if (visit(bvh.packets[packet + rank_below(leaf, trailing_zeros(leaves))])) return false;
    }
    if (depth < 0) return false;
    const WideNode& node = load_whole(bvh.nodes + index);
    const std::uint32_t met = met_slots(node, probe, reach);
    packet = node.packet;
    leaf = node.leaf;
    leaves = met & node.leaf;
    for (std::uint32_t ahead = leaves; ahead != 0; ahead &= ahead - 1) {
      fetch(bvh.packets + packet + rank_below(leaf, trailing_zeros(ahead)));
    }
    const std::uint32_t octant = kNearFirst ? probe.octant : 0;
    const std::uint32_t open = turned(met & node.inner, octant);
    if (open != 0) {
      if (top.open != 0) stack[depth++] = top;
      top = {node.child, node.inner, open};
    } else if (top.open == 0) {
      if (depth == 0) return depth = -1, leaves != 0;
      top = stack[--depth];
    }
    const int slot = trailing_zeros(top.open) ^ static_cast<int>(octant);
    index = top.child + rank_below(top.inner, slot);
    fetch(bvh.nodes + index);
    top.open &= top.open - 1;
    return true;
  }
};

}  // namespace geodomain
