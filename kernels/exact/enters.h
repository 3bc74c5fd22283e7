// Whether a triangle enters a block: whether it has a point strictly inside the block. Exact, so
// that a block with a face on a wall of a solid does not count as mixed.
//
// Two convex bodies, one of them open, are disjoint if a plane separates them that is parallel to a
// face of the block, to the triangle, or to an edge of each. Of the planes parallel to an edge,
// only the one through the edge needs testing: the triangle lies on one side of it.
#pragma once

#include "exact/crossing.h"

namespace geodomain {

struct Block {
  Vec3 low, high;
};

namespace enters_detail {

// For an edge p, q and the third corner r, projected along an axis, and a rectangle: whether the
// line through the edge has the rectangle's inside on one side and the triangle on the other.
GD_HD bool edge_parts(double px, double py, double qx, double qy, double rx, double ry,
                      const double* low, const double* high) {
  if (px == qx && py == qy) return false;
  const int third = orient2d(px, py, qx, qy, rx, ry);
  // The corners of the rectangle that are farthest to the left and to the right of p -> q.
  const bool up = qx > px, along = qy > py;
  if (third >= 0 && third != kUnsure) {
    const int left = orient2d(px, py, qx, qy, along ? low[0] : high[0], up ? high[1] : low[1]);
    if (left <= 0) return true;
  }
  if (third <= 0) {
    const int right = orient2d(px, py, qx, qy, along ? high[0] : low[0], up ? low[1] : high[1]);
    if (right >= 0 && right != kUnsure) return true;
  }
  return false;
}

GD_HD bool projection_parts(const double (*corner)[3], int x, int y, const double* low,
                            const double* high) {
  const double near[2] = {low[x], low[y]}, far[2] = {high[x], high[y]};
  for (int k = 0; k < 3; ++k) {
    const double *p = corner[k], *q = corner[(k + 1) % 3], *r = corner[(k + 2) % 3];
    if (edge_parts(p[x], p[y], q[x], q[y], r[x], r[y], near, far)) return true;
  }
  return false;
}

// Whether the triangle's plane has the block's inside on one side.
GD_HD bool plane_parts(const Triangle& t, const Block& block) {
  const Vec3 &a = t.a, &b = t.b, &c = t.c;
  const int nx = orient2d(a.y, a.z, b.y, b.z, c.y, c.z),
            ny = orient2d(a.z, a.x, b.z, b.x, c.z, c.x),
            nz = orient2d(a.x, a.y, b.x, b.y, c.x, c.y);
  if (nx == 0 && ny == 0 && nz == 0) return false;  // a segment, decided by edges
  const Vec3 front = {nx > 0 ? block.high.x : block.low.x, ny > 0 ? block.high.y : block.low.y,
                      nz > 0 ? block.high.z : block.low.z};
  const Vec3 back = {nx > 0 ? block.low.x : block.high.x, ny > 0 ? block.low.y : block.high.y,
                     nz > 0 ? block.low.z : block.high.z};
  const int of_front = orient3d(a, b, c, front);  // positive on the side opposite to the normal
  if (of_front >= 0 && of_front != kUnsure) return true;
  return orient3d(a, b, c, back) <= 0;
}

}  // namespace enters_detail

// Also true if tiny coordinates leave a sign undecided.
GD_HD bool enters(const Triangle& t, const Block& block) {
  using namespace enters_detail;
  const double corner[3][3] = {{t.a.x, t.a.y, t.a.z}, {t.b.x, t.b.y, t.b.z}, {t.c.x, t.c.y, t.c.z}};
  const double low[3] = {block.low.x, block.low.y, block.low.z};
  const double high[3] = {block.high.x, block.high.y, block.high.z};
  bool inside[3] = {true, true, true};
  for (int k = 0; k < 3; ++k) {
    if (largest(corner[0][k], corner[1][k], corner[2][k]) <= low[k]) return false;
    if (smallest(corner[0][k], corner[1][k], corner[2][k]) >= high[k]) return false;
    for (int i = 0; i < 3; ++i) inside[i] &= corner[i][k] > low[k] && corner[i][k] < high[k];
  }
  if (inside[0] || inside[1] || inside[2]) return true;
  if (projection_parts(corner, 0, 1, low, high) || projection_parts(corner, 1, 2, low, high) ||
      projection_parts(corner, 2, 0, low, high)) {
    return false;
  }
  return !plane_parts(t, block);
}

}  // namespace geodomain
