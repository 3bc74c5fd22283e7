// What differs between compilers and processors, and nothing else: every other
// file is plain C++17 and may not ask which compiler it is under.
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

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#if !defined(_MSC_VER) || defined(__clang__)
#include <cpuid.h>
#endif
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

GD_HD int count_bits(std::uint64_t word) {
#if defined(__CUDA_ARCH__)
  return __popcll(word);
#elif defined(_MSC_VER) && !defined(__clang__)
  word -= (word >> 1) & 0x5555555555555555;
  word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333);
  return static_cast<int>((((word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F) * 0x0101010101010101) >> 56);
#else
  return __builtin_popcountll(word);
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

// What was there, and everything that the thread which put it there wrote before.
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

// The larger and the smaller of two numbers; for what need not mind a NaN.
GD_HD float larger_of(float a, float b) {
#if defined(__CUDA_ARCH__)
  return fmaxf(a, b);
#else
  return a > b ? a : b;
#endif
}
GD_HD float smaller_of(float a, float b) {
#if defined(__CUDA_ARCH__)
  return fminf(a, b);
#else
  return a < b ? a : b;
#endif
}

// Asks for memory that will be read soon; on a GPU other threads fill the time.
template <class Whole>
GD_HD void fetch(const Whole* from) {
#if defined(__CUDA_ARCH__) || (defined(_MSC_VER) && !defined(__clang__))
  (void)from;
#else
  const char* line = reinterpret_cast<const char*>(from);
  for (std::size_t i = 0; i < sizeof(Whole); i += 64) __builtin_prefetch(line + i);
#endif
}

// a * b + c, rounded once or twice: for what need not be the same everywhere.
GD_HD float multiply_add(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#elif defined(__FMA__) || defined(__aarch64__) || defined(_M_ARM64)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}
GD_HD double multiply_add(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#elif defined(__FMA__) || defined(__aarch64__) || defined(_M_ARM64)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

// Byte i of a word as a number that is kByteOffset larger. Among the bits of 2^15 it takes a GPU
// one quick instruction, where a conversion holds it up as long as eight or more.
constexpr float kByteOffset = 0x1p15f;
GD_HD float offset_byte(std::uint64_t word, int i) {
  const auto half = static_cast<std::uint32_t>(word >> 32 * (i / 4));
#if defined(__CUDA_ARCH__)
  const auto place = static_cast<unsigned>(i % 4) << 4;
  return __uint_as_float(__byte_perm(half, 0x47000000u, 0x7504u | place));
#else
  return static_cast<float>(half >> 8 * (i % 4) & 0xff) + kByteOffset;
#endif
}

// The largest of three numbers and 0; the smallest of four, or where there are negative ones any
// of those. Not for NaN, nor for -0.0 where it matters: as integers, numbers that are not negative
// have their order, and negative ones are negative. Three integers take one instruction.
GD_HD float largest_from_zero(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __int_as_float(__vimax3_s32_relu(__float_as_int(a), __float_as_int(b), __float_as_int(c)));
#else
  const float larger_two = larger_of(a, b);
  return larger_of(larger_of(larger_two, c), 0.0f);
#endif
}
GD_HD float smallest_of(float a, float b, float c, float d) {
#if defined(__CUDA_ARCH__)
  const int three = __vimin3_s32(__float_as_int(a), __float_as_int(b), __float_as_int(c));
  return __int_as_float(min(three, __float_as_int(d)));
#else
  return smaller_of(smaller_of(a, b), smaller_of(c, d));
#endif
}

// The bits one place up, with the sign of a number below them.
GD_HD std::uint32_t push_sign(std::uint32_t bits, float value) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_l(__float_as_uint(value), bits, 1);
#else
  return bits << 1 | (std::signbit(value) ? 1u : 0u);
#endif
}

// At least the largest of three numbers that are not negative, and at most 1 + 2^-20 times that: on
// a GPU by their upper halves, which are compared as integers. A NaN is the largest there.
GD_HD double bound_of(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __hiloint2double(__vimax3_s32(__double2hiint(a), __double2hiint(b), __double2hiint(c)) + 1,
                          0);
#else
  const double two = a > b ? a : b;
  return two > c ? two : c;
#endif
}

#if defined(__CUDACC__)
// The row of a launch of one thread to a row.
__device__ inline std::int64_t thread_row() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// A device's copy of a whole structure by loads of sixteen bytes, past the cache for writes.
template <class Whole>
__device__ Whole load_whole(const Whole* from) {
  static_assert(sizeof(Whole) % sizeof(uint4) == 0, "whole loads");
  constexpr int kLoads = sizeof(Whole) / sizeof(uint4);
  uint4 parts[kLoads];
  for (int i = 0; i < kLoads; ++i) parts[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
  Whole whole;
  memcpy(&whole, parts, sizeof whole);
  return whole;
}

// The threads of the warp that ask with the same value, as bits; all of them ask together.
__device__ inline std::uint32_t same_in_warp(std::uint32_t value) {
  return __match_any_sync(0xffffffffu, value);
}

// A bit for each thread of the warp, which all ask together.
__device__ inline std::uint32_t ballot(bool vote) { return __ballot_sync(0xffffffffu, vote); }
__device__ inline int lane() { return threadIdx.x & 31; }
// What the lanes of the warp have written to shared memory is there for all of them.
__device__ inline void sync_warp() { __syncwarp(); }
// The value of the lane `step` places below; the whole warp asks together.
__device__ inline std::uint32_t shuffle_up(std::uint32_t value, int step) {
  return __shfl_up_sync(0xffffffffu, value, static_cast<unsigned>(step));
}
// The lower of two halves, moved down together by up to 32 bits.
__device__ inline std::uint32_t moved_down(std::uint32_t low, std::uint32_t high,
                                           std::uint32_t bits) {
  return __funnelshift_rc(low, high, bits);
}
// The value of the lane `from`; the whole warp asks together.
__device__ inline std::uint32_t shuffle(std::uint32_t value, int from) {
  return __shfl_sync(0xffffffffu, value, from);
}
// The word of the lane `from`; the whole warp asks together.
__device__ inline std::uint64_t shuffle(std::uint64_t word, int from) {
  return __shfl_sync(0xffffffffu, static_cast<unsigned long long>(word), from);
}
#else
template <class Whole>
const Whole& load_whole(const Whole* from) {
  return *from;
}

inline int leading_zeros(std::uint64_t word) {  // word != 0
#if defined(_MSC_VER) && !defined(__clang__)
  unsigned long index = 0;
  _BitScanReverse64(&index, word);
  return 63 - static_cast<int>(index);
#else
  return __builtin_clzll(word);
#endif
}

// Eight bytes as a word, the first byte lowest.
inline std::uint64_t load_word(const char* text) {
  std::uint64_t word = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  for (int i = 8; i-- > 0;) word = word << 8 | static_cast<unsigned char>(text[i]);
#else
  std::memcpy(&word, text, sizeof word);
#endif
  return word;
}

struct Wide {
  std::uint64_t high, low;
};

// The whole product of two words.
inline Wide multiply_wide(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ typedef unsigned __int128 Product;
  const Product product = static_cast<Product>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
#else
  const std::uint64_t a0 = a & 0xFFFFFFFF, a1 = a >> 32, b0 = b & 0xFFFFFFFF, b1 = b >> 32;
  const std::uint64_t low = a0 * b0, cross = a1 * b0 + (low >> 32);
  const std::uint64_t middle = a0 * b1 + (cross & 0xFFFFFFFF);
  return {a1 * b1 + (cross >> 32) + (middle >> 32), (middle << 32) | (low & 0xFFFFFFFF)};
#endif
}

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
// Asked of the processor itself, because __builtin_cpu_supports needs a runtime that not every
// linker brings along; the operating system must save the wide registers too.
#if GD_X86_64
struct CpuFacts {
  unsigned eax, ebx, ecx, edx;
};

inline CpuFacts cpuid(unsigned leaf) {
  CpuFacts facts{};
#if defined(_MSC_VER) && !defined(__clang__)
  __cpuidex(reinterpret_cast<int*>(&facts), static_cast<int>(leaf), 0);
#else
  __cpuid_count(leaf, 0, facts.eax, facts.ebx, facts.ecx, facts.edx);
#endif
  return facts;
}

inline unsigned saved_registers() {
#if defined(_MSC_VER) && !defined(__clang__)
  return static_cast<unsigned>(_xgetbv(0));
#else
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
#endif
}

inline int cpu_level() {
  const auto all = [](unsigned bits, unsigned wanted) { return (bits & wanted) == wanted; };
  if (cpuid(0).eax < 7 || cpuid(0x80000000u).eax < 0x80000001u) return 1;
  const unsigned basic = cpuid(1).ecx, wide = cpuid(7).ebx, extra = cpuid(0x80000001u).ecx;
  // FMA, MOVBE, XSAVE by the system, AVX, F16C; BMI1, AVX2, BMI2; LZCNT.
  if (!all(basic, 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29)) return 1;
  if (!all(wide, 1u << 3 | 1u << 5 | 1u << 8) || !all(extra, 1u << 5)) return 1;
  if (!all(saved_registers(), 0x06)) return 1;
  // AVX-512 F, DQ, CD, BW, VL.
  const unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
  return all(wide, avx512) && all(saved_registers(), 0xE6) ? 4 : 3;
}
#else
inline int cpu_level() { return 1; }
#endif
#endif

}  // namespace geodomain
