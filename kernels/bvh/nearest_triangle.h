// Finds the nearest triangle to a point on the host: eight boxes, cylinders or triangles at a time.
#pragma once

#include <memory>
#include <vector>

#include "bvh/box_frame.h"
#include "bvh/float_packets.h"
#include "bvh/host.h"
#include "bvh/nearest.h"
#include "platform/arithmetic.h"
#include "platform/bits.h"
#include "platform/simd.h"

namespace geodomain {

// A packet of eight triangles, each in its own plane, in single precision.

struct alignas(64) FlatPacket {
  float at[kFlatNumbers][kFloatPacket];  // components of flat triangles
  std::int32_t triangle[kFloatPacket];
  std::uint32_t there;  // a bit for each triangle

  FlatTriangle<Floats8> triangles() const {
    const auto number = [&](int k) { return Floats8::load(at[k]); };
    const auto vector = [&](int k) {
      return Vector<Floats8>{number(k), number(k + 1), number(k + 2)};
    };
    return {vector(0),
            vector(3),
            vector(6),
            vector(9),
            number(12),
            {number(13), number(14), number(15)},
            {number(16), number(17), number(18)}};
  }
};

inline FlatPacket flat_packet(const BoxFrame& frame, const PacketRow* rows, int count) {
  FlatPacket packet = {};
  packet.there = (1u << count) - 1u;
  for (int i = 0; i < kFloatPacket; ++i) {
    const PacketRow& row = rows[i < count ? i : 0];
    const double* c = row.at;
    const FlatTriangle<float> flat =
        flat_triangle(frame, {{c[0], c[1], c[2]}, {c[3], c[4], c[5]}, {c[6], c[7], c[8]}});
    float numbers[kFlatNumbers];
    std::memcpy(numbers, &flat, sizeof numbers);
    for (int k = 0; k < kFlatNumbers; ++k) packet.at[k][i] = numbers[k];
    packet.triangle[i] = row.triangle;
  }
  return packet;
}

// A node with eight boxes and eight flat cylinders: bounds of the distances to its children, in
// single precision and in units of the longest axis.

constexpr std::uint32_t kIsPacket = 0x80000000u;  // flag in the reference of a slot

struct alignas(64) SurroundedNode {
  NearestNode boxes;
  float cylinder[8][kWide];    // components of cylinders
  std::uint32_t below[kWide];  // by slot: a node or a packet

  // Lower bounds of the squared distances to the contents of each slot; for empty slots, more than
  // any distance. For a point far away, single precision is enough for boxes only.
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

// Walks the hierarchy for the triangle nearest to a point. Boxes, cylinders and flat triangles, all
// in single precision, only exclude triangles. Of the rest, doubles exclude some more, and
// `foot_on` decides by (distance, index), so that no result depends on the order of visits.

// The hierarchy in the form for queries of points.
class NearestIndex {
 public:
  NearestIndex(const MeshView& mesh, const Bounds& bounds, Team& team)
      : mesh_(mesh), bvh_(mesh, bounds, team), view_(bvh_.view()) {
    const auto cylinder = [&](PacketRange below) {
      return cylinder_of(view_.frame, view_.corners + below.first, below.count);
    };
    packets_.resize(static_cast<std::size_t>(bvh_.packet_count()));
    nodes_.resize(bvh_.nodes().size());
    std::vector<Cylinder> of_packets(packets_.size()), of_nodes(nodes_.size());
    team.run(bvh_.packet_count(), 256, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const FloatPacket& from = view_.packets[i];
        const int count = count_bits(from.there);
        packets_[i] = flat_packet(view_.frame, view_.corners + from.first, count);
        of_packets[i] = cylinder({static_cast<std::int32_t>(from.first), count});
      }
    });
    const auto node_count = static_cast<std::int64_t>(nodes_.size());
    team.run(node_count, 1, [&](std::int64_t node, std::int64_t, int) {
      if (node > 0) of_nodes[node] = cylinder(bvh_.below(node));  // the root is in no other node
    });
    team.run(node_count, 256, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        nodes_[i] =
            surrounded_node(view_.frame, bvh_.nodes()[i], of_nodes.data(), of_packets.data());
      }
    });
  }

  const MeshView& mesh() const { return mesh_; }
  const BoxFrame& frame() const { return view_.frame; }
  const SurroundedNode& node(std::uint32_t index) const { return nodes_[index]; }
  const FlatPacket& packet(std::uint32_t index) const { return packets_[index]; }

 private:
  const MeshView mesh_;
  const HostBvh bvh_;
  const BatchView view_;
  std::vector<SurroundedNode> nodes_;
  std::vector<FlatPacket> packets_;
};

// Queries one point after the other; each search starts from the triangle found last.
class NearestAsker {
 public:
  explicit NearestAsker(const NearestIndex& index)
      : index_(index),
        frame_(index.frame()),
        longest_(longest_scale(frame_)),
        place_(frame_, {0.0, 0.0, 0.0}) {}

  NearestFound ask(Vec3 p) {
    place_ = FramedPoint(frame_, p);
    even_ = place_.even(frame_);
    is_far_ = !(place_.most <= kFarthestForCylinders);
    point_ = p;
    best_ = {{HUGE_VAL, p}, -1};
    most_ = HUGE_VALF;
    limit_ = kMostSquare;
    open_count_ = 0;
    doubtful_.clear();
    if (last_ >= 0) lower_by(reach(static_cast<std::uint32_t>(last_)));
    descend(index_.node(0));
    while (open_count_ > 0) {
      const std::uint32_t below = below_[--open_count_];
      if (squares_[open_count_] > limit_) continue;
      if (below & kIsPacket) {
        look(below & ~kIsPacket);
      } else {
        descend(index_.node(below));
      }
    }
    decide();
    last_ = best_packet_;
    return best_;
  }

 private:
  struct Doubtful {
    Noted noted;
    std::int32_t packet;
  };
  static constexpr std::size_t kMostDoubtful = 64;
  static constexpr int kRoom = (kWide - 1) * kDeepest + 1;  // like `kMostOpen` of a GPU's walk

  // Pushes the children of a node that are near enough, the nearest on top.
  void descend(const SurroundedNode& node) {
    const Floats8 least = node.least_squares({even_.x, even_.y, even_.z}, is_far_);
    float squares[kWide];
    least.store(squares);
    const int first = open_count_;
    for (std::uint32_t rest = at_most(least, Floats8(limit_)); rest != 0; rest &= rest - 1) {
      const int slot = trailing_zeros(rest);
      int place = open_count_++;
      for (; place > first && squares_[place - 1] < squares[slot]; --place) {
        squares_[place] = squares_[place - 1];
        below_[place] = below_[place - 1];
      }
      squares_[place] = squares[slot];
      below_[place] = node.below[slot];
    }
  }

  FlatRange<Floats8> reach(std::uint32_t packet) const {
    return flat_range(index_.packet(packet).triangles(), {even_.x, even_.y, even_.z},
                      place_.moved());
  }

  // Tests a packet: lowers the upper bound of the distance, and lists the triangles that may be
  // within it.
  void look(std::uint32_t index) {
    const FlatPacket& packet = index_.packet(index);
    const FlatRange<Floats8> range = reach(index);
    lower_by(range);
    std::uint32_t rest = at_most(range.least, Floats8(most_)) & packet.there;
    if (rest == 0) return;
    float least[kFloatPacket];
    range.least.store(least);
    for (; rest != 0; rest &= rest - 1) {
      const int i = trailing_zeros(rest);
      if (doubtful_.size() == kMostDoubtful) decide();
      doubtful_.push_back({{least[i], packet.triangle[i]}, static_cast<std::int32_t>(index)});
    }
  }

  void lower_by(const FlatRange<Floats8>& range) {
    const float most = smallest(range.most);
    if (most < most_) lower(most);
  }

  void lower(float most) {
    most_ = most;
    limit_ = place_.limit(most_);
  }

  // Decides among the listed triangles.
  void decide() {
    const std::int32_t before = best_.triangle;
    Noted few[kMostNoted];
    int count = 0;
    const auto among_few = [&] {
      best_ = nearest_of(index_.mesh(), point_, few, count, best_);
      count = 0;
    };
    for (const Doubtful& doubtful : doubtful_) {
      if (!(doubtful.noted.least <= most_)) continue;
      if (count == kMostNoted) among_few();
      few[count++] = doubtful.noted;
    }
    among_few();
    if (best_.triangle != before) {
      for (const Doubtful& doubtful : doubtful_) {
        if (doubtful.noted.triangle == best_.triangle) best_packet_ = doubtful.packet;
      }
      const float most = most_in_places(best_.foot.distance, longest_);
      if (most < most_) lower(most);
    }
    doubtful_.clear();
  }

  const NearestIndex& index_;
  const BoxFrame& frame_;
  const double longest_;
  Vec3 point_ = {};
  NearestFound best_ = {};
  FramedPoint place_;
  Vector<float> even_ = {};
  bool is_far_ = false;
  float most_ = 0.0f;  // upper bound of the distance, in units of the longest axis
  float limit_ = 0.0f;
  std::int32_t best_packet_ = -1, last_ = -1;
  // The stack: squared lower bounds of distances, and the nodes and packets to visit.
  float squares_[kRoom];
  std::uint32_t below_[kRoom];
  int open_count_ = 0;
  std::vector<Doubtful> doubtful_;
};

// The hierarchy that a GPU builds, in host memory, to test the GPU's code without a GPU.

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

  // Builds the cylinders and flat triangles for queries of distances.
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
