// The CUDA face of what is done to answers before they leave: one thread to a number, or to
// four bytes.
#include "pack_rows.h"

using namespace geodomain;

extern "C" __global__ void geodomain_nonzero(const std::int32_t* numbers, std::uint32_t rows,
                                             std::uint8_t* out) {
  const std::int64_t row = thread_row();
  if (row < rows) out[row] = numbers[row] != 0;
}

extern "C" __global__ void geodomain_pack_rows(const std::uint8_t* rows, std::uint32_t pitch,
                                               std::uint32_t row_bytes, std::uint32_t total,
                                               std::uint32_t* out) {
  const std::int64_t word = thread_row();
  if (4 * word >= total) return;
  out[word] = packed_word(rows, pitch, row_bytes, total, static_cast<std::uint32_t>(word));
}
