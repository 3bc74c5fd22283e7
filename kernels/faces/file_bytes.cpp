// The C face of reading files.
#include "platform/file_bytes.h"

#include "platform/c_function.h"
#include "platform/portable.h"

using namespace geodomain;

// Fills `into` with `size` bytes of an open file from `start` on. are_there: 0 where the file has
// fewer, or this system has no such way.
GD_API Status geodomain_read_bytes(int file, std::int64_t start, std::int64_t size, char* into,
                                   int threads, std::int32_t* are_there) {
  return guarded([&] { *are_there = read_bytes(file, start, size, into, threads); });
}
GD_DESCRIBE(geodomain_read_bytes);
