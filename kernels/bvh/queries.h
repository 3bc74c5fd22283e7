// Queries of a segment: whether it crosses the mesh, the nearest triangle, how many, all of them.
// Every result follows from the set of triangles that it crosses, in any order.
#pragma once

#include "bvh/nodes.h"
#include "platform/arithmetic.h"
#include "platform/bits.h"
#include "platform/warp.h"

namespace geodomain {

// Calls visit(a function that returns its corners, its index) for the triangles of a packet that
// the segment crosses, until it returns true; `sure` is false if the arithmetic cannot decide. The
// filter takes as many triangles at a time as Number has lanes: one on a GPU. A CPU has its own
// packets (bvh/batches.h).
template <class Arithmetic, class Number, class Visit>
GD_HD bool visit_crossed(const Packet& packet, const Segment& s, bool& sure, Visit&& visit) {
  constexpr int kLanes = static_cast<int>(sizeof(Number) / sizeof(double));
  const Vector<Number> start = spread<Number>(s.start);
  const Vector<Number> end = spread<Number>(s.end);
  const Vector<Number> along = seen_from(start, end.x, end.y, end.z);
  for (int first = 0, count = kDevicePacket; first < count; first += kLanes) {
    const auto lanes = packet.template take<Number>(first);
    count = lanes.count;
    const auto corner = [&](int k) {
      return seen_from(start, lanes.coordinate(k), lanes.coordinate(k + 1),
                       lanes.coordinate(k + 2));
    };
    const Sifted sifted = sift(along, corner(0), corner(3), corner(6));
    const std::uint32_t there = kLanes == 1 ? 1u : (1u << (count - first)) - 1u;
    for (std::uint32_t open = (sifted.crossed | sifted.unsure) & there & ((1u << kLanes) - 1u);
         open != 0; open &= open - 1) {
      const int lane = trailing_zeros(open);
      const auto corners = [&] { return lanes.corners(lane); };
      int answer = 1;
      if (sifted.unsure >> lane & 1) answer = crosses_close<Arithmetic>(s, corners());
      if (answer == kUnsure) sure = false;
      if (answer == 1 && visit(corners, lanes.index(lane))) return true;
    }
  }
  return false;
}

struct Found {
  double t;
  std::int64_t triangle;  // as wide as t, so that there is no padding

  GD_HD bool operator<(const Found& other) const {
    return t < other.t || (t == other.t && triangle < other.triangle);
  }
};
static_assert(sizeof(Found) == 16, "as every compiler has it");

// The queries. Each takes the crossed triangles one by one, and returns whether it needs no more.
// `sure` is false if the arithmetic could not decide; then there is no result yet. The part of
// the segment beyond the nearest crossing so far may be skipped.

struct Any {
  static constexpr bool kNearFirst = false, kAsksWhere = false;
  bool sure = true, hit = false;

  template <class Arithmetic, class Corners, class Way>
  GD_HD bool take(const Segment&, const Corners&, std::int32_t, Way&) {
    return hit = true;
  }
  // Like `crossed` calls of `take`.
  GD_HD bool take_all(std::int32_t crossed) { return hit |= crossed > 0; }
  GD_HD bool answered() const { return sure | hit; }
};

struct Count {
  static constexpr bool kNearFirst = false, kAsksWhere = false;
  bool sure = true;
  std::int32_t count = 0;

  template <class Arithmetic, class Corners, class Way>
  GD_HD bool take(const Segment&, const Corners&, std::int32_t, Way&) {
    return ++count, false;
  }
  GD_HD bool take_all(std::int32_t crossed) { return count += crossed, false; }
  GD_HD bool answered() const { return sure; }
};

// The triangle with the least (t, index), or -1.
struct Nearest {
  static constexpr bool kNearFirst = true, kAsksWhere = true;
  bool sure = true;
  std::int32_t triangle = -1;
  Span best = {2.0, 2.0};
  Triangle corners = {};  // of the best, if the arithmetic can compute its t

  template <class Arithmetic, class Corners, class Way>
  GD_HD bool take(const Segment& s, const Corners& corners_of, std::int32_t index, Way& way) {
    const Triangle t = corners_of();
    Span span = span_on_segment(s, t);
    if (span.low > best.high) return false;
    if (span.high >= best.low && !(span.is_exact() && best.is_exact())) {
      sure = settle<Arithmetic>(s, t, span);
      if (!sure) return true;
    }
    if (span.low > best.low || (span.low == best.low && index > triangle)) return false;
    best = span;
    triangle = index;
    if constexpr (Arithmetic::kAlwaysTells) corners = t;
    way.shorten(best.high);
    return false;
  }
  GD_HD bool answered() const { return sure; }

 private:
  // Computes the t of the best so far and of another triangle with an overlapping span; false on
  // failure.
  template <class Arithmetic>
  GD_HD bool settle(const Segment& s, const Triangle& t, Span& span) {
    if constexpr (Arithmetic::kAlwaysTells) {
      Place place, other;
      place_on_segment<Arithmetic>(s, corners, place);
      place_on_segment<Arithmetic>(s, t, other);
      best = {place.t, place.t};
      span = {other.t, other.t};
    }
    return Arithmetic::kAlwaysTells;
  }
};

struct AllCrossings {  // all crossings, in the order of discovery; `out` has room
  static constexpr bool kNearFirst = false, kAsksWhere = true;
  Found* out = nullptr;
  bool sure = true;

  template <class Arithmetic, class Corners, class Way>
  GD_HD bool take(const Segment& s, const Corners& corners_of, std::int32_t index, Way&) {
    Place place;
    sure &= place_on_segment<Arithmetic>(s, corners_of(), place);
    *out++ = {place.t, index};
    return false;
  }
  GD_HD bool answered() const { return sure; }
};

template <class Arithmetic, class Number, class Question>
GD_HD bool step(const BvhView& bvh, const Segment& s, Walk& walk, Stack& stack,
                Question& question) {
  return walk.template step<Question::kNearFirst>(bvh, stack, [&](const Packet& packet) {
    return visit_crossed<Arithmetic, Number>(
        packet, s, question.sure, [&](const auto& corners_of, std::int32_t index) {
          return question.template take<Arithmetic>(s, corners_of, index, walk);
        });
  });
}

// Runs a query over the hierarchy; returns whether the arithmetic could decide.
template <class Arithmetic, class Number, class Question>
GD_HD bool ask(const BvhView& bvh, const Segment& s, Question& question) {
  Walk walk;
  Stack stack;
  if (!walk.begin(bvh, s)) return true;
  while (step<Arithmetic, Number>(bvh, s, walk, stack, question)) {
  }
  return question.answered();
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

// Brute force, for comparison with the hierarchy: every triangle against every segment, with a test
// of their boxes first, as in the first version of R. Leung's ray-surface intersection (arXiv
// 2209.02878).

struct BruteView {
  MeshView mesh;
  const Box* boxes;  // of triangles
  BoxFrame frame;
};
static_assert(sizeof(BruteView) == size_by_pointers(96, 88), "as every compiler has it");

// The box of a segment, enlarged by the rounding errors of its own and a triangle's box.
GD_HD Box span_of(const BoxFrame& frame, const Segment& s) {
  const double start[3] = {s.start.x, s.start.y, s.start.z}, end[3] = {s.end.x, s.end.y, s.end.z};
  Box span;
  for (int k = 0; k < 3; ++k) {
    const double a = frame.place(k, start[k]), b = frame.place(k, end[k]);
    const double margin = kRounding + 0x1p-46 * maximum(std::fabs(a), std::fabs(b));
    span.low[k] = static_cast<float>(minimum(a, b) - margin);
    span.high[k] = static_cast<float>(maximum(a, b) + margin);
  }
  return span;
}

// Also false for the box of a segment with a NaN.
GD_HD bool meet(const Box& a, const Box& b) {
  return (a.low[0] <= b.high[0]) & (b.low[0] <= a.high[0]) & (a.low[1] <= b.high[1]) &
         (b.low[1] <= a.high[1]) & (a.low[2] <= b.high[2]) & (b.low[2] <= a.high[2]);
}

// Runs a query of one segment over all triangles in order.
template <class Question>
GD_HD void ask_brute(const BruteView& brute, const Segment& s, Question& question) {
  const Box span = span_of(brute.frame, s);
  Walk walk;
  walk.probe = probe_everywhere();
  for (std::int64_t i = 0; i < brute.mesh.triangle_count; ++i) {
    if (!meet(span, brute.boxes[i])) continue;
    const Triangle t = brute.mesh.triangle(i);
    if (!crosses(s, t)) continue;
    const auto corners = [&] { return t; };
    if (question.template take<Full>(s, corners, static_cast<std::int32_t>(i), walk)) return;
  }
}

}  // namespace geodomain
