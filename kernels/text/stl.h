// The corners of the facets of a text STL, read in pieces by a team of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "platform/thread_team.h"
#include "text/stl_facets.h"

namespace geodomain::text {

class StlSoup {
 public:
  StlSoup(const char* text, std::int64_t size, std::int64_t piece_size, int threads)
      : text_(text), threads_(threads) {
    cut(size, piece_size);
    Team(threads_).run(count(), 1, [&](std::int64_t i, std::int64_t, int) { piece(i).read(); });
    for (const StlPiece& one : pieces_) {
      starts_.push_back(size_);
      size_ += static_cast<std::int64_t>(one.places().size());
      unsure_ += static_cast<std::int64_t>(one.unsure().size());
      if (told_.fault == StlFault::none) told_ = one.told();
    }
  }

  std::int64_t size() const { return size_; }  // coordinates
  std::int64_t unsure() const { return unsure_; }
  const StlTold& told() const { return told_; }

  void take(double* places, UnsureNumber* unsure) {
    for (std::int64_t i = 0; i < count(); ++i) {
      for (UnsureNumber one : piece(i).unsure()) {
        one.slot += start(i);
        *unsure++ = one;
      }
    }
    Team(threads_).run(count(), 1, [&](std::int64_t i, std::int64_t, int) {
      std::copy(piece(i).places().begin(), piece(i).places().end(), places + start(i));
    });
  }

 private:
  StlPiece& piece(std::int64_t i) { return pieces_[static_cast<std::size_t>(i)]; }
  std::int64_t start(std::int64_t i) const { return starts_[static_cast<std::size_t>(i)]; }
  std::int64_t count() const { return static_cast<std::int64_t>(pieces_.size()); }

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
  std::vector<std::int64_t> starts_;
  StlTold told_;
  std::int64_t size_ = 0, unsure_ = 0;
};

}  // namespace geodomain::text
