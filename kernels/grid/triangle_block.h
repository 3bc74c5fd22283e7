// Eight triangles by coordinate, side by side: a loop over them whose body does not branch becomes
// a few instructions for all.
#pragma once

#include "platform/arithmetic.h"
#include "platform/mesh_view.h"

namespace geodomain {

struct TriangleBlock {
  static constexpr int kSize = 8;
  double at[9][kSize];  // ax, ay, az, bx, ..., cz

  void put(int k, const Triangle& t) {
    const double corners[9] = {t.a.x, t.a.y, t.a.z, t.b.x, t.b.y, t.b.z, t.c.x, t.c.y, t.c.z};
    for (int i = 0; i < 9; ++i) at[i][k] = corners[i];
  }
  Triangle operator[](int k) const {
    return {{at[0][k], at[1][k], at[2][k]},
            {at[3][k], at[4][k], at[5][k]},
            {at[6][k], at[7][k], at[8][k]}};
  }
};

// body(block, first, count) for all of [begin, end), in order; triangle(i) gives one. Places of a
// block that is not full have its first triangle.
template <class Pick, class Body>
void for_blocks(std::int64_t begin, std::int64_t end, Pick&& triangle, Body&& body) {
  constexpr int kSize = TriangleBlock::kSize;
  TriangleBlock block;
  for (; begin < end; begin += kSize) {
    const int count = end - begin < kSize ? static_cast<int>(end - begin) : kSize;
    for (int k = 0; k < kSize; ++k) block.put(k, triangle(begin + (k < count ? k : 0)));
    body(block, begin, count);
  }
}

}  // namespace geodomain
