// A tree of boxes, over some triangles of a mesh or over its components, and the pairs of two
// trees, or of one with itself, whose closed boxes meet. Host only; nothing is decided here.
#pragma once

#include <algorithm>
#include <vector>

#include "platform/mesh_view.h"

namespace geodomain {

inline bool boxes_meet(const Bounds& a, const Bounds& b) {
  return a.low.x <= b.high.x && b.low.x <= a.high.x && a.low.y <= b.high.y && b.low.y <= a.high.y &&
         a.low.z <= b.high.z && b.low.z <= a.high.z;
}

inline Bounds box_of(const Triangle& t) {
  return {{smallest(t.a.x, t.b.x, t.c.x), smallest(t.a.y, t.b.y, t.c.y), bottom(t)},
          {largest(t.a.x, t.b.x, t.c.x), largest(t.a.y, t.b.y, t.c.y), top(t)}};
}

class BoxTree {
 public:
  struct Leaf {
    Bounds box;
    std::int32_t index;
  };

  explicit BoxTree(std::vector<Leaf> leaves) : leaves_(std::move(leaves)) {
    if (leaves_.empty()) return;
    nodes_.reserve(leaves_.size());
    split(0, leaves_.size());
  }

  bool empty() const { return leaves_.empty(); }

  // Two nodes, one of this tree and one of another, whose boxes meet.
  struct Task {
    std::size_t mine, theirs;
  };

  // What there is to visit, in parts of some ten thousand triangles; they depend on the trees
  // alone.
  std::vector<Task> tasks(const BoxTree& other) const {
    std::vector<Task> found;
    if (empty() || other.empty()) return found;
    descend(other, {0, 0}, kTask, [&](const Task& task) {
      found.push_back(task);
      return true;
    });
    return found;
  }

  // visit(i) of the leaves whose boxes meet another, until it returns false.
  template <class Visit>
  void visit_met(const Bounds& box, Visit&& visit) const {
    if (empty()) return;
    std::size_t open[kDeepestStack], count = 0;
    open[count++] = 0;
    while (count > 0) {
      const std::size_t index = open[--count];
      const Node& node = nodes_[index];
      if (!boxes_meet(node.box, box)) continue;
      if (node.right != 0) {
        open[count++] = node.right;
        open[count++] = index + 1;
        continue;
      }
      for (std::size_t i = node.begin; i < node.end; ++i) {
        if (boxes_meet(leaves_[i].box, box) && !visit(leaves_[i].index)) return;
      }
    }
  }

  // visit(i, j) of i in this tree and j in the other, until it returns false.
  template <class Visit>
  void visit_pairs(const BoxTree& other, const Task& task, Visit&& visit) const {
    descend(other, task, 0, [&](const Task& leaves) {
      const Node& one = nodes_[leaves.mine];
      const Node& two = other.nodes_[leaves.theirs];
      for (std::size_t i = one.begin; i < one.end; ++i) {
        for (std::size_t j = two.begin; j < two.end; ++j) {
          const Leaf& a = leaves_[i];
          const Leaf& b = other.leaves_[j];
          if (boxes_meet(a.box, b.box) && !visit(a.index, b.index)) return false;
        }
      }
      return true;
    });
  }

 private:
  static constexpr std::size_t kLeaf = 4, kTask = 16384;
  // A node has half the leaves of the one above, and each adds one to the stack.
  static constexpr std::size_t kDeepestStack = 72;
  struct Node {  // its left child is the next node; right is 0 for a leaf
    Bounds box;
    std::size_t begin, end, right;
  };

  // Goes down both trees to pairs of nodes that are leaves, or hold no more than `few` triangles
  // together, until visit(task) returns false.
  template <class Visit>
  void descend(const BoxTree& other, const Task& from, std::size_t few, Visit&& visit) const {
    std::vector<Task> open = {from};
    while (!open.empty()) {
      const auto [mine, theirs] = open.back();
      open.pop_back();
      const Node& one = nodes_[mine];
      const Node& two = other.nodes_[theirs];
      if (!boxes_meet(one.box, two.box)) continue;
      const std::size_t size_one = one.end - one.begin, size_two = two.end - two.begin;
      if ((one.right == 0 && two.right == 0) || size_one + size_two <= few) {
        if (!visit({mine, theirs})) return;
      } else if (two.right == 0 || (one.right != 0 && size_one >= size_two)) {
        open.push_back({one.right, theirs});
        open.push_back({mine + 1, theirs});
      } else {
        open.push_back({mine, two.right});
        open.push_back({mine, theirs + 1});
      }
    }
  }

  void split(std::size_t begin, std::size_t end) {
    const std::size_t index = nodes_.size();
    Bounds box = leaves_[begin].box;
    for (std::size_t i = begin + 1; i < end; ++i) widen(box, leaves_[i].box);
    nodes_.push_back({box, begin, end, 0});
    if (end - begin <= kLeaf) return;
    const double spans[3] = {box.high.x - box.low.x, box.high.y - box.low.y,
                             box.high.z - box.low.z};
    const int axis = static_cast<int>(std::max_element(spans, spans + 3) - spans);
    const auto place = [axis](const Leaf& leaf) {
      const Bounds& b = leaf.box;
      return axis == 0 ? b.low.x + b.high.x : axis == 1 ? b.low.y + b.high.y : b.low.z + b.high.z;
    };
    const std::size_t middle = begin + (end - begin) / 2;
    std::nth_element(leaves_.begin() + static_cast<std::ptrdiff_t>(begin),
                     leaves_.begin() + static_cast<std::ptrdiff_t>(middle),
                     leaves_.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](const Leaf& one, const Leaf& two) { return place(one) < place(two); });
    split(begin, middle);
    nodes_[index].right = nodes_.size();
    split(middle, end);
  }

  std::vector<Leaf> leaves_;
  std::vector<Node> nodes_;
};

}  // namespace geodomain
