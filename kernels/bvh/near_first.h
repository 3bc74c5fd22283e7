// Long segments asked about by one thread of a CPU, many at once, each by a walk of its own: near
// nodes first, since what it finds there may spare it the far ones. All walks take a step in turn,
// so that none waits for another; a walk that is done makes room for the next segment.
#pragma once

#include <type_traits>

#include "bvh/looks.h"

namespace geodomain {

// Questions that may be answered by the first part of a way.
template <class Question>
constexpr bool kEndsEarly =
    std::is_same<Question, Any>::value || std::is_same<Question, NearestBySpans>::value;

// From this part of the frame's longest half on, a segment is long.
constexpr double kLong = 0.5;

// Whether most of the rows in [begin, end) are, by one of sixteen. No answer depends on it.
inline bool are_long(const BoxFrame& frame, const double* ends, std::int64_t begin,
                     std::int64_t end) {
  double least[3];  // of a long one, along an axis
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
class NearFirst {
 public:
  explicit NearFirst(const BatchView& bvh)
      : bvh_(bvh),
        frame_(bvh.frame),
        room_(kWide * (static_cast<std::size_t>(bvh.level_count) + 1)),
        place_(new std::uint32_t[kWalks * room_]),
        enter_(new float[kWalks * room_]) {}

  // As Asker::ask.
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
      look_at_nodes();
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

  // Each walk takes the last node of its stack, and puts its children there, far ones first. A
  // level leaves at most seven, and eight words are written.
  void look_at_nodes() {
    packets_.met.reserve(walking_count_);
    Looks::Adding packets(packets_.met);
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
    packets.tell(packets_.met);
  }

  // Parts the walks that are done from those that have a node left. One that begins beyond the
  // reach is passed over, one to a step: without a branch.
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
  const std::size_t room_;  // of a stack
  const std::unique_ptr<std::uint32_t[]> place_;
  const std::unique_ptr<float[]> enter_;  // where a ray meets the box of a place
  Ray rays_[kWalks];
  Question questions_[kWalks];
  std::int64_t row_[kWalks];
  std::uint32_t depth_[kWalks];  // of stacks
  std::uint32_t walking_[kWalks], free_[kWalks];
  int walking_count_ = 0, free_count_ = 0;
  PacketLooks<Question> packets_;
};

}  // namespace geodomain
