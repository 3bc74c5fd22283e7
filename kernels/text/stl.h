// The vertices and triangles of a text STL, read in pieces by a team of threads. Corners that are
// equal become one vertex while other pieces are still read: the vertices are in the order in which
// they first appear, whoever reads what.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "platform/in_order.h"
#include "platform/thread_team.h"
#include "text/stl_facets.h"
#include "topology/equal_rows.h"

namespace geodomain::text {

class StlMesh {
 public:
  StlMesh(const char* text, std::int64_t size, std::int64_t piece_size, int threads)
      : text_(text), threads_(threads), distinct_(size / kBytesToVertex) {
    cut(size, piece_size);
    InOrder order(count());
    Team(threads_).run(count(), 1, [&](std::int64_t i, std::int64_t, int) {
      piece(i).read();
      order.ready(i, [&](std::int64_t next) { merge(piece(next)); });
    });
  }

  std::int64_t vertices() const { return static_cast<std::int64_t>(distinct_.rows().size()); }
  std::int64_t corners() const { return corner_count_; }
  std::int64_t unsure() const { return static_cast<std::int64_t>(unsure_.size()); }
  const StlTold& told() const { return told_; }

  // The coordinates of the vertices, the vertices of the corners, and which coordinates are unsure:
  // their vertices are not held to be equal to any other.
  void take(double* places, std::int64_t* corners, UnsureNumber* unsure) {
    for (const auto& row : distinct_.rows()) places = std::copy(row.begin(), row.end(), places);
    std::copy(unsure_.begin(), unsure_.end(), unsure);
    Team(threads_).run(count(), 1, [&](std::int64_t i, std::int64_t, int) {
      const std::vector<std::int32_t>& part = corners_[static_cast<std::size_t>(i)];
      std::copy(part.begin(), part.end(), corners + starts_[static_cast<std::size_t>(i)]);
    });
  }

 private:
  static constexpr std::int64_t kBytesToVertex = 320;  // two triangles to each vertex

  StlPiece& piece(std::int64_t i) { return pieces_[static_cast<std::size_t>(i)]; }
  std::int64_t count() const { return static_cast<std::int64_t>(pieces_.size()); }

  // Numbers the corners of the piece that follows those before, and lets go of their places.
  void merge(StlPiece& piece) {
    if (told_.fault == StlFault::none) told_ = piece.told();
    if (told_.fault != StlFault::none) return;
    const std::vector<double> places = piece.take_places();
    std::vector<std::int32_t> corners(places.size() / 3);
    std::int64_t row = 0;
    const auto merge_to = [&](std::int64_t stop) {
      distinct_.add(places.data() + 3 * row, stop - row, corners.data() + row);
      row = stop;
    };
    for (UnsureNumber one : piece.unsure()) {
      const std::int64_t its_row = one.slot / 3;
      if (its_row >= row) {
        merge_to(its_row);
        corners[static_cast<std::size_t>(row++)] = distinct_.add_alone(&places[3 * its_row]);
      }
      one.slot = 3 * (vertices() - 1) + one.slot % 3;
      unsure_.push_back(one);
    }
    merge_to(static_cast<std::int64_t>(corners.size()));
    starts_.push_back(corner_count_);
    corner_count_ += static_cast<std::int64_t>(corners.size());
    corners_.push_back(std::move(corners));
  }

  // Cuts after lines that hold `endfacet` alone.
  void cut(std::int64_t size, std::int64_t piece_size) {
    const char* const end = text_ + size;
    for (const char *begin = text_, *at = text_; begin < end; begin = at) {
      at = end - begin > piece_size ? begin + piece_size : end;
      while (at < end && !ends_facet(at)) ++at;
      while (at < end && *at != '\n') ++at;
      at += at < end;
      pieces_.emplace_back(text_, begin, at);
    }
  }

  // Whether a line that ends at `feed` holds `endfacet` alone.
  bool ends_facet(const char* feed) const {
    if (*feed != '\n') return false;
    Word line{feed, feed};
    while (line.begin > text_ && line.begin[-1] != '\n' && feed - line.begin < 80) --line.begin;
    while (line.begin < line.end && is_between_words(*line.begin)) ++line.begin;
    while (line.end > line.begin && is_between_words(line.end[-1])) --line.end;
    return is_keyword(line, "endfacet", text_);
  }

  const char* text_;
  int threads_;
  std::vector<StlPiece> pieces_;
  DistinctRows distinct_;
  std::vector<std::vector<std::int32_t>> corners_;  // of each piece
  std::vector<std::int64_t> starts_;
  std::vector<UnsureNumber> unsure_;
  StlTold told_;
  std::int64_t corner_count_ = 0;
};

}  // namespace geodomain::text
