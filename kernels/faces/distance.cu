// The CUDA face of distances: a thread to a point, in an order in which neighbours are near.
#include "bvh/nearest_walk.h"
#include "platform/refuse.h"
#include "platform/warp.h"

using namespace geodomain;

namespace {

struct Warp {  // the points of its threads go together
  __device__ static bool any(bool vote) { return geodomain::ballot(vote) != 0; }
  __device__ static float least(float value) { return least_in_warp(value); }
  __device__ static bool writes() { return lane() == 0; }
  __device__ static void sync() { sync_warp(); }
};

}  // namespace

extern "C" __global__ void geodomain_distance_codes(PointsView points, std::int64_t rows,
                                                    BoxFrame frame, std::uint64_t* codes,
                                                    std::int32_t* order) {
  const std::int64_t i = thread_row();
  if (i >= rows) return;
  codes[i] = code_of_point(frame, points[i]);
  order[i] = static_cast<std::int32_t>(i);
}

extern "C" __global__ void geodomain_distance_packets(const Packet* packets, std::int64_t count,
                                                      BoxFrame frame, Cylinder* out) {
  const std::int64_t i = thread_row();
  if (i < count) out[i] = cylinder_of(frame, packets[i]);
}

// Nodes [begin, end), of one level; those below it are done.
extern "C" __global__ void geodomain_distance_nodes(const WideNode* nodes, std::int64_t begin,
                                                    std::int64_t end, Cylinder* of_nodes,
                                                    const Cylinder* of_packets) {
  const std::int64_t i = begin + thread_row();
  if (i < end) of_nodes[i] = cylinder_of(nodes[i], of_nodes, of_packets);
}

// Distances, or, where `whole`, rows of distance, x, y, z and triangle.
extern "C" __global__ void geodomain_distance_nearest(NearestView view, PointsView points,
                                                      const std::int32_t* order, std::int64_t rows,
                                                      std::int32_t whole, double* out,
                                                      std::uint64_t* refused) {
  __shared__ OpenBox open[kBlockWarps][kMostOpen];
  const std::int64_t i = thread_row();
  const std::int64_t row = i < rows ? order[i] : 0;
  const Vec3 p = i < rows ? points[row] : Vec3{};
  const PointKind kind = kind_of(p);
  const bool asks = i < rows && kind == PointKind::finite;
  if (i < rows && kind == PointKind::too_far) refuse(row, refused);
  const Vec3 place = asks ? p : Vec3{};
  NearestFound found = NearestWalk<Warp>(view, open[threadIdx.x / 32], place, asks).find();
  if (i >= rows) return;
  if (!asks) {
    const double missing = HUGE_VAL - HUGE_VAL;
    found = {{missing, {missing, missing, missing}}, -1};
  }
  if (!whole) {
    out[row] = found.foot.distance;
    return;
  }
  double* const to = out + 5 * row;
  to[0] = found.foot.distance;
  to[1] = found.foot.point.x;
  to[2] = found.foot.point.y;
  to[3] = found.foot.point.z;
  to[4] = found.triangle;
}
