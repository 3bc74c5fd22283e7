// A stable sort of 64-bit keys with 32-bit values on a team of threads: by eight bits at a time,
// the lowest first. Digits that all keys share cost nothing.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "bvh/digits.h"
#include "platform/thread_team.h"

namespace geodomain {

class RadixSort {
 public:
  RadixSort(std::uint64_t* keys, std::int32_t* values, std::int64_t count, Team& team)
      : count_(count),
        team_(team),
        pieces_((count + kPiece - 1) / kPiece),
        other_keys_(new std::uint64_t[static_cast<std::size_t>(count)]),
        other_values_(new std::int32_t[static_cast<std::size_t>(count)]),
        places_(static_cast<std::size_t>(pieces_ * kDigits)) {
    std::uint64_t *from = keys, *to = other_keys_.get();
    std::int32_t *from_values = values, *to_values = other_values_.get();
    const std::uint64_t varying = varying_bits(keys);
    for (int shift = 0; shift < kKeyBits; shift += kDigitBits) {
      if ((varying >> shift & (kDigits - 1)) == 0) continue;
      count_digits(from, shift);
      add_up();
      scatter(from, from_values, to, to_values, shift);
      std::swap(from, to);
      std::swap(from_values, to_values);
    }
    if (from == keys) return;
    std::copy(from, from + count, keys);
    std::copy(from_values, from_values + count, values);
  }

 private:
  static constexpr std::int64_t kPiece = 1 << 15;

  std::uint64_t varying_bits(const std::uint64_t* keys) const {
    std::uint64_t any = 0, all = ~std::uint64_t{0};
    for (std::int64_t i = 0; i < count_; ++i) any |= keys[i], all &= keys[i];
    return any & ~all;
  }

  template <class Body>
  void each_piece(Body&& body) {
    team_.run(pieces_, 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t piece = begin; piece < end; ++piece) {
        const std::int64_t last = (piece + 1) * kPiece;
        body(piece * kPiece, last < count_ ? last : count_, &places_[piece * kDigits]);
      }
    });
  }

  void count_digits(const std::uint64_t* keys, int shift) {
    each_piece([&](std::int64_t begin, std::int64_t end, std::int64_t* places) {
      std::fill(places, places + kDigits, 0);
      for (std::int64_t i = begin; i < end; ++i) ++places[keys[i] >> shift & (kDigits - 1)];
    });
  }

  // Counts become first places: by digit, then by piece.
  void add_up() {
    std::int64_t sum = 0;
    for (std::int64_t digit = 0; digit < kDigits; ++digit) {
      for (std::int64_t piece = 0; piece < pieces_; ++piece) {
        sum += std::exchange(places_[piece * kDigits + digit], sum);
      }
    }
  }

  void scatter(const std::uint64_t* keys, const std::int32_t* values, std::uint64_t* to_keys,
               std::int32_t* to_values, int shift) {
    each_piece([&](std::int64_t begin, std::int64_t end, std::int64_t* places) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t place = places[keys[i] >> shift & (kDigits - 1)]++;
        to_keys[place] = keys[i];
        to_values[place] = values[i];
      }
    });
  }

  std::int64_t count_;
  Team& team_;
  std::int64_t pieces_;
  std::unique_ptr<std::uint64_t[]> other_keys_;
  std::unique_ptr<std::int32_t[]> other_values_;
  std::vector<std::int64_t> places_;
};

}  // namespace geodomain
