// Builds a hierarchy on the GPU: a thread to a triangle, a leaf, a node or a packet.
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

// The nodes of a level, however many the level above has made.
extern "C" __global__ void geodomain_bvh_gather(BinaryTree tree, WideTree wide, int number) {
  const Level level = level_of(wide, number);
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t i = level.begin + static_cast<std::uint64_t>(thread_row()); i < level.end;
       i += step) {
    gather<kDevicePacket>(tree, wide, level, static_cast<std::uint32_t>(i));
  }
}

// A thread to a place of a packet.
extern "C" __global__ void geodomain_bvh_fill(MeshView mesh, const std::int32_t* triangles,
                                              const PacketRange* ranges, std::uint32_t count,
                                              Packet* packets) {
  const std::int64_t i = thread_row() / kDevicePacket;
  const int k = static_cast<int>(thread_row() % kDevicePacket);
  if (i < count) fill_place(mesh, triangles, ranges[i], k, packets[i]);
}
