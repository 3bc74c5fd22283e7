// Sorts segments by their midpoints, and points, into bins, so that neighbouring threads visit the
// same nodes of a hierarchy. A bin is a cell of the mesh's box; a midpoint outside the box goes to
// a bin at its boundary.
//
// Bins change only the order of work. Each result goes to its own row, so it depends neither on the
// bins nor on the order of rows within a bin, which atomic operations do not determine.
#pragma once

#include "bvh/box_frame.h"

namespace geodomain {

// The rows of segments, and the order to process them in; null for the order of rows.
struct SegmentRows {
  const Segment* segments;
  const std::uint32_t* order;
  std::uint32_t count;
};
static_assert(sizeof(SegmentRows) == size_by_pointers(24, 12), "as every compiler has it");

constexpr std::uint32_t kBinsOfBlock = 4096;  // bins whose first places a block computes

// Cells as near to cubes as a power of two along each axis allows.
struct Bins {
  BoxFrame frame;
  std::uint32_t size[3], count;

  GD_HD std::uint32_t cell(int axis, double start, double end) const {
    const double middle = 0.5 * frame.place(axis, start) + 0.5 * frame.place(axis, end);
    const float cells = 0.5f * static_cast<float>(size[axis]);
    const float place = (static_cast<float>(middle) + 1.0f) * cells;
    if (!(place > 0.0f)) return 0;  // also for NaN
    return place < 2.0f * cells ? static_cast<std::uint32_t>(place) : size[axis] - 1;
  }
  GD_HD std::uint32_t of(const Segment& s) const {
    const std::uint32_t x = cell(0, s.start.x, s.end.x), y = cell(1, s.start.y, s.end.y),
                        z = cell(2, s.start.z, s.end.z);
    return (z * size[1] + y) * size[0] + x;
  }
};
static_assert(sizeof(Bins) == 80, "as every compiler has it");

constexpr std::uint32_t kLeastBins = 1u << 12, kMostBins = 1u << 20;
constexpr std::int64_t kRowsOfBin = 16;

// Few enough that most bins have several rows, and a pass over all bins costs little.
GD_HD Bins bins_of(const BoxFrame& frame, std::int64_t rows) {
  Bins bins = {frame, {1, 1, 1}, 1};
  float extent[3] = {frame.share[0], frame.share[1], frame.share[2]};
  while (bins.count < kLeastBins || (bins.count < kMostBins && bins.count * kRowsOfBin < rows)) {
    const int flat = extent[0] >= extent[1] ? 0 : 1;
    const int longest = extent[flat] >= extent[2] ? flat : 2;
    extent[longest] *= 0.5f;
    bins.size[longest] *= 2;
    bins.count *= 2;
  }
  return bins;
}

// Bins of points: cubes along a Morton curve, 2^bits in a cube around the mesh.
struct CurveBins {
  BoxFrame frame;
  std::uint32_t bits;

  GD_HD std::uint32_t of(Vec3 p) const {
    return static_cast<std::uint32_t>(code_of_point(frame, p) >> (kMortonBits - bits));
  }
};

static_assert(sizeof(CurveBins) == 72, "as every compiler has it");

constexpr std::uint32_t kNoBin = 0xffffffffu;

// A row's bin, and its number among the rows of the bin.
struct BinTicket {
  std::uint32_t bin, number;
};
static_assert(sizeof(BinTicket) == 8, "as every compiler has it");

}  // namespace geodomain
