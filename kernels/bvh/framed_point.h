// A point as the boxes of a hierarchy see it.
#pragma once

#include "bvh/box_frame.h"

namespace geodomain {

// A point in the frame, single precision. Boxes and it are moved by less than 2^-21 of 1 and of
// itself: `kBoxError` is several times that for all axes together. Beyond 2^40 it is put there,
// which is nearer to every box.
constexpr float kBoxError = 0x1p-18f, kFarthestPlace = 0x1p40f;
// More than the square of any distance to a box.
constexpr float kMostSquare = 0x1p120f;

struct FramedPoint {
  float at[3];
  float most;   // the largest place, at least 1
  float error;  // of a distance to a box, in places of the longest axis

  GD_HD FramedPoint(const BoxFrame& frame, Vec3 p) {
    const double value[3] = {p.x, p.y, p.z};
    most = 1.0f;
    for (int k = 0; k < 3; ++k) {
      const double place = frame.place(k, value[k]);
      const double kept = minimum(maximum(place, -kFarthestPlace), kFarthestPlace);
      at[k] = static_cast<float>(kept);
      most = maximum_of(most, std::fabs(at[k]));
    }
    error = kBoxError * most;
  }
  // In places of the longest axis.
  GD_HD Vector<float> even(const BoxFrame& frame) const {
    return {at[0] * frame.share[0], at[1] * frame.share[1], at[2] * frame.share[2]};
  }
  // By how much conversions move the point and a corner at most, together, in places of the longest
  // axis: sqrt(3) u for each of them, of itself, with u = 2^-24; the rest is for corners that a
  // flat triangle puts on its base. A point that was put nearer is moved by any distance.
  GD_HD float moved() const { return most < kFarthestPlace ? 0x1p-22f * most : HUGE_VALF; }
  // Beyond this the squares of the distances to boxes need not be looked at, where a distance is
  // at most so many places.
  GD_HD float limit(float distance) const {
    const float reach = multiply_add(distance, 1.0f + 0x1p-18f, error);
    return reach < 0x1p58f ? reach * reach * (1.0f + 0x1p-18f) : kMostSquare;
  }
};

// Of the longest axis: that of which the share is 1, or nearly.
GD_HD double longest_scale(const BoxFrame& frame) { return frame.scale[0] * frame.share[0]; }

// By which points that are near to each other are asked about together; any number for a NaN.
GD_HD std::uint64_t code_of_point(const BoxFrame& frame, Vec3 p) {
  const FramedPoint place(frame, p);
  Box box;
  for (int k = 0; k < 3; ++k) box.low[k] = box.high[k] = place.at[k];
  return code_of(frame, box);
}

}  // namespace geodomain
