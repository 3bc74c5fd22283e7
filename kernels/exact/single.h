// Crossings in single precision, for GPUs with slow double precision: most signs are certain in
// floats already. A coordinate is stored as two floats, so that differences of neighbours have a
// float's precision wherever the mesh is.
#pragma once

#include "platform/arithmetic.h"
#include "platform/mesh_view.h"

namespace geodomain {

// A double v as high + low, within 2^-48 |v| of it.
struct Halves {
  float high, low;
};

GD_HD Halves halve(double value) {
  const float high = static_cast<float>(value);
  return {high, static_cast<float>(value - static_cast<double>(high))};
}

struct HalvedVertex {
  Halves x, y, z;
};
static_assert(sizeof(HalvedVertex) == 24, "as every compiler has it");

GD_HD HalvedVertex halve(Vec3 v) { return {halve(v.x), halve(v.y), halve(v.z)}; }

// p - q, within 2^-24 of itself and 2^-44 times the larger magnitude of p and q. The tail of the
// high parts' difference is exact (Knuth's two-sum); it, the low parts and the error of halving
// are all below 2^-22 of that magnitude, and are rounded twice.
GD_HD float difference(Halves p, Halves q) {
  const float head = p.high - q.high;
  const float back = p.high - head;
  const float tail = (p.high - (head + back)) + (back - q.high);
  return head + (tail + (p.low - q.low));
}

// The larger magnitude. It has its own name, because an overload of `maximum` would change calls
// with floats elsewhere.
GD_HD float larger_magnitude(float a, float b) { return a > b ? a : b; }

// The triangle's crossing above the displaced point, like `crossing_above`, or kUnsure.
// `reach` is at least the magnitude of every coordinate, including those of q; beyond the range of
// floats everything is unsure.
//
// With e = 2^-44 reach and D the largest difference, an error of a product of two differences is
// at most 3 * 2^-24 of it and 2eD, of a sum of two such 4 * 2^-24 of the products' magnitudes and
// 4eD; of a sum of three products with a third difference, 8 * 2^-24 and 18eD^2. The bounds double
// these at least, and the floor covers underflow.
GD_HD int crossing_above_single(const HalvedVertex& a, const HalvedVertex& b, const HalvedVertex& c,
                                const HalvedVertex& q, float reach) {
  constexpr float kFloor = 0x1p-100f;
  const float adx = difference(a.x, q.x), ady = difference(a.y, q.y), adz = difference(a.z, q.z);
  const float bdx = difference(b.x, q.x), bdy = difference(b.y, q.y), bdz = difference(b.z, q.z);
  const float cdx = difference(c.x, q.x), cdy = difference(c.y, q.y), cdz = difference(c.z, q.z);
  const float across =
      larger_magnitude(larger_magnitude(larger_magnitude(std::fabs(adx), std::fabs(ady)),
                                        larger_magnitude(std::fabs(bdx), std::fabs(bdy))),
                       larger_magnitude(std::fabs(cdx), std::fabs(cdy)));
  const float along =
      larger_magnitude(larger_magnitude(std::fabs(adz), std::fabs(bdz)), std::fabs(cdz));
  const float unit = 0x1p-44f * reach;

  const float ab_left = adx * bdy, ab_right = ady * bdx, ab = ab_left - ab_right;
  const float bc_left = bdx * cdy, bc_right = bdy * cdx, bc = bc_left - bc_right;
  const float ca_left = cdx * ady, ca_right = cdy * adx, ca = ca_left - ca_right;
  const float ab_size = std::fabs(ab_left) + std::fabs(ab_right);
  const float bc_size = std::fabs(bc_left) + std::fabs(bc_right);
  const float ca_size = std::fabs(ca_left) + std::fabs(ca_right);
  const float least = 8.0f * unit * across + kFloor;
  const float ab_bound = 0x1p-21f * ab_size + least;
  const float bc_bound = 0x1p-21f * bc_size + least;
  const float ca_bound = 0x1p-21f * ca_size + least;
  const bool left = (ab > ab_bound) | (bc > bc_bound) | (ca > ca_bound);
  const bool right = (ab < -ab_bound) | (bc < -bc_bound) | (ca < -ca_bound);
  if (left & right) return 0;
  const bool certain =
      (std::fabs(ab) > ab_bound) & (std::fabs(bc) > bc_bound) & (std::fabs(ca) > ca_bound);
  if (!certain) return kUnsure;

  const int sign = left ? 1 : -1;
  const float size = std::fabs(adz) * bc_size + std::fabs(bdz) * ca_size + std::fabs(cdz) * ab_size;
  const float side = adz * bc + bdz * ca + cdz * ab;
  const float largest = larger_magnitude(across, along);
  if (!(std::fabs(side) > 0x1p-20f * size + 64.0f * unit * largest * largest + kFloor)) {
    return kUnsure;
  }
  return (side > 0.0f) == (sign > 0) ? sign : 0;
}

// A mesh's vertices as halves, in device memory in addition to the doubles.
struct SingleView {
  const HalvedVertex* vertices;
  float reach;  // at least the magnitude of the mesh's coordinates

  GD_HD int crossing_above(const MeshView& mesh, std::int64_t triangle, Vec3 q) const {
    if (!(std::fabs(q.z) <= static_cast<double>(reach))) return kUnsure;
    const std::int32_t* corner = mesh.triangles + 3 * triangle;
    return crossing_above_single(vertices[corner[0]], vertices[corner[1]], vertices[corner[2]],
                                 halve(q), reach);
  }
};
static_assert(sizeof(SingleView) == size_by_pointers(16, 8), "as every compiler has it");

}  // namespace geodomain
