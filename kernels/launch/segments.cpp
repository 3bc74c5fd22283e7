// Queries of segments on the CPU: loops over segments.
#include <algorithm>
#include <cmath>

#include "bvh/batches.h"
#include "bvh/bins.h"
#include "bvh/host.h"
#include "bvh/queries.h"
#include "platform/arithmetic.h"
#include "platform/c_function.h"
#include "platform/float_guard.h"
#include "platform/thread_team.h"

using namespace geodomain;

namespace {

constexpr std::int64_t kSegmentsToPiece = 2048;  // segments in a piece of work

// Runs piece(begin, end) over all rows by several threads.
template <class Piece>
Status each_piece(std::int64_t rows, int threads, Piece&& piece) {
  return guarded([&] {
    Team team(rows > kSegmentsToPiece ? threads : 1);
    team.run(rows, kSegmentsToPiece,
             [&](std::int64_t begin, std::int64_t end, int) { piece(begin, end); });
  });
}

// The index of a surface: a hierarchy, or the box of every triangle.
struct HostSurface {
  std::unique_ptr<HostBvh> bvh;
  std::vector<Box> boxes;
  BruteView brute;
};

// A separate function, so that compilers optimise the code for short segments in the same way.
template <class Question, class Make, class Done>
GD_NOINLINE void ask_long(const BatchView& bvh, std::int64_t begin, std::int64_t end,
                          const double* ends, Make&& make, Done&& done) {
  LongSegments<Question>(bvh).ask(begin, end, ends, make, done);
}

// Runs one query for each segment: make(row), then done(row, question).
template <class Question, class Make, class Done>
Status ask_bvh(const BatchView& bvh, const double* ends, std::int64_t rows, int threads,
               Make&& make, Done&& done) {
  return each_piece(rows, threads, [&](std::int64_t begin, std::int64_t end) {
    if constexpr (kEndsEarly<Question>) {
      if (are_long(bvh.frame, ends, begin, end)) {
        return ask_long<Question>(bvh, begin, end, ends, make, done);
      }
    }
    ShortSegments<Question>(bvh).ask(begin, end, ends, make, done);
  });
}

// The same by brute force: every triangle whose box the segment meets.
template <class Make, class Done>
Status ask_each(const BruteView& brute, const double* ends, std::int64_t rows, int threads,
                Make&& make, Done&& done) {
  return each_piece(rows, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      auto question = make(row);
      ask_brute(brute, segment_of(ends, row), question);
      done(row, question);
    }
  });
}

template <class Question, class Make, class Done>
Status ask_rows(const void* handle, const double* ends, std::int64_t rows, int threads, Make&& make,
                Done&& done) {
  const HostSurface& surface = *static_cast<const HostSurface*>(handle);
  return surface.bvh ? ask_bvh<Question>(surface.bvh->view(), ends, rows, threads, make, done)
                     : ask_each(surface.brute, ends, rows, threads, make, done);
}

}  // namespace

GD_API Status geodomain_surface_create(const double* vertices, const std::int32_t* triangles,
                                       std::int64_t triangle_count, const double* bounds, int brute,
                                       int threads, double* times, void** handle) {
  return guarded([&] {
    FloatGuard guard;
    const MeshView mesh = {vertices, triangles, triangle_count};
    const Bounds box = {{bounds[0], bounds[1], bounds[2]}, {bounds[3], bounds[4], bounds[5]}};
    Team team(triangle_count > kSegmentsToPiece ? threads : 1);
    std::unique_ptr<HostSurface> surface(new HostSurface);
    BuildTimes took;
    if (brute) {
      const BoxFrame frame = triangle_count > 0 ? make_frame(box) : BoxFrame{};
      took.boxes = seconds_of([&] { surface->boxes = make_boxes(mesh, frame, team); });
      surface->brute = {mesh, surface->boxes.data(), frame};
    } else {
      surface->bvh.reset(new HostBvh(mesh, box, team));
      took = surface->bvh->times();
    }
    const double values[4] = {took.boxes, took.codes, took.sort, took.tree};
    std::copy(values, values + 4, times);
    *handle = surface.release();
  });
}
GD_DESCRIBE(geodomain_surface_create);

GD_API std::int64_t geodomain_surface_bytes(const void* handle) {
  const HostSurface& surface = *static_cast<const HostSurface*>(handle);
  if (surface.bvh) return surface.bvh->bytes();
  return static_cast<std::int64_t>(surface.boxes.size() * sizeof(Box));
}
GD_DESCRIBE(geodomain_surface_bytes);

GD_API void geodomain_surface_free(void* handle) { delete static_cast<HostSurface*>(handle); }
GD_DESCRIBE(geodomain_surface_free);

// The frame of some bounds, for a surface on a device.
GD_API void geodomain_surface_frame(const double* bounds, BoxFrame* frame) {
  FloatGuard guard;
  *frame = make_frame({{bounds[0], bounds[1], bounds[2]}, {bounds[3], bounds[4], bounds[5]}});
}
GD_DESCRIBE(geodomain_surface_frame);

// The bins of a frame's box for this many rows.
GD_API void geodomain_bins_of(const BoxFrame* frame, std::int64_t rows, Bins* bins) {
  *bins = bins_of(*frame, rows);
}
GD_DESCRIBE(geodomain_bins_of);

// The nodes of a hierarchy, and the first node of each level with the end last, for inspection.
GD_API void geodomain_surface_nodes(const void* handle, const void** nodes,
                                    const std::int64_t** levels, std::int64_t* level_count,
                                    BoxFrame* frame) {
  const HostBvh& bvh = *static_cast<const HostSurface*>(handle)->bvh;
  *nodes = bvh.nodes().data();
  *levels = bvh.levels().data();
  *level_count = static_cast<std::int64_t>(bvh.levels().size()) - 1;
  *frame = bvh.view().frame;
}
GD_DESCRIBE(geodomain_surface_nodes);

// In all functions below `ends` is (rows, 6): start and end. A row of NaN crosses nothing.

GD_API Status geodomain_segments_boolean(const void* handle, const double* ends, std::int64_t rows,
                                         int threads, std::uint8_t* out) {
  return ask_rows<Any>(
      handle, ends, rows, threads, [](std::int64_t) { return Any{}; },
      [out](std::int64_t row, const Any& any) { out[row] = any.hit; });
}
GD_DESCRIBE(geodomain_segments_boolean);

GD_API Status geodomain_segments_count(const void* handle, const double* ends, std::int64_t rows,
                                       int threads, std::int32_t* out) {
  return ask_rows<Count>(
      handle, ends, rows, threads, [](std::int64_t) { return Count{}; },
      [out](std::int64_t row, const Count& all) { out[row] = all.count; });
}
GD_DESCRIBE(geodomain_segments_count);

// The crossed triangle with the smallest (t, index), or -1.
GD_API Status geodomain_segments_nearest(const void* handle, const double* ends, std::int64_t rows,
                                         int threads, std::int32_t* out) {
  const HostSurface& surface = *static_cast<const HostSurface*>(handle);
  if (surface.bvh) {
    return ask_bvh<NearestBySpans>(
        surface.bvh->view(), ends, rows, threads, [](std::int64_t) { return NearestBySpans{}; },
        [out](std::int64_t row, const NearestBySpans& best) { out[row] = best.triangle(); });
  }
  return ask_each(
      surface.brute, ends, rows, threads, [](std::int64_t) { return Nearest{}; },
      [out](std::int64_t row, const Nearest& nearest) { out[row] = nearest.triangle; });
}
GD_DESCRIBE(geodomain_segments_nearest);

// Every crossed triangle by (t, index); those of segment i are at offsets[i] to offsets[i + 1].
GD_API Status geodomain_segments_all(const void* handle, const double* ends, std::int64_t rows,
                                     int threads, const std::int64_t* offsets, Found* out) {
  return ask_rows<AllCrossings>(
      handle, ends, rows, threads,
      [=](std::int64_t row) { return AllCrossings{out + offsets[row]}; },
      [=](std::int64_t row, const AllCrossings&) {
        sort_found(out + offsets[row], offsets[row + 1] - offsets[row]);
      });
}
GD_DESCRIBE(geodomain_segments_all);

// The results of each hit: rows of t, u, v, distance, x, y, z.
GD_API Status geodomain_segments_describe(const double* vertices, const std::int32_t* triangles,
                                          std::int64_t triangle_count, const double* ends,
                                          const std::int64_t* segments, const std::int32_t* crossed,
                                          std::int64_t hits, int threads, double* out) {
  const MeshView mesh = {vertices, triangles, triangle_count};
  return each_piece(hits, threads, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t i = begin;
    for (; i + FourHits::kCount <= end; i += FourHits::kCount) {
      FourHits four;
      Hit hits[FourHits::kCount];
      for (int k = 0; k < FourHits::kCount; ++k) {
        four.put(k, segment_of(ends, segments[i + k]), mesh.triangle(crossed[i + k]));
      }
      four.describe(hits);
      for (int k = 0; k < FourHits::kCount; ++k) write_hit(hits[k], out + 7 * (i + k));
    }
    for (; i < end; ++i) {
      write_hit(describe(segment_of(ends, segments[i]), mesh.triangle(crossed[i])), out + 7 * i);
    }
  });
}
GD_DESCRIBE(geodomain_segments_describe);

// Segments as checked rows of six, from coordinates of 4 or 8 bytes each. `order` may be null.
// faults: the first row with an infinite end, or -1; the number of rows with a NaN; and the number
// of finite rows out of a mesh's range, which are marked. All of these become rows of NaN.
GD_API Status geodomain_segments_pack(const void* starts, const void* ends, std::int64_t size,
                                      const std::int64_t* order, std::int64_t rows, int threads,
                                      double* out, std::uint8_t* out_of_range,
                                      std::int64_t* faults) {
  LowestRow infinite;
  std::atomic<std::int64_t> missing{0}, extreme{0};
  const auto pack = [&](const auto* from, const auto* to) {
    return each_piece(rows, threads, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t missing_here = 0, extreme_here = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = order ? order[i] : i;
        double six[6];  // does not alias out, which halves the time
        std::copy_n(to + 3 * row, 3, std::copy_n(from + 3 * row, 3, six));
        const EndFault fault = pack_segment(six, six + 3, out + 6 * i);
        if (fault == EndFault::infinite) infinite.keep(row);
        missing_here += fault == EndFault::missing;
        extreme_here += fault == EndFault::extreme;
        out_of_range[i] = fault == EndFault::extreme;
      }
      missing += missing_here;
      extreme += extreme_here;
    });
  };
  const auto as = [&](auto kind) {
    using Kind = decltype(kind);
    return pack(static_cast<const Kind*>(starts), static_cast<const Kind*>(ends));
  };
  const Status status = size == 4 ? as(float{}) : as(double{});
  faults[0] = infinite.row();
  faults[1] = missing;
  faults[2] = extreme;
  return status;
}
GD_DESCRIBE(geodomain_segments_pack, 3);

// out[places[i]] = values[i], of 1, 4 or 8 bytes each; no place may occur twice.
GD_API Status geodomain_scatter(const void* values, std::int64_t size, const std::int64_t* places,
                                std::int64_t rows, int threads, void* out) {
  const auto scatter = [&](const auto* from, auto* to) {
    return each_piece(rows, threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[places[i]] = from[i];
    });
  };
  const auto as = [&](auto kind) {
    using Kind = decltype(kind);
    return scatter(static_cast<const Kind*>(values), static_cast<Kind*>(out));
  };
  if (size == 1) return as(std::uint8_t{});
  return size == 4 ? as(std::uint32_t{}) : as(std::uint64_t{});
}
GD_DESCRIBE(geodomain_scatter);

// The rows in the order of the Morton codes of their middles; equal codes in the order of rows. At
// most 2^31 - 1 rows.
GD_API Status geodomain_segments_order(const double* starts, const double* ends, std::int64_t rows,
                                       int threads, std::int32_t* order) {
  return guarded([&] {
    FloatGuard guard;
    Team team(rows > kSegmentsToPiece ? threads : 1);
    const auto middle = [&](std::int64_t row, int k) {
      return starts[3 * row + k] / 2 + ends[3 * row + k] / 2;
    };
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    for (std::int64_t row = 0; row < rows; ++row) {
      for (int k = 0; k < 3; ++k) {
        const double value = middle(row, k);
        if (!(std::fabs(value) <= kMostMagnitude)) continue;  // not a number, or refused later
        low[k] = minimum(low[k], value);
        high[k] = maximum(high[k], value);
      }
    }
    const BoxFrame frame = make_frame({{low[0], low[1], low[2]}, {high[0], high[1], high[2]}});
    std::vector<std::uint64_t> codes(static_cast<std::size_t>(rows));
    team.run(rows, 4096, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin; row < end; ++row) {
        Box point;
        for (int k = 0; k < 3; ++k) {
          point.low[k] = point.high[k] = static_cast<float>(frame.place(k, middle(row, k)));
        }
        codes[row] = code_of(frame, point);
        order[row] = static_cast<std::int32_t>(row);
      }
    });
    RadixSort(codes.data(), order, rows, team);
  });
}
GD_DESCRIBE(geodomain_segments_order);
