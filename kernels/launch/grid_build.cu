// Builds the grid on the GPU: add up, choose, count, scan, scatter. Atomic operations order the
// entries of a cell, and no answer depends on this order. Overfull cells and long triangles need
// the host: `Plan` says if the host has to build instead.
#include "grid/device_build.h"
#include "platform/arithmetic.h"
#include "platform/warp.h"

using namespace geodomain;

namespace {

constexpr int kWarps = kBuildThreads / 32;
constexpr std::int32_t kLarge = 64;  // cells that are too many for one thread

// The sum over a block, for its first thread; always added up in the same order.
__device__ double sum_block(double value, double* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = kBuildThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  const double sum = shared[0];
  __syncthreads();
  return sum;
}

__device__ Extent sum_block(const Extent& own) {
  __shared__ double shared[kBuildThreads];
  Extent sum;
  sum.width = sum_block(own.width, shared);
  sum.height = sum_block(own.height, shared);
  sum.area = sum_block(own.area, shared);
  return sum;
}

struct Samples {
  double x, y;
};

__device__ Samples samples_of(const Building& b, std::int32_t i, std::int32_t j) {
  const Frame& frame = b.plan->frame;
  return {cell_sample(frame.x, i, b.bounds.low.x, b.bounds.high.x),
          cell_sample(frame.y, j, b.bounds.low.y, b.bounds.high.y)};
}

__device__ std::int64_t cell_of(const Frame& frame, std::int32_t i, std::int32_t j) {
  return static_cast<std::int64_t>(j) * frame.x.cells + i;
}

__device__ void count_in(const Building& b, std::int32_t index, const Triangle& t,
                         const Footprint& box, bool wall, std::int32_t i, std::int32_t j) {
  const std::int64_t cell = cell_of(b.plan->frame, i, j);
  atomicAdd(b.counts + 2 * cell + wall, 1u);
  const Samples sample = samples_of(b, i, j);
  if (!mark<Quick>(b.slabs[cell], t, box, sample.x, sample.y)) {
    const std::uint32_t slot = atomicAdd(&b.plan->unsure_count, 1u);
    if (slot < b.mesh.triangle_count) b.unsure[slot] = {index, i, j};
  }
}

__device__ void put_in(const Building& b, Entry* entries, const Entry& entry, bool wall,
                       std::int32_t i, std::int32_t j) {
  const std::int64_t cell = cell_of(b.plan->frame, i, j);
  entries[atomicAdd(b.counts + 2 * cell + wall, 1u)] = entry;
}

// Calls visit(index, triangle, box, i, j) for each cell of the large triangles; warps share the
// rows, and lanes the columns.
template <class Visit>
__device__ void for_large(const Building& b, Visit&& visit) {
  const Frame frame = b.plan->frame;
  const int warp = static_cast<int>(blockIdx.y) * kWarps + static_cast<int>(threadIdx.x) / 32;
  const int warps = static_cast<int>(gridDim.y) * kWarps;
  for (std::uint32_t k = blockIdx.x; k < b.plan->large_count; k += gridDim.x) {
    const std::int32_t index = b.large[k];
    const Triangle t = b.mesh.triangle(index);
    const Footprint box = box_footprint(frame, t);
    for (std::int32_t j = box.j0 + warp; j <= box.j1; j += warps) {
      const Run run = row_run(frame, t, box, j);
      for (std::int32_t i = run.i0 + lane(); i <= run.i1; i += 32) visit(index, t, box, i, j);
    }
  }
}

__device__ bool is_large(const Footprint& box) {
  return static_cast<std::int64_t>(box.i1 - box.i0 + 1) * (box.j1 - box.j0 + 1) > kLarge;
}

// The sum of the values of all earlier threads in the block, and in `total` the sum of all.
__device__ std::uint32_t scan_block(std::uint32_t value, std::uint32_t& total) {
  __shared__ std::uint32_t of_warp[32];
  std::uint32_t sum = value;
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t lower = shuffle_up(sum, step);
    if (lane() >= step) sum += lower;
  }
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (lane() == 31) of_warp[warp] = sum;
  __syncthreads();
  std::uint32_t before = 0;
  total = 0;
  for (int w = 0; w < static_cast<int>(blockDim.x) / 32; ++w) {
    if (w < warp) before += of_warp[w];
    total += of_warp[w];
  }
  __syncthreads();
  return before + sum - value;
}

}  // namespace

extern "C" __global__ void geodomain_build_extents(Building b, Extent* partial) {
  Extent own;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kBuildThreads;
  for (std::int64_t i = thread_row(); i < b.mesh.triangle_count; i += step) {
    own.add(extent_within(b.bounds, b.mesh.triangle(i)));
  }
  const Extent sum = sum_block(own);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// One block.
extern "C" __global__ void geodomain_build_plan(Building b, const Extent* partial,
                                                std::int32_t partials, double density) {
  Extent own;
  for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < partials; i += kBuildThreads) {
    own.add(partial[i]);
  }
  const Extent total = sum_block(own);
  if (threadIdx.x != 0) return;
  const Load load = {total, maximum(static_cast<double>(b.mesh.triangle_count), 1.0), b.bounds,
                     density, true};
  const Resolution resolution = load.coarse_enough();
  Plan& plan = *b.plan;
  plan.frame = resolution.frame(b.bounds, magnitude_of(b.bounds));
  plan.cell_count = static_cast<std::uint32_t>(plan.frame.x.cells) *
                    static_cast<std::uint32_t>(plan.frame.y.cells);
  plan.crowds = load.crowds(resolution);
  plan.entry_count = plan.longest = plan.unsure_count = plan.large_count = 0;
}

extern "C" __global__ void __launch_bounds__(kBuildThreads) geodomain_build_count(Building b) {
  const std::int64_t row = thread_row();
  if (row >= b.mesh.triangle_count || b.plan->crowds) return;
  const auto index = static_cast<std::int32_t>(row);
  const Frame frame = b.plan->frame;
  const Triangle t = b.mesh.triangle(index);
  const Footprint box = box_footprint(frame, t);
  const bool wall = is_vertical<Quick>(t);
  b.stamps[index] = make_stamp(frame, box, wall);
  if (is_large(box)) {
    b.large[atomicAdd(&b.plan->large_count, 1u)] = index;
    return;
  }
  visit_rows(frame, t, box, [&](std::int32_t j, std::int32_t i0, std::int32_t i1) {
    for (std::int32_t i = i0; i <= i1; ++i) count_in(b, index, t, box, wall, i, j);
  });
}

extern "C" __global__ void __launch_bounds__(kBuildThreads)
    geodomain_build_count_large(Building b) {
  for_large(b, [&](std::int32_t index, const Triangle& t, const Footprint& box, std::int32_t i,
                   std::int32_t j) { count_in(b, index, t, box, b.stamps[index].wall, i, j); });
}

extern "C" __global__ void geodomain_build_mark_full(Building b) {
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x; k < b.plan->unsure_count;
       k += step) {
    if (k >= b.mesh.triangle_count) return;
    const Marking pair = b.unsure[k];
    const Samples sample = samples_of(b, pair.i, pair.j);
    mark_crossing<Full>(b.slabs[cell_of(b.plan->frame, pair.i, pair.j)],
                        b.mesh.triangle(pair.triangle), b.stamps[pair.triangle].low, sample.x,
                        sample.y);
  }
}

// Counts the entries of each block's cells.
extern "C" __global__ void geodomain_build_sums(Building b, std::uint32_t* sums) {
  std::uint32_t own = 0;
  const std::uint32_t first = (blockIdx.x * kBuildThreads + threadIdx.x) * kScannedCells;
  for (std::uint32_t cell = first; cell < first + kScannedCells && cell < b.plan->cell_count;
       ++cell) {
    own += b.counts[2 * cell] + b.counts[2 * cell + 1];
  }
  std::uint32_t total;
  scan_block(own, total);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// One block: the number of entries before each block's cells.
extern "C" __global__ void geodomain_build_offsets(Building b, std::uint32_t* sums,
                                                   std::uint32_t blocks) {
  std::uint32_t before = 0;
  for (std::uint32_t first = 0; first < blocks; first += blockDim.x) {
    const std::uint32_t k = first + threadIdx.x;
    std::uint32_t total;
    const std::uint32_t offset = scan_block(k < blocks ? sums[k] : 0, total);
    if (k < blocks) sums[k] = before + offset;
    before += total;
  }
  if (threadIdx.x == 0) {
    b.plan->entry_count = before;
    b.lists[b.plan->cell_count] = {before, 0};
  }
}

// Where the entries of each cell begin. A cell without a sample has no label.
extern "C" __global__ void geodomain_build_lists(Building b, const std::uint32_t* offsets) {
  std::uint32_t count[kScannedCells][2], own = 0, longest = 0, total;
  const std::uint32_t first = (blockIdx.x * kBuildThreads + threadIdx.x) * kScannedCells;
  const std::uint32_t cells = b.plan->cell_count;
  for (int k = 0; k < kScannedCells; ++k) {
    for (int wall = 0; wall < 2; ++wall) {
      count[k][wall] = first + k < cells ? b.counts[2 * (first + k) + wall] : 0;
      own += count[k][wall];
    }
    longest = count[k][0] > longest ? count[k][0] : longest;
  }
  std::uint32_t start = offsets[blockIdx.x] + scan_block(own, total);
  const std::uint32_t columns = static_cast<std::uint32_t>(b.plan->frame.x.cells);
  for (int k = 0; k < kScannedCells && first + k < cells; ++k) {
    const std::uint32_t cell = first + k;
    b.lists[cell] = {start, static_cast<std::int32_t>(count[k][0])};
    b.counts[2 * cell] = start;
    b.counts[2 * cell + 1] = start + count[k][0];
    start += count[k][0] + count[k][1];
    const Samples sample = samples_of(b, static_cast<std::int32_t>(cell % columns),
                                      static_cast<std::int32_t>(cell / columns));
    if (isnan(sample.x) || isnan(sample.y)) b.slabs[cell].occupied = ~std::uint64_t{0};
  }
  if (longest > 32) atomicMax(&b.plan->longest, longest);
}

extern "C" __global__ void __launch_bounds__(kBuildThreads)
    geodomain_build_scatter(Building b, Entry* entries) {
  const std::int64_t row = thread_row();
  if (row >= b.mesh.triangle_count) return;
  const auto index = static_cast<std::int32_t>(row);
  const Frame frame = b.plan->frame;
  const Stamp stamp = b.stamps[index];
  const Entry entry = {index, stamp.low, stamp.high};
  if (!stamp.large) {
    for (int k = 0; k < stamp.rows; ++k) {
      for (int i = 0; i < stamp.columns; ++i) {
        const std::int64_t cell = stamp.cell + static_cast<std::int64_t>(k) * frame.x.cells + i;
        entries[atomicAdd(b.counts + 2 * cell + stamp.wall, 1u)] = entry;
      }
    }
    return;
  }
  const Triangle t = b.mesh.triangle(index);
  const Footprint box = box_footprint(frame, t);
  if (is_large(box)) return;
  visit_rows(frame, t, box, [&](std::int32_t j, std::int32_t i0, std::int32_t i1) {
    for (std::int32_t i = i0; i <= i1; ++i) put_in(b, entries, entry, stamp.wall, i, j);
  });
}

extern "C" __global__ void __launch_bounds__(kBuildThreads)
    geodomain_build_scatter_large(Building b, Entry* entries) {
  for_large(b, [&](std::int32_t index, const Triangle&, const Footprint&, std::int32_t i,
                   std::int32_t j) {
    const Stamp stamp = b.stamps[index];
    put_in(b, entries, {index, stamp.low, stamp.high}, stamp.wall, i, j);
  });
}
