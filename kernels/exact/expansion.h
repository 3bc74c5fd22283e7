// Expansions: sums of non-overlapping doubles, in increasing magnitude, which
// represent a number exactly. The operations and their proofs are those of J. R.
// Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust
// Geometric Predicates", Discrete & Computational Geometry 18 (1997).
#pragma once

#include "platform/arithmetic.h"
#include "platform/portable.h"

namespace geodomain {

template <class Number>
struct PairOf {  // head + tail, exactly
  Number head, tail;
};
using Pair = PairOf<double>;

template <class Number>
GD_HD PairOf<Number> two_sum(const Number& a, const Number& b) {
  const Number sum = a + b;
  const Number b_part = sum - a;
  const Number a_part = sum - b_part;
  return {sum, (a - a_part) + (b - b_part)};
}

template <class Number>
GD_HD PairOf<Number> two_difference(const Number& a, const Number& b) {
  const Number difference = a - b;
  const Number b_part = a - difference;
  const Number a_part = difference + b_part;
  return {difference, (a - a_part) + (b_part - b)};
}

template <class Number>
GD_HD PairOf<Number> two_product(const Number& a, const Number& b) {
  const Number product = a * b;
  return {product, product_tail(a, b, product)};
}

// Components in increasing magnitude, without zeros, so that zero has none. The
// two operations work on bare arrays and are never inlined: each is a few hundred bytes
// of code, needed once, on a path that is hardly ever taken. (Inlined
// into each other over structures returned by value, nvcc 13.0 miscompiled them.)

// Fast-Expansion-Sum of e and f_sign * f: merge by magnitude, then carry upwards.
// `out` has room for both and overlaps neither; returns the number of components.
GD_NOINLINE int expansion_sum(const double* e, int e_count, const double* f, int f_count,
                              double f_sign, double* out) {
  double carry = 0.0;
  int count = 0;
  for (int i = 0, j = 0; i < e_count || j < f_count;) {
    double next;
    if (j == f_count || (i < e_count && std::fabs(e[i]) < std::fabs(f[j]))) {
      next = e[i++];
    } else {
      next = f_sign * f[j++];
    }
    const Pair partial = two_sum(carry, next);
    if (partial.tail != 0.0) out[count++] = partial.tail;
    carry = partial.head;
  }
  if (carry != 0.0) out[count++] = carry;
  return count;
}

// Scale-Expansion. `out` has room for twice as many components.
GD_NOINLINE int expansion_scale(const double* e, int e_count, double factor, double* out) {
  if (e_count == 0 || factor == 0.0) return 0;
  int count = 0;
  Pair carry = two_product(e[0], factor);
  if (carry.tail != 0.0) out[count++] = carry.tail;
  for (int i = 1; i < e_count; ++i) {
    const Pair product = two_product(e[i], factor);
    const Pair low = two_sum(carry.head, product.tail);
    if (low.tail != 0.0) out[count++] = low.tail;
    carry = two_sum(product.head, low.head);
    if (carry.tail != 0.0) out[count++] = carry.tail;
  }
  if (carry.head != 0.0) out[count++] = carry.head;
  return count;
}

// Nearly the sum: within 2^-52 of its magnitude. The largest component alone is not, because the
// next one may be as large as the last bit set in it; after Shewchuk's Compress, which works in
// place, it is.
GD_NOINLINE double expansion_value(double* e, int count) {
  if (count == 0) return 0.0;
  double carry = e[count - 1];
  int bottom = count - 1;
  for (int i = count - 2; i >= 0; --i) {
    const Pair partial = two_sum(carry, e[i]);
    carry = partial.head;
    if (partial.tail == 0.0) continue;
    e[bottom--] = partial.head;
    carry = partial.tail;
  }
  for (int i = bottom + 1; i < count; ++i) carry = two_sum(e[i], carry).head;
  return carry;
}

// An expansion whose type carries its capacity.
template <int Capacity>
struct Expansion {
  double part[Capacity];
  int count;

  // The sum: its sign is exact, its magnitude nearly.
  GD_HD double value() { return expansion_value(part, count); }
};

GD_HD void expand(Pair pair, Expansion<2>& out) {
  out.count = 0;
  if (pair.tail != 0.0) out.part[out.count++] = pair.tail;
  if (pair.head != 0.0) out.part[out.count++] = pair.head;
}

template <int M, int N>
GD_HD void add(const Expansion<M>& e, const Expansion<N>& f, Expansion<M + N>& out) {
  out.count = expansion_sum(e.part, e.count, f.part, f.count, 1.0, out.part);
}

template <int M, int N>
GD_HD void subtract(const Expansion<M>& e, const Expansion<N>& f, Expansion<M + N>& out) {
  out.count = expansion_sum(e.part, e.count, f.part, f.count, -1.0, out.part);
}

template <int M>
GD_HD void multiply(const Expansion<M>& e, const Expansion<2>& f, Expansion<4 * M>& out) {
  Expansion<2 * M> low, high;
  low.count = f.count > 0 ? expansion_scale(e.part, e.count, f.part[0], low.part) : 0;
  high.count = f.count > 1 ? expansion_scale(e.part, e.count, f.part[1], high.part) : 0;
  add(low, high, out);
}

}  // namespace geodomain
