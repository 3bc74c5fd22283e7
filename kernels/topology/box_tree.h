// A tree of boxes, over some triangles of a mesh or over its components, and the pairs of two
// trees, or of one with itself, whose closed boxes meet. Host only; nothing is decided here.
#pragma once

#include <algorithm>
#include <vector>

#include "topology/box_walk.h"

namespace geodomain {

class BoxTree {
 public:
  using Leaf = BoxLeaf;

  explicit BoxTree(std::vector<Leaf> leaves) : leaves_(std::move(leaves)) {
    if (leaves_.empty()) return;
    nodes_.reserve(leaves_.size());
    split(0, leaves_.size());
  }

  BoxTreeView view() const {
    return {nodes_.data(), leaves_.data(), static_cast<std::int64_t>(nodes_.size())};
  }

  std::int64_t leaf_count() const { return static_cast<std::int64_t>(leaves_.size()); }

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

  // As `BoxTreeView` does.
  template <class Visit>
  void visit_met(const Bounds& box, Visit&& visit) const {
    view().visit_met(box, visit);
  }

  // visit(i, j) of i in this tree and j in the other, until it returns false; of a tree and itself
  // each pair once.
  template <class Visit>
  void visit_pairs(const BoxTree& other, const Task& task, Visit&& visit) const {
    descend(other, task, 0, [&](const Task& leaves) {
      const Node& one = nodes_[leaves.mine];
      const Node& two = other.nodes_[leaves.theirs];
      for (std::int32_t i = one.begin; i < one.end; ++i) {
        for (std::int32_t j = &other == this && two.begin <= i ? i + 1 : two.begin; j < two.end;
             ++j) {
          const Leaf& a = leaves_[static_cast<std::size_t>(i)];
          const Leaf& b = other.leaves_[static_cast<std::size_t>(j)];
          if (boxes_meet(a.box, b.box) && !visit(a.index, b.index)) return false;
        }
      }
      return true;
    });
  }

 private:
  static constexpr std::size_t kLeaf = 4;
  static constexpr std::int32_t kTask = 16384;
  using Node = BoxNode;

  // Goes down both trees to pairs of nodes that are leaves, or hold no more than `few` triangles
  // together, until visit(task) returns false.
  template <class Visit>
  void descend(const BoxTree& other, const Task& from, std::int32_t few, Visit&& visit) const {
    std::vector<Task> open = {from};
    while (!open.empty()) {
      const auto [mine, theirs] = open.back();
      open.pop_back();
      const Node& one = nodes_[mine];
      const Node& two = other.nodes_[theirs];
      if ((&other == this && one.begin >= two.end) || !boxes_meet(one.box, two.box)) continue;
      const std::int64_t size_one = one.end - one.begin, size_two = two.end - two.begin;
      if ((one.right == 0 && two.right == 0) || size_one + size_two <= few) {
        if (!visit({mine, theirs})) return;
      } else if (two.right == 0 || (one.right != 0 && size_one >= size_two)) {
        open.push_back({static_cast<std::size_t>(one.right), theirs});
        open.push_back({mine + 1, theirs});
      } else {
        open.push_back({mine, static_cast<std::size_t>(two.right)});
        open.push_back({mine, theirs + 1});
      }
    }
  }

  void split(std::size_t begin, std::size_t end) {
    const std::size_t index = nodes_.size();
    Bounds box = leaves_[begin].box;
    for (std::size_t i = begin + 1; i < end; ++i) widen(box, leaves_[i].box);
    nodes_.push_back({box, static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end), 0});
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
    nodes_[index].right = static_cast<std::int32_t>(nodes_.size());
    split(middle, end);
  }

  std::vector<Leaf> leaves_;
  std::vector<Node> nodes_;
};

}  // namespace geodomain
