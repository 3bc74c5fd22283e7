// A tree of boxes, over triangles of a mesh or over its components. It finds the pairs of leaves,
// of two trees or of one tree, whose closed boxes meet. Host only; the tree makes no decision about
// geometry.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
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

  // Two nodes with boxes that meet, one of this tree and one of another.
  struct Task {
    std::size_t mine, theirs;
  };

  // The visits of a pair of trees, in parts of some ten thousand triangles; they depend only on the
  // trees.
  std::vector<Task> tasks(const BoxTree& other) const {
    std::vector<Task> visits;
    if (empty() || other.empty()) return visits;
    descend(other, {0, 0}, kTask, [&](const Task& task) {
      visits.push_back(task);
      return true;
    });
    return visits;
  }

  // Like `BoxTreeView::visit`.
  template <class Visit>
  void visit_met(const Bounds& box, Visit&& visit) const {
    view().visit_met(box, visit);
  }

  // Calls visit(i, j) for i in this tree and j in the other, until it returns false; for a tree and
  // itself, each pair once.
  template <class Visit>
  void visit_pairs(const BoxTree& other, const Task& task, Visit&& visit) const {
    descend(other, task, 0, [&](const Task& leaves) {
      return visit_leaves(other, nodes_[leaves.mine], other.nodes_[leaves.theirs], visit);
    });
  }

  // Calls visit(i, j) for the pairs of this tree that meet and have different owners, until it
  // returns false. Parts of the tree with one owner are not compared with themselves.
  template <class Owner, class Visit>
  void visit_pairs_of_owners(Owner&& owner, Visit&& visit) const {
    if (empty()) return;
    constexpr std::int32_t kSeveral = -2;
    std::vector<std::int32_t> owners(nodes_.size());
    for (std::size_t n = nodes_.size(); n-- > 0;) {
      const Node& node = nodes_[n];
      owners[n] = owner(leaves_[static_cast<std::size_t>(node.begin)].index);
      for (std::int32_t i = node.begin; node.right == 0 && i < node.end; ++i) {
        if (owner(leaves_[static_cast<std::size_t>(i)].index) != owners[n]) owners[n] = kSeveral;
      }
      if (node.right != 0 && owners[n + 1] != owners[static_cast<std::size_t>(node.right)])
        owners[n] = kSeveral;
      if (node.right != 0 && owners[n + 1] == kSeveral) owners[n] = kSeveral;
    }
    std::vector<Task> open = {{0, 0}};
    while (!open.empty()) {
      const auto [mine, theirs] = open.back();
      open.pop_back();
      const Node& my_node = nodes_[mine];
      const Node& their_node = nodes_[theirs];
      if (owners[mine] == owners[theirs] && owners[mine] != kSeveral) continue;
      if (my_node.begin >= their_node.end || !boxes_meet(my_node.box, their_node.box)) continue;
      if (my_node.right == 0 && their_node.right == 0) {
        const bool more = visit_leaves(
            *this, my_node, their_node,
            [&](std::int32_t a, std::int32_t b) { return owner(a) == owner(b) || visit(a, b); });
        if (!more) return;
      } else if (their_node.right == 0 ||
                 (my_node.right != 0 &&
                  my_node.end - my_node.begin >= their_node.end - their_node.begin)) {
        open.push_back({static_cast<std::size_t>(my_node.right), theirs});
        open.push_back({mine + 1, theirs});
      } else {
        open.push_back({mine, static_cast<std::size_t>(their_node.right)});
        open.push_back({mine, theirs + 1});
      }
    }
  }

  // The leaf that begins lowest among those above q, in the column of q and accepted by `accept`;
  // -1 if there is none.
  template <class Accept>
  std::int32_t lowest_above(Vec3 q, Accept&& accept) const {
    std::int32_t best = -1;
    double lowest = std::numeric_limits<double>::infinity();
    const auto may_hold = [&](const Bounds& box) {
      return box.low.x <= q.x && q.x <= box.high.x && box.low.y <= q.y && q.y <= box.high.y &&
             box.high.z > q.z && box.low.z < lowest;
    };
    std::vector<std::size_t> open;
    if (!empty()) open.push_back(0);
    while (!open.empty()) {
      const std::size_t index = open.back();
      const Node& node = nodes_[index];
      open.pop_back();
      if (!may_hold(node.box)) continue;
      if (node.right != 0) {
        std::size_t near = index + 1, far = static_cast<std::size_t>(node.right);
        if (nodes_[far].box.low.z < nodes_[near].box.low.z) std::swap(near, far);
        open.push_back(far);
        open.push_back(near);
        continue;
      }
      for (std::int32_t i = node.begin; i < node.end; ++i) {
        const Leaf& leaf = leaves_[static_cast<std::size_t>(i)];
        if (!(leaf.box.low.z > q.z) || !may_hold(leaf.box) || !accept(leaf.index)) continue;
        lowest = leaf.box.low.z;
        best = leaf.index;
      }
    }
    return best;
  }

 private:
  static constexpr std::size_t kLeaf = 4;
  static constexpr std::int32_t kTask = 16384;
  using Node = BoxNode;

  // Calls visit(i, j) for the leaves of two nodes, the second of another tree or of this one.
  template <class Visit>
  bool visit_leaves(const BoxTree& other, const Node& my_node, const Node& their_node,
                    Visit&& visit) const {
    for (std::int32_t i = my_node.begin; i < my_node.end; ++i) {
      for (std::int32_t j = &other == this && their_node.begin <= i ? i + 1 : their_node.begin;
           j < their_node.end; ++j) {
        const Leaf& a = leaves_[static_cast<std::size_t>(i)];
        const Leaf& b = other.leaves_[static_cast<std::size_t>(j)];
        if (boxes_meet(a.box, b.box) && !visit(a.index, b.index)) return false;
      }
    }
    return true;
  }

  // Descends both trees to pairs of nodes that are leaves, or have at most `few` triangles
  // together, until visit(task) returns false.
  template <class Visit>
  void descend(const BoxTree& other, const Task& from, std::int32_t few, Visit&& visit) const {
    std::vector<Task> open = {from};
    while (!open.empty()) {
      const auto [mine, theirs] = open.back();
      open.pop_back();
      const Node& my_node = nodes_[mine];
      const Node& their_node = other.nodes_[theirs];
      if ((&other == this && my_node.begin >= their_node.end) ||
          !boxes_meet(my_node.box, their_node.box))
        continue;
      const std::int64_t my_size = my_node.end - my_node.begin,
                         their_size = their_node.end - their_node.begin;
      if ((my_node.right == 0 && their_node.right == 0) || my_size + their_size <= few) {
        if (!visit({mine, theirs})) return;
      } else if (their_node.right == 0 || (my_node.right != 0 && my_size >= their_size)) {
        open.push_back({static_cast<std::size_t>(my_node.right), theirs});
        open.push_back({mine + 1, theirs});
      } else {
        open.push_back({mine, static_cast<std::size_t>(their_node.right)});
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
    // Split along the axis where the middles are farthest apart: nested shells have one middle,
    // whatever the size of their boxes.
    const auto place = [](const Leaf& leaf, int axis) {
      const Bounds& b = leaf.box;
      return axis == 0 ? b.low.x + b.high.x : axis == 1 ? b.low.y + b.high.y : b.low.z + b.high.z;
    };
    double spans[3];
    for (int k = 0; k < 3; ++k) {
      double low = place(leaves_[begin], k), high = low;
      for (std::size_t i = begin + 1; i < end; ++i) {
        low = std::min(low, place(leaves_[i], k));
        high = std::max(high, place(leaves_[i], k));
      }
      spans[k] = high - low;
    }
    const int axis = static_cast<int>(std::max_element(spans, spans + 3) - spans);
    const std::size_t middle = begin + (end - begin) / 2;
    std::nth_element(leaves_.begin() + static_cast<std::ptrdiff_t>(begin),
                     leaves_.begin() + static_cast<std::ptrdiff_t>(middle),
                     leaves_.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](const Leaf& a, const Leaf& b) { return place(a, axis) < place(b, axis); });
    split(begin, middle);
    nodes_[index].right = static_cast<std::int32_t>(nodes_.size());
    split(middle, end);
  }

  std::vector<Leaf> leaves_;
  std::vector<Node> nodes_;
};

}  // namespace geodomain
