// The C face of reading files.
#include "platform/file_bytes.h"

#include "platform/portable.h"

// 1: the open file has `size` bytes from `start` on, and `into` holds them now; 0: it has not, or
// this system has no such way.
GD_API int geodomain_read_bytes(int file, std::int64_t start, std::int64_t size, char* into,
                                int threads) {
  try {
    return geodomain::read_bytes(file, start, size, into, threads);
  } catch (...) {
    return 0;
  }
}
