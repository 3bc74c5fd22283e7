// Queries of the grid on the GPU: one thread for each point. Two bits answer most points. Quick
// arithmetic counts crossings for the others, which are listed. Full arithmetic does so for the few
// that are still undecided, which are listed again. The lists are in any order; no answer depends
// on it.
#include "grid/codes.h"
#include "grid/sides.h"
#include "platform/row_list.h"
#include "platform/warp.h"

using namespace geodomain;

namespace {

// Distributes the rows of a list, whose length is on the device, over the threads of a launch.
template <class Body>
__device__ void for_listed(const std::uint32_t* rows, const std::uint32_t* row_count, Body&& body) {
  const std::uint32_t step = gridDim.x * blockDim.x, count = *row_count;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) body(rows[i]);
}

// Decides by floats first, and by Quick doubles if floats are uncertain: for cards with slow
// doubles.
__device__ int crossing_single(const GridView& grid, const SingleView& single,
                               std::int32_t triangle, Vec3 q) {
  const int crossing = single.crossing_above(grid.mesh, triangle, q);
  return crossing != kUnsure ? crossing : crossing_above<Quick>(grid.mesh.triangle(triangle), q);
}

// Entries to test for the points of a warp, each with the lane of its point.
struct Wanted {
  std::int32_t triangle[64];
  std::uint8_t lane[64];
};

// Like count_parity_by, for the points of all lanes together. Points need between one entry and
// dozens. So the entries of all points are collected, and each lane tests entries of any point.
template <class Crossing>
__device__ Answer count_together(const GridView& grid, Vec3 q, bool asks, Wanted& wanted,
                                 Crossing&& crossing_of) {
  Counting counting = {};
  if (asks) counting = counting_at(grid, q);
  std::uint32_t parities = 0, unsure = 0;  // a bit for each lane
  int held = 0;
  const auto count_last = [&](int some) {
    const bool works = lane() < some;
    const int place = held - some + lane(), of = works ? wanted.lane[place] : lane();
    const Vec3 at = {shuffle(q.x, of), shuffle(q.y, of), shuffle(q.z, of)};
    const int crossing = works ? crossing_of(wanted.triangle[place], at) : 0;
    const bool is_sure = crossing != kUnsure;
    parities ^= xor_in_warp(static_cast<std::uint32_t>(is_sure && (crossing & 1)) << of);
    unsure |= or_in_warp(static_cast<std::uint32_t>(!is_sure) << of);
    held -= some;
    sync_warp();
  };
  for (std::int32_t i = 0; geodomain::ballot(i < counting.list.count) != 0; ++i) {
    Entry entry = {};
    if (i < counting.list.count) entry = grid.entries[counting.list.start + i];
    const bool wants = i < counting.list.count && counting.wants(entry);
    const std::uint32_t votes = geodomain::ballot(wants);
    if (wants) {
      const int place = held + lanes_before(votes);
      wanted.triangle[place] = entry.triangle;
      wanted.lane[place] = static_cast<std::uint8_t>(lane());
    }
    held += count_bits(votes);
    sync_warp();
    if (held >= 32) count_last(32);
  }
  if (held > 0) count_last(held);
  if (unsure >> lane() & 1) return Answer::undecided;
  if (!asks) return Answer::outside;
  const int parity = counting.parity ^ static_cast<int>(parities >> lane() & 1);
  return with_long(grid, q, parity,
                   [&](std::int32_t triangle) { return crossing_of(triangle, q); });
}

// Writes the answers of listed rows, and lists the rows that are still undecided.
template <class Crossing>
__device__ void count_listed(const GridView& grid, const PointsView& points,
                             const std::uint32_t* rows, const std::uint32_t* row_count,
                             std::uint8_t* out, const RowList& unsure, Crossing&& crossing_of) {
  __shared__ Wanted wanted[kBlockWarps];
  const std::uint32_t step = gridDim.x * blockDim.x, count = *row_count;
  const std::uint32_t own = blockIdx.x * blockDim.x + threadIdx.x;
  for (std::uint32_t begin = own - lane(); begin < count; begin += step) {
    const bool asks = begin + lane() < count;
    const std::uint32_t row = asks ? rows[begin + lane()] : 0;
    const Vec3 q = asks ? points[row] : Vec3{};
    const Answer answer = count_together(grid, q, asks, wanted[threadIdx.x / 32], crossing_of);
    if (!asks) continue;
    if (answer == Answer::undecided) {
      unsure.append(row);
    } else {
      out[row] = static_cast<std::uint8_t>(answer);
    }
  }
}

// The codes of listed points, from the first undecided solid on; count(solid, q) decides.
template <class Count, class Undecided>
__device__ void go_on(const Solids& solids, const PointsView& points, const std::uint32_t* rows,
                      const std::uint32_t* row_count, std::int32_t* codes, Count&& count,
                      Undecided&& undecided) {
  for_listed(rows, row_count, [&](std::uint32_t row) {
    const Vec3 q = points[row];
    const std::int32_t code = first_solid(solids, q, solid_of(codes[row]), [&](const Solid& solid) {
      const Answer answer = look_up(solid.grid, q);
      return answer == Answer::undecided ? count(solid, q) : answer;
    });
    codes[row] = code;
    if (is_open(code)) undecided(row);
  });
}

}  // namespace

// A block lists its undecided rows by one atomic operation, because one for each row would take
// longer than the look-up.
extern "C" __global__ void geodomain_look_up(GridView grid, PointsView points, std::uint32_t rows,
                                             std::uint8_t* out, RowList open) {
  __shared__ std::uint32_t shared[kBlockWarps], first;
  const std::int64_t begin =
      static_cast<std::int64_t>(blockIdx.x) * kRowsOfThread * kBlockThreads + threadIdx.x;
  Vec3 q[kRowsOfThread];
  Slabs slabs[kRowsOfThread];
  bool misses_it[kRowsOfThread];
#pragma unroll
  for (int k = 0; k < kRowsOfThread; ++k) {
    const std::int64_t row = begin + k * kBlockThreads;
    q[k] = points[row < rows ? row : rows - 1];
  }
#pragma unroll
  for (int k = 0; k < kRowsOfThread; ++k) {
    misses_it[k] = misses(grid.bounds, q[k]);
    slabs[k] = {~std::uint64_t{0}, 0};
    if (grid.closed && !misses_it[k]) slabs[k] = grid.slabs[grid.whole.cell(q[k])];
  }
  std::uint32_t left = 0;
#pragma unroll
  for (int k = 0; k < kRowsOfThread; ++k) {
    const std::int64_t row = begin + k * kBlockThreads;
    if (row >= rows) continue;
    const Answer answer =
        misses_it[k] ? Answer::outside : told_by(slabs[k], grid.whole.frame.z.index(q[k].z));
    if (answer == Answer::undecided) {
      left |= 1u << k;
    } else {
      out[row] = static_cast<std::uint8_t>(answer);
    }
  }
  std::uint32_t whole;
  std::uint32_t place = scan_block(static_cast<std::uint32_t>(count_bits(left)), shared, whole);
  if (whole == 0) return;
  if (threadIdx.x == 0) first = atomicAdd(open.count, whole);
  __syncthreads();
  place += first;
  for (; left != 0; left &= left - 1) {
    const std::int64_t row = begin + trailing_zeros(left) * kBlockThreads;
    open.rows[place++] = static_cast<std::uint32_t>(row);
  }
}

// All steps in one launch, for so few points that several launches would take longer than the work.
extern "C" __global__ void geodomain_contains_few(GridView grid, PointsView points,
                                                  std::uint32_t rows, std::uint8_t* out,
                                                  std::uint64_t* refused) {
  __shared__ Wanted wanted[kBlockWarps];
  const std::int64_t row = thread_row();
  const Vec3 q = points[row < rows ? row : rows - 1];
  Answer answer = look_up(grid, q);
  const bool asks = row < rows && answer == Answer::undecided;
  if (geodomain::ballot(asks) != 0) {
    const Answer counted = count_together(
        grid, q, asks, wanted[threadIdx.x / 32], [&](std::int32_t triangle, Vec3 at) {
          return crossing_above<Quick>(grid.mesh.triangle(triangle), at);
        });
    if (asks) answer = counted;
  }
  if (row >= rows) return;
  if (answer == Answer::undecided) answer = count_parity<Full>(grid, q);
  if (answer == Answer::undecided) refuse(row, refused);
  out[row] = static_cast<std::uint8_t>(answer);
}

extern "C" __global__ void geodomain_count_quick(GridView grid, PointsView points,
                                                 const std::uint32_t* rows,
                                                 const std::uint32_t* row_count, std::uint8_t* out,
                                                 RowList unsure) {
  count_listed(grid, points, rows, row_count, out, unsure, [&](std::int32_t triangle, Vec3 q) {
    return crossing_above<Quick>(grid.mesh.triangle(triangle), q);
  });
}

extern "C" __global__ void geodomain_count_single(GridView grid, SingleView single,
                                                  PointsView points, const std::uint32_t* rows,
                                                  const std::uint32_t* row_count, std::uint8_t* out,
                                                  RowList unsure) {
  count_listed(grid, points, rows, row_count, out, unsure, [&](std::int32_t triangle, Vec3 q) {
    return crossing_single(grid, single, triangle, q);
  });
}

extern "C" __global__ void geodomain_halve_vertices(const double* vertices, std::int64_t count,
                                                    HalvedVertex* out) {
  const std::int64_t row = thread_row();
  if (row >= count) return;
  const double* v = vertices + 3 * row;
  out[row] = halve({v[0], v[1], v[2]});
}

extern "C" __global__ void geodomain_count_full(GridView grid, PointsView points,
                                                const std::uint32_t* rows,
                                                const std::uint32_t* row_count, std::uint8_t* out,
                                                std::uint64_t* refused) {
  for_listed(rows, row_count, [&](std::uint32_t row) {
    const Answer answer = count_parity<Full>(grid, points[row]);
    if (answer == Answer::undecided) refuse(row, refused);
    out[row] = static_cast<std::uint8_t>(answer);
  });
}

extern "C" __global__ void geodomain_crossings(GridView grid, PointsView points, std::int64_t rows,
                                               std::int32_t with_sign, std::int32_t* out,
                                               std::uint64_t* refused) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Crossings crossings = count_crossings(grid, points[row]);
  if (crossings.count < 0) refuse(row, refused);
  out[row] = with_sign ? crossings.signed_count : crossings.count;
}

extern "C" __global__ void geodomain_on_surface(GridView grid, PointsView points, std::int64_t rows,
                                                std::uint8_t* out, std::uint64_t* refused) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Answer answer = on_surface(grid, points[row]);
  if (answer == Answer::undecided) refuse(row, refused);
  out[row] = static_cast<std::uint8_t>(answer);
}

// The first solid that contains each point: by two bits if these decide, otherwise as for one
// solid.
extern "C" __global__ void geodomain_codes_look_up(Solids solids, PointsView points,
                                                   std::uint32_t rows, std::int32_t* codes,
                                                   RowList open) {
  const std::int64_t row = thread_row();
  if (row >= rows) return;
  const Vec3 q = points[row];
  std::int32_t code = kNotFinite;
  if (is_finite(q)) {
    code = first_solid(solids, q, 0, [&](const Solid& solid) { return look_up(solid.grid, q); });
  }
  codes[row] = code;
  if (is_open(code)) open.append(static_cast<std::uint32_t>(row));
}

extern "C" __global__ void geodomain_codes_quick(Solids solids, PointsView points,
                                                 const std::uint32_t* rows,
                                                 const std::uint32_t* row_count,
                                                 std::int32_t* codes, RowList unsure) {
  go_on(
      solids, points, rows, row_count, codes,
      [](const Solid& solid, Vec3 q) { return count_parity<Quick>(solid.grid, q); },
      [&](std::uint32_t row) { unsure.append(row); });
}

extern "C" __global__ void geodomain_codes_single(Solids solids, PointsView points,
                                                  const std::uint32_t* rows,
                                                  const std::uint32_t* row_count,
                                                  std::int32_t* codes, RowList unsure) {
  go_on(
      solids, points, rows, row_count, codes,
      [](const Solid& solid, Vec3 q) {
        return count_parity_by(solid.grid, q, [&](std::int32_t triangle) {
          return crossing_single(solid.grid, solid.single, triangle, q);
        });
      },
      [&](std::uint32_t row) { unsure.append(row); });
}

extern "C" __global__ void geodomain_codes_full(Solids solids, PointsView points,
                                                const std::uint32_t* rows,
                                                const std::uint32_t* row_count, std::int32_t* codes,
                                                std::uint64_t* refused) {
  go_on(
      solids, points, rows, row_count, codes,
      [](const Solid& solid, Vec3 q) { return count_parity<Full>(solid.grid, q); },
      [&](std::uint32_t row) { refuse(row, refused); });
}
