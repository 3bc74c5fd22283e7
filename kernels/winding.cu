// The CUDA face of generalised winding numbers: one thread to a point.
#include "refuse.h"
#include "winding.h"

using namespace geodomain;

// The number and its bound are two doubles, of which one of four words is written.
extern "C" __global__ void geodomain_winding(GridView grid, PointsView points, std::int64_t rows,
                                             Rim rim, std::int32_t word, std::uint32_t* out,
                                             std::uint64_t* refused) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Winding winding = winding_number(grid, rim, points[row]);
  if (!winding.decided) refuse(row, refused);
  const double pair[2] = {winding.number, winding.bound};
  std::uint32_t words[4];
  memcpy(words, pair, sizeof words);
  out[row] = words[word];
}
