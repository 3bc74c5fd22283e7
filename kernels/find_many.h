// Many segments asked about by one thread of a CPU, a crowd of them at once. What is still to be
// looked at, nodes and packets each with its segment, is kept in lists for all of them, and taken
// many at a time: no look waits for another, and none of it branches on what the one before found.
#pragma once

#include <vector>

#include "find.h"
#include "open_node.h"

namespace geodomain {

struct CrowdView {
  const OpenNode* nodes;
  const Packet* packets;
  BoxFrame frame;
  std::int64_t triangle_count;
};

constexpr int kCrowd = 128;  // segments to a crowd, and the most nodes that are taken at once

// Nodes or packets to look at, and for whom.
class Looks {
 public:
  int size() const { return size_; }
  void clear() { size_ = 0; }
  std::uint32_t place(int i) const { return place_[i]; }
  std::uint32_t ray(int i) const { return ray_[i]; }

  // Room for so many more `add`s.
  void reserve(int adds) {
    const auto room = static_cast<std::size_t>(size_) + kWide * static_cast<std::size_t>(adds);
    if (room <= place_.size()) return;
    place_.resize(2 * room);
    ray_.resize(2 * room);
  }
  // What is added is there once it is told of. A compiler keeps this in registers.
  class Adding {
   public:
    explicit Adding(Looks& to) : place_(&to.place_[to.size_]), ray_(&to.ray_[to.size_]) {}
    // What is in a set of slots, in the order of slot ^ turn.
    void add(std::uint32_t slots, const std::uint32_t* child, std::uint32_t ray,
             std::uint32_t turn) {
      pick(slots, turn, child, place_ + count_);
      for (int i = 0; i < kWide; ++i) ray_[count_ + i] = ray;
      count_ += count_bits(slots);
    }
    void tell(Looks& to) const { to.size_ += static_cast<int>(count_); }

   private:
    std::uint32_t *GD_RESTRICT place_, *GD_RESTRICT ray_;
    std::int64_t count_ = 0;
  };
  // Moves up to so many of the last to another list.
  void take_last(int most, Looks& taken) {
    taken.clear();
    taken.reserve(kCrowd);
    taken.size_ = size_ < most ? size_ : most;
    size_ -= taken.size_;
    for (int i = 0; i < taken.size_; ++i) {
      taken.place_[i] = place_[size_ + i];
      taken.ray_[i] = ray_[size_ + i];
    }
  }

 private:
  std::vector<std::uint32_t> place_, ray_;
  int size_ = 0;
};

template <class Question>
class Asker {
 public:
  explicit Asker(const CrowdView& bvh) : bvh_(bvh) {}

  // For each row in [begin, end), no more than a crowd: a question by make(row), asked about
  // segment(row), and done(row, question). Arithmetic is `Full`, which always tells.
  template <class SegmentOf, class Make, class Done>
  void ask(std::int64_t begin, std::int64_t end, SegmentOf&& segment_of, Make&& make, Done&& done) {
    nodes_.reserve(kCrowd);
    Looks::Adding roots(nodes_);
    const std::uint32_t root[kWide] = {};
    for (std::int64_t row = begin; row < end; ++row) {
      const auto i = static_cast<std::uint32_t>(row - begin);
      questions_[i] = make(row);
      Probe probe;
      if (bvh_.triangle_count == 0 || !aim(bvh_.frame, segment_of(row), probe)) continue;
      rays_[i].begin(probe);
      roots.add(1, root, i, 0);
    }
    roots.tell(nodes_);
    packets_.clear();
    while (nodes_.size() > 0) {
      look_at_nodes();
      if (packets_.size() >= kCrowd || nodes_.size() == 0) {
        look_at_packets([&](std::uint32_t i) { return segment_of(begin + i); });
        packets_.clear();
      }
    }
    for (std::int64_t row = begin; row < end; ++row) done(row, questions_[row - begin]);
  }

 private:
  static constexpr int kAhead = 8;  // looks that memory is asked for before

  void look_at_nodes() {
    nodes_.take_last(kCrowd, taken_);
    nodes_.reserve(taken_.size());
    packets_.reserve(taken_.size());
    Looks::Adding nodes(nodes_), packets(packets_);
    for (int i = 0; i < taken_.size(); ++i) {
      if (i + kAhead < taken_.size()) fetch(bvh_.nodes + taken_.place(i + kAhead));
      const OpenNode& node = bvh_.nodes[taken_.place(i)];
      const std::uint32_t ray = taken_.ray(i), met = met_slots(node, rays_[ray]);
      // The last are taken first: the far ones go in before.
      const std::uint32_t turn = Question::kNearFirst ? rays_[ray].octant ^ 7 : 0;
      nodes.add(met & node.inner, node.child, ray, turn);
      packets.add(met & node.leaf, node.child, ray, turn ^ 7);
    }
    nodes.tell(nodes_);
    packets.tell(packets_);
  }

  template <class SegmentOf>
  void look_at_packets(SegmentOf&& segment_of) {
    for (int i = 0; i < packets_.size(); ++i) {
      if (i + kAhead < packets_.size()) fetch(bvh_.packets + packets_.place(i + kAhead));
      Ray& ray = rays_[packets_.ray(i)];
      if (ray.reach < 0.0f) continue;
      const Segment segment = segment_of(packets_.ray(i));
      Question& question = questions_[packets_.ray(i)];
      const bool enough = visit_crossed<Full, Doubles4>(
          bvh_.packets[packets_.place(i)], segment, question.sure,
          [&](const auto& corners_of, std::int32_t index) {
            return question.template take<Full>(segment, corners_of, index, ray);
          });
      if (enough) ray.end();
    }
  }

  const CrowdView bvh_;
  Ray rays_[kCrowd];
  Question questions_[kCrowd];
  Looks nodes_, taken_, packets_;
};

}  // namespace geodomain
