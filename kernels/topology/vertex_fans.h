// The triangles about each vertex of a mesh, by index: whether they close to one ring, and whether
// two of them can meet in anything but what they share. Host only.
//
// Seen along a direction d, a triangle v, a, b covers a sector from a - v to b - v, of less than
// half a turn and with positive area where d . (a - v) x (b - v) > 0. In a ring one sector ends
// where the next begins, so that each direction is in equally many of them. If all areas are
// positive and one direction is in one sector alone, so is every other: sectors meet in their ends,
// and triangles in the vertex, or in the edge that two of them share.
#pragma once

#include <algorithm>
#include <atomic>
#include <tuple>
#include <utility>
#include <vector>

#include "platform/atomics.h"
#include "platform/bits.h"
#include "platform/large_array.h"
#include "platform/mesh_view.h"
#include "platform/simd.h"
#include "platform/thread_team.h"

namespace geodomain {

// The triangles vertex, a, b of one vertex.
class VertexFan {
 public:
  void clear() { count_ = 0; }
  bool empty() const { return count_ == 0; }

  void put(std::int32_t a, std::int32_t b) {
    if (count_ == room_) grow();
    from_[count_] = a;
    to_[count_++] = b;
  }

  // Whether each ends in the edge in which just one other begins, all round in one ring; the ring
  // is then in order.
  bool is_ring(std::int32_t vertex) {
    const bool sorted = count_ > kFew;
    if (sorted) sort();
    for (int i = 0; i < count_; ++i) {
      if (from_[i] == vertex || to_[i] == vertex || from_[i] == to_[i]) return false;
    }
    fill_up();
    int at = 0;
    for (int i = 0; i < count_; ++i) {
      ring_[i] = from_[at];
      at = sorted ? find_sorted(to_[at]) : find(to_[at]);
      if (at <= 0) return at == 0 && i + 1 == count_;
    }
    return false;
  }

  // Whether doubles show that the triangles of a ring meet in what they share alone. Sums of
  // products are off by less than 2^-50 of the sizes of those, and areas by 2^-47 for seeing them
  // along d' (below); products of three differences of coordinates do not underflow, and what does
  // is less than the floor.
  bool is_parted(const MeshView& mesh, std::int32_t vertex) {
    const Vec3 origin = mesh.vertex(vertex);
    const int whole = (count_ + kLanes - 1) / kLanes * kLanes;
    for (int i = 0; i <= whole; ++i) {
      const Vec3 p = mesh.vertex(ring_[i < count_ ? i : 0]);
      place_[0][i] = p.x - origin.x, place_[1][i] = p.y - origin.y, place_[2][i] = p.z - origin.z;
    }
    const double *x = place_[0].data(), *y = place_[1].data(), *z = place_[2].data();
    double *nx = normal_[0].data(), *ny = normal_[1].data(), *nz = normal_[2].data();
    double *size = size_.data(), *side = side_.data();
    for_lanes(whole, [=](int i) {
      const double x0 = y[i] * z[i + 1], x1 = z[i] * y[i + 1];
      const double y0 = z[i] * x[i + 1], y1 = x[i] * z[i + 1];
      const double z0 = x[i] * y[i + 1], z1 = y[i] * x[i + 1];
      nx[i] = x0 - x1, ny[i] = y0 - y1, nz[i] = z0 - z1;
      size[i] = ((std::fabs(x0) + std::fabs(x1)) + (std::fabs(y0) + std::fabs(y1))) +
                (std::fabs(z0) + std::fabs(z1));
    });
    Vec3 d = {0.0, 0.0, 0.0};
    for (int i = 0; i < count_; ++i) d = {d.x + nx[i], d.y + ny[i], d.z + nz[i]};
    const double largest = maximum(std::fabs(d.x), maximum(std::fabs(d.y), std::fabs(d.z)));
    const Vec3 across = across_from(d, largest);
    double* sure = sure_.data();
    for_lanes(whole, [=](int i) {
      const double area = d.x * nx[i] + d.y * ny[i] + d.z * nz[i];
      const double px = across.x * x[i], py = across.y * y[i], pz = across.z * z[i];
      const double bound = kBound * ((std::fabs(px) + std::fabs(py)) + std::fabs(pz)) + kFloor;
      side[i] = px + py + pz;
      const bool turns = area > kBound * (largest * size[i]) + kFloor;
      sure[i] = turns & (std::fabs(side[i]) > bound) ? 1.0 : 0.0;
    });
    double certain = 0.0, over = 0.0;
    for (int i = 0; i < count_; ++i) certain += sure[i];
    if (certain != count_) return false;
    side[count_] = side[0];
    for (int i = 0; i < count_; ++i) over += side[i] > 0.0 && side[i + 1] < 0.0 ? 1.0 : 0.0;
    return over == 1.0;
  }

 private:
  static constexpr int kFew = 32, kLanes = 8;
  static constexpr double kBound = 0x1p-46, kFloor = 0x1p-1000;

  // Eight at a time, which a compiler does at once; what is beyond the last counts for nothing.
  template <class Body>
  static void for_lanes(int whole, const Body& body) {
    for (int first = 0; first < whole; first += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) body(first + lane);
    }
  }

  void grow() {
    room_ = room_ == 0 ? kFew : 2 * room_;
    const auto size = static_cast<std::size_t>(room_ + kLanes + 1);
    for (auto* array : {&from_, &to_, &ring_}) array->resize(size);
    for (int k = 0; k < 3; ++k) place_[k].resize(size), normal_[k].resize(size);
    size_.resize(size), side_.resize(size), sure_.resize(size);
  }

  // A vector at a right angle to some d' that is within 2^-48 |d| of d, whose largest part has a
  // size: it is longer than |d| / 2, and its product with d is below 2^-49 |d|^2. It is seldom at a
  // right angle to an edge: many of those run along an axis, or half-way between two.
  static Vec3 across_from(Vec3 d, double largest) {
    constexpr double kOff = 0.0713, kLong = 0.8319, kShort = 0.5503;
    const Vec3 way = std::fabs(d.z) == largest   ? Vec3{kLong, kShort, kOff}
                     : std::fabs(d.x) == largest ? Vec3{kOff, kLong, kShort}
                                                 : Vec3{kShort, kOff, kLong};
    return {way.y * d.z - way.z * d.y, way.z * d.x - way.x * d.z, way.x * d.y - way.y * d.x};
  }

  // So that eight are there to look at.
  void fill_up() {
    for (int i = 0; i < kLanes; ++i) from_[count_ + i] = -1;
  }

  void sort() {
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (int i = 0; i < count_; ++i) pairs.push_back({from_[i], to_[i]});
    std::sort(pairs.begin(), pairs.end());
    for (int i = 0; i < count_; ++i) std::tie(from_[i], to_[i]) = pairs[i];
  }

  // The first that begins at a vertex, or -1.
  int find(std::int32_t vertex) const {
    for (int first = 0; first < count_; first += kLanes) {
      const std::uint32_t bits = equal(Integers8::load(&from_[first]), Integers8(vertex));
      if (bits != 0) return first + trailing_zeros(bits);
    }
    return -1;
  }
  int find_sorted(std::int32_t vertex) const {
    const auto end = from_.begin() + count_;
    const auto found = std::lower_bound(from_.begin(), end, vertex);
    return found != end && *found == vertex ? static_cast<int>(found - from_.begin()) : -1;
  }

  int count_ = 0, room_ = 0;
  std::vector<std::int32_t> from_, to_, ring_;
  std::vector<double> place_[3], normal_[3], size_, side_, sure_;
};

// `parted`: of each vertex, whether its triangles meet in what they share alone, for certain.
// Returns whether all fans are rings: then every edge has two triangles, which face alike, and what
// hangs together by vertices hangs together by edges.
inline bool look_at_fans(const MeshView& mesh, std::int64_t vertex_count, Team& team,
                         std::uint8_t* parted) {
  constexpr std::int64_t kPiece = 4096;
  constexpr std::int32_t kEnd = -1;
  // Corners 3 t + k of each vertex, as lists.
  LargeArray<std::int32_t> first(vertex_count), next(3 * mesh.triangle_count);
  std::fill(first.get(), first.get() + vertex_count, kEnd);
  team.run(mesh.triangle_count, kPiece, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = 3 * begin; i < 3 * end; ++i) {
      next[i] = atomic_swap(&first[mesh.triangles[i]], static_cast<std::int32_t>(i));
    }
  });
  std::atomic<bool> rings{true};
  team.run(vertex_count, kPiece, [&](std::int64_t begin, std::int64_t end, int) {
    VertexFan fan;
    bool all = true;
    for (auto vertex = static_cast<std::int32_t>(begin); vertex < end; ++vertex) {
      fan.clear();
      for (std::int32_t at = first[vertex]; at != kEnd; at = next[at]) {
        const std::int32_t* t = mesh.triangles + at / 3 * 3;
        const int k = at % 3;
        fan.put(t[k < 2 ? k + 1 : 0], t[k > 0 ? k - 1 : 2]);
      }
      const bool ring = fan.empty() || fan.is_ring(vertex);
      parted[vertex] = ring && !fan.empty() && fan.is_parted(mesh, vertex);
      all &= ring;
    }
    if (!all) rings = false;
  });
  return rings;
}

}  // namespace geodomain
