// Loads from memory: prefetching, and loading a whole structure at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform/portable.h"

namespace geodomain {

// Prefetches memory; on a GPU other threads hide the latency.
template <class Whole>
GD_HD void fetch(const Whole* from) {
#if defined(__CUDA_ARCH__) || (defined(_MSC_VER) && !defined(__clang__))
  (void)from;
#else
  const char* line = reinterpret_cast<const char*>(from);
  for (std::size_t i = 0; i < sizeof(Whole); i += 64) __builtin_prefetch(line + i);
#endif
}

#if defined(__CUDACC__)
// On a device, loads a whole structure by sixteen bytes at a time, bypassing the cache for writes.
template <class Whole>
__device__ Whole load_whole(const Whole* from) {
  static_assert(sizeof(Whole) % sizeof(uint4) == 0, "whole loads");
  constexpr int kLoads = sizeof(Whole) / sizeof(uint4);
  uint4 parts[kLoads];
  for (int i = 0; i < kLoads; ++i) parts[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
  Whole whole;
  memcpy(&whole, parts, sizeof whole);
  return whole;
}
#else
template <class Whole>
const Whole& load_whole(const Whole* from) {
  return *from;
}
#endif

}  // namespace geodomain
