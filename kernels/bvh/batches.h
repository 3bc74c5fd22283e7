// Many segments asked about by one thread of a CPU, a batch of them at once. What is still to be
// looked at, nodes and packets each with its segment, is kept in lists for all of them, and taken
// many at a time: none of it branches on what the look before found. Short segments are asked so:
// few nodes are near them, whatever the order. Long ones have bvh/near_first.h.
#pragma once

#include "bvh/looks.h"

namespace geodomain {

constexpr int kBatch = 256;     // segments to a batch, and the most nodes that are taken at once
constexpr int kNodesAhead = 6;  // looks that memory is asked for before

template <class Question>
class Asker {
 public:
  explicit Asker(const BatchView& bvh) : bvh_(bvh), frame_(bvh.frame) {}

  // For each row in [begin, end): a question by make(row), asked about the segment in `ends`, and
  // done(row, question).
  template <class Make, class Done>
  void ask(std::int64_t begin, std::int64_t end, const double* ends, Make&& make, Done&& done) {
    for (std::int64_t row = begin; row < end; row += kBatch) {
      ask_batch(row, std::min(row + kBatch, end), ends, make, done);
    }
  }

 private:
  template <class Make, class Done>
  void ask_batch(std::int64_t begin, std::int64_t end, const double* ends, Make&& make,
                 Done&& done) {
    nodes_.reserve(kBatch);
    Looks::Adding roots(nodes_);
    const std::uint32_t root[kWide] = {};
    for (std::int64_t row = begin; row < end; ++row) {
      const auto i = static_cast<std::uint32_t>(row - begin);
      questions_[i] = make(row);
      if (bvh_.triangle_count > 0 && rays_[i].begin(frame_, ends + 6 * row)) {
        roots.add(1, root, i, 0);
      }
    }
    roots.tell(nodes_);
    const auto segment = [&](std::uint32_t i) { return segment_of(ends, begin + i); };
    const auto sifted = [](const FloatPacket& packet, const Sight& sight) {
      return sift(packet, sight, from_start(packet, sight));
    };
    while (nodes_.size > 0) {
      look_at_nodes();
      if (packets_.met.size >= kBatch || nodes_.size == 0) {
        packets_.take(bvh_, rays_, questions_, segment, sifted);
      }
    }
    for (std::int64_t row = begin; row < end; ++row) done(row, questions_[row - begin]);
  }

  // Takes the last nodes of the list. What does not change is kept in variables of its own, since a
  // compiler cannot know that it is not in a list.
  void look_at_nodes() {
    const int count = nodes_.size < kBatch ? nodes_.size : kBatch;
    taken_.size = 0;
    taken_.reserve(kBatch / kWide);
    taken_.append(nodes_, nodes_.size - count, count);
    nodes_.size -= count;
    nodes_.reserve(count);
    packets_.met.reserve(count);
    const OpenNode* const all = bvh_.nodes;
    const std::uint32_t *const places = taken_.places(), *const owners = taken_.rays();
    Looks::Adding nodes(nodes_), packets(packets_.met);
    for (int i = 0; i < count; ++i) {
      if (i + kNodesAhead < count) fetch(all + places[i + kNodesAhead]);
      const OpenNode& node = all[places[i]];
      const std::uint32_t owner = owners[i];
      const Ray& ray = rays_[owner];
      const std::uint32_t met = met_slots(node, ray).slots;
      // The last are taken first: the far ones go in before.
      const std::uint32_t turn = Question::kNearFirst ? ray.octant ^ 7 : 0;
      nodes.add(met & node.inner, node.child, owner, turn);
      packets.add(met & node.leaf, node.child, owner, turn ^ 7);
    }
    nodes.tell(nodes_);
    packets.tell(packets_.met);
  }

  const BatchView bvh_;
  const EvenFrame frame_;
  Ray rays_[kBatch];
  Question questions_[kBatch];
  Looks nodes_, taken_;
  PacketLooks<Question> packets_;
};

}  // namespace geodomain
