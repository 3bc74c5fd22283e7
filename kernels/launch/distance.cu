// Distances on the GPU: one thread for each point, with neighbouring points in neighbouring
// threads. One kernel lists the triangles that may be nearest. Other kernels, which need many more
// registers, decide, each for points that need the same steps.
#include "bvh/nearest_walk.h"
#include "platform/row_list.h"
#include "platform/warp.h"

using namespace geodomain;

namespace {

struct Warp {  // its threads search together
  __device__ static bool any(bool vote) { return geodomain::ballot(vote) != 0; }
  __device__ static std::uint32_t least(std::uint32_t value) { return least_in_warp(value); }
  __device__ static bool writes() { return lane() == 0; }
  __device__ static void sync() { sync_warp(); }
};

}  // namespace

extern "C" __global__ void geodomain_distance_packets(const Packet* packets, std::int64_t count,
                                                      BoxFrame frame, MeshView mesh, Cylinder* out,
                                                      FlatRow* rows) {
  const std::int64_t i = thread_row();
  if (i >= count) return;
  out[i] = cylinder_of(frame, packets[i].row, packets[i].row[0].count);
  for (int k = 0; k < packets[i].row[0].count; ++k) {
    rows[kDevicePacket * i + k] = flat_row(frame, mesh, packets[i], k);
  }
}

// Nodes [begin, end) of one level; the levels below are done.
extern "C" __global__ void geodomain_distance_nodes(const WideNode* nodes, std::int64_t begin,
                                                    std::int64_t end, BoxFrame frame,
                                                    NearestNode* to, Cylinder* of_nodes,
                                                    const Cylinder* of_packets) {
  const std::int64_t i = begin + thread_row();
  if (i >= end) return;
  to[i] = nearest_node(frame, nodes[i]);
  of_nodes[i] = cylinder_of(nodes[i], of_nodes, of_packets);
}

// The triangles that may be nearest to each point, in the sorted order: first the first triangle of
// every point, then the second ones, and so on, with -1 after the last; kNoRoom if the list was too
// short.
extern "C" __global__ void geodomain_distance_note(NearestView view, PointsView points,
                                                   const std::uint32_t* order, std::int64_t rows,
                                                   std::int32_t* noted) {
  __shared__ OpenBox open[kBlockWarps][kMostOpen];
  const std::int64_t i = thread_row();
  const Vec3 p = i < rows ? points[order[i]] : Vec3{};
  const bool asks = i < rows && kind_of(p) == PointKind::finite;
  Noted candidates[kMostNoted];
  NearestWalk<Warp, false> walk(view, open[threadIdx.x / 32], candidates, asks ? p : Vec3{}, asks);
  walk.go();
  if (i >= rows) return;
  const int count = walk.noted_count();
  for (int k = 0; k < count; ++k) noted[k * rows + i] = candidates[k].triangle;
  if (count < kMostNoted) noted[(count < 0 ? 0 : count) * rows + i] = count < 0 ? kNoRoom : -1;
}

namespace {

// A distance, or with `whole` a row of distance, x, y, z and triangle.
__device__ void write(const NearestFound& nearest, std::int64_t row, std::int32_t whole,
                      double* out) {
  if (!whole) {
    out[row] = nearest.foot.distance;
    return;
  }
  double* const to = out + 5 * row;
  to[0] = nearest.foot.distance;
  to[1] = nearest.foot.point.x;
  to[2] = nearest.foot.point.y;
  to[3] = nearest.foot.point.z;
  to[4] = nearest.triangle;
}

// The listed triangles that doubles do not exclude.
struct Left {
  int count = 0;
  std::int32_t inside = -1;          // the triangle whose face certainly contains the foot
  bool has_one_edge = true;          // whether all are nearest in the same edge
  std::int32_t lowest = -1;          // the lowest triangle of that edge
  std::int32_t edge_low, edge_high;  // the vertices of the edge, the lower one first

  __device__ void add(const MeshView& mesh, std::int32_t triangle, std::uint32_t parts) {
    ++count;
    if (parts == kFace) inside = triangle;
    const int edge = parts == kFirstEdge ? 0 : parts == 2 * kFirstEdge ? 1 : 2;
    if (parts != kFirstEdge << edge) return void(has_one_edge = false);
    const std::int32_t* const corner = mesh.triangles + 3 * static_cast<std::int64_t>(triangle);
    const std::int32_t a = corner[edge], b = corner[edge == 2 ? 0 : edge + 1];
    const std::int32_t low = a < b ? a : b, high = a < b ? b : a;
    if (lowest >= 0 && !(low == edge_low && high == edge_high)) has_one_edge = false;
    edge_low = low, edge_high = high;
    if (lowest < 0 || triangle < lowest) lowest = triangle;
  }
};

}  // namespace

// Answers a point if doubles leave one triangle and the foot is certainly inside it. Other points
// are left to the next kernels. For a point nearest to an edge, the list becomes the lowest
// triangle and the vertices of the edge.
extern "C" __global__ void __launch_bounds__(kBlockThreads, 6)
    geodomain_distance_inside(MeshView mesh, PointsView points, const std::uint32_t* order,
                              std::int64_t rows, std::int32_t* noted, std::int32_t whole,
                              double* out, std::uint64_t* refused, RowList on_edges,
                              RowList others) {
  const std::int64_t i = thread_row();
  if (i >= rows) return;
  const std::int64_t row = order[i];
  const Vec3 p = points[row];
  const PointKind kind = kind_of(p);
  if (kind != PointKind::finite) {
    const double missing = HUGE_VAL - HUGE_VAL;
    write({{missing, {missing, missing, missing}}, -1}, row, whole, out);
    if (kind == PointKind::too_far) refuse(row, refused);
    return;
  }
  double most = HUGE_VAL, least[kMostNoted];
  std::uint32_t parts = 0;
  int count = 0;
  for (; count < kMostNoted; ++count) {
    const std::int32_t triangle = noted[count * rows + i];
    if (triangle < 0) break;
    const TriangleReach reach = reach_of(mesh.triangle(triangle), p);
    most = minimum(most, reach.most);
    least[count] = reach.least;
    parts |= reach.parts << 4 * count;
  }
  if (count == 0) return;  // the list was too short
  Left left;
  for (int k = 0; k < count; ++k) {
    if (!(least[k] <= most)) continue;
    left.add(mesh, noted[k * rows + i], parts >> 4 * k & kEveryPart);
  }
  if (left.count == 1 && left.inside >= 0) {
    const Triangle t = mesh.triangle(left.inside);
    write({foot_on(t, p, kFace), left.inside}, row, whole, out);
  } else if (left.has_one_edge) {
    noted[i] = left.lowest, noted[rows + i] = left.edge_low, noted[2 * rows + i] = left.edge_high;
    on_edges.append(static_cast<std::uint32_t>(i));
  } else {
    others.append(static_cast<std::uint32_t>(i));
  }
}

extern "C" __global__ void geodomain_distance_edges(MeshView mesh, PointsView points,
                                                    const std::uint32_t* order, std::int64_t rows,
                                                    const std::int32_t* noted, std::int32_t whole,
                                                    double* out, RowList on_edges) {
  share(*on_edges.count, [&](std::uint32_t place) {
    const std::uint32_t i = on_edges.rows[place], row = order[i];
    const Vec3 a = mesh.vertex(noted[rows + i]), b = mesh.vertex(noted[2 * rows + i]);
    write({foot_on_edge(a, b, points[row]), noted[i]}, row, whole, out);
  });
}

// Decides among the listed triangles.
extern "C" __global__ void __launch_bounds__(kBlockThreads, 4)
    geodomain_distance_others(MeshView mesh, PointsView points, const std::uint32_t* order,
                              std::int64_t rows, const std::int32_t* noted, std::int32_t whole,
                              double* out, RowList others) {
  share(*others.count, [&](std::uint32_t place) {
    const std::uint32_t i = others.rows[place], row = order[i];
    const Vec3 p = points[row];
    Noted few[kMostNoted];
    int count = 0;
    while (count < kMostNoted && (few[count].triangle = noted[count * rows + i]) >= 0) ++count;
    write(nearest_of(mesh, p, few, count, {{HUGE_VAL, p}, -1}), row, whole, out);
  });
}

// Searches again for points whose list was too short, and decides during the search.
extern "C" __global__ void geodomain_distance_rest(NearestView view, PointsView points,
                                                   const std::uint32_t* order, std::int64_t rows,
                                                   const std::int32_t* noted, std::int32_t whole,
                                                   double* out) {
  __shared__ OpenBox open[kBlockWarps][kMostOpen];
  const std::int64_t i = thread_row();
  const bool asks = i < rows && noted[i] == kNoRoom;
  if (!Warp::any(asks)) return;
  const std::int64_t row = asks ? order[i] : 0;
  Noted few[kMostNoted];
  NearestWalk<Warp, true> walk(view, open[threadIdx.x / 32], few, asks ? points[row] : Vec3{},
                               asks);
  walk.go();
  if (asks) write(walk.result(), row, whole, out);
}
