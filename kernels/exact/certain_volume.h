// A volume by numbers of two doubles, where those are certain to give the very double that the
// expansion gives, in a tenth of the time. They leave over volumes that lie between two doubles to
// within the bound below: ties, and by chance a share of 2^-46 P / |volume|, P the permanent.
//
// The bound, with u = 2^-53 and M for the permanent of a minor. Differences of coordinates are
// exact as pairs, whose tails are at most u times their heads. A product of two heads is exact as a
// pair. What goes with it, the two products of a head and a tail, is at most 2u of it, is rounded
// three times (4u^2) and leaves the tails' product out (u^2); with the product's tail it is at most
// 3u, rounded (3u^2). A minor takes the difference of two such sums (3u^2 M) and adds the tail of
// the heads' difference (4u^2 M): 5 + 3 + 3 + 4 = 15u^2 M. The sum of three minors times a height
// has the errors of the minors, 15u^2 P, of the products, 5 + 3, and of the sums: of small parts
// 3 + 3, of the two tails 2, of both 5. That makes 36u^2 P. The permanent in doubles is within
// 2^-49 of P.
//
// The expansion's value is nearly a rounded one. Compress leaves components of which each is at
// least 2^52 times the sum of the smaller ones. They are added up from the smallest, so that what
// the largest gets added at last is wrong by little more than u of itself, and by 4u^2 of the
// volume at most. So the value is the double next to some number within 4u^2 P of the volume. If
// all numbers that near to the pair have one double next to them, that is it: rounding is monotone.
// 36u^2 + 4u^2, and u^2 for rounding the ends of that range, are less than 2^-100 = 64u^2.
//
// Nothing underflows: coordinates are multiples of 2^-358, so that any product of three is one of
// 2^-1074. The bound is a normal number, since the permanent has to be beyond the floor.
#pragma once

#include "exact/expansion.h"
#include "platform/simd.h"

namespace geodomain {

constexpr double kCertainBound = 0x1p-100;

// The difference of two products of pairs, as a pair.
template <class Number>
GD_HD PairOf<Number> minor_pair(const PairOf<Number>& p, const PairOf<Number>& s,
                                const PairOf<Number>& q, const PairOf<Number>& r) {
  const PairOf<Number> left = two_product(p.head, s.head), right = two_product(q.head, r.head);
  const PairOf<Number> heads = two_difference(left.head, right.head);
  const Number of_left = left.tail + multiply_add(p.tail, s.head, p.head * s.tail);
  const Number of_right = right.tail + multiply_add(q.tail, r.head, q.head * r.tail);
  return two_sum(heads.head, heads.tail + (of_left - of_right));
}

// A volume within `bound` of head + tail.
template <class Number>
struct PairVolume {
  PairOf<Number> value;
  Number bound;

  // Where both are the head, so is the double next to any number that near.
  GD_HD Number least() const { return value.head + (value.tail - bound); }
  GD_HD Number most() const { return value.head + (value.tail + bound); }
};

// orient3d(a, b, c, q), whose permanent in doubles is given.
template <class Point, class Number>
GD_HD PairVolume<Number> pair_volume(const Point& a, const Point& b, const Point& c, const Point& q,
                                     const Number& permanent) {
  using Pairs = PairOf<Number>;
  const Pairs adx = two_difference(a.x, q.x), ady = two_difference(a.y, q.y);
  const Pairs bdx = two_difference(b.x, q.x), bdy = two_difference(b.y, q.y);
  const Pairs cdx = two_difference(c.x, q.x), cdy = two_difference(c.y, q.y);
  const Pairs adz = two_difference(a.z, q.z), bdz = two_difference(b.z, q.z);
  const Pairs cdz = two_difference(c.z, q.z);
  const Pairs bc = minor_pair(bdx, cdy, bdy, cdx), ca = minor_pair(cdx, ady, cdy, adx);
  const Pairs ab = minor_pair(adx, bdy, ady, bdx);
  const auto small_part = [](const Pairs& product, const Pairs& minor, const Pairs& height) {
    return product.tail + multiply_add(minor.tail, height.head, minor.head * height.tail);
  };
  const Pairs first = two_product(bc.head, adz.head), second = two_product(ca.head, bdz.head);
  const Pairs third = two_product(ab.head, cdz.head);
  const Pairs two = two_sum(first.head, second.head), all = two_sum(two.head, third.head);
  const Number small =
      (small_part(first, bc, adz) + small_part(second, ca, bdz)) + small_part(third, ab, cdz);
  return {two_sum(all.head, small + (two.tail + all.tail)), Number(kCertainBound) * permanent};
}

}  // namespace geodomain
