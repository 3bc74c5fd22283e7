// Which of several solids first holds a point: those whose boxes leave it out are passed over
// together, and the others are asked one by one.
#pragma once

#include "grid.h"
#include "single.h"

namespace geodomain {

struct Solid {
  GridView grid;
  SingleView single;  // without vertices where doubles are as good
};

struct Solids {
  const Solid* solid;
  std::int32_t count;
};

// Codes that are not a solid's number. Those below are of points whose answer is still open, from
// the solid ~(code - kOpen) on.
constexpr std::int32_t kNoSolid = -1, kNotFinite = -2, kOpen = -2;

GD_HD bool is_open(std::int32_t code) { return code < kOpen; }
GD_HD std::int32_t opened(std::int32_t solid) { return kOpen + ~solid; }
GD_HD std::int32_t solid_of(std::int32_t open) { return ~(open - kOpen); }

// The code of a finite point that no solid before `from` holds; open where ask(solid) leaves it
// undecided.
template <class Ask>
GD_HD std::int32_t first_solid(const Solids& solids, Vec3 q, std::int32_t from, Ask&& ask) {
  for (std::int32_t begin = from; begin < solids.count; begin += 32) {
    const std::int32_t left = solids.count - begin;
    std::uint32_t near = 0;
    for (std::int32_t k = 0; k < (left < 32 ? left : 32); ++k) {
      near |= (misses(solids.solid[begin + k].grid.bounds, q) ? 0u : 1u) << k;
    }
    for (; near != 0; near &= near - 1) {
      const std::int32_t code = begin + trailing_zeros(near);
      const Answer answer = ask(solids.solid[code]);
      if (answer == Answer::inside) return code;
      if (answer == Answer::undecided) return opened(code);
    }
  }
  return kNoSolid;
}

}  // namespace geodomain
