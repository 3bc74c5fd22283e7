// The core's memory in a page, and how a failed call ends.
//
// Not every browser supports the exceptions of WebAssembly. A call that runs out of memory or
// throws ends by an exception in JavaScript: the imported `call_ends` throws it. No destructor runs
// then, but the core's destructors only free memory. So the blocks of memory in use are in a list,
// the newest first, and those that are newer than the call are freed.
#include <cstdint>
#include <cstring>
#include <ctime>
#include <new>
#include <stdexcept>
#include <typeinfo>

#include "platform/bits.h"
#include "platform/c_function.h"
#include "platform/large_array.h"
#include "platform/portable.h"

using namespace geodomain;

extern "C" __attribute__((import_module("page"), import_name("call_ends"))) [[noreturn]] void
call_ends(Status status);

extern "C" unsigned char __heap_base;  // where the linker's own data end

namespace {

// The heap is a row of blocks without gaps; no two free blocks are neighbours.
struct Block {
  std::uint32_t size;    // with this header, a multiple of 16; plus 1 if the block is in use
  std::uint32_t before;  // the size of the block in front, 0 for the first
  Block *older, *newer;  // in the list of blocks in use, or of free blocks of about this size

  bool is_free() const { return (size & 1) == 0; }
  std::uint32_t length() const { return size & ~std::uint32_t{1}; }
  Block* next() { return reinterpret_cast<Block*>(reinterpret_cast<char*>(this) + length()); }
  Block* previous() { return reinterpret_cast<Block*>(reinterpret_cast<char*>(this) - before); }
};
static_assert(sizeof(Block) == 16, "so that the memory behind it is aligned");

struct BlockList {
  Block* newest = nullptr;

  void enter(Block* block) {
    block->older = newest;
    block->newer = nullptr;
    if (newest) newest->newer = block;
    newest = block;
  }
  void leave(Block* block) {
    (block->newer ? block->newer->older : newest) = block->older;
    if (block->older) block->older->newer = block->newer;
  }
};

constexpr std::uint32_t kPage = 65536, kMostPages = 65535, kGrowth = 16;  // so no address is 2^32
constexpr std::uint32_t kMost = kMostPages * kPage - kPage;

class Heap {
 public:
  // Takes a block for `size` bytes, aligned to a power of two, or null. The caller lists it.
  Block* take(std::size_t size, std::size_t alignment = sizeof(Block)) {
    if (size > kMost || alignment > kMost - size) return nullptr;
    const std::uint32_t needed = length_for(size);
    const std::uint32_t length =
        alignment > sizeof(Block) ? needed + static_cast<std::uint32_t>(alignment) : needed;
    Block* block = find(length);
    if (!block && grow(length)) block = find(length);
    if (!block) return nullptr;
    lists_[list_of(block->length())].leave(block);
    const auto at = reinterpret_cast<std::uintptr_t>(block + 1);
    const auto gap = static_cast<std::uint32_t>((alignment - at % alignment) % alignment);
    if (gap) {  // the part in front stays free; the blocks on both sides of it are in use
      Block* const front = block;
      const std::uint32_t rest = front->length() - gap;
      front->size = gap;
      block = front->next();
      block->size = rest + 1;
      put(front);
    }
    cut(block, needed);
    return block;
  }

  void free(Block* block) {
    block->size = block->length();
    if (block->next() != end_ && block->next()->is_free()) absorb_next(block);
    if (block->before && block->previous()->is_free()) {
      block = block->previous();
      lists_[list_of(block->length())].leave(block);
      block->size += block->next()->length();
    }
    put(block);
  }

  // Changes the size of a block where it is; false if there is no room behind it.
  bool resize(Block* block, std::size_t size) {
    if (size > kMost) return false;
    const std::uint32_t length = length_for(size);
    if (block->length() < length && block->next() == end_) grow(length - block->length());
    Block* const next = block->next();
    if (block->length() < length && next != end_ && next->is_free() &&
        next->length() >= length - block->length()) {
      absorb_next(block);
    }
    const bool fits = block->length() >= length;
    cut(block, fits ? length : block->length());
    return fits;
  }

 private:
  static std::uint32_t length_for(std::size_t size) {
    return (static_cast<std::uint32_t>(size) + 15) / 16 * 16 + sizeof(Block);
  }
  static int list_of(std::uint32_t length) { return 63 - leading_zeros(length); }

  // The first large enough block in the list of about this size; otherwise the newest block of a
  // list of larger sizes.
  Block* find(std::uint32_t length) {
    for (Block* block = lists_[list_of(length)].newest; block; block = block->older) {
      if (block->length() >= length) return block;
    }
    for (int list = list_of(length) + 1; list < 32; ++list) {
      if (lists_[list].newest) return lists_[list].newest;
    }
    return nullptr;
  }

  // Uses the first part of a block, and frees the rest.
  void cut(Block* block, std::uint32_t length) {
    const std::uint32_t rest = block->length() - length;
    block->size = length + (rest < 2 * sizeof(Block) ? rest : 0) + 1;
    if (rest < 2 * sizeof(Block)) return tell_next(block);
    Block* const other = block->next();
    other->size = rest;
    other->before = length;
    if (other->next() != end_ && other->next()->is_free()) absorb_next(other);
    put(other);
  }

  void absorb_next(Block* block) {
    Block* const next = block->next();
    lists_[list_of(next->length())].leave(next);
    block->size += next->length();
  }

  void put(Block* block) {
    tell_next(block);
    lists_[list_of(block->length())].enter(block);
  }

  void tell_next(Block* block) {
    if (block->next() == end_) {
      last_ = block->length();
    } else {
      block->next()->before = block->length();
    }
  }

  // Adds a free block at the end, or enlarges the last one.
  bool grow(std::uint32_t length) {
    if (!end_) {
      const auto begin = (reinterpret_cast<std::uintptr_t>(&__heap_base) + 15) / 16 * 16;
      end_ = reinterpret_cast<Block*>(begin);
      add(__builtin_wasm_memory_size(0) * kPage - begin);
      if (find(length)) return true;
    }
    const std::uint32_t wanted = (length + kPage - 1) / kPage;
    for (const std::uint32_t pages : {wanted < kGrowth ? kGrowth : wanted, wanted}) {
      if (__builtin_wasm_memory_size(0) + pages > kMostPages) continue;
      const std::size_t before = __builtin_wasm_memory_grow(0, pages);
      if (before == SIZE_MAX) continue;
      if (before * kPage != reinterpret_cast<std::uintptr_t>(end_)) call_ends(kFailed);
      add(pages * kPage);
      return true;
    }
    return false;
  }

  void add(std::uint32_t length) {
    Block* const block = end_;
    block->size = (length / 16 * 16) + 1;
    block->before = last_;
    end_ = block->next();
    free(block);
  }

  BlockList lists_[32];  // of free blocks, by the logarithm of their lengths
  Block* end_ = nullptr;
  std::uint32_t last_ = 0;  // the length of the last block
};

Heap heap;
BlockList in_use;
Block* newest_before_call = nullptr;

Block* block_of(void* at) { return static_cast<Block*>(at) - 1; }

}  // namespace

namespace geodomain {

void* resize_memory(void* at, std::size_t size) {
  if (at && heap.resize(block_of(at), size)) return at;
  Block* const block = heap.take(size);
  if (!block) return nullptr;
  in_use.enter(block);
  if (at) {
    std::memcpy(block + 1, at, block_of(at)->length() - sizeof(Block));
    free_memory(at);
  }
  return block + 1;
}

void free_memory(void* at) {
  if (!at) return;
  Block* const block = block_of(at);
  if (block == newest_before_call) newest_before_call = block->older;
  in_use.leave(block);
  heap.free(block);
}

}  // namespace geodomain

void* operator new(std::size_t size) {
  void* const at = resize_memory(nullptr, size);
  if (!at) call_ends(kOutOfMemory);
  return at;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return resize_memory(nullptr, size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  Block* const block = heap.take(size, static_cast<std::size_t>(alignment));
  if (!block) call_ends(kOutOfMemory);
  in_use.enter(block);
  return block + 1;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return operator new(size, alignment);
}
void operator delete(void* at) noexcept { free_memory(at); }
void operator delete[](void* at) noexcept { free_memory(at); }
void operator delete(void* at, std::size_t) noexcept { free_memory(at); }
void operator delete[](void* at, std::size_t) noexcept { free_memory(at); }
void operator delete(void* at, std::align_val_t) noexcept { free_memory(at); }
void operator delete[](void* at, std::align_val_t) noexcept { free_memory(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { free_memory(at); }
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept { free_memory(at); }

// The compiler turns `throw` into two calls: memory for the exception, and the end of the call.
extern "C" void* __cxa_allocate_exception(std::size_t) noexcept {
  alignas(16) static char exception[64];
  return exception;
}
extern "C" [[noreturn]] void __cxa_throw(void*, std::type_info* type, void (*)(void*)) {
  call_ends(*type == typeid(std::bad_alloc)      ? kOutOfMemory
            : *type == typeid(std::length_error) ? kTooLarge
                                                 : kFailed);
}

// The C++ library calls this in place of throwing when exceptions are off.
namespace std {
inline namespace __1 {
[[noreturn]] void __libcpp_verbose_abort(const char*, ...) noexcept { call_ends(kTooLarge); }
}  // namespace __1
}  // namespace std

// The core needs no clock: build times are not read here, so they are 0.
extern "C" int clock_gettime(clockid_t, timespec* now) {
  *now = {};
  return 0;
}

// Memory for inputs and outputs, aligned to 16 bytes; null if there is none.
GD_API void* geodomain_take_memory(std::size_t size) { return resize_memory(nullptr, size); }

GD_API void geodomain_free_memory(void* at) { free_memory(at); }

// To be called before a function that may fail.
GD_API void geodomain_call_begins() { newest_before_call = in_use.newest; }

// To be called after `call_ends` has thrown: frees what the call had taken.
GD_API void geodomain_call_ended() {
  while (in_use.newest != newest_before_call) free_memory(in_use.newest + 1);
}
