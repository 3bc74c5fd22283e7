// The first row that the arithmetic cannot decide: of the threads of a launch, the
// least row is kept. Device only.
#pragma once

#include <cstdint>

namespace geodomain {

__device__ inline void refuse(std::int64_t row, std::uint64_t* refused) {
  atomicMin(reinterpret_cast<unsigned long long*>(refused), static_cast<unsigned long long>(row));
}

}  // namespace geodomain
