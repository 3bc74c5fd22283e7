// What is asked about a segment: does it cross, what is nearest, how many, all of them. Every
// answer is made of the triangles that it crosses, in whatever order they are found.
#pragma once

#include "bvh.h"

namespace geodomain {

// visit(triangle, its index) for the triangles of a packet that the segment crosses, until it
// returns true; false in `sure` where the arithmetic does not tell. The filter takes
// `Batch` triangles at a time: four at once on a CPU, one after the other on a GPU.
template <class Arithmetic, int Batch, class Visit>
GD_HD bool visit_crossed(const Packet& packet, const Segment& s, bool& sure, Visit&& visit) {
  for (int first = 0; first < packet.count; first += Batch) {
    int crossed[Batch];
    for (int k = 0; k < Batch; ++k) {
      const int i = first + k;
      crossed[k] = crosses_by_filter(s, packet.at[0][i], packet.at[1][i], packet.at[2][i],
                                     packet.at[3][i], packet.at[4][i], packet.at[5][i],
                                     packet.at[6][i], packet.at[7][i], packet.at[8][i]);
    }
    for (int k = 0; k < Batch; ++k) {
      if (crossed[k] == 0 || first + k >= packet.count) continue;
      const Triangle t = packet.corners(first + k);
      int answer = crossed[k];
      if (answer == kUnsure) answer = crosses_close<Arithmetic>(s, t);
      if (answer == kUnsure) sure = false;
      if (answer == 1 && visit(t, packet.triangle[first + k])) return true;
    }
  }
  return false;
}

// The same for all triangles of a hierarchy. `reach` may be lowered by `visit`.
template <class Arithmetic, int Batch, class Visit>
GD_HD bool visit_all_crossed(const BvhView& bvh, const Segment& s, Visit&& visit) {
  Probe probe;
  bool sure = true;
  float reach = 1.0f;
  if (bvh.triangle_count == 0 || !aim(bvh.frame, s, probe)) return true;
  visit_packets(bvh, probe, reach, [&](const Packet& packet) {
    return visit_crossed<Arithmetic, Batch>(
        packet, s, sure,
        [&](const Triangle& t, std::int32_t index) { return visit(t, index, probe, reach); });
  });
  return sure;
}

// The questions below return false where the arithmetic does not tell.

template <class Arithmetic, int Batch>
GD_HD bool find_any(const BvhView& bvh, const Segment& s, bool& found) {
  found = false;
  const bool sure = visit_all_crossed<Arithmetic, Batch>(
      bvh, s, [&](const Triangle&, std::int32_t, const Probe&, float&) { return found = true; });
  return sure || found;
}

template <class Arithmetic, int Batch>
GD_HD bool count_all(const BvhView& bvh, const Segment& s, std::int32_t& count) {
  count = 0;
  return visit_all_crossed<Arithmetic, Batch>(
      bvh, s, [&](const Triangle&, std::int32_t, const Probe&, float&) { return ++count, false; });
}

// The triangle with the least (t, index), -1 where there is none.
template <class Arithmetic, int Batch>
GD_HD bool find_nearest(const BvhView& bvh, const Segment& s, std::int32_t& nearest) {
  nearest = -1;
  double best = 2.0;
  bool placed = true;
  const bool sure = visit_all_crossed<Arithmetic, Batch>(
      bvh, s, [&](const Triangle& t, std::int32_t index, const Probe& probe, float& reach) {
        Place place;
        placed &= place_on_segment<Arithmetic>(s, t, place);
        if (place.t < best || (place.t == best && index < nearest)) {
          best = place.t;
          nearest = index;
          reach = probe.reach(best);
        }
        return false;
      });
  return sure & placed;
}

struct Found {
  double t;
  std::int32_t triangle;

  GD_HD bool operator<(const Found& other) const {
    return t < other.t || (t == other.t && triangle < other.triangle);
  }
};

// All of them into `out`, which has room, in the order that they are found in.
template <class Arithmetic, int Batch>
GD_HD bool list_all(const BvhView& bvh, const Segment& s, Found* out) {
  bool placed = true;
  const bool sure = visit_all_crossed<Arithmetic, Batch>(
      bvh, s, [&](const Triangle& t, std::int32_t index, const Probe&, float&) {
        Place place;
        placed &= place_on_segment<Arithmetic>(s, t, place);
        *out++ = {place.t, index};
        return false;
      });
  return sure & placed;
}

// Heap sort: in place, without a stack, and never quadratic.
GD_HD void sift_down(Found* list, std::int64_t root, std::int64_t count) {
  const Found moved = list[root];
  for (std::int64_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
    if (child + 1 < count && list[child] < list[child + 1]) ++child;
    if (!(moved < list[child])) break;
    list[root] = list[child];
    root = child;
  }
  list[root] = moved;
}

GD_HD void sort_found(Found* list, std::int64_t count) {
  for (std::int64_t root = count / 2; root-- > 0;) sift_down(list, root, count);
  for (std::int64_t last = count - 1; last > 0; --last) {
    const Found top = list[0];
    list[0] = list[last];
    list[last] = top;
    sift_down(list, 0, last);
  }
}

}  // namespace geodomain
