// Corners of triangles side by side in doubles, in a cylinder that tells how near they can be.
#pragma once

#include "bvh/host.h"
#include "exact/nearest.h"
#include "platform/arithmetic.h"

namespace geodomain {

// The corners of up to eight triangles by coordinate, and a flat cylinder about their mean plane
// that holds them: of a surface that is tilted, boxes are so thick that many look near.
struct alignas(64) CornerPacket {
  double normal[3];  // of length 1, or 0: then the cylinder is a ball
  double centre[3];
  double thickness, radius;    // half of the cylinder's height; both rounded up
  double at[9][kFloatPacket];  // ax, ay, az, bx, ..., cz
  std::int32_t triangle[kFloatPacket];
  std::int32_t count;

  // At least every coordinate difference between the point and a corner.
  double reach(Vec3 p) const {
    const double most = bound_of(std::fabs(p.x - centre[0]), std::fabs(p.y - centre[1]),
                                 std::fabs(p.z - centre[2]));
    return most + thickness + radius;
  }
  // No more than the distance of any of them; `r` is the reach. Roundings of the heights and of
  // the squares are less than 2^-50 of r and of its square.
  double least_distance(Vec3 p, double r) const {
    const Vector<double> off = {p.x - centre[0], p.y - centre[1], p.z - centre[2]};
    const double height = off.dot({normal[0], normal[1], normal[2]});
    const double aside = off.dot(off) - height * height - 0x1p-46 * (r * r);
    const double beside = aside > 0.0 ? maximum(std::sqrt(aside) - radius, 0.0) : 0.0;
    const double above = maximum(std::fabs(height) - thickness, 0.0);
    return std::sqrt(beside * beside + above * above) - (0x1p-46 * r + kLeastError);
  }
};

inline Vector<double> corner_of(const CornerPacket& packet, int corner, int triangle) {
  const double (*at)[kFloatPacket] = packet.at + 3 * corner;
  return {at[0][triangle] - packet.centre[0], at[1][triangle] - packet.centre[1],
          at[2][triangle] - packet.centre[2]};
}

// The direction of the sum of the normals; 0 where they cancel or cannot be multiplied.
inline Vector<double> mean_normal(const CornerPacket& packet) {
  Vector<double> sum = {0.0, 0.0, 0.0};
  for (int i = 0; i < packet.count; ++i) {
    const Vector<double> a = corner_of(packet, 0, i), b = corner_of(packet, 1, i),
                         c = corner_of(packet, 2, i);
    const Vector<double> normal =
        Vector<double>{b.x - a.x, b.y - a.y, b.z - a.z}.cross({c.x - a.x, c.y - a.y, c.z - a.z});
    sum = {sum.x + normal.x, sum.y + normal.y, sum.z + normal.z};
  }
  const double length = std::sqrt(sum.dot(sum));
  if (!(length > 0x1p-200 && length < 0x1p200)) return {0.0, 0.0, 0.0};
  return {sum.x / length, sum.y / length, sum.z / length};
}

inline CornerPacket corner_packet(const PacketRow* rows, int count) {
  CornerPacket packet = {};
  packet.count = count;
  double low[3], high[3];
  for (int k = 0; k < 9; ++k) {
    for (int i = 0; i < kFloatPacket; ++i) {
      const double value = packet.at[k][i] = rows[i < count ? i : 0].at[k];
      const bool begins = k < 3 && i == 0;
      low[k % 3] = begins ? value : minimum(low[k % 3], value);
      high[k % 3] = begins ? value : maximum(high[k % 3], value);
    }
  }
  for (int i = 0; i < kFloatPacket; ++i) packet.triangle[i] = rows[i < count ? i : 0].triangle;
  for (int k = 0; k < 3; ++k) packet.centre[k] = low[k] + (high[k] - low[k]) / 2;
  const Vector<double> normal = mean_normal(packet);
  packet.normal[0] = normal.x, packet.normal[1] = normal.y, packet.normal[2] = normal.z;
  for (int i = 0; i < 3 * count; ++i) {
    const Vector<double> corner = corner_of(packet, i % 3, i / 3);
    const double height = corner.dot(normal), square = corner.dot(corner);
    // What rounding takes off here is less than 2^-20 of the size, of which that is added.
    const double aside = maximum(square - height * height, 0.0), size = 0x1p-20 * std::sqrt(square);
    packet.thickness = maximum(packet.thickness, std::fabs(height) + size);
    packet.radius = maximum(packet.radius, std::sqrt(aside) + size);
  }
  return packet;
}

}  // namespace geodomain
