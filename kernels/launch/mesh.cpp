// Checks, copies and measures the caller's arrays, in one pass each.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "platform/c_function.h"
#include "platform/float_guard.h"
#include "platform/thread_team.h"
#include "topology/closed.h"
#include "topology/equal_rows.h"
#include "topology/mesh_checks.h"
#include "topology/shift.h"
#include "topology/vertex_fans.h"

using namespace geodomain;

namespace {

constexpr std::int64_t kRowsToPiece = 8192;
constexpr std::int64_t kRowsToVertex = 4;  // a mesh without shared vertices has six

std::uint64_t bits_of_size(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits & ~(std::uint64_t{1} << 63);
}

// The bits of non-negative doubles have the same order as the numbers.
const std::uint64_t kLeastBits = bits_of_size(kLeastMagnitude);
const std::uint64_t kMostBits = bits_of_size(kMostMagnitude);

bool in_range(double value) {
  const std::uint64_t bits = bits_of_size(value);
  return bits == 0 || bits - kLeastBits <= kMostBits - kLeastBits;
}

// A hash of edges, to which the members of a team add.
class SharedHash {
 public:
  void join(const EdgeHash& part) {
    const Lock lock(mutex_);
    total_.join(part);
  }
  void report(std::int32_t* flags) const {
    flags[0] = total_.closed();
    flags[1] = total_.balanced();
  }

 private:
  Mutex mutex_;
  EdgeHash total_;
};

}  // namespace

// Copies vertices (-0.0 becomes 0.0) and triangles. bounds: low x, y, z, high x, y, z of the
// vertices that triangles use. faults: the first vertex that is not finite or out of range, and the
// first triangle with an index out of range, or -1. flags: closed and balanced by index.
GD_API Status geodomain_mesh_check(const double* vertices, std::int64_t vertex_count,
                                   const std::int32_t* triangles, std::int64_t triangle_count,
                                   int threads, double* vertices_out, std::int32_t* triangles_out,
                                   double* bounds, std::int64_t* faults, std::int32_t* flags) {
  return guarded([&] {
    Team team(threads);
    LowestRow bad_vertex, bad_triangle;
    TouchedBox touched(kRowsToPiece);
    team.run(vertex_count, kRowsToPiece, [&](std::int64_t begin, std::int64_t end, int) {
      Bounds part = no_box();
      for (std::int64_t i = begin; i < end; ++i) {
        const double* v = vertices + 3 * i;
        const Vec3 p = {v[0] + 0.0, v[1] + 0.0, v[2] + 0.0};
        if (!(in_range(p.x) && in_range(p.y) && in_range(p.z))) bad_vertex.keep(i);
        vertices_out[3 * i] = p.x;
        vertices_out[3 * i + 1] = p.y;
        vertices_out[3 * i + 2] = p.z;
        widen(part, {p, p});
      }
      touched.join(part, begin);
    });
    touched.find(vertices_out, vertex_count);
    SharedHash shared;
    team.run(triangle_count, kRowsToPiece, [&](std::int64_t begin, std::int64_t end, int) {
      EdgeBlock edges;
      for (std::int64_t i = begin; i < end; ++i) {
        std::uint32_t corner[3];
        bool bad = false;
        for (int k = 0; k < 3; ++k) {
          triangles_out[3 * i + k] = triangles[3 * i + k];
          corner[k] = static_cast<std::uint32_t>(triangles[3 * i + k]);
          bad |= corner[k] >= static_cast<std::uint64_t>(vertex_count);
        }
        if (bad) {
          bad_triangle.keep(i);
          continue;
        }
        edges.triangle(corner[0], corner[1], corner[2]);
      }
      shared.join(edges.hash());
      touched.look(triangles_out + 3 * begin, 3 * (end - begin));
    });
    const Bounds box = touched.all_used() ? touched.box()
                                          : marked_box(vertices_out, vertex_count, triangles_out,
                                                       triangle_count, team, kRowsToPiece);
    const double corners[6] = {box.low.x, box.low.y, box.low.z, box.high.x, box.high.y, box.high.z};
    std::memcpy(bounds, corners, sizeof corners);
    faults[0] = bad_vertex.row();
    faults[1] = bad_triangle.row();
    shared.report(flags);
  });
}
GD_DESCRIBE(geodomain_mesh_check);

// flags: closed and balanced, where `merged` says which vertices are equal.
GD_API Status geodomain_mesh_closed(const std::int32_t* triangles, std::int64_t triangle_count,
                                    const std::int32_t* merged, int threads, std::int32_t* flags) {
  return guarded([&] {
    Team team(threads);
    SharedHash shared;
    team.run(triangle_count, kRowsToPiece, [&](std::int64_t begin, std::int64_t end, int) {
      EdgeBlock edges;
      for (const std::int32_t* t = triangles + 3 * begin; t < triangles + 3 * end; t += 3) {
        edges.triangle(static_cast<std::uint32_t>(merged[t[0]]),
                       static_cast<std::uint32_t>(merged[t[1]]),
                       static_cast<std::uint32_t>(merged[t[2]]));
      }
      shared.join(edges.hash());
    });
    shared.report(flags);
  });
}
GD_DESCRIBE(geodomain_mesh_closed);

// Counts over the triangles with three different vertices, in found: bodies, used vertices, these
// triangles, and repeated uses of an edge in the same direction. `merged` may be null; it says
// which vertices are equal.
GD_API Status geodomain_mesh_bodies(const std::int32_t* triangles, std::int64_t triangle_count,
                                    const std::int32_t* merged, std::int64_t vertex_count,
                                    int threads, std::int64_t* counts) {
  return guarded([&] {
    Team team(threads);
    const ProperTriangles rows = {triangles, merged};
    Bodies bodies(vertex_count);
    Repeats repeats(vertex_count);
    std::atomic<std::int64_t> proper{0};
    // One member marks the edges of all triangles while the others join bodies.
    const std::int64_t pieces = (triangle_count + kRowsToPiece - 1) / kRowsToPiece;
    team.run(1 + pieces, 1, [&](std::int64_t piece, std::int64_t, int) {
      if (piece == 0) return repeats.note(rows, triangle_count);
      const std::int64_t begin = (piece - 1) * kRowsToPiece;
      std::int64_t part = 0;
      rows.visit(begin, std::min(begin + kRowsToPiece, triangle_count),
                 [&](const std::uint32_t* corner) {
                   ++part;
                   bodies.join(corner[0], corner[1], corner[2]);
                 });
      proper += part;
    });
    bodies.count(team, kRowsToPiece, counts);
    counts[2] = proper;
    counts[3] = repeats.count(team, rows, triangle_count, kRowsToPiece);
  });
}
GD_DESCRIBE(geodomain_mesh_bodies, 2);

// merged[i] = the first vertex equal to vertex i, compared as numbers.
GD_API Status geodomain_merge_vertices(const double* vertices, std::int64_t vertex_count,
                                       std::int32_t* merged) {
  return guarded([&] {
    DistinctRows distinct(vertex_count / kRowsToVertex);
    distinct.add(vertices, vertex_count, merged);
    std::vector<std::int32_t> first;
    first.reserve(distinct.rows().size());
    for (std::int64_t i = 0; i < vertex_count; ++i) {
      const auto number = static_cast<std::size_t>(merged[i]);
      if (number == first.size()) first.push_back(static_cast<std::int32_t>(i));
      merged[i] = first[number];
    }
  });
}
GD_DESCRIBE(geodomain_merge_vertices);

// group[i] = number of the distinct row equal to row i, compared as numbers; first[g] = the first
// row of group g.
GD_API Status geodomain_group_rows(const double* rows, std::int64_t count, std::int64_t* group,
                                   std::int64_t* first, std::int64_t* group_count) {
  return guarded([&] {
    DistinctRows distinct(count / kRowsToVertex);
    distinct.add(rows, count, group);
    std::int64_t groups = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (group[i] == groups) first[groups++] = i;
    }
    *group_count = groups;
  });
}
GD_DESCRIBE(geodomain_group_rows);

// parted, (v,): for each vertex, whether its triangles certainly meet only in what they share.
// are_rings: 1 if the triangles of every vertex form one ring, or the vertex has none.
GD_API Status geodomain_vertex_fans(const double* vertices, std::int64_t vertex_count,
                                    const std::int32_t* triangles, std::int64_t triangle_count,
                                    int threads, std::uint8_t* parted, std::int32_t* are_rings) {
  return guarded([&] {
    FloatGuard guard;
    Team team(threads);
    *are_rings = look_at_fans({vertices, triangles, triangle_count}, vertex_count, team, parted);
  });
}
GD_DESCRIBE(geodomain_vertex_fans);

// Whether all rows of three doubles are different; none may be -0.0.
GD_API Status geodomain_rows_distinct(const double* rows, std::int64_t count, int threads,
                                      std::int32_t* distinct) {
  return guarded([&] {
    Team team(threads);
    *distinct = are_distinct(rows, count, team);
  });
}
GD_DESCRIBE(geodomain_rows_distinct);

// The sign of the signed volume of all triangles, or 0 if doubles cannot decide.
GD_API Status geodomain_volume_sign(const double* vertices, const std::int32_t* triangles,
                                    std::int64_t triangle_count, int threads, std::int32_t* sign) {
  return guarded([&] {
    FloatGuard guard;
    Team team(threads);
    *sign = volume_sign({vertices, triangles, triangle_count}, team);
  });
}
GD_DESCRIBE(geodomain_volume_sign);

// Adds `shift`, three numbers, to each vertex and to the bounds, (2, 3). faults: the first vertex
// that is out of range, and the first triangle that was not flat and is flat now, because sums are
// rounded; or -1.
GD_API Status geodomain_mesh_shift(const double* vertices, std::int64_t vertex_count,
                                   const std::int32_t* triangles, std::int64_t triangle_count,
                                   const double* bounds, const double* shift, double* vertices_out,
                                   double* bounds_out, std::int64_t* faults) {
  return guarded([&] {
    FloatGuard guard;
    shift_points(vertices, vertex_count, shift, vertices_out);
    shift_points(bounds, 2, shift, bounds_out);
    LowestRow bad_vertex;
    for (std::int64_t i = 0; i < 3 * vertex_count; ++i) {
      if (!in_range(vertices_out[i])) bad_vertex.keep(i / 3);
    }
    faults[0] = bad_vertex.row();
    faults[1] = -1;
    if (faults[0] >= 0) return;  // beyond the range, no sign is certain
    faults[1] = first_collapsed({vertices, triangles, triangle_count},
                                {vertices_out, triangles, triangle_count});
  });
}
GD_DESCRIBE(geodomain_mesh_shift);
