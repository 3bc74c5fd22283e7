// Reads the vertices and triangles of a text STL.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "platform/thread_team.h"
#include "text/words.h"
#include "topology/equal_rows.h"

namespace geodomain {

// Work that threads prepare in any order and finish in order: the thread that prepares the next
// item finishes it, while the others go on.

class InOrder {
 public:
  explicit InOrder(std::int64_t count) : ready_(static_cast<std::size_t>(count)) {}

  // Item i is ready. Calls body(k) for each k that is next and ready, unless another thread is
  // doing so, which then calls it. All are done when all calls of `ready` have returned; if a body
  // throws, the rest is not done.
  template <class Body>
  void ready(std::int64_t i, Body&& body) {
    Lock lock(mutex_);
    ready_[static_cast<std::size_t>(i)] = true;
    if (is_busy_) return;
    is_busy_ = true;
    for (; next_ < ready_.size() && ready_[next_]; ++next_) {
      lock.unlock();
      body(static_cast<std::int64_t>(next_));
      lock.lock();
    }
    is_busy_ = false;
  }

 private:
  Mutex mutex_;
  std::vector<bool> ready_;
  std::size_t next_ = 0;
  bool is_busy_ = false;
};

}  // namespace geodomain

// The corners of the facets of a text STL.
//
//   facet normal i j k outer loop vertex x y z vertex x y z vertex x y z endloop endfacet
//
// on any lines, in any case. A facet that is written differently is read line by line: between
// a line `facet` and a line `endfacet` three lines `vertex x y z`, with anything between them.
// Other lines are skipped. Lines end in LF or CR LF.
//
// The text around the numbers is mostly the same from facet to facet. It is stored, and a facet
// with the same bytes there is read without splitting them into words again.

namespace geodomain::text {

enum class StlFault : std::int64_t { none, number, vertex, cut, corners };

struct StlTold {
  StlFault fault = StlFault::none;
  std::int64_t begin = 0, end = 0,
               count = 0;  // the faulty word, and the number of corners in its facet
};

// The complete facets of a stretch of text.
class StlPiece {
 public:
  StlPiece(const char* text, const char* begin, const char* end)
      : text_(text), at_(begin), end_(end), axes_(3, RealReader(text)) {}

  void read() {
    places_.reserve(static_cast<std::size_t>(end_ - at_) / kBytesToNumber);
    Word word;
    while (at_ < end_ && told_.fault == StlFault::none) {
      if (!next(word)) {
        at_ += at_ < end_;
      } else if (is_keyword(word, "facet", text_)) {
        if (read_facet()) {
          while (repeat_facet()) {
          }
        } else {
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
  std::vector<double> take_places() { return std::move(places_); }
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

  // Whether a line is that of a solid's name, which may contain anything.
  bool is_title(Word word) const {
    return is_keyword(word, "solid", text_) || is_keyword(word, "endsolid", text_) ||
           is_keyword(word, "end", text_);
  }

  // Whether the rest of a line holds a corner, which must not be skipped.
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

  // Reads the rest of a facet in the usual form; reads nothing and returns false for any other.
  bool read_facet() {
    return whole_or_nothing([this] { return read_usual(); });
  }

  // Reads a facet with the same bytes around its numbers as the last one; reads nothing and returns
  // false for any other.
  bool repeat_facet() {
    return whole_or_nothing([this] { return repeat_last(); });
  }

  template <class Read>
  bool whole_or_nothing(Read&& read) {
    const char* const begin = at_;
    const std::size_t place_count = places_.size(), unsure_count = unsure_.size();
    if (read()) return true;
    at_ = begin;
    places_.resize(place_count);
    unsure_.resize(unsure_count);
    return false;
  }

  bool read_usual() {
    Word word, about[kAbout] = {};
    about[0].begin = last_end_;
    last_end_ = nullptr;
    if (!expect("normal")) return false;
    for (int axis = 0; axis < 3; ++axis) {
      if (!next_anywhere(word)) return false;
      if (axis == 0) about[0].end = word.begin;
    }
    if (!expect_after(word, about[1], "outer") || !expect("loop")) return false;
    for (int corner = 1; corner <= 3; ++corner) {
      if (corner > 1 ? !expect_after(word, about[corner], "vertex") : !expect("vertex")) {
        return false;
      }
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!next_anywhere(word) || !read_number(word, axis)) return false;
        if (axis == 0) about[corner].end = word.begin;
      }
    }
    if (!expect_after(word, about[4], "endloop") || !expect("endfacet")) return false;
    if (about[0].begin == nullptr) about[0].begin = about[0].end;  // nothing to compare with
    about[4].end = last_end_ = at_;
    std::copy(about, about + kAbout, about_);
    return true;
  }

  template <std::size_t kSize>
  bool expect_after(Word last, Word& about, const char (&keyword)[kSize]) {
    about.begin = last.end;
    return expect(keyword);
  }

  bool repeat_last() {
    Word word;
    if (!repeats(about_[0]) || !begins_word()) return false;
    for (int axis = 0; axis < 3; ++axis) {
      if (!next_anywhere(word)) return false;
    }
    for (int corner = 1; corner <= 3; ++corner) {
      if (!repeats(about_[corner]) || !begins_word()) return false;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!next_anywhere(word) || !read_number(word, axis)) return false;
      }
    }
    if (!repeats(about_[4]) || begins_word()) return false;
    last_end_ = at_;
    return true;
  }

  // Whether the text continues with the bytes of an earlier place; if so, skips them.
  bool repeats(Word earlier) {
    const auto size = earlier.end - earlier.begin;
    if (size == 0 || end_ - at_ < size) return false;
    if (std::memcmp(at_, earlier.begin, static_cast<std::size_t>(size)) != 0) return false;
    at_ += size;
    return true;
  }

  bool begins_word() const { return at_ < end_ && !is_between_words(*at_); }

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

  static constexpr std::size_t kBytesToNumber = 16;  // in a usual file, including its words
  static constexpr int kAbout = 5;

  const char* text_;
  const char* at_;
  const char* end_;
  const char* last_end_ = nullptr;  // end of the previous facet, if only text was read since
  Word about_[kAbout] = {};         // before the normal, before each corner, after the last one
  StlTold told_;
  std::vector<RealReader> axes_;
  std::vector<double> places_;
  std::vector<UnsureNumber> unsure_;
};

// Reads the file in pieces by a team of threads. Equal corners are merged to one vertex while other
// pieces are still being read; vertices are in the order of first appearance, for any number of
// threads.

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

  // Returns the coordinates of the vertices, the vertices of the corners, and the unsure
  // coordinates, whose vertices count as different from all others.
  void take(double* places, std::int64_t* corners, UnsureNumber* unsure) {
    for (const auto& row : distinct_.rows()) places = std::copy(row.begin(), row.end(), places);
    std::copy(unsure_.begin(), unsure_.end(), unsure);
    Team(threads_).run(count(), 1, [&](std::int64_t i, std::int64_t, int) {
      const std::vector<std::int32_t>& part = corners_[static_cast<std::size_t>(i)];
      std::copy(part.begin(), part.end(), corners + starts_[static_cast<std::size_t>(i)]);
    });
  }

 private:
  static constexpr std::int64_t kBytesToVertex = 320;  // two triangles for each vertex

  StlPiece& piece(std::int64_t i) { return pieces_[static_cast<std::size_t>(i)]; }
  std::int64_t count() const { return static_cast<std::int64_t>(pieces_.size()); }

  // Numbers the corners of the next piece, and frees their coordinates.
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
    for (UnsureNumber number : piece.unsure()) {
      const std::int64_t its_row = number.slot / 3;
      if (its_row >= row) {
        merge_to(its_row);
        corners[static_cast<std::size_t>(row++)] = distinct_.add_alone(&places[3 * its_row]);
      }
      number.slot = 3 * (vertices() - 1) + number.slot % 3;
      unsure_.push_back(number);
    }
    merge_to(static_cast<std::int64_t>(corners.size()));
    starts_.push_back(corner_count_);
    corner_count_ += static_cast<std::int64_t>(corners.size());
    corners_.push_back(std::move(corners));
  }

  // Cuts the text after lines that hold only `endfacet`.
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

  // Whether a line that ends at `feed` holds only `endfacet`.
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
