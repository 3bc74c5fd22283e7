// Builds a hierarchy on the GPU: one thread for each triangle, leaf, node or packet.
#include "bvh/build.h"
#include "platform/warp.h"

using namespace geodomain;

extern "C" __global__ void geodomain_bvh_boxes(MeshView mesh, BoxFrame frame, Box* boxes) {
  const std::int64_t i = thread_row();
  if (i < mesh.triangle_count) boxes[i] = box_of(frame, mesh.triangle(i));
}

extern "C" __global__ void geodomain_bvh_codes(BoxFrame frame, const Box* boxes, std::int32_t count,
                                               std::uint64_t* codes, std::int32_t* triangles) {
  const std::int64_t i = thread_row();
  if (i >= count) return;
  codes[i] = code_of(frame, boxes[i]);
  triangles[i] = static_cast<std::int32_t>(i);
}

extern "C" __global__ void geodomain_bvh_climb(BinaryTree tree) {
  const std::int64_t i = thread_row();
  if (i < tree.leaf_count) climb(tree, static_cast<std::int32_t>(i));
}

extern "C" __global__ void geodomain_bvh_begin(BinaryTree tree, WideTree wide) {
  if (thread_row() == 0) begin_levels(tree, wide);
}

// Builds the nodes of a level; their number is known once the level above is done.
extern "C" __global__ void geodomain_bvh_gather(BinaryTree tree, WideTree wide, int number) {
  const Level level = level_of(wide, number);
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t i = level.begin + static_cast<std::uint64_t>(thread_row()); i < level.end;
       i += step) {
    gather<kDevicePacket>(tree, wide, level, static_cast<std::uint32_t>(i));
  }
}

// One thread for each place of a packet.
extern "C" __global__ void geodomain_bvh_fill(MeshView mesh, const std::int32_t* triangles,
                                              const PacketRange* ranges, std::uint32_t count,
                                              Packet* packets) {
  const std::int64_t i = thread_row() / kDevicePacket;
  const int k = static_cast<int>(thread_row() % kDevicePacket);
  if (i < count) fill_place(mesh, triangles, ranges[i], k, packets[i]);
}
