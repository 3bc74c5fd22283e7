// Pairs of a triangle and a column that quick arithmetic leaves to the full one.
#pragma once

#include "platform/atomics.h"
#include "platform/portable.h"

namespace geodomain {

struct Pairing {
  std::int32_t triangle, i, j;
};
static_assert(sizeof(Pairing) == 12, "as every compiler has it");

// In any order; more are counted than there is room for.
struct Pairings {
  Pairing* pairs;
  std::uint32_t* count;
  std::uint32_t room;

  GD_HD void append(Pairing pair) const {
    const std::uint32_t slot = atomic_add(count, 1u);
    if (slot < room) pairs[slot] = pair;
  }
};
static_assert(sizeof(Pairings) == 24, "as every compiler has it");

}  // namespace geodomain
