// Sets how a thread of the host rounds.
#pragma once

#include <cstdint>

#include "platform/portable.h"

namespace geodomain {

#if !defined(__CUDACC__)
// Rounds to nearest and keeps subnormals, as the predicates need it in their thread. The caller's
// settings are restored at the end.
class FloatGuard {
 public:
#if GD_X86_64
  FloatGuard() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ & ~0xE040u); }  // RC, FTZ, DAZ
  ~FloatGuard() { _mm_setcsr(saved_); }
#elif defined(__aarch64__)
  FloatGuard() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
    const std::uint64_t clean = saved_ & ~(std::uint64_t{7} << 22);  // FZ, RMode
    __asm__ volatile("msr fpcr, %0" ::"r"(clean));
  }
  ~FloatGuard() { __asm__ volatile("msr fpcr, %0" ::"r"(saved_)); }
#else
  FloatGuard() = default;
#endif
  FloatGuard(const FloatGuard&) = delete;
  FloatGuard& operator=(const FloatGuard&) = delete;

 private:
#if GD_X86_64
  unsigned saved_;
#else
  std::uint64_t saved_ = 0;
#endif
};
#endif

}  // namespace geodomain
