// A tree of boxes in the form for queries, on a host or a device: the leaves whose closed boxes
// meet another box.
#pragma once

#include "platform/mesh_view.h"

namespace geodomain {

GD_HD bool boxes_meet(const Bounds& a, const Bounds& b) {
  return a.low.x <= b.high.x && b.low.x <= a.high.x && a.low.y <= b.high.y && b.low.y <= a.high.y &&
         a.low.z <= b.high.z && b.low.z <= a.high.z;
}

GD_HD Bounds box_of(const Triangle& t) {
  return {{smallest(t.a.x, t.b.x, t.c.x), smallest(t.a.y, t.b.y, t.c.y), bottom(t)},
          {largest(t.a.x, t.b.x, t.c.x), largest(t.a.y, t.b.y, t.c.y), top(t)}};
}

struct BoxLeaf {
  Bounds box;
  std::int32_t index;
};
static_assert(sizeof(BoxLeaf) == 56, "as every compiler has it");

// A node of the leaves from begin to end; its left child is the next node, and right is 0 for a
// leaf.
struct BoxNode {
  Bounds box;
  std::int32_t begin, end, right;
};
static_assert(sizeof(BoxNode) == 64, "as every compiler has it");

struct BoxTreeView {
  const BoxNode* nodes;
  const BoxLeaf* leaves;
  std::int64_t node_count;

  // A node has half the leaves of its parent, of fewer than 2^31, and each level adds one to the
  // stack.
  static constexpr int kDeepestStack = 36;

  // Calls visit(i) for the leaves whose boxes meet another box, until it returns false.
  template <class Visit>
  GD_HD void visit_met(const Bounds& box, Visit&& visit) const {
    if (node_count == 0) return;
    std::int32_t open[kDeepestStack];
    int count = 0;
    open[count++] = 0;
    while (count > 0) {
      const std::int32_t index = open[--count];
      const BoxNode& node = nodes[index];
      if (!boxes_meet(node.box, box)) continue;
      if (node.right != 0) {
        open[count++] = node.right;
        open[count++] = index + 1;
        continue;
      }
      for (std::int32_t i = node.begin; i < node.end; ++i) {
        if (boxes_meet(leaves[i].box, box) && !visit(leaves[i].index)) return;
      }
    }
  }
};
static_assert(sizeof(BoxTreeView) == size_by_pointers(24, 16), "as every compiler has it");

}  // namespace geodomain
