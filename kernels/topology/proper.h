// Triangles whose corners are three vertices, as long as no coordinates are looked at.
#pragma once

#include "platform/mesh_view.h"

namespace geodomain {

struct ProperTriangles {
  const std::int32_t* triangles;
  const std::int32_t* merged;  // which vertices are equal, or null where indices say it

  template <class Visit>
  void visit(std::int64_t begin, std::int64_t end, const Visit& corners) const {
    for (const std::int32_t* t = triangles + 3 * begin; t < triangles + 3 * end; t += 3) {
      std::uint32_t corner[3];
      for (int k = 0; k < 3; ++k) {
        corner[k] = static_cast<std::uint32_t>(merged ? merged[t[k]] : t[k]);
      }
      if (corner[0] == corner[1] || corner[1] == corner[2] || corner[2] == corner[0]) continue;
      corners(corner);
    }
  }
};

}  // namespace geodomain
