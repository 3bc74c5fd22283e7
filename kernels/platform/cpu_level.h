// Detects the processor's instruction set, for the choice of a core, and for the build.
#pragma once

#include "platform/portable.h"

namespace geodomain {

// The x86-64 level of this processor: 1 (baseline), 3 (AVX2, FMA) or 4 (AVX-512).
// It queries the processor directly, because __builtin_cpu_supports needs a runtime that not every
// linker includes; the operating system must save the wide registers, too.
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

}  // namespace geodomain
