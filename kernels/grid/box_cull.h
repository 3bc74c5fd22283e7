// Which of many boxes may hold a point: a coarse lattice of cells, each with the boxes
// that touch it. Indices are monotone, so a box that a cell leaves out holds no point
// of it; a point costs a look at its own cell, however many boxes there are. Host only.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "grid/frame.h"

namespace geodomain {

class BoxCull {
 public:
  explicit BoxCull(const std::vector<Bounds>& boxes) : frame_(frame_of(boxes)) {
    const auto cells = static_cast<std::size_t>(frame_.x.cells) * frame_.y.cells * frame_.z.cells;
    starts_.assign(cells + 1, 0);
    for (const Bounds& box : boxes) {
      each_cell(box, [&](std::size_t cell) { ++starts_[cell + 1]; });
    }
    for (std::size_t cell = 0; cell < cells; ++cell) starts_[cell + 1] += starts_[cell];
    members_.resize(static_cast<std::size_t>(starts_[cells]));
    std::vector<std::int64_t> next(starts_.begin(), starts_.end() - 1);
    for (std::size_t code = 0; code < boxes.size(); ++code) {
      each_cell(boxes[code], [&](std::size_t cell) {
        members_[static_cast<std::size_t>(next[cell]++)] = static_cast<std::int32_t>(code);
      });
    }
  }

  // body(code) for the boxes that may hold the point, in ascending order, until it is true.
  template <class Body>
  void find(Vec3 q, Body&& body) const {
    const std::size_t cell = cell_at(frame_.x.index(q.x), frame_.y.index(q.y), frame_.z.index(q.z));
    for (std::int64_t i = starts_[cell]; i < starts_[cell + 1]; ++i) {
      if (body(members_[static_cast<std::size_t>(i)])) return;
    }
  }

 private:
  static Frame frame_of(const std::vector<Bounds>& boxes) {
    const double per_axis = std::ceil(8.0 * std::sqrt(static_cast<double>(boxes.size())));
    const double cells = boxes.size() < 2 ? 1.0 : std::min(64.0, per_axis);
    const auto axis = [&](double Vec3::* along, double count) {
      double low = HUGE_VAL, high = -HUGE_VAL;
      for (const Bounds& box : boxes) {
        if (std::isfinite(box.low.*along)) low = std::min(low, box.low.*along);
        if (std::isfinite(box.high.*along)) high = std::max(high, box.high.*along);
      }
      return make_axis(low, high, count, std::max(std::fabs(low), std::fabs(high)));
    };
    return {axis(&Vec3::x, cells), axis(&Vec3::y, cells), axis(&Vec3::z, std::min(cells, 8.0))};
  }

  std::size_t cell_at(std::int32_t x, std::int32_t y, std::int32_t z) const {
    return (static_cast<std::size_t>(z) * frame_.y.cells + y) * frame_.x.cells + x;
  }

  // A mesh without a triangle has a box from +inf to -inf, and is in no cell.
  template <class Body>
  void each_cell(const Bounds& box, const Body& body) const {
    if (!(box.low.x <= box.high.x)) return;
    const Axis &x = frame_.x, &y = frame_.y, &z = frame_.z;
    for (std::int32_t k = z.index(box.low.z); k <= z.index(box.high.z); ++k) {
      for (std::int32_t j = y.index(box.low.y); j <= y.index(box.high.y); ++j) {
        for (std::int32_t i = x.index(box.low.x); i <= x.index(box.high.x); ++i) {
          body(cell_at(i, j, k));
        }
      }
    }
  }

  Frame frame_;
  std::vector<std::int64_t> starts_;
  std::vector<std::int32_t> members_;
};

}  // namespace geodomain
