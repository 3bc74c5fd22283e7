// Rows that a kernel leaves to the next one, in any order.
#pragma once

#include "platform/atomics.h"
#include "platform/portable.h"

namespace geodomain {

struct RowList {
  std::uint32_t* rows;
  std::uint32_t* count;

  GD_HD void append(std::uint32_t row) const { rows[atomic_add(count, 1u)] = row; }
};
static_assert(sizeof(RowList) == 16, "as every compiler has it");

}  // namespace geodomain
