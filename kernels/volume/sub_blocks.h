// Sub-blocks: finds where a mesh cuts a block, joins boxes into fewer boxes, and shows that no
// boxes overlap. Host only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "exact/enters.h"
#include "topology/box_tree.h"
#include "volume/prism.h"

namespace geodomain {

// The blocks that a triangle enters, and the heights at which sheets of the mesh cut a block's
// plan.

class Boundary {
 public:
  explicit Boundary(const MeshView& mesh) : mesh_(mesh), tree_(leaves_of(mesh)) {}

  // Whether a triangle has a point strictly inside the block.
  bool enters_block(const Block& block) const {
    bool hit = false;
    tree_.visit_met({block.low, block.high}, [&](std::int32_t i) {
      hit = enters(mesh_.triangle(i), block);
      return !hit;
    });
    return hit;
  }

  const MeshView& mesh() const { return mesh_; }
  const BoxTree& tree() const { return tree_; }

 private:
  static std::vector<BoxTree::Leaf> leaves_of(const MeshView& mesh) {
    std::vector<BoxTree::Leaf> leaves(static_cast<std::size_t>(mesh.triangle_count));
    for (std::int32_t i = 0; i < mesh.triangle_count; ++i) {
      leaves[static_cast<std::size_t>(i)] = {box_of(mesh.triangle(i)), i};
    }
    return leaves;
  }

  const MeshView mesh_;
  const BoxTree tree_;
};

// The heights at which a block is cut. A sheet is a set of triangles that are joined by edges and
// face alike, up or down. It spans a block if its part in the block covers the block's plan once,
// so that it leaves through no roof or floor and has no rim there: then its mean height cuts the
// block into the volumes below and above it. Rounding affects only whether it covers, within 1e-9.
class SeamFinder {
 public:
  explicit SeamFinder(const Boundary& boundary) : boundary_(boundary) {}

  // A height strictly inside the block for each crossing of the vertical line through its centre:
  // the sheet's mean height if the sheet spans the block, else the crossing's height; ascending.
  void find(const Block& block, std::vector<double>& heights) {
    heights.clear();
    take(block);
    const double x = block.low.x + (block.high.x - block.low.x) / 2;
    const double y = block.low.y + (block.high.y - block.low.y) / 2;
    bool joined = false;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Triangle t = boundary_.mesh().triangle(parts_[i].triangle);
      const int sign = crossing_sign<Full>(t, x, y);
      if (sign != 1 && sign != -1) continue;
      double height = height_at(t, x, y);
      if (!(height > block.low.z && height < block.high.z)) continue;
      if (!joined) join();
      joined = true;
      const Part& sheet = parts_[root(i)];
      const double plan = (block.high.x - block.low.x) * (block.high.y - block.low.y);
      if (std::fabs(sheet.area / plan - 1.0) <= 1e-9) {
        height = block.low.z + sheet.volume / sheet.area;
      }
      heights.push_back(height);
    }
    std::sort(heights.begin(), heights.end());
  }

 private:
  struct Part {
    std::int32_t triangle;
    std::size_t sheet;
    double area, volume;  // of the sheet, at its root; both positive
    int sign;
  };
  struct Edge {
    std::int32_t from, to;
    int sign;
    std::size_t part;
    bool joins(const Edge& other) const {
      return from == other.from && to == other.to && sign == other.sign;
    }
    bool operator<(const Edge& other) const {
      if (from != other.from) return from < other.from;
      if (to != other.to) return to < other.to;
      return sign != other.sign ? sign < other.sign : part < other.part;
    }
  };

  // Stores the triangles that meet the block, each with its part in the block.
  void take(const Block& block) {
    parts_.clear();
    triangles_.clear();
    boundary_.tree().visit_met({block.low, block.high}, [&](std::int32_t i) {
      triangles_.push_back(i);
      return true;
    });
    std::sort(triangles_.begin(), triangles_.end());
    for (const std::int32_t i : triangles_) {
      const Integral sum = within(boundary_.mesh().triangle(i), block);
      parts_.push_back({i, parts_.size(), std::fabs(sum.area), std::fabs(sum.volume),
                        sum.area > 0.0   ? 1
                        : sum.area < 0.0 ? -1
                                         : 0});
    }
  }

  static Integral within(const Triangle& t, const Block& block) {
    const double sides[3] = {block.high.x - block.low.x, block.high.y - block.low.y,
                             block.high.z - block.low.z};
    Polygon rest, above;
    for (const Vec3& p : {t.a, t.b, t.c}) {
      rest.put({p.x - block.low.x, p.y - block.low.y, p.z - block.low.z});
    }
    for (int axis = 0; axis < 3 && rest.count > 0; ++axis) {
      clip(rest, axis, 0.0, true, above);
      clip(above, axis, sides[axis], false, rest);
    }
    return rest.count > 0 ? integrate(rest, 0.0) : Integral{0.0, 0.0};
  }

  void join() {
    edges_.clear();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].sign == 0) continue;
      const std::int32_t* corner = boundary_.mesh().triangles + 3 * parts_[i].triangle;
      for (int k = 0; k < 3; ++k) {
        const std::int32_t p = corner[k], q = corner[(k + 1) % 3];
        edges_.push_back({std::min(p, q), std::max(p, q), parts_[i].sign, i});
      }
    }
    std::sort(edges_.begin(), edges_.end());
    for (std::size_t i = 1; i < edges_.size(); ++i) {
      if (!edges_[i].joins(edges_[i - 1])) continue;
      const std::size_t a = root(edges_[i - 1].part), b = root(edges_[i].part);
      if (a == b) continue;
      parts_[std::max(a, b)].sheet = std::min(a, b);
    }
    for (std::size_t i = parts_.size(); i-- > 0;) {  // a root comes before its members
      const std::size_t to = root(i);
      if (to == i) continue;
      parts_[to].area += parts_[i].area;
      parts_[to].volume += parts_[i].volume;
    }
  }

  std::size_t root(std::size_t part) const {
    while (parts_[part].sheet != part) part = parts_[part].sheet;
    return part;
  }

  // The height of a triangle's plane, limited to the triangle's own range.
  static double height_at(const Triangle& t, double x, double y) {
    const double adx = t.a.x - x, ady = t.a.y - y, bdx = t.b.x - x, bdy = t.b.y - y;
    const double cdx = t.c.x - x, cdy = t.c.y - y;
    const double bc = bdx * cdy - bdy * cdx, ca = cdx * ady - cdy * adx, ab = adx * bdy - ady * bdx;
    const double low = bottom(t);
    const double above =
        ((t.a.z - low) * bc + (t.b.z - low) * ca + (t.c.z - low) * ab) / (bc + ca + ab);
    return minimum(maximum(low + above, low), top(t));
  }

  const Boundary& boundary_;
  std::vector<std::int32_t> triangles_;
  std::vector<Part> parts_;
  std::vector<Edge> edges_;
};

// Joins boxes that tile a parent block to fewer: boxes with the same key that share a whole face
// become one. Coordinates are indices into a list of faces, so that equality is exact.
//
// Runs of boxes are joined along one axis, then the next, then the last, and again until none
// joins, in each of the six orders of the axes; the first order that leaves the fewest boxes is
// used. Joining never increases their number, so there are never more boxes than runs along the
// best axis.

struct JoinedBox {
  std::int32_t low[3], high[3];
  std::int32_t key;    // boxes with different keys are not joined
  std::int32_t first;  // the lowest index of the boxes it consists of
};

class BoxJoiner {
 public:
  // Joins boxes, each of which is initially its own `first`. `owner[i]`: the `first` of the box
  // that contains i. The remaining boxes are in the order of their `first`.
  void join(std::vector<JoinedBox>& boxes, std::vector<std::int32_t>& owner) {
    static constexpr int kOrders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    std::vector<JoinedBox> best = boxes;
    best_owner_.resize(boxes.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) best_owner_[i] = boxes[i].first;
    for (const auto& order : kOrders) {
      if (best.size() < 2) break;
      left_ = boxes;
      owner_.resize(boxes.size());
      for (std::size_t i = 0; i < boxes.size(); ++i) owner_[i] = boxes[i].first;
      join_in(order);
      if (left_.size() >= best.size()) continue;
      best = left_;
      best_owner_ = owner_;
    }
    for (std::int32_t& owner : best_owner_) owner = root(best_owner_, owner);
    boxes = best;
    std::sort(boxes.begin(), boxes.end(),
              [](const JoinedBox& a, const JoinedBox& b) { return a.first < b.first; });
    owner = best_owner_;
  }

 private:
  void join_in(const int (&order)[3]) {
    for (std::size_t before = left_.size() + 1; left_.size() < before;) {
      before = left_.size();
      for (const int axis : order) join_along(axis);
    }
  }

  void join_along(int axis) {
    const int u = (axis + 1) % 3, v = (axis + 2) % 3;
    const auto side = [=](const JoinedBox& a, const JoinedBox& b) {  // -1, 0, 1
      const std::int32_t mine[] = {a.key, a.low[u], a.high[u], a.low[v], a.high[v]};
      const std::int32_t theirs[] = {b.key, b.low[u], b.high[u], b.low[v], b.high[v]};
      for (int k = 0; k < 5; ++k) {
        if (mine[k] != theirs[k]) return mine[k] < theirs[k] ? -1 : 1;
      }
      return 0;
    };
    std::sort(left_.begin(), left_.end(), [&](const JoinedBox& a, const JoinedBox& b) {
      const int order = side(a, b);
      if (order != 0) return order < 0;
      return a.low[axis] != b.low[axis] ? a.low[axis] < b.low[axis] : a.first < b.first;
    });
    std::size_t last_place = 0;
    for (std::size_t i = 1; i < left_.size(); ++i) {
      JoinedBox& last = left_[last_place];
      const JoinedBox& next = left_[i];
      if (last.high[axis] == next.low[axis] && side(last, next) == 0) {
        const std::int32_t first = std::min(last.first, next.first);
        owner_[static_cast<std::size_t>(std::max(last.first, next.first))] = first;
        last.high[axis] = next.high[axis];
        last.first = first;
      } else {
        left_[++last_place] = next;
      }
    }
    left_.resize(left_.empty() ? 0 : last_place + 1);
  }

  static std::int32_t root(const std::vector<std::int32_t>& owner, std::int32_t index) {
    while (owner[static_cast<std::size_t>(index)] != index)
      index = owner[static_cast<std::size_t>(index)];
    return index;
  }

  std::vector<JoinedBox> left_;
  std::vector<std::int32_t> owner_, best_owner_;
};

// Fills cells of a lattice with blocks, to show that no two blocks overlap. The cells lie between
// `planes`, which are strictly increasing; faces of blocks must lie on planes, apart from `slack`.

enum class Fill { kOnce = 0, kTwice = 1, kOffPlanes = 2 };

class CellFiller {
 public:
  CellFiller(const double* const planes[3], const std::int64_t counts[3], const double slack[3],
             std::uint64_t* filled)
      : axes_{{planes[0], counts[0], slack[0]},
              {planes[1], counts[1], slack[1]},
              {planes[2], counts[2], slack[2]}},
        filled_(filled) {}

  // `block`: centroid and sizes. Every cell is filled at most once before a block stops the search,
  // so the work is bounded by the number of cells.
  Fill fill(const double* block) {
    std::int64_t low[3], high[3];
    for (int axis = 0; axis < 3; ++axis) {
      const double half = 0.5 * block[3 + axis];
      low[axis] = axes_[axis].find(block[axis] - half);
      high[axis] = axes_[axis].find(block[axis] + half);
      if (low[axis] < 0 || high[axis] <= low[axis]) return Fill::kOffPlanes;
    }
    for (std::int64_t x = low[0]; x < high[0]; ++x) {
      for (std::int64_t y = low[1]; y < high[1]; ++y) {
        const std::int64_t row = (x * (axes_[1].count - 1) + y) * (axes_[2].count - 1);
        if (!fill_row(row + low[2], row + high[2])) return Fill::kTwice;
      }
    }
    return Fill::kOnce;
  }

 private:
  // Planes, and the first plane in each of many equal intervals.
  struct Axis {
    Axis(const double* values, std::int64_t size, double rounding)
        : planes(values),
          count(size),
          slack(rounding),
          last(static_cast<double>(4 * size)),
          per_unit(last / (values[size - 1] - values[0])),
          first(static_cast<std::size_t>(4 * size) + 2, size) {
      std::size_t filled = 0;
      for (std::int64_t i = 0; i < size; ++i) {
        for (const std::size_t at = interval(planes[i]); filled <= at; ++filled) first[filled] = i;
      }
    }

    std::size_t interval(double value) const {  // never decreases with the value; 0 for NaN
      const double at = (value - planes[0]) * per_unit;
      return at > 0.0 ? static_cast<std::size_t>(std::min(at, last)) : 0;
    }

    std::int64_t find(double value) const {  // the plane at a value, or -1
      const std::size_t at = interval(value - slack);
      const double* const end = planes + first[at + 1];
      const double* const plane = std::lower_bound(planes + first[at], end, value - slack);
      return plane != planes + count && *plane <= value + slack ? plane - planes : -1;
    }

    const double* planes;
    std::int64_t count;
    double slack, last, per_unit;
    std::vector<std::int64_t> first;
  };

  // Fills cells from begin to end - 1; false if one is filled already.
  bool fill_row(std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const int bit = static_cast<int>(begin % 64);
      const int count = static_cast<int>(std::min<std::int64_t>(end - begin, 64 - bit));
      const std::uint64_t mask = (~std::uint64_t{0} >> (64 - count)) << bit;
      std::uint64_t& word = filled_[begin / 64];
      if (word & mask) return false;
      word |= mask;
      begin += count;
    }
    return true;
  }

  Axis axes_[3];
  std::uint64_t* filled_;
};

}  // namespace geodomain
