// Tests eight triangles at once in single precision on a CPU. What floats cannot decide, which is
// rare, goes to doubles and then to the exact cascade, triangle by triangle.
#pragma once

#include "bvh/build.h"
#include "platform/arithmetic.h"

namespace geodomain {

constexpr int kFloatPacket = 8;  // triangles

// Error bounds below use the largest component of a vector, so all axes need the same scale: the
// frame's scale of the longest axis. Products with it and with shares are exact.
inline double even_place(const BoxFrame& frame, int axis, double value) {
  return frame.place(axis, value) * frame.share[axis];
}

// Corners relative to the packet's origin, in units of the longest axis, by coordinate.
struct alignas(64) FloatPacket {
  float at[9][kFloatPacket];  // ax, ay, az, bx, ..., cz
  float origin[3];
  float size;           // at least the magnitude of every coordinate
  std::uint32_t first;  // of its triangles, which are consecutive in the order of codes
  std::uint32_t there;  // a bit for each triangle
};
static_assert(sizeof(FloatPacket) == 320, "a packet is five lines of a cache");

inline FloatPacket float_packet(const MeshView& mesh, const BoxFrame& frame,
                                const std::int32_t* triangles, PacketRange range) {
  double place[9][kFloatPacket] = {};
  for (int i = 0; i < kFloatPacket; ++i) {
    const Triangle t = mesh.triangle(triangles[range.first + (i < range.count ? i : 0)]);
    const double corner[9] = {t.a.x, t.a.y, t.a.z, t.b.x, t.b.y, t.b.z, t.c.x, t.c.y, t.c.z};
    for (int k = 0; k < 9; ++k) place[k][i] = even_place(frame, k % 3, corner[k]);
  }
  FloatPacket packet = {};
  packet.first = static_cast<std::uint32_t>(range.first);
  packet.there = (1u << range.count) - 1u;
  for (int k = 0; k < 3; ++k) {
    double low = place[k][0], high = low;
    for (int i = 0; i < 3 * kFloatPacket; ++i) {
      low = minimum(low, place[k + i / kFloatPacket * 3][i % kFloatPacket]);
      high = maximum(high, place[k + i / kFloatPacket * 3][i % kFloatPacket]);
    }
    packet.origin[k] = static_cast<float>(0.5 * (low + high));
  }
  for (int k = 0; k < 9; ++k) {
    for (int i = 0; i < kFloatPacket; ++i) {
      packet.at[k][i] = static_cast<float>(place[k][i] - packet.origin[k % 3]);
      packet.size = maximum_of(packet.size, std::fabs(packet.at[k][i]));
    }
  }
  return packet;
}

// A triangle with corners and index, for the tests in doubles.
inline PacketRow row_of(const MeshView& mesh, std::int32_t index) {
  const Triangle t = mesh.triangle(index);
  return {{t.a.x, t.a.y, t.a.z, t.b.x, t.b.y, t.b.z, t.c.x, t.c.y, t.c.z}, index, 1};
}

// A segment as tested against packets, in units of the longest axis.
struct Sight {
  double start[4], whole[4];  // `whole` is the vector from start to end
  float along[4];             // `whole`, rounded
  float size;                 // the size of `along`
};

// 128u with u = 2^-24: bounds the errors of the volumes of edges and of a point of the segment.
constexpr float kFloatBound = 0x1p-17f;
// Sizes whose products of three neither underflow nor overflow. Beside the least, the rounding of a
// place is small: less than 2^-53 (r + 1), or u r / 31.
constexpr float kLeastSize = 0x1p-24f, kMostSize = 0x1p26f;
// A point of a segment is moved by less than 6 * 2^-53 (r + d + 1), with r and d as seen from the
// start: u / 42 times its own size r, if that is at least this share of the sum.
constexpr float kLeastPart = 0x1p-21f;

// The point of a segment from which a packet is tested; `share` is its parameter, 0 to 1.
struct Viewpoint {
  float at[3];  // relative to the packet's origin
  float far;    // size of `at`
  float share;
  bool counted;  // whether its rounding error is as small as the start's
};

inline Viewpoint from_start(const FloatPacket& packet, const Sight& sight) {
  Viewpoint view = {{}, 0.0f, 0.0f, true};
  for (int k = 0; k < 3; ++k) {
    view.at[k] = static_cast<float>(sight.start[k] - packet.origin[k]);
    view.far = maximum_of(view.far, std::fabs(view.at[k]));
  }
  return view;
}

// The point of the segment nearest to the packet, approximately. Seen from far away, a triangle's
// volumes would be small beside their errors.
inline Viewpoint from_nearest(const FloatPacket& packet, const Sight& sight) {
  const Viewpoint start = from_start(packet, sight);
  const float *const a = start.at, *const d = sight.along;
  const float back = a[0] * d[0] + a[1] * d[1] + a[2] * d[2];
  const float square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  Viewpoint view = {{}, 0.0f, minimum_of(maximum_of(-back / square, 0.0f), 1.0f), true};
  for (int k = 0; k < 3; ++k) {
    const double from = sight.start[k] - packet.origin[k];
    view.at[k] = static_cast<float>(from + view.share * sight.whole[k]);
    view.far = maximum_of(view.far, std::fabs(view.at[k]));
  }
  const float sum = packet.size + start.far + sight.size + 1.0f;
  view.counted = packet.size + view.far >= kLeastPart * sum;
  return view;
}

// A range that contains the t of a crossing, both the exact t and the t that `describe` writes.
struct FloatSpan {
  float low, high;
};

// The relative error of float results is below 8u, that of `describe` below 2^-46.
constexpr double kFloatSpanError = 0x1p-20;

// Converts a span of doubles; 2^-100 is more than the rounding of floats below 2^-126.
inline FloatSpan float_span(const Span& span) {
  return {static_cast<float>(span.low * (1.0 - kFloatSpanError)) - 0x1p-100f,
          static_cast<float>(span.high * (1.0 + kFloatSpanError)) + 0x1p-100f};
}

// Result of floats for a packet: which triangles are crossed, which are undecided, and the volumes
// of the segment's ends with their error bounds.
struct SiftedPacket {
  std::uint32_t crossed, unsure;
  float n0[kFloatPacket], n1[kFloatPacket];
  float of_n0, of_n1;

  // t = |n0| / (|n0| + |n1|) of a crossed triangle, whose volumes are at least as large as their
  // error bounds. Nothing underflows: of_n0 is at least 2^-89, and t at least 2^-72.
  FloatSpan span(int k) const {
    constexpr auto kError = static_cast<float>(kFloatSpanError);
    const float from = std::fabs(n0[k]), to = std::fabs(n1[k]);
    const float least = from - of_n0, most = from + of_n0;
    return {least / (least + (to + of_n1)) * (1.0f - kError),
            most / (most + (to - of_n1)) * (1.0f + kError)};
  }
};

// Like the other `sift`, in floats, from a viewpoint P. Volumes of edges are the same from any
// point of the segment's line, and the volumes of its ends are n0 = nP + share w and n1 = nP - (1 -
// share) w with w = w0 + w1 + w2.
//
// P or a corner is wrong by u of itself, from its conversion, a difference of the two by u of that
// besides: less than 2.2u r each with r the sum of both sizes, roundings of `place` included. The
// direction is wrong by u of its size d. So the volume of an edge is wrong by 6 (1 + 2 * 2.2)u d
// r^2 and by 43u d r^2 for its arithmetic, less than 76u in all, and that of P by less than 83u
// r^3. The sum w is wrong by 3 * 76u and its roundings, 30u, of d r^2; 1 - share, its product with
// w, of 18 at most, and the last sum add 3 * 18u, and 6u r^3. So n0 and n1 are wrong by less than
// 89u r^3 + 312u d r^2, where the second part of n0's goes by the share. The bounds are 128u, and
// 128u and 384u.
inline SiftedPacket sift(const FloatPacket& packet, const Sight& sight, const Viewpoint& view) {
  const float r = packet.size + view.far, d = sight.size;
  const bool counted =
      view.counted & (r >= kLeastSize) & (d >= kLeastSize) & (r <= kMostSize) & (d <= kMostSize);
  SiftedPacket sifted;
  sifted.crossed = 0;
  sifted.unsure = packet.there;
  if (!counted) return sifted;
  const auto seen = [&](int k) {
    return Vector<Floats8>{Floats8::load(packet.at[k]) - Floats8(view.at[0]),
                           Floats8::load(packet.at[k + 1]) - Floats8(view.at[1]),
                           Floats8::load(packet.at[k + 2]) - Floats8(view.at[2])};
  };
  const Vector<Floats8> A = seen(0), B = seen(3), C = seen(6);
  const Vector<Floats8> D = {sight.along[0], sight.along[1], sight.along[2]};
  const Vector<Floats8> bc = B.cross(C), ca = C.cross(A), ab = A.cross(B);
  const Floats8 w0 = D.dot(bc), w1 = D.dot(ca), w2 = D.dot(ab), nP = A.dot(bc), w = w0 + w1 + w2;
  const Floats8 n0 = view.share == 0.0f ? nP : nP + Floats8(view.share) * w;
  const Floats8 n1 = nP - Floats8(1.0f - view.share) * w;
  const float of_w = kFloatBound * (d * (r * r)), of_nP = kFloatBound * (r * (r * r));
  const float of_n0 = of_nP + 3.0f * view.share * of_w, of_n1 = of_nP + 3.0f * of_w;
  // All signs relative to the start's.
  const Floats8 v0 = signed_as(w0, n0), v1 = signed_as(w1, n0), v2 = signed_as(w2, n0);
  const Floats8 least = minimum(minimum(v0, v1), v2), most = maximum(maximum(v0, v1), v2);
  const Floats8 last = signed_as(n1, n0);
  const std::uint32_t sure = at_most(Floats8(of_n0), absolute(n0));
  const std::uint32_t crossed =
      sure & at_most(Floats8(of_w), least) & at_most(last, Floats8(-of_n1));
  const std::uint32_t missed = (sure & at_most(Floats8(of_n1), last)) |
                               (at_most(least, Floats8(-of_w)) & at_most(Floats8(of_w), most));
  sifted.crossed = crossed & packet.there;
  sifted.unsure = ~(crossed | missed) & packet.there;
  n0.store(sifted.n0);
  n1.store(sifted.n1);
  sifted.of_n0 = of_n0;
  sifted.of_n1 = of_n1;
  return sifted;
}

}  // namespace geodomain
