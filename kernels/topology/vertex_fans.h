// Tests the triangles about each vertex of a mesh, by index: whether they form one closed ring, and
// whether two of them can meet in more than what they share. Host only.
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

  // Whether each ends in the edge in which exactly one other begins, all in one ring; the ring
  // is then sorted.
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

  // Whether doubles prove that the triangles of a ring meet only in what they share. The error of
  // sums of products is less than 2^-50 of their magnitudes, that of areas 2^-47 from the
  // projection along d' (below); products of three differences of coordinates do not underflow, and
  // others that do are less than the floor.
  bool is_parted(const MeshView& mesh, std::int32_t vertex) {
    const Vec3 origin = mesh.vertex(vertex);
    const int whole = (count_ + kWide - 1) / kWide * kWide;
    for (int i = 0; i <= whole; ++i) {
      const Vec3 p = mesh.vertex(ring_[i < count_ ? i : 0]);
      place_[0][i] = p.x - origin.x, place_[1][i] = p.y - origin.y, place_[2][i] = p.z - origin.z;
    }
    for (int i = 0; i < whole; i += kWide) {
      const Doubles4 x = at(place_[0], i), y = at(place_[1], i), z = at(place_[2], i);
      const Doubles4 u = at(place_[0], i + 1), v = at(place_[1], i + 1), w = at(place_[2], i + 1);
      const Doubles4 x0 = y * w, x1 = z * v, y0 = z * u, y1 = x * w, z0 = x * v, z1 = y * u;
      (x0 - x1).store(&normal_[0][i]);
      (y0 - y1).store(&normal_[1][i]);
      (z0 - z1).store(&normal_[2][i]);
      const Doubles4 size = ((absolute(x0) + absolute(x1)) + (absolute(y0) + absolute(y1))) +
                            (absolute(z0) + absolute(z1));
      size.store(&size_[i]);
    }
    Vec3 d = {0.0, 0.0, 0.0};
    for (int i = 0; i < count_; ++i) {
      d = {d.x + normal_[0][i], d.y + normal_[1][i], d.z + normal_[2][i]};
    }
    const double largest = maximum(std::fabs(d.x), maximum(std::fabs(d.y), std::fabs(d.z)));
    const Vec3 across = across_from(d, largest);
    for (int i = 0; i < whole; i += kWide) {
      const Doubles4 area = Doubles4(d.x) * at(normal_[0], i) + Doubles4(d.y) * at(normal_[1], i) +
                            Doubles4(d.z) * at(normal_[2], i);
      const Doubles4 x = Doubles4(across.x) * at(place_[0], i);
      const Doubles4 y = Doubles4(across.y) * at(place_[1], i);
      const Doubles4 z = Doubles4(across.z) * at(place_[2], i);
      const Doubles4 side = x + y + z, sizes = (absolute(x) + absolute(y)) + absolute(z);
      side.store(&side_[i]);
      const std::uint32_t sure = bits_below(bound_of(Doubles4(largest) * at(size_, i)), area) &
                                 bits_below(bound_of(sizes), absolute(side));
      if ((~sure & lanes_from(i)) != 0) return false;
    }
    side_[count_] = side_[0];
    int over = 0;
    for (int i = 0; i < whole; i += kWide) {
      over += count_bits(bits_below(0.0, at(side_, i)) & bits_below(at(side_, i + 1), 0.0) &
                         lanes_from(i));
    }
    return over == 1;
  }

 private:
  static constexpr int kFew = 32, kLanes = 8, kWide = 4;
  static constexpr double kBound = 0x1p-46, kFloor = 0x1p-1000;

  static Doubles4 at(const std::vector<double>& values, int first) {
    return Doubles4::load(values.data() + first);
  }
  static Doubles4 bound_of(const Doubles4& size) {
    return Doubles4(kBound) * size + Doubles4(kFloor);
  }
  // A bit for each of four triangles, from the first on, that exists.
  std::uint32_t lanes_from(int first) const {
    return count_ - first >= kWide ? 0xfu : (1u << (count_ - first)) - 1u;
  }

  void grow() {
    room_ = room_ == 0 ? kFew : 2 * room_;
    const auto size = static_cast<std::size_t>(room_ + kLanes + 1);
    for (auto* array : {&from_, &to_, &ring_}) array->resize(size);
    for (int k = 0; k < 3; ++k) place_[k].resize(size), normal_[k].resize(size);
    size_.resize(size), side_.resize(size);
  }

  // A vector perpendicular to some d' within 2^-48 |d| of d, where the largest component has a
  // magnitude: it is longer than |d| / 2, and its product with d is below 2^-49 |d|^2. It is rarely
  // perpendicular to an edge: many edges run along an axis, or half-way between two.
  static Vec3 across_from(Vec3 d, double largest) {
    constexpr double kOff = 0.0713, kLong = 0.8319, kShort = 0.5503;
    const Vec3 way = std::fabs(d.z) == largest   ? Vec3{kLong, kShort, kOff}
                     : std::fabs(d.x) == largest ? Vec3{kOff, kLong, kShort}
                                                 : Vec3{kShort, kOff, kLong};
    return {way.y * d.z - way.z * d.y, way.z * d.x - way.x * d.z, way.x * d.y - way.y * d.x};
  }

  // Pads the list to a multiple of eight.
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
    const auto place = std::lower_bound(from_.begin(), end, vertex);
    return place != end && *place == vertex ? static_cast<int>(place - from_.begin()) : -1;
  }

  int count_ = 0, room_ = 0;
  std::vector<std::int32_t> from_, to_, ring_;
  std::vector<double> place_[3], normal_[3], size_, side_;
};

// `parted`: for each vertex, whether its triangles provably meet only in what they share.
// Returns whether all fans are rings: then every edge has two triangles, which face alike, and
// vertex-connected parts are edge-connected.
inline bool look_at_fans(const MeshView& mesh, std::int64_t vertex_count, Team& team,
                         std::uint8_t* parted) {
  constexpr std::int64_t kPiece = 4096;
  constexpr std::int32_t kEnd = -1;
  constexpr int kAtOnce = 8;  // vertices whose lists are followed side by side
  constexpr int kNext[3] = {1, 1, -2}, kBefore[3] = {2, -1, -1};  // of a triangle's corners
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
    VertexFan fans[kAtOnce];
    bool all = true;
    for (std::int64_t start = begin; start < end; start += kAtOnce) {
      const int count = static_cast<int>(end - start < kAtOnce ? end - start : kAtOnce);
      std::int32_t at[kAtOnce];
      for (int i = 0; i < count; ++i) fans[i].clear(), at[i] = first[start + i];
      for (bool going = true; going;) {
        going = false;
        for (int i = 0; i < count; ++i) {
          if (at[i] == kEnd) continue;
          const std::int32_t* corner = mesh.triangles + at[i];
          const int k = at[i] % 3;
          fans[i].put(corner[kNext[k]], corner[kBefore[k]]);
          at[i] = next[at[i]];
          going = true;
        }
      }
      for (int i = 0; i < count; ++i) {
        VertexFan& fan = fans[i];
        const auto vertex = static_cast<std::int32_t>(start + i);
        const bool ring = fan.empty() || fan.is_ring(vertex);
        parted[vertex] = ring && !fan.empty() && fan.is_parted(mesh, vertex);
        all &= ring;
      }
    }
    if (!all) rings = false;
  });
  return rings;
}

}  // namespace geodomain
