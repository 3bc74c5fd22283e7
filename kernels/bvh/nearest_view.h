// What points are asked through on a GPU for the nearest triangle, all in single precision: nodes,
// cylinders and flat triangles, from the hierarchy over a mesh.
#pragma once

#include "bvh/cylinders.h"
#include "bvh/flat_triangle.h"
#include "bvh/nearest_of.h"
#include "bvh/nodes.h"

namespace geodomain {

// A packet's triangle: five loads of sixteen bytes.
struct alignas(16) FlatRow {
  FlatTriangle<float> flat;
  std::uint32_t triangle;  // and, as the highest bit, whether the packet has another

  static constexpr std::uint32_t kAnother = 0x80000000u;
};
static_assert(sizeof(FlatRow) == 80, "a row is five loads of sixteen bytes");

GD_HD FlatRow flat_row(const BoxFrame& frame, const MeshView& mesh, const Packet& packet, int k) {
  const bool another = k + 1 < packet.row[0].count;
  const auto triangle = static_cast<std::uint32_t>(packet.row[k].triangle);
  return {flat_triangle(frame, mesh.triangle(packet.row[k].triangle)),
          triangle | (another ? FlatRow::kAnother : 0u)};
}

// A node's boxes in even places: on a GPU bytes would take three times the time to be made numbers
// of. A slot that is empty is infinitely far from everything.
struct alignas(16) NearestNode {
  float side[3][2][kWide];  // by axis: where boxes begin, and where they end
  std::uint32_t child, packet;
  std::uint32_t inner, leaf;
};
static_assert(sizeof(NearestNode) == 208, "a node is thirteen loads of sixteen bytes");

GD_HD NearestNode nearest_node(const BoxFrame& frame, const WideNode& node) {
  NearestNode wide;
  for (int k = 0; k < 3; ++k) {
    const float step = power_of_two(node.exponent[k]);
    for (int slot = 0; slot < kWide; ++slot) {
      const bool there = (node.inner | node.leaf) >> slot & 1;
      const float low = node.origin[k] + step * static_cast<float>(node.low[k] >> 8 * slot & 0xff);
      const float high =
          node.origin[k] + step * static_cast<float>(node.high[k] >> 8 * slot & 0xff);
      wide.side[k][0][slot] = there ? low * frame.share[k] : HUGE_VALF;
      wide.side[k][1][slot] = there ? high * frame.share[k] : -HUGE_VALF;
    }
  }
  wide.child = node.child, wide.packet = node.packet;
  wide.inner = node.inner, wide.leaf = node.leaf;
  return wide;
}

// What the kernels need to answer.
struct NearestView {
  BoxFrame frame;
  const NearestNode* nodes;
  const Cylinder *of_nodes, *of_packets;
  const FlatRow* rows;  // kDevicePacket to a packet
  MeshView mesh;
};
static_assert(sizeof(NearestView) == 120, "as every compiler has it");

constexpr std::int32_t kNoRoom = -2;  // in the place of the first that is noted

}  // namespace geodomain
