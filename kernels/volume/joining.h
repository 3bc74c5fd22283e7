// Boxes that tile a parent block joined into fewer: those that agree and share a whole face become
// one. Coordinates are places in a list of faces, so that equal is equal. Host only.
//
// Runs of boxes are joined along one axis, then the next, then the last, and again until none
// joins, in each of the six orders of the axes; the first order that leaves fewest boxes is taken.
// Joining only ever leaves fewer, so there are never more than runs along the best single axis.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace geodomain {

struct JoinedBox {
  std::int32_t low[3], high[3];
  std::int32_t key;    // boxes of different keys are kept apart
  std::int32_t first;  // the least of those that it is made of
};

class BoxJoiner {
 public:
  // Joins boxes, of which each is its own `first`. `owner[i]`: the `first` of the box that i is
  // part of. The boxes that are left are in the order of their `first`.
  void join(std::vector<JoinedBox>& boxes, std::vector<std::int32_t>& owner) {
    static constexpr int kOrders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    std::vector<JoinedBox> best = boxes;
    best_owner_.resize(boxes.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) best_owner_[i] = boxes[i].first;
    for (const auto& order : kOrders) {
      if (best.size() < 2) break;
      left_ = boxes;
      owner_.resize(boxes.size());
      for (std::size_t i = 0; i < boxes.size(); ++i) owner_[i] = boxes[i].first;
      join_in(order);
      if (left_.size() >= best.size()) continue;
      best = left_;
      best_owner_ = owner_;
    }
    for (std::int32_t& one : best_owner_) one = root(best_owner_, one);
    boxes = best;
    std::sort(boxes.begin(), boxes.end(),
              [](const JoinedBox& a, const JoinedBox& b) { return a.first < b.first; });
    owner = best_owner_;
  }

 private:
  void join_in(const int (&order)[3]) {
    for (std::size_t before = left_.size() + 1; left_.size() < before;) {
      before = left_.size();
      for (const int axis : order) join_along(axis);
    }
  }

  void join_along(int axis) {
    const int u = (axis + 1) % 3, v = (axis + 2) % 3;
    const auto side = [=](const JoinedBox& a, const JoinedBox& b) {  // -1, 0, 1
      const std::int32_t one[] = {a.key, a.low[u], a.high[u], a.low[v], a.high[v]};
      const std::int32_t other[] = {b.key, b.low[u], b.high[u], b.low[v], b.high[v]};
      for (int k = 0; k < 5; ++k) {
        if (one[k] != other[k]) return one[k] < other[k] ? -1 : 1;
      }
      return 0;
    };
    std::sort(left_.begin(), left_.end(), [&](const JoinedBox& a, const JoinedBox& b) {
      const int order = side(a, b);
      if (order != 0) return order < 0;
      return a.low[axis] != b.low[axis] ? a.low[axis] < b.low[axis] : a.first < b.first;
    });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < left_.size(); ++i) {
      JoinedBox& last = left_[kept];
      const JoinedBox& next = left_[i];
      if (last.high[axis] == next.low[axis] && side(last, next) == 0) {
        const std::int32_t first = std::min(last.first, next.first);
        owner_[static_cast<std::size_t>(std::max(last.first, next.first))] = first;
        last.high[axis] = next.high[axis];
        last.first = first;
      } else {
        left_[++kept] = next;
      }
    }
    left_.resize(left_.empty() ? 0 : kept + 1);
  }

  static std::int32_t root(const std::vector<std::int32_t>& owner, std::int32_t one) {
    while (owner[static_cast<std::size_t>(one)] != one) one = owner[static_cast<std::size_t>(one)];
    return one;
  }

  std::vector<JoinedBox> left_;
  std::vector<std::int32_t> owner_, best_owner_;
};

}  // namespace geodomain
