// What differs between compilers and processors, and nothing else: every other
// file is plain C++17 and may not ask which compiler it is under.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define GD_HD __host__ __device__ inline
#define GD_NOINLINE __host__ __device__ __noinline__ inline
#elif defined(_MSC_VER)
#define GD_HD inline
#define GD_NOINLINE __declspec(noinline) inline
#else
#define GD_HD inline
#define GD_NOINLINE __attribute__((noinline)) inline
#endif

#if defined(_WIN32)
#define GD_API extern "C" __declspec(dllexport)
#else
#define GD_API extern "C" __attribute__((visibility("default")))
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define GD_RESTRICT __restrict
#else
#define GD_RESTRICT __restrict__
#endif

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#define GD_X86_64 1
#else
#define GD_X86_64 0
#endif

// The predicates are proved for IEEE doubles that are rounded once.
static_assert(FLT_EVAL_METHOD == 0, "geodomain needs doubles evaluated as doubles");
#if defined(__FAST_MATH__)
#error "geodomain must be compiled without -ffast-math"
#endif

namespace geodomain {

// The rounding error of a * b, exactly, given the rounded product.
GD_HD double product_tail(double a, double b, double product) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, -product);
#elif defined(__FMA__) || defined(__aarch64__) || defined(_M_ARM64)
  return std::fma(a, b, -product);
#else
  // Without the instruction std::fma is a slow library call; Dekker's split gives
  // the same bits. The range of a mesh keeps every factor below 2^690.
  const double splitter = 134217729.0;  // 2^27 + 1
  const double ca = splitter * a, cb = splitter * b;
  const double a_high = ca - (ca - a), b_high = cb - (cb - b);
  const double a_low = a - a_high, b_low = b - b_high;
  const double error = product - a_high * b_high - a_low * b_high - a_high * b_low;
  return a_low * b_low - error;
#endif
}

GD_HD int trailing_zeros(std::uint64_t word) {  // word != 0
#if defined(__CUDA_ARCH__)
  return __ffsll(static_cast<long long>(word)) - 1;
#elif defined(_MSC_VER) && !defined(__clang__)
  unsigned long index = 0;
  _BitScanForward64(&index, word);
  return static_cast<int>(index);
#else
  return __builtin_ctzll(word);
#endif
}

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
  // Most bits are there already, and a look costs less than a locked write.
  if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bits) == bits) return;
  __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
#endif
}

#if !defined(__CUDACC__)
// Round to nearest, subnormals kept: what the predicates need of the thread
// they run on. The caller's settings come back when the guard is gone.
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

// The x86-64 level of this processor: 1 (baseline), 3 (AVX2, FMA) or 4 (AVX-512).
inline int cpu_level() {
#if GD_X86_64 && defined(__GNUC__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v3 ? (v4 ? 4 : 3) : 1;
#else
  return 1;
#endif
}
#endif

}  // namespace geodomain
