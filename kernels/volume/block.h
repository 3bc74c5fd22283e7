// The share of one block below a surface or inside a solid, from the triangles over the block. If
// the weight of a triangle is not the same everywhere, the block has to be cut along vertical lines
// instead (`volume/block_lines.h`).
#pragma once

#include "topology/box_walk.h"
#include "volume/shares.h"

namespace geodomain {

// How the share of a block is computed: by its label, from its triangles, along lines, or not at
// all, because its plan is partly beyond the rim.
enum BlockAnswer : std::uint8_t { kByLabel = 0, kByTriangles = 1, kByLines = 2, kOffRim = 3 };

// The index of a mesh for queries of blocks anywhere.
struct BlocksView {
  MeshView mesh;
  BoxTreeView tree;
  BoxTreeView rim;      // of the rim's edges, without bounds along z
  const double* edges;  // (m, 2, 3), of the rim
};
static_assert(sizeof(BlocksView) == size_by_pointers(80, 56), "as every compiler has it");

GD_HD Block block_between(const double* low, const double* high) {
  return {{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
}

// An edge in plan, as a triangle without area.
GD_HD Triangle edge_in_plan(const double* ends) {
  const Vec3 a = {ends[0], ends[1], 0.0}, b = {ends[3], ends[4], 0.0};
  return {a, b, b};
}

// Whether an edge of the rim enters the block's plan.
GD_HD bool meets_rim(const BlocksView& blocks, const Block& block) {
  Block plan = block;
  plan.low.z = -1.0, plan.high.z = 1.0;
  bool hit = false;
  blocks.rim.visit_met({plan.low, plan.high}, [&](std::int32_t i) {
    hit = enters(edge_in_plan(blocks.edges + 6 * static_cast<std::int64_t>(i)), plan);
    return !hit;
  });
  return hit;
}

// Whether a triangle has a point strictly inside the block.
GD_HD bool is_entered(const BlocksView& blocks, const Block& block) {
  bool hit = false;
  blocks.tree.visit_met({block.low, block.high}, [&](std::int32_t i) {
    hit = enters(blocks.mesh.triangle(i), block);
    return !hit;
  });
  return hit;
}

// kByLines if a triangle enters the block, until `by_triangles` decides otherwise.
GD_HD BlockAnswer first_answer(const BlocksView& blocks, const Block& block) {
  const Vec3 &low = block.low, &high = block.high;
  if (!(low.x < high.x && low.y < high.y && low.z < high.z)) return kByLabel;  // NaN
  if (meets_rim(blocks, block)) return kOffRim;
  return is_entered(blocks, block) ? kByLines : kByLabel;
}

// Calls visit(i) for the triangles whose boxes are over the block, or in it; on request also for
// those below it, which are needed to count how often its plan is covered.
template <class Visit>
GD_HD void visit_over(const BlocksView& blocks, const Block& block, bool with_below,
                      Visit&& visit) {
  Bounds column = {block.low, block.high};
  if (with_below) column.low.z = -HUGE_VAL;
  column.high.z = HUGE_VAL;
  blocks.tree.visit_met(column, [&](std::int32_t i) {
    visit(i);
    return true;
  });
}

// The part of the block below a triangle, and the part of its plan, in units.
struct BlockPart {
  std::int64_t volume, area;
};

GD_HD BlockPart part_of(const Triangle& t, const Block& block) {
  const Vec3 &low = block.low, &high = block.high;
  const double side[3] = {high.x - low.x, high.y - low.y, high.z - low.z};
  Polygon rest, within, above;
  for (const Vec3& p : {t.a, t.b, t.c}) rest.put({p.x - low.x, p.y - low.y, p.z - low.z});
  for (int axis = 0; axis < 2 && rest.count > 0; ++axis) {
    clip(rest, axis, 0.0, true, within);
    clip(within, axis, side[axis], false, rest);
  }
  if (rest.count == 0) return {0, 0};
  const double plan = side[0] * side[1], area = integrate(rest, 0.0).area / plan;
  const Range range = range_of(rest, 2);
  if (range.low >= side[2]) return {units_of(area), units_of(area)};
  if (range.low < 0.0) {
    clip(rest, 2, 0.0, true, above);
    rest = above;
  }
  double share = 0.0;
  if (rest.count > 0) {
    cut(rest, 2, side[2], within, above);
    if (within.count > 0) share += integrate(within, 0.0).volume / side[2];
    if (above.count > 0) share += integrate(above, 0.0).area;
  }
  return {units_of(share / plan), units_of(area)};
}

// The share of the block below the triangles, each times its weight. With `single`, the result is
// kByTriangles only if they cover the block's plan once within that, whatever their signs.
GD_HD BlockAnswer by_triangles(const BlocksView& blocks, const std::int8_t* weights,
                               const Block& block, double single, double& share) {
  std::uint64_t below = 0, cover = 0;
  visit_over(blocks, block, single > 0.0, [&](std::int32_t i) {
    if (weights[i] == 0) return;
    const BlockPart part = part_of(blocks.mesh.triangle(i), block);
    below += static_cast<std::uint64_t>(part.volume) * static_cast<std::uint64_t>(weights[i]);
    cover += static_cast<std::uint64_t>(part.area < 0 ? -part.area : part.area);
  });
  const double covered = static_cast<double>(static_cast<std::int64_t>(cover)) / kShareUnits;
  if (single > 0.0 && !(std::fabs(covered - 1.0) <= single)) return kByLines;
  const double exact = static_cast<double>(static_cast<std::int64_t>(below)) / kShareUnits;
  share = minimum(maximum(exact, 0.0), 1.0);
  return kByTriangles;
}

}  // namespace geodomain
