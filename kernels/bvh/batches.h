// Answers many segments at once on the host: short ones in batches, long ones by walks that visit
// near nodes first. Hits are described four at a time.
#pragma once

#include <type_traits>

#include "bvh/visit_queue.h"
#include "exact/segment.h"
#include "platform/simd.h"

namespace geodomain {

// Describes four hits side by side, with the same bits as one by one.

class FourHits {
 public:
  static constexpr int kCount = 4;

  // Puts a segment and a triangle that it crosses into a lane.
  void put(int lane, const Segment& s, const Triangle& t) {
    const Vec3 points[5] = {s.start, s.end, t.a, t.b, t.c};
    for (int k = 0; k < 5; ++k) {
      at_[k][0][lane] = points[k].x;
      at_[k][1][lane] = points[k].y;
      at_[k][2][lane] = points[k].z;
    }
    segment_[lane] = s;
  }

  void describe(Hit* hits) const {
    const Vector<Doubles4> s = point(0), e = point(1), a = point(2), b = point(3), c = point(4);
    double values[kHitVolumes][kCount];
    const std::uint32_t sure = volume(a, b, c, s, values[0]) & volume(a, b, c, e, values[1]) &
                               volume(s, e, b, c, values[2]) & volume(s, e, c, a, values[3]) &
                               volume(s, e, a, b, values[4]);
    for (int lane = 0; lane < kCount; ++lane) {
      double volumes[kHitVolumes];
      for (int i = 0; i < kHitVolumes; ++i) volumes[i] = values[i][lane];
      hits[lane] = sure >> lane & 1 ? hit_of(segment_[lane], volumes)
                                    : geodomain::describe(segment_[lane], triangle(lane));
    }
  }

 private:
  Vector<Doubles4> point(int k) const {
    return {Doubles4::load(at_[k][0]), Doubles4::load(at_[k][1]), Doubles4::load(at_[k][2])};
  }
  Triangle triangle(int lane) const {
    const auto corner = [&](int k) {
      return Vec3{at_[k][0][lane], at_[k][1][lane], at_[k][2][lane]};
    };
    return {corner(2), corner(3), corner(4)};
  }

  // Like Full::volume, in the lanes whose bits are set.
  static std::uint32_t volume(const Vector<Doubles4>& a, const Vector<Doubles4>& b,
                              const Vector<Doubles4>& c, const Vector<Doubles4>& q, double* out) {
    const EstimateOf<Doubles4> estimate = orient3d_estimate(a, b, c, q);
    const std::uint32_t counted = bits_below(Doubles4(kOrient3dFloor), estimate.permanent);
    const std::uint32_t plain = counted & at_most(Doubles4(kOrient3dBound) * estimate.permanent,
                                                  Doubles4(kVolumeError) * absolute(estimate.det));
    estimate.det.store(out);
    if (plain == (1u << kCount) - 1u) return plain;
    const PairVolume<Doubles4> pair = pair_volume(a, b, c, q, estimate.permanent);
    const Doubles4 head = pair.value.head;
    const std::uint32_t certain =
        counted & at_most(head, pair.least()) & at_most(pair.most(), head);
    double heads[kCount];
    head.store(heads);
    for (int lane = 0; lane < kCount; ++lane) {
      if (!(plain >> lane & 1)) out[lane] = heads[lane];
    }
    return plain | certain;
  }

  double at_[5][3][kCount];
  Segment segment_[kCount];
};

// Answers a batch of short segments with one thread. Nodes and packets wait in queues that all
// segments of the batch share, and are visited many at a time, so that no visit branches on the
// result of the one before. The order does not matter, because few nodes are near a short segment.

constexpr int kBatch = 256;     // segments in a batch, and the most nodes visited at once
constexpr int kNodesAhead = 6;  // visits ahead of which memory is prefetched

template <class Question>
class ShortSegments {
 public:
  explicit ShortSegments(const BatchView& bvh) : bvh_(bvh), frame_(bvh.frame) {}

  // For each row in [begin, end): creates a query with make(row), answers it for the segment in
  // `ends`, and calls done(row, query).
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
    VisitQueue::Appender roots(nodes_);
    const std::uint32_t root[kWide] = {};
    for (std::int64_t row = begin; row < end; ++row) {
      const auto i = static_cast<std::uint32_t>(row - begin);
      questions_[i] = make(row);
      if (bvh_.triangle_count > 0 && rays_[i].begin(frame_, ends + 6 * row)) {
        roots.add(1, root, i, 0);
      }
    }
    roots.commit(nodes_);
    const auto segment = [&](std::uint32_t i) { return segment_of(ends, begin + i); };
    const auto sifted = [](const FloatPacket& packet, const Sight& sight) {
      return sift(packet, sight, from_start(packet, sight));
    };
    while (nodes_.size > 0) {
      visit_nodes();
      if (packets_.met.size >= kBatch || nodes_.size == 0) {
        packets_.take(bvh_, rays_, questions_, segment, sifted);
      }
    }
    for (std::int64_t row = begin; row < end; ++row) done(row, questions_[row - begin]);
  }

  // Visits the last nodes of the queue. Constants are copied to local variables, because a compiler
  // cannot know that the queues do not alias them.
  void visit_nodes() {
    const int count = nodes_.size < kBatch ? nodes_.size : kBatch;
    current_.size = 0;
    current_.reserve(kBatch / kWide);
    current_.append(nodes_, nodes_.size - count, count);
    nodes_.size -= count;
    nodes_.reserve(count);
    packets_.met.reserve(count);
    const OpenNode* const all = bvh_.nodes;
    const std::uint32_t *const places = current_.places(), *const owners = current_.rays();
    VisitQueue::Appender nodes(nodes_), packets(packets_.met);
    for (int i = 0; i < count; ++i) {
      if (i + kNodesAhead < count) fetch(all + places[i + kNodesAhead]);
      const OpenNode& node = all[places[i]];
      const std::uint32_t owner = owners[i];
      const Ray& ray = rays_[owner];
      const std::uint32_t met = met_slots(node, ray).slots;
      // The last are visited first, so far children are added first.
      const std::uint32_t turn = Question::kNearFirst ? ray.octant ^ 7 : 0;
      nodes.add(met & node.inner, node.child, owner, turn);
      packets.add(met & node.leaf, node.child, owner, turn ^ 7);
    }
    nodes.commit(nodes_);
    packets.commit(packets_.met);
  }

  const BatchView bvh_;
  const EvenFrame frame_;
  Ray rays_[kBatch];
  Question questions_[kBatch];
  VisitQueue nodes_, current_;
  PacketQueue<Question> packets_;
};

// Answers long segments with one thread, many at once, each by its own walk. A walk visits near
// nodes first, because a hit there may make the far ones unnecessary. All walks advance in turn, so
// that none waits for the memory of another; a finished walk is replaced by the next segment.

// Whether a query may be answered by a part of the segment.
template <class Question>
constexpr bool kEndsEarly =
    std::is_same<Question, Any>::value || std::is_same<Question, NearestBySpans>::value;

// A segment is long from this share of half the frame's longest side.
constexpr double kLong = 0.5;

// Whether most of the rows in [begin, end) are long, by a sample of every sixteenth row. This
// affects speed only.
inline bool are_long(const BoxFrame& frame, const double* ends, std::int64_t begin,
                     std::int64_t end) {
  double least[3];  // of a long segment, along each axis
  for (int k = 0; k < 3; ++k) least[k] = kLong / (frame.scale[k] * frame.share[k]);
  int balance = 0;
  for (std::int64_t row = begin; row < end; row += 16) {
    const double* const s = ends + 6 * row;
    const bool is_long = (std::fabs(s[3] - s[0]) >= least[0]) |
                         (std::fabs(s[4] - s[1]) >= least[1]) |
                         (std::fabs(s[5] - s[2]) >= least[2]);
    balance += is_long ? 1 : -1;
  }
  return balance > 0;
}

template <class Question>
class LongSegments {
 public:
  explicit LongSegments(const BatchView& bvh)
      : bvh_(bvh),
        frame_(bvh.frame),
        room_(kWide * (static_cast<std::size_t>(bvh.level_count) + 1)),
        place_(new std::uint32_t[kWalks * room_]),
        enter_(new float[kWalks * room_]) {}

  // Like ShortSegments::ask.
  template <class Make, class Done>
  void ask(std::int64_t begin, std::int64_t end, const double* ends, Make&& make, Done&& done) {
    if (bvh_.triangle_count == 0) {
      for (std::int64_t row = begin; row < end; ++row) done(row, make(row));
      return;
    }
    const auto segment = [&](std::uint32_t i) { return segment_of(ends, row_[i]); };
    const auto sifted = [](const FloatPacket& packet, const Sight& sight) {
      return sift(packet, sight, from_nearest(packet, sight));
    };
    for (int i = 0; i < kWalks; ++i) free_[i] = static_cast<std::uint32_t>(i);
    free_count_ = kWalks;
    walking_count_ = 0;
    for (std::int64_t next = begin; next < end || walking_count_ > 0;) {
      for (; free_count_ > 0 && next < end; ++next) {
        const std::uint32_t i = free_[free_count_ - 1];
        questions_[i] = make(next);
        if (rays_[i].begin(frame_, ends + 6 * next)) {
          start(i, next);
        } else {
          done(next, questions_[i]);
        }
      }
      visit_nodes();
      packets_.take(bvh_, rays_, questions_, segment, sifted);
      const int before = free_count_;
      go_on();
      for (int k = before; k < free_count_; ++k) done(row_[free_[k]], questions_[free_[k]]);
    }
  }

 private:
  static constexpr int kWalks = 64;  // at once

  void start(std::uint32_t i, std::int64_t row) {
    row_[i] = row;
    place_[i * room_] = 0;
    enter_[i * room_] = 0.0f;
    depth_[i] = 1;
    --free_count_;
    walking_[walking_count_++] = i;
  }

  // Each walk takes the last node of its stack and pushes its children, far ones first. A level
  // adds at most seven, and eight words are written.
  void visit_nodes() {
    packets_.met.reserve(walking_count_);
    VisitQueue::Appender packets(packets_.met);
    const OpenNode* const all = bvh_.nodes;
    const int count = walking_count_;
    for (int k = 0; k < count; ++k) {
      const std::uint32_t i = walking_[k];
      const Ray& ray = rays_[i];
      const std::uint32_t depth = depth_[i] - 1;
      std::uint32_t* const places = place_.get() + i * room_ + depth;
      const OpenNode& node = all[*places];
      const MetSlots met = met_slots(node, ray);
      const std::uint32_t inner = met.slots & node.inner;
      pick(inner, ray.octant ^ 7, node.child, places);
      if constexpr (Question::kNearFirst) {
        std::uint32_t enter[kWide];
        float floats[kWide];
        met.enter.store(floats);
        std::memcpy(enter, floats, sizeof enter);
        std::uint32_t picked[kWide];
        pick(inner, ray.octant ^ 7, enter, picked);
        std::memcpy(enter_.get() + i * room_ + depth, picked, sizeof picked);
      }
      depth_[i] = depth + count_bits(inner);
      packets.add(met.slots & node.leaf, node.child, i, ray.octant);
    }
    packets.commit(packets_.met);
  }

  // Separates finished walks from walks with nodes left. A node that begins beyond the reach is
  // dropped, one per step, without a branch.
  void go_on() {
    int left = 0;
    for (int k = 0; k < walking_count_; ++k) {
      const std::uint32_t i = walking_[k];
      const float reach = rays_[i].reach;
      std::uint32_t depth = depth_[i];
      if constexpr (Question::kNearFirst) {
        const std::uint32_t any = depth > 0;
        depth -= any & static_cast<std::uint32_t>(enter_[i * room_ + depth - any] > reach);
      }
      depth = reach < 0.0f ? 0 : depth;
      depth_[i] = depth;
      walking_[left] = i;
      left += depth > 0;
      free_[free_count_] = i;
      free_count_ += depth == 0;
    }
    walking_count_ = left;
  }

  const BatchView bvh_;
  const EvenFrame frame_;
  const std::size_t room_;  // entries of a stack
  const std::unique_ptr<std::uint32_t[]> place_;
  const std::unique_ptr<float[]> enter_;  // where a ray meets the box of each entry
  Ray rays_[kWalks];
  Question questions_[kWalks];
  std::int64_t row_[kWalks];
  std::uint32_t depth_[kWalks];  // of each stack
  std::uint32_t walking_[kWalks], free_[kWalks];
  int walking_count_ = 0, free_count_ = 0;
  PacketQueue<Question> packets_;
};

}  // namespace geodomain
