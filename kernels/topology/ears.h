// Cuts a ring into triangles by clipping ears, the first ear in the order of the ring each time.
//
// A corner is an ear if the ring bends left there, seen along the normal, and no other corner of
// the ring lies in its triangle, including its sides; corners at the same place as one of its three
// do not count. A corner that is not an ear has another corner as a witness: until that is cut off
// it need not be tested again, so each cut tests its two neighbours and the corners whose
// witness it was. Witnesses are searched in a tree of boxes, which drops corners that are cut off.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <vector>

namespace geodomain {

using Corner = std::array<double, 3>;

inline Corner minus(const Corner& a, const Corner& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
inline Corner cross_of(const Corner& a, const Corner& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline double dot_of(const Corner& a, const Corner& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Corners in boxes of boxes: node i has the children 2 i + 1 and 2 i + 2.
class CornerTree {
 public:
  explicit CornerTree(const std::vector<Corner>& corners) : corners_(corners) {
    order_.resize(corners.size());
    std::iota(order_.begin(), order_.end(), 0);
    leaf_of_.resize(corners.size());
    std::size_t leaves = 1;
    while (leaves * kLeaf < corners.size()) leaves *= 2;
    nodes_.resize(2 * leaves - 1);
    build(0, 0, static_cast<std::int64_t>(corners.size()));
  }

  void remove(std::int64_t corner) {
    Node& leaf = nodes_[leaf_of_[corner]];
    auto* begin = order_.data() + leaf.begin;
    // The remaining corners of a leaf come first.
    std::swap(*std::find(begin, begin + leaf.live, corner), begin[leaf.live - 1]);
    for (std::int64_t node = leaf_of_[corner];; node = (node - 1) / 2) {
      --nodes_[node].live;
      if (node == 0) return;
    }
  }

  // The first corner for which `holds`, in boxes for which `may_hold`; -1 if there is none.
  template <class MayHold, class Holds>
  std::int64_t find(const MayHold& may_hold, const Holds& holds) const {
    std::int64_t stack[128];
    int depth = 0;
    stack[depth++] = 0;
    while (depth) {
      const std::int64_t at = stack[--depth];
      const Node& node = nodes_[at];
      if (node.live == 0 || !may_hold(node.low, node.high)) continue;
      const std::int64_t child = 2 * at + 1;
      if (child < static_cast<std::int64_t>(nodes_.size())) {
        stack[depth++] = child + 1;
        stack[depth++] = child;
        continue;
      }
      for (std::int64_t k = node.begin; k < node.begin + node.live; ++k) {
        if (holds(order_[k])) return order_[k];
      }
    }
    return -1;
  }

 private:
  static constexpr std::size_t kLeaf = 8;
  struct Node {
    Corner low, high;
    std::int64_t begin = 0, live = 0;
  };

  void build(std::int64_t at, std::int64_t begin, std::int64_t end) {
    Node& node = nodes_[at];
    node.begin = begin;
    node.live = end - begin;
    node.low.fill(INFINITY);
    node.high.fill(-INFINITY);
    for (std::int64_t k = begin; k < end; ++k) {
      for (int axis = 0; axis < 3; ++axis) {
        node.low[axis] = std::min(node.low[axis], corners_[order_[k]][axis]);
        node.high[axis] = std::max(node.high[axis], corners_[order_[k]][axis]);
      }
    }
    const std::int64_t child = 2 * at + 1;
    if (child >= static_cast<std::int64_t>(nodes_.size())) {
      for (std::int64_t k = begin; k < end; ++k) leaf_of_[order_[k]] = at;
      return;
    }
    const Corner size = minus(node.high, node.low);
    const int axis = static_cast<int>(std::max_element(size.begin(), size.end()) - size.begin());
    const std::int64_t middle = begin + (end - begin) / 2;
    std::nth_element(
        order_.begin() + begin, order_.begin() + middle, order_.begin() + end,
        [&](std::int64_t a, std::int64_t b) { return corners_[a][axis] < corners_[b][axis]; });
    build(child, begin, middle);
    build(child + 1, middle, end);
  }

  const std::vector<Corner>& corners_;
  std::vector<std::int64_t> order_, leaf_of_;
  std::vector<Node> nodes_;
};

class EarClipper {
 public:
  // The ring starts at the origin and no coordinate is much larger than 1.
  EarClipper(std::vector<Corner> corners, const Corner& normal)
      : corners_(std::move(corners)), normal_(normal), tree_(corners_) {
    const std::int64_t count = static_cast<std::int64_t>(corners_.size());
    before_.resize(count);
    after_.resize(count);
    for (std::int64_t i = 0; i < count; ++i) {
      before_[i] = i ? i - 1 : count - 1;
      after_[i] = i + 1 < count ? i + 1 : 0;
    }
    witness_.assign(count, kNone);
    bend_.assign(count, 0.0);
    waiting_.resize(count);
    for (std::int64_t i = 0; i < count; ++i) look(i);
  }

  void cut(std::int32_t* triangles) {
    std::int64_t left = static_cast<std::int64_t>(corners_.size());
    for (; left > 3; --left) {
      const std::int64_t ear = next();
      triangles = put(triangles, before_[ear], ear, after_[ear]);
      clip(ear);
    }
    std::int64_t first = 0;
    while (witness_[first] == kCut) ++first;
    put(triangles, first, after_[first], after_[after_[first]]);
  }

 private:
  // Values instead of a witness.
  static constexpr std::int64_t kNone = -1, kEar = -2, kCut = -3;

  static std::int32_t* put(std::int32_t* out, std::int64_t a, std::int64_t b, std::int64_t c) {
    out[0] = static_cast<std::int32_t>(a);
    out[1] = static_cast<std::int32_t>(b);
    out[2] = static_cast<std::int32_t>(c);
    return out + 3;
  }

  // The first ear; for a ring that crosses itself and has none, its most convex corner.
  std::int64_t next() {
    while (!ears_.empty()) {
      const std::int64_t ear = ears_.top();
      if (witness_[ear] == kEar) return ear;
      ears_.pop();
    }
    while (true) {
      const auto [bend, corner] = bends_.top();
      if (witness_[-corner] != kCut && bend_[-corner] == bend) return -corner;
      bends_.pop();
    }
  }

  void clip(std::int64_t ear) {
    witness_[ear] = kCut;
    tree_.remove(ear);
    const std::int64_t b = before_[ear], a = after_[ear];
    after_[b] = a;
    before_[a] = b;
    look(b);
    look(a);
    for (const std::int64_t corner : waiting_[ear]) {
      if (witness_[corner] == ear) look(corner);
    }
    std::vector<std::int64_t>().swap(waiting_[ear]);
  }

  void look(std::int64_t i) {
    const Corner &p = corners_[before_[i]], &q = corners_[i], &r = corners_[after_[i]];
    const double bend = dot_of(cross_of(minus(q, p), minus(r, q)), normal_);
    if (bend != bend_[i] || witness_[i] == kNone) bends_.push({bend, -i});
    bend_[i] = bend;
    if (!(bend > 0)) {
      witness_[i] = i;  // its own witness: only its neighbours can change it
      return;
    }
    const std::int64_t witness = find_inside(p, q, r);
    if (witness < 0) {
      witness_[i] = kEar;
      ears_.push(i);
    } else {
      witness_[i] = witness;
      waiting_[witness].push_back(i);
    }
  }

  std::int64_t find_inside(const Corner& a, const Corner& b, const Corner& c) const {
    const Corner* corner[4] = {&a, &b, &c, &a};
    Corner side[3], inward[3];
    double slack[3];
    for (int k = 0; k < 3; ++k) {
      side[k] = minus(*corner[k + 1], *corner[k]);
      inward[k] = cross_of(normal_, side[k]);
      // Far more than the rounding errors for coordinates up to 2.
      slack[k] =
          1e-12 * (std::fabs(inward[k][0]) + std::fabs(inward[k][1]) + std::fabs(inward[k][2]));
    }
    const auto may_hold = [&](const Corner& low, const Corner& high) {
      for (int k = 0; k < 3; ++k) {
        double most = slack[k];
        for (int axis = 0; axis < 3; ++axis) {
          const double from = (*corner[k])[axis];
          most +=
              std::max(inward[k][axis] * (low[axis] - from), inward[k][axis] * (high[axis] - from));
        }
        if (most < 0) return false;
      }
      return true;
    };
    const auto holds = [&](std::int64_t i) {
      const Corner& r = corners_[i];
      if (r == a || r == b || r == c) return false;
      for (int k = 0; k < 3; ++k) {
        if (dot_of(cross_of(side[k], minus(r, *corner[k])), normal_) < 0) return false;
      }
      return true;
    };
    return tree_.find(may_hold, holds);
  }

  const std::vector<Corner> corners_;
  const Corner normal_;
  CornerTree tree_;
  std::vector<std::int64_t> before_, after_, witness_;
  std::vector<double> bend_;
  std::vector<std::vector<std::int64_t>> waiting_;
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ears_;
  std::priority_queue<std::pair<double, std::int64_t>> bends_;
};

}  // namespace geodomain
