// Builds the hierarchy on the host: a team of threads, with a radix sort of Morton codes.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "bvh/box_frame.h"
#include "bvh/build.h"
#include "bvh/visit_queue.h"
#include "platform/arithmetic.h"
#include "platform/thread_team.h"

namespace geodomain {

// A stable radix sort of 64-bit keys with 32-bit values by a team of threads: eight bits at a time,
// lowest first. Digits that are equal in all keys are skipped.

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

  // Turns counts into first places: by digit, then by piece.
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

// Builds the hierarchy and stores it in host memory.

// The frame of non-empty bounds; an axis without extent gets the scale of the longest axis.
inline BoxFrame make_frame(const Bounds& bounds) {
  const double low[3] = {bounds.low.x, bounds.low.y, bounds.low.z};
  const double high[3] = {bounds.high.x, bounds.high.y, bounds.high.z};
  BoxFrame frame;
  int exponent[3], longest = -1100;
  for (int k = 0; k < 3; ++k) {
    frame.centre[k] = low[k] + (high[k] - low[k]) / 2;
    const double reach = maximum(high[k] - frame.centre[k], frame.centre[k] - low[k]);
    exponent[k] = -1100;
    if (reach > 0.0) std::frexp(reach, &exponent[k]);  // reach is at most 2^exponent
    if (exponent[k] > longest) longest = exponent[k];
  }
  for (int k = 0; k < 3; ++k) {
    // On an axis much shorter than the others, segments would look very long.
    if (exponent[k] < longest - 20) exponent[k] = longest - 20;
    frame.scale[k] = longest == -1100 ? 1.0 : std::ldexp(1.0, -exponent[k]);
    frame.share[k] = static_cast<float>(std::ldexp(1.0, exponent[k] - longest));
  }
  return frame;
}

struct BuildTimes {  // seconds
  double boxes = 0, codes = 0, sort = 0, tree = 0;
};

template <class Work>
double seconds_of(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline std::vector<Box> make_boxes(const MeshView& mesh, const BoxFrame& frame, Team& team) {
  std::vector<Box> boxes(static_cast<std::size_t>(mesh.triangle_count));
  team.run(mesh.triangle_count, 4096, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) boxes[i] = box_of(frame, mesh.triangle(i));
  });
  return boxes;
}

class HostBvh {
 public:
  HostBvh(const MeshView& mesh, const Bounds& bounds, Team& team)
      : count_(mesh.triangle_count), team_(team) {
    if (count_ == 0) return;
    frame_ = make_frame(bounds);
    times_.boxes = seconds_of([&] { boxes_ = make_boxes(mesh, frame_, team_); });
    times_.codes = seconds_of([&] { make_codes(); });
    times_.sort = seconds_of([&] { RadixSort(codes_.data(), triangles_.data(), count_, team_); });
    times_.tree = seconds_of([&] {
      make_tree();
      gather_nodes();
      fill_packets(mesh);
    });
    codes_ = {};
    triangles_ = {};
    boxes_ = {};
  }

  BatchView view() const {
    const auto level_count = levels_.empty() ? 0 : static_cast<int>(levels_.size()) - 1;
    return {open_.data(), packets_.data(), corners_.data(), frame_, count_, level_count};
  }
  std::int64_t packet_count() const { return static_cast<std::int64_t>(packets_.size()); }
  const BuildTimes& times() const { return times_; }
  const std::vector<WideNode>& nodes() const { return nodes_; }
  // The triangles below a node, in the order of codes.
  PacketRange below(std::int64_t node) const { return below_[static_cast<std::size_t>(node)]; }
  // The first node of each level, and the end of the last.
  const std::vector<std::int64_t>& levels() const { return levels_; }
  // Size of the hierarchy once it is built.
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(
        nodes_.size() * (sizeof(WideNode) + sizeof(OpenNode) + sizeof(PacketRange)) +
        packets_.size() * sizeof(FloatPacket) + corners_.size() * sizeof(PacketRow));
  }

 private:
  // body(i) for i in [begin, end), in pieces, by all threads.
  template <class Body>
  void each(std::int64_t begin, std::int64_t end, Body&& body) {
    team_.run(end - begin, 1024, [&](std::int64_t from, std::int64_t to, int) {
      for (std::int64_t i = begin + from; i < begin + to; ++i) body(i);
    });
  }

  void make_codes() {
    codes_.resize(static_cast<std::size_t>(count_));
    triangles_.resize(static_cast<std::size_t>(count_));
    each(0, count_, [&](std::int64_t i) {
      codes_[i] = code_of(frame_, boxes_[i]);
      triangles_[i] = static_cast<std::int32_t>(i);
    });
  }

  void make_tree() {
    const auto inner = static_cast<std::size_t>(count_ > 1 ? count_ - 1 : 1);
    child_.reset(new std::int32_t[inner][2]);
    range_.reset(new std::int32_t[inner][2]);
    around_.reset(new Box[inner]);
    other_end_.assign(inner, -1);
    tree_ = {static_cast<std::int32_t>(count_),
             codes_.data(),
             triangles_.data(),
             boxes_.data(),
             child_.get(),
             range_.get(),
             around_.get(),
             other_end_.data(),
             &root_};
    each(0, count_, [&](std::int64_t i) { climb(tree_, static_cast<std::int32_t>(i)); });
  }

  void gather_nodes() {
    const auto most = static_cast<std::size_t>(most_nodes<kFloatPacket>(count_));
    const std::unique_ptr<WideNode[]> nodes(new WideNode[most]);
    const std::unique_ptr<std::int32_t[]> source(new std::int32_t[most]);
    ranges_.reset(new PacketRange[static_cast<std::size_t>(count_)]);
    std::uint32_t packet_count, level_sizes[kLevels];
    const WideTree wide = {nodes.get(), source.get(), ranges_.get(), &packet_count, level_sizes};
    begin_levels(tree_, wide);
    Level level = level_of(wide, 0);
    for (; level.begin < level.end; level = level_of(wide, level.number + 1)) {
      levels_.push_back(level.begin);
      each(level.begin, level.end, [&](std::int64_t i) {
        gather<kFloatPacket>(tree_, wide, level, static_cast<std::uint32_t>(i));
      });
    }
    levels_.push_back(level.end);
    nodes_.assign(nodes.get(), nodes.get() + level.end);
    open_.resize(nodes_.size());
    below_.resize(nodes_.size());
    each(0, level.end, [&](std::int64_t i) {
      open_[i] = open_node(nodes_[i]);
      below_[i] = {tree_.first(source[i]), tree_.size(source[i])};
    });
    packets_.resize(packet_count);
    child_.reset();
    range_.reset();
    around_.reset();
    other_end_ = {};
  }

  void fill_packets(const MeshView& mesh) {
    each(0, static_cast<std::int64_t>(packets_.size()), [&](std::int64_t i) {
      packets_[i] = float_packet(mesh, frame_, triangles_.data(), ranges_[i]);
    });
    ranges_.reset();
    corners_.resize(static_cast<std::size_t>(count_));
    each(0, count_, [&](std::int64_t i) { corners_[i] = row_of(mesh, triangles_[i]); });
  }

  std::int64_t count_;
  Team& team_;
  BoxFrame frame_ = {};
  BuildTimes times_;
  BinaryTree tree_ = {};
  std::int32_t root_ = 0;
  std::vector<Box> boxes_;
  std::vector<std::uint64_t> codes_;
  std::vector<std::int32_t> triangles_, other_end_;
  std::unique_ptr<std::int32_t[][2]> child_, range_;
  std::unique_ptr<Box[]> around_;
  std::unique_ptr<PacketRange[]> ranges_;
  std::vector<WideNode> nodes_;  // for inspection
  std::vector<OpenNode> open_;   // the same nodes, for queries
  std::vector<PacketRange> below_;
  std::vector<FloatPacket> packets_;
  std::vector<PacketRow> corners_;
  std::vector<std::int64_t> levels_;
};

}  // namespace geodomain
