// The digits that keys are sorted by.
#pragma once

namespace geodomain {

constexpr int kKeyBits = 64, kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;

}  // namespace geodomain
