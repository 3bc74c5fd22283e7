// Arrays of a known size in pages of two megabytes, if the system has them: allocating a page of
// four kilobytes costs as much as filling it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace geodomain {

// Memory that can be enlarged. In WebAssembly, a call that fails gives it back: web/memory.cpp.
#if defined(__wasm__)
void* resize_memory(void* at, std::size_t size);
void free_memory(void* at);
#else
inline void* resize_memory(void* at, std::size_t size) { return std::realloc(at, size); }
inline void free_memory(void* at) { std::free(at); }
#endif

// Advises the system about the pages of [at, at + size), before their first use.
inline void ask_for_large_pages(void* at, std::int64_t size) {
#if defined(__linux__)
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(at) / page * page;
  const auto length = reinterpret_cast<std::uintptr_t>(at) + size - begin;
  madvise(reinterpret_cast<void*>(begin), length, MADV_HUGEPAGE);
#else
  (void)at, (void)size;
#endif
}

// An array without initial values. It grows by moving pages, not copying, if the system can.
template <class Value>
class LargeArray {
  static_assert(std::is_trivially_copyable<Value>::value, "is moved as bytes");

 public:
  LargeArray() = default;
  explicit LargeArray(std::int64_t count) { resize(count); }
  LargeArray(LargeArray&& other) noexcept : values_(std::exchange(other.values_, nullptr)) {}
  LargeArray& operator=(LargeArray&& other) noexcept {
    std::swap(values_, other.values_);
    return *this;
  }
  ~LargeArray() { free_memory(values_); }

  Value* get() const { return values_; }
  Value& operator[](std::int64_t i) const { return values_[i]; }

  void resize(std::int64_t count) {
    constexpr auto kMost = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(Value);
    if (static_cast<std::uint64_t>(count) > kMost) throw std::bad_alloc();
    const auto size = static_cast<std::size_t>(count > 0 ? count : 1) * sizeof(Value);
    void* const moved = resize_memory(static_cast<void*>(values_), size);
    if (!moved) throw std::bad_alloc();
    values_ = static_cast<Value*>(moved);
    if (size >= kLarge) ask_for_large_pages(moved, static_cast<std::int64_t>(size));
  }

 private:
  static constexpr std::size_t kLarge = std::size_t{4} << 20;

  Value* values_ = nullptr;
};

}  // namespace geodomain
