// Functions for pages that launch/ lacks: loops over columns and blocks.
#include <cmath>

#include "lattice/first_mask.h"
#include "platform/c_function.h"
#include "platform/float_guard.h"
#include "platform/portable.h"
#include "volume/product_sums.h"

using namespace geodomain;

// Gives each block the code of the first mask that contains it. `masks` are
// (columns, ceil(layers / 64)) words each; points are one column. codes_out: (columns, layers).
// `counts`, (mask_count,): the number of blocks that each mask decides.
GD_API Status geodomain_first_mask(const std::uint64_t* const* masks, const std::uint8_t* codes,
                                   std::int32_t mask_count, std::int64_t columns,
                                   std::int64_t layers, std::int32_t background,
                                   std::uint8_t* codes_out, std::int64_t* counts) {
  return guarded([&] {
    for (std::int32_t i = 0; i < mask_count; ++i) counts[i] = 0;
    const MaskOrder order = {masks, codes, mask_count, static_cast<std::uint8_t>(background),
                             counts};
    for (std::int64_t i = 0; i < columns; ++i) order.column(i, layers, codes_out + i * layers);
  });
}

// Bytes of 0 or 1 as bits, in ceil(count / 64) words: answers of points as a mask. With `wanted`,
// a bit is 1 if the byte equals this value.
GD_API void geodomain_mask_of_bytes(const std::uint8_t* bytes, std::int64_t count,
                                    std::int32_t wanted, std::uint64_t* words) {
  for (std::int64_t i = 0; i < count; i += 64) {
    const std::int64_t end = count - i < 64 ? count - i : 64;
    std::uint64_t word = 0;
    for (std::int64_t k = 0; k < end; ++k) word |= std::uint64_t{bytes[i + k] == wanted} << k;
    words[i / 64] = word;
  }
}

namespace {

// A column of numbers, or one number for all blocks.
struct Amounts {
  const double* values;
  double all;

  double operator[](std::int64_t row) const { return values ? values[row] : all; }
};

// The groups of blocks, with their counts and sums: see `geodomain_add_amounts`.
struct Groups {
  const std::uint8_t* codes;
  const double* cut;
  const double* cutoffs;
  std::int32_t cutoff_count, grade_count;
  std::int64_t* counts;
  std::int64_t* lanes;

  std::int64_t of(std::int64_t row) const {
    std::int32_t step = 0;
    if (cut) {
      while (step < cutoff_count && cutoffs[step] <= cut[row]) ++step;
    }
    return std::int64_t{codes[row]} * (cutoff_count + 1) + step;
  }
  std::int64_t* counts_of(std::int64_t group) const { return counts + group * (3 + grade_count); }
  std::int64_t sum(std::int64_t group, int which) const {
    return group * (2 + 2 * grade_count) + which;
  }
};

}  // namespace

// Adds blocks to exact sums by group, as `volumes/tonnage.py` does: the group of a block is its
// code times (cutoff_count + 1) plus the number of cut-offs that are at most its grade `cut`.
//
// volumes, densities: a column, NaN where missing; or null, and `volume` or `density` is that of
// all blocks. `cut` may be null; cutoffs ascend. grades: (grade_count,) columns, NaN where missing.
// For each of `group_count` groups, `counts` gets 3 + grade_count numbers of blocks: all, without
// volume, without density, and without each grade; `lanes` gets 2 + 2 * grade_count sums: volume
// and tonnes, and for each grade the tonnes of blocks that have it, and the metal. The caller has
// set them to zero. Products are rounded to doubles as there; sums are exact: see `ProductSums`.
// `refused` is the first block with a product too large for a double, or -1.
GD_API Status geodomain_add_amounts(const std::uint8_t* codes, std::int64_t rows, double volume,
                                    const double* volumes, double density, const double* densities,
                                    const double* cut, const double* cutoffs,
                                    std::int32_t cutoff_count, const double* const* grades,
                                    std::int32_t grade_count, std::int32_t group_count,
                                    std::int64_t* counts, std::int64_t* lanes,
                                    std::int64_t* refused) {
  return guarded([&] {
    const Groups groups = {codes, cut, cutoffs, cutoff_count, grade_count, counts, lanes};
    ProductSums sums(lanes, ProductSums::kLanes, ProductSums::kUnit);
    const Amounts volume_of = {volumes, volume}, density_of = {densities, density};
    const bool is_even = !volumes && !densities;  // all blocks have the same tonnes
    *refused = -1;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t group = groups.of(row);
      std::int64_t* const count = groups.counts_of(group);
      ++count[0];
      const double size = volume_of[row], weight = density_of[row], tonnes = size * weight;
      if (volumes && std::isfinite(size)) sums.add(groups.sum(group, 0), size);
      // Most blocks have all numbers. The tonnes of the first grade are added to all tonnes below.
      bool all_there = std::isfinite(tonnes), weighed = is_even;
      for (std::int32_t g = 0; g < grade_count; ++g) {
        const double metal = tonnes * grades[g][row];
        if (std::isfinite(metal)) {
          if (!is_even) sums.add(groups.sum(group, 2 + 2 * g), tonnes);
          sums.add(groups.sum(group, 3 + 2 * g), metal);
          weighed |= g == 0;
        } else {
          all_there = false;
        }
      }
      if (!weighed && std::isfinite(tonnes)) sums.add(groups.sum(group, 1), tonnes);
      if (all_there) continue;
      count[1] += std::isnan(size);
      count[2] += std::isnan(weight);
      bool fits = !std::isinf(size) && !std::isinf(tonnes);
      for (std::int32_t g = 0; g < grade_count; ++g) {
        count[3 + g] += std::isnan(grades[g][row]);
        fits &= !std::isinf(tonnes * grades[g][row]);
      }
      if (!fits) {
        *refused = row;
        return;
      }
    }
    for (std::int64_t group = 0; group < group_count; ++group) {
      const std::int64_t* const count = groups.counts_of(group);
      const auto add_times = [&](int which, std::int64_t times, double value) {
        if (std::isfinite(value)) sums.add(groups.sum(group, which), times, &value, 1);
      };
      if (!volumes) add_times(0, count[0], volume);
      if (is_even) {
        add_times(1, count[0], volume * density);
        for (std::int32_t g = 0; g < grade_count; ++g) {
          add_times(2 + 2 * g, count[0] - count[3 + g], volume * density);
        }
      } else if (grade_count > 0) {
        sums.join(groups.sum(group, 1), groups.sum(group, 2));
      }
    }
  });
}
