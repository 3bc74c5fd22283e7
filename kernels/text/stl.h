// The corners of the facets of a text STL.
//
//   facet normal i j k outer loop vertex x y z vertex x y z vertex x y z endloop endfacet
//
// on any lines, in any case. A facet that is written in another way is read line by line: between
// a line `facet` and a line `endfacet` three lines `vertex x y z`, whatever stands between them.
// Other lines are passed over. Lines end in LF or CR LF.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "platform/thread_team.h"
#include "text/words.h"

namespace geodomain::text {

enum class StlFault : std::int64_t { none, number, vertex, cut, corners };

struct StlTold {
  StlFault fault = StlFault::none;
  std::int64_t begin = 0, end = 0, count = 0;  // the word, and the corners of its facet
};

// The whole facets of a stretch of text.
class StlPiece {
 public:
  StlPiece(const char* text, const char* begin, const char* end)
      : text_(text), at_(begin), end_(end), axes_(3, RealReader(text)) {}

  void read() {
    Word word;
    while (at_ < end_ && told_.fault == StlFault::none) {
      if (!next(word)) {
        at_ += at_ < end_;
      } else if (is_keyword(word, "facet", text_)) {
        if (!read_facet()) {
          at_ = word.end;
          read_lines();
        }
      } else if (is_keyword(word, "vertex", text_)) {
        fail(StlFault::vertex, word);
      } else if (is_keyword(word, "endfacet", text_)) {
        fail(StlFault::corners, word);
      } else {
        if (!is_title(word) && holds_corner()) fail(StlFault::vertex, word);
        finish_line();
      }
    }
  }

  const StlTold& told() const { return told_; }
  const std::vector<double>& places() const { return places_; }
  const std::vector<UnsureNumber>& unsure() const { return unsure_; }

 private:
  // The next word of the line; false at its end.
  bool next(Word& word) {
    const char* at = at_;
    while (at < end_ && *at != '\n' && is_between_words(*at)) ++at;
    at_ = at;
    return at < end_ && *at != '\n' && take(word);
  }

  bool next_anywhere(Word& word) {
    const char* at = at_;
    while (at < end_ && is_between_words(*at)) ++at;
    at_ = at;
    return at < end_ && take(word);
  }

  bool take(Word& word) {
    word.begin = at_;
    word.end = at_ = end_of_word(at_, end_);
    return true;
  }

  template <std::size_t kSize>
  bool expect(const char (&keyword)[kSize]) {
    Word word;
    return next_anywhere(word) && is_keyword(word, keyword, text_);
  }

  // The line of a solid's name, which may be anything.
  bool is_title(Word word) const {
    return is_keyword(word, "solid", text_) || is_keyword(word, "endsolid", text_) ||
           is_keyword(word, "end", text_);
  }

  // Whether the rest of a line holds a corner, which must not be passed over.
  bool holds_corner() {
    int numbers = -1;  // since `vertex`
    double value;
    for (Word word; numbers < 3 && next(word);) {
      if (is_keyword(word, "vertex", text_)) {
        numbers = 0;
      } else if (numbers >= 0) {
        numbers = axes_[0].read(word, value) == Reading::word ? -1 : numbers + 1;
      }
    }
    return numbers == 3;
  }

  void finish_line() {
    const void* feed = std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_));
    at_ = feed == nullptr ? end_ : static_cast<const char*>(feed) + 1;
  }

  // Reads the rest of a facet that is written as usual; false, and nothing read, for any other.
  bool read_facet() {
    const std::size_t known = places_.size(), known_unsure = unsure_.size();
    if (read_usual()) return true;
    places_.resize(known);
    unsure_.resize(known_unsure);
    return false;
  }

  bool read_usual() {
    Word word;
    if (!expect("normal")) return false;
    for (int axis = 0; axis < 3; ++axis) {
      if (!next_anywhere(word)) return false;
    }
    if (!expect("outer") || !expect("loop")) return false;
    for (int corner = 0; corner < 3; ++corner) {
      if (!expect("vertex")) return false;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!next_anywhere(word) || !read_number(word, axis)) return false;
      }
    }
    return expect("endloop") && expect("endfacet");
  }

  void read_lines() {
    finish_line();
    std::int64_t count = 0;
    for (Word word; at_ < end_; finish_line()) {
      if (!next(word)) continue;
      if (is_keyword(word, "facet", text_)) return fail(StlFault::cut, word);
      if (is_keyword(word, "vertex", text_)) {
        if (!read_corner(word)) return;
        ++count;
      } else if (is_keyword(word, "endfacet", text_)) {
        if (count != 3) fail(StlFault::corners, word, count);
        return finish_line();
      }
    }
    fail(StlFault::cut, {end_, end_});
  }

  bool read_corner(Word key) {
    Word words[4];
    int count = 0;
    while (count < 4 && next(words[count])) ++count;
    if (count != 3) {
      fail(StlFault::vertex, key);
      return false;
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (!read_number(words[axis], axis)) {
        fail(StlFault::number, words[axis]);
        return false;
      }
    }
    return true;
  }

  bool read_number(Word word, std::size_t axis) {
    double value;
    const Reading reading = axes_[axis].read(word, value);
    if (reading == Reading::unsure) {
      const auto slot = static_cast<std::int64_t>(places_.size());
      unsure_.push_back({slot, word.begin - text_, word.end - text_});
    }
    places_.push_back(value);
    return reading != Reading::word;
  }

  void fail(StlFault fault, Word word, std::int64_t count = 0) {
    told_ = {fault, word.begin - text_, word.end - text_, count};
  }

  const char* text_;
  const char* at_;
  const char* end_;
  StlTold told_;
  std::vector<RealReader> axes_;
  std::vector<double> places_;
  std::vector<UnsureNumber> unsure_;
};

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
