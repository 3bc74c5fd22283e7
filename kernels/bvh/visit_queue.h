// The hierarchy in the form for a CPU, and queues of nodes, packets and triangles that wait for a
// visit.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "bvh/float_packets.h"
#include "bvh/queries.h"
#include "platform/arithmetic.h"
#include "platform/bits.h"
#include "platform/loads.h"

namespace geodomain {

// Nodes with their boxes decompressed once, from bytes to eight floats for each side, and with
// references to their children side by side.

struct alignas(64) OpenNode {
  float side[3][2][kWide];     // low and high, along each axis
  std::uint32_t child[kWide];  // of a slot: a node or a packet
  std::uint32_t inner, leaf;   // slots with nodes, and with packets
};

// Rounds once to the nearest float, by 2^-24, which `Ray` accounts for.
inline OpenNode open_node(const WideNode& node) {
  OpenNode open = {};
  open.inner = node.inner;
  open.leaf = node.leaf;
  for (int slot = 0; slot < kWide; ++slot) {
    const bool is_leaf = node.leaf >> slot & 1;
    open.child[slot] = is_leaf ? node.packet + rank_below(node.leaf, slot)
                               : node.child + rank_below(node.inner, slot);
    for (int k = 0; k < 3; ++k) {
      const float step = power_of_two(node.exponent[k]);
      const auto place = [&](std::uint64_t steps) {
        return node.origin[k] + step * static_cast<float>(steps >> 8 * slot & 0xff);
      };
      open.side[k][0][slot] = place(node.low[k]);
      open.side[k][1][slot] = place(node.high[k]);
    }
  }
  return open;
}

// A frame as vectors of four lanes; the last lane is 0.
struct EvenFrame {
  BoxFrame axes;
  double centre[4], scale[4], share[4];

  explicit EvenFrame(const BoxFrame& frame) : axes(frame), centre(), scale(), share() {
    for (int k = 0; k < 3; ++k) {
      centre[k] = frame.centre[k];
      scale[k] = frame.scale[k];
      share[k] = frame.share[k];
    }
  }
};

// A probe prepared for many boxes: it meets a side at x where tau = x * inverse + near (or far).
//
// Rounding moves a position in the frame by less than the margin: a box, when it was made and when
// it was opened, and the start move by 2^-24 each; the direction and its inverse by 2^-22; start *
// inverse, the margin's sum, the product and the sum by 5 * 2^-24. That is less than 4 * 2^-22,
// where the margin has room for eight.
struct Ray {
  float inverse[4], near[4], far[4];
  std::uint32_t near_side[3];  // offset of the sides that are met first
  std::uint32_t octant;
  float reach;  // boxes beyond this are skipped; a visitor may lower it
  Sight sight;
  Stretch stretch;

  // Prepares a segment, a row of `ends`; returns whether it may meet the frame's box.
  bool begin(const EvenFrame& frame, const double* ends) {
    const Doubles4 centre = Doubles4::load(frame.centre), scale = Doubles4::load(frame.scale);
    const Doubles4 share = Doubles4::load(frame.share);
    const double end[4] = {ends[3], ends[4], ends[5], ends[5]};
    const Doubles4 first = (Doubles4::load(ends) - centre) * scale;
    const Doubles4 last = (Doubles4::load(end) - centre) * scale;
    const Doubles4 along = (Doubles4::load(end) - Doubles4::load(ends)) * scale;
    const Doubles4 whole = along * share;
    const Floats4 even = whole.rounded();
    (first * share).store(sight.start);
    whole.store(sight.whole);
    even.store(sight.along);
    sight.size = largest(absolute(even));
    reach = 1.000001f;
    if (all_at_most(maximum(absolute(first), absolute(last)), Doubles4(1.0))) {
      // Like `aim` for a segment that is not clipped.
      constexpr double kInside = kRounding + 0x1p-46;
      const Doubles4 size = maximum(absolute(along), Doubles4(kInside));
      const Floats4 inverse = Floats4(1.0f) / signed_as(size, along).rounded();
      set(first.rounded(), inverse, Floats4(static_cast<float>(2.0 * kInside)) * absolute(inverse));
      stretch = {0.0, 1.0};
      return true;
    }
    Probe probe;
    if (!aim(frame.axes, segment_of(ends, 0), probe)) return false;
    const auto of = [](const float* v) {
      const float all[4] = {v[0], v[1], v[2], 0.0f};
      return Floats4::load(all);
    };
    set(of(probe.start), of(probe.inverse), of(probe.margin));
    stretch = probe.stretch;
    return true;
  }

  void shorten(double t) { reach = stretch.reach(t); }
  void end() { reach = -1.0f; }

 private:
  void set(Floats4 start, Floats4 inverse_of, Floats4 margin) {
    const Floats4 offset = start * inverse_of;
    inverse_of.store(inverse);
    (Floats4(0.0f) - (offset + margin)).store(near);
    (margin - offset).store(far);
    octant = signs(inverse_of) & 7;
    for (std::uint32_t k = 0; k < 3; ++k) near_side[k] = kWide * (2 * k + (octant >> k & 1));
  }
};

// The slots whose boxes the ray meets within its reach, and where it enters them. They may include
// empty slots.
struct MetSlots {
  std::uint32_t slots;
  Floats8 enter;
};

inline MetSlots met_slots(const OpenNode& node, const Ray& ray) {
  const float* const sides = node.side[0][0];
  Floats8 enter(0.0f), leave(ray.reach);
  for (int k = 0; k < 3; ++k) {
    const std::size_t first = ray.near_side[k], last = first ^ kWide;
    const Floats8 inverse(ray.inverse[k]);
    enter =
        maximum(enter, multiply_add(Floats8::load(sides + first), inverse, Floats8(ray.near[k])));
    leave = minimum(leave, multiply_add(Floats8::load(sides + last), inverse, Floats8(ray.far[k])));
  }
  return {at_most(enter, leave), enter};
}

// A thread's queues of nodes, packets and triangles that wait for a visit, each with its segment.
// Many are visited at a time, so that none waits for another and memory is prefetched.

inline Triangle corners_of(const PacketRow& row) {
  const double* c = row.at;
  return {{c[0], c[1], c[2]}, {c[3], c[4], c[5]}, {c[6], c[7], c[8]}};
}

// The hierarchy of a mesh in the form for a CPU.
struct BatchView {
  const OpenNode* nodes;
  const FloatPacket* packets;
  const PacketRow* corners;  // of triangles in the order of codes
  BoxFrame frame;
  std::int64_t triangle_count;
  int level_count;  // of nodes
};

// The triangle with the least (t, index), or none if `row_` is null. Spans of floats nearly always
// tell which of two is nearer; if the spans overlap, `Nearest` decides.
class NearestBySpans {
 public:
  static constexpr bool kNearFirst = true, kAsksWhere = true;

  std::int32_t triangle() const { return row_ ? row_->triangle : -1; }

  // Takes a crossed triangle; returns whether `decide` has to compare it.
  bool take(const FloatSpan& span, const PacketRow* row, Ray& ray) {
    if (span.low > best_.high) return false;
    if (span.high >= best_.low) return true;
    best_ = span;
    row_ = row;
    fetch(&row->triangle);
    ray.shorten(span.high);
    return false;
  }
  void decide(const Segment& segment, const PacketRow* row, Ray& ray) {
    Nearest nearest;
    for (const PacketRow* each : {row_, row}) {
      const auto corners = [&] { return corners_of(*each); };
      if (each) nearest.take<Full>(segment, corners, each->triangle, ray);
    }
    best_ = float_span(nearest.best);
    if (nearest.triangle == row->triangle) row_ = row;
  }

 private:
  FloatSpan best_ = {2.0f, 2.0f};
  const PacketRow* row_ = nullptr;
};

// Nodes, packets or triangles to visit, and the rays that visit them.
class VisitQueue {
 public:
  int size = 0;

  const std::uint32_t* places() const { return place_.get(); }
  const std::uint32_t* rays() const { return ray_.get(); }

  // Reserves room for this many more sets of slots.
  void reserve(int sets) {
    const int room = size + kWide * sets;
    if (room <= room_) return;
    VisitQueue longer;
    longer.room_ = 2 * room;
    longer.place_.reset(new std::uint32_t[static_cast<std::size_t>(longer.room_)]);
    longer.ray_.reset(new std::uint32_t[static_cast<std::size_t>(longer.room_)]);
    longer.append(*this, 0, size);
    *this = std::move(longer);
  }
  void append(const VisitQueue& from, int first, int count) {
    std::copy_n(from.places() + first, count, place_.get() + size);
    std::copy_n(from.rays() + first, count, ray_.get() + size);
    size += count;
  }
  // Additions take effect with `commit`: until then a compiler keeps the counter in a register.
  class Appender {
   public:
    explicit Appender(VisitQueue& to) : place_(&to.place_[to.size]), ray_(&to.ray_[to.size]) {}
    // Adds the children in a set of slots, in the order of slot ^ turn.
    void add(std::uint32_t slots, const std::uint32_t* child, std::uint32_t ray,
             std::uint32_t turn) {
      pick(slots, turn, child, place_ + count_);
      for (int i = 0; i < kWide; ++i) ray_[count_ + i] = ray;
      count_ += count_bits(slots);
    }
    void commit(VisitQueue& to) const { to.size += static_cast<int>(count_); }

   private:
    std::uint32_t *GD_RESTRICT place_, *GD_RESTRICT ray_;
    std::int64_t count_ = 0;
  };

 private:
  std::unique_ptr<std::uint32_t[]> place_, ray_;
  int room_ = 0;
};

// Packets that rays have met. Floats test their triangles, and queries take the crossed ones,
// by the arithmetic `Full`, which always decides.
template <class Question>
class PacketQueue {
 public:
  VisitQueue met;

  // Visits all of them. `sifted` tests a packet's triangles for a ray; `segment_of` returns its
  // segment.
  template <class SegmentOf, class Sift>
  void take(const BatchView& bvh, Ray* rays, Question* questions, SegmentOf&& segment_of,
            Sift&& sifted) {
    sift_all(bvh, rays, questions, sifted);
    const auto is_crossed = [](const Segment&, const Triangle&) { return true; };
    answer(crossed_, bvh, rays, questions, segment_of, is_crossed);
    answer(unsure_, bvh, rays, questions, segment_of, crosses);
  }

 private:
  static constexpr int kAhead = 8;  // visits ahead of which memory is prefetched

  template <class Sift>
  void sift_all(const BatchView& bvh, Ray* rays, Question* questions, Sift&& sifted_of) {
    crossed_.reserve(met.size);
    unsure_.reserve(met.size);
    VisitQueue::Appender crossed(crossed_), unsure(unsure_);
    const FloatPacket* const all = bvh.packets;
    const std::uint32_t *const places = met.places(), *const owners = met.rays();
    const int count = met.size;
    for (int i = 0; i < count; ++i) {
      if (i + kAhead < count) fetch(all + places[i + kAhead]);
      const std::uint32_t owner = owners[i];
      Ray& ray = rays[owner];
      if (ray.reach < 0.0f) continue;
      const FloatPacket& packet = all[places[i]];
      const SiftedPacket sifted = sifted_of(packet, ray.sight);
      std::uint32_t row[kFloatPacket];
      for (std::uint32_t k = 0; k < kFloatPacket; ++k) row[k] = packet.first + k;
      if constexpr (std::is_same<Question, NearestBySpans>::value) {
        const PacketRow* const rows = bvh.corners + packet.first;
        const std::uint32_t open = overlapping(sifted, rows, questions[owner], ray);
        if (open != 0) crossed.add(open, row, owner, 0);
      } else if constexpr (Question::kAsksWhere) {
        crossed.add(sifted.crossed, row, owner, 0);
      } else {
        const bool enough = questions[owner].take_all(count_bits(sifted.crossed));
        ray.reach = enough ? -1.0f : ray.reach;
      }
      if (sifted.unsure != 0) unsure.add(sifted.unsure, row, owner, 0);
    }
    crossed.commit(crossed_);
    unsure.commit(unsure_);
    met.size = 0;
  }

  // The crossed triangles whose span overlaps the best one's.
  static std::uint32_t overlapping(const SiftedPacket& sifted, const PacketRow* rows,
                                   NearestBySpans& nearest, Ray& ray) {
    std::uint32_t met = 0;
    for (std::uint32_t open = sifted.crossed; open != 0; open &= open - 1) {
      const int k = trailing_zeros(open);
      if (nearest.take(sifted.span(k), rows + k, ray)) met |= 1u << k;
    }
    return met;
  }

  // Passes the triangles that satisfy a test to the queries.
  template <class SegmentOf, class Test>
  static void answer(VisitQueue& queue, const BatchView& bvh, Ray* rays, Question* questions,
                     SegmentOf&& segment_of, Test&& test) {
    const std::uint32_t *const rows = queue.places(), *const owners = queue.rays();
    for (int i = 0; i < queue.size; ++i) {
      if (i + kAhead < queue.size) fetch(bvh.corners + rows[i + kAhead]);
      const PacketRow& row = bvh.corners[rows[i]];
      Ray& ray = rays[owners[i]];
      if (ray.reach < 0.0f) continue;
      const auto corners = [&] { return corners_of(row); };
      const Segment segment = segment_of(owners[i]);
      if (!test(segment, corners())) continue;
      if constexpr (std::is_same<Question, NearestBySpans>::value) {
        questions[owners[i]].decide(segment, &row, ray);
      } else if (questions[owners[i]].template take<Full>(segment, corners, row.triangle, ray)) {
        ray.end();
      }
    }
    queue.size = 0;
  }

  VisitQueue crossed_, unsure_;  // triangles
};

}  // namespace geodomain
