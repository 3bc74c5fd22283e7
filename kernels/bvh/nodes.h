// The hierarchy over a mesh's triangles, as it is asked: nodes of eight boxes in 80 bytes,
// packets of a few triangles below them.
//
// Boxes are kept as bytes, in steps of a power of two from their node's corner (H. Ylitie, T.
// Karras, S. Laine, "Efficient incoherent ray traversal on GPUs through compressed wide BVHs",
// 2017). Which slot a child is in says on which side of the node's middle it is, along each axis:
// a ray that takes slots in the order of slot ^ octant takes the near ones first.
#pragma once

#include "bvh/box_frame.h"
#include "platform/arithmetic.h"
#include "platform/bits.h"
#include "platform/loads.h"
#include "platform/mesh_view.h"

namespace geodomain {

constexpr int kWide = 8;
// Triangles to a packet. A thread of a GPU takes them one by one, so that smaller boxes pay; a CPU
// takes eight at once, from packets of its own (bvh/float_packets.h).
constexpr int kDevicePacket = 2;
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
  std::uint64_t low[3], high[3];  // a byte to a slot, the first lowest
};
static_assert(sizeof(WideNode) == 80, "a node is five loads of sixteen bytes");

// A triangle of a packet: five loads of sixteen bytes.
struct alignas(16) PacketRow {
  double at[9];  // ax, ay, az, bx, ..., cz
  std::int32_t triangle;
  std::int32_t count;  // of the packet
};
static_assert(sizeof(PacketRow) == 80, "a row is five loads of sixteen bytes");

// One triangle after the other, for a thread of a GPU: threads that are at different packets wait
// for each load that they make, whatever its size, and rows that are not there cost none.
struct Packet {
  PacketRow row[kDevicePacket];

  // Corners are read once more where they are asked for, which is seldom: eighteen registers less
  // than to keep them. Without `volatile` compilers keep them.
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
static_assert(sizeof(BvhView) == 88, "as every compiler has it");

GD_HD float power_of_two(int exponent) {  // -126 to 127
  const std::uint32_t bits = static_cast<std::uint32_t>(exponent + 127) << 23;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Where a probe meets the two sides of each slot's box along an axis. All slots of an axis go
// together, which compilers for GPUs make fewer instructions of.
struct AxisClip {
  float enter[kWide], leave[kWide];

  // A side at a byte is met at byte * step from where the node begins. What `offset_byte` adds is
  // taken off there, which is rounded twice then, by 2^-24 of that many steps each time; the margin
  // takes twice as much, its own rounding included.
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

// The nodes of a level that a walk has still to take. A stack has an entry for each level above the
// one that the walk is at, so it cannot overflow.
struct Siblings {
  std::uint32_t child, inner, open;
};
using Stack = Siblings[kDeepest];

// A segment's way through the hierarchy, a node to a step, near ones first where that helps. Its
// stack is kept apart from it, so that a compiler can keep the rest in registers.
struct Walk {
  Probe probe;
  float reach;  // what lies beyond is passed over; a visitor may lower it
  std::uint32_t index;
  Siblings top;  // of the stack, which has the others that have some open
  int depth;     // of the stack; -1 where all is done
  // Packets found by the last step, which have been asked for since.
  std::uint32_t packet, leaf, leaves;

  // Whether there is anything to walk through.
  GD_HD bool begin(const BvhView& bvh, const Segment& s) {
    reach = 1.0f;
    index = 0;
    top.open = 0;
    depth = 0;
    leaves = 0;
    return bvh.triangle_count > 0 && aim(bvh.frame, s, probe);
  }

  // Passes over what lies beyond a parameter.
  GD_HD void shorten(double t) { reach = probe.stretch.reach(t); }

  // Visits the packets that the last step met, until visit(packet) returns true, and looks at the
  // next node. Returns whether there is another step to make.
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
