// Every triangle against every segment, with a look at their boxes first: the first version of R.
// Leung's ray-surface intersection (arXiv 2209.02878), to compare the hierarchy with.
#pragma once

#include "bvh/queries.h"
#include "platform/arithmetic.h"

namespace geodomain {

struct BruteView {
  MeshView mesh;
  const Box* boxes;  // of triangles
  BoxFrame frame;
};
static_assert(sizeof(BruteView) == 96, "as every compiler has it");

// The box of a segment, grown by all that rounding may move it or a triangle's box by.
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

// False for the box of a segment with a NaN, too.
GD_HD bool meet(const Box& a, const Box& b) {
  return (a.low[0] <= b.high[0]) & (b.low[0] <= a.high[0]) & (a.low[1] <= b.high[1]) &
         (b.low[1] <= a.high[1]) & (a.low[2] <= b.high[2]) & (b.low[2] <= a.high[2]);
}

// A question about one segment, to all triangles in their order.
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
