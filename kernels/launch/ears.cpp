// Cuts a ring into triangles.
#include "topology/ears.h"

#include <new>

#include "platform/c_function.h"
#include "platform/portable.h"

using namespace geodomain;

// The triangles (count - 2, 3) of a ring (count, 3), as numbers of its corners; returns 1 if there
// is not enough memory.
GD_API Status geodomain_clip_ears(const double* ring, std::int64_t count, const double* normal,
                                  std::int32_t* triangles) {
  return guarded([&] {
    std::vector<Corner> corners(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      corners[i] = {ring[3 * i], ring[3 * i + 1], ring[3 * i + 2]};
    }
    EarClipper(std::move(corners), {normal[0], normal[1], normal[2]}).cut(triangles);
  });
}
GD_DESCRIBE(geodomain_clip_ears);
