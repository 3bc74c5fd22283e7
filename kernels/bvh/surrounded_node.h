// Nodes of the hierarchy as a CPU asks them how near they are: eight boxes and eight flat cylinders
// at once, in single precision and even places.
#pragma once

#include "bvh/cylinders.h"
#include "bvh/nearest_view.h"
#include "platform/simd.h"

namespace geodomain {

constexpr std::uint32_t kIsPacket = 0x80000000u;  // beside the index of what is below a slot

struct alignas(64) SurroundedNode {
  NearestNode boxes;
  float cylinder[8][kWide];    // numbers of cylinders
  std::uint32_t below[kWide];  // a node, or a packet

  // At most the squares of the distances to what is below each slot; of slots that are empty, more
  // than any. A point that is far away has single precision for boxes alone.
  Floats8 least_squares(const Vector<Floats8>& p, bool is_far) const {
    const Floats8 squares = box_squares(p);
    if (is_far) return squares;
    const auto number = [&](int k) { return Floats8::load(cylinder[k]); };
    return maximum(squares,
                   square_to_cylinder({p.x - number(0), p.y - number(1), p.z - number(2)},
                                      {number(4), number(5), number(6)}, number(3), number(7)));
  }

 private:
  Floats8 box_squares(const Vector<Floats8>& p) const {
    const Floats8 place[3] = {p.x, p.y, p.z};
    Floats8 sum(0.0f);
    for (int k = 0; k < 3; ++k) {
      const Floats8 before = Floats8::load(boxes.side[k][0]) - place[k];
      const Floats8 beyond = place[k] - Floats8::load(boxes.side[k][1]);
      const Floats8 off = maximum(maximum(before, beyond), Floats8(0.0f));
      sum = multiply_add(off, off, sum);
    }
    return sum;
  }
};

inline SurroundedNode surrounded_node(const BoxFrame& frame, const WideNode& node,
                                      const Cylinder* of_nodes, const Cylinder* of_packets) {
  SurroundedNode around = {nearest_node(frame, node), {}, {}};
  for (std::uint32_t rest = node.inner | node.leaf; rest != 0; rest &= rest - 1) {
    const int slot = trailing_zeros(rest);
    const bool is_packet = node.leaf >> slot & 1;
    const std::uint32_t index = is_packet ? node.packet + rank_below(node.leaf, slot)
                                          : node.child + rank_below(node.inner, slot);
    around.below[slot] = index | (is_packet ? kIsPacket : 0u);
    float numbers[8];
    std::memcpy(numbers, is_packet ? of_packets + index : of_nodes + index, sizeof numbers);
    for (int k = 0; k < 8; ++k) around.cylinder[k][slot] = numbers[k];
  }
  return around;
}

}  // namespace geodomain
