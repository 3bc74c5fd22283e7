// Converts answers on the GPU before they are copied: one thread for each number.
#include "platform/warp.h"

using namespace geodomain;

extern "C" __global__ void geodomain_nonzero(const std::int32_t* numbers, std::uint32_t rows,
                                             std::uint8_t* out) {
  const std::int64_t row = thread_row();
  if (row < rows) out[row] = numbers[row] != 0;
}
