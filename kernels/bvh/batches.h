// Many segments asked about by one thread of a CPU, a batch of them at once. What is still to be
// looked at, nodes and packets each with its segment, is kept in lists for all of them, and taken
// many at a time: no look waits for another, and none of it branches on what the one before found.
#pragma once

#include <algorithm>
#include <memory>

#include "bvh/open_nodes.h"
#include "bvh/queries.h"
#include "platform/bits.h"
#include "platform/loads.h"

namespace geodomain {

struct BatchView {
  const OpenNode* nodes;
  const FloatPacket* packets;
  const PacketRow* corners;  // of triangles in the order of codes
  BoxFrame frame;
  std::int64_t triangle_count;
};

constexpr int kBatch = 128;  // segments to a batch, and the most nodes that are taken at once

// Nodes or packets to look at, and for whom.
class Looks {
 public:
  int size = 0;

  const std::uint32_t* places() const { return place_.get(); }
  const std::uint32_t* rays() const { return ray_.get(); }

  // Room for so many more sets of slots.
  void reserve(int sets) {
    const int room = size + kWide * sets;
    if (room <= room_) return;
    Looks longer;
    longer.room_ = 2 * room;
    longer.place_.reset(new std::uint32_t[static_cast<std::size_t>(longer.room_)]);
    longer.ray_.reset(new std::uint32_t[static_cast<std::size_t>(longer.room_)]);
    longer.append(*this, 0, size);
    *this = std::move(longer);
  }
  void append(const Looks& from, int first, int count) {
    std::copy_n(from.places() + first, count, place_.get() + size);
    std::copy_n(from.rays() + first, count, ray_.get() + size);
    size += count;
  }
  // What is added is there once it is told of. A compiler keeps this in registers.
  class Adding {
   public:
    explicit Adding(Looks& to) : place_(&to.place_[to.size]), ray_(&to.ray_[to.size]) {}
    // What is in a set of slots, in the order of slot ^ turn.
    void add(std::uint32_t slots, const std::uint32_t* child, std::uint32_t ray,
             std::uint32_t turn) {
      pick(slots, turn, child, place_ + count_);
      for (int i = 0; i < kWide; ++i) ray_[count_ + i] = ray;
      count_ += count_bits(slots);
    }
    void tell(Looks& to) const { to.size += static_cast<int>(count_); }

   private:
    std::uint32_t *GD_RESTRICT place_, *GD_RESTRICT ray_;
    std::int64_t count_ = 0;
  };

 private:
  std::unique_ptr<std::uint32_t[]> place_, ray_;
  int room_ = 0;
};

template <class Question>
class Asker {
 public:
  explicit Asker(const BatchView& bvh) : bvh_(bvh), frame_(bvh.frame) {}

  // For each row in [begin, end), no more than a batch: a question by make(row), asked about
  // the segment in `ends`, and done(row, question). Arithmetic is `Full`, which always tells.
  template <class Make, class Done>
  void ask(std::int64_t begin, std::int64_t end, const double* ends, Make&& make, Done&& done) {
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
    packets_.size = crossed_.size = unsure_.size = 0;
    while (nodes_.size > 0) {
      look_at_nodes();
      if (packets_.size >= kBatch || nodes_.size == 0) {
        look_at_packets();
        const auto segment = [&](std::uint32_t i) { return segment_of(ends, begin + i); };
        take(crossed_, segment, [](const Segment&, const Triangle&) { return true; });
        take(unsure_, segment, crosses);
      }
    }
    for (std::int64_t row = begin; row < end; ++row) done(row, questions_[row - begin]);
  }

 private:
  static constexpr int kAhead = 8;  // looks that memory is asked for before

  // Takes the last nodes of the list. What does not change is kept in variables of its own, since a
  // compiler cannot know that it is not in a list.
  void look_at_nodes() {
    const int count = nodes_.size < kBatch ? nodes_.size : kBatch;
    taken_.size = 0;
    taken_.reserve(kBatch / kWide);
    taken_.append(nodes_, nodes_.size - count, count);
    nodes_.size -= count;
    nodes_.reserve(count);
    packets_.reserve(count);
    const OpenNode* const all = bvh_.nodes;
    const std::uint32_t *const places = taken_.places(), *const owners = taken_.rays();
    Looks::Adding nodes(nodes_), packets(packets_);
    for (int i = 0; i < count; ++i) {
      const OpenNode& node = all[places[i]];
      const std::uint32_t owner = owners[i];
      const Ray& ray = rays_[owner];
      const std::uint32_t met = met_slots(node, ray);
      // The last are taken first: the far ones go in before.
      const std::uint32_t turn = Question::kNearFirst ? ray.octant ^ 7 : 0;
      nodes.add(met & node.inner, node.child, owner, turn);
      packets.add(met & node.leaf, node.child, owner, turn ^ 7);
    }
    nodes.tell(nodes_);
    packets.tell(packets_);
  }

  void look_at_packets() {
    crossed_.reserve(packets_.size);
    unsure_.reserve(packets_.size);
    Looks::Adding crossed(crossed_), unsure(unsure_);
    const FloatPacket* const all = bvh_.packets;
    const std::uint32_t *const places = packets_.places(), *const owners = packets_.rays();
    const int count = packets_.size;
    for (int i = 0; i < count; ++i) {
      if (i + kAhead < count) fetch(all + places[i + kAhead]);
      const std::uint32_t owner = owners[i];
      Ray& ray = rays_[owner];
      if (ray.reach < 0.0f) continue;
      const FloatPacket& packet = all[places[i]];
      const Sifted sifted = sift(packet, ray.sight);
      std::uint32_t row[kFloatPacket];
      for (std::uint32_t k = 0; k < kFloatPacket; ++k) row[k] = packet.first + k;
      if constexpr (Question::kAsksWhere) {
        crossed.add(sifted.crossed, row, owner, 0);
      } else {
        const bool enough = questions_[owner].take_all(count_bits(sifted.crossed));
        ray.reach = enough ? -1.0f : ray.reach;
      }
      if (sifted.unsure != 0) unsure.add(sifted.unsure, row, owner, 0);
    }
    crossed.tell(crossed_);
    unsure.tell(unsure_);
    packets_.size = 0;
  }

  // Tells the questions of those triangles that pass a test.
  template <class SegmentOf, class Test>
  void take(Looks& looks, SegmentOf&& segment_of, Test&& test) {
    const std::uint32_t *const rows = looks.places(), *const owners = looks.rays();
    for (int i = 0; i < looks.size; ++i) {
      if (i + kAhead < looks.size) fetch(bvh_.corners + rows[i + kAhead]);
      const PacketRow& row = bvh_.corners[rows[i]];
      Ray& ray = rays_[owners[i]];
      if (ray.reach < 0.0f) continue;
      const double* c = row.at;
      const auto corners = [&] {
        return Triangle{{c[0], c[1], c[2]}, {c[3], c[4], c[5]}, {c[6], c[7], c[8]}};
      };
      const Segment segment = segment_of(owners[i]);
      if (!test(segment, corners())) continue;
      if (questions_[owners[i]].template take<Full>(segment, corners, row.triangle, ray)) ray.end();
    }
    looks.size = 0;
  }

  const BatchView bvh_;
  const EvenFrame frame_;
  Ray rays_[kBatch];
  Question questions_[kBatch];
  Looks nodes_, taken_, packets_, crossed_, unsure_;
};

}  // namespace geodomain
