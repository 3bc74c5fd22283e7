// The macros for the differences between compilers. The other headers of this folder hide
// further differences behind functions, so that every other file is plain C++17.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

// Whether eight lanes of AVX2 can be used: on the host only, and not in files for nvcc.
#if defined(__AVX2__) && !defined(__CUDACC__)
#define GD_AVX2 1
#else
#define GD_AVX2 0
#endif

// Whether a call may start threads. WebAssembly has none in a page that is opened from a file.
#if defined(__wasm__)
#define GD_THREADS 0
#else
#define GD_THREADS 1
#endif

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#if !defined(_MSC_VER) || defined(__clang__)
#include <cpuid.h>
#endif
#define GD_X86_64 1
#else
#define GD_X86_64 0
#endif

// The predicates are proved for IEEE doubles with single rounding.
static_assert(FLT_EVAL_METHOD == 0, "geodomain needs doubles evaluated as doubles");
#if defined(__FAST_MATH__)
#error "geodomain must be compiled without -ffast-math"
#endif

// The size of a structure with pointers, on machines with pointers of 8 and of 4 bytes.
GD_HD constexpr std::size_t size_by_pointers(std::size_t of_eight, std::size_t of_four) {
  return sizeof(void*) == 8 ? of_eight : of_four;
}
