// Finds the first of several solids that holds a point: solids whose boxes exclude it are skipped
// together, and the others are tested one by one.
#pragma once

#include "exact/single.h"
#include "grid/grid.h"
#include "platform/bits.h"

namespace geodomain {

struct Solid {
  GridView grid;
  SingleView single;  // without vertices if doubles are as fast
};
static_assert(sizeof(Solid) == size_by_pointers(232, 192), "as every compiler has it");

struct Solids {
  const Solid* solid;
  std::int32_t count;
};
static_assert(sizeof(Solids) == size_by_pointers(16, 8), "as every compiler has it");

// Codes that are not the number of a solid. A code below kOpen means that the point is undecided,
// and is to be tested from solid ~(code - kOpen) on.
constexpr std::int32_t kNoSolid = -1, kNotFinite = -2, kOpen = -2;

GD_HD bool is_finite(Vec3 q) { return q.x - q.x == 0.0 && q.y - q.y == 0.0 && q.z - q.z == 0.0; }
GD_HD bool is_open(std::int32_t code) { return code < kOpen; }
GD_HD std::int32_t opened(std::int32_t solid) { return kOpen + ~solid; }
GD_HD std::int32_t solid_of(std::int32_t open) { return ~(open - kOpen); }

// The code of a finite point. offer(body) calls body(solid) for the solids that may hold it, in
// ascending order, until body is true; the code is open if ask(solid) leaves the first undecided.
template <class Offer, class Ask>
GD_HD std::int32_t first_offered(Offer&& offer, Ask&& ask) {
  std::int32_t code = kNoSolid;
  offer([&](std::int32_t solid) {
    const Answer answer = ask(solid);
    if (answer == Answer::inside) code = solid;
    if (answer == Answer::undecided) code = opened(solid);
    return answer != Answer::outside;
  });
  return code;
}

// Calls body(solid) for the solids from `from` on whose bounds hold the point, until it is true.
template <class Body>
GD_HD void near_solids(const Solids& solids, Vec3 q, std::int32_t from, Body&& body) {
  for (std::int32_t begin = from; begin < solids.count; begin += 32) {
    const std::int32_t left = solids.count - begin;
    std::uint32_t near = 0;
    for (std::int32_t k = 0; k < (left < 32 ? left : 32); ++k) {
      near |= (misses(solids.solid[begin + k].grid.bounds, q) ? 0u : 1u) << k;
    }
    for (; near != 0; near &= near - 1) {
      if (body(begin + trailing_zeros(near))) return;
    }
  }
}

// The code of a finite point that is in no solid before `from`.
template <class Ask>
GD_HD std::int32_t first_solid(const Solids& solids, Vec3 q, std::int32_t from, Ask&& ask) {
  return first_offered([&](auto&& body) { near_solids(solids, q, from, body); },
                       [&](std::int32_t solid) { return ask(solids.solid[solid]); });
}

}  // namespace geodomain
