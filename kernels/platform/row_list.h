// Rows that a GPU kernel does not decide: the rows left to the next kernel, and the first row that
// the arithmetic cannot decide.
#pragma once

#include <cstdint>

#include "platform/atomics.h"
#include "platform/portable.h"

namespace geodomain {

// Rows left to the next kernel, in any order.
struct RowList {
  std::uint32_t* rows;
  std::uint32_t* count;

  GD_HD void append(std::uint32_t row) const { rows[atomic_add(count, 1u)] = row; }
};
static_assert(sizeof(RowList) == size_by_pointers(16, 8), "as every compiler has it");

#if defined(__CUDACC__)

// Reports a row that the arithmetic cannot decide; the lowest row of a launch counts.
__device__ inline void refuse(std::int64_t row, std::uint64_t* refused) {
  atomicMin(reinterpret_cast<unsigned long long*>(refused), static_cast<unsigned long long>(row));
}

#endif

}  // namespace geodomain
