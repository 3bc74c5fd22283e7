// Words that several threads change at once, on every compiler and device.
#pragma once

#include <cstdint>

#include "platform/portable.h"

namespace geodomain {

GD_HD void atomic_xor(std::uint64_t* word, std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  atomicXor(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(bits));
#elif defined(_MSC_VER) && !defined(__clang__)
  _InterlockedXor64(reinterpret_cast<volatile long long*>(word), static_cast<long long>(bits));
#else
  __atomic_fetch_xor(word, bits, __ATOMIC_RELAXED);
#endif
}

GD_HD void atomic_or(std::uint64_t* word, std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  atomicOr(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(bits));
#elif defined(_MSC_VER) && !defined(__clang__)
  _InterlockedOr64(reinterpret_cast<volatile long long*>(word), static_cast<long long>(bits));
#else
  // Most bits are set already, and a read costs less than a locked write.
  if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bits) == bits) return;
  __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
#endif
}

// Swaps a word; the writes of the thread that stored the old value are visible afterwards.
GD_HD std::int32_t atomic_swap(std::int32_t* word, std::int32_t value) {
#if defined(__CUDA_ARCH__)
  __threadfence();
  const std::int32_t old = atomicExch(word, value);
  __threadfence();
  return old;
#elif defined(_MSC_VER) && !defined(__clang__)
  return _InterlockedExchange(reinterpret_cast<volatile long*>(word), value);
#else
  return __atomic_exchange_n(word, value, __ATOMIC_ACQ_REL);
#endif
}

GD_HD std::uint32_t atomic_add(std::uint32_t* word, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(word, value);
#elif defined(_MSC_VER) && !defined(__clang__)
  return static_cast<std::uint32_t>(
      _InterlockedExchangeAdd(reinterpret_cast<volatile long*>(word), static_cast<long>(value)));
#else
  return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
#endif
}

GD_HD void atomic_add(std::uint64_t* word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  atomicAdd(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(value));
#elif defined(_MSC_VER) && !defined(__clang__)
  _InterlockedExchangeAdd64(reinterpret_cast<volatile long long*>(word),
                            static_cast<long long>(value));
#else
  __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
#endif
}

// Reads a word while other threads may write to it.
GD_HD std::uint64_t atomic_read(const std::uint64_t* word) {
#if defined(__CUDA_ARCH__) || (defined(_MSC_VER) && !defined(__clang__))
  return *static_cast<const volatile std::uint64_t*>(word);
#else
  return __atomic_load_n(word, __ATOMIC_RELAXED);
#endif
}

}  // namespace geodomain
