// A grid behind a handle, and the loop over the points that it is asked about.
// Host only: what every face of the grid shares.
#pragma once

#include <memory>

#include "grid/build.h"
#include "platform/c_function.h"
#include "platform/lowest_row.h"

namespace geodomain {

constexpr std::int64_t kPiece = 2048;  // points to a piece of work

struct BuiltGrid {
  GridIndex index;
  GridView view;
};

// Runs piece(grid, points, begin, end, refused) over all rows, and sets `refused` to the first row
// that the arithmetic cannot decide, or -1.
template <class Piece>
Status answer(const void* handle, const void* const* columns, const std::int64_t* strides,
              std::int64_t rows, int threads, std::int64_t* refused, Piece&& piece) {
  return guarded([&] {
    const GridView* grid = handle ? &static_cast<const BuiltGrid*>(handle)->view : nullptr;
    const PointsView points = points_view(columns, strides);
    LowestRow first;
    Team team(rows > kPiece ? threads : 1);
    team.run(rows, kPiece, [&](std::int64_t begin, std::int64_t end, int) {
      piece(grid, points, begin, end, first);
    });
    *refused = first.found();
  });
}

}  // namespace geodomain
