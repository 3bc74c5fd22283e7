// Distances on the CPU: loops over points.
#include <cmath>

#include "bvh/nearest_triangle.h"
#include "bvh/nearest_walk.h"
#include "platform/arithmetic.h"
#include "platform/c_function.h"
#include "platform/float_guard.h"
#include "platform/thread_team.h"

using namespace geodomain;

namespace {

// Number of rows that are sorted together, so that a search begins where the previous one ended.
constexpr std::int64_t kTogether = std::int64_t{1} << 20, kFewRows = 512;
// Sorts the finite points of some rows by their Morton codes.
void order_rows(const PointsView& points, std::int64_t begin, std::int64_t count, Team& team,
                std::vector<std::int32_t>& order) {
  Bounds box = {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};
  for (std::int64_t i = 0; i < count; ++i) {
    const Vec3 p = points[begin + i];
    if (kind_of(p) == PointKind::finite) widen(box, {p, p});
  }
  const BoxFrame frame = box.low.x <= box.high.x ? make_frame(box) : BoxFrame{};
  std::vector<std::uint64_t> codes(static_cast<std::size_t>(count));
  order.resize(static_cast<std::size_t>(count));
  team.run(count, 4096, [&](std::int64_t from, std::int64_t to, int) {
    for (std::int64_t i = from; i < to; ++i) {
      codes[i] = code_of_point(frame, points[begin + i]);
      order[i] = static_cast<std::int32_t>(i);
    }
  });
  RadixSort(codes.data(), order.data(), count, team);
}

// The same search as the two kernels of a GPU.
NearestFound found_by_walk(const NearestView& view, OpenBox* open, Vec3 p) {
  Noted noted[kMostNoted];
  NearestWalk<Alone, false> walk(view, open, noted, p, true);
  walk.go();
  if (walk.noted_count() >= 0) {
    return nearest_of(view.mesh, p, noted, walk.noted_count(), {{HUGE_VAL, p}, -1});
  }
  NearestWalk<Alone, true> again(view, open, noted, p, true);
  again.go();
  return again.result();
}

}  // namespace

GD_API Status geodomain_distance_create(const double* vertices, const std::int32_t* triangles,
                                        std::int64_t triangle_count, const double* bounds,
                                        int threads, void** handle) {
  return guarded([&] {
    FloatGuard guard;
    const MeshView mesh = {vertices, triangles, triangle_count};
    const Bounds box = {{bounds[0], bounds[1], bounds[2]}, {bounds[3], bounds[4], bounds[5]}};
    Team team(threads);
    *handle = new NearestIndex(mesh, box, team);
  });
}
GD_DESCRIBE(geodomain_distance_create);

GD_API void geodomain_distance_free(void* handle) { delete static_cast<NearestIndex*>(handle); }
GD_DESCRIBE(geodomain_distance_free);

// The distance of each point, its nearest triangle and its nearest point; NaN and -1 for a point
// that is not finite. `triangle` and `place`, (rows, 3), may be null. `refused` is the first row
// beyond a mesh's range, or -1. The mesh must have triangles.
GD_API Status geodomain_distance_nearest(const void* handle, const void* const* columns,
                                         const std::int64_t* strides, std::int64_t rows,
                                         int threads, double* distance, std::int32_t* triangle,
                                         double* place, std::int64_t* refused) {
  return guarded([&] {
    const NearestIndex& index = *static_cast<const NearestIndex*>(handle);
    const PointsView points = points_view(columns, strides);
    LowestRow first;
    Team team(rows > kFewRows ? threads : 1);
    std::vector<std::int32_t> order;
    for (std::int64_t begin = 0; begin < rows; begin += kTogether) {
      const std::int64_t count = rows - begin < kTogether ? rows - begin : kTogether;
      order_rows(points, begin, count, team, order);
      team.run(count, kFewRows, [&](std::int64_t from, std::int64_t to, int) {
        NearestAsker asker(index);
        for (std::int64_t i = from; i < to; ++i) {
          const std::int64_t row = begin + order[i];
          const Vec3 p = points[row];
          const PointKind kind = kind_of(p);
          if (kind == PointKind::too_far) first.keep(row);
          NearestFound nearest = {{NAN, {NAN, NAN, NAN}}, -1};
          if (kind == PointKind::finite) nearest = asker.ask(p);
          distance[row] = nearest.foot.distance;
          if (triangle) triangle[row] = nearest.triangle;
          if (!place) continue;
          const Vec3 at = nearest.foot.point;
          place[3 * row] = at.x, place[3 * row + 1] = at.y, place[3 * row + 2] = at.z;
        }
      });
    }
    *refused = first.row();
  });
}
GD_DESCRIBE(geodomain_distance_nearest, 6, 7);

// The same answers by the code of a GPU's threads, one point after the other: for tests.
GD_API Status geodomain_distance_walk(const double* vertices, const std::int32_t* triangles,
                                      std::int64_t triangle_count, const double* bounds,
                                      const void* const* columns, const std::int64_t* strides,
                                      std::int64_t rows, double* distance, std::int32_t* triangle,
                                      double* place) {
  return guarded([&] {
    FloatGuard guard;
    const MeshView mesh = {vertices, triangles, triangle_count};
    Team team(1);
    const DeviceTree tree(
        mesh, {{bounds[0], bounds[1], bounds[2]}, {bounds[3], bounds[4], bounds[5]}}, team);
    const NearestView view = tree.nearest_view(mesh);
    std::vector<OpenBox> open(kMostOpen);
    const PointsView points = points_view(columns, strides);
    for (std::int64_t row = 0; row < rows; ++row) {
      const NearestFound nearest = found_by_walk(view, open.data(), points[row]);
      const Vec3 at = nearest.foot.point;
      distance[row] = nearest.foot.distance;
      triangle[row] = nearest.triangle;
      place[3 * row] = at.x, place[3 * row + 1] = at.y, place[3 * row + 2] = at.z;
    }
  });
}
GD_DESCRIBE(geodomain_distance_walk);

// The bounds, in single precision, of the distance of each point from its own triangle, in the
// mesh's units: for tests.
GD_API void geodomain_distance_ranges(const double* corners, const double* points,
                                      std::int64_t count, const double* bounds, double* least,
                                      double* most) {
  const BoxFrame frame =
      make_frame({{bounds[0], bounds[1], bounds[2]}, {bounds[3], bounds[4], bounds[5]}});
  const double scale = longest_scale(frame);
  for (std::int64_t i = 0; i < count; ++i) {
    const double *c = corners + 9 * i, *p = points + 3 * i;
    const Triangle t = {{c[0], c[1], c[2]}, {c[3], c[4], c[5]}, {c[6], c[7], c[8]}};
    const FramedPoint place(frame, {p[0], p[1], p[2]});
    const FlatRange<float> range =
        flat_range(flat_triangle(frame, t), place.even(frame), place.moved());
    least[i] = range.least / scale;
    most[i] = range.most / scale;
  }
}
GD_DESCRIBE(geodomain_distance_ranges);
