// Eight triangles of a CPU's packet, each in its own plane, in single precision, as a point asks
// them all at once.
#pragma once

#include "bvh/flat_triangle.h"
#include "bvh/float_packets.h"
#include "platform/simd.h"

namespace geodomain {

struct alignas(64) FlatPacket {
  float at[kFlatNumbers][kFloatPacket];  // numbers of flat triangles
  std::int32_t triangle[kFloatPacket];
  std::uint32_t there;  // a bit for each

  FlatTriangle<Floats8> triangles() const {
    const auto number = [&](int k) { return Floats8::load(at[k]); };
    const auto vector = [&](int k) {
      return Vector<Floats8>{number(k), number(k + 1), number(k + 2)};
    };
    return {vector(0),
            vector(3),
            vector(6),
            vector(9),
            number(12),
            {number(13), number(14), number(15)},
            {number(16), number(17), number(18)}};
  }
};

inline FlatPacket flat_packet(const BoxFrame& frame, const PacketRow* rows, int count) {
  FlatPacket packet = {};
  packet.there = (1u << count) - 1u;
  for (int i = 0; i < kFloatPacket; ++i) {
    const PacketRow& row = rows[i < count ? i : 0];
    const double* c = row.at;
    const FlatTriangle<float> flat =
        flat_triangle(frame, {{c[0], c[1], c[2]}, {c[3], c[4], c[5]}, {c[6], c[7], c[8]}});
    float numbers[kFlatNumbers];
    std::memcpy(numbers, &flat, sizeof numbers);
    for (int k = 0; k < kFlatNumbers; ++k) packet.at[k][i] = numbers[k];
    packet.triangle[i] = row.triangle;
  }
  return packet;
}

}  // namespace geodomain
