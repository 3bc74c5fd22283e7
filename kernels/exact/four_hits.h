// Four hits described side by side, for a CPU: the same bits as one by one.
#pragma once

#include "exact/segment.h"
#include "platform/simd.h"

namespace geodomain {

class FourHits {
 public:
  static constexpr int kCount = 4;

  // A segment and a triangle that it crosses, into a lane.
  void put(int lane, const Segment& s, const Triangle& t) {
    const Vec3 points[5] = {s.start, s.end, t.a, t.b, t.c};
    for (int k = 0; k < 5; ++k) {
      at_[k][0][lane] = points[k].x;
      at_[k][1][lane] = points[k].y;
      at_[k][2][lane] = points[k].z;
    }
    segment_[lane] = s;
  }

  void describe(Hit* hits) const {
    const Vector<Doubles4> s = point(0), e = point(1), a = point(2), b = point(3), c = point(4);
    double values[kHitVolumes][kCount];
    const std::uint32_t sure = volume(a, b, c, s, values[0]) & volume(a, b, c, e, values[1]) &
                               volume(s, e, b, c, values[2]) & volume(s, e, c, a, values[3]) &
                               volume(s, e, a, b, values[4]);
    for (int lane = 0; lane < kCount; ++lane) {
      double volumes[kHitVolumes];
      for (int i = 0; i < kHitVolumes; ++i) volumes[i] = values[i][lane];
      hits[lane] = sure >> lane & 1 ? hit_of(segment_[lane], volumes)
                                    : geodomain::describe(segment_[lane], triangle(lane));
    }
  }

 private:
  Vector<Doubles4> point(int k) const {
    return {Doubles4::load(at_[k][0]), Doubles4::load(at_[k][1]), Doubles4::load(at_[k][2])};
  }
  Triangle triangle(int lane) const {
    const auto corner = [&](int k) {
      return Vec3{at_[k][0][lane], at_[k][1][lane], at_[k][2][lane]};
    };
    return {corner(2), corner(3), corner(4)};
  }

  // As Full::volume, in the lanes whose bits are set.
  static std::uint32_t volume(const Vector<Doubles4>& a, const Vector<Doubles4>& b,
                              const Vector<Doubles4>& c, const Vector<Doubles4>& q, double* out) {
    const EstimateOf<Doubles4> estimate = orient3d_estimate(a, b, c, q);
    const std::uint32_t counted = bits_below(Doubles4(kOrient3dFloor), estimate.permanent);
    const std::uint32_t plain = counted & at_most(Doubles4(kOrient3dBound) * estimate.permanent,
                                                  Doubles4(kVolumeError) * absolute(estimate.det));
    estimate.det.store(out);
    if (plain == (1u << kCount) - 1u) return plain;
    const PairVolume<Doubles4> pair = pair_volume(a, b, c, q, estimate.permanent);
    const Doubles4 head = pair.value.head;
    const std::uint32_t certain =
        counted & at_most(head, pair.least()) & at_most(pair.most(), head);
    double heads[kCount];
    head.store(heads);
    for (int lane = 0; lane < kCount; ++lane) {
      if (!(plain >> lane & 1)) out[lane] = heads[lane];
    }
    return plain | certain;
  }

  double at_[5][3][kCount];
  Segment segment_[kCount];
};

}  // namespace geodomain
