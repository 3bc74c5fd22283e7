// Reads whole files for Python.
#include <atomic>
#include <cstdint>

#include "platform/c_function.h"
#include "platform/large_array.h"
#include "platform/portable.h"
#include "platform/thread_team.h"

// Reads a file by several threads into pages of two megabytes. If the system has the file in
// memory, making pages of four kilobytes would take half of the time.

#if defined(__linux__)
#include <unistd.h>

#include <cerrno>
#endif

namespace geodomain {

#if defined(__linux__)

// Reads the bytes [begin, end) of a file; returns whether the file has them.
inline bool read_stretch(int file, std::int64_t begin, std::int64_t end, char* into) {
  while (begin < end) {
    const ssize_t got = pread(file, into, static_cast<std::size_t>(end - begin), begin);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    begin += got;
    into += got;
  }
  return true;
}

// Reads `size` bytes of an open file from `start` on; returns whether the file has them.
inline bool read_bytes(int file, std::int64_t start, std::int64_t size, char* into, int threads) {
  constexpr std::int64_t kStretch = std::int64_t{4} << 20;
  ask_for_large_pages(into, size);
  std::atomic<bool> has_all{true};
  Team(threads).run(size, kStretch, [&](std::int64_t begin, std::int64_t end, int) {
    if (!read_stretch(file, start + begin, start + end, into + begin)) has_all = false;
  });
  return has_all;
}

#else

// The caller then reads the file in another way.
inline bool read_bytes(int, std::int64_t, std::int64_t, char*, int) { return false; }

#endif

}  // namespace geodomain

using namespace geodomain;

// Fills `into` with `size` bytes of an open file from `start` on. are_there: 0 if the file has
// fewer bytes, or this system does not support this.
GD_API Status geodomain_read_bytes(int file, std::int64_t start, std::int64_t size, char* into,
                                   int threads, std::int32_t* are_there) {
  return guarded([&] { *are_there = read_bytes(file, start, size, into, threads); });
}
GD_DESCRIBE(geodomain_read_bytes);
