// Long triangles, which would fill many cells of a grid each (slivers as long as the mesh): a
// tree of boxes, each turned to the direction in which its own triangles run.
#pragma once

#include "platform/mesh_view.h"

namespace geodomain {

// The place of (x, y) along a direction and across it. With p = 2^-53 the computed values are
// within 2^-51 times the larger of |x|, |y| of the exact ones, or 2^-1073 where products are tiny:
// linear functions of x and y, whatever c and s are.
struct Direction {
  double c, s;  // at most 1 in magnitude

  GD_HD double along(double x, double y) const { return c * x + s * y; }
  GD_HD double across(double x, double y) const { return c * y - s * x; }
};

// A node of the tree, in the order in which a walk meets them. A linear function takes its least
// and greatest values over a triangle at vertices, so a point outside the box, which is widened by
// more than the rounding of both, is outside of every triangle of the node.
struct Bundle {
  Direction direction;
  double along_low, along_high, across_low, across_high;
  double top;          // of its triangles
  std::int32_t first;  // of its own triangles: a leaf's, in GridView::bundled
  std::int32_t count;  // 0 for a node with children
  std::int32_t next;   // the node after all of its descendants
  std::int32_t unused;

  GD_HD bool holds(Vec3 q) const {
    if (q.z > top) return false;
    const double u = direction.along(q.x, q.y), v = direction.across(q.x, q.y);
    return (u >= along_low) & (u <= along_high) & (v >= across_low) & (v <= across_high);
  }
};
static_assert(sizeof(Bundle) == 72, "as every compiler has it");

// visit(triangle) for every triangle that may meet the vertical ray up from q, or hold q; ends with
// false where a visit does. Nodes [begin, end) are one tree; q is within the mesh's bounds.
template <class Visit>
GD_HD bool visit_bundled(const Bundle* bundles, const std::int32_t* bundled, std::int32_t begin,
                         std::int32_t end, Vec3 q, Visit&& visit) {
  for (std::int32_t node = begin; node < end;) {
    const Bundle& bundle = bundles[node];
    if (!bundle.holds(q)) {
      node = bundle.next;
      continue;
    }
    for (std::int32_t i = 0; i < bundle.count; ++i) {
      if (!visit(bundled[bundle.first + i])) return false;
    }
    ++node;
  }
  return true;
}

}  // namespace geodomain
