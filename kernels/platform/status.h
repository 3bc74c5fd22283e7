// What functions of the C ABI return as a status.
#pragma once

namespace geodomain {

constexpr int kDone = 0, kOutOfMemory = 1;
constexpr int kUndecided = 2;  // coordinates below the range of the arithmetic

}  // namespace geodomain
