// Eight or four floats, or four doubles, at a time: in wide registers if the instruction set has
// them, otherwise in plain arrays. Besides platform/portable.h, only this file and
// text/byte_block.h test the compiler's capabilities. Each lane gets the same bits that a scalar
// computation would give.
#pragma once

#include "platform/arithmetic.h"
#include "platform/portable.h"

#if GD_AVX2
#include <immintrin.h>
#endif

namespace geodomain {

GD_HD double absolute(double value) { return std::fabs(value); }
GD_HD double root(double value) { return std::sqrt(value); }
GD_HD double multiply_subtract(double a, double b, double c) { return multiply_add(a, b, -c); }
// A bit for each lane in which the first is below the second.
GD_HD std::uint32_t bits_below(double a, double b) { return a < b ? 1u : 0u; }
// For one lane; a GPU has no instruction for doubles.
GD_HD double maximum_of(double a, double b) { return maximum(a, b); }
GD_HD double minimum_of(double a, double b) { return minimum(a, b); }

#if GD_AVX2

struct Floats4 {
  __m128 lanes;
  Floats4(float value) : lanes(_mm_set1_ps(value)) {}
  Floats4(__m128 all) : lanes(all) {}
  static Floats4 load(const float* from) { return _mm_loadu_ps(from); }
  void store(float* to) const { _mm_storeu_ps(to, lanes); }
  friend Floats4 operator+(Floats4 a, Floats4 b) { return _mm_add_ps(a.lanes, b.lanes); }
  friend Floats4 operator-(Floats4 a, Floats4 b) { return _mm_sub_ps(a.lanes, b.lanes); }
  friend Floats4 operator*(Floats4 a, Floats4 b) { return _mm_mul_ps(a.lanes, b.lanes); }
  friend Floats4 operator/(Floats4 a, Floats4 b) { return _mm_div_ps(a.lanes, b.lanes); }
  friend Floats4 absolute(Floats4 a) { return _mm_andnot_ps(_mm_set1_ps(-0.0f), a.lanes); }
  friend std::uint32_t signs(Floats4 a) {  // a bit for each lane
    return static_cast<std::uint32_t>(_mm_movemask_ps(a.lanes));
  }
  friend float largest(Floats4 a) {
    const __m128 two = _mm_max_ps(a.lanes, _mm_movehl_ps(a.lanes, a.lanes));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
};

struct Doubles4 {
  __m256d lanes;
  Doubles4() = default;
  Doubles4(double value) : lanes(_mm256_set1_pd(value)) {}
  Doubles4(__m256d all) : lanes(all) {}
  static Doubles4 load(const double* from) { return _mm256_loadu_pd(from); }
  void store(double* to) const { _mm256_storeu_pd(to, lanes); }
  Floats4 rounded() const { return _mm256_cvtpd_ps(lanes); }
  friend Doubles4 operator+(Doubles4 a, Doubles4 b) { return _mm256_add_pd(a.lanes, b.lanes); }
  friend Doubles4 operator/(Doubles4 a, Doubles4 b) { return _mm256_div_pd(a.lanes, b.lanes); }
  friend Doubles4 root(Doubles4 a) { return _mm256_sqrt_pd(a.lanes); }
  friend Doubles4 minimum(Doubles4 a, Doubles4 b) { return _mm256_min_pd(a.lanes, b.lanes); }
  friend Doubles4 multiply_add(Doubles4 a, Doubles4 b, Doubles4 c) {
    return _mm256_fmadd_pd(a.lanes, b.lanes, c.lanes);
  }
  friend Doubles4 multiply_subtract(Doubles4 a, Doubles4 b, Doubles4 c) {
    return _mm256_fmsub_pd(a.lanes, b.lanes, c.lanes);
  }
  friend std::uint32_t bits_below(Doubles4 a, Doubles4 b) {  // a bit for each lane
    return static_cast<std::uint32_t>(
        _mm256_movemask_pd(_mm256_cmp_pd(a.lanes, b.lanes, _CMP_LT_OQ)));
  }
  friend Doubles4 operator-(Doubles4 a, Doubles4 b) { return _mm256_sub_pd(a.lanes, b.lanes); }
  friend Doubles4 operator*(Doubles4 a, Doubles4 b) { return _mm256_mul_pd(a.lanes, b.lanes); }
  friend Doubles4 maximum(Doubles4 a, Doubles4 b) { return _mm256_max_pd(a.lanes, b.lanes); }
  friend Doubles4 absolute(Doubles4 a) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a.lanes); }
  // The first, negated where the second is negative.
  friend Doubles4 signed_as(Doubles4 a, Doubles4 sign) {
    const __m256d bit = _mm256_and_pd(sign.lanes, _mm256_set1_pd(-0.0));
    return _mm256_xor_pd(a.lanes, bit);
  }
  friend std::uint32_t at_most(Doubles4 a, Doubles4 b) {  // a bit for each lane
    return static_cast<std::uint32_t>(
        _mm256_movemask_pd(_mm256_cmp_pd(a.lanes, b.lanes, _CMP_LE_OQ)));
  }
  friend bool all_at_most(Doubles4 a, Doubles4 b) {  // for numbers that are not NaN
    return at_most(a, b) == 0xf;
  }
  friend Doubles4 product_tail(Doubles4 a, Doubles4 b, Doubles4 product) {
    return _mm256_fmsub_pd(a.lanes, b.lanes, product.lanes);
  }
};

struct Floats8 {
  __m256 lanes;
  Floats8() = default;
  Floats8(float value) : lanes(_mm256_set1_ps(value)) {}
  Floats8(__m256 all) : lanes(all) {}
  static Floats8 load(const float* from) { return _mm256_loadu_ps(from); }
  void store(float* to) const { _mm256_storeu_ps(to, lanes); }
  friend Floats8 multiply_add(Floats8 a, Floats8 b, Floats8 c) {
    return _mm256_fmadd_ps(a.lanes, b.lanes, c.lanes);
  }
  friend Floats8 multiply_subtract(Floats8 a, Floats8 b, Floats8 c) {
    return _mm256_fmsub_ps(a.lanes, b.lanes, c.lanes);
  }
  friend Floats8 operator+(Floats8 a, Floats8 b) { return _mm256_add_ps(a.lanes, b.lanes); }
  friend Floats8 operator-(Floats8 a, Floats8 b) { return _mm256_sub_ps(a.lanes, b.lanes); }
  friend Floats8 operator*(Floats8 a, Floats8 b) { return _mm256_mul_ps(a.lanes, b.lanes); }
  friend Floats8 quick_root(Floats8 a) { return _mm256_sqrt_ps(a.lanes); }
  friend Floats8 absolute(Floats8 a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.lanes); }
  // The first, negated where the second is negative.
  friend Floats8 signed_as(Floats8 a, Floats8 sign) {
    const __m256 bit = _mm256_and_ps(sign.lanes, _mm256_set1_ps(-0.0f));
    return _mm256_xor_ps(a.lanes, bit);
  }
  friend Floats8 maximum(Floats8 a, Floats8 b) { return _mm256_max_ps(a.lanes, b.lanes); }
  friend Floats8 minimum(Floats8 a, Floats8 b) { return _mm256_min_ps(a.lanes, b.lanes); }
  friend std::uint32_t at_most(Floats8 a, Floats8 b) {  // a bit for each lane
    return static_cast<std::uint32_t>(
        _mm256_movemask_ps(_mm256_cmp_ps(a.lanes, b.lanes, _CMP_LE_OQ)));
  }
  friend Floats8 where_below(Floats8 a, Floats8 b, Floats8 then, Floats8 otherwise) {
    return _mm256_blendv_ps(otherwise.lanes, then.lanes,
                            _mm256_cmp_ps(a.lanes, b.lanes, _CMP_LT_OQ));
  }
  friend float smallest(Floats8 a) {
    const __m128 four =
        _mm_min_ps(_mm256_castps256_ps128(a.lanes), _mm256_extractf128_ps(a.lanes, 1));
    const __m128 two = _mm_min_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_min_ss(two, _mm_movehdup_ps(two)));
  }
};

struct Integers8 {
  __m256i lanes;
  Integers8(std::int32_t value) : lanes(_mm256_set1_epi32(value)) {}
  Integers8(__m256i all) : lanes(all) {}
  static Integers8 load(const std::int32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  friend std::uint32_t equal(Integers8 a, Integers8 b) {  // a bit for each lane
    return static_cast<std::uint32_t>(
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a.lanes, b.lanes))));
  }
};

// At [turn][set]: the indices of a set's bits in the order of bit ^ turn, a byte each.
struct BitOrders {
  std::uint64_t at[8][256] = {};
  constexpr BitOrders() {
    for (std::uint32_t turn = 0; turn < 8; ++turn) {
      for (std::uint32_t set = 0; set < 256; ++set) {
        int count = 0;
        for (std::uint32_t i = 0; i < 8; ++i) {
          if (set >> (i ^ turn) & 1) at[turn][set] |= std::uint64_t{i ^ turn} << 8 * count++;
        }
      }
    }
  }
};
inline constexpr BitOrders kBitOrders;

// Writes the words of a set, of eight, in the order of index ^ turn; arbitrary words follow.
inline void pick(std::uint32_t set, std::uint32_t turn, const std::uint32_t* words,
                 std::uint32_t* to) {
  const auto order = static_cast<long long>(kBitOrders.at[turn][set]);
  const __m256i places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(order));
  const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(all, places));
}

#else

// Writes the words of a set, of eight, in the order of index ^ turn; arbitrary words follow.
GD_HD void pick(std::uint32_t set, std::uint32_t turn, const std::uint32_t* words,
                std::uint32_t* to) {
  for (std::uint32_t i = 0, count = 0; i < 8; ++i) {
    to[count] = words[i ^ turn];
    count += set >> (i ^ turn) & 1;
  }
}

// N numbers side by side; `each` is unrolled by any compiler.
template <class Number, int N>
struct Lanes {
  Number lanes[N];

  Lanes() = default;
  GD_HD Lanes(Number value) {
    for (int i = 0; i < N; ++i) lanes[i] = value;
  }
  GD_HD static Lanes load(const Number* from) {
    return each([&](int i) { return from[i]; });
  }
  GD_HD void store(Number* to) const {
    for (int i = 0; i < N; ++i) to[i] = lanes[i];
  }
  GD_HD Lanes<float, N> rounded() const {
    return Lanes<float, N>::each([&](int i) { return static_cast<float>(lanes[i]); });
  }
  template <class Value>
  GD_HD static Lanes each(Value&& value) {
    Lanes all;
    for (int i = 0; i < N; ++i) all.lanes[i] = value(i);
    return all;
  }
  template <class Test>
  GD_HD static std::uint32_t where(Test&& test) {
    std::uint32_t bits = 0;
    for (int i = 0; i < N; ++i) bits |= (test(i) ? 1u : 0u) << i;
    return bits;
  }

  GD_HD friend Lanes operator+(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return a.lanes[i] + b.lanes[i]; });
  }
  GD_HD friend Lanes operator-(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return a.lanes[i] - b.lanes[i]; });
  }
  GD_HD friend Lanes operator*(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return a.lanes[i] * b.lanes[i]; });
  }
  GD_HD friend Lanes operator/(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return a.lanes[i] / b.lanes[i]; });
  }
  GD_HD friend Lanes multiply_add(const Lanes& a, const Lanes& b, const Lanes& c) {
    return each([&](int i) { return geodomain::multiply_add(a.lanes[i], b.lanes[i], c.lanes[i]); });
  }
  GD_HD friend Lanes multiply_subtract(const Lanes& a, const Lanes& b, const Lanes& c) {
    return each(
        [&](int i) { return geodomain::multiply_add(a.lanes[i], b.lanes[i], -c.lanes[i]); });
  }
  GD_HD friend Lanes product_tail(const Lanes& a, const Lanes& b, const Lanes& product) {
    return each(
        [&](int i) { return geodomain::product_tail(a.lanes[i], b.lanes[i], product.lanes[i]); });
  }
  GD_HD friend Lanes maximum(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return maximum_of(a.lanes[i], b.lanes[i]); });
  }
  GD_HD friend Lanes minimum(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return minimum_of(a.lanes[i], b.lanes[i]); });
  }
  GD_HD friend Lanes absolute(const Lanes& a) {
    return each([&](int i) { return std::fabs(a.lanes[i]); });
  }
  GD_HD friend Lanes signed_as(const Lanes& a, const Lanes& sign) {
    return each([&](int i) { return std::signbit(sign.lanes[i]) ? -a.lanes[i] : a.lanes[i]; });
  }
  GD_HD friend std::uint32_t signs(const Lanes& a) {
    return where([&](int i) { return std::signbit(a.lanes[i]); });
  }
  GD_HD friend Number largest(const Lanes& a) {
    Number most = a.lanes[0];
    for (int i = 1; i < N; ++i) most = maximum_of(most, a.lanes[i]);
    return most;
  }
  GD_HD friend bool all_at_most(const Lanes& a, const Lanes& b) {
    return at_most(a, b) == (1u << N) - 1u;
  }
  GD_HD friend std::uint32_t at_most(const Lanes& a, const Lanes& b) {
    return where([&](int i) { return a.lanes[i] <= b.lanes[i]; });
  }
  GD_HD friend std::uint32_t equal(const Lanes& a, const Lanes& b) {
    return where([&](int i) { return a.lanes[i] == b.lanes[i]; });
  }
  GD_HD friend Lanes where_below(const Lanes& a, const Lanes& b, const Lanes& then,
                                 const Lanes& otherwise) {
    return each(
        [&](int i) { return a.lanes[i] < b.lanes[i] ? then.lanes[i] : otherwise.lanes[i]; });
  }
  GD_HD friend Number smallest(const Lanes& a) {
    Number least = a.lanes[0];
    for (int i = 1; i < N; ++i) least = minimum_of(least, a.lanes[i]);
    return least;
  }
  GD_HD friend std::uint32_t bits_below(const Lanes& a, const Lanes& b) {
    return where([&](int i) { return a.lanes[i] < b.lanes[i]; });
  }
  GD_HD friend Lanes root(const Lanes& a) {
    return each([&](int i) { return std::sqrt(a.lanes[i]); });
  }
  GD_HD friend Lanes quick_root(const Lanes& a) { return root(a); }
};

using Floats4 = Lanes<float, 4>;
using Floats8 = Lanes<float, 8>;
using Doubles4 = Lanes<double, 4>;
using Integers8 = Lanes<std::int32_t, 8>;

#endif

// The same names for one number of a GPU and for several of a CPU.
template <class Number>
GD_HD Number smaller(const Number& a, const Number& b) {
  return minimum(a, b);
}
template <class Number>
GD_HD Number larger(const Number& a, const Number& b) {
  return maximum(a, b);
}
template <class Number>
GD_HD Number size_of(const Number& a) {
  return absolute(a);
}
GD_HD float smaller(float a, float b) { return minimum_of(a, b); }
GD_HD float larger(float a, float b) { return maximum_of(a, b); }
GD_HD float size_of(float a) { return std::fabs(a); }
// `one` where the first is below the second, elsewhere `other`.
GD_HD float where_below(float a, float b, float then, float otherwise) {
  return a < b ? then : otherwise;
}

// At least the largest of three non-negative numbers.
template <class Number>
GD_HD Number bound_of(const Number& a, const Number& b, const Number& c) {
  return maximum(maximum(a, b), c);
}

// A mask as bits.
GD_HD std::uint32_t bits_of(bool mask) { return mask ? 1u : 0u; }
GD_HD std::uint32_t bits_of(int mask) { return mask ? 1u : 0u; }  // of bools

}  // namespace geodomain
