// The predicates alone, for tests and for the check of the arithmetic at start.
#include "bvh/host.h"
#include "exact/single.h"
#include "platform/c_function.h"
#include "platform/float_guard.h"

using namespace geodomain;

// out[i] = sign of orient2d of rows (ax, ay, bx, by, qx, qy).
GD_API void geodomain_orient2d(const double* rows, std::int64_t count, std::int8_t* out) {
  FloatGuard guard;
  for (std::int64_t i = 0; i < count; ++i) {
    const double* r = rows + 6 * i;
    out[i] = static_cast<std::int8_t>(orient2d(r[0], r[1], r[2], r[3], r[4], r[5]));
  }
}
GD_DESCRIBE(geodomain_orient2d);

// out[i] = sign of orient3d of rows (a, b, c, q).
GD_API void geodomain_orient3d(const double* rows, std::int64_t count, std::int8_t* out) {
  FloatGuard guard;
  for (std::int64_t i = 0; i < count; ++i) {
    const double* r = rows + 12 * i;
    out[i] = static_cast<std::int8_t>(
        orient3d({r[0], r[1], r[2]}, {r[3], r[4], r[5]}, {r[6], r[7], r[8]}, {r[9], r[10], r[11]}));
  }
}
GD_DESCRIBE(geodomain_orient3d);

// out[i] = crossing of rows (a, b, c, q) in floats: -1, 0, 1, or 2 if floats are uncertain.
GD_API void geodomain_crossing_single(const double* rows, std::int64_t count, std::int8_t* out) {
  FloatGuard guard;
  for (std::int64_t i = 0; i < count; ++i) {
    const double* r = rows + 12 * i;
    double reach = 0.0;
    for (int k = 0; k < 12; ++k) reach = std::fabs(r[k]) > reach ? std::fabs(r[k]) : reach;
    out[i] = static_cast<std::int8_t>(crossing_above_single(
        halve({r[0], r[1], r[2]}), halve({r[3], r[4], r[5]}), halve({r[6], r[7], r[8]}),
        halve({r[9], r[10], r[11]}), static_cast<float>(reach * 1.000001)));
  }
}
GD_DESCRIBE(geodomain_crossing_single);

// out[i] = the same in doubles, exactly.
GD_API void geodomain_crossing(const double* rows, std::int64_t count, std::int8_t* out) {
  FloatGuard guard;
  for (std::int64_t i = 0; i < count; ++i) {
    const double* r = rows + 12 * i;
    const Triangle t = {{r[0], r[1], r[2]}, {r[3], r[4], r[5]}, {r[6], r[7], r[8]}};
    out[i] = static_cast<std::int8_t>(crossing_above<Full>(t, {r[9], r[10], r[11]}));
  }
}
GD_DESCRIBE(geodomain_crossing);

// out[5 * i] and following: orient3d of rows (a, b, c, q), as used for hits; the value of the
// expansion; head and tail of the pair of doubles; and its bound, infinite if the permanent is
// below the floor.
GD_API void geodomain_volumes(const double* rows, std::int64_t count, double* out) {
  FloatGuard guard;
  for (std::int64_t i = 0; i < count; ++i) {
    const double* r = rows + 12 * i;
    const Vec3 a = {r[0], r[1], r[2]}, b = {r[3], r[4], r[5]}, c = {r[6], r[7], r[8]};
    const Vec3 q = {r[9], r[10], r[11]};
    const double permanent = orient3d_estimate(a, b, c, q).permanent;
    const PairVolume<double> pair = pair_volume(a, b, c, q, permanent);
    double* row = out + 5 * i;
    Full::volume(a, b, c, q, row[0]);
    row[1] = orient3d_expansions(a, b, c, q);
    row[2] = pair.value.head;
    row[3] = pair.value.tail;
    row[4] = permanent > kOrient3dFloor ? pair.bound : HUGE_VAL;
  }
}
GD_DESCRIBE(geodomain_volumes);

// out[2 * i] and following: the result of floats for eight triangles, 72 doubles for each packet,
// and a segment seen from the point nearest to them, or from its start: bits for crossed triangles,
// and bits for undecided ones. `spans` gets eight spans of t, 0 for triangles that are not crossed.
// All coordinates must be within the bounds, or far outside.
GD_API void geodomain_sift_packets(const double* corners, const double* ends, std::int64_t count,
                                   const double* bounds, int nearest, std::uint32_t* out,
                                   float* spans) {
  FloatGuard guard;
  const BoxFrame frame =
      make_frame({{bounds[0], bounds[1], bounds[2]}, {bounds[3], bounds[4], bounds[5]}});
  std::int32_t triangles[3 * kFloatPacket];
  for (int k = 0; k < 3 * kFloatPacket; ++k) triangles[k] = k;
  for (std::int64_t i = 0; i < count; ++i) {
    const MeshView mesh = {corners + 9 * kFloatPacket * i, triangles, kFloatPacket};
    const FloatPacket packet = float_packet(mesh, frame, triangles, {0, kFloatPacket});
    Ray ray;
    if (!ray.begin(EvenFrame(frame), ends + 6 * i)) {
      out[2 * i] = out[2 * i + 1] = 0;  // it misses the bounds
      continue;
    }
    const Viewpoint view =
        nearest ? from_nearest(packet, ray.sight) : from_start(packet, ray.sight);
    const SiftedPacket sifted = sift(packet, ray.sight, view);
    out[2 * i] = sifted.crossed;
    out[2 * i + 1] = sifted.unsure;
    for (int k = 0; k < kFloatPacket; ++k) {
      const FloatSpan span = sifted.crossed >> k & 1 ? sifted.span(k) : FloatSpan{};
      spans[2 * (kFloatPacket * i + k)] = span.low;
      spans[2 * (kFloatPacket * i + k) + 1] = span.high;
    }
  }
}
GD_DESCRIBE(geodomain_sift_packets);

// 0 if this build and this thread round as the proofs need it; otherwise bits for the faults: 1
// contraction, 2 reassociation, 4 rounding mode, 8 subnormals.
GD_API int geodomain_canary(int guarded) {
  const auto check = [] {
    volatile double a = 1.0 + 0x1p-30, b = 1.0 - 0x1p-30, one = 1.0, tiny = 0x1p-1074;
    volatile double third = 1.0 / 3.0, half_unit = 0x1p-53;
    int wrong = 0;
    const double contracted = a * b - one;  // -2^-60 if fused, 0 if each step rounds
    if (contracted != 0.0) wrong |= 1;
    if (two_sum(one, half_unit).tail != half_unit) wrong |= 2;
    volatile double up = one + third * 0x1p-53, down = -one - third * 0x1p-53;
    if (up != 1.0 || down != -1.0) wrong |= 4;
    volatile double product = tiny * one;
    if (product == 0.0 || !(product + product > product)) wrong |= 8;
    return wrong;
  };
  if (!guarded) return check();
  FloatGuard guard;
  return check();
}
GD_DESCRIBE(geodomain_canary);
