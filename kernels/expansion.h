// Expansions: sums of doubles that do not overlap, in increasing magnitude, which
// hold a number exactly. The operations and their proofs are those of J. R.
// Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust
// Geometric Predicates", Discrete & Computational Geometry 18 (1997).
#pragma once

#include "portable.h"

namespace geodomain {

struct Pair {  // head + tail, exactly
  double head, tail;
};

GD_HD Pair two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double a_part = sum - b_part;
  return {sum, (a - a_part) + (b - b_part)};
}

GD_HD Pair two_difference(double a, double b) {
  const double difference = a - b;
  const double b_part = a - difference;
  const double a_part = difference + b_part;
  return {difference, (a - a_part) + (b_part - b)};
}

GD_HD Pair two_product(double a, double b) {
  const double product = a * b;
  return {product, product_tail(a, b, product)};
}

// An expansion of at most Capacity components; zeros are left out, so zero has
// none. Capacities are worst cases, so no operation can run over.
template <int Capacity>
struct Expansion {
  double part[Capacity];
  int count = 0;

  GD_HD void append(double value) {
    if (value != 0.0) part[count++] = value;
  }
  GD_HD int sign() const {
    if (count == 0) return 0;
    return part[count - 1] > 0.0 ? 1 : -1;
  }
};

GD_HD Expansion<2> expansion(Pair pair) {
  Expansion<2> result;
  result.append(pair.tail);
  result.append(pair.head);
  return result;
}

// Fast-Expansion-Sum: merge by magnitude, then carry upwards.
template <int M, int N>
GD_HD Expansion<M + N> sum(const Expansion<M>& e, const Expansion<N>& f, double f_sign = 1.0) {
  Expansion<M + N> result;
  double carry = 0.0;
  for (int i = 0, j = 0; i < e.count || j < f.count;) {
    const bool from_e =
        j == f.count || (i < e.count && std::fabs(e.part[i]) < std::fabs(f.part[j]));
    const Pair next = two_sum(carry, from_e ? e.part[i++] : f_sign * f.part[j++]);
    result.append(next.tail);
    carry = next.head;
  }
  result.append(carry);
  return result;
}

template <int M, int N>
GD_HD Expansion<M + N> difference(const Expansion<M>& e, const Expansion<N>& f) {
  return sum(e, f, -1.0);
}

// Scale-Expansion.
template <int M>
GD_HD Expansion<2 * M> scaled(const Expansion<M>& e, double factor) {
  Expansion<2 * M> result;
  if (e.count == 0 || factor == 0.0) return result;
  Pair carry = two_product(e.part[0], factor);
  result.append(carry.tail);
  for (int i = 1; i < e.count; ++i) {
    const Pair product = two_product(e.part[i], factor);
    const Pair low = two_sum(carry.head, product.tail);
    result.append(low.tail);
    carry = two_sum(product.head, low.head);
    result.append(carry.tail);
  }
  result.append(carry.head);
  return result;
}

template <int M>
GD_HD Expansion<4 * M> product(const Expansion<M>& e, const Expansion<2>& f) {
  Expansion<4 * M> result;
  if (f.count == 0) return result;
  const Expansion<2 * M> low = scaled(e, f.part[0]);
  const Expansion<2 * M> high = scaled(e, f.count == 2 ? f.part[1] : 0.0);
  return sum(low, high);
}

}  // namespace geodomain
