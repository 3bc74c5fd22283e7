// The hierarchy as a GPU builds and keeps it, in the host's memory: with it the code that threads
// of a GPU run is tested where there is none.
#pragma once

#include <memory>
#include <vector>

#include "bvh/host.h"
#include "bvh/nearest_view.h"

namespace geodomain {

class DeviceTree {
 public:
  DeviceTree(const MeshView& mesh, const Bounds& bounds, Team& team)
      : frame_(make_frame(bounds)), count_(mesh.triangle_count) {
    const auto count = static_cast<std::size_t>(count_);
    const std::vector<Box> boxes = make_boxes(mesh, frame_, team);
    std::vector<std::uint64_t> codes(count);
    std::vector<std::int32_t> triangles(count), other_end(count, -1);
    for (std::size_t i = 0; i < count; ++i) {
      codes[i] = code_of(frame_, boxes[i]);
      triangles[i] = static_cast<std::int32_t>(i);
    }
    RadixSort(codes.data(), triangles.data(), count_, team);
    const std::unique_ptr<std::int32_t[][2]> child(new std::int32_t[count][2]);
    const std::unique_ptr<std::int32_t[][2]> range(new std::int32_t[count][2]);
    const std::unique_ptr<Box[]> around(new Box[count]);
    std::int32_t root = 0;
    const BinaryTree tree = {static_cast<std::int32_t>(count_),
                             codes.data(),
                             triangles.data(),
                             boxes.data(),
                             child.get(),
                             range.get(),
                             around.get(),
                             other_end.data(),
                             &root};
    for (std::int32_t i = 0; i < tree.leaf_count; ++i) climb(tree, i);
    gather_all(tree, mesh);
    surround(mesh);
  }

  BvhView view() const { return {nodes_.get(), packets_.get(), frame_, count_}; }
  NearestView nearest_view(const MeshView& mesh) const {
    return {frame_, wide_nodes_.data(), of_nodes_.data(), of_packets_.data(), rows_.data(), mesh};
  }

 private:
  void gather_all(const BinaryTree& tree, const MeshView& mesh) {
    const auto most = static_cast<std::size_t>(most_nodes<kDevicePacket>(count_));
    nodes_.reset(new WideNode[most]);
    std::vector<std::int32_t> source(most);
    std::vector<PacketRange> ranges(static_cast<std::size_t>(count_));
    std::uint32_t level_sizes[kLevels];
    const WideTree wide = {nodes_.get(), source.data(), ranges.data(), &packet_count_, level_sizes};
    begin_levels(tree, wide);
    for (Level level = level_of(wide, 0); level.begin < level.end;
         level = level_of(wide, level.number + 1)) {
      for (std::uint32_t i = level.begin; i < level.end; ++i) {
        gather<kDevicePacket>(tree, wide, level, i);
      }
      node_count_ = level.end;
    }
    packets_.reset(new Packet[packet_count_]);
    for (std::uint32_t i = 0; i < packet_count_; ++i) {
      for (int k = 0; k < kDevicePacket; ++k) {
        fill_place(mesh, tree.triangles, ranges[i], k, packets_[i]);
      }
    }
  }

  // What distances are asked through.
  void surround(const MeshView& mesh) {
    rows_.resize(std::size_t{kDevicePacket} * packet_count_);
    for (std::uint32_t i = 0; i < packet_count_; ++i) {
      of_packets_.push_back(cylinder_of(frame_, packets_[i].row, packets_[i].row[0].count));
      for (int k = 0; k < packets_[i].row[0].count; ++k) {
        rows_[std::size_t{kDevicePacket} * i + k] = flat_row(frame_, mesh, packets_[i], k);
      }
    }
    of_nodes_.resize(node_count_);
    wide_nodes_.resize(node_count_);
    for (std::uint32_t i = node_count_; i-- > 0;) {  // children come after their node
      of_nodes_[i] = cylinder_of(nodes_[i], of_nodes_.data(), of_packets_.data());
      wide_nodes_[i] = nearest_node(frame_, nodes_[i]);
    }
  }

  const BoxFrame frame_;
  const std::int64_t count_;
  std::uint32_t node_count_ = 0, packet_count_ = 0;
  std::unique_ptr<WideNode[]> nodes_;
  std::unique_ptr<Packet[]> packets_;
  std::vector<Cylinder> of_nodes_, of_packets_;
  std::vector<FlatRow> rows_;
  std::vector<NearestNode> wide_nodes_;
};

}  // namespace geodomain
